"""Cells in; whether they are dates, how these are written, and year, month, weekday, elapsed days and hour out."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import FEW, MANY, READABLE, Column, Kind, some_of
from chary.tables.columns.moments import EPOCHS, ORDERS, TWO_DIGITS, Moments, example, may_be, read_moments

# With a time of day of any form, if it is none that is known: what models of old went by, which did not use it.
_YEAR_FIRST = r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$"
_YEAR_LAST = r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ].*)?$"
_OF_OLD = {"ymd": "$1-$2-$3", "dmy": "$3-$2-$1", "mdy": "$3-$1-$2"}
_NOTES = {
    "dmy": "day first",
    "mdy": "month first",
    "dmy2": "day first, years of two digits",
    "mdy2": "month first, years of two digits",
    "ymd2": "year first, of two digits",
    "compact": "dates such as 20240131",
    **dict.fromkeys(EPOCHS, "seconds since 1970"),
}
_PARTS = ("year", "month", "weekday", "elapsed days")
_PERIODIC = ("hour sine", "hour cosine", "weekday sine", "weekday cosine", "month sine", "month cosine")
_TYPES = (pl.Date, pl.Datetime)
_EPOCH_NAME = re.compile(r"(?i:timestamp|epoch|unix|_utc$)|(?:^|[_\W])[tT][sS]$|[a-z]T[sS]$")
_EPOCH_YEARS = 1e8, 4.2e9  # seconds: from 1973 to 2103


class Dates(Kind):
    """A day in each cell, and the time of day if most cells have one.

    A form is an order of day, month and year; then "time" if the time of day is used, and "zone" or "zone?" if
    the time zone is said in all or some cells. The time is that of the clock on the wall, as written.
    """

    name = "date"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Dates in the order of day, month and year in which most cells can be read."""
        if filled.dtype in _TYPES:
            times = _times(read_moments(filled, ""), len(filled))
            return Column(
                filled.name, self.name, "with the time of day" * bool(times), f"ymd{times}" if times else ""
            )
        if filled.dtype.is_numeric():
            return _numeric(filled)
        if filled.dtype != pl.String or not len(filled):
            return None
        if not _may_be_dates(some_of(filled, FEW)):
            return _epoch(filled)  # most columns leave here, before the slow reading
        return _written(filled)

    def feature_names(self, column: Column) -> list[str]:
        parts = (*_PARTS, *_PERIODIC) if _uses_time(column.form) else _PARTS
        return [f"{column.name}: {part}" for part in parts]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        if not _uses_time(column.form):
            return _calendar(_read_days(cells, column.form or "ymd"))
        moments = _read_times(cells, column.form)
        day, hour = _calendar(moments.days), moments.hours.to_numpy()
        day[:, 3] += hour / 24
        angles = 2 * np.pi * np.column_stack([hour / 24, (day[:, 2] - 1) / 7, (day[:, 1] - 1) / 12])
        waves = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(angles), len(_PERIODIC))
        return np.column_stack([day, waves])

    def expected(self, column: Column) -> str:
        order, _, rest = column.form.partition(" ")
        if order in EPOCHS:
            return f"{_units(order)} since 1970 such as {example(order)}"
        if not _uses_time(column.form):
            return f"dates such as {example(order)}"
        zone = rest.endswith("zone")
        return f"dates with a time of day{' and a zone' * zone} such as {example(order)} 10:30{'Z' * zone}"


def _uses_time(form: str) -> bool:
    return "time" in form.split(" ") or form.partition(" ")[0] in EPOCHS


def _units(order: str) -> str:
    return {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[order.split("-")[1]]


def _calendar(days: pl.Series) -> NDArray[np.float64]:
    """Year, month, weekday and days since 1970."""
    parts = [days.dt.year(), days.dt.month(), days.dt.weekday(), days.to_physical()]
    return np.column_stack([part.cast(pl.Float64).to_numpy() for part in parts])


# ---------------------------------------------------------------- reading


def _read_days(cells: pl.Series, form: str) -> pl.Series:
    """Days, null where there is none; whatever follows one of the first three orders is passed over."""
    if cells.dtype in _TYPES:
        return cells.cast(pl.Date, strict=False)
    if form not in _OF_OLD or cells.dtype != pl.String:
        return read_moments(cells, form).days
    pattern = _YEAR_FIRST if form == "ymd" else _YEAR_LAST
    cells = cells.str.strip_chars()
    cells = cells.set(~cells.str.contains(pattern).fill_null(False), None)
    return cells.str.replace(pattern, _OF_OLD[form]).str.to_date("%Y-%m-%d", strict=False)


def _read_times(cells: pl.Series, form: str) -> Moments:
    """Days and hours, both null where one is, or where a zone is said and should not be or the other way round."""
    order, *rest = form.split(" ")
    moments = read_moments(cells, order)
    bad = moments.days.is_null() | moments.hours.is_null()
    if order not in EPOCHS and cells.dtype == pl.String and "zone?" not in rest:
        bad |= ~moments.zoned if "zone" in rest else moments.zoned
    return Moments(moments.days.set(bad, None), moments.hours.set(bad, None), moments.zoned)


# ---------------------------------------------------------------- finding


def _may_be_dates(sample: pl.Series) -> bool:
    old = sample.str.contains(_YEAR_FIRST) | sample.str.contains(_YEAR_LAST)
    return any((old if order in _OF_OLD else may_be(sample, order)).sum() >= len(sample) / 2 for order in ORDERS)


def _written(filled: pl.Series) -> Column | None:
    """Dates as text, in the order in which most can be read; years of two digits, if only one order fits."""
    some = some_of(filled, MANY)
    orders = [order for order in ORDERS if 2 * _read_days(some, order).count() >= len(some)]
    readable = {order: int(_read_days(filled, order).count()) for order in orders}
    best = max(readable, key=lambda order: readable[order], default="")
    if not best:
        return None
    if readable[best] < READABLE * len(filled):
        return None
    equal = [order for order in orders if readable[order] == readable[best]]
    if best in TWO_DIGITS and len(equal) > 1:
        return None
    notes = [_NOTES[best]] if best in _NOTES else []
    assumed = best == "dmy" and "mdy" in equal
    if assumed:
        notes = ["day first assumed, month first would fit too"]
    moments = read_moments(filled, best)
    times = _times(moments, len(filled))
    notes += ["with the time of day"] * bool(times)
    if not times and moments.hours.n_unique() > 2:  # nothing, and two times
        notes.append("the time of day, which some cells have, is not used")
    n_odd = len(filled) - (int(_read_times(filled, best + times).days.count()) if times else readable[best])
    notes += [f"{n_odd:,} cells that are no date count as missing"] * (n_odd > 0)
    return Column(filled.name, Dates.name, ", ".join(notes), best + times, missing=n_odd > 0, doubtful=assumed)


def _times(moments: Moments, n: int) -> str:
    """What a form says of the time of day; nothing, if it is the same everywhere or not said in most cells."""
    there = moments.days.is_not_null() & moments.hours.is_not_null()
    if moments.hours.filter(there).n_unique() < 2 or there.sum() < READABLE * n:
        return ""
    n_zoned = (moments.zoned & there).sum()
    zone = " zone" if n_zoned >= READABLE * n else " zone?" if n_zoned > (1 - READABLE) * n else ""
    return f" time{zone}"


def _numeric(filled: pl.Series) -> Column | None:
    """Numbers such as 20240131; or seconds since 1970, if the column is called so."""
    whole = filled.dtype.is_integer() or bool((filled == filled.floor()).all())
    if whole and len(filled) and filled.min() > 19_000_000 and filled.max() < 21_000_000:  # type: ignore[operator]
        days = read_moments(filled, "compact").days
        if days.count() >= READABLE * len(filled):
            n_odd = days.null_count()
            return Column(filled.name, Dates.name, _NOTES["compact"], "compact", missing=n_odd > 0)
    return _epoch(filled)


def _epoch(filled: pl.Series) -> Column | None:
    """Seconds, or thousandths of them and so on, since 1970; only in a column that is called so."""
    if not _EPOCH_NAME.search(filled.name):
        return None
    numbers = filled.cast(pl.Float64, strict=False)
    if numbers.null_count():
        return None
    low, high = _EPOCH_YEARS
    for order, per_second in EPOCHS.items():
        if bool(numbers.is_between(low * per_second, high * per_second).all()):
            return Column(filled.name, Dates.name, f"{_units(order)} since 1970", order)
    return None
