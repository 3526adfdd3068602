"""Tree ensembles of scikit-learn as plain arrays, and the same predictions from them.

A model file holds these arrays, so that it depends on no version of scikit-learn; to predict, they
are put into the compiled trees of the installed one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from chary._arrays import Array, Floats, Mask
from chary._sklearn import (
    Nodes,
    boosting_nodes,
    compiled_boosting_tree,
    compiled_forest_tree,
    forest_nodes,
)
from chary.method.confidence import softmax

# A function that returns the value of the leaf that each row comes to.
Predict = Callable[[Any], Floats]


@dataclass(frozen=True, eq=False)
class Trees:
    """T trees as plain arrays, one tree after another: N nodes in all, L of which are leaves.

    At a node that is no leaf, a row goes left if its feature is at most the threshold, otherwise
    right; ``missing_left`` decides for a missing value. At a leaf it gets K values.
    """

    size: NDArray[np.int32]  # (T,) number of nodes of each tree
    feature: NDArray[np.int32]  # (N,) the feature that decides; -1 at a leaf
    # (N,) infinite at a node that separates missing values from all others
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]  # (N,) the left child, by its number within the tree; -1 at a leaf
    right: NDArray[np.int32]  # (N,) the right child, likewise
    missing_left: Mask  # (N,) whether a missing value goes left
    value: NDArray[np.float64]  # (L, K) the values of each leaf

    @classmethod
    def of(cls, trees: list[Nodes]) -> Trees:
        """Put trees one after another, and clear the fields that a leaf does not need."""
        parts_of_fields = zip(*trees, strict=True)  # for each field, its values in every tree
        feature, threshold, left, right, missing_left, value = map(np.concatenate, parts_of_fields)
        is_leaf = feature < 0
        # Boosting numbers its nodes without a sign.
        left = left.astype(np.int32)
        right = right.astype(np.int32)
        return cls(
            size=np.array([len(tree.feature) for tree in trees], np.int32),
            feature=feature.astype(np.int32),
            threshold=np.where(is_leaf, 0.0, threshold),
            left=np.where(is_leaf, -1, left),
            right=np.where(is_leaf, -1, right),
            missing_left=missing_left & ~is_leaf,
            value=np.ascontiguousarray(value[is_leaf], np.float64),
        )

    def each(self) -> list[Nodes]:
        """Split the arrays into the trees, one by one."""
        # (N, K) with a line for each node; 0 at a node that is no leaf
        value = np.zeros((len(self.feature), self.value.shape[1]))
        value[self.feature < 0] = self.value
        columns = (self.feature, self.threshold, self.left, self.right, self.missing_left, value)

        # Each column is cut where a tree ends. Then the parts that belong to one tree are joined.
        ends = np.cumsum(self.size)[:-1]
        parts_of_columns = [np.split(column, ends) for column in columns]
        return [Nodes(*parts_of_tree) for parts_of_tree in zip(*parts_of_columns, strict=True)]

    def whole(self, n_features: int, width: int) -> bool:
        """Tell whether the arrays are trees of ``n_features``, with ``width`` values per leaf.

        A file may hold anything, and the compiled trees would read memory that is not theirs. A
        field that is no array raises an error.
        """
        dtypes = (np.int32, np.int32, np.float64, np.int32, np.int32, np.bool_, np.float64)
        columns = [getattr(self, field.name) for field in fields(self)]
        columns_of_nodes = columns[1:-1]  # without ``size`` and ``value``
        n_nodes = len(self.feature)
        # Each condition may rely on the ones before it.
        return bool(
            all(column.dtype == dtype for column, dtype in zip(columns, dtypes, strict=True))
            and self.size.min() > 0
            and self.size.sum(dtype=np.int64) == n_nodes
            and all(column.shape == (n_nodes,) for column in columns_of_nodes)
            and self.value.shape == ((self.feature < 0).sum(), width)
            and np.isfinite(self.value).all()
            and not np.isnan(self.threshold).any()
            and self.feature.min() >= -1
            and self.feature.max() < n_features
            and self._linked()
        )

    def _linked(self) -> bool:
        """Tell whether children come after their parent, in the same tree, and leaves have none.

        So every row comes to a leaf: it moves on at each node, and stays in the tree.
        """
        # The number of each node within its tree, and the number of nodes of its tree.
        place = np.concatenate([np.arange(n_nodes) for n_nodes in self.size])  # (N,)
        n_nodes_of_tree = np.repeat(self.size, self.size)  # (N,)
        children = np.stack([self.left, self.right])  # (2, N)
        is_later_in_tree = (children > place) & (children < n_nodes_of_tree)
        is_valid = np.where(self.feature < 0, children == -1, is_later_in_tree)
        return bool(is_valid.all())


class _PlainTrees(ClassifierMixin, BaseEstimator):
    """What both ensembles share: the estimator that fits them, and their compiled trees."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the estimator and take its trees."""
        return self._take(clone(self.estimator).fit(X, y, sample_weight))

    def _take(self, fitted: Any) -> Any:
        """Take over what a fitted ensemble has learned."""
        self.classes_ = fitted.classes_
        self.n_features_in_ = fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        return self

    def predict(self, X: Any) -> Array:
        """Predict the label of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _compiled(self, compile_tree: Callable[[Nodes], Predict]) -> list[Predict]:
        """Compile the trees, once: the result is kept until ``trees_`` is replaced."""
        # The pair of the trees that were compiled last, and the functions that came of it.
        compiled_trees, functions = vars(self).get("_compiled_trees", (None, []))
        if compiled_trees is not self.trees_:
            functions = [compile_tree(nodes) for nodes in self.trees_.each()]
            self._compiled_trees = (self.trees_, functions)
        return functions


class PlainForest(_PlainTrees):
    """Extremely randomised trees as plain arrays, as a model file holds them.

    The probabilities of a row are the class shares of its leaf, averaged over the trees. Rows are
    dense, in single precision as scikit-learn takes them; missing values are allowed.

    Parameters
    ----------
    estimator : ExtraTreesClassifier
        Unfitted; what ``fit`` fits.

    Attributes
    ----------
    classes_ : array of shape (C,)
    trees_ : Trees
        With the class shares of each leaf, (L, C).
    """

    def _take(self, forest: Any) -> PlainForest:
        self.trees_ = Trees.of(forest_nodes(forest))
        return super()._take(forest)

    def whole(self) -> bool:
        """Tell whether the parts that a file gave are a forest."""
        are_trees = self.trees_.whole(self.n_features_in_, len(self.classes_))
        return are_trees and bool((self.trees_.value >= 0).all())

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities (n, C)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan")

        def compile_tree(nodes: Nodes) -> Predict:
            return compiled_forest_tree(nodes, self.n_features_in_)

        total = np.zeros((len(X), len(self.classes_)))
        for predict in self._compiled(compile_tree):
            total += predict(X)
        total /= len(self.trees_.size)
        return total


class PlainBoosting(_PlainTrees):
    """Gradient boosting as plain arrays, as a model file holds it.

    The decision values of a row are the start value plus the value of its leaf in each tree: one
    column for two classes, otherwise one for each class. Rows are dense; missing values are
    allowed.

    Parameters
    ----------
    estimator : HistGradientBoostingClassifier
        Unfitted; what ``fit`` fits.

    Attributes
    ----------
    classes_ : array of shape (C,)
    trees_ : Trees
        The decision values have K columns. With three classes, the trees 0, 3, 6, ... add to column
        0, and so on: tree t adds to column t % K.
    baseline_ : array of shape (K,)
        The start values.
    """

    def _take(self, boosting: Any) -> PlainBoosting:
        if np.any(boosting.is_categorical_):
            raise ValueError(
                f"A {type(boosting).__name__} with categorical features cannot be saved; give it "
                "numbers."
            )
        trees, self.baseline_ = boosting_nodes(boosting)
        self.trees_ = Trees.of(trees)
        return super()._take(boosting)

    def whole(self) -> bool:
        """Tell whether the parts that a file gave are boosting."""
        n_classes = len(self.classes_)
        n_columns = 1 if n_classes == 2 else n_classes
        return self.baseline_.shape == (n_columns,) and self.trees_.whole(self.n_features_in_, 1)

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities (n, C)."""
        decision = self.decision_function(X)
        if decision.ndim == 2:
            return softmax(decision)
        probs = expit(decision)
        return np.column_stack([1 - probs, probs])

    def decision_function(self, X: Any) -> Floats:
        """Sum the leaf values, (n,) for two classes and otherwise (n, C)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite=False)
        # Features of tables fit into single precision, in which trees are walked faster.
        # The NaN of R, which signals, is no fault.
        with np.errstate(over="ignore", invalid="ignore"):
            single = X.astype(np.float32)
        if np.array_equal(single, X, equal_nan=True):
            X = single

        def compile_tree(nodes: Nodes) -> Predict:
            return compiled_boosting_tree(nodes, self.n_features_in_)

        K = len(self.baseline_)  # 1 for two classes, otherwise C
        # Column by column in memory, as a tree adds to one column.
        total = np.empty((len(X), K), order="F")
        total[:] = self.baseline_
        for t, predict in enumerate(self._compiled(compile_tree)):
            total[:, t % K] += predict(X)
        if K == 1:
            return total[:, 0]
        return total


# These ensembles of scikit-learn have a plain counterpart.
_PLAIN: dict[type, Any] = {
    ExtraTreesClassifier: PlainForest,
    HistGradientBoostingClassifier: PlainBoosting,
}


def plain_trees(estimator: Any) -> Any:
    """Turn a fitted tree ensemble of scikit-learn into plain arrays; leave others as they are."""
    plain = _PLAIN.get(type(estimator))
    if plain is None or not hasattr(estimator, "classes_"):
        return estimator
    return plain(clone(estimator))._take(estimator)
