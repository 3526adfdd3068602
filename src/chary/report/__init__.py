"""The result of a job in; one summary of it out, and what terminals, programs, pages and notebooks show of it."""

from chary.report.explanation import explain
from chary.report.hints import Hints, JudgeHints, aim_question, prior_advice
from chary.report.judged.page import render_judged
from chary.report.judged.result import Judged, draw_rows, judge
from chary.report.judged.summary import JudgedSummary, summarize_judged
from chary.report.judged.terminal import show_judged
from chary.report.model import TableModel, load, predictor
from chary.report.page import number_in_units, render_page
from chary.report.pictures import density_outlines
from chary.report.plots import Plots
from chary.report.result import Diagnosed, Result, diagnose, label
from chary.report.summary import Summary, summarize, summarize_diagnosis
from chary.report.terminal import show_diagnosis, show_labels

__all__ = [
    "Diagnosed",
    "Hints",
    "JudgeHints",
    "Judged",
    "JudgedSummary",
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
