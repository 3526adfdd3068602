"""What a report says of labels that were judged, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np

from chary._words import counted, escaped, named_columns, p_value, percent, shown
from chary.audit import Score
from chary.audit.figures import MIN_PER_CLASS, ClassJudgement, Judgement, kappa
from chary.audit.judge import JudgedColumn, JudgedTable, LabelPair, WrongRow
from chary.options import Requirement
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

# Whether the audit shows what was required; "changed": labels may differ from those at the draw.
Outcome = Literal["shown", "open", "ruled out", "changed"]

# If one of two classes has one of these names, it is the positive class.
_POSITIVE = {"1", "correct", "good", "pass", "passed", "positive", "right", "true", "y", "yes"}
# One of two columns is called better if the p-value of the comparison is below this.
_CLEAR = 0.05
# Of a row that was wrong, at most this many filled cells and characters of each are shown.
_MOST_CELLS = 20
_MOST_CHARACTERS = 2_000


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
    wrong: list[WrongRowSummary]  # in the order of the draw
    annotators: AnnotatorsSummary | None  # None: one person answered
    slices: list[SlicesSummary]
    confidence: str | None  # the column that holds it
    acceptance: list[AcceptanceSummary]  # one for each error
    accept: AcceptSummary | None  # None: no error was asked for
    required: RequiredSummary | None  # None: nothing was required
    versions: dict[str, str]


class ChangedLabels(TypedDict):
    """A column whose labels may not be those that the rows were drawn for."""

    column: str
    sentence: str


class JudgedColumnSummary(Headline):
    """How good the labels in one column are."""

    name: str
    missing: int  # rows without a label
    accuracy: ScoreSummary  # of all rows, those without a label as wrong
    promised: ScoreSummary  # of the rows with a label; in the headline
    always: ScoreSummary  # the same, valid at any moment
    coverage: float  # the share of rows with a label
    baseline: BaselineSummary | None  # one label for all rows; None: the audit is unfinished
    coverage_sentence: str  # empty if all rows have one
    kappa: float | None
    matrix: MatrixSummary | None
    classes: list[JudgedClassSummary]  # the largest first
    rates: RatesSummary | None  # None: there are not exactly two classes
    confusions: list[ConfusionSummary]  # the most frequent first
    sentence: str
    remarks: list[str]  # other limits of the same share, a sentence each


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
    """Which of two columns of labels is better, and by how much, on rows with a label in both."""

    first: str
    second: str
    rows: int  # of the table with a label in both
    audited: int  # of these
    low: float | None  # by how much the accuracy of the first is higher: at least
    high: float | None  # and at most
    p_value: float | None
    classes: list[PairedClassSummary]
    sentence: str


class PairedClassSummary(TypedDict):
    """Precision and recall of one class by one labeller, on the rows with a label in both."""

    name: str
    labeller: str
    precision: ScoreSummary | None  # None: no such row was audited
    recall: ScoreSummary | None


class WrongRowSummary(TypedDict):
    """An audited row that was labelled otherwise by the person."""

    row: int  # in the table, from 1
    truth: str  # the person's answer
    labels: dict[str, str | None]  # by column; None: no label
    cells: dict[str, str]  # what is filled of the row; long texts are cut


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
    """Whether the audit shows what was required."""

    measure: str
    of_class: str | None  # for precision and recall
    share: float
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
        "pairs": [_pair(pair, result.population) for pair in result.pairs],
        "wrong": [_wrong_row(row) for row in result.wrong],
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
    coverage = (result.population - column.n_missing) / result.population
    coverage_sentence = ""
    if column.n_missing:
        coverage_sentence = (
            f"{percent(coverage)} of the {result.population:,} rows have a label in column "
            f"{shown(column.name)}; the figures of its labels say nothing of the other rows."
        )
    class_names = [str(name) for name in judgement.classes]
    classes = [_class(str(name), figures) for name, figures in judgement.classes.items()]
    return {
        "name": column.name,
        "missing": column.n_missing,
        "accuracy": as_data(judgement.accuracy),
        "always": as_data(column.always),
        "promised": as_data(promised),
        "coverage": coverage,
        "coverage_sentence": coverage_sentence,
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
        "sentence": _accuracy_sentence(column, result, promised),
        "remarks": _remarks(column, result, promised),
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


def _accuracy_sentence(column: JudgedColumn, result: JudgedTable, promised: Score) -> str:
    """Say how many labels of a column are right."""
    n_labels = result.population - column.n_missing
    validity = "whenever you stopped" if result.answers.stopped else "exact"
    with_label = " with a label" if column.n_missing else ""
    return (
        f"Between {promised.low:.1%} and {promised.high:.1%} of the {n_labels:,} labels in column "
        f"{shown(column.name)} are right ({result.level:.0%} interval, {validity}): "
        f"{promised.correct:,} of {promised.n:,} random rows{with_label} have the right label."
    )


def _remarks(column: JudgedColumn, result: JudgedTable, promised: Score) -> list[str]:
    """Give two other intervals for the share of right labels.

    One is a lower limit alone. The other holds whenever a person stops.
    """
    # If the person was told when it was enough, the interval allows for that already.
    if result.answers.stopped:
        return []
    return [
        f"If you only need a lower limit: at least {promised.at_least:.1%} of these labels are "
        "right.",
        "If you looked at the results while labelling and then stopped: between "
        f"{column.always.low:.1%} and {column.always.high:.1%} of them are.",
    ]


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


def _pair(pair: LabelPair, n_rows: int) -> PairSummary:
    """Summarize which of two columns is right more often, and by how much."""
    difference = pair.difference
    classes: list[PairedClassSummary] = []
    for name in sorted({name for judged in pair.judgements for name in judged.classes}):
        for labeller, judged in zip((pair.first, pair.second), pair.judgements, strict=True):
            figures = judged.classes.get(name)
            classes.append(
                {
                    "name": str(name),
                    "labeller": labeller,
                    "precision": as_data(figures.precision) if figures else None,
                    "recall": as_data(figures.recall) if figures else None,
                }
            )
    return {
        "first": pair.first,
        "second": pair.second,
        "rows": int(pair.counts.sum()),
        "audited": pair.n_audited,
        "low": difference.low if difference else None,
        "high": difference.high if difference else None,
        "p_value": difference.p_value if difference else None,
        "classes": classes,
        "sentence": _pair_sentence(pair, n_rows),
    }


def _pair_sentence(pair: LabelPair, n_rows: int) -> str:
    """Say which of two columns is right more often, by how much, and how far they agree."""
    first = shown(pair.first)
    second = shown(pair.second)
    n_both = int(pair.counts.sum())
    where = ""
    if n_both < n_rows:
        where = f" on the {n_both:,} rows ({percent(n_both / n_rows)}) with a label in both"
    if pair.difference is None:
        return (
            f"{first} and {second} cannot be compared: no audited row has a label in both columns."
        )

    difference = pair.difference
    comparison = difference.comparison
    n_differing = comparison.only_first + comparison.only_second
    outcome = f"The audit does not show which is better{where}"
    if n_differing < MIN_PER_CLASS:
        outcome = f"Exactly one is right on {counted(n_differing, 'row')}, too few to name a better"
        outcome += f" one{where}"
    elif difference.p_value < _CLEAR:
        better = first if comparison.only_first > comparison.only_second else second
        outcome = f"{better} is better{where}"
    sentence = (
        f"{outcome} ({p_value(difference.p_value, 'p ')}): {first} alone is right on "
        f"{counted(comparison.only_first, 'row')}, {second} alone on {comparison.only_second}, of "
        f"{pair.n_audited} audited. The accuracy of {first} is between "
        f"{_points(difference.low, difference.high)} than that of {second}."
    )

    if comparison.n_skipped:
        sentence += (
            f" They differ on {counted(comparison.n_skipped, 'row')} that a person skipped: the "
            "limits hold whatever is right there."
        )

    # Of all rows of the table; the diagonal counts the rows with the same label in both columns.
    n_same = int(np.trace(pair.counts))
    sentence += f" They agree on {n_same:,} of {n_both:,} rows"
    agreement = kappa(pair.counts)
    if agreement is not None:
        sentence += f" (kappa {agreement:.2f})"
    return f"{sentence}."


def _points(low: float, high: float) -> str:
    """Write limits of a difference of accuracies in points.

    >>> _points(-0.125, 0.03), _points(-0.125, -0.03)
    ('12.5 points lower and 3.0 points higher', '3.0 and 12.5 points lower')
    """
    if low < 0 < high:
        return f"{-100 * low:.1f} points lower and {100 * high:.1f} points higher"
    nearer, farther = sorted([abs(low), abs(high)])
    direction = "lower" if low < 0 else "higher"
    return f"{100 * nearer:.1f} and {100 * farther:.1f} points {direction}"


def _wrong_row(row: WrongRow) -> WrongRowSummary:
    """Show a row that was labelled otherwise by the person."""
    filled = {name: text for name, text in row.cells.items() if text and text.strip()}
    cells: dict[str, str] = {}
    for name, text in filled.items():
        if len(cells) == _MOST_CELLS:
            break
        cells[name] = escaped(text[:_MOST_CHARACTERS], allowed="\n")
        if len(text) > _MOST_CHARACTERS:
            cells[name] += " ..."
    return {"row": row.number + 1, "truth": row.truth, "labels": row.labels, "cells": cells}


# ---------------------------------------------------------------- what was asked for


def _accept(result: JudgedTable, columns: Sequence[JudgedColumnSummary]) -> AcceptSummary | None:
    """Summarize which labels can be accepted at the error asked for."""
    if result.asked is None:
        return None
    label_words = f"label{in_first_column(columns)}"
    n_marked = int(np.asarray(result.accepted).sum())
    return accept_summary(result.asked, result, label_words, caveat="", n_marked=n_marked)


def _required(result: JudgedTable) -> RequiredSummary | None:
    """Say whether the labels are as required.

    They are if the one-sided lower limit reaches what is required. A score without such a limit is
    judged by the lower end of its interval.
    """
    requirement = result.tested.options.require
    if requirement is None:
        return None
    column = result.columns[0]
    at_least, at_most = _limits_of(requirement, column, result)
    wanted = _wanted(requirement, column.name)

    outcome: Outcome
    changed = result.answers.changed_labels.get(column.name)
    if requirement.measure == "coverage":
        changed = None  # counted in the table as it is
    if changed is not None:
        outcome = "changed"
        sentence = f"Not shown: {wanted}. {changed}"
    elif at_least >= requirement.share:
        outcome = "shown"
        sentence = f"Shown: {wanted}."
    elif at_most < requirement.share:
        outcome = "ruled out"
        sentence = f"Ruled out: {wanted}. At most {at_most:.1%} are."
        if requirement.measure == "coverage":
            sentence = f"Ruled out: {wanted}. {at_most:.1%} have one."
    else:
        outcome = "open"
        sentence = f"Not shown: {wanted}. The audit shows that at least {at_least:.1%} are."
    return {
        "measure": requirement.measure,
        "of_class": requirement.of_class,
        "share": requirement.share,
        "outcome": outcome,
        "at_least": at_least,
        "at_most": at_most,
        "sentence": sentence,
    }


def _wanted(requirement: Requirement, column: str) -> str:
    """Write what was required as a sentence."""
    share = f"at least {100 * requirement.share:.4g}%"
    name = shown(requirement.of_class)
    return {
        "accuracy": f"{share} of the labels in column {shown(column)} are right",
        "coverage": f"{share} of the rows have a label in column {shown(column)}",
        "precision": f"{share} of the rows labelled {name} in column {shown(column)} are {name}",
        "recall": f"{share} of the rows that are {name} are labelled so in column {shown(column)}",
    }[requirement.measure]


def _limits_of(
    requirement: Requirement, column: JudgedColumn, result: JudgedTable
) -> tuple[float, float]:
    """Find the limits of a measure; 0 and 1 if nothing is known of it."""
    score: Score | None
    if requirement.measure == "coverage":
        coverage = (result.population - column.n_missing) / result.population
        return coverage, coverage
    if requirement.measure == "accuracy":
        score = column.labelled or result.accuracy
    else:
        figures = column.judgement.classes.get(requirement.of_class)
        score = getattr(figures, requirement.measure, None)
    if score is None:
        return 0.0, 1.0
    return score.low if score.at_least is None else score.at_least, score.high
