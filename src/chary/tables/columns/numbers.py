"""Columns of numbers, with whatever is written around them; and columns of yes and no."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import percent, shown, visible
from chary.options import flag_of
from chary.tables.cells import FEW, MANY, READABLE, Column, Kind, likely_codes, nulls, some_of
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
        n_odd, readable = len(filled) - len(numbers), len(numbers) >= READABLE * len(filled)
        if not len(numbers) or (is_text and not forced and not readable):
            return None
        if not forced and not n_odd and (identifier := find_counting(filled.name, numbers)):
            return identifier
        written = Form.of(form)
        notes, doubts = _notes(filled, written), _doubts(filled, form, numbers)
        notes += [f"{n_odd:,} cells are not numbers and count as missing"] * (n_odd > 0)
        is_measure = written.unit not in ("", "%") and not _is_money(written.unit)
        doubtful = bool(doubts) or is_measure or not readable
        words = tuple(odd.filter(odd.str.len_chars() <= 40).unique().sort().head(_MAX_WORDS)) if is_text else ()
        return Column(
            filled.name, self.name, ", ".join(notes + doubts), form, words, missing=n_odd > 0, doubtful=doubtful
        )

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        return read_numbers(cells, column.form).to_numpy()[:, None]

    def unread(self, without: pl.Series, column: Column) -> pl.Series:
        """Cells that are no number, or one without its unit; words that the labelled table had, too, are none."""
        if without.dtype == pl.String:
            return without.filter(~without.is_in(column.categories))
        are_numbers = without.dtype.is_numeric() and not Form.of(column.form).needs_unit
        return without.clear() if are_numbers else without

    def whole(self, column: Column) -> bool:
        return column.form in _PLAIN_FORMS or Form.of(column.form).text == column.form

    def expected(self, column: Column) -> str:
        form = Form.of(column.form)
        return f"{' in '.join(filter(None, ['numbers', form.unit]))} such as {form.example}"


def read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    written = Form.of(form)
    if cells.dtype == pl.String:
        numbers = _read_amounts(cells, written) if form else cells.str.strip_chars().cast(pl.Float64, strict=False)
    elif written.needs_unit or not (cells.dtype.is_numeric() or cells.dtype in (pl.Boolean, pl.Duration, pl.Time)):
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
    if not plain.null_count() or not (forced or _looks_numeric(sample).sum() > len(sample) / 2):
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
    notes = ["in seconds"] if filled.dtype == pl.Duration else [f"in {visible(form.unit, 30)}"] * bool(form.unit)
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
        doubts.append(f"cells without {visible(form.unit, 30)} taken as such")
    if form.decimal == "" and form.unit:
        doubts.append("points read as thousands separators")
    if (form.decimal, form.thousands, form.unit) == (".", ",", "") and filled.str.contains(_EITHER_MARK).all():
        first = str(filled.min())
        doubts.append(
            f"{first} taken for {first.replace(',', '')}; write {first.replace(',', '.')} if it is a fraction"
        )
    return doubts + [f"{code} in {n:,} cells may mean missing" for code, n in likely_codes(numbers)]


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

    def whole(self, column: Column) -> bool:
        """With the one word that is read as 1, of a pair that is known."""
        return not column.form and len(column.categories) == 1 and column.categories[0] in _OPPOSITE

    def expected(self, column: Column) -> str:
        return f"{'/'.join(column.categories)} or its opposite"


# ---------------------------------------------------------------- numbers with something around them

_VERSION = "amount"
_SPACES = r"[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\s]+"
_MINUS = r"[\u2212\u2012\u2013\ufe63\uff0d]"
_APOSTROPHES = r"[\u2019\u02bc\u00b4`]"
_NUMERAL = r"\d[\d.,' ]*\d(?:[eE][+-]?\d{1,3})?|\d+[.,]?(?:[eE][+-]?\d{1,3})?|[.,]\d+"
_CURRENCY = (
    r"[A-Z]{0,3}[$€£¥\u20a0-\u20c0]|(?:AED|ARS|AUD|BDT|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|"
    r"ILS|INR|ISK|JPY|KES|KRW|KZT|LKR|MAD|MXN|MYR|NGN|NOK|NZD|PEN|PHP|PKR|PLN|RMB|RON|RSD|RUB|SAR|SEK|SGD|THB|TRY|"
    r"TWD|UAH|USD|VND|ZAR|Rs|Fr|SFr|kr|Kč|zł|Ft|lei)\.?"
)
_AFTER = r"[^\d\s\p{C}()+\-.,:;/<>=~'#*_|&!?\[\]{}@][^()\p{C}]{0,23}|/ ?\d{1,3}"
_CELL = (
    rf"^(?P<open>\()? ?(?P<sign>[+-])? ?(?P<before>{_CURRENCY})? ?(?P<inner>[+-])? ?(?P<number>{_NUMERAL}) ?"
    rf"(?P<after>{_AFTER})? ?(?P<trailing>-)?(?P<close>\))?$"
)
_NO_CENTS = r"[.,][-\u2014]+( |$)"  # 12.- is 12.00
# Marks: the decimal one, and the one between thousands ("_": a space). In the order in which they are preferred;
# no decimal mark was seen beside "." between thousands: it would be a comma.
_MARKS = ((".", ""), (".", ","), (".", "_"), (".", "'"), (",", ""), (",", "."), (",", "_"), (",", "'"), ("", "."))
_MAX_WORDS = 60  # different ones around a number, or in its place, that are looked at
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
    bare: bool = False  # the unit may be left out
    factors: bool = False  # 1.2k and 3M

    @property
    def text(self) -> str:
        """The form as text."""
        flags = "bare" * self.bare + "k" * self.factors
        return ";".join((_VERSION, self.decimal, self.thousands, flags, self.unit))

    @staticmethod
    def of(text: str) -> Form:
        """The form that a text stands for; some model files have other words for two of them."""
        version, *parts = text.split(";", 4)
        if version == _VERSION and len(parts) == 4 and tuple(parts[:2]) in _MARKS:
            return Form(parts[0], parts[1], parts[3], "bare" in parts[2], parts[2].endswith("k"))
        return _PLAIN_FORMS.get(text, Form())

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
        return f"{number} {self.unit}".rstrip()


# Forms without their marks: of plain numbers, and two that some model files have words for.
_PLAIN_FORMS = {"": Form(), "comma": Form(",", "."), "thousands": Form(".", ",")}


def _looks_numeric(cells: pl.Series) -> pl.Series:
    """Which cells are a number with or without something around it."""
    return _plain(cells).str.contains(_CELL).fill_null(False)


def _find_form(filled: pl.Series) -> Form | None:
    """The form in which most cells can be read, None if no cell holds a number."""
    parts = _split(filled)
    words = _words_around(parts).head(_MAX_WORDS)
    if not len(words):
        return None
    counts = Counter[str]()
    for unit, n in words.select("unit", "n").iter_rows():
        counts[unit] += n
    unit = max((name for name in counts if name), key=lambda name: counts[name], default="")
    unit = unit if counts[unit] >= counts[""] else ""
    form = Form(unit=unit, bare="" in counts and unit != "", factors=bool((words["factor"] != 1).any()))
    decimal, thousands = _marks(parts["number"].filter(_as_said(parts, form)[0]), _is_money(unit))
    return replace(form, decimal=decimal, thousands=thousands)


def _read_amounts(cells: pl.Series, form: Form) -> pl.Series:
    """Numbers, null where a cell is written otherwise; nothing needs no unit."""
    parts = _split(cells)
    number = parts["number"]
    number = number.set(~number.str.contains(_pattern(form.decimal, form.thousands)).fill_null(False), None)
    between = form.thousands.replace("_", " ") or ("." if form.decimal == "," else "")
    number = number.str.replace_all(between, "", literal=True) if between else number
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


def _words_around(parts: pl.DataFrame) -> pl.DataFrame:
    """The words before and after numbers, the most frequent first, and the unit and the factor that they mean."""
    words = parts.filter(parts["number"].is_not_null()).group_by("before", "after").len("n")
    words = words.sort("n", "before", "after", descending=[True, False, False])
    meant = [_meaning(before, after) for before, after, _ in words.iter_rows()]
    schema = {"unit": pl.String, "factor": pl.Float64}
    return words.hstack(pl.DataFrame(meant, schema=schema, orient="row"))


def _meaning(before: str, after: str) -> tuple[str, float]:
    """The unit that words around a number mean, and what they multiply it by; 1 day and 2 Days are one unit.

    Case and plural are passed over in words alone: MB/s is not Mb/s, and MWh is not mWh.

    >>> _meaning("$", "bn"), _meaning("", "Tsd. €"), _meaning("", "Millions"), _meaning("", "Days")
    (('$', 1000000000.0), ('€', 1000.0), ('', 1000000.0), ('day', 1.0))
    >>> _meaning("", "MW"), _meaning("", "MB/s")
    (('MW', 1.0), ('MB/s', 1.0))
    """
    words = re.sub(r"([$€£¥\u20a0-\u20c0])", r" \1", after.replace(".", "")).split()
    factors = _FACTORS | _FACTORS_OF_MONEY if before else _FACTORS
    factor = factors.get(words[0] if len(words[0]) < 3 else _singular(words[0]), 1.0) if words else 1.0
    words = words[factor != 1 :]
    unit = " ".join([before.rstrip(".")] * bool(before) + words)
    is_word = re.fullmatch(r"[^\W\d_]{3,}", unit) is not None and (len(unit) > 3 or unit[1:].islower())
    return _singular(unit) if is_word else unit, factor


def _singular(word: str) -> str:
    word = word.lower()
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _is_money(unit: str) -> bool:
    return re.fullmatch(_CURRENCY, unit) is not None


def _as_said(parts: pl.DataFrame, form: Form) -> tuple[pl.Series, pl.Series]:
    """Where there is a number with the unit of the form, or without any if that is allowed; and its factor."""
    keys = ["before", "after"]
    found = parts.select(keys).join(_words_around(parts), on=keys, how="left", maintain_order="left")
    unit_fits = found["unit"].is_in([form.unit, *([""] if form.bare else [])])
    return (parts["number"].is_not_null() & unit_fits).fill_null(False), found["factor"]


def _marks(numbers: pl.Series, is_money: bool) -> tuple[str, str]:
    """The marks with which most numbers can be read; in doubt commas, in money points, part thousands."""
    read = {marks: int(numbers.str.contains(_pattern(*marks)).sum()) for marks in _MARKS}
    good = [marks for marks in _MARKS if read[marks] == max(read.values())]
    decimal, thousands = good[0]
    has_comma, has_point = (bool(numbers.str.contains(mark, literal=True).any()) for mark in ",.")
    if has_point and not has_comma and (",", ".") in good and (is_money or decimal == ","):
        return "", "."
    if not thousands and has_point:
        thousands = "," if decimal == "." else "."  # which can be mistaken for nothing else now
    return decimal, thousands


def _pattern(decimal: str, thousands: str) -> str:
    """Numbers with these marks; in 1,23,456 there are two digits between them.

    Where no mark was seen beside a decimal comma, 1.234,5 is read, and 1.234 is not: it may be a fraction.
    """
    whole, power = r"\d+", r"(?:[eE][+-]?\d+)?$"
    if thousands:
        mark = {".": r"\.", "_": " "}.get(thousands, thousands)
        indian = r"|\d{1,2}(?:,\d{2})+,\d{3}" if thousands == "," else ""
        whole = rf"(?:\d+|[1-9]\d{{0,2}}(?:{mark}\d{{3}})+{indian})"
    pattern = rf"^{whole}?(?:{'[.]' if decimal == '.' else ','}\d*)?{power}"
    sure = rf"^[1-9]\d{{0,2}}(?:\.\d{{3}})+,\d*{power}"
    return f"{pattern}|{sure}" if (decimal, thousands) == (",", "") else pattern
