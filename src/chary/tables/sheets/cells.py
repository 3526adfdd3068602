"""The cells of a sheet that came back, and the table's, in; out whether they are the same, or which row moved.

A spreadsheet writes cells as it shows them: rounded, with other signs for decimals and thousands, dates in another
order, some texts turned into dates. Such cells are the same. A cell that is another is no accident: some columns
were sorted without the others, or rows pasted, and the answer in that row may belong to another.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from chary._words import shown
from chary.tables.errors import TableError
from chary.tables.formulas import as_typed
from chary.tables.spellings import folded

_LONG = 250  # characters from which on a text may have been cut
_EXCEL_DAY = datetime.date(1899, 12, 30)
_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan ene janv", "feb fev fév févr", "mar mär mrz mars", "apr abr avr", "may mai mayo", "jun juin junio",
         "jul juil julio", "aug ago août", "sep sept", "oct okt", "nov", "dec dez dic déc"), 1)
    for name in names.split()
}  # fmt: skip
_DATE_PARTS = re.compile(r"\d+|[^\W\d_]+")
_DATE_SHAPE = re.compile(r"(?:\d{1,8}|[^\W\d_]{3,12}\.?)(?:[-/., ]{0,2}(?:\d{1,4}|[^\W\d_]{3,12}\.?)){0,3}")
_TIME = re.compile(
    r"(?:^|[t ])(\d{1,2})[:h](\d{2})(?::(\d{2})(?:\.\d+)?)? ?([ap])?\.?m?\.?(?: ?(?:z|utc|[+-]\d{2}:?\d{2}))?$"
)
# By the sign for decimals: a sign, whole digits in groups of three or not, decimals, an exponent.
_NUMERALS = {
    mark: re.compile(
        rf"(?=[-+]?[{mark}]?\d)([-+]?)(\d{{0,40}}|\d{{1,3}}(?:[{other}' _]\d{{3}}){{1,12}})"
        rf"(?:[{mark}](\d{{0,40}}))?(?:e([-+]?\d{{1,3}}))?"
    )
    for mark, other in ((".", ","), (",", "."))
}
_TRUTH = {
    **dict.fromkeys(("true", "wahr", "vrai", "verdadero", "1"), "true"),
    **dict.fromkeys(("false", "falsch", "faux", "falso", "0"), "false"),
}


class _Numeral(NamedTuple):
    value: float
    unit: float  # of the last digit that is shown


def refuse_moved(
    sheet: pl.DataFrame, own: pl.DataFrame, numbers: Sequence[int], lines: Sequence[int], name: str
) -> list[str]:
    """Refuse a sheet in which a row holds cells of another; returns what there is to note.

    Parameters
    ----------
    sheet, own : frames of text, k rows each
        The sheet as it came back, and the same rows of the table, found by their number.
    numbers, lines : k numbers each
        Which row of the table, and of the sheet, each is.
    name : str
        Of the sheet.
    """
    compared = [column for column in own.columns if column in sheet.columns]
    if own.columns and not compared:
        return [
            f"{name} holds no column of the table beside the answers, so nothing shows whether rows were mixed up."
        ]
    rewritten = []
    for column in compared:
        found, wanted = _texts_of(sheet[column]), _texts_of(own[column])
        there = [i for i, cell in enumerate(found) if not _is_nothing(cell)]
        differing = [i for i in there if not same_cell(found[i], wanted[i])]
        if not differing:
            continue
        mostly_same = 2 * len(differing) < len(there)
        moved = (
            differing
            if mostly_same
            else [i for i in differing if _is_elsewhere(found[i], numbers[i], wanted, numbers)]
        )
        if moved:
            i = moved[0]
            raise TableError(
                f"Row {lines[i]} of {name} says that it is row {numbers[i]:,} of the table, but has "
                f"{shown(found[i], 30)} in column {shown(column)} where that has {shown(wanted[i], 30)}; if some "
                "columns were sorted without the others, undo it, and otherwise put the cell back."
            )
        rewritten.append(column)
    if rewritten:
        return [f"Column {shown(rewritten[0])} of {name} was rewritten and is not compared with the table's."]
    return []


def same_cell(found: str, wanted: str) -> bool:
    """Whether a cell of the table is what a spreadsheet may have made this of.

    >>> same_cell("3,3 ", "3.25"), same_cell("05.01.24", "2024-01-05"), same_cell("1-Mar", "MARCH1")
    (True, True, True)
    >>> same_cell("4", "3"), same_cell("Ulm", "Bonn")
    (False, False)
    """
    a, b = _plain(found), _plain(wanted)
    if a == b or _is_cut(a, b) or _is_garbled(a, b):
        return True
    if _TRUTH.get(a.removesuffix(".0")) == _TRUTH.get(b.removesuffix(".0"), "neither"):
        return True
    return _same_number(a, b) or _same_moment(a, b)


def _texts_of(cells: pl.Series) -> list[str]:
    return cells.cast(pl.String).fill_null("").to_list()


def _is_nothing(cell: str) -> bool:
    """Empty, too narrow to be shown, or the error of a formula."""
    text = cell.strip()
    return not text.strip("#") or bool(re.fullmatch(r"#(?:[A-Z/0]+[!?]?)", text))


def _is_elsewhere(cell: str, number: int, wanted: Sequence[str], numbers: Sequence[int]) -> bool:
    """Whether it is the cell of another row that was drawn."""
    others = {text for text, other in zip(wanted, numbers, strict=True) if other != number}
    return any(same_cell(cell, other) for other in others)


@lru_cache(maxsize=4096)
def _plain(cell: str) -> str:
    """Without case, white space around and between, and the apostrophe that keeps a formula from running."""
    text = as_typed(cell.strip("\ufeff\u00a0 \t\r\n\x00"))
    return folded(as_typed(text).removeprefix("'").replace("\u00a0", " ").replace("\u202f", " "))


def _is_cut(a: str, b: str) -> bool:
    return len(a) >= _LONG and b.startswith(a)


def _is_garbled(a: str, b: str) -> bool:
    """Whether letters were lost in another encoding: a question mark for each, or two odd ones."""
    if b.isascii():
        return False
    if "?" in a or "\ufffd" in a:
        return len(a) == len(b) and all(
            x == y or (x in "?\ufffd" and not y.isascii()) for x, y in zip(a, b, strict=True)
        )
    for encoding in ("cp1252", "mac_roman"):
        try:
            if folded(b.encode().decode(encoding, "replace")).replace("\ufffd", "") == a.replace("\ufffd", ""):
                return True
        except UnicodeError:  # pragma: no cover - these decode anything
            continue
    return False


# ---------------------------------------------------------------- numbers


def _same_number(a: str, b: str) -> bool:
    return any(
        abs(x.value - y.value) < max(0.999999 * x.unit, 1e-14 * abs(y.value))
        for x in _numerals(a)
        for y in _numerals(b)
    )


@lru_cache(maxsize=4096)
def _numerals(text: str) -> tuple[_Numeral, ...]:
    """The numbers that a text can mean: a comma or a dot may be the sign for decimals or for thousands."""
    sign = -1.0 if text.startswith("(") and text.endswith(")") else 1.0
    bare = text.strip("()").strip("€$£¥ ")
    scale = 0.01 if bare.endswith("%") else 1.0
    found = [_NUMERALS[mark].fullmatch(bare.strip("% ")) for mark in _NUMERALS]
    return tuple(dict.fromkeys(_numeral(match, sign * scale) for match in found if match is not None))


def _numeral(match: re.Match[str], scale: float) -> _Numeral:
    minus, whole, fraction, exponent = match.groups()
    digits = "".join(filter(str.isdecimal, whole))
    power = int(exponent or 0)
    value = float(f"{minus}{digits or 0}.{fraction or 0}e{power}")
    return _Numeral(scale * value, abs(scale) * 10.0 ** (power - len(fraction or "")))


# ---------------------------------------------------------------- dates


def _same_moment(a: str, b: str) -> bool:
    """Whether both are made of the same day, month and year, in any order; one may lack the year or the time."""
    (parts, minute), (others, other_minute) = _moment(a), _moment(b)
    if _is_serial(a, b):
        return True
    if _shape(a) == _shape(b) or (_numerals(a) and _numerals(b)):
        return False  # written alike, so it would be the same text
    if len(parts) < 2 and len(others) < 2:
        return bool(minute is not None and minute == other_minute and parts == others)
    if None not in (minute, other_minute) and minute != other_minute:
        return False
    few, many = sorted((parts, others), key=len)
    return len(few) >= 2 and len(many) - len(few) <= 1 and _contains(many, few)


def _shape(text: str) -> str:
    return re.sub(r"\d", "0", text)


def _contains(many: Sequence[int], few: Sequence[int]) -> bool:
    left = list(many)
    for part in few:
        if part not in left:
            return False
        left.remove(part)
    return True


@lru_cache(maxsize=4096)
def _moment(text: str) -> tuple[tuple[int, ...], int | None]:
    """The numbers of which a date is made, those of years without the century; and the minute of the day."""
    time = _TIME.search(text)
    minute = None
    if time is not None:
        hour = int(time[1]) % 12 + 12 * (time[4] == "p") if time[4] else int(time[1])
        minute, text = 60 * hour + int(time[2]), text[: time.start()].strip()
    if not _DATE_SHAPE.fullmatch(text):
        return (), minute
    parts = [_part(word) for word in _DATE_PARTS.findall(text)]
    return (() if None in parts else tuple(part for part in parts if part is not None)), minute


def _part(word: str) -> int | None:
    """A number without its century, or the number of a month; None: another word."""
    if word.isdecimal():
        return int(word) % 100
    return _MONTHS.get(word[:4], _MONTHS.get(word[:3]))


def _is_serial(a: str, b: str) -> bool:
    """Whether a number counts the days since 1899, as Excel keeps dates."""
    try:
        days, day = float(a.replace(",", ".")), datetime.date.fromisoformat(b[:10])
    except ValueError:
        return False
    return int(days) == (day - _EXCEL_DAY).days
