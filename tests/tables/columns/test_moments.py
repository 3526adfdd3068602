"""The day and the hour that a cell means."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.tables.columns.moments import ORDERS, clock_hours, example, may_be, read_moments

FORMATS = {
    "ymd": "%Y-%m-%d",
    "dmy": "%d.%m.%Y",
    "mdy": "%m/%d/%Y",
    "dby": "%d %b %Y",
    "bdy": "%B %d, %Y",
    "compact": "%Y%m%d",
    "ymd2": "%y-%m-%d",
    "dmy2": "%d.%m.%y",
    "mdy2": "%m/%d/%y",
}
moments = st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2067, 12, 31)).map(lambda m: m.replace(microsecond=0))


@given(moments, st.sampled_from(list(FORMATS)), st.sampled_from(["", " %H:%M:%S", " %I:%M:%S %p"]))
def test_a_moment_is_read_as_python_writes_it(moment, order, time):
    if order == "compact" and time:
        time = "T%H%M%S"
    read = read_moments(pl.Series([moment.strftime(FORMATS[order] + time)]), order)
    assert read.days.to_list() == [moment.date()]
    hours = moment.hour + moment.minute / 60 + moment.second / 3600
    assert read.hours.to_list() == ([pytest.approx(hours)] if time else [None])
    assert read.zoned.to_list() == [False]


@given(moments)
def test_ctime_and_mail_dates_are_read_as_python_writes_them(moment):
    mail = read_moments(pl.Series([moment.strftime("%a, %d %b %Y %H:%M:%S +0000")]), "dby")
    ctime = read_moments(pl.Series([moment.strftime("%a %b %d %H:%M:%S +0000 %Y")]), "ctime")
    for read in (mail, ctime):
        assert (read.days.to_list(), read.zoned.to_list()) == ([moment.date()], [True])


@given(st.integers(0, 4 * 10**9), st.sampled_from(["s", "ms", "us", "ns"]))
def test_seconds_since_1970(seconds, unit):
    scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    for cells in (pl.Series([seconds * scale]), pl.Series([str(seconds * scale)])):
        read = read_moments(cells, f"epoch-{unit}")
        assert read.days.to_list() == [moment.date()]
        assert read.hours[0] == pytest.approx(moment.hour + moment.minute / 60 + moment.second / 3600, abs=1e-3)


@pytest.mark.parametrize(
    "cell", ["2024-13-01", "2024-02-30", "31 Foo 2024", "2024-01-31 soon", "20241301", "x", "", None]
)
def test_what_is_no_day(cell):
    for order in ORDERS:
        assert read_moments(pl.Series([cell], dtype=pl.String), order).days.to_list() == [None]


@pytest.mark.parametrize(
    "cells",
    [pl.Series([True]), pl.Series([[1]]), pl.Series([b"x"]), pl.Series([float("inf")]), pl.Series([1e300])],
)
def test_cells_of_other_types_hold_no_moment(cells):
    for order in (*ORDERS, "epoch-s", "unheard-of"):
        assert read_moments(cells, order).days.to_list() == [None]


def test_the_hour_of_a_typed_moment_is_that_of_its_zone():
    cells = (
        pl.Series([dt.datetime(2024, 1, 31, 23, 30)])
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone("Europe/Berlin")
    )
    read = read_moments(cells, "ymd")
    assert (read.days[0], read.hours[0], read.zoned[0]) == (dt.date(2024, 2, 1), 0.5, True)


@pytest.mark.parametrize(
    ("cell", "hours"),
    [
        ("12:30", 12.5),
        ("0:00", 0),
        ("24:00", None),
        ("12:60", None),
        ("12:05 am", 5 / 60),
        ("13:00 pm", None),
        ("1:2", None),
    ],
)
def test_the_clock(cell, hours):
    assert clock_hours(pl.Series([cell])).to_list() == [None if hours is None else pytest.approx(hours)]


def test_typed_times_and_others():
    assert clock_hours(pl.Series([dt.time(6, 30)])).to_list() == [6.5]
    assert clock_hours(pl.Series([7])).to_list() == [None]


def test_every_order_has_an_example_of_itself():
    for order in ORDERS:
        assert may_be(pl.Series([example(order)]), order).to_list() == [True]
        assert read_moments(pl.Series([example(order)]), order).days.to_list() == [dt.date(2024, 1, 31)]
