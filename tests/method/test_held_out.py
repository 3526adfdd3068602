"""Models predict labels that they have not seen: which rows, which models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, LeaveOneOut
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier
from chary.audit.model import fit_with_audit
from chary.method import labels as labels_module
from chary.method.held_out import HeldOut, confidence_of, hold_out, hold_out_folds, stratified_folds
from chary.method.labels import encode


def table(n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng


class Confident(LogisticRegression):
    """A classifier with a confidence of its own."""

    def predict_confidence(self, X):
        return self.predict_proba(X).max(axis=1) ** 2


class Memory(ClassifierMixin, BaseEstimator):
    """Notes the rows of each fit, and which of them had a label."""

    fits: list

    def __init__(self, unlabeled=None):
        self.unlabeled = unlabeled

    def fit(self, X, y):
        self.classes_ = np.array(["a", "b"])
        given = np.array([label is not None for label in y])
        self.seen_ = set(X[given, 0].tolist())
        Memory.fits.append((len(X), len(self.seen_)))
        return self

    def predict(self, X):
        assert not self.seen_ & set(X[:, 0].tolist()), "predicts a label that it has seen"
        return np.full(len(X), "a")

    def predict_proba(self, X):
        return np.tile([0.75, 0.25], (len(X), 1))


# --- Cross-validation of the labels ---------------------------------------------------------------


def test_every_labelled_row_is_held_out_once():
    X, rng = table(300)
    codes = np.where(
        rng.random(300) < 0.4, (X[:, 0] + 0.5 * rng.normal(size=300) > 0).astype(int), -1
    )
    predicted = hold_out(Confident(), X, codes, random_state=0)
    assert len(predicted.correct) == (codes >= 0).sum()
    assert 0.7 < predicted.correct.mean() < 0.98
    np.testing.assert_allclose(predicted.confidence, predicted.probability**2)


def test_held_out_leaves_a_class_with_one_label_in_training():
    X, _ = table(60)
    codes = np.where(np.arange(60) < 20, (X[:, 0] > 0).astype(int), -1)
    codes[0] = 2
    assert len(hold_out(Confident(), X, codes, random_state=0).correct) == 19


def test_without_enough_labels_nothing_is_held_out():
    X, _ = table(10)
    codes = np.array([0, 1, *[-1] * 8])
    assert len(hold_out(Confident(), X, codes, random_state=0).correct) == 0


def test_folds_deal_every_group_out_evenly():
    groups = np.repeat([True, False], [10, 35])
    folds = stratified_folds(groups, np.random.default_rng(0))
    assert sorted(np.concatenate(folds)) == list(range(45))
    assert [int(groups[fold].sum()) for fold in folds] == [2] * 5


# --- Any folds, any classifier --------------------------------------------------------------------


def test_no_model_has_seen_the_labels_that_it_predicts_and_unlabelled_rows_stay():
    X = np.arange(30.0)[:, None]
    y = np.array(["a", "b"] * 10 + [None] * 10, dtype=object)
    Memory.fits = []
    predicted = hold_out_folds(
        Memory(), X, y, [np.array([3, 0]), np.array([7]), np.array([12, 18, 1])]
    )
    assert Memory.fits == [(30, 18), (30, 19), (30, 17)]
    assert predicted.correct.tolist() == [False, True, False, True, True, False]
    assert predicted.prediction.tolist() == ["a"] * 6
    assert predicted.probability.tolist() == predicted.confidence.tolist() == [0.75] * 6


def test_one_row_at_a_time_is_leave_one_out():
    X, _ = table(40)
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 0.5, "yes", "no")
    predicted = hold_out_folds(
        LogisticRegression(), X, y, [rows for _, rows in LeaveOneOut().split(X)]
    )
    for row in range(40):
        others = np.arange(40) != row
        assert (
            LogisticRegression().fit(X[others], y[others]).predict(X[[row]])[0]
            == predicted.prediction[row]
        )
    np.testing.assert_array_equal(predicted.correct, predicted.prediction == y)


def test_a_class_of_which_all_labels_are_held_out_is_never_predicted():
    X, _ = table(40)
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[:3] = "rare"
    predicted = hold_out_folds(
        DiverseEnsembleClassifier(n_steps=5, random_state=0), X, y, [np.arange(3)]
    )
    assert not predicted.correct.any()
    assert "rare" not in predicted.prediction


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize(
    "classifier",
    [
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        DiverseEnsembleClassifier(n_steps=5, random_state=0),
        SelfTrainingClassifier(RidgeClassifier(), confidence="margin", max_rounds=1),
    ],
)
def test_labels_and_tables_of_every_kind(classifier, container):
    X, _ = table(60)
    codes = np.where(np.arange(60) < 30, (X[:, 0] > 0).astype(int), -1)
    folds = [np.arange(5), np.arange(5, 9)]
    expected = hold_out_folds(classifier, X, codes, folds)
    found = hold_out_folds(classifier, container(X), encode(codes), folds)
    np.testing.assert_array_equal(found.prediction, expected.prediction)
    np.testing.assert_allclose(found.confidence, expected.confidence, rtol=1e-9)
    assert ((expected.probability >= 0.5) & (expected.probability <= 1)).all()


def test_correct_is_about_the_prediction_not_the_highest_probability():
    X, rng = table(60, 2)
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, 0)
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.1)
    predicted = hold_out_folds(model, X, y, [np.arange(20)])
    np.testing.assert_array_equal(predicted.prediction, model.fit(X[20:], y[20:]).predict(X[:20]))
    assert (predicted.prediction != model.predict_proba(X[:20]).argmax(axis=1)).any()


def test_rows_can_be_taken_in_another_order():
    X, _ = table(40)
    y = (X[:, 0] > 0).astype(int)
    predicted = hold_out_folds(Confident(), X, y, [np.arange(10), np.arange(10, 20)])
    turned = predicted.subset(np.arange(20)[::-1])
    for name in predicted._fields:
        np.testing.assert_array_equal(getattr(turned, name), getattr(predicted, name)[::-1])


def test_confidence_is_the_models_own_or_its_highest_probability():
    X, _ = table(40)
    y = (X[:, 0] > 0).astype(int)
    own, plain = Confident().fit(X, y), LogisticRegression().fit(X, y)
    np.testing.assert_allclose(confidence_of(own, X), confidence_of(plain, X) ** 2)
    np.testing.assert_array_equal(confidence_of(plain, X), plain.predict_proba(X).max(axis=1))


@pytest.mark.parametrize(
    "model",
    [
        SelfTrainingClassifier(DiverseEnsembleClassifier((8,), n_steps=5), max_rounds=2),
        SelfTrainingClassifier(
            MixedEnsembleClassifier([("linear", LogisticRegression()), ("bayes", GaussianNB())]),
            class_prior="labeled",
            max_rounds=1,
            max_pool=10,
        ),
    ],
)
def test_a_whole_run_encodes_one_column(model, monkeypatch):
    """Fit, check against held-out labels, fit with an audit, as ``chary label`` does."""
    columns, split = [], labels_module._split_missing
    monkeypatch.setattr(
        labels_module, "_split_missing", lambda y: columns.append(len(y)) or split(y)
    )
    X, _ = table(50)
    y = np.where(np.arange(50) < 20, np.where(X[:, 0] > 0, "yes", "no"), None)
    labels = encode(y)
    model.set_params(unlabeled=None, random_state=0).fit(X, labels)
    predicted, audited = (
        hold_out(model, X, labels, 0),
        fit_with_audit(model, X, labels, [0, 1, 2], random_state=0),
    )
    assert columns == [50]
    plain, again = hold_out(model, X, y, 0), fit_with_audit(model, X, y, [0, 1, 2], random_state=0)
    assert columns == [50] * 3
    for found, expected in (
        (predicted, plain),
        (audited.before, again.before),
        (audited.after, again.after),
    ):
        for name in found._fields:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_the_balanced_share_is_the_mean_over_the_classes():
    given = np.array(["a"] * 8 + ["b"] * 2)
    predicted = HeldOut(np.array(["a"] * 10), given == "a", np.ones(10), np.ones(10), given)
    assert predicted.balanced == 0.5
    assert predicted.subset(np.array([0, 1, 9])).balanced == 0.5
    assert predicted.subset(np.array([0, 1])).balanced == 1
    assert HeldOut(given[:0], np.zeros(0, dtype=bool), np.zeros(0), np.zeros(0)).balanced is None
