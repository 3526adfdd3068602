"""Limits of the accuracy that hold whenever one stops, shown while a person labels, and when it is enough.

They are shown every few answers only, so that nothing is told of any one label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chary._words import percent
from chary.audit.figures import Score, score
from chary.audit.intervals import sequence
from chary.audit.sheet import SKIPPED
from chary.tables.target import folded

LOOKS = 5  # answers between two looks: after one, the interval would tell whether it agreed with the label


class Settled(NamedTuple):
    """What a confidence sequence said first."""

    n: int  #: rows looked at by then
    what: str  #: "above" or "below" the share asked about, or "width" where that is what was asked for


def settled(
    low: ArrayLike, high: ArrayLike, *, above: float | None = None, width: float | None = None
) -> Settled | None:
    """The first moment at which a confidence sequence answers what was asked; None if it does not yet.

    Parameters
    ----------
    low, high : array-like of shape (k,)
        From ``sequence``.
    above : float, default=None
        Is the share at least this, or below it?
    width : float, default=None
        Is the interval at most this wide, from end to end?

    Examples
    --------
    >>> low, high = sequence([True] * 80, population=5_000)
    >>> settled(low, high, above=0.9)
    Settled(n=68, what='above')
    >>> settled(low, high, above=0.95) is None
    True
    """
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    moments: dict[str, NDArray[np.bool_]] = {}
    if above is not None:
        moments |= {"above": low >= above, "below": high < above}
    if width is not None:
        moments["width"] = high - low <= width
    found = [Settled(int(reached.argmax()) + 1, what) for what, reached in moments.items() if reached.any()]
    return min(found, default=None)


class Stopping:
    """Limits of the accuracy that hold at every moment, shown while a person labels.

    Parameters
    ----------
    labels : sequence of str or None
        The labels under test, by row of the sheet, in the order of the draw.
    population : int
        Rows of the table.
    width, above : float, default=None
        What is asked for: an interval at most so wide, and whether the accuracy is above or below a share.
    """

    def __init__(
        self, labels: Sequence[str | None], population: int, width: float | None = None, above: float | None = None
    ) -> None:
        self.labels, self.population, self.width, self.above = list(labels), population, width, above

    def limits(self, answers: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
        """After every row up to the last look: arrays, empty before the first."""
        n = next((i for i, answer in enumerate(answers) if not answer), len(answers))
        n -= 0 if n == len(answers) else n % LOOKS
        if not n:
            return np.empty(0), np.empty(0)
        right, skipped = self._right(answers[:n])
        return sequence(right, self.population, skipped=skipped)

    def planned(self, answers: Sequence[str]) -> Score:
        """The exact interval of all rows of the sheet, for who looks at it once, when all have an answer."""
        right, skipped = self._right(answers)
        return score(right[~skipped], skipped=int(skipped.sum()), population=self.population)

    def _right(self, answers: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which answers agree with the labels, and which rows were skipped."""
        skipped = np.array([answer == SKIPPED for answer in answers])
        right = [
            label is not None and folded(answer) == folded(label)
            for answer, label in zip(answers, self.labels, strict=False)
        ]
        return np.array(right) & ~skipped, skipped

    def words(self, answers: Sequence[str]) -> tuple[str, bool]:
        """What to show, and whether what was asked for is reached."""
        low, high = self.limits(answers)
        if not len(low):
            return f"The interval is shown after {LOOKS} rows, then after every {LOOKS}.", False
        share = f"between {percent(low[-1])} and {percent(high[-1])} of the labels are right"
        now = f"After {len(low)} rows: {share} (valid whenever you stop)."
        found = settled(low, high, above=self.above, width=self.width)
        if found is None:
            return now, False
        reached = f"the interval is {self.width:.0%} wide or less" if self.width is not None else ""
        if found.what in ("above", "below"):
            reached = f"accuracy is {'at least' if found.what == 'above' else 'below'} {self.above:.0%}"
        return f"Done: {reached} after {found.n} rows. {now}", True
