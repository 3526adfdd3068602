"""A random sample of unlabelled rows, labelled by a person, in; honest accuracy with its interval out.

Everything here rests on one fact: the audited rows were drawn uniformly at random from the unlabelled ones, and
the model that is judged has not seen their labels. The statements are then exact, whatever the bias of the other
labels, the model or its confidence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv
from scipy.stats import binomtest

from chary.evaluation.intervals import accuracy_interval as accuracy_interval
from chary.evaluation.intervals import clopper_pearson, interval
from chary.evaluation.tally import Tally

Floats = NDArray[np.floating[Any]]

# A balanced accuracy is given from this many audited rows of every class on.
MIN_PER_CLASS = 5
# Rows that are given their random numbers at a time.
_BLOCK = 1_000_000
# Keeps the numbers apart from those of anyone who makes a table, or a model, from the same seed.
_AUDIT = 0x6175646974
# Thresholds tried between the strictest and none at all.
_N_THRESHOLDS = 30


class Score(NamedTuple):
    """How many of some audited rows were right, and what that says of all rows like them."""

    correct: int  #: audited rows that are right
    n: int  #: audited rows, skipped ones included
    low: float  #: the interval of the share that is right
    high: float  #: and its upper limit
    level: float  #: of the interval: 0.95 is 95 %

    @property
    def share(self) -> float:
        """The share of the audited rows that was right."""
        return self.correct / self.n

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"


class Comparison(NamedTuple):
    """Two models on the same audited rows."""

    only_first: int  #: rows that the first alone gets right
    only_second: int  #: rows that the second alone gets right
    p_value: float  #: that the two err equally often, two-sided, exact


class Acceptance(NamedTuple):
    """The rows that can be accepted at an error."""

    threshold: float  #: accept rows of at least this confidence; infinite: none
    n_accepted: int  #: rows of the pool
    n_audited: int  #: audited rows among them
    n_wrong: int  #: of those
    error: float  #: at most this share of the accepted rows is wrong
    level: float  #: with at least this probability


def draw(labeled: ArrayLike, k: int, random_state: Any = None) -> NDArray[np.intp]:
    """Row numbers of k unlabelled rows, uniformly at random without replacement, in random order.

    Every row of the table, labelled or not, has a random number that depends on the seed and its place alone;
    the draw is the k unlabelled rows of the smallest, in their order. So for one table and one seed draws are
    nested: the first 30 of a draw of 60 are the draw of 30. They go on, too: with the 30 rows marked as
    labelled, the draw of 30 more is the second half of that draw of 60. Rows drawn with another seed, or by an
    older version, can be enlarged in the same way and stay a random draw. The numbers are the same on every
    machine, and 10,000,000 rows need no more memory at a time than a million.

    Parameters
    ----------
    labeled : array-like of shape (n,), bool
        Where a label was given; all False to draw from all rows.
    k : int
        How many rows a person will label.
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> draw([True, False, False, True, False], 2, random_state=0)
    array([2, 4])
    """
    labeled = np.asarray(labeled)
    if labeled.ndim != 1 or labeled.dtype != bool:
        raise ValueError(f"labeled must be a mask of shape (n,); got {labeled.dtype} of shape {labeled.shape}.")
    n_unlabeled = len(labeled) - int(np.count_nonzero(labeled))
    if not 1 <= k <= n_unlabeled:
        raise ValueError(f"{k} rows cannot be drawn from {n_unlabeled:,} unlabelled rows; ask for fewer.")
    numbers = _random_numbers(random_state)
    rows, ranks = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint64)
    for start in range(0, len(labeled), _BLOCK):
        part = labeled[start : start + _BLOCK]
        found = np.asarray(numbers.random_raw(len(part)), dtype=np.uint64)
        rows = np.concatenate([rows, np.flatnonzero(~part) + start])
        ranks = np.concatenate([ranks, found[~part]])
        first = np.argsort(ranks, kind="stable")[:k] if len(ranks) <= 4 * k else _smallest(ranks, k)
        rows, ranks = rows[first], ranks[first]
    return rows


def score(correct: ArrayLike, level: float = 0.95, *, skipped: int = 0, population: int | None = None) -> Score:
    """The share of right rows in an audit, with its exact interval.

    Rows that were drawn and skipped count as wrong, in the share and in the lower limit; the upper one supposes
    them right, so that the interval holds whatever they are. With the size of the pool they were drawn from it
    is narrower (``interval``).

    Parameters
    ----------
    correct : array-like of shape (k,), bool
        Whether each answered row is right.
    level : float, default=0.95
        Of the interval.
    skipped : int, default=0
        Rows that were drawn and not answered.
    population : int, default=None
        Rows that they were drawn from. None: any number.

    Examples
    --------
    >>> print(score([True] * 27 + [False] * 3))
    90.0% (73.5% to 97.9%)
    >>> print(score([True] * 27, skipped=3))
    90.0% (73.5% to 100.0%)
    """
    correct = np.asarray(correct, dtype=bool)
    n_correct, n = int(correct.sum()), correct.size + skipped
    return Score(n_correct, n, *interval(n_correct, n, population, level, skipped), level)


def class_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    *,
    skipped: ArrayLike = (),
) -> dict[Any, Score]:
    """For each class the share of its audited rows that were recognised, with its exact interval.

    Classes without an audited row are left out: nothing is known of them. With the arguments exchanged, the
    share of right rows among those predicted as each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (k,)
    classes : sequence, default=None
        None: those of ``y_true``.
    level : float, default=0.95
    skipped : array-like, default=()
        What was predicted of rows that were drawn and that nobody answered, None where that is not known either.
        They are of the class and missed for its lower limit, of the class and found for its upper one.

    Examples
    --------
    >>> for label, recall in class_scores(["a"] * 8 + ["b"] * 2, ["a"] * 9 + ["b"]).items():
    ...     print(label, recall)
    a 100.0% (63.1% to 100.0%)
    b 50.0% (1.3% to 98.7%)
    """
    y_true, y_pred, unknown = np.asarray(y_true), np.asarray(y_pred), np.asarray(skipped, dtype=object)
    nobody = unknown == None  # noqa: E711 (elementwise)
    wanted = np.unique(y_true).tolist() if classes is None else classes
    scores = {}
    for label in wanted:
        own, said = y_true == label, unknown == label
        found = int((y_pred[own] == label).sum())
        scores[label] = recall_score(found, int(own.sum()), int((said | nobody).sum()), int((~said).sum()), level)
    return {label: recall for label, recall in scores.items() if recall is not None}


def recall_score(
    found: int, seen: int, may_be_found: int = 0, may_be_missed: int = 0, level: float = 0.95
) -> Score | None:
    """The share of a class that was recognised: exact, as its audited rows are a random sample of its rows.

    Of the rows that were skipped, those that would be of the class and missed count for the lower limit, those
    that would be of it and found for the upper one. None where no row of the class was seen.
    """
    if not seen:
        return None
    low, _ = interval(found, seen + may_be_missed, level=level)
    _, high = interval(found + may_be_found, seen + may_be_found, level=level)
    return Score(found, seen, low, high, level)


def balanced_score(scores: dict[Any, Score], n_classes: int | None = None) -> tuple[float, float, float] | None:
    r"""Balanced accuracy (the mean of the classes' shares) and its interval; None where rows are too few.

    The exact limits l_c, u_c of the C classes' shares p_c are joined as independent errors (Zou and Donner,
    2008). That is close, not exact: for two classes and a level of 95 % it covers the truth in 98 % of cases on
    average and in 92 % at the worst accuracies.

    .. math:: \bar p - \tfrac1C \sqrt{\textstyle\sum_c (p_c - l_c)^2}, \qquad
              \bar p + \tfrac1C \sqrt{\textstyle\sum_c (u_c - p_c)^2}.

    Parameters
    ----------
    scores : dict of Score
        From ``class_scores``.
    n_classes : int, default=None
        How many classes there are, if some may be without audited row. Every class needs five.
    """
    if len(scores) < (n_classes or 1) or any(s.n < MIN_PER_CLASS for s in scores.values()):
        return None
    share, low, high = np.array([(s.share, s.low, s.high) for s in scores.values()]).T
    mean, n = float(share.mean()), len(scores)
    below, above = np.linalg.norm(share - low) / n, np.linalg.norm(high - share) / n
    return mean, max(0.0, mean - float(below)), min(1.0, mean + float(above))


def required_size(width: float, level: float = 0.95, accuracy: float = 0.5) -> int:
    """Fewest rows to audit for an interval at most this wide.

    Parameters
    ----------
    width : float
        Of the interval from end to end, such as 0.2 for plus or minus ten points.
    level : float, default=0.95
    accuracy : float, default=0.5
        What one expects; at 0.5 the interval is widest, so that the answer holds whatever comes out.

    Examples
    --------
    >>> required_size(0.2), required_size(0.2, accuracy=0.9)
    (104, 44)
    """
    if not 0 < width < 1 or not 0 <= accuracy <= 1:
        raise ValueError(f"width={width} and accuracy={accuracy} must be shares, width above 0 and below 1.")

    def is_wide(n: int) -> bool:
        low, high = clopper_pearson(accuracy * n, n, level)
        return float(high - low) > width

    size = 1
    while is_wide(size):
        size *= 2
    low = size // 2
    while size - low > 1:
        middle = (low + size) // 2
        low, size = (middle, size) if is_wide(middle) else (low, middle)
    return size


def compare(first_correct: ArrayLike, second_correct: ArrayLike) -> Comparison:
    """Whether two models err equally often, by the rows on which exactly one of them is right (McNemar, exact).

    Parameters
    ----------
    first_correct : array-like of shape (k,), bool
        Whether the first is right on each audited row.
    second_correct : array-like of shape (k,), bool
        Whether the second is.

    Examples
    --------
    >>> compare([True] * 10 + [False] * 2, [False] * 10 + [True] * 2)
    Comparison(only_first=10, only_second=2, p_value=0.03857421875)
    """
    first, second = np.asarray(first_correct, dtype=bool), np.asarray(second_correct, dtype=bool)
    only_first, only_second = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    n = only_first + only_second
    return Comparison(only_first, only_second, float(binomtest(only_first, n).pvalue) if n else 1.0)


def accept_threshold(
    confidence: ArrayLike, correct: ArrayLike, pool: ArrayLike | Tally, error: float, level: float = 0.9
) -> Acceptance:
    r"""The smallest confidence from which on rows can be accepted with at most this error.

    For a threshold t fixed beforehand, the n_t audited rows with confidence at least t are a random sample of
    all such rows, so that the number of wrong ones w_t is binomial and

    .. math:: p_t = P(\mathrm{Bin}(n_t, error) \le w_t)

    is an exact p-value against "the error above t exceeds ``error``". The thresholds are shares of the pool, so
    they are fixed without looking at any audited label, and are walked from strict to lax as long as p_t is
    small enough (fixed-sequence testing, as in Learn then Test; Angelopoulos et al., 2021). A walk that starts
    where few audited rows are left ends at the first unlucky one, so there is one start for every doubling of
    the share, and the J walks share the risk: each tests at (1 - level) / J.

    What holds: with probability ``level`` over the draw of the audit, at most a share ``error`` of the pool's
    rows from the returned threshold on is wrong, although the threshold was chosen with the audit, with no
    assumption on the confidence, the model or its training labels. What does not: ``n_wrong / n_audited`` and
    ``score`` of those rows, which are optimistic because the threshold was chosen for them; and the best of
    several errors asked in turn: fix one beforehand.

    Parameters
    ----------
    confidence : array-like of shape (k,)
        Of the audited rows, by a model that has not seen their labels.
    correct : array-like of shape (k,), bool
        Whether that model's predictions of them are right.
    pool : array-like of shape (n,), or Tally
        Confidences of all unlabelled rows, the audited ones included.
    error : float
        The largest share of wrong rows allowed.
    level : float, default=0.9

    Examples
    --------
    >>> pool = np.linspace(0, 1, 1001)
    >>> audited = pool[::10]
    >>> found = accept_threshold(audited, audited > 0.3, pool, error=0.1)
    >>> found.n_accepted, found.n_audited, found.n_wrong
    (718, 72, 2)
    """
    if not (0 < error < 1 and 0 < level < 1):
        raise ValueError(f"error={error} and level={level} must be shares, above 0 and below 1.")
    confidence = np.asarray(confidence, dtype=float)
    rows = pool if isinstance(pool, Tally) else _Sorted(np.sort(np.asarray(pool, dtype=float)))
    if np.isnan(confidence).any() or (isinstance(rows, _Sorted) and np.isnan(rows.values).any()):
        raise ValueError("confidence must be a number for every row; give -inf where there is none.")
    wrong = ~np.asarray(correct, dtype=bool)
    starts = _starts(len(confidence), error, 1 - level)
    nothing = Acceptance(math.inf, 0, 0, 0, error, level)
    if not len(starts):
        return nothing
    shares = np.union1d(np.geomspace(starts[0], 1, _N_THRESHOLDS), starts)
    thresholds = rows.smallest(np.minimum(np.round((1 - shares) * rows.n).astype(int), rows.n - 1))
    order = np.argsort(-confidence, kind="stable")
    n = np.searchsorted(-confidence[order], -thresholds, side="right")  # audited rows from each threshold on
    n_wrong = np.append(0, np.cumsum(wrong[order]))[n]
    passed = bdtr(n_wrong, n, error) <= (1 - level) / len(starts)
    reached = -1
    for first in np.searchsorted(shares, starts):
        n_passed = int(np.append(passed[first:], False).argmin())
        reached = max(reached, first + n_passed - 1) if n_passed else reached
    if reached < 0:
        return nothing
    threshold = float(thresholds[reached])
    return Acceptance(threshold, rows.n_from(threshold), int(n[reached]), int(n_wrong[reached]), error, level)


def smallest_audit(error: float, level: float = 0.9) -> int:
    """Fewest audited rows, all of them right, with which any row can be accepted at this error.

    Parameters
    ----------
    error : float
        At most this share of the accepted rows is to be wrong.
    level : float, default=0.9
        With at least this probability.

    Examples
    --------
    >>> smallest_audit(0.1), smallest_audit(0.05)
    (22, 45)
    """
    return math.ceil(math.log(1 - level) / math.log1p(-error) - 1e-9)


class _Sorted(NamedTuple):
    """Confidences as they are, to be asked as a ``Tally`` is."""

    values: Floats

    @property
    def n(self) -> int:
        return len(self.values)

    def smallest(self, places: NDArray[np.intp]) -> Floats:
        return self.values[places]

    def n_from(self, threshold: float) -> int:
        return len(self.values) - int(np.searchsorted(self.values, threshold, side="left"))


def _random_numbers(random_state: Any) -> np.random.PCG64:
    """A stream of raw 64-bit numbers, which stays the same over versions of NumPy, as its samplers need not."""
    if not isinstance(random_state, (int, np.integer)):
        random_state = np.random.default_rng(random_state).integers(2**63)
    return np.random.PCG64(np.random.SeedSequence([int(random_state), _AUDIT]))


def _smallest(ranks: NDArray[np.uint64], k: int) -> NDArray[np.intp]:
    """Places of the k smallest, in order."""
    some = np.argpartition(ranks, k)[:k]
    return some[np.argsort(ranks[some], kind="stable")]


def _starts(k: int, error: float, risk: float) -> Floats:
    """Shares of the pool at which the walks start, each twice the one before.

    The first holds enough audited rows for a pass without error in nine audits of ten.
    """
    starts: Floats = np.empty(0)
    for n_starts in range(1, 10):
        needed = smallest_audit(error, 1 - risk / n_starts)
        if needed > k:
            break
        doubled = betaincinv(needed, k - needed + 1, 0.9) * 2.0 ** np.arange(n_starts)
        if doubled[-1] > 1:
            break
        starts = doubled
    return starts
