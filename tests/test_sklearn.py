"""Private names of scikit-learn are imported in one file, and are what that file takes them for."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

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


def test_every_name_is_used_somewhere():
    sources = [
        path.read_text() for path in PACKAGE.rglob("*.py") if path != PACKAGE / "_sklearn.py"
    ]
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
