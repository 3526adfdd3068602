"""Label all rows of a table: learn, then label and write batch by batch.

A table that does not fit in memory is read twice: once for its labelled rows and a sample of the
others, which are learned from, and once to label and write every row. One that fits is its own
sample, and a single batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple, TypedDict

import numpy as np
import polars as pl
from joblib import cpu_count
from numpy.typing import NDArray

from chary._arrays import Array, Floats, Ints, Mask
from chary._threads import same_warnings
from chary._words import Parameter, listed, shown
from chary.audit.acceptance import ConfidenceHistogram, check_error
from chary.audit.answers import Audit
from chary.audit.sheet import named_rows, read_sheet
from chary.audit.table_cells import sample_of_table
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import DiagnosedTable
from chary.labelling.drift import recount_reference
from chary.labelling.explain import Cell, every_reason, reasons_of
from chary.labelling.learn import Fit, learn
from chary.labelling.learners import NETWORK
from chary.labelling.predict_files import group_rows
from chary.labelling.rows_to_check import rows_to_check, suspect_labels
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

# The next three are about the memory of a process that reads a table in parts
# (benchmarks/results/label_beyond_memory.txt).
# Besides the rows that it keeps, it needs this many bytes.
_BASE_BYTES = 450 << 20
# The rows that it keeps grow to this many times their size on the way.
_GROWTH = 3
# It cannot work with less than this many bytes.
_LEAST_BYTES = 600 << 20
# A sentence names at most this many classes.
_MAX_NAMED_CLASSES = 10

# The user gave the label.
GIVEN = "given"
# A round of self-training accepted the label, and the model then learned from it.
LEARNED = "learned"
# The final model predicted the label.
PREDICTED = "predicted"
# A label comes from one of these.
SOURCES = (GIVEN, LEARNED, PREDICTED)


@same_warnings()
def label_table(
    table: Table | Source,
    options: LabelOptions,
    *,
    file: BinaryIO | None = None,
    progress: Callable[[str], None] = lambda step: None,
    diagnosed: Callable[[DiagnosedTable], None] = lambda diagnosis: None,
    defaults: Defaults = DEFAULTS,
) -> LabeledTable:
    """Label the rows of a table whose target cell is empty.

    The model learns from all rows. If the table is read in parts, it learns from every labelled row
    and a uniform sample of the others. Then every row is labelled, batch after batch. What comes
    from the sample, and what from all rows, of a table that is read in parts:

    - Counts are of all rows. Rows to check are chosen from the sample.
    - Class offsets come from the sample, so given class shares are met on it, and nearly on all
      rows.
    - The threshold of confidence from which rows are accepted is chosen on the sample. That is as
      exact as for a table in memory: it is enough that the thresholds to choose from are fixed
      before the audited labels are used. The rows that reach it are counted among all rows.

    Parameters
    ----------
    table : Table or Source
        From ``read_table``, or from ``open_source`` to be read in parts.
    options : LabelOptions
        What a user can choose. ``target`` must be given.
    file : binary file, default=None
        Where to write the table with its labels. None: labels are counted, and not written.
    progress : callable, default=nothing
        Called with the name of each step as it begins.
    diagnosed : callable, default=nothing
        Called with the columns and the diagnosis of bias as soon as they are known, which is long
        before rows are labelled.
    defaults : Defaults, default=DEFAULTS
        Numbers chosen by experiment, and the rules that are used; for studies.

    Returns
    -------
    LabeledTable
        Holds all rows or, of a table read in parts, the rows that were learned from.
    """
    # The rows to learn from.
    memory = options.memory or free_memory() // 2
    if isinstance(table, Table):
        source = None
        rows_at_hand = rows_that_count(table)
    else:
        source = table
        rows_at_hand = _sample(table, options, memory, progress, defaults)
    fit, X = learn(rows_at_hand, options, progress, diagnosed, defaults)

    progress("Labelling")
    if options.probabilities:
        refuse_taken(fit.table, probability_names(fit.labels.classes))
    rows, counts = _label_all_rows(fit, X, source, file, memory, progress)

    progress("Choosing rows to check")
    confidence_as_shown = np.round(rows.confidence, 4)
    next_rows = rows_to_check(
        X, fit.labels.labeled, confidence_as_shown, defaults, options.seed or 0
    )
    reasons = reasons_of(fit.explainer, X, fit.table.frame, rows.codes, next_rows)

    # The result has the fields of ``fit`` and of ``rows``, and two of them anew.
    audit = None
    if fit.audit is not None:
        audit = fit.audit.of_rest(counts.new)
    notes = [*_sample_notes(fit, counts), *fit.notes, *_unused_classes(fit, counts)]
    fields = {**vars(fit), **vars(rows), "audit": audit, "notes": notes}
    return LabeledTable(**fields, counts=counts, next_rows=next_rows, reasons=reasons)


def _sample(
    source: Source,
    options: LabelOptions,
    memory: int,
    progress: Callable[[str], None],
    defaults: Defaults,
) -> Table:
    """Read the rows to learn from: labelled rows, rows that sheets name, a sample of the others."""
    if memory < _LEAST_BYTES:
        raise TableError(
            f"A table that is read in parts needs {_LEAST_BYTES >> 20:,} MiB at least, and "
            f"{memory >> 20:,} MiB are allowed; pass more with {Parameter('memory')}."
        )
    sheets = [path for path in (options.audit, options.checked) if path is not None]
    rows_of_sheets: list[int] = []
    for path in sheets:
        rows_of_sheets += [row.number for row in named_rows(read_sheet(path))]
    return sample_of_table(
        source,
        options.target,
        defaults.sample_rows,
        **options.label_cells,
        keep=rows_of_sheets,
        seed=options.seed or 0,
        max_bytes=(memory - _BASE_BYTES) // _GROWTH,
        checksum=options.check_sheet or bool(sheets),
        on_progress=lambda rows, share: progress(f"Reading: {rows:,} rows"),
    )


# ---------------------------------------------------------------- batch after batch


class _Batch(NamedTuple):
    """Rows of the table that were scored."""

    table: Table  # these rows alone
    probs: Floats  # (n, C)
    confidence: Floats  # (n,)


def _label_all_rows(
    fit: Fit,
    X: Array,
    source: Source | None,
    file: BinaryIO | None,
    memory: int,
    progress: Callable[[str], None],
) -> tuple[LabeledRows, Counts]:
    """Label, count and write every row.

    Parameters
    ----------
    fit : Fit
    X : array of shape (m, d)
        The features of the m rows that were learned from.
    source : Source or None
        The whole table; None if it is in memory, in ``fit.table``.
    file : binary file or None
        Where to write; None if nothing is written.
    memory : int
        Bytes that the process may take.
    progress : callable

    Returns
    -------
    LabeledRows
        The labels of the m rows that were learned from.
    Counts
        Of all rows.
    """
    labels = fit.labels
    learned_numbers = fit.table.numbers(np.arange(len(labels.codes)))  # (m,) row numbers, sorted
    learned_rows: list[LabeledRows] = []
    counts: Counts | None = None
    appender: Any = None
    start = 0  # number of the batch's first row
    with ExitStack() as stack:
        for table, probs, confidence in _score_in_batches(fit, X, source, memory):
            # The rows of this batch that were learned from: ``learned`` are their places among the
            # m rows, ``places`` their places within the batch.
            end = start + table.n_file_rows
            learned = slice(*np.searchsorted(learned_numbers, [start, end]))
            places = table.places_of(learned_numbers[learned] - start)
            start = end

            # Label the batch, and explain its new labels if that was asked for.
            rows = _label_batch(fit, probs, confidence, learned, places)
            if fit.options.explain:
                # A table in memory is one batch, which has the rows of X.
                features = X if source is None else fit.model[0].transform_part(table.frame)
                new = np.flatnonzero(rows.source != GIVEN)
                why = every_reason(fit.explainer, features, table.frame, rows.codes, new, progress)
                rows = replace(rows, why=why)

            # Count it.
            learned_rows.append(rows.subset(places))
            batch_counts = Counts.of(rows, len(labels.classes))
            counts = batch_counts if counts is None else counts.plus(batch_counts)

            # Write it.
            if file is None:
                continue
            if appender is None:
                # Of a table in parts several row groups are in memory at once, so each is smaller.
                size = GROUP_ROWS if source is None else max(1, group_rows(table.frame) // 4)
                appender = stack.enter_context(appending(table, file, size))
            dtype = table.frame.schema[fit.options.target]
            appender.append(table, columns_to_add(labels, dtype, rows, fit.audit))
            progress(f"Labelling: {end:,} of {fit.table.n_rows:,} rows")
    if counts is None:
        raise TableError(f"{fit.table.name} holds no row.")
    return LabeledRows.concatenate(learned_rows), counts


def _score_in_batches(fit: Fit, X: Array, source: Source | None, memory: int) -> Iterator[_Batch]:
    """Score a table in memory as one batch, and a table in parts block by block.

    In memory only unlabelled rows are scored: others get the probabilities 0 and the confidence 1.
    """
    if source is None:
        unlabelled_rows = np.flatnonzero(~fit.labels.labeled)
        predict_scores = fit.model[-1].predict_scores
        new_probs, new_confidence = in_blocks_of_rows(predict_scores, X, unlabelled_rows)
        probs = np.zeros((len(X), len(fit.labels.classes)))
        confidence = np.ones(len(X))
        probs[unlabelled_rows] = new_probs
        confidence[unlabelled_rows] = new_confidence
        yield _Batch(fit.table, probs, confidence)
        return

    row_counts = RowCounts(fit.model)
    for block, scored in score_batches(
        fit.model, source.batches(), row_counts, threads=cpu_count()
    ):
        refuse_memory(source.table.name, memory)
        table = replace(source.table, frame=block.table.frame, blank=block.table.blank)
        yield _Batch(table, scored.probs, scored.confidence)
    row_counts.refuse(source.table.name)
    recount_reference(fit.model, row_counts.events)


def _label_batch(
    fit: Fit, probs: Floats, confidence: Floats, learned: slice, places: Ints
) -> LabeledRows:
    """Label the rows of a batch; given labels, and labels accepted by self-training, stay.

    Some rows of the batch were learned from: ``learned`` are their places among all rows that were
    learned from, ``places`` their places within the batch. If rows 40, 70 and 90 of the table were
    learned from and the batch has the rows 50 to 99, ``learned`` is slice(1, 3), and ``places`` are
    20 and 40.
    """
    classes = fit.labels.classes
    classifier = fit.model[-1]

    # The label by the final model; a given label stays.
    given_codes = np.full(len(probs), -1)  # (n,) -1: no given label
    given_codes[places] = fit.labels.codes[learned]
    is_given = given_codes >= 0
    predicted_codes = np.where(is_given, given_codes, probs.argmax(axis=1))  # (n,)

    # Where each label comes from.
    source = np.full(len(predicted_codes), PREDICTED, dtype=object)
    is_accepted = classifier.labeled_iter_[learned] > 0  # in a round of self-training
    accepted_places = places[is_accepted]
    source[accepted_places] = LEARNED
    source[is_given] = GIVEN

    # A label that was accepted in a round stays, too; but an aim other than accuracy is applied
    # after self-training, to all new labels.
    codes = predicted_codes.copy()
    if classifier.aim == ACCURACY:
        accepted_labels = classifier.transduction_[learned][is_accepted].astype(str)
        codes[accepted_places] = np.searchsorted(classes, accepted_labels)
    return LabeledRows(
        codes=codes,
        confidence=np.where(is_given, 1.0, confidence),
        source=source,
        confirmed=codes == predicted_codes,
        probs=with_given(probs, given_codes) if fit.options.probabilities else None,
    )


# ---------------------------------------------------------------- the outcome


@dataclass(frozen=True)
class LabeledRows:
    """The labels of some rows of a table."""

    codes: Ints  #: (n,) the label of every row, as its place among the classes
    confidence: NDArray[np.float64]  #: (n,) 1 if the label was given
    source: Array  #: (n,) where the label comes from: one of ``SOURCES``
    confirmed: Mask  #: (n,) whether the final model predicts the same label
    #: (n,) the cells that decide each new label, as text; None: not asked for
    why: pl.Series | None = None
    #: (n, C) class probabilities, as of ``LabeledTable.probabilities``; None: not asked for
    probs: NDArray[np.float64] | None = None

    def subset(self, places: Ints) -> LabeledRows:
        """Select rows by their places."""
        columns = {
            name: column[places] for name, column in vars(self).items() if column is not None
        }
        return LabeledRows(**columns)

    @classmethod
    def concatenate(cls, parts: Sequence[LabeledRows]) -> LabeledRows:
        """Put the rows of several parts one after another."""
        columns: dict[str, Any] = {}
        for name, first in vars(parts[0]).items():
            column_parts = [getattr(part, name) for part in parts]
            if isinstance(first, pl.Series):
                columns[name] = pl.concat(column_parts)
            elif first is not None:
                columns[name] = np.concatenate(column_parts)
        return cls(**columns)


@dataclass(frozen=True)
class Counts:
    """Counts of labels by source and by confidence; the counts of several batches can be added."""

    labels: NDArray[np.int64]  # (3, C) rows with each source (``SOURCES``) and class
    new: ConfidenceHistogram  # confidences of new labels: of all that were not given
    confirmed: ConfidenceHistogram  # confidences of new labels that the final model confirms

    @classmethod
    def of(cls, rows: LabeledRows, n_classes: int) -> Counts:
        """Count some rows."""
        by_source = [
            np.bincount(rows.codes[rows.source == name], minlength=n_classes) for name in SOURCES
        ]
        is_new = rows.source != GIVEN
        return cls(
            labels=np.array(by_source, dtype=np.int64),
            new=ConfidenceHistogram.of(rows.confidence[is_new]),
            confirmed=ConfidenceHistogram.of(rows.confidence[is_new & rows.confirmed]),
        )

    def plus(self, counts: Counts) -> Counts:
        """Add the counts of further rows."""
        return Counts(
            labels=self.labels + counts.labels,
            new=self.new.plus(counts.new),
            confirmed=self.confirmed.plus(counts.confirmed),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.labels.sum())

    @property
    def n_new(self) -> int:
        """Number of rows whose label was not given."""
        return int(self.labels[1:].sum())  # row 0 counts given labels


class LearnerSettings(TypedDict):
    """How the labels were made, beside the options that were chosen."""

    seed: int
    rounds: int  # rounds of self-training, at most
    learner: str  # its name, as in the options
    learner_words: str  # what it is, for people
    is_paper_method: bool  # the paper's network, which learns from its own labels by T-similarity
    unlike_learners: bool  # whether confidence is the agreement of learners of different kinds
    why_learner: str  # why this learner was chosen: half a sentence


@dataclass(frozen=True, kw_only=True)
class LabeledTable(Fit, LabeledRows):
    """The outcome of ``label_table``."""

    counts: Counts  #: counts of all rows, even if ``table`` holds only a part of them
    next_rows: Ints  #: rows of highest doubt, to be checked next
    reasons: dict[int, list[Cell]]  #: for each of ``next_rows``, the cells that decide its label

    @property
    def target(self) -> str:
        """The column of the labels."""
        return self.options.target

    @property
    def settings(self) -> LearnerSettings:
        """The learner that was used, and how; ``options`` holds what the user chose."""
        learner = self.choice.learner
        words = learner.words
        why = self.choice.why
        is_paper_method = self.choice.name == NETWORK and self.model[-1].max_rounds > 0
        if is_paper_method:
            words = f"the paper's method, {words} that learns from the labels on which they agree"
        if self.guesses is not None and self.guesses.kept:
            words = f"the labels of column {shown(self.guesses.column)}; confidence by {words}"
            why = "the model showed no clear gain"
        return {
            "seed": self.options.seed or 0,
            "rounds": self.model[-1].max_rounds,
            "learner": self.choice.name,
            "learner_words": words,
            "is_paper_method": is_paper_method,
            "unlike_learners": learner.unlike,
            "why_learner": why,
        }

    @property
    def n_drawn(self) -> int | None:
        """Number of unlabelled rows that were learned from; None: all."""
        if self.table.taken is None:
            return None
        return int((~self.labels.labeled).sum())

    @property
    def accept(self) -> Mask | None:
        """Whether each row can be accepted, (n,); None: the user named no error."""
        return acceptable(self.audit, self.labels.labeled, self.confidence, self.confirmed)

    @property
    def second_look(self) -> HeldOut:
        """The given labels that held-out predictions contradict, the least probable first.

        Such a label may still be right.
        """
        return self.held_out.subset(suspect_labels(self.held_out, self.defaults))

    @property
    def audit_size(self) -> int:
        """Number of rows to draw for an audit; 0: too few rows are unlabelled."""
        size = min(AUDIT_SIZE, self.counts.n_new - 1)
        return size if size >= 2 else 0

    @property
    def added_columns(self) -> dict[str, pl.Series]:
        """The columns that chary adds; the label has the target's type if every class fits it."""
        return columns_to_add(self.labels, self.table.frame.schema[self.target], self, self.audit)

    def at_error(self, error: float | None) -> LabeledTable:
        """Return a copy of the result in which another share of wrong labels is allowed.

        The rows that can be accepted (``accept``) are then those at this error instead of the one
        that was asked for. None stands for no error. Any other needs an audit: without one, an
        error is raised.
        """
        check_error(error, self.audit)
        if self.audit is None or self.audit.acceptor is None:
            # No audit: the error is None, so nothing changes.
            return self
        return replace(self, audit=replace(self.audit, error=error))

    def features(self, rows: Ints | slice = slice(None)) -> Array:
        """Compute the features (n, d) of all rows, or of some."""
        frame = self.table.frame.drop(self.target)[rows]
        # ``transform_part`` can count the cells that it cannot read, so that a table of many of
        # them is refused. It is not asked to: this table was read, and not refused, before.
        return np.ascontiguousarray(self.model[0].transform_part(frame))

    def probabilities(self) -> NDArray[np.float64]:
        """Compute class probabilities (n, C) of every row; a given label has the probability 1.

        A label that self-training accepted stays, even if the final model gives another class a
        higher probability.
        """
        if self.probs is not None:
            return self.probs
        return with_given(self.model[-1].predict_proba(self.features()), self.labels.codes)


def with_given(probs: Array, codes: Ints) -> NDArray[np.float64]:
    """Set the probabilities (n, C) of rows with a given label, in place.

    The given class gets 1, all others 0. ``codes`` (n,) are the given classes; -1: no label.
    """
    is_given = codes >= 0
    one_hot = np.eye(probs.shape[1])  # (C, C); line c has the 1 at place c
    probs[is_given] = one_hot[codes[is_given]]
    return probs


def acceptable(
    audit: Audit | None,
    labeled: Mask,
    confidence: NDArray[np.float64],
    confirmed: Mask,
) -> Mask | None:
    """Tell which rows can be accepted, (n,); None: the user named no error.

    Given labels can be accepted. A new label can be accepted if two conditions hold:

    1. Its confidence, rounded as in a file, is at least the audit's threshold.
    2. It is ``confirmed``: the final model predicts it. Only the predictions of the final model
       were audited, not other labels from a round of self-training.
    """
    if audit is None or audit.asked is None:
        return None
    is_sure = np.round(confidence, 4) >= audit.asked.threshold
    return labeled | (confirmed & is_sure)


def columns_to_add(
    labels: Labels, dtype: pl.DataType, rows: LabeledRows, audit: Audit | None = None
) -> dict[str, pl.Series]:
    """Make the columns that chary adds to rows.

    Parameters
    ----------
    labels : Labels
        Holds the classes that the codes of ``rows`` number.
    dtype : DataType
        The type of the target column.
    rows : LabeledRows
    audit : Audit, default=None
        Says which rows to accept.
    """
    classes = pl.Series(labels.classes.tolist(), dtype=pl.String)
    columns = {
        LABEL: _as_target(classes, dtype).gather(rows.codes),
        CONFIDENCE: pl.Series(np.round(rows.confidence, 4)),
        SOURCE: pl.Series(rows.source.tolist(), dtype=pl.String),
    }
    accept = acceptable(audit, rows.source == GIVEN, rows.confidence, rows.confirmed)
    if accept is not None:
        columns[ACCEPT] = pl.Series(accept)
    if rows.why is not None:
        columns[WHY] = rows.why
    if rows.probs is not None:
        columns |= probability_columns(labels.classes, rows.probs)
    return columns


def _as_target(classes: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Convert classes (C,) to the target's type, or leave them as text if one does not fit.

    An audit may have found a class that does not fit: "unknown" among numbers.
    """
    typed = classes
    if dtype == pl.Boolean:
        values = {"true": True, "false": False}
        typed = classes.replace_strict(values, default=None, return_dtype=pl.Boolean)
    elif dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum):
        typed = classes.cast(dtype, strict=False)
    if dtype.is_float():
        # Whole numbers may be stored as floats only because some cells are empty.
        whole_numbers = classes.cast(pl.Int64, strict=False)
        if whole_numbers.null_count() == 0:
            typed = whole_numbers
    # They fit if each has the same text as before.
    has_same_texts = target_texts(typed).equals(classes)
    return typed if has_same_texts else classes


# ---------------------------------------------------------------- sentences


def _sample_notes(fit: Fit, counts: Counts) -> list[str]:
    """Say how a table in parts was labelled, in a list of sentences."""
    if fit.table.taken is None:
        return []
    n_sampled = int((~fit.labels.labeled).sum())
    notes = [
        f"The table was read in parts, so the model learned from its {counts.n - counts.n_new:,} "
        f"labelled rows and a random sample of {n_sampled:,} of the {counts.n_new:,} others."
    ]
    if fit.prior.told and fit.options.aim == ACCURACY:
        notes.append(
            "The class shares you gave are met on the sample; the table of classes has those of "
            "all rows."
        )
    return notes


def _unused_classes(fit: Fit, counts: Counts) -> list[str]:
    """Warn of classes that have given labels, but that no new label is of."""
    n_given = counts.labels[0]  # (C,) given labels
    n_new = counts.labels[1:].sum(axis=0)  # (C,) new labels
    unused_codes = np.flatnonzero((n_given > 0) & (n_new == 0))
    names = [f"{shown(fit.labels.classes[code])} ({n_given[code]:,})" for code in unused_codes]
    if not names:
        return []
    n_unnamed = len(names) - _MAX_NAMED_CLASSES
    if n_unnamed > 0:
        names = [*names[:_MAX_NAMED_CLASSES], f"{n_unnamed} more"]
    return [
        "No row was predicted to be of these classes, although you gave labels for them (how many, "
        f"in brackets): {listed(names)}."
    ]
