"""The columns that differ most, counted on either side: shares that add up, against counting by hand."""

import numpy as np
import polars as pl
import pytest

from chary.jobs import diagnose_table
from chary.tables import Table


def diagnosed(columns, labeled):
    y = [("a" if i % 2 else "b") if given else None for i, given in enumerate(labeled)]
    return diagnose_table(Table(pl.DataFrame({**columns, "y": y}), "t.csv", ","), "y")


@pytest.fixture(name="rows")
def some_rows():
    rng = np.random.default_rng(0)
    return rng, rng.random(400) < 0.3


def test_numbers_are_counted_in_bins_in_the_tables_own_units(rows):
    rng, labeled = rows
    age = 40 + 10 * rng.normal(size=400) + 15 * labeled
    (found,) = diagnosed({"age": age, "noise": rng.normal(size=400)}, labeled).contrasts
    assert (found.column, found.feature, found.groups) == ("age", "age", [])
    low, high = found.edges[0], found.edges[-1]
    assert low == pytest.approx(np.quantile(age[~labeled], 0.01), rel=1e-3)  # whichever side reaches further
    assert high == pytest.approx(np.quantile(age[labeled], 0.99), rel=0.03)
    by_hand, _ = np.histogram(np.clip(age[labeled], low, high), 20, (low, high))
    np.testing.assert_allclose(found.labeled, by_hand / labeled.sum(), atol=2.5 / labeled.sum())
    assert sum(found.labeled) == pytest.approx(1)
    assert sum(found.unlabeled) == pytest.approx(1)


def test_missing_cells_are_told_and_not_counted_as_the_median(rows):
    rng, labeled = rows
    age = np.round(40 + 10 * rng.normal(size=400) + 30 * labeled, 1)
    empty = ~labeled & (np.arange(400) % 2 == 0)
    cells = [None if gone else str(value) for value, gone in zip(age, empty, strict=True)]
    found = diagnosed({"age": cells}, labeled).contrasts[0]
    assert found.missing == (0.0, pytest.approx(empty[~labeled].mean()))
    assert sum(found.unlabeled) == pytest.approx(1)
    assert max(found.unlabeled) < 0.3  # a median in their place would stand out


def test_categories_are_shares_of_their_values(rows):
    rng, labeled = rows
    town = np.where(labeled, rng.choice(["Ulm", "Bonn"], 400, p=[0.9, 0.1]), rng.choice(["Ulm", "Bonn"], 400))
    (found,) = diagnosed({"town": town, "noise": rng.normal(size=400)}, labeled).contrasts
    assert (found.groups, found.edges) == (["Bonn", "Ulm"], [])
    assert found.labeled == [pytest.approx((town[labeled] == name).mean()) for name in found.groups]
    assert found.unlabeled == [pytest.approx((town[~labeled] == name).mean()) for name in found.groups]


def test_of_many_categories_those_that_differ_most_are_named(rows):
    rng, labeled = rows
    town = np.where(labeled, "t7", rng.choice([f"t{i}" for i in range(20)], 400))
    found = diagnosed({"town": town}, labeled).contrasts[0]
    assert len(found.groups) == 8
    assert found.groups[-1] == "all others"
    assert "t7" in found.groups
    assert sum(found.labeled) == pytest.approx(1, abs=1e-6)
    assert sum(found.unlabeled) == pytest.approx(1, abs=1e-6)


def test_few_numbers_and_truth_values_are_groups(rows):
    rng, labeled = rows
    grade = np.where(labeled, 3, rng.integers(1, 5, 400))
    member = np.where(labeled | (rng.random(400) < 0.2), "yes", "no")
    found = {c.column: c for c in diagnosed({"grade": grade, "member": member}, labeled).contrasts}
    assert found["grade"].groups == ["1", "2", "3", "4"]
    assert found["grade"].labeled == [0, 0, 1, 0]
    assert found["grade"].unlabeled[0] == pytest.approx((grade[~labeled] == 1).mean())
    assert found["member"].groups == ["not yes", "yes"]
    assert found["member"].labeled == [0, 1]


def test_what_differs_by_chance_is_not_drawn_and_no_more_than_three_columns_are(rows):
    rng, labeled = rows
    assert diagnosed({"noise": rng.normal(size=400)}, labeled).contrasts == []
    shifted = {f"x{j}": rng.normal(size=400) + 2 * labeled for j in range(6)}
    assert len(diagnosed(shifted, labeled).contrasts) == 3


def test_a_long_tail_leaves_bins_for_the_rest(rows):
    rng, labeled = rows
    price = np.exp(1.5 * rng.normal(size=400) + 1.5 * labeled)
    found = diagnosed({"price": price}, labeled).contrasts[0]
    assert found.edges[-1] < np.quantile(price, 0.99)
    assert max(found.labeled) < 0.5
    assert found.labeled[-1] == pytest.approx((price[labeled] > found.edges[-2]).mean(), abs=0.02)


def test_numbers_that_hardly_vary_but_for_a_few_are_drawn_all_the_same(rows):
    rng, labeled = rows
    spent = np.where(np.arange(400) == 7, 1e6, 0.0) + np.where(labeled, rng.normal(size=400), 0)
    found = diagnosed({"spent": spent, "noise": rng.normal(size=400)}, labeled).contrasts
    assert all(sum(side) == pytest.approx(1) for c in found for side in (c.labeled, c.unlabeled))
