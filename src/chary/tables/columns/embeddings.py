"""Columns of lists of numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, listed, shown
from chary.tables.cells import CONSTANT, Column, Kind
from chary.tables.table import TableError

# Squares of larger numbers overflow; a cell with such a number counts as missing.
_LARGEST = 1e18
_CHUNK_NUMBERS = 2**22


class Embeddings(Kind):
    """A list of numbers in each cell, as many in all: what a model for images, sound or text made of something."""

    name = "embedding"
    one_scale = True

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Lists of one length; an empty one, or one with a number missing, counts as missing."""
        if not _has_lists(filled):
            return None
        widths = sorted(set(_lengths(filled).to_list()) - {0})
        if len(widths) > 1:
            some = listed([f"{width:,}" for width in widths[:3]]) + ", ..." * (len(widths) > 3)
            how = Parameter("drop", filled.name)
            raise TableError(
                f"Column {shown(filled.name)} holds lists of different lengths ({some}); mend that, or pass {how}."
            )
        n_read = _count_read(filled, widths[0]) if widths else 0
        if not n_read:
            return Column(filled.name, CONSTANT, "empty")
        note, n_odd = f"{widths[0]:,} numbers in each cell", len(filled) - n_read
        note += f", {n_odd:,} cells without all of them count as missing" * (n_odd > 0)
        return Column(filled.name, self.name, note, str(widths[0]), missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name} {i}" for i in range(1, int(column.form) + 1)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """The numbers of each list; NaN throughout where one of them is missing, or there are more or fewer."""
        return _read(cells, int(column.form))

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Lists of another length, and what is no list of numbers."""
        return without.filter(~_lengths(without).is_in([0, int(column.form)])) if _has_lists(without) else without

    def expected(self, column: Column) -> str:
        return f"lists of {int(column.form):,} numbers"

    def whole(self, column: Column) -> bool:
        return column.form.isdecimal() and len(column.form) <= 4 and 1 <= int(column.form) <= 4096


def _read(cells: pl.Series, width: int) -> NDArray[np.float64]:
    numbers = np.full((len(cells), width), np.nan)
    if _has_lists(cells):
        right = (_lengths(cells) == width).fill_null(False)
        numbers[right.to_numpy()] = cells.filter(right).explode().cast(pl.Float64).to_numpy().reshape(-1, width)
    numbers[~(np.abs(numbers) < _LARGEST).all(axis=1)] = np.nan
    return numbers


def _count_read(filled: pl.Series, width: int) -> int:
    """How many lists can be read."""
    size = max(1, _CHUNK_NUMBERS // width)
    parts = (_read(filled.slice(start, size), width) for start in range(0, len(filled), size))
    return sum(int((~np.isnan(part[:, 0])).sum()) for part in parts)


def _has_lists(cells: pl.Series) -> bool:
    return isinstance(cells.dtype, pl.List | pl.Array) and cells.dtype.inner.is_numeric()


def _lengths(cells: pl.Series) -> pl.Series:
    """How many numbers each list has, null where there is no list."""
    if isinstance(cells.dtype, pl.List):
        return cells.list.len()
    return cells.arr.len().set(cells.is_null(), None)
