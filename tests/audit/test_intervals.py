"""Limits against SciPy, against enumeration of small pools and against many simulated audits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from chary.audit import at_least, count_interval, interval, sequence
from chary.audit.intervals import (
    MOSTLY_RIGHT,
    NEUTRAL,
    _fewest_likely,
    clopper_pearson,
    hypergeometric,
)

levels = st.floats(0.6, 0.99)


@st.composite
def audits(draw, most=60):
    population = draw(st.integers(1, most))
    n = draw(st.integers(1, population))
    return draw(st.integers(0, n)), n, population


# -- One size, fixed beforehand


@given(st.integers(1, 200), st.data(), levels)
@settings(max_examples=50)
def test_clopper_pearson_is_scipys(n, data, level):
    correct = data.draw(st.integers(0, n))
    expected = tuple(stats.binomtest(correct, n).proportion_ci(level, method="exact"))
    assert np.allclose(np.ravel(clopper_pearson([correct], [n], level)), expected, atol=1e-10)
    one_sided = (
        stats.binomtest(correct, n, alternative="greater").proportion_ci(level, method="exact").low
    )
    assert at_least(correct, n, level=level) == pytest.approx(one_sided, abs=1e-10)


def kept_by_trying(x, n, chances, level, prior):
    """Find truths of which x is none of the rarest outcomes, in each row of chances."""
    expected = stats.betabinom.pmf(np.arange(n + 1), n, *prior)
    rare = chances / expected <= (chances[:, [x]] / expected[x]) * (1 + 1e-6)
    return (chances * rare).sum(axis=1) + 1e-12 > 1 - level


@pytest.mark.parametrize("n", [5, 10, 30, 50, 100])
@pytest.mark.parametrize("prior", [MOSTLY_RIGHT, NEUTRAL])
def test_an_interval_covers_every_share_on_a_fine_grid_and_is_what_trying_each_keeps(n, prior):
    shares, x = np.linspace(0, 1, 4001), np.arange(n + 1)
    chances = stats.binom.pmf(x, n, shares[:, None])
    limits = np.array([interval(right, n, prior=prior) for right in x.tolist()])
    inside = (limits[:, 0] <= shares[:, None]) & (shares[:, None] <= limits[:, 1])
    assert (chances * inside).sum(axis=1).min() >= 0.95
    assert (np.diff(limits, axis=0) >= 0).all()
    assert limits.min() >= 0
    assert limits.max() <= 1
    assert ((limits[:, 0] <= x / n) & (x / n <= limits[:, 1])).all()
    for right in {0, 1, n // 3, n // 2, n - 3, n}:
        kept = shares[kept_by_trying(right, n, chances, 0.95, prior)]
        assert np.allclose(limits[right], (kept.min(), kept.max()), atol=1.01 / 4000)


def test_thirty_rows_say_more_than_clopper_and_pearson_make_of_them():
    x = np.arange(31)
    ours = np.diff([interval(right, 30) for right in x.tolist()], axis=1)[:, 0]
    theirs = np.subtract(*clopper_pearson(x, 30, 0.95)[::-1])
    for accuracy, most in [
        (0.3, 1.1),
        (0.5, 1),
        (0.7, 0.93),
        (0.8, 0.91),
        (0.9, 0.92),
        (0.95, 0.93),
    ]:
        chance = stats.binom.pmf(x, 30, accuracy)
        assert chance @ ours <= most * (chance @ theirs)
    assert round(at_least(27, 30), 3) == 0.761
    assert at_least(27, 30, 5_000) > interval(27, 30, 5_000)[0]


def test_beyond_a_thousand_rows_the_interval_is_clopper_and_pearsons():
    assert interval(900, 1_001) == tuple(map(float, clopper_pearson(900, 1_001, 0.95)))
    low, high = interval(900, 1_000)
    wide_low, wide_high = clopper_pearson(900, 1_000, 0.95)
    assert wide_low < low < high < wide_high
    tails = [
        stats.hypergeom.sf(899, 5_000, right, 1_001)
        for right in count_interval(900, 1_001, 5_000)[:1]
    ]
    assert 0.025 < tails[0] < 0.03


def test_limits_of_none_and_of_all_are_the_ends():
    assert [interval(0, n)[0] for n in (1, 30)] == [0, 0]
    assert [interval(n, n)[1] for n in (1, 30)] == [1, 1]
    assert interval(1, 1)[0] == pytest.approx(0.05, abs=1e-8)


def test_what_is_as_rare_as_the_risk_to_the_last_digit_is_kept():
    assert count_interval(1, 1, 20) == (1, 20)  # one right row of twenty is drawn in 5 % of cases
    assert count_interval(0, 1, 20) == (0, 19)
    low, _ = alone([True, True], 4, 0.5)  # two right rows of four: odds of just 1 / (1 - level)
    assert low.tolist() == [0.25, 0.5]


@given(audits(), levels, st.sampled_from([MOSTLY_RIGHT, NEUTRAL]))
@settings(max_examples=50)
def test_finite_limits_are_those_of_trying_every_number_of_right_rows(case, level, prior):
    x, n, population = case
    right = np.arange(population + 1)
    chances = stats.hypergeom.pmf(np.arange(n + 1), population, right[:, None], n)
    kept = right[kept_by_trying(x, n, chances, level, prior)]
    low, high = min(kept.min(), population * x // n), max(kept.max(), -(-population * x // n))
    assert count_interval(x, n, population, level, 0, prior) == (low, high)


@given(st.integers(1, 10**7), st.data())
@settings(max_examples=40)
def test_chances_of_a_draw_are_scipys(population, data):
    n = data.draw(st.integers(1, min(population, 300)))
    right = data.draw(st.integers(0, population))
    first, chance = hypergeometric(population, right, n)
    expected = stats.hypergeom.pmf(np.arange(first, first + len(chance)), population, right, n)
    assert np.allclose(chance, expected, rtol=1e-6, atol=1e-12)
    assert chance.sum() == pytest.approx(1)


@given(audits(1_000), st.floats(0.8, 0.99))
@settings(max_examples=50)
def test_a_finite_limit_is_possible_and_holds_what_was_seen(case, level):
    x, n, population = case
    low, high = interval(x, n, population, level)
    assert x / population <= low <= x / n <= high <= (population - n + x) / population


@pytest.mark.parametrize("n", [3, 10, 20])
def test_an_interval_for_any_size_holds_for_small_pools(n):
    limits = np.array([interval(x, n, prior=NEUTRAL) for x in range(n + 1)])
    for population in (20, 50):
        right = np.arange(population + 1)[:, None]
        covers = (limits[:, 0] <= right / population) & (right / population <= limits[:, 1])
        chance = stats.hypergeom.pmf(np.arange(n + 1), population, right, n)
        assert (chance * covers).sum(axis=1).min() >= 0.95 - 1e-9


def test_nothing_is_open_when_every_row_was_drawn():
    assert [count_interval(x, 20, 20) for x in (0, 7, 20)] == [(0, 0), (7, 7), (20, 20)]


@given(audits(), st.data(), levels)
@settings(max_examples=40)
def test_limits_hold_for_whatever_skipped_rows_are(case, data, level):
    correct, n, population = case
    skipped = data.draw(st.integers(0, n - correct))
    low, high = interval(correct, n, population, level, skipped)
    every = [interval(correct + right, n, population, level) for right in range(skipped + 1)]
    assert (low, high) == (min(limits[0] for limits in every), max(limits[1] for limits in every))
    assert interval(correct, n, None, level, skipped)[0] == interval(correct, n, level=level)[0]


@pytest.mark.parametrize("population", [60, 600])
@pytest.mark.parametrize("n", [10, 45])
def test_finite_interval_covers_every_truth(population, n):
    """Enumerated, not simulated: the chance of each outcome times whether its interval covers."""
    limits = np.array([count_interval(x, n, population) for x in range(n + 1)])
    right = np.arange(population + 1)[:, None]
    chance = stats.hypergeom.pmf(np.arange(n + 1), population, right, n)
    covers = (limits[:, 0] <= right) & (right <= limits[:, 1])
    assert (chance * covers).sum(axis=1).min() >= 0.95 - 1e-9


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((3, 2), "cannot be right"),
        ((-1, 2), "cannot be right"),
        ((0, 0), "cannot be right"),
        ((2, 3, 10, 0.95, 2), "2 of them skipped"),
        ((1, 11, 10), "drawn from 10"),
        ((1, 2, None, 95), "level"),
        ((1, 2, 10, 0), "level"),
        ((1, 2, 10, 1), "level"),
        ((1, 2, None, 0), "level"),
        ((1, 2, None, 1), "level"),
        ((1, 2, None, 0.95, -1), "cannot be right"),
        ((1, 2, 10, 0.95, -1), "cannot be right"),
    ],
)
def test_refuses_what_cannot_be(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        interval(*arguments)


# -- Every moment


def alone(correct, population, level=0.95, skipped=None):
    """The limits of each moment by itself, whatever was known before."""
    correct = np.asarray(correct)
    t, s = np.arange(1, len(correct) + 1), np.cumsum(correct)
    wrong = t - s if skipped is None else np.cumsum(~correct & ~skipped)
    low, missed = (_fewest_likely(found, t, population, level) for found in (s, wrong))
    return low / population, (population - missed) / population


def ratio(right, s, t, population):
    """Divide prior by posterior of a number of right rows: the martingale by its definition."""
    posterior = stats.betabinom.pmf(right - s, population - t, 1 + s, 1 + t - s)
    return stats.betabinom.pmf(right, population, 1, 1) / np.maximum(posterior, 1e-300)


@given(st.integers(1, 40), st.data(), levels)
@settings(max_examples=40)
def test_sequence_is_where_prior_over_posterior_stays_small(population, data, level):
    correct = np.array(data.draw(st.lists(st.booleans(), min_size=1, max_size=population)))
    low, high = alone(correct, population, level)
    everything = np.arange(population + 1)
    for t in range(1, len(correct) + 1):
        s = int(correct[:t].sum())
        kept = everything[ratio(everything, s, t, population) < 1 / (1 - level) + 1e-4]
        assert (low[t - 1] * population, high[t - 1] * population) == pytest.approx(
            (kept.min(), kept.max())
        )


@pytest.mark.parametrize("level", [0.02, 0.2, 0.5])
@pytest.mark.parametrize("right", [0, 3, 10])
def test_a_sequence_of_a_low_level_keeps_little_but_the_likeliest(right, level):
    correct = np.arange(10) < right
    low, high = alone(correct, 12, level)
    for t in range(1, 11):
        s, everything = int(correct[:t].sum()), np.arange(13)
        kept = everything[ratio(everything, s, t, 12) < 1 / (1 - level) + 1e-9]
        assert (low[t - 1] * 12, high[t - 1] * 12) == pytest.approx((kept.min(), kept.max()))


@given(st.integers(2, 60), st.data())
@settings(max_examples=40)
def test_running_sequence_narrows_and_ends_at_the_truth(population, data):
    correct = np.array(data.draw(st.lists(st.booleans(), min_size=population, max_size=population)))
    low, high = sequence(correct, population, 0.999)
    alone_low, alone_high = alone(correct, population, 0.999)
    assert ((low >= alone_low) & (high <= alone_high)).all()
    assert alone_low[-1] == alone_high[-1] == correct.mean()


def test_sequence_covers_at_all_moments_together():
    """Whoever looks after every row and stops when it suits is still right in 95 % of audits."""
    rng = np.random.default_rng(0)
    for population, right, k in [(60, 45, 60), (300, 240, 80), (100_000, 500, 60)]:
        pool = np.arange(population) < right
        audits = [pool[rng.choice(population, k, replace=False)] for _ in range(200)]
        limits = [sequence(correct, population) for correct in audits]
        share = right / population
        covered = [bool(((low <= share) & (share <= high)).all()) for low, high in limits]
        assert np.mean(covered) >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / 200)


def test_sequence_with_skipped_rows_holds_for_whatever_they_are():
    correct = np.array([True, False, True, False, True])
    skipped = np.array([False, True, False, False, False])
    low, high = sequence(correct, 20, skipped=skipped)
    worst, best = (sequence(x, 20) for x in (correct, correct | skipped))
    assert (low == worst[0]).all()
    assert (high == best[1]).all()


def test_sequence_of_ten_million_rows():
    correct = np.arange(300) % 10 > 0
    low, high = sequence(correct, 10**7)
    assert low[-1] < interval(270, 300)[0]
    assert high[-1] > 0.9
    assert high[-1] - low[-1] < 0.12


def test_an_unlucky_order_never_leaves_an_empty_interval():
    low, high = sequence(np.repeat([False, True], [400, 400]), 800)
    assert (low <= high).all()
    assert low[-1] == high[-1] == 0.5


def test_a_running_interval_that_came_down_to_one_share_keeps_it():
    low, high = sequence([False, False, True], 4, 0.2)
    assert (low[-1], high[-1]) == (0.25, 0.25)
    assert alone([False, False, True], 4, 0.2)[1][-1] == 0.5  # by itself it would be open again


@pytest.mark.parametrize(
    ("correct", "skipped", "complaint"),
    [([True, False], [True, False], "skipped"), ([True] * 11, None, "drawn from 10")],
)
def test_sequence_refuses_what_cannot_be(correct, skipped, complaint):
    with pytest.raises(ValueError, match=complaint):
        sequence(np.array(correct), 10, skipped=None if skipped is None else np.array(skipped))


def test_counts_of_a_long_audit_have_equal_tails():
    low, high = count_interval(1_100, 1_500, 3_000)
    for right, tail in (
        (low, 1_099),
        (low - 1, 1_099),
    ):  # so many right or more: two and a half in a hundred
        assert (stats.hypergeom(3_000, right, 1_500).sf(tail) > 0.025) == (right == low)
    for right in (high, high + 1):
        assert (stats.hypergeom(3_000, right, 1_500).cdf(1_100) > 0.025) == (right == high)
