"""The result of a job in; one summary of it out, and what terminals, programs, pages and notebooks show of it."""

from chary.report.explanation import explain
from chary.report.hints import Hints
from chary.report.model import TableModel, load
from chary.report.page import render_page
from chary.report.plots import Plots
from chary.report.result import Diagnosed, Result, diagnose, label
from chary.report.summary import Summary, summarize, summarize_diagnosis
from chary.report.terminal import show_diagnosis, show_labels

__all__ = [
    "Diagnosed",
    "Hints",
    "Plots",
    "Result",
    "Summary",
    "TableModel",
    "diagnose",
    "explain",
    "label",
    "load",
    "render_page",
    "show_diagnosis",
    "show_labels",
    "summarize",
    "summarize_diagnosis",
]
