"""Yes and no in pairs of words."""

import numpy as np
import polars as pl
import pytest

from chary.tables.columns import find_column
from chary.tables.columns.kind import Column
from chary.tables.columns.numbers import Booleans

KIND = Booleans()


def test_pairs_of_words():
    for cells, yes in (
        (["yes", "No"], "yes"),
        (["TRUE", "false"], "true"),
        (["Y", "n", "N"], "y"),
        (["t", "f"], "t"),
        (["no"], "yes"),
        ([True, False], "true"),
    ):
        assert KIND.find(pl.Series("x", cells)) == Column("x", "boolean", categories=(yes,))
    for cells in (["yes", "false"], ["yes", "no", "maybe"], [0, 1], [[True]]):
        assert KIND.find(pl.Series("x", cells)) is None


def test_a_third_word_makes_yes_and_no_categories_in_any_order():
    words = ["yes", "Yes", "no", "maybe"] * 15
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(words).tolist()
        assert find_column(pl.Series("x", shuffled)).kind == "categorical"


@pytest.mark.parametrize(
    ("cells", "numbers", "unread"),
    [
        ([" YES", "no", "maybe", None], [1, 0, np.nan, np.nan], ["maybe"]),
        ([True, False, None], [1, 0, np.nan], []),
        ([1, 0, 7], [1, 0, 7], []),
    ],
)
def test_ones_and_zeros(cells, numbers, unread):
    column = KIND.find(pl.Series("x", ["yes", "no"]))
    assert KIND.feature_names(column) == ["x"]
    read = KIND.read(pl.Series(cells), column)[:, 0]
    np.testing.assert_array_equal(read, numbers)
    assert (
        KIND.unreadable_cells(
            pl.Series(cells).filter(np.isnan(read)).drop_nulls(), column
        ).to_list()
        == unread
    )
    assert KIND.expected(column) == "yes or its opposite"
