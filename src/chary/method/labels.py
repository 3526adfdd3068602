"""Encode a partly labelled target: the one place that knows what unlabelled means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, column_or_1d

from chary._arrays import Array, Ints, Mask

# What NumPy makes of a missing value or of -1 when it meets text: np.array(["cat", -1]) holds "-1".
_SUSPECT_TEXTS = ("", "-1", "nan")
# NumPy's kinds of dtype for numbers: signed integers, unsigned integers, floats.
_NUMBER_KINDS = "iuf"
# Kinds that class labels can have: numbers, booleans and text.
_LABEL_KINDS = "iufbU"


class Labels(NamedTuple):
    """An encoded target."""

    classes: Array  # (C,) the labels that occur, sorted
    codes: Ints  # (n,) index into classes; -1 where unlabelled
    labeled: Mask  # (n,) True where a label was given

    @property
    def rows_to_predict(self) -> Ints:
        """Numbers of the unlabelled rows, or of all if each has a label."""
        unlabeled_rows = np.flatnonzero(~self.labeled)
        if len(unlabeled_rows) == 0:
            return np.arange(len(self.codes))
        return unlabeled_rows

    @property
    def class_counts(self) -> Ints:
        """Number of labels of each class, (C,)."""
        return np.bincount(self.codes[self.labeled], minlength=len(self.classes))

    def subset(self, rows: Array) -> Labels:
        """Select rows by number or mask."""
        return Labels(self.classes, self.codes[rows], self.labeled[rows])

    def without(self, rows: Array) -> Labels:
        """Return a copy without the labels of rows, given by number or mask."""
        codes = self.codes.copy()
        codes[rows] = -1
        return Labels(self.classes, codes, codes >= 0)


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN, NaT or ``pandas.NA``.

    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), "", 0)]
    [True, True, True, False, False]
    """
    if value is None or type(value).__name__ == "NAType":
        return True
    differs_from_itself = value != value
    # An array is a value, whatever it holds.
    return np.ndim(differs_from_itself) == 0 and bool(differs_from_itself)


def encode(y: Labels | ArrayLike, *, unlabeled: Any = -1) -> Labels:
    """Encode a partly labelled target.

    Missing values (see ``is_missing``) are always unlabelled, and so is the marker.

    Parameters
    ----------
    y : array-like of shape (n,), or Labels
        Integers, whole floats, booleans or text, in a list, a NumPy array, or a pandas or polars
        column (categorical and nullable ones too). ``Labels`` are returned without the classes that
        no row has: every classifier of chary takes ``Labels`` as y, so that a column is encoded
        only once.
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

    labels = drop_empty_classes(y) if isinstance(y, Labels) else _encode_values(y, unlabeled)
    if len(labels.classes) < 2:
        raise _too_few_classes(labels.classes, unlabeled)
    return labels


def decode(codes: Ints, classes: Array, *, unlabeled: Any = -1) -> Array:
    """Turn codes into labels, and negative codes into the marker.

    A marker of None becomes None. The result keeps the type of the classes unless the marker does
    not fit in it.

    >>> decode(np.array([1, -1]), np.array(["ham", "spam"]))
    array(['spam', -1], dtype=object)
    """
    labels = classes[codes]
    without_label = codes < 0
    if not without_label.any():
        return labels

    marker = np.asarray(unlabeled)
    if classes.dtype.kind in _NUMBER_KINDS and marker.dtype.kind in _NUMBER_KINDS:
        labels = labels.astype(np.result_type(classes, marker))
    else:
        labels = labels.astype(object)
    labels[without_label] = unlabeled
    return labels


def drop_empty_classes(labels: Labels) -> Labels:
    """Drop the classes that no row has."""
    has_rows = labels.class_counts > 0
    if has_rows.all():
        return labels
    # The code -1 of unlabelled rows picks the last entry, so it stays -1.
    new_codes = np.append(np.cumsum(has_rows) - 1, -1)
    return Labels(labels.classes[has_rows], new_codes[labels.codes], labels.labeled)


def _encode_values(y: ArrayLike, unlabeled: Any) -> Labels:
    """Encode a target that is not encoded yet."""
    values, labeled = _split_missing(y)
    if unlabeled is not None:
        is_label = ~_equals(values, unlabeled)
        labeled[labeled] = is_label
        values = values[is_label]
    values = _natural_type(values)

    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
        fractions = values[values != np.floor(values)]
        if len(fractions):
            raise ValueError(
                f"Unknown label type: continuous. y holds fractions such as {fractions[0]:g}, so "
                "it is a regression target; class labels must be whole numbers, text or booleans."
            )
    elif values.dtype.kind == "U" and unlabeled is not None:
        for text in _SUSPECT_TEXTS:
            if text != unlabeled and np.any(values == text):
                raise ValueError(
                    f"y holds the text {text!r}, which may or may not mean unlabelled; "
                    f"pass unlabeled={text!r} if it does, or unlabeled=None if it is a class."
                )

    classes, codes_of_values = np.unique(values, return_inverse=True)
    codes = np.full(labeled.shape, -1, dtype=np.intp)
    codes[labeled] = codes_of_values
    return Labels(classes, codes, labeled)


def _split_missing(y: Any) -> tuple[Array, Mask]:
    """Return the values that are not missing, and the mask of their rows."""
    # A column of pandas or polars keeps its integers whole; NumPy alone would turn ["a", nan] into
    # text.
    is_column = (hasattr(y, "isna") or hasattr(y, "is_null")) and getattr(y, "ndim", 1) == 1
    if is_column or isinstance(y, (list, tuple)):
        y = np.fromiter(y, dtype=object, count=len(y))
    y = column_or_1d(y, warn=True)

    if y.dtype.kind == "f":
        present = ~np.isnan(y)
    elif y.dtype.kind == "O":
        present = ~np.frompyfunc(is_missing, 1, 1)(y).astype(bool)
    else:
        present = np.ones(y.shape, dtype=bool)
    return y[present], present


def _equals(values: Array, marker: Any) -> Mask:
    """Compare values with the marker; text never equals a number."""
    if values.dtype.kind != "O" and (values.dtype.kind == "U") != isinstance(marker, str):
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values == marker, dtype=bool)


def _natural_type(values: Array) -> Array:
    """Convert Python objects to integers, floats, booleans or text."""
    if values.dtype.kind in _LABEL_KINDS or not values.size:
        return values

    natural = np.array(values.tolist())
    is_text = np.array([isinstance(value, str) for value in values])
    if is_text.any() and not is_text.all():
        raise ValueError(
            f"y mixes text and numbers ({values[is_text][0]!r} and {values[~is_text][0]!r}); "
            "give all labels one type, for example with y.astype(str)."
        )
    if natural.dtype.kind not in _LABEL_KINDS or natural.ndim != 1:
        raise ValueError(
            f"Unknown label type: y holds {type(values[0]).__name__} values such as {values[0]!r}; "
            "class labels must be whole numbers, text or booleans."
        )
    return natural


def _too_few_classes(classes: Array, unlabeled: Any) -> ValueError:
    """Return the error of a target with fewer than two classes."""
    problem = "are none: y has no labelled row"
    if len(classes):
        problem = f"hold one class only ({classes.tolist()[0]!r})"
    message = f"The labelled rows of y {problem}; label some rows of at least two classes."
    if unlabeled is not None:
        message += f" If {unlabeled!r} is a class here, pass unlabeled=None."
    return ValueError(message)
