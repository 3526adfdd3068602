"""Dates in whatever order of day, month and year, and only in that."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from chary.tables.columns.column import Column
from chary.tables.columns.dates import Dates

N = 60
KIND = Dates()
DAYS = [dt.date(2024, 1, 31), dt.date(2023, 12, 25), dt.date(2024, 2, 29)]


@pytest.mark.parametrize(
    ("cells", "form", "note"),
    [
        ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], "ymd", ""),
        ([f"{i % 28 + 1}.1.2024" for i in range(N)], "dmy", "day first"),
        (
            [f"{i % 12 + 1}/{i % 12 + 1}/2024" for i in range(N)],
            "dmy",
            "day first assumed, month first would fit too",
        ),
        ([f"{i % 12 + 1}/{i % 28 + 1}/2024" for i in range(N)], "mdy", "month first"),
        ([*["2024-01-31"] * 99, "soon"], "ymd", "1 cells that are no date count as missing"),
        ([*["31.1.2024"] * 99, "soon"], "dmy", "day first, 1 cells that are no date count as missing"),
        (DAYS, "", ""),
        ([dt.datetime(2024, 1, 1, 12)], "", ""),
        ([dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 1, 13)], "ymd time", "with the time of day"),
        (["2024-01-31 10:30", "2024-02-01 11:00"], "ymd time", "with the time of day"),
        (["2024-01-31 10:30Z", "2024-02-01 11:00+01:00"], "ymd time zone", "with the time of day"),
        (["2024-01-31 10:30", "2024-02-01 11:00+01:00"], "ymd time zone?", "with the time of day"),
        (
            ["2024-01-31 10:30", "2024-02-01 11:15", "2024-02-01"],
            "ymd",
            "the time of day, which some cells have, is not used",
        ),
        (
            [*["2024-01-31 10:30", "2024-02-01 11:15"] * 50, "2024-02-01"],
            "ymd time",
            "with the time of day, 1 cells that are no date count as missing",
        ),
        (["31 Jan 2024", "1. Feb. 2024"], "dby", ""),
        ([20240131, 20240201], "compact", "dates such as 20240131"),
        ([20240131.0, 20240201.0], "compact", "dates such as 20240131"),
        (["1/31/24", "2/1/24"], "mdy2", "month first, years of two digits"),
    ],
)
def test_forms_and_notes(cells, form, note):
    column = KIND.find(pl.Series("x", cells))
    doubtful = "assumed" in note
    assert column == Column("x", "date", note, form, missing="missing" in note, doubtful=doubtful)


def test_seconds_since_1970_only_where_the_name_says_so():
    for name in ("timestamp", "created_utc", "unix_time", "epochSeconds", "event_ts", "eventTs"):
        for cells in ([1706695800, 1706799999], ["1706695800", "1706799999"]):
            column = KIND.find(pl.Series(name, cells))
            assert (column.form, column.note) == ("epoch-s", "seconds since 1970")
            assert KIND.unread(pl.Series(["2024-01-31"]), column).to_list() == ["2024-01-31"]
            assert KIND.expected(column) == "seconds since 1970 such as 1706695800"
    for name in ("time", "points", "posts", "n"):
        assert KIND.find(pl.Series(name, [1706695800, 1706799999])) is None
    assert KIND.find(pl.Series("timestamp", [3, 5])) is None
    assert KIND.find(pl.Series("timestamp", ["soon", "later"])) is None


@pytest.mark.parametrize(
    "cells",
    [
        ["soon", "later"],
        ["2024-13-31", "2024-99-99"],
        ["2024-01-31", *["soon"] * 9],
        [20241331],
        [2024.5],
        [[DAYS[0]]],
        ["01/02/03", "04/05/06"],
        [],
        [True],
    ],
)
def test_what_is_no_date(cells):
    assert KIND.find(pl.Series("x", cells)) is None


@pytest.mark.parametrize(
    "cells", [DAYS, [day.isoformat() for day in DAYS], [f" {day:%d.%m.%Y 12:00}" for day in DAYS]]
)
def test_dates_become_year_month_weekday_and_days(cells):
    column = KIND.find(pl.Series("d", [cell.strip() if isinstance(cell, str) else cell for cell in cells]))
    assert KIND.feature_names(column) == ["d: year", "d: month", "d: weekday", "d: elapsed days"]
    expected = [[d.year, d.month, d.isoweekday(), (d - dt.date(1970, 1, 1)).days] for d in DAYS]
    np.testing.assert_array_equal(KIND.read(pl.Series(cells), column), expected)


@pytest.mark.parametrize(
    ("form", "cells", "unread", "expected"),
    [
        ("ymd", ["2024-01-31", "31.01.2024"], ["31.01.2024"], "dates such as 2024-01-31"),
        ("dmy", ["31.01.2024", "01/31/2024"], ["01/31/2024"], "dates such as 31.01.2024"),
        ("mdy", ["01/31/2024", "31/01/2024"], ["31/01/2024"], "dates such as 01/31/2024"),
        ("", [20240131], [20240131], "dates such as 2024-01-31"),
        ("ymd", [[1]], [[1]], "dates such as 2024-01-31"),
        ("dby", ["31 Jan 2024", "2024-01-31"], ["2024-01-31"], "dates such as 31 Jan 2024"),
        (
            "ymd time",
            ["2024-01-31 10:30", "2024-01-31"],
            ["2024-01-31"],
            "dates with a time of day such as 2024-01-31 10:30",
        ),
        (
            "ymd time",
            ["2024-01-31 10:30", "2024-01-31 10:30Z"],
            ["2024-01-31 10:30Z"],
            "dates with a time of day such as 2024-01-31 10:30",
        ),
        (
            "ymd time zone",
            ["2024-01-31 10:30", "2024-01-31 10:30Z"],
            ["2024-01-31 10:30"],
            "dates with a time of day and a zone such as 2024-01-31 10:30Z",
        ),
        (
            "ymd time zone?",
            ["2024-01-31 10:30", "2024-01-31 10:30Z"],
            [],
            "dates with a time of day such as 2024-01-31 10:30",
        ),
        ("ymd time", [dt.datetime(2024, 1, 31, 10)], [], "dates with a time of day such as 2024-01-31 10:30"),
    ],
)
def test_what_is_written_otherwise(form, cells, unread, expected):
    column = Column("d", "date", form=form)
    assert KIND.unread(pl.Series(cells), column).to_list() == unread
    assert KIND.expected(column) == expected
