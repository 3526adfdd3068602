"""Counts with the help of labels, against enumeration of every table there could be."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from chary.evaluation import Part, assisted_count, count_interval
from chary.evaluation.assisted import _at_least, _chances, _needed, assisted_keeps


def test_covers_every_table_of_fourteen_rows():
    """Enumerated: the chance of each outcome times whether its interval covers."""
    (n_1, size_1), (n_2, size_2) = (3, 6), (4, 8)
    limits = {
        (x, y): assisted_count(Part(x, n_1, size_1), Part(y, n_2, size_2))
        for x, y in product(range(n_1 + 1), range(n_2 + 1))
    }
    for of_1, of_2 in product(range(size_1 + 1), range(size_2 + 1)):
        chance_1 = stats.hypergeom.pmf(np.arange(n_1 + 1), size_1, of_1, n_1)
        chance_2 = stats.hypergeom.pmf(np.arange(n_2 + 1), size_2, of_2, n_2)
        covered = sum(
            chance_1[x] * chance_2[y] for (x, y), (low, high) in limits.items() if low <= of_1 + of_2 <= high
        )
        assert covered >= 0.95 - 1e-9


def test_chance_is_that_of_counting():
    first, second = Part(2, 5, 20), Part(1, 6, 40)
    pairs = product(range(6), range(7))
    found = 20 * 2 / 5 + 40 * 1 / 6
    expected = sum(
        stats.hypergeom.pmf(x, 20, 9, 5) * stats.hypergeom.pmf(y, 40, 7, 6)
        for x, y in pairs
        if 20 * x / 5 + 40 * y / 6 >= found - 1e-9
    )
    assert _chances(first, 9) @ _at_least(second, 7)[_needed(first, second)] == pytest.approx(expected)


def test_good_labels_narrow_and_the_estimate_is_inside():
    low, high = assisted_count(Part(58, 60, 30_000), Part(3, 140, 70_000))
    plain_low, plain_high = count_interval(61, 200, 100_000)
    assert plain_low < low < 29_000 + 1_500 < high < plain_high


def test_nothing_is_open_when_every_row_was_drawn():
    low, high = assisted_count(Part(4, 5, 5), Part(2, 9, 9))
    assert low == high == 6


def test_without_drawn_rows_on_one_side_labels_do_not_help():
    assert assisted_count(Part(0, 0, 50), Part(4, 20, 500)) == count_interval(4, 20, 550)
    assert assisted_count(Part(1, 4, 50, 2), Part(0, 0, 500)) == count_interval(1, 4, 550, skipped=2)


def test_limits_hold_for_whatever_skipped_rows_are():
    low, high = assisted_count(Part(6, 10, 80, 2), Part(1, 20, 400, 1))
    every = [assisted_count(Part(6 + a, 10, 80), Part(1 + b, 20, 400)) for a in range(3) for b in range(2)]
    assert (low, high) == (min(limits[0] for limits in every), max(limits[1] for limits in every))


def test_what_is_kept_is_what_lies_within():
    parts = Part(6, 10, 80, 2), Part(1, 20, 400, 1)
    low, high = assisted_count(*parts)
    kept = [total for total in range(481) if assisted_keeps(*parts, total)]
    assert kept == list(range(low, high + 1))
