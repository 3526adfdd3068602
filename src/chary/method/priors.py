"""Class shares: those that a user knows, those that balance the classes, and offsets of scores that give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from chary._words import exact_percent, listed
from chary.method.confidence import Floats
from chary.method.labels import Labels

Codes = NDArray[np.intp]

# What labels are to be good at: to be right on as many rows as possible, or on as large a share of
# every class.
AIMS = ACCURACY, BALANCED = ("accuracy", "balanced")

_SUM_TOLERANCE = 1e-6
_NAMED_CLASSES = 6  # of more, a sentence names none

# Of balanced_shares, chosen on real tables: docs/explanation/defaults.md says how.
SPREAD = 4.0  # of the scores, before probabilities are made of them
HALF_WAY = 0.5  # from the shares that the predictions have to those of the most informative ones
_DEEPEST = 7.0  # a score is no further below the highest of its row: the logarithm of 0 would drown all others
_MOST_ROWS = 100_000

_MAX_STEPS, _MAX_LEVELS = 100, 20  # of match_means, and of how sharp its softmax is


def align(scores: ArrayLike, prior: ArrayLike) -> Floats:
    r"""Offset of each class with which the predictions have the wanted class proportions.

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
    target = np.asarray(prior, dtype=np.float64)
    target = target / target.sum()
    wanted = target > 0
    offset = np.full(len(columns), -np.inf)
    # A row that two classes have an equal claim to goes where the scores lean, whatever the
    # classes' names.
    favor = columns.sum(axis=1) / columns.shape[1]
    counts = whole_counts(target[wanted], columns.shape[1], favor=favor[wanted])
    offset[wanted] = match_counts(columns[wanted] if not wanted.all() else columns, counts)
    return offset - offset[wanted].mean()


class ClassPrior(NamedTuple):
    """What the parameters ``class_prior`` and ``aim`` of an estimator mean for the rows that it is fitted on."""

    shares: Floats | None  # (C,) of all rows; None: nothing is known
    rest: Floats  # (C,) of the unlabelled rows; NaN where nothing is known
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
            Of which there are that many, where ``labels`` are not of all of them, but of all
            labelled ones.

        Examples
        --------
        >>> labels = Labels(np.array(["no", "yes"]), np.array([0, 1, 1, 1, -1]), np.arange(5) < 4)
        >>> ClassPrior.of({"yes": 0.6, "no": 0.4}, labels).shares
        array([0.4, 0.6])
        >>> ClassPrior.of("labeled", labels).shares
        array([0.25, 0.75])
        """
        if aim not in AIMS:
            raise ValueError(f"aim={aim!r} is not known; give {' or '.join(map(repr, AIMS))}.")
        if class_prior is None:
            return cls(None, np.full(len(labels.classes), np.nan), aim)
        shares = _resolved(class_prior, labels)
        labeled = np.bincount(labels.codes[labels.labeled], minlength=len(shares))
        return cls(shares, shares_of_rest(shares, labeled, n_rows or len(labels.codes)), aim)

    def offset(self, scores: Callable[[], ArrayLike]) -> Floats:
        """What to add to the scores (n, C) of the unlabelled rows (``Labels.rows_to_predict``); 0 where nothing is imposed.

        The scores are worked out only where they are needed.
        """
        if self.shares is None and self.aim == ACCURACY:
            return np.zeros(len(self.rest))
        found = np.asarray(scores(), dtype=np.float64)
        return align(found, self.rest if self.aim == ACCURACY else self._balanced(found))

    def _balanced(self, scores: Floats) -> Floats:
        if self.shares is None:
            return balanced_shares(scores)
        possible = self.rest > 0
        if possible.sum() < 2:
            return self.rest
        shares = np.zeros(len(self.rest))
        shares[possible] = balanced_shares(scores[:, possible], self.rest[possible])
        return shares


def shares_of_rest(prior: Floats, labeled: Codes, n_rows: int) -> Floats:
    """The proportions (C,) of the unlabelled rows, if those of all n rows, labelled ones included, are given.

    ``labeled`` (C,) is how many rows of each class are labelled. A class of which somewhat more
    rows are labelled than its share allows is left with half a row; of far more (three standard
    deviations of a random table), the share cannot be that of all rows.

    >>> shares_of_rest(np.array([0.5, 0.5]), np.array([2, 1]), 8)
    array([0.4, 0.6])
    """
    expected = prior * n_rows
    excess = labeled - expected - 3 * np.sqrt(expected * (1 - prior)) - 1
    worst = int(excess.argmax())
    if labeled.sum() == n_rows:
        return prior
    if excess[worst] > 0:
        raise ValueError(
            f"class_prior says that {exact_percent(prior[worst])} of all {n_rows:,} rows are of a class that "
            f"{labeled[worst]:,} labelled rows have; give shares of all rows, labelled ones included."
        )
    rest = np.maximum(
        expected - labeled, 0.5 * (prior > 0)
    )  # new rows may be of any class that there is
    return rest / rest.sum()


def shares_of_part(prior: Floats, labeled: Codes, n_rows: int, n_part: int) -> Floats:
    """The proportions (C,) of some rows, all labelled ones among them, the others drawn at random.

    >>> shares_of_part(np.array([0.5, 0.5]), np.array([30, 10]), 1000, 140).round(3)
    array([0.564, 0.436])
    """
    if n_part == n_rows:
        return prior
    return (labeled + shares_of_rest(prior, labeled, n_rows) * (n_part - labeled.sum())) / n_part


def variation(one: Codes, other: Codes, n_classes: int) -> float:
    """Total variation between the class shares of two sets of rows: 0 if they are alike, 1 if none is shared."""
    shares = [np.bincount(codes, minlength=n_classes) / len(codes) for codes in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def describe_prior(class_prior: Any, prior: Floats | None, classes: NDArray[Any]) -> str:
    """The assumption that a class prior makes, in one plain sentence.

    >>> classes = np.array(["no", "yes"])
    >>> describe_prior({"yes": 0.3, "no": 0.7}, np.array([0.7, 0.3]), classes)
    "you told chary that 70 % of all rows are 'no' and 30 % are 'yes'"
    >>> describe_prior("labeled", np.array([0.7, 0.3]), classes)
    "you told chary that the labelled rows have the proportions of all rows: 70 % are 'no' and 30 % are 'yes'"
    """
    if prior is None:
        return "you told chary nothing about the share of each class among all rows"
    if len(prior) > _NAMED_CLASSES:
        return f"you told chary the share of each of the {len(prior)} classes"
    parts = [
        f"{exact_percent(share)} are {name!r}"
        for share, name in zip(prior, classes.tolist(), strict=True)
    ]
    if isinstance(class_prior, str):
        return f"you told chary that the labelled rows have the proportions of all rows: {listed(parts)}"
    parts[0] = parts[0].replace(" are ", " of all rows are ", 1)
    return f"you told chary that {listed(parts)}"


def _resolved(class_prior: Any, labels: Labels) -> Floats:
    names = labels.classes.tolist()
    if isinstance(class_prior, str) and class_prior == "labeled":
        counts = np.bincount(labels.codes[labels.labeled], minlength=len(names))
        return counts / counts.sum()
    given = class_prior
    if isinstance(class_prior, Mapping):
        if set(class_prior) != set(names):
            raise ValueError(
                f"class_prior names the classes {list(class_prior)}, and the labelled rows have {names}; "
                "give the share of every class."
            )
        given = [class_prior[name] for name in names]
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"class_prior={given!r} is not known; give 'labeled' or the share of each class."
        ) from None
    total = shares.sum()
    if (
        shares.shape != (len(names),)
        or not (shares >= 0).all()
        or not abs(total - 1) <= _SUM_TOLERANCE
    ):
        raise ValueError(
            f"class_prior={given!r} are not the shares of {len(names)} classes; give one number from 0 to 1 "
            "for each, which sum to 1."
        )
    return shares / total


def balanced_shares(scores: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    r"""The share of rows to give to each class, if a row of a rare class matters more than one of a common class.

    Let z be the scores (none further than 7 below the highest of its row), centred in each row,
    divided by their root mean square and times 4, and :math:`p_i = \mathrm{softmax}(z_i + b)`: how
    sure of itself the model is that gave the scores does not matter then.

    Nothing is known of the class shares (``prior=None``): b maximises the information that the
    predictions carry,

    .. math:: I(b) = H\Big(\frac{1}{n} \sum_i p_i\Big) - \frac{1}{n} \sum_i H(p_i), \qquad
        H(p) = -\sum_c p_c \log p_c,

    which is large if every class is predicted, and each row clearly: boundaries come to lie where
    few rows are (``most_informative``). The shares wanted are half-way from those that the scores
    have by themselves to the mean of these p; all the way, common classes lose more than rare ones
    gain.

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

    >>> leaning = np.concatenate([np.full(90, -2.0), np.full(10, -0.2)]) + np.linspace(-0.1, 0.1, 100)
    >>> scores = np.column_stack([-leaning, leaning]) / 2
    >>> int((scores[:, 1] > scores[:, 0]).sum())
    0
    >>> balanced_shares(scores).round(1)
    array([0.9, 0.1])
    """
    columns = score_columns(scores)  # (C, n)
    n_classes, n_rows = columns.shape
    own = np.bincount(columns.argmax(axis=0), minlength=n_classes) / n_rows
    z = _on_common_scale(_some_rows(columns))
    if prior is None:
        shares = (1 - HALF_WAY) * own + HALF_WAY * softmax(
            z + most_informative(z)[:, None], axis=0
        ).mean(axis=1)
    else:
        known = np.asarray(prior, dtype=np.float64)
        raised = (
            z
            + (match_means(z, known, np.zeros(n_classes), 0.1 / z.shape[1]) - np.log(known))[
                :, None
            ]
        )
        shares = np.bincount(raised.argmax(axis=0), minlength=n_classes) / z.shape[1]
    shares = np.maximum(
        shares, 0.5 / n_rows
    )  # of a class without a row, a new row may be one all the same
    return shares / shares.sum()


def most_informative(columns: Floats) -> Floats:
    """Offsets (C,), with mean 0, at the top of ``information`` nearest to where all classes are as frequent.

    There no class is so far down that it could not be felt; from there L-BFGS climbs with the exact
    gradient.

    >>> z = np.array([[4.0, 4.2, 0.0, 0.1], [0.0, 0.0, 3.0, 3.0]])
    >>> offset = most_informative(z)
    >>> bool(information(z, offset)[0] > information(z, np.zeros(2))[0])
    True
    """
    n_classes = len(columns)
    start = match_means(
        columns, np.full(n_classes, 1 / n_classes), np.zeros(n_classes), 0.1 / columns.shape[1]
    )

    def falling(offset: Floats) -> tuple[float, Floats]:
        height, slope = information(columns, offset)
        return -height, -slope

    found = minimize(
        falling, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-12}
    )
    offset: Floats = found.x
    return offset - offset.mean()


def information(columns: Floats, offset: Floats) -> tuple[float, Floats]:
    r"""I(b) of ``balanced_shares`` for scores as columns (C, n), and its gradient.

    With m the mean of the p_i and :math:`g_{ic} = \log p_{ic} - \log m_c`,

    .. math:: I = \frac{1}{n} \sum_{ic} p_{ic} g_{ic}, \qquad
        \frac{\partial I}{\partial b_k} = \frac{1}{n} \sum_i p_{ik} \Big(g_{ik} - \sum_c p_{ic}
        g_{ic}\Big).
    """
    gain = columns + offset[:, None]  # log p at first
    gain -= gain.max(axis=0)
    probs = np.exp(gain)
    total = probs.sum(axis=0)
    probs /= total
    gain -= np.log(total)
    gain -= np.log(np.maximum(probs.mean(axis=1), np.finfo(np.float64).tiny))[:, None]
    of_rows = (probs * gain).sum(axis=0)  # (n,)
    return float(of_rows.mean()), (probs * (gain - of_rows)).mean(axis=1)


def _on_common_scale(columns: Floats) -> Floats:
    """Centred in each row, with root mean square ``SPREAD``; scores that say nothing stay 0."""
    z = np.maximum(columns - columns.max(axis=0), -_DEEPEST)
    z -= z.mean(axis=0)
    spread = float(np.sqrt(np.square(z).mean()))
    return z * (SPREAD / spread) if spread > 0 else z


def _content_order(columns: Floats) -> Codes:
    """Row numbers in an order by what the rows hold: how a table is sorted then changes nothing."""
    by_class = np.random.default_rng(0).standard_normal(len(columns))
    # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
    return np.argsort(
        ((columns - columns.max(axis=0)) * by_class[:, None]).sum(axis=0), kind="stable"
    )


def _some_rows(columns: Floats) -> Floats:
    """At most so many rows, in the order of their content."""
    order = _content_order(columns)
    step = -(-len(order) // _MOST_ROWS)
    return columns[:, order[step // 2 :: step]]


def whole_counts(shares: Floats, n: int, favor: Floats | None = None) -> Codes:
    """n rows shared out by largest remainder; of equal remainders the favoured class goes first.

    >>> whole_counts(np.array([0.5, 0.3, 0.2]), 4)
    array([2, 1, 1])
    >>> whole_counts(np.array([0.5, 0.5]), 3, favor=np.array([0.1, 0.9]))
    array([1, 2])
    """
    quotas = shares * n
    counts = np.floor(quotas).astype(np.intp)
    favor = np.zeros(len(shares)) if favor is None else favor
    by_remainder = np.lexsort((-favor, -(quotas - counts).round(9)))
    counts[by_remainder[: n - counts.sum()]] += 1
    return counts


def match_counts(columns: Floats, counts: Codes) -> Floats:
    r"""Offsets b with which class c has the highest raised score in k_c rows.

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
    filled = counts > 0
    if n_classes == 1:
        return np.zeros(1)
    if filled.all():
        return (_two_class_offset if n_classes == 2 else _many_class_offset)(columns, counts)
    offset = np.zeros(n_classes)
    offset[filled] = match_counts(columns[filled], counts[filled])
    best = (columns[filled] + offset[filled, None]).max(axis=0)  # (n,)
    for c in np.flatnonzero(
        ~filled
    ):  # too small a class to have one of these rows, but perhaps a new one
        offset[c] = _cut(np.unique(best - columns[c]), 0)
    return offset


def match_means(columns: Floats, shares: Floats, offset: Floats, tolerance: float) -> Floats:
    """From an offset on, those with which the mean softmax is within a tolerance of the shares, if steps suffice.

    Over a step whose largest and smallest entry differ by r, the curvature of log-sum-exp changes
    at most by the factor e^r; therefore the share log(1 + r) / r of a Newton step always descends,
    and no search is needed.
    """
    for _ in range(_MAX_STEPS):
        log_mean, curvature = _soft_moments(columns, offset)
        missing = shares - np.exp(log_mean)
        if np.abs(missing).max() <= tolerance:
            return offset
        if (missing > np.maximum(0.99 * shares, tolerance)).any():
            offset = (
                offset + np.log(shares) - log_mean
            )  # far off and flat: this step always descends too
            continue
        # The problem does not change when all offsets move together: the added ones fix that
        # direction.
        step = np.linalg.lstsq(curvature + 1, missing, rcond=None)[0]
        r = np.ptp(step)
        offset = offset + step * (np.log1p(r) / max(r, np.finfo(np.float64).tiny))
    return offset


def score_columns(scores: ArrayLike) -> Floats:
    """Scores (n, C), checked, as contiguous columns (C, n): a pass over a class is a pass over memory."""
    columns = np.ascontiguousarray(np.asarray(scores, dtype=np.float64).T)
    if not np.isfinite(columns).all():
        raise ValueError(
            "scores hold NaN or infinity; give logits, or logarithms of probabilities above 0."
        )
    return columns


def _two_class_offset(columns: Floats, counts: Codes) -> Floats:
    """One sort: the rows that lean least to the second class are the first class's."""
    leaning = np.sort(columns[1] - columns[0])
    values, first = np.unique(leaning, return_index=True)
    ends = np.append(first, len(leaning))  # rows below each distinct value: the cuts that there are
    nearest = int(np.abs(ends - counts[0]).argmin())
    return np.array([0.0, -_cut(values, nearest)])


def _cut(values: Floats, position: int) -> float:
    """A number between the sorted values before and after a position; beyond the ends, by half the next gap."""
    if 0 < position < len(values):
        return float(values[position - 1] + values[position]) / 2
    if len(values) == 1:
        return float(values[0]) + (1 if position else -1)
    if position:
        return float(values[-1] + (values[-1] - values[-2]) / 2)
    return float(values[0] - (values[1] - values[0]) / 2)


def _many_class_offset(columns: Floats, counts: Codes) -> Floats:
    """The offsets of ``match_means`` for an ever sharper softmax, until it is the argmax and the counts are met.

    Where rows are alike, and all go where one goes, those of the level that came nearest.
    """
    columns = columns[:, _content_order(columns)]
    n_classes, n_rows = columns.shape

    def n_misplaced(offset: Floats) -> int:
        sizes = np.bincount((columns + offset[:, None]).argmax(axis=0), minlength=n_classes)
        return int(np.maximum(sizes - counts, 0).sum())

    offset = nearest = np.zeros(n_classes)
    fewest = n_misplaced(nearest)
    for sharpness in 4.0 ** np.arange(_MAX_LEVELS) / (np.ptp(columns, axis=0).max() or 1.0):
        if not fewest:
            break
        offset = (
            match_means(sharpness * columns, counts / n_rows, sharpness * offset, 0.25 / n_rows)
            / sharpness
        )
        if (found := n_misplaced(offset)) < fewest:
            nearest, fewest = offset, found
    middle = nearest + _to_middle(columns + nearest[:, None])
    return middle - middle[0]


def _to_middle(columns: Floats) -> Floats:
    """What to add to offsets so that they lie in the middle of those that give every row the same class.

    Row i of class c stays there when b_d - b_c <= s_ic - s_id. The least of these limits for each
    pair (c, d) makes a graph; the shortest paths from each class are the corners of the set of such
    b.
    """
    owner, n_classes = columns.argmax(axis=0), len(columns)
    members = [columns[:, owner == c] for c in range(n_classes)]
    limits = np.array(
        [(own[c] - own).min(axis=1, initial=np.inf) for c, own in enumerate(members)]
    )  # (C, C)
    limits[np.diag_indices(n_classes)] = 0
    for c in range(n_classes):
        limits = np.minimum(limits, limits[:, c, None] + limits[c])
    return np.where(np.isfinite(limits), limits, 0).mean(axis=0)


def _soft_moments(columns: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """Logarithm of the mean softmax (C,) and the derivative of the mean (C, C) with respect to the offset."""
    n_rows = columns.shape[1]
    probs = columns + offset[:, None]  # (C, n)
    probs -= probs.max(axis=0)
    top = probs.max(axis=1)  # (C,) kept for classes whose probabilities are too small for float64
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=0)
    mean = probs.mean(axis=1)
    log_mean = np.where(mean > 1e-300, np.log(np.maximum(mean, 1e-300)), top - np.log(n_rows))
    return log_mean, np.diag(mean) - probs @ probs.T / n_rows
