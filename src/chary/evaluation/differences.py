"""Which of the same random rows two labellings got right in; how much better one is in the whole table out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from chary.evaluation.audit import Comparison, compare
from chary.evaluation.intervals import Floats, count_interval

# The part of the risk that goes into what is unknown besides the difference, and the parts it is searched in.
_NUISANCE, _CELLS = 0.1, 40
_ROUNDING = 1e-6


class Difference(NamedTuple):
    """How much more often one labelling is right than another, on all rows."""

    #: In the audit: of rows that the first alone gets right, less of those that the second alone does.
    share: float
    low: float  #: lower limit of the interval, for all rows
    high: float  #: and the upper one
    level: float  #: of the interval
    comparison: Comparison  #: the exact paired test of no difference


def difference(
    first_correct: ArrayLike, second_correct: ArrayLike, population: int, level: float = 0.95
) -> Difference:
    r"""The accuracy of one labelling less that of another, on the same audit, with an interval that holds at any
    size.

    Of N rows the first alone is right on A, the second alone on B; b and c of them were among the n drawn.
    Differences A - B are kept as long as neither b - c or more nor b - c or less is too rare for every U = A + B
    that could be:

    .. math:: \max_{U \in C} P(b - c \ge d \mid A, B) + \gamma > \tfrac{1 - level}{2}, \qquad P(b, c) =
              \binom{A}{b} \binom{B}{c} \binom{N - U}{n - b - c} \Big/ \binom{N}{n},

    where C is the exact interval of U at the level 1 - gamma (Berger and Boos, 1994), gamma a tenth of the tail.
    The chance grows with A and falls with B, so that each of the cells into which C is cut is bounded by its
    corner: nothing between them is missed. A row that was skipped is wrong in both, and tells nothing.

    Parameters
    ----------
    first_correct : array-like of shape (k,), bool
        Whether the first is right on each audited row.
    second_correct : array-like of shape (k,), bool
        Whether the second is.
    population : int
        Rows of the table that they were drawn from.
    level : float, default=0.95
        Of the interval.

    Examples
    --------
    >>> found = difference([True] * 10 + [False] * 50, [False] * 10 + [True] * 2 + [False] * 48, population=5_000)
    >>> round(found.share, 3), round(found.low, 3), round(found.high, 3)
    (0.133, -0.038, 0.287)
    """
    comparison = compare(first_correct, second_correct)
    n = len(np.asarray(first_correct))
    b, c, tail = comparison.only_first, comparison.only_second, (1 - level) / 2
    disagreeing = count_interval(b + c, n, population, 1 - _NUISANCE * tail)
    low = _least_difference(b - c, n, population, disagreeing, (1 - _NUISANCE) * tail)
    high = -_least_difference(c - b, n, population, disagreeing, (1 - _NUISANCE) * tail)
    return Difference((b - c) / n, low / population, high / population, level, comparison)


def difference_keeps(b: int, c: int, n: int, population: int, value: int, level: float = 0.95) -> bool:
    """Whether A - B = ``value`` lies within ``difference``, for much less work."""
    tail = (1 - level) / 2
    disagreeing = count_interval(b + c, n, population, 1 - _NUISANCE * tail)
    sides = (b - c, value), (c - b, -value)
    return all(_is_likely(d, n, population, disagreeing, v, (1 - _NUISANCE) * tail) for d, v in sides)


def _least_difference(d: int, n: int, population: int, disagreeing: tuple[int, int], tail: float) -> int:
    """The smallest A - B at which b - c = d or more is likely enough."""
    low, high = -disagreeing[1] - 1, disagreeing[1]
    while high - low > 1:
        middle = (low + high) // 2
        likely = _is_likely(d, n, population, disagreeing, middle, tail)
        low, high = (low, middle) if likely else (middle, high)
    return high


def _is_likely(d: int, n: int, population: int, disagreeing: tuple[int, int], value: int, tail: float) -> bool:
    """Whether b - c = d or more has more chance than ``tail`` for some number of rows that differ."""
    edges = np.unique(np.linspace(*disagreeing, _CELLS + 1).round().astype(int)).tolist()
    cells = list(pairwise(edges)) or [disagreeing]
    corners = [
        ((u_high + value) // 2, max(0, -((value - u_low) // 2)))  # most A, fewest B
        for u_low, u_high in reversed(cells)
        if u_high >= abs(value)
    ]
    return any(_chance(d, n, population, a, b) > tail for a, b in corners)


def _chance(d: int, n: int, population: int, only_first: int, only_second: int) -> float:
    """That b - c is at least d."""
    both = population - only_first - only_second
    b, c = (np.arange(_most(n, rows, population) + 1) for rows in (only_first, only_second))
    b = b[:, None]
    others = n - b - c  # drawn rows on which the two agree
    possible = (b - c >= d) & (others >= 0) & (others <= both)
    of_both = _log_choose(both, np.arange(min(n, both) + 1))
    log = _log_choose(only_first, b) + _log_choose(only_second, c) + of_both[np.clip(others, 0, len(of_both) - 1)]
    return float(np.exp(log[possible] - _log_choose(population, np.array(n))).sum()) + _ROUNDING


def _most(n: int, rows: int, population: int) -> int:
    """As many of some rows as n drawn ones hold, but for a chance that is less than what is added for rounding."""
    mean = n * rows / population
    return min(n, rows, int(mean + 8 * mean**0.5 + 20))


def _log_choose(n: int, k: NDArray[Any]) -> Floats:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
