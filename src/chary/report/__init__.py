"""A result in one summary, and what terminals, programs, pages and notebooks show of it."""

from chary.report.api import (
    Diagnosed,
    Judged,
    Result,
    TableModel,
    diagnose,
    draw_rows,
    explain,
    judge,
    label,
    load,
    predictor,
)
from chary.report.page import density_outlines, number_in_units, render_judged, render_page
from chary.report.plots import Plots
from chary.report.summary import (
    Hints,
    JudgeHints,
    Summary,
    aim_question,
    prior_advice,
    summarize,
    summarize_diagnosis,
    summarize_judged,
)
from chary.report.terminal import show_diagnosis, show_judged, show_labels

__all__ = [
    "Diagnosed",
    "Hints",
    "JudgeHints",
    "Judged",
    "Plots",
    "Result",
    "Summary",
    "TableModel",
    "aim_question",
    "density_outlines",
    "diagnose",
    "draw_rows",
    "explain",
    "judge",
    "label",
    "load",
    "number_in_units",
    "predictor",
    "prior_advice",
    "render_judged",
    "render_page",
    "show_diagnosis",
    "show_judged",
    "show_labels",
    "summarize",
    "summarize_diagnosis",
    "summarize_judged",
]
