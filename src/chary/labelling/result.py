"""The outcome of labelling a table: every row's label, the columns to add, and how many rows have each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.audit.acceptance import ConfidenceHistogram, check_error
from chary.audit.sheet import DOUBT, GUESS, unlabelled_rows, write_sheet
from chary.labelling.audited import AcceptanceLevel, AuditFigures, acceptable
from chary.labelling.diagnose import features_of
from chary.labelling.explain import Cell
from chary.labelling.learn import Fit
from chary.labelling.score import probability_columns
from chary.method.held_out import HeldOut
from chary.method.labels import Labels
from chary.options import AUDIT_SIZE
from chary.tables.cells import target_texts
from chary.tables.table import ACCEPT, CONFIDENCE, LABEL, SOURCE, WHY

# Where a label comes from: the user; the model, which has learned from it; the model, at the end.
GIVEN, LEARNED, PREDICTED = SOURCES = ("given", "learned", "predicted")
# Labels listed for a second look at most, how much more probable than the given one the other class must be, and
# how many labels must have been judged for the probabilities to mean something: see ``benchmarks/second_look.py``.
_MOST, _MARGIN, _FEWEST_JUDGED = 20, 0.85, 100


@dataclass(frozen=True)
class LabeledRows:
    """What some rows of a table were labelled with."""

    codes: NDArray[np.intp]  #: (n,) the label of every row
    confidence: NDArray[np.float64]  #: (n,) 1 where the label was given
    source: NDArray[Any]  #: (n,) of SOURCES
    settled: NDArray[np.bool_]  #: (n,) whether the model still says what a row was labelled with
    why: pl.Series | None = None  #: (n,) the cells that decide each new label, as text; None: not asked for
    probs: NDArray[np.float64] | None = None  #: (n, C) as ``probabilities``, if they were asked for


def some_labels(rows: LabeledRows, places: NDArray[np.intp]) -> LabeledRows:
    """Those of some of the rows."""
    columns: list[Any] = [None if column is None else column[places] for column in vars(rows).values()]
    return LabeledRows(*columns)


def joined_labels(parts: Sequence[LabeledRows]) -> LabeledRows:
    """The rows of one part after those of another."""
    columns: list[Any] = []
    for pieces in zip(*(vars(part).values() for part in parts), strict=True):
        is_text = isinstance(pieces[0], pl.Series)
        columns.append(None if pieces[0] is None else pl.concat(pieces) if is_text else np.concatenate(pieces))
    return LabeledRows(*columns)


@dataclass(frozen=True)
class Counts:
    """How many rows have each label, from where, and of which confidence; of parts of a table they add up."""

    labels: NDArray[np.int64]  # (3, C) by SOURCES and class
    learned: ConfidenceHistogram
    predicted: ConfidenceHistogram
    settled: ConfidenceHistogram  # new labels that the model says in the end, too

    @classmethod
    def of(cls, rows: LabeledRows, n_classes: int) -> Counts:
        """Of some rows."""
        given, learned, predicted = by_source = [rows.source == name for name in SOURCES]
        return cls(
            np.array([np.bincount(rows.codes[those], minlength=n_classes) for those in by_source], dtype=np.int64),
            *(
                ConfidenceHistogram.of(rows.confidence[those])
                for those in (learned, predicted, ~given & rows.settled)
            ),
        )

    def plus(self, other: Counts) -> Counts:
        """The rows of both."""
        return Counts(
            self.labels + other.labels,
            self.learned.plus(other.learned),
            self.predicted.plus(other.predicted),
            self.settled.plus(other.settled),
        )

    @property
    def n(self) -> int:
        """Rows in all."""
        return int(self.labels.sum())

    @property
    def n_new(self) -> int:
        """Rows that nobody labelled."""
        return int(self.labels[1:].sum())

    @property
    def rest(self) -> ConfidenceHistogram:
        """Their confidence."""
        return self.learned.plus(self.predicted)


@dataclass(frozen=True, kw_only=True)
class LabeledTable(Fit, LabeledRows):
    """The outcome of ``label_table``: what was learned, and the label of every row of ``table``."""

    counts: Counts  #: of all rows, also where ``table`` holds a part of them
    levels: list[AcceptanceLevel]  #: how often held-out labels of the surest rows were wrong
    next_rows: NDArray[np.intp]  #: of highest doubt, to be checked
    #: By row, the cells that decide: of those worth a label theirs, of those worth a second look what held-out
    #: models say.
    reasons: dict[int, list[Cell]]
    seconds: dict[str, float]  #: by step

    @property
    def target(self) -> str:
        """The column of the labels."""
        return str(self.options.target)

    @property
    def settings(self) -> dict[str, Any]:
        """What it was labelled with, and who learned."""
        asked, learner = self.options, self.choice.learner
        return {
            "seed": asked.seed or 0,
            "rounds": self.model[-1].max_rounds,
            "unlabeled": list(asked.unlabeled) or None,
            "exact_labels": asked.exact_labels,
            "class_prior": asked.class_prior,
            "aim": asked.aim,
            "features": None if asked.features is None else str(asked.features),
            "learner": self.choice.name,
            "learner_words": learner.words,
            "unlike_learners": learner.unlike,
            "why_learner": self.choice.why,
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
        return self.judged.part(suspect_labels(self.judged))

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
        preparation, frame = self.model[0], features_of(self.table, self.target, self.options.features)[rows]
        return preparation.part(frame, preparation.forms(), order="C")  # the whole of it was found to be readable

    def probabilities(self) -> NDArray[np.float64]:
        """(n, C) What the model makes of every row, by class; where a label was given, 1 for its class.

        A row that the model learned from keeps the label it was learned with, which need not be the class that
        has the highest probability in the end.
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

    A label is listed if the model that had not seen it gives another class a probability at least 0.85 above that
    of the given one. They are ordered by the probability of the given label; of equal ones the surer prediction,
    then the first row, comes first. Nothing says that these labels are wrong.
    """
    if len(judged.rows) < _FEWEST_JUDGED:
        return np.zeros(0, dtype=np.intp)
    listed = np.flatnonzero(~judged.correct & (judged.probability - judged.own >= _MARGIN))
    keys = judged.rows[listed], -judged.probability[listed], judged.own[listed]
    return listed[np.lexsort(keys)[:most]]


def columns_to_add(
    labels: Labels, dtype: pl.DataType, rows: LabeledRows, audit: AuditFigures | None = None
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
        typed = classes.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    elif dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum):
        typed = classes.cast(dtype, strict=False)
    if dtype.is_float() and (whole := classes.cast(pl.Int64, strict=False)).null_count() == 0:
        typed = whole  # floats only because cells were missing
    return typed if target_texts(typed).equals(classes) else classes


def write_rows_to_check(result: LabeledTable, file: BinaryIO) -> None:
    """A sheet of the rows of highest doubt, with the label that each has now: to be checked, not to measure by."""
    guess = {GUESS: result.added_columns[LABEL].gather(result.next_rows).cast(pl.String)}
    about = {**result.options.for_sheet, "chosen": DOUBT}
    pool = unlabelled_rows(result.table, result.target, result.labels, **about)
    write_sheet(pool, result.table.numbers(result.next_rows), file, guess)
