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
    equal_shares = np.full(len(classes), 1 / len(classes))  # (C,)
    counts = _labels_per_class(n_labeled, equal_shares, rows_of_class, classes)

    rng = np.random.default_rng(random_state)
    n_rows = sum(len(rows) for rows in rows_of_class)
    mask = np.zeros(n_rows, dtype=bool)
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
    makes the second term sum to alpha.

    P is computed as a logarithm, because ``exp(r |proj_1|)`` overflows if ``r |proj_1|`` is in the
    hundreds. The rows are drawn by the Gumbel top-k trick: each row gets the number log P plus
    Gumbel noise, and the k rows with the largest numbers are taken. These are distributed exactly
    as k rows drawn one after another.

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
    shares = np.array([len(rows) / len(features) for rows in rows_of_class])  # (C,)
    counts = _labels_per_class(n_labeled, shares, rows_of_class, classes)

    rng = np.random.default_rng(random_state)
    mask = np.zeros(len(features), dtype=bool)
    for rows, count in zip(rows_of_class, counts, strict=True):
        # The Gumbel top-k trick: the ``count`` rows with the largest keys.
        log_probability = _log_probability(features[rows], r, alpha)  # (n_c,)
        keys = log_probability + rng.gumbel(size=len(rows))
        places = np.argpartition(-keys, count - 1)[:count]  # among the rows of the class
        mask[rows[places]] = True
    return mask


def first_component_scores(X: Array) -> NDArray[np.float64]:
    """Project rows (n, d) onto their first principal component; the sign is arbitrary.

    The two rows below are 5 apart, so each is 2.5 from the mean of both:

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
    """Compute log P of one draw, (n_c,), for the rows X (n_c, d) of one class."""
    log_uniform = np.full(len(X), -np.log(len(X)))  # log of 1 / n_c
    if alpha == 0:
        return log_uniform
    projection = np.abs(first_component_scores(X))
    log_biased: NDArray[np.float64] = log_softmax(r * projection)
    if alpha == 1:
        return log_biased
    # The logarithm of (1 - alpha) uniform + alpha biased.
    return np.logaddexp(np.log1p(-alpha) + log_uniform, np.log(alpha) + log_biased)


def rows_by_class(y: ArrayLike) -> tuple[list[Ints], Array]:
    """Return the numbers of the rows of each class, and the classes.

    A single class, or a class of one row, is refused.

    >>> rows_of_class, classes = rows_by_class(["b", "a", "b", "a"])
    >>> [rows.tolist() for rows in rows_of_class], classes.tolist()
    ([[1, 3], [0, 2]], ['a', 'b'])
    """
    classes, codes, sizes = np.unique(column_or_1d(y), return_inverse=True, return_counts=True)
    if len(classes) < 2 or sizes.min() < 2:
        raise ValueError(
            f"y has the classes {classes} with {sizes} rows; give two or more of each."
        )
    # The rows of the first class, then those of the second, and so on, cut where a class ends.
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(sizes)[:-1]
    return np.split(order, ends), classes


def _labels_per_class(
    n_labeled: int,
    shares: NDArray[np.float64],
    rows_of_class: list[Ints],
    classes: Array,
) -> Ints:
    """Share labels out among the classes by their shares (C,), at least one label each.

    A class gets its share of ``n_labeled``, rounded by largest remainders (see ``whole_counts``).
    If that is no label, it takes one from the class with the most.
    """
    sizes = np.array([len(rows) for rows in rows_of_class])  # (C,)
    counts = whole_counts(shares, n_labeled)  # (C,)
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
