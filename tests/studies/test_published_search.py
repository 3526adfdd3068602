"""The published search for MSTA's thresholds: as its loops find them, and no better than ours."""

import numpy as np
import pytest
from scipy.special import softmax

from chary.method.policies import Round, TransductiveBound
from studies.published_search import PublishedBound


def a_vote(votes, posterior, prediction=None):
    prediction = votes.argmax(axis=1) if prediction is None else prediction
    return Round(votes.max(axis=1), votes, prediction, posterior, 1)


def problems(n_problems, max_rows, seed):
    """Votes, posteriors and predictions, with ties and classes without mass.

    The numbers are multiples of 2^-20, so that no sum is rounded: the early stops compare sums that
    can be equal.
    """
    for number in range(n_problems):
        rng = np.random.default_rng([seed, number])
        n, n_classes = rng.integers(2, max_rows + 1), rng.integers(2, 5)
        logits = 3 * rng.normal(size=(2, n, n_classes))
        votes, posterior = np.round(softmax(logits, axis=-1) * 2**20) / 2**20
        if number % 3 == 0:
            votes = np.round(votes * 8) / 8
        if number % 4 == 0:
            posterior[:, 0] = 0
        yield votes, posterior, rng.integers(0, n_classes, n)


def stops(values):
    return len(values) > 4 and values[-1] > values[-2] >= values[-3]


def threshold_by_loops(votes, posterior, index, j):
    """Seek the threshold of a class step by step, as described."""
    if posterior[:, j].sum() == 0:
        return 1.0
    v = votes[:, j]
    thetas = [v.min() + t * (v.max() - v.min()) / 50 for t in range(50)]
    ratios = []
    for theta in thetas:
        bound = 0.0
        for i in range(votes.shape[1]):
            if i != j:
                bound += infimum_by_loops(v, posterior[:, i], index == j, theta)
        share = np.mean((v >= theta) & (index == j))
        ratios.append(bound / len(v) / (share if share > 0 else 1e-8))
        if stops(ratios):
            break
    return thetas[ratios.index(min(ratios))]


def infimum_by_loops(v, p, predicted, theta):
    values = []
    for t in range(50):
        g = theta + (t + 1) * (1 - theta) / 50
        between = (v >= theta) & (v < g)
        rest = (p * v)[predicted].sum() - (p * v)[between].sum()
        values.append(p[between].sum() + max(0.0, rest) / g)
        if stops(values):
            break
    return min(values)


@pytest.mark.parametrize("index", ["prediction", "confidence"])
def test_thresholds_are_those_of_the_published_loops(index):
    n_early = 0
    for votes, posterior, prediction in problems(12, max_rows=25, seed=0):
        class_of_row = prediction if index == "prediction" else votes.argmax(axis=1)
        pool = a_vote(votes, posterior, prediction)
        accepted, used = PublishedBound(index).accept(pool)
        expected = [
            threshold_by_loops(votes, posterior, class_of_row, j) for j in range(votes.shape[1])
        ]
        np.testing.assert_array_equal(used["thresholds"], expected)
        np.testing.assert_array_equal(
            accepted, votes[np.arange(len(votes)), class_of_row] >= np.take(expected, class_of_row)
        )
        exact = TransductiveBound(index=index).accept(pool).used["thresholds"]
        n_early += not np.array_equal(exact, used["thresholds"])
    assert n_early > 5  # the two searches are not the same
