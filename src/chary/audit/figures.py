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
from chary.audit.intervals import MOSTLY_RIGHT, NEUTRAL, at_least, interval, sequence
from chary.audit.paired import Outcome, paired_limits

# The accuracy of a slice, and the recall of a class in a balanced accuracy, need at least this many
# audited rows.
MIN_PER_CLASS = 5


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

        Below, 700 of 5,000 rows carry the label, and 477 to 1,743 rows are of the class. So the
        label is given to 1,043 rows too few at the worst, or to 223 rows too many:

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

    For each class, the audited rows are divided into those with the label of the class and those
    without it, as ``class_count_interval`` asks for. The labels may come from a model, if it has
    not learned from the answers.

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
        is_class = ~is_skipped & _equal(truth, name)  # (k,)
        has_label = _equal(labels, name)  # (k,)
        n_labelled = counts.get(name, 0)
        with_label = _sample(is_class, has_label, is_skipped, n_labelled)
        without_label = _sample(is_class, ~has_label, is_skipped, population - n_labelled)
        low, high = class_count_interval(with_label, without_label, level)
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

    Every figure is a share of rows of a pool, of which some audited rows are a random sample, and
    gets the ``interval`` of that pool. Each limit is the worst over all classes that the skipped
    rows could have.

    - accuracy: the share of right rows in the table, whose number of rows is known;
    - precision of a label: the share of right rows among the rows with the label, whose number is
      known, too; with a neutral prior;
    - recall of a class: the share of right rows among the rows of the class, whose number is not
      known: a pool of any size, with a neutral prior;
    - share of a class: ``class_shares``.

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
    # Masks and values of the k audited rows, and the values of those that were answered.
    truth = np.asarray(truth, dtype=object)
    labels = np.asarray(labels, dtype=object)
    is_skipped = _mask(skipped, len(labels))
    is_right = ~is_skipped & _equal(truth, labels)
    answers = truth[~is_skipped]
    labels_of_answered = labels[~is_skipped]

    # The figures of each class.
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

    # The figures of all rows.
    n_skipped = int(is_skipped.sum())
    population = sum(counts.values())
    accuracy = score(is_right[~is_skipped], level, skipped=n_skipped, population=population)
    is_wrong = ~is_right & ~is_skipped
    wrong_pairs = Counter(zip(truth[is_wrong].tolist(), labels[is_wrong].tolist(), strict=True))
    # Rows without a label count for kappa, so None is a name there if the table has such rows.
    names_or_none = list(dict.fromkeys([*names, *counts]))
    return Judgement(
        accuracy=accuracy,
        classes=classes,
        confusions=dict(wrong_pairs.most_common()),
        kappa=kappa(pair_counts(answers, labels_of_answered, names_or_none)),
    )


def _sample(is_class: Mask, is_drawn: Mask, is_skipped: Mask, population: int) -> Sample:
    """Count the drawn rows of a pool: those of the class, the skipped ones, and all.

    The masks have an entry for each audited row; ``is_drawn`` tells which were drawn from the pool.
    """
    return Sample(
        of_class=int((is_class & is_drawn).sum()),
        skipped=int((is_skipped & is_drawn).sum()),
        n=int(is_drawn.sum()),
        population=population,
    )


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
        Predictions for the rows that were drawn and skipped. A skipped row may be of any class. The
        lower limit of a class supposes that those predicted as another class are of this class, and
        so were not recognised; the upper limit, that those predicted as this class are of it, and
        so were recognised.

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

        # The worst case adds skipped rows of the class that were not recognised.
        n_skipped_hits = int((skipped == label).sum())
        n_skipped_misses = skipped.size - n_skipped_hits
        low, _ = interval(n_recognised, n_rows + n_skipped_misses, level=level, prior=NEUTRAL)
        one_sided = at_least(n_recognised, n_rows + n_skipped_misses, level=level)

        # The best case adds skipped rows of the class that were recognised.
        most_recognised = n_recognised + n_skipped_hits
        _, high = interval(most_recognised, n_rows + n_skipped_hits, level=level, prior=NEUTRAL)
        scores[label] = Score(n_recognised, n_rows, low, high, level, one_sided)
    return scores


def balanced_score(scores: dict[Any, Score], n_classes: int) -> tuple[float, float, float] | None:
    r"""Compute the balanced accuracy and its limits; return None if a class has too few rows.

    It is the mean of the recalls p_c of the C classes. Each recall has exact limits, l_c and u_c.
    The distances of the lower limits from their recalls are joined as independent errors are, by
    the root of the sum of squares, and so are those of the upper limits (Zou and Donner, 2008).
    That is close, not exact: for two classes and a level of 95 % the outcome covers the truth in
    96 % of cases on average and in 93 % at the worst accuracies.

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
    recalls_with_limits = [
        (class_score.share, class_score.low, class_score.high) for class_score in scores.values()
    ]
    table = np.array(recalls_with_limits)  # (C, 3)
    recalls = table[:, 0]  # p_c
    lows = table[:, 1]  # l_c
    highs = table[:, 2]  # u_c

    mean = float(recalls.mean())
    distance_below = float(np.linalg.norm(recalls - lows)) / len(scores)
    distance_above = float(np.linalg.norm(highs - recalls)) / len(scores)
    low = max(0.0, mean - distance_below)
    high = min(1.0, mean + distance_above)
    return mean, low, high


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

    The audited rows of a slice are a random sample of its rows, so its interval is exact. But of
    many intervals of 95 %, one in twenty is wrong. So the risk of 1 - level is divided among the m
    slices with at least five audited rows: each interval has the level 1 - (1 - level) / m, such as
    99 % for five slices, and all m intervals hold together with probability ``level`` (Bonferroni).
    Which slices have five audited rows depends on the draw, not on the answers.

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
    values = np.asarray(slices, dtype=object)  # (k,)
    is_skipped = _mask(skipped, len(values))
    is_right = np.asarray(correct, dtype=bool) & ~is_skipped
    n_audited = Counter(values.tolist())  # audited rows by value

    n_scored = sum(n_audited[value] >= MIN_PER_CLASS for value in counts)
    n_intervals = max(1, n_columns * n_scored)
    level_of_each = 1 - (1 - level) / n_intervals
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

    It is McNemar's exact test: if both err equally often, these rows fall to either model like the
    tosses of a coin. On a skipped row, either model may be right, so the p-value is the largest
    that any answers for the skipped rows would give. To find it, skipped rows are counted for the
    model that is behind until both are level: 10 to 2 with 3 skipped rows is tested as 10 to 5. So
    a small p-value names the better model, whatever the answers for the skipped rows would be.

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


class Baseline(NamedTuple):
    """Labels beside one label for all rows: the commonest class of the audit."""

    label: Any  #: the class that most audited rows are of
    score: Score  #: how often it would be right, if every row had it
    comparison: Comparison  #: the labels under test, and this one label for all
    is_better: bool  #: whether the labels are clearly better than any one label for all


def one_label_for_all(
    truth: ArrayLike,
    labels: ArrayLike,
    shares: Mapping[Any, Share],
    *,
    skipped: ArrayLike | None = None,
    risk: float = 0.05,
) -> Baseline | None:
    """Compare labels with the best that one label for all rows can do.

    If every row had the same label, the accuracy would be the share of that class, with the limits
    of that share. The best label is the commonest class, and which one that is, is not known before
    the audit. So labels are clearly better only if the exact paired test (``compare``) says so for
    every class: then the risk of an error is ``risk`` at most.

    Parameters
    ----------
    truth : array-like of shape (k,)
        The person's answer for each audited row; ignored for skipped rows.
    labels : array-like of shape (k,)
        The labels of the same rows; None for a row without label.
    shares : mapping of class to Share
        From ``class_shares``, of the same audit.
    skipped : array-like of shape (k,), bool, default=None
    risk : float, default=0.05
        Of calling labels better that are not.

    Returns
    -------
    Baseline, or None if no row has an answer

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> shares = class_shares(truth, labels, {"fraud": 700, "fine": 4_300})
    >>> baseline = one_label_for_all(truth, labels, shares)
    >>> print(baseline.label, baseline.score, baseline.is_better)
    fine 80.0% (70.1% to 88.2%) True
    """
    truth = np.asarray(truth, dtype=object)
    labels = np.asarray(labels, dtype=object)
    is_skipped = _mask(skipped, len(labels))
    if is_skipped.all():
        return None

    # The labels beside the label ``name`` for all rows, for each class.
    is_right = ~is_skipped & _equal(truth, labels)
    comparisons = {}
    for name in shares:
        is_class = ~is_skipped & _equal(truth, name)
        # On a skipped row that has the label already, both are right or both are wrong.
        may_matter = is_skipped & ~_equal(labels, name)
        comparisons[name] = compare(is_right, is_class, skipped=may_matter)
    is_better_than = [
        comparison.only_first > comparison.only_second and comparison.p_value < risk
        for comparison in comparisons.values()
    ]

    commonest = max(shares, key=lambda name: shares[name].seen)
    share = shares[commonest]
    low = share.low / share.population
    high = share.high / share.population
    return Baseline(
        commonest,
        Score(share.seen, share.n, low, high, share.level),
        comparisons[commonest],
        is_better=all(is_better_than),
    )


class Difference(NamedTuple):
    """How much more often one labelling is right than another, on all rows."""

    #: Share of drawn rows that only the first has right, less the share only the second has right.
    share: float
    low: float  #: lower limit of the difference on all rows
    high: float  #: upper limit of the difference on all rows
    level: float  #: of the interval
    #: Of the exact test of no difference that the interval belongs to, so that the interval holds
    #: 0 exactly if the test does not reject it at the same level.
    p_value: float
    comparison: Comparison  #: the rows on which exactly one is right


def difference(
    first_correct: ArrayLike,
    second_correct: ArrayLike,
    population: int,
    level: float = 0.95,
    *,
    skipped: ArrayLike | None = None,
) -> Difference:
    r"""Compute by how much one labelling is more accurate than another, on the same audit.

    The interval and its test are those of ``paired_limits``; they hold at any size. On a skipped
    row, the first alone may be right, or the second alone, or neither. Each limit is the worst over
    all these cases, so the interval holds whatever the skipped rows are. For the lower limit it is
    enough to try 0, 1, ... skipped rows on which the second alone is right, and for the upper limit
    the first alone; the p-value is the largest of these cases.

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
    >>> round(gain.share, 3), round(gain.low, 3), round(gain.high, 3), round(gain.p_value, 3)
    (0.133, 0.008, 0.247, 0.029)
    """
    comparison = compare(first_correct, second_correct, skipped=skipped)
    only_first = comparison.only_first
    only_second = comparison.only_second
    n = np.size(first_correct)
    low = 1.0
    high = -1.0
    p_value = 0.0
    # Worst case: of the skipped rows, n_more are right by the second labelling alone (for the lower
    # limit) or by the first alone (for the upper one).
    for n_more in range(comparison.n_skipped + 1):
        if_second = paired_limits(Outcome(only_first, only_second + n_more, n, population), level)
        if_first = paired_limits(Outcome(only_first + n_more, only_second, n, population), level)
        low = min(low, if_second.low)
        high = max(high, if_first.high)
        p_value = max(p_value, if_second.p_value, if_first.p_value)
    share = (only_first - only_second) / n
    return Difference(share, low, high, level, p_value, comparison)


def kappa(counts: ArrayLike) -> float | None:
    r"""Compute Cohen's kappa, agreement beyond chance: 1 is full, 0 what chance would give.

    p is the share of rows on which both labellings name the same class, and e the share if the same
    labels stood in a random order:

    .. math:: \kappa = \frac{p - e}{1 - e}, \qquad p = \sum_c n_{cc} / n, \quad
              e = \sum_c n_{c \cdot} n_{\cdot c} / n^2.

    In the example below p is 50/60 = 0.83, and e is 0.75^2 + 0.25^2 = 0.625.

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
    shares = table / max(1.0, table.sum())  # (C, C)
    observed = np.trace(shares)  # p
    by_chance = float(shares.sum(axis=0) @ shares.sum(axis=1))  # e
    if not table.any() or by_chance >= 1:
        return None
    return float((observed - by_chance) / (1 - by_chance))


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
    """Tell for each value whether it equals the expected one; None equals nothing.

    ``expected`` is one value for all, or an array of the same length.
    """
    has_value = values != None  # noqa: E711 (elementwise)
    return np.asarray(values == expected, dtype=bool) & has_value


def _mask(skipped: ArrayLike | None, n: int) -> Mask:
    """Convert ``skipped`` to a mask; without it, no row was skipped."""
    if skipped is None:
        return np.zeros(n, dtype=bool)
    return np.asarray(skipped, dtype=bool)
