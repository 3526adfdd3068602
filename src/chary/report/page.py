"""The report as one self-contained HTML page: no script, no request, everything from the table escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from chary._words import number, percent, visible
from chary.report.next_steps import (
    Hints,
    aim_question,
    judged_steps,
    next_steps,
    prior_advice,
    quality,
)
from chary.report.plain_data import Summary

# The sections of either page in their order: a template of that name shows each.
_SECTIONS = (
    *("audit", "accept", "bias", "classes", "next", "second_look", "importance"),
    *("prior", "columns", "settings", "limits"),
)
_JUDGED_SECTIONS = ("accuracy", "compared", "classes", "shares", "slices", "accept", "limits")


def render_page(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of a labelled table as HTML."""
    diagnosis = summary["diagnosis"]
    page = templates_of("chary.report").get_template("page.html")
    return page.render(
        **summary,
        sections=[f"sections/{name}.html" for name in _SECTIONS],
        hints=hints,
        quality=quality(summary),
        steps=next_steps(summary, hints),
        advice=prior_advice(diagnosis, hints, summary["class_prior"]["told"]),
        question=aim_question(hints, summary["aim"]["name"]),
    )


def render_judged(summary: Summary, hints: Hints = Hints()) -> str:  # noqa: B008 - immutable
    """The report of judged labels as HTML."""
    page = templates_of("chary.report").get_template("judged/page.html")
    sections = [f"judged/{name}.html" for name in _JUDGED_SECTIONS]
    return page.render(
        **summary, sections=sections, hints=hints, steps=judged_steps(summary, hints)
    )


@cache
def templates_of(package: str) -> Environment:
    """The templates of all pages of a room, with the words that numbers and names are shown in."""
    how: dict[str, Any] = {
        "autoescape": True,
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
    }
    loader = ChoiceLoader([PackageLoader(package), PackageLoader("chary.report")])
    environment = Environment(loader=loader, **how)
    environment.filters |= {
        "visible": visible,
        "percent": percent,
        "count": "{:,}".format,
        "number": number,
    }
    return environment
