"""Exact confidence intervals for the share of right labels, from rows drawn at random.

All limits hold for any number of rows drawn uniformly at random without replacement. Skipped rows
count as wrong in every lower limit and as right in every upper one, so that the limits hold
whatever their answers would have been.

The functions use these letters: N rows are in the pool, M of them are right; n rows were drawn, x
of them are right. N, n and x are known, and M is what an interval is about.
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

# This prior of the share that is right is for labels under test. The numbers are the two parameters
# of a beta distribution, whose mean is 3 / (3 + 1).
MOSTLY_RIGHT = (3.0, 1.0)
# This prior is for any other share: all shares are equally likely.
NEUTRAL = (1.0, 1.0)

# A probability may be too small by this much, from rounding. It is added, which may widen an
# interval, and never makes it narrower.
_ROUNDING = 1e-12
# The logarithm of a likelihood may be too small by this much, and is treated in the same way.
_LOG_ROUNDING = 1e-6
# With at most this many drawn rows, all outcomes are enumerated. With more, an interval is of the
# kind of Clopper and Pearson; see ``interval`` and ``count_interval``.
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

    Of n rows drawn at random, x were right. Every share p that the pool may have is tested: if the
    outcome x, and those at least as rare, have together a chance of at most 1 - level under p, the
    share is ruled out; otherwise it is kept. The rarity r_p(y) of an outcome y is its chance under
    p relative to its chance under a prior (Pratt, 1961; Puza and O'Neill, 2005; the smaller, the
    rarer). So the shares that are kept are

    .. math:: \{ p : P_p(r_p(X) \le r_p(x)) > 1 - level \}, \qquad
              r_p(y) = \mathrm{Bin}(y; n, p) / m(y),

    with m(y) the chance of y if p was itself drawn from a beta distribution, the ``prior``. The
    interval runs from the smallest p that is kept to the largest.

    The interval covers the truth at least as often as it says *whatever the prior is*, since each p
    is tested by its own chances alone; the prior decides for which shares it is narrow. The default
    prior makes it narrower than the interval of Clopper and Pearson (1934) if most rows are right
    and few were drawn, and wider if few are right. Since r_p is log-concave in y, both limits grow
    with x. For a pool of known size it is ``count_interval`` divided by that size, which is
    narrower.

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
    # The upper limit is 1 less the lower limit of the share that is wrong. Shares are whole numbers
    # of steps of 1 / _STEPS here.
    wrong = n - correct - skipped
    low = _fewest_kept(correct, n, None, 1 - level, prior)
    high = _STEPS - _fewest_kept(wrong, n, None, 1 - level, prior[::-1])
    # The exact limits lie within the step before ``low`` and the step after ``high``.
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

    Of the N rows of the pool, n were drawn without replacement, and x of these are right. It is
    like ``interval``: every number M of right rows that the pool may have is tested, by
    hypergeometric instead of binomial chances, and kept unless x is among its rarest outcomes:

    .. math:: \{ M : P_M(r_M(X) \le r_M(x)) > 1 - level \}, \qquad
              r_M(y) = P(X = y \mid N, M, n) / m(y).

    If all rows were drawn, both limits are x. Beyond a thousand drawn rows, M is kept if both
    tails, P(X >= x) and P(X <= x), exceed (1 - level) / 2.

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
        fewest_right = _fewest_by_tail(correct, n, population, tail)
        fewest_wrong = _fewest_by_tail(wrong, n, population, tail)
    else:
        fewest_right = _fewest_kept(correct, n, population, 1 - level, prior)
        fewest_wrong = _fewest_kept(wrong, n, population, 1 - level, prior[::-1])
    return fewest_right, population - fewest_wrong


def at_least(correct: int, n: int, population: int | None = None, level: float = 0.95) -> float:
    """Compute the one-sided lower limit of the share that is right.

    Quote it if no upper limit is needed: "at least 76 % of the labels are right". No part of the
    risk is spent on an upper limit, so it is mostly higher than the lower end of ``interval``. It
    is the one-sided limit of Clopper and Pearson, or the hypergeometric one for a pool of known
    size. A skipped row is not right.

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
        # A two-sided interval of the level 2 * level - 1 leaves 1 - level on either side: one of
        # 90 % leaves 5 %, like a one-sided limit of 95 %.
        lower_limit, _ = clopper_pearson(correct, n, 2 * level - 1)
        return float(lower_limit)
    return _fewest_by_tail(correct, n, population, 1 - level) / population


def sequence(
    correct: ArrayLike, population: int, level: float = 0.95, *, skipped: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    r"""Compute limits of the share that is right after every row, valid at all moments together.

    A person may look at them after every row, and stop at will. The limits are those of the
    prior-posterior-ratio martingale for sampling without replacement (Waudby-Smith and Ramdas,
    Confidence sequences for sampling without replacement, 2020), with a uniform (beta-binomial, a =
    b = 1) prior over the number M of right rows among N. Say that s of the first t drawn rows are
    right. L_t(M) is the likelihood of M: the chance of exactly this sequence of right and wrong
    rows if M rows of the pool are right. R_t(M) is the mean of the likelihood over the prior,
    divided by that of M:

    .. math:: R_t(M) = \frac{B(1 + s,\, 1 + t - s)}{L_t(M)}, \qquad
              L_t(M) = \frac{M!}{(M-s)!} \, \frac{(N-M)!}{(N-M-t+s)!} \, \frac{(N-t)!}{N!}.

    If M is the truth, R_t(M) is a martingale of mean 1 in t, so the probability that it ever
    reaches 1 / (1 - level) is at most 1 - level (Ville, 1939). The interval after t rows holds
    every M for which R_t(M) is below that. L is log-concave in M, so both ends are found by
    bisection, in O(log N) steps for all t at once.

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
        ones. If nothing would be left, which happens in less than 1 - level of all audits, the
        interval is not cut.

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

    # After each of the k rows: the fewest right rows, and the fewest wrong rows, of the pool.
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
    """Compute Clopper and Pearson's limits of a share; numbers and arrays may be given.

    A share is ruled out if its chance of as many right rows, or more, is below (1 - level) / 2, and
    likewise for as many or fewer.
    """
    _check_level(level)
    x = np.asarray(correct, dtype=float)
    tail = (1 - level) / 2
    low = np.where(x > 0, betaincinv(x, n - x + 1, tail), 0.0)
    high = np.where(x < n, betaincinv(x + 1, n - x, 1 - tail), 1.0)
    return low, high


def hypergeometric(population: int, right: int, n: int) -> tuple[int, Floats]:
    r"""Compute the chances of each number of right rows among n drawn ones.

    Of the N rows of the pool (``population``), M are right. The chances of j and of j + 1 right
    rows among the drawn ones have the ratio

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
    numerators = (right - j) * (n - j)
    denominators = (j + 1) * (wrong - n + j + 1)
    log_ratios = np.log(numerators / denominators)

    # The chances are computed up to a constant factor first. The largest is 1, so none overflows.
    log_chances = np.append(0.0, np.cumsum(log_ratios))
    chances = np.exp(log_chances - log_chances.max())
    return fewest, chances / chances.sum()


def _first_passing(numbers: range, passes: Callable[[int], bool]) -> int:
    """Find the first number that passes a test, by bisection; ``numbers.stop`` if none does.

    All numbers after the first one that passes must pass, too.

    >>> _first_passing(range(3, 10), lambda number: number**2 > 30)
    6
    """
    return numbers.start + bisect_left(numbers, True, key=passes)


def _fewest_by_tail(x: int, n: int, population: int, tail: float) -> int:
    """Find the smallest number of right rows in the pool for which P(X >= x) exceeds ``tail``.

    X is the number of right rows among n drawn ones. The chance that it is at least x grows with
    the number of right rows in the pool.
    """

    def is_likely(right: int) -> bool:
        fewest_drawn, chances = hypergeometric(population, right, n)
        place_of_x = max(0, x - fewest_drawn)
        chance_of_x_or_more = float(chances[place_of_x:].sum())
        return chance_of_x_or_more > tail - _ROUNDING

    # With only n - x wrong rows in the whole pool, at least x of the drawn rows are right: so this
    # number of right rows is likely for sure.
    most_right = population - (n - x)
    return _first_passing(range(x, most_right), is_likely)


class _Look(NamedTuple):
    """How rare the outcome x is if the pool has M right rows.

    "Rare outcomes" are all those that are at least as rare as x: every y with r_M(y) <= r_M(x).
    """

    rarity: float  # r_M(x) of ``count_interval``: the smaller, the rarer
    rare_chance: float  # the chance of all rare outcomes together
    n_rare_below: int  # number of rare outcomes below x


@lru_cache(4096)
def _fewest_kept(
    x: int, n: int, population: int | None, risk: float, prior: tuple[float, float]
) -> int:
    """Find the smallest number M of right rows in the pool that the interval keeps.

    M is kept if the rare outcomes (see ``_Look``) have together a chance above ``risk``. Without a
    ``population``, the pool may have any size, and M stands for the share M / ``_STEPS``.

    To test every M would take long. The search ends at the likeliest M at the latest, and rests on
    three facts about every M below that:

    1. The rare outcomes have a chance of at most r_M(x): each has a chance of at most m(y) r_M(x),
       and the m(y) of all outcomes add up to 1. So no M with r_M(x) up to the risk is kept, and the
       search begins at the first M with a larger one.
    2. The rare outcomes are x, x + 1, ..., n above, and 0, 1, ..., y' below, for a y' < x that
       grows with M. So there are stretches of M with the same rare outcomes.
    3. Over such a stretch, the chance of the rare outcomes falls and then rises with M. So if
       neither end of the stretch is kept, no M between them is. If its first M is not kept and its
       last one is, the chance is rising where it passes the risk, and bisection finds the place.
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

    # Fact 1: the search begins here.
    likeliest = (population or _STEPS) * x // n
    start = _first_passing(range(likeliest), lambda right: look(right).rarity > risk)

    # Each pass looks at one stretch, from ``start`` to ``end``.
    while start < likeliest:
        if is_kept(start):
            return start
        # Fact 2: the next stretch begins where one more outcome below x becomes rare.
        n_below = n_rare_below(start)
        next_start = start + bisect_right(range(start, likeliest), n_below, key=n_rare_below)
        end = next_start - 1
        # Fact 3: the first M that is kept is on this stretch only if its end is kept.
        if is_kept(end):
            return _first_passing(range(start, end), is_kept)
        start = next_start
    return likeliest


def _chances(right: int, n: int, population: int | None) -> Floats:
    """Compute the chances of 0, 1, ... n right rows among n drawn ones, (n + 1,).

    ``right`` rows of the pool are right; without a ``population``, the share ``right / _STEPS``.
    """
    if population is None:
        # Binomial: n over y, times p^y, times (1 - p)^(n - y).
        p = right / _STEPS
        outcomes = np.arange(n + 1.0)  # y
        log_chances = _log_choose(n) + xlogy(outcomes, p) + xlog1py(n - outcomes, -p)
        return np.exp(log_chances)
    chances = np.zeros(n + 1)
    fewest, possible_chances = hypergeometric(population, right, n)
    chances[fewest : fewest + len(possible_chances)] = possible_chances
    return chances


def _chances_under_prior(n: int, prior: tuple[float, float]) -> Floats:
    """Compute the chances m(y) of y = 0, 1, ... n right rows among n drawn ones, (n + 1,).

    The share of right rows in the pool is itself drawn from the prior, a beta distribution.
    """
    a, b = prior
    outcomes = np.arange(n + 1.0)
    log_chances = _log_choose(n) + betaln(outcomes + a, n - outcomes + b) - betaln(a, b)
    return np.exp(log_chances)


@lru_cache(16)
def _log_choose(n: int) -> Floats:
    """Compute the logarithms of n over 0, n over 1, ... n over n."""
    outcomes = np.arange(n + 1.0)
    return gammaln(n + 1) - gammaln(outcomes + 1) - gammaln(n - outcomes + 1)


def _fewest_likely(s: Ints, t: Ints, population: int, level: float) -> Ints:
    """Find the fewest right rows that the pool may have by the interval of ``sequence``.

    After each of the k drawn rows, this is the smallest number M that is not ruled out. With R_t(M)
    and L_t(M) as in the docstring of ``sequence``, M is ruled out if R_t(M) >= 1 / (1 - level),
    that is, if its likelihood L_t(M) is at most B(1 + s, 1 + t - s) * (1 - level).

    Parameters
    ----------
    s : array of shape (k,)
        The number of right rows among the first t drawn ones.
    t : array of shape (k,)
        1, 2, ... k.
    population : int
        Rows of the pool.
    level : float
    """
    smallest_log_likelihood = betaln(1 + s, 1 + t - s) + np.log1p(-level) - _LOG_ROUNDING  # (k,)

    # Bisection, for all t at once. ``low`` is always ruled out: M cannot be below s. ``high`` never
    # is: it begins with the likeliest M.
    low = s - 1
    high = np.clip((population + 1) * s // t, s, population - (t - s))
    while (high - low > 1).any():
        middle = (low + high) // 2
        log_likelihood = _log_likelihood(np.maximum(middle, s), s, t, population)
        is_allowed = log_likelihood > smallest_log_likelihood
        # Where the search has ended, middle is low, which stays ruled out.
        is_allowed &= middle > low
        low = np.where(is_allowed, low, middle)
        high = np.where(is_allowed, middle, high)
    return high


def _log_likelihood(right: Ints, s: Ints, t: Ints, population: int) -> Floats:
    """Compute the logarithm of L_t(M) of ``sequence``, (k,).

    M = ``right`` rows of the pool are right, and s of the first t drawn ones. The logarithm of n!
    is gammaln(n + 1).
    """
    wrong = population - right
    n_wrong_drawn = t - s
    return (
        gammaln(right + 1)
        - gammaln(right - s + 1)
        + gammaln(wrong + 1)
        - gammaln(wrong - n_wrong_drawn + 1)
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
