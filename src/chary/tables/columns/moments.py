"""Text, numbers or times in; the day and the hour that they mean, read in one form, out."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

_TYPES = (pl.Date, pl.Datetime)
_SPACES = r"[\s\u00a0\u202f]+"
_TIME = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d{1,9})?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_ZONE = r"(?: ?(?P<zone>[Zz]|[A-Z]{3,5}|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
_LATER = rf"(?:(?:T| ?, ?| at | )(?:{_TIME}{_ZONE}))?$"
_WORD = r"(?P<m>\p{L}{3,10})\.?"
_DAY_OF_WEEK = r"^(?:\p{L}{2,10}\.?,? )?"
_NTH = r"(?:st|nd|rd|th|\.)?"
# Of each order, a pattern with the groups y, m and d, and an example.
_ORDERS = {
    "ymd": (rf"^(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_LATER}", "2024-01-31"),
    "dmy": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{4}}){_LATER}", "31.01.2024"),
    "mdy": (rf"^(?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})[-/.](?P<y>\d{{4}}){_LATER}", "01/31/2024"),
    "dby": (
        rf"{_DAY_OF_WEEK}(?P<d>\d{{1,2}}){_NTH}[-/ ]?(?:of )?{_WORD},?[-/ ]?'?(?P<y>\d{{4}}|\d{{2}}){_LATER}",
        "31 Jan 2024",
    ),
    "bdy": (
        rf"{_DAY_OF_WEEK}{_WORD}[-/ ]?(?P<d>\d{{1,2}}){_NTH}(?:, ?|[-/ ])(?P<y>\d{{4}}){_LATER}",
        "Jan 31, 2024",
    ),
    "compact": (
        r"^(?P<y>(?:19|20)\d{2})(?P<m>[01]\d)(?P<d>[0-3]\d)"
        r"(?:[T ]?(?P<H>\d{2})(?P<M>\d{2})(?P<S>\d{2})?(?P<half>[#])?(?P<zone>Z|[+-]\d{4})?)?$",
        "20240131",
    ),
    "ctime": (
        rf"^\p{{L}}{{2,4}},? {_WORD} (?P<d>\d{{1,2}}) {_TIME}{_ZONE} (?P<y>\d{{4}})$",
        "Wed Jan 31 10:30:00 +0000 2024",
    ),
    "ymd2": (rf"^(?P<y>\d{{2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_LATER}", "24-01-31"),
    "dmy2": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{2}}){_LATER}", "31.01.24"),
    "mdy2": (rf"^(?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})[-/.](?P<y>\d{{2}}){_LATER}", "01/31/24"),
}
ORDERS = tuple(_ORDERS)
TWO_DIGITS = ("ymd2", "dmy2", "mdy2")
EPOCHS = {"epoch-s": 1.0, "epoch-ms": 1e3, "epoch-us": 1e6, "epoch-ns": 1e9}  # what a second is counted in
# First letters of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
_MONTHS = {
    1: "jan ene gen", 2: "feb fév fev", 3: "mar mär mrz maa", 4: "apr avr abr", 5: "may mai mag mei",
    6: "jun giu juin", 7: "jul lug juil", 8: "aug aoû aou ago", 9: "sep set", 10: "oct okt ott out",
    11: "nov", 12: "dec dez déc dic",
}  # fmt: skip
_MONTH_OF = {word: month for month, words in _MONTHS.items() for word in words.split()}
# Years of two digits: from here on they are of the last century, as POSIX has it.
_PIVOT = 69


class Moments(NamedTuple):
    """Days, null where there is none; hours of the day, null where no time is said; whether a zone is."""

    days: pl.Series
    hours: pl.Series
    zoned: pl.Series


def read_moments(cells: pl.Series, order: str) -> Moments:
    """Moments as they are written, or as their type says; the offset of a zone is not added."""
    if order in EPOCHS:
        return _since_1970(cells, EPOCHS[order])
    if cells.dtype in _TYPES:
        return _typed(cells)
    if order == "compact" and cells.dtype.is_numeric():
        cells = cells.cast(pl.Int64, strict=False).cast(pl.String)
    if cells.dtype != pl.String or order not in _ORDERS:
        return _typed(pl.Series(cells.name, [None] * len(cells), dtype=pl.Date))
    cells = cells.str.strip_chars().str.replace_all(_SPACES, " ")
    fields = cells.str.extract_groups(_ORDERS[order][0]).struct.unnest()
    return Moments(_days(fields), _hours(fields), fields["zone"].is_not_null())


def may_be(cells: pl.Series, order: str) -> pl.Series:
    """Which cells look as if they were written in an order."""
    return cells.str.replace_all(_SPACES, " ").str.contains(_ORDERS[order][0])


def example(order: str) -> str:
    """A day written in an order.

    >>> example("dmy")
    '31.01.2024'
    """
    return "1706695800" if order in EPOCHS else _ORDERS.get(order, _ORDERS["ymd"])[1]


def clock_hours(cells: pl.Series) -> pl.Series:
    """Hours of the day of cells such as 12:30 or 2:30 pm, null where there is none."""
    if cells.dtype == pl.Time:
        return cells.cast(pl.Int64).cast(pl.Float64) / 3.6e12
    if cells.dtype != pl.String:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.Float64)
    cells = cells.str.strip_chars().str.replace_all(_SPACES, " ")
    return _hours(cells.str.extract_groups(rf"^{_TIME}{_ZONE}$").struct.unnest())


def _days(fields: pl.DataFrame) -> pl.Series:
    year, month = fields["y"], fields["m"]
    if (year.str.len_chars() == 2).any():
        number = year.cast(pl.Int32, strict=False)
        number = number + 1900 + 100 * (number < _PIVOT).cast(pl.Int32)
        year = number.cast(pl.String).zip_with((year.str.len_chars() == 2).fill_null(False), year)
    if month.str.contains(r"\p{L}").any():
        word = month.str.to_lowercase()
        three = word.str.slice(0, 3)
        letters = word.str.slice(0, 4).zip_with((three == "jui").fill_null(False), three)
        month = letters.replace_strict(_MONTH_OF, default=None, return_dtype=pl.Int32).cast(pl.String)
    return (year + "-" + month + "-" + fields["d"]).str.to_date("%Y-%m-%d", strict=False)


def _hours(fields: pl.DataFrame) -> pl.Series:
    """Hours of a day, with minutes and seconds as their fractions; null if there are more than a day has."""
    hour, minute, second = (fields[part].cast(pl.Int32, strict=False) for part in "HMS")
    second = second.fill_null(0)
    half = fields["half"].str.to_lowercase()
    good = (hour < 24) & (minute < 60) & (second < 61) & (half.is_null() | hour.is_between(1, 12))
    hour = hour.zip_with(half.is_null(), hour % 12 + 12 * (half == "p").cast(pl.Int32))
    return (hour + minute / 60 + second / 3600).set(~good.fill_null(False), None)


def _typed(cells: pl.Series) -> Moments:
    """Of dates and times as such; the hour is that of their zone."""
    days = cells.cast(pl.Date, strict=False)
    hours = pl.Series(cells.name, [None] * len(cells), dtype=pl.Float64)
    zoned = False
    if isinstance(cells.dtype, pl.Datetime):
        zoned = cells.dtype.time_zone is not None
        local = cells.dt.replace_time_zone(None)
        days = local.cast(pl.Date)
        hours = (local.dt.hour() + local.dt.minute() / 60 + local.dt.second() / 3600).cast(pl.Float64)
    return Moments(days, hours, pl.Series([zoned]).new_from_index(0, len(cells)))


def _since_1970(cells: pl.Series, per_second: float) -> Moments:
    if not (cells.dtype.is_numeric() or cells.dtype == pl.String):
        return _typed(pl.Series(cells.name, [None] * len(cells), dtype=pl.Date))
    numbers = cells.str.strip_chars() if cells.dtype == pl.String else cells
    seconds = numbers.cast(pl.Float64, strict=False) / per_second
    seconds = seconds.set(~seconds.is_between(-1e11, 1e11).fill_null(False), None)
    return _typed((seconds * 1e6).cast(pl.Int64).cast(pl.Datetime("us")))
