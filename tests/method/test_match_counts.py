"""Offsets give classes exactly the wanted sizes: against the Hungarian method and brute force."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.special import logsumexp, softmax

from chary.method import priors
from chary.method import priors as assignment
from chary.method.priors import match_counts, match_means, score_columns, whole_counts


def sizes(columns, offset):
    return np.bincount((columns + offset[:, None]).argmax(axis=0), minlength=len(columns))


def scores_of(kind, rng, n_classes, n):
    """Scores as models give them: spread, saturated, in clusters, with a class that never wins."""
    columns = rng.standard_normal((n_classes, n))
    if kind == "saturated":
        return np.log(
            rng.dirichlet(np.full(n_classes, 0.05), n).T + 1e-12 * rng.random((n_classes, n))
        )
    if kind == "clustered":
        return 10.0 * rng.integers(0, 2, (n_classes, n)) + 1e-4 * columns
    if kind == "never predicted":
        columns[-1] -= 1000
    return columns


KINDS = ["spread", "saturated", "clustered", "never predicted"]
problems = {
    "kind": st.sampled_from(KINDS),
    "n_classes": st.integers(2, 6),
    "n": st.integers(1, 80),
    "seed": st.integers(0, 2**32 - 1),
}


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 1000))
def test_whole_counts_are_within_one_of_the_shares(parts, n):
    shares = np.array(parts) / sum(parts)
    counts = whole_counts(shares, n)
    assert counts.sum() == n
    assert np.all(np.abs(counts - shares * n) < 1)


def test_of_equal_remainders_the_first_class_goes_first():
    assert whole_counts(np.array([0.5, 0.5]), 3).tolist() == [2, 1]
    assert whole_counts(np.array([0.1, 0.6, 0.3]), 10).tolist() == [1, 6, 3]


def test_remainders_are_equal_where_nine_digits_are():
    favor_second = np.array([0.0, 1.0])
    assert whole_counts(np.array([0.5 + 2e-10, 0.5 - 2e-10]), 1, favor_second).tolist() == [0, 1]
    assert whole_counts(np.array([0.5 + 2e-9, 0.5 - 2e-9]), 1, favor_second).tolist() == [1, 0]


def test_one_score_that_is_no_number_among_many_is_refused():
    for bad in [np.nan, np.inf, -np.inf]:
        scores = np.zeros((5, 3))
        scores[3, 1] = bad
        with pytest.raises(ValueError, match="scores hold NaN or infinity"):
            score_columns(scores)


@given(**problems)
def test_sizes_are_exact_and_the_assignment_is_the_best_one(kind, n_classes, n, seed):
    rng = np.random.default_rng(seed)
    columns = scores_of(kind, rng, n_classes, n)
    counts = whole_counts(rng.dirichlet(np.ones(n_classes)), n)
    offset = match_counts(columns, counts)
    assert sizes(columns, offset).tolist() == counts.tolist()

    places = np.repeat(np.arange(n_classes), counts)
    rows, chosen = linear_sum_assignment(columns[places].T, maximize=True)
    best = columns[places[chosen], rows].sum()
    ours = columns[(columns + offset[:, None]).argmax(axis=0), np.arange(n)].sum()
    assert ours == pytest.approx(best, rel=1e-9, abs=1e-9)


@given(**problems, tied=st.booleans())
def test_neither_the_order_of_rows_nor_of_classes_matters(kind, n_classes, n, seed, tied):
    rng = np.random.default_rng(seed)
    columns = scores_of(kind, rng, n_classes, n)
    if tied:
        columns = columns[:, rng.integers(0, n, n)]
    counts = whole_counts(rng.dirichlet(np.ones(n_classes)), n)
    offset = match_counts(columns, counts)
    rows = rng.permutation(n)
    again = match_counts(columns[:, rows], counts)
    np.testing.assert_allclose(again, offset, rtol=1e-9, atol=1e-9)
    assert sizes(columns, again).tolist() == sizes(columns, offset).tolist()
    if not tied:
        classes = rng.permutation(n_classes)
        renamed = match_counts(columns[classes], counts[classes])
        np.testing.assert_allclose(
            renamed - renamed.mean(), (offset - offset.mean())[classes], rtol=1e-9, atol=1e-9
        )


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_two_classes_with_ties_come_as_near_as_any_offset_can(n, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 4, (2, n)).astype(float)
    counts = whole_counts(rng.dirichlet(np.ones(2)), n)
    nearest = min(abs(sizes(columns, np.array([0, b]))[0] - counts[0]) for b in np.arange(-4.5, 5))
    assert abs(sizes(columns, match_counts(columns, counts))[0] - counts[0]) == nearest


@settings(max_examples=40)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_many_classes_with_ties_miss_by_no_more_than_the_tied_rows(n, seed):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 4, (3, n)).astype(float)
    counts = whole_counts(rng.dirichlet(np.ones(3)), n)
    offset = match_counts(columns, counts)
    missed = np.abs(sizes(columns, offset) - counts).sum() / 2

    def n_tied(b):
        raised = columns + np.array(b)[:, None]
        return np.sum(np.sum(raised == raised.max(axis=0), axis=0) > 1)

    # Scores are whole, so a whole offset solves the problem; ties there are all that can be missed.
    def objective(b):
        return (columns + np.array(b)[:, None]).max(axis=0).sum() - counts @ b

    solutions = [(0, *b) for b in product(range(-8, 9), repeat=2)]
    least = min(objective(b) for b in solutions)
    assert missed <= max(n_tied(b) for b in solutions if objective(b) == least)


@pytest.mark.parametrize("kind", ["clear", "in heaps", "tied"])
def test_of_many_rows_few_are_searched_and_the_offset_is_the_same(kind, monkeypatch):
    rng = np.random.default_rng(4)
    columns = rng.standard_normal((4, 3_000))
    if kind == "in heaps":
        columns += 20 * np.eye(4)[rng.integers(0, 4, 3_000)].T
    if kind == "tied":
        columns = columns.round(1)
    counts = np.array([2_100, 600, 299, 1])
    whole = match_counts(columns, counts)
    searched = []
    search = priors._sharpened_offset

    def noted_search(columns, *arguments):
        searched.append(columns.shape[1])
        return search(columns, *arguments)

    monkeypatch.setattr(priors, "_sharpened_offset", noted_search)
    monkeypatch.setattr(priors, "_SEARCHED_AT_ONCE", 1_000)
    monkeypatch.setattr(priors, "_OPEN_ROWS", 100)
    offset = match_counts(columns, counts)
    if kind != "tied":
        np.testing.assert_allclose(offset, whole, rtol=0, atol=1e-9)
    assert sizes(columns, offset).tolist() == sizes(columns, whole).tolist()
    assert max(searched) < 3_000 or kind != "clear"


def test_rows_that_nobody_can_tell_apart_stay_together():
    columns = np.zeros((3, 7))
    assert sizes(columns, match_counts(columns, np.array([1, 4, 2]))).tolist() == [0, 7, 0]


def test_the_offset_lies_in_the_middle_so_that_rounding_cannot_flip_a_row():
    columns = np.array([[0.0, 0.0, 0.0, 0.0], [-3.0, -1.0, 1.0, 2.0]])
    assert match_counts(columns, np.array([2, 2])).tolist() == [0.0, 0.0]
    assert match_counts(columns, np.array([3, 1])).tolist() == [0.0, -1.5]


def test_a_class_too_small_for_a_row_stays_within_reach_of_new_rows():
    columns = np.array([[5.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    offset = match_counts(columns, np.array([3, 0]))
    assert offset.tolist() == [0.0, -0.5]  # the row at 1 stays, one below -0.5 would not


def test_of_many_classes_the_offset_is_the_middle_of_all_that_are_optimal():
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n_classes, n = int(rng.integers(3, 6)), int(rng.integers(6, 30))
        columns = rng.standard_normal((n_classes, n))
        counts = 1 + rng.multinomial(n - n_classes, rng.dirichlet(np.ones(n_classes)))
        places = np.repeat(np.arange(n_classes), counts)
        rows, chosen = linear_sum_assignment(columns[places].T, maximize=True)
        # No row may rather be of another class; within that, a corner raises all others as far as
        # they go.
        limits, bounds = [], []
        for i, c in zip(rows, places[chosen], strict=True):
            for d in set(range(n_classes)) - {c}:
                limits.append(np.eye(n_classes)[d] - np.eye(n_classes)[c])
                bounds.append(columns[c, i] - columns[d, i])
        corners = [
            linprog(
                -np.ones(n_classes),
                limits,
                bounds,
                [np.eye(n_classes)[c]],
                [0],
                bounds=(None, None),
            ).x
            for c in range(n_classes)
        ]
        middle = np.mean(corners, axis=0)
        np.testing.assert_allclose(match_counts(columns, counts), middle - middle[0], atol=1e-9)


# -- Proportions of probabilities


def mean_softmax(columns, offset):
    return softmax(columns + offset[:, None], axis=0).mean(axis=1)


def dual(columns, shares, offset):
    """What the offsets of ``match_means`` make smallest."""
    return logsumexp(columns + offset[:, None], axis=0).mean() - shares @ offset


@settings(max_examples=40)
@given(st.sampled_from(["spread", "never predicted"]), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_mean_probabilities_are_within_the_tolerance_of_the_shares(kind, n_classes, seed):
    rng = np.random.default_rng(seed)
    columns, shares = scores_of(kind, rng, n_classes, 50), rng.dirichlet(np.full(n_classes, 2.0))
    offset = match_means(columns, shares, np.zeros(n_classes), 1e-9)
    assert np.abs(mean_softmax(columns, offset) - shares).max() <= 1.1e-9
    assert match_means(columns, shares, offset, 1e-8) is offset  # near enough: left as it is


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(2, 6), st.floats(0.01, 30), st.integers(0, 2**32 - 1))
def test_every_step_towards_the_shares_descends(kind, n_classes, scale, seed):
    rng = np.random.default_rng(seed)
    columns, shares = (
        scale * scores_of(kind, rng, n_classes, 40),
        rng.dirichlet(np.full(n_classes, 2.0)),
    )
    offset = scale * rng.standard_normal(n_classes)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(assignment, "_MAX_STEPS", 1)
        for _ in range(4):
            after = match_means(columns, shares, offset, 1e-9)
            before = dual(columns, shares, offset)
            assert dual(columns, shares, after) <= before + 1e-12 * (1 + abs(before))
            offset = after
