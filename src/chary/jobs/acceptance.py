"""Confidences of unlabelled rows and held-out labels in; what keeping the most confident would mean out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from chary.evaluation import HeldOut

_SHARES = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)
_FEWEST = 10  # held-out rows that say anything


class AcceptanceLevel(NamedTuple):
    """What accepting the most confident rows would mean."""

    share: float  # of the unlabelled rows
    n_rows: int
    threshold: float  # their least confidence
    n_judged: int  # held-out labelled rows as confident
    error: float | None  # share of those that were wrong; None: too few to say
    error_high: float | None  # its one-sided 95 % limit (Clopper-Pearson)


def acceptance_levels(confidence: NDArray[Any], judged: HeldOut) -> list[AcceptanceLevel]:
    """How many rows could be accepted, and how often labelled rows as confident were wrong when held out."""
    levels = []
    for share in _SHARES:
        n_rows = max(1, round(share * len(confidence)))
        threshold = float(np.partition(confidence, len(confidence) - n_rows)[len(confidence) - n_rows])
        as_confident = judged.confidence >= threshold
        n_judged, n_wrong = int(as_confident.sum()), int((as_confident & ~judged.correct).sum())
        error = high = None
        if n_judged >= _FEWEST:
            error = n_wrong / n_judged
            high = 1.0 if n_wrong == n_judged else float(beta.ppf(0.95, n_wrong + 1, n_judged - n_wrong))
        levels.append(AcceptanceLevel(share, n_rows, threshold, n_judged, error, high))
    return levels
