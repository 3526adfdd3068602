"""Plain arrays predict what scikit-learn's trees do, to the bit; what is no tree is refused."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

from chary.method.trees import PlainBoosting, PlainForest, Trees, plain_trees

KINDS = {
    "forest": ExtraTreesClassifier(12, max_features=0.5, random_state=0),
    "few leaves": ExtraTreesClassifier(5, max_leaf_nodes=4, bootstrap=True, random_state=0),
    "boosting": HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=3, max_features=0.5, random_state=0
    ),
    "stopped": HistGradientBoostingClassifier(
        max_iter=8, early_stopping=True, min_samples_leaf=3, random_state=0
    ),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads of boosting wait for each other where the processor is busy."""
    with threadpool_limits(1):
        yield


def problem(n_classes, missing, n=90, d=5):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n, d))
    codes = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int) + (n_classes > 2) * (X[:, 3] > 0.5)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        # Whether it is missing is all it says.
        X[:, 4] = np.where(rng.random(n) < codes / n_classes, np.nan, 1.0)
    return X, np.array(["no", "yes", "perhaps"])[codes]


def walked(trees, X):
    """Walk each tree by hand, row by row, to the row of ``value`` of its leaf."""
    leaves = np.cumsum(trees.feature < 0) - 1
    ends = np.zeros((len(trees.size), len(X)), int)
    for t, root in enumerate(np.cumsum(trees.size) - trees.size):
        for i, row in enumerate(X):
            at = root
            while trees.feature[at] >= 0:
                cell = row[trees.feature[at]]
                left = trees.missing_left[at] if np.isnan(cell) else cell <= trees.threshold[at]
                at = root + (trees.left if left else trees.right)[at]
            ends[t, i] = leaves[at]
    return ends


def test_predictions_are_those_of_scikit_learn():
    for kind in KINDS:
        for n_classes in [2, 3]:
            for missing in [False, True]:
                X, y = problem(n_classes, missing)
                model = clone(KINDS[kind]).fit(X[:60], y[:60])
                plain = plain_trees(model)
                np.testing.assert_array_equal(
                    plain.predict_proba(X), model.predict_proba(X), strict=True
                )
                np.testing.assert_array_equal(plain.predict(X), model.predict(X), strict=True)
                assert plain.score(X, y) == model.score(X, y)
                assert hasattr(plain, "decision_function") == hasattr(model, "decision_function")
                if hasattr(model, "decision_function"):
                    np.testing.assert_array_equal(
                        plain.decision_function(X), model.decision_function(X), strict=True
                    )
                assert plain.whole()


def test_boosting_tells_apart_what_only_double_precision_can():
    X, y = problem(3, True)
    fits_single = X.astype(np.float32)
    needs_double = 1 + 1e-9 * X  # of these, single precision makes ones
    for features in [fits_single, needs_double, np.where(needs_double > 1, 1e300, X)]:
        model = clone(KINDS["boosting"]).fit(features, y)
        np.testing.assert_array_equal(
            plain_trees(model).decision_function(features), model.decision_function(features)
        )


def test_boosting_takes_the_missing_value_of_r():
    X, y = problem(2, True)
    model = clone(KINDS["boosting"]).fit(X, y)
    X[:] = np.array(0x7FF00000000007A2).view(float)  # a NaN that signals
    expected = model.decision_function(X)
    np.testing.assert_array_equal(plain_trees(model).decision_function(X), expected)


def test_missing_values_may_part_from_all_others():
    for kind in ["forest", "boosting"]:
        X, y = problem(2, True)
        model = clone(KINDS[kind]).fit(X[:, 4:], y)  # a column of ones and gaps
        plain = plain_trees(model)
        assert kind == "forest" or np.isinf(plain.trees_.threshold).any()
        cells = np.array([[np.nan], [1.0], [-1e30], [1e30]])
        np.testing.assert_array_equal(plain.predict_proba(cells), model.predict_proba(cells))


def test_names_of_columns_are_kept_and_checked():
    for kind in ["forest", "boosting"]:
        X, y = problem(2, False)
        plain = plain_trees(clone(KINDS[kind]).fit(pd.DataFrame(X, columns=list("abcde")), y))
        plain.predict(pd.DataFrame(X, columns=list("abcde")))
        with pytest.raises(ValueError, match="feature names should match"):
            plain.predict(pd.DataFrame(X, columns=list("edcba")))
        with pytest.raises(ValueError, match="4 features"):
            plain_trees(clone(KINDS[kind]).fit(X, y)).predict(X[:, :4])


def test_it_is_an_estimator_like_others():
    for kind in ["forest", "boosting"]:
        X, y = problem(3, False)
        model = clone(KINDS[kind]).fit(X, y)
        plain = plain_trees(model)
        again = clone(plain).fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(
            again.fit(X[::2], y[::2]).predict(X), clone(model).fit(X[::2], y[::2]).predict(X)
        )
        plain.predict(X)
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(plain)).predict_proba(X), model.predict_proba(X)
        )
        np.testing.assert_array_equal(plain.predict_proba(X[7:8]), model.predict_proba(X)[7:8])


def test_boosting_does_not_depend_on_threads():
    X, y = problem(3, True)
    plain = plain_trees(clone(KINDS["boosting"]).fit(X, y))
    many = np.tile(X, (300, 1))
    with threadpool_limits(1):
        alone = plain.decision_function(many)
    with threadpool_limits(2):
        np.testing.assert_array_equal(plain.decision_function(many), alone)
    np.testing.assert_array_equal(plain.decision_function(X), alone[: len(X)])


def test_what_is_no_fitted_tree_ensemble_stays_what_it_is():
    X, y = problem(2, False)
    for other in (None, 3, "x", ExtraTreesClassifier(), RandomForestClassifier(2).fit(X, y)):
        assert plain_trees(other) is other


def test_what_cannot_be_plain_arrays_is_refused():
    X, y = problem(2, False)
    X[:, 0] = X[:, 0] > 0
    with pytest.raises(ValueError, match="categorical features cannot be saved; give it numbers"):
        plain_trees(HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]).fit(X, y))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        plain_trees(ExtraTreesClassifier(2).fit(X, y)).predict(csr_matrix(X))


# ---------------------------------------------------------------- arrays that are no trees


def two_trees():
    """A stump, and a tree with a node below its root."""
    return Trees(
        size=np.array([3, 5], np.int32),
        feature=np.array([0, -1, -1, 1, -1, 0, -1, -1], np.int32),
        threshold=np.array([0.5, 0, 0, np.inf, 0, -1, 0, 0]),
        left=np.array([1, -1, -1, 1, -1, 3, -1, -1], np.int32),
        right=np.array([2, -1, -1, 2, -1, 4, -1, -1], np.int32),
        missing_left=np.array([True] + 7 * [False]),
        value=np.arange(5.0)[:, None],
    )


def is_whole(trees, n_features, width):
    """As a model file is read: an error is a refusal, too."""
    try:
        return trees.whole(n_features, width)
    except (ValueError, AttributeError, TypeError):
        return False


def test_walking_by_hand():
    trees = two_trees()
    assert is_whole(trees, 2, 1)
    X = np.array([[0.5, 0.0], [0.6, np.nan], [np.nan, np.nan], [-2.0, np.nan]])
    assert walked(trees, X).tolist() == [[0, 1, 0, 0], [2, 4, 4, 3]]


def test_forged_trees_are_refused():
    for name, at, wrong in [
        ("left", 3, 0),  # back to itself: an endless walk
        ("left", 5, 0),  # back to the root
        ("left", 5, 1),  # to a node that is another's child
        ("right", 0, 3),  # into the next tree
        ("right", 5, 5),  # out of the last one
        ("right", 0, -1),  # half a leaf
        ("left", 0, -7),
        ("left", 1, 2),  # a leaf that leads on
        ("right", 7, 0),
        ("feature", 0, 2),  # out of the row
        ("feature", 0, -1),  # a leaf with children
        ("feature", 1, -2),
        ("feature", 1, 0),  # no leaf, but no children either
        ("threshold", 0, np.nan),
        ("value", 0, np.nan),
        ("value", 4, np.inf),
        ("size", 0, 2),
        ("size", 0, 0),
        ("size", 0, -3),
        ("size", 1, 2**31 - 1),
    ]:
        column = getattr(two_trees(), name).copy()
        column[at] = wrong
        assert not is_whole(replace(two_trees(), **{name: column}), 2, 1)


def test_other_shapes_and_types_are_refused():
    for name in ["size", "feature", "threshold", "left", "right", "missing_left", "value"]:
        column = getattr(two_trees(), name)
        for wrong in (
            column[:-1],
            column[:0],
            column[None],
            column.astype(np.float32),
            column.tolist(),
            None,
        ):
            assert not is_whole(replace(two_trees(), **{name: wrong}), 2, 1)
        assert not is_whole(two_trees(), 2, 2)
        assert not is_whole(two_trees(), 1, 1)


@settings(max_examples=150)
@given(
    name=st.sampled_from(["size", "feature", "left", "right", "missing_left", "threshold"]),
    at=st.integers(0, 7),
    wrong=st.integers(-3, 9) | st.sampled_from([2**31 - 1, -(2**31)]),
)
def test_whatever_is_whole_is_walked_to_its_leaves(name, at, wrong):
    column = getattr(two_trees(), name).copy()
    column[at % len(column)] = wrong
    trees = replace(two_trees(), **{name: column})
    if is_whole(trees, 2, 1):
        X = np.array([[0.5, 0.0], [np.nan, np.nan], [-2.0, np.nan]])
        forest = PlainForest(None)
        forest.trees_, forest.classes_, forest.n_features_in_ = trees, np.array([0]), 2
        expected = trees.value[walked(trees, X.astype(np.float32))].mean(axis=0)
        np.testing.assert_array_equal(forest.predict_proba(X), expected)


def test_forged_boosting_is_refused():
    for change in [
        {"baseline_": np.zeros(2)},
        {"classes_": np.array(list("abc"))},
        {"n_features_in_": 1},
    ]:
        boosting = PlainBoosting(None)
        vars(boosting).update(
            trees_=two_trees(),
            baseline_=np.zeros(1),
            classes_=np.array(["a", "b"]),
            n_features_in_=2,
        )
        assert boosting.whole()
        vars(boosting).update(change)
        assert not boosting.whole()


def test_shares_of_a_leaf_are_not_negative():
    forest = PlainForest(None)
    vars(forest).update(trees_=two_trees(), classes_=np.array(["a"]), n_features_in_=2)
    assert forest.whole()
    forest.trees_ = replace(two_trees(), value=-two_trees().value)
    assert not forest.whole()
