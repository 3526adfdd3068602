"""The result of a job in; one summary of it out, and what terminal, programs and browsers show of it."""

from chary.report.hints import Hints
from chary.report.page import render_page
from chary.report.summary import Summary, summarize, summarize_diagnosis
from chary.report.terminal import show_diagnosis, show_labels

__all__ = ["Hints", "Summary", "render_page", "show_diagnosis", "show_labels", "summarize", "summarize_diagnosis"]
