"""Columns of lists of numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown
from chary.tables.cells import Column, Kind
from chary.tables.table import TableError

# Squares of larger numbers overflow; a cell with such a number counts as missing.
_LARGEST = 1e18


class Embeddings(Kind):
    """A list of numbers in each cell, as many in all: what a model for images, sound or text made of something."""

    name = "embedding"
    one_scale = True

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Lists of one length; an empty one, or one with a number missing, counts as missing."""
        lists = _as_lists(filled)
        if lists is None:
            return None
        widths = set(lists.list.len()) - {0}
        if not widths:
            return None
        if len(widths) > 1:
            name = shown(filled.name)
            raise TableError(
                f"Column {name} holds lists of different lengths; mend that, or drop the column."
            )
        (width,) = widths
        n_odd = len(filled) - _can_be_read(lists, width).sum()
        if n_odd == len(filled):
            return None
        note = f"{width:,} numbers in each cell"
        if n_odd:
            note += f", {n_odd:,} cells without all of them count as missing"
        return Column(filled.name, self.name, note, str(width), missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name} {i}" for i in range(1, int(column.form) + 1)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """The numbers of each list; NaN throughout where one of them is missing, or there are more or fewer."""
        width = int(column.form)
        numbers = np.full((len(cells), width), np.nan)
        lists = _as_lists(cells)
        if lists is not None:
            readable = _can_be_read(lists, width)
            numbers[readable.to_numpy()] = (
                lists.filter(readable).explode().to_numpy().reshape(-1, width)
            )
        return numbers

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Lists of another length, and what is no list of numbers."""
        lists = _as_lists(without)
        if lists is None:
            return without
        return without.filter(~lists.list.len().is_in([0, int(column.form)]))

    def expected(self, column: Column) -> str:
        return f"lists of {int(column.form):,} numbers"

    def whole(self, column: Column) -> bool:
        return column.form.isdecimal() and len(column.form) <= 4 and 1 <= int(column.form) <= 4096


def _as_lists(cells: pl.Series) -> pl.Series | None:
    """Convert lists and arrays of numbers to lists of one type; None if the cells are neither."""
    if not isinstance(cells.dtype, pl.List | pl.Array) or not cells.dtype.inner.is_numeric():
        return None
    return cells.cast(pl.List(pl.Float64))


def _can_be_read(lists: pl.Series, width: int) -> pl.Series:
    """Tell which lists have ``width`` numbers, all of them there and none too large."""
    all_fine = lists.list.eval((pl.element().abs() < _LARGEST).fill_null(False).all()).list.first()
    return ((lists.list.len() == width) & all_fine).fill_null(False)
