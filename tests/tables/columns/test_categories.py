"""A few values that cover a column, and groups for the rest."""

import numpy as np
import polars as pl
import pytest

from chary.tables.columns import find_column
from chary.tables.columns.categories import (
    Categories,
    describe_unused,
    find_constant,
    find_counting,
    find_identifier,
)
from chary.tables.columns.kind import Column

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


@pytest.mark.parametrize(
    ("n", "fewest"),
    [(12, 2), (30, 3), (40, 4), (41, 5), (60, 5), (100, 5), (1000, 5), (1001, 6), (2000, 10)],
)
def test_how_often_a_value_must_be_there(n, fewest):
    for times in (fewest - 1, fewest):
        column = KIND.find(pl.Series("x", [*["a"] * (n - times), *["b"] * times]))
        assert column.categories == (("a", "b") if times == fewest else ("a",))


def test_frequent_values_must_cover_half_of_the_cells():
    others = [f"v{i}" for i in range(30)]
    assert KIND.find(pl.Series("x", [*["a"] * 30, *others])).categories == ("a",)
    assert KIND.find(pl.Series("x", [*["a"] * 29, *others])) is None


def test_equally_frequent_values_are_taken_by_value_and_spellings_by_number():
    cells = [f"v{i % 180:03d}" for i in range(3_600)]
    assert KIND.find(pl.Series("x", cells[::-1])).categories == tuple(
        f"v{i:03d}" for i in range(150)
    )
    assert KIND.find(pl.Series("x", [*["Red"] * 20, *["red"] * 30, *["blue"] * 40])).categories == (
        "blue",
        "red",
    )


def test_what_is_said_to_be_a_category_keeps_every_value_up_to_the_limit():
    column = KIND.find(pl.Series("x", [f"v{i:03d}" for i in range(200)]), forced=True)
    assert (len(column.categories), column.other) == (150, True)
    assert KIND.find(pl.Series("x", ["a", "b"]), forced=True).categories == ("a", "b")
    assert KIND.find(pl.Series("x", [], dtype=pl.String), forced=True) is None


# ---------------------------------------------------------------- identifiers, constants


def test_what_is_the_same_in_every_row():
    for cells, n_rows, note in (
        (["a"] * 5, 5, "the same in every row"),
        ([], 5, "empty"),
        (["a"], 5, None),  # there or not: that may say something
        (["a"] * 4, 5, None),
        (["a", "b"], 2, None),
        ([[1], [1]], 2, None),
    ):
        found = find_constant(pl.Series("x", cells, dtype=None if cells else pl.String), n_rows)
        assert (found and found.note) == note


def numbers_from_to(n, first, n_between):
    """So many different whole numbers: without a gap but the last."""
    return pl.Series("x", [*range(first, first + n - 1), first + n_between - 1], dtype=pl.Float64)


@pytest.mark.parametrize(
    ("n", "n_between", "note", "doubtful"),
    [
        (
            20,
            20,
            "looks like a row number or an ID; say that it is numeric if it is a quantity",
            False,
        ),
        (19, 19, None, None),
        (20, 21, None, None),
        (
            200,
            1990,
            "looks like a row number or an ID: all values differ",
            True,
        ),  # ten equal pairs are expected
        (200, 1991, None, None),
        (199, 1000, None, None),
    ],
)
def test_numbers_that_count_the_rows(n, n_between, note, doubtful):
    found = find_counting("x", numbers_from_to(n, 1000, n_between))
    assert (found and (found.kind, found.note, found.doubtful)) == (
        note and ("identifier", note, doubtful)
    )


def test_numbers_that_do_not_count():
    counting = numbers_from_to(20, 5, 20)
    for odd in (counting + 0.5, counting.set(counting == 6, 5.5), counting.set(counting == 6, 7)):
        assert find_counting("index", odd) is None
    for name in ("index", "row", "user_id"):
        found = find_counting(name, numbers_from_to(20, 5, 9999))
        assert (found.note, found.doubtful) == ("looks like a row number or an ID", False)


@pytest.mark.parametrize(
    ("name", "cells", "note"),
    [
        ("id", range(20), "looks like a row number or an ID"),
        ("id", range(19), None),
        ("n", range(20), None),
        ("id", [float(i) for i in range(20)], "looks like a row number or an ID"),
        ("n", [float(i) for i in range(20)], None),
        ("id", [0.5, *range(1, 20)], None),
        ("id", [i + 0.5 for i in range(20)], None),
        ("id", [str(i) for i in range(20)], "looks like a row number or an ID"),
        ("id", ["x", *map(str, range(19))], "looks like a row number or an ID"),
        (
            "n",
            [10**14 + 7 * i for i in range(20)],
            "looks like a row number or an ID",
        ),  # only programs write such
        ("n", [10**14 - 1 + 7 * i for i in range(20)], None),
        ("n", [10**14 + 10**15 * i for i in range(20)], "looks like a row number or an ID"),
        ("n", [5, *(10**15 + i for i in range(19))], None),
        ("n", [f"{i:024x}" for i in range(20)], "looks like a row number or an ID"),
        ("n", [*(f"{i:024x}" for i in range(19)), "word"], None),
        ("n", [*(f"{i:024x}" for i in range(200)), "word"], None),
        ("id", [*range(20), 1], "an identifier with 20 values in 21 cells"),
    ],
)
def test_what_names_rows(name, cells, note):
    cells = pl.Series(name, list(cells), strict=False)
    found = find_identifier(cells, len(cells))
    assert (found and (found.kind, found.note)) == (note and ("identifier", note))


def test_an_identifier_that_repeats_twice_on_average_names_groups():
    groups = pl.Series("store_id", [*[7] * 21, *range(100, 119)])
    found = find_identifier(groups, 40)
    assert (found.kind, found.categories, found.doubtful) == ("categorical", ("7",), True)
    assert (
        found.note
        == "an identifier that repeats, so it names groups: 1 value, 19 rare ones grouped"
    )
    assert not find_identifier(groups.cast(pl.String), 40).doubtful
    assert find_identifier(groups[1:], 39).kind == "identifier"


@pytest.mark.parametrize(
    ("n", "n_rows", "kind"), [(20, 2000, 1), (20, 2001, 0), (99, 100, 1), (100, 100, 0)]
)
def test_an_identifier_that_many_rows_lack_may_say_something(n, n_rows, kind):
    found = find_identifier(pl.Series("reply_id", range(n)), n_rows)
    assert found.kind == ("categorical" if kind else "identifier")
    assert (
        found.note
        == "looks like a row number or an ID" + ": only used as present or missing" * kind
    )
    assert (found.other, found.missing, found.doubtful) == (bool(kind),) * 3


def test_what_no_kind_takes():
    for cells, kind, note in (
        ([[1]], "unsupported", "of a type chary does not read (List(Int64))"),
        (["a", "b"], "identifier", "different in every row"),
        (["a", "a"], "text", "free text"),
    ):
        found = describe_unused(pl.Series("x", cells))
        assert (found.kind, found.note) == (kind, note)
