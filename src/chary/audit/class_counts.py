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

# With more drawn rows the labels are not used: the matrices grow with the square of their number,
# and the interval is narrow already.
_MOST_ENUMERATED = 300
# The limits are searched in steps that are these parts of the interval without labels.
_COARSE = 16
_FINE = 100
# Rounding may widen an interval, and never make it narrower.
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

    Let :math:`M_1` of the :math:`N_1` rows with the label be of the class, and :math:`M_0` of the
    :math:`N_0` rows without it; :math:`x_1` of the :math:`n_1` and :math:`x_0` of the :math:`n_0`
    drawn rows are. A total M is kept unless the outcome is among the rarest under M, for every way
    to divide M into the two pools:

    .. math::
        \max_{M_1 + M_0 = M} P_{M_1 M_0}\bigl(r_M(X) \le r_M(x)\bigr) > 1 - level, \qquad
        r_M(y) = \sum_{M_1 + M_0 = M} P_{M_1}(y_1) P_{M_0}(y_0)

    with hypergeometric chances. This is the ordering of ``intervals.interval`` with a uniform prior
    of both shares: then all outcomes are equally likely before the draw. The limits run from the
    smallest M that is kept to the largest.

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
    """The rows with the label, or without it, and how many drawn ones count in a limit."""

    x: int  # drawn rows that count
    n: int  # drawn rows
    population: int  # all rows

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
    """Find the smallest number of rows that is kept; ``width`` sets the steps of the search."""
    likeliest = sum(pool.population * pool.x / max(1, pool.n) for pool in (first, second))
    start = 0
    for n_steps in (_COARSE, _FINE):
        step = max(1, width // n_steps)
        chances_first = _chances(first.n, first.population, step)
        chances_second = _chances(second.n, second.population, step)
        k = start // step
        while (
            k * step < likeliest
            and _p_value(chances_first, chances_second, k, first.x, second.x) <= risk
        ):
            k += 1
        # The chance is not quite monotone in M, so the finer steps begin two coarse ones before.
        start = max(0, k - 2) * step
    margin = 0 if step == 1 else 1
    return max((k - margin) * step, first.x + second.x)


def _p_value(chances_first: Floats, chances_second: Floats, k: int, x: int, y: int) -> float:
    """Compute the chance of outcomes as rare as (x, y) if the class has k steps of rows.

    It is the largest over all ways to divide the k steps into the two pools.
    """
    fewest = max(0, k - len(chances_second) + 1)
    most = min(k, len(chances_first) - 1)
    steps = np.arange(fewest, most + 1)  # of the first pool: (j,)
    of_first = chances_first[steps]  # (j, n_1 + 1)
    of_second = chances_second[k - steps]  # (j, n_0 + 1)
    rarity = of_first.T @ of_second  # (n_1 + 1, n_0 + 1)
    is_rare = rarity <= rarity[x, y] * (1 + _ROUNDING)
    chance_of_rare = ((of_first @ is_rare) * of_second).sum(axis=1)  # (j,)
    return float(chance_of_rare.max()) + _ROUNDING


@lru_cache(64)
def _chances(n: int, population: int, step: int) -> Floats:
    """Compute the chances of 0 to n drawn rows of the class, for each multiple of ``step``.

    The last line is of all rows of the pool. Rows (k,), columns (n + 1,).
    """
    of_class = np.minimum(np.arange(0, population + step, step), population)[:, None]
    drawn = np.arange(n + 1)
    log = (
        _log_choose(of_class, drawn)
        + _log_choose(population - of_class, n - drawn)
        - _log_choose(np.array(population), np.array(n))
    )
    chances = np.exp(log)
    return chances / chances.sum(axis=1, keepdims=True)


def _log_choose(n: Ints, k: Ints) -> Floats:
    """Compute the logarithm of a binomial coefficient; -inf for k above n."""
    is_possible = k <= n
    rest = np.where(is_possible, n - k, 0)
    return np.where(is_possible, -np.log1p(n) - betaln(k + 1, rest + 1), -np.inf)
