"""Cells in; whether they are numbers, how these are written, and the numbers out."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import READABLE, Column, Kind
from chary.tables.columns.left_out import counting

_COMMA_DECIMAL = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$"
_COMMA_THOUSANDS = r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?$"
_FORMS = {
    "": ("", "numbers such as 1234.5"),
    "comma": ("decimal comma", "numbers with a decimal comma such as 1234,5"),
    "thousands": ("thousands separated by commas", "numbers such as 1,234.5"),
}  # a note, and what is expected
# Squares of larger numbers overflow; such cells count as missing.
_LARGEST = 1e100


class Numbers(Kind):
    """A number in each cell."""

    name = "numeric"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Numbers in the form in which most cells can be read; those that count the rows are an identifier."""
        if filled.dtype == pl.Boolean:
            return None
        is_text = filled.dtype == pl.String
        forms = _possible_forms(filled) if is_text else ("",)
        read = {form: read_numbers(filled, form).drop_nulls() for form in forms}
        form = max(read, key=lambda form: len(read[form]))
        n_odd = len(filled) - len(read[form])
        share = READABLE if is_text and not forced else 0
        if not len(read[form]) or len(read[form]) < share * len(filled):
            return None
        if not forced and not n_odd and (identifier := counting(filled.name, read[form])):
            return identifier
        notes = [_FORMS[form][0]] if form else []
        notes += [f"{n_odd:,} cells that are no number count as missing"] * (n_odd > 0)
        return Column(filled.name, self.name, ", ".join(notes), form, missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [column.name]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def ambiguous(self, column: Column) -> bool:
        return column.form == "comma"

    def unread(self, filled: pl.Series, column: Column) -> pl.Series:
        """Cells that are no number; where a decimal comma is due and there is none at all, those with a point."""
        if filled.dtype.is_numeric():
            return filled.clear()
        if column.form == "comma" and filled.dtype == pl.String:
            points = filled.filter(filled.str.contains(".", literal=True))  # 1.234 may be a fraction
            if len(points) > len(filled) / 2 and not filled.str.contains(",", literal=True).any():
                return points
        return super().unread(filled, column)

    def expected(self, column: Column) -> str:
        return _FORMS.get(column.form, _FORMS[""])[1]


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        if form:
            well_formed = cells.str.contains(_COMMA_DECIMAL if form == "comma" else _COMMA_THOUSANDS)
            between, decimal = (".", ",") if form == "comma" else (",", ".")
            cells = cells.str.replace_all(between, "", literal=True).str.replace(decimal, ".", literal=True)
            cells = cells.set(~well_formed.fill_null(False), None)
    elif cells.dtype.is_nested() or cells.dtype in (pl.Date, pl.Datetime, pl.Binary, pl.Object):
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.Float64)
    numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~(numbers.abs() < _LARGEST).fill_null(False), None)


def _possible_forms(filled: pl.Series) -> tuple[str, ...]:
    """How numbers may be written here; commas separate thousands if all of them can, as in 1,200 and 15,000."""
    with_comma = filled.filter(filled.str.contains(",", literal=True))
    thousands = with_comma.str.contains(_COMMA_THOUSANDS)
    if (with_comma.str.contains(_COMMA_DECIMAL) & ~thousands).any():
        return ("", "comma")
    return ("thousands",) if thousands.any() else ("",)
