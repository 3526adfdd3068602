"""Times of a day, and what is none."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from chary.tables.columns.column import Column
from chary.tables.columns.times import TimesOfDay

KIND = TimesOfDay()


def test_midnight_is_near_the_last_minute():
    column = KIND.find(pl.Series("t", ["23:59", "00:00", "12:00"]))
    assert column == Column("t", "time", "a time of day")
    assert KIND.feature_names(column) == ["t: hour", "t: hour sine", "t: hour cosine"]
    last, first, noon = KIND.read(pl.Series(["23:59", "00:00", "12:00"]), column)[:, 1:]
    assert np.linalg.norm(last - first) < 0.01 < 1.9 < np.linalg.norm(noon - first)


def test_a_few_odd_cells_are_missing():
    column = KIND.find(pl.Series("t", [*["12:30"] * 99, "late"]))
    assert (column.missing, column.note) == (True, "a time of day, 1 cells that are none count as missing")
    assert np.isnan(KIND.read(pl.Series(["late", None]), column)).all()
    assert KIND.unread(pl.Series(["12:30", "late"]), column).to_list() == ["late"]
    assert KIND.expected(column) == "times of day such as 12:30"


def test_typed_times():
    column = KIND.find(pl.Series("t", [dt.time(6, 30)]))
    assert KIND.read(pl.Series([dt.time(6, 30)]), column)[0, 0] == 6.5


@pytest.mark.parametrize(
    ("name", "cells"), [("t", ["late", "early"]), ("duration", ["12:30"]), ("t", ["25:30"]), ("t", [1]), ("t", [])]
)
def test_what_is_none(name, cells):
    assert KIND.find(pl.Series(name, cells)) is None
