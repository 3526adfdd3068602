"""The result of a job in; one HTML page out."""

from chary.report.page import render_report

__all__ = [
    "render_report",
]
