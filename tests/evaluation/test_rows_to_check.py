"""The rows proposed for a label: doubtful, far from labels, unlike each other."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from chary.evaluation.rows_to_check import rows_to_label


def test_rows_to_label_are_unlabelled_distinct_doubtful_and_spread_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    labeled = X[:, 0] > 1
    confidence = rng.random(600)
    rows = rows_to_label(X, labeled, confidence, k=20, random_state=0)
    assert len(set(rows.tolist())) == 20
    assert not labeled[rows].any()
    assert confidence[rows].mean() < 0.4
    least_confident = np.flatnonzero(~labeled)[np.argsort(confidence[~labeled])[:20]]

    def spread(chosen):
        distances = cdist(X[chosen], X[chosen])
        return distances[~np.eye(20, dtype=bool)].reshape(20, 19).min(axis=1).mean()

    assert spread(rows) > 1.5 * spread(least_confident)
    assert cdist(X[rows], X[labeled]).min(axis=1).mean() > cdist(X[least_confident], X[labeled]).min(axis=1).mean()


@pytest.mark.parametrize("n_unlabeled", [0, 1, 3])
def test_rows_to_label_gives_what_there_is(n_unlabeled):
    X = np.random.default_rng(0).normal(size=(20, 5))
    labeled = np.arange(20) >= n_unlabeled
    assert sorted(rows_to_label(X, labeled, np.zeros(20), k=5, random_state=0)) == list(range(n_unlabeled))
