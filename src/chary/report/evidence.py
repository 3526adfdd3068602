"""What the studies found, in; the sentences that a report quotes from them out.

The numbers are those of ``studies/results/tables``; a test holds them against it.
"""

from __future__ import annotations

from typing import NamedTuple


class Evidence(NamedTuple):
    """What was seen on real tables with labels from one group of rows or picked by a column."""

    n_tables: int
    surest_half_said: float  # percent of held-out labels that were wrong in the surest half of the rows
    surest_half_true: float  # percent of these rows that were wrong
    limits_passed: float  # percent of the limits "up to" that the true error passed
    prior_gain: float  # points of accuracy that true class shares added
    prior_balanced_gain: float  # and of balanced accuracy
    rounds_gain: float  # points of accuracy that five rounds of self-training added, labels from one group

    @property
    def acceptance(self) -> str:
        """What keeping the surest rows meant."""
        return (
            f"On {self.n_tables} real tables whose labels came from one group of rows or were picked by a column, "
            f"{self.surest_half_true:.0f} % of the surest half were wrong where held-out labels had said "
            f"{self.surest_half_said:.0f} %, and the limit was passed in {self.limits_passed:.0f} % of cases."
        )

    @property
    def prior(self) -> str:
        """What knowing the class shares was worth."""
        return (
            f"on {self.n_tables} real tables with biased labels it was worth {self.prior_gain:.1f} points of "
            f"accuracy, and {self.prior_balanced_gain:.1f} where every class counts the same."
        )

    @property
    def rounds(self) -> str:
        """What learning from its own labels meant."""
        return (
            "On real tables with labels from one group of rows five rounds of it changed accuracy by "
            f"{self.rounds_gain:+.1f} points on average."
        )


NATURAL = Evidence(
    n_tables=20,
    surest_half_said=14,
    surest_half_true=20,
    limits_passed=41,
    prior_gain=0.3,
    prior_balanced_gain=3.9,
    rounds_gain=-6.9,
)
