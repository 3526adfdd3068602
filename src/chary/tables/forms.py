"""The parts of a table in, one after the other; whether its columns are written as a model knows them out.

Counts are added up, so that the answer is that for the whole table, however it was cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from chary._words import shown
from chary.tables.columns.column import READABLE, Column, Kind
from chary.tables.columns.kinds import plain
from chary.tables.errors import TableError
from chary.tables.missing import filled_cells

# New cells are refused if so many that cannot be read are less likely than this where ``READABLE`` of them can.
_UNLIKELY = 0.01


class Forms:
    """What was seen of how the columns of a new table are written."""

    def __init__(self, used: Sequence[tuple[Column, Kind]], forced: Sequence[str] = ()) -> None:
        self._columns: list[tuple[int, _Column]] = []
        place = 0
        for column, kind in used:
            if not kind.grouped:
                self._columns.append((place, _Column(column, kind, column.name in forced)))
            place += width_of(column, kind)

    @property
    def missing(self) -> dict[str, int]:
        """How many cells of each column hold no number; where one of its numbers is missing, all are."""
        return {column.column.name: column.missing for _, column in self._columns}

    def see(self, frame: pl.DataFrame, n_missing: NDArray[np.intp]) -> None:
        """A part of the table, and how many of each of the numbers made of it are missing."""
        for place, column in self._columns:
            column.see(frame[column.column.name], int(n_missing[place]))

    def add(self, later: Forms) -> None:
        """What was seen of the rows that follow."""
        for (_, own), (_, other) in zip(self._columns, later._columns, strict=True):
            own.add(other)

    def refuse(self) -> None:
        """Refuse a table with a column of which more cannot be read than ``fit`` lets pass."""
        for _, column in self._columns:
            column.refuse()


class _Column:
    """The counts of one column."""

    def __init__(self, column: Column, kind: Kind, forced: bool) -> None:
        self.column, self.kind, self.forced = column, kind, forced
        self.n = 0  # cells that hold something
        self.missing = 0  # cells that hold no number
        self.unread, self.doubted = _Counted(), _Counted()
        self.proven = False

    def see(self, cells: pl.Series, n_missing: int) -> None:
        self.missing += n_missing
        if n_missing <= cells.null_count() and not self.kind.ambiguous(self.column):
            self.n += len(cells) - cells.null_count()  # it lacks no more numbers than cells: all of them were read
            return
        filled = filled_cells(plain(cells))
        self.n += len(filled)
        self.unread.see(self.kind.unread(filled, self.column))
        doubted, proven = self.kind.doubted(filled, self.column)
        self.doubted.see(doubted)
        self.proven |= proven and bool(len(filled))

    def add(self, later: _Column) -> None:
        self.n += later.n
        self.missing += later.missing
        self.unread.add(later.unread)
        self.doubted.add(later.doubted)
        self.proven |= later.proven

    def refuse(self) -> None:
        """A forced column is refused if nothing in it can be read."""
        odd = self.doubted if not self.proven and self.doubted.n > self.n / 2 else self.unread
        n, n_odd = self.n, odd.n
        usual = n - n_odd >= READABLE * n or binom.sf(n_odd - 1, n, 1 - READABLE) >= _UNLIKELY
        if n == 0 or (n_odd < n and (usual or self.forced)):
            return
        raise TableError(
            f"Column {shown(self.column.name)} holds {shown(odd.first)}: {n_odd:,} of {n:,} cells cannot be read, "
            f"because the model learned from {self.kind.expected(self.column)}; write them so."
        )


class _Counted:
    """How many cells, and the first of them."""

    def __init__(self) -> None:
        self.n = 0
        self.first: Any = None

    def see(self, cells: pl.Series) -> None:
        if len(cells) and not self.n:
            self.first = cells.head(1).to_list()[0]  # a list as such, not as a column of its own
        self.n += len(cells)

    def add(self, later: _Counted) -> None:
        self.first = self.first if self.n else later.first
        self.n += later.n


def width_of(column: Column, kind: Kind) -> int:
    """How many numbers a kind makes of a cell."""
    return 1 if kind.grouped else len(kind.feature_names(column))
