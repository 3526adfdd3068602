"""The rows of a table, part by part with their labels, in; those to show, and those worth a person's look, out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.evaluation import rows_to_label
from chary.jobs.label import Learnt
from chary.jobs.labeled import GIVEN, Counts
from chary.jobs.steps import LabeledRows
from chary.tables import row_bytes

# Rows of least confidence from which those to check are chosen, and at least so many where they are long.
_MOST, _FEWEST = 20_000, 200


class Gathered:
    """What some rows got, by number."""

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self.numbers, self.parts = numbers, list[LabeledRows]()

    def see(self, start: int, rows: LabeledRows) -> None:
        part = slice(*np.searchsorted(self.numbers, [start, start + len(rows.codes)]))
        places = (self.numbers[part] - start).astype(np.intp)
        self.parts.append(rows.part(places))

    def rows(self) -> LabeledRows:
        return LabeledRows.joined(self.parts)


class Chosen(NamedTuple):
    """Rows to check, the most doubtful first."""

    numbers: NDArray[np.int64]
    frame: pl.DataFrame
    X: NDArray[Any]
    rows: LabeledRows


class Doubted:
    """The rows of least confidence of the whole table, with their cells: those to check are chosen among them."""

    def __init__(self, learnt: Learnt, counts: Counts, room: int) -> None:
        self.learnt = learnt
        fitting = int(room / max(1.0, float(row_bytes(learnt.table.frame).mean())))
        most = min(counts.n_new, _MOST, max(_FEWEST, fitting))
        self.limit = float(counts.rest.smallest(most - 1))
        below = counts.rest.n - counts.rest.n_from(self.limit)
        self.n_at_limit = most - below  # of those of just this confidence the first ones
        self.parts: list[Chosen] = []

    def see(self, start: int, frame: pl.DataFrame, rows: LabeledRows) -> None:
        new = rows.source != GIVEN
        at_limit = np.flatnonzero(new & (rows.confidence == self.limit))[: self.n_at_limit]
        self.n_at_limit -= len(at_limit)
        taken = new & (rows.confidence < self.limit)
        taken[at_limit] = True
        if taken.any():
            part, preparation = frame.filter(taken), self.learnt.model[0]
            X = preparation.part(part, preparation.forms())
            self.parts.append(Chosen(np.flatnonzero(taken) + start, part, X, rows.part(taken)))

    def chosen(self) -> Chosen:
        """Those worth a person's label, beside the labelled rows."""
        numbers = np.concatenate([part.numbers for part in self.parts])
        X = np.concatenate([part.X for part in self.parts])
        frame = pl.concat([part.frame for part in self.parts])
        rows = LabeledRows.joined(part.rows for part in self.parts)
        labeled = np.flatnonzero(self.learnt.labels.every.labeled)
        both = np.concatenate([self.learnt.table.numbers(labeled), numbers])
        order = np.argsort(both, kind="stable")
        is_labeled = (np.arange(len(both)) < len(labeled))[order]
        confidence = np.concatenate([np.ones(len(labeled)), rows.confidence])[order]
        features = np.concatenate([self.learnt.X[labeled], X])[order]
        found = order[rows_to_label(features, is_labeled, confidence, random_state=self.learnt.asked.seed)]
        places = found - len(labeled)
        return Chosen(numbers[places], frame[places], X[places], rows.part(places))
