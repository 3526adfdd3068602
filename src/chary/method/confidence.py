"""Confidences in [0, 1]: how far each prediction can be trusted, and how good such numbers are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr
from sklearn.base import ClassifierMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_consistent_length, column_or_1d

from chary._arrays import Array, Floats


def softmax(logits: Floats) -> Floats:
    """Turn logits (..., C) into class probabilities, in place."""
    logits -= logits.max(axis=-1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-1, keepdims=True)
    return logits


def max_probability(probs: Floats) -> Floats:
    """Return the largest class probability of each row, the usual "softmax" confidence.

    Parameters
    ----------
    probs : array of shape (n, C)
        Class probabilities of each row.

    Examples
    --------
    >>> max_probability(np.array([[0.9, 0.1], [0.5, 0.5]]))
    array([0.9, 0.5])
    """
    return probs.max(axis=-1)


def margin(probs: Floats) -> Floats:
    """Return the largest minus the second largest class probability of each row.

    Parameters
    ----------
    probs : array of shape (n, C)
        Class probabilities of each row.

    Examples
    --------
    >>> margin(np.array([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]))
    array([0.5, 0. ])
    """
    second, first = np.partition(probs, -2, axis=-1)[..., -2:].T  # each (n,)
    return first - second


def entropy(probs: Floats) -> Floats:
    """Return one minus the entropy of each row, as a share of log(C).

    log(C) is the largest entropy of C classes: the confidence is 1 for a certain row and 0 for a
    uniform one.

    Parameters
    ----------
    probs : array of shape (n, C)
        Class probabilities of each row.

    Examples
    --------
    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([1., 0.])
    """
    n_classes = probs.shape[-1]
    return np.clip(1 - entr(probs).sum(axis=-1) / np.log(n_classes), 0, 1)


def purity(probs: Floats) -> Floats:
    """Return one minus the Gini impurity of each row.

    That is the chance that two labels drawn from the probabilities are the same.

    Parameters
    ----------
    probs : array of shape (n, C)
        Class probabilities of each row.

    Examples
    --------
    >>> purity(np.array([[1.0, 0.0], [0.5, 0.5]]))
    array([1. , 0.5])
    """
    return np.square(probs).sum(axis=-1).clip(0, 1)


# Confidences from class probabilities (n, C). A new one is a function above, a line here and a
# test.
CONFIDENCES: dict[str, Callable[[Floats], Floats]] = {
    "max_probability": max_probability,
    "margin": margin,
    "entropy": entropy,
    "purity": purity,
}
# ``CONFIDENCES``, with ``max_probability`` under its usual name too.
CONFIDENCES_BY_NAME = {**CONFIDENCES, "softmax": max_probability}
# Confidences from the class probabilities (n, M, C) of an ensemble's members, see below.
MEMBER_CONFIDENCES = ("t_similarity", "t_share")


# T-similarity takes so many probabilities at a time: what it makes of them stays in the processor's
# cache, which halves the time (benchmarks/similarity.py).
_NUMBERS_AT_ONCE = 50_000


class Scores(NamedTuple):
    """The predictions of n rows."""

    probs: Floats  # (n, C)
    confidence: Floats  # (n,)
    class_confidence: Floats  # (n, C)


def scores_of(
    probs: Floats,
    confidence: str | Floats,
    members: Floats | None = None,
    weights: Floats | None = None,
) -> Scores:
    """Compute the confidence of each row, and of each of its classes.

    Parameters
    ----------
    probs : array of shape (n, C)
        Class probabilities.
    confidence : str, or array of shape (n,) or (n, C)
        A name of ``MEMBER_CONFIDENCES`` or ``CONFIDENCES_BY_NAME``, or confidences computed by the
        caller.
    members : array of shape (n, M, C), default=None
        Class probabilities of the members, for a name of ``MEMBER_CONFIDENCES``.
    weights : array of shape (M,), default=None
        Weight of each member; equal when None.
    """
    if not isinstance(confidence, str):
        if confidence.ndim == 2:
            return Scores(probs, confidence.max(axis=1), confidence)
        return _scores_of_predictions(probs, confidence)
    if confidence == "t_similarity":
        agreement = t_similarity(members, per_class=True, weights=weights)  # (n, C)
        return Scores(probs, agreement.sum(axis=1).clip(0, 1), agreement)
    if confidence == "t_share":
        shares = t_share(members, weights=weights)  # (n, C)
        return Scores(probs, shares[np.arange(len(probs)), probs.argmax(axis=1)], shares)

    if confidence not in CONFIDENCES_BY_NAME:
        names = ", ".join((*MEMBER_CONFIDENCES, *CONFIDENCES))
        raise ValueError(f"kind={confidence!r} is not a confidence; choose one of {names}.")
    measure = CONFIDENCES_BY_NAME[confidence]
    if measure is max_probability:
        return Scores(probs, measure(probs), probs)
    return _scores_of_predictions(probs, measure(probs))


def _scores_of_predictions(probs: Floats, confidence: Floats) -> Scores:
    """Set the confidence (n,) at the predicted class of each row, and 0 at all other classes."""
    is_predicted = np.eye(probs.shape[1], dtype=bool)[probs.argmax(axis=1)]  # (n, C)
    return Scores(probs, confidence, np.where(is_predicted, confidence[:, None], 0))


class MembersMixin(ClassifierMixin):
    """Predictions of a classifier that has members, from its ``predict_joint_proba``."""

    classes_: Array
    head_weights_: Floats | None = None  # how much each member counts in the T-similarity, (M,)

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """Return ``predict_proba`` and ``predict_head_proba`` in one pass over the rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> Array:
        """Predict the label of each row."""
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities (n, C)."""
        return self.predict_joint_proba(X)[0]

    def predict_head_proba(self, X: Any) -> Floats:
        """Return class probabilities (n, M, C) of the members."""
        return self.predict_joint_proba(X)[1]

    def predict_confidence(self, X: Any, kind: str = "t_similarity") -> Floats:
        """Compute how far each prediction can be trusted, (n,) in [0, 1].

        Parameters
        ----------
        X : array-like of shape (n, d)
        kind : str, default="t_similarity"
            ``"t_similarity"`` is the agreement of the members, ``"t_share"`` the share of the
            predicted class in that agreement; the confidences of ``chary.method.CONFIDENCES``, such
            as ``"max_probability"``, look at the class probabilities.
        """
        probs, members = self.predict_joint_proba(X)
        return scores_of(probs, kind, members, self.head_weights_).confidence


def t_similarity(head_probs: Any, per_class: bool = False, *, weights: Any = None) -> Any:
    r"""Measure how far the heads of an ensemble agree on each row.

    With h_m the class probabilities of head m = 1..M, the T-similarity of a row is

    .. math:: s = \frac{1}{M (M - 1)} \sum_{m \ne k} h_m^\top h_k
                = \frac{\lVert \sum_m h_m \rVert^2 - \sum_m \lVert h_m \rVert^2}{M (M - 1)},

    1 when all heads are certain of the same class and small when they disagree or hesitate. With
    weights w_m a pair counts w_m w_k. The class-wise value keeps the term of each class apart; the
    terms sum to s.

    Parameters
    ----------
    head_probs : NumPy array or torch tensor of shape (n, M, C)
        Class probabilities of the M >= 2 heads.
    per_class : bool, default=False
        Return the C class-wise terms instead of their sum.
    weights : array or tensor of shape (M,), default=None
        Weights of the heads, none negative and two positive; equal when None.

    Returns
    -------
    array or tensor of shape (n,), or (n, C) with ``per_class``

    Examples
    --------
    >>> agree = [[1.0, 0.0], [1.0, 0.0]]
    >>> disagree = [[1.0, 0.0], [0.0, 1.0]]
    >>> t_similarity(np.array([agree, disagree]))
    array([1., 0.])
    """
    n_heads = head_probs.shape[-2]
    if n_heads < 2:
        raise ValueError(
            f"T-similarity compares heads with each other: got {n_heads}, at least 2 are needed."
        )
    if weights is None:
        weight_of_pairs = n_heads * (n_heads - 1)
    else:
        # The sum of w_m w_k over all m != k.
        weight_of_pairs = (weights * (weights.sum() - weights)).sum()
        if weights.min() < 0 or not weight_of_pairs > 0:
            raise ValueError(
                f"The weights of the heads must be at least 0, two of them positive; got {weights}."
            )

    has_rows = isinstance(head_probs, np.ndarray) and head_probs.ndim > 2
    if not has_rows or head_probs.size <= _NUMBERS_AT_ONCE:
        return _agreement(head_probs, weights, weight_of_pairs, per_class)
    n_blocks = min(len(head_probs), head_probs.size // _NUMBERS_AT_ONCE + 1)
    blocks = [
        _agreement(block, weights, weight_of_pairs, per_class)
        for block in np.array_split(head_probs, n_blocks)
    ]
    return np.concatenate(blocks)


def _agreement(head_probs: Any, weights: Any, weight_of_pairs: Any, per_class: bool) -> Any:
    """Compute the T-similarity of some rows, all at once."""
    if weights is not None:
        head_probs = head_probs * weights[:, None]  # (n, M, C)
    total = head_probs.sum(-2)  # (n, C)
    agreement = (total * total - (head_probs * head_probs).sum(-2)) / weight_of_pairs  # (n, C)
    # Rounding can put a value just outside of [0, 1].
    agreement = agreement.clip(0, 1)
    if per_class:
        return agreement
    return agreement.sum(-1).clip(0, 1)


def t_share(head_probs: Any, prediction: Any = None, *, weights: Any = None) -> Any:
    r"""Compute each class's share in the agreement of an ensemble's heads.

    With t_c the class-wise T-similarity of a row,

    .. math:: u_c = t_c \Big/ \sum_k t_k,

    or 0 for all classes if no two heads agree on anything. It says what the heads agree on, not how
    far they agree: heads that all hesitate between two classes give both 1/2, and the T-similarity
    is low.

    Parameters
    ----------
    head_probs : NumPy array of shape (n, M, C)
        Class probabilities of the M >= 2 heads.
    prediction : array of shape (n,), default=None
        Class index that the model predicts for each row; if given, only the share of this class is
        returned.
    weights : array of shape (M,), default=None
        Weights of the heads, as in ``t_similarity``.

    Returns
    -------
    array of shape (n,) with ``prediction``, else (n, C)

    Examples
    --------
    >>> heads = np.array([[[0.8, 0.2], [0.6, 0.4]], [[1.0, 0.0], [0.0, 1.0]]])
    >>> t_share(heads, np.array([0, 0]))
    array([0.85714286, 0.        ])
    """
    agreement = t_similarity(head_probs, per_class=True, weights=weights)  # (n, C)
    total = agreement.sum(-1, keepdims=True)
    shares = np.divide(agreement, total, out=np.zeros_like(agreement), where=total > 0)
    if prediction is None:
        return shares
    return shares[np.arange(len(shares)), prediction]


class RiskCoverageCurve(NamedTuple):
    """Risk by coverage: an entry for each row, from the most to the least confident."""

    coverage: Floats  #: share of rows answered
    risk: Floats  #: share of errors among the answered rows
    area: float  #: mean risk over all coverages


def expected_calibration_error(
    confidence: ArrayLike,
    correct: ArrayLike,
    n_bins: int = 15,
    bins: Literal["width", "mass"] = "width",
) -> float:
    r"""Compute how far confidence is from accuracy, on average over bins.

    A confidence on the edge of two bins belongs to the lower one.

    .. math:: ECE = \sum_b \frac{n_b}{n} \, | \mathrm{accuracy}_b - \mathrm{confidence}_b |

    Parameters
    ----------
    confidence : array-like of shape (n,)
        From 0 to 1.
    correct : array-like of shape (n,), bool
        Whether each prediction is right.
    n_bins : int, default=15
        How many bins.
    bins : {"width", "mass"}, default="width"
        Bins of equal width on [0, 1], or with equally many rows.

    Examples
    --------
    >>> round(expected_calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 2)
    0.15
    """
    confidences, is_right = _check_confidences(confidence, correct)
    quantiles = np.linspace(0, 1, n_bins + 1)
    if bins == "width":
        edges = quantiles
    elif bins == "mass":
        edges = np.percentile(confidences, quantiles * 100)
    else:
        raise ValueError(f"bins={bins!r} is not known; choose 'width' or 'mass'.")

    bin_of_row = np.searchsorted(edges[1:-1], confidences)
    # Bins without a row are left out.
    _, bin_of_row, n_rows = np.unique(bin_of_row, return_inverse=True, return_counts=True)
    accuracy = np.bincount(bin_of_row, is_right) / n_rows
    mean_confidence = np.bincount(bin_of_row, confidences) / n_rows
    return float(np.average(np.abs(accuracy - mean_confidence), weights=n_rows))


def risk_coverage_curve(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverageCurve:
    """Compute the error rate of the k most confident rows, for every k.

    Rows of equal confidence share their errors evenly, which is the mean over all their orders. The
    area (AURC) is 0 when every prediction is right. It equals the error rate when the confidence
    does not tell right predictions from wrong ones.

    Parameters
    ----------
    confidence : array-like of shape (n,)
        From 0 to 1.
    correct : array-like of shape (n,), bool
        Whether each prediction is right.

    Returns
    -------
    RiskCoverageCurve
        ``coverage`` and ``risk``, arrays of shape (n,), and ``area``.

    Examples
    --------
    >>> risk_coverage_curve([0.9, 0.8, 0.1], [True, True, False]).risk.round(2).tolist()
    [0.0, 0.0, 0.33]
    """
    confidences, is_right = _check_confidences(confidence, correct)
    # Groups of equal confidence, the most confident first.
    _, group_of_row, size = np.unique(-confidences, return_inverse=True, return_counts=True)
    error_rate = np.bincount(group_of_row, 1 - is_right) / size
    n_answered = np.arange(1, len(is_right) + 1)  # (n,)
    risk = np.cumsum(np.repeat(error_rate, size)) / n_answered
    return RiskCoverageCurve(n_answered / len(is_right), risk, float(risk.mean()))


def confidence_auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Compute how well confidence separates right predictions from wrong ones.

    It is the chance that a right prediction is more confident than a wrong one, and NaN when all
    predictions are right, or none.

    Parameters
    ----------
    confidence : array-like of shape (n,)
        From 0 to 1.
    correct : array-like of shape (n,), bool
        Whether each prediction is right.

    Examples
    --------
    >>> confidence_auroc([0.9, 0.8, 0.1], [True, True, False])
    1.0
    """
    confidences, is_right = _check_confidences(confidence, correct)
    if not 0 < is_right.mean() < 1:
        return math.nan
    return float(roc_auc_score(is_right, confidences))


def _check_confidences(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    """Check confidences and whether predictions are right; return both as floats."""
    confidences = np.asarray(column_or_1d(confidence), dtype=np.float64)
    is_right = np.asarray(column_or_1d(correct), dtype=np.float64)
    check_consistent_length(confidences, is_right)
    in_range = len(confidences) and confidences.min() >= 0 and confidences.max() <= 1
    if not (in_range and np.isin(is_right, (0, 1)).all()):
        raise ValueError(
            "confidence must hold numbers from 0 to 1, and correct whether a prediction was right."
        )
    return confidences, is_right
