"""What counts as unlabelled, and what the errors say."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.method.labels import decode, encode, is_missing

NAN = float("nan")


def test_every_container_means_the_same():
    for y, classes in [
        (np.array([0, 2, -1, 0]), [0, 2]),
        (np.array([0.0, 2.0, NAN, 0.0]), [0.0, 2.0]),
        (np.array([0.0, 2.0, -1.0, 0.0]), [0.0, 2.0]),
        (["a", "b", None, "a"], ["a", "b"]),
        (["a", "b", NAN, "a"], ["a", "b"]),
        (["a", "b", pd.NA, "a"], ["a", "b"]),
        (["a", "b", -1, "a"], ["a", "b"]),
        (np.array(["a", "b", None, "a"], dtype=object), ["a", "b"]),
        ([False, True, None, False], [False, True]),
        ([7, 8, None, 7], [7, 8]),
        (pd.Series(["a", "b", None, "a"]), ["a", "b"]),
        (pd.Series(["a", "b", None, "a"], dtype="category"), ["a", "b"]),
        (pd.Series(["a", "b", None, "a"], dtype="string"), ["a", "b"]),
        (pd.Series([7, 8, None, 7], dtype="Int64"), [7, 8]),
        (pd.Series([7, 8, None, 7], dtype="category"), [7, 8]),
        (pd.Series([False, True, None, False], dtype="boolean"), [False, True]),
        (pd.Categorical(["a", "b", None, "a"], categories=["z", "b", "a"]), ["a", "b"]),
        (pl.Series(["a", "b", None, "a"]), ["a", "b"]),
        (pl.Series([7, 8, None, 7]), [7, 8]),
        (pl.Series([7, 8, -1, 7]), [7, 8]),
        (pl.Series(["a", "b", None, "a"], dtype=pl.Categorical), ["a", "b"]),
        (pl.Series([False, True, None, False]), [False, True]),
    ]:
        labels = encode(y)
        assert labels.classes.tolist() == classes
        assert labels.classes.dtype == np.asarray(classes).dtype
        assert labels.codes.tolist() == [0, 1, -1, 0]
        assert labels.labeled.tolist() == [True, True, False, True]


def test_marker_can_be_any_label():
    assert encode(["a", "?", "b"], unlabeled="?").codes.tolist() == [0, -1, 1]
    assert encode([0, 1, 2], unlabeled=0).codes.tolist() == [-1, 0, 1]


def test_missing_stays_unlabelled_beside_another_marker():
    assert encode(["a", "?", "b", None], unlabeled="?").codes.tolist() == [0, -1, 1, -1]


def test_without_a_marker_minus_one_is_a_class():
    labels = encode([-1, 1, NAN, -1], unlabeled=None)
    assert labels.classes.tolist() == [-1, 1]
    assert labels.codes.tolist() == [0, 1, -1, 0]


def test_a_missing_marker_means_missing_values_only():
    for missing in [None, NAN, pd.NA]:
        assert encode([-1, 1, None], unlabeled=missing).codes.tolist() == [0, 1, -1]


def test_the_input_is_not_changed():
    y = np.array([0, 1, -1])
    encode(y)
    assert y.tolist() == [0, 1, -1]


def test_errors_say_what_was_given_and_what_to_do():
    for y, unlabeled, message in [
        ([-1, -1], -1, r"no labelled row; .* If -1 is a class here, pass unlabeled=None"),
        ([NAN, None], None, r"no labelled row;.*classes\.$"),
        (["a", "a", None], -1, r"hold one class only \('a'\)"),
        ([-1, 1, 1], -1, "If -1 is a class here, pass unlabeled=None"),
        ([0.0, 1.0, np.inf], -1, "Input y contains infinity"),
        ([0.5, 1.0, 2.0], -1, "Unknown label type: continuous. y holds fractions such as 0.5"),
        (["a", 3, "b"], -1, r"mixes text and numbers \('a' and 3\)"),
        ([(1, 2), (3, 4)], -1, r"y holds tuple values such as \(1, 2\)"),
        ([{1}, {2}], -1, r"Unknown label type: y holds set values such as \{1\}"),
        (np.array(["a", "b", -1]), -1, "pass unlabeled='-1' if it does"),
        (np.array(["a", "b", NAN]), -1, "pass unlabeled='nan' if it does"),
        (["a", "b", ""], -1, "pass unlabeled='' if it does"),
    ]:
        with pytest.raises(ValueError, match=message):
            encode(y, unlabeled=unlabeled)


@given(st.lists(st.integers(-1, 5), min_size=2).filter(lambda y: len({*y} - {-1}) >= 2))
def test_decode_inverts_encode(y):
    labels = encode(y)
    assert decode(labels.codes, labels.classes).tolist() == y


def test_decode_marks_unlabelled_rows_in_the_classes_own_type_where_it_fits():
    codes = np.array([0, -1])
    assert decode(codes, np.array([1, 2])).dtype.kind == "i"
    assert decode(codes, np.array([1, 2], dtype=np.uint8)).tolist() == [1, -1]
    assert decode(codes, np.array(["a", "b"]), unlabeled=None).tolist() == ["a", None]
    assert decode(codes, np.array(["a", "b"]), unlabeled="unknown").tolist() == ["a", "unknown"]
    assert decode(np.array([1, 0]), np.array(["a", "b"])).dtype.kind == "U"


def test_what_is_missing():
    for value in [None, NAN, np.float32("nan"), np.datetime64("NaT"), pd.NaT, pd.NA]:
        assert is_missing(value)


def test_what_is_not_missing():
    for value in [
        "",
        "nan",
        "NA",
        "None",
        0,
        -1,
        False,
        np.inf,
        np.datetime64("2020-01-01"),
        np.array([np.nan]),
        [float("nan")],
    ]:
        assert not is_missing(value)


def test_labels_are_passed_on_whatever_the_marker():
    labels = encode(["b", None, "a", "b"])
    assert encode(labels) is labels
    assert encode(labels, unlabeled="a") is labels


@given(st.lists(st.integers(-1, 5), min_size=2).filter(lambda y: len({*y} - {-1}) >= 2), st.data())
def test_labels_of_some_rows_are_those_of_the_rows_encoded(y, data):
    """Classes that no row is left of are dropped, as they are when the rows are encoded anew."""
    y, labels = np.array(y), encode(y)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y))))
    for subset, rows in (
        (labels.subset(kept), y[kept]),
        (labels.without(~kept), np.where(kept, y, -1)),
    ):
        if len({*rows.tolist()} - {-1}) < 2:
            with pytest.raises(ValueError, match=r"no labelled row|hold one class only"):
                encode(subset)
        else:
            for found, expected in zip(encode(subset), encode(rows), strict=True):
                np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(labels.codes, encode(y).codes)  # nothing was written into


def test_rows_to_predict_are_those_without_a_label_or_all():
    labels = encode([0, 1, -1, 1, -1])
    assert labels.rows_to_predict.tolist() == [2, 4]
    assert labels.subset(labels.labeled).rows_to_predict.tolist() == [0, 1, 2]
