"""Which given labels are asked about: contradicted and improbable, few, in an order that is no accident."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from chary.evaluation import HeldOut, doubtful_labels, held_out


def judged(probability, own, correct=None):
    probability, own = np.asarray(probability), np.asarray(own)
    k = len(own)
    correct = np.zeros(k, dtype=bool) if correct is None else np.asarray(correct)
    return HeldOut(
        np.full(k, "b"), correct, np.ones(k), probability, np.full(k, "a"), own, np.arange(100, 100 + k)
    )


def padded(n, *first):
    """So many labels judged, the first of them as told, the others right."""
    probability, own, correct = (list(values) for values in zip(*first, strict=True))
    more = n - len(first)
    return judged(probability + [0.99] * more, own + [0.99] * more, correct + [True] * more)


def test_the_least_probable_label_comes_first_and_only_confident_contradictions_are_listed():
    found = padded(120, (0.95, 0.05, False), (0.97, 0.01, False), (0.8, 0.1, False), (0.96, 0.01, False))
    assert doubtful_labels(found).tolist() == [1, 3, 0]


def test_no_more_than_twenty_and_none_that_is_right():
    many = judged(np.full(170, 0.99), np.linspace(0.001, 0.01, 170))
    assert doubtful_labels(many).tolist() == list(range(20))
    assert doubtful_labels(many._replace(correct=np.ones(170, dtype=bool))).tolist() == []


def test_few_labels_or_none_are_not_asked_about():
    assert doubtful_labels(padded(99, (0.99, 0.0, False))).tolist() == []
    assert doubtful_labels(padded(100, (0.99, 0.0, False))).tolist() == [0]
    assert doubtful_labels(judged([], [])).tolist() == []


def test_without_probabilities_nothing_is_listed():
    nothing = np.full(160, np.nan)
    assert doubtful_labels(judged(nothing, nothing)).tolist() == []


def test_swapped_labels_are_found_and_their_rows_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    truth = np.where(X[:, 0] > 0, "yes", "no")
    y = np.where(np.arange(400) % 2, truth, None).astype(object)
    clear = np.flatnonzero((np.abs(X[:, 0]) > 1) & (np.arange(400) % 2 == 1))
    swapped = rng.choice(clear, 8, replace=False)
    y[swapped] = np.where(truth[swapped] == "yes", "no", "yes")
    found = held_out(LogisticRegression(C=100), X, y, random_state=0)
    listed = found.rows[doubtful_labels(found)]
    assert len(set(listed) & set(swapped)) >= 6
    assert set(listed) <= set(np.flatnonzero(y != truth))
    np.testing.assert_allclose((found.probability + found.own)[~found.correct], 1)  # two classes
    np.testing.assert_allclose(found.probability[found.correct], found.own[found.correct])
