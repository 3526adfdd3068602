"""Rows to accept at an error: against the walk done by hand, and in many simulated audits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from chary.audit import accept_threshold, draw, smallest_audit
from chary.audit.acceptance import Acceptor, ConfidenceHistogram, check_error
from chary.audit.answers import Audit, AuditAnswers
from chary.labelling.label import acceptable
from chary.tables import TableError


def brute_force_threshold(confidence, correct, pool, error, level):
    """The walk, one threshold at a time, in fractions of the risk."""
    best, carried, started, stricter = math.inf, 0.0, False, set()
    for share in np.geomspace(0.1, 1, 40):
        threshold = np.sort(pool)[min(round((1 - share) * len(pool)), len(pool) - 1)]
        above = confidence >= threshold
        n, wrong = int(above.sum()), int((above & ~correct).sum())
        if not started and (share == 1 or (1 - error) ** n <= 0.8 * (1 - level) + 1e-12):
            started = True
            carried += 0.8 * (1 - level) * (wrong == 0 or stricter <= {0, n})
        carried += 0.2 * (1 - level) * (share == 1)
        if n and stats.binomtest(wrong, n, error, "less").pvalue <= carried + 1e-12:
            best = threshold
        else:
            carried = 0.0
        stricter.add(n)
    return best


@given(st.integers(0, 2**32), st.integers(5, 300), st.floats(0.02, 0.4), st.sampled_from([0, 1]))
def test_threshold_agrees_with_the_walk_done_by_hand(seed, k, error, decimals):
    rng = np.random.default_rng(seed)
    pool = rng.random(1000) if decimals == 0 else rng.random(1000).round(decimals)  # with ties
    rows = rng.choice(1000, k, replace=False)
    correct = rng.random(k) < 1 - error * 1.5 * (1 - pool[rows])
    found = accept_threshold(pool[rows], correct, pool, error)
    assert found.threshold == brute_force_threshold(pool[rows], correct, pool, error, 0.9)
    assert found.n_accepted == (pool >= found.threshold).sum()
    assert found.n_audited == (pool[rows] >= found.threshold).sum()
    assert found.n_wrong == (~correct[pool[rows] >= found.threshold]).sum()


def test_accepts_everything_where_nothing_is_wrong_and_nothing_where_all_is():
    pool = np.linspace(0, 1, 500)
    everything = accept_threshold(pool[::5], np.ones(100, bool), pool, 0.05)
    assert (everything.threshold, everything.n_accepted) == (0, 500)
    nothing = accept_threshold(pool[::5], np.zeros(100, bool), pool, 0.05)
    assert (nothing.threshold, nothing.n_accepted) == (math.inf, 0)


@pytest.mark.parametrize("error", [0.02, 0.2])
def test_smallest_audit_is_where_a_faultless_one_begins_to_allow_anything(error):
    k = smallest_audit(error)
    pool = np.linspace(0, 1, 10 * k)
    assert stats.binom.cdf(0, k, error) <= 0.1 < stats.binom.cdf(0, k - 1, error)
    assert accept_threshold(pool[-k:], np.ones(k, bool), pool, error).n_accepted == len(pool)
    assert accept_threshold(pool[1 - k :], np.ones(k - 1, bool), pool, error).n_accepted == 0


def confident_first(shape, n=4000):
    """Chance of an error of each row of a pool, by falling confidence."""
    u = (np.arange(n) + 0.5) / n
    return {
        "honest": 0.4 * u**2,
        "steep": np.where(u < 0.6, 0.01, 0.3),
        "useless": np.full(n, 0.105),
        "confidently wrong": np.where(u < 0.3, 0.25, 0.05),
    }[shape]


@pytest.mark.parametrize("shape", ["honest", "steep", "useless", "confidently wrong"])
def test_accepted_error_holds_at_its_level_whatever_the_confidence(shape):
    """Simulate a thousand audits of pools whose confidence may be worthless.

    Too many errors may be in at most one in ten.
    """
    rng = np.random.default_rng(0)
    chance = confident_first(shape)
    pool = np.linspace(1, 0, len(chance))
    broken = 0
    for _ in range(500):
        wrong = rng.random(len(chance)) < chance
        rows = draw(np.zeros(len(chance), bool), 100, rng)
        found = accept_threshold(pool[rows], ~wrong[rows], pool, 0.1)
        broken += found.n_accepted > 0 and wrong[pool >= found.threshold].mean() > 0.1
    assert broken <= 50 + 2 * math.sqrt(45)


def test_accepted_error_holds_under_biased_training_labels():
    """A thousand audits of models fitted on rows that were picked, not drawn."""
    rng = np.random.default_rng(1)
    broken, used, naive = 0, 0, 0
    for seed in range(10):
        X, y = make_classification(3000, 6, flip_y=0.02, class_sep=1.2, random_state=seed)
        labeled = np.zeros(len(X), bool)
        labeled[
            rng.choice(len(X), 40, replace=False, p=np.exp(2 * X[:, 0]) / np.exp(2 * X[:, 0]).sum())
        ] = True
        labeled[[np.flatnonzero(y == c)[0] for c in (0, 1)]] = True
        model = LogisticRegression().fit(X[labeled], y[labeled])
        pool = model.predict_proba(X[~labeled]).max(axis=1)
        right = model.predict(X[~labeled]) == y[~labeled]
        naive += (~right[pool >= 0.9]).mean() > 0.1
        for _ in range(50):
            rows = draw(labeled[~labeled], 100, rng)
            found = accept_threshold(pool[rows], right[rows], pool, 0.1)
            used += found.n_accepted > 0
            broken += found.n_accepted > 0 and (~right[pool >= found.threshold]).mean() > 0.1
    assert naive >= 2  # the model's own 90 % is no such thing
    assert used >= 150  # the control is not won by refusing
    assert broken <= 50


def test_a_chance_just_as_small_as_asked_for_is_small_enough():
    pool = np.linspace(0, 1, 11)
    # 0.4 is 0.8 of the risk.
    assert accept_threshold([1.0], [True], pool, 0.6, 0.5).n_accepted == 11


def test_fifty_right_rows_accept_all_at_five_six_and_seven_percent():
    pool = np.random.default_rng(0).random(2238)
    for error in (0.05, 0.06, 0.07):
        assert accept_threshold(pool[:50], np.ones(50, bool), pool, error).n_accepted == 2238


@given(st.integers(0, 2**32), st.integers(2, 400), st.data())
def test_a_larger_error_or_a_better_answer_never_accepts_fewer(seed, k, data):
    rng = np.random.default_rng(seed)
    pool = rng.random(1000).round(int(rng.integers(1, 5)))
    rows = rng.choice(1000, k, replace=False)
    correct = rng.random(k) < rng.uniform(0.5, 1) ** (rng.uniform(0, 3) * (1 - pool[rows]))
    accepted = [
        accept_threshold(pool[rows], correct, pool, k / 100).n_accepted for k in range(1, 60)
    ]
    assert accepted == sorted(accepted)
    better = correct.copy()
    better[data.draw(st.integers(0, k - 1))] = True
    for error, before in zip(
        (0.05, 0.1, 0.2), (accepted[4], accepted[9], accepted[19]), strict=True
    ):
        assert accept_threshold(pool[rows], better, pool, error).n_accepted >= before


def test_one_more_right_row_never_takes_away_that_all_are_accepted():
    pool = np.linspace(0, 1, 1000)
    for error in (0.01, 0.03, 0.05, 0.1):
        enough = [
            accept_threshold(pool[:k], np.ones(k, bool), pool, error).n_accepted
            for k in range(2, 400)
        ]
        assert enough == sorted(enough)


def test_refuses_errors_and_levels_that_are_no_shares():
    for error, level in [(0, 0.9), (1, 0.9), (0.1, 1), (0.1, 0), (5, 0.9)]:
        with pytest.raises(ValueError, match="shares"):
            accept_threshold([1.0], [True], [1.0], error, level)


def test_rows_without_confidence_are_refused_and_those_of_the_least_are_last():
    pool = np.append(np.linspace(0.5, 1, 400), np.full(100, -np.inf))
    audited, right = pool[::2], np.isfinite(pool[::2])
    found = accept_threshold(audited, right, pool, 0.05)
    assert 0 < found.n_accepted < 430
    with pytest.raises(ValueError, match="-inf where there is none"):
        accept_threshold(np.append(audited[:-1], np.nan), right, pool, 0.05)
    with pytest.raises(ValueError, match="-inf where there is none"):
        accept_threshold(audited, right, np.append(pool[:-1], np.nan), 0.05)


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=60).map(np.array)


@given(SHARES, st.floats(0, 1))
def test_a_histogram_is_the_sorted_list(confidence, threshold):
    rounded, counted = np.sort(np.round(confidence, 4)), ConfidenceHistogram.of(confidence)
    np.testing.assert_array_equal(counted.smallest(np.arange(len(confidence))), rounded)
    assert counted.n == len(confidence)
    assert counted.n_from(threshold) == (rounded >= threshold).sum()
    assert counted.n_from(np.inf) == 0


@given(SHARES, SHARES)
def test_histograms_of_parts_add_up(one, other):
    both = ConfidenceHistogram.of(one).plus(ConfidenceHistogram.of(other))
    np.testing.assert_array_equal(
        both.counts, ConfidenceHistogram.of(np.concatenate([one, other])).counts
    )


@given(st.integers(0, 2**32 - 1))
def test_a_threshold_is_that_of_the_confidences_themselves(seed):
    rng = np.random.default_rng(seed)
    pool = np.round(rng.beta(4, 2, 500), 4)
    audited = rng.choice(pool, 80, replace=False)
    correct = rng.random(80) < audited
    assert accept_threshold(
        audited, correct, ConfidenceHistogram.of(pool), 0.2
    ) == accept_threshold(audited, correct, pool, 0.2)


def test_rounding_asks_for_no_row_more():
    assert smallest_audit(1 - 0.1 ** (1 / 22)) == 22


def audit_with(confidence, error):
    """All audited rows are right, so all rows above the least confident can be accepted."""
    rows, pool = np.arange(len(confidence)), ConfidenceHistogram.of(confidence)
    acceptor = Acceptor(
        confidence, np.ones(len(confidence), dtype=bool), pool, pool, ConfidenceHistogram.of([])
    )
    answers = AuditAnswers(rows, np.array(["a"] * len(rows), dtype=object), len(rows))
    right = np.ones(len(rows), dtype=bool)
    return Audit(
        answers=answers,
        correct=right,
        population=len(rows),
        classes={},
        acceptor=acceptor,
        error=error,
    )


def test_rows_are_accepted_from_a_confidence_on_as_files_show_it():
    labeled = np.array([True, False, False, False, False])
    confidence = np.array([1.0, 0.60906, 0.6091, 0.7, 0.2])
    # The model would not give the fourth label again.
    confirmed = np.array([True, True, True, False, True])
    audited = np.append(np.linspace(0.7, 1, 40), 0.6091)
    found = acceptable(audit_with(audited, 0.1), labeled, confidence, confirmed)
    assert found.tolist() == [True, True, True, False, False]
    assert (
        acceptable(audit_with(audited, 0.001), labeled, confidence, confirmed).tolist()
        == labeled.tolist()
    )
    assert acceptable(audit_with(audited, None), labeled, confidence, confirmed) is None
    assert acceptable(None, labeled, confidence, confirmed) is None


@pytest.mark.parametrize("error", [0, 1, float("nan"), "10%", True])
def test_an_error_that_is_no_share_is_refused(error):
    with pytest.raises(TableError, match="not a share of wrong labels"):
        check_error(error, "audit.csv")


def test_an_error_without_an_audit_is_refused():
    check_error(None, None)
    check_error(0.1, "audit.csv")
    check_error(np.float32(0.1), "audit.csv")
    with pytest.raises(TableError, match="Only an audit tells"):
        check_error(0.1, None)
