"""The report as one HTML page: no script, no request, all texts of a table escaped.

Each section is a template. The tables, bars and drawings that sections share are macros of
``templates/cells.html``.
"""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from chary._words import number, percent, visible
from chary.report.judged_summary import JudgedSummary
from chary.report.labels_summary import DiagnosedSummary, LabelsSummary
from chary.report.next_steps import (
    NARROWER,
    Hints,
    aim_question,
    judged_steps,
    missing_hint,
    next_steps,
    prior_advice,
    quality,
    slip_hint,
)

# The sections of each page, in order. A section has the name of its template.
_SECTIONS = (
    "audit",
    "accept",
    "bias",
    "classes",
    "next",
    "second_look",
    "importance",
    "prior",
    "columns",
    "settings",
    "limits",
)
_JUDGED_SECTIONS = (
    "accuracy",
    "compared",
    "classes",
    "wrong",
    "shares",
    "slices",
    "accept",
    "limits",
)
_IN_PYTHON = Hints()


# What stands around a report: a page of its own, or a part of a notebook with its own styles.
PAGE = "layout.html"
NOTEBOOK = "notebook.html"


def render_page(summary: LabelsSummary, hints: Hints = _IN_PYTHON, layout: str = PAGE) -> str:
    """Render the report of a labelled table as HTML."""
    page = templates_of("chary.report").get_template("page.html")
    return page.render(
        **summary,
        layout=layout,
        sections=[f"sections/{name}.html" for name in _SECTIONS],
        hints=hints,
        quality=quality(summary),
        steps=next_steps(summary, hints),
        advice=prior_advice(summary["diagnosis"], hints, told=summary["class_prior"]["told"]),
        narrower=NARROWER,
        slips=slip_hint(summary["diagnosis"]["slips"], hints),
        question=aim_question(hints, summary["aim"]["name"]),
    )


def render_judged(summary: JudgedSummary, hints: Hints = _IN_PYTHON, layout: str = PAGE) -> str:
    """Render the report of judged labels as HTML."""
    page = templates_of("chary.report").get_template("judged/page.html")
    return page.render(
        **summary,
        layout=layout,
        sections=[f"judged/{name}.html" for name in _JUDGED_SECTIONS],
        hints=hints,
        steps=judged_steps(summary, hints),
    )


def render_diagnosis(summary: DiagnosedSummary, hints: Hints = _IN_PYTHON) -> str:
    """Render a diagnosis as HTML for a notebook."""
    remarks = [
        slip_hint(summary["slips"], hints),
        missing_hint(summary["columns"], hints),
        *summary["notes"],
        prior_advice(summary, hints),
        aim_question(hints),
    ]
    page = templates_of("chary.report").get_template("diagnosis.html")
    return page.render(**summary, remarks=remarks)


@cache
def templates_of(package: str) -> Environment:
    """Load the templates of a room.

    They may include templates of reports, and use the filters ``visible``, ``percent``, ``count``
    and ``number``.
    """
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("chary.report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "visible": visible,
        "percent": percent,
        "count": "{:,}".format,
        "number": number,
    }
    return environment
