"""Which labels of a round of self-training to accept.

A policy is an immutable object with one method, ``accept``. None looks at the order of the rows: those tied
at the cut are accepted together. (``max_rows`` takes any of the rows that have all scores equal.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chary.method.bound import transductive_thresholds


class Round(NamedTuple):
    """What a policy sees of one round: a pool of n unlabelled rows, C classes."""

    confidence: NDArray[Any]  #: (n,) one number per row, high is confident
    class_confidence: NDArray[Any]  #: (n, C) one number per row and class: softmax, class-wise T-similarity
    prediction: NDArray[np.intp]  #: (n,) class that the prediction head gives the row
    posterior: NDArray[Any]  #: (n, C) estimate of the class probabilities
    number: int  #: t = 1, 2, ...


class Acceptance(NamedTuple):
    """Which rows to accept, and what decided it."""

    accepted: NDArray[np.bool_]  #: (n,)
    used: dict[str, Any]  #: for the history: the threshold or the thresholds (C,), the share, the bound


class Policy(Protocol):
    """Anything with these two members can be the policy of a self-training loop."""

    @property
    def rescore(self) -> bool:
        """Whether each round scores the whole pool anew, so that accepted rows can be given back."""

    def accept(self, round: Round) -> Acceptance:
        """The rows to accept in this round."""


@dataclass(frozen=True)
class FixedThreshold:
    """Accept the rows whose confidence is at least ``threshold`` (pseudo-labelling, PL; Lee, 2013).

    A row at the threshold is accepted, as in the code of the paper's authors, where the paper prints a strict
    inequality: it matters where float32 probabilities are exactly 1.

    Parameters
    ----------
    threshold : float, default=0.8
        On the scale of the confidence that is used.
    """

    threshold: float = 0.8
    rescore = False

    def __post_init__(self) -> None:
        finite = _is_real(self.threshold) and math.isfinite(self.threshold)
        _require(finite, f"threshold={self.threshold!r} is not a finite number; give one such as 0.8.")

    def accept(self, round: Round) -> Acceptance:
        """The rows of this ``round`` at or above the threshold."""
        threshold = float(self.threshold)  # a plain float is compared in the confidence's own precision
        return Acceptance(round.confidence >= threshold, {"threshold": threshold})


@dataclass(frozen=True)
class Curriculum:
    """Accept a share of the pool that grows each round (CSTA; Cascante-Bonilla et al., 2021).

    Round t = 1, 2, ... accepts the rows at or above the q_t-quantile of the pool's confidence, linearly
    interpolated, with q_t = max(0, 1 - t * step). With step 0.4 that is 40 % of the pool, then 80 % of
    what is left, then all. Rows tied with the quantile are accepted too.

    Parameters
    ----------
    step : float in (0, 1], default=0.4
    rescore : bool, default=False
        Score the whole original pool anew each round, as the original curriculum labelling does, instead
        of freezing the rows once they are accepted.
    """

    step: float = 0.4
    rescore: bool = False

    def __post_init__(self) -> None:
        _require_share("step", self.step)
        _require_flag("rescore", self.rescore)

    def accept(self, round: Round) -> Acceptance:
        """The rows at or above the round's quantile."""
        # Rounded, because 1 - 49 * (1 / 49) is not 0, and at q = 0 every row must be accepted.
        quantile = max(0.0, np.round(1 - round.number * self.step, 12))
        confidence = np.asarray(round.confidence, dtype=np.float64)
        threshold = float(np.quantile(confidence, quantile)) if confidence.size else math.inf
        return Acceptance(confidence >= threshold, {"threshold": threshold})


@dataclass(frozen=True)
class TopK:
    """Accept the ``k`` rows of highest confidence, and those tied with the k-th.

    scikit-learn's ``k_best`` accepts k rows even if the k-th is tied, and then which ones depends on the
    order of the rows; here a tie can make the number larger than k.

    Parameters
    ----------
    k : int >= 1, default=10
    """

    k: int = 10
    rescore = False

    def __post_init__(self) -> None:
        _require_count("k", self.k)

    def accept(self, round: Round) -> Acceptance:
        """The rows of this ``round`` at or above the k-th highest confidence."""
        threshold = _kth_highest(round.confidence, self.k)
        return Acceptance(round.confidence >= threshold, {"threshold": threshold})


@dataclass(frozen=True)
class ClassBalanced:
    """Accept the most confident ``share`` of the rows of each predicted class, at least one of each.

    Of n_c rows predicted as class c the floor(share * n_c) most confident are accepted, or one, and those
    tied with the last of them.

    Parameters
    ----------
    share : float in (0, 1], default=0.2
    """

    share: float = 0.2
    rescore = False

    def __post_init__(self) -> None:
        _require_share("share", self.share)

    def accept(self, round: Round) -> Acceptance:
        """The top share of each predicted class in this ``round``."""
        return _accept_top_share(round, self.share)


@dataclass(frozen=True)
class RisingShare:
    """``ClassBalanced`` with a share that rises linearly from ``first`` to ``last`` and then stays there.

    Round t = 1, ..., n_rounds keeps the share first + (last - first) * (t - 1) / (n_rounds - 1) of each
    predicted class.

    Parameters
    ----------
    first, last : float in (0, 1], default=0.2 and 0.8
    n_rounds : int >= 1, default=5
        The round that reaches ``last``. (1: round 1 keeps ``first``, all later ones ``last``.)
    rescore : bool, default=True
        Score the whole pool anew each round, so that early mistakes can be taken back.
    max_rows : int >= 1, default=None
        So many of more rows, at least one of each class, evenly spaced down its ranking: bounds the cost.
    """

    first: float = 0.2
    last: float = 0.8
    n_rounds: int = 5
    rescore: bool = True
    max_rows: int | None = None

    def __post_init__(self) -> None:
        _require_share("first", self.first)
        _require_share("last", self.last)
        rises = self.first <= self.last
        _require(rises, f"first={self.first!r} is above last={self.last!r}; the share must not fall.")
        _require_count("n_rounds", self.n_rounds)
        _require_flag("rescore", self.rescore)
        if self.max_rows is not None:
            _require_count("max_rows", self.max_rows)

    def accept(self, round: Round) -> Acceptance:
        """The round's share of each predicted class."""
        progress = min(1.0, (round.number - 1) / max(1, self.n_rounds - 1))
        accepted, used = _accept_top_share(round, float((1 - progress) * self.first + progress * self.last))
        return Acceptance(_thinned(accepted, round, self.max_rows or len(accepted)), used)


@dataclass(frozen=True)
class TransductiveBound:
    """Accept by class thresholds that minimise a bound on the error per accepted row (MSTA).

    The thresholds are those of ``chary.method.bound.transductive_thresholds``, which has the maths. The history
    gets them and the ``bound`` R = (1/n) sum_j N_j(theta_j): n * R bounds the expected number of wrong labels
    among the accepted rows, if the posterior is right.

    Parameters
    ----------
    search : {"exact", "grid"}, default="exact"
        "grid" is the published search, for reproduction.
    objective : {"per_class", "joint"}, default="per_class"
        One ratio per class, as in the published code, or one over the whole vector, as in the paper.
    index : {"confidence", "prediction", "mixed"}, default="confidence"
        The class whose threshold a row has to reach: the one of highest class-wise confidence, as
        published, or the one that the prediction head gives it. They differ on some rows when the
        confidence is the T-similarity; the pseudo-label is the prediction head's in either case. With
        "prediction" the bound counts the rows of the prediction head too; with "mixed" it does, and the
        threshold to reach is all the same that of the class of highest confidence. That is nearest to the
        numbers that the paper prints, but the bound is then not one of the rows that are accepted.
    posterior : {"initial", "current"}, default="initial"
        Whose class probabilities the self-training loop hands over: those of the model of the labelled
        rows alone, or of the round's model.

    References
    ----------
    Feofanov, Devijver and Amini (2019), Transductive bounds for the multi-class majority vote classifier.
    """

    search: str = "exact"
    objective: str = "per_class"
    index: str = "confidence"
    posterior: str = "initial"
    rescore = False

    def __post_init__(self) -> None:
        _require_choice("search", self.search, ("exact", "grid"))
        _require_choice("objective", self.objective, ("per_class", "joint"))
        _require_choice("index", self.index, ("confidence", "prediction", "mixed"))
        _require_choice("posterior", self.posterior, ("initial", "current"))

    def accept(self, round: Round) -> Acceptance:
        """The rows of this ``round`` that reach the threshold of their class."""
        index = None if self.index == "confidence" else np.asarray(round.prediction)
        held_to = np.argmax(round.class_confidence, axis=1) if self.index == "mixed" else None
        best = transductive_thresholds(
            round.class_confidence,
            round.posterior,
            index,
            held_to=held_to,
            search=self.search,
            objective=self.objective,
        )
        return Acceptance(best.accepted, {"thresholds": best.thresholds, "bound": best.bound})


def policy_params(policy: Any) -> dict[str, Any]:
    """The parameters of a policy that is a dataclass; none of any other.

    >>> policy_params(Curriculum())
    {'step': 0.4, 'rescore': False}
    """
    params = fields(policy) if is_dataclass(policy) else ()
    return {param.name: getattr(policy, param.name) for param in params if param.init}


def changed_policy(policy: Any, changes: dict[str, Any]) -> Any:
    """Another policy, like this one but for some parameters.

    >>> changed_policy(Curriculum(rescore=True), {"step": 0.2})
    Curriculum(step=0.2, rescore=True)
    """
    known = list(policy_params(policy))
    for name in changes:
        if name not in known:
            raise ValueError(f"Invalid parameter {name!r} for policy {policy!r}. Valid parameters are: {known!r}.")
    return replace(policy, **changes)


# All of them, simplest first: what a model file may hold.
POLICIES = (FixedThreshold, Curriculum, TransductiveBound, TopK, ClassBalanced, RisingShare)


def _accept_top_share(round: Round, share: float) -> Acceptance:
    """The floor(share * n_c) most confident rows of each predicted class, at least one, ties included."""
    thresholds = np.full(round.class_confidence.shape[1], np.inf)  # (C,)
    for c, n_rows in enumerate(np.bincount(round.prediction)):
        n_kept = max(1, math.floor(share * n_rows + 1e-9))  # 0.29 * 100 is below 29
        thresholds[c] = _kth_highest(round.confidence[round.prediction == c], n_kept)
    accepted = round.confidence >= thresholds[round.prediction]
    return Acceptance(accepted, {"share": share, "thresholds": thresholds})


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


def _kth_highest(values: NDArray[Any], k: int) -> float:
    """The k-th highest value, the lowest of fewer than k, infinity of none."""
    cut = max(0, len(values) - k)
    return float(np.partition(values, cut)[cut]) if len(values) else math.inf


def _require(condition: bool, sentence: str) -> None:
    if not condition:
        raise ValueError(sentence)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _require_share(name: str, value: Any) -> None:
    within = _is_real(value) and 0 < value <= 1
    _require(within, f"{name}={value!r} is not a share; give a number above 0 and at most 1.")


def _require_count(name: str, value: Any) -> None:
    counts = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    _require(counts, f"{name}={value!r} is not a count; give a whole number of at least 1.")


def _require_flag(name: str, value: Any) -> None:
    _require(isinstance(value, bool | np.bool_), f"{name}={value!r} is not a flag; give True or False.")


def _require_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    known = isinstance(value, str) and value in choices
    *others, last = map(repr, choices)
    _require(known, f"{name}={value!r} is unknown; give {', '.join(others)} or {last}.")
