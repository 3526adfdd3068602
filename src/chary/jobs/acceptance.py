"""Confidences, with held-out labels or an audit, in; what keeping the surest rows would mean, and which, out."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter, shown
from chary.evaluation import HeldOut, Tally, accuracy_interval
from chary.tables import TableError

if TYPE_CHECKING:
    from chary.jobs.audit import AuditFigures

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


def acceptance_levels(rest: Tally, judged: HeldOut) -> list[AcceptanceLevel]:
    """How many rows could be accepted, and how often labelled rows as confident were wrong when held out.

    ``rest`` counts the confidences of the rows without a label.
    """
    levels = []
    for share in _SHARES:
        n_rows = max(1, round(share * rest.n))
        threshold = float(rest.smallest(rest.n - n_rows))
        as_confident = np.round(judged.confidence, 4) >= threshold
        n_judged, n_wrong = int(as_confident.sum()), int((as_confident & ~judged.correct).sum())
        error = high = None
        if n_judged >= _FEWEST:
            error = n_wrong / n_judged
            high = accuracy_interval(n_wrong, n_judged, 0.9)[1]
        levels.append(AcceptanceLevel(share, n_rows, threshold, n_judged, error, high))
    return levels


def check_error(error: float | None, audit: Any) -> None:
    """Refuse what is no share of wrong labels, and one that nothing can be held against."""
    if error is None:
        return
    if isinstance(error, bool) or not isinstance(error, Real) or not 0 < float(error) < 1:
        raise TableError(
            f"The error {shown(error)} is no share of wrong labels; pass one above 0 and below 1, such as ",
            Parameter("error", "0.1"),
            ".",
        )
    if audit is None:
        raise TableError(
            "Which rows can be accepted at an error, only rows drawn at random and labelled by a person can tell; "
            "pass them as ",
            Parameter("audit"),
            ", or leave ",
            Parameter("error"),
            " out.",
        )


def acceptable(
    audit: AuditFigures | None,
    labeled: NDArray[np.bool_],
    confidence: NDArray[np.float64],
    settled: NDArray[np.bool_],
) -> NDArray[np.bool_] | None:
    """Which rows can be accepted at the error asked for; None if none was.

    Labels that a person gave can. Others can from a confidence on, as a file shows it, if the row is ``settled``:
    an audit speaks of what the model says in the end, not of a label that it learned from and would now change.
    """
    if audit is None or audit.asked is None:
        return None
    return labeled | (settled & (np.round(confidence, 4) >= audit.asked.threshold))
