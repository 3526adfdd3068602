"""What an audit says of labels that anybody made in; one summary out, plain data, as ``chary.report.summary``."""

from __future__ import annotations

import platform
from typing import Any, TypedDict

import numpy as np

from chary import __version__
from chary._words import percent, shown
from chary.evaluation import Agreement, ClassJudgement, Difference, Score, Slice, smallest_audit
from chary.jobs import JudgedColumn, JudgedTable

# The sections of the page in their order: a template of that name shows each.
JUDGED_SECTIONS = ("accuracy", "compared", "classes", "shares", "slices", "accept", "limits")

_CLEAR = 0.05


class JudgedSummary(TypedDict):
    """How good the labels of a table are."""

    file: str
    rows: int
    drawn: int  # rows for a person to label
    audited: int  # of these, up to the last one answered: the figures rest on them
    answered: int
    skipped: int  # of the audited ones: wrong, for every promise
    left: int  # not reached yet
    level: float  # of the intervals
    stopped: bool  # whether the person was told when it was enough
    notes: list[dict[str, Any]]  # text, and whether it is a warning
    columns: list[dict[str, Any]]  # for each column of labels: see ``_column``
    comparison: dict[str, Any] | None  # of the first two, with the difference of their accuracies
    slices: list[dict[str, Any]]  # column, and its parts: value, rows, audited, score, p_value
    confidence: str | None
    acceptance: list[dict[str, Any]]  # what can be accepted at which error
    accept: dict[str, Any] | None  # the same at the error asked for, and the sentence that says so
    versions: dict[str, str]


def summarize_judged(result: JudgedTable) -> JudgedSummary:
    """The summary of ``judge_table``."""
    answers = result.answers
    return {
        "file": result.scan.table.name,
        "rows": result.n_rows,
        "drawn": answers.n_drawn,
        "audited": len(result.rows),
        "answered": len(answers.rows),
        "skipped": int(result.skipped.sum()),
        "left": answers.n_left,
        "level": result.settings["level"],
        "stopped": result.stopped,
        "notes": [
            *({"text": text, "warning": True} for text in result.warnings),
            *({"text": text, "warning": False} for text in result.notes),
        ],
        "columns": [_column(column, result) for column in result.columns],
        "comparison": _comparison(result.difference, result),
        "slices": [
            {"column": name, "parts": [_part(value, part) for value, part in parts.items()]}
            for name, parts in result.slices.items()
        ],
        "confidence": result.confidence,
        "acceptance": [
            {**found._asdict(), "needs": needed}
            for found, needed in zip(result.acceptances, result.needed, strict=False)
        ],
        "accept": _accept(result),
        "versions": {"chary": __version__, "NumPy": np.__version__, "Python": platform.python_version()},
    }


def _column(column: JudgedColumn, result: JudgedTable) -> dict[str, Any]:
    """Accuracy, for an audit of fixed size and for whoever looked and stopped; and all classes."""
    found = column.judgement
    always = {"low": column.always[0], "high": column.always[1]}
    return {
        "name": column.name,
        "missing": column.n_missing,
        "accuracy": _score(found.accuracy),
        "always": always,
        "promised": always if result.stopped else {"low": found.accuracy.low, "high": found.accuracy.high},
        "answered": None if found.answered is None else _score(found.answered),
        "agreement": _agreement(found.agreement),
        "classes": [_class(str(name), one) for name, one in found.classes.items()],
        "confusions": [
            {"truth": str(truth), "label": None if label is None else str(label), "rows": rows}
            for (truth, label), rows in found.confusions.items()
        ],
        "sentence": _sentence(column, result),
    }


def _sentence(column: JudgedColumn, result: JudgedTable) -> str:
    accuracy = column.judgement.accuracy
    low, high = column.always if result.stopped else (accuracy.low, accuracy.high)
    how = "whenever you stopped" if result.stopped else "exact"
    right = f"{accuracy.correct:,} of {accuracy.n:,} rows drawn at random are labelled right"
    return (
        f"Between {low:.1%} and {high:.1%} of the {result.n_rows:,} labels in column {shown(column.name)} are "
        f"right ({result.settings['level']:.0%} interval, {how}): {right}."
    )


def _class(name: str, found: ClassJudgement) -> dict[str, Any]:
    share, n = found.share, found.share.population
    low, high = share.off
    return {
        "name": name,
        "labelled": share.labelled,
        "labelled_share": share.labelled / n,
        "seen": share.seen,
        "low": share.low,
        "high": share.high,
        "low_share": share.low / n,
        "high_share": share.high / n,
        "off": "too many" if low > 0 else "too few" if high < 0 else "",
        "off_low": low,
        "off_high": high,
        "precision": None if found.precision is None else _score(found.precision),
        "recall": None if found.recall is None else _score(found.recall),
    }


def _comparison(difference: Difference | None, result: JudgedTable) -> dict[str, Any] | None:
    if difference is None:
        return None
    found, limits = difference.comparison, {"low": difference.low, "high": difference.high}
    first, second = (shown(column.name) for column in result.columns[:2])
    alone = f"{first} alone is right on {found.only_first} rows and {second} alone on {found.only_second}"
    better = first if found.only_first > found.only_second else second
    outcome = f"{better} is better" if found.p_value < _CLEAR else "the audit does not tell which is better"
    by = f"The accuracy of {first} less that of {second} is between {_points(limits['low'])} and "
    sentence = (
        f"Of the audited rows {alone} (p = {found.p_value:.3f}): {outcome}. {by}{_points(limits['high'])} points."
    )
    return {**found._asdict(), "share": difference.share, **limits, "sentence": sentence}


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _part(value: Any, part: Slice) -> dict[str, Any]:
    return {
        "value": str(value),
        "rows": part.population,
        "audited": part.n,
        "score": None if part.score is None else _score(part.score),
        "p_value": part.p_value,
    }


def _accept(result: JudgedTable) -> dict[str, Any] | None:
    found = result.asked
    if found is None:
        return None
    at_most = f"at most {100 * found.error:.3g}% wrong"
    needs = smallest_audit(found.error, found.level)
    sentence = (
        f"{found.n_accepted:,} of {result.n_rows:,} labels can be accepted with {at_most} (level "
        f"{found.level:.0%}): those of confidence {found.threshold:.4g} and more. Column chary_accept marks them, "
        "and of the audited rows those that are right."
    )
    if not found.n_accepted:
        why = f"the {len(result.rows)} audited rows do not rule out more"
        if needs > len(result.rows):
            why = f"the audit has {len(result.rows)} rows, and {needs} or more are needed"
        sentence = f"No label can be accepted with {at_most}: {why}. Enlarge the audit."
    return {**found._asdict(), "needs": needs, "sentence": sentence}


def _score(score: Score) -> dict[str, Any]:
    return {"share": score.share, **score._asdict()}


def _agreement(found: Agreement | None) -> dict[str, Any] | None:
    return None if found is None else found._asdict()


def limits_words(low: float, high: float) -> str:
    """An interval for a table.

    >>> limits_words(0.73, 0.979)
    '73% to 98%'
    """
    return f"{percent(low)} to {percent(high)}"
