"""Numbers however they are written, and only as they were written first."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from chary.tables.columns.column import Column
from chary.tables.columns.numbers import Numbers, read_numbers, why_no_numbers

N = 60
KIND = Numbers()


def written_otherwise(cells, column):
    """As ``chary.tables.forms`` puts the two answers together."""
    doubted, proven = KIND.doubted(cells, column)
    odd = doubted if not proven and len(doubted) > len(cells) / 2 else KIND.unread(cells, column)
    return odd.to_list()


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([f"{i}.5" for i in range(N)], ""),
        ([f"{i},5" for i in range(N)], "decimal comma"),
        (["900", "1,200", "15,000", "850", "2,500"] * 12, "thousands separated by commas"),
        ([*["900", "12"] * 100, "1,200"], "thousands separated by commas"),
        (["1,200", "15,000.50", "1,234,567"] * 20, "thousands separated by commas"),
        (["1,200", "15,000", "0,125"] * 20, "decimal comma"),
        (["1,200", "15,000", "2,5"] * 20, "decimal comma"),
        (
            [*[str(i % 9) for i in range(N - 1)], "1 or 2, who knows"],
            "1 cells that are no number count as missing",
        ),
        ([*[str(i % 9) for i in range(N - 1)], "oops"], "1 cells that are no number count as missing"),
        ([*["1,5", "2"] * 100, "oops"], "decimal comma, 1 cells that are no number count as missing"),
    ],
)
def test_notes(cells, note):
    column = KIND.find(pl.Series("x", cells))
    assert (column.kind, column.note, column.missing) == ("numeric", note, "missing" in note)


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "b"],
        [*["1"] * 9, "x"],
        [True, False],
        [dt.date(2024, 1, 1), dt.date(2024, 1, 2)],
        [[1], [2]],
        [b"1", b"2"],
        [1e300, -1e300],
    ],
)
def test_what_is_no_number(cells):
    assert KIND.find(pl.Series("x", cells)) is None


def test_objects_of_python_are_no_numbers():
    assert KIND.find(pl.Series("x", [object(), object()], dtype=pl.Object)) is None


def test_one_number_is_enough_where_somebody_says_so():
    column = KIND.find(pl.Series("x", ["1,5", "a", "b"]), forced=True)
    assert (column.form, column.note) == ("comma", "decimal comma, 2 cells that are no number count as missing")
    assert KIND.find(pl.Series("x", ["a", "b"]), forced=True) is None
    assert KIND.find(pl.Series("id", range(N)), forced=True).kind == "numeric"


def test_numbers_that_count_the_rows_are_an_identifier():
    assert KIND.find(pl.Series("x", [str(i) for i in range(N)])).kind == "identifier"
    assert KIND.find(pl.Series("x", [*[str(i) for i in range(200)], "oops"])).kind == "numeric"


@pytest.mark.parametrize(
    ("learned", "new", "expected"),
    [
        (["900", "1,200", "15,000"], ["900", "1,200", "15,000.5", "1500"], [900, 1200, 15000.5, 1500]),
        (["1,5", "2,25", "1.200,5"], ["1,5", "1.200", "7"], [1.5, 1200, 7]),
        (["1.5", "2.25", "7"], ["1.5", "1e2", ".5", " 3 "], [1.5, 100, 0.5, 3]),
        ([1.5, 2.5], [float("inf"), 1e100, -3, None], [np.nan, np.nan, -3, np.nan]),
    ],
)
def test_numbers_are_read_as_they_are_written(learned, new, expected):
    column = KIND.find(pl.Series("x", learned))
    assert KIND.feature_names(column) == ["x"]
    np.testing.assert_array_equal(KIND.read(pl.Series(new), column), np.array(expected, dtype=float)[:, None])


@pytest.mark.parametrize("cells", [[dt.date(2024, 1, 1)], [[1]], [b"1"]])
def test_cells_of_other_types_hold_no_number(cells):
    numbers = read_numbers(pl.Series(cells), "")
    assert (numbers.dtype, numbers.to_list()) == (pl.Float64, [None])


@pytest.mark.parametrize(
    ("form", "cells", "unread"),
    [
        ("", ["1.5", "1,5", "x"], ["1,5", "x"]),
        ("comma", ["1.5", "2.5", "3"], ["1.5", "2.5"]),  # no comma at all, and points that may be decimal ones
        ("comma", ["1.500", "2", "3", "4"], []),
        ("comma", ["1.500", "2.500", "3,5", "1.5"], ["1.5"]),
        ("thousands", ["1,234.5", "1,5"], ["1,5"]),
        ("comma", [1.5, 2.5], []),
        ("", [1e300, 2e300], []),  # too large, which is no matter of writing
    ],
)
def test_what_is_written_otherwise(form, cells, unread):
    column = Column("x", "numeric", form=form)
    assert written_otherwise(pl.Series(cells), column) == unread
    assert KIND.ambiguous(column) == (form == "comma")


@pytest.mark.parametrize(
    ("form", "example"), [("", "1234.5"), ("comma", "1234,5"), ("thousands", "1,234.5"), ("of old", "1234.5")]
)
def test_what_is_expected_is_shown_by_an_example(form, example):
    assert KIND.expected(Column("x", "numeric", form=form)).endswith(f"such as {example}")


@pytest.mark.parametrize(
    ("learned", "new", "unread", "expected"),
    [
        (["$1,200", "$900"], ["€5", "$1,300", "5"], ["€5", "5"], "numbers in $ such as $1,234.5"),
        (["5 km", "7 km"], ["5 mi", "5 km"], ["5 mi"], "numbers in km such as 12.5 km"),
        (["12,5 %", "3 %"], ["12.5 %", "1,5 %"], ["12.5 %"], "numbers in percent such as 1.234,5 %"),
        (
            ["12,5 €", "3,5 €"],
            ["1.125 €", "2.375 €", "4 €"],
            ["1.125 €", "2.375 €"],
            "numbers in € such as €1.234,5",
        ),
        (["5 km", "7 km"], [5.0, 7.0], [5.0, 7.0], "numbers in km such as 12.5 km"),
        (["1'200", "900"], [1200.0], [], "numbers such as 1'234.5"),
        (["3/5", "4/5"], ["7/10"], ["7/10"], "numbers out of 5 such as 12.5 /5"),
    ],
)
def test_another_unit_or_mark_is_written_otherwise(learned, new, unread, expected):
    column = KIND.find(pl.Series("x", learned))
    assert written_otherwise(pl.Series(new), column) == unread
    assert KIND.expected(column) == expected


def test_a_unit_and_other_doubts_are_told():
    assert KIND.find(pl.Series("x", ["5 km", "7 km"])).doubtful
    assert not KIND.find(pl.Series("x", ["$5", "$7"])).doubtful
    assert not KIND.find(pl.Series("x", ["5 %", "7 %"])).doubtful
    assert KIND.find(pl.Series("x", ["5", "a", "b"]), forced=True).doubtful
    assert KIND.find(pl.Series("x", ["00501", "90210"])).doubtful
    assert not KIND.find(pl.Series("x", ["01", "12"])).doubtful
    coded = KIND.find(pl.Series("x", [*range(18, 80), *[99] * 5]))
    assert (coded.doubtful, coded.note) == (True, "99 in 5 cells may mean missing")


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["red", "5"], ""),
        ([1, 2], ""),
        (["5", "6"], ""),
        (["5 km", "3 mi"], "no numbers: units differ ('km' and 'mi')"),
        (["5", "6", "T"], "67% of the cells are numbers, others such as 'T' are not"),
        (["1-5", "6-10"], "most cells hold digits, but are no numbers"),
    ],
)
def test_why_there_are_no_numbers(cells, why):
    assert why_no_numbers(pl.Series(cells)) == why
