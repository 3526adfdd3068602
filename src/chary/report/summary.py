"""The result of a job in; one summary out, plain data that terminal, JSON and page show and none computes again.

Every value is a number, a text, a truth value, None, or a list or dict of these. Shares are between 0 and 1; rows
are counted from 1, without the header. Texts of the user's table are as they are: who shows them makes them safe.
"""

from __future__ import annotations

import platform
from typing import Any, TypedDict

import numpy as np
import sklearn

from chary import __version__
from chary._words import visible
from chary.evaluation import MILD, REPRESENTATIVE, STRONG, Diagnosis, Score, expected_calibration_error
from chary.jobs import LEARNERS, SOURCES, AuditFigures, DiagnosedTable, LabeledTable
from chary.tables import Column, TablePreparation

# The sections of the page in their order: a template of that name shows each.
SECTIONS = (
    "audit",
    "bias",
    "classes",
    "prior",
    "confidence",
    "accept",
    "rounds",
    "next",
    "columns",
    "settings",
    "limits",
)

_N_BINS, _N_SHIFTS = 20, 20
# Of the rows to label next: columns, those of them that name the row, and characters of a cell.
_N_CELLS, _N_NAMES, _CELL = 6, 2, 20


class Summary(TypedDict):
    """What came of labelling a table."""

    rows: int
    sources: dict[str, int]  # rows by where their label comes from: given, accepted, predicted
    labels: dict[str, int]  # rows by their label
    file: str
    target: str
    classes: list[dict[str, Any]]  # name, rows by source, share of the given and of the new labels
    diagnosis: dict[str, Any]  # see ``summarize_diagnosis``
    held_out: dict[str, Any] | None  # given labels judged without being seen: n, accuracy, what was promised
    acceptance: list[dict[str, Any]]  # what keeping the most confident rows means: see ``AcceptanceLevel``
    confidence: dict[str, list[int]]  # accepted and predicted rows in 20 equal bins of confidence
    audit: dict[str, Any] | None  # see ``_audit``
    audit_size: int  # how many rows to draw for an audit; 0: so few are unlabelled that one can look at each
    class_prior: dict[str, Any]  # what was told, the sentence that says so, and what hangs on it
    rounds: list[dict[str, Any]]  # of self-training: round, n_pool, n_accepted, mean_confidence
    termination: str  # why they ended
    rows_to_label: list[dict[str, Any]]  # row, label now, confidence, cells by column
    columns: list[dict[str, Any]]  # name, kind, used, note
    settings: dict[str, Any]  # seed, rounds, learner and its words, features, versions
    seconds: dict[str, float]  # by step


def summarize(result: LabeledTable) -> Summary:
    """The summary of ``label_table``."""
    preparation, classifier = result.model[0], result.model[-1]
    return {
        "rows": len(result.codes),
        "sources": {source: int((result.source == source).sum()) for source in SOURCES},
        "labels": {
            str(name): int((result.codes == code).sum()) for code, name in enumerate(result.labels.classes)
        },
        "file": result.table.name,
        "target": result.target,
        "classes": _classes(result),
        "diagnosis": _diagnosis(result.diagnosis, preparation),
        "held_out": _held_out(result),
        "acceptance": [level._asdict() for level in result.levels],
        "confidence": _histogram(result),
        "audit": _audit(result.audit),
        "audit_size": result.audit_size,
        "class_prior": _prior(result),
        "rounds": [
            {name: record[name] for name in ("round", "n_pool", "n_accepted", "mean_confidence")}
            for record in classifier.history_
        ],
        "termination": classifier.termination_condition_,
        "rows_to_label": _next_rows(result),
        "columns": [_column(column) for column in preparation.columns_],
        "settings": {
            **result.settings,
            "learner_words": LEARNERS[result.settings["learner"]].words,
            "unlike_learners": LEARNERS[result.settings["learner"]].unlike,
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
    figures = _diagnosis(result.diagnosis, result.prepared.preparation)
    return {**figures, "columns": [_column(column) for column in result.columns]}


def _diagnosis(diagnosis: Diagnosis, preparation: TablePreparation) -> dict[str, Any]:
    """Verdict, its sentence and figures; the most different features, in the table's own units too."""
    density = diagnosis.density
    return {
        "verdict": diagnosis.verdict,
        "representative": diagnosis.verdict == REPRESENTATIVE,
        "biased": diagnosis.verdict in (MILD, STRONG),
        "strongly": diagnosis.verdict == STRONG,
        "sentence": diagnosis.sentence,
        "separation": diagnosis.separation._asdict() if diagnosis.separation else None,
        "coverage": diagnosis.coverage,
        "labeled": diagnosis.n_labeled,
        "unlabeled": diagnosis.n_unlabeled,
        "classes": diagnosis.class_counts,
        "shifts": _shifts(diagnosis, preparation),
        "density": None if density is None else {name: line.tolist() for name, line in density._asdict().items()},
    }


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
    n_given = max(1, int(result.labels.labeled.sum()))
    n_new = max(1, int((~result.labels.labeled).sum()))
    rows = []
    for code, name in enumerate(result.labels.classes.tolist()):
        of_class = result.codes == code
        counts = {source: int((of_class & (result.source == source)).sum()) for source in SOURCES}
        shares = {
            "given_share": counts["given"] / n_given,
            "new_share": (counts["accepted"] + counts["predicted"]) / n_new,
        }
        rows.append({"name": name, **counts, **shares})
    return rows


def _held_out(result: LabeledTable) -> dict[str, Any] | None:
    judged = result.judged
    if not len(judged.correct):
        return None
    return {
        "n": len(judged.correct),
        "accuracy": float(judged.correct.mean()),
        "probability": float(judged.probability.mean()),
        "calibration_error": expected_calibration_error(judged.probability, judged.correct),
    }


def _histogram(result: LabeledTable) -> dict[str, list[int]]:
    bins = np.clip((result.confidence * _N_BINS).astype(int), 0, _N_BINS - 1)
    return {
        source: np.bincount(bins[result.source == source], minlength=_N_BINS).tolist() for source in SOURCES[1:]
    }


def _audit(audit: AuditFigures | None) -> dict[str, Any] | None:
    """What a random sample that a person labelled says, exact and approximate figures apart."""
    if audit is None:
        return None
    return {
        "drawn": audit.answers.n_drawn,
        "skipped": audit.answers.n_skipped,
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


def _score(score: Score) -> dict[str, Any]:
    return {"share": score.share, **score._asdict()}


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
            "row": int(row) + 1,
            "label": str(result.labels.classes[result.codes[row]]),
            "confidence": float(result.confidence[row]),
            "cells": dict(zip(names, map(_cell, cells), strict=True)),
        }
        for row, cells in zip(result.next_rows, frame.rows(), strict=True)
    ]


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
        "read_otherwise": column.used and bool(column.form and column.note),
    }
