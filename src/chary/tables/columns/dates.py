"""Columns of dates and of times of day: how these are written, and the numbers made of them."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.options import flag_of
from chary.tables.cells import DATE, FEW, NUMBER, READABLE, UNREADABLE, Column, Kind, nulls, some_of

_SPACES = r"[\s\u00a0\u202f]+"
_TIME = r"(?P<H>[01]?\d|2[0-3]):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d|60)(?:[.,]\d{1,9})?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_ZONE = r"(?: ?(?:[Zz]|[A-Z]{3,5}|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
_LATER = rf"(?:(?:T| ?, ?| at | )(?:{_TIME}{_ZONE}))?$"
_WORD = r"(?P<m>\p{L}{3,10})\.?"
_DAY_OF_WEEK = r"^(?:\p{L}{2,10}\.?,? )?"
_NTH = r"(?:st|nd|rd|th|\.)?"
# Of each order of day, month and year: a pattern with the groups y, m and d, and an example. In the
# order in which they are preferred; between points, the day comes first everywhere.
_ORDERS = {
    "ymd": (rf"^(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_LATER}", "2024-01-31"),
    "dmy": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{4}}){_LATER}", "31.01.2024"),
    "mdy": (rf"^(?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}})[-/](?P<y>\d{{4}}){_LATER}", "01/31/2024"),
    "dby": (
        rf"{_DAY_OF_WEEK}(?P<d>\d{{1,2}}){_NTH}[-/ ]?(?:of )?{_WORD},?[-/ ]?'?(?P<y>\d{{4}}|\d{{2}}){_LATER}",
        "31 Jan 2024",
    ),
    "bdy": (
        rf"{_DAY_OF_WEEK}{_WORD}[-/ ]?(?P<d>\d{{1,2}}){_NTH}(?:, ?|[-/ ])(?P<y>\d{{4}}){_LATER}",
        "Jan 31, 2024",
    ),
    "compact": (rf"^(?P<y>(?:19|20)\d{{2}})(?P<m>[01]\d)(?P<d>[0-3]\d){_LATER}", "20240131"),
    "dmy2": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{2}}){_LATER}", "31.01.24"),
    "mdy2": (rf"^(?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}})[-/](?P<y>\d{{2}}){_LATER}", "01/31/24"),
    "ymd2": (rf"^(?P<y>\d{{2}})[-/](?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}}){_LATER}", "24-01-31"),
}
# First letters of months in English, German, French, Spanish, Italian, Portuguese and Dutch.
_MONTHS = {
    1: "jan ene gen", 2: "feb fév fev", 3: "mar mär mrz maa", 4: "apr avr abr", 5: "may mai mag mei",
    6: "jun giu juin", 7: "jul lug juil", 8: "aug aoû aou ago", 9: "sep set", 10: "oct okt ott out",
    11: "nov", 12: "dec dez déc dic",
}  # fmt: skip
_MONTH_OF = {word: str(month) for month, words in _MONTHS.items() for word in words.split()}
# Years of two digits end so many years from now: most lie behind, contracts and plans a few years
# ahead.
_YEARS_AHEAD = 10
# They end here if a form does not say it, as POSIX has it: 69 is 1969, and 68 is 2068.
_LAST_YEAR = 2068
_TIME_USED = " time"  # at the end of a form
_NOTES = {
    "dmy": "day first",
    "mdy": "month first",
    "dmy2": "day first",
    "mdy2": "month first",
    "ymd2": "year first",
}
# What somebody may say of dates whose cells leave it open, and the orders that are so.
WRITTEN = {"day-first": ("dmy", "dmy2"), "month-first": ("mdy", "mdy2"), "year-first": ("ymd2",)}
# Of each feature its name, what a person calls it, and how a person reads it; the first four need
# no time of day.
_FEATURES = (
    ("year", ": year", NUMBER),
    ("month", ": month", NUMBER),
    ("weekday", ": weekday", NUMBER),
    ("elapsed days", "", DATE),
    ("hour sine", ": hour", UNREADABLE),
    ("hour cosine", ": hour", UNREADABLE),
    ("weekday sine", ": weekday", UNREADABLE),
    ("weekday cosine", ": weekday", UNREADABLE),
    ("month sine", ": month", UNREADABLE),
    ("month cosine", ": month", UNREADABLE),
)
_TYPES = (pl.Date, pl.Datetime)


class Dates(Kind):
    """A day in each cell, and the time of day if most cells have one.

    A form is an order of day, month and year, and ":2036" if years of two digits end there; then
    "time" if the time of day is used. The time is that of the clock on the wall, as written,
    whatever the zone.
    """

    name = "date"

    def __init__(self, written: str = "") -> None:
        self.written = written  # one of ``WRITTEN``, if somebody says so

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Dates in the order of day, month and year in which most cells can be read."""
        if filled.dtype in _TYPES:
            if _have_times(_read_moments(filled, "")):
                return Column(filled.name, self.name, "with the time of day", f"ymd{_TIME_USED}")
            return Column(filled.name, self.name)
        if filled.dtype.is_integer():  # 20240131 may be a number
            filled = filled.cast(pl.String)
        if filled.dtype != pl.String or not len(filled):
            return None
        return _find_written(filled, self.written)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name}: {name}" for name, _, _ in _features(column)]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        return [(f"{column.name}{words}", unit) for _, words, unit in _features(column)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        moments = _read_moments(cells, column.form or "ymd")
        day = _calendar(moments.days)
        if not _uses_time(column.form):
            return day
        hour = moments.hours.to_numpy()
        day[:, 3] += hour / 24
        angles = 2 * np.pi * np.column_stack([hour / 24, (day[:, 2] - 1) / 7, (day[:, 1] - 1) / 12])
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(angles), 6)
        numbers = np.column_stack([day, waves])
        numbers[np.isnan(numbers).any(axis=1)] = np.nan
        return numbers

    def whole(self, column: Column) -> bool:
        """In a known order, with the last of years of two digits and the time of day, or without them."""
        order = re.fullmatch("([a-z]+2?)(:[12][0-9]{3})?( time)?", column.form)
        return not column.form or (order is not None and order[1] in _ORDERS)

    def expected(self, column: Column) -> str:
        example = _ORDERS[re.split("[ :]", column.form or "ymd")[0]][1]
        if _uses_time(column.form):
            return f"dates with a time of day such as {example} 10:30"
        return f"dates such as {example}"


def _features(column: Column) -> tuple[tuple[str, str, str], ...]:
    return _FEATURES if _uses_time(column.form) else _FEATURES[:4]


def _uses_time(form: str) -> bool:
    return form.endswith(_TIME_USED)


def _calendar(days: pl.Series) -> NDArray[np.float64]:
    """Year, month, weekday and days since 1970."""
    parts = [days.dt.year(), days.dt.month(), days.dt.weekday(), days.to_physical()]
    return np.column_stack([part.cast(pl.Float64).to_numpy() for part in parts])


def _find_written(filled: pl.Series, written: str) -> Column | None:
    """Find dates in text, in the order in which most can be read; if several fit, in the one that is asked for."""
    sample = some_of(filled, FEW).str.replace_all(_SPACES, " ")
    n_read = {}
    for order, (pattern, _) in _ORDERS.items():
        if (
            sample.str.contains(pattern).sum() >= len(sample) / 2
        ):  # few columns come to the slow reading
            n_read[order] = _read_moments(filled, order).days.count()
    fitting = [order for order, n in n_read.items() if n >= READABLE * len(filled)]
    if not fitting:
        return None
    asked = [order for order in fitting if order in WRITTEN.get(written, ())]
    equal = asked or [order for order in fitting if n_read[order] == max(n_read.values())]
    form = equal[0]
    notes = [_NOTES[form]] if form in _NOTES else []
    if len(equal) > 1:
        others = [_NOTES[order].replace(" ", "-") for order in equal[1:]]
        typed = f"{flag_of('dates')} {' or '.join(others)} (in Python dates='{others[0]}')"
        notes = [f"read as {_NOTES[form]}; if not, {typed}"]

    if _fields(filled, _ORDERS[form][0])["y"].str.len_chars().min() == 2:
        last_year = _this_year() + _YEARS_AHEAD
        notes.append(f"years of two digits read as {last_year - 99} to {last_year}")
        form = f"{form}:{last_year}"
    moments = _read_moments(filled, form)
    is_odd = moments.days.is_null()
    if _have_times(moments):
        form += _TIME_USED
        notes.append("with the time of day")
        is_odd |= moments.hours.is_null()
    if is_odd.any():
        notes.append(f"{is_odd.sum():,} cells are not dates and count as missing")
    doubtful = len(equal) > 1
    return Column(
        filled.name, Dates.name, ", ".join(notes), form, missing=is_odd.any(), doubtful=doubtful
    )


def _this_year() -> int:
    return datetime.date.today().year


def _have_times(moments: _Moments) -> bool:
    """Tell whether most cells say a time of day, and not all the same."""
    hours = moments.hours.filter(moments.days.is_not_null())
    return hours.drop_nulls().n_unique() > 1 and hours.count() >= READABLE * len(moments.days)


# ---------------------------------------------------------------- moments


class _Moments(NamedTuple):
    """Days, null where there is none; hours of the day, null where no time is said."""

    days: pl.Series
    hours: pl.Series


def _read_moments(cells: pl.Series, form: str) -> _Moments:
    """Moments as they are written, or as their type says; the offset of a zone is not added."""
    order, _, last_year = form.removesuffix(_TIME_USED).partition(":")
    if cells.dtype in _TYPES:
        return _typed(cells)
    if order == "compact" and cells.dtype.is_integer():
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        return _typed(nulls(cells, pl.Date))
    fields = _fields(cells, _ORDERS[order][0])
    return _Moments(_days(fields, int(last_year or _LAST_YEAR)), _hours(fields))


def _fields(cells: pl.Series, pattern: str) -> pl.DataFrame:
    """The groups of a pattern in text with one kind of space."""
    return (
        cells.str.strip_chars()
        .str.replace_all(_SPACES, " ")
        .str.extract_groups(pattern)
        .struct.unnest()
    )


def _days(fields: pl.DataFrame, last: int) -> pl.Series:
    """Days, null where there is none; years of two digits end with the ``last``."""
    number = fields["y"].cast(pl.Int32)
    in_century = last - (last - number) % 100
    year = (
        in_century.zip_with(fields["y"].str.len_chars() == 2, number).cast(pl.String).str.zfill(4)
    )
    month = fields["m"].str.to_lowercase().str.extract(r"^(jui.|\p{L}{3}|\d+)").replace(_MONTH_OF)
    return (year + "-" + month + "-" + fields["d"]).str.to_date("%Y-%m-%d", strict=False)


def _hours(fields: pl.DataFrame) -> pl.Series:
    """Hours of a day, with minutes and seconds as their fractions."""
    hour, minute, second = (fields[part].cast(pl.Int32) for part in "HMS")
    half = fields["half"]
    hour = hour.zip_with(half.is_null(), hour % 12 + 12 * half.is_in(["p", "P"]).cast(pl.Int32))
    return hour + minute / 60 + second.fill_null(0) / 3600


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
        if (
            _clock_hours(some_of(filled, FEW)).null_count() > FEW / 2
        ):  # few columns come to the slow reading
            return None
        n_odd = _clock_hours(filled).null_count()
        if n_odd > (1 - READABLE) * len(filled) or not len(filled):
            return None
        note = (
            f"a time of day, {n_odd:,} cells that are none count as missing"
            if n_odd
            else "a time of day"
        )
        return Column(filled.name, self.name, note, missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name}: {part}" for part in ("hour", "hour sine", "hour cosine")]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        return [(f"{column.name}: hour", unit) for unit in (NUMBER, UNREADABLE, UNREADABLE)]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        hours = _clock_hours(cells).to_numpy()
        angle = 2 * np.pi * hours / 24
        return np.column_stack([hours, np.sin(angle), np.cos(angle)])

    def expected(self, column: Column) -> str:
        return "times of day such as 12:30"


def _clock_hours(cells: pl.Series) -> pl.Series:
    """Hours of the day of cells such as 12:30 or 2:30 pm, null where there is none."""
    if cells.dtype == pl.Time:
        return cells.cast(pl.Int64).cast(pl.Float64) / 3.6e12
    return _hours(_fields(cells, _CLOCK_TIME)) if cells.dtype == pl.String else nulls(cells)
