"""The page Start: which column holds the labels, classes, columns and bias; and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chary.review.audit import planned_draw, progress_of
from chary.review.jobs import ChooseJob
from chary.review.state import KINDS, Workbench, kinds_of
from chary.tables import TableError
from chary.tables.target import MAX_CLASSES

_UNKNOWN = {"kind": "", "used": True, "note": "", "doubtful": False}


def start_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """What was read, what it is taken for, and what can be chosen."""
    job, summary = bench.job, bench.diagnosis
    if isinstance(job, ChooseJob):
        return _to_choose(
            job, query.get("target") or next(iter([*job.options.labels, job.options.target or ""]))
        )
    return {
        "columns": _columns(bench),
        "kinds": list(KINDS),
        "values": [one._asdict() for one in job.values],
        "rows": job.table.frame.height,
        "labelled": sum(one.rows for one in job.values if one.is_label),
        "notes": [*job.table.notes, *job.notes],
        "diagnosis": summary and {name: summary[name] for name in ("verdict", "sentence", "tone")},
        "planned": planned_draw(job.population),
    }


def _to_choose(job: ChooseJob, target: str) -> dict[str, Any]:
    """The columns that may hold the labels, and the values of one."""
    values = job.values_of(target) if target else []
    return {
        "columns": job.columns_to_choose(),
        "target": target,
        "task": "judge" if job.options.labels else "label",
        "values": [one._asdict() for one in values[:MAX_CLASSES]],
        "more": max(0, len(values) - MAX_CLASSES),
        "rows": job.table.frame.height,
        "notes": list(job.table.notes),
    }


def choose_kind(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a column holds; learning begins anew."""
    bench.choose_kind(body.get("column"), body.get("kind"))
    return start_page(bench, {})


def choose_labels(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the column that holds the labels, which of its values are labels, and what to do with it."""
    target, task = body.get("target"), body.get("task")
    lists = [body.get("unlabeled", []), body.get("classes", [])]
    are_lists = all(isinstance(values, list) for values in lists)
    if not are_lists or task not in ("label", "judge"):
        raise TableError("The choice is not valid.")
    unlabeled, classes = map(tuple, lists)
    if not all(isinstance(text, str) for text in (target, *unlabeled, *classes)):
        raise TableError("The choice is not valid.")
    bench.choose_labels(
        target=target if task == "label" else None,
        labels=(target,) if task == "judge" else (),
        confidence=bench.options.confidence if task == "judge" else None,
        unlabeled=unlabeled,
        classes=classes,
    )
    return start_page(bench, {})


def relearn(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Learn from all answers, in the background."""
    bench.learn()
    return overview(bench, {})


def _columns(bench: Workbench) -> list[dict[str, Any]]:
    """Each column that is not hidden: what it was taken for, once that is known, and some of its cells."""
    seen: Mapping[str, Mapping[str, Any]] = (
        {}
        if bench.diagnosis is None
        else {column["name"]: column for column in bench.diagnosis["columns"]}
    )
    chosen = kinds_of(bench.options)
    columns = []
    for name, examples in bench.job.examples.items():
        about = seen.get(name, _UNKNOWN)
        shown = {key: about[key] for key in _UNKNOWN}
        columns.append({"name": name, **shown, "examples": examples, "chosen": chosen.get(name)})
    return columns


# ------------------------------------------------------------ what every page shows


def overview(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """How far everything is."""
    choosing = bench.job.kind == "choose"
    audit = None if choosing else bench.sheets.audit
    told: dict[str, Any] = {
        "kind": bench.job.kind,
        "version": bench.version,
        "work": bench.background.view(),
        "audit": None if audit is None else progress_of(audit, bench.rule),
        "learned": bench.result is not None,
        "stale": not choosing and bench.is_stale,
        "notices": bench.notices,
    }
    return {**told, "next": next_page(told)}


def next_page(state: dict[str, Any]) -> dict[str, str]:
    """What to do next, in a few words, and where."""
    audit = state["audit"]
    if audit is None:
        choosing = state["kind"] == "choose"
        return {
            "page": "/",
            "words": "Choose the labels" if choosing else "Draw random rows to label",
        }
    if audit["left"]:
        rows = "row" if audit["left"] == 1 else "rows"
        return {"page": "/audit", "words": f"Label {audit['left']:,} more random {rows}"}
    if state["work"]["running"]:
        return {"page": "/truth", "words": "Wait for the result of the audit"}
    if state["stale"] or not state["learned"]:
        return {
            "page": "/review" if state["kind"] == "label" else "/truth",
            "words": "Learn from your answers",
        }
    return {"page": "/truth", "words": "See how many labels are right"}
