"""Labelling procedures: counts, the exact distribution of the draws, extreme bias, errors."""

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from chary.method.simulated_bias import first_component_scores, iid, selection_biased
from studies.study import train_test_protocol


class Split(NamedTuple):
    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any


def split_of(X, y):
    X_train, X_test, train, test = train_test_protocol(X, y, random_state=0)
    return Split(X_train, X_test, y[train], y[test])


def blob(n_per_class, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(n_per_class)), n_per_class)
    return rng.normal(size=(len(y), d)), y


@given(
    sizes=st.lists(st.integers(2, 30), min_size=2, max_size=5),
    extra=st.integers(0, 40),
    seed=st.integers(0, 100),
)
@settings(max_examples=30, deadline=None)
def test_counts_add_up_and_follow_the_shares(sizes, extra, seed):
    X, y = blob(sizes)
    n_labeled = min(len(sizes) + extra, len(y))
    if -(-n_labeled // len(sizes)) <= min(sizes):
        counts = np.bincount(y[iid(y, n_labeled, seed)], minlength=len(sizes))
        assert counts.sum() == n_labeled
        assert np.ptp(counts) <= 1
    mask = selection_biased(X, y, n_labeled, r=2.0, random_state=seed)
    counts = np.bincount(y[mask], minlength=len(sizes))
    assert counts.sum() == n_labeled
    assert counts.min() >= 1
    wanted = n_labeled * np.array(sizes) / len(y)
    # Within one label of the exact share, unless a rare class had to be given its first label.
    if wanted.min() >= 1:
        assert np.abs(counts - wanted).max() < 1


def test_the_same_seed_gives_the_same_mask_and_another_seed_another():
    X, y = blob([50, 50])
    masks = [selection_biased(X, y, 20, 1.0, random_state=seed) for seed in (1, 1, 2)]
    assert np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[0], masks[2])
    assert np.array_equal(iid(y, 10, np.random.default_rng(3)), iid(y, 10, 3))


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_draws_follow_successive_sampling_exactly(alpha):
    """Pairs of a class of four have their probability by definition: draw, renormalise, draw."""
    X = np.array([[-2.0], [-0.5], [0.5], [2.0], [-1.0], [1.0]])
    y = np.array([0, 0, 0, 0, 1, 1])
    r, n_draws = 0.9, 1_500
    biased = np.exp(r * np.abs(X[:4, 0]))
    p = (1 - alpha) / 4 + alpha * biased / biased.sum()
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    expected = [sum(p[i] * p[j] / (1 - p[i]) for i, j in permutations(pair)) for pair in pairs]
    rng = np.random.default_rng(7)
    seen = dict.fromkeys(pairs, 0)
    for _ in range(n_draws):
        mask = selection_biased(X, y, 3, r, alpha, rng)
        seen[tuple(np.flatnonzero(mask[:4]).tolist())] += 1
    assert chisquare(list(seen.values()), np.array(expected) * n_draws).pvalue > 1e-3


def test_extreme_bias_picks_the_extremes_and_nothing_overflows():
    X, y = blob([40, 60], d=5)
    mask = selection_biased(X * 100, y, 20, r=100.0, random_state=0)
    for c, n_c in ((0, 8), (1, 12)):
        score = np.abs(PCA(1, svd_solver="full").fit_transform(X[y == c])[:, 0])
        assert set(np.flatnonzero(mask[y == c])) == set(np.argsort(-score)[:n_c])


@given(n=st.integers(2, 30), d=st.integers(1, 12), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_first_component_against_a_full_decomposition(n, d, seed):
    X = np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1)
    full = PCA(1, svd_solver="full").fit_transform(X)[:, 0]
    assert np.abs(first_component_scores(X)) == pytest.approx(np.abs(full), abs=1e-7)


def test_identical_rows_have_no_direction_and_are_drawn_uniformly():
    X = np.ones((10, 3))
    assert not first_component_scores(X).any()
    assert selection_biased(X, [0, 1] * 5, 4, 2.0, random_state=0).sum() == 4


def test_class_names_and_row_order_of_the_other_class_do_not_matter():
    X, y = blob([30, 30])
    names = np.array(["no", "yes"])[y]
    assert np.array_equal(
        selection_biased(X, y, 10, 2.0, random_state=0),
        selection_biased(X, names, 10, 2.0, random_state=0),
    )


def test_protocol_is_stratified_and_standardised_with_training_rows_only():
    X, y = load_digits(return_X_y=True)
    split = split_of(X, y)
    assert len(split.y_test) == 450  # 25 % of 1797, rounded up
    assert np.abs(np.bincount(split.y_test) / 450 - np.bincount(y) / 1797).max() < 0.002
    constant = split.X_train.std(axis=0) == 0
    assert split.X_train.mean(axis=0) == pytest.approx(np.zeros(64), abs=1e-12)
    assert split.X_train.std(axis=0)[~constant] == pytest.approx(np.ones((~constant).sum()))
    assert abs(split.X_test.mean(axis=0)).max() > 1e-3  # not standardised with its own rows
    again = split_of(X, y)
    assert all(np.array_equal(a, b) for a, b in zip(split, again, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: iid(y, 1), "every class needs a label"),
        (lambda X, y: iid(y, 22), "n_labeled=22 asks for"),
        (lambda X, y: selection_biased(X, y, 200, 1.0), "n_labeled=200 asks for"),
        (lambda X, y: selection_biased(X, y, 4, 0.0), "r must be positive"),
        (lambda X, y: selection_biased(X, y, 4, -1.0), "r must be positive"),
        (lambda X, y: selection_biased(X, y, 4, 1.0, alpha=1.5), "alpha from 0"),
        (lambda X, y: selection_biased(X[:5], y, 4, 1.0), "inconsistent numbers of samples"),
        (lambda X, y: selection_biased(X, np.zeros(20), 4, 1.0), "give two or more of each"),
        (lambda X, y: selection_biased(X, [*y[:-1], 7], 4, 1.0), "give two or more of each"),
        (lambda X, y: iid([*y[:-1], 7], 4), "give two or more of each"),
        (lambda X, y: selection_biased(X * np.nan, y, 4, 1.0), "NaN"),
    ],
)
def test_errors_say_what_to_do(call, message):
    X, y = blob([10, 10])
    with pytest.raises(ValueError, match=message):
        call(X, y)
