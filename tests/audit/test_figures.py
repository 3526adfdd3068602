"""Figures of an audit, against SciPy, enumeration, counting by hand and simulated audits."""

import math
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from chary.audit import (
    Score,
    at_least,
    balanced_score,
    class_scores,
    class_shares,
    compare,
    difference,
    interval,
    judge_labels,
    one_label_for_all,
    score,
    sequence,
    slice_scores,
)
from chary.audit.class_counts import Sample, class_count_interval
from chary.audit.figures import kappa, pair_counts, promised_score
from chary.audit.intervals import NEUTRAL

neutral = partial(interval, prior=NEUTRAL)  # of a class or a slice, of which nothing is expected

TRUTH = ["fraud"] * 8 + ["fine"] * 31 + ["new"]


LABELS = ["fraud"] * 6 + ["fine"] * 2 + ["fine"] * 29 + ["fraud"] * 2 + ["fine"]


COUNTS = {"fraud": 700, "fine": 4_280, "gone": 20}


def test_figures_by_hand():
    found = judge_labels(TRUTH, LABELS, COUNTS)
    assert (found.accuracy.correct, found.accuracy.n) == (35, 40)
    assert (found.accuracy.low, found.accuracy.high) == interval(35, 40, 5_000)
    assert list(found.classes) == ["fraud", "fine", "gone", "new"]
    fraud = found.classes["fraud"]
    assert (fraud.precision.low, fraud.precision.high) == neutral(6, 8, 700)
    assert (fraud.recall.low, fraud.recall.high) == neutral(6, 8)
    assert (fraud.share.low, fraud.share.high) == class_count_interval(
        Sample(6, 0, 8, 700), Sample(2, 0, 32, 4_300)
    )
    assert fraud.share.off == ((700 - fraud.share.high) / 5_000, (700 - fraud.share.low) / 5_000)
    assert found.classes["gone"].precision is found.classes["gone"].recall is None
    assert found.classes["new"].precision is None
    assert found.classes["new"].share.labelled == 0
    assert found.confusions == {("fraud", "fine"): 2, ("fine", "fraud"): 2, ("new", "fine"): 1}


def test_what_is_no_name_is_not_counted():
    assert pair_counts(["a", "x", "b"], ["a", "b", None], ["a", "b"]).tolist() == [[1, 0], [0, 0]]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1))
@settings(max_examples=40)
def test_kappa_is_that_of_scikit_learn(pairs):
    truth, labels = zip(*pairs, strict=True)
    found = kappa(pair_counts(truth, labels, ["a", "b", "c"]))
    if len({*truth, *labels}) == 1:
        assert found is None
    else:
        assert found == pytest.approx(cohen_kappa_score(truth, labels))


def test_kappa_is_of_the_answered_rows_and_a_row_without_label_agrees_with_nothing():
    truth, labels = ["a"] * 6 + ["b"] * 4 + ["a"] * 2, ["a"] * 5 + ["b"] * 4 + [None] + ["a"] * 2
    found = judge_labels(truth, labels, {"a": 60, "b": 30, None: 10}, skipped=np.arange(12) >= 10)
    assert found.kappa == pytest.approx(
        cohen_kappa_score(truth[:10], [str(label) for label in labels[:10]])
    )


def test_where_every_row_was_skipped_only_the_limits_say_something():
    found = judge_labels(["a"] * 5, ["a"] * 5, {"a": 60, "b": 40}, skipped=np.ones(5, dtype=bool))
    assert (found.accuracy.correct, found.accuracy.n) == (0, 5)
    assert (found.accuracy.low, found.accuracy.high) == (0, 1)


def test_every_figure_is_given_at_the_level_asked_for():
    found = judge_labels(TRUTH, LABELS, COUNTS, level=0.8)
    fraud = found.classes["fraud"]
    assert (found.accuracy.low, found.accuracy.high) == interval(35, 40, 5_000, 0.8)
    assert (fraud.precision.low, fraud.precision.high) == neutral(6, 8, 700, 0.8)
    assert (fraud.recall.low, fraud.recall.high) == neutral(6, 8, level=0.8)
    assert (fraud.share.low, fraud.share.high) == class_count_interval(
        Sample(6, 0, 8, 700), Sample(2, 0, 32, 4_300), 0.8
    )
    assert {found.accuracy.level, fraud.share.level, fraud.recall.level} == {0.8}


def test_skipped_rows_of_a_label_may_be_of_its_class_or_not():
    truth, labels = ["a"] * 4 + ["b"] * 4 + ["?"] * 3, ["a"] * 4 + ["b"] * 4 + ["a", "a", "b"]
    found = judge_labels(truth, labels, {"a": 60, "b": 40}, skipped=np.arange(11) >= 8).classes["a"]
    assert (found.share.low, found.share.high) == class_count_interval(
        Sample(4, 2, 6, 60), Sample(0, 1, 5, 40)
    )
    assert (found.precision.low, found.precision.high) == neutral(4, 6, 60, skipped=2)
    assert (found.recall.low, found.recall.high) == (neutral(4, 5)[0], neutral(6, 6)[1])


labels_of_three = st.lists(st.sampled_from("ab"), min_size=1, max_size=5)


@given(st.data())
@settings(max_examples=12)
def test_limits_hold_for_whatever_skipped_rows_are(data):
    labels = data.draw(labels_of_three)
    k = len(labels)
    truth = data.draw(st.lists(st.sampled_from("abc"), min_size=k, max_size=k))
    skipped = np.array(data.draw(st.lists(st.booleans(), min_size=k, max_size=k)))
    counts = {"a": 30, "b": 10}
    found = judge_labels(truth, labels, counts, skipped=skipped)
    for answers in product("abc", repeat=int(skipped.sum())):
        told = np.array(truth, dtype=object)
        told[skipped] = list(answers)
        whole = judge_labels(told, labels, counts)
        assert (
            found.accuracy.low <= whole.accuracy.low <= whole.accuracy.high <= found.accuracy.high
        )
        for name, judged in found.classes.items():
            every = whole.classes[name]
            assert judged.share.low <= every.share.low <= every.share.high <= judged.share.high
            for wide, narrow in (
                (judged.precision, every.precision),
                (judged.recall, every.recall),
            ):
                if wide and narrow:
                    assert wide.low <= narrow.low <= narrow.high <= wide.high


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
                or judged.precision.low
                <= np.mean(truth[labels == "y"] == "y")
                <= judged.precision.high,
                judged.recall is None
                or judged.recall.low <= np.mean(labels[truth == "y"] == "y") <= judged.recall.high,
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
    assert (found["north"].score.low, found["north"].score.high) == neutral(20, 22, 3_000, each)
    assert (found["east"].n, found["east"].score) == (2, None)
    assert (found["west"].n, found["west"].score) == (0, None)


def test_five_rows_are_enough_to_speak_of_a_slice():
    found = slice_scores([True] * 9, ["n"] * 5 + ["s"] * 4, {"n": 50, "s": 50})
    assert (found["n"].score.n, found["s"].score) == (5, None)
    assert (found["n"].score.low, found["n"].score.high) == neutral(5, 5, 50)
    assert slice_scores([True] * 2, ["n"] * 2, {"n": 50})["n"] == (50, 2, None)


def test_skipped_rows_are_wrong_in_their_slice():
    skipped = np.array([False] * 6 + [True] * 4)
    (found,) = slice_scores([True] * 10, ["n"] * 10, {"n": 200}, skipped=skipped).values()
    assert (found.score.correct, found.score.n) == (6, 10)
    assert (found.score.low, found.score.high) == neutral(6, 10, 200, skipped=4)


def test_scores_of_classes_are_their_own_audits():
    y_true = np.array(["a"] * 6 + ["b"] * 9)
    y_pred = np.array(["a"] * 4 + ["b"] * 10 + ["a"])
    recall = class_scores(y_true, y_pred, ["a", "b", "c"])
    precision = class_scores(y_pred, y_true, ["a", "b"])
    assert {label: (s.correct, s.n) for label, s in recall.items()} == {"a": (4, 6), "b": (8, 9)}
    assert {label: (s.correct, s.n) for label, s in precision.items()} == {
        "a": (4, 5),
        "b": (8, 10),
    }
    assert (recall["b"].low, recall["b"].high) == neutral(8, 9)


def test_what_was_said_of_skipped_rows_goes_into_the_limits_of_each_class():
    y_true, y_pred = ["a"] * 6 + ["b"] * 9, ["a"] * 4 + ["b"] * 10 + ["a"]
    found = class_scores(y_true, y_pred, ["a", "b"], skipped=["a", "c", "b", "b"])
    a = Score(4, 6, neutral(4, 6 + 3)[0], neutral(4 + 1, 6 + 1)[1], 0.95, at_least(4, 6 + 3))
    b = Score(8, 9, neutral(8, 9 + 2)[0], neutral(8 + 2, 9 + 2)[1], 0.95, at_least(8, 9 + 2))
    assert found == {"a": a, "b": b}
    plain = class_scores(y_true, y_pred, ["a", "b"])["a"]
    assert plain == Score(4, 6, *neutral(4, 6), 0.95, at_least(4, 6))


def test_balanced_accuracy_needs_rows_of_every_class():
    enough = class_scores([0] * 5 + [1] * 5, [0] * 9 + [1], [0, 1])
    few = class_scores([0] * 6 + [1] * 4, [0] * 9 + [1], [0, 1])
    assert balanced_score(enough, 2)[0] == pytest.approx(0.6)
    assert balanced_score(enough, 3) is None
    assert balanced_score(few, 2) is None


def test_limits_of_balanced_accuracy_join_the_errors_of_the_classes():
    scores = {0: Score(8, 10, 0.5, 0.9, 0.95), 1: Score(6, 10, 0.2, 0.9, 0.95)}
    mean, low, high = balanced_score(scores, 2)
    assert mean == pytest.approx(0.7)
    assert low == pytest.approx(0.7 - math.hypot(0.3, 0.4) / 2)
    assert high == pytest.approx(0.7 + math.hypot(0.1, 0.3) / 2)
    certain = {0: Score(0, 9, 0.0, 1.0, 0.95)}
    assert balanced_score(certain, 1) == (0, 0, 1)
    assert balanced_score({0: Score(9, 9, -2.0, 3.0, 0.95)}, 1) == (1, 0, 1)


@pytest.mark.parametrize(("n_first", "n_second"), [(5, 5), (10, 20)])
def test_balanced_interval_covers_the_truth(n_first, n_second):
    """All outcomes of two classes enumerated, over a grid of true recalls."""
    low, high = np.empty((2, n_first + 1, n_second + 1))
    for i in range(n_first + 1):
        for j in range(n_second + 1):
            first, second = (Score(x, n, *neutral(x, n), 0.95) for x, n in
                             ((i, n_first), (j, n_second)))  # fmt: skip
            _, low[i, j], high[i, j] = balanced_score({0: first, 1: second}, 2)
    grid = np.linspace(0.02, 0.98, 25)
    coverage = []
    for p in grid:
        for q in grid:
            chance = np.outer(stats.binom.pmf(range(n_first + 1), n_first, p),
                              stats.binom.pmf(range(n_second + 1), n_second, q))  # fmt: skip
            coverage.append(chance[(low <= (p + q) / 2) & ((p + q) / 2 <= high)].sum())
    assert np.mean(coverage) > 0.96
    assert np.min(coverage) > 0.92


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_comparison_is_mcnemars_exact_test(pairs):
    first, second = np.array(pairs).T
    found = compare(first, second)
    b, c = int(sum(first > second)), int(sum(second > first))
    tail = sum(math.comb(b + c, i) for i in range(min(b, c) + 1)) / 2 ** (b + c)
    assert (found.only_first, found.only_second) == (b, c)
    assert found.p_value == pytest.approx(min(1, 2 * tail))
    assert compare(second, first).p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("wrong_each", [5, 100])
def test_whoever_was_told_when_to_stop_is_promised_what_holds_at_any_moment(wrong_each):
    correct, skipped = np.arange(1, 31) % wrong_each > 0, np.arange(1, 31) == 4
    correct[skipped] = False
    planned, stopped = (promised_score(correct, skipped, 500, stopped=s) for s in (False, True))
    assert planned == score(correct[~skipped], skipped=1, population=500)
    low, high = sequence(correct, 500, skipped=skipped)
    assert stopped == planned._replace(low=low[29], high=high[29], at_least=low[29])
    # The last answer counts, too.
    assert high[29] < high[28] if wrong_each == 5 else low[29] > low[28]


def rows(both, b, c, none):
    counts = [both, b, c, none]
    return np.repeat([True, True, False, False], counts), np.repeat(
        [True, False, True, False], counts
    )


def test_share_test_and_limits():
    first, second = rows(15, 8, 1, 6)
    found = difference(first, second, population=400)
    assert found.share == pytest.approx(7 / 30)
    assert found.comparison == compare(first, second)
    assert found.low < found.share < found.high
    mirrored = difference(second, first, population=400)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize(("first", "second"), [(0, 0), (3, 0), (6, 2)])
def test_interval_covers_in_every_table_of_twelve(first, second):
    """Enumerated: the chance of each outcome times whether its interval covers."""
    n, population = 6, 12
    table = stats.multivariate_hypergeom([first, second, population - first - second], n)
    covered = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            chance = float(table.pmf([b, c, n - b - c]))
            if chance > 0:
                found = difference(*rows(n - b - c, b, c, 0), population=population)
                inside = found.low - 1e-9 <= (first - second) / population <= found.high + 1e-9
                covered += chance * inside
    assert covered >= 0.95


@pytest.mark.parametrize("n_skipped", range(5))
def test_a_difference_holds_whatever_the_skipped_rows_are(n_skipped):
    """Against every completion: each skipped row may be right by either, or by neither."""
    n_drawn = 15

    @cache
    def with_all_answers(b, c):
        return difference(*rows(n_drawn - b - c, b, c, 0), population=150)

    is_skipped = np.arange(n_drawn) >= n_drawn - n_skipped
    for b, c in product(range(6), repeat=2):
        answered = rows(n_drawn - b - c - n_skipped, b, c, n_skipped)
        found = difference(*answered, population=150, skipped=is_skipped)
        completions = [
            with_all_answers(b + i, c + j)
            for i in range(n_skipped + 1)
            for j in range(n_skipped + 1 - i)
        ]
        assert found.low == min(one.low for one in completions)
        assert found.high == max(one.high for one in completions)
        assert found.p_value == max(one.p_value for one in completions)
        assert found.comparison.p_value == max(one.comparison.p_value for one in completions)
        assert (found.comparison.only_first, found.comparison.only_second) == (b, c)
        assert found.comparison.n_skipped == n_skipped


def test_a_skipped_row_cannot_be_right():
    with pytest.raises(ValueError, match="skipped"):
        compare([True, False], [False, False], skipped=[True, False])


def test_of_a_table_that_was_looked_at_as_a_whole_the_difference_is_known():
    found = difference(*rows(30, 12, 2, 16), population=60)
    assert (found.low, found.high) == pytest.approx((10 / 60, 10 / 60))
    assert difference(*rows(30, 12, 2, 16), population=60, level=0.9).level == 0.9


def test_who_never_differ_may_differ_in_the_rows_that_were_not_drawn():
    right = [True] * 25 + [False] * 5
    found = difference(right, right, population=400)
    assert found.share == 0
    assert -0.11 < found.low == -found.high < -0.09
    assert found.p_value == 1


def test_labels_are_called_better_than_one_label_for_all_only_if_no_label_does_as_well():
    """Labels as good as naming the commonest class, which a draw may show as the second one."""
    counts = {"a": 160, "b": 120, "c": 120}
    truth = np.repeat(list(counts), list(counts.values())).astype(object)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(400) < 0.4, truth, rng.permutation(truth))
    labels[rng.permutation(np.flatnonzero(labels == truth))[:-160]] = "none of them"
    assert (labels == truth).sum() == 160
    n_better = 0
    for _ in range(150):
        rows = rng.choice(400, 40, replace=False)
        shares = class_shares(truth[rows], labels[rows], counts)
        n_better += one_label_for_all(truth[rows], labels[rows], shares).is_better
    assert n_better <= 0.05 * 150


def test_one_label_for_all_is_the_commonest_class_with_the_limits_of_its_share():
    truth = np.array(["a"] * 12 + ["b"] * 8 + [None], dtype=object)
    labels = np.array(["a"] * 10 + ["b"] * 10 + ["a"], dtype=object)
    skipped = truth == None  # noqa: E711 (elementwise)
    shares = class_shares(truth, labels, {"a": 110, "b": 100}, skipped=skipped)
    baseline = one_label_for_all(truth, labels, shares, skipped=skipped)
    assert (baseline.label, baseline.score.correct, baseline.score.n) == ("a", 12, 21)
    share = shares["a"]
    assert baseline.score.low * 210 == pytest.approx(share.low)
    assert baseline.score.high * 210 == pytest.approx(share.high)
    # Both labellings say "a" of the skipped row, so its answer makes no difference.
    comparison = baseline.comparison
    assert (comparison.only_first, comparison.only_second, comparison.n_skipped) == (8, 2, 0)
    assert comparison.p_value > 0.05
    assert not baseline.is_better
    assert one_label_for_all(truth[skipped], labels[skipped], shares, skipped=[True]) is None
