"""Columns of dates and of times of day: how these are written, and the numbers made of them."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.options import flag_of
from chary.tables.cells import DATE, FEW, MANY, NUMBER, READABLE, UNREADABLE, Column, Kind, nulls, some_of

_SPACES = r"[\s\u00a0\u202f]+"
_TIME = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,]\d{1,9})?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_ZONE = r"(?: ?(?:[Zz]|[A-Z]{3,5}|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
_LATER = rf"(?:(?:T| ?, ?| at | )(?:{_TIME}{_ZONE}))?$"
_WORD = r"(?P<m>\p{L}{3,10})\.?"
_DAY_OF_WEEK = r"^(?:\p{L}{2,10}\.?,? )?"
_NTH = r"(?:st|nd|rd|th|\.)?"
# Of each order of day, month and year: a pattern with the groups y, m and d, and an example.
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
    "compact": (rf"^(?P<y>(?:19|20)\d{{2}})(?P<m>[01]\d)(?P<d>[0-3]\d){_LATER}", "20240131"),
    "ymd2": (rf"^(?P<y>\d{{2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_LATER}", "24-01-31"),
    "dmy2": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{2}}){_LATER}", "31.01.24"),
    "mdy2": (rf"^(?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}})[-/.](?P<y>\d{{2}}){_LATER}", "01/31/24"),
}
# First letters of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
_MONTHS = {
    1: "jan ene gen", 2: "feb fév fev", 3: "mar mär mrz maa", 4: "apr avr abr", 5: "may mai mag mei",
    6: "jun giu juin", 7: "jul lug juil", 8: "aug aoû aou ago", 9: "sep set", 10: "oct okt ott out",
    11: "nov", 12: "dec dez déc dic",
}  # fmt: skip
_MONTH_OF = {word: month for month, words in _MONTHS.items() for word in words.split()}
# Years of two digits end here where nothing tells otherwise, as POSIX has it: 69 is 1969, and 68 is 2068.
_LAST_YEAR = 2068
# Such dates lie in the future only where all dates of the column, today among them, lie within so many years.
_NEAR_YEARS = 30
_NOTES = {
    "dmy": "day first",
    "mdy": "month first",
    "dmy2": "day first",
    "mdy2": "month first",
    "ymd2": "year first",
}
# What somebody may say of dates whose cells leave it open, and the orders that are so.
WRITTEN = {"day-first": ("dmy", "dmy2"), "month-first": ("mdy", "mdy2"), "year-first": ("ymd2",)}
_PARTS = ("year", "month", "weekday", "elapsed days")
_PERIODIC = ("hour sine", "hour cosine", "weekday sine", "weekday cosine", "month sine", "month cosine")
_TYPES = (pl.Date, pl.Datetime)


class Dates(Kind):
    """A day in each cell, and the time of day if most cells have one.

    A form is an order of day, month and year, and ":2026" if years of two digits end there; then "time" if the
    time of day is used. The time is that of the clock on the wall, as written, whatever the zone.
    """

    name = "date"

    def __init__(self, written: str = "") -> None:
        self.written = written  # one of ``WRITTEN``, if somebody says so

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Dates in the order of day, month and year in which most cells can be read."""
        if filled.dtype in _TYPES:
            times = _times(_read_moments(filled, ""), len(filled))
            note, form = ("with the time of day", f"ymd{times}") if times else ("", "")
            return Column(filled.name, self.name, note, form)
        filled = filled.cast(pl.String) if filled.dtype.is_integer() else filled  # 20240131 may be a number
        if filled.dtype != pl.String or not len(filled) or not _may_be_dates(some_of(filled, FEW)):
            return None  # most columns leave here, before the slow reading
        return _find_written(filled, self.written)

    def feature_names(self, column: Column) -> list[str]:
        parts = (*_PARTS, *_PERIODIC) if _uses_time(column.form) else _PARTS
        return [f"{column.name}: {part}" for part in parts]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        calendar = [(f"{column.name}: {part}", NUMBER) for part in _PARTS[:3]]
        waves = [(f"{column.name}: {wave.split()[0]}", UNREADABLE) for wave in _PERIODIC]
        return [*calendar, (column.name, DATE), *(waves if _uses_time(column.form) else [])]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        if not _uses_time(column.form):
            return _calendar(_read_moments(cells, column.form or "ymd").days)
        moments = _read_times(cells, column.form)
        day, hour = _calendar(moments.days), moments.hours.to_numpy()
        day[:, 3] += hour / 24
        angles = 2 * np.pi * np.column_stack([hour / 24, (day[:, 2] - 1) / 7, (day[:, 1] - 1) / 12])
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(angles), len(_PERIODIC))
        return np.column_stack([day, waves])

    def whole(self, column: Column) -> bool:
        """In a known order, with the last of years of two digits and the time of day, or without them."""
        order = re.fullmatch("([a-z]+2?)(:[12][0-9]{3})?( time)?", column.form)
        return not column.form or (order is not None and order[1] in _ORDERS)

    def expected(self, column: Column) -> str:
        order = re.split("[ :]", column.form)[0]
        example = _ORDERS.get(order, _ORDERS["ymd"])[1]
        time = _uses_time(column.form)
        return f"dates with a time of day such as {example} 10:30" if time else f"dates such as {example}"


def _uses_time(form: str) -> bool:
    return form.endswith(" time")


def _calendar(days: pl.Series) -> NDArray[np.float64]:
    """Year, month, weekday and days since 1970."""
    parts = [days.dt.year(), days.dt.month(), days.dt.weekday(), days.to_physical()]
    return np.column_stack([part.cast(pl.Float64).to_numpy() for part in parts])


def _read_times(cells: pl.Series, form: str) -> _Moments:
    """Days and hours, both null where one is."""
    days, hours = _read_moments(cells, form.partition(" ")[0])
    bad = days.is_null() | hours.is_null()
    return _Moments(days.set(bad, None), hours.set(bad, None))


def _may_be_dates(sample: pl.Series) -> bool:
    """Whether half of some cells look as if they were written in one of the orders."""
    alike = sample.str.replace_all(_SPACES, " ")
    return any(alike.str.contains(pattern).sum() >= len(sample) / 2 for pattern, _ in _ORDERS.values())


def _find_written(filled: pl.Series, written: str) -> Column | None:
    """Dates as text, in the order in which most can be read; where several fit, in the one that is said."""
    some = some_of(filled, MANY)
    orders = [order for order in _ORDERS if 2 * _read_moments(some, order).days.count() >= len(some)]
    readable = {order: int(_read_moments(filled, order).days.count()) for order in orders}
    fit = [order for order in orders if readable[order] >= READABLE * len(filled)]
    if not fit:
        return None
    said = [order for order in fit if order in WRITTEN.get(written, ())]
    equal = said or [order for order in fit if readable[order] == max(readable.values())]
    if {"ymd2", "dmy2"} <= set(equal):  # days differ more than years do
        fields = _fields(filled, _ORDERS["dmy2"][0])
        equal.sort(key=lambda order: (order == "ymd2") == (fields["d"].n_unique() >= fields["y"].n_unique()))
    if not said and not filled.str.contains("[/-]").any():  # with points, the day comes first everywhere
        equal = [order for order in equal if order.startswith("dmy")] or equal
    best = equal[0]
    notes = [_NOTES[best]] if best in _NOTES else []
    assumed = len(equal) > 1
    if assumed:
        others = [_NOTES[order].replace(" ", "-") for order in equal[1:]]
        typed = f"{flag_of('dates')} {' or '.join(others)} (in Python dates='{others[0]}')"
        notes = [f"read as {_NOTES[best]}; if not, {typed}"]
    n_read = readable[best]
    best, years, moved = _with_century(best, filled)
    notes += [years] * bool(years)
    moments = _read_moments(filled, best)
    times = _times(moments, len(filled))
    notes += ["with the time of day"] * bool(times)
    if not times and moments.hours.n_unique() > 2:  # nothing, and two times
        notes.append("the time of day, which some cells have, is not used")
    n_odd = len(filled) - (int(_read_times(filled, best + times).days.count()) if times else n_read)
    notes += [f"{n_odd:,} cells are not dates and count as missing"] * (n_odd > 0)
    return Column(
        filled.name, Dates.name, ", ".join(notes), best + times, missing=n_odd > 0, doubtful=assumed or moved
    )


def _this_year() -> int:
    return datetime.date.today().year


def _with_century(order: str, filled: pl.Series) -> tuple[str, str, bool]:
    """An order, and where its years of two digits end; what was found; whether POSIX reads one otherwise.

    The years go round a circle of a hundred, which is cut where the widest gap is, and the latest century is taken
    in which they begin by today. If they then end in the future, and are not all near, it is cut at today.
    """
    year = _fields(filled, _ORDERS[order][0])["y"]
    two = sorted(set(year.filter((year.str.len_chars() == 2).fill_null(False)).cast(pl.Int32).to_list()))
    if not two:
        return order, "", False
    today = _this_year()
    width, start = max(((after - two[i - 1]) % 100 or 100, after) for i, after in enumerate(two))
    first = today - (today - start) % 100
    end = first + 100 - width
    if end > today and end - first > _NEAR_YEARS:
        past = [today - (today - number) % 100 for number in two]
        first, end = min(past), max(past)
    last = min(max(today, end + (100 - (end - first)) // 2), _LAST_YEAR)
    moved = any((last - (last - number) % 100) != (_LAST_YEAR - (_LAST_YEAR - number) % 100) for number in two)
    said = (
        f"years of two digits read as {first} to {end}" if end > first else f"years of two digits read as {first}"
    )
    return (order if last == _LAST_YEAR else f"{order}:{last}"), said, moved


def _times(moments: _Moments, n: int) -> str:
    """What a form says of the time of day; nothing, if it is the same everywhere or not said in most cells."""
    there = moments.days.is_not_null() & moments.hours.is_not_null()
    if moments.hours.filter(there).n_unique() < 2 or there.sum() < READABLE * n:
        return ""
    return " time"


# ---------------------------------------------------------------- moments


class _Moments(NamedTuple):
    """Days, null where there is none; hours of the day, null where no time is said."""

    days: pl.Series
    hours: pl.Series


def _read_moments(cells: pl.Series, order: str) -> _Moments:
    """Moments as they are written, or as their type says; the offset of a zone is not added."""
    order, _, last = order.partition(":")
    if cells.dtype in _TYPES:
        return _typed(cells)
    if order == "compact" and cells.dtype.is_integer():
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String or order not in _ORDERS:
        return _typed(nulls(cells, pl.Date))
    fields = _fields(cells, _ORDERS[order][0])
    return _Moments(_days(fields, int(last) if re.fullmatch("[12][0-9]{3}", last) else _LAST_YEAR), _hours(fields))


def _fields(cells: pl.Series, pattern: str) -> pl.DataFrame:
    """The groups of a pattern in text with one kind of space."""
    return cells.str.strip_chars().str.replace_all(_SPACES, " ").str.extract_groups(pattern).struct.unnest()


def _days(fields: pl.DataFrame, last: int) -> pl.Series:
    """Days, null where there is none; years of two digits end with the ``last``."""
    year, month = fields["y"], fields["m"]
    if (year.str.len_chars() == 2).any():
        number = year.cast(pl.Int32, strict=False)
        number = last - (last - number) % 100
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


def _typed(cells: pl.Series) -> _Moments:
    """Of dates and times as such; the hour is that of their zone."""
    if not isinstance(cells.dtype, pl.Datetime):
        return _Moments(cells.cast(pl.Date, strict=False), nulls(cells))
    local = cells.dt.replace_time_zone(None)
    hours = (local.dt.hour() + local.dt.minute() / 60 + local.dt.second() / 3600).cast(pl.Float64)
    return _Moments(local.cast(pl.Date), hours)


# ---------------------------------------------------------------- times of day

_CLOCK_TIME = rf"^{_TIME}{_ZONE}$"


class TimesOfDay(Kind):
    """A time of day in each cell; 23:59 is near 0:00."""

    name = "time"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Times within a day, in most cells."""
        if filled.dtype == pl.Time:
            return Column(filled.name, self.name)
        if filled.dtype != pl.String or not len(filled):
            return None
        sample = some_of(filled, FEW).str.replace_all(_SPACES, " ")  # asked quickly
        if sample.str.contains(_CLOCK_TIME).sum() < len(sample) / 2:
            return None
        n_odd = _clock_hours(filled).null_count()
        if len(filled) - n_odd < READABLE * len(filled):
            return None
        note = "a time of day" + f", {n_odd:,} cells that are none count as missing" * (n_odd > 0)
        return Column(filled.name, self.name, note, missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name}: {part}" for part in ("hour", "hour sine", "hour cosine")]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        return [(f"{column.name}: hour", unit) for unit in (NUMBER, UNREADABLE, UNREADABLE)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        hours = _clock_hours(cells).to_numpy()
        angle = 2 * np.pi * hours / 24
        return np.column_stack([hours, np.sin(angle), np.cos(angle)])

    def whole(self, column: Column) -> bool:
        return not column.form

    def expected(self, column: Column) -> str:
        return "times of day such as 12:30"


def _clock_hours(cells: pl.Series) -> pl.Series:
    """Hours of the day of cells such as 12:30 or 2:30 pm, null where there is none."""
    if cells.dtype == pl.Time:
        return cells.cast(pl.Int64).cast(pl.Float64) / 3.6e12
    return _hours(_fields(cells, _CLOCK_TIME)) if cells.dtype == pl.String else nulls(cells)
