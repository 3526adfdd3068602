"""Columns of numbers, with whatever is written around them; and columns of yes and no."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import percent, shown, visible
from chary.options import flag_of
from chary.tables.cells import (
    CODE_WORDS,
    FEW,
    MANY,
    READABLE,
    Column,
    Kind,
    likely_codes,
    nulls,
    some_of,
)
from chary.tables.columns.categories import find_counting

_EITHER_MARK = r"^[+-]?[1-9]\d{0,2},\d{3}$"  # a comma between thousands, or a decimal one
_THOUSANDS = {",": "commas", ".": "points", "_": "spaces", "'": "apostrophes"}
# Squares of larger numbers overflow; such cells count as missing.
_LARGEST = 1e100


class Numbers(Kind):
    """A number in each cell, whatever is written around it."""

    name = "numeric"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Numbers in the form in which most cells can be read; those that count the rows are an identifier."""
        if filled.dtype == pl.Boolean or not len(filled):
            return None
        is_text = filled.dtype == pl.String
        form, numbers = _best(filled, forced) if is_text else ("", read_numbers(filled, ""))
        odd = filled.filter(numbers.is_null())
        numbers = numbers.drop_nulls()
        readable = len(numbers) >= READABLE * len(filled)
        if not len(numbers) or (is_text and not forced and not readable):
            return None
        if not forced and not len(odd) and (identifier := find_counting(filled.name, numbers)):
            return identifier
        notes = _notes(filled, Form.of(form))
        if len(odd):
            notes.append(f"{len(odd):,} cells are not numbers and count as missing")
        doubts = _doubts(filled, Form.of(form), numbers)
        unit = Form.of(form).unit
        is_measure = unit not in ("", "%") and not _is_money(unit)
        words = (
            odd.filter(odd.str.len_chars() <= 40).unique().sort().head(_MAX_WORDS)
            if is_text
            else ()
        )
        return Column(
            filled.name,
            self.name,
            ", ".join(notes + doubts),
            form,
            tuple(words),
            missing=len(odd) > 0,
            doubtful=bool(doubts) or is_measure or not readable,
        )

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Cells that are no number, or one without its unit; words that the labelled table had, too, are none."""
        if without.dtype == pl.String:
            return without.filter(~without.is_in(column.categories))
        are_numbers = without.dtype.is_numeric() and not Form.of(column.form).unit
        return without.clear() if are_numbers else without

    def whole(self, column: Column) -> bool:
        return column.form in ("", *_OTHER_FORMS) or Form.of(column.form).text == column.form

    def expected(self, column: Column) -> str:
        form = Form.of(column.form)
        return f"{' in '.join(filter(None, ['numbers', form.unit]))} such as {form.example}"


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    written = Form.of(form)
    if cells.dtype == pl.String:
        numbers = (
            _read_amounts(cells, written)
            if form
            else cells.str.strip_chars().cast(pl.Float64, strict=False)
        )
    elif written.unit or not (
        cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Duration, pl.Time)
    ):
        return nulls(cells)
    elif cells.dtype == pl.Duration:  # in seconds
        numbers = cells.dt.total_microseconds() / 1e6
    else:
        numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~(numbers.abs() < _LARGEST).fill_null(False), None)


def why_no_numbers(filled: pl.Series) -> str:
    """Say why text cells are not read as numbers although most of them are numbers; empty if few are."""
    if filled.dtype != pl.String:
        return ""
    sample = some_of(filled, MANY)
    _, numbers = _best(sample, forced=False)
    odd = sample.filter(numbers.is_null())
    if not 0 < len(odd) <= len(sample) / 2:
        return ""
    share = percent(1 - len(odd) / len(sample))
    others = f"others such as {shown(odd.min(), 20)} are not; {flag_of('numeric')} reads it so"
    return f"{share} of the cells are numbers, {others}"


def _best(filled: pl.Series, forced: bool) -> tuple[str, pl.Series]:
    """The plainest form in which the most text cells can be read, and their numbers."""
    plain = read_numbers(filled, "")
    sample = some_of(filled, FEW)
    if not plain.null_count() or not (
        forced or _plain(sample).str.contains(_CELL).sum() > len(sample) / 2
    ):
        return "", plain
    # All cells are looked at: a rare one may tell how the rest is to be read.
    form = _find_form(filled)
    if form is None:
        return "", plain
    numbers = read_numbers(filled, form.text)
    if numbers.null_count() < plain.null_count():
        return form.text, numbers
    return "", plain


def _notes(filled: pl.Series, form: Form) -> list[str]:
    """How the numbers are written, where that is worth a word."""
    notes = (
        ["in seconds"]
        if filled.dtype == pl.Duration
        else [f"in {visible(form.unit, 30)}"] * bool(form.unit)
    )
    if form.thousands:
        some = some_of(filled, MANY).str.replace_all(r"[\s\u00a0\u2009\u202f]", "_")
        if some.str.contains(rf"\d[{form.thousands}’]\d{{3}}").any():
            notes.append(f"thousands separated by {_THOUSANDS[form.thousands]}")
    notes += ["decimal comma"] * (form.decimal == ",")
    return notes + ["words such as k or bn multiplied out"] * form.factors


def _doubts(filled: pl.Series, form: Form, numbers: pl.Series) -> list[str]:
    """Say what a person should look at."""
    doubts = []
    if form.decimal == "" and form.unit:
        doubts.append("points read as thousands separators")
    if (form.decimal, form.thousands, form.unit) == (".", ",", "") and filled.str.contains(
        _EITHER_MARK
    ).all():
        doubts.append("write points if these are decimal commas")
    return doubts + [f"{code} in {n:,} cells {CODE_WORDS}" for code, n in likely_codes(numbers)]


# ---------------------------------------------------------------- yes and no

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
        words = set(
            filled.str.to_lowercase().unique().head(3)
        )  # three different ones are no yes and no
        for yes, no in _OPPOSITE.items():
            if words <= {yes, no}:
                return Column(filled.name, self.name, categories=(yes,))
        return None

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Numbers and truth values as they are; words that are neither of the pair are missing."""
        if cells.dtype != pl.String:
            return Numbers().read(cells, column)
        yes = column.categories[0]
        value_of = {yes: 1.0, _OPPOSITE[yes]: 0.0}
        words = cells.str.strip_chars().str.to_lowercase()
        return words.replace_strict(value_of, default=None, return_dtype=pl.Float64).to_numpy()[
            :, None
        ]

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Words that are neither of the pair; numbers stand for themselves."""
        return without.clear() if without.dtype.is_numeric() else without

    def whole(self, column: Column) -> bool:
        """With the one word that is read as 1, of a pair that is known."""
        return not column.form and len(column.categories) == 1 and column.categories[0] in _OPPOSITE

    def expected(self, column: Column) -> str:
        return f"{'/'.join(column.categories)} or its opposite"


# ---------------------------------------------------------------- numbers with something around them

_SPACES = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\s]+"
_MINUS = r"[\u2212\u2012\u2013\ufe63\uff0d]"
_APOSTROPHES = r"[\u2019\u02bc\u00b4`]"
_NUMERAL = r"\d[\d.,' ]*\d(?:[eE][+-]?\d{1,3})?|\d+[.,]?(?:[eE][+-]?\d{1,3})?|[.,]\d+"
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$€£¥\u20a0-\u20c0]|(?:AED|ARS|AUD|BDT|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|"
    r"IDR|ILS|INR|ISK|JPY|KES|KRW|KZT|LKR|MAD|MXN|MYR|NGN|NOK|NZD|PEN|PHP|PKR|PLN|RMB|RON|RSD|RUB|SAR|SEK|SGD|THB|"
    r"TRY|TWD|UAH|USD|VND|ZAR|Rs|Fr|SFr|kr|Kč|zł|Ft|lei)\.?)"
)
_AFTER = r"[^\d\s\p{C}()+\-.,:;/<>=~'#*_|&!?\[\]{}@][^()\p{C}]{0,23}|/ ?\d{1,3}"
_CELL = (
    rf"^(?P<sign>[+-])? ?(?P<before>{_CURRENCY})? ?(?P<number>{_NUMERAL}) ?(?P<after>{_AFTER})?$"
)
# Marks: the decimal one, and the one between thousands ("_": a space). In the order in which they
# are preferred; no decimal mark was seen beside "." between thousands: it would be a comma.
_MARKS = (
    (".", ""),
    (".", ","),
    (".", "_"),
    (".", "'"),
    (",", ""),
    (",", "."),
    (",", "_"),
    (",", "'"),
    ("", "."),
)
_FORM = "amount;(?!([.,]?);\\1;)(?P<decimal>[.,]?);(?P<thousands>[.,_']?);(?P<factors>k?);(?P<unit>(?s:.*))"
# What some model files have for two of them.
_OTHER_FORMS = {"comma": "amount;,;.;;", "thousands": "amount;.;,;;"}
_MAX_WORDS = 60  # different ones in place of a number that are kept
_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "tsd"), 1e3),
    **dict.fromkeys(("M", "mn", "mln", "million", "mio"), 1e6),
    **dict.fromkeys(("B", "bn", "billion", "mrd"), 1e9),
}
_FACTORS_OF_MONEY = {"m": 1e6, "b": 1e9}  # metres or bytes elsewhere


@dataclass(frozen=True)
class Form:
    """How the numbers of a column are written; as text, what a model file keeps of it.

    >>> form = Form(".", ",", "$")
    >>> form.text, Form.of(form.text) == form
    ('amount;.;,;;$', True)
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    factors: bool = False  # 1.2k and 3M

    @property
    def text(self) -> str:
        """The form as text."""
        return f"amount;{self.decimal};{self.thousands};{'k' * self.factors};{self.unit}"

    @staticmethod
    def of(text: str) -> Form:
        """Return the form that a text stands for."""
        parts = re.fullmatch(_FORM, _OTHER_FORMS.get(text, text))
        if parts is None:
            return Form()
        return Form(parts["decimal"], parts["thousands"], parts["unit"], bool(parts["factors"]))

    @property
    def example(self) -> str:
        """A number so written."""
        number = f"12{self.decimal}5" if self.decimal else "1.234"
        return f"{number} {self.unit}".rstrip()


def _find_form(filled: pl.Series) -> Form | None:
    """Find the form in which most cells can be read, None if no cell holds a number."""
    parts = _split(filled).drop_nulls()
    if not len(parts):
        return None
    unit = parts.group_by("unit").len().sort("len", "unit", descending=[True, False])["unit"][0]
    parts = parts.filter(unit=unit)
    return Form(*_marks(parts["number"], _is_money(unit)), unit, bool((parts["factor"] != 1).any()))


def _read_amounts(cells: pl.Series, form: Form) -> pl.Series:
    """Read numbers, null where a cell is written otherwise; nothing needs no unit."""
    parts = _split(cells)
    number = parts["number"]
    number = number.set(
        ~number.str.contains(_pattern(form.decimal, form.thousands)).fill_null(False), None
    )
    between = form.thousands.replace("_", " ") or ("." if form.decimal == "," else "")
    number = number.str.replace_all(between, "", literal=True) if between else number
    value = parts["factor"] * number.str.replace(",", ".", literal=True).cast(
        pl.Float64, strict=False
    )
    is_fine = (parts["unit"] == form.unit) | ((value == 0) & (parts["unit"] == ""))
    return value.set(~is_fine.fill_null(False), None).alias(cells.name)


def _plain(cells: pl.Series) -> pl.Series:
    """Write text with one kind of space, minus and apostrophe, and the sign of a number first."""
    for pattern, plain in (
        (_SPACES, " "),
        ("^ | $", ""),
        (_MINUS, "-"),
        (_APOSTROPHES, "'"),
        (r"[.,][-\u2014]+( |$)", "$1"),  # 12.- is 12.00
        (r"^\((.+)\)$|^(.+?) ?-$", "-$1$2"),
        (rf"^({_CURRENCY}) ?([+-])", "$2$1"),
    ):
        cells = cells.str.replace_all(pattern, plain)
    return cells


def _split(cells: pl.Series) -> pl.DataFrame:
    """Split cells into number, null where there is none, its unit, and what words such as bn multiply it by."""
    fields = _plain(cells).str.extract_groups(_CELL).struct.unnest()
    around = fields["before"].fill_null("") + "\n" + fields["after"].fill_null("")
    meaning_of = {words: _meaning(*words.split("\n")) for words in {"\n", *around.unique()}}
    unit_of = {words: unit for words, (unit, _) in meaning_of.items()}
    factor_of = {words: factor for words, (_, factor) in meaning_of.items()}
    return pl.DataFrame(
        {
            "number": fields["sign"].fill_null("") + fields["number"],
            "unit": around.replace_strict(unit_of, return_dtype=pl.String),
            "factor": around.replace_strict(factor_of, return_dtype=pl.Float64),
        }
    )


def _meaning(before: str, after: str) -> tuple[str, float]:
    """Return the unit that words around a number mean, and what they multiply it by.

    The unit of 1 day and 2 Days is one. Case and plural are passed over in words alone: MB/s is not
    Mb/s, and MWh is not mWh.

    >>> _meaning("$", "bn"), _meaning("", "Tsd. €"), _meaning("", "Millions"), _meaning("", "Days")
    (('$', 1000000000.0), ('€', 1000.0), ('', 1000000.0), ('day', 1.0))
    >>> _meaning("", "MW"), _meaning("", "MB/s")
    (('MW', 1.0), ('MB/s', 1.0))
    """
    words = re.sub(r"([$€£¥\u20a0-\u20c0])", r" \1", after.replace(".", "")).split()
    factors = _FACTORS | _FACTORS_OF_MONEY if before else _FACTORS
    factor = (
        factors.get(words[0] if len(words[0]) < 3 else _singular(words[0]), 1.0) if words else 1.0
    )
    unit = " ".join([before.rstrip("."), *words[factor != 1 :]]).strip()
    return _singular(unit) if re.fullmatch(r"[^\W\d_][a-zß-ÿ]{2,}", unit) else unit, factor


def _singular(word: str) -> str:
    return re.sub("(?<=[^isu])s$", "", word.lower())


def _is_money(unit: str) -> bool:
    return re.fullmatch(_CURRENCY, unit) is not None


def _marks(numbers: pl.Series, is_money: bool) -> tuple[str, str]:
    """Find the marks with which most numbers can be read; in doubt commas, in money points, part thousands."""
    n_read = {marks: numbers.str.contains(_pattern(*marks)).sum() for marks in _MARKS}
    best = [marks for marks in _MARKS if n_read[marks] == max(n_read.values())]
    decimal, thousands = best[0]
    has_comma, has_point = (numbers.str.contains(mark, literal=True).any() for mark in ",.")
    if has_point and not has_comma and (",", ".") in best and (is_money or decimal == ","):
        return "", "."
    if not thousands and has_point:
        thousands = "," if decimal == "." else "."  # which can be mistaken for nothing else now
    return decimal, thousands


def _pattern(decimal: str, thousands: str) -> str:
    """Numbers with these marks; in 1,23,456 there are two digits between them.

    Where no mark was seen beside a decimal comma, 1.234,5 is read, and 1.234 is not: it may be a
    fraction.
    """
    whole, power = r"\d+", r"(?:[eE][+-]?\d+)?$"
    if thousands:
        mark = {".": r"\.", "_": " "}.get(thousands, thousands)
        indian = r"|\d{1,2}(?:,\d{2})+,\d{3}" if thousands == "," else ""
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{indian})"
    pattern = rf"^[+-]?{whole}?(?:{'[.]' if decimal == '.' else ','}\d*)?{power}"
    sure = rf"^[+-]?[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{power}"
    return f"{pattern}|{sure}" if (decimal, thousands) == (",", "") else pattern
