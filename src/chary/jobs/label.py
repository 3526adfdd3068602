"""A table with a few labels in; labels, confidence, a model and what can be said of them out."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from chary._words import listed, shown
from chary.evaluation import doubtful_labels, rows_to_label
from chary.jobs.acceptance import acceptable, acceptance_levels, check_error
from chary.jobs.audit import AuditFigures
from chary.jobs.contrasts import contrasts
from chary.jobs.diagnose import compare_rows, prepare
from chary.jobs.explain import Explainer, every_reason, explainer, reasons_of, reasons_to_doubt
from chary.jobs.labeled import Counts, LabeledTable
from chary.jobs.learners import AUTO
from chary.jobs.prior import check_aim, prior_figures
from chary.jobs.sketch import with_sketch
from chary.jobs.steps import Asked, Fitted, LabeledRows, ReadLabels, check, fit, label_rows, read_labels
from chary.method import ACCURACY, Labels
from chary.tables import Table

Progress = Callable[[str], None]


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
    asked = Asked.of(
        target,
        unlabeled=unlabeled,
        exact_labels=exact_labels,
        drop=drop,
        categorical=categorical,
        numeric=numeric,
        identifier=identifier,
        missing=missing,
        text=text,
        features=features,
        learner=learner,
        rounds=rounds,
        audit=audit,
        checked=checked,
        class_prior=class_prior,
        aim=aim,
        error=error,
        explain=explain,
        seed=seed,
    )
    return run(table, asked, AtHand(), progress)


class Learnt(NamedTuple):
    """What was learned from the rows at hand."""

    table: Table
    asked: Asked
    X: NDArray[Any]  # (n, d)
    labels: ReadLabels
    fitted: Fitted
    model: Pipeline  # preparation and classifier

    @property
    def n_unlabeled(self) -> int:
        """Rows of the whole table that nobody labelled."""
        return self.table.n_rows - int(self.labels.every.labeled.sum())


class Shown(NamedTuple):
    """The rows that a report may show, and what there is to say of them."""

    table: Table
    X: NDArray[Any]
    labels: Labels
    rows: LabeledRows
    next_rows: NDArray[np.intp]  # to be checked: where they are in the table
    why: pl.Series | None = None
    notes: Sequence[str] = ()  # on how all rows were labelled, a sentence each


class Rows(Protocol):
    """Who labels all rows of a table, once somebody has learned from those at hand."""

    def score(self, learnt: Learnt) -> Counts:
        """Label every row; the classifier is in line with the class prior on all of them from then on."""

    def show(self, learnt: Learnt, audit: AuditFigures | None, explained: Explainer, progress: Progress) -> Shown:
        """The rows at hand, at least those to be checked, with their labels."""


def run(table: Table, asked: Asked, rows: Rows, progress: Progress) -> LabeledTable:
    """Learn from the rows at hand, have all rows labelled, and gather what can be said of them."""
    watch = _Watch(progress)
    watch.start("Preparing columns")
    target, seed = asked.target, asked.seed
    check_error(asked.error, asked.audit)
    check_aim(asked.aim)
    labels = read_labels(
        table, target, asked.unlabeled, asked.audit, asked.class_prior, asked.exact_labels, asked.checked
    )
    X, preparation, n_missing = prepared = prepare(table, target, asked.features, **asked.kinds)

    watch.start("Comparing labelled and unlabelled rows")
    diagnosis = compare_rows(prepared, labels.given, seed)
    n_unlabeled = table.n_rows - int(labels.given.labeled.sum())
    diagnosis = replace(diagnosis, audited=labels.answers is not None, n_unlabeled=n_unlabeled)
    differing = contrasts(X, preparation, labels.given.labeled, diagnosis)

    watch.start("Training")
    fitted = fit(X, labels, diagnosis, asked, table.n_rows)
    model = with_sketch(Pipeline([("prepare", preparation), ("classify", fitted.classifier)]), X, n_missing)
    learnt = Learnt(table, asked, X, labels, fitted, model)

    watch.start("Labelling")
    counts = rows.score(learnt)
    audit = None if fitted.audit is None else fitted.audit.of_rest(counts.rest)

    watch.start("Checking against held-out labels")
    judged, judges = check(fitted, X, labels.given, asked, table.n_rows)
    levels = acceptance_levels(counts.rest, judged)

    watch.start("Trying other class proportions")
    rest = np.flatnonzero(~labels.every.labeled)
    prior = prior_figures(fitted.classifier, X, rest, random_state=seed)

    watch.start("Finding what decides the labels")
    explained = explainer(fitted.classifier, preparation, X, rest)

    watch.start("Choosing rows to check")
    shown_rows = rows.show(learnt, audit, explained, progress)
    table, X, every, labeled, next_rows, why, said = shown_rows
    judged = judged._replace(rows=_moved(judged.rows, learnt.table, table))
    judges = [judge._replace(rows=_moved(judge.rows, learnt.table, table)) for judge in judges]
    doubted = judged.part(doubtful_labels(judged))
    reasons = {
        **reasons_of(explained, X, table, labeled.codes, next_rows),
        **reasons_to_doubt(explained, X, table, every.classes, doubted, judges),
    }
    watch.stop()
    return LabeledTable(
        table=table,
        target=target,
        settings=_settings(asked, fitted),
        labels=every,
        codes=labeled.codes,
        confidence=labeled.confidence,
        source=labeled.source,
        model=model,
        counts=counts,
        diagnosis=diagnosis,
        judged=judged,
        levels=levels,
        next_rows=next_rows,
        prior=prior,
        contrasts=differing,
        audit=audit,
        spellings=labels.target.spellings,
        notes=[*table.notes, *said, *labels.target.notes, *_unused_classes(every, counts)],
        accept=acceptable(audit, every.labeled, labeled.confidence, labeled.settled),
        seconds=watch.seconds,
        explainer=explained,
        reasons=reasons,
        why=why,
        settled=labeled.settled,
        n_drawn=None if learnt.table.taken is None else len(rest),
    )


def _settings(asked: Asked, fitted: Fitted) -> dict[str, Any]:
    return {
        "seed": asked.seed,
        "rounds": fitted.classifier.max_rounds,
        "unlabeled": asked.unlabeled,
        "exact_labels": asked.exact_labels,
        "class_prior": asked.class_prior,
        "aim": asked.aim,
        "features": None if asked.features is None else str(asked.features),
        "learner": fitted.choice.name,
        "learner_words": fitted.choice.learner.words,
        "unlike_learners": fitted.choice.learner.unlike,
        "why_learner": fitted.choice.why,
    }


def _moved(places: NDArray[np.intp], before: Table, after: Table) -> NDArray[np.intp]:
    """Where rows of a table are in one that holds more rows of the same file."""
    return places if after.taken is None or after is before else after.taken.places(before.numbers(places))


class AtHand:
    """All rows are in memory."""

    def score(self, learnt: Learnt) -> Counts:
        """Label them at once."""
        every = learnt.labels.every
        self.rows = label_rows(learnt.fitted.classifier, learnt.X, every)
        return Counts.of(*self.rows, len(every.classes))

    def show(self, learnt: Learnt, audit: AuditFigures | None, explained: Explainer, progress: Progress) -> Shown:
        """All of them."""
        table, X, every, rows = learnt.table, learnt.X, learnt.labels.every, self.rows
        as_shown = np.round(rows.confidence, 4)
        next_rows = rows_to_label(X, every.labeled, as_shown, random_state=learnt.asked.seed)
        why = None
        if learnt.asked.explain:
            why = every_reason(explained, X, table, rows.codes, every.labeled, progress)
        return Shown(table, X, every, rows, next_rows, why)


def _unused_classes(labels: Labels, counts: Counts) -> list[str]:
    """A sentence for classes that have labels and yet no row received."""
    given, received = counts.labels[0], counts.labels[1:].sum(axis=0)
    unused = [f"{shown(labels.classes[c])} ({given[c]:,})" for c in np.flatnonzero((given > 0) & (received == 0))]
    if not unused:
        return []
    more = [f"{len(unused) - 10} more"] if len(unused) > 10 else []
    names = listed([*unused[:10], *more])
    return [f"Of these classes labels were given (how many, in brackets), but no row received one: {names}."]


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
