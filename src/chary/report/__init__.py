"""chary in Python, and what terminals, programs, pages and notebooks show of a result."""

from chary.report.api import Diagnosed, Judged, Result, TableModel

__all__ = ["Diagnosed", "Judged", "Result", "TableModel"]
