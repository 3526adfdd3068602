"""Labels of a table, their confidence and source in; the columns to add, and how many rows have each, out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from chary.evaluation import Diagnosis, HeldOut, Tally, doubtful_labels
from chary.jobs.acceptance import AcceptanceLevel, acceptable, check_error
from chary.jobs.audit import AuditFigures
from chary.jobs.contrasts import Contrast
from chary.jobs.diagnose import features_of
from chary.jobs.explain import Cell, Explainer
from chary.jobs.prior import PriorFigures
from chary.method import Labels
from chary.tables import Table

# Where a label comes from: the user; the model, which has learned from it; the model, at the end.
GIVEN, LEARNED, PREDICTED = SOURCES = ("given", "learned", "predicted")
AUDIT_SIZE = 30


@dataclass(frozen=True)
class Counts:
    """How many rows have each label, from where, and of which confidence; of parts of a table they add up."""

    labels: NDArray[np.int64]  # (3, C) by SOURCES and class
    learned: Tally
    predicted: Tally
    settled: Tally  # new labels that the model says in the end, too

    @classmethod
    def of(
        cls,
        codes: NDArray[np.intp],
        confidence: NDArray[np.float64],
        source: NDArray[Any],
        settled: NDArray[np.bool_],
        n_classes: int,
    ) -> Counts:
        """Of rows (n,): code, confidence, source, whether the model still says so."""
        by_source = [source == name for name in SOURCES]
        return cls(
            np.array([np.bincount(codes[rows], minlength=n_classes) for rows in by_source], dtype=np.int64),
            Tally.of(confidence[by_source[1]]),
            Tally.of(confidence[by_source[2]]),
            Tally.of(confidence[~by_source[0] & settled]),
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
    def rest(self) -> Tally:
        """Their confidence."""
        return self.learned.plus(self.predicted)


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
    counts: Counts  #: of all rows, also where ``table`` holds a part of them
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
    n_drawn: int | None = None  #: unlabelled rows that the model learned with, of a table read in parts; None: all

    @property
    def second_look(self) -> HeldOut:
        """Given labels that held-out predictions contradict, the most improbable first; they may be right."""
        return self.judged.part(doubtful_labels(self.judged))

    @property
    def audit_size(self) -> int:
        """How many rows to draw for an audit, so that some are left to label; 0: there are too few."""
        size = min(AUDIT_SIZE, self.counts.n_new - 1)
        return size if size >= 2 else 0

    @property
    def added_columns(self) -> dict[str, pl.Series]:
        """The columns that chary adds; the label has the type of the target, if every class is one of it."""
        dtype = self.table.frame.schema[self.target]
        return columns_to_add(self.labels, dtype, self.codes, self.confidence, self.source, self.accept, self.why)

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


def columns_to_add(
    labels: Labels,
    dtype: pl.DataType,
    codes: NDArray[np.intp],
    confidence: NDArray[np.float64],
    source: NDArray[Any],
    accept: NDArray[np.bool_] | None = None,
    why: pl.Series | None = None,
) -> dict[str, pl.Series]:
    """The columns that chary adds to rows (n,); ``dtype`` is that of the target."""
    classes = pl.Series(labels.classes.tolist(), dtype=pl.String)
    added = {
        "chary_label": _as_target(classes, dtype).gather(codes),
        "chary_confidence": pl.Series(np.round(confidence, 4)),
        "chary_source": pl.Series(source.tolist(), dtype=pl.String),
    }
    more = {"chary_accept": None if accept is None else pl.Series(accept), "chary_why": why}
    return {**added, **{name: column for name, column in more.items() if column is not None}}


def _as_target(classes: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Classes in the type of the target, if that can hold them all: an audit may have found new ones."""
    typed = classes
    if dtype == pl.Boolean:
        typed = classes.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    elif dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum):
        typed = classes.cast(dtype, strict=False)
    return typed if typed.cast(pl.String).equals(classes) else classes
