"""What a classifier is given of partly labelled rows, and that labels are encoded once."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier
from chary.method import labels as labels_module
from chary.method.estimators import fit_partly
from chary.method.labels import Labels, encode

X = np.random.default_rng(0).standard_normal((60, 2))
y = np.where(np.arange(60) < 40, np.where(X[:, 0] > 0, "yes", "no"), None)
LABELS = encode(y)


class Keeper(ClassifierMixin, BaseEstimator):
    """Keeps what its fit was given."""

    def fit(self, X, y, sample_weight=None):
        self.given_ = X, y, sample_weight
        return self


class SemiKeeper(Keeper):
    """One that can use unlabelled rows, but is not chary's."""

    def __init__(self, unlabeled=-1):
        self.unlabeled = unlabeled


class Heir(DiverseEnsembleClassifier):
    """A user's own subclass, whose fit looks into y."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = np.asarray(y)
        return super().fit(X, y, sample_weight)


def test_anothers_classifier_of_all_rows_gets_the_users_labels_with_its_own_marker():
    for marker in [None, "?"]:
        X_given, y_given, *_ = fit_partly(SemiKeeper(unlabeled=marker), X, LABELS).given_
        assert X_given is X
        np.testing.assert_array_equal(y_given, np.where(y == None, marker, y))  # noqa: E711


def test_only_chary_is_given_labels_as_they_are_encoded(monkeypatch):
    seen = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(DiverseEnsembleClassifier, "_train", lambda *arguments: None)

    def fit(self, X, y, sample_weight=None):
        seen.append(y)
        return original(self, X, y, sample_weight)

    fit.__module__ = original.__module__
    monkeypatch.setattr(DiverseEnsembleClassifier, "fit", fit)
    fit_partly(DiverseEnsembleClassifier(), X, LABELS)
    fit_partly(Heir(unlabeled=None), X, LABELS)
    fit_partly(
        make_pipeline(StandardScaler(), DiverseEnsembleClassifier(unlabeled=None)), X, LABELS
    )
    assert seen[0] is LABELS
    assert not any(isinstance(given, Labels) for given in seen[1:])


# --- Labels are encoded once ----------------------------------------------------------------------


def networks():
    return DiverseEnsembleClassifier((8,), n_steps=5, random_state=0)


def members():
    two = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    return MixedEnsembleClassifier(two, class_prior="labeled", random_state=0)


CLASSIFIERS = [
    networks(),
    members(),
    SelfTrainingClassifier(networks(), max_rounds=2),
    SelfTrainingClassifier(
        members(), class_prior="labeled", max_rounds=2, max_pool=10, random_state=0
    ),
    SelfTrainingClassifier(
        SelfTrainingClassifier(networks(), max_rounds=1), confidence="margin", max_rounds=1
    ),
    SelfTrainingClassifier(LogisticRegression(), confidence="margin", max_rounds=1),
]


@pytest.fixture
def n_encoded(monkeypatch):
    """How many columns of labels were turned into numbers."""
    columns = []
    split = labels_module._split_missing
    monkeypatch.setattr(
        labels_module, "_split_missing", lambda y: columns.append(len(y)) or split(y)
    )
    return columns


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: " ".join(repr(model).split()))
@pytest.mark.parametrize("weighed", [False, True])
def test_encoded_labels_fit_the_same_model_and_no_column_is_encoded_again(
    classifier, weighed, n_encoded
):
    if weighed and "MixedEnsemble" in repr(classifier):
        pytest.skip("a mixture takes no weights")
    weights = {"sample_weight": np.where(np.arange(60) % 7 == 0, 0.0, 1.0)} if weighed else {}
    expected = classifier.set_params(unlabeled=None).fit(X, y, **weights)
    scores = expected.predict_proba(X)
    assert n_encoded == [60]  # whatever the number of rounds
    again = classifier.fit(X, LABELS, **weights)
    assert n_encoded == [60]
    np.testing.assert_array_equal(again.predict_proba(X), scores)
    np.testing.assert_array_equal(again.predict(X), expected.predict(X))
    assert again.classes_.tolist() == ["no", "yes"]


def test_a_class_without_rows_is_no_class():
    codes = np.where(LABELS.labeled, LABELS.codes + 1, -1)
    known = Labels(np.array(["maybe", "no", "yes"]), codes, LABELS.labeled)
    for classifier in (networks(), members(), SelfTrainingClassifier(networks(), max_rounds=1)):
        expected = classifier.fit(X, LABELS).predict_proba(X)
        np.testing.assert_array_equal(classifier.fit(X, known).predict_proba(X), expected)
        assert classifier.classes_.tolist() == ["no", "yes"]
