"""Labels for all rows of a table: learn from the rows in memory, then label batch after batch and write them.

A table that does not fit in memory is read twice: once for its labelled rows and a sample of the
others, which are learned from, and once to label and write every row. One that fits is its own
sample, and a single batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from chary._threads import same_warnings
from chary._words import Parameter, listed, shown
from chary.audit.acceptance import ConfidenceHistogram, check_error
from chary.audit.answers import Audit
from chary.audit.origin import DOUBT
from chary.audit.sheet import GUESS, named_rows, read_sheet, unlabelled_rows, write_sheet
from chary.audit.table_cells import sample_of_table
from chary.labelling.diagnose import DiagnosedTable, Floats, draw_at_most
from chary.labelling.drift import recount_reference
from chary.labelling.explain import Cell, every_reason, reasons_of
from chary.labelling.learn import Fit, learn
from chary.labelling.predict_files import group_rows
from chary.labelling.score import (
    RowCounts,
    probability_columns,
    probability_names,
    refuse_memory,
    score_batches,
)
from chary.method.estimators import in_blocks_of_rows
from chary.method.held_out import HeldOut
from chary.method.labels import Labels
from chary.method.priors import ACCURACY
from chary.options import AUDIT_SIZE, LabelOptions
from chary.tables import Source, Table, TableError
from chary.tables.cells import target_texts
from chary.tables.formats import GROUP_ROWS, appending
from chary.tables.table import (
    ACCEPT,
    CONFIDENCE,
    LABEL,
    SOURCE,
    WHY,
    free_memory,
    refuse_taken,
    rows_that_count,
)

SAMPLE = 100_000  # rows without a label to learn with, of a table that is read in parts
# What a process needs besides the rows that it keeps, how much these grow on the way, and the least
# of all.
_BASE, _GROWTH, _LEAST = 450 << 20, 3, 600 << 20
# Rows looked at for those worth a label, drawn at random: unlabelled ones, and labelled ones to
# compare them with.
_MOST_UNLABELED, _MOST_LABELED = 20_000, 600
# Classes that a sentence names.
_NAMED_CLASSES = 10
_BLOCK = 2_000  # rows whose distances are worked out at a time
# Where a label comes from: the user; the model, which has learned from it; the model, at the end.
GIVEN, LEARNED, PREDICTED = SOURCES = ("given", "learned", "predicted")
# Labels listed for a second look at most, how much more probable than the given one the other class
# must be, and how many labels must have been judged for the probabilities to mean something: see
# ``benchmarks/second_look.py``.
_MOST, _MARGIN, _FEWEST_JUDGED = 20, 0.85, 100

Progress = Callable[[str], None]  # told the name of each step


@same_warnings()
def label_table(
    table: Table | Source,
    options: LabelOptions,
    *,
    file: BinaryIO | None = None,
    progress: Progress = lambda step: None,
    diagnosed: Callable[[DiagnosedTable], None] = lambda found: None,
) -> LabeledTable:
    """Label the rows of a table whose target cell is empty.

    The model learns from all rows, or, of a table that is read in parts, from every labelled row
    and a uniform sample of the others. Then every row is labelled, batch after batch. Of a table
    read in parts:

    - Counts are of all rows. Rows to check are chosen from the sample.
    - Class offsets come from the sample, so class shares that were told are met on it, and nearly on all rows.
    - The confidence from which on rows are accepted comes from the sample. That is as exact as for a table in
      memory: the confidences tried have to be fixed before the audited labels are looked at, by any
      rows. How many rows reach it is counted on all of them.

    Parameters
    ----------
    table : Table or Source
        From ``read_table``, or from ``open_source`` to be read in parts.
    options : LabelOptions
        What a user can choose. ``target`` must be given.
    file : binary file, default=None
        Where to write the table with its labels. None: they are counted, and not written.
    progress : callable, default=nothing
        Told the name of each step as it begins.
    diagnosed : callable, default=nothing
        Told how the columns were read and whether the labels are biased as soon as that is known:
        long before the labels are there.

    Returns
    -------
    LabeledTable
        Its rows are all, or those that were learned from.
    """
    memory = options.memory or free_memory() // 2
    source = None if isinstance(table, Table) else table
    if isinstance(table, Table):
        rows_at_hand = rows_that_count(table)
    else:
        rows_at_hand = _sampled(table, options, memory, progress)
    fit, X = learn(rows_at_hand, options, progress, diagnosed)
    progress("Labelling")
    if options.probabilities:
        refuse_taken(fit.table, probability_names(fit.labels.classes))
    rows, counts = _label_all(fit, X, source, file, memory, progress)

    progress("Choosing rows to check")
    as_shown = np.round(rows.confidence, 4)
    next_rows = rows_to_label(X, fit.labels.labeled, as_shown, random_state=options.seed or 0)
    reasons = reasons_of(fit.explainer, X, fit.table, rows.codes, next_rows)
    found = {
        "audit": None if fit.audit is None else fit.audit.of_rest(counts.rest),
        "notes": [*_on_parts(fit, counts), *fit.notes, *_unused_classes(fit, counts)],
    }
    return LabeledTable(
        **vars(fit) | found, **vars(rows), counts=counts, next_rows=next_rows, reasons=reasons
    )


def _sampled(source: Source, options: LabelOptions, memory: int, progress: Progress) -> Table:
    """The rows of a table to learn from: those with a label, those named by sheets, and a sample of the others."""
    if memory < _LEAST:
        raise TableError(
            f"A table that is read in parts needs {_LEAST >> 20:,} MiB at least, and {memory >> 20:,} MiB are "
            f"allowed; pass more with {Parameter('memory')}."
        )
    sheets = [path for path in (options.audit, options.checked) if path is not None]
    return sample_of_table(
        source,
        options.target,
        SAMPLE,
        **options.target_reading,
        keep=[row.number for path in sheets for row in named_rows(read_sheet(path))],
        seed=options.seed or 0,
        max_bytes=(memory - _BASE) // _GROWTH,
        checksum=options.check_sheet or bool(sheets),
        on_progress=lambda rows, share: progress(f"Reading: {rows:,} rows"),
    )


# ---------------------------------------------------------------- batch after batch


def _label_all(
    fit: Fit,
    X: NDArray[Any],
    source: Source | None,
    file: BinaryIO | None,
    memory: int,
    progress: Progress,
) -> tuple[LabeledRows, Counts]:
    """Label and write every row; kept are those that were learned from, and how many rows have which label."""
    every, options, preparation = fit.labels, fit.options, fit.model[0]
    numbers = fit.table.numbers(np.arange(len(every.codes)))
    kept: list[LabeledRows] = []
    counts: Counts | None = None
    appender: Any = None
    start = 0
    with ExitStack() as opened:
        for table, scored in _batches(fit, X, source, memory):
            frame, n = table.frame, table.n_numbers
            known = slice(*np.searchsorted(numbers, [start, start + n]))
            places = table.places_of(numbers[known] - start)
            rows = _labelled(fit, *scored, known, places)
            if options.explain:
                features = X if source is None else preparation.transform_part(frame)
                new = np.flatnonzero(rows.source != GIVEN)
                rows = replace(
                    rows,
                    why=every_reason(fit.explainer, features, frame, rows.codes, new, progress),
                )
            more = Counts.of(rows, len(every.classes))
            counts = more if counts is None else counts.plus(more)
            kept.append(some_labels(rows, places))
            start += n
            if file is not None:
                if (
                    appender is None
                ):  # in parts several row groups are on their way: they are smaller than usual
                    size = GROUP_ROWS if source is None else max(1, group_rows(frame) // 4)
                    appender = opened.enter_context(appending(table, file, size))
                appender.append(
                    table, columns_to_add(every, frame.schema[options.target], rows, fit.audit)
                )
                progress(f"Labelling: {start:,} of {fit.table.n_rows:,} rows")
    if counts is None:
        raise TableError(f"{fit.table.name} holds no row.")
    return joined_labels(kept), counts


def _batches(
    fit: Fit, X: NDArray[Any], source: Source | None, memory: int
) -> Iterator[tuple[Table, tuple[Floats, Floats]]]:
    """All rows of the table with probabilities and confidence: those in memory at once, others in blocks."""
    if source is None:
        pool = np.flatnonzero(~fit.labels.labeled)
        probs, confidence = np.zeros((len(X), len(fit.labels.classes))), np.ones(len(X))
        probs[pool], confidence[pool] = in_blocks_of_rows(fit.model[-1].predict_scores, X, pool)
        yield fit.table, (probs, confidence)
        return
    seen = RowCounts(fit.model)
    for part, scored in score_batches(fit.model, source.batches(), seen, cpu_count()):
        refuse_memory(source.table.name, memory)
        rows = replace(source.table, frame=part.table.frame, blank=part.table.blank)
        yield rows, (scored.probs, scored.confidence)
    seen.refuse(source.table.name)
    recount_reference(fit.model, seen.events)


def _labelled(
    fit: Fit, probs: Floats, confidence: Floats, known: slice, places: NDArray[np.intp]
) -> LabeledRows:
    """What the rows of a batch get: what was given stays as it was, and so does what was learned from.

    ``known`` are the rows that were learned from, which are at ``places`` of the batch.
    """
    every, classifier = fit.labels, fit.model[-1]
    given = np.full(len(probs), -1)
    given[places] = every.codes[known]
    labeled = given >= 0
    predicted = np.where(labeled, given, probs.argmax(axis=1))
    codes, source = predicted.copy(), np.full(len(given), PREDICTED, dtype=object)
    learned = classifier.labeled_iter_[known] > 0
    if classifier.aim == ACCURACY:  # another aim comes after the rounds, and is for every row
        accepted = classifier.transduction_[known][learned].astype(str)
        codes[places[learned]] = np.searchsorted(every.classes, accepted)
    source[places[learned]], source[labeled] = LEARNED, GIVEN
    sure = np.where(labeled, 1.0, confidence)
    shown_probs = with_given(probs, given) if fit.options.probabilities else None
    return LabeledRows(codes, sure, source, codes == predicted, probs=shown_probs)


def rows_to_label(
    X: Floats, labeled: NDArray[np.bool_], confidence: Floats, k: int = 50, random_state: Any = None
) -> NDArray[np.intp]:
    """Up to k unlabelled rows worth a label: of low confidence, far from labels, and unlike each other.

    Among the 20 k rows of highest doubt, the product of one minus the confidence and the distance
    to the nearest labelled row, they are chosen one after the other, each the one whose confidence
    lacks most times its distance to the nearest row labelled or chosen before.
    """
    rng = np.random.default_rng(random_state)
    unlabeled = draw_at_most(np.flatnonzero(~labeled), _MOST_UNLABELED, rng)
    reference = X[draw_at_most(np.flatnonzero(labeled), _MOST_LABELED, rng)]
    lacking = 1 - confidence[unlabeled] + 1e-9
    blocks = np.split(unlabeled, np.arange(_BLOCK, len(unlabeled), _BLOCK))
    nearest = np.concatenate([cdist(X[block], reference).min(axis=1) for block in blocks])
    doubtful = np.argsort(-lacking * nearest, kind="stable")[: 20 * k]
    rows, lacking, nearest = unlabeled[doubtful], lacking[doubtful], nearest[doubtful]
    chosen: list[int] = []
    for _ in range(min(k, len(rows))):
        value = lacking * nearest
        value[chosen] = -1
        best = int(value.argmax())
        chosen.append(best)
        nearest = np.minimum(nearest, cdist(X[rows], X[rows[best : best + 1]])[:, 0])
    return rows[chosen]


# ---------------------------------------------------------------- the outcome


@dataclass(frozen=True)
class LabeledRows:
    """What some rows of a table were labelled with."""

    codes: NDArray[np.intp]  #: (n,) the label of every row
    confidence: NDArray[np.float64]  #: (n,) 1 where the label was given
    source: NDArray[Any]  #: (n,) of SOURCES
    settled: NDArray[np.bool_]  #: (n,) whether the model still says what a row was labelled with
    why: pl.Series | None = (
        None  #: (n,) the cells that decide each new label, as text; None: not asked for
    )
    probs: NDArray[np.float64] | None = None  #: (n, C) as ``probabilities``, if they were asked for


def some_labels(rows: LabeledRows, places: NDArray[np.intp]) -> LabeledRows:
    """Those of some of the rows."""
    columns: list[Any] = [
        None if column is None else column[places] for column in vars(rows).values()
    ]
    return LabeledRows(*columns)


def joined_labels(parts: Sequence[LabeledRows]) -> LabeledRows:
    """The rows of one part after those of another."""
    columns: list[Any] = []
    for pieces in zip(*(vars(part).values() for part in parts), strict=True):
        is_text = isinstance(pieces[0], pl.Series)
        columns.append(
            None if pieces[0] is None else pl.concat(pieces) if is_text else np.concatenate(pieces)
        )
    return LabeledRows(*columns)


@dataclass(frozen=True)
class Counts:
    """How many rows have each label, from where, and of which confidence; of parts of a table they add up."""

    labels: NDArray[np.int64]  # (3, C) by SOURCES and class
    rest: ConfidenceHistogram  # new labels
    settled: ConfidenceHistogram  # new labels that the model says in the end, too

    @classmethod
    def of(cls, rows: LabeledRows, n_classes: int) -> Counts:
        """Of some rows."""
        by_source = [
            np.bincount(rows.codes[rows.source == name], minlength=n_classes) for name in SOURCES
        ]
        is_new = rows.source != GIVEN
        return cls(
            np.array(by_source, dtype=np.int64),
            ConfidenceHistogram.of(rows.confidence[is_new]),
            ConfidenceHistogram.of(rows.confidence[is_new & rows.settled]),
        )

    def plus(self, other: Counts) -> Counts:
        """The rows of both."""
        return Counts(
            self.labels + other.labels, self.rest.plus(other.rest), self.settled.plus(other.settled)
        )

    @property
    def n(self) -> int:
        """Rows in all."""
        return int(self.labels.sum())

    @property
    def n_new(self) -> int:
        """Rows that nobody labelled."""
        return int(self.labels[1:].sum())


@dataclass(frozen=True, kw_only=True)
class LabeledTable(Fit, LabeledRows):
    """The outcome of ``label_table``: what was learned, and the label of every row of ``table``."""

    counts: Counts  #: of all rows, also where ``table`` holds a part of them
    next_rows: NDArray[np.intp]  #: of highest doubt, to be checked
    reasons: dict[int, list[Cell]]  #: by row, the cells that decide the labels of these

    @property
    def target(self) -> str:
        """The column of the labels."""
        return self.options.target

    @property
    def settings(self) -> dict[str, Any]:
        """Who learned, and how; what was asked for is in ``options``."""
        learner = self.choice.learner
        words, why = learner.words, self.choice.why
        if self.guesses is not None and self.guesses.kept:
            words = (
                f"the labels of column {shown(self.guesses.column)}; confidence by {learner.words}"
            )
            why = "the model showed no clear gain"
        return {
            "seed": self.options.seed or 0,
            "rounds": self.model[-1].max_rounds,
            "learner": self.choice.name,
            "learner_words": words,
            "unlike_learners": learner.unlike,
            "why_learner": why,
        }

    @property
    def n_drawn(self) -> int | None:
        """Unlabelled rows that the model learned with, of a table read in parts; None: all."""
        return None if self.table.taken is None else int((~self.labels.labeled).sum())

    @property
    def accept(self) -> NDArray[np.bool_] | None:
        """(n,) Whether a row can be accepted at the error asked for; None: none was."""
        return acceptable(self.audit, self.labels.labeled, self.confidence, self.settled)

    @property
    def second_look(self) -> HeldOut:
        """Given labels that held-out predictions contradict, the most improbable first; they may be right."""
        return self.held_out.part(suspect_labels(self.held_out))

    @property
    def audit_size(self) -> int:
        """How many rows to draw for an audit, so that some are left to label; 0: there are too few."""
        size = min(AUDIT_SIZE, self.counts.n_new - 1)
        return size if size >= 2 else 0

    @property
    def added_columns(self) -> dict[str, pl.Series]:
        """The columns that chary adds; the label has the type of the target, if every class is one of it."""
        return columns_to_add(self.labels, self.table.frame.schema[self.target], self, self.audit)

    def at_error(self, error: float | None) -> LabeledTable:
        """The same as if this error had been asked for; needs an audit, unless there is none."""
        check_error(error, self.audit)
        if self.audit is None or self.audit.acceptor is None:
            return self
        return replace(self, audit=replace(self.audit, error=error))

    def features(self, rows: NDArray[np.intp] | slice = slice(None)) -> NDArray[Any]:
        """(n, d) What the model makes of the cells of all rows, or of some."""
        preparation = self.model[0]
        frame = self.table.frame.drop(self.target)[rows]
        # The whole table was found to be readable.
        return np.ascontiguousarray(preparation.transform_part(frame))

    def probabilities(self) -> NDArray[np.float64]:
        """(n, C) What the model makes of every row, by class; where a label was given, 1 for its class.

        A row that the model learned from keeps the label it was learned with, which need not be the
        class that has the highest probability in the end.
        """
        if self.probs is not None:
            return self.probs
        return with_given(self.model[-1].predict_proba(self.features()), self.labels.codes)


def with_given(probs: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Class probabilities (n, C), 1 for the class of rows whose label was given; -1 in ``codes``: none was."""
    probs[codes >= 0] = np.eye(probs.shape[1])[codes[codes >= 0]]
    return probs


def suspect_labels(judged: HeldOut, most: int = _MOST) -> NDArray[np.intp]:
    """Places in ``judged`` of the labels worth a second look, the least probable label first.

    A label is listed if the model that had not seen it gives another class a probability at least
    0.85 above that of the given one. They are ordered by the probability of the given label; of
    equal ones the surer prediction, then the first row, comes first. Nothing says that these labels
    are wrong.
    """
    if len(judged.rows) < _FEWEST_JUDGED:
        return np.zeros(0, dtype=np.intp)
    listed = np.flatnonzero(~judged.correct & (judged.probability - judged.own >= _MARGIN))
    keys = judged.rows[listed], -judged.probability[listed], judged.own[listed]
    return listed[np.lexsort(keys)[:most]]


def acceptable(
    audit: Audit | None,
    labeled: NDArray[np.bool_],
    confidence: NDArray[np.float64],
    settled: NDArray[np.bool_],
) -> NDArray[np.bool_] | None:
    """Which rows can be accepted at the error asked for; None if none was.

    Labels that a person gave can. Others can from a confidence on, as a file shows it, if the row
    is ``settled``: an audit speaks of what the model says in the end, not of a label that it
    learned from and would now change.
    """
    if audit is None or audit.asked is None:
        return None
    return labeled | (settled & (np.round(confidence, 4) >= audit.asked.threshold))


def columns_to_add(
    labels: Labels, dtype: pl.DataType, rows: LabeledRows, audit: Audit | None = None
) -> dict[str, pl.Series]:
    """The columns that chary adds to rows; ``dtype`` is that of the target, and an audit says which to accept."""
    classes = pl.Series(labels.classes.tolist(), dtype=pl.String)
    added = {
        LABEL: _as_target(classes, dtype).gather(rows.codes),
        CONFIDENCE: pl.Series(np.round(rows.confidence, 4)),
        SOURCE: pl.Series(rows.source.tolist(), dtype=pl.String),
    }
    accept = acceptable(audit, rows.source == GIVEN, rows.confidence, rows.settled)
    if accept is not None:
        added[ACCEPT] = pl.Series(accept)
    if rows.why is not None:
        added[WHY] = rows.why
    return added if rows.probs is None else added | probability_columns(labels.classes, rows.probs)


def _as_target(classes: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Classes in the type of the target, if that can hold them all: an audit may have found new ones."""
    typed = classes
    if dtype == pl.Boolean:
        typed = classes.replace_strict(
            {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
        )
    elif dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum):
        typed = classes.cast(dtype, strict=False)
    if dtype.is_float() and (whole := classes.cast(pl.Int64, strict=False)).null_count() == 0:
        typed = whole  # floats only because cells were missing
    return typed if target_texts(typed).equals(classes) else classes


def write_rows_to_check(result: LabeledTable, file: BinaryIO) -> None:
    """A sheet of the rows of highest doubt, with the label that each has now: to be checked, not to measure by."""
    guess = {GUESS: result.added_columns[LABEL].gather(result.next_rows).cast(pl.String)}
    about: dict[str, Any] = {**result.options.for_sheet, "chosen": DOUBT}
    pool = unlabelled_rows(result.table, result.target, result.labels, **about)
    write_sheet(pool, result.table.numbers(result.next_rows), file, guess)


# ---------------------------------------------------------------- sentences


def _on_parts(fit: Fit, counts: Counts) -> list[str]:
    """How a table was labelled that is read in parts, a sentence each."""
    if fit.table.taken is None:
        return []
    n_new, every = counts.n_new, fit.labels
    said = [
        f"The table was read in parts, so the model learned from its {counts.n - n_new:,} labelled rows and a "
        f"random sample of {int((~every.labeled).sum()):,} of the {n_new:,} others."
    ]
    if fit.prior.told and fit.options.aim == ACCURACY:
        said.append(
            "The class shares you gave are met on the sample; the table of classes has those of all rows."
        )
    return said


def _unused_classes(fit: Fit, counts: Counts) -> list[str]:
    """Warn of classes that have labels, but that no other row was predicted to be of."""
    n_given = counts.labels[0]
    n_received = counts.labels[1:].sum(axis=0)
    names = [
        f"{shown(fit.labels.classes[code])} ({n_given[code]:,})"
        for code in np.flatnonzero((n_given > 0) & (n_received == 0))
    ]
    if not names:
        return []
    if len(names) > _NAMED_CLASSES:
        names[_NAMED_CLASSES:] = [f"{len(names) - _NAMED_CLASSES} more"]
    return [
        "No row was predicted to be of these classes, although you gave labels for them (how many, "
        f"in brackets): {listed(names)}."
    ]
