"""A summary in; the few lines of it that a notebook or a Python prompt shows out."""

from __future__ import annotations

from textwrap import fill
from typing import Any

from chary._words import p_value, shown, visible
from chary.method import ACCURACY
from chary.report.hints import Hints, aim_question, prior_advice
from chary.report.page import render_snippet
from chary.report.summary import Summary

_N_CLASSES, _N_NAMED, _WIDTH = 12, 10, 100


def brief(summary: Summary, hints: Hints) -> dict[str, Any]:
    """Counts, verdict, what was left out, and the next step, of a labelled table."""
    sources = summary["sources"]
    return {
        "title": f"Labels for {shown(summary['target'])} in {visible(summary['file'])}",
        "counts": [("rows", summary["rows"]), *sources.items()],
        "heads": ["Class", *(source.capitalize() for source in sources)],
        "rows": [
            [visible(of_class["name"], 40), *(f"{of_class[source]:,}" for source in sources)]
            for of_class in summary["classes"][:_N_CLASSES]
        ],
        "more": max(0, len(summary["classes"]) - _N_CLASSES),
        **_verdict(summary["diagnosis"]),
        "notes": [*_aimed(summary["aim"]), *_noticed(summary["columns"]), *_accuracy(summary)],
        "next": _next(summary, hints),
    }


def brief_diagnosis(summary: dict[str, Any], hints: Hints) -> dict[str, Any]:
    """Verdict, what differs most, what was left out, and the next step, of a diagnosis."""
    differing = [
        [visible(shift["name"], 40), f"{shift['difference']:+.2f}", p_value(shift["p_value"])]
        for shift in summary["shifts"][:5]
    ]
    return {
        "title": f"Rows of {visible(summary['file'])}",
        "counts": [("labelled", summary["labeled"]), ("others", summary["unlabeled"])],
        "heads": ["What differs most", "standard deviations", "p"] if differing else [],
        "rows": differing,
        "more": 0,
        **_verdict(summary),
        "notes": _noticed(summary["columns"]),
        "next": f"{prior_advice(summary, hints)} {aim_question(hints)}".lstrip(),
    }


def brief_text(figures: dict[str, Any]) -> str:
    """For a prompt: plain text."""
    lines = [f"{figures['title']}: {', '.join(f'{count:,} {name}' for name, count in figures['counts'])}"]
    if figures["heads"]:
        lines += ["", *_grid([figures["heads"], *figures["rows"]])]
        lines += [f"and {figures['more']} more"] * bool(figures["more"])
    lines += ["", fill(f"{figures['verdict'].capitalize()}. {figures['sentence']}", _WIDTH)]
    lines += [fill(note, _WIDTH) for note in figures["notes"]]
    lines += [fill(f"Next: {figures['next']}", _WIDTH)] * bool(figures["next"])
    return "\n".join(lines)


def brief_html(figures: dict[str, Any]) -> str:
    """For a notebook: a few lines of HTML."""
    return render_snippet(figures)


def noticed(columns: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The columns that were left out, and the used ones of which it is doubtful what they mean."""
    doubtful = [column for column in columns if column["used"] and column.get("doubtful")]
    return [column for column in columns if not column["used"]], doubtful


def why(column: dict[str, Any]) -> str:
    """Why a column was left out, or what is doubtful about it."""
    doubt = column.get("doubtful")
    return doubt if isinstance(doubt, str) and doubt else column["note"]


def named(columns: list[dict[str, Any]], most: int) -> str:
    """Columns by name, each with why it is named; no more than so many of them."""
    names = ", ".join(f"{visible(column['name'], 40)} ({visible(why(column), 120)})" for column in columns[:most])
    return f"{names} and {len(columns) - most} more" if len(columns) > most else names


def _noticed(columns: list[dict[str, Any]]) -> list[str]:
    pairs = zip(("Left out", "Doubtful"), noticed(columns), strict=True)
    return [f"{what}: {named(some, _N_NAMED)}." for what, some in pairs if some]


def _verdict(diagnosis: dict[str, Any]) -> dict[str, Any]:
    tone = "good" if diagnosis["representative"] else "bad" if diagnosis["strongly"] else "fair"
    return {"verdict": diagnosis["verdict"], "sentence": diagnosis["sentence"], "tone": tone}


def _accuracy(summary: Summary) -> list[str]:
    audit, accept = summary["audit"], summary["accept"]
    if audit is None:
        return []
    after = audit["after"]
    right = (
        f"Accuracy by the audit: {after['share']:.0%} ({after['low']:.0%} to {after['high']:.0%}, approximate)."
    )
    return [right, *(note["text"] for note in audit["notes"] if note["warning"]), *_sentence(accept)]


def _aimed(aim: dict[str, str]) -> list[str]:
    return [] if aim["name"] == ACCURACY else [aim["sentence"]]


def _sentence(accept: dict[str, Any] | None) -> list[str]:
    return [] if accept is None else [accept["sentence"]]


def _next(summary: Summary, hints: Hints) -> str:
    """What would help most."""
    if summary["audit"] is None and summary["audit_size"]:
        number = "thirty" if summary["audit_size"] == 30 else summary["audit_size"]
        how = f": {hints.draw}" if hints.draw else ""
        return f"nobody knows how accurate this is until {number} rows drawn at random are labelled{how}."
    if summary["audit"] is None:
        return "look at the new labels one by one, they are few."
    if summary["accept"] is None:
        return f"have the rows marked that can be accepted: {hints.error}."
    return ""


def _grid(rows: list[list[str]]) -> list[str]:
    """Names on the left, numbers on the right, under each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
