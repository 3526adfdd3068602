"""The page Start: which column holds the labels, classes, columns, bias and questions; and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chary._words import percent
from chary.audit import interval
from chary.options import AUDIT_SIZE, minutes
from chary.review.audit import MOST_DRAWN, progress_of
from chary.review.files import KINDS, SETTINGS, kinds_of
from chary.review.jobs import ChooseJob
from chary.review.state import Workbench
from chary.tables import TableError
from chary.tables.target import MAX_CLASSES

_CONTRASTS = 5
_SIZES = (20, 30, 50, 100, 200, 400)  # of draws to choose from
_UNKNOWN = {"kind": "", "used": True, "note": "", "doubtful": False}


def start_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """What was read, what it is taken for, and what can be chosen."""
    job, options, summary = bench.job, bench.options, bench.diagnosis
    if isinstance(job, ChooseJob):
        return _to_choose(job, query.get("target") or next(iter([*options.labels, options.target or ""])))
    return {
        "columns": _columns(bench),
        "values": [one._asdict() for one in job.values],
        "classes": list(job.classes),
        "fixed": job.kind != "label" or bench.is_begun,  # whether which values are labels can no longer be chosen
        "rows": job.table.frame.height,
        "labelled": sum(one.rows for one in job.values if one.is_label),
        "notes": [*job.table.notes, *job.notes],
        "diagnosis": None if summary is None else _diagnosis(summary),
        "settings": {name: getattr(options, name) for name in SETTINGS},
        "planned": planned_draw(min(job.population, MOST_DRAWN)),
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


def change(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose other settings; where the labels depend on them, learning begins anew."""
    bench.require_unchanged()
    if bench.job.kind == "judge" and set(body) - {"error"}:
        raise TableError("That cannot be chosen here.")
    bench.choose(body)
    return start_page(bench, {})


def choose_labels(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the column that holds the labels and what to do with it, or which of its values are labels."""
    bench.require_unchanged()
    task, name = body.get("task"), body.get("target")
    lists = {one: body[one] for one in ("unlabeled", "classes") if one in body}
    texts = [text for values in lists.values() for text in (values if isinstance(values, list) else [None])]
    if not all(isinstance(text, str) for text in [*texts, name or ""]) or task not in (None, "label", "judge"):
        raise TableError("The choice is not valid.")
    chosen: dict[str, Any] = {key: tuple(values) for key, values in lists.items()}
    if task is not None or "target" in body:  # without a task: back to where it is chosen
        chosen |= {"target": name if task == "label" else None, "labels": (name,) if task == "judge" else ()}
        chosen |= {"confidence": None}
    bench.choose_labels(**chosen)
    return start_page(bench, {})


def relearn(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Learn from all answers, in the background."""
    bench.require_unchanged()
    bench.learn()
    return overview(bench, {})


def _columns(bench: Workbench) -> list[dict[str, Any]]:
    """Each column that is not hidden: what it was taken for, once that is known, and some of its cells."""
    found = {} if bench.diagnosis is None else {column["name"]: column for column in bench.diagnosis["columns"]}
    choices, chosen = list(KINDS) if bench.job.kind == "label" else [], kinds_of(bench.options)
    columns = []
    for name, examples in bench.job.examples.items():
        about = found.get(name, _UNKNOWN)
        told = {key: about[key] for key in ("kind", "used", "note", "doubtful")}
        columns.append(
            {"name": name, **told, "examples": examples, "choices": choices, "chosen": chosen.get(name)}
        )
    return columns


def _diagnosis(summary: dict[str, Any]) -> dict[str, Any]:
    """The verdict and the columns that differ most."""
    return {
        "verdict": summary["verdict"],
        "sentence": summary["sentence"],
        "level": summary["tone"],
        "contrasts": [
            {"feature": shift["name"], "labeled": shift["labeled_words"], "unlabeled": shift["unlabeled_words"]}
            for shift in summary["shifts"][:_CONTRASTS]
        ],
    }


def planned_draw(population: int) -> dict[str, Any]:
    """How many rows to draw, and what they will tell."""
    k = max(2, min(AUDIT_SIZE, population))
    sizes = []
    for n in [n for n in _SIZES if n <= population]:
        low, high = map(percent, interval(round(0.9 * n), n, population))
        sizes.append({"rows": n, "time": minutes(n), "interval": f"{low} to {high}"})
    return {"k": k, "most": population, "sizes": sizes}


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
        return {"page": "/", "words": "Choose the labels" if choosing else "Draw random rows to label"}
    if audit["left"]:
        rows = "row" if audit["left"] == 1 else "rows"
        return {"page": "/audit", "words": f"Label {audit['left']:,} more random {rows}"}
    if state["work"]["running"]:
        return {"page": "/truth", "words": "Wait for the result of the audit"}
    if state["stale"] or not state["learned"]:
        return {"page": "/review" if state["kind"] == "label" else "/truth", "words": "Learn from your answers"}
    return {"page": "/truth", "words": "See how many labels are right"}
