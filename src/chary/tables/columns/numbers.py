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
from chary.tables.columns.defaults import NO_HINTS, ColumnDefaults, Hints
from chary.tables.columns.kind import (
    SMALL_SAMPLE,
    Column,
    Kind,
    null_cells,
    sample_cells,
)

# In a number such as 1,234 the comma may separate thousands, or be a decimal comma.
_AMBIGUOUS_COMMA = r"^[+-]?[1-9]\d{0,2},\d{3}$"
# Numbers of this size and above count as missing, as their squares would overflow.
_LARGEST = 1e100
# Words that stand in some cells instead of a number, such as "unknown", are kept with the column,
# so that they are known in a new table. At most this many different words are kept.
_MAX_WORDS = 60
# A word of more letters than these is not kept.
_MAX_WORD_LETTERS = 40


class Numbers(Kind):
    """A number in each cell, whatever is written around it."""

    name = "numeric"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find numbers, or an identifier that counts the rows.

        Text is a column of numbers if nearly all cells can be read as numbers of one form, or, if
        the user says that it is one, at least one cell. Cells that cannot be read count as missing.
        """
        if filled.dtype == pl.Boolean or not len(filled):
            return None
        is_text = filled.dtype == pl.String
        form_text, numbers = _find_best_form(filled, forced)
        form = Form.of(form_text)
        unreadable = filled.filter(numbers.is_null())
        numbers = numbers.drop_nulls()
        if not len(numbers):
            return None
        is_readable = len(numbers) >= hints.defaults.readable_share * len(filled)
        if is_text and not forced and not is_readable:
            return None

        if not forced and not len(unreadable):
            identifier = find_counting(filled.name, numbers, hints)
            if identifier is not None:
                return identifier

        notes = _notes(filled, form)
        if len(unreadable):
            notes.append(f"{len(unreadable):,} cells are not numbers and count as missing")
        doubts = _doubts(filled, form, numbers, hints.defaults)
        words: list[str] = []
        if is_text:
            short = unreadable.filter(unreadable.str.len_chars() <= _MAX_WORD_LETTERS)
            words = short.unique().sort().head(_MAX_WORDS).to_list()

        # A word after the number that is neither a currency nor "%", such as the "kg" of "5 kg",
        # may be no unit at all, so a person should look at the column.
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
    """Read cells of any type as numbers, null if a cell holds none in this form.

    The ``form`` is the text of a ``Form``, or empty for plain numbers. Cells that are not text have
    no unit, so none of them is read if the form has one.
    """
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
    can_be_squared = (numbers.abs() < _LARGEST).fill_null(False)
    return numbers.set(~can_be_squared, None)


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
    """Find the form in which most cells can be read.

    Returns
    -------
    form : str
        The text of a ``Form``. It is "", which stands for plain numbers, if no other form reads
        more cells.
    numbers : Series
        All cells as numbers of that form, null if a cell cannot be read.
    """
    plain_numbers = read_numbers(filled, "")
    n_unreadable = plain_numbers.null_count()
    if filled.dtype != pl.String or not n_unreadable:
        return "", plain_numbers

    # To look for a form is slow. It is spared if few cells of a sample look like a number.
    if not forced:
        sample = sample_cells(filled, SMALL_SAMPLE)
        n_like_numbers = _plain(sample).str.contains(_CELL).sum()
        if n_like_numbers <= len(sample) / 2:
            return "", plain_numbers

    # The form is found from all cells: a rare 1.234,5 may tell that 1.234 is not a fraction.
    form = _find_form(filled)
    if form is None:
        return "", plain_numbers
    numbers = read_numbers(filled, form.text)
    if numbers.null_count() < n_unreadable:
        return form.text, numbers
    return "", plain_numbers


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


def _doubts(
    filled: pl.Series, form: Form, numbers: pl.Series, defaults: ColumnDefaults
) -> list[str]:
    """Say what a person should look at, as notes of the column."""
    doubts = []
    if form.unit and not form.decimal:
        doubts.append("points read as thousands separators")

    # If every cell looks like 1,234, all commas may be decimal ones.
    has_thousands_commas = form.decimal == "." and form.thousands == ","
    if has_thousands_commas and not form.unit:
        are_ambiguous = filled.str.contains(_AMBIGUOUS_COMMA).all()
        if are_ambiguous:
            doubts.append("write points if these are decimal commas")

    codes = likely_codes(
        numbers, spike_ratio=defaults.spike_ratio, spike_cells=defaults.spike_cells
    )
    for code, n_cells in codes:
        doubts.append(f"{code} in {n_cells:,} cells {CODE_WORDS}")
    return doubts


def codes_in(note: str) -> list[str]:
    """Read the likely codes for missing values from the note of a column.

    >>> codes_in("in kg, -9 in 1,204 cells may mean missing, 99 in 8 cells may mean missing")
    ['-9', '99']
    """
    return re.findall(rf"(-?\d+) in [\d,]+ cells {CODE_WORDS}", note)


# ---------------------------------------------------------------- yes and no

_OPPOSITE = {"true": "false", "yes": "no", "y": "n", "t": "f"}


class Booleans(Kind):
    """A yes or a no in each cell."""

    name = "boolean"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find truth values, or text of a single pair of words, such as yes and no."""
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
    """The decimal mark, and the mark between thousands; empty if there is none.

    The mark "_" stands for a space, which could not be seen in the text of a form.
    """

    decimal: str
    thousands: str

    @property
    def thousands_in_numbers(self) -> str:
        """The mark between thousands as numbers have it."""
        return self.thousands.replace("_", " ")


# The marks that numbers may have. If several fit equally many numbers, the first one is taken. The
# last entry is for numbers with points between thousands and without decimals.
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
# Model files of older versions hold these short texts instead of the text of a form.
_OLD_FORMS = {"comma": "amount;,;.;;", "thousands": "amount;.;,;;"}
# The words after a number that multiply it.
_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "tsd"), 1e3),
    **dict.fromkeys(("M", "mn", "mln", "million", "mio"), 1e6),
    **dict.fromkeys(("B", "bn", "billion", "mrd"), 1e9),
}
# After an amount of money, m and b are millions and billions; elsewhere they are metres and bytes.
_FACTORS_OF_MONEY = _FACTORS | {"m": 1e6, "b": 1e9}


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
    """Find the form of most numbers, None if no cell holds a number.

    The most frequent unit is that of the column. Only numbers with this unit tell the marks.
    """
    amounts = _split(filled).drop_nulls()
    if not len(amounts):
        return None
    units = amounts.group_by("unit").len().sort("len", "unit", descending=[True, False])
    unit = units["unit"][0]  # of equally frequent ones, the first in the alphabet
    amounts = amounts.filter(unit=unit)
    marks = _find_marks(amounts["number"], _is_money(unit))
    has_factors = bool((amounts["factor"] != 1).any())
    return Form(marks.decimal, marks.thousands, unit, has_factors)


def _read_amounts(cells: pl.Series, form: Form) -> pl.Series:
    """Read numbers, null if a cell is in another form.

    A zero is read without the unit, too: 0 is as good as 0 kg.
    """
    amounts = _split(cells)
    number = amounts["number"]  # as text
    marks = _Marks(form.decimal, form.thousands)
    pattern = _pattern(marks)
    has_form = number.str.contains(pattern).fill_null(False)
    number = number.set(~has_form, None)

    # Python's notation: no mark between thousands, and a decimal point.
    thousands = marks.thousands_in_numbers
    if form.decimal == "," and not thousands:
        thousands = "."  # ``_pattern`` lets a point pass only between thousands
    if thousands:
        number = number.str.replace_all(thousands, "", literal=True)
    number = number.str.replace(",", ".", literal=True)

    value = amounts["factor"] * number.cast(pl.Float64, strict=False)
    has_unit = amounts["unit"] == form.unit
    is_plain_zero = (value == 0) & (amounts["unit"] == "")
    is_read = (has_unit | is_plain_zero).fill_null(False)
    return value.set(~is_read, None).alias(cells.name)


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

    The number is text, with its sign and marks; it is null if a cell holds none.

    >>> _split(pl.Series(["$-1.2 bn", "5 Days", "soon"])).rows()
    [('-1.2', '$', 1000000000.0), ('5', 'day', 1.0), (None, '', 1.0)]
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

    If every number looks like 1,234, the comma is taken to separate thousands. If every number
    looks like 1.234, the point is a decimal point; in amounts of money it separates thousands, and
    so it does beside a number of several points such as 1.234.567.

    >>> _find_marks(pl.Series(["1.234", "2.500"]), is_money=False)
    _Marks(decimal='.', thousands=',')
    >>> _find_marks(pl.Series(["1.234", "2.500"]), is_money=True)
    _Marks(decimal='', thousands='.')
    """
    n_read = {}
    for marks in _MARKS:
        n_read[marks] = numbers.str.contains(_pattern(marks)).sum()
    most_read = max(n_read.values())
    best = [marks for marks in _MARKS if n_read[marks] == most_read]
    decimal, thousands = best[0]

    has_comma = numbers.str.contains(",", literal=True).any()
    has_point = numbers.str.contains(".", literal=True).any()
    # The numbers have points and no commas, and the points may all stand between thousands.
    may_lack_decimals = has_point and not has_comma and (",", ".") in best
    if may_lack_decimals and (is_money or decimal == ","):
        return _Marks("", ".")
    if has_point and not thousands:
        # The mark that is not the decimal mark can only separate thousands.
        thousands = "," if decimal == "." else "."
    return _Marks(decimal, thousands)


def _pattern(marks: _Marks) -> str:
    """Write the pattern of numbers with these marks.

    A number has digits before the decimal mark, after it, or on both sides: 5, 5. and .5 are
    numbers. Thousands may be separated or not, and Indian numbers such as 1,23,456 have two digits
    between commas.

    With a decimal comma and no known mark between thousands, 1.234,5 is read, as its point can only
    separate thousands; 1.234 is not read, as it may be a fraction.
    """
    whole_forms = [r"\d+"]
    if marks.thousands:
        mark = re.escape(marks.thousands_in_numbers)
        whole_forms.append(rf"[1-9]\d{{0,2}}(?:{mark}\d{{3}})+")
    if marks.thousands == ",":
        whole_forms.append(r"\d{1,2}(?:,\d{2})+,\d{3}")
    whole = f"(?:{'|'.join(whole_forms)})"

    decimal = "[.]" if marks.decimal == "." else ","
    number_forms = [rf"{whole}(?:{decimal}\d*)?", rf"{decimal}\d+"]
    if marks == (",", ""):
        number_forms.append(r"[1-9]\d{0,2}(?:\.\d{3})+,\d*")
    power = r"(?:[eE][+-]?\d+)?"
    return rf"^[+-]?(?:{'|'.join(number_forms)}){power}$"
