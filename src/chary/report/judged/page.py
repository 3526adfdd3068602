"""A summary of labels that were judged in; one self-contained HTML page out, as ``chary.report.page`` makes it."""

from __future__ import annotations

from chary.report.hints import JudgeHints
from chary.report.judged.summary import JUDGED_SECTIONS, JudgedSummary
from chary.report.judged.terminal import next_step
from chary.report.page import templates


def render_judged(summary: JudgedSummary, hints: JudgeHints = JudgeHints()) -> str:  # noqa: B008 - immutable
    """The report of judged labels as HTML."""
    page = templates().get_template("judged/page.html")
    return page.render(**summary, sections=JUDGED_SECTIONS, hints=hints, next_step=next_step(summary, hints))
