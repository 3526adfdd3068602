"""Random rows of a class, among those that carry its label and the others, in; how many rows are of it out."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chary.evaluation.intervals import Floats, count_interval, hypergeometric

# The part of the risk that goes into how the rows are spread over the two parts, and the cells it is searched in.
_NUISANCE, _CELLS = 0.1, 40


class Part(NamedTuple):
    """Rows of a table, some of them drawn, some of those of the class."""

    seen: int  #: drawn rows of the class
    n: int  #: drawn, skipped ones included
    population: int  #: rows of the table
    skipped: int = 0  #: drawn and not answered: of the class in the upper limit alone

    @property
    def rest(self) -> Part:
        """The rows that are surely not of the class."""
        return Part(self.n - self.seen - self.skipped, self.n, self.population)


def assisted_count(labelled: Part, others: Part, level: float = 0.95) -> tuple[int, int]:
    r"""Exact interval of the number of rows of a class, with the help of labels that may be wrong.

    A random draw of rows is, given how many of them carry the label, a random draw from each of the two parts of
    the table, whose sizes N_1 and N_2 are known. With T_1 and T_2 rows of the class and x_1 and x_2 of them
    among the n_1 and n_2 drawn, T = T_1 + T_2 is kept as long as estimates as large (or as small) as the one
    found,

    .. math:: S = N_1 x_1 / n_1 + N_2 x_2 / n_2,

    are not too rare for every T_1 that could be: max over T_1 in C of P(S >= s | T_1, T - T_1), plus gamma,
    above (1 - level) / 2, where C is the exact interval of T_1 at the level 1 - gamma (Berger and Boos, 1994).
    The chance grows with T_1 and T_2, so that each of the cells into which C is cut is bounded by its corner. It
    is exact at any size, and the narrower the better the labels; where they are poor, ``count_interval`` of all
    drawn rows is narrower. Decide for one of the two before looking at either. Where a part has no drawn row, it
    is the latter.

    Parameters
    ----------
    labelled : Part
        Of the rows that carry the label.
    others : Part
        Of those that do not.
    level : float, default=0.95
        Of the interval.

    Examples
    --------
    Of 5,000 rows 700 carry the label; 15 of 16 of them that were drawn are of the class, and 1 of 84 others:

    >>> assisted_count(Part(15, 16, 700), Part(1, 84, 4_300))
    (477, 1073)
    >>> count_interval(16, 100, 5_000)
    (475, 1229)
    """
    if not (labelled.n and others.n):
        seen, n, population, skipped = np.add(labelled, others).tolist()
        return count_interval(seen, n, population, level, skipped)
    tail = (1 - level) / 2
    fewest_others = _Tests(labelled.rest, others.rest, tail).fewest()
    return _Tests(labelled, others, tail).fewest(), labelled.population + others.population - fewest_others


def assisted_keeps(labelled: Part, others: Part, total: int, level: float = 0.95) -> bool:
    """Whether a number of rows lies within ``assisted_count``, for much less work."""
    if not (labelled.n and others.n):
        low, high = assisted_count(labelled, others, level)
        return low <= total <= high
    tail, rest = (1 - level) / 2, labelled.population + others.population - total
    sides = (_Tests(labelled, others, tail), total), (_Tests(labelled.rest, others.rest, tail), rest)
    return all(side.least <= number and (number >= side.most or side.is_likely(number)) for side, number in sides)


class _Tests:
    """Whether an estimate as large as the one found is likely enough, for any number of rows of the class."""

    def __init__(self, first: Part, second: Part, tail: float) -> None:
        low, high = count_interval(first.seen, first.n, first.population, 1 - _NUISANCE * tail)
        edges = np.unique(np.linspace(low, high, _CELLS + 1).round().astype(int)).tolist()
        self.cells = list(pairwise(edges)) or [(low, high)]
        self.second, self.tail, self.needed = second, (1 - _NUISANCE) * tail, _needed(first, second)
        self.chances = [_chances(first, t_high) for _, t_high in self.cells]
        self.least = low + second.seen
        self.most = high + second.population - (second.n - second.seen)

    def is_likely(self, total: int) -> bool:
        """At the corner of any cell, where both parts have most."""
        return any(
            chance @ _at_least(self.second, min(total - t_low, self.second.population))[self.needed] > self.tail
            for (t_low, t_high), chance in zip(self.cells, self.chances, strict=True)
            if t_low <= total <= t_high + self.second.population
        )

    def fewest(self) -> int:
        """The smallest number of rows that is likely enough."""
        low, high = self.least - 1, self.most
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.is_likely(middle) else (middle, high)
        return high


def _needed(first: Part, second: Part) -> Floats:
    """For each number of the first part, how many of the second make the estimate as large as the one found."""
    x = np.arange(first.n + 1)
    lacking = first.population * (first.seen - x) / first.n * second.n / second.population
    return np.clip(np.ceil(second.seen + lacking - 1e-9), 0, second.n + 1).astype(int)


def _chances(part: Part, of_class: int) -> Floats:
    """Of each number of rows of the class among those drawn, (n + 1,)."""
    chance = np.zeros(part.n + 1)
    start, found = hypergeometric(part.population, of_class, part.n)
    chance[start : start + len(found)] = found
    return chance


def _at_least(part: Part, of_class: int) -> Floats:
    """The same of as many or more, (n + 2,)."""
    return np.append(_chances(part, of_class)[::-1].cumsum()[::-1], 0.0)
