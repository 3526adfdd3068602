"""Cells as a person reads them, of every type a table can have."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from chary._words import visible
from chary.tables import cell_texts, shown_cells


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x", " y ", "", "NA", None], ["x", "y", None, None, None]),
        ([1, -2, None], ["1", "-2", None]),
        ([1.5, 12000.0, 0.123456789, float("nan"), float("inf")], ["1.5", "12000", "0.123457", None, None]),
        ([True, None, False], ["true", None, "false"]),
        ([date(2024, 1, 31)], ["2024-01-31"]),
        ([datetime(2024, 1, 31), datetime(2024, 1, 31, 12, 30)], ["2024-01-31", "2024-01-31 12:30:00"]),
        ([[1.0, 2.0], None], [None, None]),
        ([b"\xff"], [None]),
        (["v1.0"], ["v1.0"]),
    ],
)
def test_a_cell_is_written_plainly(cells, expected):
    assert cell_texts(pl.Series(cells)).to_list() == expected


def test_text_is_visible_and_short_as_everywhere():
    odd = ["a\x00b", "\u202eevil", "line\nbreak", "\x1b[31m" * 20, "no\u00a0break", "plain", "w" * 31, "é" * 30]
    texts = cell_texts(pl.Series(odd)).to_list()
    assert texts == [visible(text, 30) for text in odd]
    assert max(map(len, texts)) <= 30
    assert all(text.isprintable() for text in texts)


def test_names_of_columns_are_shown_with_their_cells():
    assert shown_cells(pl.Series("age", ["31", "?"])).to_list() == ["age = 31", "age is missing"]
    assert shown_cells(pl.Series("v", [[1.0]])).to_list() == ["v"]
    (text,) = shown_cells(pl.Series("n" * 300, ["c" * 300])).to_list()
    assert len(text) == 40 + 3 + 30
    assert shown_cells(pl.Series("x", [], dtype=pl.String)).to_list() == []
    assert shown_cells(pl.Series("x", np.arange(3))).to_list() == ["x = 0", "x = 1", "x = 2"]
