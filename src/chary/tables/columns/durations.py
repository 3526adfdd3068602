"""Cells in; whether they say how long something took, and seconds out."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import FEW, READABLE, Column, Kind, some_of

_NAME = re.compile(
    r"(?i)durat|elapsed|length|runtime|run_?time|took|taken|spent|dauer|laufzeit|lap|pace|wait|uptime|downtime|"
    r"interval|delay|latency|split|finish"
)
_CLOCK = (
    r"^(?P<sign>-)?(?:(?P<days>\d+) days?,? )?(?:(?P<hours>\d+):)?(?P<minutes>\d{1,4}):"
    r"(?P<seconds>\d{2}(?:[.,]\d+)?)$"
)
_UNITS = {
    "weeks": (604_800, r"w|wks?|weeks?"),
    "days": (86_400, r"d|days?"),
    "hours": (3600, r"h|hrs?|hours?"),
    "minutes": (60, r"m|mins?|minutes?"),
    "seconds": (1, r"s|secs?|seconds?"),
}
_NUMBER = r"\d+(?:[.,]\d+)?"
_WORDS = "".join(
    rf"(?:(?P<{unit}>{_NUMBER}) ?(?:{words})\.?,? ?(?:and )?)?" for unit, (_, words) in _UNITS.items()
)
_WORDS = rf"(?i)^(?P<sign>-)?{_WORDS}$"
_ISO = (
    r"^(?P<sign>-)?P(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:[.,]\d+)?)S)?)?$"
)
_FORMS = {"clock": (_CLOCK, "01:30:00"), "words": (_WORDS, "1h 30m"), "iso": (_ISO, "PT1H30M")}


class Durations(Kind):
    """How long something took in each cell; in a:b, a counts minutes and b seconds."""

    name = "duration"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Times that are called a duration or exceed a day; or several units of time."""
        if filled.dtype == pl.Duration:
            return Column(filled.name, self.name, "in seconds")
        if filled.dtype != pl.String or not len(filled):
            return None
        sample = some_of(filled, FEW)
        for form in _FORMS:
            if read_durations(sample, form).count() < len(sample) / 2:
                continue
            n_odd = read_durations(filled, form).null_count()
            if len(filled) - n_odd < READABLE * len(filled) or not _is_meant(filled, form):
                continue
            note = "a duration, in seconds" + f", {n_odd:,} cells that are none count as missing" * (n_odd > 0)
            return Column(filled.name, self.name, note, form, missing=n_odd > 0)
        return None

    def feature_names(self, column: Column) -> list[str]:
        return [column.name]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        return read_durations(cells, column.form).to_numpy()[:, None]

    def expected(self, column: Column) -> str:
        return f"durations such as {_FORMS.get(column.form, _FORMS['clock'])[1]}"


def named_like_a_duration(name: str) -> bool:
    """Whether a column is called so that 01:30 in it is how long something took.

    >>> named_like_a_duration("lap_time"), named_like_a_duration("departure")
    (True, False)
    """
    return _NAME.search(name) is not None


def read_durations(cells: pl.Series, form: str) -> pl.Series:
    """Seconds, null where there are none."""
    if isinstance(cells.dtype, pl.Duration):
        return cells.dt.total_microseconds().cast(pl.Float64) / 1e6
    if cells.dtype != pl.String or form not in _FORMS:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.Float64)
    cells = cells.str.strip_chars().str.replace_all(r"[\s\u00a0\u202f]+", " ")
    fields = cells.str.extract_groups(_FORMS[form][0]).struct.unnest()
    total = pl.Series(cells.name, [0.0]).new_from_index(0, len(cells))
    told = pl.Series([False]).new_from_index(0, len(cells))
    for unit, (seconds, _) in _UNITS.items():
        if unit in fields.columns:
            number = fields[unit].str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
            total, told = total + seconds * number.fill_null(0.0), told | number.is_not_null()
    total = total * (1 - 2 * fields["sign"].is_not_null().cast(pl.Int8))
    return total.set(~told, None)


def _is_meant(filled: pl.Series, form: str) -> bool:
    """Whether it is a duration: 01:30:00 may be a time of day, and 5 m metres, unless something says otherwise."""
    if form == "iso":
        return True
    fields = filled.str.extract_groups(_FORMS[form][0]).struct.unnest()
    if form == "words":
        return sum(fields[unit].is_not_null().any() for unit in _UNITS) > 1
    first = fields["hours"].fill_null(fields["minutes"]).cast(pl.Float64, strict=False)
    return named_like_a_duration(filled.name) or fields["days"].is_not_null().any() or bool((first >= 24).any())
