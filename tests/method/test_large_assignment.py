"""Offsets of scores that come in parts are those of all scores at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.method.assignment import match_counts, whole_counts
from chary.method.large_assignment import match_counts_in_parts
from chary.method.priors import align, align_in_parts


def in_parts(columns, size):
    return lambda: (columns[:, start : start + size] for start in range(0, columns.shape[1], size))


def counted(columns, offset):
    return np.bincount((columns + offset[:, None]).argmax(axis=0), minlength=len(columns))


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    n=st.integers(1, 6000),
    size=st.integers(100, 2000),
    room=st.sampled_from([2000, 4000]),
)
def test_counts_are_met_exactly_with_little_room(seed, n_classes, n, size, room):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n_classes, n)) * rng.exponential(3) + rng.normal(size=(n_classes, 1))
    counts = whole_counts(rng.dirichlet(np.full(n_classes, 8.0)), n)
    found = match_counts_in_parts(in_parts(columns, size), counts, room)
    np.testing.assert_array_equal(counted(columns, found.offset), counts)
    assert found.n_off == 0


def test_a_class_too_rare_for_the_sample_is_off_by_no_more_than_is_said():
    columns = np.random.default_rng(4).normal(size=(4, 30_000))
    counts = np.array([20_000, 9_900, 97, 3])
    found = match_counts_in_parts(in_parts(columns, 5_000), counts, 2_000)
    off = (counted(columns, found.offset) - counts).clip(0).sum()
    assert found.n_off == off <= 100


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_offsets_are_those_of_all_scores_at_once(n_classes):
    rng = np.random.default_rng(n_classes)
    columns = rng.normal(size=(n_classes, 20_000)) * 2
    counts = whole_counts(rng.dirichlet(np.ones(n_classes)), 20_000)
    found = match_counts_in_parts(in_parts(columns, 3_000), counts, 4_000)
    expected = match_counts(columns, counts)
    np.testing.assert_allclose(found.offset - found.offset[0], expected - expected[0], atol=1e-12)


def test_sorted_rows_are_no_harder():
    leaning = np.sort(np.random.default_rng(0).normal(size=50_000))
    columns = np.stack([np.zeros_like(leaning), leaning])
    found = match_counts_in_parts(in_parts(columns, 1_000), np.array([49_000, 1_000]), 500)
    assert found.n_off == 0


def test_rows_of_equal_scores_are_said_to_be_off_as_they_are_at_once():
    columns = np.stack([np.zeros(30_000), np.repeat([0.0, 1.0, 2.0], 10_000)])
    counts = np.array([14_000, 16_000])
    found = match_counts_in_parts(in_parts(columns, 7_000), counts, 500)
    at_once = match_counts(columns, counts)
    np.testing.assert_array_equal(counted(columns, found.offset), counted(columns, at_once))
    assert found.n_off == 4_000


def test_a_class_of_no_row_has_none_and_a_new_row_may_have_it():
    columns = np.random.default_rng(1).normal(size=(3, 5_000))
    found = match_counts_in_parts(in_parts(columns, 999), np.array([3_000, 0, 2_000]), 300)
    assert counted(columns, found.offset).tolist() == [3_000, 0, 2_000]
    assert np.isfinite(found.offset).all()
    alone = match_counts_in_parts(in_parts(columns, 999), np.array([0, 5_000, 0]), 300)
    assert counted(columns, alone.offset).tolist() == [0, 5_000, 0]


def test_shares_are_those_of_align():
    scores = np.random.default_rng(3).normal(size=(9_000, 3))
    for shares in ([0.2, 0.3, 0.5], [0.4, 0.6, 0.0]):
        found = align_in_parts(in_parts(scores.T, 1_234), shares, room=900)
        np.testing.assert_allclose(found.offset, align(scores, shares), atol=1e-12)
