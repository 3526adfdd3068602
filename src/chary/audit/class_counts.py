"""Exact limits of how many rows are of a class, from an audit of labels and the labels themselves.

The label of a row says much about its class, and is known for every row of the table. So the rows
with the label of the class and the rows without it are two pools, and the audited rows of each are
a random sample of it (post-stratification).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from chary._arrays import Floats, Ints
from chary.audit.intervals import count_interval

# With more drawn rows than this the labels are not used: the matrices grow with the square of the
# number of rows, and the interval is narrow already.
_MOST_ENUMERATED = 300
# The first search for a limit takes steps of this part, 1/16, of the interval without labels.
_COARSE = 16
# The second search, near the outcome of the first, takes steps of this part, 1/100.
_FINE = 100
# A chance may be too small by this much, from rounding. It is added, which may widen an interval,
# and never makes it narrower.
_ROUNDING = 1e-9


class Sample(NamedTuple):
    """Rows drawn from a pool without replacement."""

    of_class: int  #: drawn rows that are of the class
    skipped: int  #: drawn rows that nobody answered
    n: int  #: drawn rows in all
    population: int  #: rows of the pool


def class_count_interval(
    with_label: Sample, without_label: Sample, level: float = 0.95
) -> tuple[int, int]:
    r"""Compute exact limits of the rows of a table that are of a class.

    There are two pools: the rows with the label of the class, and the rows without it. Let
    :math:`N_1` rows be in the first pool, of which :math:`M_1` are of the class, and let
    :math:`x_1` of its :math:`n_1` drawn rows be of the class; likewise :math:`N_0, M_0, x_0, n_0`
    in the second. The limits are those of the total :math:`M = M_1 + M_0`. Every total is tested,
    and kept if there is a way to divide it into the two pools for which the outcome :math:`x =
    (x_1, x_0)` is not among the rarest:

    .. math::
        \max_{M_1 + M_0 = M} P_{M_1 M_0}\bigl(r_M(X) \le r_M(x)\bigr) > 1 - level, \qquad
        r_M(y) = \sum_{M_1 + M_0 = M} P_{M_1}(y_1) P_{M_0}(y_0)

    with hypergeometric chances :math:`P_{M_1}` and :math:`P_{M_0}`. The rarity :math:`r_M` orders
    outcomes as in ``intervals.interval`` with a uniform prior of both shares: then all outcomes
    are equally likely before the draw. The limits run from the smallest M that is kept to the
    largest.

    If the labels are good, the interval is a quarter to a third narrower than that of
    ``count_interval``, which does not use them; if they say nothing, it is as wide.

    In large tables only every k-th M, :math:`M_1` and :math:`M_0` is looked at, and each limit is
    one such step further out than the last M that is kept. A step is 1/100 of the interval without
    labels.

    Parameters
    ----------
    with_label : Sample
        The rows that carry the label of the class.
    without_label : Sample
        The other rows. Skipped rows of both are of another class in the lower limit, and of this
        class in the upper one.
    level : float, default=0.95

    Examples
    --------
    Of 5,000 rows, 3,375 carry the label; 19 of 20 drawn ones are of the class, and 2 of the 10
    others:

    >>> class_count_interval(Sample(19, 0, 20, 3375), Sample(2, 0, 10, 1625))
    (2850, 4055)
    >>> count_interval(21, 30, 5000)
    (2585, 4184)
    """
    population = with_label.population + without_label.population
    n_rows = with_label.n + without_label.n
    of_class = with_label.of_class + without_label.of_class
    skipped = with_label.skipped + without_label.skipped
    without_labels = count_interval(of_class, n_rows, population, level, skipped)
    if n_rows > _MOST_ENUMERATED or 0 in (with_label.population, without_label.population):
        return without_labels

    low, high = without_labels
    pools = (_Pool.of_class(with_label), _Pool.of_class(without_label))
    other_pools = (_Pool.of_other_classes(with_label), _Pool.of_other_classes(without_label))
    fewest = _fewest_kept(*pools, 1 - level, high - low)
    fewest_others = _fewest_kept(*other_pools, 1 - level, high - low)
    return fewest, population - fewest_others


class _Pool(NamedTuple):
    """One of the two pools, and the drawn rows of it that count.

    In the lower limit the rows of the class count, in the upper limit the rows of other classes.
    """

    x: int  # drawn rows that count
    n: int  # drawn rows
    population: int  # all rows of the pool

    @classmethod
    def of_class(cls, sample: Sample) -> _Pool:
        """Count the rows of the class; skipped rows are not."""
        return cls(sample.of_class, sample.n, sample.population)

    @classmethod
    def of_other_classes(cls, sample: Sample) -> _Pool:
        """Count the rows of other classes; skipped rows are not."""
        n_others = sample.n - sample.of_class - sample.skipped
        return cls(n_others, sample.n, sample.population)


@lru_cache(1024)
def _fewest_kept(first: _Pool, second: _Pool, risk: float, width: int) -> int:
    """Find the smallest total M of both pools that is kept.

    The search goes up from 0 in coarse steps, until a total is kept, and then in fine steps from
    shortly before. ``width`` is the width of the interval without labels, which sets the steps.
    """
    # The search ends at the likeliest total: each pool's share of the drawn rows, of all its rows.
    likeliest = sum(pool.population * pool.x / max(1, pool.n) for pool in (first, second))
    start = 0
    for n_steps in (_COARSE, _FINE):
        step = max(1, width // n_steps)
        chances_first = _chances(first.n, first.population, step)
        chances_second = _chances(second.n, second.population, step)
        k = start // step  # the total in steps
        while k * step < likeliest:
            p_value = _p_value(chances_first, chances_second, k, first.x, second.x)
            if p_value > risk:
                break
            k += 1
        # The chance is not quite monotone in M, so the finer steps begin two coarse ones before.
        start = max(0, k - 2) * step

    # The limit lies between the last total that was not kept and the first one that was.
    margin = 0 if step == 1 else 1
    return max((k - margin) * step, first.x + second.x)


def _p_value(chances_first: Floats, chances_second: Floats, k: int, x: int, y: int) -> float:
    """Compute the chance of outcomes at least as rare as (x, y) if the total is k steps of rows.

    It is the largest over all ways to divide the k steps into the two pools. An outcome is a pair:
    the drawn rows that count in the first pool, and in the second. ``chances_first`` and
    ``chances_second`` are from ``_chances``.
    """
    # The j ways: the first pool has these numbers of steps, and the second pool the rest.
    fewest = max(0, k - len(chances_second) + 1)
    most = min(k, len(chances_first) - 1)
    steps_of_first = np.arange(fewest, most + 1)  # (j,)
    of_first = chances_first[steps_of_first]  # (j, n_1 + 1)
    of_second = chances_second[k - steps_of_first]  # (j, n_0 + 1)

    # r_M sums over the ways. Then, for each way, the chances of all rare outcomes are added up.
    rarity = of_first.T @ of_second  # (n_1 + 1, n_0 + 1)
    is_rare = rarity <= rarity[x, y] * (1 + _ROUNDING)
    chance_of_rare = ((of_first @ is_rare) * of_second).sum(axis=1)  # (j,)
    return float(chance_of_rare.max()) + _ROUNDING


@lru_cache(64)
def _chances(n: int, population: int, step: int) -> Floats:
    """Compute the chances of 0, 1, ... n rows of the class among n drawn ones, (k, n + 1).

    There is a line for each number of rows of the class in the pool: 0, ``step``, 2 ``step`` and so
    on. The last line is for the whole pool. A pool of 10 rows, with steps of 4, has lines for 0, 4,
    8 and 10.
    """
    n_in_pool = np.minimum(np.arange(0, population + step, step), population)[:, None]  # (k, 1)
    n_drawn = np.arange(n + 1)
    # Hypergeometric chances: M over y, times N - M over n - y, divided by N over n.
    log_chances = (
        _log_choose(n_in_pool, n_drawn)
        + _log_choose(population - n_in_pool, n - n_drawn)
        - _log_choose(np.array(population), np.array(n))
    )
    chances = np.exp(log_chances)
    return chances / chances.sum(axis=1, keepdims=True)


def _log_choose(n: Ints, k: Ints) -> Floats:
    """Compute the logarithm of n over k; -inf for k above n."""
    is_possible = k <= n
    rest = np.where(is_possible, n - k, 0)
    # n over k is 1 / ((n + 1) B(k + 1, n - k + 1)).
    log_choose = -np.log1p(n) - betaln(k + 1, rest + 1)
    return np.where(is_possible, log_choose, -np.inf)
