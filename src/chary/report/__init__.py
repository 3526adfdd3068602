"""What terminals, programs, pages and notebooks show of a result."""

from chary.report.page import render_judged, render_page
from chary.report.summary import (
    Hints,
    Summary,
    summarize,
    summarize_diagnosis,
    summarize_judged,
)
from chary.report.terminal import show_diagnosis, show_judged, show_labels

__all__ = [
    "Hints",
    "Summary",
    "render_judged",
    "render_page",
    "show_diagnosis",
    "show_judged",
    "show_labels",
    "summarize",
    "summarize_diagnosis",
    "summarize_judged",
]
