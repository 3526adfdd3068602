"""Cells in; whether they are dates, how these are written, and year, month, weekday and elapsed days out."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import READABLE, Column, Kind

_YEAR_FIRST = r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$"
_YEAR_LAST = r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ].*)?$"
_DATE_LIKE = re.compile(rf"{_YEAR_FIRST}|{_YEAR_LAST}", re.DOTALL)
_FORMS = {
    "ymd": ("", "dates such as 2024-01-31"),
    "dmy": ("day first", "dates such as 31.01.2024"),
    "mdy": ("month first", "dates such as 01/31/2024"),
}  # a note, and what is expected
_ORDERS = {"ymd": "$1-$2-$3", "dmy": "$3-$2-$1", "mdy": "$3-$1-$2"}
_PARTS = ("year", "month", "weekday", "elapsed days")
_TYPES = (pl.Date, pl.Datetime)


class Dates(Kind):
    """A day in each cell; the time of day is not used."""

    name = "date"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Dates in the order of day, month and year in which most cells can be read."""
        if filled.dtype in _TYPES:
            return Column(filled.name, self.name)
        if filled.dtype != pl.String:
            return None
        first = filled.head(50).to_list()
        if sum(_DATE_LIKE.match(cell) is not None for cell in first) < len(first) / 2:
            return None  # most columns leave here, before the slow reading
        readable = {form: _read_dates(filled, form).is_not_null().sum() for form in _FORMS}
        best = max(readable, key=lambda form: readable[form])
        if readable[best] < READABLE * len(filled):
            return None
        notes = [_FORMS[best][0]] if best != "ymd" else []
        if best == "dmy" and readable["mdy"] == readable["dmy"]:
            notes = ["day first assumed, month first would fit too"]
        n_odd = len(filled) - readable[best]
        notes += [f"{n_odd:,} cells that are no date count as missing"] * (n_odd > 0)
        return Column(filled.name, self.name, ", ".join(notes), best, missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name}: {part}" for part in _PARTS]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        dates = _read_dates(cells, column.form or "ymd")
        parts = [dates.dt.year(), dates.dt.month(), dates.dt.weekday(), dates.to_physical()]
        return np.column_stack([part.cast(pl.Float64).to_numpy() for part in parts])

    def expected(self, column: Column) -> str:
        return _FORMS.get(column.form, _FORMS["ymd"])[1]


def _read_dates(cells: pl.Series, form: str) -> pl.Series:
    """Dates, null where there is none."""
    if cells.dtype in _TYPES:
        return cells.cast(pl.Date, strict=False)
    if cells.dtype != pl.String:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.Date)
    pattern = _YEAR_FIRST if form == "ymd" else _YEAR_LAST
    cells = cells.str.strip_chars()
    cells = cells.set(~cells.str.contains(pattern).fill_null(False), None)
    return cells.str.replace(pattern, _ORDERS[form]).str.to_date("%Y-%m-%d", strict=False)
