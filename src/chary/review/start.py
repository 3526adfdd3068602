"""The page Start: columns, classes, bias and the questions that only a person can answer; and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chary.audit import interval
from chary.labelling.diagnose import MILD, REPRESENTATIVE
from chary.options import AUDIT_SIZE
from chary.report.page import density_outlines
from chary.report.summary import Hints, aim_question, prior_advice
from chary.review.audit import MOST_DRAWN, progress_of
from chary.review.files import KINDS, SETTINGS, kinds_of
from chary.review.state import FEWEST, LIVE, Workbench, locked
from chary.tables import TableError

_CONTRASTS = 5
_HINTS = Hints(class_prior="choose its share below", aim="choose “every class counts the same”")
_UNKNOWN = {"kind": "", "used": True, "note": "", "doubtful": False}


@locked
def start_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """What was read, what it is taken for, and what can be chosen."""
    job, options, summary = bench.job, bench.options, bench.diagnosis
    prior = aim = ""
    if job.kind == "label":
        aim = aim_question(_HINTS, options.aim)
        prior = "" if summary is None else prior_advice(summary, _HINTS, options.class_prior is not None)
    return {
        "columns": _columns(bench),
        "classes": [{"name": name, "labels": n} for name, n in job.counts.items()],
        "rows": job.table.frame.height,
        "labelled": sum(job.counts.values()),
        "notes": [*job.table.notes, *job.notes],
        "spellings": job.spellings,
        "diagnosis": None if summary is None else _diagnosis(summary),
        "settings": {name: getattr(options, name) for name in SETTINGS},
        "questions": {"prior": prior, "aim": aim},
        "planned": planned_draw(min(job.population, MOST_DRAWN)),
    }


@locked
def change(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Choose other settings; where the labels depend on them, learning begins anew."""
    bench.require_unchanged()
    if bench.job.kind == "judge" and set(body) - {"error"}:
        raise TableError("That cannot be chosen here.")
    bench.choose(body)
    return start_page(bench, {})


@locked
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
        told = {key: about[key] for key in ("kind", "used", "note")}
        doubtful = about["note"] if about["doubtful"] else ""
        own = {"examples": examples, "choices": choices, "chosen": chosen.get(name)}
        columns.append({"name": name, **told, "doubtful": doubtful, **own})
    return columns


def _diagnosis(summary: dict[str, Any]) -> dict[str, Any]:
    """The verdict, its picture and the columns that differ most."""
    level = {REPRESENTATIVE: "good", MILD: "fair"}.get(summary["verdict"], "bad" if summary["biased"] else "fair")
    return {
        "verdict": summary["verdict"],
        "sentence": summary["sentence"],
        "level": level,
        "outlines": density_outlines(summary["density"]),
        "contrasts": [
            {"feature": shift["name"], "labeled": shift["labeled_words"], "unlabeled": shift["unlabeled_words"]}
            for shift in summary["shifts"][:_CONTRASTS]
        ],
    }


def planned_draw(population: int) -> dict[str, Any]:
    """How many rows to draw, and what they will tell."""
    k = max(2, min(AUDIT_SIZE, population))
    right = round(0.9 * k)
    low, high = interval(right, k)
    words = f"If {right} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval)."
    return {"k": k, "most": population, "words": words}


# ------------------------------------------------------------ what every page shows


@locked
def overview(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """How far everything is."""
    audit = bench.sheets.audit
    told: dict[str, Any] = {
        "kind": bench.job.kind,
        "version": bench.version,
        "work": bench.background.view(),
        "audit": None if audit is None else progress_of(audit, bench.rule),
        "checked": len(bench.sheets.checked_rows()),
        "learned": bench.result is not None,
        "stale": bench.is_stale,
        "written": bench.paths.labels.exists() or bench.paths.report.exists(),
        "notices": bench.notices,
    }
    return {**told, "next": next_step(told), "done": done_pages(told)}


def done_pages(state: dict[str, Any]) -> list[str]:
    """The pages of which what they are for is done."""
    audit, fresh = state["audit"], state["learned"] and not state["stale"]
    complete = audit is not None and not audit["left"]
    live = audit is not None and audit["rule"] == LIVE and audit["answered"] >= FEWEST
    done = {
        "/": audit is not None,
        "/audit": complete,
        "/truth": fresh and (complete or live),
        "/review": state["checked"] > 0,
        "/result": fresh and state["written"] and complete,
    }
    return [page for page, is_done in done.items() if is_done]


def next_step(state: dict[str, Any]) -> dict[str, str]:
    """What to do next, in a few words, and where."""
    audit = state["audit"]
    if audit is None:
        return {"page": "/", "words": "Draw random rows to label"}
    if audit["left"]:
        rows = "row" if audit["left"] == 1 else "rows"
        return {"page": "/audit", "words": f"Label {audit['left']:,} more random {rows}"}
    if state["work"]["running"]:
        return {"page": "/truth", "words": "See how many labels are right, as soon as they are judged"}
    if state["stale"] or not state["learned"]:
        return {"page": "/review" if state["kind"] == "label" else "/truth", "words": "Learn from your answers"}
    return {"page": "/truth", "words": "See how many labels are right"}
