"""Classifiers of unlike kinds on one scale, and what a class prior does to them."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary import ClassBalanced, MixedEnsembleClassifier, SelfTrainingClassifier
from chary.confidence import t_similarity

X, y_true = load_iris(return_X_y=True)
y = np.where(np.random.default_rng(0).random(150) < 0.3, y_true, -1)
unlabeled = y == -1
MEMBERS = [("linear", LogisticRegression(max_iter=1000)), ("bayes", GaussianNB(), 3.0)]


def test_the_score_is_the_weighted_mean_of_logits_of_equal_spread():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    logits = []
    for estimator in (LogisticRegression(max_iter=1000), GaussianNB()):
        estimator.fit(X[~unlabeled], y[~unlabeled])
        is_linear = isinstance(estimator, LogisticRegression)
        raw = estimator.decision_function(X) if is_linear else np.log(estimator.predict_proba(X) + 1e-3)
        logits.append(raw - raw.mean(axis=1, keepdims=True))
    spreads = [np.sqrt((z[unlabeled] ** 2).mean()) for z in logits]
    common = 0.25 * spreads[0] + 0.75 * spreads[1]
    heads = [z * common / spread for z, spread in zip(logits, spreads, strict=True)]
    np.testing.assert_allclose(model.scales_, spreads)
    np.testing.assert_allclose(model.predict_proba(X), softmax(0.25 * heads[0] + 0.75 * heads[1], axis=1))
    np.testing.assert_allclose(model.predict_head_proba(X), softmax(np.stack(heads, axis=1), axis=2))


def test_one_member_alone_is_that_member():
    alone = MixedEnsembleClassifier(MEMBERS[:1]).fit(X, y)
    member = LogisticRegression(max_iter=1000).fit(X[~unlabeled], y[~unlabeled])
    np.testing.assert_allclose(alone.predict_proba(X), member.predict_proba(X))


def test_confidence_weighs_the_members():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    expected = t_similarity(model.predict_head_proba(X), weights=np.array([1.0, 3.0]))
    np.testing.assert_allclose(model.predict_confidence(X), expected)
    np.testing.assert_allclose(
        SelfTrainingClassifier(model, max_rounds=0).fit(X, y).predict_confidence(X), expected
    )
    with pytest.raises(ValueError, match="kind='sureness' is not a confidence"):
        model.predict_confidence(X, "sureness")


def test_preparation_in_a_pipeline_learns_from_all_rows():
    model = MixedEnsembleClassifier([("linear", make_pipeline(StandardScaler(), LogisticRegression()))]).fit(X, y)
    np.testing.assert_allclose(model.members_[0].estimator[0].mean_, X.mean(axis=0))


def test_a_class_prior_is_met_on_the_unlabelled_rows():
    prior = {0: 0.2, 1: 0.3, 2: 0.5}
    model = MixedEnsembleClassifier(MEMBERS[:1], class_prior=prior).fit(X, y)
    counts = np.bincount(model.predict(X[unlabeled]), minlength=3)
    assert np.abs(counts - unlabeled.sum() * np.array([0.2, 0.3, 0.5])).max() < 1
    np.testing.assert_array_equal(model.class_prior_, [0.2, 0.3, 0.5])
    labeled = MixedEnsembleClassifier(MEMBERS[:1], class_prior="labeled").fit(X, y)
    np.testing.assert_allclose(labeled.class_prior_, np.bincount(y[~unlabeled]) / (~unlabeled).sum())


def test_without_a_prior_nothing_is_imposed():
    model = MixedEnsembleClassifier(MEMBERS).fit(X, y)
    assert model.class_prior_ is None
    assert not model.class_bias_.any()


def test_a_known_prior_helps_where_labels_are_biased():
    """One class labelled at its edge only: the boundary is off until the proportions are known."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal([3, 0], 1, (500, 2))])
    truth = np.repeat([0, 1], 500)
    partly = np.full(1000, -1)
    partly[np.argsort(rows[:500, 0])[:20]] = 0  # far from the other class
    partly[500 + np.argsort(rows[500:, 0])[:20]] = 1  # near it
    plain = MixedEnsembleClassifier(random_state=0).fit(rows, partly)
    informed = MixedEnsembleClassifier(random_state=0, class_prior=[0.5, 0.5]).fit(rows, partly)
    assert informed.score(rows, truth) > plain.score(rows, truth) + 0.1


def test_default_members_and_seeds():
    rows, labels = load_breast_cancer(return_X_y=True)
    partly = np.where(np.arange(len(labels)) < 60, labels, -1)
    model = MixedEnsembleClassifier(random_state=0).fit(rows, partly)
    assert [member.name for member in model.members_] == ["linear", "quantile", "trees"]
    np.testing.assert_allclose(model.weights_, [0.25, 0.25, 0.5])
    again = MixedEnsembleClassifier(random_state=0, n_jobs=2).fit(rows, partly)
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert model.members is None


def test_weights_reach_the_members_that_take_them():
    members = [("near", KNeighborsClassifier()), ("trees", ExtraTreesClassifier(20, random_state=0))]
    weight = np.where(y == 2, 1e-6, 1.0)
    model = MixedEnsembleClassifier(members).fit(X, y, sample_weight=weight)
    heavy = MixedEnsembleClassifier(members).fit(X, y)
    assert model.predict_head_proba(X)[:, 1, 2].mean() < heavy.predict_head_proba(X)[:, 1, 2].mean()
    np.testing.assert_array_equal(
        model.members_[0].estimator.predict_proba(X), heavy.members_[0].estimator.predict_proba(X)
    )


def test_works_inside_self_training_with_a_prior():
    model = SelfTrainingClassifier(
        MixedEnsembleClassifier(MEMBERS), policy=ClassBalanced(0.5), class_prior="labeled", random_state=0
    ).fit(X, y)
    assert model.score(X, y_true) > 0.9
    counts = np.bincount(model.predict(X[unlabeled]), minlength=3)
    assert np.abs(counts - unlabeled.sum() * model.class_prior_).max() <= 2


@pytest.mark.parametrize("members", [[], [("one", LogisticRegression(), 0.0)]])
def test_bad_members(members):
    with pytest.raises(ValueError, match="members must be a list of"):
        MixedEnsembleClassifier(members).fit(X, y)
