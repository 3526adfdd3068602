"""The page Truth: how many labels are right, and which can be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chary._words import percent, shown
from chary.audit import Score, count_interval
from chary.audit.judge import JudgedTable
from chary.labelling import LabeledTable
from chary.report.summary import matrix_of, summarize_judged, why_none_accepted
from chary.review.state import FEWEST, PLANNED, Workbench, locked
from chary.tables import TableError
from chary.tables.table import ACCEPT

ERRORS = tuple(k / 100 for k in range(1, 31))
_LEVEL = 0.9
_BEFOREHAND = (
    "Choose how many wrong labels you allow before you look at the results: the guarantee holds for one choice."
)


@locked
def truth_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """How many labels are right, and which can be accepted."""
    truth = figures(bench)
    if truth is None or bench.given().options.audit is None:
        return {"ready": False, "why_not": _why_not(bench)}
    newer = ["Answers or settings are newer than these figures; learn again."] if bench.is_stale else []
    chosen = {"chosen": bench.options.error, "column": ACCEPT}  # the column that marks what is accepted
    return {**truth, **chosen, "ready": True, "notes": [*newer, *truth["notes"]]}


@locked
def accept(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose how many wrong labels are allowed among those to accept."""
    if set(body) != {"error"}:
        raise TableError("Which error is allowed was not said.")
    if body["error"] is not None and figures(bench) is None:
        raise TableError(_why_not(bench))
    bench.require_unchanged()
    bench.choose(body)
    return truth_page(bench, {})


def figures(bench: Workbench) -> dict[str, Any] | None:
    """What the answers say of the last result; None if it was made without them."""
    result = bench.result
    if isinstance(result, JudgedTable):
        return bench.view("truth", lambda: truth_of_judged(result))
    if result is None or result.audit is None:
        return None
    return bench.view("truth", lambda: truth_of_labels(result))


def quality_of(bench: Workbench) -> str:
    """One sentence on the table of labels: how many are right, or that nobody knows."""
    truth = truth_page(bench, {})
    if not truth["ready"]:
        return f"How many of these labels are right is not known yet. {truth['why_not']}"
    found = truth["after"] or truth["accuracy"]
    return f"Between {percent(found['low'])} and {percent(found['high'])} of the labels are right (95% interval)."


def truth_of_labels(result: LabeledTable) -> dict[str, Any]:
    """Of labels that a model made: it is judged as it was before it saw the answers, and after."""
    audit: Any = result.audit
    new, before, after, acceptor = ~result.labels.labeled, audit.accuracy, audit.after, audit.acceptor
    how = "holds whenever you stopped" if audit.answers.stopped else "exact"
    mended = result.options.checked is not None
    alone = "Your labels, with those you corrected, make" if mended else "Your labels alone make"
    right = f"{alone} a model that is right on {before.correct:,} of {before.n:,} random rows"
    n_new, promised = int(new.sum()), {"Mean confidence": float(result.confidence[new].mean())}
    if len(result.judged.correct):
        promised = {"Cross-validation on your labels": float(result.judged.correct.mean()), **promised}
    return {
        "accuracy": _score(before, f"{right}: {_between(before)} (95% interval, {how})."),
        "promised": promised,
        "after": _score(
            after,
            f"The model that made the labels has learned from those rows, too: {_between(after)} (95% interval, "
            "approximate: cross-fitted).",
        ),
        "acceptance": [_acceptance(acceptor, n_new, before.n, error) for error in ERRORS],
        "rows_to_accept": n_new,
        "shares": _shares(result),
        "classes": [_recall(name, found) for name, found in audit.classes.items()],
        "matrix": matrix_of(audit.pairs, [str(name) for name in result.labels.classes]),
        "notes": [*audit.notes, _BEFOREHAND],
    }


def truth_of_judged(result: JudgedTable) -> dict[str, Any]:
    """Of labels that anybody made."""
    summary = summarize_judged(result)
    column, acceptor = summary["columns"][0], result.acceptor
    n_rows = 0 if acceptor is None else acceptor.rest.n
    levels = [] if acceptor is None else [_acceptance(acceptor, n_rows, result.accuracy.n, e) for e in ERRORS]
    compared = [other["sentence"] for other in summary["columns"][1:]]
    compared += [_trust(one) for one in summary["trusted"]]
    pairs = [pair["sentence"] for pair in summary["pairs"]]
    promised = column["promised"]
    return {
        "accuracy": {**promised, "right": promised["correct"], "words": column["sentence"]},
        "promised": {},
        "after": None,
        "acceptance": levels,
        "rows_to_accept": n_rows,
        "shares": [
            {"name": c["name"], "labels": c["labelled_share"], "low": c["low_share"], "high": c["high_share"]}
            for c in column["classes"]
        ],
        "classes": [_recall(str(name), found) for name, found in result.classes.items()],
        "matrix": column["matrix"],
        "compared": compared,  # with other columns of labels
        "notes": [*pairs, *(note["text"] for note in summary["notes"]), *([_BEFOREHAND] if levels else [])],
    }


def _trust(one: dict[str, Any]) -> str:
    """Which column of labels to trust where it gives a class."""
    found, clear = one["precision"], "clearly" if one["is_clear"] else "not clearly"
    right = f"{found['correct']} of {found['n']} right"
    return f"Where the label is {shown(one['name'])}, {shown(one['column'])} is best ({right}), {clear} so."


def _why_not(bench: Workbench) -> str:
    filling = bench.sheets.audit
    if filling is None:
        return "No rows are drawn yet: label some random rows first."
    if bench.rule == PLANNED and filling.n_left:
        return f"{filling.n_left} of {len(filling.rows)} random rows have no answer yet."
    if filling.n_answered < FEWEST:
        return "Fewer than two random rows have a label yet."
    is_working = bench.background.running
    return "The labels are being judged." if is_working else "Your answers have not been learned from yet."


def _shares(result: LabeledTable) -> list[dict[str, Any]]:
    """The share of each class among the rows without a label: of the labels made, and by the audit, exactly."""
    audit, new, classes = result.audit, ~result.labels.labeled, result.labels.classes.astype(str)
    if audit is None:
        return []
    answers, n_new = audit.answers, int(new.sum())
    population = n_new + len(answers.rows)
    made = np.bincount(result.codes[new], minlength=len(classes)) / max(1, n_new)
    shares = []
    for name, share in zip(classes.tolist(), made.tolist(), strict=True):
        seen = int((answers.labels.astype(str) == name).sum())
        low, high = count_interval(seen, audit.accuracy.n, population, skipped=answers.n_skipped)
        shares.append({"name": name, "labels": share, "low": low / population, "high": high / population})
    return shares


def _acceptance(acceptor: Any, n_rows: int, n_audited: int, error: float) -> dict[str, Any]:
    """How many rows, from which confidence on, in words that promise no more than the audit does."""
    found, words = acceptor.at(error), f"None: {why_none_accepted(error, _LEVEL, n_audited)}."
    if found.n_accepted:
        words = (
            f"{found.n_accepted:,} of {n_rows:,} labels, those with a confidence of {found.threshold:.2%} or "
            f"more, with at most {percent(error)} wrong (level {_LEVEL:.0%})."
        )
    return {"error": error, "count": found.n_accepted, "words": words}


def _score(score: Score, words: str) -> dict[str, Any]:
    return {"low": score.low, "high": score.high, "right": score.correct, "n": score.n, "words": words}


def _recall(name: str, found: Score) -> dict[str, Any]:
    return {"name": name, "right": f"{found.correct} of {found.n}", "low": found.low, "high": found.high}


def _between(score: Score) -> str:
    return f"between {percent(score.low)} and {percent(score.high)} of its labels are right"
