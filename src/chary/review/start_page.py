"""The page Start: the target, its classes, the columns and the bias; and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

from chary._words import counted, shown
from chary.labelling import DEFAULTS
from chary.options import ReviewOptions
from chary.report import ColumnSummary, DiagnosedSummary, as_data
from chary.review.audit_page import AuditProgress, DrawPlan, plan_draw, progress_of
from chary.review.background import Work
from chary.review.errors import KINDS
from chary.review.jobs import CHOOSE, JUDGE, LABEL, ChooseJob, ColumnChoice
from chary.review.row_to_label import whole_number
from chary.review.workbench import READINGS, Body, Query, Workbench, kinds_of
from chary.tables import (
    MAX_CLASSES,
    TableError,
    Value,
    codes_in,
    header_row_in,
    likely_slips,
    other_orders_in,
)


class Reading(TypedDict):
    """How cells of a column may be read: a code that means "missing", or an order of dates."""

    option: str  # "missing" or "dates"
    value: str
    words: str
    chosen: bool


class ColumnRow(ColumnSummary):
    """A column, how it was read, and what can be chosen."""

    examples: list[str]
    readings: list[Reading]  # empty if its cells leave nothing open
    chosen: str | None  # one of ``KINDS``


class SlipRow(TypedDict):
    """A label that may be a slip, or was chosen to be one."""

    label: str
    words: str  # what is said of it
    meant: str  # the class that it may be a slip for, or is counted as
    chosen: str | None  # the class that it is counted as; None: a class of its own


class StartPage(TypedDict):
    """What the page shows once the labels are chosen."""

    columns: list[ColumnRow]
    kinds: list[str]
    values: list[Value]  # each as a dict
    slips: list[SlipRow]
    header_row: int | None  # of the column names; None: the first row
    rows: int
    labelled: int
    notes: list[str]
    diagnosis: DiagnosedSummary | None
    planned: DrawPlan


class ChoosePage(TypedDict):
    """What the page shows until the labels are chosen."""

    columns: list[ColumnChoice]
    target: str
    task: str
    values: list[Value]  # each as a dict
    more: int  # values beyond those shown
    header_row: int | None  # of the column names; None: the first row
    rows: int
    notes: list[str]


class NextPage(TypedDict):
    """What to do next, and where."""

    page: str
    words: str


class Overview(TypedDict):
    """What every page shows."""

    kind: str
    version: int
    work: Work
    audit: AuditProgress | None
    learned: bool
    stale: bool
    notices: list[str]
    next: NextPage


def start_page(bench: Workbench, query: Query) -> StartPage | ChoosePage:
    """Show how the table was read, and what can be chosen."""
    job = bench.job
    if isinstance(job, ChooseJob):
        return _choose_page(job, query.get("target", ""))
    return {
        "columns": _columns(bench),
        "kinds": list(KINDS),
        "values": as_data(job.values),
        "slips": _slips(bench),
        "header_row": job.options.header_row or header_row_in(job.table.notes),
        "rows": job.table.frame.height,
        "labelled": sum(value.rows for value in job.values if value.is_label),
        "notes": [_without_option(note) for note in (*job.table.notes, *job.notes)],
        "diagnosis": bench.diagnosis,
        "planned": plan_draw(job.population),
    }


def _choose_page(job: ChooseJob, target: str) -> ChoosePage:
    """Show the columns that may hold the labels, and the values of one."""
    options = job.options
    # Begin with the column that the command named: its values need a decision.
    if not target:
        target = "".join(options.labels[:1]) or options.target or ""
    values = job.values_of(target) if target else []
    return {
        "columns": job.columns_to_choose(),
        "target": target,
        "task": JUDGE if options.labels else LABEL,
        "values": as_data(values[:MAX_CLASSES]),
        "more": len(values[MAX_CLASSES:]),
        "header_row": options.header_row or header_row_in(job.table.notes),
        "rows": job.table.frame.height,
        "notes": [_without_option(note) for note in job.table.notes],
    }


def choose_kind(bench: Workbench, body: Body) -> StartPage | ChoosePage:
    """Choose what a column holds; learning begins anew."""
    bench.choose_kind(body.get("column"), body.get("kind"))
    return start_page(bench, {})


def choose_reading(bench: Workbench, body: Body) -> StartPage | ChoosePage:
    """Choose how cells of a column are read; learning begins anew."""
    option = body.get("option")
    value = body.get("value")
    chosen = body.get("chosen")
    if option not in READINGS or not isinstance(value, str) or not isinstance(chosen, bool):
        raise TableError("The choice is not valid.")
    bench.choose_reading(body.get("column"), option, value, chosen)
    return start_page(bench, {})


def choose_header_row(bench: Workbench, body: Body) -> StartPage | ChoosePage:
    """Choose the row of the column names, and read the table again."""
    bench.choose_header_row(whole_number(body.get("row")))
    return start_page(bench, {})


def choose_same(bench: Workbench, body: Body) -> StartPage | ChoosePage:
    """Choose the class that a label is counted as; learning begins anew."""
    label = body.get("label")
    meant = body.get("meant")
    if not isinstance(label, str) or not isinstance(meant, str | None):
        raise TableError("The choice is not valid.")
    bench.choose_same(label, meant)
    return start_page(bench, {})


def choose_labels(bench: Workbench, body: Body) -> StartPage | ChoosePage:
    """Choose the target, which of its values are labels, and what to do with them."""
    column = body.get("target")
    task = body.get("task")
    unlabeled = _texts_in(body, "unlabeled")
    classes = _texts_in(body, "classes")
    if not isinstance(column, str) or task not in (LABEL, JUDGE):
        raise TableError("The choice is not valid.")

    chosen: dict[str, Any] = {"target": column, "labels": (), "confidence": None}
    if task == JUDGE:
        chosen = {"target": None, "labels": (column,)}
    bench.choose_labels(column, unlabeled=unlabeled, classes=classes, **chosen)
    return start_page(bench, {})


def relearn(bench: Workbench, body: Body) -> Overview:
    """Learn from all answers, in the background."""
    bench.learn()
    return overview(bench, {})


def _texts_in(body: Body, name: str) -> tuple[str, ...]:
    """Return the list of texts that a request sends by a name; refuse anything but texts."""
    texts = body.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TableError("The choice is not valid.")
    return tuple(texts)


def _slips(bench: Workbench) -> list[SlipRow]:
    """List the labels that were chosen to be slips, then others that may be slips."""
    if bench.job.kind != LABEL:
        return []
    slips: list[SlipRow] = []
    chosen_slips = bench.options.same or {}
    for label, meant in chosen_slips.items():
        words = f"{shown(label)} is counted as {shown(meant)}."
        slips.append({"label": label, "words": words, "meant": meant, "chosen": meant})

    rows_of = {value.name: value.rows for value in bench.job.values if value.is_label}
    for slip in likely_slips(rows_of, DEFAULTS.slip_share):
        n_rows = counted(slip.rows, "row")
        words = f"{shown(slip.label)} ({n_rows}) may be a slip for {shown(slip.meant)}."
        slips.append({"label": slip.label, "words": words, "meant": slip.meant, "chosen": None})
    return slips


def _columns(bench: Workbench) -> list[ColumnRow]:
    """List the columns that are not hidden.

    How each was read is known only after the diagnosis; until then its kind is empty.
    """
    columns = bench.diagnosis["columns"] if bench.diagnosis else []
    columns_read = {column["name"]: column for column in columns}
    chosen_kinds = kinds_of(bench.options)
    rows: list[ColumnRow] = []
    for name, examples in bench.job.examples.items():
        unread: ColumnSummary = {
            "name": name,
            "kind": "",
            "used": True,
            "note": "",
            "doubtful": False,
        }
        column = columns_read.get(name, unread)
        row: ColumnRow = {
            **column,
            "examples": examples,
            "readings": _readings(column, bench.options),
            "chosen": chosen_kinds.get(name),
        }
        row["note"] = _without_option(column["note"])
        rows.append(row)
    return rows


def _without_option(note: str) -> str:
    """Leave out the option of the command that a note ends with: the page has a choice for it.

    >>> _without_option("read as day first; if not, --dates month-first")
    'read as day first'
    """
    return re.sub(r"; if not, (pass )?--[^,.]*", "", note)


def _readings(column: ColumnSummary, options: ReviewOptions) -> list[Reading]:
    """List the readings of a column that were chosen, then those that its note asks about."""
    words_of = {
        "missing": "{} means that there is no answer",
        "dates": "dates are written {}",
    }
    open_values = {
        "missing": codes_in(column["note"]),
        "dates": other_orders_in(column["note"]),
    }
    readings: list[Reading] = []
    for option, words in words_of.items():
        prefix = f"{column['name']}="
        settings: Sequence[str] = getattr(options, option)
        chosen = [text.removeprefix(prefix) for text in settings if text.startswith(prefix)]
        for value in dict.fromkeys([*chosen, *open_values[option]]):
            readings.append(
                {
                    "option": option,
                    "value": value,
                    "words": words.format(value.replace("-first", " first")),
                    "chosen": value in chosen,
                }
            )
    return readings


# ------------------------------------------------------------ what every page shows


def overview(bench: Workbench, query: Query) -> Overview:
    """Show how far audit, learning and files are."""
    filling = bench.sheets.audit
    state: Overview = {
        "kind": bench.job.kind,
        "version": bench.version,
        "work": bench.background.view(),
        "audit": None if filling is None else progress_of(filling),
        "learned": bench.result is not None,
        "stale": bench.is_stale,
        "notices": bench.notices,
        "next": {"page": "/", "words": "Choose the labels"},
    }
    if bench.job.kind != CHOOSE:
        state["next"] = next_page(state)
    return state


def next_page(state: Overview) -> NextPage:
    """Say what to do next, in a few words, and on which page."""
    audit = state["audit"]
    if audit is None:
        return {"page": "/", "words": "Draw random rows to label"}
    if audit["left"]:
        rows = "row" if audit["left"] == 1 else "rows"
        return {"page": "/audit", "words": f"Label {audit['left']:,} more random {rows}"}
    if state["work"]["running"]:
        return {"page": "/truth", "words": "Wait for the result of the audit"}
    if state["stale"] or not state["learned"]:
        page = "/review" if state["kind"] == LABEL else "/truth"
        return {"page": page, "words": "Learn from your answers"}
    return {"page": "/truth", "words": "See how many labels are right"}
