"""Encode a partly labelled target: the one place that knows what unlabelled means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import assert_all_finite, column_or_1d

from chary._arrays import Array, Ints, Mask

# These texts may stand for a missing value or for -1, because NumPy turns both into text if they
# stand beside text: np.array(["cat", -1]) holds "cat" and "-1".
_SUSPECT_TEXTS = ("", "-1", "nan")
# NumPy has these kinds of dtype for numbers: signed integers, unsigned integers and floats.
_NUMBER_KINDS = "iuf"
# Class labels can have these kinds of dtype: numbers, booleans and text.
_LABEL_KINDS = "iufbU"


class Labels(NamedTuple):
    """An encoded target."""

    classes: Array  # (C,) the labels that occur, sorted
    codes: Ints  # (n,) index into classes; -1 where unlabelled
    labeled: Mask  # (n,) True where a label was given

    @property
    def rows_to_predict(self) -> Ints:
        """Numbers of the unlabelled rows, or of all rows if every row has a label."""
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
    # NaN and NaT are the only single values that differ from themselves.
    differs_from_itself = value != value
    is_array = np.ndim(differs_from_itself) > 0
    # An array is not missing, whatever it holds.
    return not is_array and bool(differs_from_itself)


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
    """Drop the classes that no row has, and count the codes of the others anew.

    Here no row is of class "b", so the code of "c" falls from 2 to 1:

    >>> codes = np.array([0, 2, -1])
    >>> drop_empty_classes(Labels(np.array(["a", "b", "c"]), codes, codes >= 0)).codes
    array([ 0,  1, -1])
    """
    has_rows = labels.class_counts > 0  # (C,)
    if has_rows.all():
        return labels
    # The new code of a class is the number of classes before it that have rows.
    new_code_of_class = np.cumsum(has_rows) - 1  # (C,)
    # An unlabelled row has the code -1, which picks the last entry: it must be -1, too.
    new_code_of_code = np.append(new_code_of_class, -1)  # (C + 1,)
    return Labels(labels.classes[has_rows], new_code_of_code[labels.codes], labels.labeled)


def _encode_values(y: ArrayLike, unlabeled: Any) -> Labels:
    """Encode a target that is not encoded yet.

    ``labeled`` has an entry for each of the n rows, and ``values`` one for each labelled row alone.
    """
    values, labeled = _split_missing(y)  # (number of rows that are not missing,) and (n,)
    if unlabeled is not None:
        is_marker = _equals(values, unlabeled)
        rows_of_values = np.flatnonzero(labeled)
        labeled[rows_of_values[is_marker]] = False
        values = values[~is_marker]
    values = _natural_type(values)

    # Labels must be classes: neither fractions nor texts that may stand for "unlabelled".
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
    """Return the values that are not missing, and the mask (n,) of the rows that have them."""
    # Lists, and columns of pandas (``isna``) and polars (``is_null``), are copied value by value.
    # NumPy's own conversion would turn the NaN of ["a", nan] into text, and integers beside missing
    # values into floats.
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
    """Compare each value with the marker; text never equals a number."""
    if values.dtype.kind != "O":
        is_text = values.dtype.kind == "U"
        if is_text != isinstance(marker, str):
            return np.zeros(values.shape, dtype=bool)
    return np.asarray(values == marker, dtype=bool)


def _natural_type(values: Array) -> Array:
    """Convert Python objects to integers, floats, booleans or text.

    >>> _natural_type(np.array([1, 2], dtype=object)).dtype.kind
    'i'
    """
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
