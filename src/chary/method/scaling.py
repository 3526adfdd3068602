"""Numeric columns in; those that are more than a mark of yes and no brought to one scale out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from chary.method.network import Floats


class ColumnScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Standardises every column, and leaves those that hold nothing but 0 and 1 as they are.

    A rare category is a column of few ones: divided by its standard deviation, one of them would weigh more than
    any number of the table can, and categories are what shifts from one group of rows to another.

    Attributes
    ----------
    mean_ : array of shape (d,)
        0 for a column of zeros and ones.
    scale_ : array of shape (d,)
        1 for such a column, and for a constant one.

    Examples
    --------
    >>> ColumnScaler().fit_transform(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])).round(2)
    array([[-1.22,  0.  ],
           [ 0.  ,  0.  ],
           [ 1.22,  1.  ]])
    """

    def fit(self, X: Any, y: Any = None) -> ColumnScaler:
        """Learn mean and standard deviation of the columns (n, d)."""
        X = validate_data(self, X, dtype=np.float64)
        is_mark = ((X == 0) | (X == 1)).all(axis=0)
        spread = X.std(axis=0)
        # Rounding leaves a constant column a spread of its own size times 1e-16.
        flat = spread <= 1e-13 * np.abs(X).max(axis=0, initial=0)
        self.mean_ = np.where(is_mark, 0.0, X.mean(axis=0))
        self.scale_ = np.where(is_mark | flat, 1.0, spread)
        return self

    def transform(self, X: Any) -> Floats:
        """The columns on one scale (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return (X - self.mean_) / self.scale_
