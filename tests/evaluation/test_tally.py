"""Counts of confidences say the same as the confidences, rounded as files show them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chary.evaluation import Tally, accept_threshold, in_steps

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(np.array)


@given(SHARES, st.floats(0, 1))
def test_a_tally_is_the_sorted_list(confidence, threshold):
    rounded, tally = np.sort(np.round(confidence, 4)), Tally.of(confidence)
    np.testing.assert_array_equal(tally.smallest(np.arange(len(confidence))), rounded)
    assert tally.n == len(confidence)
    assert tally.n_from(threshold) == (rounded >= threshold).sum()
    assert tally.n_from(np.inf) == 0
    np.testing.assert_array_equal(in_steps(confidence) / 10_000, np.round(confidence, 4))


@given(SHARES, SHARES)
def test_tallies_of_parts_add_up(one, other):
    both = Tally.of(one).plus(Tally.of(other))
    np.testing.assert_array_equal(both.counts, Tally.of(np.concatenate([one, other])).counts)


@given(SHARES)
def test_a_histogram_is_numpys(confidence):
    steps = in_steps(confidence)  # whole numbers: no edge between two bins is blurred
    expected, _ = np.histogram(steps, bins=np.append(np.arange(0, 10_000, 500), 10_000))
    np.testing.assert_array_equal(Tally.of(confidence).histogram(20), expected)


@given(st.integers(0, 2**32 - 1))
def test_a_threshold_is_that_of_the_confidences_themselves(seed):
    rng = np.random.default_rng(seed)
    pool = np.round(rng.beta(4, 2, 500), 4)
    audited = rng.choice(pool, 80, replace=False)
    correct = rng.random(80) < audited
    assert accept_threshold(audited, correct, Tally.of(pool), 0.2) == accept_threshold(audited, correct, pool, 0.2)
