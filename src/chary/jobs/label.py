"""A table with a few labels in; labels, confidence, a model and the figures of a report out."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from chary._words import shown
from chary.evaluation import (
    STRONG,
    UNKNOWN,
    Diagnosis,
    HeldOut,
    diagnose,
    held_out,
    rows_to_label,
)
from chary.jobs.audit import AuditFigures, judge, merge
from chary.jobs.model_file import load
from chary.jobs.prior import PriorFigures, prior_figures
from chary.method import (
    Curriculum,
    DiverseEnsembleClassifier,
    Labels,
    MixedEnsembleClassifier,
    RisingShare,
    SelfTrainingClassifier,
    decode,
    prior_of_rest,
)
from chary.tables import Table, TableError, TablePreparation, read_audit, target_labels

GIVEN, ACCEPTED, PREDICTED = "given", "accepted", "predicted"
NETWORK, MIXED = "network", "mixed"

# Unlabelled rows that stay in training while labelled rows are held out: as many as can be afforded.
_HELD_OUT_POOL = {NETWORK: 20_000, MIXED: 2_000}
# Unlike learners cost more, the more rows there are: most that take part, are accepted in a round, have labels.
_POOL, _MOST_ACCEPTED, _MOST_LABELED = 50_000, 10_000, 5_000
_SHARES = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)


class AcceptanceLevel(NamedTuple):
    """What accepting the most confident rows would mean."""

    share: float  # of the unlabelled rows
    n_rows: int
    threshold: float  # their least confidence
    n_judged: int  # held-out labelled rows as confident
    error: float | None  # share of those that were wrong; None: too few to say
    error_high: float | None  # its one-sided 95 % limit (Clopper-Pearson)


@dataclass(frozen=True)
class LabeledTable:
    """The outcome of ``label_table``."""

    table: Table
    target: str
    settings: dict[str, Any]
    labels: Labels  # as given
    codes: NDArray[np.intp]  # (n,) the label of every row
    confidence: NDArray[np.float64]  # (n,) 1 where given
    source: NDArray[Any]  # (n,) given, accepted or predicted
    model: Pipeline  # preparation and classifier
    diagnosis: Diagnosis
    judged: HeldOut
    levels: list[AcceptanceLevel]
    next_rows: NDArray[np.intp]  # worth a label, the most useful first
    prior: PriorFigures
    audit: AuditFigures | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # by step

    @property
    def audit_size(self) -> int:
        """How many rows to draw for an audit; some must be left to label."""
        return min(30, int((~self.labels.labeled).sum()) - 1)

    @property
    def audit_command(self) -> str:
        """What to type to draw them; nothing, where the unlabelled rows are too few."""
        k = self.audit_size
        more = () if k == 30 else ("-k", str(k))
        marker = {} if self.settings["unlabeled"] is None else {"unlabeled": self.settings["unlabeled"]}
        given = [w for name, value in {**marker, **self.table.read_with}.items() for w in (f"--{name}", value)]
        words = ["audit", "draw", self.table.path or self.table.name, "--target", self.target, *given, *more]
        return shlex.join(["chary", *words]) if k >= 2 else ""

    @property
    def added_columns(self) -> dict[str, pl.Series]:
        """The columns that chary adds; the label has the type of the target, if every class is one of it."""
        classes = pl.Series(self.labels.classes.tolist(), dtype=pl.String)
        return {
            "chary_label": _as_target(classes, self.table.frame.schema[self.target]).gather(self.codes),
            "chary_confidence": pl.Series(np.round(self.confidence, 4)),
            "chary_source": pl.Series(self.source.tolist(), dtype=pl.String),
        }


def label_table(
    table: Table,
    target: str,
    *,
    unlabeled: str | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    identifier: Sequence[str] = (),
    rounds: int | None = None,
    audit: str | os.PathLike[str] | None = None,
    class_prior: Any = None,
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
    unlabeled : str, default=None
        A cell value that means "no label", besides empty cells.
    drop, categorical, numeric, identifier : sequences of column names
        As in ``TablePreparation``.
    rounds : int, default=None
        How often the most trusted labels are accepted and the model is fitted anew with them. None: five times
        with a class prior, which keeps the shares of the classes in place; the network, once, as more were no more
        accurate and leave its heads nothing to disagree on; otherwise not at all, and with an audit only if once
        proves clearly better on it.
    audit : path, default=None
        A file of ``chary audit draw`` with a person's labels. The model is judged on them, then learns from them.
    class_prior : None, "labeled" or mapping, default=None
        The share of each class among all rows, if you know it, as in ``SelfTrainingClassifier``. Without it and
        without an audit, a network takes the place of unlike learners if the labelled rows differ strongly from
        the rest, are too few to tell, or more than 5,000.
    seed : int, default=0
    progress : callable, default=nothing
        Told the name of each step as it begins.
    """
    watch = _Watch(progress)
    watch.start("Preparing columns")
    labels = target_labels(table, target, unlabeled)
    if labels.labeled.all():
        raise TableError(f"Every row of column {shown(target)} has a label; there is nothing to label.")
    answers = None if audit is None else read_audit(audit, table, target, labels, unlabeled)
    if answers and answers.new_classes and not (class_prior is None or isinstance(class_prior, str)):
        raise TableError(
            f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none of your labels has, "
            "so the shares given for the known ones cannot be right; leave --class-prior out."
        )
    given, labels = (labels, labels) if answers is None else merge(labels, answers)
    if labels.labeled.all():
        raise TableError(
            f"With the audit every row of column {shown(target)} has a label; nothing is left to label."
        )
    features = table.frame.drop(target)
    preparation = TablePreparation(drop=drop, categorical=categorical, numeric=numeric, identifier=identifier)
    X = preparation.fit(features).transform(features)

    watch.start("Comparing labelled and unlabelled rows")
    diagnosis = diagnose_features(X, given, preparation, seed)
    diagnosis = replace(diagnosis, audited=answers is not None)

    watch.start("Training")
    learner, usual_rounds = _usual(diagnosis.verdict, class_prior, int(given.labeled.sum()))
    classifier = _classifier(usual_rounds if rounds is None else rounds, learner, seed, class_prior)
    unaudited, unaudited_learner, audited = classifier, learner, None
    if answers is None:
        classifier.fit(X, decode(labels.codes, labels.classes, unlabeled=None))
    else:
        learner, make = MIXED, partial(_classifier, learner=MIXED, seed=seed, class_prior=class_prior)
        classifier, audited = judge(make, X, labels, answers, unaudited=unaudited, rounds=rounds, seed=seed)

    watch.start("Labelling")
    codes, confidence, source = _label_rows(classifier, X, labels)

    watch.start("Checking against held-out labels")
    rows = _with_pool(given.labeled, _HELD_OUT_POOL[unaudited_learner], np.random.default_rng(seed))
    same = clone(unaudited).set_params(
        class_prior=_prior_among(rows, given.codes, class_prior, classifier.class_prior_), unlabeled=-1
    )
    judged = held_out(same, X[rows], given.codes[rows], random_state=seed)
    levels = acceptance_levels(confidence[~labels.labeled], judged)

    watch.start("Choosing rows to label next")
    next_rows = rows_to_label(X, labels.labeled, confidence, random_state=seed)

    watch.start("Trying other class proportions")
    prior = prior_figures(classifier, X[~labels.labeled], random_state=seed)
    watch.stop()
    return LabeledTable(
        table=table,
        target=target,
        settings={
            "seed": seed,
            "rounds": classifier.max_rounds,
            "unlabeled": unlabeled,
            "class_prior": class_prior,
            "learner": learner,
        },
        labels=labels,
        codes=codes,
        confidence=confidence,
        source=source,
        model=Pipeline([("prepare", preparation), ("classify", classifier)]),
        diagnosis=diagnosis,
        judged=judged,
        levels=levels,
        next_rows=next_rows,
        prior=prior,
        audit=audited,
        seconds=watch.seconds,
    )


def _usual(verdict: str, class_prior: Any, n_labeled: int) -> tuple[str, int]:
    """Learner and rounds of self-training for what is known: see docs/label.md for the figures behind it."""
    if class_prior is not None:
        return MIXED, 5
    if verdict in (STRONG, UNKNOWN) or n_labeled > _MOST_LABELED:
        return NETWORK, 1  # with nothing but strongly biased labels to go by, unlike learners can fail together
    return MIXED, 0  # with little bias to undo, rounds help some tables and harm others


def _classifier(rounds: int, learner: str, seed: int, class_prior: Any) -> SelfTrainingClassifier:
    mixed = learner == MIXED
    return SelfTrainingClassifier(
        (MixedEnsembleClassifier if mixed else DiverseEnsembleClassifier)(random_state=seed),
        policy=RisingShare(max_rows=_MOST_ACCEPTED) if mixed else Curriculum(step=0.4),
        confidence="t_similarity",
        max_rounds=rounds,
        class_prior=class_prior,
        max_pool=_POOL if mixed else None,
        unlabeled=None,
        random_state=seed,
    )


def diagnose_features(X: NDArray[Any], labels: Labels, preparation: TablePreparation, seed: int) -> Diagnosis:
    """Compare labelled and unlabelled rows, with the names and counts that a person needs."""
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes)).tolist()
    return diagnose(
        X,
        labels.labeled,
        feature_names=preparation.get_feature_names_out().tolist(),
        class_counts=dict(zip(labels.classes.tolist(), counts, strict=True)),
        random_state=seed,
    )


def load_table_model(path: str | os.PathLike[str]) -> Pipeline:
    """Read a model that takes tables, as ``chary label`` writes them."""
    model = load(path)
    if not isinstance(model, Pipeline) or not isinstance(model[0], TablePreparation):
        raise TableError(f"{shown(Path(path).name)} holds no table model; use one that chary label wrote.")
    return model


def predict_table(model: Pipeline, table: Table) -> dict[str, pl.Series]:
    """Columns with label and confidence for the rows of a new table."""
    preparation, classifier = model[0], model[-1]
    X = preparation.transform(table.frame)
    return {
        "chary_label": pl.Series(classifier.predict(X).astype(str).tolist(), dtype=pl.String),
        "chary_confidence": pl.Series(np.round(classifier.predict_confidence(X), 4)),
    }


def acceptance_levels(confidence: NDArray[Any], judged: HeldOut) -> list[AcceptanceLevel]:
    """How many rows could be accepted, and how often labelled rows as confident were wrong when held out."""
    levels = []
    for share in _SHARES:
        n_rows = max(1, round(share * len(confidence)))
        threshold = float(np.partition(confidence, len(confidence) - n_rows)[len(confidence) - n_rows])
        as_confident = judged.confidence >= threshold
        n_judged, n_wrong = int(as_confident.sum()), int((as_confident & ~judged.correct).sum())
        error = high = None
        if n_judged >= 10:
            error = n_wrong / n_judged
            high = 1.0 if n_wrong == n_judged else float(beta.ppf(0.95, n_wrong + 1, n_judged - n_wrong))
        levels.append(AcceptanceLevel(share, n_rows, threshold, n_judged, error, high))
    return levels


def _label_rows(
    classifier: SelfTrainingClassifier, X: NDArray[Any], labels: Labels
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[Any]]:
    """Code, confidence and source of every row; what was given stays as it was."""
    pool = np.flatnonzero(~labels.labeled)
    codes = labels.codes.copy()
    confidence = np.ones(len(codes))
    predicted, confidence[pool] = classifier.predict_with_confidence(X[pool])
    codes[pool] = np.searchsorted(labels.classes, predicted)
    accepted = np.flatnonzero(classifier.labeled_iter_ > 0)
    codes[accepted] = np.searchsorted(labels.classes, classifier.transduction_[accepted].astype(str))
    source = np.full(len(codes), PREDICTED, dtype=object)
    source[accepted], source[labels.labeled] = ACCEPTED, GIVEN
    return codes, confidence, source


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
