"""Every private name of scikit-learn that chary uses, once: here to look when a new release moves one.

Besides these, estimators state ``_parameter_constraints`` and call ``_validate_params``, as
scikit-learn's own do. Trees are plain arrays outside of this file; here they are put into the
compiled trees that scikit-learn walks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

# Rows of arrays, frames, sparse matrices and lists alike.
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads

# Parameters are refused in the words in which scikit-learn refuses its own.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Weights that are None, one number, or one for each row.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "Nodes",
    "StrOptions",
    "boosting_nodes",
    "check_sample_weight",
    "compiled_boosting_tree",
    "compiled_forest_tree",
    "forest_nodes",
    "safe_indexing",
]

Floats = NDArray[np.float64]

# Threads that have less to do only wait for each other, once a tree.
_ROWS_FOR_A_THREAD = 10_000


class Nodes(NamedTuple):
    """One tree: rows go left whose feature is at or below the threshold, or missing where missing ones go left."""

    feature: NDArray[Any]  # (N,) -1 at a leaf
    threshold: Floats  # (N,)
    left: NDArray[Any]  # (N,) number of the child; the root is 0
    right: NDArray[Any]  # (N,)
    missing_left: NDArray[np.bool_]  # (N,)
    value: Floats  # (N, K); only those of leaves count


def forest_nodes(forest: Any) -> list[Nodes]:
    """The trees of a fitted forest of classifiers."""
    return [
        Nodes(
            np.where(tree.children_left < 0, -1, tree.feature),
            tree.threshold,
            tree.children_left,
            tree.children_right,
            tree.missing_go_to_left.astype(bool),
            tree.value[:, 0],
        )
        for tree in (estimator.tree_ for estimator in forest.estimators_)
    ]


def boosting_nodes(boosting: Any) -> tuple[list[Nodes], Floats]:
    """The trees of fitted gradient boosting, those of an iteration together, and where their sums start (K,)."""
    nodes = [predictor.nodes for iteration in boosting._predictors for predictor in iteration]
    trees = [
        Nodes(
            np.where(tree["is_leaf"], -1, tree["feature_idx"]),
            tree["num_threshold"],
            tree["left"],
            tree["right"],
            tree["missing_go_to_left"].astype(bool),
            tree["value"][:, None],
        )
        for tree in nodes
    ]
    return trees, np.ravel(boosting._baseline_prediction)


def compiled_forest_tree(nodes: Nodes, n_features: int) -> Callable[[Any], Floats]:
    """A tree as scikit-learn walks it: rows (n, d) of single precision -> the values of their leaves (n, K).

    scikit-learn trusts the nodes, so they must have been checked.
    """
    tree = Tree(n_features, np.array([nodes.value.shape[1]], dtype=np.intp), 1)
    own = np.zeros(len(nodes.feature), tree.__getstate__()["nodes"].dtype)
    own["left_child"], own["right_child"], own["feature"] = nodes.left, nodes.right, nodes.feature
    own["threshold"], own["missing_go_to_left"] = nodes.threshold, nodes.missing_left
    values = np.ascontiguousarray(nodes.value[:, None])  # (N, 1, K): there is one target
    tree.__setstate__(
        {"max_depth": len(own), "node_count": len(own), "nodes": own, "values": values}
    )
    return tree.predict


def compiled_boosting_tree(nodes: Nodes) -> Callable[[Any], Floats]:
    """The same of a tree of boosting: rows (n, d) of double precision -> the values of their leaves (n,)."""
    own = np.zeros(len(nodes.feature), PREDICTOR_RECORD_DTYPE)
    leaf = nodes.feature < 0
    own["value"], own["is_leaf"], own["num_threshold"] = nodes.value[:, 0], leaf, nodes.threshold
    for name, column in (
        ("feature_idx", nodes.feature),
        ("left", nodes.left),
        ("right", nodes.right),
    ):
        own[name] = np.where(leaf, 0, column)
    own["missing_go_to_left"] = nodes.missing_left
    no_category, no_map = np.zeros((0, 8), np.uint32), np.zeros(0, np.uint32)
    predict = TreePredictor(own, no_category, no_category).predict
    return partial(_in_threads, partial(predict, known_cat_bitsets=no_category, f_idx_map=no_map))


def _in_threads(predict: Callable[..., Floats], X: Floats) -> Floats:
    """Threads share the rows out; a row's value does not depend on them."""
    return predict(X, n_threads=min(n_threads(), 1 + len(X) // _ROWS_FOR_A_THREAD))
