"""Numbers in a NumPy file beside the table: read if they are what they should be, and nothing executed."""

import pickle

import numpy as np
import polars as pl
import pytest

from chary.tables.errors import TableError
from chary.tables.features import FEATURES, read_features, with_features

FRAME = pl.DataFrame({"n": [1, 2, 3]})
NUMBERS = np.arange(6.0).reshape(3, 2)


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "x.npy", NUMBERS)
    return tmp_path / "x.npy"


def test_a_column_more(path):
    frame = with_features(FRAME, path)
    assert frame.columns == ["n", FEATURES]
    assert frame[FEATURES].to_list() == NUMBERS.tolist()
    assert with_features(FRAME, None) is FRAME


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1", "?", ">f8", ">i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_any_type(tmp_path, dtype, order):
    numbers = np.array(NUMBERS.astype(dtype), order=order)
    np.save(tmp_path / "x.npy", numbers)
    read = with_features(FRAME, tmp_path / "x.npy")[FEATURES]
    assert np.array_equal(read.to_numpy(), numbers)
    assert read.dtype.inner == (pl.Float32 if dtype in ("f2", "f4") else pl.Float64)


def test_one_number_for_each_row(tmp_path):
    np.save(tmp_path / "x.npy", [7.0, 8.0, 9.0])
    assert read_features(tmp_path / "x.npy", 3).tolist() == [[7], [8], [9]]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("executed",))


@pytest.mark.parametrize(
    ("array", "match"),
    [
        (np.zeros((4, 2)), "x.npy has 4 rows and the table 3; they must be the same rows"),
        (np.zeros((3, 2, 2)), r"x.npy is of shape \(3, 2, 2\); a row of numbers for each row of the table"),
        (np.zeros(()), r"x.npy is of shape \(\)"),
        (np.zeros((3, 0)), r"x.npy is of shape \(3, 0\)"),
        (np.array(["a", "b", "c"]), "x.npy holds str32 values; write numbers"),
        (np.zeros((3, 2), complex), "x.npy holds complex128 values"),
        (np.zeros(3, "M8[s]"), "x.npy holds datetime64"),
        (np.zeros(3, [("a", "f8")]), "x.npy holds void64 values"),
        (np.zeros((3, 5000), "i1"), "x.npy has 5,000 numbers for each row; chary takes up to 4,096: make fewer"),
        (np.array([Bomb(), 1, 2], dtype=object), "x.npy is damaged, or holds something else than numbers"),
    ],
)
def test_what_cannot_be_used(tmp_path, array, match):
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    with pytest.raises(TableError, match=match):
        with_features(FRAME, tmp_path / "x.npy")


def test_files_that_are_no_such_thing(tmp_path, path):
    whole = path.read_bytes()
    lying = whole.replace(b"(3, 2)", b"(3, 9)")
    huge = whole.replace(b"(3, 2), }" + b" " * 30, b"(3, 99999999999999999), }" + b" " * 14)
    assert lying != whole != huge
    for data in (whole[:-1], whole[:40], lying, huge, whole.replace(b"'descr'", b"'desk' ")):
        path.write_bytes(data)
        with pytest.raises(TableError, match=r"^x.npy is damaged"):
            read_features(path, 3)
    for data in (b"", b"a,b\n1,2\n", pickle.dumps(Bomb())):
        path.write_bytes(data)
        with pytest.raises(TableError, match=r"^x.npy is no NumPy file"):
            read_features(path, 3)
    np.savez(tmp_path / "x.npz", NUMBERS)
    with pytest.raises(TableError, match=r"^x.npz is no NumPy file \(.npy\); write it with numpy.save"):
        read_features(tmp_path / "x.npz", 3)
    with pytest.raises(TableError, match=r"'.*nowhere.npy' cannot be read"):
        read_features(tmp_path / "nowhere.npy", 3)
    with pytest.raises(TableError, match="is damaged"):
        read_features(tmp_path, 3)


def test_a_model_wants_what_it_learned_from(path):
    with pytest.raises(TableError, match=r"learned from a NumPy file .* the parameter features"):
        with_features(FRAME, None, known=["n", FEATURES])
    with pytest.raises(TableError, match="learned from no file of features; leave the parameter features out"):
        with_features(FRAME, path, known=["n"])
    assert with_features(FRAME, path, known=["n", FEATURES]).width == 2
    assert with_features(FRAME, None, known=["n"]) is FRAME
    with pytest.raises(TableError, match=r"has a column '\(features\)' already; rename it"):
        with_features(pl.DataFrame({FEATURES: [1, 2, 3]}), path)
