"""Policies: which labels of a round of self-training to accept.

A policy is an object with one method, ``accept``. None of them looks at the order of the rows: rows
tied at the cut are accepted together. (``max_rows`` takes any of the rows that have all scores
equal.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from chary._sklearn import Interval, StrOptions
from chary.method.confidence import Floats

Indices = NDArray[np.intp]

_SHARE = Interval(Real, 0, 1, closed="right")
_COUNT = Interval(Integral, 1, None, closed="left")


class Round(NamedTuple):
    """What a policy sees of one round: a pool of n unlabelled rows, C classes."""

    confidence: NDArray[Any]  #: (n,) one number per row, high is confident
    class_confidence: NDArray[
        Any
    ]  #: (n, C) one number per row and class: softmax, class-wise T-similarity
    prediction: NDArray[np.intp]  #: (n,) class that the prediction head gives the row
    posterior: NDArray[Any]  #: (n, C) estimate of the class probabilities
    number: int  #: t = 1, 2, ...


class Decision(NamedTuple):
    """A policy's answer: which rows to accept, and what decided it."""

    accepted: NDArray[np.bool_]  #: (n,) a boolean for each row of the pool
    used: dict[
        str, Any
    ]  #: for the history: the threshold or the thresholds (C,), the share, the bound


class Policy(Protocol):
    """Anything with these two members can be the policy of a self-training loop."""

    @property
    def rescore(self) -> bool:
        """Whether each round scores the whole pool anew, so that accepted rows can be given back."""

    def accept(self, round: Round) -> Decision:
        """The rows to accept in this round."""


class _Checked(BaseEstimator):
    """A policy whose parameters are checked when it is made, and open to a search by scikit-learn."""

    def __post_init__(self) -> None:
        self._validate_params()


@dataclass
class FixedThreshold(_Checked):
    """Accept the rows whose confidence is at least ``threshold`` (pseudo-labelling, PL; Lee, 2013).

    A row at the threshold is accepted, as in the code of the paper's authors, where the paper
    prints a strict inequality: it matters where float32 probabilities are exactly 1.

    Parameters
    ----------
    threshold : float, default=0.8
        On the scale of the confidence that is used.
    """

    threshold: float = 0.8
    rescore = False

    _parameter_constraints: ClassVar = {"threshold": [Interval(Real, None, None, closed="neither")]}

    def accept(self, round: Round) -> Decision:
        """The rows of this ``round`` at or above the threshold."""
        threshold = float(
            self.threshold
        )  # a plain float is compared in the confidence's own precision
        return Decision(round.confidence >= threshold, {"threshold": threshold})


@dataclass
class Curriculum(_Checked):
    """Accept a share of the pool that grows each round (CSTA; Cascante-Bonilla et al., 2021).

    Round t = 1, 2, ... accepts the rows at or above the q_t-quantile of the pool's confidence,
    linearly interpolated, with q_t = max(0, 1 - t * step). With step 0.4 that is 40 % of the pool,
    then 80 % of what is left, then all. Rows tied with the quantile are accepted too.

    Parameters
    ----------
    step : float in (0, 1], default=0.4
    rescore : bool, default=False
        Score the whole original pool anew each round, as the original curriculum labelling does,
        instead of freezing the rows once they are accepted.
    """

    step: float = 0.4
    rescore: bool = False

    _parameter_constraints: ClassVar = {"step": [_SHARE], "rescore": ["boolean"]}

    def accept(self, round: Round) -> Decision:
        """The rows at or above the round's quantile."""
        # Rounded, because 1 - 49 * (1 / 49) is not 0, and at q = 0 every row must be accepted.
        quantile = max(0.0, np.round(1 - round.number * self.step, 12))
        confidence = np.asarray(round.confidence, dtype=np.float64)
        threshold = float(np.quantile(confidence, quantile)) if confidence.size else math.inf
        return Decision(confidence >= threshold, {"threshold": threshold})


@dataclass
class RisingShare(_Checked):
    """Accept the most confident rows of each predicted class, a share that rises and then stays.

    Round t = 1, ..., n_rounds takes the share first + (last - first) * (t - 1) / (n_rounds - 1) of
    each predicted class: of n_c rows the floor(share * n_c) most confident, or one, and those tied
    with the last of them.

    Parameters
    ----------
    first, last : float in (0, 1], default=0.2 and 0.8
    n_rounds : int >= 1, default=5
        The round that reaches ``last``. (1: round 1 keeps ``first``, all later ones ``last``.)
    rescore : bool, default=True
        Score the whole pool anew each round, so that early mistakes can be taken back.
    max_rows : int >= 1, default=None
        So many of more rows, at least one of each class, evenly spaced down its ranking: bounds the
        cost.
    """

    first: float = 0.2
    last: float = 0.8
    n_rounds: int = 5
    rescore: bool = True
    max_rows: int | None = None

    _parameter_constraints: ClassVar = {
        "first": [_SHARE],
        "last": [_SHARE],
        "n_rounds": [_COUNT],
        "rescore": ["boolean"],
        "max_rows": [_COUNT, None],
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first > self.last:
            raise ValueError(
                f"first={self.first!r} is above last={self.last!r}; the share must not fall."
            )

    def accept(self, round: Round) -> Decision:
        """The round's share of each predicted class."""
        progress = min(1.0, (round.number - 1) / max(1, self.n_rounds - 1))
        share = float((1 - progress) * self.first + progress * self.last)
        thresholds = np.full(round.class_confidence.shape[1], np.inf)  # (C,)
        for c in np.unique(round.prediction):
            own = round.confidence[round.prediction == c]
            n_taken = max(1, math.floor(share * len(own) + 1e-9))  # 0.29 * 100 is below 29
            thresholds[c] = np.partition(own, -n_taken)[-n_taken]
        accepted = round.confidence >= thresholds[round.prediction]
        used = {"share": share, "thresholds": thresholds}
        return Decision(_thinned(accepted, round, self.max_rows or len(accepted)), used)


@dataclass
class TransductiveBound(_Checked):
    r"""Accept by class thresholds that minimise a bound on the error per accepted row (MSTA).

    A row x of class yhat(x) is accepted when v_yhat(x) >= theta_yhat. The threshold of class j is
    ::

        theta_j = argmin N_j(theta) / n_j(theta)

    where v_j(x) is the class-j confidence, p_i(x) the posterior and ::

        n_j(theta)  = #{x : yhat = j, v_j >= theta}                         rows accepted as j
        N_j(theta)  = sum over i != j of B_ij(theta)                        bound on the wrong ones
        B_ij(theta) = inf over g in [theta, 1], g > 0, of  S0_ij + max(0, kappa_ij - S1_ij) / g
        S0_ij       = sum_x p_i     [theta <= v_j < g]
        S1_ij       = sum_x p_i v_j [theta <= v_j < g]
        kappa_ij    = sum_x p_i v_j [yhat = j].

    N_j does not increase with theta and n_j falls only at the votes v_j of rows predicted j, so
    these votes are the only candidates; each class with a predicted row accepts at least one. Each
    class is sorted once and every infimum found by binary search in prefix sums: O(C^2 n log n).
    One ratio per class is what the published code minimises; the paper writes one over the whole
    vector of thresholds.

    The history gets the thresholds (of equally good ones the smallest; +inf for a class to which no
    row is predicted) and the ``bound`` R = (1/n) sum_j N_j(theta_j): n * R bounds the expected
    number of wrong labels among the accepted rows, if the posterior is right.

    Parameters
    ----------
    index : {"confidence", "prediction", "mixed"}, default="confidence"
        yhat, the class whose threshold a row has to reach: the one of highest class-wise
        confidence, as published, or the one that the prediction head gives it. They differ on some
        rows when the confidence is the T-similarity; the pseudo-label is the prediction head's in
        either case. With "mixed" the bound counts rows by the prediction head, and the threshold to
        reach is that of the class of highest confidence. That is nearest to the numbers that the
        paper prints, but the bound then says nothing about the rows that are accepted.
    posterior : {"initial", "current"}, default="initial"
        Whose class probabilities the self-training loop hands over: those of the model of the
        labelled rows alone, or of the round's model.

    References
    ----------
    Feofanov, Devijver and Amini (2019), Transductive bounds for the multi-class majority vote classifier.

    Examples
    --------
    >>> v = np.array([[0.99, 0.01], [0.95, 0.05], [0.55, 0.45], [0.2, 0.8]])
    >>> accepted, used = TransductiveBound().accept(Round(v.max(axis=1), v, v.argmax(axis=1), v, 1))
    >>> used["thresholds"], accepted
    (array([0.95, 0.8 ]), array([ True,  True, False,  True]))
    """

    index: str = "confidence"
    posterior: str = "initial"
    rescore = False
    _parameter_constraints: ClassVar = {
        "index": [StrOptions({"confidence", "prediction", "mixed"})],
        "posterior": [StrOptions({"initial", "current"})],
    }

    def accept(self, round: Round) -> Decision:
        """The rows of this ``round`` that reach the threshold of their class."""
        votes = _unit_columns("class_confidence", round.class_confidence)  # (C, n)
        posterior = _unit_columns("posterior", round.posterior)
        predicted, n_rows = np.asarray(round.prediction), votes.shape[1]
        if not n_rows:
            return Decision(
                np.zeros(0, dtype=bool), {"thresholds": np.full(len(votes), np.inf), "bound": 0.0}
            )
        highest = votes.argmax(axis=0)
        counted_as = highest if self.index == "confidence" else predicted
        held_to = predicted if self.index == "prediction" else highest
        found = [
            _best_threshold(j, votes[j], posterior, counted_as == j) for j in range(len(votes))
        ]
        thresholds, bounds = np.array(found).T  # (C,) each
        accepted = votes[held_to, np.arange(n_rows)] >= thresholds[held_to]
        return Decision(accepted, {"thresholds": thresholds, "bound": float(bounds.sum() / n_rows)})


# All of them, simplest first: what a model file may hold.
POLICIES = (FixedThreshold, Curriculum, TransductiveBound, RisingShare)


def _thinned(accepted: NDArray[np.bool_], round: Round, max_rows: int) -> NDArray[np.bool_]:
    if (n_accepted := int(accepted.sum())) <= max_rows:
        return accepted
    kept = np.zeros_like(accepted)
    for c in np.unique(round.prediction[accepted]):
        rows = np.flatnonzero(accepted & (round.prediction == c))
        ranking = rows[np.lexsort((*round.class_confidence[rows].T, -round.confidence[rows]))]
        n_kept = max(1, max_rows * len(rows) // n_accepted)
        kept[ranking[np.arange(n_kept) * len(rows) // n_kept]] = True
    return kept


# -- The search for the thresholds of TransductiveBound -------------------------------------------------------


def _best_threshold(
    j: int, votes: Floats, posterior: Floats, predicted: NDArray[np.bool_]
) -> tuple[float, float]:
    """theta_j and N_j: the best of the distinct votes of the rows predicted j."""
    if not predicted.any():
        return math.inf, 0.0
    rows = _ascending(votes, posterior, lowest=votes[predicted].min())  # no threshold lies below
    v, own = votes[rows], predicted[rows]  # (m,)
    thresholds, first = np.unique(v[own], return_index=True)  # (T,)
    start = np.searchsorted(v, thresholds)
    cut = np.append(
        v, 1.0
    )  # the g at which the knapsack of _infimum is full; past the last vote, 1
    bound = np.zeros(len(thresholds))
    for i in np.delete(np.arange(len(posterior)), j):
        bound += _infimum(posterior[i, rows], v, own, start, cut)
    best = np.argmin(bound / (own.sum() - first))
    return thresholds[best], bound[best]


def _infimum(p: Floats, v: Floats, own: NDArray[np.bool_], start: Indices, cut: Floats) -> Floats:
    """B_ij for thresholds at the given positions of the ascending votes v.

    The infimum is the value of a fractional knapsack of capacity kappa: maximise sum_x q_x + s
    subject to sum_x q_x v_x + s <= kappa, 0 <= q_x <= p_x on v_x >= theta, s >= 0. Lightest first:
    whole rows up to position ``end``, and what is left of the capacity goes to the row there, or to
    s, of weight 1.
    """
    kappa = (p * v)[own].sum()
    mass, weight = _prefix_sums(p), _prefix_sums(p * v)  # (m + 1,) each
    end = np.searchsorted(weight, weight[start] + kappa, side="right") - 1  # in start..m
    rest = np.maximum(0.0, kappa - (weight[end] - weight[start]))
    return (
        mass[end] - mass[start] + rest / cut[end]
    )  # cut > 0: a row that overfills weighs something


def _ascending(votes: Floats, posterior: Floats, lowest: float) -> Indices:
    """The rows with a vote of at least ``lowest``, by vote.

    Tied rows go by their posterior, so that the rounding of sums over the rows, and with it the
    choice among thresholds that are equally good, cannot depend on the order in which the rows
    came.
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


def _unit_columns(name: str, values: NDArray[Any]) -> Floats:
    """Values (n, C) as contiguous columns (C, n), checked to lie within [0, 1]."""
    columns = np.array(values.T, dtype=np.float64, order="C")
    # float32 rounding is forgiven; NaN is not.
    if not ((columns >= -1e-6) & (columns <= 1 + 1e-6)).all():
        raise ValueError(f"{name} must be finite and in [0, 1].")
    return np.clip(columns, 0.0, 1.0, out=columns)
