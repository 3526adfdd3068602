"""Columns of categories: the few values that cover a column, and the group that each cell belongs to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import Column, Kind
from chary.tables.missing import missing_cells
from chary.tables.table import texts

# A column is categorical if its frequent values cover at least this share of its filled cells.
_COVERED = 0.5
_MAX_CATEGORIES = 30
# Values are looked at one by one where each stands in so many cells on average.
_FEW = 8


class Categories(Kind):
    """One of a few values in each cell; rare and unseen ones share a group, missing ones are a group."""

    name = "categorical"
    grouped = True

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Texts of which the frequent ones cover the column; any texts, if it is ``forced``."""
        if filled.dtype != pl.String:
            return None
        smallest = 1 if forced else math.ceil(max(0.005 * len(filled), min(5, len(filled) / 10), 2))
        counts = filled.alias("value").value_counts(sort=True)
        frequent = counts.filter(pl.col("count") >= smallest).head(_MAX_CATEGORIES)
        if not len(frequent) or frequent["count"].sum() < (0 if forced else _COVERED) * len(filled):
            return None
        n_rare = len(counts) - len(frequent)
        note = f"{len(frequent)} value{'s' * (len(frequent) > 1)}"
        note += f", {n_rare:,} rare ones grouped" if n_rare else ""
        categories = tuple(sorted(frequent["value"].to_list()))
        return Column(filled.name, self.name, note, categories=categories, other=n_rare > 0)

    def feature_names(self, column: Column) -> list[str]:
        groups = [*column.categories, *["(other)"] * column.other, *["(missing)"] * column.missing]
        return [f"{column.name} = {group}" for group in groups]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """The place of the cell's group among the features; -1, which stands for nothing, if there is none."""
        if cells.dtype != pl.String or not _as_written(column):
            return _looked_up(cells, column).to_numpy()[:, None]
        found = _places(cells, column.categories)
        if found.min(initial=0) < 0:
            other = np.flatnonzero(found < 0)
            found[other] = _looked_up(cells.gather(other), column).to_numpy()
        return found[:, None]


@lru_cache(maxsize=4096)
def _as_written(column: Column) -> bool:
    """Whether a cell that is the same as a category belongs to it, as is so where categories hold something."""
    categories = pl.Series(column.categories, dtype=pl.String)
    return _codes(categories, column).to_list() == list(range(len(categories)))


def _places(cells: pl.Series, categories: Sequence[str]) -> NDArray[np.float64]:
    """Of each cell that is the same as a category, its place; -1 of others."""
    codes = cells.cast(pl.Enum(categories), strict=False).to_physical()
    return codes.cast(pl.Float64).fill_null(-1.0).to_numpy(writable=True)


def _looked_up(cells: pl.Series, column: Column) -> pl.Series:
    """The same as ``_codes``, of each value once where there are few."""
    values = cells.unique() if cells.dtype == pl.String else cells
    if not 0 < len(values) <= len(cells) // _FEW:
        return _codes(cells, column)
    return cells.replace_strict(values, _codes(values, column), return_dtype=pl.Float64)


def _codes(cells: pl.Series, column: Column) -> pl.Series:
    n_categories = len(column.categories)
    other = float(n_categories) if column.other else -1.0
    missing = float(n_categories + column.other) if column.missing else -1.0
    code_of = {value: float(code) for code, value in enumerate(column.categories)}
    keeps_zeros = any(value.endswith(".0") for value in column.categories)  # as models of old did
    cells = (texts(cells) if keeps_zeros else category_texts(cells)).str.strip_chars()
    codes = cells.replace_strict(code_of, default=other, return_dtype=pl.Float64)
    return codes.set(missing_cells(cells), missing)


def category_texts(cells: pl.Series) -> pl.Series:
    """Cells as text; a whole number is written the same whatever its type.

    >>> category_texts(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    found = texts(cells)
    return found.str.strip_suffix(".0") if cells.dtype.is_float() else found
