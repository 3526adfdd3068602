"""What a classifier is given of partly labelled rows, and that labels are encoded once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier
from chary.method import labels as labels_module
from chary.method.estimators import fit_partly, last_step, seeded_clone, takes_unlabeled
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


def test_a_classifier_of_labelled_rows_gets_those_with_all_that_belongs_to_them():
    weights = np.arange(60.0)
    X_given, y_given, weights_given = fit_partly(Keeper(), pd.DataFrame(X), LABELS, sample_weight=weights).given_
    assert isinstance(X_given, pd.DataFrame)
    np.testing.assert_array_equal(X_given, X[:40])
    np.testing.assert_array_equal(y_given, y[:40])
    np.testing.assert_array_equal(weights_given, weights[:40])


def test_where_every_row_is_labelled_the_rows_are_handed_over_as_they_are():
    X_given, y_given, *_ = fit_partly(Keeper(), X[:40], LABELS.part(np.arange(40))).given_
    assert X_given.base is X
    np.testing.assert_array_equal(y_given, y[:40])


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
    fit_partly(make_pipeline(StandardScaler(), DiverseEnsembleClassifier(unlabeled=None)), X, LABELS)
    assert seen[0] is LABELS
    assert not any(isinstance(given, Labels) for given in seen[1:])


def test_weights_go_to_the_last_step_or_are_refused():
    pipeline = fit_partly(make_pipeline(StandardScaler(), Keeper()), X, LABELS, sample_weight=np.arange(60.0))
    np.testing.assert_array_equal(pipeline[-1].given_[2], np.arange(40.0))
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight in fit"):
        fit_partly(make_pipeline(StandardScaler(), KNeighborsClassifier()), X, LABELS, sample_weight=np.ones(60))


def test_the_last_step_of_a_pipeline_decides_what_it_takes():
    network, logistic = DiverseEnsembleClassifier(), LogisticRegression()
    assert last_step(logistic) is logistic
    assert last_step(make_pipeline(StandardScaler(), network)) is network
    assert takes_unlabeled(make_pipeline(StandardScaler(), network))
    assert not takes_unlabeled(make_pipeline(StandardScaler(), logistic))


def test_a_seeded_clone_has_a_number_wherever_there_was_none():
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier())
    seeded = seeded_clone(pipeline, np.random.default_rng(0))
    assert isinstance(seeded[-1].random_state, int)
    assert pipeline[-1].random_state is None
    assert seeded_clone(RandomForestClassifier(random_state=5), np.random.default_rng(0)).random_state == 5


# --- Labels are encoded once -----------------------------------------------------------------------------


def networks():
    return DiverseEnsembleClassifier((8,), n_steps=5, random_state=0)


def members():
    two = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
    return MixedEnsembleClassifier(two, class_prior="labeled", random_state=0)


CLASSIFIERS = [
    networks(),
    members(),
    SelfTrainingClassifier(networks(), max_rounds=2),
    SelfTrainingClassifier(members(), class_prior="labeled", max_rounds=2, max_pool=10, random_state=0),
    SelfTrainingClassifier(SelfTrainingClassifier(networks(), max_rounds=1), confidence="margin", max_rounds=1),
    SelfTrainingClassifier(LogisticRegression(), confidence="margin", max_rounds=1),
]


@pytest.fixture
def n_encoded(monkeypatch):
    """How many columns of labels were turned into numbers."""
    columns = []
    split = labels_module._split_missing
    monkeypatch.setattr(labels_module, "_split_missing", lambda y: columns.append(len(y)) or split(y))
    return columns


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: " ".join(repr(model).split()))
@pytest.mark.parametrize("weighed", [False, True])
def test_encoded_labels_fit_the_same_model_and_no_column_is_encoded_again(classifier, weighed, n_encoded):
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
