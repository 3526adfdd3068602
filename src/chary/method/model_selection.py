"""Cross-validation with partly labelled rows: folds and scores that judge labelled rows only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import indexable

from chary._sklearn import safe_indexing
from chary.method.estimators import rows_of
from chary.method.labels import encode


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
    LabeledScorer : For any other way of splitting.
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
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None, unlabeled: Any = -1
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


class LabeledScorer:
    """A scorer that leaves unlabelled rows out, for any other way of splitting.

    ``cross_val_score(model, X, y, scoring=LabeledScorer("accuracy"))``

    Parameters
    ----------
    scoring : str or callable, default="accuracy"
        As in scikit-learn: the name of a scorer, or ``(estimator, X, y) -> float``.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do.

    See Also
    --------
    LabeledStratifiedKFold : Folds of which every test part is labelled.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((6, 1)), np.array([0, 1, 1, 1, -1, -1])
    >>> model = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> LabeledScorer()(model, X, y)  # three of the four labelled rows
    0.75
    """

    def __init__(self, scoring: str | Callable[..., float] = "accuracy", *, unlabeled: Any = -1) -> None:
        self.scoring = scoring
        self.unlabeled = unlabeled

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, **params: Any) -> float:
        labels = encode(y, unlabeled=self.unlabeled, one_class=True)
        (X,) = indexable(X)
        rows = np.flatnonzero(labels.labeled)
        params = {name: rows_of(value, rows, len(labels.codes)) for name, value in params.items()}
        return get_scorer(self.scoring)(
            estimator, safe_indexing(X, rows), labels.classes[labels.codes[rows]], **params
        )
