"""Every private name of scikit-learn that chary uses: look here if a new release moves one.

Besides these, estimators state ``_parameter_constraints`` and call ``_validate_params``, as
scikit-learn's own do. Trees are plain arrays outside of this file; here they are put into the
compiled trees that scikit-learn walks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

# Rows of arrays, frames, sparse matrices and lists alike.
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads

# Parameters are refused in scikit-learn's own words.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Metadata routing, as scikit-learn's own meta-estimators do it.
from sklearn.utils.metadata_routing import _raise_for_params as raise_for_params
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled

# Arguments of ``fit`` for some of the rows.
from sklearn.utils.validation import _check_method_params as check_method_params

# Weights that are None, one number, or one for each row.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

from chary._arrays import Array, Mask

__all__ = [
    "HasMethods",
    "Interval",
    "Nodes",
    "StrOptions",
    "boosting_nodes",
    "check_method_params",
    "check_sample_weight",
    "compiled_boosting_tree",
    "compiled_forest_tree",
    "forest_nodes",
    "raise_for_params",
    "routing_enabled",
    "safe_indexing",
]

Floats = NDArray[np.float64]

# This many rows are worth a further thread: with fewer, threads mostly wait for each other.
_ROWS_FOR_A_THREAD = 10_000
# Compiled boosting asks for the bit sets of categories of all nodes. There are none, as all
# features are numeric.
_NO_CATEGORIES = np.zeros((0, 8), np.uint32)
# Compiled boosting asks for the numbers of the categorical features. There are none.
_NO_CATEGORICAL_FEATURES = np.zeros(0, np.uint32)


class Nodes(NamedTuple):
    """The N nodes of one tree, as arrays with an entry for each node.

    A row starts at node 0, the root. At node i it looks at its value of the feature ``feature[i]``:
    it goes on to the node ``left[i]`` if that value is at most ``threshold[i]``, and to
    ``right[i]`` otherwise. If the value is missing, it goes left if ``missing_left[i]`` is true. At
    a leaf, the result is ``value[i]``.
    """

    feature: Array  # (N,) -1 at a leaf
    threshold: Floats  # (N,)
    left: Array  # (N,)
    right: Array  # (N,)
    missing_left: Mask  # (N,)
    value: Floats  # (N, K)


def forest_nodes(forest: Any) -> list[Nodes]:
    """Return the trees of a fitted forest of classifiers."""
    trees = []
    for estimator in forest.estimators_:
        tree = estimator.tree_
        nodes = Nodes(
            feature=np.where(tree.children_left < 0, -1, tree.feature),
            threshold=tree.threshold,
            left=tree.children_left,
            right=tree.children_right,
            missing_left=tree.missing_go_to_left.astype(bool),
            value=tree.value[:, 0],
        )
        trees.append(nodes)
    return trees


def boosting_nodes(boosting: Any) -> tuple[list[Nodes], Floats]:
    """Return the trees of fitted gradient boosting, and the scores that their values are added to.

    Returns
    -------
    trees : list of Nodes
        In the order of the iterations. Each iteration has one tree, or with three or more classes
        one for each class.
    scores : array of shape (K,)
        The scores before the first tree.
    """
    trees = []
    for predictor in chain.from_iterable(boosting._predictors):
        tree = predictor.nodes
        nodes = Nodes(
            feature=np.where(tree["is_leaf"], -1, tree["feature_idx"]),
            threshold=tree["num_threshold"],
            left=tree["left"],
            right=tree["right"],
            missing_left=tree["missing_go_to_left"].astype(bool),
            value=tree["value"][:, None],
        )
        trees.append(nodes)
    return trees, np.ravel(boosting._baseline_prediction)


def compiled_forest_tree(nodes: Nodes, n_features: int) -> Callable[[Any], Floats]:
    """Compile a tree of a forest.

    The returned function maps rows (n, d) of single precision to the values of their leaves (n, K).
    scikit-learn trusts the nodes, so they must have been checked.
    """
    n_classes = np.array([nodes.value.shape[1]], dtype=np.intp)  # of each target
    tree = Tree(n_features, n_classes, 1)  # the last argument is the number of targets
    records = np.zeros(len(nodes.feature), tree.__getstate__()["nodes"].dtype)
    records["left_child"] = nodes.left
    records["right_child"] = nodes.right
    records["feature"] = nodes.feature
    records["threshold"] = nodes.threshold
    records["missing_go_to_left"] = nodes.missing_left
    state = {
        "max_depth": len(records),
        "node_count": len(records),
        "nodes": records,
        "values": np.ascontiguousarray(nodes.value[:, None]),  # (N, 1, K): there is one target
    }
    tree.__setstate__(state)
    return tree.predict


def compiled_boosting_tree(nodes: Nodes, n_features: int) -> Callable[[Any], Floats]:
    """Compile a tree of boosting.

    The returned function maps rows (n, d) to the values of their leaves (n,). Rows of single
    precision go through a compiled tree of a forest, which takes 0.6 of the time. scikit-learn
    trusts the nodes, so they must have been checked.
    """
    is_leaf = nodes.feature < 0
    records = np.zeros(len(nodes.feature), PREDICTOR_RECORD_DTYPE)
    records["value"] = nodes.value[:, 0]
    records["is_leaf"] = is_leaf
    records["num_threshold"] = nodes.threshold
    records["feature_idx"] = np.where(is_leaf, 0, nodes.feature)
    records["left"] = np.where(is_leaf, 0, nodes.left)
    records["right"] = np.where(is_leaf, 0, nodes.right)
    records["missing_go_to_left"] = nodes.missing_left

    predictor = TreePredictor(records, _NO_CATEGORIES, _NO_CATEGORIES)
    # Not a nested function, which could not be pickled: models with compiled trees can be.
    return partial(_leaf_values, predictor, compiled_forest_tree(nodes, n_features))


def _leaf_values(
    predictor: TreePredictor, predict_single: Callable[[Any], Floats], X: Array
) -> Floats:
    """Predict rows; those of double precision in threads, which do not change the values."""
    if X.dtype == np.float32:
        return predict_single(X)[:, 0]
    threads = min(n_threads(), 1 + len(X) // _ROWS_FOR_A_THREAD)
    return predictor.predict(X, _NO_CATEGORIES, _NO_CATEGORICAL_FEATURES, threads)
