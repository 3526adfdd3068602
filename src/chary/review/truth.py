"""The page Truth: how many labels are right, and which can be accepted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chary._words import percent
from chary.audit import Acceptance, Score, count_interval, smallest_audit
from chary.audit.judge import JudgedTable
from chary.labelling import LabeledTable
from chary.report.summary import summarize_judged

ERRORS = tuple(k / 100 for k in range(1, 31))
_LEVEL = 0.9
_BEFOREHAND = (
    "Decide how many wrong labels you allow before you look at what each choice would accept: the promise is for "
    "one."
)


def truth_of_labels(result: LabeledTable, mended: bool = False) -> dict[str, Any]:
    """Of labels that a model made: it is judged as it was before it saw the answers, and after."""
    audit = result.audit
    if audit is None or audit.acceptor is None:
        return nothing("")
    n_new = int((~result.labels.labeled).sum())
    answers, before, after = audit.answers, audit.accuracy, audit.after
    how = "holds whenever you stopped" if answers.stopped else "exact"
    alone = "Your labels, with those you mended, make" if mended else "Your labels alone make"
    right = f"{alone} a model that is right on {before.correct:,} of {before.n:,} random rows"
    held_out = None
    if len(result.judged.correct):
        accuracy = float(result.judged.correct.mean())
        words = (
            f"Cross-validation on your own labels says {percent(accuracy)}, which is no estimate of the rest: "
            "your labels are no random sample."
        )
        held_out = {"accuracy": accuracy, "words": words}
    confidence = float(result.confidence[~result.labels.labeled].mean())
    return {
        **nothing(""),
        "ready": True,
        "accuracy": _score(before, answers.n_skipped, f"{right}: {_between(before)} (95% interval, {how})."),
        "promised": {
            "held_out": held_out,
            "confidence": round(confidence, 4),
            "words": f"The mean confidence of the new labels is {percent(confidence)}, which is no accuracy.",
        },
        "after": _score(
            after,
            answers.n_skipped,
            f"The model that made the labels has learned from those rows, too: {_between(after)} (95% interval, "
            "approximate: cross-fitted).",
        ),
        "acceptance": [_acceptance(audit.acceptor.at(error), n_new, before.n, error) for error in ERRORS],
        "rows_to_accept": n_new,
        "shares": _shares(result),
        "classes": [_recall(name, found) for name, found in audit.classes.items()],
        "notes": [*audit.notes, _BEFOREHAND],
    }


def truth_of_judged(result: JudgedTable) -> dict[str, Any]:
    """Of labels that anybody made."""
    summary = summarize_judged(result)
    column = summary["columns"][0]
    accuracy = column["accuracy"]
    acceptor, n_audited = result.acceptor, result.accuracy.n
    levels = (
        [] if acceptor is None else [_acceptance(acceptor.at(e), acceptor.rest.n, n_audited, e) for e in ERRORS]
    )
    more = [] if summary["comparison"] is None else [summary["comparison"]["sentence"]]
    return {
        **nothing(""),
        "ready": True,
        "accuracy": {
            **column["promised"],
            "right": accuracy["correct"],
            "n": accuracy["n"],
            "skipped": summary["skipped"],
            "words": column["sentence"],
        },
        "promised": {"held_out": None, "confidence": None, "words": ""},
        "acceptance": levels,
        "rows_to_accept": 0 if acceptor is None else acceptor.rest.n,
        "shares": [
            {"name": c["name"], "labels": c["labelled_share"], "low": c["low_share"], "high": c["high_share"]}
            for c in column["classes"]
        ],
        "classes": [_recall(str(name), found) for name, found in result.classes.items()],
        "notes": [*more, *(note["text"] for note in summary["notes"]), *([_BEFOREHAND] if levels else [])],
    }


def quality_of(truth: dict[str, Any]) -> str:
    """One sentence on a table of labels: how many are right, or that nobody knows."""
    found = truth["after"] or truth["accuracy"]
    if found is None:
        return "How many of these labels are right is not known: label some random rows first."
    return f"Between {percent(found['low'])} and {percent(found['high'])} of the labels are right (95% interval)."


def nothing(why_not: str) -> dict[str, Any]:
    """The same shape where nothing can be told yet, and why."""
    lists: dict[str, list[Any]] = {"acceptance": [], "shares": [], "classes": [], "notes": []}
    unknown = dict.fromkeys(("accuracy", "promised", "after", "chosen"))
    return {"ready": False, "why_not": why_not, **unknown, "rows_to_accept": 0, **lists}


def _shares(result: LabeledTable) -> list[dict[str, Any]]:
    """The share of each class among the rows without a label: of the labels made, and by the audit, exactly."""
    audit, new = result.audit, ~result.labels.labeled
    if audit is None:
        return []
    answers, n_classes = audit.answers, len(result.labels.classes)
    n, population = audit.accuracy.n, int(new.sum()) + len(answers.rows)
    made = np.bincount(result.codes[new], minlength=n_classes) / max(1, int(new.sum()))
    shares = []
    for code, name in enumerate(result.labels.classes.astype(str).tolist()):
        seen = int((answers.labels.astype(str) == name).sum())
        low, high = count_interval(seen, n, population, skipped=answers.n_skipped)
        shares.append(
            {"name": name, "labels": float(made[code]), "low": low / population, "high": high / population}
        )
    return shares


def _acceptance(found: Acceptance, n_rows: int, n_audited: int, error: float) -> dict[str, Any]:
    """How many rows, from which confidence on, in words that promise no more than the audit does."""
    needs = smallest_audit(error, _LEVEL)
    if found.n_accepted:
        words = (
            f"{found.n_accepted:,} of {n_rows:,} labels, those of confidence {found.threshold:.4f} and more, with "
            f"at most {percent(error)} wrong (level {_LEVEL:.0%})."
        )
    elif needs > n_audited:
        words = f"None: {needs} audited rows or more are needed for {percent(error)}, and there are {n_audited}."
    else:
        words = f"None: the {n_audited} audited rows do not rule out more than {percent(error)} wrong."
    threshold = found.threshold if found.n_accepted and math.isfinite(found.threshold) else None
    return {"error": error, "count": found.n_accepted, "threshold": threshold, "words": words}


def _score(score: Score, skipped: int, words: str) -> dict[str, Any]:
    limits = {"low": score.low, "high": score.high, "right": score.correct, "n": score.n}
    return {**limits, "skipped": skipped, "words": words}


def _recall(name: str, found: Score) -> dict[str, Any]:
    return {"name": name, "right": f"{found.correct} of {found.n}", "low": found.low, "high": found.high}


def _between(score: Score) -> str:
    return f"between {percent(score.low)} and {percent(score.high)} of its labels are right"
