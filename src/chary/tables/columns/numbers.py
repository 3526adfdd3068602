"""Columns of numbers, with their marks, signs, currencies, units and factors; and columns of yes and no."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import listed, percent, shown, visible
from chary.options import flag_of
from chary.tables.cells import FEW, MANY, READABLE, Column, Kind, likely_codes, nulls, some_of
from chary.tables.columns.categories import find_counting

_COMMA_DECIMAL = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$"
_COMMA_THOUSANDS = r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?$"
_EITHER_MARK = r"^[+-]?[1-9]\d{0,2},\d{3}$"  # a comma between thousands, or a decimal one
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
        form, numbers = _best(filled, forced) if is_text else ("", read_numbers(filled, ""))
        odd = filled.filter(numbers.is_null())
        numbers = numbers.drop_nulls()
        n_odd, readable = len(filled) - len(numbers), len(numbers) >= READABLE * len(filled)
        if not len(numbers) or (is_text and not forced and not readable):
            return None
        if not forced and not n_odd and (identifier := find_counting(filled.name, numbers)):
            return identifier
        written = Form.of(form)
        notes, doubts = _notes(filled, written), _doubts(filled, form, numbers)
        notes += [f"{n_odd:,} cells are not numbers and count as missing"] * (n_odd > 0)
        is_measure = written.unit not in ("", "%") and not _currency(written.unit)
        doubtful = bool(doubts) or is_measure or not readable
        words = tuple(odd.filter(odd.str.len_chars() <= 40).unique().sort().head(_MAX_WORDS)) if is_text else ()
        return Column(
            filled.name, self.name, ", ".join(notes + doubts), form, words, missing=n_odd > 0, doubtful=doubtful
        )

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        if cells.dtype.is_float() and not Form.of(column.form).needs_unit:
            numbers = cells.cast(pl.Float64).to_numpy()  # nothing is copied where no cell is null
            if len(numbers) and not (numbers.min() > -_LARGEST and numbers.max() < _LARGEST):
                numbers = np.where(np.abs(numbers) < _LARGEST, numbers, np.nan)
            return numbers[:, None]
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Cells that are no number, or one without its unit; words that the labelled table had, too, are none."""
        if without.dtype == pl.String:
            return without.filter(~without.is_in(column.categories))
        are_numbers = without.dtype.is_numeric() and not Form.of(column.form).needs_unit
        return without.clear() if are_numbers else without

    def doubted(self, cells: pl.Series, column: Column) -> tuple[pl.Series, bool] | None:
        """Where a decimal comma is due, cells with a point, as 1.234 may be a fraction; a comma shows the form."""
        if Form.of(column.form).decimal != ",":
            return None
        if cells.dtype != pl.String:
            return cells.clear(), cells.null_count() < len(cells)
        pointed = cells.filter(cells.str.contains(".", literal=True).fill_null(False)).str.strip_chars()
        return pointed, bool(cells.str.contains(",", literal=True).any())

    def expected(self, column: Column) -> str:
        form = Form.of(column.form)
        return f"numbers{_in_unit(form.unit)} such as {form.example}"


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    written = Form.of(form)
    if cells.dtype == pl.String:
        numbers = _read_plain(cells, written) if written.plain else _read_amounts(cells, written)
    elif written.needs_unit or not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Duration, pl.Time)):
        return nulls(cells)
    elif cells.dtype == pl.Duration:  # in seconds
        numbers = cells.dt.total_microseconds() / 1e6
    else:
        numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~(numbers.abs() < _LARGEST).fill_null(False), None)


def why_no_numbers(filled: pl.Series) -> str:
    """Why text cells are no numbers although most of them start like one; empty if they do not."""
    if filled.dtype != pl.String or _share(some_of(filled, FEW).str.contains(_STARTS_LIKE_ONE)) <= 0.5:
        return ""
    filled = some_of(filled, MANY)
    pairs = _pairs(_split(filled))
    meant = [_around(before, after) for before, after, _ in pairs]
    units = list(dict.fromkeys(unit.name for unit in meant if unit is not None and unit.name))
    if len(units) > 1 and _share(_looks_numeric(filled)) >= READABLE:
        return f"not read as numbers: units differ ({listed([shown(unit) for unit in units[:3]])})"
    odd = filled.filter(_best(filled, forced=True)[1].is_null())
    if not len(odd):
        return ""
    if len(odd) > len(filled) / 2:
        return "contains digits but not numbers"
    share = percent(1 - len(odd) / len(filled))
    others = f"others such as {shown(odd[0], 20)} are not; {flag_of('numeric')} reads it so"
    return f"{share} of the cells are numbers, {others}"


def _best(filled: pl.Series, forced: bool) -> tuple[str, pl.Series]:
    """The plainest form in which the most text cells can be read, and their numbers."""
    readings = [(form, read_numbers(filled, form)) for form in _possible_forms(filled)]
    best = min(readings, key=lambda reading: reading[1].null_count())
    if not best[1].null_count() or not (forced or _share(_looks_numeric(some_of(filled, FEW))) > 0.5):
        return best
    # What is rare may tell how the rest is to be read: all cells are looked at where some show too little.
    for shown_by in [some_of(filled, MANY), filled][: 1 + (len(filled) > MANY)]:
        form = _find_form(shown_by)
        text = form.text if form else ""
        other = text, read_numbers(filled, text)
        if not other[1].null_count():
            break
    return min(best, other, key=lambda reading: reading[1].null_count())


def _read_plain(cells: pl.Series, form: Form) -> pl.Series:
    """Numbers with nothing around them."""
    cells = cells.str.strip_chars()
    if form.decimal == "," or form.thousands:
        well_formed = cells.str.contains(_COMMA_DECIMAL if form.decimal == "," else _COMMA_THOUSANDS)
        between = "." if form.decimal == "," else ","
        cells = cells.str.replace_all(between, "", literal=True).str.replace(form.decimal, ".", literal=True)
        cells = cells.set(~well_formed.fill_null(False), None)
    return cells.cast(pl.Float64, strict=False)


def _possible_forms(filled: pl.Series) -> tuple[str, ...]:
    """How plain numbers may be written; commas separate thousands if all of them can, as in 1,200 and 15,000."""
    with_comma = filled.filter(filled.str.contains(",", literal=True))
    thousands = with_comma.str.contains(_COMMA_THOUSANDS)
    if (with_comma.str.contains(_COMMA_DECIMAL) & ~thousands).any():
        return ("", "comma")
    return ("thousands",) if thousands.any() else ("",)


def _notes(filled: pl.Series, form: Form) -> list[str]:
    """How the numbers are written, where that is worth a word."""
    notes = ["in seconds"] if filled.dtype == pl.Duration else [_in_unit(form.unit).strip()] if form.unit else []
    if form.thousands:
        some = some_of(filled, MANY).str.replace_all(r"[\s\u00a0\u2009\u202f]", "_")
        if some.str.contains(rf"\d[{form.thousands}’]\d{{3}}").any():
            notes.append(f"thousands separated by {_THOUSANDS[form.thousands]}")
    notes += ["decimal comma"] * (form.decimal == ",")
    return notes + ["words such as k or bn multiplied out"] * form.factors


def _doubts(filled: pl.Series, text: str, numbers: pl.Series) -> list[str]:
    """What a person should look at."""
    doubts, form = [], Form.of(text)
    if form.bare:
        n_bare = len(filled) - read_numbers(filled, replace(form, bare=False).text).count()
        doubts += [f"{n_bare:,} cells without {visible(form.unit, 30)} taken as such"] * (n_bare > 0)
    if form.decimal == "" and form.unit:
        doubts.append("points read as thousands separators")
    if text == "thousands" and filled.str.contains(_EITHER_MARK).all():
        first = str(filled.min())
        doubts.append(
            f"{first} taken for {first.replace(',', '')}; write {first.replace(',', '.')} if it is a fraction"
        )
    if filled.dtype == pl.String and not text:
        some = some_of(filled, MANY)
        digits = some.str.contains(rf"^\d{{{_CODE_DIGITS},}}$").all() and some.str.len_chars().n_unique() == 1
        if digits and some.str.starts_with("0").any():
            doubts.append("digits of one length with leading zeros, perhaps a code")
    return doubts + [f"{code} in {n:,} cells may mean missing" for code, n in likely_codes(numbers)]


def _in_unit(unit: str) -> str:
    if unit == "%":
        return " in percent"
    return f" out of {unit[1:].strip()}" if unit.startswith("/") else f" in {visible(unit, 30)}" if unit else ""


def _share(which: pl.Series) -> float:
    return float(which.sum()) / max(1, len(which))


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


# ---------------------------------------------------------------- numbers with something around them

_VERSION = "amount"
_SPACES = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\s]+"
_MINUS = r"[\u2212\u2012\u2013\ufe63\uff0d]"
_APOSTROPHES = r"[\u2019\u02bc\u00b4`]"
_NUMERAL = r"\d[\d.,' ]*\d(?:[eE][+-]?\d{1,3})?|\d+[.,]?(?:[eE][+-]?\d{1,3})?|[.,]\d+"
_BEFORE = r"[A-Za-zžřčłé]{0,4}\.?[$€£¥\u20a0-\u20c0]|[A-Za-zčł]{2,4}\.?"
_AFTER = r"[^\d\s\p{C}()+\-.,:;/<>=~'#*_|&!?\[\]{}@][^()\p{C}]{0,23}|/ ?\d{1,3}"
_CELL = (
    rf"^(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_BEFORE})? ?(?P<inner>[+-])? ?(?P<number>{_NUMERAL}) ?"
    rf"(?P<after>{_AFTER})? ?(?P<trailing>-)?(?P<close>\))?$"
)
_NO_CENTS = r"[.,][-\u2014]+( |$)"  # 12.- is 12.00
# Marks: the decimal one, and the one between thousands ("_": a space). In the order in which they are preferred;
# no decimal mark was seen beside "." between thousands: it would be a comma.
_MARKS = ((".", ""), (".", ","), (".", "_"), (".", "'"), (",", ""), (",", "."), (",", "_"), (",", "'"), ("", "."))
_MAX_WORDS = (
    60  # different words after a number, or in its place, that are looked at: of more, no few mean anything
)


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
    bare: bool = False  # the unit may be left out
    factors: bool = False  # 1.2k and 3M
    plain: bool = False  # nothing may stand around a number

    @property
    def text(self) -> str:
        """The form as text."""
        flags = "bare" * self.bare + "k" * self.factors
        return ";".join((_VERSION, self.decimal, self.thousands, flags, self.unit))

    @staticmethod
    def of(text: str) -> Form:
        """The form that a text stands for."""
        version, *parts = text.split(";", 4)
        if version == _VERSION and len(parts) == 4 and tuple(parts[:2]) in _MARKS:
            return Form(parts[0], parts[1], parts[3], "bare" in parts[2], parts[2].endswith("k"))
        return _PLAIN_FORMS.get(text, _PLAIN_FORMS[""])

    @property
    def needs_unit(self) -> bool:
        """Whether a number alone is not as it should be written."""
        return bool(self.unit) and not self.bare

    @property
    def example(self) -> str:
        """A number so written."""
        thousands = self.thousands.replace("_", " ")
        number = f"1{thousands}234" if thousands and not self.factors else "12"
        number += f"{self.decimal}5" * bool(self.decimal) + "k" * self.factors
        if self.unit and not self.unit[0].isalnum() and _currency(self.unit):
            return f"{self.unit}{number}"
        return f"{number} {self.unit}".rstrip()


# How numbers are written that have nothing around them; these texts stand for it, and no ``Form.text``.
_PLAIN_FORMS = {
    "": Form(plain=True),
    "comma": Form(decimal=",", plain=True),
    "thousands": Form(thousands=",", plain=True),
}


def _looks_numeric(cells: pl.Series) -> pl.Series:
    """Which cells are a number with or without something around it."""
    return _plain(cells).str.contains(_CELL).fill_null(False)


def _find_form(filled: pl.Series) -> Form | None:
    """The form in which most cells can be read, None if no cell holds a number."""
    parts = _split(filled)
    counts, factors = Counter[str](), False
    for before, after, n in _pairs(parts):
        if (meant := _around(before, after)) is not None:
            counts[meant.name] += n
            factors = factors or meant.factor != 1
    if not counts:
        return None
    unit = max((name for name in counts if name), key=lambda name: counts[name], default="")
    unit = unit if counts[unit] >= counts[""] else ""
    form = Form(unit=unit, bare="" in counts and unit != "", factors=factors)
    meant_so, _ = _as_said(parts, form)
    decimal, thousands = _marks(parts["number"].filter(meant_so), bool(_currency(unit)))
    return replace(form, decimal=decimal, thousands=thousands)


def _read_amounts(cells: pl.Series, form: Form) -> pl.Series:
    """Numbers, null where a cell is written otherwise; nothing needs no unit."""
    parts = _split(cells)
    number = parts["number"]
    number = number.set(~number.str.contains(_pattern(form.decimal, form.thousands)).fill_null(False), None)
    if form.thousands:
        number = number.str.replace_all(form.thousands.replace("_", " "), "", literal=True)
    value = number.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    as_said, factor = _as_said(parts, form)
    value = value * factor * (1 - 2 * parts["minus"].cast(pl.Int8))
    nothing = (value == 0) & (parts["before"] == "") & (parts["after"] == "")
    return value.set(~(as_said | nothing).fill_null(False), None).alias(cells.name)


def _plain(cells: pl.Series) -> pl.Series:
    """Text with one kind of space, minus and apostrophe."""
    cells = cells.str.replace_all(_SPACES, " ").str.strip_chars()
    cells = cells.str.replace_all(_MINUS, "-").str.replace_all(_APOSTROPHES, "'")
    return cells.str.replace(_NO_CENTS, "$1")


def _split(cells: pl.Series) -> pl.DataFrame:
    """Number, what stands before and after it, and whether it is negative; a null number where there is none."""
    fields = _plain(cells).str.extract_groups(_CELL).struct.unnest()
    signs = [fields[name].fill_null("") for name in ("sign", "inner", "trailing")]
    parenthesised = fields["open"].is_not_null()
    closed = parenthesised == fields["close"].is_not_null()
    once = (signs[0] + signs[1] + signs[2]).str.len_chars() <= 1 - parenthesised.cast(pl.Int8)
    minus = parenthesised | (signs[0] == "-") | (signs[1] == "-") | (signs[2] == "-")
    number = fields["number"].set(~(closed & once), None)
    words = {name: fields[name].fill_null("").str.strip_chars() for name in ("before", "after")}
    return pl.DataFrame({"number": number, **words, "minus": minus})


def _pairs(parts: pl.DataFrame) -> list[tuple[str, str, int]]:
    """The words that stand around numbers, and how often, the most frequent first."""
    counts = parts.filter(parts["number"].is_not_null()).group_by("before", "after").len()
    counts = counts.sort("len", "before", "after", descending=[True, False, False])
    return list(counts.head(_MAX_WORDS).iter_rows())


def _as_said(parts: pl.DataFrame, form: Form) -> tuple[pl.Series, pl.Series]:
    """Where there is a number with the unit of the form, or without any if that is allowed; and its factor."""
    pairs = parts.filter(parts["number"].is_not_null()).select("before", "after").unique().rows()
    meanings = [(before, after, _around(before, after)) for before, after in pairs]
    meant = [(before, after, unit.name, unit.factor) for before, after, unit in meanings if unit is not None]
    schema = {"before": pl.String, "after": pl.String, "unit": pl.String, "factor": pl.Float64}
    known = pl.DataFrame(meant, schema=schema, orient="row")
    found = parts.select("before", "after").join(known, on=["before", "after"], how="left", maintain_order="left")
    unit_fits = found["unit"].is_in([form.unit, *([""] if form.bare else [])])
    return (parts["number"].is_not_null() & unit_fits).fill_null(False), found["factor"]


def _marks(numbers: pl.Series, is_money: bool) -> tuple[str, str]:
    """The marks with which most numbers can be read; in doubt commas, in money points, part thousands."""
    read = {marks: int(numbers.str.contains(_pattern(*marks)).sum()) for marks in _MARKS}
    good = [marks for marks in _MARKS if read[marks] == max(read.values())]
    decimal, thousands = good[0]
    has_comma, has_point = (bool(numbers.str.contains(mark, literal=True).any()) for mark in ",.")
    if has_point and not has_comma and (",", ".") in good and (is_money or decimal == ","):
        decimal, thousands = "", "."
    elif not thousands and (has_comma or has_point):
        thousands = "," if decimal == "." else "."  # which can be mistaken for nothing else now
    return decimal, thousands


def _pattern(decimal: str, thousands: str) -> str:
    """Numbers with these marks; in 1,23,456 there are two digits between them."""
    whole = r"\d+"
    if thousands:
        mark = {".": r"\.", "_": " "}.get(thousands, thousands)
        indian = r"|\d{1,2}(?:,\d{2})+,\d{3}" if thousands == "," else ""
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{indian})"
    return rf"^{whole}?(?:{'[.]' if decimal == '.' else ','}\d*)?(?:[eE][+-]?\d+)?$"


# ---------------------------------------------------------------- words around a number

# Words that multiply, and letters that do beside a currency, and are metres, bytes or tonnes elsewhere.
_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "thsd", "tsd"), 1e3),
    **dict.fromkeys(("M", "MM", "mn", "Mn", "mln", "mio", "million"), 1e6),
    **dict.fromkeys(("B", "bn", "bln", "billion", "mrd", "milliard"), 1e9),
    **dict.fromkeys(("tn", "trn", "trillion"), 1e12),
}
_OF_MONEY = {"m": 1e6, "b": 1e9, "t": 1e12, "T": 1e12}

_CODES = (
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW KZT LKR "
    "MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RMB RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR "
    "Rs Fr SFr kr Kč zł Ft lei"
)
_CURRENCY_WORDS = frozenset(_CODES.split())
_CURRENCY_NAMES = {"euro": "€", "dollar": "$", "pound": "£", "yen": "¥", "rupee": "₹"}
_SAME_CURRENCY = {"EUR": "€", "GBP": "£", "US$": "USD", "RS": "₹", "INR": "₹", "JPY": "¥"}
_SAME_CURRENCY |= {"FR": "CHF", "SFR": "CHF"}
_PERCENT = ("%", "percent", "per cent", "pct", "prozent", "p.c")
# Units for which upper and lower case are one; MW and mW are two.
_CASE_IS_NOTHING = re.compile(r"\w*[^\W\d_]{3}|[^\W\d_mM][^\W\d_]")
_SYMBOL = re.compile(r"[A-Z]{0,3}[$€£¥₠-⃀]")
_FACTOR_AND_CURRENCY = re.compile(r"([A-Za-z]{1,9})\.?\s*(\S{1,8})")


class _Unit(NamedTuple):
    """What a number is multiplied by and counted in."""

    name: str = ""  # empty: nothing was written
    factor: float = 1.0


def _currency(word: str) -> str:
    """One name for a currency, empty if the word is none.

    >>> _currency("EUR"), _currency("€"), _currency("US$"), _currency("Room")
    ('€', '€', 'USD', '')
    """
    word = word.strip().rstrip(".")
    if word in ("Rs", "Fr", "SFr") or _SYMBOL.fullmatch(word) or word.upper() in _CURRENCY_WORDS:
        return _SAME_CURRENCY.get(word.upper(), word.upper())
    if word in _CURRENCY_WORDS:
        return word
    return _CURRENCY_NAMES.get(_singular(word.lower()), "")


def _around(before: str, after: str) -> _Unit | None:
    """What the words around a number mean, None if they mean nothing, as in "Room 12" or "$5 EUR".

    >>> _around("$", "bn"), _around("", "k€")
    (_Unit(name='$', factor=1000000000.0), _Unit(name='€', factor=1000.0))
    >>> _around("", "days"), _around("Room", "")
    (_Unit(name='day', factor=1.0), None)
    """
    first = _currency(before)
    if before.strip() and not first:
        return None
    last = _Unit("", _OF_MONEY.get(after.strip().rstrip("."), 0.0)) if first else _Unit("", 0.0)
    last = last if last.factor else _after(after)
    return None if first and last.name not in ("", first) else _Unit(first or last.name, last.factor)


def _after(word: str) -> _Unit:
    """What a word after a number means: a factor, a currency, both, or a unit; 1 Day and 2 days are one unit."""
    word = word.strip()
    if not word:
        return _Unit()
    if factor := _factor(word):
        return _Unit("", factor)
    if name := _currency(word):
        return _Unit(name)
    both = _FACTOR_AND_CURRENCY.fullmatch(word)
    if both and (name := _currency(both[2])) and (factor := _factor(both[1]) or _OF_MONEY.get(both[1], 0.0)):
        return _Unit(name, factor)
    word = " ".join(word.rstrip(".").split())
    if word.lower() in _PERCENT:
        return _Unit("%")
    return _Unit(_singular(word.lower()) if _CASE_IS_NOTHING.match(word) else word)


def _factor(word: str) -> float:
    """What a word multiplies by, 0 if it does not."""
    word = word.rstrip(".")
    return _FACTORS.get(word, 0.0) or (_FACTORS.get(_singular(word.lower()), 0.0) if len(word) > 1 else 0.0)


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 2 and word.endswith("s") and word[-2:] != "ss" else word
