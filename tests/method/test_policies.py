"""Which rows each policy accepts, and that policies are values with parameters."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from chary.method.policies import (
    Curriculum,
    FixedThreshold,
    KBest,
    RisingShare,
    Round,
    TransductiveBound,
)

POLICIES = [
    FixedThreshold(0.5),
    KBest(3),
    Curriculum(),
    Curriculum(0.3, rescore=True),
    RisingShare(0.4, 0.4),
    RisingShare(),
    RisingShare(max_rows=7),
    TransductiveBound(),
    TransductiveBound(index="prediction"),
    TransductiveBound(index="mixed"),
]


def a_round(confidence, prediction=None, n_classes=2, number=1):
    """A round for the policies that look at confidence and prediction only."""
    confidence = np.asarray(confidence)
    prediction = (
        np.zeros(len(confidence), np.intp)
        if prediction is None
        else np.asarray(prediction, np.intp)
    )
    uniform = np.full((len(confidence), n_classes), 1 / n_classes)
    return Round(confidence, uniform, prediction, uniform, number)


def a_vote(votes, posterior=None, prediction=None):
    """A round for the transductive policy."""
    votes = np.asarray(votes)
    posterior = votes if posterior is None else np.asarray(posterior)
    prediction = votes.argmax(axis=1) if prediction is None else np.asarray(prediction, np.intp)
    return Round(votes.max(axis=1), votes, prediction, posterior, 1)


# --- Thresholds on one number per row -------------------------------------------------------------


def test_fixed_threshold_accepts_from_the_threshold_on():
    accepted, used = FixedThreshold(0.8).accept(a_round([0.79, 0.8, 0.81, 1.0]))
    assert accepted.tolist() == [False, True, True, True]
    assert used == {"threshold": 0.8}


def test_fixed_threshold_compares_in_the_precision_of_the_confidence():
    for threshold in [0.7, np.float64(0.7)]:
        assert float(np.float32(0.7)) < 0.7  # and yet a float32 confidence of 0.7 has to reach 0.7
        assert FixedThreshold(threshold).accept(a_round(np.array([0.7], np.float32))).accepted.all()


def test_curriculum_takes_40_percent_then_80_percent_of_the_rest_then_all():
    pool = np.random.default_rng(0).permutation(np.linspace(0, 1, 101))
    sizes = []
    for number in (1, 2, 3):
        accepted, used = Curriculum(0.4).accept(a_round(pool, number=number))
        assert used["threshold"] == pytest.approx(np.quantile(pool, max(0, 1 - 0.4 * number)))
        assert pool[accepted].min() > pool[~accepted].max(initial=-1)
        sizes.append(int(accepted.sum()))
        pool = pool[~accepted]
    assert sizes == [41, 48, 12]
    assert pool.size == 0


def test_curriculum_empties_the_pool_in_the_round_where_the_quantile_is_zero():
    for n_rounds in range(1, 100):
        pool = np.random.default_rng(n_rounds).random(1000)
        assert Curriculum(1 / n_rounds).accept(a_round(pool, number=n_rounds)).accepted.all()
        assert Curriculum(1 / n_rounds).accept(a_round(pool, number=n_rounds + 1)).accepted.all()


def test_curriculum_accepts_saturated_rows_together():
    confidence = np.array([1, 1, 1, 1, 0.9, 0.8], np.float32)
    accepted, used = Curriculum(0.4).accept(a_round(confidence))
    assert used["threshold"] == 1
    assert accepted.tolist() == [True] * 4 + [False] * 2


def test_curriculum_tells_neighbouring_float32_confidences_apart():
    low = np.float32(0.5)
    confidence = np.array([low, np.nextafter(low, np.float32(1))])
    # The quantile is nearer to the lower one.
    accepted, used = Curriculum(0.9).accept(a_round(confidence))
    assert confidence[0] < np.float64(used["threshold"]) < confidence[1]
    assert accepted.tolist() == [False, True]


# --- Shares of each predicted class ---------------------------------------------------------------


def test_a_share_takes_the_top_of_each_class():
    confidence = [0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.2, 0.4]
    prediction = [0, 0, 0, 0, 0, 2, 2, 2]
    accepted, used = RisingShare(0.4, 0.4).accept(a_round(confidence, prediction, n_classes=4))
    assert np.flatnonzero(accepted).tolist() == [0, 1, 7]  # 2 of 5, and 1 of 3
    assert used["share"] == 0.4
    assert used["thresholds"].tolist() == [0.8, np.inf, 0.4, np.inf]


def test_a_share_counts_without_rounding_error():
    assert 0.29 * 100 < 29
    assert RisingShare(0.29, 0.29).accept(a_round(np.arange(100.0))).accepted.sum() == 29


@given(st.data())
def test_a_share_equals_a_loop_over_classes(data):
    n, n_classes = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 5))
    confidence = np.array(data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))) / 6
    prediction = np.array(
        data.draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    )
    share = data.draw(st.sampled_from([0.01, 0.25, 0.5, 1.0]))
    expected = np.zeros(n, bool)
    for c in set(prediction):
        ranked = sorted(confidence[prediction == c], reverse=True)
        last = ranked[max(1, int(share * len(ranked))) - 1]
        expected |= (prediction == c) & (confidence >= last)
    accepted = RisingShare(share, share).accept(a_round(confidence, prediction, n_classes)).accepted
    np.testing.assert_array_equal(accepted, expected)


def test_rising_share_goes_from_first_to_last_and_stays():
    confidence = np.arange(100.0)
    accepted = [
        RisingShare().accept(a_round(confidence, number=t)).accepted.sum() for t in range(1, 8)
    ]
    assert accepted == [20, 35, 50, 65, 80, 80, 80]
    shares = [
        RisingShare(n_rounds=1).accept(a_round(confidence, number=t)).used["share"] for t in (1, 2)
    ]
    assert shares == [0.2, 0.8]


def test_rising_share_keeps_at_most_max_rows_spread_over_each_class():
    confidence, prediction = np.arange(1000.0), np.arange(1000) % 10 == 0
    all_rows, few = (
        RisingShare(max_rows=m).accept(a_round(confidence, prediction)).accepted for m in (None, 50)
    )
    assert all_rows.sum() == 200
    assert np.bincount(prediction[few]).tolist() == [45, 5]
    assert not np.any(few & ~all_rows)
    kept = np.flatnonzero(few & ~prediction)
    # The surest row, then every fourth.
    assert kept.max() == np.flatnonzero(all_rows & ~prediction).max()
    assert set(np.diff(np.searchsorted(np.flatnonzero(all_rows & ~prediction), kept))) == {4}
    lonely = (
        RisingShare(1, 1, max_rows=10)
        .accept(a_round(np.linspace(0, 1, 1000), np.arange(1000) == 7))
        .accepted
    )
    assert lonely.sum() == 10  # nine of one class, and the only row of the other
    assert lonely[7]


# --- Every policy ---------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.sampled_from(
        [0.0, 1e-9, 0.1, 0.2, 0.3, 0.5, 0.7, float(np.float32(1) - np.float32(2**-24)), 1.0]
    ),
    st.floats(0, 1, width=32),
)


@st.composite
def rounds(draw):
    n, n_classes = draw(st.integers(0, 12)), draw(st.integers(1, 4))
    matrix = st.lists(NUMBERS, min_size=n * n_classes, max_size=n * n_classes)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    votes = np.array(draw(matrix), dtype).reshape(n, n_classes)
    posterior = np.array(draw(matrix), dtype).reshape(n, n_classes)
    prediction = draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))
    return Round(
        votes.max(axis=1), votes, np.array(prediction, np.intp), posterior, draw(st.integers(1, 6))
    )


def take(pool, rows):
    return Round(*(field[rows] for field in pool[:4]), pool.number)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(POLICIES), rounds(), st.integers(0, 2**32 - 1))
def test_row_order_is_irrelevant(policy, pool, seed):
    order = np.random.default_rng(seed).permutation(len(pool.confidence))
    accepted, used = policy.accept(pool)
    shuffled, used_shuffled = policy.accept(take(pool, order))
    if getattr(
        policy, "max_rows", None
    ):  # any of the rows that have all scores equal: as many of each kind

        def kinds(mask, scores):
            return sorted(
                map(
                    tuple,
                    np.column_stack([scores.prediction, scores.class_confidence])[mask].tolist(),
                )
            )

        assert kinds(shuffled, take(pool, order)) == kinds(accepted, pool)
    else:
        np.testing.assert_array_equal(shuffled, accepted[order])
    np.testing.assert_equal(used_shuffled, used)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(POLICIES), rounds())
def test_a_mask_comes_back_and_nothing_is_changed(policy, pool):
    before = copy.deepcopy(pool)
    accepted, used = policy.accept(pool)
    assert accepted.dtype == bool
    assert accepted.shape == pool.confidence.shape
    assert ("threshold" in used) != ("thresholds" in used)
    assert used.get("thresholds", np.empty(pool.posterior.shape[1])).shape == (
        pool.posterior.shape[1],
    )
    np.testing.assert_equal(tuple(pool), tuple(before))


def test_an_empty_pool_gives_an_empty_mask():
    for policy in POLICIES:
        accepted = policy.accept(a_round(np.empty(0), n_classes=3)).accepted
        assert accepted.dtype == bool
        assert accepted.shape == (0,)


def test_equal_rows_are_accepted_together():
    for dtype in [np.float32, np.float64]:
        for value in [0.5, 1.0]:
            for policy in POLICIES:
                votes = np.full((7, 3), 0, dtype)
                votes[:, 1] = value
                assert policy.accept(a_vote(votes)).accepted.all()


def test_policies_are_values():
    for policy in POLICIES:
        assert copy.deepcopy(policy) == policy
        assert eval(repr(policy)) == type(policy)(**policy.get_params()) == policy
        assert clone(policy) == policy


def test_bad_parameters_are_refused_in_the_words_of_scikit_learn():
    for make, words in [
        (lambda: FixedThreshold("high"), "'threshold' parameter of FixedThreshold must be a float"),
        (lambda: FixedThreshold(float("nan")), "Got nan"),
        (lambda: FixedThreshold(float("inf")), "Got inf"),
        (lambda: KBest(0), r"'k' .* in the range \[1, inf\). Got 0"),
        (lambda: Curriculum(0), r"'step' .* in the range \(0.0, 1.0\]. Got 0 instead"),
        (lambda: Curriculum(rescore="no"), "'rescore' .* Got 'no'"),
        (
            lambda: RisingShare(n_rounds=0),
            r"'n_rounds' .* must be an int in the range \[1, inf\). Got 0",
        ),
        (lambda: RisingShare(first=20), "'first' .* Got 20"),
        (lambda: RisingShare(0.8, 0.2), "first=0.8 is above last=0.2; the share must not fall"),
        (lambda: RisingShare(max_rows=0), "'max_rows' .* or None. Got 0"),
        (lambda: clone(Curriculum().set_params(step=2)), r"'step' .* Got 2"),
        (lambda: TransductiveBound(index="label"), "'index' .* Got 'label'"),
    ]:
        with pytest.raises(ValueError, match=words):
            make()
