"""The result of a job in; one summary out, plain data that terminal, JSON and page show and none computes again.

Every value is a number, a text, a truth value, None, or a list or dict of these. Shares are between 0 and 1; rows
are counted from 1, without the header. Texts of the user's table are as they are: who shows them makes them safe.
"""

from __future__ import annotations

import platform
from dataclasses import fields
from typing import Any, TypedDict

import numpy as np
import sklearn

from chary import __version__
from chary._words import visible
from chary.evaluation import (
    MILD,
    REPRESENTATIVE,
    STRONG,
    Diagnosis,
    Score,
    expected_calibration_error,
    smallest_audit,
)
from chary.jobs import SOURCES, AuditFigures, Contrast, DiagnosedTable, LabeledTable
from chary.method import ACCURACY
from chary.tables import Column, TablePreparation

# The sections of the page in their order: a template of that name shows each.
SECTIONS = (
    "audit",
    "bias",
    "classes",
    "importance",
    "prior",
    "confidence",
    "accept",
    "rounds",
    "next",
    "second_look",
    "columns",
    "settings",
    "limits",
)

_N_BINS, _N_SHIFTS = 20, 20
# Of the rows to check: columns, those of them that name the row, and characters of a cell.
_N_CELLS, _N_NAMES, _CELL = 6, 2, 20


class Summary(TypedDict):
    """What came of labelling a table."""

    rows: int
    sources: dict[str, int]  # rows by where their label comes from: given, learned, predicted
    labels: dict[str, int]  # rows by their label
    sample: dict[str, int] | None  # of a table read in parts, what the model learned from: see ``_sample``
    file: str
    target: str
    notes: list[str]  # what there is to know of how the table and its target were read
    spellings: dict[str, dict[str, int]]  # of classes that the file spells in several ways, rows by spelling
    classes: list[dict[str, Any]]  # name, rows by source, share of the given and of the new labels
    diagnosis: dict[str, Any]  # see ``summarize_diagnosis``
    held_out: dict[str, Any] | None  # given labels judged without being seen: n, accuracy, what was promised
    acceptance: list[dict[str, Any]]  # what keeping the most confident rows means: see ``AcceptanceLevel``
    confidence: dict[str, list[int]]  # learned and predicted rows in 20 equal bins of confidence
    audit: dict[str, Any] | None  # see ``_audit``
    accept: dict[str, Any] | None  # what can be accepted at the error asked for, see ``_accept``
    audit_size: int  # how many rows to draw for an audit; 0: so few are unlabelled that one can look at each
    aim: dict[str, str]  # what the labels are to be good at: its name, and a sentence that says what it means
    class_prior: dict[str, Any]  # what was told, the sentence that says so, and what hangs on it
    rounds: list[dict[str, Any]]  # of self-training: round, n_pool, n_learned, mean_confidence
    termination: str  # why they ended
    rows_to_label: list[
        dict[str, Any]
    ]  # rows to check: row, label now, confidence, cells by column, why: see ``_reasons``
    second_look: list[dict[str, Any]]  # given labels that held-out models doubt: see ``_second_look``
    importance: dict[str, Any] | None  # what the labels owe to each column: see ``_importance``
    columns: list[dict[str, Any]]  # name, kind, used, note, whether it is doubtful
    settings: dict[str, Any]  # seed, rounds, learner and its words, features, versions
    seconds: dict[str, float]  # by step


def summarize(result: LabeledTable) -> Summary:
    """The summary of ``label_table``."""
    preparation, classifier = result.model[0], result.model[-1]
    return {
        "rows": result.counts.n,
        "sources": dict(zip(SOURCES, result.counts.labels.sum(axis=1).tolist(), strict=True)),
        "labels": dict(
            zip(map(str, result.labels.classes), result.counts.labels.sum(axis=0).tolist(), strict=True)
        ),
        "sample": _sample(result),
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "spellings": result.spellings,
        "classes": _classes(result),
        "diagnosis": _diagnosis(result.diagnosis, preparation, result.contrasts),
        "held_out": _held_out(result),
        "acceptance": [level._asdict() for level in result.levels],
        "confidence": _histogram(result),
        "audit": _audit(result.audit),
        "accept": _accept(result),
        "audit_size": result.audit_size,
        "aim": _aim(result),
        "class_prior": _prior(result),
        "rounds": [
            {
                "round": record["round"],
                "n_pool": record["n_pool"],
                "n_learned": record["n_accepted"],
                "mean_confidence": record["mean_confidence"],
            }
            for record in classifier.history_
        ],
        "termination": classifier.termination_condition_,
        "rows_to_label": _next_rows(result),
        "second_look": _second_look(result),
        "importance": _importance(result),
        "columns": [_column(column) for column in preparation.columns_],
        "settings": {
            **result.settings,
            "features": len(preparation.get_feature_names_out()),
            "versions": {
                "chary": __version__,
                "scikit-learn": sklearn.__version__,
                "NumPy": np.__version__,
                "Python": platform.python_version(),
            },
        },
        "seconds": result.seconds,
    }


def summarize_diagnosis(result: DiagnosedTable) -> dict[str, Any]:
    """The summary of ``diagnose_table``: the diagnosis, and what each column was taken for."""
    figures = _diagnosis(result.diagnosis, result.prepared.preparation, result.contrasts)
    columns = [_column(column) for column in result.columns]
    read = {
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "spellings": result.spellings,
    }
    return {**figures, **read, "columns": columns}


def _diagnosis(diagnosis: Diagnosis, preparation: TablePreparation, contrasts: list[Contrast]) -> dict[str, Any]:
    """Every field of a diagnosis, its sentence and what its verdict is; features in the table's own units, too."""
    figures = {field.name: _plain(getattr(diagnosis, field.name)) for field in fields(diagnosis)}
    names = {"n_labeled": "labeled", "n_unlabeled": "unlabeled", "class_counts": "classes"}
    return {
        **{names.get(name, name): figure for name, figure in figures.items()},
        "representative": diagnosis.verdict == REPRESENTATIVE,
        "biased": diagnosis.verdict in (MILD, STRONG),
        "strongly": diagnosis.verdict == STRONG,
        "sentence": diagnosis.sentence,
        "shifts": _shifts(diagnosis, preparation),
        "contrasts": [{**contrast._asdict(), "missing": list(contrast.missing)} for contrast in contrasts],
    }


def _plain(value: Any) -> Any:
    """Records as dicts and arrays as lists, however deep."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return {name: _plain(item) for name, item in value._asdict().items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _shifts(diagnosis: Diagnosis, preparation: TablePreparation) -> list[dict[str, Any]]:
    """Means also as the table writes them; of a category or an indicator they are shares."""
    features, shifts = preparation.features(), []
    for shift in diagnosis.shifts[:_N_SHIFTS]:
        feature = features[shift.feature]
        own = {
            "labeled": feature.in_units(shift.labeled_mean),
            "unlabeled": feature.in_units(shift.unlabeled_mean),
            "is_share": feature.indicator,
        }
        shifts.append({**shift._asdict(), **own})
    return shifts


def _classes(result: LabeledTable) -> list[dict[str, Any]]:
    n_given, n_new = max(1, int(result.counts.labels[0].sum())), max(1, result.counts.n_new)
    rows = []
    for name, by_source in zip(result.labels.classes.tolist(), result.counts.labels.T.tolist(), strict=True):
        counts = dict(zip(SOURCES, by_source, strict=True))
        shares = {
            "given_share": counts["given"] / n_given,
            "new_share": (counts["learned"] + counts["predicted"]) / n_new,
        }
        rows.append({"name": name, **counts, **shares})
    return rows


def _sample(result: LabeledTable) -> dict[str, int] | None:
    """How many rows had a label and how many others were drawn at random, of how many."""
    if result.n_drawn is None:
        return None
    n_new = result.counts.n_new
    return {"labeled": result.counts.n - n_new, "drawn": result.n_drawn, "of": n_new}


def _held_out(result: LabeledTable) -> dict[str, Any] | None:
    judged = result.judged
    if not len(judged.correct):
        return None
    return {
        "n": len(judged.correct),
        "accuracy": float(judged.correct.mean()),
        "balanced_accuracy": judged.balanced,
        "probability": float(judged.probability.mean()),
        "calibration_error": expected_calibration_error(judged.probability, judged.correct),
    }


def _histogram(result: LabeledTable) -> dict[str, list[int]]:
    tallies = {"learned": result.counts.learned, "predicted": result.counts.predicted}
    return {source: tally.histogram(_N_BINS).tolist() for source, tally in tallies.items()}


def _audit(audit: AuditFigures | None) -> dict[str, Any] | None:
    """What a random sample that a person labelled says, exact and approximate figures apart."""
    if audit is None:
        return None
    return {
        "drawn": audit.answers.n_drawn,
        "skipped": audit.answers.n_skipped,
        "answered": _score(audit.answered),
        "new_classes": audit.answers.new_classes,
        "notes": [{"text": text, "warning": text in audit.answers.warnings} for text in audit.notes],
        "before": _score(audit.before),
        "after": _score(audit.after),
        "classes": {name: _score(found) for name, found in audit.classes.items()},
        "balanced": audit.balanced,
        "accept": [
            {**found._asdict(), "needs": needed}
            for found, needed in zip(audit.acceptances, audit.needed, strict=True)
        ],
    }


def _accept(result: LabeledTable) -> dict[str, Any] | None:
    """How many new labels can be accepted at the error asked for, and the sentence that says so or why none."""
    if result.accept is None or result.audit is None or result.audit.asked is None:
        return None
    found, n_audited = result.audit.asked, result.audit.before.n
    n_rows = result.counts.settled.n_from(found.threshold)
    needs = smallest_audit(found.error, found.level)
    at_most = f"at most {100 * found.error:.3g}% wrong"
    sentence = (
        f"{n_rows:,} new labels can be accepted with {at_most} (level {found.level:.0%}, approximate): those of "
        f"confidence {found.threshold:.4f} and more. Column chary_accept marks them and the given ones."
    )
    if not n_rows:
        why = f"the {n_audited} audited rows do not rule out more"
        if needs > n_audited:
            why = f"the audit has {n_audited} rows, and {needs} or more are needed"
        sentence = (
            f"No new label can be accepted with {at_most}: {why}. Column chary_accept marks the given ones alone."
        )
    return {**found._asdict(), "n_accepted": n_rows, "needs": needs, "sentence": sentence}


def _score(score: Score) -> dict[str, Any]:
    return {"share": score.share, **score._asdict()}


def _aim(result: LabeledTable) -> dict[str, str]:
    aim = result.settings.get("aim", ACCURACY)
    if aim == ACCURACY:
        return {"name": aim, "sentence": "Aimed at: as many right labels as possible, whatever their class."}
    how = "without knowing how frequent each class is"
    if result.prior.told:
        how = "by the class shares that you gave, which the new labels therefore do not have"
    return {
        "name": aim,
        "sentence": (
            "Aimed at: every class, rare or common, counts the same. The boundaries between classes were moved "
            f"for it, {how}. Fewer labels may be right in all; probabilities and confidence are moved likewise."
        ),
    }


def _prior(result: LabeledTable) -> dict[str, Any]:
    """What the user said of the class proportions, and what another belief would change."""
    prior = result.prior
    return {
        "told": prior.told,
        "sentence": prior.sentence,
        "class": prior.class_name,
        "classes": prior.classes,
        "levels": [{**level._asdict(), "predicted": level.predicted.tolist()} for level in prior.levels],
    }


def _next_rows(result: LabeledTable) -> list[dict[str, Any]]:
    names = _naming_columns(result)
    frame = result.table.frame.select(names)[result.next_rows]
    return [
        {
            "row": int(result.table.numbers(row)) + 1,
            "label": str(result.labels.classes[result.codes[row]]),
            "confidence": round(float(result.confidence[row]), 4),  # as the file shows it
            "cells": dict(zip(names, map(_cell, cells), strict=True)),
            "why": _reasons(result, row),
        }
        for row, cells in zip(result.next_rows, frame.rows(), strict=True)
    ]


def _second_look(result: LabeledTable) -> list[dict[str, Any]]:
    """Row, label given and what a model that had not seen it says, with the probabilities of both."""
    doubted, names = result.second_look, _naming_columns(result)
    cells = result.table.frame.select(names)[doubted.rows].rows()
    return [
        {
            "row": int(result.table.numbers(row)) + 1,
            "given": str(result.labels.classes[result.labels.codes[row]]),
            "held_out": str(doubted.prediction[place]),
            "probability": float(doubted.probability[place]),
            "given_probability": float(doubted.own[place]),
            "cells": dict(zip(names, map(_cell, cells[place]), strict=True)),
            "why": _reasons(result, row),
        }
        for place, row in enumerate(doubted.rows)
    ]


def _reasons(result: LabeledTable, row: int) -> list[dict[str, Any]]:
    """The cells that speak most for the label: column, cell, its effect in log-odds, and both as one reads it."""
    return [
        {"column": cell.column, "cell": cell.text, "effect": cell.effect, "shown": cell.shown}
        for cell in result.reasons.get(int(row), [])
    ]


def _importance(result: LabeledTable) -> dict[str, Any] | None:
    """The columns, the most important first; how many there are, and on how many rows it was measured."""
    found = result.explainer
    if found is None:
        return None
    columns = [column._asdict() for column in found.importance]
    return {"columns": columns, "n_columns": found.n_columns, "n_rows": found.n_rows}


def _naming_columns(result: LabeledTable) -> list[str]:
    """Columns to know a row by: what names it, then what differs most."""
    preparation = result.model[0]
    names = [column.name for column in preparation.columns_ if column.kind == "identifier"][:_N_NAMES]
    of_feature = [feature.column for feature in preparation.features()]
    by_shift = [of_feature[shift.feature] for shift in result.diagnosis.shifts]
    every = dict.fromkeys([*names, *by_shift, *of_feature])
    return [name for name in every if name in result.table.frame.columns][:_N_CELLS]  # others: a file beside it


def _cell(value: object) -> str:
    return "" if value is None else visible(f"{value:.6g}" if isinstance(value, float) else value, _CELL)


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "used": column.used,
        "note": column.note,
        "doubtful": column.doubtful,
        "read_otherwise": column.used and bool(column.form and column.note) and not column.doubtful,
    }
