"""Counts of events tell whether rows are alike: never by chance, never for a trifle, whatever the order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from chary.evaluation.drift import (
    ALIKE,
    DIFFERENT,
    VERY_DIFFERENT,
    EventCounts,
    compare_counts,
    count_above,
    event_p_values,
    event_weights,
    find_cuts,
    measure_spectrum,
    measure_together,
    rows_to_measure,
)


def counted(X, cuts):
    return EventCounts(len(X), count_above(X.astype(np.float32), cuts).ravel())


def sketch_of(X):
    """Cuts, counts, columns, and how many are independent."""
    X = X.astype(np.float32)
    cuts = find_cuts(X, np.zeros(X.shape[1], dtype=bool))
    seen, column = counted(X, cuts), np.repeat(np.arange(X.shape[1]), 9)
    events = (X[:, :, None] > cuts).reshape(len(X), -1)
    return cuts, seen, column, measure_spectrum(events[rows_to_measure(len(X), 1)], seen.shares, column)


def drift_of(X, new):
    cuts, *rest = sketch_of(X)
    seen, column, spectrum = rest
    return compare_counts(seen, counted(new, cuts), column, spectrum)


def correlated(rng, n, d=8, rho=0.7):
    return np.sqrt(rho) * rng.normal(size=(n, 1)) + np.sqrt(1 - rho) * rng.normal(size=(n, d))


# ---------------------------------------------------------------- chance


@pytest.mark.parametrize(("n", "m"), [(5_000, 40), (300, 200), (60, 2_000)])
def test_p_values_are_nearly_fishers_and_seldom_smaller(n, m):
    rng = np.random.default_rng(0)
    share = rng.choice([0.0005, 0.01, 0.1, 0.5, 0.97], 400)
    seen = rng.binomial(n, share)
    new = np.where(rng.random(400) < 0.5, rng.binomial(m, share), rng.binomial(m, np.minimum(1, share + 0.15)))
    ours = event_p_values(EventCounts(n, seen), EventCounts(m, new))
    null = stats.hypergeom(n + m, seen + new, m)
    exact = np.minimum(1, 2 * np.minimum(null.cdf(new), null.sf(new - 1)))
    small = exact < 0.01
    assert small.sum() > 50
    assert (ours[small] > 0.5 * exact[small]).all()
    possible = small & (exact > 1e-12)
    assert np.median(np.log(ours[possible]) / np.log(exact[possible])) > 0.8


def test_unseen_in_one_row_is_chance_and_in_several_it_is_not():
    seen = EventCounts(5_000, np.array([0, 0, 5_000]))
    once, thrice, all_but_five = event_p_values(seen, EventCounts(50, np.array([1, 5, 45])))
    assert once > 0.005
    assert thrice < 1e-8
    assert all_but_five == pytest.approx(thrice)  # an event and its contrary say the same


@pytest.mark.parametrize("rho", [0.0, 0.7])
@pytest.mark.parametrize("m", [50, 400])
def test_alike_rows_are_seldom_accused_however_columns_hang_together(rho, m):
    rng = np.random.default_rng(1)
    drifts = [drift_of(correlated(rng, 400, rho=rho), correlated(rng, m, rho=rho)) for _ in range(150)]
    p_values = np.array([drift.together.p_value for drift in drifts])
    assert 0.01 < np.mean(p_values <= 0.05) < 0.1
    assert 0.35 < np.mean(p_values <= 0.5) < 0.65
    assert sum(drift.verdict != ALIKE for drift in drifts) <= 4


def test_the_spectrum_is_that_of_the_correlations():
    rng = np.random.default_rng(0)
    binary, column = rng.random((1_000, 12)) < 0.5, np.arange(12)
    assert measure_spectrum(binary, binary.mean(axis=0), column) == pytest.approx((12, 12), rel=0.1)
    same = np.repeat(binary[:, :1], 12, axis=1)
    assert measure_spectrum(same, same.mean(axis=0), column) == pytest.approx((1, 1), abs=0.05)
    assert measure_spectrum(binary[:2], binary[:2].mean(axis=0), column) == (0, 0)
    partly = binary.copy()
    partly[:, 1:6] = binary[:, :1]
    values = np.linalg.eigvalsh(np.corrcoef(partly.T))
    second, third = (values**2).sum(), (values**3).sum()
    found = measure_spectrum(partly, partly.mean(axis=0), column)
    assert found == pytest.approx((12**2 / second, second**3 / third**2), rel=0.06)
    assert found.tail < found.columns


# ---------------------------------------------------------------- size of a difference


def test_a_trifle_in_a_large_file_is_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 3))
    drift = drift_of(X, rng.normal(size=(50_000, 3)) + 0.05)
    assert drift.p_values.min() < 1e-4  # beyond chance
    assert drift.verdict == ALIKE
    assert drift.n_weighty == 0 < len(drift.events)


def test_a_shift_of_one_column_is_found_there():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(1_000, 5)), rng.normal(size=(200, 5))
    new[:, 3] += 0.8
    drift = drift_of(X, new)
    assert drift.verdict == DIFFERENT
    assert drift.events[0] // 9 == 3
    new[:, 3] += 5
    assert drift_of(X, new).verdict == VERY_DIFFERENT
    assert drift_of(X, new).auc > 0.9


def test_many_small_shifts_are_noticed_together():
    rng = np.random.default_rng(0)
    drift = drift_of(rng.normal(size=(4_000, 60)), rng.normal(size=(500, 60)) + 0.15)
    assert drift.n_weighty < 20
    assert drift.verdict != ALIKE
    # What the best line tells: the distance of the means is 0.15 sqrt(60) = 1.16 standard deviations.
    assert drift.together.auc == pytest.approx(stats.norm.cdf(0.15 * np.sqrt(60) / np.sqrt(2)), abs=0.06)
    assert drift.auc == max(drift.auc, drift.together.auc)


def test_fewer_rows_have_no_sum_and_identical_ones_no_difference():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    cuts, seen, column, spectrum = sketch_of(X)
    few = measure_together(seen, counted(X[:9] + 9, cuts), column, spectrum)
    assert few == (0.5, 1.0)
    assert compare_counts(seen, counted(X[:9] + 9, cuts), column, spectrum).verdict == VERY_DIFFERENT
    same = compare_counts(seen, seen, column, spectrum)
    assert (same.verdict, same.auc, len(same.events)) == (ALIKE, 0.5, 0)
    assert same.p_values.min() == 1


def test_weights_of_a_column_add_up_to_one_and_rare_events_have_none():
    weights = event_weights(np.array([0.5, 0.2, 0.01, 0.96, 0.3]), np.array([0, 0, 0, 1, 2]))
    assert weights.tolist() == [0.5, 0.5, 0, 0, 1]


# ---------------------------------------------------------------- cuts and counts

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=60)


@given(VALUES)
def test_cuts_lie_between_values_and_cut_something_off(values):
    column = np.array(values, dtype=np.float32)[:, None]
    for once in (False, True):
        cuts = find_cuts(column, np.array([once]))[0]
        found = cuts[np.isfinite(cuts)]
        assert (np.diff(found) > 0).all()
        assert not np.isin(found, column).any()
        assert all(0 < (column > cut).sum() < len(values) for cut in found)
        assert len(found) == min(len(found), 1 if once else 9)
        assert (len(found) > 0) == (len(set(values)) > 1)


def test_cuts_are_near_the_deciles():
    X = np.random.default_rng(0).exponential(size=(30_000, 2)).astype(np.float32)
    cuts = find_cuts(X, np.array([False, True]))
    np.testing.assert_allclose(count_above(X, cuts)[0] / 30_000, np.arange(0.9, 0.05, -0.1), atol=0.015)
    assert cuts[1, 0] == pytest.approx(np.log(2), abs=0.03)


@given(st.permutations(range(6)), st.integers(0, 2**16))
def test_counts_of_parts_add_up_in_any_order(order, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(48, 3)).astype(np.float32)
    cuts = find_cuts(X, np.zeros(3, dtype=bool))
    whole = counted(X, cuts)
    total = EventCounts(0, np.zeros(27, np.int64))
    for part in order:
        total = total.plus(counted(X[8 * part : 8 * part + 8], cuts))
    assert total.n_rows == whole.n_rows
    assert (total.counts == whole.counts).all()
    brute = [sum(bool(x > cut) for x in X[:, j]) for j in range(3) for cut in cuts[j]]
    assert whole.counts.tolist() == brute
