"""Tokens: which row is which, of which draw, and that sheets of one draw can be joined."""

import numpy as np
import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.sheets.origin import DOUBT
from chary.tables.sheets.rows import ROW, behind, in_order, places_and_rows, sheet_rows, tokens
from chary.tables.table import Table

TABLE = Table(pl.DataFrame({"x": [f"r{i}" for i in range(50)], "y": [None] * 50}), "t.csv", ",")
BEHIND = behind(TABLE, "y")


def sheet(numbers, of, answers, places=None, chosen="random"):
    cells = BEHIND.texts(numbers)
    texts = tokens(numbers, BEHIND.checksums(cells), of, places, chosen)
    return pl.DataFrame({ROW: texts, "y": answers, "x": cells["x"]})


def read(*frames, chosen="random"):
    return sheet_rows(Table(pl.concat(frames), "s.csv", ","), BEHIND, "y", chosen)


def test_sheets_of_one_draw_are_joined_with_the_same_answers_once():
    small, large = sheet([5, 9], 2, ["a", "b"]), sheet([5, 9, 30, 2], 4, ["a", "", "c", ""])
    found = read(small, large)
    assert found.n_drawn == 4
    assert {place: (row.number, row.answer) for place, row in found.by_place.items()} == {
        1: (5, "a"),
        2: (9, "b"),
        3: (30, "c"),
        4: (2, ""),
    }
    assert found.notes == ["2 rows of s.csv are there twice and count once."]
    with pytest.raises(TableError, match="labels row 6 of the table twice, 'a' and 'z'"):
        read(small, large.with_columns(y=pl.lit("z")))
    with pytest.raises(TableError, match="mixes two draws"):
        read(small, sheet([9, 5], 2, ["b", "a"]))


def test_a_place_beyond_the_number_drawn_is_refused():
    with pytest.raises(TableError, match="is the 31th of 30 rows drawn, which cannot be"):
        read(sheet([5], 30, ["a"], places=[31]))
    with pytest.raises(TableError, match="is the 0th of 30"):
        read(sheet([5], 30, ["a"], places=[0]))


def test_rows_that_the_table_has_not_are_refused():
    beyond = sheet([5], 1, ["a"]).with_columns(pl.col(ROW).str.replace("row 6", "row 51"))
    with pytest.raises(TableError, match="row 1 is row 51 of 50"):
        read(beyond)
    with pytest.raises(TableError, match="names no row"):
        read(sheet([5], 1, ["a"]).with_columns(pl.col(ROW).str.replace("row 6", "row 0")))


def test_rows_of_doubt_are_no_audit_and_random_rows_are_not_wasted():
    doubt = sheet([5, 6], 2, ["a", "b"], chosen=DOUBT)
    assert read(doubt, chosen=DOUBT).n_drawn == 2
    with pytest.raises(TableError, match="chosen for doubt, not drawn at random, so they measure nothing"):
        read(doubt)
    with pytest.raises(TableError, match="chosen for doubt"):
        read(sheet([1, 2], 2, ["a", "b"]), doubt)  # glued
    with pytest.raises(TableError, match="drawn at random, so they measure as well as teach"):
        read(sheet([1, 2], 2, ["a", "b"]), chosen=DOUBT)
    forged = doubt.with_columns(pl.col(ROW).str.strip_prefix("check "))
    with pytest.raises(TableError, match="was not drawn from"):
        read(forged)


def test_rows_are_put_in_the_order_of_the_draw():
    shuffled = Table(sheet([5, 9, 30], 3, ["a", "b", "c"]).reverse(), "s.csv", ",")
    assert places_and_rows(shuffled) == [(3, 30), (2, 9), (1, 5)]
    assert places_and_rows(in_order(shuffled)) == [(1, 5), (2, 9), (3, 30)]
    assert np.array_equal(in_order(shuffled).frame["y"], ["a", "b", "c"])
