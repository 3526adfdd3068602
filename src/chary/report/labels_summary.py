"""What a report says of labels that chary made, as plain data."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from chary._words import day, percent, visible
from chary.labelling import Diagnosis, LabeledTable
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG, DiagnosedTable
from chary.labelling.label import SOURCES
from chary.method import expected_calibration_error
from chary.method.priors import ACCURACY
from chary.report.plain_data import (
    VERSIONS,
    Summary,
    accepted_at_error,
    as_data,
    matrix_of,
)
from chary.tables.cells import cell_words
from chary.tables.columns.kind import DATE, NUMBER, TOPIC, UNREADABLE, Column
from chary.tables.preparation import Feature

_N_SHIFTS = 20
# Of the rows to check: columns, those of them that name the row, and characters of a cell.
_N_CELLS, _N_NAMES, _CELL = 6, 2, 1_000


def summarize(result: LabeledTable) -> Summary:
    """The summary of ``label_table``; what the less obvious keys hold stands beside them."""
    preparation, classifier = result.model[0], result.model[-1]
    counts, judged, found = result.counts, result.held_out, result.explainer
    names = _naming_columns(result)
    return {
        "rows": counts.n,
        # Rows by where their label comes from, and by their label.
        "sources": dict(zip(SOURCES, counts.labels.sum(axis=1).tolist(), strict=True)),
        "labels": dict(
            zip(map(str, result.labels.classes), counts.labels.sum(axis=0).tolist(), strict=True)
        ),
        # Of a table larger than memory: the rows that the model learned from.
        "sample": None
        if result.n_drawn is None
        else {"labeled": counts.n - counts.n_new, "drawn": result.n_drawn, "of": counts.n_new},
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,  # how the table and its target were read
        "classes": _classes(result),
        "diagnosis": _diagnosis(result.diagnosis, result.compared),
        # Given labels judged by a model that has not seen them.
        "held_out": None
        if not len(judged.correct)
        else {
            "n": len(judged.correct),
            "accuracy": float(judged.correct.mean()),
            "balanced_accuracy": judged.balanced,
            "probability": float(judged.probability.mean()),
            "calibration_error": expected_calibration_error(judged.probability, judged.correct),
        },
        "audit": _audit(result),
        "accept": _accepted_labels(result),  # what can be accepted at the error asked for
        "audit_size": result.audit_size,  # rows to draw for an audit; 0: so few are unlabelled that one can look
        "aim": _aim(result),
        "class_prior": as_data(result.prior),  # what was told of the class shares
        # A column that already guesses the label against the model, and whether its labels were
        # kept.
        "guesses": as_data(result.guesses),
        "rounds": [  # of self-training
            {name: record[name] for name in ("round", "n_pool", "n_accepted", "mean_confidence")}
            for record in classifier.history_
        ],
        "rows_to_label": [  # rows to check
            {
                **_row(result, row, names),
                "why": as_data(result.reasons.get(int(row), [])),
                "label": str(result.labels.classes[result.codes[row]]),
                "confidence": round(float(result.confidence[row]), 4),  # as the file shows it
            }
            for row in result.next_rows
        ],
        "second_look": _suspect_labels(result, names),
        # What the labels owe to each column, the most important first.
        "importance": {"columns": as_data(found.importance), "n_rows": found.n_rows},
        "columns": [_column(column) for column in preparation.columns_],
        "settings": {
            **result.settings,
            "options": {  # all that were chosen
                name: ", ".join(said) if isinstance(said, list) else str(said)
                for name, said in result.options.as_typed("label").items()
            },
            "features": len(preparation.get_feature_names_out()),
            "versions": VERSIONS,
        },
    }


def summarize_diagnosis(result: DiagnosedTable) -> Summary:
    """The summary of ``diagnose_table``: the diagnosis, and what each column was taken for."""
    return {
        **_diagnosis(result.diagnosis, result.prepared.preparation.features()),
        "file": result.table.name,
        "target": result.target,
        "notes": result.notes,
        "columns": [_column(column) for column in result.columns],
    }


def _diagnosis(diagnosis: Diagnosis, features: list[Feature]) -> dict[str, Any]:
    """Every field of a diagnosis, its sentence and what its verdict is; features in the table's own units, too."""
    figures = {field.name: as_data(getattr(diagnosis, field.name)) for field in fields(diagnosis)}
    names = {"n_labeled": "labeled", "n_unlabeled": "unlabeled", "class_counts": "classes"}
    return {
        **{names.get(name, name): figure for name, figure in figures.items()},
        "representative": diagnosis.verdict == REPRESENTATIVE,
        "biased": diagnosis.verdict in (MILD, STRONG),
        "tone": {REPRESENTATIVE: "good", STRONG: "bad"}.get(diagnosis.verdict, "fair"),
        "sentence": diagnosis.sentence,
        "shifts": _shifts(diagnosis, features),
    }


def _shifts(diagnosis: Diagnosis, features: list[Feature]) -> list[dict[str, Any]]:
    """What differs most, as a person calls it, with means as the table writes them.

    Where a person can read one of several features that say the same, such as the month, the others
    are left out.
    """
    readable = {feature.words for feature in features if feature.unit != UNREADABLE}
    shifts: dict[str, dict[str, Any]] = {}
    for shift in diagnosis.shifts:
        feature = features[shift.feature]
        if (
            feature.words in (readable if feature.unit == UNREADABLE else shifts)
            or len(shifts) == _N_SHIFTS
        ):
            continue
        means = feature.in_units(shift.labeled_mean), feature.in_units(shift.unlabeled_mean)
        sides = ("more", "less") if shift.difference > 0 else ("less", "more")
        words = [in_unit(mean, feature.unit, feature.indicator) for mean in means]
        shown = sides if feature.unit == TOPIC else words
        shifts[feature.words] = {
            **shift._asdict(),
            "name": feature.words,
            **dict(
                zip(
                    ("labeled", "unlabeled", "labeled_words", "unlabeled_words"),
                    (*means, *shown),
                    strict=True,
                )
            ),
        }
    return list(shifts.values())


def in_unit(value: float, unit: str = NUMBER, is_share: bool = False) -> str:
    """A number of a feature as a person reads it.

    >>> in_unit(0.1, is_share=True), in_unit(12345.6), in_unit(17_722.5, "date"), in_unit(0.3, "unreadable")
    ('10%', '12,346', '2018-07-10', '–')
    """
    if unit == UNREADABLE:
        return "–"
    if unit == DATE:
        return day(value)
    return (
        percent(value) if is_share else f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    )


def _classes(result: LabeledTable) -> list[dict[str, Any]]:
    """Name, rows by source, share of the given and of the new labels."""
    n_given, n_new = max(1, int(result.counts.labels[0].sum())), max(1, result.counts.n_new)
    return [
        {
            "name": name,
            **dict(zip(SOURCES, by_source, strict=True)),
            "new": sum(by_source[1:]),
            "given_share": by_source[0] / n_given,
            "new_share": sum(by_source[1:]) / n_new,
        }
        for name, by_source in zip(
            result.labels.classes.tolist(), result.counts.labels.T.tolist(), strict=True
        )
    ]


def _audit(result: LabeledTable) -> dict[str, Any] | None:
    """What a random sample that a person labelled says, exact and approximate figures apart."""
    audit = result.audit
    if audit is None:
        return None
    return {
        "drawn": audit.answers.n_drawn,
        "skipped": audit.answers.n_skipped,
        "stopped": audit.answers.stopped,  # whether the person was shown the interval while labelling
        "unfinished": audit.answers.is_unfinished,  # then only ``before`` can be said
        "new_classes": audit.answers.new_classes,
        "notes": [
            {"text": text, "warning": text in audit.answers.warnings} for text in audit.notes
        ],
        "before": as_data(audit.accuracy),
        "after": as_data(audit.after),
        "classes": as_data(audit.classes),
        "balanced": audit.balanced,
        "matrix": matrix_of(audit.pairs, [str(name) for name in result.labels.classes]),
        "accept": as_data(audit.acceptances),
    }


def _accepted_labels(result: LabeledTable) -> dict[str, Any] | None:
    if result.accept is None or result.audit is None or result.audit.asked is None:
        return None
    found = result.audit.asked
    n_given = int(result.counts.labels[0].sum())
    n_settled = result.counts.settled.n_from(found.threshold)
    n_changed = result.counts.rest.n_from(found.threshold) - n_settled
    accepted = accepted_at_error(
        found, result.audit, "new label", ", approximate", n_settled + n_given
    )
    if n_changed:
        keep = "keeps" if n_changed == 1 else "keep"
        accepted["sentence"] += (
            f" {n_changed:,} of these {keep} a label that the model learned from and would change now: not marked."
        )
    return accepted


def _aim(result: LabeledTable) -> dict[str, str]:
    """What the labels are to be good at: its name, and a sentence that says what it means."""
    aim, sentence = result.options.aim, "Optimised for overall accuracy."
    if aim != ACCURACY:
        how = (
            "The new labels do not have the class shares that you gave. "
            if result.prior.told
            else ""
        )
        sentence = (
            "Optimised for balanced accuracy: every class counts the same. More rows of rare classes are found, "
            f"and overall accuracy may be lower. {how}Probabilities and confidence are shifted, too."
        )
    return {"name": aim, "sentence": sentence}


def _suspect_labels(result: LabeledTable, names: list[str]) -> list[dict[str, Any]]:
    """Given labels that a model which had not seen them contradicts, with the probabilities of both."""
    doubted = result.second_look
    return [
        {
            **_row(result, row, names),
            "given": str(result.labels.classes[result.labels.codes[row]]),
            "held_out": str(doubted.prediction[place]),
            "probability": float(doubted.probability[place]),
            "given_probability": float(doubted.own[place]),
        }
        for place, row in enumerate(doubted.rows)
    ]


def _row(result: LabeledTable, row: Any, names: list[str]) -> dict[str, Any]:
    """What a row is known by."""
    cells = result.table.frame.select(names).row(int(row)) if names else ()
    return {
        "row": int(result.table.numbers(row)) + 1,
        "cells": {
            name: visible(cell_words(cell, 6), _CELL)
            for name, cell in zip(names, cells, strict=True)
        },
    }


def _naming_columns(result: LabeledTable) -> list[str]:
    """Columns to know a row by: what names it, then what differs most."""
    preparation = result.model[0]
    names = [column.name for column in preparation.columns_ if column.kind == "identifier"][
        :_N_NAMES
    ]
    of_feature = [feature.column for feature in preparation.features()]
    by_shift = [result.compared[shift.feature].column for shift in result.diagnosis.shifts]
    every = dict.fromkeys([*names, *by_shift, *of_feature])
    return [name for name in every if name in result.table.frame.columns][
        :_N_CELLS
    ]  # others: a file beside it


def _column(column: Column) -> dict[str, Any]:
    return {name: getattr(column, name) for name in ("name", "kind", "used", "note", "doubtful")}
