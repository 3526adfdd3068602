"""How far a confidence can be trusted, once it is known which predictions were right."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_consistent_length, column_or_1d

Floats = NDArray[np.float64]
Bins = Literal["width", "mass"]


class RiskCoverageCurve(NamedTuple):
    """One entry per row, from the most to the least confident."""

    coverage: Floats  #: share of rows answered
    risk: Floats  #: share of errors among them
    area: float  #: mean risk over all coverages


def expected_calibration_error(
    confidence: ArrayLike, correct: ArrayLike, n_bins: int = 15, bins: Bins = "width"
) -> float:
    r"""How far confidence is from accuracy, on average over bins of equal width on [0, 1], or of equal mass.

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
    conf, right = _checked(confidence, correct)
    if bins == "width":
        edges = np.linspace(0, 1, n_bins + 1)
    elif bins == "mass":
        edges = np.percentile(conf, np.linspace(0, 1, n_bins + 1) * 100)
    else:
        raise ValueError(f"bins={bins!r} is not known; choose 'width' or 'mass'.")
    bin_of_row = np.searchsorted(edges[1:-1], conf)
    _, bin_of_row, count = np.unique(bin_of_row, return_inverse=True, return_counts=True)  # those that hold rows
    accuracy, mean_confidence = (np.bincount(bin_of_row, values) / count for values in (right, conf))
    return float(np.average(np.abs(accuracy - mean_confidence), weights=count))


def risk_coverage_curve(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverageCurve:
    """Error among the rows answered when the least confident are left unanswered.

    Rows of equal confidence share their errors evenly, which is the mean over all their orders. The area
    (AURC) is 0 when nothing is wrong and the error rate when the confidence says nothing.

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
    conf, right = _checked(confidence, correct)
    _, group, size = np.unique(-conf, return_inverse=True, return_counts=True)
    error_rate = np.bincount(group, 1 - right) / size
    answered = np.arange(1, len(conf) + 1)
    risk = np.cumsum(np.repeat(error_rate, size)) / answered
    return RiskCoverageCurve(answered / len(conf), risk, float(risk.mean()))


def confidence_auroc(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Chance that a right prediction is more confident than a wrong one; NaN when all or none are right.

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
    conf, right = _checked(confidence, correct)
    return float(roc_auc_score(right, conf)) if 0 < right.mean() < 1 else float("nan")


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[Floats, Floats]:
    conf = np.asarray(column_or_1d(confidence), dtype=np.float64)
    right = np.asarray(column_or_1d(correct), dtype=np.float64)
    check_consistent_length(conf, right)
    if not len(conf):
        raise ValueError("confidence is empty; give one value per prediction.")
    if not (conf.min() >= 0 and conf.max() <= 1):  # also refuses NaN
        raise ValueError(f"confidence must lie in [0, 1], got {conf.min():g} to {conf.max():g}.")
    if not np.isin(right, (0, 1)).all():
        raise ValueError("correct must be true or false for each row: whether the prediction was right.")
    return conf, right
