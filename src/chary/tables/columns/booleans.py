"""Columns of yes and no."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import Column, Kind
from chary.tables.columns.numbers import read_numbers

_OPPOSITE = {"true": "false", "yes": "no", "y": "n", "t": "f"}


class Booleans(Kind):
    """A yes or a no in each cell."""

    name = "boolean"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Truth values, or one pair of words, in upper or lower case."""
        if filled.dtype == pl.Boolean:
            return Column(filled.name, self.name, categories=("true",))
        if filled.dtype != pl.String:
            return None
        words = set(filled.str.to_lowercase().unique().head(3))  # three different ones are no yes and no
        yes = [yes for yes, no in _OPPOSITE.items() if words <= {yes, no}]
        return Column(filled.name, self.name, categories=(yes[0],)) if yes else None

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Numbers and truth values as they are; words that are neither of the pair are missing."""
        if cells.dtype != pl.String:
            return read_numbers(cells, column.form).to_numpy()[:, None]
        words, yes = cells.str.strip_chars().str.to_lowercase(), column.categories[0]
        known = words.is_in([yes, _OPPOSITE[yes]])
        return (words == yes).set(~known.fill_null(False), None).cast(pl.Float64).to_numpy()[:, None]

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Words that are neither of the pair; numbers stand for themselves."""
        return without.clear() if without.dtype.is_numeric() else without

    def expected(self, column: Column) -> str:
        return f"{'/'.join(column.categories)} or its opposite"
