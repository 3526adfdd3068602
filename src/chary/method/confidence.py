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
    # The partition puts the two largest probabilities of each row last, in ascending order.
    two_largest = np.partition(probs, -2, axis=-1)[..., -2:]  # (n, 2)
    second, first = two_largest.T
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


# These confidences are computed from class probabilities (n, C). To add one, write a function
# above, a line here and a test.
CONFIDENCES: dict[str, Callable[[Floats], Floats]] = {
    "max_probability": max_probability,
    "margin": margin,
    "entropy": entropy,
    "purity": purity,
}
# These names of confidences are understood: ``max_probability`` has its usual name, too.
CONFIDENCES_BY_NAME = {**CONFIDENCES, "softmax": max_probability}
# These confidences are computed from the class probabilities (n, M, C) of an ensemble's members, by
# the functions of the same names below.
MEMBER_CONFIDENCES = ("t_similarity", "t_share")


# T-similarity takes about this many probabilities at a time. Its intermediate results then stay in
# the processor's cache, which halves the time (python benchmarks/similarity.py).
_NUMBERS_AT_ONCE = 50_000
# From so many probabilities of a row on, tensors are summed by norms, which copy nothing: a fifth
# of the time. With fewer, every value stays the same to the last bit.
_WIDE_ROW = 1_000
# Probabilities may miss a sum of 1 by rounding, in half precision too; logits miss it by more.
_SUM_TOLERANCE = 0.01


class Scores(NamedTuple):
    """Class probabilities of n rows, and how far they can be trusted."""

    probs: Floats  # (n, C)
    confidence: Floats  # (n,) in the predicted class
    class_confidence: Floats  # (n, C) in each class


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
        agreement_by_class = t_similarity(members, per_class=True, weights=weights)  # (n, C)
        agreement = agreement_by_class.sum(axis=1).clip(0, 1)  # (n,)
        return Scores(probs, agreement, agreement_by_class)
    if confidence == "t_share":
        shares = t_share(members, weights=weights)  # (n, C)
        rows = np.arange(len(probs))
        share_of_prediction = shares[rows, probs.argmax(axis=1)]  # (n,)
        return Scores(probs, share_of_prediction, shares)

    if confidence not in CONFIDENCES_BY_NAME:
        names = ", ".join((*MEMBER_CONFIDENCES, *CONFIDENCES))
        raise ValueError(f"kind={confidence!r} is not a confidence; choose one of {names}.")
    measure = CONFIDENCES_BY_NAME[confidence]
    if measure is max_probability:
        return Scores(probs, measure(probs), probs)
    return _scores_of_predictions(probs, measure(probs))


def _scores_of_predictions(probs: Floats, confidence: Floats) -> Scores:
    """Set the confidence (n,) at the predicted class of each row, and 0 at all other classes."""
    one_hot = np.eye(probs.shape[1], dtype=bool)  # (C, C); line c is True at c alone
    is_predicted = one_hot[probs.argmax(axis=1)]  # (n, C)
    class_confidence = np.where(is_predicted, confidence[:, None], 0)
    return Scores(probs, confidence, class_confidence)


class MembersMixin(ClassifierMixin):
    """The predicting methods of a classifier with members, all from ``predict_joint_proba``."""

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

    the mean product of two different heads. It is 1 if all heads are certain of the same class, and
    small if they disagree or hesitate: heads (0.8, 0.2) and (0.5, 0.5) give 0.8 * 0.5 + 0.2 * 0.5 =
    0.5. With weights, the pair of heads m and k counts w_m w_k. The class-wise value of class c is
    its term in these products, here 0.4 and 0.1; the terms of all classes sum to s.

    Parameters
    ----------
    head_probs : NumPy array or torch tensor of shape (n, M, C)
        Class probabilities of the M >= 2 heads, not logits. Arrays that do not sum to 1 are
        refused; tensors are not looked at, so that the function can be compiled.
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

    # A large array is taken block by block; a tensor, or a single row, all at once.
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
    """Compute the T-similarity of some rows, all at once.

    The products of different heads are the products of all pairs, which are the square of the sum,
    less the products of each head with itself.
    """
    if weights is not None:
        head_probs = head_probs * weights[:, None]  # (n, M, C)
    total = head_probs.sum(-2)  # (n, C)

    is_tensor = not isinstance(head_probs, np.ndarray)
    n_heads, n_classes = head_probs.shape[-2:]
    if not is_tensor:
        _check_sums(total, n_heads if weights is None else weights.sum())
    if is_tensor and not per_class and n_heads * n_classes >= _WIDE_ROW:
        squares_of_heads = head_probs.norm(dim=(-2, -1)).square()  # (n,)
        square_of_total = total.norm(dim=-1).square()  # (n,)
        return ((square_of_total - squares_of_heads) / weight_of_pairs).clip(0, 1)

    with_itself = (head_probs * head_probs).sum(-2)  # (n, C)
    agreement = (total * total - with_itself) / weight_of_pairs  # (n, C)
    # Rounding can put a value just outside of [0, 1].
    agreement = agreement.clip(0, 1)
    if per_class:
        return agreement
    return agreement.sum(-1).clip(0, 1)


def _check_sums(total: Floats, weight_of_heads: float) -> None:
    """Refuse heads whose numbers, summed over heads (n, C), do not sum to 1 for each head."""
    sums = total.sum(-1) / weight_of_heads  # (n,)
    is_off = np.abs(sums - 1) > _SUM_TOLERANCE
    if is_off.any():
        raise ValueError(
            f"The numbers of a head sum to {np.ravel(sums[is_off])[0]:.3g} over the classes; "
            "T-similarity needs class probabilities, which sum to 1: the softmax of logits."
        )


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

    Rows of similar confidence form a bin, in which the mean confidence should be the share of right
    predictions. In the example below one bin has all four rows: their confidence is 0.9, 0.75 of
    them are right, so the error is 0.15.

    .. math:: ECE = \sum_b \frac{n_b}{n} \, | \mathrm{accuracy}_b - \mathrm{confidence}_b |

    A confidence on the edge of two bins belongs to the lower one.

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

    inner_edges = edges[1:-1]
    bin_of_row = np.searchsorted(inner_edges, confidences)  # (n,)
    # The bins are numbered anew, so that bins without a row are left out: b of them remain.
    _, bin_of_row, n_rows = np.unique(bin_of_row, return_inverse=True, return_counts=True)
    accuracy = np.bincount(bin_of_row, is_right) / n_rows  # (b,)
    mean_confidence = np.bincount(bin_of_row, confidences) / n_rows  # (b,)
    return float(np.average(np.abs(accuracy - mean_confidence), weights=n_rows))


def risk_coverage_curve(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverageCurve:
    """Compute the error rate of the k most confident rows, for every k.

    Rows of equal confidence have no order. If three of them have one error, each counts as a third
    of an error: the mean over all orders. The area under the curve (AURC) is 0 if every
    prediction is right. It equals the error rate of all rows if the confidence does not tell right
    predictions from wrong ones.

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
    # Groups of rows of equal confidence, the most confident group first, with the rows in each.
    _, group_of_row, n_in_group = np.unique(-confidences, return_inverse=True, return_counts=True)
    error_rate_of_group = np.bincount(group_of_row, 1 - is_right) / n_in_group
    errors = np.repeat(error_rate_of_group, n_in_group)  # (n,) the most confident row first
    n_answered = np.arange(1, len(is_right) + 1)  # (n,)
    risk = np.cumsum(errors) / n_answered
    coverage = n_answered / len(is_right)
    return RiskCoverageCurve(coverage, risk, float(risk.mean()))


def confidence_auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Compute how well confidence separates right predictions from wrong ones.

    It is the chance that a right prediction is more confident than a wrong one, both drawn at
    random: 1 if confidence separates them fully, 0.5 if it says nothing. It is NaN if all
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
    are_shares = len(confidences) and confidences.min() >= 0 and confidences.max() <= 1
    are_flags = np.isin(is_right, (0, 1)).all()
    if not (are_shares and are_flags):
        raise ValueError(
            "confidence must hold numbers from 0 to 1, and correct whether a prediction was right."
        )
    return confidences, is_right
