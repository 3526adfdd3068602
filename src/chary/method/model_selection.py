"""Cross-validation with partly labelled rows: folds that judge labelled rows only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedKFold

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
