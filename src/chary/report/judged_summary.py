"""What a report says of labels that were judged, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np

from chary._words import counted, named_columns, p_value, percent, shown
from chary.audit import Score
from chary.audit.figures import ClassJudgement, Judgement, kappa
from chary.audit.judge import JudgedColumn, JudgedTable, LabelPair
from chary.report.plain_data import (
    NO_LABEL,
    VERSIONS,
    AcceptanceSummary,
    AcceptSummary,
    BaselineSummary,
    ClassShareSummary,
    Headline,
    MatrixSummary,
    Note,
    ScoreSummary,
    accept_summary,
    as_data,
    baseline_summary,
    class_share,
    headline_of,
    matrix_of,
)

# Whether the audit shows a required accuracy; "changed": labels may differ from those at the draw.
Outcome = Literal["shown", "open", "ruled out", "changed"]

# If one of two classes has one of these names, it is the positive class.
_POSITIVE = {"1", "correct", "good", "pass", "passed", "positive", "right", "true", "y", "yes"}
# One of two columns is called better if the p-value of the comparison is below this.
_CLEAR = 0.05


class JudgedSummary(TypedDict):
    """All that terminal, JSON, page and notebook say of judged labels."""

    file: str
    changed_labels: list[ChangedLabels]  # stands above all figures
    rows: int
    drawn: int  # rows for a person to label
    audited: int  # drawn rows up to the last answered one; the figures rest on them
    answered: int
    shown: list[str] | None  # columns that the person could see; None: not known
    blind: str  # a sentence on what the person could see
    skipped: int  # audited rows that were skipped; every promise counts them as wrong
    left: int  # drawn rows that were not reached yet
    level: float  # of the intervals
    stopped: bool  # whether the person was told when it was enough
    unfinished: bool  # only the accuracy is known then
    notes: list[Note]
    columns: list[JudgedColumnSummary]
    pairs: list[PairSummary]
    annotators: AnnotatorsSummary | None  # None: one person answered
    slices: list[SlicesSummary]
    confidence: str | None  # the column that holds it
    acceptance: list[AcceptanceSummary]  # one for each error
    accept: AcceptSummary | None  # None: no error was asked for
    required: RequiredSummary | None  # None: no accuracy was asked for
    versions: dict[str, str]


class ChangedLabels(TypedDict):
    """A column whose labels may not be those that the rows were drawn for."""

    column: str
    sentence: str


class JudgedColumnSummary(Headline):
    """How good the labels in one column are."""

    name: str
    missing: int  # rows without a label
    accuracy: ScoreSummary  # of all rows: exact for an audit of fixed size
    always: ScoreSummary  # of all rows: valid at any moment
    promised: ScoreSummary  # of rows with a label, or of all if each has one; in the headline
    coverage: float  # the share of rows with a label
    baseline: BaselineSummary | None  # one label for all rows; None: the audit is unfinished
    kappa: float | None
    matrix: MatrixSummary | None
    classes: list[JudgedClassSummary]  # the largest first
    rates: RatesSummary | None  # None: there are not exactly two classes
    confusions: list[ConfusionSummary]  # the most frequent first
    sentence: str


class JudgedClassSummary(ClassShareSummary):
    """How good the labels of one class are."""

    precision: ScoreSummary | None  # None: no such row was audited
    recall: ScoreSummary | None


class RatesSummary(TypedDict):
    """The recalls of two classes by the names that a positive and a negative class have."""

    positive: str
    negative: str
    tpr: ScoreSummary | None  # true positive rate; None: no row of the positive class was audited
    tnr: ScoreSummary | None  # true negative rate
    sentence: str


class ConfusionSummary(TypedDict):
    """Audited rows of one class that carry another label."""

    truth: str
    label: str | None
    rows: int


class PairSummary(TypedDict):
    """Which of two columns of labels is better, and by how much."""

    first: str
    second: str
    low: float  # by how much the accuracy of the first is higher: at least
    high: float  # and at most
    p_value: float
    sentence: str


class AnnotatorsSummary(TypedDict):
    """The people who answered, if there are several."""

    names: list[str]
    differing: int  # rows on which they differ


class SlicesSummary(TypedDict):
    """The accuracy by the values of a column."""

    column: str
    parts: dict[str, SliceSummary]


class SliceSummary(TypedDict):
    """A ``chary.audit.figures.Slice``: the rows that have one value."""

    population: int
    n: int
    score: ScoreSummary | None  # None: too few audited rows


class RequiredSummary(TypedDict):
    """Whether the audit shows that the labels are as accurate as required."""

    accuracy: float
    outcome: Outcome
    at_least: float
    at_most: float
    sentence: str


def summarize_judged(result: JudgedTable) -> JudgedSummary:
    """Summarize the outcome of ``judge_table``."""
    answers = result.answers
    columns_shown = answers.columns_shown
    columns = [_column(column, result) for column in result.columns]
    return {
        "file": result.tested.source.table.name,
        "changed_labels": [
            {"column": name, "sentence": sentence}
            for name, sentence in answers.changed_labels.items()
        ],
        "rows": result.population,
        "drawn": answers.n_drawn,
        "audited": result.accuracy.n,
        "answered": len(answers.rows),
        "shown": None if columns_shown is None else list(columns_shown),
        "blind": _blind(result),
        "skipped": answers.n_skipped,
        "left": answers.n_left,
        "level": result.level,
        "stopped": answers.stopped,
        "unfinished": answers.is_unfinished,
        "notes": [*_notes(answers.warnings, warning=True), *_notes(result.notes, warning=False)],
        "columns": columns,
        "pairs": [_pair(pair) for pair in result.pairs],
        "annotators": _annotators(result),
        "slices": [
            {"column": name, "parts": as_data(slices)} for name, slices in result.slices.items()
        ],
        "confidence": result.tested.options.confidence,
        "acceptance": as_data(result.acceptances),
        "accept": _accept(result, columns),
        "required": _required(result),
        "versions": VERSIONS,
    }


def in_first_column(columns: Sequence[JudgedColumnSummary]) -> str:
    """Write " in column NAME" with the first column's name, or "" if there is one column alone."""
    return f" in column {shown(columns[0]['name'], 40)}" if len(columns) > 1 else ""


# ---------------------------------------------------------------- the draw and the answers


def _blind(result: JudgedTable) -> str:
    """Say what the person who labelled the rows could see."""
    columns_shown = result.answers.columns_shown
    if columns_shown is None:
        return (
            "What the person who labelled the rows could see is not known: the answers are from no"
            " sheet."
        )
    if not columns_shown:
        return "The sheet showed no column of the table."
    names = named_columns(columns_shown)
    judged = [column.name for column in result.columns if column.name in columns_shown]
    if judged:
        return f"The sheet showed the labels under test ({named_columns(judged)}), and {names}."
    return f"The sheet did not show the labels under test; it showed {names}."


def _notes(texts: list[str], *, warning: bool) -> list[Note]:
    """Turn sentences into notes, each of them a warning or none of them."""
    return [{"text": text, "warning": warning} for text in texts]


def _annotators(result: JudgedTable) -> AnnotatorsSummary | None:
    """Name the people who answered, if there are several."""
    annotators = result.answers.annotators
    if annotators is None:
        return None
    return {"names": annotators.names, "differing": len(annotators.differing)}


# ---------------------------------------------------------------- columns of labels


def _column(column: JudgedColumn, result: JudgedTable) -> JudgedColumnSummary:
    """Summarize how good the labels in one column are."""
    judgement = column.judgement
    of_all_rows = column.always if result.answers.stopped else judgement.accuracy
    # Among all rows, a row without a label counts as wrong. So the headline is about the rows with
    # a label, if any was audited.
    promised = column.labelled or of_all_rows
    baseline = column.baseline
    subject = f"The labels in column {shown(column.name, 40)}"
    class_names = [str(name) for name in judgement.classes]
    classes = [_class(str(name), figures) for name, figures in judgement.classes.items()]
    return {
        "name": column.name,
        "missing": column.n_missing,
        "accuracy": as_data(judgement.accuracy),
        "always": as_data(column.always),
        "promised": as_data(promised),
        "coverage": (result.population - column.n_missing) / result.population,
        "baseline": None if baseline is None else baseline_summary(baseline, subject),
        **headline_of(promised.low, promised.high),
        "kappa": judgement.kappa,
        "matrix": matrix_of(_count_pairs(judgement), class_names),
        "classes": sorted(classes, key=lambda figures: -figures["labelled"]),
        "rates": _rates(classes),
        "confusions": [
            {"truth": str(truth), "label": None if label is None else str(label), "rows": n_rows}
            for (truth, label), n_rows in judgement.confusions.items()
        ],
        "sentence": _accuracy_sentence(column, result, promised, of_all_rows),
    }


def _count_pairs(judgement: Judgement) -> dict[tuple[str, str], int]:
    """Count the audited rows by (answer, label)."""
    n_rows_of: dict[tuple[str, str], int] = {}
    # The rows with a wrong label, or none.
    for (truth, label), n_rows in judgement.confusions.items():
        answer_name = str(truth)
        label_name = str(label or NO_LABEL)
        n_rows_of[answer_name, label_name] = n_rows
    # The rows with the right label.
    for label, figures in judgement.classes.items():
        if figures.precision:
            label_name = str(label)
            n_rows_of[label_name, label_name] = figures.precision.correct
    return n_rows_of


def _accuracy_sentence(
    column: JudgedColumn, result: JudgedTable, promised: Score, of_all_rows: Score
) -> str:
    """Say how many labels of a column, and how many rows, are right."""
    n_labels = result.population - column.n_missing
    validity = "whenever you stopped" if result.answers.stopped else "exact"
    with_label = " with a label" if column.n_missing else ""
    sentence = (
        f"Between {promised.low:.1%} and {promised.high:.1%} of the {n_labels:,} labels in column "
        f"{shown(column.name)} are right ({result.level:.0%} interval, {validity}): "
        f"{promised.correct:,} of {promised.n:,} random rows{with_label} have the right label."
    )
    if not result.answers.stopped:
        sentence += f" If you only need a lower limit: at least {promised.at_least:.1%} are right."
    if column.n_missing:
        sentence += (
            f" {percent(n_labels / result.population)} of the {result.population:,} rows have a "
            f"label; with the others counted as wrong, between {of_all_rows.low:.1%} and "
            f"{of_all_rows.high:.1%} are right."
        )
    return sentence


def _class(name: str, judgement: ClassJudgement) -> JudgedClassSummary:
    """Summarize how good the labels of one class are."""
    return {
        **class_share(name, judgement.share),
        "precision": as_data(judgement.precision),
        "recall": as_data(judgement.recall),
    }


def _rates(classes: Sequence[JudgedClassSummary]) -> RatesSummary | None:
    """Name the recalls of two classes TPR and TNR; None for any other number of classes.

    The positive class is the one that says yes. If neither does, it is the one that fewer rows
    carry, such as fraud.
    """
    if len(classes) != 2:
        return None
    rarer, other = sorted(classes, key=lambda figures: figures["labelled"])
    rarer_says_yes = rarer["name"].casefold() in _POSITIVE
    other_says_yes = other["name"].casefold() in _POSITIVE
    if other_says_yes and not rarer_says_yes:
        positive = other
        negative = rarer
    else:
        positive = rarer
        negative = other
    tpr = positive["recall"]
    tnr = negative["recall"]
    return {
        "positive": positive["name"],
        "negative": negative["name"],
        "tpr": tpr,
        "tnr": tnr,
        "sentence": (
            f"With {shown(positive['name'], 40)} as the positive class: TPR {_rate_words(tpr)}, "
            f"TNR {_rate_words(tnr)}."
        ),
    }


def _rate_words(score: ScoreSummary | None) -> str:
    """Write an interval and the rows that it rests on, such as "37% to 95% (6 of 8)"."""
    if score is None:
        return "not known (no such row was audited)"
    interval = f"{percent(score['low'])} to {percent(score['high'])}"
    return f"{interval} ({score['correct']} of {score['n']})"


def _pair(pair: LabelPair) -> PairSummary:
    """Summarize which of two columns is right more often, and by how much."""
    difference = pair.difference
    return {
        "first": pair.first,
        "second": pair.second,
        "low": difference.low,
        "high": difference.high,
        "p_value": difference.comparison.p_value,
        "sentence": _pair_sentence(pair),
    }


def _pair_sentence(pair: LabelPair) -> str:
    """Say which of two columns is right more often, by how much, and how far they agree."""
    difference = pair.difference
    comparison = difference.comparison
    first = shown(pair.first)
    second = shown(pair.second)

    outcome = "The audit does not show which is better"
    if comparison.p_value < _CLEAR:
        better = first if comparison.only_first > comparison.only_second else second
        outcome = f"{better} is better"
    sentence = (
        f"{outcome} ({p_value(comparison.p_value, 'p ')}): {first} alone is right on "
        f"{counted(comparison.only_first, 'row')}, {second} alone on {comparison.only_second}. "
        f"The accuracy of {first} is between {_points(difference.low)} and "
        f"{_points(difference.high)} than that of {second}."
    )

    if comparison.n_skipped:
        sentence += (
            f" They differ on {counted(comparison.n_skipped, 'row')} that a person skipped: the "
            "limits hold whatever is right there."
        )

    # Of all rows of the table; the diagonal counts the rows with the same label in both columns.
    n_same = int(np.trace(pair.counts))
    sentence += f" They agree on {n_same:,} of {int(pair.counts.sum()):,} rows"
    agreement = kappa(pair.counts)
    if agreement is not None:
        sentence += f" (kappa {agreement:.2f})"
    return f"{sentence}."


def _points(difference: float) -> str:
    """Write a difference of accuracies in points.

    >>> _points(-0.125)
    '12.5 points lower'
    """
    direction = "lower" if difference < 0 else "higher"
    return f"{100 * abs(difference):.1f} points {direction}"


# ---------------------------------------------------------------- what was asked for


def _accept(result: JudgedTable, columns: Sequence[JudgedColumnSummary]) -> AcceptSummary | None:
    """Summarize which labels can be accepted at the error asked for."""
    if result.asked is None:
        return None
    label_words = f"label{in_first_column(columns)}"
    n_marked = int(np.asarray(result.accepted).sum())
    return accept_summary(result.asked, result, label_words, caveat="", n_marked=n_marked)


def _required(result: JudgedTable) -> RequiredSummary | None:
    """Say whether the labels are as accurate as required.

    They are if the one-sided lower limit reaches the required accuracy. A score without such a
    limit is judged by the lower end of its interval.
    """
    share = result.tested.options.require
    if share is None:
        return None
    column = result.columns[0]
    score = column.labelled or result.accuracy
    at_least = score.low if score.at_least is None else score.at_least
    wanted = f"at least {100 * share:.4g}% of the labels in column {shown(column.name)} are right"

    outcome: Outcome
    changed = result.answers.changed_labels.get(column.name)
    if changed is not None:
        outcome = "changed"
        sentence = f"Not shown: {wanted}. {changed}"
    elif at_least >= share:
        outcome = "shown"
        sentence = f"Shown: {wanted}."
    elif score.high < share:
        outcome = "ruled out"
        sentence = f"Ruled out: {wanted}. At most {score.high:.1%} are."
    else:
        outcome = "open"
        sentence = f"Not shown: {wanted}. The interval is {at_least:.1%} to {score.high:.1%}."
    return {
        "accuracy": share,
        "outcome": outcome,
        "at_least": at_least,
        "at_most": score.high,
        "sentence": sentence,
    }
