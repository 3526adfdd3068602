"""What an audit says of any labels, against the table whose truth is known and against counting by hand."""

from dataclasses import FrozenInstanceError
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import linprog
from sklearn.metrics import cohen_kappa_score

from chary.evaluation import accuracy_interval, count_interval, interval, judge_labels, slice_scores
from chary.evaluation.judging import _holm, _kappa, _least_mean

TRUTH = ["fraud"] * 8 + ["fine"] * 31 + ["new"]
LABELS = ["fraud"] * 6 + ["fine"] * 2 + ["fine"] * 29 + ["fraud"] * 2 + ["fine"]
COUNTS = {"fraud": 700, "fine": 4_280, "gone": 20}


def test_figures_by_hand():
    found = judge_labels(TRUTH, LABELS, COUNTS)
    assert (found.accuracy.correct, found.n, found.n_skipped) == (35, 40, 0)
    assert (found.accuracy.low, found.accuracy.high) == interval(35, 40, 5_000)
    assert list(found.classes) == ["fraud", "fine", "gone", "new"]
    fraud = found.classes["fraud"]
    assert (fraud.precision.low, fraud.precision.high) == interval(6, 8, 700)
    assert (fraud.recall.low, fraud.recall.high) == accuracy_interval(6, 8)
    assert (fraud.share.low, fraud.share.high) == count_interval(8, 40, 5_000)
    assert fraud.share.off == ((700 - fraud.share.high) / 5_000, (700 - fraud.share.low) / 5_000)
    assert found.classes["gone"].precision is found.classes["gone"].recall is None
    assert found.classes["new"].precision is None
    assert found.classes["new"].share.labelled == 0
    assert found.confusions == {("fraud", "fine"): 2, ("fine", "fraud"): 2, ("new", "fine"): 1}


def test_kappa_is_cohens_where_the_labels_have_the_shares_of_the_table():
    truth, labels = ["a"] * 6 + ["b"] * 4, ["a"] * 5 + ["b"] * 5
    found = judge_labels(truth, labels, {"a": 500, "b": 500}).agreement
    assert found.kappa == pytest.approx(cohen_kappa_score(truth, labels))
    assert -1 <= found.low < found.kappa < found.high <= 1
    assert judge_labels(["a"] * 5, ["a"] * 5, {"a": 100}).agreement is None


def test_shares_that_hold_together_are_wider():
    alone, together = (judge_labels(TRUTH, LABELS, COUNTS, simultaneous=s).classes["fraud"] for s in (False, True))
    assert together.share.level == pytest.approx(1 - 0.05 / 4)
    assert together.share.low < alone.share.low < alone.share.high < together.share.high
    assert together.precision == alone.precision


def test_limits_of_kappa_are_those_of_accuracy_and_of_chance_within_their_own():
    truth, labels = ["a"] * 60 + ["b"] * 40, ["a"] * 50 + ["b"] * 10 + ["a"] * 20 + ["b"] * 20
    found = judge_labels(truth, labels, {"a": 700, "b": 300}).agreement
    each = 1 - 0.025 / 2
    (a_low, a_high), (b_low, b_high) = interval(60, 100, 1_000, each), interval(40, 100, 1_000, each)
    p_low, p_high = interval(70, 100, 1_000, 1 - 0.025)
    most, least = (0.7 * s + 0.3 * (1 - s) for s in (min(a_high, 1 - b_low), max(a_low, 1 - b_high)))
    assert found.low == pytest.approx((p_low - most) / (1 - most))
    assert found.high == pytest.approx((p_high - least) / (1 - least))
    chance = 0.7 * 0.6 + 0.3 * 0.4
    assert found.kappa == pytest.approx((0.7 - chance) / (1 - chance))


def test_kappa_has_ends_and_is_nothing_where_chance_agrees_on_every_row():
    assert _kappa(0.75, 0.5) == 0.5
    assert _kappa(0.0, 0.9) == -1
    assert _kappa(0.3, 1.0) == 0
    assert judge_labels(["a"] * 5, ["a"] * 5, {"a": 100, "b": 0}).agreement is None


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_the_least_mean_is_that_of_a_linear_programme(n_classes, seed):
    rng = np.random.default_rng(seed)
    values, shares = rng.random(n_classes), rng.dirichlet(np.ones(n_classes))
    limits = np.column_stack([shares * rng.random(n_classes), shares + (1 - shares) * rng.random(n_classes)])
    least = linprog(values, A_eq=np.ones((1, n_classes)), b_eq=[1], bounds=limits).fun
    assert _least_mean(values, limits) == pytest.approx(least)


def test_kappa_is_of_the_answered_rows_and_its_limits_of_all_that_were_drawn():
    truth, labels = ["a"] * 6 + ["b"] * 4 + ["a"] * 2, ["a"] * 5 + ["b"] * 5 + ["a"] * 2
    skipped = np.arange(12) >= 10
    found = judge_labels(truth, labels, {"a": 60, "b": 40}, skipped=skipped).agreement
    chance = 0.6 * 0.6 + 0.4 * 0.4
    assert found.kappa == pytest.approx((0.9 - chance) / (1 - chance))
    (a_low, a_high), (b_low, b_high) = (interval(seen, 12, 100, 1 - 0.025 / 2, skipped=2) for seen in (6, 4))
    p_low, p_high = interval(9, 12, 100, 1 - 0.025, skipped=2)
    most, least = (0.6 * s + 0.4 * (1 - s) for s in (min(a_high, 1 - b_low), max(a_low, 1 - b_high)))
    assert found.low == pytest.approx((p_low - most) / (1 - most))
    assert found.high == pytest.approx((p_high - least) / (1 - least))
    assert found.level == 0.95


def test_where_every_row_was_skipped_only_the_limits_say_something():
    found = judge_labels(["a"] * 5, ["a"] * 5, {"a": 60, "b": 40}, skipped=np.ones(5, dtype=bool))
    assert found.answered is found.agreement is None
    assert (found.accuracy.correct, found.n, found.n_skipped) == (0, 5, 5)
    assert (found.accuracy.low, found.accuracy.high) == (0, 1)


def test_every_figure_is_given_at_the_level_asked_for():
    found = judge_labels(TRUTH, LABELS, COUNTS, level=0.8)
    fraud = found.classes["fraud"]
    assert (found.accuracy.low, found.accuracy.high) == interval(35, 40, 5_000, 0.8)
    assert (found.answered.low, found.answered.high) == interval(35, 40, None, 0.8)
    assert (fraud.precision.low, fraud.precision.high) == interval(6, 8, 700, 0.8)
    assert (fraud.recall.low, fraud.recall.high) == accuracy_interval(6, 8, 0.8)
    assert (fraud.share.low, fraud.share.high) == count_interval(8, 40, 5_000, 0.8)
    assert found.agreement.low > judge_labels(TRUTH, LABELS, COUNTS).agreement.low
    assert {found.agreement.level, found.accuracy.level, fraud.share.level, fraud.recall.level} == {0.8}


def test_skipped_rows_of_a_label_may_be_of_its_class_or_not():
    truth, labels = ["a"] * 4 + ["b"] * 4 + ["?"] * 3, ["a"] * 4 + ["b"] * 4 + ["a", "a", "b"]
    found = judge_labels(truth, labels, {"a": 60, "b": 40}, skipped=np.arange(11) >= 8).classes["a"]
    assert (found.share.low, found.share.high) == count_interval(4, 11, 100, skipped=3)
    assert (found.precision.low, found.precision.high) == interval(4, 6, 60, skipped=2)
    assert (found.recall.low, found.recall.high) == (accuracy_interval(4, 5)[0], accuracy_interval(6, 6)[1])


def test_a_judgement_is_for_good():
    found = judge_labels(TRUTH, LABELS, COUNTS)
    with pytest.raises(FrozenInstanceError):
        found.n_skipped = 3


def test_the_share_of_a_single_class_holds_alone_and_together():
    (found,) = judge_labels(["a"] * 5, ["a"] * 5, {"a": 100}, simultaneous=True).classes.values()
    assert found.share.level == pytest.approx(0.95)


def test_a_table_may_be_audited_to_the_last_row():
    found = judge_labels(["a", "b"], ["a", "a"], {"a": 2})
    assert (found.accuracy.low, found.accuracy.high) == (0.5, 0.5)


labels_of_three = st.lists(st.sampled_from("ab"), min_size=1, max_size=5)


@given(st.data())
@settings(max_examples=25)
def test_limits_hold_for_whatever_skipped_rows_are(data):
    labels = data.draw(labels_of_three)
    k = len(labels)
    truth = data.draw(st.lists(st.sampled_from("abc"), min_size=k, max_size=k))
    skipped = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    counts = {"a": 30, "b": 10}
    found = judge_labels(truth, labels, counts, skipped=skipped)
    assert found.n_skipped == skipped.sum()
    assert (found.answered is None) == skipped.all()
    for answers in product("abc", repeat=int(skipped.sum())):
        told = np.array(truth, dtype=object)
        told[skipped] = list(answers)
        whole = judge_labels(told, labels, counts)
        assert found.accuracy.low <= whole.accuracy.low <= whole.accuracy.high <= found.accuracy.high
        for name, judged in found.classes.items():
            every = whole.classes[name]
            assert judged.share.low <= every.share.low <= every.share.high <= judged.share.high
            for wide, narrow in ((judged.precision, every.precision), (judged.recall, every.recall)):
                if wide and narrow:
                    assert wide.low <= narrow.low <= narrow.high <= wide.high
        if found.agreement and whole.agreement and len(found.classes) == len(whole.classes):
            assert found.agreement.low <= whole.agreement.low + 1e-12
            assert whole.agreement.high <= found.agreement.high + 1e-12


def test_rows_without_label_are_never_right():
    found = judge_labels(["a", "a", "b"], ["a", None, None], {"a": 50, None: 50})
    assert found.accuracy.correct == 1
    assert set(found.classes) == {"a", "b"}
    assert found.confusions == {("a", None): 1, ("b", None): 1}


def test_intervals_cover_the_truth_of_a_table():
    """Four hundred audits of a table whose truth is known, wrong labels skipped more often."""
    rng = np.random.default_rng(0)
    truth = rng.choice(["x", "y", "z"], 2_000, p=[0.6, 0.3, 0.1])
    labels = np.where(rng.random(2_000) < 0.85, truth, rng.choice(["x", "y", "z"], 2_000))
    hard = rng.random(2_000) < np.where(truth == labels, 0.05, 0.5)
    counts = {str(name): int((labels == name).sum()) for name in "xyz"}
    kappa = cohen_kappa_score(truth, labels)
    hits = []
    for _ in range(100):
        rows = rng.choice(2_000, 40, replace=False)
        found = judge_labels(truth[rows], labels[rows], counts, skipped=hard[rows])
        judged = found.classes["y"]
        hits.append(
            [
                found.accuracy.low <= np.mean(truth == labels) <= found.accuracy.high,
                judged.share.low <= np.sum(truth == "y") <= judged.share.high,
                judged.precision is None
                or judged.precision.low <= np.mean(truth[labels == "y"] == "y") <= judged.precision.high,
                judged.recall is None
                or judged.recall.low <= np.mean(labels[truth == "y"] == "y") <= judged.recall.high,
                found.agreement.low <= kappa <= found.agreement.high,
            ]
        )
    assert np.mean(hits, axis=0).min() >= 0.95


def test_slices_hold_together_and_small_ones_say_nothing():
    correct = np.array([True] * 20 + [False] * 2 + [False] * 8 + [True] * 2 + [True, False])
    slices = ["north"] * 22 + ["south"] * 10 + ["east"] * 2
    counts = {"north": 3_000, "south": 500, "east": 100, "west": 40}
    found = slice_scores(correct, slices, counts)
    assert list(found) == list(counts)
    each = 1 - 0.05 / 2
    assert (found["north"].score.low, found["north"].score.high) == interval(20, 22, 3_000, each)
    assert (found["east"].n, found["east"].score, found["east"].p_value) == (2, None, None)
    assert (found["west"].n, found["west"].score) == (0, None)
    north = stats.fisher_exact([[20, 2], [3, 9]]).pvalue
    south = stats.fisher_exact([[2, 8], [21, 3]]).pvalue
    assert found["south"].p_value == pytest.approx(2 * min(north, south))
    assert found["north"].p_value == pytest.approx(max(2 * min(north, south), max(north, south)))


def test_p_values_are_corrected_by_the_number_of_those_not_smaller():
    assert _holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert _holm([0.9, 0.6, 0.001]) == pytest.approx([1, 1, 0.003])
    assert _holm([]) == []


def test_five_rows_are_enough_to_speak_of_a_slice():
    found = slice_scores([True] * 9, ["n"] * 5 + ["s"] * 4, {"n": 50, "s": 50})
    assert (found["n"].score.n, found["s"].score) == (5, None)
    assert (found["n"].score.low, found["n"].score.high) == interval(5, 5, 50)
    assert slice_scores([True] * 9, ["n"] * 5 + ["s"] * 4, {"n": 50, "s": 50}, fewest=4)["s"].score.n == 4
    assert slice_scores([True] * 2, ["n"] * 2, {"n": 50})["n"] == (50, 2, None, None)


def test_skipped_rows_are_wrong_in_their_slice():
    skipped = np.array([False] * 6 + [True] * 4)
    (found,) = slice_scores([True] * 10, ["n"] * 10, {"n": 200}, skipped=skipped).values()
    assert (found.score.correct, found.score.n) == (6, 10)
    assert (found.score.low, found.score.high) == interval(6, 10, 200, skipped=4)


@pytest.mark.parametrize(
    ("truth", "labels", "counts", "complaint"),
    [
        (["a"], ["a", "b"], {"a": 9, "b": 9}, "shapes"),
        ([], [], {"a": 9}, "shapes"),
        (["a", "a"], ["a", "a"], {"a": 1}, "counts"),
        (["a"], ["b"], {"a": 1}, "counts"),
    ],
)
def test_refuses_what_does_not_fit(truth, labels, counts, complaint):
    with pytest.raises(ValueError, match=complaint):
        judge_labels(truth, labels, counts)


@pytest.mark.parametrize(
    ("labels", "skipped"),
    [
        (["a", "a"], [True]),
        (["a", "a"], [1, 0]),
        (["a", "a"], [[True], [False]]),
        ([["a"], ["a"]], [True, False]),
    ],
)
def test_refuses_skipped_rows_that_are_not_one_answer_each(labels, skipped):
    with pytest.raises(ValueError, match="one value for each audited row is needed"):
        judge_labels(["a", "b"], labels, {"a": 9}, skipped=np.array(skipped))
    with pytest.raises(ValueError, match="one value for each audited row is needed"):
        judge_labels([["a"]], [["a"]], {"a": 9}, skipped=np.array([[True]]))
