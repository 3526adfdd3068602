"""Draw which rows of a labelled table keep their label: at random, or with a simulated bias."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import svds
from scipy.special import log_softmax
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from chary._arrays import Array, Ints, Mask
from chary.method.priors import whole_counts


def iid(y: ArrayLike, n_labeled: int, random_state: Any = None) -> Mask:
    """Label equally many rows of each class, drawn uniformly (``IID``).

    Parameters
    ----------
    y : array-like of shape (n,)
        The label of every row.
    n_labeled : int
        How many rows keep their label. If it is no multiple of the number of classes, the first
        classes get one more.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    ndarray of shape (n,), bool
        True where the row keeps its label.

    Examples
    --------
    >>> mask = iid(["a"] * 6 + ["b"] * 2, 4, random_state=0)
    >>> int(mask[:6].sum()), int(mask[6:].sum())
    (2, 2)
    """
    rows_of_class, classes = rows_by_class(y)
    equal_shares = np.full(len(classes), 1 / len(classes))
    counts = _labels_per_class(n_labeled, equal_shares, rows_of_class, classes)

    rng = np.random.default_rng(random_state)
    mask = np.zeros(sum(map(len, rows_of_class)), dtype=bool)
    for rows, count in zip(rows_of_class, counts, strict=True):
        mask[rng.choice(rows, count, replace=False)] = True
    return mask


def selection_biased(
    X: ArrayLike,
    y: ArrayLike,
    n_labeled: int,
    r: float,
    alpha: float = 1.0,
    random_state: Any = None,
) -> Mask:
    """Label rows far out on the first principal component of their class (``SSB``).

    This is the paper's sample selection bias. Class proportions are kept. Within class c rows are
    drawn one by one, without replacement, with ::

        P(s = 1 | x, y = c)  =  (1 - alpha) / n_c  +  alpha exp(r |proj_1(x)|) / beta,

    where proj_1 is the score on the first principal component of the n_c rows of the class and beta
    makes the second term sum to one. It is computed in log space, so that ``r |proj_1|`` may be in
    the hundreds, and drawn by the Gumbel top-k trick: the k largest of log P + Gumbel noise are
    distributed exactly as k successive draws.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Features, standardised: the bias acts on their scale.
    y : array-like of shape (n,)
        The label of every row.
    n_labeled : int
        How many rows keep their label.
    r : float > 0
        Strength of the bias.
    alpha : float in [0, 1], default=1.0
        1 is the paper's ``SSB``, 0 draws uniformly within the class.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    ndarray of shape (n,), bool
        True where the row keeps its label.

    Examples
    --------
    >>> X = np.arange(-5.0, 6.0)[:, None].repeat(2, axis=0)
    >>> mask = selection_biased(X, [0, 1] * 11, n_labeled=4, r=50, random_state=0)
    >>> X[mask, 0].tolist()
    [-5.0, -5.0, 5.0, 5.0]
    """
    features: Array = check_array(X, dtype=(np.float64, np.float32))
    rows_of_class, classes = rows_by_class(y)
    check_consistent_length(features, y)
    if not (r > 0 and 0 <= alpha <= 1):
        raise ValueError(
            "r must be positive, and alpha from 0 (uniform) to 1 (biased); "
            f"got {r!r} and {alpha!r}."
        )
    shares = np.array([len(rows) / len(features) for rows in rows_of_class])
    counts = _labels_per_class(n_labeled, shares, rows_of_class, classes)

    rng = np.random.default_rng(random_state)
    mask = np.zeros(len(features), dtype=bool)
    for rows, count in zip(rows_of_class, counts, strict=True):
        # The Gumbel top-k trick.
        keys = _log_probability(features[rows], r, alpha) + rng.gumbel(size=len(rows))
        largest = np.argpartition(-keys, count - 1)[:count]
        mask[rows[largest]] = True
    return mask


def first_component_scores(X: Array) -> NDArray[np.float64]:
    """Project rows onto their first principal component; the sign is arbitrary.

    >>> np.abs(first_component_scores(np.array([[0.0, 0.0], [3.0, 4.0]]))).round(6)
    array([2.5, 2.5])
    """
    centred = X - X.mean(axis=0, dtype=np.float64)
    if centred.shape[1] == 1:
        return centred[:, 0]
    if not np.any(centred):
        return np.zeros(len(centred))
    # With a fixed starting vector the answer depends on the rows alone, not on a global generator.
    start = np.random.default_rng(0).standard_normal(min(centred.shape))
    u, s, _ = svds(centred, k=1, v0=start, return_singular_vectors="u")
    return u[:, 0] * s[0]


def _log_probability(X: Array, r: float, alpha: float) -> NDArray[np.float64]:
    """Compute log P of one draw, for the rows of one class."""
    uniform = np.full(len(X), -np.log(len(X)))
    if alpha == 0:
        return uniform
    projection = np.abs(first_component_scores(X))
    biased: NDArray[np.float64] = log_softmax(r * projection)
    if alpha == 1:
        return biased
    return np.logaddexp(np.log1p(-alpha) + uniform, np.log(alpha) + biased)


def rows_by_class(y: ArrayLike) -> tuple[list[Ints], Array]:
    """Return the rows of each class, and the classes.

    A single class, or a class of one row, is refused.
    """
    classes, codes, sizes = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
    if len(classes) < 2 or sizes.min() < 2:
        raise ValueError(
            f"y has the classes {classes} with {sizes} rows; give two or more of each."
        )
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(sizes)[:-1]), classes


def _labels_per_class(
    n_labeled: int,
    shares: NDArray[np.float64],
    rows_of_class: list[Ints],
    classes: Array,
) -> Ints:
    """Share labels out among the classes by largest remainders, at least one each."""
    sizes = np.array([len(rows) for rows in rows_of_class])
    counts = whole_counts(shares, n_labeled)
    if n_labeled >= len(classes):
        while counts.min() < 1:
            counts[counts.argmin()] += 1
            counts[counts.argmax()] -= 1
    if counts.min() < 1 or (counts > sizes).any():
        raise ValueError(
            f"n_labeled={n_labeled} asks for {counts} rows of the classes {classes}, which have "
            f"{sizes}; every class needs a label."
        )
    return counts
