"""Private names of scikit-learn are imported in one file, and are what that file takes them for."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

import chary
from chary import _sklearn

PACKAGE = Path(chary.__file__).parent


def private_imports(text):
    """The private names of scikit-learn that some source imports, wherever in it."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found += [name for name in names if name.split(".")[0] == "sklearn" and "._" in name]
    return found


def test_no_other_file_imports_a_private_name():
    files = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "_sklearn.py"]
    assert len(files) > 40
    found = {str(path): private_imports(path.read_text()) for path in files}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from sklearn.tree._tree import Tree", ["sklearn.tree._tree.Tree"]),
        ("from sklearn.utils import indexable, _safe_indexing", ["sklearn.utils._safe_indexing"]),
        ("def f():\n    import sklearn.utils._param_validation as p", ["sklearn.utils._param_validation"]),
        ("from sklearn.utils import indexable\nimport sklearn.tree\nfrom scipy import _lib", []),
        ("from chary._sklearn import Tree\nfrom . import _x", []),
    ],
)
def test_a_planted_import_is_found(text, found):
    assert private_imports(text) == found


def test_every_name_is_used_somewhere():
    sources = [path.read_text() for path in PACKAGE.rglob("*.py") if path != PACKAGE / "_sklearn.py"]
    used = {
        alias.name
        for source in sources
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "chary._sklearn"
        for alias in node.names
    }
    assert used == set(_sklearn.__all__)


def test_rows_of_every_container():
    rows = np.array([2, 0])
    X = np.arange(6).reshape(3, 2)
    np.testing.assert_array_equal(_sklearn.safe_indexing(X, rows), X[rows])
    np.testing.assert_array_equal(_sklearn.safe_indexing(pd.DataFrame(X), rows).to_numpy(), X[rows])
    np.testing.assert_array_equal(_sklearn.safe_indexing(csr_matrix(X), rows).toarray(), X[rows])
    assert _sklearn.safe_indexing(["a", "b", "c"], rows) == ["c", "a"]


def test_weights_are_checked_and_default_to_ones():
    X = np.zeros((3, 1))
    assert _sklearn.check_sample_weight(None, X, dtype=np.float64).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="Negative values"):
        _sklearn.check_sample_weight([1, -1, 1], X, ensure_non_negative=True)


def stump(**changes):
    parts = {
        "feature": np.array([1, -1, -1]),
        "threshold": np.array([0.5, 0, 0]),
        "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]),
        "missing_left": np.array([False, False, False]),
        "value": np.array([[0.0, 0.0], [0.25, 0.75], [1.0, 0.0]]),
    }
    return _sklearn.Nodes(**{**parts, **changes})


ROWS = np.array([[9, 0.5], [9, 0.6], [9, np.nan]])


def test_compiled_trees_walk_the_nodes_that_they_are_given():
    (tree,) = _sklearn.compiled_forest([stump()], 2)
    assert tree(ROWS.astype(np.float32)).tolist() == [[0.25, 0.75], [1, 0], [1, 0]]
    (tree,) = _sklearn.compiled_boosting([stump(missing_left=np.array([True, False, False]))])
    assert tree(ROWS).tolist() == [0.25, 1, 0.25]


def test_a_fitted_forest_is_made_of_the_nodes_that_are_read():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    (nodes,) = _sklearn.forest_nodes(ExtraTreesClassifier(1, random_state=0).fit(X, y))
    assert nodes.feature.tolist() == [0, -1, -1]
    assert nodes.value[1:].tolist() == [[1, 0], [0, 1]]
    assert 0 < nodes.threshold[0] < 1


def renamed(**names):
    return [(names.get(name, name), kind) for name, kind in _sklearn._BOOSTING_NODE.items()]


class Reversed:
    """A predictor of another mind: what it learned to send left it sends right."""

    def __init__(self, nodes, *rest):
        nodes["left"], nodes["right"] = nodes["right"].copy(), nodes["left"].copy()
        self.predict = TreePredictor(nodes, *rest).predict


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("Tree", None),  # gone
        ("Tree", lambda *sizes: Tree(*sizes[:2])),  # called otherwise
        ("_TREE_NODE", {**_sklearn._TREE_NODE, "more": np.float64}),
        ("_TREE_NODE", dict(reversed(_sklearn._TREE_NODE.items()))),
    ],
)
def test_another_layout_of_trees_is_noticed(monkeypatch, name, moved):
    monkeypatch.setattr(_sklearn, name, moved)
    assert _sklearn.compiled_forest([stump()], 2) is None
    assert _sklearn.compiled_boosting([stump()]) is not None


@pytest.mark.parametrize(
    ("name", "moved"),
    [
        ("TreePredictor", None),
        ("TreePredictor", Reversed),
        ("n_threads", None),
        ("PREDICTOR_RECORD_DTYPE", None),
        ("PREDICTOR_RECORD_DTYPE", np.dtype(renamed(left="first"))),
        ("PREDICTOR_RECORD_DTYPE", np.dtype([*renamed(), ("more", np.int8)])),
    ],
)
def test_another_layout_of_boosting_is_noticed(monkeypatch, name, moved):
    monkeypatch.setattr(_sklearn, name, moved)
    assert _sklearn.compiled_boosting([stump()]) is None
    assert _sklearn.compiled_forest([stump()], 2) is not None
