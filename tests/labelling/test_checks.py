"""Labels to look at again, and rows worth a label: few, doubtful, in a meaningful order."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.linear_model import LogisticRegression

from chary.labelling.defaults import Defaults
from chary.labelling.rows_to_check import rows_to_check, suspect_labels
from chary.method.held_out import HeldOut, hold_out


def judged(probability, own, correct=None):
    probability, own = np.asarray(probability), np.asarray(own)
    k = len(own)
    correct = np.zeros(k, dtype=bool) if correct is None else np.asarray(correct)
    return HeldOut(
        np.full(k, "b"),
        correct,
        np.ones(k),
        probability,
        np.full(k, "a"),
        own,
        np.arange(100, 100 + k),
    )


def padded(n, *first):
    """So many labels judged, the first of them as told, the others right."""
    probability, own, correct = (list(values) for values in zip(*first, strict=True))
    more = n - len(first)
    return judged(probability + [0.99] * more, own + [0.99] * more, correct + [True] * more)


def test_the_least_probable_label_comes_first_and_only_confident_contradictions_are_listed():
    found = padded(
        120, (0.95, 0.05, False), (0.97, 0.01, False), (0.8, 0.1, False), (0.96, 0.01, False)
    )
    assert suspect_labels(found).tolist() == [1, 3, 0]


def test_no_more_than_twenty_and_none_that_is_right():
    many = judged(np.full(170, 0.99), np.linspace(0.001, 0.01, 170))
    assert suspect_labels(many).tolist() == list(range(20))
    assert suspect_labels(many._replace(correct=np.ones(170, dtype=bool))).tolist() == []


def test_few_labels_or_none_are_not_asked_about():
    assert suspect_labels(padded(99, (0.99, 0.0, False))).tolist() == []
    assert suspect_labels(padded(100, (0.99, 0.0, False))).tolist() == [0]
    assert suspect_labels(judged([], [])).tolist() == []
    nothing = np.full(160, np.nan)  # no probabilities
    assert suspect_labels(judged(nothing, nothing)).tolist() == []


def test_swapped_labels_are_found_and_their_rows_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    truth = np.where(X[:, 0] > 0, "yes", "no")
    y = np.where(np.arange(400) % 2, truth, None).astype(object)
    clear = np.flatnonzero((np.abs(X[:, 0]) > 1) & (np.arange(400) % 2 == 1))
    swapped = rng.choice(clear, 8, replace=False)
    y[swapped] = np.where(truth[swapped] == "yes", "no", "yes")
    found = hold_out(LogisticRegression(C=100), X, y, random_state=0)
    listed = found.rows[suspect_labels(found)]
    assert len(set(listed) & set(swapped)) >= 6
    assert set(listed) <= set(np.flatnonzero(y != truth))
    # Two classes.
    np.testing.assert_allclose((found.probability + found.given_probability)[~found.correct], 1)
    np.testing.assert_allclose(
        found.probability[found.correct], found.given_probability[found.correct]
    )


def test_rows_to_check_are_unlabelled_distinct_doubtful_and_spread_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    labeled = X[:, 0] > 1
    confidence = rng.random(600)
    rows = rows_to_check(X, labeled, confidence, Defaults(n_rows_to_check=20))
    assert len(set(rows.tolist())) == 20
    assert not labeled[rows].any()
    assert confidence[rows].mean() < 0.4
    least_confident = np.flatnonzero(~labeled)[np.argsort(confidence[~labeled])[:20]]

    def spread(chosen):
        distances = cdist(X[chosen], X[chosen])
        return distances[~np.eye(20, dtype=bool)].reshape(20, 19).min(axis=1).mean()

    assert spread(rows) > 1.5 * spread(least_confident)
    assert (
        cdist(X[rows], X[labeled]).min(axis=1).mean()
        > cdist(X[least_confident], X[labeled]).min(axis=1).mean()
    )


@pytest.mark.parametrize(("n_candidates", "sure"), [(100, False), (2, False), (100, True)])
def test_the_row_of_highest_doubt_is_taken_then_counts_as_labelled(n_candidates, sure):
    """Of rows that are all sure the farthest are taken."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    labeled = np.arange(80) % 4 == 0
    confidence = np.ones(80) if sure else rng.random(80).round(2)

    def doubt(row, known):
        return (1 - confidence[row] + 1e-9) * np.linalg.norm(X[known] - X[row], axis=1).min()

    known = np.flatnonzero(labeled).tolist()
    pool = np.flatnonzero(~labeled).tolist()
    pool = sorted(pool, key=lambda row: -doubt(row, known))[: 6 * n_candidates]
    expected = []
    for _ in range(6):
        expected.append(max(pool, key=lambda row: doubt(row, known)))
        known.append(expected[-1])
        pool.remove(expected[-1])
    defaults = Defaults(n_rows_to_check=6, check_candidates=n_candidates)
    assert rows_to_check(X, labeled, confidence, defaults).tolist() == expected


def test_rows_to_check_gives_what_there_is():
    X = np.random.default_rng(0).normal(size=(20, 5))
    for n_unlabeled in (0, 3):
        labeled = np.arange(20) >= n_unlabeled
        assert sorted(rows_to_check(X, labeled, np.zeros(20), Defaults(n_rows_to_check=5))) == list(
            range(n_unlabeled)
        )
