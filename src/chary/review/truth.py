"""The page Truth: how many labels are right, and which can be accepted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chary.audit.judge import JudgedTable
from chary.labelling import LabeledTable
from chary.report import as_data, quality, summarize, summarize_judged
from chary.review.state import Workbench
from chary.tables import TableError
from chary.tables.table import ACCEPT

ERRORS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3)  # to choose from
NOT_YET = "Not known yet: label the random rows first; the result follows."


def truth_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """How many labels are right, and which can be accepted."""
    result, chosen = bench.result, bench.options.error
    audit = result if isinstance(result, JudgedTable) else getattr(result, "audit", None)
    if audit is None or bench.given().options.audit is None:
        return {"ready": False, "why_not": NOT_YET}
    errors = sorted({*ERRORS, *([] if chosen is None else [chosen])})
    figures = truth_of_judged if isinstance(result, JudgedTable) else truth_of_labels
    answers = audit.answers
    unfinished = (
        answers.unfinished_sentence if answers.is_unfinished else ""
    )  # why only the accuracy is shown
    truth = bench.view("truth", lambda: figures(result))
    return {
        **truth,
        "sentences": [*truth["sentences"], *filter(None, [unfinished])],
        "unfinished": unfinished,
        "ready": True,
        "chosen": chosen,
        "column": ACCEPT,  # marks what is accepted
        "acceptance": as_data(audit.accepted_at(errors)),
        "rows_to_accept": 0 if audit.acceptor is None else audit.acceptor.n_rows,
    }


def accept(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose how many wrong labels are allowed among those to accept; None: mark none."""
    error = body.get("error")
    if error is not None:
        truth = truth_page(bench, {})
        if not truth["ready"] or truth["unfinished"]:
            raise TableError(truth.get("unfinished", NOT_YET))
        if not (isinstance(error, float) and 0 < error < 1):
            raise TableError(
                "The share of wrong labels that you allow is between 0% and 100%, such as 10%."
            )
    bench.choose_error(error)
    return truth_page(bench, {})


def truth_of_labels(result: LabeledTable) -> dict[str, Any]:
    """Of labels that a model made: it is judged as it was before it saw the answers, and after."""
    summary = summarize(result)
    audit, found = summary["audit"], quality(summary)
    return {
        **found,
        "changed_labels": [],
        "sentences": [found["sentence"]],
        "audited": audit["before"]["n"],
        "classes": audit["classes"],
        "matrix": audit["matrix"],
        "notes": audit["notes"],
    }


def truth_of_judged(result: JudgedTable) -> dict[str, Any]:
    """Of labels that anybody made."""
    summary = summarize_judged(result)
    first = summary["columns"][0]
    return {
        "changed_labels": summary["changed_labels"],
        "headline": first["headline"],
        "bars": [
            {"words": one["name"], **one["promised"], "mark": None} for one in summary["columns"]
        ],
        "sentences": [one["sentence"] for one in [*summary["columns"], *summary["pairs"]]],
        "audited": summary["audited"],
        "classes": {one["name"]: one["recall"] for one in first["classes"] if one["recall"]},
        "matrix": first["matrix"],
        "notes": summary["notes"],
    }
