"""Class thresholds that minimise a bound on the error of the labels that are accepted (MSTA)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class BestThresholds(NamedTuple):
    """The outcome of ``transductive_thresholds``."""

    thresholds: Floats  # (C,)
    bound: float  # (1/n) sum_j N_j(theta_j)
    accepted: NDArray[np.bool_]  # (n,) rows that reach the threshold of their class


def transductive_thresholds(
    class_confidence: ArrayLike,
    posterior: ArrayLike,
    index: Indices | None = None,
    *,
    held_to: Indices | None = None,
    search: str = "exact",
    objective: str = "per_class",
) -> BestThresholds:
    r"""Class thresholds that minimise the bound on the transductive error per accepted row.

    A row x of class yhat(x) is accepted when v_yhat(x) >= theta_yhat. Solves

        theta_j = argmin N_j(theta) / n_j(theta)                            (objective="per_class")
        theta   = argmin sum_j N_j(theta_j) / sum_j n_j(theta_j)            (objective="joint")

    where v_j(x) is the class-j confidence, p_i(x) the posterior and

        n_j(theta)  = #{x : yhat = j, v_j >= theta}                         rows accepted as j
        N_j(theta)  = sum over i != j of B_ij(theta)                        bound on the wrong ones
        B_ij(theta) = inf over g in [theta, 1], g > 0, of  S0_ij + max(0, kappa_ij - S1_ij) / g
        S0_ij       = sum_x p_i     [theta <= v_j < g]
        S1_ij       = sum_x p_i v_j [theta <= v_j < g]
        kappa_ij    = sum_x p_i v_j [yhat = j].

    N_j does not increase with theta and n_j falls only at the votes v_j of rows predicted j, so these votes
    are the only candidates; each class with a predicted row accepts at least one. The exact search sorts
    each class once and finds every infimum by binary search in prefix sums: O(C^2 n log n).

    Parameters
    ----------
    class_confidence : array-like of shape (n, C)
        v, in [0, 1]; the rows need not sum to one.
    posterior : array-like of shape (n, C)
        p, in [0, 1].
    index : array of shape (n,), default=None
        yhat, the class for which each row counts. None: argmax_c v_c.
    held_to : array of shape (n,), default=None
        The class whose threshold each row must reach to be accepted. None: yhat. Another one leaves the bound as
        it is, which then says nothing of the rows accepted.
    search : {"exact", "grid"}, default="exact"
        "grid" is the published search, for reproduction: 50 thresholds per class, 50 values of g for
        each, and both loops stop early.
    objective : {"per_class", "joint"}, default="per_class"
        One ratio per class, as in the published code, or one over the whole vector, as in the paper.

    Returns
    -------
    BestThresholds
        Of equally good thresholds the smallest; +inf for a class to which no row is predicted.

    Examples
    --------
    >>> v = [[0.99, 0.01], [0.95, 0.05], [0.55, 0.45], [0.2, 0.8]]
    >>> best = transductive_thresholds(v, v)
    >>> best.thresholds, best.accepted
    (array([0.95, 0.8 ]), array([ True,  True, False,  True]))
    """
    votes, probs = _votes_and_posterior(class_confidence, posterior)
    index = votes.argmax(axis=0) if index is None else index
    thresholds, bounds = _search(votes, probs, index, search, objective)
    held_to = index if held_to is None else held_to
    accepted = votes[held_to, np.arange(len(held_to))] >= thresholds[held_to]
    return BestThresholds(thresholds, float(bounds.sum() / max(1, len(index))), accepted)


class _Curve(NamedTuple):
    """One class's candidates, ascending."""

    threshold: Floats  # (T,)
    bound: Floats  # (T,) N_j
    accepted: Floats  # (T,) n_j, or a trifle where it is 0, so that one can divide by it

    def at(self, k: np.intp) -> tuple[float, float, float]:
        return self.threshold[k], self.bound[k], self.accepted[k]


def _search(
    votes: Floats, posterior: Floats, index: Indices, search: str, objective: str
) -> tuple[Floats, Floats]:
    """The thresholds (C,) and N_j there (C,); votes and posterior are (C, n)."""
    n_classes, n_rows = votes.shape
    if n_rows == 0:
        return np.full(n_classes, np.inf), np.zeros(n_classes)
    curve_of = {"exact": _exact_curve, "grid": _grid_curve}[search]
    best_of = {"per_class": _best_per_class, "joint": _best_jointly}[objective]
    best = best_of([curve_of(j, votes[j], posterior, index == j) for j in range(n_classes)])  # (C, 3)
    return best[:, 0], best[:, 1]


def _best_per_class(curves: list[_Curve]) -> Floats:
    return np.array([curve.at(np.argmin(curve.bound / curve.accepted)) for curve in curves])  # (C, 3)


def _best_jointly(curves: list[_Curve]) -> Floats:
    """Dinkelbach's iteration: minimise bound - ratio * accepted, class by class, until the ratio stays."""
    best = _best_per_class(curves)  # (C, 3)
    ratio = math.inf
    while (lower := best[:, 1].sum() / best[:, 2].sum()) < ratio:
        ratio = lower
        best = np.array([curve.at(np.argmin(curve.bound - ratio * curve.accepted)) for curve in curves])
    return best


def _exact_curve(j: int, votes: Floats, posterior: Floats, predicted: NDArray[np.bool_]) -> _Curve:
    """N_j and n_j at every distinct vote of the rows predicted j."""
    if not predicted.any():
        return _Curve(np.array([np.inf]), np.zeros(1), np.array([np.finfo(np.float64).tiny]))
    rows = _ascending(votes, posterior, lowest=votes[predicted].min())  # no threshold lies below
    v, own = votes[rows], predicted[rows]  # (m,)
    own_votes = v[own]
    first = np.flatnonzero(np.append(True, own_votes[1:] > own_votes[:-1]))  # one of each distinct vote
    thresholds = own_votes[first]  # (T,)
    start = np.searchsorted(v, thresholds)
    cut = np.append(v, 1.0)  # the g at which the knapsack of _infimum is full; past the last vote, 1
    bound = np.zeros(len(thresholds))
    for i in np.delete(np.arange(len(posterior)), j):
        bound += _infimum(posterior[i, rows], v, own, start, cut)
    return _Curve(thresholds, bound, (len(own_votes) - first).astype(np.float64))


def _infimum(p: Floats, v: Floats, own: NDArray[np.bool_], start: Indices, cut: Floats) -> Floats:
    """B_ij for thresholds at the given positions of the ascending votes v.

    The infimum is the value of a fractional knapsack of capacity kappa: maximise sum_x q_x + s subject to
    sum_x q_x v_x + s <= kappa, 0 <= q_x <= p_x on v_x >= theta, s >= 0. Lightest first: whole rows up to
    position ``end``, and what is left of the capacity goes to the row there, or to s, of weight 1.
    """
    weight = p * v
    kappa = weight[own].sum()
    mass = _prefix_sums(p)  # (m + 1,)
    weight = _prefix_sums(weight)
    end = np.searchsorted(weight, weight[start] + kappa, side="right") - 1  # in start..m
    rest = np.maximum(0.0, kappa - (weight[end] - weight[start]))
    return mass[end] - mass[start] + rest / cut[end]  # cut > 0: a row that overfills weighs something


def _grid_curve(j: int, votes: Floats, posterior: Floats, predicted: NDArray[np.bool_]) -> _Curve:
    """The published candidates of class j, up to where the published loop stops."""
    rows = _ascending(votes, posterior, lowest=votes.min())
    v, own = votes[rows], predicted[rows]
    size = 50
    steps = np.arange(size)
    thetas = v[0] + steps * (v[-1] - v[0]) / size  # (T,)
    if not posterior[j].any():
        thetas = np.ones(size)  # as published for a class without posterior mass
    gammas = thetas[:, None] + (steps + 1) * (1 - thetas[:, None]) / size  # (T, G)
    low, high = np.searchsorted(v, thetas)[:, None], np.searchsorted(v, gammas)
    bound = np.zeros(size)
    for i in np.delete(np.arange(len(posterior)), j):
        p = posterior[i, rows]
        mass, weight = _prefix_sums(p), _prefix_sums(p * v)
        rest = np.maximum(0.0, (p * v)[own].sum() - (weight[high] - weight[low]))
        bound += _until_stop(mass[high] - mass[low] + rest / gammas).min(axis=1)
    accepted = own.sum() - np.searchsorted(v[own], thetas)
    accepted = np.where(accepted > 0, accepted, 1e-8 * len(votes))  # as published
    visited = np.isfinite(_until_stop(bound / accepted))
    return _Curve(thetas[visited], bound[visited], accepted[visited])


def _until_stop(values: Floats) -> Floats:
    """Infinity past the first index above 3 where the values, not having fallen before, rise."""
    stops = np.zeros(values.shape, dtype=bool)
    before, middle, last = values[..., 2:-2], values[..., 3:-1], values[..., 4:]
    stops[..., 4:] = (last > middle) & (middle >= before)
    past = np.cumsum(stops, axis=-1) - stops > 0
    return np.where(past, np.inf, values)


def _ascending(votes: Floats, posterior: Floats, lowest: float) -> Indices:
    """The rows with a vote of at least ``lowest``, by vote.

    Tied rows go by their posterior, so that the rounding of sums over the rows, and with it the choice
    among thresholds that are equally good, cannot depend on the order in which the rows came.
    """
    rows = np.flatnonzero(votes >= lowest)
    rows = rows[np.argsort(votes[rows])]
    v = votes[rows]
    same = v[1:] == v[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    group = rows[tied]
    rows[tied] = group[np.lexsort((*posterior[:, group], v[tied]))]
    return rows


def _prefix_sums(values: Floats) -> Floats:
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _votes_and_posterior(class_confidence: ArrayLike, posterior: ArrayLike) -> tuple[Floats, Floats]:
    """Both as contiguous (C, n) float64 arrays within [0, 1]."""
    votes, probs = np.asarray(class_confidence), np.asarray(posterior)
    if votes.ndim != 2 or votes.shape != probs.shape or votes.shape[1] == 0:
        raise ValueError(
            f"class_confidence has shape {votes.shape} and posterior {probs.shape}; "
            "give both as (rows, classes), of the same shape."
        )
    return _unit_columns("class_confidence", votes), _unit_columns("posterior", probs)


def _unit_columns(name: str, values: NDArray[Any]) -> Floats:
    columns = np.array(values.T, dtype=np.float64, order="C")
    low, high = (columns.min(), columns.max()) if columns.size else (0.0, 1.0)
    if not (low >= -1e-6 and high <= 1 + 1e-6):  # float32 rounding is forgiven; NaN is not
        raise ValueError(f"{name} ranges from {low:g} to {high:g}; give finite values in [0, 1].")
    return np.clip(columns, 0.0, 1.0, out=columns)
