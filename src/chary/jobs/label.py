"""A table with a few labels in; labels, confidence, a model and what can be said of them out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from chary._words import Parameter, listed, shown
from chary.evaluation import Diagnosis, HeldOut, doubtful_labels, held_out, rows_to_label
from chary.jobs.acceptance import AcceptanceLevel, acceptable, acceptance_levels, check_error
from chary.jobs.audit import AuditFigures, judge, merge
from chary.jobs.contrasts import Contrast, contrasts
from chary.jobs.diagnose import compare_rows, features_of, prepare
from chary.jobs.explain import Cell, Explainer, Judge, every_reason, explainer, reasons_of, reasons_to_doubt
from chary.jobs.learners import AUTO, LEARNERS, WITH_AUDIT, Choice, learn
from chary.jobs.prior import PriorFigures, check_aim, prior_figures
from chary.jobs.sketch import with_sketch
from chary.method import ACCURACY, Labels, SelfTrainingClassifier, prior_of_rest
from chary.tables import DOUBT, AuditAnswers, Table, TableError, Target, read_audit, read_target

# Where a label comes from: the user; the model, which has learned from it; the model, at the end.
GIVEN, LEARNED, PREDICTED = SOURCES = ("given", "learned", "predicted")
AUDIT_SIZE = 30


@dataclass(frozen=True)
class LabeledTable:
    """The outcome of ``label_table``."""

    table: Table  #: what was labelled
    target: str  #: the column of the labels
    settings: dict[str, Any]  #: the parameters that it was labelled with
    labels: Labels  #: as given
    codes: NDArray[np.intp]  #: (n,) the label of every row
    confidence: NDArray[np.float64]  #: (n,) 1 where given
    source: NDArray[Any]  #: (n,) of SOURCES
    model: Pipeline  #: preparation and classifier
    diagnosis: Diagnosis  #: whether the labelled rows are like the rest
    judged: HeldOut  #: each given label, guessed by a model that has not seen it
    levels: list[AcceptanceLevel]  #: how often held-out labels of the surest rows were wrong
    next_rows: NDArray[np.intp]  #: of highest doubt, to be checked
    prior: PriorFigures  #: what was told of the class shares, and what would change with others
    contrasts: list[Contrast] = field(default_factory=list)  #: of the columns that differ most
    audit: AuditFigures | None = None  #: what the audit says; None: there was none
    spellings: dict[str, dict[str, int]] = field(default_factory=dict)  #: of classes that have several
    notes: list[str] = field(default_factory=list)  #: on how table and target were read, a sentence each
    accept: NDArray[np.bool_] | None = None  #: (n,) whether a row can be accepted; None: no error was asked for
    seconds: dict[str, float] = field(default_factory=dict)  #: by step
    explainer: Explainer | None = None  #: which columns matter, and why a row has its label
    #: By row, the cells that decide: of those worth a label theirs, of those worth a second look what held-out
    #: models say.
    reasons: dict[int, list[Cell]] = field(default_factory=dict)
    why: pl.Series | None = None  #: (n,) the cells that decide each new label, as text; None: not asked for
    settled: NDArray[np.bool_] | None = None  #: (n,) whether the model still says what a row was labelled with

    @property
    def second_look(self) -> HeldOut:
        """Given labels that held-out predictions contradict, the most improbable first; they may be right."""
        return self.judged.part(doubtful_labels(self.judged))

    @property
    def audit_size(self) -> int:
        """How many rows to draw for an audit, so that some are left to label; 0: there are too few."""
        size = min(AUDIT_SIZE, int((~self.labels.labeled).sum()) - 1)
        return size if size >= 2 else 0

    @property
    def added_columns(self) -> dict[str, pl.Series]:
        """The columns that chary adds; the label has the type of the target, if every class is one of it."""
        classes = pl.Series(self.labels.classes.tolist(), dtype=pl.String)
        added = {
            "chary_label": _as_target(classes, self.table.frame.schema[self.target]).gather(self.codes),
            "chary_confidence": pl.Series(np.round(self.confidence, 4)),
            "chary_source": pl.Series(self.source.tolist(), dtype=pl.String),
        }
        more = {"chary_accept": None if self.accept is None else pl.Series(self.accept), "chary_why": self.why}
        return {**added, **{name: column for name, column in more.items() if column is not None}}

    def at_error(self, error: float | None) -> LabeledTable:
        """The same as if this error had been asked for; needs an audit, unless there is none."""
        check_error(error, self.audit)
        if self.audit is None or self.audit.acceptor is None or self.settled is None:
            return self
        audit = replace(self.audit, asked=None if error is None else self.audit.acceptor.at(error))
        accept = acceptable(audit, self.labels.labeled, self.confidence, self.settled)
        return replace(self, audit=audit, accept=accept)

    def features(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[Any]:
        """(n, d) What the model makes of the cells of all rows, or of some."""
        return self.model[0].transform(features_of(self.table, self.target, self.settings.get("features"))[rows])

    def probabilities(self) -> NDArray[np.float64]:
        """(n, C) What the model makes of every row, by class; where a label was given, 1 for its class.

        A row that the model learned from keeps the label it was learned with, which need not be the class that
        has the highest probability in the end.
        """
        probs = self.model[-1].predict_proba(self.features())
        given = self.labels.labeled
        probs[given] = np.eye(len(self.labels.classes))[self.labels.codes[given]]
        return probs


def label_table(
    table: Table,
    target: str,
    *,
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
    missing: Sequence[str] = (),
    text: Sequence[str] = (),
    features: str | os.PathLike[str] | None = None,
    learner: Any = AUTO,
    rounds: int | None = None,
    audit: str | os.PathLike[str] | None = None,
    checked: str | os.PathLike[str] | None = None,
    class_prior: Any = None,
    aim: str = ACCURACY,
    error: float | None = None,
    explain: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> LabeledTable:
    """Label the rows of a table whose target cell is empty.

    Parameters
    ----------
    table : Table
        From ``read_table``.
    target : str
        The column that holds the labels.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells.
    exact_labels : bool, default=False
        Whether labels that differ in nothing but case and white space are different classes.
    drop : sequence of column names, default=()
        Columns to leave out.
    categorical, numeric, identifier : sequences of column names, default=()
        Columns that are of this kind, whatever they look like; identifiers are left out.
    missing : sequence of str, default=()
        Codes for nothing: ``"-9"`` in every column, ``"age=-9"`` in one.
    text : sequence of column names, default=()
        Columns to read as free text.
    features : path, default=None
        A NumPy file (.npy) with further numbers for each row of the table, as a model for images or text makes
        them. To label new rows with the model, such a file is needed for them, too.
    learner : {"auto", "mixed", "network", "linear", "boosting"} or classifier, default="auto"
        Who learns. "mixed": unlike learners, a linear model, trees and boosting. "network": the one with diverse
        heads. "auto": unlike learners, unless strongly biased labels make them fail (``docs/label.md`` says when)
        or there are more than 20,000 labels, from which boosting learns alone. Any classifier of scikit-learn's
        kind is cloned and fitted to the features of the labelled rows.
    rounds : int, default=None
        How often the model is fitted anew with its own most trusted labels. None: the network once, others not
        at all; with an audit only if once proves clearly better on it.
    audit : path, default=None
        A sheet of randomly drawn rows with a person's labels. The model is judged on them, then learns from them.
    checked : path, default=None
        A sheet of rows that were chosen for doubt, with a person's labels. The model learns from them as from any
        other label; no accuracy is computed from them.
    class_prior : None, "labeled" or mapping, default=None
        The share of each class among all rows, if you know it, as in ``SelfTrainingClassifier``.
    aim : {"accuracy", "balanced"}, default="accuracy"
        Are rare classes as important as common ones? Then "balanced": boundaries between classes are moved so that
        a larger share of each class is found on average. Plain accuracy may fall. Whoever learns, and with a class
        prior or an audit, too: ``docs/class-prior.md`` says how.
    error : float, default=None
        The largest share of wrong labels among those to be accepted, such as 0.1. Needs an audit. Which rows can
        be accepted is in ``accept`` and in the column ``chary_accept`` then; given and audited labels always can.
    explain : bool, default=False
        Whether to find the two or three cells that decide each new label, as text in the column ``chary_why``: up
        to 160 predictions a row.
    seed : int, default=0
        The same seed gives the same result.
    progress : callable, default=nothing
        Told the name of each step as it begins.
    """
    watch = _Watch(progress)
    watch.start("Preparing columns")
    check_error(error, audit)
    check_aim(aim)
    labels = read_labels(table, target, unlabeled, audit, class_prior, exact_labels, checked)
    kinds = {"drop": drop, "categorical": categorical, "numeric": numeric, "identifier": identifier, "text": text}
    X, preparation, n_missing = prepared = prepare(table, target, features, **kinds, missing=missing)

    watch.start("Comparing labelled and unlabelled rows")
    diagnosis = replace(compare_rows(prepared, labels.given, seed), audited=labels.answers is not None)
    differing = contrasts(X, preparation, labels.given.labeled, diagnosis)

    watch.start("Training")
    asked = {"learner": learner, "rounds": rounds, "class_prior": class_prior, "aim": aim, "seed": seed}
    fitted = fit(X, labels, diagnosis, error, **asked)

    watch.start("Labelling")
    rows = label_rows(fitted.classifier, X, labels.every)

    watch.start("Checking against held-out labels")
    judged, judges = check(fitted, X, labels.given, class_prior, seed)
    levels = acceptance_levels(rows.confidence[~labels.every.labeled], judged)

    watch.start("Choosing rows to check")
    next_rows = rows_to_label(X, labels.every.labeled, rows.confidence, random_state=seed)

    watch.start("Trying other class proportions")
    rest = X[~labels.every.labeled]
    prior = prior_figures(fitted.classifier, rest, random_state=seed)

    watch.start("Finding what decides the labels")
    explained = explainer(fitted.classifier, preparation, rest)
    doubted = judged.part(doubtful_labels(judged))
    reasons = {
        **reasons_of(explained, X, table, rows.codes, next_rows),
        **reasons_to_doubt(explained, X, table, labels.every.classes, doubted, judges),
    }
    why = every_reason(explained, X, table, rows.codes, labels.every.labeled, progress) if explain else None
    watch.stop()
    return LabeledTable(
        table=table,
        target=target,
        settings={
            "seed": seed,
            "rounds": fitted.classifier.max_rounds,
            "unlabeled": unlabeled,
            "exact_labels": exact_labels,
            "class_prior": class_prior,
            "aim": aim,
            "features": None if features is None else str(features),
            "learner": fitted.choice.name,
            "learner_words": fitted.choice.learner.words,
            "unlike_learners": fitted.choice.learner.unlike,
            "why_learner": fitted.choice.why,
        },
        labels=labels.every,
        codes=rows.codes,
        confidence=rows.confidence,
        source=rows.source,
        model=with_sketch(Pipeline([("prepare", preparation), ("classify", fitted.classifier)]), X, n_missing),
        diagnosis=diagnosis,
        judged=judged,
        levels=levels,
        next_rows=next_rows,
        prior=prior,
        contrasts=differing,
        audit=fitted.audit,
        spellings=labels.target.spellings,
        notes=[*table.notes, *labels.target.notes, *_unused_classes(labels.every, rows.codes)],
        accept=acceptable(fitted.audit, labels.every.labeled, rows.confidence, rows.codes == rows.predicted),
        seconds=watch.seconds,
        explainer=explained,
        reasons=reasons,
        why=why,
        settled=rows.codes == rows.predicted,
    )


# ---------------------------------------------------------------- the steps


class ReadLabels(NamedTuple):
    """The labels of a table and of its audit; both know every class."""

    given: Labels  # those of the table, without the audited rows
    every: Labels  # all together
    answers: AuditAnswers | None
    target: Target  # as read


def read_labels(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    audit: str | os.PathLike[str] | None = None,
    class_prior: Any = None,
    exact_labels: bool = False,
    checked: str | os.PathLike[str] | None = None,
) -> ReadLabels:
    """What the target column says, and a person who looked at some rows; some must be left to label."""
    read = read_target(table, target, unlabeled, exact_labels=exact_labels)
    labels = read.labels
    if checked is not None:
        labels, read = _with_checked(checked, table, target, read, unlabeled, exact_labels)
    if labels.labeled.all():
        raise TableError(f"Every row of column {shown(target)} has a label; there is nothing to label.")
    if audit is None:
        return ReadLabels(labels, labels, None, read)
    answers = read_audit(audit, table, target, labels, unlabeled, exact_labels=exact_labels)
    if answers.new_classes and (isinstance(class_prior, Mapping) or np.ndim(class_prior)):
        raise TableError(
            f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none of your labels has, "
            "so the shares given for the known ones cannot be right; leave ",
            Parameter("class_prior"),
            " out.",
        )
    given, every = merge(labels, answers)
    if every.labeled.all():
        raise TableError(
            f"With the audit every row of column {shown(target)} has a label; nothing is left to label."
        )
    return ReadLabels(given, every, answers, read)


def _with_checked(
    checked: str | os.PathLike[str],
    table: Table,
    target: str,
    read: Target,
    unlabeled: str | Sequence[str] | None,
    exact_labels: bool,
) -> tuple[Labels, Target]:
    """The labels of the table with those of rows that were chosen for doubt, which are labels like any other."""
    found = read_audit(checked, table, target, read.labels, unlabeled, exact_labels=exact_labels, chosen=DOUBT)
    said = f"{len(found.rows)} labels of rows that were checked one by one are among those given."
    _, labels = merge(read.labels, found)
    return labels, read._replace(notes=[*read.notes, said])


class Fitted(NamedTuple):
    """A classifier, and what would have been used without an audit."""

    choice: Choice
    classifier: SelfTrainingClassifier
    unaudited_choice: Choice
    audit: AuditFigures | None


def fit(
    X: NDArray[Any],
    labels: ReadLabels,
    diagnosis: Diagnosis,
    error: float | None = None,
    *,
    learner: Any = AUTO,
    rounds: int | None = None,
    class_prior: Any = None,
    aim: str = ACCURACY,
    seed: int = 0,
) -> Fitted:
    """Let somebody learn; with an audit unlike learners, judged on it, unless others were asked for."""
    asked: dict[str, Any] = {"rounds": rounds, "class_prior": class_prior, "aim": aim, "seed": seed}
    choice, classifier = learn(X, labels.given, diagnosis, learner=learner, **asked)
    if labels.answers is None:
        return Fitted(choice, classifier, choice, None)
    audited = Choice(WITH_AUDIT, LEARNERS[WITH_AUDIT], 0) if learner == AUTO else choice
    model, figures = judge(
        lambda n_rounds: audited._replace(rounds=n_rounds).classifier(seed, class_prior, aim),
        X,
        labels.every,
        labels.answers,
        unaudited=classifier,
        rounds=rounds,
        error=error,
        seed=seed,
    )
    return Fitted(audited._replace(rounds=figures.rounds), model, choice, figures)


class LabeledRows(NamedTuple):
    """Code, confidence and source of every row."""

    codes: NDArray[np.intp]  # (n,)
    confidence: NDArray[np.float64]  # (n,)
    source: NDArray[Any]  # (n,)
    predicted: NDArray[np.intp]  # (n,) what the model says in the end, which is not always what it learned from


def label_rows(classifier: SelfTrainingClassifier, X: NDArray[Any], labels: Labels) -> LabeledRows:
    """Label the rows that have none; what was given stays as it was."""
    pool = np.flatnonzero(~labels.labeled)
    codes = labels.codes.copy()
    confidence = np.ones(len(codes))
    said, confidence[pool] = classifier.predict_with_confidence(X[pool])
    codes[pool] = np.searchsorted(labels.classes, said)
    predicted = codes.copy()
    learned = np.flatnonzero(classifier.labeled_iter_ > 0)
    if classifier.aim == ACCURACY:  # another aim comes after the rounds, and is for every row
        codes[learned] = np.searchsorted(labels.classes, classifier.transduction_[learned].astype(str))
    source = np.full(len(codes), PREDICTED, dtype=object)
    source[learned], source[labels.labeled] = LEARNED, GIVEN
    return LabeledRows(codes, confidence, source, predicted)


def check(
    fitted: Fitted, X: NDArray[Any], given: Labels, class_prior: Any, seed: int
) -> tuple[HeldOut, list[Judge]]:
    """The given labels, held out in turn, as seen by what is used without an audit; and by whom."""
    most = fitted.unaudited_choice.learner.held_out_rows
    rows = _with_pool(given.labeled, most, np.random.default_rng(seed))
    prior = _prior_among(rows, given.codes, class_prior, fitted.classifier.class_prior_)
    same = fitted.unaudited_choice.classifier(seed, prior, fitted.classifier.aim)
    judges: list[Any] = []
    judged = held_out(same, X[rows], given.part(rows), random_state=seed, keep=judges)
    return judged._replace(rows=rows[judged.rows]), [Judge(model, rows[part]) for model, part in judges]


def _unused_classes(labels: Labels, codes: NDArray[np.intp]) -> list[str]:
    """A sentence for classes that have labels and yet no row received."""
    n_classes = len(labels.classes)
    given = np.bincount(labels.codes[labels.labeled], minlength=n_classes)
    received = np.bincount(codes[~labels.labeled], minlength=n_classes)
    unused = [f"{shown(labels.classes[c])} ({given[c]:,})" for c in np.flatnonzero((given > 0) & (received == 0))]
    if not unused:
        return []
    more = [f"{len(unused) - 10} more"] if len(unused) > 10 else []
    names = listed([*unused[:10], *more])
    return [f"Of these classes labels were given (how many, in brackets), but no row received one: {names}."]


def _prior_among(rows: NDArray[np.intp], codes: NDArray[np.intp], told: Any, prior: Any) -> Any:
    """The class proportions of some rows, all labelled ones among them, if ``prior`` are those of all rows."""
    if told is None or isinstance(told, str):
        return told
    counts = np.bincount(codes[codes >= 0], minlength=len(prior))
    return (counts + prior_of_rest(prior, codes) * (len(rows) - counts.sum())) / len(rows)


def _with_pool(labeled: NDArray[np.bool_], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    pool = np.flatnonzero(~labeled)
    if len(pool) > size:
        pool = rng.choice(pool, size, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(labeled), pool]))


def _as_target(classes: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Classes in the type of the target, if that can hold them all: an audit may have found new ones."""
    typed = classes
    if dtype == pl.Boolean:
        typed = classes.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    elif dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum):
        typed = classes.cast(dtype, strict=False)
    return typed if typed.cast(pl.String).equals(classes) else classes


class _Watch:
    """Announces steps and times them."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}
        self._step, self._since = "", perf_counter()

    def start(self, step: str) -> None:
        self.stop()
        self._step, self._since = step, perf_counter()
        self.progress(step)

    def stop(self) -> None:
        if self._step:
            self.seconds[self._step] = perf_counter() - self._since
            self._step = ""
