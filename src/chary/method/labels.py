"""A partly labelled target, encoded: the one place that knows what unlabelled means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, column_or_1d

# What NumPy makes of a missing value or of -1 when it meets text: np.array(["cat", -1]) holds "-1".
_SUSPECT_TEXTS = ("", "-1", "nan")


class Labels(NamedTuple):
    """A target, encoded."""

    classes: NDArray[Any]  # (C,) the labels that occur, sorted
    codes: NDArray[np.intp]  # (n,) index into classes; -1 where unlabelled
    labeled: NDArray[np.bool_]  # (n,) True where a label was given

    @property
    def rest(self) -> NDArray[np.intp]:
        """Row numbers of the unlabelled rows; of all rows where each has a label."""
        rows = np.flatnonzero(~self.labeled)
        return rows if len(rows) else np.arange(len(self.codes))

    def part(self, rows: NDArray[Any]) -> Labels:
        """The labels of some rows, given by number or mask."""
        return Labels(self.classes, self.codes[rows], self.labeled[rows])

    def without(self, rows: NDArray[Any]) -> Labels:
        """The same labels, but none for these rows, given by number or mask."""
        codes, labeled = self.codes.copy(), self.labeled.copy()
        codes[rows], labeled[rows] = -1, False
        return Labels(self.classes, codes, labeled)


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: None, NaN, NaT, ``pandas.NA``.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), "", 0)]
    [True, True, True, False, False]
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    differs = value != value
    return np.ndim(differs) == 0 and bool(differs)  # an array is a value, whatever it holds


def encode(y: Labels | ArrayLike, *, unlabeled: Any = -1) -> Labels:
    """Encode a partially labelled target.

    Missing values (see ``is_missing``) are always unlabelled, and so is the marker.

    Parameters
    ----------
    y : array-like of shape (n,), or Labels
        Integers, whole floats, booleans or text, in a list, a NumPy array, or a pandas or polars
        column (categorical and nullable ones too). ``Labels`` are passed on, less the classes that
        no row has: every classifier of chary takes them in place of y, so that a column is encoded
        once.
    unlabeled : label or None, default=-1
        The value that marks an unlabelled row. None: missing values only, so that -1 can be a
        class.

    Returns
    -------
    Labels
        ``classes`` (sorted), ``codes`` (-1 where unlabelled) and the mask ``labeled``.

    Examples
    --------
    >>> encode(["spam", None, "ham", "spam"]).codes
    array([ 1, -1,  0,  1])
    >>> encode([-1, 1, float("nan")], unlabeled=None).classes
    array([-1,  1])
    """
    if y is None:
        raise ValueError("A classifier requires y to be passed, but the target y is None.")
    if np.ndim(unlabeled) != 0:
        raise ValueError(f"unlabeled must be one label or None, got {unlabeled!r}.")
    if is_missing(unlabeled):
        unlabeled = None
    labels = with_rows(y) if isinstance(y, Labels) else _encoded(y, unlabeled)
    if len(labels.classes) < 2:
        _refuse_too_few(labels.classes, unlabeled)
    return labels


def decode(codes: NDArray[np.intp], classes: NDArray[Any], *, unlabeled: Any = -1) -> NDArray[Any]:
    """Labels for codes; a negative code becomes the marker (None where there is no marker).

    The result keeps the type of the classes unless the marker does not fit in it.

    >>> decode(np.array([1, -1]), np.array(["ham", "spam"]))
    array(['spam', -1], dtype=object)
    """
    labels = classes[codes]
    missing = codes < 0
    if not missing.any():
        return labels
    number_kinds = "iuf"
    if not (
        classes.dtype.kind in number_kinds and np.asarray(unlabeled).dtype.kind in number_kinds
    ):
        labels = labels.astype(object)
    elif np.result_type(classes, np.asarray(unlabeled)) != classes.dtype:
        labels = labels.astype(np.result_type(classes, np.asarray(unlabeled)))
    labels[missing] = unlabeled
    return labels


def with_rows(labels: Labels) -> Labels:
    """Labels without the classes that no row has."""
    there = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes)) > 0
    if there.all():
        return labels
    renumbered = np.append(np.cumsum(there) - 1, -1)  # the last: that of the code -1
    return Labels(labels.classes[there], renumbered[labels.codes], labels.labeled)


def _encoded(y: ArrayLike, unlabeled: Any) -> Labels:
    values, labeled = _split_missing(y)
    if unlabeled is not None:
        given = ~_equals(values, unlabeled)
        labeled[labeled] = given
        values = values[given]
    values = _natural(values)
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
        if (fractions := values != np.floor(values)).any():
            raise ValueError(
                f"Unknown label type: continuous. y holds fractions such as {values[fractions][0]:g}, so it is "
                "a regression target; class labels must be whole numbers, text or booleans."
            )
    elif values.dtype.kind == "U" and unlabeled is not None:
        for text in _SUSPECT_TEXTS:
            if text != unlabeled and np.any(values == text):
                raise ValueError(
                    f"y holds the text {text!r}, which may or may not mean unlabelled; "
                    f"pass unlabeled={text!r} if it does, or unlabeled=None if it is a class."
                )
    classes, class_of_value = np.unique(values, return_inverse=True)
    codes = np.full(labeled.shape, -1, dtype=np.intp)
    codes[labeled] = class_of_value
    return Labels(classes, codes, labeled)


def _split_missing(y: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The values that are there and the mask of where they are."""
    # A column of pandas or polars keeps its integers whole; NumPy alone would turn ["a", nan] into
    # text.
    is_column = (hasattr(y, "isna") or hasattr(y, "is_null")) and getattr(y, "ndim", 1) == 1
    if is_column or isinstance(y, (list, tuple)):
        y = np.fromiter(y, dtype=object, count=len(y))
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        there = ~np.isnan(y)
    elif y.dtype.kind == "O":
        there = ~np.frompyfunc(is_missing, 1, 1)(y).astype(bool)
    else:
        there = np.ones(y.shape, dtype=bool)
    return y[there], there


def _equals(values: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    if values.dtype.kind != "O" and (values.dtype.kind == "U") != isinstance(marker, str):
        return np.zeros(values.shape, dtype=bool)  # text never equals a number
    return np.asarray(values == marker, dtype=bool)


def _natural(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as the integers, floats, booleans or text that they are."""
    if values.dtype.kind in "iufbU" or not values.size:
        return values
    natural = np.array(values.tolist())
    is_text = np.frompyfunc(lambda value: isinstance(value, str), 1, 1)(values).astype(bool)
    if is_text.any() and not is_text.all():
        raise ValueError(
            f"y mixes text and numbers ({values[is_text][0]!r} and {values[~is_text][0]!r}); "
            "give all labels one type, for example with y.astype(str)."
        )
    if natural.dtype.kind not in "iufbU" or natural.ndim != 1:
        raise ValueError(
            f"Unknown label type: y holds {type(values[0]).__name__} values such as {values[0]!r}; "
            "class labels must be whole numbers, text or booleans."
        )
    return natural


def _refuse_too_few(classes: NDArray[Any], unlabeled: Any) -> None:
    known = (
        f"hold one class only ({classes.tolist()[0]!r})"
        if len(classes)
        else "are none: y has no labelled row"
    )
    remedy = "" if unlabeled is None else f" If {unlabeled!r} is a class here, pass unlabeled=None."
    raise ValueError(
        f"The labelled rows of y {known}; label some rows of at least two classes.{remedy}"
    )
