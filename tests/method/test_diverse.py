"""DiverseEnsembleClassifier: what it learns, what it accepts, what it refuses, what it promises."""

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, make_moons
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from chary import DiverseEnsembleClassifier
from chary.method import diverse as classifier
from chary.method.confidence import entropy, margin, max_probability, t_share, t_similarity


def model(**params):
    """A small network that is fitted in milliseconds."""
    return DiverseEnsembleClassifier(
        **{"hidden_sizes": (16,), "n_steps": 30, "random_state": 0} | params
    )


def moons(n=120, n_labeled=30):
    X, y = make_moons(n, noise=0.2, random_state=0)
    y[n_labeled:] = -1
    return X, y


def flat_params(X, y, **params):
    """All numbers of a fitted model."""
    fitted = model(**params).fit(X, y)
    return np.concatenate([fitted.network_.params, fitted.mean_, fitted.scale_])


# What it learns


def test_it_learns_digits_and_trusts_what_is_right():
    X, y_true = load_digits(return_X_y=True)
    y = y_true.copy()
    y[200:] = -1
    fitted = DiverseEnsembleClassifier(random_state=0).fit(X, y)
    right = fitted.predict(X[200:]) == y_true[200:]
    trusted = fitted.predict_confidence(X[200:]) > 0.5
    assert right.mean() > 0.7
    assert right[trusted].mean() > 0.9
    assert trusted.mean() > 0.3


def test_outside_the_labelled_corner_the_heads_disagree_where_softmax_is_sure():
    """Labels at both ends of a line tell nothing about the plane above it."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 2))
    labeled = np.abs(X[:, 1]) < 0.05
    X[labeled, 0] = np.sign(X[labeled, 0]) * 1.0
    y = np.where(labeled, X[:, 0] > 0, -1)
    fitted = DiverseEnsembleClassifier(random_state=0).fit(X, y)
    far = ~labeled & (np.abs(X[:, 0]) > 0.3)
    softmax, similarity = (
        fitted.predict_confidence(X, kind) for kind in ("max_probability", "t_similarity")
    )
    assert softmax[far].mean() > 0.9
    assert similarity[far].mean() < 0.7
    assert similarity[labeled].mean() > 0.8


def test_fitted_attributes():
    X, y = moons()
    fitted = model().fit(X, y)
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 2
    assert fitted.network_.hidden_sizes == (16,)
    assert list(fitted.loss_curve_) == ["supervised", "ensemble", "similarity"]
    for curve in fitted.loss_curve_.values():
        assert curve.shape == (30,)
        assert (curve > 0).all()
    assert not hasattr(fitted, "feature_names_in_")


def test_predictions_are_the_users_own_labels():
    for kind in ["int", "bool", "str", "object"]:
        X, y = moons()
        labels = {
            "int": [7, 9],
            "bool": [False, True],
            "str": ["no", "yes"],
            "object": ["no", "yes"],
        }[kind]
        y_own = [labels[code] if code >= 0 else None for code in y]
        fitted = model().fit(X, np.array(y_own, dtype=object) if kind == "object" else y_own)
        assert fitted.classes_.tolist() == labels
        predicted = fitted.predict(X)
        assert predicted.dtype == fitted.classes_.dtype
        assert_array_equal(predicted, np.array(labels)[model().fit(X, y).predict(X)])


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_the_prediction_head_does_not_depend_on_the_number_of_heads(gamma):
    """Only rounding: matrix products of another width may sum in another order."""
    X, y = moons()
    fitted = [model(n_heads=n, gamma=gamma, dtype="float64").fit(X, y) for n in (5, 2, 10)]
    five, *others = [classifier.predict_proba(X) for classifier in fitted]
    for probs in others:
        assert_allclose(probs, five, atol=1e-9)
    for other in fitted[1:]:
        assert_array_equal(other.predict(X), fitted[0].predict(X))


def test_probabilities_have_their_shapes_and_sum_to_one():
    X, y = moons()
    fitted = model(n_heads=3).fit(X, y)
    assert fitted.predict_proba(X).shape == (120, 2)
    assert fitted.predict_head_proba(X).shape == (120, 3, 2)
    assert_allclose(fitted.predict_head_proba(X).sum(axis=-1), 1)
    assert_array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(axis=1))
    for joint, apart in zip(
        fitted.predict_joint_proba(X),
        (fitted.predict_proba(X), fitted.predict_head_proba(X)),
        strict=True,
    ):
        assert_allclose(joint, apart, rtol=1e-12)


def test_confidences_are_those_of_the_probabilities():
    X, y = moons()
    fitted = model().fit(X, y)
    assert_allclose(
        fitted.predict_confidence(X), t_similarity(fitted.predict_head_proba(X)), rtol=1e-12
    )
    shares = t_share(fitted.predict_head_proba(X), fitted.predict_proba(X).argmax(axis=1))
    assert_allclose(fitted.predict_confidence(X, "t_share"), shares, rtol=1e-12)
    for confidence in (max_probability, margin, entropy):
        ours = fitted.predict_confidence(X, kind=confidence.__name__)
        assert_allclose(ours, confidence(fitted.predict_proba(X)), rtol=1e-12, atol=1e-14)


# Standardisation


def test_inputs_are_standardised_by_all_rows_labelled_or_not():
    X, y = moons()
    X = X * [1, 1000] + [0, 5]
    scaler = StandardScaler().fit(X)
    fitted = model().fit(X, y)
    assert_allclose(fitted.mean_, scaler.mean_)
    assert_allclose(fitted.scale_, scaler.scale_)
    by_hand = model(standardize=False).fit(scaler.transform(X), y)
    assert_allclose(fitted.predict_proba(X), by_hand.predict_proba(scaler.transform(X)), atol=1e-4)
    assert_array_equal(by_hand.mean_, 0)
    assert_array_equal(by_hand.scale_, 1)


# Rows, classes and containers that mean the same


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_the_order_of_the_rows_changes_no_bit(seed):
    X, y = moons()
    X[20:40] = X[:20]  # labelled and unlabelled copies
    order = np.random.default_rng(seed).permutation(120)
    assert_array_equal(flat_params(X[order], y[order], n_steps=5), flat_params(X, y, n_steps=5))


def test_the_order_of_the_rows_changes_no_bit_whatever_the_scale_of_the_columns():
    for column in ["constant", "two values", "tiny"]:
        X, y = moons()
        order = np.random.default_rng(0).permutation(120)
        wide = {
            "constant": np.full(120, 1e18),
            "two values": 1e18 * (X[:, 0] > 0),
            "tiny": 1e-310 * X[:, 0],
        }[column]
        X = np.column_stack([X, wide])
        assert_array_equal(flat_params(X[order], y[order]), flat_params(X, y))


@settings(max_examples=20)
@given(st.permutations("abc"), st.integers(0, 2**32))
def test_the_names_of_the_classes_change_no_bit(names, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 2))
    codes = np.arange(30) % 3
    X[16:21] = X[:5]  # rows that carry one label here, another there
    named = {"abc": np.array(list("abc"))[codes], "other": np.array(list(names))[codes]}
    order = rng.permutation(30)
    fitted = model(n_steps=5).fit(X, named["abc"])
    renamed = model(n_steps=5).fit(X[order], named["other"][order])
    renamed.network_.reorder_classes(np.searchsorted(renamed.classes_, list(names)))
    assert_array_equal(fitted.network_.params, renamed.network_.params)


X_MOONS, Y_MOONS = moons()
CONTAINERS = {
    "Fortran order": np.asfortranarray(X_MOONS),
    "strided": np.repeat(X_MOONS, 2, axis=0)[::2],
    "list": X_MOONS.tolist(),
    "long double": X_MOONS.astype(np.longdouble),
    "pandas": pd.DataFrame(X_MOONS),
    "pandas nullable": pd.DataFrame(X_MOONS).astype("Float64"),
    "pandas arrow": pd.DataFrame(X_MOONS).astype("float64[pyarrow]"),
    "polars": pl.DataFrame(X_MOONS),
}


def test_every_container_gives_the_same_model_to_the_bit():
    for container in CONTAINERS:
        X = CONTAINERS[container]
        dense, other = model().fit(X_MOONS, Y_MOONS), model().fit(X, Y_MOONS)
        assert_array_equal(other.network_.params, dense.network_.params)
        assert_allclose(other.predict_confidence(X), dense.predict_confidence(X_MOONS), rtol=1e-12)


def test_every_type_of_number_gives_the_same_model_to_the_bit():
    for dtype in [np.float32, np.float16, np.uint8, np.int64, np.uint64, bool]:
        X = np.round(MinMaxScaler((0, 9)).fit_transform(X_MOONS)).astype(dtype)
        in_float64 = flat_params(X.astype(float), Y_MOONS)
        assert_array_equal(flat_params(X, Y_MOONS), in_float64)


def test_columns_of_a_frame_keep_their_names():
    X, y = moons()
    for frame in (
        pd.DataFrame(X, columns=["east", "north"]),
        pl.DataFrame(X, schema=["east", "north"]),
    ):
        fitted = model().fit(frame, y)
        assert fitted.feature_names_in_.tolist() == ["east", "north"]
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(frame[["north", "east"]])


# Scoring in chunks


def test_chunked_scores_equal_scores_at_once(monkeypatch):
    X, y = moons()
    fitted = model().fit(X, y)

    def scores(X):
        return [
            fitted.predict(X),
            fitted.predict_proba(X),
            fitted.predict_head_proba(X),
            fitted.predict_confidence(X),
            *(
                fitted.predict_confidence(X, kind)
                for kind in ("max_probability", "margin", "entropy")
            ),
        ]

    at_once = scores(X)
    for numbers in (1, 50, 1000):
        monkeypatch.setattr(classifier, "_CHUNK_NUMBERS", numbers)
        for part, whole in zip(scores(X), at_once, strict=True):
            assert_allclose(part, whole, rtol=1e-10, atol=1e-14)


def test_scoring_many_rows_takes_little_memory():
    """Probabilities of all rows and heads at once would take 115 MiB."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (250_000, 8), dtype=np.uint8)
    fitted = model(hidden_sizes=(8,), n_steps=1).fit(X[:100], np.arange(100) % 10)
    tracemalloc.start()
    try:
        assert len(fitted.predict_confidence(X)) == len(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30 * 2**20


# Corners


def test_one_row_per_class_and_fewer_rows_than_a_batch():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    fitted = model(n_steps=200).fit(X, ["a", "b", None])
    assert fitted.predict(X[:2]).tolist() == ["a", "b"]


def test_without_unlabelled_rows_there_is_nothing_to_disagree_on():
    X, y = moons(n_labeled=120)
    fitted = model().fit(X, y)
    assert not fitted.loss_curve_["similarity"].any()
    assert fitted.score(X, y) > 0.8
    assert ((fitted.predict_confidence(X) >= 0) & (fitted.predict_confidence(X) <= 1)).all()


def test_no_hidden_layer_is_a_linear_model():
    X, y = moons()
    fitted = model(hidden_sizes=(), n_steps=300, learning_rate=0.05).fit(X, y)
    log_odds = np.diff(np.log(fitted.predict_proba(X)))[:, 0]
    residuals = np.linalg.lstsq(np.column_stack([X, np.ones(120)]), log_odds, rcond=None)[1]
    assert residuals < 1e-12
    assert fitted.score(X[:30], y[:30]) > 0.75


def test_every_training_parameter_reaches_the_training():
    for name in ["weight_decay", "gamma", "learning_rate", "batch_size", "unlabeled_batch_size"]:
        X, y = moons()
        assert (flat_params(X, y, **{name: 2}) != flat_params(X, y)).any()


# Sample weights


def test_weights_are_relative():
    X, y = moons()
    weights = np.random.default_rng(0).integers(1, 4, 120) / 4
    one, other = (model().fit(X, y, scale * weights).network_.params for scale in (1, 2.0**1000))
    assert_array_equal(one, other)


def test_a_row_of_weight_zero_is_as_if_absent():
    X, y = moons()
    y[:3], y[-3:] = 5, 5  # a class, and unlabelled rows, that are all weighed away
    kept = y != 5
    kept[60:70] = False
    removed = model().fit(X[kept], y[kept])
    weighed = model().fit(X, y, kept.astype(float))
    assert weighed.classes_.tolist() == [0, 1]
    assert_array_equal(weighed.network_.params, removed.network_.params)


def weighed_and_repeated(**params):
    """Models of weighted rows, of the same rows repeated, and of the rows as they are."""
    X, y = moons(n_labeled=60)
    n_copies = np.where(y >= 0, np.random.default_rng(0).choice([1, 8], 120), 1)
    n_copies[(y == 1) & (n_copies == 8) & (X[:, 0] > 1)] = 1
    params |= {"standardize": False}  # its statistics are those of the rows, weighed or not
    weighed = model(**params).fit(X, y, n_copies)
    repeated = model(**params).fit(np.repeat(X, n_copies, axis=0), np.repeat(y, n_copies))
    return (
        fitted.predict_proba(X)[:, 0] for fitted in (weighed, repeated, model(**params).fit(X, y))
    )


def test_in_whole_batches_a_weight_is_a_number_of_copies():
    weighed, repeated, plain = weighed_and_repeated(batch_size=10_000, dtype="float64")
    assert_allclose(weighed, repeated, rtol=1e-6)
    assert np.abs(weighed - plain).max() > 1e-3


def test_in_mini_batches_a_weight_is_a_number_of_copies_on_average():
    """Stands in for scikit-learn's sample-weight checks, which ask for equality to the bit."""
    fits = [[*weighed_and_repeated(random_state=seed, n_steps=200)] for seed in range(6)]
    weighed, repeated, plain = np.mean(fits, axis=0)
    assert np.abs(weighed - repeated).mean() < 0.02
    assert np.abs(weighed - plain).mean() > 0.06


# Bad input: one sentence each


def spoiled(value):
    X, _ = moons()
    X[3, 1] = value
    return X


def test_bad_rows_are_refused():
    for X, message in [
        (spoiled(np.nan), "Input X contains NaN"),
        (spoiled(np.inf), "Input X contains infinity"),
        (
            pd.DataFrame(X_MOONS).astype("Float64").mask(lambda frame: frame > 1),
            "Input X contains NaN",
        ),
        (pl.DataFrame({"a": [None, *range(119)]}), "Input X contains NaN"),
        (X_MOONS[:0], r"0 sample\(s\)"),
        (X_MOONS[:, :0], r"0 feature\(s\)"),
        (X_MOONS[:, 0], "Expected 2D array, got 1D array"),
        (X_MOONS * 1j, "Complex data not supported"),
        (pd.DataFrame({"a": range(120), "b": "red"}), "red"),
        (pl.DataFrame({"a": range(120), "b": "red"}), "red"),
        (pd.DataFrame({"a": 0.5, "b": [pd.Timestamp(0)] * 120}), "could not be promoted"),
        (X_MOONS * 1e160, "Column 0 of X holds values too large to square; rescale it"),
        (X_MOONS[:-1], r"inconsistent numbers of samples: \[119, 120\]"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            model().fit(X, Y_MOONS)


def test_bad_rows_are_refused_when_scoring():
    fitted = model().fit(X_MOONS, Y_MOONS)
    for X, message in (
        (X_MOONS[:, :1], "X has 1 features, but DiverseEnsembleClassifier is expecting 2"),
        (spoiled(np.nan), "Input X contains NaN"),
        (pd.DataFrame({"a": [1], "b": ["red"]}).to_numpy(), "red"),
        (X_MOONS[:0], r"0 sample\(s\)"),
    ):
        for score in (
            fitted.predict,
            fitted.predict_proba,
            fitted.predict_head_proba,
            fitted.predict_confidence,
        ):
            with pytest.raises(ValueError, match=message):
                score(X)


def test_bad_labels_are_refused():
    for y, message in [
        (None, "requires y to be passed"),
        (np.full(120, -1), "no labelled row"),
        (np.where(Y_MOONS == 0, -1, Y_MOONS), "one class only"),
        (X_MOONS[:, 0], "Unknown label type: continuous"),
        (np.column_stack([Y_MOONS, Y_MOONS]), "1d array"),
    ]:
        with pytest.raises(ValueError, match=message):
            model().fit(X_MOONS, y)


def test_bad_weights_are_refused():
    for weights, message in [
        (-np.ones(120), "Negative values in data passed to `sample_weight`"),
        (np.full(120, np.nan), "sample_weight contains NaN"),
        (np.zeros(120), "at least one non-zero"),
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(120,\)"),
        (Y_MOONS == 1, "one class only"),
    ]:
        with pytest.raises(ValueError, match=message):
            model().fit(X_MOONS, Y_MOONS, weights)


def test_bad_parameters_are_refused():
    for params, message in [
        ({"n_heads": 0}, r"'n_heads' .* must be an int in the range \[2, inf\). Got 0 instead"),
        ({"n_heads": 1}, r"'n_heads' .* must be an int in the range \[2, inf\). Got 1 instead"),
        (
            {"gamma": -1.0},
            r"'gamma' .* must be a float in the range \[0.0, inf\). Got -1.0 instead",
        ),
        ({"gamma": np.inf}, r"'gamma' .* Got inf instead"),
        ({"gamma": np.nan}, r"'gamma' .* Got nan instead"),
        ({"gamma": 1e30}, "Training diverged"),
        ({"learning_rate": 0.0}, r"'learning_rate' .* must be a float in the range \(0.0, inf\)"),
        ({"learning_rate": 1e30}, "Training diverged"),
        ({"weight_decay": -1.0}, r"'weight_decay' .* must be a float in the range \[0.0, inf\)"),
        ({"n_steps": 0}, r"'n_steps' .* must be an int in the range \[1, inf\)"),
        ({"batch_size": 0}, r"'batch_size' .* must be an int in the range \[1, inf\)"),
        (
            {"unlabeled_batch_size": 0},
            r"'unlabeled_batch_size' .* must be an int in the range \[1, inf\)",
        ),
        ({"standardize": "yes"}, "'standardize' .* must be an instance of 'bool'"),
        ({"dtype": "float16"}, "'dtype' .* must be a str among .* Got 'float16' instead"),
        ({"random_state": -1}, r"'random_state' .* must be an int in the range \[0, inf\)"),
        ({"random_state": "x"}, "'random_state' .* Got 'x' instead"),
        ({"hidden_sizes": 5}, "'hidden_sizes' .* must be an array-like or None. Got 5 instead"),
        ({"hidden_sizes": (8, 0)}, r"hidden_sizes must be positive whole numbers .* got \(8, 0\)"),
        ({"hidden_sizes": [[8]]}, "hidden_sizes must be positive whole numbers"),
        ({"unlabeled": [0, 1]}, r"unlabeled must be one label or None, got \[0, 1\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            model(**params).fit(X_MOONS, Y_MOONS)


def test_rows_beyond_float32_are_refused_when_they_are_not_standardised():
    with pytest.raises(ValueError, match=r"Training diverged.*standardize=True"):
        model(standardize=False).fit(X_MOONS * 1e60, Y_MOONS)
    assert np.isfinite(model().fit(X_MOONS * 1e60, Y_MOONS).predict_proba(X_MOONS * 1e60)).all()


def test_an_unknown_confidence_names_the_known_ones():
    with pytest.raises(
        ValueError, match="kind='softness' is not a confidence; choose one of t_similarity,"
    ):
        model().fit(X_MOONS, Y_MOONS).predict_confidence(X_MOONS, kind="softness")


# Against the paper

SEEDS = (0, 1, 42, 100, 1000, 2000, 1234, 3407, 380843)  # the paper's


def selection_biased(X, y, n_labeled, r, rng):
    """Draw labels in proportion to exp(r |score|) on each class's first principal component."""
    labeled = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = np.flatnonzero(y == label)
        score = np.abs(PCA(1, svd_solver="full").fit_transform(X[rows])[:, 0])
        keys = r * score + rng.gumbel(size=len(rows))
        labeled[rows[np.argsort(keys)[-round(n_labeled * len(rows) / len(y)) :]]] = True
    return labeled


@pytest.mark.skipif(
    "CHARY_DATA" not in os.environ, reason="needs the benchmark data: set CHARY_DATA"
)
@pytest.mark.parametrize(
    ("name", "n_labeled", "paper_mean", "paper_std"), [("svmguide1", 39, 70.89, 10.98)]
)
def test_supervised_accuracy_under_selection_bias_is_the_papers(
    name, n_labeled, paper_mean, paper_std
):
    data = np.load(Path(os.environ["CHARY_DATA"]) / f"{name}.npz")
    accuracies = []
    for seed in SEEDS:
        X, X_test, y, y_test = train_test_split(
            data["X"].astype(float),
            data["y"],
            test_size=0.25,
            stratify=data["y"],
            random_state=seed,
        )
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
        labeled = selection_biased(X, y, n_labeled, r=2, rng=np.random.default_rng(seed))
        fitted = DiverseEnsembleClassifier(random_state=seed).fit(X, np.where(labeled, y, -1))
        accuracies.append(100 * fitted.score(X_test, y_test))
    assert abs(np.mean(accuracies) - paper_mean) < paper_std


def test_columns_of_zeros_and_ones_can_be_left_as_they_are():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(5, 2, 60), rng.integers(0, 2, 60)])
    labels = np.where(np.arange(60) < 20, (rows[:, 0] > 5).astype(int), -1)
    model = DiverseEnsembleClassifier(standardize="numbers", n_steps=5, random_state=0).fit(
        rows, labels
    )
    assert (model.mean_[1], model.scale_[1]) == (0, 1)
    usual = DiverseEnsembleClassifier(n_steps=5, random_state=0).fit(rows, labels)
    assert (model.mean_[0], model.scale_[0]) == (usual.mean_[0], usual.scale_[0])


# Starting from the weights of another


def three_classes():
    X, y_true = load_digits(n_class=3, return_X_y=True)
    return X[:150], y_true[:150]


def test_training_starts_from_the_weights_whatever_order_the_classes_have():
    """A step of length 0 changes nothing, though other labels train classes in another order."""
    for names in [[0, 1, 2], [9, 7, 5], [1, 2, 0]]:
        X, y_true = three_classes()
        named = np.array(names)[y_true]
        first = model().fit(X, np.where(np.arange(150) < 30, named, -1))
        orders = set()
        for labeled in (np.arange(150) >= 30, np.arange(150) < 30, np.arange(150) % 7 == 3):
            y = np.where(labeled, named, -1)
            still = model(n_steps=1, learning_rate=1e-12).fit(X, y, start_from=first)
            assert_allclose(still.network_.params, first.network_.params, atol=1e-7)
            order = classifier.content_order(
                X, np.searchsorted(first.classes_, y, side="left") - (y < 0), np.ones(150)
            )
            orders.add(
                tuple(
                    classifier.class_order_of(first.classes_.searchsorted(y[order][y[order] >= 0]))
                )
            )
        assert len(orders) > 1


def test_training_goes_on_where_it_was_and_leaves_the_other_alone():
    X, y_true = three_classes()
    y = np.where(np.arange(150) < 60, y_true, -1)
    first = model().fit(X, y)
    before = first.network_.params.copy()
    second = model().fit(X, y, start_from=first)
    losses = first.loss_curve_["supervised"]
    assert abs(second.loss_curve_["supervised"][0] - losses[-1]) < 0.1 < losses[0] - losses[-1]
    assert len(second.loss_curve_["supervised"]) == 30
    assert_array_equal(first.network_.params, before)
    assert_array_equal(second.network_.params, model().fit(X, y, start_from=first).network_.params)
    shuffled = np.random.default_rng(0).permutation(150)
    assert_array_equal(
        second.network_.params,
        model().fit(X[shuffled], y[shuffled], start_from=first).network_.params,
    )


def test_weights_that_mean_something_else_are_refused():
    X, y = three_classes()
    first = model().fit(X, y)
    for fit in (
        lambda: model(n_heads=3).fit(X, y, start_from=first),
        lambda: model(hidden_sizes=(8, 4)).fit(X, y, start_from=first),
        lambda: model().fit(X[:, 1:], y, start_from=first),
        lambda: model().fit(X, y + 3, start_from=first),
        lambda: model().fit(X, y, start_from=model()),
        lambda: model().fit(X, y, start_from=StandardScaler()),
    ):
        with pytest.raises(
            ValueError, match=r"same columns, classes, hidden_sizes and n_heads; it is \w+\("
        ):
            fit()
