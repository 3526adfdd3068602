"""The page Truth: how many labels are right, and which can be accepted."""

from __future__ import annotations

from typing import Literal, TypedDict

from chary.audit import Audit, JudgedTable
from chary.labelling import LabeledTable
from chary.report import (
    AcceptanceSummary,
    AccuracyBar,
    ChangedLabels,
    ClassShareSummary,
    MatrixSummary,
    Note,
    ScoreSummary,
    WrongRowSummary,
    as_data,
    baseline_bar,
    quality,
    summarize,
    summarize_judged,
)
from chary.review.errors import ConflictError
from chary.review.workbench import Body, Query, Workbench
from chary.tables import ACCEPT, TableError

# A person can choose one of these errors.
ERRORS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3)
NOT_YET = "Not known yet: label the random rows first; the result follows."


class TruthFigures(TypedDict):
    """What an audit says of labels, whichever error is chosen."""

    changed_labels: list[ChangedLabels]
    headline: str
    bars: list[AccuracyBar]
    sentences: list[str]
    audited: int  # rows that the figures rest on
    classes: dict[str, ScoreSummary]  # of the rows of each class: how many carry its label
    matrix: MatrixSummary | None
    shares: list[ClassShareSummary]  # how many rows are of each class; empty: not known
    wrong: list[WrongRowSummary]  # judged rows that were labelled otherwise by the person
    notes: list[Note]


class TruthPage(TruthFigures):
    """What the page shows: the figures, and what can be accepted."""

    unfinished: str  # why only the accuracy is shown; empty: all is shown
    ready: Literal[True]
    chosen: float | None  # the error allowed among labels to accept
    column: str  # marks what is accepted
    acceptance: list[AcceptanceSummary]  # by error
    rows_to_accept: int


class NotYetPage(TypedDict):
    """What the page shows as long as the audit says nothing."""

    ready: Literal[False]
    why_not: str


def truth_page(bench: Workbench, query: Query) -> TruthPage | NotYetPage:
    """Tell how many labels are right, and which can be accepted."""
    result = bench.result
    # A labelled table has an audit, or None; a judged table is an audit itself.
    audit: Audit | None = getattr(result, "audit", result)
    if audit is None or bench.inputs().options.audit is None:
        return {"ready": False, "why_not": NOT_YET}

    figures: TruthFigures = bench.view("truth", lambda: _truth_of(result))
    sentences = figures["sentences"]
    unfinished = ""
    if audit.answers.is_unfinished:
        unfinished = audit.answers.unfinished_sentence
        sentences = [*sentences, unfinished]
    chosen = bench.options.error
    # An error that was typed with the command is offered, too.
    errors = set(ERRORS)
    if chosen is not None:
        errors.add(chosen)
    return {
        **figures,
        "sentences": sentences,
        "unfinished": unfinished,
        "ready": True,
        "chosen": chosen,
        "column": ACCEPT,
        "acceptance": as_data(audit.accepted_at(sorted(errors))),
        "rows_to_accept": 0 if audit.acceptor is None else audit.acceptor.n_rows,
    }


def accept(bench: Workbench, body: Body) -> TruthPage | NotYetPage:
    """Choose the error allowed among labels to accept; None: accept none."""
    error = body.get("error")
    if error is not None:
        truth = truth_page(bench, {})
        if not truth["ready"]:
            raise TableError(NOT_YET)
        if truth["unfinished"]:
            raise TableError(truth["unfinished"])
        if not (isinstance(error, float) and 0 < error < 1):
            raise TableError(
                "The share of wrong labels that you allow is between 0% and 100%, such as 10%."
            )
    bench.choose_error(error)
    return truth_page(bench, {})


def _truth_of(result: LabeledTable | JudgedTable) -> TruthFigures:
    """Tell how good labels are."""
    if isinstance(result, JudgedTable):
        return truth_of_judged(result)
    return truth_of_labels(result)


def truth_of_labels(result: LabeledTable) -> TruthFigures:
    """Tell how good the labels of a model are, before and after the audit."""
    summary = summarize(result)
    audit = summary["audit"]
    if audit is None:
        raise ConflictError(NOT_YET)
    overall = quality(summary)
    return {
        "changed_labels": [],
        "headline": overall["headline"],
        "bars": overall["bars"],
        "sentences": [overall["sentence"]],
        "audited": audit["before"]["n"],
        "classes": audit["classes"],
        "matrix": audit["matrix"],
        "shares": audit["shares"],
        "wrong": [],
        "notes": audit["notes"],
    }


def truth_of_judged(result: JudgedTable) -> TruthFigures:
    """Tell how good the judged labels in each column are."""
    summary = summarize_judged(result)
    columns = summary["columns"]
    first = columns[0]
    bars: list[AccuracyBar] = [
        {"words": column["name"], **column["promised"], "mark": None} for column in columns
    ]
    if first["baseline"] is not None:
        bars.append(baseline_bar(first["baseline"]))
    recalls: dict[str, ScoreSummary] = {}
    for figures in first["classes"]:
        if figures["recall"] is not None:
            recalls[figures["name"]] = figures["recall"]
    return {
        "changed_labels": summary["changed_labels"],
        "headline": first["headline"],
        "bars": bars,
        "sentences": [
            *(column["sentence"] for column in columns),
            *(column["coverage_sentence"] for column in columns if column["missing"]),
            *(column["baseline"]["sentence"] for column in columns if column["baseline"]),
            *(pair["sentence"] for pair in summary["pairs"]),
        ],
        "audited": summary["audited"],
        "classes": recalls,
        "matrix": first["matrix"],
        "shares": list(first["classes"]),
        "wrong": summary["wrong"],
        "notes": summary["notes"],
    }
