"""Policies: which labels of a round of self-training to accept.

A policy is an object with one method, ``accept``, that returns a boolean for each row. None of the
policies here looks at the order of the rows: rows tied at the threshold are accepted together.
(Only ``max_rows`` chooses among rows, and rows equal in all scores are interchangeable.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from chary._arrays import Array, Floats, Ints, Mask
from chary._sklearn import Interval, StrOptions

Indices = Ints

# Constraints on parameters.
_SHARE = Interval(Real, 0, 1, closed="right")
_COUNT = Interval(Integral, 1, None, closed="left")


class Round(NamedTuple):
    """What a policy sees of one round: a pool of n unlabelled rows, C classes."""

    #: (n,) one number per row, high is confident
    confidence: Array
    #: (n, C) one number per row and class: softmax, class-wise T-similarity
    class_confidence: Array
    #: (n,) class that the prediction head gives the row
    prediction: Ints
    #: (n, C) estimate of the class probabilities
    posterior: Array
    #: t = 1, 2, ...
    number: int
    #: the classifier of this round, fitted
    model: Any = None
    #: (N, ...) all rows that take part, as they were given to ``fit``
    X: Any = None
    #: (N,) index into ``model.classes_`` for each of them, given or accepted; -1 without a label
    labels: Ints | None = None
    #: (n,) numbers of the pool's rows in ``X``
    rows: Ints | None = None


class Decision(NamedTuple):
    """A policy's answer: the rows to accept, and what decided it."""

    #: (n,) a boolean for each row of the pool
    accepted: Mask
    #: for the history: the threshold or the thresholds (C,), the share, the bound
    used: dict[str, Any]


class Policy(Protocol):
    """Anything with ``accept`` can be the policy of a self-training loop.

    Two attributes are optional. With ``rescore = True`` each round scores the whole pool anew and
    may withdraw labels. With ``posterior = "initial"`` the rounds hold the class probabilities of
    the first model in place of the present one's.
    """

    def accept(self, round: Round) -> Decision | Mask:
        """Return a boolean for each row of the pool of a ``round``, alone or in a Decision."""


class _Checked(BaseEstimator):
    """A policy that checks its parameters when it is made; scikit-learn can search over them."""

    def __post_init__(self) -> None:
        self._validate_params()


@dataclass
class FixedThreshold(_Checked):
    r"""Accept rows with a confidence of at least ``threshold`` (PL; Lee, 2013).

    The pseudo-labelling of the paper, with threshold :math:`\theta` and confidence :math:`c_j` of
    row j:

    .. math:: \psi = \{x_j : c_j \ge \theta\}

    A row at the threshold is accepted, as in the code of the paper's authors. The paper prints a
    strict inequality, which matters only if float32 probabilities are exactly 1.

    Parameters
    ----------
    threshold : float, default=0.8
        The paper's theta, on the scale of the confidence that is used.
    """

    threshold: float = 0.8
    rescore = False

    _parameter_constraints: ClassVar = {"threshold": [Interval(Real, None, None, closed="neither")]}

    def accept(self, round: Round) -> Decision:
        """Accept the rows of a ``round`` at or above the threshold."""
        # NumPy compares a Python float in the precision of the array.
        threshold = float(self.threshold)
        return Decision(round.confidence >= threshold, {"threshold": threshold})


@dataclass
class KBest(_Checked):
    """Accept the ``k`` most confident rows of each round.

    That is ``criterion="k_best"`` of scikit-learn's class. Rows tied with the last of them are
    accepted too.

    Parameters
    ----------
    k : int >= 1, default=10
    """

    k: int = 10
    rescore = False

    _parameter_constraints: ClassVar = {"k": [_COUNT]}

    def accept(self, round: Round) -> Decision:
        """Accept the ``k`` most confident rows of a ``round``."""
        confidence = np.asarray(round.confidence)
        k = min(self.k, len(confidence))
        threshold = math.inf
        if k > 0:
            threshold = float(np.partition(confidence, -k)[-k])
        return Decision(confidence >= threshold, {"threshold": threshold})


@dataclass
class Curriculum(_Checked):
    """Accept a share of the pool that grows each round (CSTA; Cascante-Bonilla et al., 2021).

    Round t = 1, 2, ... accepts the rows at or above the q_t-quantile of the pool's confidence,
    linearly interpolated, with q_t = max(0, 1 - t * step). With step 0.4 that is 40 % of the pool,
    then 80 % of what is left, then all. Rows tied with the quantile are accepted too. The paper
    assumes a Pareto distribution of the confidence; a quantile of the rows needs none.

    Parameters
    ----------
    step : float in (0, 1], default=0.4
        The paper's Delta.
    rescore : bool, default=False
        Score the whole original pool anew each round, as the original curriculum labelling does,
        instead of freezing the rows once they are accepted.
    """

    step: float = 0.4
    rescore: bool = False

    _parameter_constraints: ClassVar = {"step": [_SHARE], "rescore": ["boolean"]}

    def accept(self, round: Round) -> Decision:
        """Accept the rows at or above the round's quantile."""
        confidence = np.asarray(round.confidence, dtype=np.float64)
        # Rounded, because 1 - 49 * (1 / 49) is not 0, and at q = 0 every row must be accepted.
        quantile = max(0.0, np.round(1 - round.number * self.step, 12))
        threshold = math.inf
        if confidence.size:
            threshold = float(np.quantile(confidence, quantile))
        return Decision(confidence >= threshold, {"threshold": threshold})


@dataclass
class RisingShare(_Checked):
    """Accept the most confident rows of each predicted class, a rising share of them.

    Round t = 1, ..., n_rounds takes the share first + (last - first) * (t - 1) / (n_rounds - 1) of
    each predicted class, later rounds the share ``last``. Of the n_c rows of a class, the
    max(1, floor(share * n_c)) most confident are accepted, and all rows tied with the last of them.

    Parameters
    ----------
    first, last : float in (0, 1], default=0.2 and 0.8
    n_rounds : int >= 1, default=5
        The round that reaches ``last``. (1: round 1 takes ``first``, all later ones ``last``.)
    rescore : bool, default=True
        Score the whole pool anew each round, so that early mistakes can be taken back.
    max_rows : int >= 1, default=None
        Most rows to accept. If there are more, rows evenly spaced in the ranking of each class are
        accepted, at least one of each class. It bounds the cost of the fits. None: no limit.
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
        """Accept this round's share of each predicted class, the most confident rows."""
        progress = min(1.0, (round.number - 1) / max(1, self.n_rounds - 1))
        share = float((1 - progress) * self.first + progress * self.last)
        thresholds = np.full(round.class_confidence.shape[1], np.inf)  # (C,)
        for c in np.unique(round.prediction):
            confidence = round.confidence[round.prediction == c]  # (n_c,)
            # In floats 0.29 * 100 is a little below 29, and should count as 29.
            n_accepted = max(1, math.floor(share * len(confidence) + 1e-9))
            thresholds[c] = np.partition(confidence, -n_accepted)[-n_accepted]

        accepted = round.confidence >= thresholds[round.prediction]
        if self.max_rows is not None:
            accepted = _thin_out(accepted, round, self.max_rows)
        return Decision(accepted, {"share": share, "thresholds": thresholds})


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
    class is sorted once, and a binary search in prefix sums gives every infimum: O(C^2 n log n).
    The published code minimises one ratio per class, on a grid that it leaves early
    (``studies/published_search.py``); the paper writes one over the whole vector of thresholds.

    The history gets the thresholds (of equally good ones the smallest; +inf for a class that is
    predicted for no row) and the ``bound`` R = (1/n) sum_j N_j(theta_j): n * R bounds the expected
    number of wrong labels among the accepted rows, if the posterior is right.

    Parameters
    ----------
    index : {"prediction", "confidence", "mixed"}, default="prediction"
        yhat, the class whose threshold a row has to reach: the class that the prediction head gives
        the row, or the class of highest class-wise confidence. They differ on some rows if the
        confidence is the T-similarity; the pseudo-label is the prediction head's in either case.
        The paper's numbers are those of "prediction" (``python -m studies run table-ssb-exact``),
        although its text reads like "confidence". With "mixed" the bound counts rows by the
        prediction head, and the threshold to reach is that of the class of highest confidence; the
        bound then says nothing about the rows that are accepted.
    posterior : {"initial", "current"}, default="initial"
        The model whose class probabilities the self-training loop hands over: that of the labelled
        rows alone, or the round's.

    References
    ----------
    Feofanov, Devijver and Amini (2019), Transductive bounds for the multi-class majority vote
    classifier.

    Examples
    --------
    >>> v = np.array([[0.99, 0.01], [0.95, 0.05], [0.55, 0.45], [0.2, 0.8]])
    >>> accepted, used = TransductiveBound().accept(Round(v.max(axis=1), v, v.argmax(axis=1), v, 1))
    >>> used["thresholds"], accepted
    (array([0.95, 0.8 ]), array([ True,  True, False,  True]))
    """

    index: str = "prediction"
    posterior: str = "initial"
    rescore = False
    _parameter_constraints: ClassVar = {
        "index": [StrOptions({"prediction", "confidence", "mixed"})],
        "posterior": [StrOptions({"initial", "current"})],
    }

    def accept(self, round: Round) -> Decision:
        """Accept the rows of a ``round`` that reach the threshold of their class."""
        votes = _unit_columns("class_confidence", round.class_confidence)  # (C, n)
        posterior = _unit_columns("posterior", round.posterior)  # (C, n)
        n_classes, n_rows = votes.shape

        # Two meanings of yhat, which differ if the index is "mixed".
        prediction = np.asarray(round.prediction)
        most_confident = votes.argmax(axis=0)
        class_in_bound = most_confident if self.index == "confidence" else prediction
        class_of_threshold = prediction if self.index == "prediction" else most_confident

        thresholds = np.empty(n_classes)
        bounds = np.empty(n_classes)
        for j in range(n_classes):
            thresholds[j], bounds[j] = _best_threshold(
                j, votes[j], posterior, is_predicted=class_in_bound == j
            )
        votes_of_class = votes[class_of_threshold, np.arange(n_rows)]
        accepted = votes_of_class >= thresholds[class_of_threshold]
        bound = float(bounds.sum() / max(1, n_rows))
        return Decision(accepted, {"thresholds": thresholds, "bound": bound})


# All policies, simplest first: what a model file may hold.
POLICIES = (FixedThreshold, KBest, Curriculum, TransductiveBound, RisingShare)


def _thin_out(accepted: Mask, round: Round, max_rows: int) -> Mask:
    """Thin more than ``max_rows`` rows out, evenly down the ranking of each class."""
    n_accepted = int(accepted.sum())
    if n_accepted <= max_rows:
        return accepted

    remaining = np.zeros_like(accepted)
    for c in np.unique(round.prediction[accepted]):
        rows = np.flatnonzero(accepted & (round.prediction == c))
        # The most confident row first.
        ranking = np.lexsort((*round.class_confidence[rows].T, -round.confidence[rows]))
        n_remaining = max(1, max_rows * len(rows) // n_accepted)
        places = np.arange(n_remaining) * len(rows) // n_remaining
        remaining[rows[ranking[places]]] = True
    return remaining


# -- The search for the thresholds of TransductiveBound ---------------------------------------


def _best_threshold(
    j: int, votes: Floats, posterior: Floats, is_predicted: Mask
) -> tuple[float, float]:
    """Find theta_j and N_j(theta_j) among the votes of rows predicted j."""
    if not is_predicted.any():
        return math.inf, 0.0

    # No threshold lies below the lowest vote of a row predicted j.
    rows = _sort_by_vote(votes, posterior, lowest=votes[is_predicted].min())
    v = votes[rows]  # (m,) ascending
    is_predicted = is_predicted[rows]  # (m,)
    thresholds, n_below = np.unique(v[is_predicted], return_index=True)  # (T,) each
    start = np.searchsorted(v, thresholds)  # (T,)

    bound = np.zeros(len(thresholds))  # N_j
    for i in np.delete(np.arange(len(posterior)), j):
        bound += _infimum(posterior[i, rows], v, is_predicted, start)
    n_accepted = is_predicted.sum() - n_below  # n_j
    best = np.argmin(bound / n_accepted)
    return thresholds[best], bound[best]


def _infimum(p: Floats, v: Floats, is_predicted: Mask, start: Indices) -> Floats:
    """Compute B_ij for thresholds at the given positions of the ascending votes v.

    The infimum is the value of a fractional knapsack of capacity kappa: maximise sum_x q_x + s
    subject to sum_x q_x v_x + s <= kappa, 0 <= q_x <= p_x on v_x >= theta, s >= 0. The lightest
    items go first: whole rows up to position ``end``. The capacity left goes to the row there, or
    to s, of weight 1.
    """
    kappa = (p * v)[is_predicted].sum()
    value = _prefix_sums(p)  # (m + 1,); S0 is a difference of two of them
    weight = _prefix_sums(p * v)  # (m + 1,); S1 is a difference of two of them
    end = np.searchsorted(weight, weight[start] + kappa, side="right") - 1  # in start..m
    capacity_left = np.maximum(0.0, kappa - (weight[end] - weight[start]))
    # A row that does not fit into the capacity left has a positive weight, so g > 0.
    g = np.append(v, 1.0)[end]
    value_of_whole_rows = value[end] - value[start]
    return value_of_whole_rows + capacity_left / g


def _sort_by_vote(votes: Floats, posterior: Floats, lowest: float) -> Indices:
    """Sort the rows with a vote of at least ``lowest`` by vote.

    Tied rows go by their posterior, so that the rounding of sums over the rows, and with it the
    choice among thresholds that are equally good, cannot depend on the order of the rows.
    """
    rows = np.flatnonzero(votes >= lowest)
    rows = rows[np.argsort(votes[rows])]
    v = votes[rows]

    # Few rows are tied, and only these are sorted by all columns.
    equals_next = v[1:] == v[:-1]
    tied = np.flatnonzero(np.append(equals_next, False) | np.append(False, equals_next))
    tied_rows = rows[tied]
    rows[tied] = tied_rows[np.lexsort((*posterior[:, tied_rows], v[tied]))]
    return rows


def _prefix_sums(values: Floats) -> Floats:
    """Sum the first 0, 1, ..., m values."""
    sums = np.zeros(len(values) + 1)
    np.cumsum(values, out=sums[1:])
    return sums


def _unit_columns(name: str, values: Array) -> Floats:
    """Check that values (n, C) lie in [0, 1]; return them as columns (C, n)."""
    columns = np.array(values.T, dtype=np.float64, order="C")
    # float32 rounding is forgiven; NaN is not.
    if not ((columns >= -1e-6) & (columns <= 1 + 1e-6)).all():
        raise ValueError(f"{name} must be finite and in [0, 1].")
    return np.clip(columns, 0.0, 1.0, out=columns)
