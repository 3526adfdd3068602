"""What answers for random rows say of labels: accuracy, classes, shares, agreement, slices, two compared.

The labels may come from anyone: a model, rules, a colleague. They are fixed, and the audited rows
were drawn uniformly at random from all rows that carry them, so that every interval here is exact:
it covers the truth at least as often as it says, at any size, whatever the bias of the labels that
a model was trained on. Where rows were skipped it covers whatever a person would have said of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from chary.audit.intervals import (
    MOSTLY_RIGHT,
    NEUTRAL,
    at_least,
    count_interval,
    interval,
    sequence,
)

Mask = NDArray[np.bool_]

# A balanced accuracy, or one of a slice, is given from this many audited rows on.
MIN_PER_CLASS = 5
_NUISANCE = (
    0.2  # of a difference: the part of the risk that goes into how many rows the two differ on
)
_NO_LABEL: Any = object()  # of a row that is never recognised, as it has no label


class Score(NamedTuple):
    """How many of some audited rows were right, and what that says of all rows like them."""

    correct: int  #: audited rows that are right
    n: int  #: audited rows, skipped ones included
    low: float  #: the interval of the share that is right
    high: float  #: and its upper limit
    level: float  #: of the interval: 0.95 is 95 %
    at_least: float | None = (
        None  #: the share that is right at least, at the same level; None: nobody asked
    )

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
    """The share of right rows in an audit, with its exact interval.

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
    n_correct, n = int(correct.sum()), correct.size + skipped
    limits = interval(n_correct, n, population, level, skipped, prior)
    return Score(n_correct, n, *limits, level, at_least(n_correct, n, population, level))


def promised_score(
    correct: Mask, skipped: Mask, population: int, level: float = 0.95, *, stopped: bool = False
) -> Score:
    """The share of right rows in an audit, in the order of the draw, as it can be promised.

    The interval is exact for an audit of a size that was planned; where the person was ``stopped``,
    told when it was enough, it is that of ``sequence``, which holds at any moment.
    """
    planned = score(correct[~skipped], level, skipped=int(skipped.sum()), population=population)
    if not stopped:
        return planned
    low, high = sequence(correct, population, level, skipped=skipped)
    return planned._replace(low=float(low[-1]), high=float(high[-1]), at_least=float(low[-1]))


class Share(NamedTuple):
    """How many rows of the table are of a class, from the audit alone, beside how many carry its label."""

    seen: int  #: audited rows of the class
    n: int  #: audited rows, skipped ones included
    low: int  #: rows of the table: at least
    high: int  #: and at most
    labelled: int  #: rows of the table that carry the label
    population: int  #: rows of the table
    level: float  #: of the interval

    @property
    def off(self) -> tuple[float, float]:
        """By how much the labels' own share is too high, at least and at most: below 0 it is too low."""
        return (self.labelled - self.high) / self.population, (
            self.labelled - self.low
        ) / self.population

    def __str__(self) -> str:
        return f"between {self.low:,} and {self.high:,} of {self.population:,}"


class ClassJudgement(NamedTuple):
    """What an audit says of one class; a figure of fewer than five rows is exact, and says next to nothing."""

    share: Share  #: how many rows of the table are of the class
    precision: (
        Score | None
    )  #: of the rows that carry the label, how many are of the class; None: none was audited
    recall: (
        Score | None
    )  #: of the rows of the class, how many carry the label; None: none was audited


@dataclass(frozen=True)
class Judgement:
    """The outcome of ``judge_labels``."""

    accuracy: (
        Score  #: the promise: skipped rows are wrong for ``share`` and ``low``, right for ``high``
    )
    classes: dict[Any, ClassJudgement]  #: all that were seen, of labels or answers
    confusions: dict[
        tuple[Any, Any], int
    ]  #: (answer, label): rows, of those that differ, most frequent first
    kappa: (
        float | None
    )  #: agreement of labels and answers beyond chance; None if there is one class alone


def judge_labels(
    truth: ArrayLike,
    labels: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
) -> Judgement:
    """What an audit says of fixed labels.

    - accuracy: ``interval`` of the right rows among N, finite;
    - precision of a label: the audited rows that carry it are a random sample of the rows that do, whose number is
      known: ``interval`` among those. Recall of a class: the audited rows of the class are a random
      sample of its rows, whose number is not known: ``interval`` of a pool of any size. Nothing is
      expected of either;
    - shares: ``count_interval`` of the answers among N, never the counts of the labels;
    - skipped rows: each limit is the worst over all they could have been.

    Parameters
    ----------
    truth : array-like of shape (k,)
        What the person said of each audited row; anything where it was skipped.
    labels : array-like of shape (k,)
        The labels under test of the same rows. A row without label has one of its own, such as
        None, which is never right.
    counts : mapping of label to number of rows
        Of the whole table, all labels under test.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
        Of each interval for itself.

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> found = judge_labels(truth, labels, {"fraud": 700, "fine": 4_300})
    >>> print(found.accuracy)
    95.0% (83.7% to 99.1%)
    >>> print(found.classes["fraud"].share)
    between 477 and 1,743 of 5,000
    >>> print(found.classes["fraud"].recall)
    75.0% (36.5% to 95.4%)
    >>> found.confusions
    {('fraud', 'fine'): 2}
    """
    truth = np.asarray(truth, dtype=object)
    labels = np.asarray(labels, dtype=object)
    unknown = _mask(skipped, len(labels))
    population = sum(counts.values())
    correct = ~unknown & _equal(truth, labels)
    names = list(dict.fromkeys([*counts, *truth[~unknown].tolist()]))
    names = [name for name in names if name is not None]
    said = [_NO_LABEL if label is None else label for label in labels[unknown].tolist()]
    recalls = class_scores(truth[~unknown], labels[~unknown], names, level, skipped=said)
    n_skipped, classes = int(unknown.sum()), {}
    for name in names:
        is_class, has_label, labelled = (
            ~unknown & _equal(truth, name),
            _equal(labels, name),
            counts.get(name, 0),
        )
        seen = int(is_class.sum())
        low, high = count_interval(seen, len(labels), population, level, n_skipped)
        share = Share(seen, len(labels), low, high, labelled, population, level)
        precision = _score_of(is_class & has_label, has_label, unknown, labelled, level)
        classes[name] = ClassJudgement(share, precision, recalls.get(name))
    pairs = Counter(
        zip(truth[~correct & ~unknown].tolist(), labels[~correct & ~unknown].tolist(), strict=True)
    )
    return Judgement(
        accuracy=score(correct[~unknown], level, skipped=n_skipped, population=population),
        classes=classes,
        confusions=dict(pairs.most_common()),
        kappa=kappa(
            pair_counts(truth[~unknown], labels[~unknown], list(dict.fromkeys([*names, *counts])))
        ),
    )


def class_scores(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    classes: Sequence[Any] | None = None,
    level: float = 0.95,
    *,
    skipped: ArrayLike = (),
) -> dict[Any, Score]:
    """For each class the share of its audited rows that were recognised, with its exact interval.

    It is exact because the audited rows of a class are a random sample of its rows. Classes without
    an audited row are left out: nothing is known of them. With the arguments exchanged, the share
    of right rows among those predicted as each class.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (k,)
    classes : sequence, default=None
        None: those of ``y_true``.
    level : float, default=0.95
    skipped : array-like, default=()
        What was predicted of rows that were drawn and that nobody answered, None where that is not
        known either. They are of the class and missed for its lower limit, of the class and found
        for its upper one.

    Examples
    --------
    >>> for label, recall in class_scores(["a"] * 8 + ["b"] * 2, ["a"] * 9 + ["b"]).items():
    ...     print(label, recall)
    a 100.0% (63.5% to 100.0%)
    b 50.0% (2.5% to 97.5%)
    """
    y_true, y_pred, unknown = (
        np.asarray(y_true),
        np.asarray(y_pred),
        np.asarray(skipped, dtype=object),
    )
    nobody = unknown == None  # noqa: E711 (elementwise)
    wanted = np.unique(y_true).tolist() if classes is None else classes
    scores = {}
    for label in wanted:
        own, said = y_true == label, unknown == label
        found, seen, may_be_found = (
            int(mask.sum()) for mask in (own & (y_pred == label), own, said | nobody)
        )
        if seen:
            low, _ = interval(found, seen + int((~said).sum()), level=level, prior=NEUTRAL)
            _, high = interval(
                found + may_be_found, seen + may_be_found, level=level, prior=NEUTRAL
            )
            scores[label] = Score(found, seen, low, high, level)
    return scores


def balanced_score(
    scores: dict[Any, Score], n_classes: int | None = None
) -> tuple[float, float, float] | None:
    r"""Balanced accuracy (the mean of the classes' shares) and its interval; None where rows are too few.

    The exact limits l_c, u_c of the C classes' shares p_c are joined as independent errors (Zou and
    Donner, 2008). That is close, not exact: for two classes and a level of 95 % it covers the truth
    in 96 % of cases on average and in 93 % at the worst accuracies.

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


class Slice(NamedTuple):
    """What an audit says of the rows that have one value in a column."""

    population: int  #: rows of the table
    n: int  #: audited rows, skipped ones included
    score: (
        Score | None
    )  #: its interval holds together with those of all other slices; None: too few rows to say


def slice_scores(
    correct: ArrayLike,
    slices: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
    n_columns: int = 1,
) -> dict[Any, Slice]:
    """The accuracy in each slice of a table, corrected for looking at all of them.

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
    >>> found = slice_scores([True] * 10 + [False] * 8, ["n"] * 10 + ["s"] * 8, {"n": 900, "s": 100, "e": 3})
    >>> print(found["s"].score, found["e"].score)
    0.0% (0.0% to 36.0%) None
    """
    values = np.asarray(slices, dtype=object)
    unknown = _mask(skipped, len(values))
    right = np.asarray(correct, dtype=bool) & ~unknown
    has_value = {value: _equal(values, value) for value in counts}
    n_audited = {value: int(rows.sum()) for value, rows in has_value.items()}
    n_large = sum(n >= MIN_PER_CLASS for n in n_audited.values())
    level_of_each = 1 - (1 - level) / max(1, n_columns * n_large)
    slices_found = {}
    for value, population in counts.items():
        score_of_slice = None
        if n_audited[value] >= MIN_PER_CLASS:
            score_of_slice = _score_of(right, has_value[value], unknown, population, level_of_each)
        slices_found[value] = Slice(population, n_audited[value], score_of_slice)
    return slices_found


class Comparison(NamedTuple):
    """Two models on the same audited rows."""

    only_first: int  #: answered rows that the first alone gets right
    only_second: int  #: answered rows that the second alone gets right
    #: that the two err equally often, two-sided, exact; the largest that the skipped rows allow
    p_value: float
    n_skipped: int = 0  #: skipped rows on which either might be right alone


def compare(
    first_correct: ArrayLike, second_correct: ArrayLike, *, skipped: ArrayLike | None = None
) -> Comparison:
    """Test whether two models err equally often, by the rows on which exactly one is right (McNemar, exact).

    Nobody knows which of the two is right on a skipped row, so the p-value is the largest over all
    that the skipped rows may be: the one at which as many of them as needed speak for the model
    that is behind. A small p-value names the better model whatever the skipped rows are.

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
    unknown = _mask(skipped, len(first))
    if not first.shape == second.shape == unknown.shape or (unknown & (first | second)).any():
        raise ValueError(
            "skipped must name rows that neither has right: one value for each drawn row."
        )
    only_first = int(np.sum(first & ~second))
    only_second = int(np.sum(second & ~first))
    n_skipped = int(np.sum(unknown))

    # Worst case: skipped rows speak for the one behind until both are level.
    fewer = min(only_first, only_second)
    more = max(only_first, only_second)
    fewer = min(more, fewer + n_skipped)
    p_value = float(binomtest(fewer, fewer + more).pvalue) if more else 1.0
    return Comparison(only_first, only_second, p_value, n_skipped)


class Difference(NamedTuple):
    """How much more often one labelling is right than another, on all rows."""

    #: In the audit: of rows that the first alone gets right, less of those that the second alone does.
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
    r"""The accuracy of one labelling less that of another, on the same audit, with an interval that holds at any
    size.

    Of N rows exactly one of the two is right on U; of these, the first on a share q. The difference
    is

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
    >>> found = difference([True] * 10 + [False] * 50, [False] * 10 + [True] * 2 + [False] * 48, population=5_000)
    >>> round(found.share, 3), round(found.low, 3), round(found.high, 3)
    (0.133, 0.003, 0.336)
    """
    comparison = compare(first_correct, second_correct, skipped=skipped)
    b, c = comparison.only_first, comparison.only_second
    n = np.size(first_correct)
    low, high = 1.0, -1.0
    for n_more in range(comparison.n_skipped + 1):
        low = min(low, _difference_limits(b, c + n_more, n, population, level)[0])
        high = max(high, _difference_limits(b + n_more, c, n, population, level)[1])
    return Difference((b - c) / n, low, high, level, comparison)


def _difference_limits(
    b: int, c: int, n: int, population: int, level: float
) -> tuple[float, float]:
    """Limits of a difference if of n rows the first alone is right on b, and the second alone on c."""
    m, risk = b + c, 1 - level
    fewest, most = count_interval(m, n, population, 1 - _NUISANCE * risk)
    pool = fewest if fewest == most else None
    own = interval(b, m, pool, 1 - (1 - _NUISANCE) * risk, prior=NEUTRAL) if m else (0.0, 1.0)
    low, high = (2 * share - 1 for share in own)
    low, high = low * (most if low < 0 else fewest), high * (most if high > 0 else fewest)
    return low / population, high / population


def kappa(counts: ArrayLike) -> float | None:
    r"""Cohen's kappa, agreement beyond chance: 1 is full agreement, 0 what chance would give.

    .. math:: \kappa = \frac{p - e}{1 - e}, \qquad p = \sum_c n_{cc} / n, \quad
              e = \sum_c n_{c \cdot} n_{\cdot c} / n^2.

    Parameters
    ----------
    counts : array-like of shape (C, C)
        Rows by the class that the first gave, and by the one that the second gave.

    Returns
    -------
    float, or None where both gave one and the same class, which says nothing.

    Examples
    --------
    >>> round(kappa([[40, 5], [5, 10]]), 2)
    0.56
    """
    table = np.asarray(counts, dtype=float)
    share = table / max(1.0, table.sum())
    chance = float(share.sum(axis=0) @ share.sum(axis=1))
    return float((np.trace(share) - chance) / (1 - chance)) if table.any() and chance < 1 else None


def pair_counts(
    first: Iterable[Any], second: Iterable[Any], names: Sequence[Any], weights: ArrayLike = 1
) -> NDArray[np.int64]:
    """(C, C) How often the first says one name where the second says another; what is no name is left out."""
    places = {name: i for i, name in enumerate(names)}
    a, b = (
        np.array([places.get(name, -1) for name in said], dtype=np.intp) for said in (first, second)
    )
    known, counts = (a >= 0) & (b >= 0), np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (a[known], b[known]), np.broadcast_to(weights, a.shape)[known])
    return counts


def _score_of(
    right: Mask, rows: Mask, unknown: Mask, population: int, level: float
) -> Score | None:
    """The score of some rows, skipped ones included, with nothing expected; None where there is no such row."""
    if not rows.any():
        return None
    n_skipped = int((rows & unknown).sum())
    return score(
        right[rows & ~unknown], level, skipped=n_skipped, population=population, prior=NEUTRAL
    )


def _equal(values: NDArray[Any], other: Any) -> Mask:
    return np.asarray(values == other, dtype=bool) & (values != None)  # noqa: E711 (elementwise)


def _mask(skipped: ArrayLike | None, n: int) -> Mask:
    return np.zeros(n, dtype=bool) if skipped is None else np.asarray(skipped, dtype=bool)
