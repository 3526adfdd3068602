"""Class probabilities of a model and of its members, for every kind of model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from chary import DiverseEnsembleClassifier
from chary.method.estimators import member_probabilities, probabilities

X, y = load_iris(return_X_y=True)
names = np.array(["setosa", "versicolor", "virginica"])[y]


def test_the_mean_of_the_members_is_the_ensemble():
    for frame in [False, True]:
        for ensemble in [
            RandomForestClassifier(7, random_state=0),
            ExtraTreesClassifier(7, random_state=0),
            BaggingClassifier(LogisticRegression(), 7, max_features=0.5, random_state=0),
            VotingClassifier(
                [("tree", DecisionTreeClassifier(max_depth=2)), ("bayes", GaussianNB())],
                voting="soft",
            ),
        ]:
            rows = pd.DataFrame(X, columns=list("abcd")) if frame else X
            ensemble.fit(rows, names)
            head_probs = member_probabilities(ensemble, rows)
            assert head_probs.shape == (150, len(ensemble.estimators_), 3)
            np.testing.assert_allclose(head_probs.mean(axis=1), ensemble.predict_proba(rows))


def test_a_member_that_never_saw_a_class_gives_it_no_probability():
    bagging = BaggingClassifier(KNeighborsClassifier(1), 30, max_samples=4, random_state=0).fit(
        X, names
    )
    assert any(len(member.classes_) < 3 for member in bagging.estimators_)
    np.testing.assert_allclose(
        member_probabilities(bagging, X).mean(axis=1), bagging.predict_proba(X)
    )


def test_a_pipeline_is_asked_through_its_last_step():
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)).fit(X, y)
    np.testing.assert_allclose(member_probabilities(model, X).mean(axis=1), model.predict_proba(X))
    alone = make_pipeline(RandomForestClassifier(5, random_state=0)).fit(X, y)
    assert member_probabilities(alone, X).shape == (150, 5, 3)


def test_one_pass_gives_what_two_give():
    model = DiverseEnsembleClassifier(n_steps=20, random_state=0).fit(X, y)
    probs, head_probs = model.predict_joint_proba(X)
    np.testing.assert_allclose(probs, model.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(head_probs, model.predict_head_proba(X), atol=1e-12)


def test_rows_may_be_lists():
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        member_probabilities(forest, X.tolist()), member_probabilities(forest, X)
    )


def test_a_model_without_members_is_refused():
    for model in [
        LogisticRegression(max_iter=1000),
        SVC(),
        OneVsRestClassifier(GaussianNB()),  # its members tell one class from the rest
        OneVsOneClassifier(GaussianNB()),
    ]:
        with pytest.raises(
            ValueError, match=f"{type(model).__name__} has none.*pass confidence='max_probability'"
        ):
            member_probabilities(model.fit(X, y), X)


def test_decision_values_become_probabilities():
    binary = RidgeClassifier().fit(X, y == 1)
    probs = probabilities(binary, X)
    np.testing.assert_allclose(probs[:, 1], 1 / (1 + np.exp(-binary.decision_function(X))))
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    many = Perceptron().fit(X, y)
    np.testing.assert_array_equal(probabilities(many, X).argmax(axis=1), many.predict(X))


def test_a_model_without_any_score_is_refused():
    with pytest.raises(
        ValueError, match="KNeighborsRegressor has neither predict_proba nor decision_function"
    ):
        probabilities(KNeighborsRegressor().fit(X, y), X)
