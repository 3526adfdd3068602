"""The page Start: columns, classes, bias and the questions that only a person can answer; and what to do next."""

from __future__ import annotations

from typing import Any

import polars as pl

from chary.audit import interval
from chary.labelling.diagnose import MILD, REPRESENTATIVE
from chary.options import Options
from chary.report.page import density_outlines, number_in_units
from chary.report.summary import Hints, aim_question, prior_advice
from chary.review.files import KINDS, Choices
from chary.tables.cells import cell_texts

_EXAMPLES, _CONTRASTS, _LOOKED_AT = 3, 5, 200
_PRIOR = "choose its share below"
_AIM = "choose “every class counts the same”"


def columns_of(job: Any, summary: dict[str, Any] | None, choices: Choices, examples: dict[str, list[str]]) -> Any:
    """Each column that is not hidden: what it was taken for, once that is known, and some of its cells.

    ``examples`` holds those that were looked for before.
    """
    found = {} if summary is None else {column["name"]: column for column in summary["columns"]}
    unknown = {"kind": "", "used": True, "note": "", "doubtful": False}
    columns = []
    for name in [name for name in job.table.frame.columns if name not in job.hidden]:
        about = found.get(name, unknown)
        if name not in examples:
            examples[name] = examples_of(job.table.frame[name])
        columns.append(
            {
                "name": name,
                **{key: about[key] for key in ("kind", "used", "note")},
                "doubtful": about["note"] if about["doubtful"] else "",
                "examples": examples[name],
                "choices": list(KINDS) if job.kind == "label" else [],
                "chosen": choices.kinds.get(name),
            }
        )
    return columns


def examples_of(cells: pl.Series) -> list[str]:
    """A few different cells."""
    some = cell_texts(cells.slice(0, _LOOKED_AT), 60).drop_nulls()
    return [str(text) for text in some.unique(maintain_order=True).head(_EXAMPLES).to_list()]


def diagnosis_of(summary: dict[str, Any]) -> dict[str, Any]:
    """The verdict, its picture and the columns that differ most."""
    level = {REPRESENTATIVE: "good", MILD: "fair"}.get(summary["verdict"], "bad" if summary["biased"] else "fair")
    return {
        "verdict": summary["verdict"],
        "sentence": summary["sentence"],
        "level": level,
        "outlines": density_outlines(summary["density"]),
        "contrasts": [
            {
                "feature": shift["name"],
                "labeled": number_in_units(shift["labeled"], shift["is_share"]),
                "unlabeled": number_in_units(shift["unlabeled"], shift["is_share"]),
            }
            for shift in summary["shifts"][:_CONTRASTS]
        ],
    }


def questions_of(summary: dict[str, Any] | None, options: Options, kind: str) -> dict[str, str]:
    """What only a person can know, asked in plain words; nothing where there is no use in asking."""
    if kind != "label":
        return {"prior": "", "aim": ""}
    hints = Hints(class_prior=_PRIOR, aim=_AIM)
    told = options.class_prior is not None
    return {
        "prior": "" if summary is None else prior_advice(summary, hints, told),
        "aim": aim_question(hints, options.aim),
    }


def planned_of(population: int, size: int) -> dict[str, Any]:
    """How many rows to draw, and what they will tell."""
    k = max(2, min(size, population))
    right = round(0.9 * k)
    low, high = interval(right, k)
    words = f"If {right} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval)."
    return {"k": k, "most": population, "words": words}


# ------------------------------------------------------------ steps

PAGES = {"/": "Start", "/audit": "Audit", "/truth": "Truth", "/review": "Review", "/result": "Result"}


def steps_of(state: dict[str, Any], written: bool) -> list[dict[str, Any]]:
    """Every page, and whether what it is for is done."""
    audit, fresh = state["audit"], state["learned"] and not state["stale"]
    complete = audit is not None and not audit["left"]
    live = audit is not None and audit["rule"] == "live" and audit["answered"] >= 2
    done = {
        "/": audit is not None,
        "/audit": complete,
        "/truth": fresh and (complete or live),
        "/review": state["checked"] > 0,
        "/result": fresh and written and complete,
    }
    pages = {page: name for page, name in PAGES.items() if page != "/review" or state["kind"] == "label"}
    return [{"page": page, "name": name, "done": bool(done[page])} for page, name in pages.items()]


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
