"""Answers for random rows, the labels under test there and their counts in the table in; what holds of them out.

The labels may come from anyone: a model, rules, a colleague. They are fixed, and the audited rows were drawn
uniformly at random from all rows that carry them, so that every interval here is exact: it covers the truth at
least as often as it says, at any size. Where rows were skipped it covers whatever a person would have said of
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import fisher_exact

from chary.evaluation.audit import MIN_PER_CLASS, Score, recall_score, score
from chary.evaluation.intervals import count_interval, interval

Mask = NDArray[np.bool_]


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
        return (self.labelled - self.high) / self.population, (self.labelled - self.low) / self.population

    def __str__(self) -> str:
        return f"between {self.low:,} and {self.high:,} of {self.population:,}"


class ClassJudgement(NamedTuple):
    """What an audit says of one class; a figure of fewer than five rows is exact, and says next to nothing."""

    share: Share  #: how many rows of the table are of the class
    precision: Score | None  #: of the rows that carry the label, how many are of the class; None: none was audited
    recall: Score | None  #: of the rows of the class, how many carry the label; None: none was audited


class Agreement(NamedTuple):
    """Cohen's kappa: 1 is full agreement, 0 what chance would give."""

    kappa: float  #: in the audit
    low: float  #: lower limit of the interval, for all rows
    high: float  #: and the upper one
    level: float  #: of the interval


@dataclass(frozen=True)
class Judgement:
    """The outcome of ``judge_labels``."""

    accuracy: Score  #: the promise: skipped rows are wrong for ``share`` and ``low``, right for ``high``
    answered: Score | None  #: of the answered rows alone: what it would be if skipping said nothing
    n_skipped: int  #: audited rows without an answer
    classes: dict[Any, ClassJudgement]  #: all that were seen, of labels or answers
    confusions: dict[tuple[Any, Any], int]  #: (answer, label): rows, of those that differ, most frequent first
    agreement: Agreement | None  #: of the answered rows; None where only one class is there

    @property
    def n(self) -> int:
        """Audited rows, skipped ones included."""
        return self.accuracy.n


class Slice(NamedTuple):
    """What an audit says of the rows that have one value in a column."""

    population: int  #: rows of the table
    n: int  #: audited rows, skipped ones included
    score: Score | None  #: its interval holds together with those of all other slices; None: too few rows to say
    p_value: float | None  #: that it is as accurate as all other rows, corrected for looking at all (Holm)


def judge_labels(
    truth: ArrayLike,
    labels: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
    simultaneous: bool = False,
) -> Judgement:
    """What an audit says of fixed labels.

    - accuracy: ``interval`` of the right rows among N, finite;
    - precision of a label: the audited rows that carry it are a random sample of the rows that do, whose number is
      known: ``interval`` among those. Recall of a class: the audited rows of the class are a random sample of its
      rows, whose number is not known: Clopper and Pearson's;
    - shares: ``count_interval`` of the answers among N, never the counts of the labels;
    - skipped rows: each limit is the worst over all they could have been.

    Parameters
    ----------
    truth : array-like of shape (k,)
        What the person said of each audited row; anything where it was skipped.
    labels : array-like of shape (k,)
        The labels under test of the same rows. A row without label has one of its own, such as None, which is
        never right.
    counts : mapping of label to number of rows
        Of the whole table, all labels under test.
    skipped : array-like of shape (k,), bool, default=None
    level : float, default=0.95
        Of each interval for itself.
    simultaneous : bool, default=False
        Whether the shares' intervals hold for all classes together (each at 1 - (1 - level) / C, Bonferroni).

    Examples
    --------
    >>> truth, labels = ["fraud"] * 8 + ["fine"] * 32, ["fraud"] * 6 + ["fine"] * 34
    >>> found = judge_labels(truth, labels, {"fraud": 700, "fine": 4_300})
    >>> print(found.accuracy)
    95.0% (83.1% to 99.4%)
    >>> print(found.classes["fraud"].share)
    between 455 and 1,779 of 5,000
    >>> print(found.classes["fraud"].recall)
    75.0% (34.9% to 96.8%)
    >>> found.confusions
    {('fraud', 'fine'): 2}
    """
    truth, labels, unknown = _rows(truth, labels, skipped)
    population = sum(counts.values())
    _check_sample(labels, counts)
    correct = ~unknown & _equal(truth, labels)
    names = list(dict.fromkeys([*counts, *truth[~unknown].tolist()]))
    names = [name for name in names if name is not None]
    each = 1 - (1 - level) / max(1, len(names)) if simultaneous else level
    classes = {
        name: _class_judgement(name, truth, labels, unknown, counts.get(name, 0), population, level, each)
        for name in names
    }
    pairs = Counter(zip(truth[~correct & ~unknown].tolist(), labels[~correct & ~unknown].tolist(), strict=True))
    return Judgement(
        accuracy=score(correct[~unknown], level, skipped=int(unknown.sum()), population=population),
        answered=None if unknown.all() else score(correct[~unknown], level),
        n_skipped=int(unknown.sum()),
        classes=classes,
        confusions=dict(pairs.most_common()),
        agreement=_agreement(correct, truth, unknown, counts, level),
    )


def slice_scores(
    correct: ArrayLike,
    slices: ArrayLike,
    counts: Mapping[Any, int],
    *,
    skipped: ArrayLike | None = None,
    level: float = 0.95,
    fewest: int = MIN_PER_CLASS,
) -> dict[Any, Slice]:
    """The accuracy in each slice of a table, corrected for looking at all of them.

    The audited rows of a slice are a random sample of its rows, so its interval is exact at 1 - (1 - level) / m,
    and all m slices of at least ``fewest`` audited rows hold theirs together with probability ``level``
    (Bonferroni). Which slices those are depends on the draw, not on the answers. The p-values are Fisher's, of
    each such slice against all other audited rows, skipped rows wrong, corrected by Holm.

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
    fewest : int, default=5

    Examples
    --------
    >>> found = slice_scores([True] * 10 + [False] * 8, ["n"] * 10 + ["s"] * 8, {"n": 900, "s": 100, "e": 3})
    >>> print(found["s"].score, found["e"].score)
    0.0% (0.0% to 40.0%) None
    """
    values, right, unknown = _rows(slices, correct, skipped)
    _check_sample(values, counts)
    right = right.astype(bool) & ~unknown
    own = {value: _equal(values, value) for value in counts}
    told = [value for value in counts if own[value].sum() >= fewest]
    each = 1 - (1 - level) / max(1, len(told))
    p_values = dict(zip(told, _holm([_against_the_rest(right, own[value]) for value in told]), strict=True))
    return {
        value: Slice(
            n_rows,
            int(own[value].sum()),
            _score_of(right, own[value], own[value] & unknown, n_rows, each) if value in p_values else None,
            p_values.get(value),
        )
        for value, n_rows in counts.items()
    }


def _class_judgement(
    name: Any,
    truth: NDArray[Any],
    labels: NDArray[Any],
    unknown: Mask,
    labelled: int,
    population: int,
    level: float,
    share_level: float,
) -> ClassJudgement:
    is_class, has_label = ~unknown & _equal(truth, name), _equal(labels, name)
    n, n_skipped, seen = len(labels), int(unknown.sum()), int(is_class.sum())
    both = is_class & has_label
    return ClassJudgement(
        Share(
            seen,
            n,
            *count_interval(seen, n, population, share_level, n_skipped),
            labelled,
            population,
            share_level,
        ),
        _score_of(both, has_label, has_label & unknown, labelled, level),
        recall_score(
            int(both.sum()), seen, int((has_label & unknown).sum()), int((~has_label & unknown).sum()), level
        ),
    )


def _score_of(right: Mask, rows: Mask, unknown: Mask, population: int, level: float) -> Score | None:
    """Of some rows, skipped ones included."""
    correct, n = int((right & rows).sum()), int(rows.sum())
    limits = interval(correct, n, population, level, int(unknown.sum())) if n else (0.0, 1.0)
    return Score(correct, n, *limits, level) if n else None


def _agreement(
    correct: Mask, truth: NDArray[Any], unknown: Mask, counts: Mapping[Any, int], level: float
) -> Agreement | None:
    r"""Agreement beyond chance, by the labels' shares of the whole table.

    .. math:: \kappa = \frac{p - e}{1 - e}, \qquad e = \sum_c q_c \, s_c,

    with p the accuracy, q_c the share of rows that carry label c, known, and s_c the share of rows that are of
    class c. Kappa grows with p and falls with e. Its limits take p from its interval at 1 - (1 - level) / 2 and
    the least and most e that shares within their intervals at 1 - (1 - level) / 2C, of sum 1, can give: all of
    them hold together with probability ``level``, so that these do. They are wider than asymptotic ones, and
    hold at any size.
    """
    if unknown.all():
        return None
    population, n, n_skipped = sum(counts.values()), len(truth), int(unknown.sum())
    seen = Counter(truth[~unknown].tolist())
    names = list(dict.fromkeys([*counts, *seen]))
    q = np.array([counts.get(name, 0) for name in names]) / population
    observed = float(q @ np.array([seen[name] for name in names])) / (n - n_skipped)
    if len(names) < 2 or observed >= 1:
        return None
    half = (1 - level) / 2
    shares = np.array(
        [interval(seen[name], n, population, 1 - half / len(names), n_skipped) for name in names]
    )  # (C, 2)
    low, high = interval(int(correct.sum()), n, population, 1 - half, n_skipped)
    least, most = _least_mean(q, shares), -_least_mean(-q, shares)
    p = float(correct.sum()) / (n - n_skipped)
    return Agreement(_kappa(p, observed), _kappa(low, most), _kappa(high, least), level)


def _kappa(p: float, chance: float) -> float:
    """Never below -1, whatever limits it is made of; where chance agrees on every row, nothing is beyond it."""
    return max(-1.0, (p - chance) / (1 - chance)) if chance < 1 else 0.0


def _least_mean(values: NDArray[Any], shares: NDArray[Any]) -> float:
    """The smallest mean of values whose shares lie within limits and add up to 1: the smallest get most."""
    order = np.argsort(values)
    low, room = shares[order, 0], np.diff(shares[order], axis=1)[:, 0]
    left = max(0.0, 1 - float(low.sum()))
    taken = np.clip(left - np.append(0, np.cumsum(room)[:-1]), 0, room)
    return float(values[order] @ (low + taken))


def _against_the_rest(right: Mask, own: Mask) -> float:
    table = [[int((right & own).sum()), int((~right & own).sum())]]
    table += [[int((right & ~own).sum()), int((~right & ~own).sum())]]
    return float(fisher_exact(table).pvalue)


def _holm(p_values: list[float]) -> list[float]:
    """Multiplied by the number of those not smaller, and in the same order as before."""
    order, found, least = np.argsort(p_values), [0.0] * len(p_values), 0.0
    for place, i in enumerate(order.tolist()):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[i]))
        found[i] = least
    return found


def _rows(
    first: ArrayLike, second: ArrayLike, skipped: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], Mask]:
    a, b = np.asarray(first, dtype=object), np.asarray(second, dtype=object)
    unknown = np.zeros(len(a), dtype=bool) if skipped is None else np.asarray(skipped)
    if not (a.shape == b.shape == unknown.shape and a.ndim == 1 and len(a) and unknown.dtype == bool):
        raise ValueError(
            f"one value for each audited row is needed; got shapes {a.shape}, {b.shape} and {unknown.shape}."
        )
    return a, b, unknown


def _equal(values: NDArray[Any], other: Any) -> Mask:
    return np.asarray(values == other, dtype=bool) & (values != None)  # noqa: E711 (elementwise)


def _check_sample(values: NDArray[Any], counts: Mapping[Any, int]) -> None:
    for value, n in Counter(values.tolist()).items():
        if n > counts.get(value, 0):
            raise ValueError(
                f"{n} audited rows have {value!r}, and counts say that {counts.get(value, 0)} rows of the "
                "table do; give the counts of the whole table."
            )
