"""Columns of numbers, also with units; and columns of yes and no."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown, visible
from chary.options import flag_of
from chary.tables.cells import CODE_WORDS, likely_codes
from chary.tables.columns.categories import find_counting
from chary.tables.columns.defaults import NO_HINTS, Hints
from chary.tables.columns.kind import (
    SMALL_SAMPLE,
    Column,
    Kind,
    null_cells,
    sample_cells,
)

# Such as 1,234: the comma may separate thousands, or be a decimal comma.
_AMBIGUOUS_COMMA = r"^[+-]?[1-9]\d{0,2},\d{3}$"
# Squares of larger numbers overflow; such cells count as missing.
_LARGEST = 1e100
# Words that stand in some cells instead of a number, such as "unknown", are kept: at most this many
# different ones, each of at most this many letters.
_MAX_WORDS = 60
_MAX_WORD_LETTERS = 40


class Numbers(Kind):
    """A number in each cell, whatever is written around it."""

    name = "numeric"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find numbers, or an identifier that counts the rows."""
        if filled.dtype == pl.Boolean or not len(filled):
            return None
        is_text = filled.dtype == pl.String
        form_text, numbers = _find_best_form(filled, forced)
        form = Form.of(form_text)
        unreadable = filled.filter(numbers.is_null())
        numbers = numbers.drop_nulls()
        is_readable = len(numbers) >= hints.defaults.readable_share * len(filled)
        if not len(numbers) or (is_text and not forced and not is_readable):
            return None
        if not forced and not len(unreadable):
            identifier = find_counting(filled.name, numbers, hints)
            if identifier is not None:
                return identifier

        notes = _notes(filled, form)
        if len(unreadable):
            notes.append(f"{len(unreadable):,} cells are not numbers and count as missing")
        doubts = _doubts(filled, form, numbers)
        words: list[str] = []
        if is_text:
            short = unreadable.filter(unreadable.str.len_chars() <= _MAX_WORD_LETTERS)
            words = short.unique().sort().head(_MAX_WORDS).to_list()
        is_measure = form.unit not in ("", "%") and not _is_money(form.unit)
        return Column(
            filled.name,
            self.name,
            ", ".join(notes + doubts),
            form_text,
            tuple(words),
            missing=len(unreadable) > 0,
            doubtful=bool(doubts) or is_measure or not is_readable,
        )

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read numbers in the form of the column."""
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def unreadable_cells(self, numberless: pl.Series, column: Column) -> pl.Series:
        """Keep cells in another form, except words seen before."""
        if numberless.dtype == pl.String:
            return numberless.filter(~numberless.is_in(column.categories))
        return numberless

    def expected(self, column: Column) -> str:
        """Show a number of the column's form, and name its unit."""
        form = Form.of(column.form)
        unit = f" in {form.unit}" if form.unit else ""
        return f"numbers{unit} such as {form.example}"


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Read numbers in a form, null if a cell holds none."""
    if cells.dtype == pl.String:
        if form:
            numbers = _read_amounts(cells, Form.of(form))
        else:
            numbers = cells.str.strip_chars().cast(pl.Float64, strict=False)
    elif Form.of(form).unit:
        return null_cells(cells)
    elif cells.dtype == pl.Duration:
        numbers = cells.dt.total_microseconds() / 1e6  # seconds
    elif cells.dtype.is_numeric() or cells.dtype == pl.Boolean:
        numbers = cells.cast(pl.Float64, strict=False)
    else:
        return null_cells(cells)
    is_fine = (numbers.abs() < _LARGEST).fill_null(False)
    return numbers.set(~is_fine, None)


def why_no_numbers(filled: pl.Series) -> str:
    """Say why text that holds mostly numbers is not numeric.

    The reason is empty if all cells are numbers, or less than half of them.
    """
    if filled.dtype != pl.String:
        return ""
    _, numbers = _find_best_form(filled, forced=False)
    unreadable = filled.filter(numbers.is_null())
    if not 0 < len(unreadable) <= len(filled) / 2:
        return ""
    example = shown(unreadable.min(), 20)
    return (
        f"most cells are numbers, others such as {example} are not; "
        f"{flag_of('numeric')} reads it so"
    )


def _find_best_form(filled: pl.Series, forced: bool) -> tuple[str, pl.Series]:
    """Find the form in which most cells can be read, and their numbers in it.

    The form is "", which stands for plain numbers, if no other form reads more cells.
    """
    plain = read_numbers(filled, "")
    n_unreadable = plain.null_count()
    if filled.dtype != pl.String or not n_unreadable:
        return "", plain
    sample = sample_cells(filled, SMALL_SAMPLE)
    if not forced and _plain(sample).str.contains(_CELL).sum() <= len(sample) / 2:
        return "", plain

    # Uses all cells: a rare 1.234,5 may tell that 1.234 is not a fraction.
    form = _find_form(filled)
    if form is None:
        return "", plain
    numbers = read_numbers(filled, form.text)
    if numbers.null_count() < n_unreadable:
        return form.text, numbers
    return "", plain


def _notes(filled: pl.Series, form: Form) -> list[str]:
    """Say how the numbers are written."""
    notes = []
    if filled.dtype == pl.Duration:
        notes.append("in seconds")
    elif form.unit:
        notes.append(f"in {visible(form.unit, 30)}")
    if form.thousands == "," and filled.str.contains(r"\d,\d{3}").any():
        notes.append("thousands separated by commas")
    if form.decimal == ",":
        notes.append("decimal comma")
    if form.factors:
        notes.append("words such as k or bn multiplied out")
    return notes


def _doubts(filled: pl.Series, form: Form, numbers: pl.Series) -> list[str]:
    """Say what a person should look at."""
    doubts = []
    if form.unit and not form.decimal:
        doubts.append("points read as thousands separators")
    has_commas = (form.decimal, form.thousands, form.unit) == (".", ",", "")
    if has_commas and filled.str.contains(_AMBIGUOUS_COMMA).all():
        doubts.append("write points if these are decimal commas")
    for code, n_cells in likely_codes(numbers):
        doubts.append(f"{code} in {n_cells:,} cells {CODE_WORDS}")
    return doubts


# ---------------------------------------------------------------- yes and no

_OPPOSITE = {"true": "false", "yes": "no", "y": "n", "t": "f"}


class Booleans(Kind):
    """A yes or a no in each cell."""

    name = "boolean"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find truth values, or one pair of words."""
        if filled.dtype == pl.Boolean:
            return Column(filled.name, self.name, categories=("true",))
        if filled.dtype != pl.String:
            return None
        different = filled.str.to_lowercase().unique()
        words = set(different.head(3))  # a third word shows that there is no pair
        for yes, no in _OPPOSITE.items():
            if words <= {yes, no}:
                return Column(filled.name, self.name, categories=(yes,))
        return None

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read numbers, truth values, and words of the pair."""
        if cells.dtype != pl.String:
            return Numbers().read(cells, column)
        yes = column.categories[0]
        words = cells.str.strip_chars().str.to_lowercase()
        numbers = words.replace_strict(
            [yes, _OPPOSITE[yes]], [1.0, 0.0], default=None, return_dtype=pl.Float64
        )
        return numbers.to_numpy()[:, None]

    def expected(self, column: Column) -> str:
        """Name the word that is read as 1."""
        return f"{column.categories[0]} or its opposite"


# ---------------------------------------------------------------- numbers and what is around them

_SPACES = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\s]+"
_MINUS = r"[\u2212\u2012\u2013\ufe63\uff0d]"
_APOSTROPHES = r"[\u2019\u02bc\u00b4`]"
_NUMERAL = r"\d[\d.,' ]*\d(?:[eE][+-]?\d{1,3})?|\d+[.,]?(?:[eE][+-]?\d{1,3})?|[.,]\d+"
_CURRENCY = (
    r"(?:[A-Z]{0,3}[$€£¥\u20a0-\u20c0]|(?:AED|ARS|AUD|BDT|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|"
    r"EUR|GBP|HKD|HUF|IDR|ILS|INR|ISK|JPY|KES|KRW|KZT|LKR|MAD|MXN|MYR|NGN|NOK|NZD|PEN|PHP|PKR|PLN|"
    r"RMB|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR|Rs|Fr|SFr|kr|Kč|zł|Ft|lei)\.?)"
)
_AFTER = r"[^\d\s\p{C}()+\-.,:;/<>=~'#*_|&!?\[\]{}@][^()\p{C}]{0,23}|/ ?\d{1,3}"
_CELL = (
    rf"^(?P<sign>[+-])? ?(?P<before>{_CURRENCY})? ?(?P<number>{_NUMERAL}) ?(?P<after>{_AFTER})?$"
)


class _Marks(NamedTuple):
    """The decimal mark, and the mark between thousands.

    "_" is a space.
    """

    decimal: str
    thousands: str


# Preferred marks come first. The last entry is for numbers with points between thousands and
# without decimals.
_MARKS = (
    _Marks(".", ""),
    _Marks(".", ","),
    _Marks(".", "_"),
    _Marks(".", "'"),
    _Marks(",", ""),
    _Marks(",", "."),
    _Marks(",", "_"),
    _Marks(",", "'"),
    _Marks("", "."),
)
# The pattern of ``Form.text``. Its look-ahead refuses one mark both for decimals and for thousands.
_FORM = (
    "amount;(?!([.,]?);\\1;)(?P<decimal>[.,]?);(?P<thousands>[.,_']?);"
    "(?P<factors>k?);(?P<unit>(?s:.*))"
)
# Forms of numbers as older model files have them.
_OLD_FORMS = {"comma": "amount;,;.;;", "thousands": "amount;.;,;;"}
_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "tsd"), 1e3),
    **dict.fromkeys(("M", "mn", "mln", "million", "mio"), 1e6),
    **dict.fromkeys(("B", "bn", "billion", "mrd"), 1e9),
}
_FACTORS_OF_MONEY = _FACTORS | {"m": 1e6, "b": 1e9}  # metres or bytes elsewhere


@dataclass(frozen=True)
class Form:
    """How the numbers of a column are written.

    A model file keeps a form as its ``text``.

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
        """Return the form that a text stands for, plain numbers if it is empty."""
        if not text:
            return Form()
        fields = re.fullmatch(_FORM, _OLD_FORMS.get(text, text))
        if fields is None:
            raise ValueError(f"unknown form of numbers: {text}")
        return Form(fields["decimal"], fields["thousands"], fields["unit"], bool(fields["factors"]))

    @property
    def example(self) -> str:
        """A number in this form."""
        number = f"12{self.decimal}5" if self.decimal else "1.234"
        return f"{number} {self.unit}".rstrip()


def _find_form(filled: pl.Series) -> Form | None:
    """Find the form of most numbers, None if no cell holds a number."""
    amounts = _split(filled).drop_nulls()
    if not len(amounts):
        return None
    units = amounts.group_by("unit").len().sort("len", "unit", descending=[True, False])
    unit = units["unit"][0]
    amounts = amounts.filter(unit=unit)
    marks = _find_marks(amounts["number"], _is_money(unit))
    has_factors = bool((amounts["factor"] != 1).any())
    return Form(marks.decimal, marks.thousands, unit, has_factors)


def _read_amounts(cells: pl.Series, form: Form) -> pl.Series:
    """Read numbers, null if a cell is in another form.

    A zero is read without the unit, too.
    """
    amounts = _split(cells)
    number = amounts["number"]
    has_form = number.str.contains(_pattern(_Marks(form.decimal, form.thousands)))
    number = number.set(~has_form.fill_null(False), None)

    thousands = form.thousands.replace("_", " ")
    if form.decimal == "," and not thousands:
        thousands = "."
    if thousands:
        number = number.str.replace_all(thousands, "", literal=True)
    with_point = number.str.replace(",", ".", literal=True)
    value = amounts["factor"] * with_point.cast(pl.Float64, strict=False)
    is_fine = (amounts["unit"] == form.unit) | ((value == 0) & (amounts["unit"] == ""))
    return value.set(~is_fine.fill_null(False), None).alias(cells.name)


def _plain(cells: pl.Series) -> pl.Series:
    """Write text with one kind of space, minus and apostrophe.

    The sign of a number comes first.
    """
    for pattern, plain in (
        (_SPACES, " "),
        ("^ | $", ""),
        (_MINUS, "-"),
        (_APOSTROPHES, "'"),
        (r"[.,][-\u2014]+( |$)", "$1"),  # 12.- is 12.00
        (r"^\((.+)\)$|^(.+?) ?-$", "-$1$2"),  # (5) and 5- are -5
        (rf"^({_CURRENCY}) ?([+-])", "$2$1"),  # $-5 is -$5
    ):
        cells = cells.str.replace_all(pattern, plain)
    return cells


def _split(cells: pl.Series) -> pl.DataFrame:
    """Split cells into number, unit, and the factor that words such as bn stand for.

    The number is null if a cell holds none.
    """
    fields = _plain(cells).str.extract_groups(_CELL).struct.unnest()
    # The words before and after a number are joined, to look up the meaning of each pair once.
    around = fields["before"].fill_null("") + "\n" + fields["after"].fill_null("")
    unit_of: dict[str, str] = {}
    factor_of: dict[str, float] = {}
    for words in {"\n", *around.unique()}:
        before, after = words.split("\n")
        unit_of[words], factor_of[words] = _meaning(before, after)
    return pl.DataFrame(
        {
            "number": fields["sign"].fill_null("") + fields["number"],
            "unit": around.replace_strict(unit_of, return_dtype=pl.String),
            "factor": around.replace_strict(factor_of, return_dtype=pl.Float64),
        }
    )


def _meaning(before: str, after: str) -> tuple[str, float]:
    """Return the unit and the factor of words around a number.

    The units of 1 day and 2 Days are the same. Case and plural are ignored only in words, not in
    symbols: MB/s is not Mb/s, and MWh is not mWh.

    >>> _meaning("$", "bn"), _meaning("", "Tsd. €"), _meaning("", "Millions"), _meaning("", "Days")
    (('$', 1000000000.0), ('€', 1000.0), ('', 1000000.0), ('day', 1.0))
    >>> _meaning("", "MW"), _meaning("", "MB/s")
    (('MW', 1.0), ('MB/s', 1.0))
    """
    # Currency signs become words of their own.
    words = re.sub(r"([$€£¥\u20a0-\u20c0])", r" \1", after.replace(".", "")).split()
    factor = 1.0
    if words:
        first = words[0]
        if len(first) >= 3:
            first = _singular(first)
        factors = _FACTORS_OF_MONEY if before else _FACTORS
        factor = factors.get(first, 1.0)
        if factor != 1:
            words = words[1:]

    unit = " ".join([before.rstrip("."), *words]).strip()
    if re.fullmatch(r"[^\W\d_][a-zß-ÿ]{2,}", unit):
        unit = _singular(unit)
    return unit, factor


def _singular(word: str) -> str:
    """Write a word in lower case and in the singular.

    An s after i, s or u is no plural, as in axis, loss or radius.
    """
    return re.sub("(?<=[^isu])s$", "", word.lower())


def _is_money(unit: str) -> bool:
    """Tell whether a unit is a currency."""
    return re.fullmatch(_CURRENCY, unit) is not None


def _find_marks(numbers: pl.Series, is_money: bool) -> _Marks:
    """Find the marks with which most numbers can be read.

    In doubt, commas separate thousands, and so do the points of money or beside decimal commas.
    """
    n_read = {marks: numbers.str.contains(_pattern(marks)).sum() for marks in _MARKS}
    best = [marks for marks in _MARKS if n_read[marks] == max(n_read.values())]
    decimal, thousands = best[0]
    has_comma = numbers.str.contains(",", literal=True).any()
    has_point = numbers.str.contains(".", literal=True).any()
    if has_point and not has_comma and (",", ".") in best and (is_money or decimal == ","):
        return _Marks("", ".")
    if has_point and not thousands:
        # The mark that is not the decimal mark can only separate thousands.
        thousands = "," if decimal == "." else "."
    return _Marks(decimal, thousands)


def _pattern(marks: _Marks) -> str:
    """Write the pattern of numbers with these marks.

    Indian numbers such as 1,23,456 have two digits between commas.

    With a decimal comma and no known mark between thousands, 1.234,5 is read, as its point can only
    separate thousands; 1.234 is not read, as it may be a fraction.
    """
    digits = r"\d+"
    power = r"(?:[eE][+-]?\d+)?$"
    if marks.thousands:
        mark = {".": r"\.", "_": " "}.get(marks.thousands, marks.thousands)
        indian = r"|\d{1,2}(?:,\d{2})+,\d{3}" if marks.thousands == "," else ""
        digits = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{indian})"
    decimal = "[.]" if marks.decimal == "." else ","
    pattern = rf"^[+-]?{digits}?(?:{decimal}\d*)?{power}"
    if marks == (",", ""):
        pattern += rf"|^[+-]?[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{power}"
    return pattern
