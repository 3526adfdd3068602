"""The scores of a classifier, quicker: the same to rounding, however the rows are cut and ordered in memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from chary.method import (
    DiverseEnsembleClassifier,
    MixedEnsembleClassifier,
    SelfTrainingClassifier,
    layers,
    linear_model,
    predict_scores,
    scores_quickly,
)


def rows_and_labels(n_classes=2, n=400, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[:, -1] = X[:, -1] > 0  # a mark
    y = np.clip(np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.5, 0.5][: n_classes - 1]), 0, n_classes - 1)
    y[60:] = -1
    return X, y


def fitted(kind, n_classes=2, **how):
    X, y = rows_and_labels(n_classes)
    if kind == "network":
        inner = DiverseEnsembleClassifier(n_steps=60, standardize="numbers", random_state=0)
        confidence = how.pop("confidence", "t_similarity")
    else:
        inner = MixedEnsembleClassifier([("linear", linear_model())], random_state=0)
        confidence = "max_probability"
    return SelfTrainingClassifier(inner, confidence=confidence, max_rounds=0, random_state=0, **how).fit(X, y)


CASES = [
    ("network", 2, {}),
    ("network", 3, {}),
    ("network", 3, {"confidence": "max_probability"}),
    ("network", 2, {"class_prior": [0.2, 0.8]}),
    ("linear", 2, {}),
    ("linear", 3, {}),
    ("linear", 2, {"aim": "balanced"}),
    ("linear", 3, {"class_prior": [0.2, 0.5, 0.3]}),
]


@pytest.fixture(name="model", scope="module", params=CASES, ids=str)
def model_of_each_kind(request):
    kind, n_classes, how = request.param
    return fitted(kind, n_classes, **dict(how))


def new_rows(n, seed=1):
    return 2 * np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


@pytest.mark.parametrize("n", [1, 127, 128, 3000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_scores_are_those_of_the_classifier(model, n, order):
    X = np.asarray(new_rows(n), order=order)
    assert scores_quickly(model)
    probs, confidence = predict_scores(model, X)
    right_probs, right = model.predict_scores(X)
    np.testing.assert_allclose(probs, right_probs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(confidence, right, rtol=0, atol=1e-12)


def test_a_row_scores_the_same_alone_and_in_a_batch(model):
    X = new_rows(300)
    probs, confidence = predict_scores(model, X)
    for i in (0, 130, 299):
        alone = predict_scores(model, X[i : i + 1])
        np.testing.assert_allclose(alone[0][0], probs[i], rtol=0, atol=1e-14)
        np.testing.assert_allclose(alone[1][0], confidence[i], rtol=0, atol=1e-14)


def test_digits_that_are_asked_for_are_right(model):
    X = new_rows(40_000)
    probs, confidence = predict_scores(model, X, digits=4)
    right_probs, right = model.predict_scores(X)
    np.testing.assert_array_equal(np.round(confidence, 4), np.round(right, 4))
    np.testing.assert_array_equal(probs.argmax(axis=1), right_probs.argmax(axis=1))
    np.testing.assert_allclose(probs, right_probs, rtol=0, atol=1e-5)


def test_where_single_precision_does_not_suffice_all_rows_are_scored_in_double(model):
    X = new_rows(2000)
    probs, confidence = predict_scores(model, X, digits=8)  # as many digits as single precision has
    right_probs, right = model.predict_scores(X)
    np.testing.assert_allclose(probs, right_probs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(confidence, right, rtol=0, atol=1e-12)


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=9))
def test_the_lead_is_that_of_the_first_over_the_second(rows):
    probs = np.array(rows)
    first, second = np.sort(probs, axis=1)[:, ::-1][:, :2].T
    np.testing.assert_array_equal(layers._lead(probs), first - second)


def test_extreme_scores_are_certain_and_warn_of_nothing(model):
    probs, confidence = predict_scores(model, 1e4 * new_rows(50), digits=4)
    assert np.isfinite(probs).all()
    assert np.isfinite(confidence).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def test_columns_far_from_zero_are_left_to_the_classifier():
    X, y = rows_and_labels()
    X = X.astype(np.float64)
    X[:, 0] += 1e6  # a difference of large numbers has fewer digits
    inner = MixedEnsembleClassifier([("linear", linear_model())])
    model = SelfTrainingClassifier(inner, confidence="max_probability", max_rounds=0).fit(X, y)
    assert not scores_quickly(model)
    np.testing.assert_array_equal(predict_scores(model, X)[1], model.predict_scores(X)[1])


def test_other_classifiers_are_asked_themselves():
    X, y = rows_and_labels(n=200)
    trees = SelfTrainingClassifier(MixedEnsembleClassifier(random_state=0), max_rounds=0).fit(X, y)
    own = SelfTrainingClassifier(LogisticRegression(), confidence="margin", max_rounds=0).fit(X, y)
    shares = fitted("network", confidence="t_share")
    for model in (trees, own, shares):
        assert not scores_quickly(model)
        for found, right in zip(predict_scores(model, X, digits=4), model.predict_scores(X), strict=True):
            np.testing.assert_array_equal(found, right)


def test_a_classifier_without_scores_in_one_pass_gives_them_in_two():
    X, y = rows_and_labels(n=200)
    network = DiverseEnsembleClassifier(n_steps=20, random_state=0).fit(X, y)
    probs, confidence = predict_scores(network, X)
    np.testing.assert_array_equal(probs, network.predict_proba(X))
    np.testing.assert_array_equal(confidence, network.predict_confidence(X))
