"""Offsets give classes exactly the wanted sizes: against the Hungarian method and brute force."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from chary.method import assignment
from chary.method.assignment import match_counts, whole_counts


def sizes(columns, offset):
    return np.bincount((columns + offset[:, None]).argmax(axis=0), minlength=len(columns))


def scores_of(kind, rng, n_classes, n):
    """Scores as models give them: spread, saturated, in clusters, with a class that never wins."""
    columns = rng.standard_normal((n_classes, n))
    if kind == "saturated":
        return np.log(rng.dirichlet(np.full(n_classes, 0.05), n).T + 1e-12 * rng.random((n_classes, n)))
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
    assert whole_counts(np.array([0.1, 0.6, 0.3]), 10).tolist() == [
        1,
        6,
        3,
    ]


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


def test_a_tie_goes_to_the_side_that_comes_nearest_among_all_orders_of_classes():
    columns = np.zeros((3, 7))  # seven rows that nobody can tell apart
    assert sizes(columns, match_counts(columns, np.array([1, 4, 2]))).tolist() == [0, 7, 0]
    pairs = np.array([[0, 0, -9], [0, -9, 0], [-9, 0, 0]], dtype=float)  # each row torn between two classes
    columns = np.repeat(pairs, [5, 3, 1], axis=1)  # five of 0 or 1, three of 0 or 2, one of 1 or 2
    counts = np.array([3, 5, 1])
    misses = [np.abs(sizes(columns, 1e-3 * np.array(order)) - counts).sum() for order in permutations(range(3))]
    assert np.abs(sizes(columns, match_counts(columns, counts)) - counts).sum() == min(misses)


def test_the_offset_lies_in_the_middle_so_that_rounding_cannot_flip_a_row():
    columns = np.array([[0.0, 0.0, 0.0, 0.0], [-3.0, -1.0, 1.0, 2.0]])
    assert match_counts(columns, np.array([2, 2])).tolist() == [0.0, 0.0]
    assert match_counts(columns, np.array([3, 1])).tolist() == [0.0, -1.5]


def test_a_class_too_small_for_a_row_stays_within_reach_of_new_rows():
    columns = np.array([[5.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    offset = match_counts(columns, np.array([3, 0]))
    assert offset.tolist() == [0.0, -0.5]  # the row at 1 stays, one below -0.5 would not


@pytest.mark.parametrize("columns", [[[0.0, 0.0], [2.0, 2.0]], [[2.0, 2.0], [0.0, 0.0]]])
def test_rows_that_are_all_alike_go_to_either_class_by_one(columns):
    columns = np.array(columns)
    lead = columns[1, 0] - columns[0, 0]
    assert match_counts(columns, np.array([2, 0])).tolist() == [0.0, -lead - 1]
    assert match_counts(columns, np.array([0, 2])).tolist() == [lead - 1, 0.0]
    assert match_counts(columns, np.array([1, 1])).tolist() == [0.0, 1 - lead]  # one miss either way
    assert sizes(columns, match_counts(columns, np.array([2, 0]))).tolist() == [2, 0]
    assert sizes(columns, match_counts(columns, np.array([0, 2]))).tolist() == [0, 2]


def test_either_class_may_be_too_small_for_a_row():
    columns = np.array([[5.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    assert match_counts(columns, np.array([0, 3])).tolist() == [-5.5, 0.0]  # half the next gap beyond the last row
    assert match_counts(columns[::-1], np.array([0, 3])).tolist() == [-0.5, 0.0]


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_solved_through_a_sample_and_the_rows_left_open(kind, monkeypatch):
    rng = np.random.default_rng(0)
    columns = scores_of(kind, rng, 5, 6000)
    counts = whole_counts(np.array([0.4, 0.3, 0.2, 0.0996, 0.0004]), 6000)
    whole = match_counts(columns, counts)
    monkeypatch.setattr(assignment, "_CORE_ROWS", 256)
    sampled = match_counts(columns, counts)
    assert sizes(columns, sampled).tolist() == counts.tolist()
    np.testing.assert_allclose(sampled, whole, rtol=1e-9, atol=1e-9)


def test_many_tied_rows_are_moved_at_once():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((4, 60))[:, rng.integers(0, 60, 100_000)]
    counts = sizes(columns, np.array([0.0, 1.0, -0.5, 0.3]))
    assert sizes(columns, match_counts(columns, counts)).tolist() == counts.tolist()
    counts += np.array([100, -50, -50, 0])  # fewer than there are rows of a kind: none of them moves
    assert np.abs(sizes(columns, match_counts(columns, counts)) - counts).sum() <= 200
