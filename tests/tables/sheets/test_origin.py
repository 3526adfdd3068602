"""What a sheet says of where it comes from is read back as it was written."""

import json

import polars as pl

from chary.tables.sheets.origin import CLASSES, DOUBT, DrawnFrom, about_cells, drawn_from, draws_of, with_stopping
from chary.tables.table import Table

ORIGIN = DrawnFrom("truth", ["a", "b"], ("?", "NA"), True, "in/t.csv", {"delimiter": ";"}, ("u.csv",), True, DOUBT)
ORIGIN = ORIGIN._replace(seed=7, judged=("rule",), shown=("x",))


def a_sheet(origin=ORIGIN, places=(1, 2)):
    return Table(pl.DataFrame({"truth": ["", ""], CLASSES: about_cells(origin, places)}), "s.csv", ",")


def test_all_of_it_comes_back():
    assert drawn_from(a_sheet()) == ORIGIN
    plain = DrawnFrom("truth", ["a"], None, True, "t.csv", {})
    assert drawn_from(a_sheet(plain)) == plain
    one = plain._replace(unlabeled=("?",))
    assert drawn_from(a_sheet(one)) == one
    assert json.loads(about_cells(one, [1])[0])["chary_unlabeled"] == "?"  # as older versions read it


def test_rows_tell_their_place_and_their_seed():
    assert draws_of(a_sheet()) == ({7}, [1, 2])
    assert draws_of(Table(pl.DataFrame({"truth": ["", ""]}), "s.csv", ",")) == (set(), [None, None])
    odd = pl.DataFrame({CLASSES: ["[1]", '{"chary_place": true, "chary_seed": "x"}']})
    assert draws_of(Table(odd, "s.csv", ",")) == (set(), [None, None])


def test_a_sheet_says_that_whoever_fills_it_in_was_told():
    told = with_stopping(a_sheet())
    assert drawn_from(told) == ORIGIN._replace(stopped=True)
    assert draws_of(told) == ({7}, [1, 2])


def test_names_too_many_for_a_cell_are_left_out():
    wide = ORIGIN._replace(shown=tuple(f"column {i}" for i in range(4000)))
    assert drawn_from(a_sheet(wide)).shown == ()
    assert len(about_cells(wide, [1])[0]) < 32_767
