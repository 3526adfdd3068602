"""Tell how far the work is, and how long it still takes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from time import monotonic
from typing import Protocol

# Each step of labelling usually takes this part of the whole work, in per cent. ``Pace`` scales it
# by the time that earlier steps took.
_USUAL_PERCENT = {
    "Reading": 2,
    "Preparing columns": 5,
    "Comparing labelled and unlabelled rows": 10,
    "Training": 66,
    "Checking against held-out labels": 10,
    "Finding what decides the labels": 3,
    "Labelling": 2,
    "Choosing rows to check": 2,
}
# How a step counts its rows, as in "Labelling: 2,000 of 8,000 rows".
_COUNTS = re.compile(r"([\d,]+) of ([\d,]+)")
# The time left is told only after this many seconds: earlier guesses jump.
_FIRST_SECONDS = 1


class Progress(Protocol):
    """What long work calls at each of its steps."""

    def __call__(self, step: str, /) -> None:
        """Name the step that begins, or goes on."""


class Pace:
    """How far the work is, guessed from the names of its steps.

    A step may count its rows, as in "Labelling: 2,000 of 8,000 rows". The time of any other step is
    guessed from the time of the steps before it. A step with an unknown name is the whole work.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._work_start = clock()
        self._step_start = clock()
        self._share_before = 0.0  # of the work, done before this step
        self._step_share = 0.0  # of the work, done by this step
        self._counted_share: float | None = None  # of this step, if it counts rows

    def step(self, name: str) -> None:
        """Note that a step begins, or goes on.

        The name may have counts after a colon, as in "Labelling: 2,000 of 8,000 rows". A step that
        is named again, with other counts, goes on.
        """
        kind, _, counts = name.partition(":")
        share_before, step_share = _usual_shares(kind)
        if share_before < self._share_before:  # the work begins anew
            self._work_start = self._clock()
        # A step that is named again, to count its rows, goes on. It has the same share before it.
        is_first_step = self._step_share == 0
        if is_first_step or share_before != self._share_before:
            self._step_start = self._clock()
        self._share_before = share_before
        self._step_share = step_share
        self._counted_share = _counted_share(counts)

    @property
    def share(self) -> float:
        """The share of the work that is done, from 0 to 1."""
        if self._counted_share is not None:
            return self._share_before + self._step_share * self._counted_share
        seconds_before = self._step_start - self._work_start
        if not self._share_before or not seconds_before:
            return self._share_before

        # The step is expected to take its usual time in proportion to the steps before it. It is
        # done to the part 1 - exp(-t), which never reaches 1, however long the step takes.
        expected_seconds = seconds_before * self._step_share / self._share_before
        seconds = self._clock() - self._step_start
        part_of_step = -math.expm1(-seconds / expected_seconds)
        return self._share_before + self._step_share * part_of_step

    @property
    def words(self) -> str:
        """Share and seconds left, for a person."""
        seconds = self._clock() - self._work_start
        share = self.share
        if seconds <= _FIRST_SECONDS or not share:
            return f"{share:.0%}"
        return f"{share:.0%}, about {seconds / share - seconds:.0f} s left"


def _usual_shares(kind: str) -> tuple[float, float]:
    """Return the share of the work that is done before a step, and the share that the step does.

    >>> _usual_shares("Preparing columns")
    (0.02, 0.05)
    """
    percent_before = 0
    for name, percent in _USUAL_PERCENT.items():
        if name == kind:
            return percent_before / 100, percent / 100
        percent_before += percent
    return 0.0, 1.0


def _counted_share(counts: str) -> float | None:
    """Read the share of a step from its counts; None: the step counts nothing.

    >>> _counted_share(" 2,000 of 8,000 rows")
    0.25
    """
    numbers = _COUNTS.search(counts)
    if numbers is None:
        return None
    n_done, n_all = (int(number.replace(",", "")) for number in numbers.groups())
    return n_done / n_all if n_all else None
