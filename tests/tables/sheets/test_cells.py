"""Cells as a spreadsheet writes them are the same; cells of another row are not."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.tables.errors import TableError
from chary.tables.sheets.cells import refuse_moved, same_cell


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("3,3 ", "3.25"),
        ("1.234,50 €", "1234.5"),
        ("1,234.5", "1234.50"),
        ("25.3%", "0.2531"),
        ("1.2E+08", "123456789"),
        ("1.23457E+17", "123456789012345678"),
        ("123", "00123"),
        ("(5.00)", "-5"),
        ("TRUE", "true"),
        ("WAHR", "1"),
        ("'=cmd()", "=cmd()"),
        ("05.01.24", "2024-01-05"),
        ("5/1/2024 10:30", "2024-01-05 10:30:00.000000"),
        ("01/05/2024 10:30 AM", "2024-01-05T10:30:00Z"),
        ("45296", "2024-01-05"),
        ("5-Jan", "2024-01-05"),
        ("10:30", "10:30:00"),
        ("1-Mar", "MARCH1"),
        ("02-Jan", "1-2"),
        ("02. Mai", "2.5"),
        ("K?ln", "Köln"),
        ("KÃ¶ln", "Köln"),
        ("ULM ", "Ulm"),
        ("x" * 255, "x" * 300),
    ],
)
def test_what_a_spreadsheet_makes_of_a_cell_is_the_same(found, wanted):
    assert same_cell(found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ("4", "3"),
        ("1.5", "5.1"),
        ("-1", "1"),
        ("0.25", "25"),
        ("2024-01-05", "2024-05-01"),
        ("2024-01-05 10:30:00", "2024-01-05 10:31:00"),
        ("Ulm", "Bonn"),
        ("n12", "n21"),
        ("東京 1", "大阪 1"),
        ("-", "0"),
        ("e5", "0"),
        ("true", "false"),
    ],
)
def test_another_cell_is_another(found, wanted):
    assert not same_cell(found, wanted)


@given(st.floats(-1e9, 1e9), st.integers(0, 6))
def test_a_number_rounded_to_any_digits_is_the_same(number, digits):
    assert same_cell(f"{number:.{digits}f}", repr(number))
    assert same_cell(f"{number:,.{digits}f}", repr(number))


@given(st.floats(-1e6, 1e6), st.floats(2, 1e6))
def test_a_number_far_from_it_is_not(number, step):
    assert not same_cell(f"{number + step:.2f}", f"{number:.2f}")


def frames(found, wanted):
    numbers = list(range(10, 10 + len(found)))
    return (
        pl.DataFrame({"a": found}),
        pl.DataFrame({"a": wanted}),
        numbers,
        list(range(1, len(found) + 1)),
        "s.csv",
    )


def test_a_cell_of_another_row_is_refused_with_both_rows_named():
    said = "Row 2 of s.csv says that it is row 11 of the table, but has 'c' in column 'a' where that has 'b'"
    with pytest.raises(TableError, match=re.escape(said)):
        refuse_moved(*frames(["a", "c", "b"], ["a", "b", "c"]))
    with pytest.raises(TableError, match=r"Row 2 of s\.csv"):
        refuse_moved(*frames(["a", "other", "c"], ["a", "b", "c"]))  # in a column that is as it was elsewhere


def test_a_column_rewritten_as_a_whole_is_not_compared_and_that_is_said():
    assert "was rewritten" in refuse_moved(*frames(["x", "y", "z"], ["a", "b", "c"]))[0]
    assert refuse_moved(*frames(["", "####", "#NAME?"], ["a", "b", "c"])) == []
    sheet, own, *rest = frames(["x"], ["a"])
    assert "nothing shows whether rows were mixed up" in refuse_moved(sheet.rename({"a": "b"}), own, *rest)[0]
