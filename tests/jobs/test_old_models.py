"""Trees of the first format become plain ones; what scikit-learn would have trusted blindly is refused."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from chary.jobs.model_parts import ModelFileError
from chary.jobs.old_models import OLD_CODECS
from chary.method import PlainForest

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X[:, 0] + X[:, 1] > 0, "ham", "spam")
FOREST = ExtraTreesClassifier(3, random_state=0).fit(X, Y)


def old_tree(tree, **changes):
    """A tree as the first format held it."""
    state = tree.__getstate__()
    nodes = {name: np.ascontiguousarray(state["nodes"][name]) for name in state["nodes"].dtype.names}
    values = changes.pop("values", state["values"])
    return {"n_features": 4, "max_depth": state["max_depth"], "values": values, "nodes": {**nodes, **changes}}


def restored(**changes):
    trees = [old_tree(estimator.tree_, **changes) for estimator in FOREST.estimators_]
    made = [OLD_CODECS["Tree"].restore(tree) for tree in trees]
    wrapped = [OLD_CODECS["ExtraTreeClassifier"].restore({"params": {}, "fitted": {"tree_": t}}) for t in made]
    fitted = {"classes_": FOREST.classes_, "n_features_in_": 4, "estimators_": wrapped}
    return OLD_CODECS["ExtraTreesClassifier"].restore({"params": {"n_estimators": 3}, "fitted": fitted})


def test_an_old_forest_predicts_what_it_did():
    forest = restored()
    assert type(forest) is PlainForest
    np.testing.assert_array_equal(forest.predict_proba(X), FOREST.predict_proba(X))


def test_an_unfitted_one_stays_one():
    template = OLD_CODECS["ExtraTreesClassifier"].restore({"params": {"n_estimators": 3}, "fitted": {}})
    assert (type(template), template.n_estimators) == (ExtraTreesClassifier, 3)


FIRST = FOREST.estimators_[0].tree_


def with_root(name, value):
    """What the node says in each tree, another in its root."""
    column = np.ascontiguousarray(FIRST.__getstate__()["nodes"][name])
    column[0] = value
    return column


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left_child", 0),  # back to the root: an endless walk
        ("left_child", 10**6),  # out of the tree
        ("right_child", -1),  # half a leaf
        ("right_child", -7),
        ("feature", 4),  # out of the row
        ("feature", -2),
        ("threshold", np.nan),
    ],
)
def test_a_forged_tree_is_refused(name, value):
    state = old_tree(FIRST, **{name: with_root(name, value)})
    with pytest.raises(ModelFileError, match="contradicts itself"):
        one_tree(state)


def one_tree(state):
    fitted = {"classes_": FOREST.classes_, "n_features_in_": 4, "estimators_": [OLD_CODECS["Tree"].restore(state)]}
    return OLD_CODECS["ExtraTreesClassifier"].restore({"params": {}, "fitted": fitted})


@pytest.mark.parametrize(
    "change",
    [
        lambda t: {**t, "nodes": {name: column[:-1] for name, column in t["nodes"].items()}},
        lambda t: {**t, "nodes": {name: column.astype(np.float32) for name, column in t["nodes"].items()}},
        lambda t: {**t, "values": t["values"].astype(np.float32)},
        lambda t: {**t, "values": t["values"].repeat(2, axis=1)},
        lambda t: {**t, "values": t["values"].repeat(2, axis=2)},
        lambda t: {**t, "values": t["values"] * np.nan},
    ],
)
def test_a_tree_of_other_shapes_is_refused(change):
    one_tree(old_tree(FIRST))
    with pytest.raises(ModelFileError, match="contradicts itself"):
        one_tree(change(old_tree(FIRST)))


def test_a_forest_of_anything_else_is_refused():
    for trees in ([None], ["tree"], [FOREST.estimators_[0]]):
        fitted = {"classes_": FOREST.classes_, "n_features_in_": 4, "estimators_": trees}
        with pytest.raises(ModelFileError, match="contradicts itself"):
            OLD_CODECS["ExtraTreesClassifier"].restore({"params": {}, "fitted": fitted})


def test_the_first_format_is_not_written():
    with pytest.raises(AssertionError, match="read only"):
        OLD_CODECS["Tree"].state(FIRST)
