"""Exact test and limits of how much more often one labelling is right than another.

Both are held against the same audited rows. What counts are the rows on which exactly one of the
two is right.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln
from scipy.stats import binomtest

from chary._arrays import Floats, Ints
from chary.audit.intervals import NEUTRAL, count_interval, interval

# With more drawn rows outcomes are not enumerated, as their number grows with the square.
_MOST_ENUMERATED = 120
# The part of the risk that is spent on the number of rows on which exactly one is right, if
# outcomes are not enumerated.
_RISK_OF_COUNT = 0.2
# The limits are searched in steps that are these parts of the table; the numbers of rows on which
# only the second is right are looked at in the steps of the latter.
_COARSE = 32
_FINE = 256
# The part of the risk that is spent on leaving out improbable numbers of rows on which exactly one
# is right (Berger and Boos, 1994).
_RISK_OF_NUISANCE = 0.001
# Rounding may widen an interval, and never make it narrower.
_ROUNDING = 1e-9


class Outcome(NamedTuple):
    """Audited rows on which exactly one of two labellings is right."""

    only_first: int  # b
    only_second: int  # c
    n: int  # audited rows
    population: int  # rows of the table


class PairedLimits(NamedTuple):
    """The test of no difference, and the interval that belongs to it."""

    low: float
    high: float
    p_value: float


@lru_cache(4096)
def paired_limits(outcome: Outcome, level: float) -> PairedLimits:
    r"""Compute exact limits of (B - C) / N, and the exact p-value of B = C.

    Of the N rows of a table, only the first labelling is right on B, and only the second on C; of
    the n drawn rows, on b and c. A difference D is kept unless the outcome is among the rarest
    under D, for every C that is probable:

    .. math::
        \max_{C \in \mathcal C} P_{C + D, C}\bigl(r_D(X) \le r_D(b, c)\bigr) + 0.001 > 1 - level,
        \qquad r_D(y) = \sum_C P_{C + D, C}(y)

    with the chances of a draw without replacement. :math:`\mathcal C` holds each C for which
    B + C = 2 C + D lies in its exact interval at the level 99.9 % (Berger and Boos, 1994). The
    p-value is the left side at D = 0, so the interval holds 0 exactly if the test does not reject
    it. The limits run from the smallest D that is kept to the largest.

    In large tables D and C are looked at in steps, and each limit is one step further out than the
    last D that is kept. With more than 120 drawn rows, the limits are those of ``split_limits``.

    Examples
    --------
    >>> limits = paired_limits(Outcome(10, 2, n=60, population=5_000), level=0.95)
    >>> round(limits.low, 3), round(limits.high, 3), round(limits.p_value, 3)
    (0.008, 0.247, 0.029)
    """
    if outcome.n > _MOST_ENUMERATED:
        return split_limits(outcome, level)
    risk = 1 - level
    p_value = _p_value(outcome, 0, max(1, outcome.population // _FINE))
    low = _fewest_kept(outcome, risk) / outcome.population
    high = -_fewest_kept(_exchanged(outcome), risk) / outcome.population
    if p_value > risk:
        return PairedLimits(min(low, 0.0), max(high, 0.0), p_value)
    # The search may stop at a difference beyond 0 that is kept although 0 is not.
    if low <= 0 <= high:
        p_value = risk
    return PairedLimits(low, high, p_value)


def split_limits(outcome: Outcome, level: float) -> PairedLimits:
    r"""Compute exact limits of (B - C) / N from those of two other numbers.

    U = B + C has an exact interval at the level 1 - (1 - level) / 5. The drawn rows among these U
    are a random sample of them, so q = B / U has an exact interval, too, at the level
    1 - 4 (1 - level) / 5. Both hold together with probability ``level``; then U (2 q - 1) / N lies
    between the least and the most that they allow. The p-value is that of McNemar's exact test,
    q = 1/2, divided by 4/5.
    """
    b, c, n, population = outcome
    risk = 1 - level
    fewest, most = count_interval(b + c, n, population, 1 - _RISK_OF_COUNT * risk)
    # If U is known, it is the pool of q.
    pool = fewest if fewest == most else None
    low_q = 0.0
    high_q = 1.0
    p_value = 1.0
    if b + c > 0:
        level_of_q = 1 - (1 - _RISK_OF_COUNT) * risk
        low_q, high_q = interval(b, b + c, pool, level_of_q, prior=NEUTRAL)
        p_value = min(1.0, float(binomtest(b, b + c).pvalue) / (1 - _RISK_OF_COUNT))

    # The larger U is, the farther from 0 is the difference. So the lower limit takes the largest U
    # if it is negative, and the smallest if not; the upper limit conversely.
    low = 2 * low_q - 1
    high = 2 * high_q - 1
    low *= most if low < 0 else fewest
    high *= most if high > 0 else fewest
    return PairedLimits(low / population, high / population, p_value)


def _exchanged(outcome: Outcome) -> Outcome:
    """Exchange the two labellings."""
    b, c, n, population = outcome
    return Outcome(c, b, n, population)


def _fewest_kept(outcome: Outcome, risk: float) -> int:
    """Find the lowest difference, in rows, that the test does not reject at ``risk``.

    The search goes up from the lowest difference that is possible, first in coarse steps and then
    in fine ones.
    """
    b, c, n, population = outcome
    # All rows outside the sample might favour the other labelling.
    lowest_possible = b - c - (population - n)
    start = lowest_possible
    likeliest = math.ceil(population * (b - c) / n)
    for n_steps in (_COARSE, _FINE):
        step = max(1, population // n_steps)
        difference = math.floor(start / step) * step
        while difference < likeliest and _p_value(outcome, difference, step) <= risk:
            difference += step
        # The chance is not quite monotone, so the finer steps begin two coarse ones before.
        start = max(start, difference - 2 * step)
    # Between two fine steps the test was not asked; one step less is on the safe side.
    margin = 0 if step == 1 else step
    return max(difference - margin, lowest_possible)


def _p_value(outcome: Outcome, difference: int, step: int) -> float:
    """Compute the chance of outcomes as rare as (b, c): the largest over probable C, in steps."""
    b, c, n, population = outcome
    fewest = max(0, -difference)
    most = (population - difference) // 2
    if most < fewest:
        return 0.0
    numbers = np.unique(np.append(np.arange(fewest, most, step), most))  # C: (j,)

    # The C that are probable; the ends of their range are looked at, too.
    low, high = count_interval(b + c, n, population, 1 - _RISK_OF_NUISANCE)
    first = max(fewest, math.ceil((low - difference) / 2))
    last = min(most, math.floor((high - difference) / 2))
    if first > last:
        return _RISK_OF_NUISANCE
    is_probable = (first <= numbers) & (numbers <= last)
    probable = np.append(numbers[is_probable], [first, last])

    # How rare an outcome is must not depend on the one that was seen: all C count the same.
    chances = _chances(numbers, difference, n, population)  # (j, n + 1, n + 1)
    rarity = chances.sum(axis=0)
    is_rare = rarity <= rarity[b, c] * (1 + _ROUNDING)
    chances_if_probable = _chances(probable, difference, n, population)
    largest = float((chances_if_probable * is_rare).sum(axis=(1, 2)).max())
    return min(1.0, largest + _RISK_OF_NUISANCE + _ROUNDING)


def _chances(only_second: Ints, difference: int, n: int, population: int) -> Floats:
    """Compute the chances of all outcomes (b, c) for each C; 0 if b + c exceeds n.

    Returns
    -------
    array of shape (j, n + 1, n + 1)
    """
    only_first = only_second + difference  # B: (j,)
    neither = population - only_first - only_second
    drawn = np.arange(n + 1)
    log_first = _log_choose(only_first[:, None], drawn)  # (j, n + 1)
    log_second = _log_choose(only_second[:, None], drawn)
    log_neither = _log_choose(neither[:, None], drawn)
    log_all = _log_choose(np.array(population), np.array(n))

    # The axes are C, b and c: log_first depends on C and b, log_second on C and c.
    n_neither = n - np.add.outer(drawn, drawn)  # (n + 1, n + 1) drawn rows that are neither
    log_ways = log_first[:, :, None] + log_second[:, None, :]
    log_ways = log_ways + log_neither[:, n_neither]
    log_chances = log_ways - log_all
    is_possible = n_neither >= 0
    log_chances = np.where(is_possible, log_chances, -np.inf)
    return np.exp(log_chances)


def _log_choose(n: Any, k: Any) -> Floats:
    """Compute the logarithm of a binomial coefficient; -inf for k above n."""
    is_possible = k <= n
    rest = np.where(is_possible, n - k, 0)
    return np.where(is_possible, -np.log1p(n) - betaln(k + 1, rest + 1), -np.inf)
