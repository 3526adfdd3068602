"""Columns of lists of numbers."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown
from chary.tables.columns.defaults import NO_HINTS, Hints
from chary.tables.columns.kind import Column, Kind
from chary.tables.table import TableError

# A cell with a number of this size or above counts as missing, as its square would overflow.
_LARGEST = 1e18


class Embeddings(Kind):
    """A list of numbers in each cell, all of one length.

    Models for images, sound or text make such lists.
    """

    name = "embedding"
    one_scale = True

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find lists of one length.

        An empty list, or one that lacks a number, counts as missing.
        """
        lists = _as_lists(filled)
        if lists is None:
            return None
        widths = set(lists.list.len()) - {0}
        if not widths:
            return None
        if len(widths) > 1:
            raise TableError(
                f"Column {shown(filled.name)} holds lists of different lengths; "
                "mend that, or drop the column."
            )

        (width,) = widths
        n_unreadable = len(filled) - _is_readable(lists, width).sum()
        if n_unreadable == len(filled):
            return None
        note = f"{width:,} numbers in each cell"
        if n_unreadable:
            note += f", {n_unreadable:,} cells without all of them count as missing"
        return Column(filled.name, self.name, note, str(width), missing=n_unreadable > 0)

    def feature_names(self, column: Column) -> list[str]:
        """Name the features by their numbers."""
        return [f"{column.name} {i}" for i in range(1, int(column.form) + 1)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read lists of the column's length.

        A list of another length, or one that lacks a number, is read as NaN throughout.
        """
        width = int(column.form)
        numbers = np.full((len(cells), width), np.nan)
        lists = _as_lists(cells)
        if lists is not None:
            is_readable = _is_readable(lists, width)
            all_numbers = lists.filter(is_readable).explode().to_numpy()
            numbers[is_readable.to_numpy()] = all_numbers.reshape(-1, width)
        return numbers

    def unreadable_cells(self, numberless: pl.Series, column: Column) -> pl.Series:
        """Keep lists of another length, and cells without a list.

        An empty list is missing, and a list of the right length lacks a number; neither is in
        another form.
        """
        lists = _as_lists(numberless)
        if lists is None:
            return numberless
        width = int(column.form)
        has_usual_length = lists.list.len().is_in([0, width])
        return numberless.filter(~has_usual_length)

    def expected(self, column: Column) -> str:
        """Say how long the lists are."""
        return f"lists of {column.form} numbers"


def _as_lists(cells: pl.Series) -> pl.Series | None:
    """Convert lists and arrays of numbers to lists of floats.

    The result is None if the cells are neither lists nor arrays of numbers.
    """
    if not isinstance(cells.dtype, pl.List | pl.Array) or not cells.dtype.inner.is_numeric():
        return None
    return cells.cast(pl.List(pl.Float64))


def _is_readable(lists: pl.Series, width: int) -> pl.Series:
    """Tell which lists have ``width`` finite numbers, none too large."""
    can_be_squared = (pl.element().abs() < _LARGEST).fill_null(False)  # for each number
    all_can = lists.list.eval(can_be_squared.all()).list.first()  # for each list
    has_width = lists.list.len() == width
    return (has_width & all_can).fill_null(False)
