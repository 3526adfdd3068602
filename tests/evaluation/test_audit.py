"""What an audit says, against SciPy's tests, against enumeration and against many simulated audits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from chary.evaluation import audit
from chary.evaluation.intervals import clopper_pearson

levels = st.floats(0.5, 0.99)


# -- Drawing


def test_draws_unlabelled_rows_only_each_once_and_in_random_order():
    labeled = np.arange(100) % 3 == 0
    rows = audit.draw(labeled, 40, random_state=0)
    assert not labeled[rows].any()
    assert len(set(rows.tolist())) == 40
    assert rows.tolist() != sorted(rows.tolist())


def test_every_unlabelled_row_is_equally_likely_at_every_place():
    labeled = np.array([True, False, False, True, False, False])
    rng = np.random.default_rng(0)
    draws = np.array([audit.draw(labeled, 2, rng) for _ in range(4000)])
    for place in draws.T:
        counts = np.bincount(place, minlength=6)[~labeled]
        assert stats.chisquare(counts).pvalue > 0.01


@given(st.integers(1, 400), st.integers(0, 2**40), st.data())
@settings(max_examples=40)
def test_draws_are_nested_and_go_on_from_any_of_them(n, seed, data):
    labeled = np.random.default_rng(seed).random(n) < 0.3
    labeled[0] = False
    k = data.draw(st.integers(1, int((~labeled).sum())))
    rows = audit.draw(labeled, k, seed)
    assert rows[: k // 2 + 1].tolist() == audit.draw(labeled, k // 2 + 1, seed).tolist()
    first, rest = rows[: k // 2], rows[k // 2 :]
    labeled[first] = True
    assert audit.draw(labeled, len(rest), seed).tolist() == rest.tolist()


def test_a_draw_of_many_rows_is_that_of_its_blocks(monkeypatch):
    whole = audit.draw(np.zeros(1_000, bool), 50, 3)
    monkeypatch.setattr(audit, "_BLOCK", 64)
    assert audit.draw(np.zeros(1_000, bool), 50, 3).tolist() == whole.tolist()


def test_a_draw_is_the_same_for_good():
    """Enlarging a sheet of years ago needs the same numbers, whatever became of NumPy's samplers."""
    assert audit.draw(np.zeros(1_000_000, bool), 5, 0).tolist() == [799702, 299610, 199741, 598437, 406974]


def test_a_draw_has_nothing_to_do_with_a_table_made_from_the_same_seed():
    noise = np.random.default_rng(0).random(20_000)
    raw = np.random.PCG64(0).random_raw(20_000)
    rows = audit.draw(np.zeros(20_000, bool), 500, 0)
    assert abs(noise[rows].mean() - 0.5) < 0.05
    assert abs(raw[rows].mean() / 2**64 - 0.5) < 0.05


@pytest.mark.parametrize("k", [0, -1, 4])
def test_refuses_to_draw_more_than_there_is(k):
    with pytest.raises(ValueError, match="3 unlabelled rows"):
        audit.draw([True, False, False, False], k)


def test_all_rows_can_be_drawn_or_one():
    labeled = np.array([True, False, False, True, False])
    assert sorted(audit.draw(labeled, 3, 0).tolist()) == [1, 2, 4]
    assert audit.draw(labeled, 1, 0).tolist() == audit.draw(labeled, 3, 0)[:1].tolist()
    assert audit.draw([False], 1).tolist() == [0]


def test_refuses_what_is_no_mask():
    for labeled in ([0, 1, 1], [[True, False]], [0.5, 1.0]):
        with pytest.raises(ValueError, match="mask"):
            audit.draw(labeled, 1)


def test_draws_of_one_generator_are_as_many_as_there_can_be():
    rng = np.random.default_rng(0)
    assert len({audit.draw(np.zeros(10_000, bool), 1, rng).item() for _ in range(400)}) > 380
    assert len({tuple(audit.draw(np.zeros(10_000, bool), 3).tolist()) for _ in range(20)}) == 20  # and of no seed


# -- Accuracy


@given(st.integers(1, 200), st.data(), levels)
def test_interval_is_scipys_exact_one(n, data, level):
    correct = data.draw(st.integers(0, n))
    expected = stats.binomtest(correct, n).proportion_ci(level, method="exact")
    assert np.allclose(audit.accuracy_interval(correct, n, level), tuple(expected), atol=1e-10)


def test_interval_covers_the_truth_in_ten_thousand_audits():
    """Pools of every accuracy, audits without replacement: at least the nominal share of intervals is right."""
    rng = np.random.default_rng(0)
    n_pool, k = 400, 30
    truth = rng.integers(0, n_pool + 1, 10_000)
    correct = rng.hypergeometric(truth, n_pool - truth, k)
    intervals = np.array([audit.accuracy_interval(x, k) for x in range(k + 1)])[correct]
    covered = (intervals[:, 0] <= truth / n_pool) & (truth / n_pool <= intervals[:, 1])
    assert covered.mean() >= 0.95
    for decile in np.array_split(covered[np.argsort(truth)], 10):
        assert decile.mean() >= 0.94


def test_interval_refuses_impossible_counts():
    for correct, n in [(3, 2), (-1, 2), (0, 0)]:
        with pytest.raises(ValueError, match="cannot be right"):
            audit.accuracy_interval(correct, n)
    with pytest.raises(ValueError, match="level"):
        audit.accuracy_interval(1, 2, 95)


def test_scores_of_classes_are_their_own_audits():
    y_true = np.array(["a"] * 6 + ["b"] * 9)
    y_pred = np.array(["a"] * 4 + ["b"] * 10 + ["a"])
    recall = audit.class_scores(y_true, y_pred, ["a", "b", "c"])
    precision = audit.class_scores(y_pred, y_true)
    assert {label: (s.correct, s.n) for label, s in recall.items()} == {"a": (4, 6), "b": (8, 9)}
    assert {label: (s.correct, s.n) for label, s in precision.items()} == {"a": (4, 5), "b": (8, 10)}
    assert (recall["b"].low, recall["b"].high) == audit.accuracy_interval(8, 9)


def test_skipped_rows_are_missed_in_the_lower_limit_of_a_class_and_found_in_the_upper_one():
    alone, with_skipped = audit.recall_score(4, 6), audit.recall_score(4, 6, 2, 3)
    assert (alone.low, alone.high) == audit.accuracy_interval(4, 6)
    assert (with_skipped.correct, with_skipped.n) == (4, 6)
    assert with_skipped.low == audit.accuracy_interval(4, 9)[0]
    assert with_skipped.high == audit.accuracy_interval(6, 8)[1]
    assert audit.recall_score(0, 0, 5, 5) is None


def test_what_was_said_of_skipped_rows_goes_into_the_limits_of_each_class():
    y_true, y_pred = ["a"] * 6 + ["b"] * 9, ["a"] * 4 + ["b"] * 10 + ["a"]
    found = audit.class_scores(y_true, y_pred, skipped=["a", None, "b", "b"])
    assert found["a"] == audit.recall_score(4, 6, may_be_found=2, may_be_missed=3)
    assert found["b"] == audit.recall_score(8, 9, may_be_found=3, may_be_missed=2)
    assert audit.class_scores(y_true, y_pred)["a"] == audit.recall_score(4, 6)


def test_every_figure_is_given_at_the_level_asked_for_and_at_95_percent_by_itself():
    right = [True] * 9 + [False] * 3
    for level, told in [(0.95, {}), (0.8, {"level": 0.8})]:
        limits = audit.accuracy_interval(9, 12, level)
        for found in (
            audit.score(right, **told),
            audit.recall_score(9, 12, **told),
            audit.class_scores([1] * 12, right, **told)[1],
        ):
            assert found == (9, 12, *limits, level)
        assert audit.required_size(0.2, **told) == audit.required_size(0.2, level, 0.5)
    assert audit.smallest_audit(0.1) == audit.smallest_audit(0.1, 0.9)
    pool = np.linspace(0, 1, 300)
    assert audit.accept_threshold(pool, pool > 0.2, pool, 0.1).level == 0.9


def test_balanced_accuracy_needs_rows_of_every_class():
    enough = audit.class_scores([0] * 5 + [1] * 5, [0] * 9 + [1])
    few = audit.class_scores([0] * 6 + [1] * 4, [0] * 9 + [1])
    assert audit.balanced_score(enough)[0] == pytest.approx(0.6)
    assert audit.balanced_score(enough, n_classes=3) is None
    assert audit.balanced_score(few) is None
    assert audit.balanced_score({}) is None
    assert audit.balanced_score(enough, n_classes=2) == audit.balanced_score(enough)


def test_limits_of_balanced_accuracy_join_the_errors_of_the_classes():
    scores = {0: audit.Score(8, 10, 0.5, 0.9, 0.95), 1: audit.Score(6, 10, 0.2, 0.9, 0.95)}
    mean, low, high = audit.balanced_score(scores)
    assert mean == pytest.approx(0.7)
    assert low == pytest.approx(0.7 - math.hypot(0.3, 0.4) / 2)
    assert high == pytest.approx(0.7 + math.hypot(0.1, 0.3) / 2)
    certain = {0: audit.Score(0, 9, 0.0, 1.0, 0.95)}
    assert audit.balanced_score(certain) == (0, 0, 1)
    assert audit.balanced_score({0: audit.Score(9, 9, -2.0, 3.0, 0.95)}) == (1, 0, 1)


@pytest.mark.parametrize(("n_first", "n_second"), [(5, 5), (6, 5), (10, 20), (25, 25)])
def test_balanced_interval_covers_the_truth(n_first, n_second):
    """All outcomes of two classes enumerated, over a grid of true recalls."""
    low, high = np.empty((2, n_first + 1, n_second + 1))
    for i in range(n_first + 1):
        for j in range(n_second + 1):
            first, second = (audit.Score(x, n, *audit.accuracy_interval(x, n), 0.95) for x, n in
                             ((i, n_first), (j, n_second)))  # fmt: skip
            _, low[i, j], high[i, j] = audit.balanced_score({0: first, 1: second})
    grid = np.linspace(0.02, 0.98, 25)
    coverage = []
    for p in grid:
        for q in grid:
            chance = np.outer(stats.binom.pmf(range(n_first + 1), n_first, p),
                              stats.binom.pmf(range(n_second + 1), n_second, q))  # fmt: skip
            coverage.append(chance[(low <= (p + q) / 2) & ((p + q) / 2 <= high)].sum())
    assert np.mean(coverage) > 0.97
    assert np.min(coverage) > 0.92


@given(st.floats(0.03, 0.6), levels)
def test_required_size_is_the_smallest_that_is_always_narrow_enough(width, level):
    n = audit.required_size(width, level)

    def widest(n):
        return max(
            high - low for low, high in (audit.accuracy_interval(x, n, level) for x in (n // 2, n // 2 + 1))
        )

    assert widest(n) <= width + 1e-12
    assert n <= 3 or widest(n - 2) > width - 1e-12  # an odd n has no count at one half


def test_required_size_is_smaller_when_much_is_expected():
    sizes = [audit.required_size(0.1, accuracy=accuracy) for accuracy in (0.5, 0.8, 0.95)]
    assert sizes == sorted(sizes, reverse=True)
    for width, accuracy in [(0, 0.5), (1, 0.5), (-0.1, 0.5), (0.1, -0.01), (0.1, 1.01)]:
        with pytest.raises(ValueError, match="width"):
            audit.required_size(width, accuracy=accuracy)
    assert audit.required_size(0.1, accuracy=0) == audit.required_size(0.1, accuracy=1) == 36


def test_the_answer_to_a_width_is_the_fewest_rows_of_all():
    def width(n, level):
        low, high = clopper_pearson(n / 2, n, level)
        return high - low

    for wanted, level in [(0.9995, 0.95), (0.95, 0.95), (0.73, 0.5), (0.3, 0.9), (0.21, 0.95)]:
        assert audit.required_size(wanted, level) == next(n for n in range(1, 200) if width(n, level) <= wanted)


def test_an_interval_just_as_wide_as_asked_for_is_narrow_enough():
    low, high = audit.accuracy_interval(25, 50)
    assert audit.required_size(high - low) == 50


# -- Two models


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_comparison_is_mcnemars_exact_test(pairs):
    first, second = np.array(pairs).T
    found = audit.compare(first, second)
    b, c = int(sum(first > second)), int(sum(second > first))
    tail = sum(math.comb(b + c, i) for i in range(min(b, c) + 1)) / 2 ** (b + c)
    assert (found.only_first, found.only_second) == (b, c)
    assert found.p_value == pytest.approx(min(1, 2 * tail))
    assert audit.compare(second, first).p_value == pytest.approx(found.p_value)


# -- Accepting rows


def brute_force_threshold(confidence, correct, pool, error, level):
    """The walks, one threshold at a time."""
    starts = audit._starts(len(confidence), error, 1 - level)
    best = math.inf
    for start in starts:
        for share in sorted(s for s in {*np.geomspace(starts[0], 1, 30), *starts} if s >= start):
            threshold = np.sort(pool)[min(round((1 - share) * len(pool)), len(pool) - 1)]
            above = confidence >= threshold
            wrong = int((above & ~correct).sum())
            if not above.any() or stats.binomtest(wrong, int(above.sum()), error, "less").pvalue > (
                1 - level
            ) / len(starts):
                break
            best = min(best, threshold)
    return best


@given(st.integers(0, 2**32), st.integers(5, 300), st.floats(0.02, 0.4), st.sampled_from([0, 1]))
def test_threshold_agrees_with_the_walks_done_by_hand(seed, k, error, decimals):
    rng = np.random.default_rng(seed)
    pool = rng.random(1000) if decimals == 0 else rng.random(1000).round(decimals)  # with ties
    rows = rng.choice(1000, k, replace=False)
    correct = rng.random(k) < 1 - error * 1.5 * (1 - pool[rows])
    found = audit.accept_threshold(pool[rows], correct, pool, error)
    assert found.threshold == brute_force_threshold(pool[rows], correct, pool, error, 0.9)
    assert found.n_accepted == (pool >= found.threshold).sum()
    assert found.n_audited == (pool[rows] >= found.threshold).sum()
    assert found.n_wrong == (~correct[pool[rows] >= found.threshold]).sum()


def test_accepts_everything_where_nothing_is_wrong_and_nothing_where_all_is():
    pool = np.linspace(0, 1, 500)
    everything = audit.accept_threshold(pool[::5], np.ones(100, bool), pool, 0.05)
    assert (everything.threshold, everything.n_accepted) == (0, 500)
    nothing = audit.accept_threshold(pool[::5], np.zeros(100, bool), pool, 0.05)
    assert (nothing.threshold, nothing.n_accepted) == (math.inf, 0)


@pytest.mark.parametrize("error", [0.02, 0.05, 0.1, 0.2])
def test_smallest_audit_is_where_a_faultless_one_begins_to_allow_anything(error):
    k = audit.smallest_audit(error)
    pool = np.linspace(0, 1, 10 * k)
    assert stats.binom.cdf(0, k, error) <= 0.1 < stats.binom.cdf(0, k - 1, error)
    assert audit.accept_threshold(pool[-k:], np.ones(k, bool), pool, error).n_accepted == len(pool)
    assert audit.accept_threshold(pool[1 - k :], np.ones(k - 1, bool), pool, error).n_accepted == 0


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
@pytest.mark.parametrize("k", [30, 100])
def test_accepted_error_holds_at_its_level_whatever_the_confidence(shape, k):
    """A thousand audits of pools whose confidence may be worthless: too many errors in at most one in ten."""
    rng = np.random.default_rng(0)
    chance = confident_first(shape)
    pool = np.linspace(1, 0, len(chance))
    broken = 0
    for _ in range(1000):
        wrong = rng.random(len(chance)) < chance
        rows = audit.draw(np.zeros(len(chance), bool), k, rng)
        found = audit.accept_threshold(pool[rows], ~wrong[rows], pool, 0.1)
        broken += found.n_accepted > 0 and wrong[pool >= found.threshold].mean() > 0.1
    assert broken <= 100 + 2 * math.sqrt(90)


def test_accepted_error_holds_under_biased_training_labels():
    """A thousand audits of models fitted on rows that were picked, not drawn."""
    rng = np.random.default_rng(1)
    broken, used, naive = 0, 0, 0
    for seed in range(20):
        X, y = make_classification(3000, 6, flip_y=0.02, class_sep=1.2, random_state=seed)
        labeled = np.zeros(len(X), bool)
        labeled[rng.choice(len(X), 40, replace=False, p=np.exp(2 * X[:, 0]) / np.exp(2 * X[:, 0]).sum())] = True
        labeled[[np.flatnonzero(y == c)[0] for c in (0, 1)]] = True
        model = LogisticRegression().fit(X[labeled], y[labeled])
        pool = model.predict_proba(X[~labeled]).max(axis=1)
        right = model.predict(X[~labeled]) == y[~labeled]
        naive += (~right[pool >= 0.9]).mean() > 0.1
        for _ in range(50):
            rows = audit.draw(labeled[~labeled], 100, rng)
            found = audit.accept_threshold(pool[rows], right[rows], pool, 0.1)
            used += found.n_accepted > 0
            broken += found.n_accepted > 0 and (~right[pool >= found.threshold]).mean() > 0.1
    assert naive >= 5  # the model's own 90 % is no such thing
    assert used >= 300  # the control is not won by refusing
    assert broken <= 100


def test_a_chance_just_as_small_as_asked_for_is_small_enough():
    pool = np.linspace(0, 1, 11)
    assert audit.accept_threshold([1.0], [True], pool, 0.5, 0.5).n_accepted == 11  # one right row: chance 0.5


def test_walks_start_where_enough_rows_are_left_and_are_nine_at_most():
    assert audit._starts(21, 0.1, 0.1).tolist() == []
    assert len(audit._starts(22, 0.1, 0.1)) == 1
    many = audit._starts(10**6, 0.1, 0.1)
    assert len(many) == 9
    np.testing.assert_allclose(many[1:], 2 * many[:-1])


@pytest.mark.parametrize("k", [22, 30, 45, 100, 400, 5_000])
def test_the_strictest_threshold_holds_enough_rows_in_nine_audits_of_ten_and_the_laxest_start_no_more_than_all(k):
    starts = audit._starts(k, 0.1, 0.1)
    needed = audit.smallest_audit(0.1, 1 - 0.1 / len(starts))
    assert stats.binom.sf(needed - 1, k, starts[0]) == pytest.approx(0.9)
    assert starts[-1] <= 1
    one_more = audit.smallest_audit(0.1, 1 - 0.1 / (len(starts) + 1))
    next_first = stats.beta.ppf(0.9, one_more, k - one_more + 1) if one_more <= k else 1.0
    assert len(starts) == 9 or next_first * 2 ** len(starts) > 1


def test_refuses_errors_and_levels_that_are_no_shares():
    for error, level in [(0, 0.9), (1, 0.9), (0.1, 1), (0.1, 0), (5, 0.9)]:
        with pytest.raises(ValueError, match="shares"):
            audit.accept_threshold([1.0], [True], [1.0], error, level)


def test_rows_without_confidence_are_refused_and_those_of_the_least_are_last():
    pool = np.append(np.linspace(0.5, 1, 400), np.full(100, -np.inf))
    audited, right = pool[::2], np.isfinite(pool[::2])
    found = audit.accept_threshold(audited, right, pool, 0.05)
    assert 0 < found.n_accepted < 430
    with pytest.raises(ValueError, match="-inf where there is none"):
        audit.accept_threshold(np.append(audited[:-1], np.nan), right, pool, 0.05)
    with pytest.raises(ValueError, match="-inf where there is none"):
        audit.accept_threshold(audited, right, np.append(pool[:-1], np.nan), 0.05)
