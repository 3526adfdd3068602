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

# A parameter that is a share must be above 0 and at most 1.
_SHARE = Interval(Real, 0, 1, closed="right")
# A parameter that is a count must be a whole number of at least 1.
_COUNT = Interval(Integral, 1, None, closed="left")


class Round(NamedTuple):
    """What a policy sees of one round: a pool of n unlabelled rows, C classes."""

    #: (n,) the confidence in the predicted class of each row; the higher, the surer
    confidence: Array
    #: (n, C) the confidence in each class, such as softmax or class-wise T-similarity
    class_confidence: Array
    #: (n,) the class that the prediction head gives each row, as a place in ``model.classes_``
    prediction: Ints
    #: (n, C) an estimate of the class probabilities
    posterior: Array
    #: the number of the round: 1, 2, ...
    number: int
    #: the classifier of this round, fitted
    model: Any = None
    #: (N, ...) all rows that take part, labelled or not, as they were given to ``fit``
    X: Any = None
    #: (N,) the label of each row of ``X``, given or accepted, as a place in ``model.classes_``;
    #: -1 for a row without a label
    labels: Ints | None = None
    #: (n,) where in ``X`` each row of the pool stands: pool row i is ``X[rows[i]]``
    rows: Ints | None = None


class Decision(NamedTuple):
    """A policy's answer: the rows to accept, and what decided it."""

    #: (n,) a boolean for each row of the pool
    accepted: Mask
    #: what the policy decided by, for the history: one threshold or one for each class (C,), the
    #: share of rows, or the bound, by name
    used: dict[str, Any]


class Policy(Protocol):
    """Anything with ``accept`` can be the policy of a self-training loop.

    Two attributes are optional. With ``rescore = True`` each round scores the whole pool anew and
    may withdraw labels that an earlier round accepted. With ``posterior = "initial"``, the field
    ``posterior`` of every ``Round`` comes from the first model, which has learned from the given
    labels alone, and not from the model of the round.
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
            threshold = float(_kth_largest(confidence, k))
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

    The share rises in equal steps from ``first`` in round 1 to ``last`` in round ``n_rounds``, and
    then stays there. By default rounds 1 to 5 take 20 %, 35 %, 50 %, 65 % and 80 %: round t takes
    first + (last - first) * (t - 1) / (n_rounds - 1). Of the n_c rows that are predicted as class
    c, the max(1, floor(share * n_c)) most confident ones are accepted, and all rows tied with the
    last of them: with 20 %, 3 of 17 rows.

    Parameters
    ----------
    first, last : float in (0, 1], default=0.2 and 0.8
    n_rounds : int >= 1, default=5
        The round that reaches ``last``. (1: round 1 takes ``first``, all later ones ``last``.)
    rescore : bool, default=True
        Score the whole pool anew each round, so that early mistakes can be taken back.
    max_rows : int >= 1, default=None
        About this many rows are accepted at most, to bound the cost of the fits. If there are more,
        every class is thinned out in proportion, down to one row at least: its rows are ranked by
        confidence, and rows evenly spaced in this ranking are accepted. None: no limit.
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
        n_steps = max(1, self.n_rounds - 1)  # from ``first`` to ``last``
        progress = min(1.0, (round.number - 1) / n_steps)
        share = float((1 - progress) * self.first + progress * self.last)

        # The threshold of a class is the confidence of its last accepted row. It stays infinite for
        # a class that no row is predicted as.
        n_classes = round.class_confidence.shape[1]
        thresholds = np.full(n_classes, np.inf)  # (C,)
        for c in np.unique(round.prediction):
            is_predicted = round.prediction == c
            confidence_of_class = round.confidence[is_predicted]  # (n_c,)
            # In floats 0.29 * 100 is a little below 29, and should count as 29.
            n_accepted = max(1, math.floor(share * len(confidence_of_class) + 1e-9))
            thresholds[c] = _kth_largest(confidence_of_class, n_accepted)

        threshold_of_row = thresholds[round.prediction]  # (n,)
        accepted = round.confidence >= threshold_of_row
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

        # yhat has two uses: the bound counts each row as ``class_in_bound``, and the row has to
        # reach the threshold of ``class_of_threshold``. They differ only if the index is "mixed".
        prediction = np.asarray(round.prediction)  # (n,)
        most_confident = votes.argmax(axis=0)  # (n,)
        if self.index == "prediction":
            class_in_bound = prediction
            class_of_threshold = prediction
        elif self.index == "confidence":
            class_in_bound = most_confident
            class_of_threshold = most_confident
        else:
            class_in_bound = prediction
            class_of_threshold = most_confident

        thresholds = np.empty(n_classes)  # theta_j
        bounds = np.empty(n_classes)  # N_j(theta_j)
        for j in range(n_classes):
            is_predicted = class_in_bound == j  # (n,)
            thresholds[j], bounds[j] = _best_threshold(j, votes[j], posterior, is_predicted)

        vote_of_row = votes[class_of_threshold, np.arange(n_rows)]  # (n,) v_yhat(x)
        threshold_of_row = thresholds[class_of_threshold]  # (n,) theta_yhat
        accepted = vote_of_row >= threshold_of_row
        bound = float(bounds.sum() / max(1, n_rows))
        return Decision(accepted, {"thresholds": thresholds, "bound": bound})


# These are all policies, the simplest first. A model file may hold any of them.
POLICIES = (FixedThreshold, KBest, Curriculum, TransductiveBound, RisingShare)


def _kth_largest(values: Array, k: int) -> Any:
    """Return the k-th largest of the values.

    >>> int(_kth_largest(np.array([3, 9, 5]), k=2))
    5
    """
    return np.partition(values, -k)[-k]


def _thin_out(accepted: Mask, round: Round, max_rows: int) -> Mask:
    """Thin the accepted rows out if they are more than ``max_rows``.

    Every predicted class is thinned out in proportion, but never to nothing. Its rows are ranked,
    the most confident first, and rows evenly spaced in the ranking remain: 4 of 10 rows are those
    at the places 0, 2, 5 and 7.
    """
    n_accepted = int(accepted.sum())
    if n_accepted <= max_rows:
        return accepted

    remaining = np.zeros_like(accepted)
    for c in np.unique(round.prediction[accepted]):
        rows = np.flatnonzero(accepted & (round.prediction == c))  # row numbers in the pool
        # The last key counts most. The others order rows of equal confidence by what they hold.
        ranking = np.lexsort((*round.class_confidence[rows].T, -round.confidence[rows]))
        n_remaining = max(1, max_rows * len(rows) // n_accepted)
        places = np.arange(n_remaining) * len(rows) // n_remaining  # in the ranking
        remaining[rows[ranking[places]]] = True
    return remaining


# -- The search for the thresholds of TransductiveBound ---------------------------------------


def _best_threshold(
    j: int, votes: Floats, posterior: Floats, is_predicted: Mask
) -> tuple[float, float]:
    """Find the threshold theta_j of class j and its bound N_j(theta_j).

    The candidates for the threshold are the T different votes of rows predicted j.

    Parameters
    ----------
    j : int
        The class.
    votes : array of shape (n,)
        The votes v_j for this class.
    posterior : array of shape (C, n)
        The class probabilities p_i of every row.
    is_predicted : array of shape (n,), bool
        Whether each row is predicted j.
    """
    if not is_predicted.any():
        return math.inf, 0.0

    # Only the m rows from the lowest candidate on take part, in ascending order of their votes.
    rows = _sort_by_vote(votes, posterior, lowest=votes[is_predicted].min())
    v = votes[rows]  # (m,)
    is_predicted = is_predicted[rows]  # (m,)

    # For each candidate: how many rows predicted j have a lower vote, and where among all m rows
    # the first vote stands that reaches it.
    thresholds, n_below = np.unique(v[is_predicted], return_index=True)  # (T,) each
    start = np.searchsorted(v, thresholds)  # (T,)

    bound = np.zeros(len(thresholds))  # (T,) N_j
    for i in range(len(posterior)):
        if i != j:
            bound += _infimum(posterior[i, rows], v, is_predicted, start)
    n_accepted = is_predicted.sum() - n_below  # (T,) n_j
    best = np.argmin(bound / n_accepted)
    return thresholds[best], bound[best]


def _infimum(p: Floats, v: Floats, is_predicted: Mask, start: Indices) -> Floats:
    """Compute the bound B_ij for all T candidate thresholds at once.

    B_ij is also the value of the best load of a knapsack. An item is a row x whose vote reaches the
    threshold; it has the weight p_x v_x and the value p_x, and a part of it may be taken. A last
    item of any size has as much value as weight. The capacity is kappa: maximise sum_x q_x + s
    subject to sum_x q_x v_x + s <= kappa, 0 <= q_x <= p_x on v_x >= theta, s >= 0. The best load
    takes the items with the lowest votes first, as these weigh least for their value: whole rows up
    to position ``end``, then a part of the row there, or of the last item if no row is left.

    Parameters
    ----------
    p : array of shape (m,)
        The probability p_i of each row.
    v : array of shape (m,)
        Its vote v_j, in ascending order.
    is_predicted : array of shape (m,), bool
        Whether each row is predicted j.
    start : array of shape (T,)
        For each threshold, the position of the first vote that reaches it.
    """
    weights = p * v
    kappa = weights[is_predicted].sum()
    value = _prefix_sums(p)  # (m + 1,) of the first 0, 1, ..., m rows
    weight = _prefix_sums(weights)  # (m + 1,)

    # The rows from ``start`` to just before ``end`` fit into the knapsack as a whole.
    most_weight = weight[start] + kappa
    end = np.searchsorted(weight, most_weight, side="right") - 1  # (T,) in start..m
    value_of_whole_rows = value[end] - value[start]  # S0
    weight_of_whole_rows = weight[end] - weight[start]  # S1

    # The capacity left goes to a part of the row at ``end``, or of the last item, whose vote is 1.
    # A row that does not fit into it has a positive weight, so g > 0.
    capacity_left = np.maximum(0.0, kappa - weight_of_whole_rows)
    g = np.append(v, 1.0)[end]
    return value_of_whole_rows + capacity_left / g


def _sort_by_vote(votes: Floats, posterior: Floats, lowest: float) -> Indices:
    """Return the numbers of the rows with a vote of at least ``lowest``, in ascending order of it.

    Tied rows go by their posterior (C, n), so that the rounding of sums over the rows, and with it
    the choice among thresholds that are equally good, cannot depend on the order of the rows.
    """
    rows = np.flatnonzero(votes >= lowest)
    rows = rows[np.argsort(votes[rows])]
    v = votes[rows]  # (m,) ascending

    # Few rows are tied, and only these are sorted by all columns. A row is tied if its vote equals
    # that of the row after it or before it.
    equals_next = v[1:] == v[:-1]  # (m - 1,)
    is_tied = np.append(equals_next, False) | np.append(False, equals_next)  # (m,)
    places = np.flatnonzero(is_tied)
    tied_rows = rows[places]
    # The last key, the vote, counts most: so every tied row stays among those of its vote.
    order = np.lexsort((*posterior[:, tied_rows], v[places]))
    rows[places] = tied_rows[order]
    return rows


def _prefix_sums(values: Floats) -> Floats:
    """Sum the first 0, 1, ..., m values.

    >>> _prefix_sums(np.array([2.0, 3.0]))
    array([0., 2., 5.])
    """
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
