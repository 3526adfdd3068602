"""What a report says of labels that chary made, as plain data.

The verdict on the labelled rows, and the sentence that warns if they differ from the rest, are put
into words in ``labelling/diagnose.py``; here they are only passed on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

import numpy as np

from chary._words import day, percent, visible
from chary.labelling import Diagnosis, LabeledTable
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, DiagnosedTable, FeatureShift
from chary.labelling.label import SOURCES, LearnerSettings
from chary.method import expected_calibration_error
from chary.method.priors import ACCURACY
from chary.report.plain_data import (
    VERSIONS,
    AcceptanceSummary,
    AcceptSummary,
    BaselineSummary,
    ClassShareSummary,
    MatrixSummary,
    Note,
    ScoreSummary,
    Tone,
    accept_summary,
    as_data,
    baseline_summary,
    class_share,
    matrix_of,
)
from chary.tables.cells import cell_words
from chary.tables.columns import Texts
from chary.tables.columns.kind import DATE, IDENTIFIER, TOPIC, UNREADABLE, UNUSED_TEXT, Column
from chary.tables.preparation import Feature
from chary.tables.target import likely_slips

# Kinds of text by what became of it: it was read, or left out.
_KIND_WORDS = {Texts.name: "text", UNUSED_TEXT: "unread text"}
# At most this many features that differ between labelled and other rows are listed.
_N_SHIFTS = 20
# A row to check is shown by at most this many of its cells, identifiers included.
_N_COLUMNS = 6
# A row to check is shown by at most this many identifiers.
_N_IDENTIFIERS = 2
# A number in such a row is shown with this many digits.
_N_DIGITS = 6
# At most this many characters of a cell in such a row are kept.
_N_CHARACTERS = 1_000


class LabelsSummary(TypedDict):
    """All that terminal, JSON, page and notebook say of a labelled table."""

    rows: int
    sources: dict[str, int]  # rows by the origin of their label
    labels: dict[str, int]  # rows by their label
    sample: int | None  # unlabelled rows that the model learned from; None: all of them
    file: str
    target: str
    notes: list[str]  # how the table and its target were read
    classes: list[ClassSummary]
    diagnosis: DiagnosisSummary
    held_out: HeldOutSummary | None  # None: no given label was held out
    audit: AuditSummary | None  # None: there was no audit
    accept: AcceptSummary | None  # None: no error was asked for
    audit_size: int  # rows to draw for an audit; 0: too few rows are unlabelled to draw from
    aim: AimSummary
    class_prior: PriorSummary
    rounds: list[RoundSummary]  # of self-training
    rows_to_label: list[RowToCheck]
    second_look: list[SuspectLabel]
    importance: ImportanceSummary
    columns: list[ColumnSummary]
    settings: SettingsSummary


class DiagnosisSummary(TypedDict):
    """How the labelled rows differ from the rest."""

    verdict: str
    separation: SeparationSummary | None  # None: too few rows
    coverage: float | None
    shifts: list[ShiftSummary]  # the most different features first
    classes: dict[str, int]  # labels by class
    slips: list[SlipSummary]  # labels that may be slips for others
    labeled: int  # rows with a label
    unlabeled: int
    biased: bool  # mildly or strongly
    tone: Tone
    sentence: str


class SlipSummary(TypedDict):
    """A given label that may be a slip for another one."""

    label: str
    rows: int
    meant: str
    meant_rows: int


class DiagnosedSummary(DiagnosisSummary):
    """All that terminal, JSON and notebook say of a table that was diagnosed alone."""

    file: str
    target: str
    notes: list[str]
    columns: list[ColumnSummary]


class ClassSummary(TypedDict):
    """Rows labelled as one class, by the origin of the label."""

    name: str
    given: int
    learned: int
    predicted: int
    new: int  # learned or predicted


class SeparationSummary(TypedDict):
    """A ``Separation`` of labelled rows from the others."""

    auc: float
    p_value: float


class ShiftSummary(TypedDict):
    """A ``FeatureShift``, with both means as the table writes them."""

    name: str
    difference: float  # of the means, in standard deviations
    labeled_words: str  # the mean of labelled rows, in the units of the table
    unlabeled_words: str


class HeldOutSummary(TypedDict):
    """How well given labels are predicted by models that have not seen them: cross-validation."""

    n: int
    accuracy: float
    balanced_accuracy: float | None
    probability: float  # the mean probability of the predicted classes
    calibration_error: float


class AuditSummary(TypedDict):
    """What an audit says of the model, exact and approximate figures apart."""

    drawn: int
    skipped: int
    stopped: bool  # whether the person was shown the interval while labelling
    unfinished: bool  # drawn rows are left: of the scores, only ``before`` is known
    notes: list[Note]
    before: ScoreSummary  # of the model that did not learn from the audit: exact
    after: ScoreSummary | None  # of the model that learned from the audit: approximate
    baseline: BaselineSummary | None  # one label for all the other rows; None: unfinished
    shares: list[ClassShareSummary]  # rows of each class, the largest first; empty: unfinished
    classes: dict[str, ScoreSummary]
    balanced: tuple[float, float, float] | None  # balanced accuracy and its limits
    matrix: MatrixSummary | None
    accept: list[AcceptanceSummary]  # by error


class AimSummary(TypedDict):
    """What the labels should be good at."""

    name: str
    sentence: str


class PriorSummary(TypedDict):
    """The class shares that the model assumes."""

    sentence: str
    told: bool  # whether the user gave them


class RoundSummary(TypedDict):
    """A round of self-training."""

    round: int
    n_pool: int
    n_accepted: int
    mean_confidence: float


class RowSummary(TypedDict):
    """A row and the cells by which a person recognises it."""

    row: int
    cells: dict[str, str]


class RowToCheck(RowSummary):
    """A row of high doubt, with its new label."""

    why: list[CellSummary]
    label: str
    confidence: float  # as the file shows it


class SuspectLabel(RowSummary):
    """A given label that a model which had not seen it contradicts."""

    given: str
    held_out: str  # the class that the model predicts
    probability: float  # of that class


class CellSummary(TypedDict):
    """A ``Cell`` that speaks for the label of its row."""

    column: str
    effect: float
    shown: str


class ImportanceSummary(TypedDict):
    """How much the labels depend on each column, the most important first."""

    columns: list[ColumnImportanceSummary]
    n_rows: int  # rows on which the importance was measured


class ColumnImportanceSummary(TypedDict):
    """How much the labels depend on one column."""

    column: str
    change: float  # of the probabilities, on average, if its cells are shuffled


class ColumnSummary(TypedDict):
    """How a column was read."""

    name: str
    kind: str
    used: bool
    note: str
    doubtful: bool


class SettingsSummary(LearnerSettings):
    """How the labels were made, with all that was chosen."""

    options: dict[str, str]  # those that were chosen
    features: int
    versions: dict[str, str]


def summarize(result: LabeledTable) -> LabelsSummary:
    """Summarize the outcome of ``label_table``."""
    counts = result.counts
    explainer = result.explainer
    naming_columns = _naming_columns(result)
    class_names = [str(name) for name in result.labels.classes]
    return {
        "rows": counts.n,
        "sources": dict(zip(SOURCES, counts.labels.sum(axis=1).tolist(), strict=True)),
        "labels": dict(zip(class_names, counts.labels.sum(axis=0).tolist(), strict=True)),
        "sample": result.n_drawn,
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "classes": _classes(result),
        "diagnosis": _diagnosis(result.diagnosis, result.compared, result.defaults),
        "held_out": _held_out(result),
        "audit": _audit(result, class_names),
        "accept": _accept(result),
        "audit_size": result.audit_size,
        "aim": _aim(result),
        "class_prior": as_data(result.prior),
        "rounds": _rounds(result),
        "rows_to_label": _rows_to_check(result, naming_columns),
        "second_look": _suspect_labels(result, naming_columns),
        "importance": {"columns": as_data(explainer.importance), "n_rows": explainer.n_rows},
        "columns": _columns(result.model[0].columns_),
        "settings": _settings(result),
    }


def summarize_diagnosis(result: DiagnosedTable) -> DiagnosedSummary:
    """Summarize the outcome of ``diagnose_table``."""
    return {
        **_diagnosis(result.diagnosis, result.prepared.preparation.features()),
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "columns": _columns(result.columns),
    }


# ---------------------------------------------------------------- labelled rows and the others


def _diagnosis(
    diagnosis: Diagnosis, features: list[Feature], defaults: Defaults = DEFAULTS
) -> DiagnosisSummary:
    """Summarize a diagnosis.

    Parameters
    ----------
    diagnosis : Diagnosis
    features : list of Feature
        The features in which labelled and other rows were compared.
    defaults : Defaults, default=DEFAULTS
        They say how rare a label must be to count as a slip.
    """
    tone_of: dict[str, Tone] = {REPRESENTATIVE: "good", STRONG: "bad"}
    return {
        "verdict": diagnosis.verdict,
        "separation": as_data(diagnosis.separation),
        "coverage": diagnosis.coverage,
        "shifts": _shifts(diagnosis, features),
        "classes": diagnosis.class_counts,
        "slips": as_data(likely_slips(diagnosis.class_counts, defaults.slip_share)),
        "labeled": diagnosis.n_labeled,
        "unlabeled": diagnosis.n_unlabeled,
        "biased": diagnosis.verdict in (MILD, STRONG),
        "tone": tone_of.get(diagnosis.verdict, "fair"),
        "sentence": diagnosis.sentence,
    }


def _shifts(diagnosis: Diagnosis, features: list[Feature]) -> list[ShiftSummary]:
    """List the features that differ most, once for the same words.

    Several features may have the same words, such as the month and its sine. The first that a
    person can read, as the month, is listed and stands for all. If none can be read, it is the
    first of them, which differs most.
    """
    readable_words = {feature.words for feature in features if feature.unit != UNREADABLE}
    shift_of: dict[str, ShiftSummary] = {}  # by the words of the feature
    for shift in diagnosis.shifts:
        if len(shift_of) == _N_SHIFTS:
            break
        feature = features[shift.feature]
        is_hidden = feature.unit == UNREADABLE and feature.words in readable_words
        if not is_hidden and feature.words not in shift_of:
            shift_of[feature.words] = _shift(shift, feature)
    return list(shift_of.values())


def _shift(shift: FeatureShift, feature: Feature) -> ShiftSummary:
    """Describe how a feature differs, with its means as the table writes them."""
    labeled_words = _in_table(feature, shift.labeled_mean)
    unlabeled_words = _in_table(feature, shift.unlabeled_mean)
    # The value of a topic means nothing to a person: only the sign of the difference does.
    if feature.unit == TOPIC:
        labeled_words = "more" if shift.difference > 0 else "less"
        unlabeled_words = "less" if shift.difference > 0 else "more"
    return {
        "name": feature.words,
        "difference": shift.difference,
        "labeled_words": labeled_words,
        "unlabeled_words": unlabeled_words,
    }


def _in_table(feature: Feature, mean: float) -> str:
    """Convert a standardised mean back to the feature's units, and write it as the table does."""
    if feature.unit == UNREADABLE:
        return "–"
    value = feature.in_units(mean)
    if feature.unit == DATE:
        return day(value)
    if feature.indicator:
        return percent(value)
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


# ---------------------------------------------------------------- the labels and how they were made


def _classes(result: LabeledTable) -> list[ClassSummary]:
    """Count the labels of each class by their origin."""
    classes: list[ClassSummary] = []
    n_by_class = result.counts.labels.T.tolist()
    for name, by_source in zip(result.labels.classes.tolist(), n_by_class, strict=True):
        given, learned, predicted = by_source
        classes.append(
            {
                "name": name,
                "given": given,
                "learned": learned,
                "predicted": predicted,
                "new": learned + predicted,
            }
        )
    return classes


def _aim(result: LabeledTable) -> AimSummary:
    """Say what the labels should be good at."""
    aim = result.options.aim
    if aim == ACCURACY:
        return {"name": aim, "sentence": "Optimised for overall accuracy."}
    told = ""
    if result.prior.told:
        told = "The new labels do not have the class shares that you gave. "
    sentence = (
        "Optimised for balanced accuracy: every class counts the same. More rows of rare classes "
        f"are found, and overall accuracy may be lower. {told}Probabilities and confidence are "
        "shifted, too."
    )
    return {"name": aim, "sentence": sentence}


def _rounds(result: LabeledTable) -> list[RoundSummary]:
    """List the rounds of self-training."""
    return [
        {
            "round": record["round"],
            "n_pool": record["n_pool"],
            "n_accepted": record["n_accepted"],
            "mean_confidence": record["mean_confidence"],
        }
        for record in result.model[-1].history_
    ]


def _settings(result: LabeledTable) -> SettingsSummary:
    """Tell how the labels were made."""
    options = {}
    for name, value in result.options.as_typed().items():
        options[name] = ", ".join(value) if isinstance(value, list) else str(value)
    return {
        **result.settings,
        "options": options,
        "features": len(result.model[0].get_feature_names_out()),
        "versions": VERSIONS,
    }


def _columns(columns: Iterable[Column]) -> list[ColumnSummary]:
    """Tell how each column was read."""
    return [
        {
            "name": column.name,
            "kind": _KIND_WORDS.get(column.kind, column.kind),
            "used": column.used,
            "note": column.note,
            "doubtful": column.doubtful,
        }
        for column in columns
    ]


# ---------------------------------------------------------------- how good the labels are


def _held_out(result: LabeledTable) -> HeldOutSummary | None:
    """Tell how well models predict given labels that they have not seen, if any were held out."""
    held_out = result.held_out
    if not len(held_out.correct):
        return None
    return {
        "n": len(held_out.correct),
        "accuracy": float(held_out.correct.mean()),
        "balanced_accuracy": held_out.balanced,
        "probability": float(held_out.probability.mean()),
        "calibration_error": expected_calibration_error(held_out.probability, held_out.correct),
    }


def _audit(result: LabeledTable, class_names: list[str]) -> AuditSummary | None:
    """Summarize the audit of the model, if there is one."""
    audit = result.audit
    if audit is None:
        return None
    answers = audit.answers
    return {
        "drawn": answers.n_drawn,
        "skipped": answers.n_skipped,
        "stopped": answers.stopped,
        "unfinished": answers.is_unfinished,
        "notes": [{"text": text, "warning": text in answers.warnings} for text in audit.notes],
        "before": as_data(audit.accuracy),
        "after": as_data(audit.after),
        "baseline": None if audit.baseline is None else baseline_summary(audit.baseline),
        "shares": _class_shares(result),
        "classes": as_data(audit.classes),
        "balanced": audit.balanced,
        "matrix": matrix_of(audit.pairs, class_names),
        "accept": as_data(audit.acceptances),
    }


def _class_shares(result: LabeledTable) -> list[ClassShareSummary]:
    """Say how many rows of the whole table are of each class, the one with most labels first.

    The audit gives a lower and an upper limit for the rows without a given label. Given labels are
    certain, so their number is added to both limits.
    """
    audit = result.audit
    if audit is None:
        return []
    given_counts = result.diagnosis.class_counts
    labelled_counts = result.counts.labels.sum(axis=0).tolist()
    shares = []
    for name, n_labelled in zip(result.labels.classes.tolist(), labelled_counts, strict=True):
        if name in audit.shares:
            share = audit.shares[name]
            n_given = given_counts.get(name, 0)
            of_table = share._replace(
                low=share.low + n_given,
                high=share.high + n_given,
                labelled=n_labelled,
                population=result.counts.n,
            )
            shares.append(class_share(name, of_table))
    return sorted(shares, key=lambda figures: -figures["labelled"])


def _accept(result: LabeledTable) -> AcceptSummary | None:
    """Summarize which new labels can be accepted."""
    audit = result.audit
    if audit is None or audit.asked is None:
        return None
    threshold = audit.asked.threshold
    n_given = int(result.counts.labels[0].sum())
    n_confirmed = result.counts.confirmed.n_from(threshold)
    summary = accept_summary(
        audit.asked,
        audit,
        label_words="new label",
        caveat=", approximate",
        n_marked=n_confirmed + n_given,
    )

    # The audit is about what the final model predicts. In self-training, the model may have learned
    # from a label that it would predict otherwise in the end: that label is not accepted.
    n_changed = result.counts.new.n_from(threshold) - n_confirmed
    if n_changed:
        keep = "keeps" if n_changed == 1 else "keep"
        summary["sentence"] += (
            f" {n_changed:,} of these {keep} a label that the model learned from and would change"
            " now: not marked."
        )
    return summary


# ---------------------------------------------------------------- single rows


def _rows_to_check(result: LabeledTable, naming_columns: list[str]) -> list[RowToCheck]:
    """Describe the rows of highest doubt."""
    return [
        {
            **_row(result, row, naming_columns),
            "why": as_data(result.reasons.get(row, [])),
            "label": str(result.labels.classes[result.codes[row]]),
            "confidence": round(float(result.confidence[row]), 4),
        }
        for row in result.next_rows.tolist()
    ]


def _suspect_labels(result: LabeledTable, naming_columns: list[str]) -> list[SuspectLabel]:
    """Describe the given labels that held-out predictions contradict."""
    suspect = result.second_look
    return [
        {
            **_row(result, row, naming_columns),
            "given": str(result.labels.classes[result.labels.codes[row]]),
            "held_out": str(suspect.prediction[place]),
            "probability": float(suspect.probability[place]),
        }
        for place, row in enumerate(suspect.rows.tolist())
    ]


def _row(result: LabeledTable, row: int, naming_columns: list[str]) -> RowSummary:
    """Show the number of a row and the cells by which a person recognises it."""
    values = result.table.frame.row(row, named=True)
    cells = {}
    for name in naming_columns:
        cells[name] = visible(cell_words(values[name], _N_DIGITS), _N_CHARACTERS)
    (number,) = result.table.numbers(np.array([row])).tolist()
    return {"row": number + 1, "cells": cells}


def _naming_columns(result: LabeledTable) -> list[str]:
    """Choose the columns by which a person recognises a row.

    Identifiers come first, then the columns that differ most between labelled and other rows, then
    all others.
    """
    preparation = result.model[0]
    identifiers = [column.name for column in preparation.columns_ if column.kind == IDENTIFIER]
    candidates = identifiers[:_N_IDENTIFIERS]
    for shift in result.diagnosis.shifts:
        feature = result.compared[shift.feature]
        candidates.append(feature.column)
    for feature in preparation.features():
        candidates.append(feature.column)

    # A feature may come from a file beside the table, and not from one of its columns.
    names_in_table = set(result.table.frame.columns)
    naming_columns = [name for name in dict.fromkeys(candidates) if name in names_in_table]
    return naming_columns[:_N_COLUMNS]
