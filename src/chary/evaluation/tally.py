"""Confidences in; how many rows have each, to the four digits that files show of them, out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

STEPS = 10_000


class Tally(NamedTuple):
    """How many rows have each confidence, in steps of a ten-thousandth: the same room for any number of rows."""

    counts: NDArray[np.int64]  # (10,001,)

    @classmethod
    def of(cls, confidence: ArrayLike) -> Tally:
        """Count rows by their confidence, from 0 to 1.

        >>> Tally.of([0.5, 0.50004, 1.0]).n_from(0.5)
        3
        """
        return cls.of_steps(in_steps(confidence))

    @classmethod
    def of_steps(cls, steps: NDArray[np.integer[Any]]) -> Tally:
        """The same of confidences that are whole ten-thousandths."""
        return cls(np.bincount(steps, minlength=STEPS + 1).astype(np.int64))

    @property
    def n(self) -> int:
        """Rows in all."""
        return int(self.counts.sum())

    def plus(self, other: Tally) -> Tally:
        """The rows of both."""
        return Tally(self.counts + other.counts)

    def smallest(self, places: ArrayLike) -> NDArray[np.float64]:
        """The confidences at some places, from 0, if all were sorted.

        >>> Tally.of([0.9, 0.1, 0.5]).smallest([0, 2])
        array([0.1, 0.9])
        """
        return np.searchsorted(np.cumsum(self.counts), np.asarray(places), side="right") / STEPS

    def histogram(self, n_bins: int) -> NDArray[np.int64]:
        """Rows in bins of equal width from 0 to 1."""
        bins = np.minimum(np.arange(STEPS + 1) * n_bins // STEPS, n_bins - 1)
        return np.bincount(bins, self.counts, minlength=n_bins).astype(np.int64)

    def n_from(self, threshold: float) -> int:
        """Rows of at least this confidence."""
        return int(self.counts[np.arange(STEPS + 1) / STEPS >= threshold].sum())


def in_steps(confidence: ArrayLike) -> NDArray[np.intp]:
    """Confidences as whole ten-thousandths, as ``numpy.round`` rounds them."""
    return np.rint(np.clip(np.asarray(confidence, dtype=np.float64), 0, 1) * STEPS).astype(np.intp)
