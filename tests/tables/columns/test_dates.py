"""Dates in whatever order of day, month and year, times of a day; and what is none."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import TableError, TablePreparation
from chary.tables.columns import find_column
from chary.tables.columns.dates import (
    _ORDERS,
    WRITTEN,
    Dates,
    TimesOfDay,
    _clock_hours,
    _read_moments,
)
from chary.tables.columns.kind import Column

N = 60
KIND, TIMES = Dates(), TimesOfDay()
DAYS = [dt.date(2024, 1, 31), dt.date(2023, 12, 25), dt.date(2024, 2, 29)]


@pytest.mark.parametrize(
    ("cells", "form", "note"),
    [
        ([f"2024-01-{i % 28 + 1:02d}" for i in range(N)], "ymd", ""),
        ([f"{i % 28 + 1}.1.2024" for i in range(N)], "dmy", "day first"),
        (
            ["1/1/2024", "2/2/2024", "12/12/2024"],
            "dmy",
            "read as day first; if not, --dates month-first",
        ),
        ([f"{i % 12 + 1}/{i % 28 + 1}/2024" for i in range(N)], "mdy", "month first"),
        (
            [*["31.1.2024"] * 99, "soon"],
            "dmy",
            "day first, 1 cells are not dates and count as missing",
        ),
        (DAYS, "", ""),
        ([dt.datetime(2024, 1, 1, 12)], "", ""),
        (
            [dt.datetime(2024, 1, 1, 12), dt.datetime(2024, 1, 1, 13)],
            "ymd time",
            "with the time of day",
        ),
        (["2024-01-31 10:30", "2024-02-01 11:00"], "ymd time", "with the time of day"),
        (["2024-01-31 10:30Z", "2024-02-01 11:00+01:00"], "ymd time", "with the time of day"),
        (["2024-01-31 10:30", "2024-02-01 11:00+01:00"], "ymd time", "with the time of day"),
        (["2024-01-31 10:30", "2024-02-01 11:15", "2024-02-01"], "ymd", ""),
        (
            [*["2024-01-31 10:30", "2024-02-01 11:15"] * 50, "2024-02-01"],
            "ymd time",
            "with the time of day, 1 cells are not dates and count as missing",
        ),
        (["31 Jan 2024", "1. Feb. 2024"], "dby", ""),
        ([20240131, 20240201], "compact", ""),
    ],
)
def test_forms_and_notes(cells, form, note):
    column = KIND.find(pl.Series("x", cells))
    doubtful = "if not" in note
    assert column == Column("x", "date", note, form, missing="missing" in note, doubtful=doubtful)


def test_what_is_no_date():
    texts = (["soon", "later"], ["2024-13-31", "2024-99-99"], ["2024-01-31", *["soon"] * 9])
    for cells in (*texts, [20241331], [20249931, 20248825], [2024.5], [[DAYS[0]]], [], [True]):
        assert KIND.find(pl.Series("x", cells)) is None


@pytest.mark.parametrize(
    ("cells", "orders"),
    [
        (
            ["03/04/2024", "05/06/2023"],
            {"": "dmy", "day-first": "dmy", "month-first": "mdy", "year-first": "dmy"},
        ),
        (["10/07/18", "24/11/19", "03/01/18"], {"": "dmy2", "year-first": "ymd2"}),
        (["10.07.18", "28.11.19", "03.01.18"], {"": "dmy2"}),
        (["18-07-10", "18-11-25", "19-01-03"], {"": "dmy2", "year-first": "ymd2"}),
        (["01/02/03", "04/05/06"], {"": "dmy2", "month-first": "mdy2", "year-first": "ymd2"}),
        (
            ["1/31/2024", "2/1/2024"],
            {"": "mdy", "day-first": "mdy"},
        ),  # what can be read in one way only
    ],
)
def test_dates_that_can_be_read_in_several_ways_are_named_and_decided(cells, orders):
    for written, order in orders.items():
        column = find_column(pl.Series("x", cells * 5), dates=written)
        assert column.form.partition(":")[0] == order
        decided = bool(written) and order in WRITTEN[written]
        is_open = len(set(orders.values())) > 1 and not decided
        assert (column.doubtful, "if not, --dates" in column.note) == (is_open, is_open)
    with pytest.raises(TableError, match="pass day-first, month-first or year-first"):
        find_column(pl.Series("x", cells), dates="us")


def test_the_order_of_dates_is_an_option_of_a_preparation():
    table = {"start": ["03/04/2024", "05/06/2024"] * 4, "end": ["03/05/2024", "05/07/2024"] * 4}
    found = TablePreparation(dates=["day-first", "end=month-first"]).fit(table)
    assert [column.form for column in found.columns_] == ["dmy", "mdy"]


def test_dates_become_year_month_weekday_and_days():
    expected = [[d.year, d.month, d.isoweekday(), (d - dt.date(1970, 1, 1)).days] for d in DAYS]
    for cells in (
        DAYS,
        [day.isoformat() for day in DAYS],
        [f" {day:%d.%m.%Y 12:00}" for day in DAYS],
    ):
        column = KIND.find(
            pl.Series("d", [cell.strip() if isinstance(cell, str) else cell for cell in cells])
        )
        assert KIND.feature_names(column) == [
            "d: year",
            "d: month",
            "d: weekday",
            "d: elapsed days",
        ]
        np.testing.assert_array_equal(KIND.read(pl.Series(cells), column), expected)


@pytest.mark.parametrize(
    ("form", "cells", "unread", "expected"),
    [
        ("ymd", ["2024-01-31", "31.01.2024"], [1], "dates such as 2024-01-31"),
        ("dmy", ["31.01.2024", "01/31/2024"], [1], "dates such as 31.01.2024"),
        ("mdy", ["01/31/2024", "31/01/2024"], [1], "dates such as 01/31/2024"),
        ("", [20240131], [0], "dates such as 2024-01-31"),
        ("dby", ["31 Jan 2024", "01/31/2024"], [1], "dates such as 31 Jan 2024"),
        (
            "ymd time",
            ["2024-01-31 10:30", "2024-01-31", "2024-01-31 10:30Z"],
            [1],
            "dates with a time of day such as 2024-01-31 10:30",
        ),
        (
            "dmy2:2030 time",
            ["31.01.24 10:30", "31.01.24 10:30Z", "31.01.24"],
            [2],
            "dates with a time of day such as 31.01.24 10:30",
        ),
    ],
)
def test_what_is_written_otherwise(form, cells, unread, expected):
    column = Column("d", "date", form=form)
    assert np.flatnonzero(np.isnan(KIND.read(pl.Series(cells), column)[:, 0])).tolist() == unread
    assert KIND.expected(column) == expected


# ---------------------------------------------------------------- moments

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
moments = st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2067, 12, 31)).map(
    lambda m: m.replace(microsecond=0)
)


@settings(max_examples=20)
@given(moments, st.sampled_from(list(FORMATS)), st.sampled_from(["", " %H:%M:%S", " %I:%M:%S %p"]))
def test_a_moment_is_read_as_python_writes_it(moment, order, time):
    read = _read_moments(pl.Series([moment.strftime(FORMATS[order] + time)]), order)
    assert read.days.to_list() == [moment.date()]
    hours = moment.hour + moment.minute / 60 + moment.second / 3600
    assert read.hours.to_list() == ([pytest.approx(hours)] if time else [None])


def test_a_date_of_a_letter():
    read = _read_moments(pl.Series(["Wed, 31 Jan 2024 10:30:00 +0000"]), "dby")
    assert (read.days.to_list(), read.hours.to_list()) == ([DAYS[0]], [10.5])


def test_what_is_no_moment():
    cells = [
        "2024-13-01",
        "2024-02-30",
        "31 Foo 2024",
        "2024-01-31 soon",
        "20241301",
        "x",
        "",
        None,
    ]
    for order in _ORDERS:
        assert _read_moments(pl.Series(cells, dtype=pl.String), order).days.null_count() == len(
            cells
        )
    others = (
        pl.Series([True]),
        pl.Series([[1]]),
        pl.Series([b"x"]),
        pl.Series([float("inf")]),
        pl.Series([1e300]),
    )
    for order in _ORDERS:
        assert all(_read_moments(cells, order).days.to_list() == [None] for cells in others)


def test_the_hour_of_a_typed_moment_is_that_of_its_zone():
    utc = pl.Series([dt.datetime(2024, 1, 31, 23, 30)]).dt.replace_time_zone("UTC")
    read = _read_moments(utc.dt.convert_time_zone("Europe/Berlin"), "ymd")
    assert (read.days[0], read.hours[0]) == (dt.date(2024, 2, 1), 0.5)


def test_every_order_has_an_example_of_itself():
    for order, (_, example) in _ORDERS.items():
        assert _read_moments(pl.Series([example]), order).days.to_list() == [dt.date(2024, 1, 31)]


# ---------------------------------------------------------------- times of day


def test_the_clock():
    cells = ["12:30", "0:00", "24:00", "12:60", "12:05 am", "13:00 pm", "1:2"]
    assert _clock_hours(pl.Series(cells)).to_list() == [
        12.5,
        0,
        None,
        None,
        pytest.approx(5 / 60),
        13,
        None,
    ]
    assert _clock_hours(pl.Series([dt.time(6, 30)])).to_list() == [6.5]
    assert _clock_hours(pl.Series([7])).to_list() == [None]


def test_midnight_is_near_the_last_minute():
    column = TIMES.find(pl.Series("t", ["23:59", "00:00", "12:00"]))
    assert column == Column("t", "time", "a time of day")
    assert TIMES.feature_names(column) == ["t: hour", "t: hour sine", "t: hour cosine"]
    last, first, noon = TIMES.read(pl.Series(["23:59", "00:00", "12:00"]), column)[:, 1:]
    assert np.linalg.norm(last - first) < 0.01 < 1.9 < np.linalg.norm(noon - first)
    typed = TIMES.find(pl.Series("t", [dt.time(6, 30)]))
    assert TIMES.read(pl.Series([dt.time(6, 30)]), typed)[0, 0] == 6.5


def test_a_few_odd_cells_are_missing():
    column = TIMES.find(pl.Series("t", [*["12:30"] * 99, "late"]))
    assert (column.missing, column.note) == (
        True,
        "a time of day, 1 cells that are none count as missing",
    )
    assert np.isnan(TIMES.read(pl.Series(["late", None]), column)).all()
    assert TIMES.expected(column) == "times of day such as 12:30"
    for name, cells in ("t", ["late", "early"]), ("t", ["25:30"]), ("t", [1]), ("t", []):
        assert TIMES.find(pl.Series(name, cells)) is None


@pytest.mark.parametrize(
    ("years", "read"),
    [
        ([60, 62, 68], [1960, 1962, 1968]),  # not 2060
        ([98, 99, 0, 26], [1998, 1999, 2000, 2026]),
        ([15, 22, 34], [2015, 2022, 2034]),  # contracts that have not ended, or early birthdays
    ],
)
def test_years_of_two_digits_end_ten_years_from_now(monkeypatch, years, read):
    monkeypatch.setattr("chary.tables.columns.dates._this_year", lambda: 2026)
    cells = pl.Series("x", [f"28-Feb-{year:02d}" for year in years])
    column = KIND.find(cells)
    assert (column.form, column.note) == ("dby:2036", "years of two digits read as 1937 to 2036")
    monkeypatch.undo()  # a model goes on reading as it did
    assert KIND.read(cells, column)[:, 0].tolist() == read
    assert KIND.expected(column) == "dates such as 31 Jan 2024"


def test_of_a_hundred_cells_two_may_be_something_else():
    for n, kind in ((98, "date"), (97, None)):
        cells = [*[f"2024-01-{i % 28 + 1:02d}" for i in range(n)], *["soon"] * (100 - n)]
        found = KIND.find(pl.Series("x", cells))
        assert (found and found.kind) == kind
        times = TIMES.find(pl.Series("x", [*["12:30"] * n, *["soon"] * (100 - n)]))
        assert (times is not None) == (kind is not None)


@pytest.mark.parametrize(
    ("cell", "other", "kind"),
    [
        ("2024-03-{}", "۲۰۲۴/۰۳/۱۲", "date"),
        ("{}.03.2024", "12.03.２０２４", "date"),
        ("{}:30", "1２:30", "time"),
        ("2024-03-{} 12:{}", "2024-03-12 1２:30", "date"),
    ],
)
def test_digits_of_other_scripts_are_missing(cell, other, kind):
    cells = [cell.format(day, day) for day in range(10, 20)] * 6
    column = find_column(pl.Series("d", [*cells, other]))
    assert (column.kind, column.missing) == (kind, True)


def test_months_in_french():
    found = _read_moments(pl.Series(["1 juin 2024", "2 juillet 2024", "3 juil. 2024"]), "dby").days
    assert found.to_list() == [dt.date(2024, 6, 1), dt.date(2024, 7, 2), dt.date(2024, 7, 3)]


def test_months_in_polish_and_greek_of_up_to_twelve_letters():
    cells = ["3 października 2024", "4 Σεπτεμβρίου 2024", "5 Ιουλίου 2024", "6 Ιούνιος 2024"]
    days = _read_moments(pl.Series(cells), "dby").days
    assert [(day.day, day.month) for day in days] == [(3, 10), (4, 9), (5, 7), (6, 6)]
    column = find_column(pl.Series("d", [f"{day} października 2023" for day in range(1, 29)]))
    assert column.kind == "date"


@pytest.mark.parametrize("other", ["31.01.2024", "31 Jan 2024", "31.01.24", "01/31/2024"])
def test_dates_that_begin_with_the_year_may_stand_among_others(other):
    cells = pl.Series("d", [*(f"2024-02-{day:02d}" for day in range(1, 21)), other] * 5)
    column = find_column(cells)
    assert (column.kind, column.missing) == ("date", False)
    days = _read_moments(cells, column.form).days
    assert days[[0, 20]].to_list() == [dt.date(2024, 2, 1), dt.date(2024, 1, 31)]


def test_hours_minutes_and_seconds():
    cells = [
        "10:30:36",
        "23:59:60",
        "10:30:61",
        "10:60:00",
        "24:00:00",
        "12:00 pm",
        "0:30 pm",
        "1:00 am",
    ]
    expected = [10.51, 23 + 59 / 60 + 60 / 3600, None, None, None, 12, 12.5, 1]
    for hours, right in zip(_clock_hours(pl.Series(cells)).to_list(), expected, strict=True):
        assert hours == (right and pytest.approx(right))
    typed = _read_moments(pl.Series([dt.datetime(2024, 1, 31, 10, 30, 36)]), "ymd")
    assert typed.hours.to_list() == [pytest.approx(10.51)]
