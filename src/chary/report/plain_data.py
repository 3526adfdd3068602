"""Figures as plain data, which the summaries of made and of judged labels share.

Every value is a number, a text, a truth value, None, or a list or dict of these. Shares are between
0 and 1; rows are counted from 1, without the header. Texts of the user's table are as they are: a
terminal or a page makes them safe.
"""

from __future__ import annotations

import platform
from typing import Any, Literal, TypedDict

import numpy as np
import sklearn

from chary import __version__
from chary._words import counted, finite, percent, shown
from chary.audit import Acceptance, Baseline, Score, Share, smallest_audit
from chary.audit.answers import Audit
from chary.tables.table import ACCEPT

# Rows without a label have this name beside the classes.
NO_LABEL = "(no label)"
VERSIONS = {
    "chary": __version__,
    "scikit-learn": sklearn.__version__,
    "NumPy": np.__version__,
    "Python": platform.python_version(),
}

BaselineOutcome = Literal["better", "not shown", "not better"]
Tone = Literal["good", "fair", "bad"]  # decides the colour of a sentence

# A matrix has at most this many labels; with more, none is shown.
_MOST_IN_MATRIX = 15
# This accuracy counts as good: green if the whole interval is above it, red if it is below.
_GOOD = 0.9


class ScoreSummary(TypedDict):
    """A ``chary.audit.Score`` with its share."""

    correct: int
    n: int
    low: float
    high: float
    level: float
    at_least: float | None
    share: float  # of the audited rows that were right


class ClassShareSummary(TypedDict):
    """How many rows are of a class: by the audit, and by the labels."""

    name: str
    low: int  # rows that are of the class: at least
    high: int  # and at most
    labelled: int  # rows that carry the label
    population: int  # rows of the table
    off: str  # "too many" or "too few" rows carry the label; "": consistent with the audit
    # How many more rows carry the label than are of the class, as a share of all rows: at least and
    # at most. Below 0: fewer rows carry it.
    off_low: float
    off_high: float


class BaselineSummary(TypedDict):
    """One label for all rows: the commonest class of the audit, beside the labels."""

    label: str
    accuracy: ScoreSummary  # if every row had this label
    outcome: BaselineOutcome  # are the labels better?
    p_value: float  # of the exact paired test that both are right equally often
    sentence: str


class AcceptanceSummary(TypedDict):
    """A ``chary.audit.Acceptance`` with the size of audit that it needs."""

    threshold: float | None  # None: no row is accepted
    n_accepted: int
    n_audited: int
    n_wrong: int
    error: float
    level: float
    needs: int  # the fewest audited rows with which any row could be accepted


class AcceptSummary(AcceptanceSummary):
    """The rows that can be accepted at the error asked for."""

    n_marked: int  # rows that the output column marks
    sentence: str


class MatrixSummary(TypedDict):
    """Audited rows by the class of the answer and by the label."""

    classes: list[str]  # the rows of the matrix
    labels: list[str]  # its columns
    counts: list[list[int]]


class Note(TypedDict):
    """A remark on the answers of an audit."""

    text: str
    warning: bool


class Headline(TypedDict):
    """How good labels are in a few words."""

    tone: Tone
    headline: str


def as_data(value: Any) -> Any:
    """Turn records into dicts and tuples into lists, at any depth.

    A score comes with its share, an acceptance with the size of audit that it needs. Infinity and
    NaN become None, as JSON has neither.
    """
    if isinstance(value, dict):
        return {str(name): as_data(item) for name, item in value.items()}
    if hasattr(value, "_asdict"):
        figures = as_data(value._asdict())
        if isinstance(value, Score):
            figures["share"] = value.share
        elif isinstance(value, Acceptance):
            figures["needs"] = smallest_audit(value.error, value.level)
        return figures
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    return finite(value)


def headline_of(low: float, high: float) -> Headline:
    """Say which shares of labels are right, at least and at most, and how good that is.

    >>> headline_of(0.912, 0.98)
    {'tone': 'good', 'headline': '91% to 98% right'}
    """
    tone: Tone = "fair"
    if low >= _GOOD:
        tone = "good"
    elif high < _GOOD:
        tone = "bad"
    return {"tone": tone, "headline": f"{percent(low)} to {percent(high)} right"}


def class_share(name: str, share: Share) -> ClassShareSummary:
    """Summarize how many rows are of a class."""
    off_low, off_high = share.off
    off = ""
    if off_low > 0:
        off = "too many"
    elif off_high < 0:
        off = "too few"
    return {
        "name": name,
        "low": share.low,
        "high": share.high,
        "labelled": share.labelled,
        "population": share.population,
        "off": off,
        "off_low": off_low,
        "off_high": off_high,
    }


def baseline_summary(baseline: Baseline, subject: str = "These labels") -> BaselineSummary:
    """Say whether labels are better than one label for all rows.

    ``subject`` is what the sentence calls the labels.
    """
    comparison = baseline.comparison
    score = baseline.score
    outcome: BaselineOutcome
    if baseline.is_better:
        outcome = "better"
        sentence = f"{subject} are better than one label for all rows"
    elif comparison.only_first > comparison.only_second:
        outcome = "not shown"
        sentence = (
            f"{subject} are not clearly better than one label for all rows: they are right on "
            f"{comparison.only_first - comparison.only_second} more of the {score.n} audited rows, "
            "which may be chance"
        )
    else:
        outcome = "not better"
        sentence = (
            f"{subject} are not better than one label for all rows, though they may find rarer "
            "classes"
        )
    rest = (
        f"{shown(str(baseline.label), 40)} for every row would be right in {percent(score.low)} to "
        f"{percent(score.high)}"
    )
    return {
        "label": str(baseline.label),
        "accuracy": as_data(score),
        "outcome": outcome,
        "p_value": comparison.p_value,
        "sentence": f"{sentence}; {rest}.",
    }


def matrix_of(
    counts_by_pair: dict[tuple[str, str], int], class_names: list[str]
) -> MatrixSummary | None:
    """Lay out the audited rows by answer and label; None if there are too many classes, or one.

    The matrix has a row for each class that was answered, and a column for each class that was
    answered or is a label of some row. Both are in the order of ``class_names``.

    Parameters
    ----------
    counts_by_pair : dict
        The number of rows by (answer, label).
    class_names : list of str
        All classes.
    """
    answered_names = set()
    labels_seen = set()
    for (answer, label), n_rows in counts_by_pair.items():
        if n_rows:
            answered_names.add(answer)
            labels_seen.add(label)
    answers = [name for name in class_names if name in answered_names]
    in_columns = answered_names | labels_seen
    labels = [name for name in [*class_names, NO_LABEL] if name in in_columns]
    if not 1 < len(labels) <= _MOST_IN_MATRIX:
        return None

    counts = []
    for answer in answers:
        counts.append([counts_by_pair.get((answer, label), 0) for label in labels])
    return {"classes": answers, "labels": labels, "counts": counts}


def accept_summary(
    acceptance: Acceptance, audit: Audit, label_words: str, caveat: str, n_marked: int
) -> AcceptSummary:
    """Say which labels can be accepted, or why none can.

    Parameters
    ----------
    acceptance : Acceptance
        At the error asked for.
    audit : Audit
        The audit that the acceptance is computed from.
    label_words : str
        What the sentence calls one label, such as "new label".
    caveat : str
        What follows the level in brackets, such as ", approximate".
    n_marked : int
        Rows that the output column marks.
    """
    at_most = f"can be accepted with at most {100 * acceptance.error:.3g}% wrong"
    if acceptance.n_accepted and audit.acceptor is not None:
        labels = label_words
        if acceptance.n_accepted > 1:
            labels = label_words.replace("label", "labels", 1)
        n_answered = audit.acceptor.answered.n_from(acceptance.threshold)
        included = f", {n_answered:,} of audited rows included," if n_answered else ""
        sentence = (
            f"{acceptance.n_accepted:,} {labels} of confidence {acceptance.threshold:.4g} or more"
            f"{included} {at_most} (level {acceptance.level:.0%}{caveat})."
        )
    else:
        sentence = f"No {label_words} {at_most}: {_why_none_accepted(acceptance, audit)}."
    sentence += (
        f" Column {ACCEPT} marks {counted(n_marked, 'row')}, labels that a person gave or confirmed"
        " included."
    )
    figures: AcceptanceSummary = as_data(acceptance)
    return {**figures, "n_marked": n_marked, "sentence": sentence}


def _why_none_accepted(acceptance: Acceptance, audit: Audit) -> str:
    """Say why no label can be accepted.

    The promise holds only if the audit was planned before its answers were known, so the reason
    does not suggest to choose another error, or to draw more rows because of the answers.
    """
    n_audited = audit.accuracy.n
    n_needed = smallest_audit(acceptance.error, acceptance.level)
    if audit.answers.is_unfinished:
        return "that is decided when all drawn rows are answered, as you could look while labelling"
    if n_needed > n_audited:
        return f"this needs at least {n_needed} audited rows, and there are {n_audited}"
    return (
        f"too many of the {n_audited} audited rows were wrong, and another error or more rows, "
        "chosen now that you know this, would void the promise"
    )
