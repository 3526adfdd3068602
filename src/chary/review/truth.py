"""The page Truth: how many labels are right, and which can be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chary.audit.answers import Audit
from chary.audit.judge import JudgedTable
from chary.labelling import LabeledTable
from chary.report.summary import as_data, quality, summarize, summarize_judged
from chary.review.state import FEWEST, PLANNED, Workbench
from chary.tables import TableError
from chary.tables.table import ACCEPT

ERRORS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3)  # to choose from


def truth_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """How many labels are right, and which can be accepted."""
    truth, chosen = figures(bench), bench.options.error
    if truth is None or bench.given().options.audit is None:
        return {"ready": False, "why_not": _why_not(bench)}
    audit = bench.result if isinstance(bench.result, JudgedTable) else bench.result.audit
    errors = sorted({*ERRORS, *([] if chosen is None else [chosen])})
    return {
        **truth,
        "ready": True,
        "chosen": chosen,
        "column": ACCEPT,  # marks what is accepted
        "acceptance": as_data(audit.accepted_at(errors)),
        "rows_to_accept": 0 if audit.acceptor is None else audit.acceptor.n_rows,
    }


def accept(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose how many wrong labels are allowed among those to accept."""
    if set(body) != {"error"}:
        raise TableError("Which error is allowed was not said.")
    truth = figures(bench)
    if body["error"] is not None and truth is None:
        raise TableError(_why_not(bench))
    if body["error"] is not None and truth is not None and truth["unfinished"]:
        raise TableError(truth["unfinished"])
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


def truth_of_labels(result: LabeledTable) -> dict[str, Any]:
    """Of labels that a model made: it is judged as it was before it saw the answers, and after."""
    summary = summarize(result)
    audit, found = summary["audit"], quality(summary)
    unfinished = _unfinished_sentence(result.audit)
    return {
        **found,
        "changed_labels": [],
        "sentences": [found["sentence"], *filter(None, [unfinished])],
        "unfinished": unfinished,
        "audited": audit["before"]["n"],
        "classes": audit["classes"],
        "notes": audit["notes"],
    }


def truth_of_judged(result: JudgedTable) -> dict[str, Any]:
    """Of labels that anybody made."""
    summary = summarize_judged(result)
    first = summary["columns"][0]
    unfinished = _unfinished_sentence(result)
    sentences = [one["sentence"] for one in [*summary["columns"], *summary["pairs"]]]
    return {
        "changed_labels": summary["changed_labels"],
        "headline": first["headline"],
        "bars": [{"words": one["name"], **one["promised"], "mark": None} for one in summary["columns"]],
        "sentences": [*sentences, *filter(None, [unfinished])],
        "unfinished": unfinished,
        "audited": summary["audited"],
        "classes": {one["name"]: one["recall"] for one in first["classes"] if one["recall"]},
        "notes": summary["notes"],
    }


def _unfinished_sentence(audit: Audit | None) -> str:
    """Why nothing but the accuracy is shown; empty if all is."""
    if audit is None or not audit.answers.is_unfinished:
        return ""
    return audit.answers.unfinished_sentence


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
