"""Cells in; whether they are times of a day such as 12:30, and the hour, straight and around the clock, out."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.columns.column import FEW, READABLE, Column, Kind, some_of
from chary.tables.columns.durations import named_like_a_duration
from chary.tables.columns.moments import clock_hours

_PARTS = ("hour", "hour sine", "hour cosine")


class TimesOfDay(Kind):
    """A time of day in each cell; 23:59 is near 0:00."""

    name = "time"

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Times within a day; a column that is called a duration is none."""
        if filled.dtype == pl.Time:
            return Column(filled.name, self.name)
        if filled.dtype != pl.String or not len(filled) or named_like_a_duration(filled.name):
            return None
        sample = some_of(filled, FEW)
        if clock_hours(sample).count() < len(sample) / 2:
            return None
        n_odd = clock_hours(filled).null_count()
        if len(filled) - n_odd < READABLE * len(filled):
            return None
        note = "a time of day" + f", {n_odd:,} cells that are none count as missing" * (n_odd > 0)
        return Column(filled.name, self.name, note, missing=n_odd > 0)

    def feature_names(self, column: Column) -> list[str]:
        return [f"{column.name}: {part}" for part in _PARTS]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        hours = clock_hours(cells).to_numpy()
        angle = 2 * np.pi * hours / 24
        return np.column_stack([hours, np.sin(angle), np.cos(angle)])

    def expected(self, column: Column) -> str:
        return "times of day such as 12:30"
