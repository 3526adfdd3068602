"""What terminals, programs, pages and notebooks show of a result."""

from chary.report.judged_summary import (
    ChangedLabels,
    JudgedSummary,
    WrongRowSummary,
    summarize_judged,
)
from chary.report.labels_summary import (
    ColumnSummary,
    DiagnosedSummary,
    LabelsSummary,
    summarize,
    summarize_diagnosis,
)
from chary.report.next_steps import AccuracyBar, Hints, baseline_bar, quality, unused_answers
from chary.report.page import (
    NOTEBOOK,
    render_diagnosis,
    render_judged,
    render_page,
    templates_of,
)
from chary.report.plain_data import (
    AcceptanceSummary,
    ClassShareSummary,
    MatrixSummary,
    Note,
    ScoreSummary,
    as_data,
)
from chary.report.progress import Pace, Progress
from chary.report.terminal import number_grid, show_diagnosis, show_judged, show_labels

__all__ = [
    "NOTEBOOK",
    "AcceptanceSummary",
    "AccuracyBar",
    "ChangedLabels",
    "ClassShareSummary",
    "ColumnSummary",
    "DiagnosedSummary",
    "Hints",
    "JudgedSummary",
    "LabelsSummary",
    "MatrixSummary",
    "Note",
    "Pace",
    "Progress",
    "ScoreSummary",
    "WrongRowSummary",
    "as_data",
    "baseline_bar",
    "number_grid",
    "quality",
    "render_diagnosis",
    "render_judged",
    "render_page",
    "show_diagnosis",
    "show_judged",
    "show_labels",
    "summarize",
    "summarize_diagnosis",
    "summarize_judged",
    "templates_of",
    "unused_answers",
]
