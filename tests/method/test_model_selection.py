"""Folds of partly labelled data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from chary import FixedThreshold, LabeledStratifiedKFold, SelfTrainingClassifier

X, y_true = load_iris(return_X_y=True)
y = np.where(np.random.default_rng(0).random(150) < 0.4, y_true, -1)
model = SelfTrainingClassifier(
    LogisticRegression(max_iter=1000), confidence="softmax", policy=FixedThreshold(0.9)
)


def test_folds_split_the_labelled_rows_and_train_on_all_unlabelled_ones():
    unlabeled, tested = set(np.flatnonzero(y == -1)), []
    for train, test in LabeledStratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        assert unlabeled <= set(train)
        assert not set(train) & set(test)
        tested += list(test)
    assert sorted(tested) == list(np.flatnonzero(y != -1))


def test_folds_are_stratified():
    for _, test in LabeledStratifiedKFold(3).split(X, y):
        assert np.ptp(np.bincount(y[test]) / (np.bincount(y[y != -1]) / 3)) < 0.3


def test_folds_know_every_kind_of_missing_label():
    texts = pd.Series(np.where(y == -1, None, np.array(list("abc"))[y]))
    for (train, test), (train_text, test_text) in zip(
        LabeledStratifiedKFold(3).split(X, y),
        LabeledStratifiedKFold(3).split(X, texts),
        strict=True,
    ):
        np.testing.assert_array_equal(train, train_text)
        np.testing.assert_array_equal(test, test_text)


def test_cross_validation_and_grid_search():
    assert cross_val_score(model, X, y, cv=LabeledStratifiedKFold(3)).min() > 0.8
    grid = {"policy": [FixedThreshold(0.5), FixedThreshold(0.99)], "estimator__C": [0.01, 1]}
    search = GridSearchCV(model, grid, cv=LabeledStratifiedKFold(3)).fit(X, y)
    assert search.best_params_["estimator__C"] == 1
    assert search.predict(X).shape == (150,)


def test_a_fold_without_labels_is_a_clear_error():
    with pytest.raises(ValueError, match="no labelled row"):
        next(LabeledStratifiedKFold(3).split(X, np.full(150, -1)))
