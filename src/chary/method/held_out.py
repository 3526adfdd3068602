"""Cross-validation beside unlabelled rows: models predict labels that they have not seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from chary._arrays import Array, Floats, Ints, Mask
from chary._sklearn import safe_indexing
from chary.method.confidence import max_probability
from chary.method.estimators import fit_partly, last_step, predicted_labels, probabilities
from chary.method.labels import Labels, encode

RowNumbers = Ints

# Cross-validation splits the rows into this many folds, unless it is told otherwise.
_N_FOLDS = 5


class HeldOut(NamedTuple):
    """Held-out labels, and the predictions of models that have not seen them."""

    prediction: Array  # (k,)
    correct: Mask  # (k,)
    confidence: Floats  # (k,)
    probability: Floats  # (k,) the highest class probability
    given: Array = np.zeros(0)  # (k,) the labels that were held out
    given_probability: Floats = np.zeros(0)  # (k,) the probability of the held-out label
    rows: RowNumbers = np.zeros(0, dtype=np.intp)  # (k,) their row numbers

    @classmethod
    def of_folds(cls, folds: Iterable[HeldOut]) -> HeldOut:
        """Put the rows of folds one after another."""
        parts_of_fields = zip(*folds, strict=True)  # for each field, its values in every fold
        fields: list[Any] = [np.concatenate(parts) for parts in parts_of_fields]
        return cls(*fields)

    @property
    def balanced(self) -> float | None:
        """Balanced accuracy: share of right rows, averaged over classes; None without rows."""
        if not len(self.given):
            return None
        _, codes = np.unique(self.given, return_inverse=True)  # the class of each row
        n_right = np.bincount(codes, self.correct)  # (C,)
        n_rows = np.bincount(codes)  # (C,)
        return float(np.mean(n_right / n_rows))

    def subset(self, places: RowNumbers) -> HeldOut:
        """Select rows by their places, in this order."""
        fields: list[Any] = []
        for values in self:
            # A field that was left at its default is empty, and stays so.
            is_filled = len(values) > 0
            fields.append(values[places] if is_filled else values)
        return HeldOut(*fields)


def hold_out(
    estimator: Any,
    X: Any,
    y: ArrayLike | Labels,
    random_state: Any = None,
    *,
    keep: list[Any] | None = None,
) -> HeldOut:
    """Cross-validate a classifier on the labelled rows.

    The labelled rows are split into folds. The label of each row is predicted by a model that was
    fitted with the labels of the other folds, and with all unlabelled rows if it can use them.
    Rows of a class with a single label are never held out: without them the class would be unknown.
    Under selection bias the outcome is optimistic, because labels are held out only where there
    are labels. If ``keep`` is a list, the model and the rows of each fold are appended to it.
    """
    labels = encode_for(estimator, y)
    folds = labelled_folds(labels, random_state)
    if not folds:
        return HeldOut(
            prediction=labels.classes[:0],
            correct=np.zeros(0, dtype=bool),
            confidence=np.zeros(0),
            probability=np.zeros(0),
        )
    return hold_out_folds(estimator, X, labels, folds, keep=keep)


def labelled_folds(labels: Labels, random_state: Any = None) -> list[RowNumbers]:
    """Split the labelled rows into folds; leave out rows of a class with a single label."""
    rng = np.random.default_rng(random_state)
    counts = labels.class_counts  # (C,)
    labelled_rows = np.flatnonzero(labels.labeled)
    n_labels_of_class = counts[labels.codes[labelled_rows]]  # of the class of each labelled row
    rows = labelled_rows[n_labels_of_class >= 2]
    if len(rows) == 0:
        return []
    # No more folds than the smallest class has labels, so that each fold can have one of them.
    n_folds = min(_N_FOLDS, counts[counts >= 2].min())
    return [rows[places] for places in stratified_folds(labels.codes[rows], rng, n_folds)]


def hold_out_folds(
    estimator: Any,
    X: Any,
    y: ArrayLike | Labels,
    folds: Iterable[RowNumbers],
    *,
    initial: Sequence[Any] | None = None,
    keep: list[Any] | None = None,
) -> HeldOut:
    """Predict the rows of each fold by a model that has not seen their labels.

    For each fold a model is fitted to all rows of X, as if the rows of the fold were unlabelled.
    So a classifier that learns from unlabelled rows learns from these, too, but not from their
    labels.

    Parameters
    ----------
    estimator : classifier
        Any classifier; it is cloned. If it has a parameter ``unlabeled``, it is given all rows, and
        the rows of the fold as unlabelled ones; otherwise it is given only rows with a label.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,), or Labels
        Missing (or the classifier's marker) if there is no label.
    folds : iterable of arrays of row numbers
        Labelled rows. Labelled rows in no fold keep their labels in every training.
    initial : sequence of fitted classifiers, default=None
        For each fold, the model that replaces the first fit of a self-training classifier.
    keep : list, default=None
        Each model is appended to it, with the rows of its fold.

    Returns
    -------
    HeldOut
        The rows of the first fold, then those of the second, and so on: the order of
        ``np.concatenate(folds)``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.array([[1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> y = np.array(["low", "low", "high", "high", None])
    >>> hold_out_folds(LogisticRegression(), X, y, [np.array([0, 3]), np.array([2])]).prediction
    array(['low', 'high', 'high'], dtype='<U4')
    """
    labels = encode_for(estimator, y)
    predictions = []
    for k, rows in enumerate(folds):
        if initial is None:
            model = fit_without(estimator, X, labels, rows)
        else:
            model = clone(estimator).fit(X, labels.without(rows), initial=initial[k])
        predictions.append(predict_held_out(model, X, labels, rows))
        if keep is not None:
            keep.append((model, rows))
    return HeldOut.of_folds(predictions)


def encode_for(estimator: Any, y: ArrayLike | Labels) -> Labels:
    """Encode a target with the classifier's marker of unlabelled rows."""
    params = last_step(estimator).get_params(deep=False)
    return encode(y, unlabeled=params.get("unlabeled", -1))


def fit_without(estimator: Any, X: Any, labels: Labels, rows: RowNumbers) -> Any:
    """Fit a clone without the labels of the given rows."""
    return fit_partly(clone(estimator), X, labels.without(rows))


def predict_held_out(model: Any, X: Any, labels: Labels, rows: RowNumbers) -> HeldOut:
    """Predict labelled rows by a model that was fitted without their labels."""
    X_rows = safe_indexing(X, rows)
    if hasattr(model, "predict_scores"):  # all in one pass
        probs, confidence = model.predict_scores(X_rows)
        prediction = model.classes_[probs.argmax(axis=1)]
    else:
        prediction = predicted_labels(model, X_rows)
        probs = probabilities(model, X_rows)
        confidence = confidence_of(model, X_rows)

    given = labels.classes[labels.codes[rows]]  # (k,)
    # The probability of the given label is in the column of its class. A class that the model does
    # not know has no column, and the probability 0.
    is_given = given[:, None] == np.asarray(model.classes_)  # (k, number of classes)
    given_probability = np.where(is_given, probs, 0.0).sum(axis=1)  # (k,)
    return HeldOut(
        prediction=prediction,
        correct=prediction == given,
        confidence=confidence,
        probability=max_probability(probs),
        given=given,
        given_probability=given_probability,
        rows=rows,
    )


def confidence_of(model: Any, X: Any) -> Floats:
    """Compute the model's confidence, or the highest class probability if it has none."""
    if hasattr(model, "predict_confidence"):
        return model.predict_confidence(X)
    return max_probability(probabilities(model, X))


def stratified_folds(
    groups: Array, rng: np.random.Generator, n_folds: int = _N_FOLDS
) -> list[RowNumbers]:
    """Spread each group evenly over the folds; return the row numbers of each fold."""
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    return [test for _, test in splitter.split(groups, groups)]


class LabeledStratifiedKFold(StratifiedKFold):
    """Stratified folds of the labelled rows.

    Every training fold also holds all unlabelled rows. Use it as ``cv`` in ``GridSearchCV`` and
    ``cross_val_score``: no unlabelled row is ever scored.

    Parameters
    ----------
    n_splits : int, default=5
        Folds.
    shuffle : bool, default=False
        Whether labelled rows are shuffled before they are shared out.
    random_state : int, RandomState or None, default=None
        Seeds the shuffling.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do.

    See Also
    --------
    sklearn.model_selection.StratifiedKFold : Treats unlabelled rows as one more class.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([0, 1, 0, 1, -1, -1])
    >>> for train, test in LabeledStratifiedKFold(2).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 4 5] [2 3]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = -1,
    ) -> None:
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        self.unlabeled = unlabeled

    def split(
        self, X: Any, y: ArrayLike, groups: Any = None
    ) -> Iterator[tuple[RowNumbers, RowNumbers]]:
        """Yield the training and test rows of each fold; ``groups`` is not used."""
        labels = encode(y, unlabeled=self.unlabeled)
        all_rows = np.arange(len(labels.codes))
        labelled_rows = np.flatnonzero(labels.labeled)
        # ``super().split`` gives places among the labelled rows.
        for _, places in super().split(labelled_rows, labels.codes[labelled_rows]):
            test_rows = labelled_rows[places]
            training_rows = np.setdiff1d(all_rows, test_rows)
            yield training_rows, test_rows
