"""Exact confidence intervals for the share of right labels, from rows drawn at random.

All limits hold for any number of rows drawn uniformly at random without replacement. Skipped rows
count as wrong in every lower limit and as right in every upper one, so that the limits hold
whatever their answers would have been.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, betaln, gammaln, xlog1py, xlogy

from chary._arrays import Floats

Ints = NDArray[np.int64]

# Priors of the share that is right: the two parameters of a beta distribution.
MOSTLY_RIGHT = (3.0, 1.0)  # for labels under test
NEUTRAL = (1.0, 1.0)  # for anything else: uniform

# Allowances for rounding: they may widen an interval, and never make it narrower.
_ROUNDING = 1e-12  # added to the probability of a tail
_LOG_ROUNDING = 1e-6  # added to the logarithm of a likelihood
# The most drawn rows for which all outcomes are enumerated. With more, an interval is of the kind
# of Clopper and Pearson; see ``interval`` and ``count_interval``.
_MOST_ENUMERATED = 1_000
# The share of a pool of any size is searched among multiples of 1 / _STEPS.
_STEPS = 2**30


def interval(
    correct: int,
    n: int,
    population: int | None = None,
    level: float = 0.95,
    skipped: int = 0,
    prior: tuple[float, float] = MOSTLY_RIGHT,
) -> tuple[float, float]:
    r"""Compute an exact interval of the share that is right in a pool of rows.

    Of n rows drawn at random, x were right. A share p of the pool is kept unless x is among the
    rarest outcomes under p. The rarity r_p(y) of an outcome y is its chance under p relative to its
    chance under the prior (Pratt, 1961; Puza and O'Neill, 2005; the smaller, the rarer):

    .. math:: \{ p : P_p(r_p(X) \le r_p(x)) > 1 - level \}, \qquad
              r_p(y) = \mathrm{Bin}(y; n, p) / m(y),

    with m(y) the chance of y if p was itself drawn from a beta distribution, the ``prior``. The
    interval runs from the smallest p that is kept to the largest. It covers the truth at least as
    often as it says *whatever the prior is*, since each p is tested by its own chances alone; the
    prior decides for which shares it is narrow. The default prior makes it narrower than the
    interval of Clopper and Pearson (1934) if most rows are right and few were drawn, and wider if
    few are right. Since r_p is log-concave in y, both limits grow with x. For a pool of
    known size it is ``count_interval`` divided by that size, which is narrower.

    Parameters
    ----------
    correct : int
        Rows known to be right.
    n : int
        Rows drawn, skipped ones included. Beyond a thousand the gain over Clopper and Pearson's
        interval is small, so that one is returned.
    population : int, default=None
        Rows of the pool they were drawn from. None: any number.
    level : float, default=0.95
        Of the interval.
    skipped : int, default=0
        Drawn rows that nobody answered: wrong for the lower limit, right for the upper one.
    prior : tuple of two numbers, default=(3, 1)
        The beta distribution of what was expected before the draw: on average, three right rows to
        a wrong one.

    Examples
    --------
    >>> [round(limit, 3) for limit in interval(27, 30)]
    [0.753, 0.972]
    >>> [round(limit, 3) for limit in interval(27, 30, skipped=3)]
    [0.753, 1.0]

    Thirty rows of sixty leave less open than thirty of a million:

    >>> [round(limit, 3) for limit in interval(27, 30, population=60)]
    [0.8, 0.95]
    >>> [round(limit, 3) for limit in interval(27, 30, population=1_000_000)]
    [0.753, 0.972]
    """
    if population is not None:
        low, high = count_interval(correct, n, population, level, skipped, prior)
        return low / population, high / population
    _check_counts(correct, n, skipped, level)
    if n > _MOST_ENUMERATED:
        lower_limit, _ = clopper_pearson(correct, n, level)
        _, upper_limit = clopper_pearson(correct + skipped, n, level)
        return float(lower_limit), float(upper_limit)
    # The upper limit is 1 less the lower limit of the share that is wrong.
    wrong = n - correct - skipped
    low = _fewest_kept(correct, n, None, 1 - level, prior)
    high = _STEPS - _fewest_kept(wrong, n, None, 1 - level, prior[::-1])
    # The limits lie within the step before ``low`` and the step after ``high``.
    return max(0, low - 1) / _STEPS, min(_STEPS, high + 1) / _STEPS


def count_interval(
    correct: int,
    n: int,
    population: int,
    level: float = 0.95,
    skipped: int = 0,
    prior: tuple[float, float] = NEUTRAL,
) -> tuple[int, int]:
    r"""Compute an exact interval of the number of right rows in a pool of known size.

    Of its N rows, n were drawn without replacement. It is like ``interval``, with hypergeometric
    instead of binomial chances, given the number M of right rows in the pool:

    .. math:: \{ M : P_M(r_M(X) \le r_M(x)) > 1 - level \}, \qquad
              r_M(y) = P(X = y \mid N, M, n) / m(y).

    At n = N both limits are x. Beyond a thousand drawn rows, M is kept if both tails, P(X >= x) and
    P(X <= x), exceed (1 - level) / 2.

    Parameters
    ----------
    correct : int
        Right rows among those drawn.
    n : int
        Rows drawn, skipped ones included.
    population : int
        Rows of the table that they were drawn from.
    level : float, default=0.95
        Of the interval.
    skipped : int, default=0
        Rows drawn and not answered: wrong in the lower limit, right in the upper one.
    prior : tuple of two numbers, default=(1, 1)
        As in ``interval``. The default is uniform, so it suits the share of a class, too.

    Examples
    --------
    >>> count_interval(27, 30, 5_000)
    (3684, 4860)
    >>> count_interval(27, 30, 30)
    (27, 27)
    """
    _check_counts(correct, n, skipped, level)
    if n > population:
        raise ValueError(
            f"{n:,} rows cannot be drawn from {population:,}; give the size of the whole pool."
        )
    wrong = n - correct - skipped
    if n > _MOST_ENUMERATED:
        tail = (1 - level) / 2
        fewest_right = _fewest(correct, n, population, tail)
        fewest_wrong = _fewest(wrong, n, population, tail)
    else:
        fewest_right = _fewest_kept(correct, n, population, 1 - level, prior)
        fewest_wrong = _fewest_kept(wrong, n, population, 1 - level, prior[::-1])
    return fewest_right, population - fewest_wrong


def at_least(correct: int, n: int, population: int | None = None, level: float = 0.95) -> float:
    """Compute the one-sided lower limit of the share that is right.

    Quote it if no upper limit is needed. It is the one-sided limit of Clopper and Pearson, or the
    hypergeometric one for a pool of known size. No part of the risk is spent on an upper limit, so
    it is mostly higher than the lower end of ``interval``. A skipped row is not right.

    Parameters
    ----------
    correct : int
        Rows known to be right.
    n : int
        Rows drawn, the skipped ones included.
    population : int, default=None
        Rows of the pool they were drawn from. None: any number.
    level : float, default=0.95

    Examples
    --------
    >>> round(at_least(27, 30), 3)
    0.761
    """
    _check_counts(correct, n, 0, level)
    if population is None:
        # A two-sided interval of this level leaves 1 - level on either side.
        lower_limit, _ = clopper_pearson(correct, n, 2 * level - 1)
        return float(lower_limit)
    return _fewest(correct, n, population, 1 - level) / population


def sequence(
    correct: ArrayLike, population: int, level: float = 0.95, *, skipped: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    r"""Compute limits of the share that is right after every row, valid at all moments together.

    A person may look at them after every row, and stop at will. The limits are those of the
    prior-posterior-ratio martingale for sampling without replacement (Waudby-Smith and Ramdas,
    Confidence sequences for sampling without replacement, 2020), with a uniform (beta-binomial, a =
    b = 1) prior over the number M of right rows among N. After t rows, s of them right, in the
    order in which they were drawn,

    .. math:: R_t(M) = \frac{B(1 + s,\, 1 + t - s)}{L_t(M)}, \qquad
              L_t(M) = \frac{M!}{(M-s)!} \, \frac{(N-M)!}{(N-M-t+s)!} \, \frac{(N-t)!}{N!}

    is a martingale of mean 1 if M is the truth, so the probability that it ever reaches
    1 / (1 - level) is at most 1 - level (Ville, 1939). The interval holds every M for which R_t(M)
    is below that. L is log-concave in M, so both ends are found by bisection, in O(log N) steps for
    all t at once.

    Parameters
    ----------
    correct : array-like of shape (k,), bool
        Whether each drawn row is right, **in the order of the draw**; False where it was skipped.
    population : int
        Rows of the pool.
    level : float, default=0.95
    skipped : array-like of shape (k,), bool, default=None
        Rows that nobody answered: wrong for the lower limits, right for the upper ones.

    Returns
    -------
    low, high : arrays of shape (k,)
        Limits after 1, 2, ... k rows. Each interval is cut down to its overlap with all earlier
        ones. If nothing is left, which happens in less than 1 - level of all audits, it is not cut.

    Examples
    --------
    >>> low, high = sequence([True] * 27 + [False] * 3, population=5_000)
    >>> low[[9, 26, 29]].round(3), high[[9, 26, 29]].round(3)
    (array([0.584, 0.792, 0.792]), array([1.   , 1.   , 0.992]))
    """
    is_right = np.asarray(correct, dtype=bool)
    n_rows = len(is_right)
    is_skipped = np.zeros(n_rows, dtype=bool)
    if skipped is not None:
        is_skipped = np.asarray(skipped, dtype=bool)
    _check_level(level)
    if n_rows > population:
        raise ValueError(
            f"{n_rows:,} rows cannot be drawn from {population:,}; give the size of the pool."
        )
    if (is_right & is_skipped).any():
        raise ValueError(
            "skipped must name rows of correct that are not right: one value for each drawn row."
        )

    t = np.arange(1, n_rows + 1)
    is_wrong = ~is_right & ~is_skipped
    low = _fewest_likely(np.cumsum(is_right), t, population, level)
    high = population - _fewest_likely(np.cumsum(is_wrong), t, population, level)

    # All intervals hold together, so each is cut down to its overlap with all earlier ones, if any.
    highest_low = np.maximum.accumulate(low)
    lowest_high = np.minimum.accumulate(high)
    has_overlap = highest_low <= lowest_high
    low = np.where(has_overlap, highest_low, low)
    high = np.where(has_overlap, lowest_high, high)
    return low / population, high / population


def clopper_pearson(correct: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """Compute Clopper and Pearson's limits, for arrays."""
    _check_level(level)
    x = np.asarray(correct, dtype=float)
    tail = (1 - level) / 2
    low = np.where(x > 0, betaincinv(x, n - x + 1, tail), 0.0)
    high = np.where(x < n, betaincinv(x + 1, n - x, 1 - tail), 1.0)
    return low, high


def hypergeometric(population: int, right: int, n: int) -> tuple[int, Floats]:
    r"""Compute the chances of each number of right rows among n drawn ones.

    With M = ``right`` and N = ``population``, neighbouring chances have the ratio

    .. math:: \frac{P(X = j + 1)}{P(X = j)} = \frac{(M - j) (n - j)}{(j + 1) (N - M - n + j + 1)}.

    All chances follow from these ratios, since they add up to 1. Factorials of large pools would
    lose precision.

    Returns
    -------
    fewest : int
        The smallest possible number of right rows among the drawn ones.
    chances : array
        The chances of ``fewest``, ``fewest + 1``, ... right rows.

    Examples
    --------
    Two rows drawn from three, of which two are right:

    >>> hypergeometric(population=3, right=2, n=2)
    (1, array([0.66666667, 0.33333333]))
    """
    wrong = population - right
    fewest = max(0, n - wrong)
    most = min(n, right)
    j = np.arange(fewest, most, dtype=float)
    ratios = (right - j) * (n - j) / ((j + 1) * (wrong - n + j + 1))
    log_chances = np.append(0.0, np.cumsum(np.log(ratios)))  # up to a constant
    chances = np.exp(log_chances - log_chances.max())  # the largest is 1, so none overflows
    return fewest, chances / chances.sum()


def _first_passing(numbers: range, passes: Callable[[int], bool]) -> int:
    """Find the first number that passes a test, by bisection; ``numbers.stop`` if none does.

    All numbers after the first one that passes must pass, too.

    >>> _first_passing(range(3, 10), lambda number: number**2 > 30)
    6
    """
    return numbers.start + bisect_left(numbers, True, key=passes)


def _fewest(x: int, n: int, population: int, tail: float) -> int:
    """Find the smallest number of right rows in the pool for which P(X >= x) exceeds ``tail``."""

    def is_likely(right: int) -> bool:
        fewest, chances = hypergeometric(population, right, n)
        chance_of_x_or_more = float(chances[max(0, x - fewest) :].sum())
        return chance_of_x_or_more > tail - _ROUNDING

    # If all other rows of the pool are right, at least x of the drawn rows are.
    most_right = population - (n - x)
    return _first_passing(range(x, most_right), is_likely)


class _Look(NamedTuple):
    """How rare the outcome x is if the pool has M right rows.

    A rare outcome is one that is at least as rare as x: every y with r_M(y) <= r_M(x).
    """

    rarity: float  # r_M(x) of ``count_interval``: the smaller, the rarer
    rare_chance: float  # the chance of all rare outcomes together
    n_rare_below: int  # number of rare outcomes below x


@lru_cache(4096)
def _fewest_kept(
    x: int, n: int, population: int | None, risk: float, prior: tuple[float, float]
) -> int:
    """Find the smallest number M of right rows in the pool that the interval keeps.

    M is kept if the rare outcomes (see ``_Look``) have a chance above ``risk``. Without a
    ``population``, M stands for the share M / ``_STEPS``.

    The search rests on three facts about every M below the likeliest one:

    1. The rare outcomes have a chance of at most r_M(x), because the m(y) of all outcomes add up to
       1. So the search begins at the first M for which r_M(x) exceeds the risk.
    2. The rare outcomes are x, x + 1, ..., n, and 0, 1, ..., y' for a y' < x that grows with M.
    3. On a stretch of M with the same y', their chance falls and then rises with M. So if neither
       end of the stretch is kept, no M between them is.
    """
    if x == 0:
        return 0
    expected = _chances_under_prior(n, prior)  # m(y) of all y

    def look(right: int) -> _Look:
        chances = _chances(right, n, population)
        rarity = chances / expected  # r_M(y) of all y
        is_rare = rarity <= rarity[x] * (1 + _LOG_ROUNDING)
        return _Look(
            rarity=float(rarity[x]),
            rare_chance=float(chances[is_rare].sum()) + _ROUNDING,
            n_rare_below=int(np.count_nonzero(is_rare[:x])),
        )

    def is_kept(right: int) -> bool:
        return look(right).rare_chance > risk

    def n_rare_below(right: int) -> int:
        return look(right).n_rare_below

    likeliest = (population or _STEPS) * x // n
    start = _first_passing(range(likeliest), lambda right: look(right).rarity > risk)
    while start < likeliest:
        if is_kept(start):
            return start
        # The next stretch begins where y' grows, which makes one more outcome below x rare.
        n_below = n_rare_below(start)
        next_start = start + bisect_right(range(start, likeliest), n_below, key=n_rare_below)
        end = next_start - 1
        if is_kept(end):
            return _first_passing(range(start, end), is_kept)
        start = next_start
    return likeliest


def _chances(right: int, n: int, population: int | None) -> Floats:
    """Compute the chances of 0, 1, ... n right rows among n drawn ones, if M rows are right."""
    if population is None:
        p = right / _STEPS
        outcomes = np.arange(n + 1.0)
        return np.exp(_log_choose(n) + xlogy(outcomes, p) + xlog1py(n - outcomes, -p))
    chances = np.zeros(n + 1)
    fewest, possible = hypergeometric(population, right, n)
    chances[fewest : fewest + len(possible)] = possible
    return chances


def _chances_under_prior(n: int, prior: tuple[float, float]) -> Floats:
    """Compute the chances of 0, 1, ... n right rows if the share of right rows is random."""
    a, b = prior
    outcomes = np.arange(n + 1.0)
    return np.exp(_log_choose(n) + betaln(outcomes + a, n - outcomes + b) - betaln(a, b))


@lru_cache(16)
def _log_choose(n: int) -> Floats:
    """Compute the logarithms of n over 0, n over 1, ... n over n."""
    outcomes = np.arange(n + 1.0)
    return gammaln(n + 1) - gammaln(outcomes + 1) - gammaln(n - outcomes + 1)


def _fewest_likely(s: Ints, t: Ints, population: int, level: float) -> Ints:
    """Find the smallest M with R_t(M) < 1 / (1 - level), after each row; see ``sequence``.

    ``t`` is 1, 2, ... k, and ``s`` has the number of right rows among the first t: both (k,).
    """
    # R_t(M) < 1 / (1 - level) means log L_t(M) > log B(1 + s, 1 + t - s) + log(1 - level).
    bound = betaln(1 + s, 1 + t - s) + np.log1p(-level) - _LOG_ROUNDING

    # Bisection for all t at once: low is always ruled out, high never. High begins with the
    # likeliest M, which is never ruled out.
    low = s - 1
    high = np.clip((population + 1) * s // t, s, population - (t - s))
    while (high - low > 1).any():
        middle = (low + high) // 2
        is_allowed = _log_likelihood(np.maximum(middle, s), s, t, population) > bound
        is_allowed &= middle > low  # where low and high are neighbours, both stay
        low = np.where(is_allowed, low, middle)
        high = np.where(is_allowed, middle, high)
    return high


def _log_likelihood(right: Ints, s: Ints, t: Ints, population: int) -> Floats:
    """Compute the logarithm of L_t(M), with M = ``right``; see ``sequence``."""
    wrong = population - right
    n_wrong = t - s
    return (
        gammaln(right + 1)
        - gammaln(right - s + 1)
        + gammaln(wrong + 1)
        - gammaln(wrong - n_wrong + 1)
        + gammaln(population - t + 1)
        - gammaln(population + 1)
    )


def _check_counts(correct: int, n: int, skipped: int, level: float) -> None:
    """Refuse numbers of rows that contradict each other."""
    _check_level(level)
    if not (0 <= correct <= n - skipped and n >= 1 and skipped >= 0):
        raise ValueError(f"{correct} of {n} rows, {skipped} of them skipped, cannot be right.")


def _check_level(level: float) -> None:
    """Refuse a level that is no probability."""
    if not 0 < level < 1:
        raise ValueError(f"level={level} must be above 0 and below 1, such as 0.95.")
