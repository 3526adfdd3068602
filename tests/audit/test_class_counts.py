"""How many rows are of a class: exact limits from an audit and the labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from chary.audit import count_interval
from chary.audit.class_counts import Sample, class_count_interval


def all_limits(n_first, first, n_second, second, level=0.95):
    """Limits for every outcome, (n_first + 1, n_second + 1) each."""
    shape = (n_first + 1, n_second + 1)
    limits = [
        class_count_interval(Sample(x, 0, n_first, first), Sample(y, 0, n_second, second), level)
        for x, y in np.ndindex(shape)
    ]
    return np.array(limits).reshape(*shape, 2).transpose(2, 0, 1)


def chances(population, n):
    """Chances of each outcome for each number of rows of the class, from SciPy."""
    return hypergeom.pmf(np.arange(n + 1), population, np.arange(population + 1)[:, None], n)


@pytest.mark.parametrize(
    ("n_first", "first", "n_second", "second"),
    [(8, 20, 12, 30), (2, 5, 14, 60), (30, 30, 5, 30), (0, 6, 20, 60), (9, 400, 6, 80)],
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_whatever_the_truth_the_limits_hold_as_often_as_they_say(
    n_first, first, n_second, second, level
):
    low, high = all_limits(n_first, first, n_second, second, level)
    chance_first, chance_second = chances(first, n_first), chances(second, n_second)
    truths = [(m, k) for m in range(0, first + 1, 5) for k in range(0, second + 1, 3)]
    coverage = []
    for m, k in truths:
        chance = np.outer(chance_first[m], chance_second[k])
        coverage.append(chance[(low <= m + k) & (m + k <= high)].sum())
    assert min(coverage) >= level - 1e-9
    # More rows of the class among the drawn ones never lower a limit: so the worst that skipped
    # rows can be is all of the class, or none.
    for limit in (low, high):
        assert all((np.diff(limit, axis=axis) >= 0).all() for axis in (0, 1))


def mean_widths(of_first, of_second):
    """Mean width of the limits with and without the labels, over samples of 20 and 10 rows."""
    chance = np.outer(
        chances(3_375, 20)[round(3_375 * of_first)], chances(1_625, 10)[round(1_625 * of_second)]
    )
    with_labels = without = 0
    for x, y in np.argwhere(chance > 1e-4).tolist():
        low, high = class_count_interval(Sample(x, 0, 20, 3_375), Sample(y, 0, 10, 1_625))
        with_labels += chance[x, y] * (high - low)
        low, high = count_interval(x + y, 30, 5_000)
        without += chance[x, y] * (high - low)
    return with_labels, without


def test_good_labels_narrow_the_limits_and_useless_ones_do_not_widen_them():
    with_labels, without = mean_widths(0.93, 0.2)
    assert with_labels < 0.78 * without
    with_labels, without = mean_widths(0.5, 0.5)
    assert with_labels < without


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_audit_has_limits_that_its_answers_allow(data):
    samples = []
    for _ in range(2):
        population = data.draw(st.integers(0, 3_000))
        n = data.draw(st.integers(0, min(population, 40)))
        skipped = data.draw(st.integers(0, n))
        samples.append(Sample(data.draw(st.integers(0, n - skipped)), skipped, n, population))
    n_rows, population = sum(s.n for s in samples), sum(s.population for s in samples)
    if n_rows == 0:
        return
    low, high = class_count_interval(*samples)
    seen = sum(s.of_class for s in samples)
    assert seen <= low <= high <= population - sum(s.n - s.of_class - s.skipped for s in samples)


def test_beyond_three_hundred_rows_the_labels_are_not_used():
    samples = Sample(150, 1, 200, 4_000), Sample(10, 0, 101, 1_000)
    assert class_count_interval(*samples) == count_interval(160, 301, 5_000, skipped=1)
