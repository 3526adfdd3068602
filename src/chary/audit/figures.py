"""Figures of an audit: accuracy, classes, shares, agreement, slices, and the comparison of two.

The labels may come from a model, rules or a colleague. They are fixed, and the audited rows were
drawn uniformly at random from all rows that carry them, so that every interval here is exact: it
covers the truth at least as often as it says, at any size, whatever the bias of the labels that a
model was trained on. Skipped rows widen an interval, so that it holds whatever they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from chary._arrays import Array, Mask
from chary.audit.class_counts import Sample, class_count_interval
from chary.audit.intervals import (
    MOSTLY_RIGHT,
    NEUTRAL,
    at_least,
    count_interval,
    interval,
    sequence,
)

# A balanced accuracy, or one of a slice, is given from this many audited rows on.
MIN_PER_CLASS = 5
# For a difference: the part of the risk spent on U, the number of rows on which exactly one of the
# two labellings is right; see ``difference``.
_RISK_OF_COUNT = 0.2


class Score(NamedTuple):
    """How many audited rows are right, with limits for all rows that they were drawn from."""

    correct: int  #: audited rows that are right
    n: int  #: audited rows, skipped ones included
    low: float  #: lower limit of the share of all rows that is right
    high: float  #: upper limit of that share
    level: float  #: of the interval: 0.95 is 95 %
    #: One-sided lower limit of the share that is right, at the same level; None: not computed.
    at_least: float | None = None

    @property
    def share(self) -> float:
        """The share of the audited rows that was right."""
        return self.correct / self.n

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"


def score(
    correct: ArrayLike,
    level: float = 0.95,
    *,
    skipped: int = 0,
    population: int | None = None,
    prior: tuple[float, float] = MOSTLY_RIGHT,
) -> Score:
    """Compute the share of right rows in an audit, with its exact interval.

    Skipped rows count as wrong in the share and the lower limit, and as right in the upper limit,
    so that the interval holds whatever they are. The interval is narrower if the size of the pool
    is given (see ``interval``).

    Parameters
    ----------
    correct : array-like of shape (k,), bool
        Whether each answered row is right.
    level : float, default=0.95
        Of the interval.
    skipped : int, default=0
        Rows that were drawn and not answered.
    population : int, default=None
        Rows that the audited ones were drawn from. None: any number.
    prior : tuple of two numbers, default=(3, 1)
        The shares for which the interval is narrow, as in ``interval``.

    Examples
    --------
    >>> print(score([True] * 27 + [False] * 3))
    90.0% (75.3% to 97.2%)
    >>> print(score([True] * 27, skipped=3))
    90.0% (75.3% to 100.0%)
    """
    correct = np.asarray(correct, dtype=bool)
    n_correct = int(correct.sum())
    n = correct.size + skipped
    limits = interval(n_correct, n, population, level, skipped, prior)
    return Score(n_correct, n, *limits, level, at_least(n_correct, n, population, level))


def promised_score(
    correct: Mask, skipped: Mask, population: int, level: float = 0.95, *, stopped: bool = False
) -> Score:
    """Compute the share of right rows, with limits that allow for when the person stopped.

    Rows are in the order of the draw. If the number of rows was planned, the interval is exact. If
    the person was told when to stop (``stopped``), it is the interval of ``sequence``, which holds
    at any moment.
    """
    planned = score(correct[~skipped], level, skipped=int(skipped.sum()), population=population)
    if not stopped:
        return planned
    low, high = sequence(correct, population, level, skipped=skipped)
    return planned._replace(low=float(low[-1]), high=float(high[-1]), at_least=float(low[-1]))


class Share(NamedTuple):
    """How common a class is: by the audit, and by the labels under test."""

    seen: int  #: audited rows of the class
    n: int  #: audited rows, skipped ones included
    low: int  #: lower limit of the rows of the table that are of the class
    high: int  #: upper limit of these rows
    labelled: int  #: rows of the table that carry the label
    population: int  #: rows of the table
    level: float  #: of the interval

    @property
    def off(self) -> tuple[float, float]:
        """Limits of the surplus of labels, as a share of the table; below 0: labels are lacking.

        >>> Share(8, 40, low=477, high=1_743, labelled=700, population=5_000, level=0.95).off
        (-0.2086, 0.0446)
        """
        fewest = self.labelled - self.high
        most = self.labelled - self.low
        return fewest / self.population, most / self.population


def class_shares(
    truth: ArrayLike,
    labels: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
) -> dict[Any, Share]:
    """Compute how many rows of a table are of each class, by an audit and the labels.

    It is ``class_count_interval`` of the answers among the rows with the label of the class and
    among the others. The labels may come from a model, if it has not learned from the answers.

    Parameters
    ----------
    truth : array-like of shape (k,)
        The person's answer for each audited row; ignored for skipped rows.
    labels : array-like of shape (k,)
        The labels of the same rows; None for a row without label.
    counts : mapping of label to number of rows
        All labels, in the whole table.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
        Of each single interval.

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> share = class_shares(truth, labels, {"fraud": 700, "fine": 4_300})["fraud"]
    >>> share.low, share.high, share.population
    (588, 1496, 5000)
    """
    truth = np.asarray(truth, dtype=object)
    labels = np.asarray(labels, dtype=object)
    is_skipped = _mask(skipped, len(labels))
    population = sum(counts.values())
    shares = {}
    for name in _class_names(counts, truth[~is_skipped]):
        is_class = ~is_skipped & _equal(truth, name)
        has_label = _equal(labels, name)
        n_labelled = counts.get(name, 0)
        low, high = class_count_interval(
            _sample(is_class, has_label, is_skipped, n_labelled),
            _sample(is_class, ~has_label, is_skipped, population - n_labelled),
            level,
        )
        n_seen = int(is_class.sum())
        shares[name] = Share(n_seen, len(labels), low, high, n_labelled, population, level)
    return shares


def _class_names(counts: Mapping[Any, int], answers: Array) -> list[Any]:
    """List the classes that labels or answers name, those of the labels first."""
    names = dict.fromkeys([*counts, *answers.tolist()])
    return [name for name in names if name is not None]


class ClassJudgement(NamedTuple):
    """What an audit says of one class.

    A figure of fewer than five rows is exact, but its interval is so wide that it says little.
    """

    share: Share  #: how many rows of the table are of the class
    #: Of the rows that carry the label, how many are of the class; None: no such row was audited.
    precision: Score | None
    #: Of the rows of the class, how many carry the label; None: no such row was audited.
    recall: Score | None


@dataclass(frozen=True)
class Judgement:
    """The outcome of ``judge_labels``."""

    #: Skipped rows count as wrong in ``share`` and ``low``, and as right in ``high``.
    accuracy: Score
    classes: dict[Any, ClassJudgement]  #: by class that a label or an answer names
    #: Wrong rows by (answer, label), most frequent first.
    confusions: dict[tuple[Any, Any], int]
    #: Agreement of labels and answers beyond chance; None if there is one class alone.
    kappa: float | None


def judge_labels(
    truth: ArrayLike,
    labels: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
) -> Judgement:
    """Hold fixed labels against the answers of an audit.

    - accuracy: ``interval`` of the right rows, in a pool of the table's N rows;
    - precision of a label: the audited rows with the label are a random sample of all rows with it,
      whose number is known: ``interval`` in a pool of that size, with a neutral prior;
    - recall of a class: the audited rows of the class are a random sample of its rows, whose number
      is not known: ``interval`` in a pool of any size, with a neutral prior;
    - share of a class: ``class_shares``;
    - skipped rows: each limit is the worst over all classes that the skipped rows could have.

    Parameters
    ----------
    truth : array-like of shape (k,)
        The person's answer for each audited row; ignored for skipped rows.
    labels : array-like of shape (k,)
        The labels under test of the same rows; None for a row without label, which is never right.
    counts : mapping of label to number of rows
        All labels under test, in the whole table.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
        Of each single interval.

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> judgement = judge_labels(truth, labels, {"fraud": 700, "fine": 4_300})
    >>> print(judgement.accuracy)
    95.0% (83.7% to 99.1%)
    >>> share = judgement.classes["fraud"].share
    >>> share.low, share.high, share.population
    (588, 1496, 5000)
    >>> print(judgement.classes["fraud"].recall)
    75.0% (36.5% to 95.4%)
    >>> judgement.confusions
    {('fraud', 'fine'): 2}
    """
    truth = np.asarray(truth, dtype=object)
    labels = np.asarray(labels, dtype=object)
    is_skipped = _mask(skipped, len(labels))
    is_right = ~is_skipped & _equal(truth, labels)
    n_skipped = int(is_skipped.sum())
    population = sum(counts.values())
    answers = truth[~is_skipped]
    labels_of_answered = labels[~is_skipped]
    names = _class_names(counts, answers)
    shares = class_shares(truth, labels, counts, skipped=is_skipped, level=level)
    recalls = class_scores(answers, labels_of_answered, names, level, skipped=labels[is_skipped])

    classes = {}
    for name in names:
        is_class = ~is_skipped & _equal(truth, name)
        has_label = _equal(labels, name)
        n_labelled = shares[name].labelled
        precision = _score_of(is_class & has_label, has_label, is_skipped, n_labelled, level)
        classes[name] = ClassJudgement(shares[name], precision, recalls.get(name))

    is_wrong = ~is_right & ~is_skipped
    pairs = Counter(zip(truth[is_wrong].tolist(), labels[is_wrong].tolist(), strict=True))
    # Rows without a label count for kappa, so None is a name there if the table has such rows.
    names_or_none = list(dict.fromkeys([*names, *counts]))
    return Judgement(
        accuracy=score(is_right[~is_skipped], level, skipped=n_skipped, population=population),
        classes=classes,
        confusions=dict(pairs.most_common()),
        kappa=kappa(pair_counts(answers, labels_of_answered, names_or_none)),
    )


def _sample(is_class: Mask, is_drawn: Mask, is_skipped: Mask, population: int) -> Sample:
    """Count the drawn rows of a pool: those of the class, the skipped ones, and all."""
    n_of_class = int((is_class & is_drawn).sum())
    return Sample(n_of_class, int((is_skipped & is_drawn).sum()), int(is_drawn.sum()), population)


def class_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    classes: Sequence[Any],
    level: float = 0.95,
    *,
    skipped: ArrayLike = (),
) -> dict[Any, Score]:
    """Compute the recall of each class: the share of its audited rows that were recognised.

    Its interval is exact because the audited rows of a class are a random sample of its rows.
    Classes without an audited row are left out: nothing is known of them. With ``y_true`` and
    ``y_pred`` exchanged, it computes the precision instead.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (k,)
    classes : sequence
    level : float, default=0.95
    skipped : array-like, default=()
        Predictions for the rows that were drawn and skipped. The lower limit of a class supposes
        that all skipped rows predicted as another class are of this class; the upper limit, that
        all skipped rows predicted as this class are.

    Examples
    --------
    >>> recalls = class_scores(["a"] * 8 + ["b"] * 2, ["a"] * 9 + ["b"], ["a", "b"])
    >>> print(recalls["a"])
    100.0% (63.5% to 100.0%)
    >>> print(recalls["b"])
    50.0% (2.5% to 97.5%)
    """
    y_true = np.asarray(y_true)
    y_pred = np.asarray(y_pred)
    skipped = np.asarray(skipped, dtype=object)
    scores = {}
    for label in classes:
        is_class = y_true == label
        n_rows = int(is_class.sum())
        if n_rows == 0:
            continue
        n_recognised = int((is_class & (y_pred == label)).sum())

        # The worst case adds skipped rows of the class that are not recognised; the best case, such
        # that are.
        n_skipped_hits = int((skipped == label).sum())
        n_skipped_misses = skipped.size - n_skipped_hits
        low, _ = interval(n_recognised, n_rows + n_skipped_misses, level=level, prior=NEUTRAL)
        _, high = interval(
            n_recognised + n_skipped_hits, n_rows + n_skipped_hits, level=level, prior=NEUTRAL
        )
        scores[label] = Score(n_recognised, n_rows, low, high, level)
    return scores


def balanced_score(scores: dict[Any, Score], n_classes: int) -> tuple[float, float, float] | None:
    r"""Compute the balanced accuracy and its limits; return None if a class has too few rows.

    It is the mean of the classes' recalls p_c. The exact limits l_c, u_c of these C recalls are
    joined as independent errors (Zou and Donner, 2008). That is close, not exact: for two
    classes and a level of 95 % it covers the truth in 96 % of cases on average and in 93 % at the
    worst accuracies.

    .. math:: \bar p - \tfrac1C \sqrt{\textstyle\sum_c (p_c - l_c)^2}, \qquad
              \bar p + \tfrac1C \sqrt{\textstyle\sum_c (u_c - p_c)^2}.

    Parameters
    ----------
    scores : dict of Score
        From ``class_scores``.
    n_classes : int
        How many classes there are, including those without an audited row. Every class needs five
        audited rows.
    """
    if len(scores) < n_classes:
        return None
    if any(class_score.n < MIN_PER_CLASS for class_score in scores.values()):
        return None
    limits_by_class = [
        (class_score.share, class_score.low, class_score.high) for class_score in scores.values()
    ]
    share, low, high = np.array(limits_by_class).T  # p_c, l_c, u_c: (C,) each
    mean = float(share.mean())
    below = float(np.linalg.norm(share - low)) / len(scores)
    above = float(np.linalg.norm(high - share)) / len(scores)
    return mean, max(0.0, mean - below), min(1.0, mean + above)


class Slice(NamedTuple):
    """What an audit says of the rows that have one value in a column."""

    population: int  #: rows of the table
    n: int  #: audited rows, skipped ones included
    #: The intervals of all slices hold together; None: too few audited rows.
    score: Score | None


def slice_scores(
    correct: ArrayLike,
    slices: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
    n_columns: int = 1,
) -> dict[Any, Slice]:
    """Compute the accuracy in each slice of a table, corrected for looking at all of them.

    The audited rows of a slice are a random sample of its rows, so its interval is exact. For each
    of the m slices with at least five audited rows, the interval is taken at the level 1 - (1 -
    level) / m, so all m intervals hold together with probability ``level`` (Bonferroni). Which
    slices have five audited rows depends on the draw, not on the answers.

    Parameters
    ----------
    correct : array-like of shape (k,), bool
        Whether each audited row is right; ignored for skipped rows.
    slices : array-like of shape (k,)
        The value of each audited row in the column.
    counts : mapping of value to number of rows
        In the whole table, including values that no audited row has.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
    n_columns : int, default=1
        How many columns are sliced in this way: the intervals of all their slices hold together.

    Examples
    --------
    >>> correct = [True] * 10 + [False] * 8
    >>> slices = slice_scores(correct, ["n"] * 10 + ["s"] * 8, {"n": 900, "s": 100, "e": 3})
    >>> print(slices["s"].score, slices["e"].score)
    0.0% (0.0% to 36.0%) None
    """
    values = np.asarray(slices, dtype=object)
    is_skipped = _mask(skipped, len(values))
    is_right = np.asarray(correct, dtype=bool) & ~is_skipped
    n_audited = Counter(values.tolist())
    n_scored = sum(n_audited[value] >= MIN_PER_CLASS for value in counts)
    level_of_each = 1 - (1 - level) / max(1, n_columns * n_scored)
    scores = {}
    for value, population in counts.items():
        slice_score = None
        if n_audited[value] >= MIN_PER_CLASS:
            has_value = _equal(values, value)
            slice_score = _score_of(is_right, has_value, is_skipped, population, level_of_each)
        scores[value] = Slice(population, n_audited[value], slice_score)
    return scores


class Comparison(NamedTuple):
    """Two models on the same audited rows."""

    only_first: int  #: answered rows that the first alone gets right
    only_second: int  #: answered rows that the second alone gets right
    #: Exact, two-sided, against "both err equally often"; the largest that skipped rows allow.
    p_value: float
    n_skipped: int = 0  #: skipped rows on which either might be right alone


def compare(
    first_correct: ArrayLike, second_correct: ArrayLike, *, skipped: ArrayLike | None = None
) -> Comparison:
    """Test whether two models err equally often, by the rows on which exactly one is right.

    It is McNemar's exact test. On a skipped row, either model may be right, so the p-value is the
    largest that any answers for the skipped rows would give. To find it, skipped rows are counted
    for the model that is behind until both are level. So a small p-value names the better model,
    whatever the answers for the skipped rows would be.

    Parameters
    ----------
    first_correct : array-like of shape (k,), bool
        Whether the first is right on each audited row; False where skipped.
    second_correct : array-like of shape (k,), bool
        Whether the second is.
    skipped : array-like of shape (k,), bool, default=None
        Rows that were drawn and not answered, and for which the two models differ. If they agree,
        both are right or both are wrong, and the answer makes no difference.

    Examples
    --------
    >>> compare([True] * 10 + [False] * 2, [False] * 10 + [True] * 2)
    Comparison(only_first=10, only_second=2, p_value=0.03857421875, n_skipped=0)
    """
    first = np.asarray(first_correct, dtype=bool)
    second = np.asarray(second_correct, dtype=bool)
    is_skipped = _mask(skipped, len(first))
    is_paired = first.shape == second.shape == is_skipped.shape
    if not is_paired or (is_skipped & (first | second)).any():
        raise ValueError(
            "skipped must name rows that neither has right: one value for each drawn row."
        )
    only_first = int(np.sum(first & ~second))
    only_second = int(np.sum(second & ~first))
    n_skipped = int(np.sum(is_skipped))

    # Worst case: skipped rows count for the model that is behind, until both are level.
    more = max(only_first, only_second)
    fewer = min(only_first, only_second)
    fewer = min(more, fewer + n_skipped)
    p_value = 1.0
    if more > 0:
        p_value = float(binomtest(fewer, fewer + more).pvalue)
    return Comparison(only_first, only_second, p_value, n_skipped)


class Difference(NamedTuple):
    """How much more often one labelling is right than another, on all rows."""

    #: Share of drawn rows that only the first has right, less the share only the second has right.
    share: float
    low: float  #: lower limit of the difference on all rows
    high: float  #: upper limit of the difference on all rows
    level: float  #: of the interval
    comparison: Comparison  #: the exact paired test of no difference


def difference(
    first_correct: ArrayLike,
    second_correct: ArrayLike,
    population: int,
    level: float = 0.95,
    *,
    skipped: ArrayLike | None = None,
) -> Difference:
    r"""Compute by how much one labelling is more accurate than another, on the same audit.

    The interval holds at any size. Of N rows, U are rows on which exactly one of the two is right;
    q is the share of these U rows on which it is the first. The difference is

    .. math:: \frac{U}{N} (2 q - 1).

    U has an exact interval at the level 1 - (1 - level) / 5. The drawn rows among these U are a
    random sample of them, so q has an exact interval, too, at the level 1 - 4 (1 - level) / 5. Both
    hold together with probability ``level``; then the difference lies between the least and the
    most that they allow.

    On a skipped row, the first alone may be right, or the second alone, or neither. Each limit is
    the worst over all these cases, so the interval holds whatever the skipped rows are. For the
    lower limit it is enough to try 0, 1, ... skipped rows on which the second alone is right, and
    for the upper limit the first alone: limits of q grow with the rows that the first has right.

    Parameters
    ----------
    first_correct : array-like of shape (k,), bool
        Whether the first is right on each audited row; False where skipped.
    second_correct : array-like of shape (k,), bool
        Whether the second is.
    population : int
        Rows of the table that they were drawn from.
    level : float, default=0.95
        Of the interval.
    skipped : array-like of shape (k,), bool, default=None
        Rows that were drawn and not answered, and on which the two say different things, as in
        ``compare``.

    Examples
    --------
    >>> first = [True] * 10 + [False] * 50
    >>> second = [False] * 10 + [True] * 2 + [False] * 48
    >>> gain = difference(first, second, population=5_000)
    >>> round(gain.share, 3), round(gain.low, 3), round(gain.high, 3)
    (0.133, 0.003, 0.336)
    """
    comparison = compare(first_correct, second_correct, skipped=skipped)
    b = comparison.only_first
    c = comparison.only_second
    n = np.size(first_correct)
    low = 1.0
    high = -1.0
    # Worst case: of the skipped rows, n_more are right by the second labelling alone (for the lower
    # limit) or by the first alone (for the upper one).
    for n_more in range(comparison.n_skipped + 1):
        low_if, _ = _difference_limits(b, c + n_more, n, population, level)
        _, high_if = _difference_limits(b + n_more, c, n, population, level)
        low = min(low, low_if)
        high = max(high, high_if)
    return Difference((b - c) / n, low, high, level, comparison)


def _difference_limits(
    b: int, c: int, n: int, population: int, level: float
) -> tuple[float, float]:
    """Compute limits of (U / N) (2 q - 1); see ``difference``.

    Of n drawn rows, the first labelling alone is right on b, and the second alone on c.
    """
    # Limits of U. If they are equal, U is known, and is the pool of q.
    risk = 1 - level
    fewest, most = count_interval(b + c, n, population, 1 - _RISK_OF_COUNT * risk)
    pool = fewest if fewest == most else None

    low_q = 0.0
    high_q = 1.0
    if b + c > 0:
        level_of_q = 1 - (1 - _RISK_OF_COUNT) * risk
        low_q, high_q = interval(b, b + c, pool, level_of_q, prior=NEUTRAL)

    # The larger U is, the farther from 0 is the difference. So the lower limit takes the largest U
    # if it is negative, and the smallest if not; the upper limit conversely.
    low = 2 * low_q - 1
    high = 2 * high_q - 1
    low *= most if low < 0 else fewest
    high *= most if high > 0 else fewest
    return low / population, high / population


def kappa(counts: ArrayLike) -> float | None:
    r"""Compute Cohen's kappa, agreement beyond chance: 1 is full, 0 what chance would give.

    .. math:: \kappa = \frac{p - e}{1 - e}, \qquad p = \sum_c n_{cc} / n, \quad
              e = \sum_c n_{c \cdot} n_{\cdot c} / n^2.

    Parameters
    ----------
    counts : array-like of shape (C, C)
        Number of rows by class of the first labelling (axis 0) and of the second (axis 1).

    Returns
    -------
    float, or None if both gave the same single class to all rows, which says nothing.

    Examples
    --------
    >>> round(kappa([[40, 5], [5, 10]]), 2)
    0.56
    """
    table = np.asarray(counts, dtype=float)
    share = table / max(1.0, table.sum())
    by_chance = float(share.sum(axis=0) @ share.sum(axis=1))
    if not table.any() or by_chance >= 1:
        return None
    return float((np.trace(share) - by_chance) / (1 - by_chance))


def pair_counts(
    first: Iterable[Any],
    second: Iterable[Any],
    names: Sequence[Any],
    weights: Iterable[int] = repeat(1),
) -> NDArray[np.int64]:
    """Count the rows by the name in ``first`` (axis 0) and in ``second`` (axis 1).

    A row with a value that is not in ``names`` is passed over. Row i counts ``weights[i]`` times.

    Returns
    -------
    array of shape (C, C)

    Examples
    --------
    >>> pair_counts(["a", "a", "b"], ["a", "b", "b"], names=["a", "b"])
    array([[1, 1],
           [0, 1]])
    """
    code_of = {name: code for code, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for name, other_name, weight in zip(first, second, weights, strict=False):
        if name in code_of and other_name in code_of:
            counts[code_of[name], code_of[other_name]] += weight
    return counts


def _score_of(
    is_right: Mask, rows: Mask, is_skipped: Mask, population: int, level: float
) -> Score | None:
    """Score the audited ``rows`` with a neutral prior; return None if there are none."""
    if not rows.any():
        return None
    n_skipped = int((rows & is_skipped).sum())
    return score(
        is_right[rows & ~is_skipped],
        level,
        skipped=n_skipped,
        population=population,
        prior=NEUTRAL,
    )


def _equal(values: Array, expected: Any) -> Mask:
    """Tell where a value equals the expected one, which may be an array; None equals nothing."""
    has_value = values != None  # noqa: E711 (elementwise)
    return np.asarray(values == expected, dtype=bool) & has_value


def _mask(skipped: ArrayLike | None, n: int) -> Mask:
    """Convert ``skipped`` to a mask; without it, no row was skipped."""
    return np.zeros(n, dtype=bool) if skipped is None else np.asarray(skipped, dtype=bool)
