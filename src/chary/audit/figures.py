"""Figures of an audit: accuracy, classes, shares, agreement, slices, and the comparison of two.

The labels may come from a model, rules or a colleague. They are fixed, and the audited rows were
drawn uniformly at random from all rows that carry them, so that every interval here is exact: it
covers the truth at least as often as it says, at any size, whatever the bias of the labels that a
model was trained on. If rows were skipped it covers whatever a person would have said of them.
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
# Of a difference: the part of the risk that goes into the number of rows on which the two differ.
_RISK_OF_COUNT = 0.2


class Score(NamedTuple):
    """How many of some audited rows were right, and what that says of all rows like them."""

    correct: int  #: audited rows that are right
    n: int  #: audited rows, skipped ones included
    low: float  #: the interval of the share that is right
    high: float  #: and its upper limit
    level: float  #: of the interval: 0.95 is 95 %
    #: The share that is right at least, at the same level; None: nobody asked.
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

    Rows that were drawn and skipped count as wrong, in the share and in the lower limit; the upper
    one supposes them right, so that the interval holds whatever they are. With the size of the pool
    they were drawn from it is narrower (``interval``).

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
    prior : tuple of two numbers, default=(3, 1)
        Where the interval is narrow, as in ``interval``.

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
    """Compute the share of right rows as it can be promised, from rows in the order of the draw.

    The interval is exact for an audit of a size that was planned; if the person was ``stopped``,
    told when it was enough, it is that of ``sequence``, which holds at any moment.
    """
    planned = score(correct[~skipped], level, skipped=int(skipped.sum()), population=population)
    if not stopped:
        return planned
    low, high = sequence(correct, population, level, skipped=skipped)
    return planned._replace(low=float(low[-1]), high=float(high[-1]), at_least=float(low[-1]))


class Share(NamedTuple):
    """How many rows of the table are of a class, by the audit, and how many carry its label."""

    seen: int  #: audited rows of the class
    n: int  #: audited rows, skipped ones included
    low: int  #: rows of the table: at least
    high: int  #: and at most
    labelled: int  #: rows of the table that carry the label
    population: int  #: rows of the table
    level: float  #: of the interval

    @property
    def off(self) -> tuple[float, float]:
        """By how much the share of the label is too high: at least, at most. Below 0: too low."""
        fewest = self.labelled - self.high
        most = self.labelled - self.low
        return fewest / self.population, most / self.population


class ClassJudgement(NamedTuple):
    """What an audit says of one class.

    A figure of fewer than five rows is exact, and says next to nothing.
    """

    share: Share  #: how many rows of the table are of the class
    #: Of the rows that carry the label, how many are of the class; None: none was audited.
    precision: Score | None
    #: Of the rows of the class, how many carry the label; None: none was audited.
    recall: Score | None


@dataclass(frozen=True)
class Judgement:
    """The outcome of ``judge_labels``."""

    #: The promise: skipped rows are wrong for ``share`` and ``low``, right for ``high``.
    accuracy: Score
    classes: dict[Any, ClassJudgement]  #: all that were seen, of labels or answers
    #: (answer, label): rows on which the two differ, most frequent first.
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

    - accuracy: ``interval`` of the right rows among N, finite;
    - precision of a label: the audited rows that carry it are a random sample of the rows that do,
      whose number is known: ``interval`` among those. Recall of a class: the audited rows of the
      class are a random sample of its rows, whose number is not known: ``interval`` of a pool of
      any size. Nothing is expected of either;
    - shares: ``count_interval`` of the answers among N, never the counts of the labels;
    - skipped rows: each limit is the worst over all they could have been.

    Parameters
    ----------
    truth : array-like of shape (k,)
        What the person said of each audited row; anything where it was skipped.
    labels : array-like of shape (k,)
        The labels under test of the same rows, None for a row without label, which is never right.
    counts : mapping of label to number of rows
        Of the whole table, all labels under test.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
        Of each interval for itself.

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> judgement = judge_labels(truth, labels, {"fraud": 700, "fine": 4_300})
    >>> print(judgement.accuracy)
    95.0% (83.7% to 99.1%)
    >>> share = judgement.classes["fraud"].share
    >>> share.low, share.high, share.population
    (477, 1743, 5000)
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
    names = [name for name in dict.fromkeys([*counts, *answers.tolist()]) if name is not None]
    recalls = class_scores(answers, labels_of_answered, names, level, skipped=labels[is_skipped])

    classes = {}
    for name in names:
        is_class = ~is_skipped & _equal(truth, name)
        has_label = _equal(labels, name)
        n_labelled = counts.get(name, 0)
        n_seen = int(is_class.sum())
        low, high = count_interval(n_seen, len(labels), population, level, n_skipped)
        share = Share(n_seen, len(labels), low, high, n_labelled, population, level)
        precision = _score_of(is_class & has_label, has_label, is_skipped, n_labelled, level)
        classes[name] = ClassJudgement(share, precision, recalls.get(name))

    is_wrong = ~is_right & ~is_skipped
    pairs = Counter(zip(truth[is_wrong].tolist(), labels[is_wrong].tolist(), strict=True))
    names_or_none = list(dict.fromkeys([*names, *counts]))
    return Judgement(
        accuracy=score(is_right[~is_skipped], level, skipped=n_skipped, population=population),
        classes=classes,
        confusions=dict(pairs.most_common()),
        kappa=kappa(pair_counts(answers, labels_of_answered, names_or_none)),
    )


def class_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    classes: Sequence[Any],
    level: float = 0.95,
    *,
    skipped: ArrayLike = (),
) -> dict[Any, Score]:
    """Compute for each class the share of its audited rows that were recognised.

    Its interval is exact because the audited rows of a class are a random sample of its rows.
    Classes without an audited row are left out: nothing is known of them. With the arguments
    exchanged, it is the share of right rows among those predicted as each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (k,)
    classes : sequence
    level : float, default=0.95
    skipped : array-like, default=()
        What was predicted of rows that were drawn and that nobody answered. For the lower limit
        those predicted as another class are of this class and missed; for the upper one those
        predicted as this class are recognised.

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
        n_predicted = int((skipped == label).sum())
        n_missed = skipped.size - n_predicted
        low, _ = interval(n_recognised, n_rows + n_missed, level=level, prior=NEUTRAL)
        _, high = interval(
            n_recognised + n_predicted, n_rows + n_predicted, level=level, prior=NEUTRAL
        )
        scores[label] = Score(n_recognised, n_rows, low, high, level)
    return scores


def balanced_score(scores: dict[Any, Score], n_classes: int) -> tuple[float, float, float] | None:
    r"""Compute the balanced accuracy and its interval, if no class has too few rows.

    It is the mean of the classes' shares. The exact limits l_c, u_c of the C classes' shares p_c
    are joined as independent errors (Zou and Donner, 2008). That is close, not exact: for two
    classes and a level of 95 % it covers the truth in 96 % of cases on average and in 93 % at the
    worst accuracies.

    .. math:: \bar p - \tfrac1C \sqrt{\textstyle\sum_c (p_c - l_c)^2}, \qquad
              \bar p + \tfrac1C \sqrt{\textstyle\sum_c (u_c - p_c)^2}.

    Parameters
    ----------
    scores : dict of Score
        From ``class_scores``.
    n_classes : int
        How many classes there are, those without an audited row included. Every class needs five.
    """
    if len(scores) < n_classes:
        return None
    if any(class_score.n < MIN_PER_CLASS for class_score in scores.values()):
        return None
    limits = [
        (class_score.share, class_score.low, class_score.high) for class_score in scores.values()
    ]
    share, low, high = np.array(limits).T  # (C,) each
    mean = float(share.mean())
    below = float(np.linalg.norm(share - low)) / len(scores)
    above = float(np.linalg.norm(high - share)) / len(scores)
    return mean, max(0.0, mean - below), min(1.0, mean + above)


class Slice(NamedTuple):
    """What an audit says of the rows that have one value in a column."""

    population: int  #: rows of the table
    n: int  #: audited rows, skipped ones included
    #: Its interval holds together with those of all other slices; None: too few rows to say.
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

    The audited rows of a slice are a random sample of its rows, so its interval is exact at 1 - (1
    - level) / m, and all m slices of at least five audited rows hold theirs together with
    probability ``level`` (Bonferroni). Which slices those are depends on the draw, not on the
    answers.

    Parameters
    ----------
    correct : array-like of shape (k,), bool
        Of the audited rows; anything where skipped.
    slices : array-like of shape (k,)
        The value that each has in the column.
    counts : mapping of value to number of rows
        Of the whole table, the values that no audited row has included.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
    n_columns : int, default=1
        Columns that are looked at in this way: all of their slices hold together.

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
    #: Exact and two-sided, of the two erring equally often; with skipped rows the largest possible.
    p_value: float
    n_skipped: int = 0  #: skipped rows on which either might be right alone


def compare(
    first_correct: ArrayLike, second_correct: ArrayLike, *, skipped: ArrayLike | None = None
) -> Comparison:
    """Test whether two models err equally often, by the rows on which exactly one is right.

    It is McNemar's exact test. Nobody knows which of the two is right on a skipped row, so the
    p-value is the largest over all that the skipped rows may be: the one at which as many of them
    as needed speak for the model that is behind. A small p-value names the better model whatever
    the skipped rows are.

    Parameters
    ----------
    first_correct : array-like of shape (k,), bool
        Whether the first is right on each audited row; False where skipped.
    second_correct : array-like of shape (k,), bool
        Whether the second is.
    skipped : array-like of shape (k,), bool, default=None
        Rows that were drawn and not answered, and on which the two say different things. Where they
        say the same, both are right or both are wrong, and the answer makes no difference.

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

    # Worst case: skipped rows speak for the one behind until both are level.
    more = max(only_first, only_second)
    fewer = min(more, min(only_first, only_second) + n_skipped)
    p_value = 1.0
    if more > 0:
        p_value = float(binomtest(fewer, fewer + more).pvalue)
    return Comparison(only_first, only_second, p_value, n_skipped)


class Difference(NamedTuple):
    """How much more often one labelling is right than another, on all rows."""

    #: In the audit: the share of rows that the first alone gets right, less that of the second.
    share: float
    low: float  #: lower limit of the interval, for all rows
    high: float  #: and the upper one
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

    The interval holds at any size. Of N rows exactly one of the two is right on U; of these, the
    first on a share q. The difference is

    .. math:: \frac{U}{N} (2 q - 1).

    U has its exact interval at 1 - (1 - level) / 5. The drawn rows among those U are a random
    sample of them, so q has its own, at 1 - 4 (1 - level) / 5. Both hold together with probability
    ``level``, and the difference lies between the least and the most that they allow.

    A skipped row may be one that the first alone has right, one that the second alone has right, or
    neither. Each limit is the worst over all of these, so the interval holds whatever the skipped
    rows are. Limits of q grow with the rows that the first alone has right, so the lowest limit is
    found with 0, 1, ... of the skipped rows right by the second alone, and the highest with as many
    right by the first alone.

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
    for n_more in range(comparison.n_skipped + 1):
        low = min(low, _difference_limits(b, c + n_more, n, population, level)[0])
        high = max(high, _difference_limits(b + n_more, c, n, population, level)[1])
    return Difference((b - c) / n, low, high, level, comparison)


def _difference_limits(
    b: int, c: int, n: int, population: int, level: float
) -> tuple[float, float]:
    """Compute limits of a difference if, of n rows, b speak for the first and c for the second."""
    risk = 1 - level
    fewest, most = count_interval(b + c, n, population, 1 - _RISK_OF_COUNT * risk)  # of U
    low_share = 0.0  # limits of q
    high_share = 1.0
    if b + c > 0:
        pool = fewest if fewest == most else None
        share_level = 1 - (1 - _RISK_OF_COUNT) * risk
        low_share, high_share = interval(b, b + c, pool, share_level, prior=NEUTRAL)

    # A difference is the farther from 0 the more rows the two differ on.
    low = 2 * low_share - 1
    high = 2 * high_share - 1
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
        Rows by the class that the first gave, and by the one that the second gave.

    Returns
    -------
    float, or None if both gave one and the same class, which says nothing.

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
    """Count pairs of names, one of the first and one of the second; other values are left out.

    Returns
    -------
    array of shape (C, C)
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
    """Score rows, skipped ones included, with nothing expected; return None without any row."""
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
    """Compare each value; None is equal to nothing."""
    has_value = values != None  # noqa: E711 (elementwise)
    return np.asarray(values == expected, dtype=bool) & has_value


def _mask(skipped: ArrayLike | None, n: int) -> Mask:
    """Return where rows were skipped: nowhere by default."""
    return np.zeros(n, dtype=bool) if skipped is None else np.asarray(skipped, dtype=bool)
