"""MixedEnsembleClassifier: one scale for unlike members, what a class prior does, what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from chary.confidence import entropy, margin, max_probability
from chary.ensemble import MixedEnsembleClassifier

LIGHT = [("linear", LogisticRegression()), ("bayes", GaussianNB(), 2.0)]


def model(**params):
    return MixedEnsembleClassifier(**{"members": LIGHT, "random_state": 0} | params)


def problem(n_classes=3, n_rows=150, n_labeled=30, seed=0):
    """Rows, labels where there are any, and what the others would be."""
    X, y_true = make_classification(
        n_rows, 5, n_informative=3, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1, random_state=seed
    )
    return X, np.where(np.arange(n_rows) < n_labeled, y_true, -1), y_true


def shares(fitted, X):
    return np.array([np.mean(fitted.predict(X) == c) for c in fitted.classes_])


# One scale


def test_scores_are_the_weighted_mean_of_centred_logits_of_equal_spread():
    X, y, _ = problem()
    labeled = y >= 0
    fitted = model().fit(X, y)
    scores = []
    for member in (LogisticRegression(), GaussianNB()):
        probs = member.fit(X[labeled], y[labeled]).predict_proba(X)
        logits = np.log(np.maximum(probs, 1e-3))
        scores.append(logits - logits.mean(axis=1, keepdims=True))
    spread = [member_scores[~labeled].std() for member_scores in scores]
    common = spread[0] / 3 + spread[1] * 2 / 3
    linear, bayes = (member_scores * common / s for member_scores, s in zip(scores, spread, strict=True))
    assert_allclose(fitted.head_weights_, [1 / 3, 2 / 3])
    assert_allclose(fitted.predict_proba(X), softmax(linear / 3 + bayes * 2 / 3, axis=1))
    assert_allclose(fitted.predict_head_proba(X), softmax(np.stack([linear, bayes], axis=1), axis=2))
    assert_array_equal(fitted.predict(X), (linear + 2 * bayes).argmax(axis=1))


def test_one_member_alone_keeps_its_probabilities():
    X, y, _ = problem()
    alone = model(members=[("linear", LogisticRegression())]).fit(X, y)
    assert_allclose(alone.predict_proba(X), alone.members_[0].predict_proba(X), atol=3e-3)  # but for the floor


def test_a_member_that_always_says_the_same_leaves_the_others_to_decide():
    X, y, _ = problem()
    y[:6] = [0, 1, 2, 0, 1, 2]
    even = y.copy()
    even[6:] = -1
    constant = ("constant", DummyClassifier())  # equal probabilities: a spread of 0
    fitted = model(members=[*LIGHT, constant]).fit(X, even)
    assert_array_equal(fitted.predict(X), model().fit(X, even).predict(X))
    assert np.isfinite(fitted.predict_proba(X)).all()
    nothing_but = model(members=[constant]).fit(X, even)
    assert_allclose(nothing_but.predict_proba(X), 1 / 3)


def test_probabilities_of_zero_stay_finite():
    X, y, _ = problem()
    fitted = model(members=[("tree", DecisionTreeClassifier())]).fit(X, y)
    assert (fitted.members_[0].predict_proba(X) == 0).any()
    assert np.isfinite(fitted.predict_proba(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_values_serve_where_there_are_no_probabilities(n_classes):
    X, y, y_true = problem(n_classes, n_labeled=60)
    fitted = model(members=[("ridge", RidgeClassifier())]).fit(X, y)
    assert_array_equal(fitted.predict(X), RidgeClassifier().fit(X[:60], y[:60]).predict(X))
    assert fitted.score(X[60:], y_true[60:]) > 0.7


def test_the_default_members():
    X, y, y_true = problem()
    fitted = MixedEnsembleClassifier(random_state=0).fit(X, y)
    linear, quantile, trees = fitted.members_
    assert isinstance(linear[0], StandardScaler)
    assert isinstance(quantile[0], QuantileTransformer)
    assert isinstance(trees, ExtraTreesClassifier)
    assert trees.max_features == 0.5
    assert_allclose(fitted.head_weights_, [0.25, 0.25, 0.5])
    assert_allclose(linear[0].mean_, X.mean(axis=0))  # of all rows, not of the labelled ones
    assert quantile[0].n_quantiles_ == 150
    assert fitted.score(X[30:], y_true[30:]) > 0.7


def test_steps_of_a_pipeline_see_all_rows_unless_they_need_labels():
    X, y, _ = problem()
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("none", "passthrough"), ("best", SelectKBest(k=2)), ("bayes", GaussianNB())]
    )
    fitted = model(members=[("bayes", pipeline)]).fit(X, y).members_[0]
    assert_allclose(fitted["scale"].mean_, X.mean(axis=0))
    expected = SelectKBest(k=2).fit((X[:30] - X.mean(axis=0)) / X.std(axis=0), y[:30])
    assert_allclose(fitted["best"].scores_, expected.scores_)
    assert_array_equal(fitted["bayes"].class_count_, np.bincount(y[:30]))


# Confidence


def test_confidences():
    X, y, _ = problem()
    fitted = model().fit(X, y)
    heads, probs = fitted.predict_head_proba(X), fitted.predict_proba(X)
    w = fitted.head_weights_
    pairs = [(m, k) for m in range(2) for k in range(2) if m != k]
    agreement = sum(w[m] * w[k] * (heads[:, m] * heads[:, k]).sum(axis=1) for m, k in pairs) / (1 - w @ w)
    assert_allclose(fitted.predict_confidence(X), agreement)
    for kind in (max_probability, margin, entropy):
        assert_allclose(fitted.predict_confidence(X, kind=kind.__name__), kind(probs))
    joint = fitted.predict_joint_proba(X)
    assert_array_equal(joint[0], probs)
    assert_array_equal(joint[1], heads)
    with pytest.raises(ValueError, match="kind='luck' is not a confidence; choose one of t_similarity, max_prob"):
        fitted.predict_confidence(X, kind="luck")


def test_t_similarity_needs_two_members():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="at least 2"):
        model(members=LIGHT[:1]).fit(X, y).predict_confidence(X)


# Class prior


@pytest.mark.parametrize("class_prior", [{0: 0.5, 1: 0.3, 2: 0.2}, [0.5, 0.3, 0.2], np.array([0.5, 0.3, 0.2])])
def test_unlabelled_rows_are_predicted_in_the_proportions_given(class_prior):
    X, y, _ = problem()
    fitted = model(class_prior=class_prior).fit(X, y)
    assert_allclose(fitted.class_prior_, [0.5, 0.3, 0.2])
    assert_allclose(shares(fitted, X[y < 0]), [0.5, 0.3, 0.2])  # 120 rows
    assert_allclose(shares(fitted, X[y < 0]), np.bincount(fitted.predict_proba(X[y < 0]).argmax(axis=1)) / 120)


def test_labelled_proportions_are_those_of_the_labelled_rows():
    X, y, _ = problem()
    fitted = model(class_prior="labeled").fit(X, y)
    assert_allclose(fitted.class_prior_, np.bincount(y[:30]) / 30)
    assert_allclose(shares(fitted, X[y < 0]), fitted.class_prior_, atol=1 / 120)


def test_nothing_is_imposed_by_default():
    X, y, _ = problem()
    fitted = model().fit(X, y)
    assert fitted.class_prior_ is None
    assert fitted.class_bias_.tolist() == [0, 0, 0]


def test_without_unlabelled_rows_the_proportions_are_those_of_all_rows():
    X, _, y_true = problem()
    fitted = model(class_prior=[0.2, 0.2, 0.6]).fit(X, y_true)
    assert_allclose(shares(fitted, X), [0.2, 0.2, 0.6])


def test_a_class_of_share_zero_is_never_predicted():
    X, y, _ = problem()
    fitted = model(class_prior=[0.5, 0.5, 0]).fit(X, y)
    assert fitted.class_bias_[2] == -np.inf
    assert (fitted.predict_proba(X)[:, 2] == 0).all()
    assert (fitted.predict_head_proba(X)[:, :, 2] == 0).all()
    assert np.isfinite(fitted.predict_confidence(X)).all()


def test_true_proportions_repair_what_biased_labels_broke():
    X, y_true = load_breast_cancer(return_X_y=True)
    y = np.where(np.arange(len(y_true)) < 40, y_true, -1)  # 13 of these 40 are benign; of all, 63 %
    plain, known = (MixedEnsembleClassifier(class_prior=p, random_state=0).fit(X, y) for p in (None, [0.37, 0.63]))
    assert known.score(X[40:], y_true[40:]) > plain.score(X[40:], y_true[40:]) + 0.05


# Promises


def test_the_same_seed_gives_the_same_model_whatever_the_jobs_order_and_names():
    X, y, _ = problem()
    expected = MixedEnsembleClassifier(random_state=0).fit(X, y).predict_proba(X)
    assert_array_equal(MixedEnsembleClassifier(random_state=0, n_jobs=2).fit(X, y).predict_proba(X), expected)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = MixedEnsembleClassifier(random_state=0).fit(X[order], y[order])
    assert_allclose(shuffled.predict_proba(X), expected, atol=1e-9)
    names = np.array(["z", "y", "x"])
    renamed = MixedEnsembleClassifier(random_state=0).fit(X, np.where(y < 0, None, names[y]))
    assert_allclose(renamed.predict_proba(X)[:, ::-1], expected, atol=1e-9)
    other = MixedEnsembleClassifier(random_state=1).fit(X, y).predict_proba(X)
    assert not np.allclose(other, expected)


def test_a_seed_of_a_member_is_kept():
    X, y, _ = problem()
    trees = [("trees", ExtraTreesClassifier(5, random_state=3))]
    assert model(members=trees).fit(X, y).members_[0].random_state == 3


def test_members_given_stay_unfitted():
    X, y, _ = problem()
    members = [("linear", LogisticRegression()), ("bayes", make_pipeline(StandardScaler(), GaussianNB()))]
    model(members=members).fit(X, y)
    assert not hasattr(members[0][1], "coef_")
    assert not hasattr(members[1][1][0], "mean_")


def test_weight_zero_is_absent_and_weight_two_is_twice_in_the_fits():
    X, y, _ = problem()
    weights = np.ones(len(y))
    weights[[3, 7, 100]] = 0
    present = weights > 0
    weighted, dropped = model().fit(X, y, weights), model().fit(X[present], y[present])
    assert_allclose(weighted.predict_proba(X), dropped.predict_proba(X), atol=1e-9)
    weights = np.where(y == 1, 2.0, 1.0)
    twice = np.repeat(np.arange(30), weights[:30].astype(int))
    bayes = model().fit(X, y, weights).members_[1]
    assert_allclose(bayes.theta_, GaussianNB().fit(X[twice], y[twice]).theta_)


def test_data_frames_and_feature_names():
    X, y, _ = problem()
    frame = pd.DataFrame(X, columns=list("abcde"))
    fitted = model().fit(frame, pd.Series(y))
    assert fitted.feature_names_in_.tolist() == list("abcde")
    assert_array_equal(fitted.predict(frame), model().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[list("edcba")])


def test_grid_search_over_the_prior():
    X, _, y_true = problem()
    search = GridSearchCV(model(), {"class_prior": [None, "labeled"]}, cv=2).fit(X, y_true)
    assert clone(search.best_estimator_).class_prior in (None, "labeled")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"members": []}, "members is empty"),
        ({"members": [LogisticRegression()]}, r"members holds LogisticRegression\(\); give \(name, classifier\)"),
        ({"members": [("a", LogisticRegression(), 0)]}, "Member 'a' has weight 0; give a positive number"),
        ({"members": [("a", LogisticRegression(), "2")]}, "Member 'a' has weight '2'"),
        ({"members": [("a", "linear")]}, "Member 'a' is 'linear', which is not a classifier"),
        ({"members": [("a", StandardScaler())]}, "StandardScaler has neither predict_proba nor decision_function"),
        ({"class_prior": {0: 1.0}}, "class_prior lacks the class 1"),
        ({"class_prior": "known"}, "class_prior='known' is not known"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_errors_say_what_was_given_and_what_to_do(params, message):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=message):
        model(**params).fit(X, y)


def test_a_member_without_weights_is_named_when_weights_are_given():
    X, y, _ = problem()
    members = [*LIGHT, ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier()))]
    with pytest.raises(ValueError, match=r"Member 'neighbours' \(KNeighborsClassifier\) takes no sample_weight"):
        model(members=members).fit(X, y, np.ones(len(y)))
