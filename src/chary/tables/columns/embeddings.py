"""Columns of lists of numbers, in the table itself or in a NumPy file beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._files import why_unreadable
from chary._words import Parameter, listed, shown
from chary.tables.cells import CONSTANT, Column, Kind
from chary.tables.table import MAX_COLUMNS, TableError

# The column that the numbers of a file become; a model knows by it that it learned from such a file.
FEATURES = "(features)"

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


# ---------------------------------------------------------------- a NumPy file beside the table


def with_features(
    frame: pl.DataFrame, path: str | os.PathLike[str] | None, known: Sequence[str] | None = None
) -> pl.DataFrame:
    """The frame and a column more, of lists of numbers; without a file, the frame.

    ``known`` are the columns that a model learned from; with or without such a file as it learned, no otherwise.
    """
    if known is not None and path is None and FEATURES in known and FEATURES not in frame.columns:
        raise TableError(
            f"The model learned from a NumPy file of features, too; give one with {Parameter('features')}."
        )
    if path is None:
        return frame
    if known is not None and FEATURES not in known:
        raise TableError(f"The model learned from no file of features; leave {Parameter('features')} out.")
    if FEATURES in frame.columns:
        raise TableError(f"The table has a column {shown(FEATURES)} already; rename it.")
    numbers = read_features(path, frame.height)
    precision = pl.Float32 if numbers.dtype == np.float32 else pl.Float64
    return frame.with_columns(pl.Series(FEATURES, numbers, dtype=pl.Array(precision, numbers.shape[1])))


def read_features(path: str | os.PathLike[str], n_rows: int) -> NDArray[np.float32 | np.float64]:
    """The numbers (n_rows, d) of a NumPy file; nothing but numbers is read, and nothing in it is executed."""
    name = Path(path).name
    if sentence := why_unreadable(path):
        raise TableError(sentence)
    if not os.path.isfile(path):
        raise TableError(f"{name} is not a regular file; write the numbers to one with numpy.save.")
    try:
        # Mapped, a file cannot claim to hold more than it does.
        numbers = np.lib.format.open_memmap(path, mode="r")
    except Exception:
        raise TableError(f"{name} is not a whole NumPy file of numbers; write it with numpy.save.") from None
    if (
        numbers.dtype.kind not in "fiub"
        or numbers.ndim not in (1, 2)
        or not numbers.size
        or len(numbers) != n_rows
    ):
        found = f"{name} holds {numbers.dtype.name} values of shape {numbers.shape}"
        raise TableError(f"{found}; write a row of numbers for each of the table's {n_rows:,} rows.")
    table = numbers.reshape(n_rows, -1)
    if table.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"{name} has {table.shape[1]:,} numbers for each row; reduce them to {MAX_COLUMNS:,} at most."
        )
    single = numbers.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(table, np.float32 if single else np.float64)
