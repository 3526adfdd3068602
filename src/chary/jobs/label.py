"""A table with a few labels in; labels, confidence, a model and what can be said of them out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from chary._words import Parameter, shown
from chary.evaluation import Diagnosis, HeldOut, held_out, rows_to_label
from chary.jobs.acceptance import AcceptanceLevel, acceptable, acceptance_levels, check_error
from chary.jobs.audit import AuditFigures, judge, merge
from chary.jobs.contrasts import Contrast, contrasts
from chary.jobs.diagnose import compare_rows, features_of, prepare
from chary.jobs.learners import LEARNERS, WITH_AUDIT, Choice, choose
from chary.jobs.prior import PriorFigures, prior_figures
from chary.method import Labels, SelfTrainingClassifier, prior_of_rest
from chary.tables import DOUBT, AuditAnswers, Table, TableError, Target, read_audit, read_target

# Where a label comes from: the user; the model, which has learned from it; the model, at the end.
GIVEN, LEARNED, PREDICTED = SOURCES = ("given", "learned", "predicted")
AUDIT_SIZE = 30


@dataclass(frozen=True)
class LabeledTable:
    """The outcome of ``label_table``."""

    table: Table
    target: str
    settings: dict[str, Any]
    labels: Labels  # as given
    codes: NDArray[np.intp]  # (n,) the label of every row
    confidence: NDArray[np.float64]  # (n,) 1 where given
    source: NDArray[Any]  # (n,) of SOURCES
    model: Pipeline  # preparation and classifier
    diagnosis: Diagnosis
    judged: HeldOut
    levels: list[AcceptanceLevel]
    next_rows: NDArray[np.intp]  # of highest doubt, to be checked
    prior: PriorFigures
    contrasts: list[Contrast] = field(default_factory=list)  # of the columns that differ most
    audit: AuditFigures | None = None
    spellings: dict[str, dict[str, int]] = field(default_factory=dict)  # of classes that have several
    notes: list[str] = field(default_factory=list)  # on how table and target were read, a sentence each
    accept: NDArray[np.bool_] | None = None  # (n,) whether a row can be accepted; None: no error was asked for
    seconds: dict[str, float] = field(default_factory=dict)  # by step

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
        return added if self.accept is None else {**added, "chary_accept": pl.Series(self.accept)}

    def probabilities(self) -> NDArray[np.float64]:
        """(n, C) What the model makes of every row, by class; where a label was given, 1 for its class.

        A row that the model learned from keeps the label it was learned with, which need not be the class that
        has the highest probability in the end.
        """
        frame = features_of(self.table, self.target, self.settings.get("features"))
        probs = self.model.predict_proba(frame)
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
    rounds: int | None = None,
    audit: str | os.PathLike[str] | None = None,
    checked: str | os.PathLike[str] | None = None,
    class_prior: Any = None,
    error: float | None = None,
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
    drop, categorical, numeric, identifier, text : sequences of column names
        As in ``TablePreparation``.
    missing : sequence of str, default=()
        Codes for nothing, ``"-9"`` or ``"age=-9"``, as in ``TablePreparation``.
    features : path, default=None
        A NumPy file (.npy) with further numbers for each row of the table, as a model for images or text makes
        them. To label new rows with the model, such a file is needed for them, too.
    rounds : int, default=None
        How often the model is fitted anew with its own most trusted labels. None: five times
        with a class prior, which keeps the shares of the classes in place; the network, once, as more were no more
        accurate and leave its heads nothing to disagree on; otherwise not at all, and with an audit only if once
        proves clearly better on it.
    audit : path, default=None
        A sheet of randomly drawn rows with a person's labels. The model is judged on them, then learns from them.
    checked : path, default=None
        A sheet of rows that were chosen for doubt, with a person's labels. The model learns from them as from any
        other label; no accuracy is computed from them.
    class_prior : None, "labeled" or mapping, default=None
        The share of each class among all rows, if you know it, as in ``SelfTrainingClassifier``. Without it and
        without an audit, a network takes the place of unlike learners if the labelled rows differ strongly from
        the rest, are too few to tell, or more than 5,000.
    error : float, default=None
        The largest share of wrong labels among those to be accepted, such as 0.1. Needs an audit. Which rows can
        be accepted is in ``accept`` and in the column ``chary_accept`` then; given and audited labels always can.
    seed : int, default=0
    progress : callable, default=nothing
        Told the name of each step as it begins.
    """
    watch = _Watch(progress)
    watch.start("Preparing columns")
    check_error(error, audit)
    labels = read_labels(table, target, unlabeled, audit, class_prior, exact_labels, checked)
    kinds = {"drop": drop, "categorical": categorical, "numeric": numeric, "identifier": identifier, "text": text}
    X, preparation = prepared = prepare(table, target, features, **kinds, missing=missing)

    watch.start("Comparing labelled and unlabelled rows")
    diagnosis = replace(compare_rows(prepared, labels.given, seed), audited=labels.answers is not None)
    differing = contrasts(X, preparation, labels.given.labeled, diagnosis)

    watch.start("Training")
    choice = choose(diagnosis.verdict, class_prior, int(labels.given.labeled.sum()))
    fitted = fit(X, labels, choice, rounds, class_prior, seed, error)

    watch.start("Labelling")
    rows = label_rows(fitted.classifier, X, labels.every)

    watch.start("Checking against held-out labels")
    judged = check(fitted, X, labels.given, class_prior, seed)
    levels = acceptance_levels(rows.confidence[~labels.every.labeled], judged)

    watch.start("Choosing rows to check")
    next_rows = rows_to_label(X, labels.every.labeled, rows.confidence, random_state=seed)

    watch.start("Trying other class proportions")
    prior = prior_figures(fitted.classifier, X[~labels.every.labeled], random_state=seed)
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
            "features": None if features is None else str(features),
            "learner": fitted.learner,
        },
        labels=labels.every,
        codes=rows.codes,
        confidence=rows.confidence,
        source=rows.source,
        model=Pipeline([("prepare", preparation), ("classify", fitted.classifier)]),
        diagnosis=diagnosis,
        judged=judged,
        levels=levels,
        next_rows=next_rows,
        prior=prior,
        contrasts=differing,
        audit=fitted.audit,
        spellings=labels.target.spellings,
        notes=[*table.notes, *labels.target.notes],
        accept=acceptable(fitted.audit, labels.every.labeled, rows.confidence, rows.codes == rows.predicted),
        seconds=watch.seconds,
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

    learner: str  # of LEARNERS
    classifier: SelfTrainingClassifier
    unaudited_learner: str
    unaudited: SelfTrainingClassifier
    audit: AuditFigures | None


def fit(
    X: NDArray[Any],
    labels: ReadLabels,
    choice: Choice,
    rounds: int | None,
    class_prior: Any,
    seed: int,
    error: float | None = None,
) -> Fitted:
    """Fit the learner that was chosen; with an audit unlike learners, judged on it."""
    usual = choice.rounds if rounds is None else rounds
    classifier = LEARNERS[choice.name].classifier(usual, seed, class_prior)
    if labels.answers is None:
        classifier.fit(X, labels.every)
        return Fitted(choice.name, classifier, choice.name, classifier, None)
    make = partial(LEARNERS[WITH_AUDIT].classifier, seed=seed, class_prior=class_prior)
    model, figures = judge(
        make, X, labels.every, labels.answers, unaudited=classifier, rounds=rounds, error=error, seed=seed
    )
    return Fitted(WITH_AUDIT, model, choice.name, classifier, figures)


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
    codes[learned] = np.searchsorted(labels.classes, classifier.transduction_[learned].astype(str))
    source = np.full(len(codes), PREDICTED, dtype=object)
    source[learned], source[labels.labeled] = LEARNED, GIVEN
    return LabeledRows(codes, confidence, source, predicted)


def check(fitted: Fitted, X: NDArray[Any], given: Labels, class_prior: Any, seed: int) -> HeldOut:
    """The given labels, held out in turn, as seen by what is used without an audit."""
    most = LEARNERS[fitted.unaudited_learner].held_out_rows
    rows = _with_pool(given.labeled, most, np.random.default_rng(seed))
    prior = _prior_among(rows, given.codes, class_prior, fitted.classifier.class_prior_)
    same = clone(fitted.unaudited).set_params(class_prior=prior)
    return held_out(same, X[rows], given.part(rows), random_state=seed)


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
