"""How long something took, in seconds."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.tables.columns.durations import Durations, read_durations

KIND = Durations()


@given(st.integers(0, 10**6))
def test_a_duration_is_read_as_it_is_written(seconds):
    h, m, s = seconds // 3600, seconds // 60 % 60, seconds % 60
    assert read_durations(pl.Series([f"{h:02d}:{m:02d}:{s:02d}"]), "clock").to_list() == [seconds]
    assert read_durations(pl.Series([f"{h}h {m} min, {s}s"]), "words").to_list() == [seconds]
    assert read_durations(pl.Series([f"PT{h}H{m}M{s}S"]), "iso").to_list() == [seconds]
    days = str(dt.timedelta(seconds=seconds))
    assert read_durations(pl.Series([days]), "clock").to_list() == [seconds]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_typed_durations_are_the_same_in_any_unit(unit):
    cells = pl.Series("x", [dt.timedelta(hours=1)], dtype=pl.Duration(unit))
    column = KIND.find(cells)
    assert KIND.read(cells, column).tolist() == [[3600]]
    assert KIND.feature_names(column) == ["x"]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("t", ["12:30:00", "23:10:00"]),  # times of day
        ("x", ["5 m", "12 m"]),  # metres
        ("x", ["soon", "later"]),
        ("duration", ["soon", "later"]),
        ("x", ["P", "PT"]),
        ("x", [3]),
        ("x", []),
    ],
)
def test_what_is_none(name, cells):
    assert KIND.find(pl.Series(name, cells)) is None


@pytest.mark.parametrize(
    ("form", "example"), [("clock", "01:30:00"), ("words", "1h 30m"), ("iso", "PT1H30M"), ("", "01:30:00")]
)
def test_what_is_expected_is_shown_by_an_example(form, example):
    column = KIND.find(pl.Series("duration", ["01:30:00"]))
    assert KIND.expected(column) == "durations such as 01:30:00"
    if form:
        assert read_durations(pl.Series([example]), form).to_list() == [5400]
    assert read_durations(pl.Series(["soon", "", None, "-00:00:05"]), "clock").to_list() == [None, None, None, -5]


def test_odd_cells_are_missing_and_told():
    column = KIND.find(pl.Series("took", [*["1:30"] * 99, "long"]))
    assert (column.form, column.missing) == ("clock", True)
    assert column.note == "a duration, in seconds, 1 cells that are none count as missing"
    assert np.isnan(KIND.read(pl.Series([7]), column)).all()
