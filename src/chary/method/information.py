"""Class scores in; the class shares with which every class counts the same out: no label is asked for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize

from chary.method.assignment import as_columns, match_means

Floats = NDArray[np.float64]

# What labels are to be good at: to be right on as many rows as possible, or on as large a share of every class.
AIMS = ACCURACY, BALANCED = ("accuracy", "balanced")

# Chosen on real tables: docs/class-prior.md says how.
SPREAD = 4.0  # of the scores, before probabilities are made of them
HALF_WAY = 0.5  # from the shares that the predictions have to those of the most informative ones
_DEEPEST = 7.0  # a score is no further below the highest of its row: the logarithm of 0 would drown all others
_MOST_ROWS = 100_000


def balanced_shares(scores: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    r"""The share of rows to give to each class, if a row of a rare class matters more than one of a common class.

    Let z be the scores (none further than 7 below the highest of its row), centred in each row, divided by their
    root mean square and times 4, and :math:`p_i = \mathrm{softmax}(z_i + b)`: how sure of itself the model is that
    gave the scores does not matter then.

    Nothing is known of the class shares (``prior=None``): b maximises the information that the predictions carry,

    .. math:: I(b) = H\Big(\frac{1}{n} \sum_i p_i\Big) - \frac{1}{n} \sum_i H(p_i), \qquad
        H(p) = -\sum_c p_c \log p_c,

    which is large if every class is predicted, and each row clearly: boundaries come to lie where few rows are
    (``most_informative``). The shares wanted are half-way from those that the scores have by themselves to the
    mean of these p; all the way, common classes lose more than rare ones gain.

    The shares :math:`\pi` are known: b is such that the mean of p is :math:`\pi`, and row i goes to the class with
    the highest :math:`p_{ic} / \pi_c`. If p is right, no other labels have a higher balanced accuracy.

    Parameters
    ----------
    scores : array-like of shape (n, C)
        Logits or log-probabilities, finite. Of more than 100,000 rows every k-th is used, in an order that only
        depends on what the rows hold.
    prior : array-like of shape (C,), default=None
        Shares of these rows, all above 0.

    Returns
    -------
    array of shape (C,)
        For ``align``: positive and summing to 1.

    Examples
    --------
    Two heaps of rows, the smaller one just short of the boundary:

    >>> leaning = np.concatenate([np.full(90, -2.0), np.full(10, -0.2)]) + np.linspace(-0.1, 0.1, 100)
    >>> scores = np.column_stack([-leaning, leaning]) / 2
    >>> int((scores[:, 1] > scores[:, 0]).sum())
    0
    >>> balanced_shares(scores).round(1)
    array([0.9, 0.1])
    """
    columns = as_columns(scores)  # (C, n)
    n_classes, n_rows = columns.shape
    own = np.bincount(columns.argmax(axis=0), minlength=n_classes) / n_rows
    z = _on_common_scale(_some_rows(columns))
    if prior is None:
        shares = (1 - HALF_WAY) * own + HALF_WAY * _softmax(z, most_informative(z)).mean(axis=1)
    else:
        known = np.asarray(prior, dtype=np.float64)
        raised = z + (match_means(z, known, np.zeros(n_classes), _tolerance(z)) - np.log(known))[:, None]
        shares = np.bincount(raised.argmax(axis=0), minlength=n_classes) / z.shape[1]
    shares = np.maximum(shares, 0.5 / n_rows)  # of a class without a row, a new row may be one all the same
    return shares / shares.sum()


def most_informative(columns: Floats) -> Floats:
    """Offsets (C,), with mean 0, at the top of ``information`` nearest to where all classes are as frequent.

    There no class is so far down that it could not be felt; from there L-BFGS climbs with the exact gradient.

    >>> z = np.array([[4.0, 4.2, 0.0, 0.1], [0.0, 0.0, 3.0, 3.0]])
    >>> offset = most_informative(z)
    >>> bool(information(z, offset)[0] > information(z, np.zeros(2))[0])
    True
    """
    n_classes = len(columns)
    start = match_means(columns, np.full(n_classes, 1 / n_classes), np.zeros(n_classes), _tolerance(columns))

    def falling(offset: Floats) -> tuple[float, Floats]:
        height, slope = information(columns, offset)
        return -height, -slope

    found = minimize(falling, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-12})
    offset: Floats = found.x
    return offset - offset.mean()


def information(columns: Floats, offset: Floats) -> tuple[float, Floats]:
    r"""I(b) of ``balanced_shares`` for scores as columns (C, n), and its gradient.

    With m the mean of the p_i and :math:`g_{ic} = \log p_{ic} - \log m_c`,

    .. math:: I = \frac{1}{n} \sum_{ic} p_{ic} g_{ic}, \qquad
        \frac{\partial I}{\partial b_k} = \frac{1}{n} \sum_i p_{ik} \Big(g_{ik} - \sum_c p_{ic} g_{ic}\Big).
    """
    gain = columns + offset[:, None]  # log p at first
    gain -= gain.max(axis=0)
    probs = np.exp(gain)
    total = probs.sum(axis=0)
    probs /= total
    gain -= np.log(total)
    gain -= np.log(np.maximum(probs.mean(axis=1), np.finfo(np.float64).tiny))[:, None]
    of_rows = (probs * gain).sum(axis=0)  # (n,)
    return float(of_rows.mean()), (probs * (gain - of_rows)).mean(axis=1)


def _on_common_scale(columns: Floats) -> Floats:
    """Centred in each row, with root mean square ``SPREAD``; scores that say nothing stay 0."""
    z = np.maximum(columns - columns.max(axis=0), -_DEEPEST)
    z -= z.mean(axis=0)
    spread = float(np.sqrt(np.square(z).mean()))
    return z * (SPREAD / spread) if spread > 0 else z


def _some_rows(columns: Floats) -> Floats:
    """At most so many rows, in an order by what they hold: how a table is sorted then changes nothing."""
    by_class = np.random.default_rng(0).standard_normal(len(columns))
    # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
    order = np.argsort(((columns - columns.max(axis=0)) * by_class[:, None]).sum(axis=0), kind="stable")
    step = -(-len(order) // _MOST_ROWS)
    return columns[:, order[step // 2 :: step]]


def _softmax(columns: Floats, offset: Floats) -> Floats:
    probs = columns + offset[:, None]
    probs -= probs.max(axis=0)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=0)
    return probs


def _tolerance(columns: Floats) -> float:
    return 0.1 / columns.shape[1]  # a tenth of a row
