"""Cross-validation beside unlabelled rows: labelled rows judged by models that have not seen their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from chary._sklearn import safe_indexing
from chary.method.confidence import Floats, max_probability
from chary.method.estimators import fit_partly, last_step, predicted_labels, probabilities
from chary.method.labels import Labels, encode

RowNumbers = NDArray[np.intp]

_N_FOLDS = 5


class HeldOut(NamedTuple):
    """Labelled rows judged by models that had not seen their labels."""

    prediction: NDArray[Any]  # (k,)
    correct: NDArray[np.bool_]  # (k,)
    confidence: Floats  # (k,)
    probability: Floats  # (k,) the highest class probability
    given: NDArray[Any] = np.zeros(0)  # (k,) the labels that were hidden
    own: Floats = np.zeros(0)  # (k,) the probability of the label that was given
    rows: RowNumbers = np.zeros(0, dtype=np.intp)  # (k,) which rows they are

    @property
    def balanced(self) -> float | None:
        """The share of right rows of a class, on average over the classes; None where no row was judged."""
        if not len(self.given):
            return None
        _, codes = np.unique(self.given, return_inverse=True)
        return float(np.mean(np.bincount(codes, self.correct) / np.bincount(codes)))

    def part(self, rows: RowNumbers) -> HeldOut:
        """Some of these rows, or all in another order."""
        parts: list[Any] = [value[rows] if len(value) else value for value in self]
        return HeldOut(*parts)


def held_out(
    estimator: Any,
    X: Any,
    y: ArrayLike | Labels,
    random_state: Any = None,
    *,
    keep: list[Any] | None = None,
) -> HeldOut:
    """Cross-validate a classifier on the labelled rows; the unlabelled ones stay in training.

    Rows of a class with a single label are never judged: without them the class would be unknown.
    Under selection bias the outcome is optimistic, because all judged rows come from where the
    labels are. Each model is appended to ``keep``, if there is such a list, with the rows that it
    judged.
    """
    labels = encode_for(estimator, y)
    rng = np.random.default_rng(random_state)
    given = np.flatnonzero(labels.labeled)
    counts = np.bincount(labels.codes[given])
    judged = given[counts[labels.codes[given]] >= 2]
    n_folds = int(min(_N_FOLDS, counts[counts >= 2].min(initial=_N_FOLDS)))
    if len(judged) < 2 or n_folds < 2:
        return HeldOut(labels.classes[:0], np.zeros(0, dtype=bool), np.zeros(0), np.zeros(0))
    folds = stratified_folds(labels.codes[judged], rng, n_folds)
    return hold_out_folds(estimator, X, labels, [judged[fold] for fold in folds], keep=keep)


def hold_out_folds(
    estimator: Any,
    X: Any,
    y: ArrayLike | Labels,
    folds: Iterable[RowNumbers],
    *,
    transductive: bool = True,
    initial: Sequence[Any] | None = None,
    keep: list[Any] | None = None,
) -> HeldOut:
    """Predict the rows of each fold by a model that has every label but theirs.

    Parameters
    ----------
    estimator : classifier
        Any; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows, and
        those of the fold among them, too.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,), or Labels
        Missing (or the classifier's marker) where there is no label.
    folds : iterable of arrays of row numbers
        Labelled rows; those of no fold stay in training throughout.
    transductive : bool, default=True
        Whether the rows of a fold stay in training, too, without their labels.
    initial : sequence of fitted classifiers, default=None
        For each fold what a self-training classifier takes in place of its first fit.
    keep : list, default=None
        Each model is appended to it, with the rows of its fold.

    Returns
    -------
    HeldOut
        The rows of one fold after those of another, as ``np.concatenate(folds)``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = np.array([[1.0], [2.0], [7.0], [8.0], [9.0]]), np.array(["low", "low", "high", "high", None])
    >>> hold_out_folds(LogisticRegression(), X, y, [np.array([0, 3]), np.array([2])]).prediction
    array(['low', 'high', 'high'], dtype='<U4')
    """
    labels = encode_for(estimator, y)
    parts = []
    for k, rows in enumerate(folds):
        if initial is not None:
            model = clone(estimator).fit(X, labels.without(rows), initial=initial[k])
        elif transductive:
            model = fit_without(estimator, X, labels, rows)
        else:
            others = np.setdiff1d(np.arange(len(labels.codes)), rows)
            model = fit_partly(clone(estimator), safe_indexing(X, others), labels.subset(others))
        parts.append(predict_held_out(model, X, labels, rows))
        if keep is not None:
            keep.append((model, rows))
    return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def encode_for(estimator: Any, y: ArrayLike | Labels) -> Labels:
    """A target with the marker of unlabelled rows that the classifier has; -1 where it knows of none."""
    return encode(y, unlabeled=last_step(estimator).get_params(deep=False).get("unlabeled", -1))


def fit_without(estimator: Any, X: Any, labels: Labels, rows: RowNumbers) -> Any:
    """A clone fitted on all labels but those of some rows."""
    return fit_partly(clone(estimator), X, labels.without(rows))


def predict_held_out(model: Any, X: Any, labels: Labels, rows: RowNumbers) -> HeldOut:
    """Predict some labelled rows by a model that was fitted without their labels."""
    X_rows = safe_indexing(X, rows)
    given = labels.classes[labels.codes[rows]]
    if hasattr(model, "predict_scores"):  # in one pass
        probs, confidence = model.predict_scores(X_rows)
        prediction = model.classes_[probs.argmax(axis=1)]
    else:
        prediction = predicted_labels(model, X_rows)
        probs = probabilities(model, X_rows)
        confidence = confidence_of(model, X_rows)
    known = {name: place for place, name in enumerate(np.asarray(model.classes_).tolist())}
    places = np.array(
        [known.get(name, -1) for name in given.tolist()]
    )  # -1: a class that the model lacks
    own = np.where(places >= 0, probs[np.arange(len(rows)), places], 0.0)
    return HeldOut(
        prediction, prediction == given, confidence, max_probability(probs), given, own, rows
    )


def confidence_of(model: Any, X: Any) -> Floats:
    """The model's own confidence in its predictions, or their probability where it has none."""
    if hasattr(model, "predict_confidence"):
        return model.predict_confidence(X)
    return max_probability(probabilities(model, X))


def stratified_folds(
    groups: NDArray[Any], rng: np.random.Generator, n_folds: int = _N_FOLDS
) -> list[RowNumbers]:
    """Numbers of the rows judged in each fold, every group dealt out evenly."""
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    return [test for _, test in splitter.split(np.zeros(len(groups)), groups)]


class LabeledStratifiedKFold(StratifiedKFold):
    """Stratified folds of the labelled rows; every training fold also holds all unlabelled rows.

    Use it as ``cv`` in ``GridSearchCV`` and ``cross_val_score``: no unlabelled row is ever scored.

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
    sklearn.model_selection.StratifiedKFold : Takes unlabelled rows for a class.

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
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Row numbers of the training and test part of each fold; ``groups`` is not used."""
        codes = encode(y, unlabeled=self.unlabeled).codes
        labeled, unlabeled = np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0)
        for train, test in super().split(labeled, codes[labeled]):
            yield np.sort(np.concatenate([labeled[train], unlabeled])), labeled[test]
