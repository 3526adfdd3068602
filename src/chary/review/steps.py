"""How far a review is in; the steps of it, which are done, and the one obvious next out."""

from __future__ import annotations

from typing import Any

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
