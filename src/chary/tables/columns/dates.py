"""Columns of dates and of times of day."""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.options import flag_of
from chary.tables.columns.defaults import NO_HINTS, Hints
from chary.tables.columns.kind import (
    DATE,
    NUMBER,
    SMALL_SAMPLE,
    UNREADABLE,
    Column,
    Kind,
    null_cells,
    sample_cells,
)

_SPACES = r"[\s\u00a0\u202f]+"
_TIME = (
    r"(?P<H>[01]?\d|2[0-3]):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d|60)(?:[.,]\d{1,9})?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_ZONE = r"(?: ?(?:[Zz]|[A-Z]{3,5}|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
# What may follow the date in a cell: a time of day with its zone.
_LATER = rf"(?:(?:T| ?, ?| at | )(?:{_TIME}{_ZONE}))?$"
# Months have up to eleven letters: październik, Σεπτέμβριος, Ιανουαρίου.
_WORD = r"(?P<m>\p{L}{3,12})\.?"
_DAY_OF_WEEK = r"^(?:\p{L}{2,10}\.?,? )?"
_NTH = r"(?:st|nd|rd|th|\.)?"
# For each order of day, month and year: a pattern with the groups y, m and d, and an example.
# Preferred orders come first. Dates with points, such as 31.01.2024, never begin with the month.
_ORDERS = {
    "ymd": (rf"^(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){_LATER}", "2024-01-31"),
    "dmy": (rf"^(?P<d>\d{{1,2}})[-/.](?P<m>\d{{1,2}})[-/.](?P<y>\d{{4}}){_LATER}", "31.01.2024"),
    "mdy": (rf"^(?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}})[-/](?P<y>\d{{4}}){_LATER}", "01/31/2024"),
    "dby": (
        rf"{_DAY_OF_WEEK}(?P<d>\d{{1,2}}){_NTH}[-/ ]?(?:of )?{_WORD},?[-/ ]?'?"
        rf"(?P<y>\d{{4}}|\d{{2}}){_LATER}",
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
_ISO, _ = _ORDERS["ymd"]
# First letters of months in English, German, French, Spanish, Italian, Portuguese, Dutch,
# Polish and Greek.
_MONTHS = {
    1: "jan ene gen sty ιαν",
    2: "feb fév fev lut φεβ",
    3: "mar mär mrz maa μάρ μαρ",
    4: "apr avr abr kwi απρ",
    5: "may mai mag mei maj μάι μαΐ μαϊ μαι",
    6: "jun giu juin cze ιούν ιουν",
    7: "jul lug juil lip ιούλ ιουλ",
    8: "aug aoû aou ago sie αύγ αυγ",
    9: "sep set wrz σεπ",
    10: "oct okt ott out paź οκτ",
    11: "nov lis νοέ νοε",
    12: "dec dez déc dic gru δεκ",
}
_MONTH_OF = {word: str(month) for month, words in _MONTHS.items() for word in words.split()}
# A year of two digits may lie up to this many years ahead: most dates lie in the past, those of
# contracts and plans a few years ahead.
_YEARS_AHEAD = 10
# Two digits mean a year up to this one if the form does not say the latest year. This follows
# POSIX: 69 is 1969, and 68 is 2068.
_LAST_YEAR = 2068
# A form ends with this word if the time of day is used.
_TIME_USED = " time"
# What a note says of dates that could be read in another order.
_NOTES = {
    "dmy": "day first",
    "mdy": "month first",
    "dmy2": "day first",
    "mdy2": "month first",
    "ymd2": "year first",
}
# What the user may pass as ``dates``, and the orders that each value stands for.
WRITTEN = {"day-first": ("dmy", "dmy2"), "month-first": ("mdy", "mdy2"), "year-first": ("ymd2",)}


class _DateFeature(NamedTuple):
    """A number that is made from a date or time."""

    name: str
    words: str  # what a person calls it, after the name of the column
    unit: str  # how a person reads it


_DAY_FEATURES = (
    _DateFeature("year", ": year", NUMBER),
    _DateFeature("month", ": month", NUMBER),
    _DateFeature("weekday", ": weekday", NUMBER),
    _DateFeature("elapsed days", "", DATE),
)
# Only for dates with a time of day. Sine and cosine put December next to January.
_TIME_FEATURES = tuple(
    _DateFeature(f"{name} {wave}", f": {name}", UNREADABLE)
    for name in ("hour", "weekday", "month")
    for wave in ("sine", "cosine")
)
_DATE_TYPES = (pl.Date, pl.Datetime)


class Dates(Kind):
    """A day in each cell, with or without the time of day.

    The form of a column is a key of ``_ORDERS``, then ":2036" if 2036 is the latest year that two
    digits can mean, then " time" if the time of day is used. Times are read as written; their zone
    is ignored.
    """

    name = "date"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find dates, in the order that fits most cells.

        Cells may be of a date type, whole numbers such as 20240131, or text.
        """
        if filled.dtype in _DATE_TYPES:
            if _have_times(_read_moments(filled, ""), hints):
                return Column(filled.name, self.name, "with the time of day", f"ymd{_TIME_USED}")
            return Column(filled.name, self.name)
        if filled.dtype.is_integer():  # such as 20240131
            filled = filled.cast(pl.String)
        if filled.dtype != pl.String or not len(filled):
            return None
        return _find_written(filled, hints)

    def features(self, column: Column) -> tuple[_DateFeature, ...]:
        """Return the features that a column of dates has."""
        if _uses_time(column.form):
            return _DAY_FEATURES + _TIME_FEATURES
        return _DAY_FEATURES

    def feature_names(self, column: Column) -> list[str]:
        """Name the parts of a date."""
        return [f"{column.name}: {feature.name}" for feature in self.features(column)]

    def feature_words(self, column: Column) -> list[tuple[str, str]]:
        """Name the parts of a date for a person."""
        features = self.features(column)
        return [(f"{column.name}{feature.words}", feature.unit) for feature in features]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read the parts of dates.

        They are year, month, weekday and days since 1970; with the time of day also the sine and
        cosine of hour, weekday and month.
        """
        moments = _read_moments(cells, column.form or "ymd")
        dates = moments.days.dt
        year = _floats(dates.year())
        month = _floats(dates.month())
        weekday = _floats(dates.weekday())
        days = _floats(moments.days.to_physical())
        if not _uses_time(column.form):
            return np.column_stack([year, month, weekday, days])

        day_share = _floats(moments.hours) / 24
        numbers = [year, month, weekday, days + day_share]
        # The part of a day, a week and a year that has gone by is an angle: so 23:59 is near 0:00.
        week_share = (weekday - 1) / 7
        year_share = (month - 1) / 12
        for share in (day_share, week_share, year_share):
            angle = 2 * np.pi * share
            numbers += [np.sin(angle), np.cos(angle)]
        features = np.column_stack(numbers)  # (n, 10)
        # Of a cell without a time of day nothing is used.
        lacks_number = np.isnan(features).any(axis=1)
        features[lacks_number] = np.nan
        return features

    def expected(self, column: Column) -> str:
        """Show a date of the column's form."""
        order = re.split("[ :]", column.form or "ymd")[0]
        _, example = _ORDERS[order]
        if _uses_time(column.form):
            return f"dates with a time of day such as {example} 10:30"
        return f"dates such as {example}"


def _floats(cells: pl.Series) -> NDArray[np.float64]:
    """Convert numbers to an array, with NaN for null."""
    return cells.cast(pl.Float64).to_numpy()


def _uses_time(form: str) -> bool:
    """Tell whether a form uses the time of day."""
    return form.endswith(_TIME_USED)


def _find_written(filled: pl.Series, hints: Hints) -> Column | None:
    """Find dates in text, in the order that fits most cells.

    If several orders fit equally many cells, the first one is taken, and a note names the others.
    An order that ``hints`` asks for is preferred to all others that fit.
    """
    n_dates_of = _count_readable(filled, hints)  # by order
    if not n_dates_of:
        return None
    most_dates = max(n_dates_of.values())
    best_orders = [order for order, n_dates in n_dates_of.items() if n_dates == most_dates]
    asked_orders = [order for order in n_dates_of if order in WRITTEN.get(hints.dates, ())]
    orders = asked_orders or best_orders
    order = orders[0]
    alternatives = [_NOTES[other].replace(" ", "-") for other in orders[1:] if other in _NOTES]
    is_ambiguous = order in _NOTES and len(alternatives) > 0
    notes = []
    if is_ambiguous:
        option = f"{flag_of('dates')} {' or '.join(alternatives)}"
        notes.append(f"read as {_NOTES[order]}; if not, {option}")
    elif order in _NOTES:
        notes.append(_NOTES[order])

    form = order
    pattern, _ = _ORDERS[order]
    if _fields(filled, pattern)["y"].str.len_chars().min() == 2:
        last_year = _this_year() + _YEARS_AHEAD
        notes.append(f"years of two digits read as {last_year - 99} to {last_year}")
        form += f":{last_year}"
    moments = _read_moments(filled, form)
    is_unreadable = moments.days.is_null()
    if _have_times(moments, hints):
        form += _TIME_USED
        notes.append("with the time of day")
        is_unreadable |= moments.hours.is_null()
    n_unreadable = is_unreadable.sum()
    if n_unreadable:
        notes.append(f"{n_unreadable:,} cells are not dates and count as missing")
    return Column(
        filled.name,
        Dates.name,
        ", ".join(notes),
        form,
        missing=n_unreadable > 0,
        doubtful=is_ambiguous,
    )


def other_orders_in(note: str) -> list[str]:
    """Read from the note of a column how else its dates may be written.

    >>> other_orders_in("read as day first; if not, --dates month-first")
    ['month-first']
    """
    _, _, alternatives = note.partition(f"{flag_of('dates')} ")
    return [order for order in WRITTEN if order in alternatives]


def _count_readable(filled: pl.Series, hints: Hints) -> dict[str, int]:
    """Count the dates in each order in which nearly all cells can be read."""
    sample = _plain(sample_cells(filled, SMALL_SAMPLE)).to_frame("cell")
    # One query for all orders: nine take five times as long.
    has_orders = sample.select(
        pl.col("cell").str.contains(pattern).alias(order) for order, (pattern, _) in _ORDERS.items()
    )
    n_needed = hints.defaults.readable_share * len(filled)
    n_dates_of: dict[str, int] = {}
    for has_order in has_orders:
        # Reading is slow; the sample spares it for most columns.
        if not has_order.any():
            continue
        n_in_sample = (has_order | has_orders["ymd"]).sum()
        if n_in_sample < len(sample) / 2:
            continue
        order = has_order.name
        n_dates = _read_moments(filled, order).days.count()
        # Year, month and day, the first of the orders, is read in every other order, too. So
        # another order counts only if it reads more cells than that one.
        n_year_first = n_dates_of.get("ymd", 0)
        if n_dates >= n_needed and n_dates > n_year_first:
            n_dates_of[order] = n_dates
    return n_dates_of


def _this_year() -> int:
    """Return the present year."""
    return datetime.date.today().year


def _have_times(moments: _Moments, hints: Hints) -> bool:
    """Tell whether nearly all cells have a time of day, and not all the same."""
    has_day = moments.days.is_not_null()
    hours = moments.hours.filter(has_day).drop_nulls()
    n_needed = hints.defaults.readable_share * len(moments.days)
    return len(hours) >= n_needed and hours.n_unique() > 1


# ---------------------------------------------------------------- moments


class _Moments(NamedTuple):
    """Days and hours of the day, null if a cell has none."""

    days: pl.Series
    hours: pl.Series


def _read_moments(cells: pl.Series, form: str) -> _Moments:
    """Read moments from text, or from cells of a date type, which need no ``form``.

    Time zones are ignored: 10:30+02:00 is read as 10:30.
    """
    if cells.dtype in _DATE_TYPES:
        return _typed_moments(cells)
    if cells.dtype.is_integer():
        cells = cells.cast(pl.String)
    if cells.dtype != pl.String:
        cells = null_cells(cells, pl.String)

    order, _, last_year = form.removesuffix(_TIME_USED).partition(":")
    pattern, _ = _ORDERS[order]
    fields = _fields(cells, pattern)
    # Year, month and day with a four-digit year can be read in one way only, so such dates may
    # stand beside others: a workbook has them in columns that mix real dates and typed ones.
    if order != "ymd":
        iso_fields = _fields(cells, _ISO)
        fields = fields.with_columns(
            fields[name].fill_null(iso_fields[name]) for name in iso_fields.columns
        )
    days = _days(fields, int(last_year or _LAST_YEAR))
    return _Moments(days, _hours(fields))


def _plain(cells: pl.Series) -> pl.Series:
    """Write text with one kind of space."""
    return cells.str.replace_all(_SPACES, " ")


def _fields(cells: pl.Series, pattern: str) -> pl.DataFrame:
    """Extract the groups of a pattern from text."""
    groups = _plain(cells.str.strip_chars()).str.extract_groups(pattern)
    return groups.struct.unnest()


def _days(fields: pl.DataFrame, last_year: int) -> pl.Series:
    """Read days, null if the fields are no day.

    A year of two digits is one of the hundred years up to ``last_year``.
    """
    year_digits = fields["y"]
    # Patterns find digits of every script; those that are not Western ones give null.
    number = year_digits.cast(pl.Int32, strict=False)
    years_before_last = (last_year - number) % 100
    latest_year = last_year - years_before_last  # the latest one that ends with these two digits
    has_two_digits = year_digits.str.len_chars() == 2
    year = latest_year.zip_with(has_two_digits, number)
    four_digits = year.cast(pl.String).str.zfill(4)

    # A month is a number, or a word: its first three letters tell it, or the first four of June
    # and July in French and Greek.
    month_letters = fields["m"].str.to_lowercase().str.extract(r"^(jui.|ιο[υύ].|\p{L}{3}|\d+)")
    month = month_letters.replace(_MONTH_OF)
    dates = four_digits + "-" + month + "-" + fields["d"]
    return dates.str.to_date("%Y-%m-%d", strict=False)


def _hours(fields: pl.DataFrame) -> pl.Series:
    """Read hours, with minutes and seconds as fractions: 14:30 and 2:30 pm are 14.5."""
    clock = fields.select(pl.col("H", "M", "S").cast(pl.Int32, strict=False))
    written_hour = clock["H"]
    half_of_day = fields["half"]  # the first letter of am or pm, null without either
    is_afternoon = half_of_day.is_in(["p", "P"]).cast(pl.Int32)
    # 12 am is 0:00, and 12 pm is 12:00.
    hour_by_halves = written_hour % 12 + 12 * is_afternoon
    hour = written_hour.zip_with(half_of_day.is_null(), hour_by_halves)
    minute_share = clock["M"] / 60
    second_share = clock["S"].fill_null(0) / 3600
    return hour + minute_share + second_share


def _typed_moments(cells: pl.Series) -> _Moments:
    """Read cells of a date type, each in the time zone of the column."""
    if not isinstance(cells.dtype, pl.Datetime):
        return _Moments(cells.cast(pl.Date, strict=False), null_cells(cells))
    local = cells.dt.replace_time_zone(None)
    clock = local.dt
    hours = clock.hour() + clock.minute() / 60 + clock.second() / 3600
    return _Moments(days=local.cast(pl.Date), hours=hours.cast(pl.Float64))


# ---------------------------------------------------------------- times of day

_CLOCK_TIME = rf"^{_TIME}{_ZONE}$"


class TimesOfDay(Dates):
    """A time of day in each cell; 23:59 is near 0:00."""

    name = "time"

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find times within a day, in most cells."""
        if filled.dtype not in (pl.String, pl.Time):
            return None
        # Reading is slow; the sample spares it for most columns.
        if filled.dtype == pl.String:
            sample = _plain(sample_cells(filled, SMALL_SAMPLE))
            n_others = (~sample.str.contains(_CLOCK_TIME)).sum()
            if n_others > SMALL_SAMPLE / 2:
                return None
        n_unreadable = _clock_hours(filled).null_count()
        most_unreadable = (1 - hints.defaults.readable_share) * len(filled)
        if len(filled) == 0 or n_unreadable > most_unreadable:
            return None
        note = "a time of day"
        if n_unreadable:
            note += f", {n_unreadable:,} cells that are none count as missing"
        return Column(filled.name, self.name, note, missing=n_unreadable > 0)

    def features(self, column: Column) -> tuple[_DateFeature, ...]:
        """Return the hour and its place on the clock."""
        hour_sine, hour_cosine = _TIME_FEATURES[:2]
        return (_DateFeature("hour", ": hour", NUMBER), hour_sine, hour_cosine)

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read the hour and its place on the clock."""
        hours = _clock_hours(cells).to_numpy()
        angle = 2 * np.pi * hours / 24
        return np.column_stack([hours, np.sin(angle), np.cos(angle)])

    def expected(self, column: Column) -> str:
        """Show a time of day."""
        return "times of day such as 12:30"


def _clock_hours(cells: pl.Series) -> pl.Series:
    """Read hours from cells such as 12:30 or 2:30 pm."""
    if cells.dtype == pl.Time:
        nanoseconds = cells.cast(pl.Int64).cast(pl.Float64)
        return nanoseconds / 3.6e12
    if cells.dtype == pl.String:
        return _hours(_fields(cells, _CLOCK_TIME))
    return null_cells(cells)
