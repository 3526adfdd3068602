"""The difference of two labellings: its test and its interval, against all outcomes."""

import numpy as np
import pytest
from scipy.stats import multivariate_hypergeom

from chary.audit.paired import Outcome, PairedLimits, paired_limits, split_limits

LEVEL = 0.9


@pytest.mark.parametrize(("n", "population"), [(6, 14), (9, 12), (8, 30)])
def test_the_interval_covers_every_truth_and_belongs_to_its_test(n, population):
    outcomes = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    limits = [paired_limits(Outcome(b, c, n, population), LEVEL) for b, c in outcomes]
    low, high, p_values = np.array(limits).T
    for first in range(population + 1):
        for second in range(population + 1 - first):
            pool = [first, second, population - first - second]
            counts = [[b, c, n - b - c] for b, c in outcomes]
            chances = multivariate_hypergeom.pmf(counts, pool, n)
            truth = (first - second) / population
            holds = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            assert chances @ holds >= LEVEL - 1e-9
            if first == second:
                assert chances @ (p_values < 1 - LEVEL) <= 1 - LEVEL + 1e-9
    assert (((low <= 0) & (high >= 0)) == (p_values >= 1 - LEVEL)).all()


def test_it_is_narrower_than_two_intervals_joined():
    outcome = Outcome(10, 2, n=40, population=3_000)
    ours = paired_limits(outcome, 0.95)
    joined = split_limits(outcome, 0.95)
    assert ours.high - ours.low < 0.8 * (joined.high - joined.low)
    mirrored = paired_limits(Outcome(2, 10, n=40, population=3_000), 0.95)
    assert mirrored == PairedLimits(-ours.high, -ours.low, pytest.approx(ours.p_value))


@pytest.mark.parametrize("outcome", [(150, 150), (149, 101), (30, 4)])
def test_the_test_of_a_large_audit_and_its_interval_agree(outcome):
    low, high, p_value = paired_limits(Outcome(*outcome, n=300, population=9_000), 0.95)
    assert (low <= 0 <= high) == (p_value >= 0.05)


def test_of_a_table_that_was_looked_at_as_a_whole_nothing_is_open():
    assert paired_limits(Outcome(12, 2, n=60, population=60), 0.95)[:2] == (1 / 6, 1 / 6)
