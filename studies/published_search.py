"""MSTA's thresholds as the published code of the policy seeks them: on a grid that is left early.

``chary.TransductiveBound`` minimises the same ratio exactly, and its docstring defines the symbols.
The search here is written from a description of the published one, with none of its code. The
paper's numbers are those of this search with the prediction head's class as index
(``python -m studies run table-ssb-exact``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chary.method import Decision, Round

Floats = NDArray[np.float64]

# Thresholds tried for each class, and values of g for each threshold.
N_STEPS = 50
# What stands for "no row is accepted", as a share of the pool, so that a ratio can be formed.
_NO_SHARE = 1e-8


@dataclass
class PublishedBound:
    """Accept by class thresholds from the published search (MSTA as the paper ran it).

    Class j has the candidates min + t (max - min) / 50 of all its votes, t = 0, ..., 49. Each
    infimum over g is sought among theta + t (1 - theta) / 50, t = 1, ..., 50. Both searches stop
    early, see :func:`drop_after_stop`, and of equally good candidates the first is taken. A class
    without posterior mass gets the threshold 1.
    """

    #: "prediction" or "confidence": whose class's threshold a row has to reach.
    index: str = "prediction"
    #: The class probabilities that a loop hands over: those of the first model.
    posterior = "initial"

    def accept(self, round: Round) -> Decision:
        """Accept the rows of a ``round`` that reach the threshold of their class."""
        votes = np.asarray(round.class_confidence, dtype=np.float64)  # (n, C)
        posterior = np.asarray(round.posterior, dtype=np.float64)  # (n, C)
        n_rows, n_classes = votes.shape
        class_of_row = np.asarray(round.prediction)
        if self.index == "confidence":
            class_of_row = votes.argmax(axis=1)

        thresholds = np.ones(n_classes)
        for j in range(n_classes):
            if posterior[:, j].any():
                thresholds[j] = published_threshold(j, votes[:, j], posterior, class_of_row == j)
        accepted = votes[np.arange(n_rows), class_of_row] >= thresholds[class_of_row]
        return Decision(accepted, {"thresholds": thresholds})


def published_threshold(
    j: int, votes: Floats, posterior: Floats, is_predicted: NDArray[np.bool_]
) -> float:
    """Seek theta_j = argmin N_j(theta) / n_j(theta) on the published grid."""
    order = np.argsort(votes, kind="stable")
    v = votes[order]  # (n,) ascending
    is_predicted = is_predicted[order]  # (n,)
    steps = np.arange(N_STEPS)
    thetas = v[0] + steps * (v[-1] - v[0]) / N_STEPS  # (T,)
    g = thetas[:, None] + (steps + 1) * (1 - thetas[:, None]) / N_STEPS  # (T, G)
    start = np.searchsorted(v, thetas)[:, None]  # (T, 1), first row with v >= theta
    end = np.searchsorted(v, g)  # (T, G), first row with v >= g

    bound = np.zeros(N_STEPS)  # N_j
    for i in np.delete(np.arange(posterior.shape[1]), j):
        p = posterior[order, i]
        value = _prefix_sums(p)
        weight = _prefix_sums(p * v)
        kappa = (p * v)[is_predicted].sum()
        capacity_left = np.maximum(0.0, kappa - (weight[end] - weight[start]))
        candidates = value[end] - value[start] + capacity_left / g  # (T, G)
        bound += drop_after_stop(candidates).min(axis=1)

    n_accepted = is_predicted.sum() - np.searchsorted(v[is_predicted], thetas)  # n_j
    ratio = bound / np.where(n_accepted > 0, n_accepted, _NO_SHARE * len(v))
    return float(thetas[np.argmin(drop_after_stop(ratio))])


def drop_after_stop(values: Floats) -> Floats:
    """Replace by infinity what the published loops never reach, along the last axis.

    They stop at the first index k >= 4 with values[k] > values[k - 1] >= values[k - 2].
    """
    before, middle, last = values[..., 2:-2], values[..., 3:-1], values[..., 4:]
    stops = np.zeros(values.shape, dtype=bool)
    stops[..., 4:] = (last > middle) & (middle >= before)
    # The value at the stop itself is still looked at.
    n_stops_before = np.cumsum(stops, axis=-1) - stops
    return np.where(n_stops_before > 0, np.inf, values)


def _prefix_sums(values: Floats) -> Floats:
    """Sum the first 0, 1, ..., n values."""
    return np.concatenate([[0.0], np.cumsum(values)])
