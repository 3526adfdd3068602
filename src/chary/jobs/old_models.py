"""Parts of a model file of the first format in; what they are today out.

That format held the trees of scikit-learn as its own state, node by node; they become plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import ExtraTreeClassifier

from chary._sklearn import Nodes
from chary.jobs.model_parts import CODECS, Codec, made, require
from chary.method import PlainForest, Trees

_COLUMNS = ("feature", "threshold", "left_child", "right_child", "missing_go_to_left")


def _restore_tree(saved: dict[str, Any]) -> Nodes:
    values, nodes = saved["values"], saved["nodes"]
    n_nodes, n_targets, _ = values.shape
    feature, threshold, left, right, missing_left = (nodes[name] for name in _COLUMNS)
    require(n_targets == 1 and values.dtype == threshold.dtype == np.float64)
    require(all(column.shape == (n_nodes,) for column in (feature, threshold, left, right, missing_left)))
    require(all(column.dtype.kind in "iu" for column in (feature, left, right, missing_left)))
    feature = np.where(left == -1, -1, feature)
    require(bool((feature[left != -1] >= 0).all() and (right[left == -1] == -1).all()))
    return Nodes(feature, threshold, left, right, missing_left.astype(bool), values[:, 0])


def _restore_estimator(saved: dict[str, Any]) -> Any:
    return saved["fitted"].get("tree_")  # the pattern that its trees were made after has none


def _restore_forest(saved: dict[str, Any]) -> Any:
    forest, learned = made(ExtraTreesClassifier, saved["params"]), saved["fitted"]
    if not learned:
        return forest
    trees = learned["estimators_"]
    require(all(isinstance(tree, Nodes) for tree in trees))
    plain = PlainForest(forest)
    plain.classes_, plain.n_features_in_ = learned["classes_"], learned["n_features_in_"]
    plain.trees_ = Trees.of(trees)
    require(plain.whole())
    return plain


def _not_written(value: Any) -> dict[str, Any]:
    raise AssertionError("the first format is read only")


OLD_CODECS = {
    **CODECS,
    "Tree": Codec(Nodes, _not_written, _restore_tree),
    "ExtraTreeClassifier": Codec(ExtraTreeClassifier, _not_written, _restore_estimator),
    "ExtraTreesClassifier": Codec(ExtraTreesClassifier, _not_written, _restore_forest),
}
