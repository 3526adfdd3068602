"""Class shares, known or balancing, and the offsets of scores that bring them about.

Internally scores are columns (C, n): a pass over a class is then a pass over memory.
"""

from __future__ import annotations

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

# How far from 1 the sum of a user's shares may be.
_SUM_TOLERANCE = 1e-6
# A sentence names the classes if there are no more than this.
_NAMED_CLASSES = 6

# Settings of balanced_shares, chosen on real tables: docs/explanation/defaults.md says how.
# Root mean square of the scores before they become probabilities.
SPREAD = 4.0
# Weight of the most informative shares against the shares of the plain predictions.
HALF_WAY = 0.5
# A score further than this below the highest of its row is raised to it: the logarithm of 0 would
# outweigh all other scores.
_DEEPEST = 7.0
# Rows that are looked at, at most.
_MOST_ROWS = 100_000

# Bounds on the search for offsets: steps of match_means, and how often its softmax gets sharper.
_MAX_STEPS = 100
_MAX_LEVELS = 20

# Above _SEARCHED_AT_ONCE rows the offsets are first those of every _SAMPLE_STEP-th row; then
# _OPEN_ROWS rows are searched, and _OPEN_PER_SURPLUS more for each row that the sample misplaces.
_SEARCHED_AT_ONCE = 20_000
_SAMPLE_STEP = 10
_OPEN_ROWS = 1_000
_OPEN_PER_SURPLUS = 10
# The first softmax over these rows has this sharpness, divided by the largest margin among them.
_FIRST_SHARPNESS = 4.0


def align(scores: ArrayLike, prior: ArrayLike) -> Floats:
    r"""Find offsets with which the predictions have the wanted class proportions.

    With scores s_ic of n rows and proportions p, the offset b is such that :math:`\arg\max_c
    (s_{ic} + b_c)` gives class c to k_c rows, k being n p rounded to whole numbers by largest
    remainder. No other way to choose these rows has a higher total score, and the same b serves new
    rows. Rows with equal scores go to one class together: with them the counts are the nearest that
    were found (see ``match_counts``).

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
    >>> scores = np.array([[2.0, 0.0], [1.5, 0.0], [1.0, 0.0], [0.2, 0.0]])
    >>> offset = align(scores, [0.5, 0.5])
    >>> offset
    array([-0.625,  0.625])
    >>> (scores + offset).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    columns = score_columns(scores)  # (C, n)
    shares = np.asarray(prior, dtype=np.float64)
    shares = shares / shares.sum()
    wanted = shares > 0
    columns = columns[wanted]
    # Of classes with equal remainders the one with the higher mean score gets the row, so that the
    # names of the classes have no effect.
    favor = columns.mean(axis=1)
    counts = whole_counts(shares[wanted], columns.shape[1], favor)
    offset_of_wanted = match_counts(columns, counts)
    offset = np.full_like(shares, -np.inf)
    offset[wanted] = offset_of_wanted - offset_of_wanted.mean()
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
        counts = labels.class_counts
        if isinstance(class_prior, str) and class_prior == "labeled":
            shares = counts / counts.sum()
        else:
            shares = _check_shares(class_prior, labels.classes.tolist())
        unlabeled_shares = shares_of_unlabeled(shares, counts, n_rows or len(labels.codes))
        return cls(shares, unlabeled_shares, aim)

    def offset(self, scores: Callable[[], Floats]) -> Floats:
        """Find what to add to the scores; 0 if nothing is imposed.

        The scores (n, C) are those of ``Labels.rows_to_predict``, worked out only if needed.
        """
        unlabeled_shares = self.unlabeled_shares
        if self.aim == ACCURACY:
            if self.shares is None:
                return np.zeros_like(unlabeled_shares)
            return align(scores(), unlabeled_shares)

        row_scores = scores()
        if self.shares is None:
            return align(row_scores, balanced_shares(row_scores))
        # A class without a share gets no row; the others are balanced between them.
        possible = unlabeled_shares > 0
        balanced = np.zeros_like(unlabeled_shares)
        balanced[possible] = balanced_shares(row_scores[:, possible], unlabeled_shares[possible])
        return align(row_scores, balanced)


def shares_of_unlabeled(prior: Floats, labeled: Codes, n_rows: int) -> Floats:
    """Convert the class shares (C,) of all rows to those of unlabelled ones.

    ``labeled`` (C,) is how many rows of each class are labelled. If somewhat more rows of a class
    are labelled than its share allows, the class is left with half a row; if far more are (three
    standard deviations of a random table), the share cannot be that of all rows.

    >>> shares_of_unlabeled(np.array([0.5, 0.5]), np.array([2, 1]), 8)
    array([0.4, 0.6])
    """
    if labeled.sum() == n_rows:
        return prior
    expected = prior * n_rows
    excess = labeled - expected - 3 * np.sqrt(expected * (1 - prior)) - 1
    worst = excess.argmax()
    if excess[worst] > 0:
        raise ValueError(
            f"class_prior says that {exact_percent(prior[worst])} of all {n_rows:,} rows are of a "
            f"class that {labeled[worst]:,} labelled rows have; give shares of all rows, labelled "
            "ones included."
        )
    # New rows may be of any class that has a share.
    unlabeled = np.maximum(expected - labeled, 0.5 * (prior > 0))
    return unlabeled / unlabeled.sum()


def shares_of_sample(prior: Floats, labeled: Codes, n_rows: int, n_sample: int) -> Floats:
    """Convert the table's class shares (C,) to those of a sample.

    The sample has all labelled rows, and others drawn at random.

    >>> shares_of_sample(np.array([0.5, 0.5]), np.array([30, 10]), 1000, 140).round(3)
    array([0.564, 0.436])
    """
    if n_sample == n_rows:
        return prior
    n_unlabeled = n_sample - labeled.sum()
    return (labeled + shares_of_unlabeled(prior, labeled, n_rows) * n_unlabeled) / n_sample


def variation(codes: Codes, other_codes: Codes, n_classes: int) -> float:
    """Measure the total variation between class shares of two sets of rows.

    It is 0 if the shares are alike, and 1 if the sets have no class in common.
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
    is_of_classes = shares.shape == (len(names),)
    if not (is_of_classes and (shares >= 0).all() and abs(total - 1) <= _SUM_TOLERANCE):
        raise ValueError(
            f"class_prior={values!r} are not the shares of {len(names)} classes; give one number "
            "from 0 to 1 for each, which sum to 1."
        )
    return shares / total


def balanced_shares(scores: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    r"""Choose class shares that balance the classes.

    A row of a rare class then matters more than one of a common class.

    Let z be the scores (none further than 7 below the highest of its row), centred in each row,
    divided by their root mean square and times 4, and :math:`p_i = \mathrm{softmax}(z_i + b)`. On
    this common scale it does not matter how sure of itself the model is.

    Nothing is known of the class shares (``prior=None``): b maximises the information that the
    predictions carry,

    .. math:: I(b) = H\Big(\frac{1}{n} \sum_i p_i\Big) - \frac{1}{n} \sum_i H(p_i), \qquad
        H(p) = -\sum_c p_c \log p_c,

    which is large if every class is predicted, and each row clearly: boundaries come to lie where
    few rows are (``most_informative``). The result is half-way between the shares of the plain
    predictions and the mean of p: with the mean of p itself, common classes lose more than rare
    ones gain.

    The shares :math:`\pi` are known: b is such that the mean of p is :math:`\pi`, and row i goes to
    the class with the highest :math:`p_{ic} / \pi_c`. If p is right, no other labels have a higher
    balanced accuracy.

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
    z = _on_common_scale(_sample_rows(columns))
    if prior is None:
        probs = softmax(z + most_informative(z)[:, None], axis=0)
        predicted_shares = _count_highest(columns) / n_rows
        shares = (1 - HALF_WAY) * predicted_shares + HALF_WAY * probs.mean(axis=1)
    else:
        known_shares = np.asarray(prior, dtype=np.float64)
        gain = _match_all_means(z, known_shares) - np.log(known_shares)
        shares = _count_highest(z + gain[:, None]) / z.shape[1]
    # A new row may be of a class that none of these rows is of.
    shares = np.maximum(shares, 0.5 / n_rows)
    return shares / shares.sum()


def most_informative(columns: Floats) -> Floats:
    """Find the offsets (C,) at the top of ``information``, with mean 0.

    There may be several maxima. L-BFGS starts with all classes equally frequent, so that no class
    is too rare for the gradient to show it.

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
    log_probs = columns + offset[:, None]
    log_probs -= log_probs.max(axis=0)
    probs = np.exp(log_probs)
    total = probs.sum(axis=0)
    probs /= total
    log_probs -= np.log(total)
    mean = np.maximum(probs.mean(axis=1), np.finfo(np.float64).tiny)
    gain = log_probs - np.log(mean)[:, None]
    row_gain = (probs * gain).sum(axis=0)  # (n,)
    gradient = (probs * (gain - row_gain)).mean(axis=1)
    return float(row_gain.mean()), gradient


def _on_common_scale(columns: Floats) -> Floats:
    """Centre each row, and bring the root mean square to ``SPREAD``.

    Scores that are all alike stay 0.
    """
    z = np.maximum(columns - columns.max(axis=0), -_DEEPEST)
    z -= z.mean(axis=0)
    spread = float(np.sqrt(np.square(z).mean()))
    if spread == 0:
        return z
    return z * (SPREAD / spread)


def _content_order(columns: Floats) -> Codes:
    """Order rows by content, so that the order of a table changes nothing."""
    weights = np.random.default_rng(0).standard_normal((len(columns), 1))
    # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
    keys = ((columns - columns.max(axis=0)) * weights).sum(axis=0)
    return np.argsort(keys, kind="stable")


def _sample_rows(columns: Floats) -> Floats:
    """Take every k-th row by content, at most ``_MOST_ROWS``."""
    order = _content_order(columns)
    step = -(-len(order) // _MOST_ROWS)  # rounded up
    return columns[:, order[step // 2 :: step]]


def _count_highest(columns: Floats) -> Codes:
    """Count the rows in which each class has the highest score, (C,)."""
    return np.bincount(columns.argmax(axis=0), minlength=len(columns))


def whole_counts(shares: Floats, n: int, favor: Floats | None = None) -> Codes:
    """Share n rows out by largest remainder.

    Of classes with equal remainders, the one that is most in ``favor`` goes first.

    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])
    >>> whole_counts(np.array([0.5, 0.5]), 3, favor=np.array([0.1, 0.9]))
    array([1, 2])
    """
    if favor is None:
        favor = np.zeros_like(shares)
    quotas = shares * n
    counts = np.floor(quotas).astype(np.intp)
    remainders = (quotas - counts).round(9)
    by_remainder = np.lexsort((-favor, -remainders))
    counts[by_remainder[: n - counts.sum()]] += 1
    return counts


def match_counts(columns: Floats, counts: Codes) -> Floats:
    r"""Find offsets b that give class c the highest score in k_c rows.

    With the scores s_ic as columns (C, n), b solves the dual of the best assignment of rows to
    classes of sizes k,

    .. math:: \min_b \; \sum_i \max_c (s_{ic} + b_c) - \sum_c k_c b_c.

    Of all solutions it is the one in the middle, which does not depend on the order of the rows.
    Rows with equal scores cannot be told apart and go to one side, of two classes the one that
    leaves the counts nearest.

    >>> match_counts(np.array([[2.0, 1.5, 1.0, 0.2], [0.0, 0.0, 0.0, 0.0]]), np.array([2, 2]))
    array([0.  , 1.25])
    """
    n_classes = len(columns)
    if n_classes == 1:
        return np.zeros(1)
    filled = counts > 0
    if filled.all():
        if n_classes == 2:
            return _two_class_offset(columns, counts)
        return _many_class_offset(columns, counts)

    offset = np.zeros(n_classes)
    offset[filled] = match_counts(columns[filled], counts[filled])
    highest = (columns[filled] + offset[filled, None]).max(axis=0)  # (n,)
    # A class with a count of 0 is placed just short of winning one of these rows: a new row may
    # still go to it.
    for c in np.flatnonzero(~filled):
        offset[c] = _cut(np.unique(highest - columns[c]), 0)
    return offset


def match_means(columns: Floats, shares: Floats, offset: Floats, tolerance: float) -> Floats:
    """Find offsets that bring the mean softmax close to the shares.

    The search begins at ``offset``, and ends within ``tolerance`` or after ``_MAX_STEPS``.
    Over a step whose largest and smallest entry differ by r, the curvature of log-sum-exp changes
    at most by the factor e^r; therefore the share log(1 + r) / r of a Newton step always descends,
    and no line search is needed.
    """
    for _ in range(_MAX_STEPS):
        log_mean, curvature = _soft_moments(columns, offset)
        missing = shares - np.exp(log_mean)
        if np.abs(missing).max() <= tolerance:
            break
        if (missing > np.maximum(0.99 * shares, tolerance)).any():
            # Far off and flat: this step always descends, too.
            offset = offset + np.log(shares) - log_mean
            continue
        # The problem does not change when all offsets move together: the added 1 fixes that
        # direction.
        step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]
        r = np.ptp(step)
        offset = offset + step * (np.log1p(r) / max(r, np.finfo(np.float64).tiny))
    return offset


def _match_all_means(columns: Floats, shares: Floats) -> Floats:
    """Match the mean softmax to shares, to a tenth of a row."""
    start = np.zeros(len(columns))
    return match_means(columns, shares, offset=start, tolerance=0.1 / columns.shape[1])


def score_columns(scores: ArrayLike) -> Floats:
    """Turn scores (n, C) into contiguous columns (C, n), which must be finite."""
    columns = np.ascontiguousarray(np.asarray(scores, dtype=np.float64).T)
    if not np.isfinite(columns).all():
        raise ValueError(
            "scores hold NaN or infinity; give logits, or logarithms of probabilities above 0."
        )
    return columns


def _two_class_offset(columns: Floats, counts: Codes) -> Floats:
    """Give the first class the rows that lean least to the second."""
    leaning = np.sort(columns[1] - columns[0])
    values, first_places = np.unique(leaning, return_index=True)
    # Equal values cannot be separated: cuts lie between distinct values, with
    # n_below[k] rows below cut k.
    n_below = np.append(first_places, len(leaning))
    nearest = np.abs(n_below - counts[0]).argmin()
    return np.array([0.0, -_cut(values, nearest)])


def _cut(values: Floats, position: Any) -> Any:
    """Choose a number between the sorted values before and after a position.

    Beyond the ends it is half the next gap away, and 1 from a single value.
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
    return middle - middle[0]


def _offset_of_many_rows(columns: Floats, counts: Codes, order: Codes) -> Floats:
    """Match the counts on a sample, then on the rows that the sample leaves open.

    Only rows near a boundary between two classes can change their class when the offsets move
    from those of the sample to those of all rows: these are searched, the others only counted.
    """
    n_rows = len(order)
    sample = order[_SAMPLE_STEP // 2 :: _SAMPLE_STEP]
    offset = match_counts(columns[:, sample], whole_counts(counts / n_rows, len(sample)))

    moved_columns = columns + offset[:, None]
    row_classes, margins = _highest_and_margin(moved_columns)
    surplus = np.bincount(row_classes, minlength=len(columns)) - counts
    n_open = _OPEN_ROWS + _OPEN_PER_SURPLUS * int(surplus.clip(0).sum())
    while n_open < n_rows:
        reach = np.partition(margins, n_open)[n_open]
        is_open = margins <= reach
        n_settled = np.bincount(row_classes[~is_open], minlength=len(columns))
        open_counts = counts - n_settled
        if reach > 0 and (open_counts > 0).all():
            open_columns = moved_columns[:, order[is_open[order]]]
            step = _sharpened_offset(open_columns, open_counts, _FIRST_SHARPNESS / reach)
            # No settled row changes its class over a step of at most its margin.
            if np.ptp(step) <= reach:
                return offset + step
        n_open *= 4
    return _sharpened_offset(columns[:, order], counts)


def _highest_and_margin(columns: Floats) -> tuple[Codes, Floats]:
    """Find the class with the highest score of each row, and how far it is ahead."""
    row_classes = columns.argmax(axis=0)
    rows = np.arange(columns.shape[1])
    highest = columns[row_classes, rows]
    others = columns.copy()
    others[row_classes, rows] = -np.inf
    return row_classes, highest - others.max(axis=0)


def _sharpened_offset(columns: Floats, counts: Codes, sharpness: float | None = None) -> Floats:
    """Sharpen the softmax of ``match_means`` until the counts are met.

    Rows must be in an order that depends on their content alone. The first softmax has the given
    sharpness; by default it is smooth over all scores.
    """
    n_classes, n_rows = columns.shape

    def n_misplaced(offset: Floats) -> int:
        surplus = _count_highest(columns + offset[:, None]) - counts
        return int(surplus.clip(0).sum())

    offset: Floats = np.zeros(n_classes)
    nearest = offset
    fewest = n_misplaced(offset)
    if sharpness is None:
        sharpness = 1 / (np.ptp(columns, axis=0).max() or 1.0)
    for level in sharpness * 4.0 ** np.arange(_MAX_LEVELS):
        if fewest == 0:
            break
        sharpened = level * columns
        offset = match_means(
            sharpened, counts / n_rows, offset=level * offset, tolerance=0.25 / n_rows
        )
        offset = offset / level
        misplaced = n_misplaced(offset)
        if misplaced < fewest:
            nearest = offset
            fewest = misplaced
    return nearest


def _to_middle(columns: Floats) -> Floats:
    """Find what to add to offsets to be in the middle of equivalent ones.

    Equivalent offsets give every row the same class. Row i of class c stays there when b_d - b_c <=
    s_ic - s_id. The least of these limits for each pair (c, d) makes a graph; the shortest paths
    from each class are the corners of the set of such b.
    """
    n_classes = len(columns)
    row_classes = columns.argmax(axis=0)
    limits = np.zeros((n_classes, n_classes))
    for c in range(n_classes):
        rows = columns[:, row_classes == c]
        limits[c] = (rows[c] - rows).min(axis=1, initial=np.inf)
        limits[c, c] = 0

    # Shortest paths by Floyd and Warshall: each step allows paths through class c, too.
    for c in range(n_classes):
        limits = np.minimum(limits, limits[:, c, None] + limits[c])
    return np.where(np.isfinite(limits), limits, 0).mean(axis=0)


def _soft_moments(columns: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """Compute the log of the mean softmax (C,) and the mean's derivative (C, C).

    The derivative is with respect to the offset.
    """
    n_rows = columns.shape[1]
    probs = columns + offset[:, None]  # (C, n)
    probs -= probs.max(axis=0)
    # (C,) stands in for the log of the mean if the probabilities of a class underflow.
    highest = probs.max(axis=1)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=0)
    mean = probs.mean(axis=1)
    log_mean = np.where(mean > 1e-300, np.log(np.maximum(mean, 1e-300)), highest - np.log(n_rows))
    return log_mean, np.diag(mean) - probs @ probs.T / n_rows
