"""Every private name of scikit-learn that chary uses, once: here to look when a new release moves one.

Besides these, estimators state ``_parameter_constraints`` and call ``_validate_params``, as scikit-learn's own do.
Trees are plain arrays outside of this file; what is private about scikit-learn's own may be missing or changed in
a release to come, and then ``compiled_forest`` and ``compiled_boosting`` say so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Rows of arrays, frames, sparse matrices and lists alike.
from sklearn.utils import _safe_indexing as safe_indexing

# Parameters are refused in the words in which scikit-learn refuses its own.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Weights that are None, one number, or one for each row.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

# Compiled trees: without them they are walked in NumPy.
try:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
    from sklearn.tree._tree import Tree
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads as n_threads
except ImportError:  # pragma: no cover
    PREDICTOR_RECORD_DTYPE = TreePredictor = Tree = n_threads = None

__all__ = [
    "HasMethods",
    "Interval",
    "Nodes",
    "StrOptions",
    "boosting_nodes",
    "check_sample_weight",
    "compiled_boosting",
    "compiled_forest",
    "forest_nodes",
    "safe_indexing",
]

Floats = NDArray[np.float64]
# Rows (n, d) in; what one tree says of them out: (n, K), or (n,) in boosting.
Compiled = Callable[[Any], Floats]

# Threads that have less to do only wait for each other, once a tree.
_ROWS_FOR_A_THREAD = 10_000

_INT, _FLOAT, _FLAG = np.intp, np.float64, np.uint8
_TREE_NODE = {
    "left_child": _INT,
    "right_child": _INT,
    "feature": _INT,
    "threshold": _FLOAT,
    "impurity": _FLOAT,
    "n_node_samples": _INT,
    "weighted_n_node_samples": _FLOAT,
    "missing_go_to_left": _FLAG,
}
_BOOSTING_NODE = {
    "value": _FLOAT,
    "count": np.uint32,
    "feature_idx": _INT,
    "num_threshold": _FLOAT,
    "missing_go_to_left": _FLAG,
    "left": np.uint32,
    "right": np.uint32,
    "gain": _FLOAT,
    "depth": np.uint32,
    "is_leaf": _FLAG,
    "bin_threshold": _FLAG,
    "is_categorical": _FLAG,
    "bitset_idx": np.uint32,
}


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
    trees = [estimator.tree_ for estimator in forest.estimators_]
    return [
        Nodes(
            np.where(tree.children_left < 0, -1, tree.feature),
            tree.threshold,
            tree.children_left,
            tree.children_right,
            tree.missing_go_to_left.astype(bool),
            tree.value[:, 0],
        )
        for tree in trees
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


def compiled_forest(trees: list[Nodes], n_features: int) -> list[Compiled] | None:
    """Each tree as scikit-learn walks it, over rows of single precision; None if its layout is not one we know.

    scikit-learn trusts the nodes, so they must have been checked.
    """
    if not _right(lambda stump: _tree(stump, 1).predict, np.float32):
        return None
    return [_tree(tree, n_features).predict for tree in trees]


def compiled_boosting(trees: list[Nodes]) -> list[Compiled] | None:
    """Each tree as scikit-learn walks it, over rows of double precision; None if its layout is not one we know."""
    if not _right(_predictor, np.float64):
        return None
    return [_predictor(tree) for tree in trees]


def _tree(nodes: Nodes, n_features: int) -> Any:
    tree = Tree(n_features, np.array([nodes.value.shape[1]], dtype=np.intp), 1)
    layout = np.dtype(list(_TREE_NODE.items()), align=True)
    if tree.__getstate__()["nodes"].dtype != layout:
        raise TypeError("scikit-learn keeps the nodes of a tree in another way.")
    own = np.zeros(len(nodes.feature), layout)
    own["left_child"], own["right_child"], own["feature"] = nodes.left, nodes.right, nodes.feature
    own["threshold"], own["missing_go_to_left"] = nodes.threshold, nodes.missing_left
    values = np.ascontiguousarray(nodes.value[:, None])  # (N, 1, K): there is one target
    tree.__setstate__({"max_depth": len(own), "node_count": len(own), "nodes": own, "values": values})
    return tree


def _predictor(nodes: Nodes) -> Compiled:
    if np.dtype(list(_BOOSTING_NODE.items())) != PREDICTOR_RECORD_DTYPE:
        raise TypeError("scikit-learn keeps the nodes of boosting in another way.")
    own = np.zeros(len(nodes.feature), PREDICTOR_RECORD_DTYPE)
    leaf = nodes.feature < 0
    own["value"], own["is_leaf"], own["num_threshold"] = nodes.value[:, 0], leaf, nodes.threshold
    for name, column in (("feature_idx", nodes.feature), ("left", nodes.left), ("right", nodes.right)):
        own[name] = np.where(leaf, 0, column)
    own["missing_go_to_left"] = nodes.missing_left
    no_category, no_map = np.zeros((0, 8), np.uint32), np.zeros(0, np.uint32)
    predict = TreePredictor(own, no_category, no_category).predict
    # Threads share the rows out; a row's value does not depend on them.
    return partial(_in_threads, partial(predict, known_cat_bitsets=no_category, f_idx_map=no_map))


def _in_threads(predict: Callable[..., Floats], X: Floats) -> Floats:
    return predict(X, n_threads=min(n_threads(), 1 + len(X) // _ROWS_FOR_A_THREAD))


def _right(compiled: Callable[[Nodes], Compiled], dtype: type) -> bool:
    """Whether scikit-learn walks a small tree as we do: below, at and above the threshold, and a missing value."""
    rows: NDArray[Any] = np.array([[0.25], [0.5], [0.75], [np.nan]], dtype=dtype)
    columns = [np.array([first, -1, -1]) for first in (0, 0.5, 1, 2)]
    feature, left, right = (columns[i].astype(int) for i in (0, 2, 3))
    try:
        for missing_left, end in ((True, 1.0), (False, 2.0)):
            flags, values = np.array([missing_left, False, False]), np.array([[0.0], [1.0], [2.0]])
            stump = Nodes(feature, columns[1], left, right, flags, values)
            if np.ravel(compiled(stump)(rows)).tolist() != [1.0, 1.0, 2.0, end]:
                return False
    except Exception:  # whatever a changed layout provokes: then it is not one we know
        return False
    return True
