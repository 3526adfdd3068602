"""What a report says of labels that were judged, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chary._words import counted, named_columns, p_value, percent, shown
from chary.audit.figures import ClassJudgement, kappa
from chary.audit.judge import JudgedColumn, JudgedTable, LabelPair
from chary.report.plain_data import (
    NO_LABEL,
    VERSIONS,
    Summary,
    accepted_at_error,
    as_data,
    headline,
    matrix_of,
)

_CLEAR = 0.05


def summarize_judged(result: JudgedTable) -> Summary:
    """The summary of ``judge_table``."""
    answers, n_rows, people = result.answers, result.population, result.answers.annotators
    notes = [(text, True) for text in answers.warnings] + [(text, False) for text in result.notes]
    return {
        "file": result.tested.source.table.name,
        # Columns whose labels are not known to be those that the rows were drawn for: stands above
        # all figures.
        "changed_labels": [
            {"column": name, "sentence": sentence}
            for name, sentence in answers.changed_labels.items()
        ],
        "rows": n_rows,
        "drawn": answers.n_drawn,  # rows for a person to label
        "audited": result.accuracy.n,  # of these, up to the last one answered: the figures rest on them
        "answered": len(answers.rows),
        # Columns that the person could see, and in words; None: not known.
        "shown": None if answers.columns_shown is None else list(answers.columns_shown),
        "blind": _blind(result),
        "skipped": answers.n_skipped,  # of the audited ones: wrong, for every promise
        "left": answers.n_left,  # not reached yet
        "level": result.level,  # of the intervals
        "stopped": answers.stopped,  # whether the person was told when it was enough
        "unfinished": answers.is_unfinished,  # then nothing but the accuracy can be said
        "notes": [{"text": text, "warning": warning} for text, warning in notes],
        "columns": [_judged_column(column, result) for column in result.columns],
        "pairs": [_pair(pair) for pair in result.pairs],
        # Who answered, and on how many rows they differ, if several did; the notes say how far they
        # agree.
        "annotators": people and {"names": people.names, "differing": len(people.differing)},
        "slices": [
            {"column": name, "parts": as_data(parts)} for name, parts in result.slices.items()
        ],
        "confidence": result.tested.options.confidence,
        "acceptance": as_data(result.acceptances),  # what can be accepted at which error
        "accept": _accepted_judged(result),  # the same at the error asked for
        "required": _required(result),  # whether the accuracy that was asked for is shown
        "versions": VERSIONS,
    }


def _blind(result: JudgedTable) -> str:
    """Say what the person who labelled the rows could see."""
    columns = result.answers.columns_shown
    if columns is None:
        return "What the person who labelled the rows could see is not known: the answers are from no sheet."
    judged = [column.name for column in result.columns if column.name in columns]
    if judged:
        return f"The sheet showed the labels under test ({named_columns(judged)}), and {named_columns(columns)}."
    if not columns:
        return "The sheet showed no column of the table."
    return f"The sheet did not show the labels under test; it showed {named_columns(columns)}."


def _required(result: JudgedTable) -> dict[str, Any] | None:
    """Whether the audit shows that the labels are as accurate as required: by the one-sided limit."""
    share, found = result.tested.options.require, result.columns[0].labelled or result.accuracy
    if share is None:
        return None
    least = found.low if found.at_least is None else found.at_least
    wanted = f"at least {100 * share:.4g}% of the labels in column {shown(result.columns[0].name)} are right"
    outcome, sentence = (
        "open",
        f"Not shown: {wanted}. The interval is {least:.1%} to {found.high:.1%}.",
    )
    if least >= share:
        outcome, sentence = "shown", f"Shown: {wanted}."
    elif found.high < share:
        outcome, sentence = "ruled out", f"Ruled out: {wanted}. At most {found.high:.1%} are."
    changed = result.answers.changed_labels.get(result.columns[0].name)
    if changed is not None:
        outcome, sentence = "changed", f"Not shown: {wanted}. {changed}"
    return {
        "accuracy": share,
        "outcome": outcome,
        "at_least": least,
        "at_most": found.high,
        "sentence": sentence,
    }


def _judged_column(column: JudgedColumn, result: JudgedTable) -> dict[str, Any]:
    """Accuracy, for an audit of fixed size and for whoever looked and stopped; and all classes.

    What is promised is the accuracy of the labels there are; ``coverage`` says how many rows have
    one.
    """
    found, accuracy, n_labels = (
        column.judgement,
        column.judgement.accuracy,
        result.population - column.n_missing,
    )
    every = column.always if result.answers.stopped else accuracy
    promised = column.labelled or every
    how = "whenever you stopped" if result.answers.stopped else "exact"
    sentence = (
        f"Between {promised.low:.1%} and {promised.high:.1%} of the {n_labels:,} labels in column "
        f"{shown(column.name)} are right ({result.level:.0%} interval, {how}): {promised.correct:,} of "
        f"{promised.n:,} random rows{' with a label' * bool(column.n_missing)} have the right label."
    )
    if not result.answers.stopped:
        sentence += f" If you only need a lower limit: at least {promised.at_least:.1%} are right."
    if column.n_missing:
        sentence += (
            f" {percent(n_labels / result.population)} of the {result.population:,} rows have a label; with the "
            f"others counted as wrong, between {every.low:.1%} and {every.high:.1%} are right."
        )
    right = {
        (name, name): one.precision.correct for name, one in found.classes.items() if one.precision
    }
    pairs = {
        (str(truth), str(label or NO_LABEL)): n
        for (truth, label), n in [*found.confusions.items(), *right.items()]
    }
    return {
        "name": column.name,
        "missing": column.n_missing,
        "accuracy": as_data(accuracy),
        "always": as_data(column.always),
        "promised": as_data(promised),
        "coverage": n_labels / result.population,
        **headline(promised.low, promised.high),
        "kappa": found.kappa,
        "matrix": matrix_of(pairs, [str(name) for name in found.classes]),
        "classes": [_judged_class(str(name), one) for name, one in found.classes.items()],
        "confusions": [
            {"truth": str(truth), "label": None if label is None else str(label), "rows": rows}
            for (truth, label), rows in found.confusions.items()
        ],
        "sentence": sentence,
    }


def _judged_class(name: str, found: ClassJudgement) -> dict[str, Any]:
    share, n, (low, high) = found.share, found.share.population, found.share.off
    return {
        "name": name,
        **as_data(share),
        **{f"{key}_share": getattr(share, key) / n for key in ("labelled", "low", "high")},
        "off": "too many" if low > 0 else "too few" if high < 0 else "",
        "off_low": low,
        "off_high": high,
        "precision": as_data(found.precision),
        "recall": as_data(found.recall),
    }


def _pair(pair: LabelPair) -> dict[str, Any]:
    """Two columns of labels: which is right more often, and by how much."""
    found, differs = pair.difference.comparison, pair.difference
    first, second = shown(pair.first), shown(pair.second)
    better = first if found.only_first > found.only_second else second
    outcome = (
        f"{better} is better"
        if found.p_value < _CLEAR
        else "The audit does not show which is better"
    )
    low, high = (
        f"{100 * abs(d):.1f} points {'lower' if d < 0 else 'higher'}"
        for d in (differs.low, differs.high)
    )
    unknown = ""
    if found.n_skipped:
        rows = counted(found.n_skipped, "row")
        unknown = f" They differ on {rows} that a person skipped: the limits hold whatever is right there."
    agreement = kappa(pair.counts)
    same = f"{int(np.trace(pair.counts)):,} of {int(pair.counts.sum()):,} rows"
    same += "" if agreement is None else f" (kappa {agreement:.2f})"
    return {
        **as_data(differs),
        "first": pair.first,
        "second": pair.second,
        "p_value": found.p_value,
        "sentence": (
            f"{outcome} ({p_value(found.p_value, 'p ')}): {first} alone is right on "
            f"{counted(found.only_first, 'row')}, "
            f"{second} alone on {found.only_second}. The accuracy of {first} is between {low} and {high} than "
            f"that of {second}.{unknown} They agree on {same}."
        ),
    }


def _accepted_judged(result: JudgedTable) -> dict[str, Any] | None:
    if result.asked is None:
        return None
    which = f"label{of_column([column.name for column in result.columns])}"
    return accepted_at_error(
        result.asked, result, which, "", int(np.asarray(result.accepted).sum())
    )


def of_column(names: Sequence[str]) -> str:
    """Which labels a sentence speaks of, if several columns are judged: the first."""
    return f" in column {shown(names[0], 40)}" if len(names) > 1 else ""
