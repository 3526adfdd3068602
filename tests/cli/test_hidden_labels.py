"""The demonstration: its labels are biased, its truth is whole."""

import numpy as np

from chary.cli.hidden_labels import N_LABELED, TARGET, hide_labels, rivals


def test_labels_are_hidden_but_not_lost():
    hidden = hide_labels(seed=1)
    given = hidden.frame[TARGET]
    assert given.drop_nulls().len() == N_LABELED == hidden.labeled.sum()
    assert (given.drop_nulls().to_numpy() == hidden.truth[hidden.labeled]).all()
    assert hidden.frame.shape == (569, 31)


def test_extreme_cases_are_labelled_first():
    hidden = hide_labels(seed=1)
    for name in ("benign", "malignant"):
        of_class = hidden.truth == name
        distance = np.linalg.norm(hidden.X[of_class] - hidden.X[of_class].mean(axis=0), axis=1)
        assert distance[hidden.labeled[of_class]].mean() > 1.5 * distance[~hidden.labeled[of_class]].mean()


def test_rivals_are_compared_on_hidden_labels_only():
    accuracy = rivals(hide_labels(seed=1))
    assert list(accuracy)[-1] == "chary"
    assert all(0.5 < value <= 1 for value in accuracy.values())
