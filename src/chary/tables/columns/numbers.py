"""Cells in; whether they are numbers, how these are written, and the numbers out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import listed, percent, shown, visible
from chary.tables.columns import left_out, units
from chary.tables.columns.column import FEW, MANY, READABLE, Column, Kind, some_of
from chary.tables.columns.numerals import Form, find_form, looks_numeric, read_form, units_of
from chary.tables.missing import likely_codes

_COMMA_DECIMAL = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$"
_COMMA_THOUSANDS = r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?$"
_FORMS = {
    "": ("", "numbers such as 1234.5"),
    "comma": ("decimal comma", "numbers with a decimal comma such as 1234,5"),
    "thousands": ("thousands separated by commas", "numbers such as 1,234.5"),
}  # a note, and what is expected; what is written otherwise still is a ``Form``
_THOUSANDS = {",": "commas", ".": "points", "_": "spaces", "'": "apostrophes"}
_STARTS_LIKE_ONE = r"^[<>~≈]? ?[+-]?\p{Sc}? ?\d"
# Squares of larger numbers overflow; such cells count as missing.
_LARGEST = 1e100
# As many digits, all of the same number and some a leading zero, are rather a code than a quantity.
_CODE_DIGITS = 4


class Numbers(Kind):
    """A number in each cell, whatever is written around it."""

    name = "numeric"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Numbers in the form in which most cells can be read; those that count the rows are an identifier."""
        if filled.dtype == pl.Boolean or not len(filled):
            return None
        is_text = filled.dtype == pl.String
        best = _best(filled, forced) if is_text else _Reading("", read_numbers(filled, ""))
        numbers = best.numbers.drop_nulls()
        share = READABLE if is_text and not forced else 0
        if not len(numbers) or len(numbers) < share * len(filled):
            return None
        n_odd = len(filled) - len(numbers)
        if not forced and not n_odd and (identifier := left_out.counting(filled.name, numbers)):
            return identifier
        notes, doubts = _notes(filled, best.form), _doubts(filled, best.form, numbers)
        odd = [f"{n_odd:,} cells that are no number count as missing"] if n_odd else []
        return Column(
            filled.name,
            self.name,
            ", ".join([*notes, *odd, *doubts]),
            best.form,
            missing=n_odd > 0,
            doubtful=bool(doubts) or len(numbers) < READABLE * len(filled) or _drops_a_unit(best.form),
        )

    def feature_names(self, column: Column) -> list[str]:
        return [column.name]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        if cells.dtype.is_float() and not _needs_words(column.form):
            numbers = cells.cast(pl.Float64).to_numpy()  # nothing is copied where no cell is null
            if len(numbers) and not (numbers.min() > -_LARGEST and numbers.max() < _LARGEST):
                numbers = np.where(np.abs(numbers) < _LARGEST, numbers, np.nan)
            return numbers[:, None]
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def ambiguous(self, column: Column) -> bool:
        form = Form.of(column.form)
        return column.form == "comma" or (form is not None and form.decimal == ",")

    def unread(self, filled: pl.Series, column: Column) -> pl.Series:
        """Cells that are no number."""
        if filled.dtype.is_numeric():
            return filled if _needs_words(column.form) else filled.clear()
        return super().unread(filled, column)

    def doubted(self, filled: pl.Series, column: Column) -> tuple[pl.Series, bool]:
        """Where a decimal comma is due, cells with a point, as 1.234 may be a fraction; a comma shows the form."""
        if not self.ambiguous(column) or filled.dtype != pl.String:
            return filled.clear(), True
        comma = bool(filled.str.contains(",", literal=True).any())
        return filled.filter(filled.str.contains(".", literal=True)), comma

    def expected(self, column: Column) -> str:
        form = Form.of(column.form)
        if form is None:
            return _FORMS.get(column.form, _FORMS[""])[1]
        return f"numbers{_in_unit(form.unit)} such as {form.example}"


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    if cells.dtype == pl.String:
        amount = Form.of(form)
        numbers = read_form(cells, amount) if amount else _read_plain(cells, form)
    elif not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Duration, pl.Time)) or _needs_words(form):
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.Float64)
    else:
        numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~(numbers.abs() < _LARGEST).fill_null(False), None)


def why_no_numbers(filled: pl.Series) -> str:
    """Why text cells are no numbers although most of them start like one; empty if they do not."""
    if filled.dtype != pl.String or _share(some_of(filled, FEW).str.contains(_STARTS_LIKE_ONE)) <= 0.5:
        return ""
    filled = some_of(filled, MANY)
    named = units_of(filled)
    if len(named) > 1 and _share(looks_numeric(filled)) >= READABLE:
        return f"no numbers: units differ ({listed([shown(unit) for unit in named[:3]])})"
    best = _best(filled, forced=True)
    odd = filled.filter(best.numbers.is_null())
    if not len(odd):
        return ""
    if len(odd) > len(filled) / 2:
        return "most cells hold digits, but are no numbers"
    share = percent(1 - len(odd) / len(filled))
    return f"{share} of the cells are numbers, others such as {shown(odd[0], 20)} are not"


class _Reading(NamedTuple):
    form: str
    numbers: pl.Series


def _best(filled: pl.Series, forced: bool) -> _Reading:
    """The plainest form in which the most text cells can be read."""
    readings = [_Reading(form, read_numbers(filled, form)) for form in _possible_forms(filled)]
    best = min(readings, key=lambda reading: reading.numbers.null_count())
    if not best.numbers.null_count() or not (forced or _share(looks_numeric(some_of(filled, FEW))) > 0.5):
        return best
    other = _amounts(filled, some_of(filled, MANY))
    if other.numbers.null_count() and len(filled) > MANY:  # what is rare may tell how the rest is to be read
        other = _amounts(filled, filled)
    return min(best, other, key=lambda reading: reading.numbers.null_count())


def _amounts(filled: pl.Series, shown_by: pl.Series) -> _Reading:
    """Numbers with something around them, written as some of them are."""
    form = find_form(shown_by)
    text = form.text if form else ""
    return _Reading(text, read_numbers(filled, text))


def _read_plain(cells: pl.Series, form: str) -> pl.Series:
    """Numbers with nothing around them."""
    cells = cells.str.strip_chars()
    if form:
        well_formed = cells.str.contains(_COMMA_DECIMAL if form == "comma" else _COMMA_THOUSANDS)
        between, decimal = (".", ",") if form == "comma" else (",", ".")
        cells = cells.str.replace_all(between, "", literal=True).str.replace(decimal, ".", literal=True)
        cells = cells.set(~well_formed.fill_null(False), None)
    return cells.cast(pl.Float64, strict=False)


def _possible_forms(filled: pl.Series) -> tuple[str, ...]:
    """How plain numbers may be written; commas separate thousands if all of them can, as in 1,200 and 15,000."""
    with_comma = filled.filter(filled.str.contains(",", literal=True))
    thousands = with_comma.str.contains(_COMMA_THOUSANDS)
    if (with_comma.str.contains(_COMMA_DECIMAL) & ~thousands).any():
        return ("", "comma")
    return ("thousands",) if thousands.any() else ("",)


def _notes(filled: pl.Series, text: str) -> list[str]:
    """How the numbers are written, where that is worth a word."""
    form = Form.of(text)
    if form is None:
        return [_FORMS[text][0]] if text else []
    notes = [_in_unit(form.unit).strip()] if form.unit else []
    plain = some_of(filled, MANY).str.replace_all(r"[\s\u00a0\u2009\u202f]", "_")
    if form.thousands and plain.str.contains(rf"\d[{form.thousands}’]\d{{3}}").any():
        notes.append(f"thousands separated by {_THOUSANDS[form.thousands]}")
    notes += ["decimal comma"] * (form.decimal == ",") + ["words such as k or bn multiplied out"] * form.factors
    return notes


def _doubts(filled: pl.Series, text: str, numbers: pl.Series) -> list[str]:
    """What a person should look at."""
    doubts, form = [], Form.of(text)
    if form is not None and form.bare:
        n_bare = len(filled) - read_numbers(filled, replace(form, bare=False).text).count()
        doubts += [f"{n_bare:,} cells without {visible(form.unit, 30)} taken as such"] * (n_bare > 0)
    if form is not None and form.decimal == "" and form.unit:
        doubts.append("points taken for marks between thousands")
    if filled.dtype == pl.String and not text and _like_codes(some_of(filled, MANY)):
        doubts.append("digits of one length with leading zeros, perhaps a code")
    for code, count in likely_codes(numbers):
        doubts.append(f"{code} in {count:,} cells may mean missing")
    return doubts


def _like_codes(filled: pl.Series) -> bool:
    digits = filled.str.contains(rf"^\d{{{_CODE_DIGITS},}}$").all() and filled.str.len_chars().n_unique() == 1
    return bool(digits and filled.str.starts_with("0").any())


def _drops_a_unit(text: str) -> bool:
    form = Form.of(text)
    return form is not None and bool(form.unit) and not (units.currency(form.unit) or units.is_percent(form.unit))


def _needs_words(text: str) -> bool:
    """Whether a number alone is not as it should be written."""
    form = Form.of(text)
    return form is not None and bool(form.unit) and not form.bare


def _in_unit(unit: str) -> str:
    if units.is_percent(unit):
        return " in percent"
    return f" out of {unit[1:].strip()}" if unit.startswith("/") else f" in {visible(unit, 30)}" if unit else ""


def _share(which: pl.Series) -> float:
    return float(which.sum()) / max(1, len(which))
