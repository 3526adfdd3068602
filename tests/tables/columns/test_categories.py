"""A few values that cover a column, and groups for the rest."""

import numpy as np
import polars as pl
import pytest

from chary.tables.cells import Column
from chary.tables.columns import find_column
from chary.tables.columns.categories import Categories

KIND = Categories()


@pytest.mark.parametrize(
    ("cells", "note", "other"),
    [
        (["red", "blue"] * 30, "2 values", False),
        ([*["a", "b"] * 30, "c"], "2 values, 1 rare ones grouped", True),
        ([*["red"] * 40, *(f"rare {i}" for i in range(20))], "1 value, 20 rare ones grouped", True),
        ([f"v{i % 180:03d}" for i in range(3_600)], "150 values, 30 rare ones grouped", True),
    ],
)
def test_frequent_values(cells, note, other):
    column = KIND.find(pl.Series("x", cells))
    assert (column.kind, column.note, column.other) == ("categorical", note, other)
    assert list(column.categories) == sorted(column.categories)


def test_what_no_few_values_cover():
    for cells in ([f"word {i}" for i in range(60)], [1, 2] * 30, [["a"]] * 60):
        assert KIND.find(pl.Series("x", cells)) is None


@pytest.mark.parametrize(
    ("other", "missing", "groups", "codes"),
    [
        (False, False, [], [1, 0, -1, -1, -1]),
        (True, False, ["(other)"], [1, 0, 2, -1, -1]),
        (False, True, ["(missing)"], [1, 0, -1, 2, 2]),
        (True, True, ["(other)", "(missing)"], [1, 0, 2, 3, 3]),
    ],
)
def test_groups_for_other_and_missing_values(other, missing, groups, codes):
    column = Column("x", "categorical", categories=("blue", "red"), other=other, missing=missing)
    assert KIND.feature_names(column) == [f"x = {group}" for group in ("blue", "red", *groups)]
    cells = pl.Series([" red", "blue", "new", "NA", None])
    np.testing.assert_array_equal(KIND.read(cells, column)[:, 0], codes)


def test_cells_of_other_types_are_read_as_text():
    column = Column("x", "categorical", categories=("1", "2"), other=True)
    np.testing.assert_array_equal(KIND.read(pl.Series([2, 1, 7]), column)[:, 0], [1, 0, 2])
    np.testing.assert_array_equal(KIND.read(pl.Series([[2], [1]]), column)[:, 0], [-1, -1])


def test_a_column_may_be_called_as_polars_calls_counts():
    for name in ("count", "value"):
        assert find_column(pl.Series(name, ["few", "many"] * 30)).kind == "categorical"


def test_a_value_means_the_same_in_few_cells_and_in_many():
    column = Column("x", "categorical", categories=("a", "b c"), other=True, missing=True)
    values = ["a", " a", "A", "b c", "b  c", None, "", "NA", "-", "new", "\u00e9"]
    few = Categories().read(pl.Series("x", values), column)
    many = Categories().read(pl.Series("x", values * 20), column)
    assert many.tobytes() == few.tobytes() * 20
    assert few[:, 0].tolist() == [0, 0, 0, 1, 1, 3, 3, 3, 3, 2, 2]
