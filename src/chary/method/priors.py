"""Class shares, known or balancing, and the offsets of scores that bring them about.

An offset is a number for each class that is added to the scores of all rows. A higher offset gives
its class more rows.

Callers give scores (n, C). Most functions here take ``columns`` (C, n) instead: one line for each
class, one column for each row of the table. A pass over a class is then a pass over memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import softmax

from chary._arrays import Array, Floats, Ints
from chary._words import exact_percent, listed
from chary.method.labels import Labels

Codes = Ints

# What labels should be good at: to be right on as many rows as possible, or on as large a share of
# every class.
ACCURACY = "accuracy"
AIMS = (ACCURACY, "balanced")

# The sum of a user's shares may differ from 1 by this much.
_SUM_TOLERANCE = 1e-6
# A sentence names the classes if there are at most this many.
_NAMED_CLASSES = 6

# The next four are settings of ``balanced_shares``. They were chosen on real tables:
# docs/explanation/defaults.md says how.
# The scores are brought to this root mean square before they become probabilities.
SPREAD = 4.0
# The most informative shares have this weight, and the shares of the plain predictions the rest.
HALF_WAY = 0.5
# A score that is further than this below the highest score of its row is raised to this distance:
# the logarithm of a probability of 0 would outweigh all other scores.
_DEEPEST = 7.0
# At most this many rows are looked at.
_MOST_ROWS = 100_000

# The search of ``match_means`` ends after this many steps at the latest.
_MAX_STEPS = 100
# The softmax of ``_sharpened_offset`` gets sharper this many times at the most.
_MAX_LEVELS = 20

# The next five are for tables of many rows, see ``_offset_of_many_rows``.
# Up to this number of rows, the offsets are searched on all rows at once.
_SEARCHED_AT_ONCE = 20_000
# With more rows, the offsets of every row at a multiple of this step are found first.
_SAMPLE_STEP = 10
# Then at least this many rows nearest to a boundary between classes are searched.
_OPEN_ROWS = 1_000
# For each row that the sample gives to a wrong class, this many more are searched.
_OPEN_PER_SURPLUS = 10
# The first softmax over these rows has this sharpness, divided by the largest margin among them.
_FIRST_SHARPNESS = 4.0


def align(scores: ArrayLike, prior: ArrayLike) -> Floats:
    r"""Find offsets with which the predictions have the wanted class proportions.

    Let s_ic be the score of row i for class c, p the wanted proportions of the C classes and k the
    wanted counts: n p, rounded to whole numbers by largest remainder. The offset b is such that
    :math:`\arg\max_c (s_{ic} + b_c)` is class c for k_c of the n rows. Of all ways to give these
    numbers of rows to the classes, this one has the highest total score; and the same b serves new
    rows. Rows with equal scores go to one class together. If that makes it impossible to meet the
    counts, they are the nearest that were found (see ``match_counts``).

    Parameters
    ----------
    scores : array-like of shape (n, C)
        Logits or log-probabilities, finite.
    prior : array-like of shape (C,)
        Wanted proportions p, summing to 1.

    Returns
    -------
    array of shape (C,)
        Offsets with mean 0; minus infinity for a class whose wanted share is 0.

    Examples
    --------
    Each row prefers the first class. To give two rows to the second one, its scores must be raised
    by more than 1.0 and less than 1.5 against those of the first:

    >>> scores = np.array([[2.0, 0.0], [1.5, 0.0], [1.0, 0.0], [0.2, 0.0]])
    >>> offset = align(scores, [0.5, 0.5])
    >>> offset
    array([-0.625,  0.625])
    >>> (scores + offset).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    columns = score_columns(scores)  # (C, n)
    shares = np.asarray(prior, dtype=np.float64)  # (C,)
    shares = shares / shares.sum()

    # Classes without a share take no part in the search; their offset is minus infinity.
    is_wanted = shares > 0
    columns = columns[is_wanted]
    # Of classes with equal remainders the one with the higher mean score gets the row, so that the
    # names of the classes have no effect.
    favor = columns.mean(axis=1)
    counts = whole_counts(shares[is_wanted], columns.shape[1], favor)
    offset_of_wanted = match_counts(columns, counts)
    offset = np.full_like(shares, -np.inf)
    offset[is_wanted] = offset_of_wanted - offset_of_wanted.mean()
    return offset


class ClassPrior(NamedTuple):
    """The parameters ``class_prior`` and ``aim``, for the rows of a fit."""

    shares: Floats | None  # (C,) of all rows; None: nothing is known
    unlabeled_shares: Floats  # (C,) of the unlabelled rows; NaN if nothing is known
    aim: str = ACCURACY  # of AIMS

    @classmethod
    def of(
        cls, class_prior: Any, labels: Labels, aim: str = ACCURACY, n_rows: int | None = None
    ) -> ClassPrior:
        """Resolve the parameters.

        Parameters
        ----------
        class_prior : None, "labeled", mapping or array-like
            None imposes nothing. "labeled": the proportions of the labelled rows. A mapping from
            each class to its share, or the shares in the order of the classes.
        labels : Labels
        aim : {"accuracy", "balanced"}, default="accuracy"
        n_rows : int, default=None
            Rows of the whole table, if ``labels`` are of a sample with all labelled rows.

        Examples
        --------
        >>> labels = Labels(np.array(["no", "yes"]), np.array([0, 1, 1, 1, -1]), np.arange(5) < 4)
        >>> ClassPrior.of({"yes": 0.6, "no": 0.4}, labels).shares
        array([0.4, 0.6])
        >>> ClassPrior.of("labeled", labels).shares
        array([0.25, 0.75])
        """
        if class_prior is None:
            return cls(None, np.full(len(labels.classes), np.nan), aim)
        label_counts = labels.class_counts  # (C,)
        if isinstance(class_prior, str) and class_prior == "labeled":
            shares = label_counts / label_counts.sum()
        else:
            shares = _check_shares(class_prior, labels.classes.tolist())
        if not n_rows:
            n_rows = len(labels.codes)
        unlabeled_shares = shares_of_unlabeled(shares, label_counts, n_rows)
        return cls(shares, unlabeled_shares, aim)

    def offset(self, scores: Callable[[], Floats]) -> Floats:
        """Find what to add to the scores of each class, (C,); 0 if nothing is imposed.

        ``scores`` is a function, called only if it is needed, because it may take long. It returns
        the scores (n, C) of ``Labels.rows_to_predict``.
        """
        unlabeled_shares = self.unlabeled_shares  # (C,)
        if self.aim == ACCURACY:
            if self.shares is None:
                return np.zeros_like(unlabeled_shares)
            return align(scores(), unlabeled_shares)

        row_scores = scores()
        if self.shares is None:
            return align(row_scores, balanced_shares(row_scores))
        # A class without a share gets no row; all other classes are balanced among themselves.
        is_possible = unlabeled_shares > 0
        balanced = np.zeros_like(unlabeled_shares)
        balanced[is_possible] = balanced_shares(
            row_scores[:, is_possible], unlabeled_shares[is_possible]
        )
        return align(row_scores, balanced)


def shares_of_unlabeled(prior: Floats, labeled: Codes, n_rows: int) -> Floats:
    """Convert the class shares (C,) of all rows to those of unlabelled ones.

    ``labeled`` (C,) is how many rows of each class are labelled. With shares of a half, 8 rows have
    4 of each class. If 2 and 1 of these are labelled, 2 and 3 of the 5 unlabelled rows are left:

    >>> shares_of_unlabeled(np.array([0.5, 0.5]), np.array([2, 1]), 8)
    array([0.4, 0.6])

    If more rows of a class are labelled than its share allows, the class is left with half a row.
    If far more are (three standard deviations of a random table, and one row), the share cannot be
    that of all rows, and an error says so.
    """
    if labeled.sum() == n_rows:
        return prior
    expected = prior * n_rows  # (C,) rows of each class
    deviation = np.sqrt(expected * (1 - prior))  # (C,) of the rows of a class in a random table
    excess = labeled - expected - 3 * deviation - 1
    worst = excess.argmax()
    if excess[worst] > 0:
        raise ValueError(
            f"class_prior says that {exact_percent(prior[worst])} of all {n_rows:,} rows are of a "
            f"class that {labeled[worst]:,} labelled rows have; give shares of all rows, labelled "
            "ones included."
        )
    # New rows may be of any class that has a share: so half a row at least is left for each.
    n_unlabeled = np.maximum(expected - labeled, 0.5 * (prior > 0))  # (C,)
    return n_unlabeled / n_unlabeled.sum()


def shares_of_sample(prior: Floats, labeled: Codes, n_rows: int, n_sample: int) -> Floats:
    """Convert the table's class shares (C,) to those of a sample.

    The sample has all labelled rows of the table, ``labeled`` (C,) of each class, and some of its
    unlabelled rows, drawn at random. Of 1,000 rows with 500 of each class, 30 and 10 are labelled,
    and 470 and 490 are not. A sample of 140 has the 40 labelled rows and 100 others, about 49 and
    51 of each class: 79 and 61 in all.

    >>> shares_of_sample(np.array([0.5, 0.5]), np.array([30, 10]), 1000, 140).round(3)
    array([0.564, 0.436])
    """
    if n_sample == n_rows:
        return prior
    n_unlabeled = n_sample - labeled.sum()
    unlabeled_in_sample = shares_of_unlabeled(prior, labeled, n_rows) * n_unlabeled  # (C,)
    return (labeled + unlabeled_in_sample) / n_sample


def variation(codes: Codes, other_codes: Codes, n_classes: int) -> float:
    """Measure the total variation between class shares of two sets of rows.

    It is the share of rows that would have to change their class: 0.2 between shares of 70 % and
    30 % and shares of 50 % and 50 %. It is 0 if the shares are equal, and 1 if the sets have no
    class in common.
    """
    shares = np.bincount(codes, minlength=n_classes) / len(codes)
    other_shares = np.bincount(other_codes, minlength=n_classes) / len(other_codes)
    return float(np.abs(shares - other_shares).sum() / 2)


def describe_prior(class_prior: Any, prior: Floats | None, classes: Array) -> str:
    """Say in one plain sentence what a class prior assumes.

    >>> classes = np.array(["no", "yes"])
    >>> describe_prior({"yes": 0.3, "no": 0.7}, np.array([0.7, 0.3]), classes)
    "you told chary that 70 % of all rows are 'no' and 30 % are 'yes'"
    >>> describe_prior(np.full(9, 1 / 9), np.full(9, 1 / 9), np.arange(9))
    'you told chary the share of each of the 9 classes'
    """
    if prior is None:
        return "you told chary nothing about the share of each class among all rows"
    if len(prior) > _NAMED_CLASSES:
        return f"you told chary the share of each of the {len(prior)} classes"
    phrases = [
        f"{exact_percent(share)} are {name!r}"
        for share, name in zip(prior, classes.tolist(), strict=True)
    ]
    if isinstance(class_prior, str):
        return (
            "you told chary that the labelled rows have the proportions of all rows: "
            f"{listed(phrases)}"
        )
    # The first phrase says of what: "70 % of all rows are 'no' and 30 % are 'yes'".
    phrases[0] = phrases[0].replace(" are ", " of all rows are ", 1)
    return f"you told chary that {listed(phrases)}"


def _check_shares(class_prior: Any, names: list[Any]) -> Floats:
    """Check a user's shares, and put them into the order of the classes."""
    values = class_prior
    if isinstance(class_prior, Mapping):
        if set(class_prior) != set(names):
            raise ValueError(
                f"class_prior names the classes {list(class_prior)}, and the labelled rows have "
                f"{names}; give the share of every class."
            )
        values = [class_prior[name] for name in names]
    try:
        shares = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"class_prior={values!r} is not known; give 'labeled' or the share of each class."
        ) from None
    total = shares.sum()
    has_every_class = shares.shape == (len(names),)
    sums_to_one = abs(total - 1) <= _SUM_TOLERANCE
    if not (has_every_class and (shares >= 0).all() and sums_to_one):
        raise ValueError(
            f"class_prior={values!r} are not the shares of {len(names)} classes; give one number "
            "from 0 to 1 for each, which sum to 1."
        )
    return shares / total


def balanced_shares(scores: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    r"""Choose class shares that balance the classes.

    A row of a rare class then matters more than one of a common class.

    First, all scores are brought to one scale, on which it does not matter how sure of itself the
    model is. No score is left further than 7 below the highest of its row; the scores of each row
    are centred; all scores together get the root mean square 4. Let z be these scores, b an offset
    and :math:`p_i = \mathrm{softmax}(z_i + b)` the class probabilities of row i.

    If nothing is known of the class shares (``prior=None``), b maximises the information that the
    predictions carry,

    .. math:: I(b) = H\Big(\frac{1}{n} \sum_i p_i\Big) - \frac{1}{n} \sum_i H(p_i), \qquad
        H(p) = -\sum_c p_c \log p_c.

    The first term is large if all classes are predicted about equally often, and the second one is
    small if each row is predicted clearly. So boundaries come to lie where few rows are
    (``most_informative``). The result is half-way between the shares of the plain predictions and
    the mean of p: with the mean of p itself, common classes lose more than rare ones gain.

    If the shares :math:`\pi` are known, b is such that the mean of p is :math:`\pi`. Each row i
    then goes to the class with the highest :math:`p_{ic} / \pi_c`, and the result is the shares of
    the rows that the classes get. If p is right, no other labels have a higher balanced accuracy.

    Parameters
    ----------
    scores : array-like of shape (n, C)
        Logits or log-probabilities, finite. Of more than 100,000 rows every k-th is used, in an
        order that only depends on what the rows hold.
    prior : array-like of shape (C,), default=None
        Shares of these rows, all above 0.

    Returns
    -------
    array of shape (C,)
        For ``align``: positive and summing to 1.

    Examples
    --------
    Two heaps of rows, the smaller one just short of the boundary:

    >>> heaps = np.concatenate([np.full(90, -2.0), np.full(10, -0.2)])
    >>> leaning = heaps + np.linspace(-0.1, 0.1, 100)
    >>> scores = np.column_stack([-leaning, leaning]) / 2
    >>> int((scores[:, 1] > scores[:, 0]).sum())
    0
    >>> balanced_shares(scores).round(1)
    array([0.9, 0.1])
    """
    columns = score_columns(scores)  # (C, n)
    n_rows = columns.shape[1]
    z = _on_common_scale(_sample_rows(columns))  # (C, number of rows in the sample)
    if prior is None:
        b = most_informative(z)  # (C,)
        probs = softmax(z + b[:, None], axis=0)
        informative_shares = probs.mean(axis=1)
        predicted_shares = _count_highest(columns) / n_rows
        shares = (1 - HALF_WAY) * predicted_shares + HALF_WAY * informative_shares
    else:
        # The highest p_ic / pi_c of a row is the highest z_ic + b_c - log pi_c.
        known_shares = np.asarray(prior, dtype=np.float64)  # pi, (C,)
        gain = _match_all_means(z, known_shares) - np.log(known_shares)
        shares = _count_highest(z + gain[:, None]) / z.shape[1]
    # Half a row at least for each class: a new row may be of a class that no row here is of.
    shares = np.maximum(shares, 0.5 / n_rows)
    return shares / shares.sum()


def most_informative(columns: Floats) -> Floats:
    """Find the offsets (C,) at the top of ``information``, with mean 0.

    There may be several maxima, and the search, by L-BFGS, ends at one near its start. It starts
    where the mean probabilities of all classes are equal, because the gradient hardly shows a class
    that is rare.

    >>> z = np.array([[4.0, 4.2, 0.0, 0.1], [0.0, 0.0, 3.0, 3.0]])
    >>> offset = most_informative(z)
    >>> bool(information(z, offset)[0] > information(z, np.zeros(2))[0])
    True
    """
    n_classes = len(columns)
    start = _match_all_means(columns, np.full(n_classes, 1 / n_classes))

    def negative_information(offset: Floats) -> tuple[float, Floats]:
        height, slope = information(columns, offset)
        return -height, -slope

    top = minimize(
        negative_information,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"gtol": 1e-8, "ftol": 1e-12},
    )
    offset: Floats = top.x
    return offset - offset.mean()


def information(columns: Floats, offset: Floats) -> tuple[float, Floats]:
    r"""Compute I(b) of ``balanced_shares`` for columns (C, n), and its gradient.

    With m the mean of the p_i and :math:`g_{ic} = \log p_{ic} - \log m_c`,

    .. math:: I = \frac{1}{n} \sum_{ic} p_{ic} g_{ic}, \qquad
        \frac{\partial I}{\partial b_k} = \frac{1}{n} \sum_i p_{ik} \Big(g_{ik} - \sum_c p_{ic}
        g_{ic}\Big).
    """
    # The softmax over classes, and its logarithm.
    log_probs = columns + offset[:, None]  # (C, n)
    log_probs -= log_probs.max(axis=0)
    probs = np.exp(log_probs)  # (C, n)
    total = probs.sum(axis=0)  # (n,)
    probs /= total
    log_probs -= np.log(total)

    mean = np.maximum(probs.mean(axis=1), np.finfo(np.float64).tiny)  # (C,)
    gain = log_probs - np.log(mean)[:, None]  # (C, n) g
    row_gain = (probs * gain).sum(axis=0)  # (n,)
    gradient = (probs * (gain - row_gain)).mean(axis=1)  # (C,)
    return float(row_gain.mean()), gradient


def _on_common_scale(columns: Floats) -> Floats:
    """Centre the scores of each row, and bring the root mean square of all to ``SPREAD``.

    If every row has the same score for all classes, all scores become 0.
    """
    z = np.maximum(columns - columns.max(axis=0), -_DEEPEST)  # (C, n)
    z -= z.mean(axis=0)
    spread = float(np.sqrt(np.square(z).mean()))
    if spread == 0:
        return z
    return z * (SPREAD / spread)


def _content_order(columns: Floats) -> Codes:
    """Order rows by content, so that the order of a table changes nothing.

    The key of a row is a sum of its scores with fixed random weights: rows with different scores
    have different keys.
    """
    weights = np.random.default_rng(0).standard_normal((len(columns), 1))  # (C, 1)
    # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
    keys = ((columns - columns.max(axis=0)) * weights).sum(axis=0)
    return np.argsort(keys, kind="stable")


def _sample_rows(columns: Floats) -> Floats:
    """Take rows at equal steps in their order by content, at most ``_MOST_ROWS``."""
    order = _content_order(columns)
    step = math.ceil(len(order) / _MOST_ROWS)
    sample = order[step // 2 :: step]
    return columns[:, sample]


def _count_highest(columns: Floats) -> Codes:
    """Count the rows in which each class has the highest score, (C,)."""
    return np.bincount(columns.argmax(axis=0), minlength=len(columns))


def whole_counts(shares: Floats, n: int, favor: Floats | None = None) -> Codes:
    """Share n rows out to classes by largest remainder.

    Shares of 50, 30 and 20 % of 4 rows are 2.0, 1.2 and 0.8 rows. Rounded down, these are 2, 1 and
    0; the row that is left goes to the class with the largest remainder, 0.8.

    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])

    Of classes with equal remainders, the one that is most in ``favor`` goes first:

    >>> whole_counts(np.array([0.5, 0.5]), 3, favor=np.array([0.1, 0.9]))
    array([1, 2])
    """
    if favor is None:
        favor = np.zeros_like(shares)
    quotas = shares * n  # (C,)
    counts = np.floor(quotas).astype(np.intp)  # (C,)
    remainders = (quotas - counts).round(9)
    n_left = n - counts.sum()
    by_remainder = np.lexsort((-favor, -remainders))  # the last key counts most
    counts[by_remainder[:n_left]] += 1
    return counts


def match_counts(columns: Floats, counts: Codes) -> Floats:
    r"""Find offsets b that give class c the highest score in k_c rows.

    ``columns`` (C, n) are the scores s_ic, and ``counts`` (C,) the numbers of rows k. The offsets
    are those of the assignment of rows to classes that has these counts and the highest total
    score. They solve its dual problem,

    .. math:: \min_b \; \sum_i \max_c (s_{ic} + b_c) - \sum_c k_c b_c.

    Of all solutions, the one in the middle is returned, because it does not depend on the order of
    the rows. Rows with equal scores cannot be told apart, so they go to one class together. If that
    makes it impossible to meet the counts, two classes get the counts that are nearest, and more
    classes the nearest that were found.

    Any b between 1.0 and 1.5 gives the last two rows to the second class:

    >>> match_counts(np.array([[2.0, 1.5, 1.0, 0.2], [0.0, 0.0, 0.0, 0.0]]), np.array([2, 2]))
    array([0.  , 1.25])
    """
    n_classes = len(columns)
    if n_classes == 1:
        return np.zeros(1)
    gets_rows = counts > 0  # (C,)
    if gets_rows.all():
        if n_classes == 2:
            return _two_class_offset(columns, counts)
        return _many_class_offset(columns, counts)

    # Classes that get rows are matched among themselves. A class without rows is placed just short
    # of winning one of them, so that a new row may still go to it.
    offset = np.zeros(n_classes)
    offset[gets_rows] = match_counts(columns[gets_rows], counts[gets_rows])
    highest = (columns[gets_rows] + offset[gets_rows, None]).max(axis=0)  # (n,)
    for c in np.flatnonzero(~gets_rows):
        offsets_that_win = np.unique(highest - columns[c])  # ascending: the first wins one row
        offset[c] = _cut(offsets_that_win, 0)
    return offset


def match_means(columns: Floats, shares: Floats, offset: Floats, tolerance: float) -> Floats:
    """Find offsets (C,) that bring the mean softmax of the rows close to the shares (C,).

    The search begins at ``offset``. It ends when each mean is within ``tolerance`` of its share, or
    after ``_MAX_STEPS``.

    Each step is a Newton step on a convex problem, whose gradient is the mean softmax less the
    shares, cut short so that it always descends and no line search is needed. Let r be the
    difference of the largest and the smallest entry of the step. Over the step the curvature of
    log-sum-exp changes at most by the factor e^r, so the share log(1 + r) / r of it descends.
    """
    for _ in range(_MAX_STEPS):
        log_mean, curvature = _soft_moments(columns, offset)  # (C,) and (C, C)
        missing = shares - np.exp(log_mean)  # (C,)
        if np.abs(missing).max() <= tolerance:
            break
        lacks_nearly_all = missing > np.maximum(0.99 * shares, tolerance)  # (C,)
        if lacks_nearly_all.any():
            # Where a class has hardly any probability, the problem is too flat for a Newton step.
            # This step always descends, too: it scales the odds of each class by share / mean.
            offset = offset + np.log(shares) - log_mean
        else:
            # Moving all offsets together changes nothing, so the curvature is 0 in this direction.
            # Adding 1 to all entries makes the step unique.
            step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]
            r = np.ptp(step)
            part_of_step = np.log1p(r) / max(r, np.finfo(np.float64).tiny)
            offset = offset + step * part_of_step
    return offset


def _match_all_means(columns: Floats, shares: Floats) -> Floats:
    """Match the mean softmax to shares, to a tenth of a row."""
    n_classes, n_rows = columns.shape
    return match_means(columns, shares, offset=np.zeros(n_classes), tolerance=0.1 / n_rows)


def score_columns(scores: ArrayLike) -> Floats:
    """Turn scores (n, C) into contiguous columns (C, n), which must be finite."""
    columns = np.ascontiguousarray(np.asarray(scores, dtype=np.float64).T)
    if not np.isfinite(columns).all():
        raise ValueError(
            "scores hold NaN or infinity; give logits, or logarithms of probabilities above 0."
        )
    return columns


def _two_class_offset(columns: Floats, counts: Codes) -> Floats:
    """Give the first class the rows that lean least to the second.

    A row leans to the second class by the difference of its two scores. The rows are sorted by it,
    and cut so that ``counts[0]`` of them are below the cut. Equal values cannot be separated, so
    there is a possible cut before, between and after the distinct values.
    """
    leaning = np.sort(columns[1] - columns[0])  # (n,)
    values, first_places = np.unique(leaning, return_index=True)  # (v,) each
    n_below = np.append(first_places, len(leaning))  # (v + 1,) rows below each possible cut
    nearest = np.abs(n_below - counts[0]).argmin()
    return np.array([0.0, -_cut(values, nearest)])


def _cut(values: Floats, position: Any) -> Any:
    """Choose a number that is above ``position`` of the sorted values, and below all others.

    It is in the middle of the two values beside it. Below all values, or above all of them, it is
    half a gap away: the gap between the two outermost values, or 2 if there is a single value.

    >>> values = np.array([1.0, 3.0, 7.0])
    >>> [float(_cut(values, position)) for position in (0, 1, 2, 3)]
    [0.0, 2.0, 5.0, 9.0]
    """
    if 0 < position < len(values):
        return (values[position - 1] + values[position]) / 2
    gaps = np.diff(values) if len(values) > 1 else [2.0]
    if position == 0:
        return values[0] - gaps[0] / 2
    return values[-1] + gaps[-1] / 2


def _many_class_offset(columns: Floats, counts: Codes) -> Floats:
    """Find the offsets in the middle of those that meet the counts of three or more classes.

    Rows that are alike go to one class together; then the counts may never be met, and the offsets
    that came nearest are taken.
    """
    order = _content_order(columns)
    if len(order) > _SEARCHED_AT_ONCE:
        nearest = _offset_of_many_rows(columns, counts, order)
    else:
        nearest = _sharpened_offset(columns[:, order], counts)
    middle = nearest + _to_middle(columns + nearest[:, None])
    # Only differences of offsets matter: the first class gets 0.
    return middle - middle[0]


def _offset_of_many_rows(columns: Floats, counts: Codes, order: Codes) -> Floats:
    """Match the counts on a sample of the rows, then on the rows that the sample leaves open.

    The offsets of all rows are near those of the sample. On the way from these to those, only rows
    near a boundary between two classes can change their class: they are open. The others, which
    are settled, need only be counted, and the search is over the open rows alone. If it turns out
    that a settled row could have changed its class, more rows are opened; in the end, all.
    """
    n_classes = len(columns)
    n_rows = len(order)
    sample = order[_SAMPLE_STEP // 2 :: _SAMPLE_STEP]  # row numbers
    counts_in_sample = whole_counts(counts / n_rows, len(sample))
    offset = match_counts(columns[:, sample], counts_in_sample)

    # With the sample's offsets, some classes have more rows than wanted.
    moved_columns = columns + offset[:, None]  # (C, n)
    row_classes, margins = _highest_and_margin(moved_columns)  # (n,) each
    surplus = np.bincount(row_classes, minlength=n_classes) - counts  # (C,)
    n_open = _OPEN_ROWS + _OPEN_PER_SURPLUS * int(surplus.clip(0).sum())
    while n_open < n_rows:
        # The rows with the smallest margins are open. ``reach`` is the largest margin among them.
        reach = np.partition(margins, n_open)[n_open]
        is_open = margins <= reach
        n_settled = np.bincount(row_classes[~is_open], minlength=n_classes)  # (C,)
        open_counts = counts - n_settled  # (C,)
        if reach > 0 and (open_counts > 0).all():
            open_rows = order[is_open[order]]  # in the order of ``order``
            step = _sharpened_offset(
                moved_columns[:, open_rows], open_counts, _FIRST_SHARPNESS / reach
            )
            # No settled row changes its class over a step of at most its margin.
            if np.ptp(step) <= reach:
                return offset + step
        n_open *= 4
    return _sharpened_offset(columns[:, order], counts)


def _highest_and_margin(columns: Floats) -> tuple[Codes, Floats]:
    """Find the class with the highest score of each row, and how far it is ahead, (n,) each."""
    row_classes = columns.argmax(axis=0)
    rows = np.arange(columns.shape[1])
    highest = columns[row_classes, rows]
    others = columns.copy()
    others[row_classes, rows] = -np.inf
    return row_classes, highest - others.max(axis=0)


def _sharpened_offset(columns: Floats, counts: Codes, sharpness: float | None = None) -> Floats:
    """Find offsets that meet the counts, by a softmax that gets sharper and sharper.

    The number of rows in which a class has the highest score jumps when offsets change, so that it
    cannot be solved for. The mean of a softmax changes smoothly. It is matched to the wanted shares
    by ``match_means``, again and again with scores that are multiplied by four: the sharper the
    softmax, the nearer is its mean to the share of rows with the highest score. Each search begins
    at the offsets of the one before.

    Parameters
    ----------
    columns : array of shape (C, n)
        The scores, with the rows in an order that depends on their content alone.
    counts : array of shape (C,)
        How many rows each class should get.
    sharpness : float, default=None
        What the scores are multiplied by for the first softmax. None: so that the largest
        difference between two scores of a row becomes 1.
    """
    n_classes, n_rows = columns.shape

    def count_misplaced(offset: Floats) -> int:
        surplus = _count_highest(columns + offset[:, None]) - counts  # (C,)
        return int(surplus.clip(0).sum())

    offset: Floats = np.zeros(n_classes)
    nearest = offset
    fewest_misplaced = count_misplaced(offset)
    if sharpness is None:
        largest_difference = np.ptp(columns, axis=0).max()
        sharpness = 1 / (largest_difference or 1.0)
    for level in sharpness * 4.0 ** np.arange(_MAX_LEVELS):
        if fewest_misplaced == 0:
            break
        sharpened = level * columns
        sharpened_offset = match_means(
            sharpened, counts / n_rows, offset=level * offset, tolerance=0.25 / n_rows
        )
        offset = sharpened_offset / level
        n_misplaced = count_misplaced(offset)
        if n_misplaced < fewest_misplaced:
            nearest = offset
            fewest_misplaced = n_misplaced
    return nearest


def _to_middle(columns: Floats) -> Floats:
    """Find the change of the offsets, (C,), that leads to the middle of equivalent ones.

    ``columns`` (C, n) are scores with the present offsets already added: s_ic is that of row i for
    class c. A change b of the offsets is equivalent to none if every row keeps its class. A row i
    of class c keeps it if s_ic + b_c >= s_id + b_d for every other class d, that is, if b_d - b_c
    <= s_ic - s_id. The smallest right-hand side over all rows of class c is the limit of the pair:
    with three rows of class c that are 0.3, 0.2 and 0.9 ahead of class d, b_d may exceed b_c by
    0.2.

    Limits add up along a path: b_e - b_c is at most the limit of (c, d) plus that of (d, e). So the
    tightest limits are the shortest paths between classes in a graph whose edges are the limits.
    The shortest paths from one class to all classes are a corner of the set of equivalent changes,
    and the mean of these C corners is the middle.
    """
    n_classes = len(columns)
    row_classes = columns.argmax(axis=0)  # (n,)
    limits = np.zeros((n_classes, n_classes))  # line c, column d: the limit of b_d - b_c
    for c in range(n_classes):
        rows_of_class = columns[:, row_classes == c]  # (C, rows of class c)
        lead = rows_of_class[c] - rows_of_class  # how far class c is ahead of each class
        limits[c] = lead.min(axis=1, initial=np.inf)
        limits[c, c] = 0

    # Shortest paths by Floyd and Warshall: each step allows paths through one class more.
    for through in range(n_classes):
        limits = np.minimum(limits, limits[:, through, None] + limits[through])
    # A class without rows sets no limit, which leaves an entry infinite: it counts as no change.
    corners = np.where(np.isfinite(limits), limits, 0)
    return corners.mean(axis=0)


def _soft_moments(columns: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """Compute the log of the mean softmax (C,), and the derivative (C, C) of the mean.

    The derivative is with respect to the offset. With p_i the softmax of row i, it is the mean of
    diag(p_i) - p_i p_i^T.
    """
    n_rows = columns.shape[1]
    probs = columns + offset[:, None]  # (C, n), scores that become probabilities in place
    probs -= probs.max(axis=0)
    highest_score = probs.max(axis=1)  # (C,) at most 0
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=0)
    mean = probs.mean(axis=1)  # (C,)

    # If all probabilities of a class underflow to 0, its highest score stands in for the sum.
    log_if_underflow = highest_score - np.log(n_rows)
    log_mean = np.where(mean > 1e-300, np.log(np.maximum(mean, 1e-300)), log_if_underflow)
    derivative = np.diag(mean) - probs @ probs.T / n_rows
    return log_mean, derivative
