"""Random rows and exact answers: draws, sheets, intervals, figures, acceptance, stopping."""

from chary.audit.acceptance import Acceptance, accept_threshold, smallest_audit
from chary.audit.drawing import draw, draw_sheet
from chary.audit.figures import (
    Agreement,
    ClassJudgement,
    Comparison,
    Difference,
    Judgement,
    Score,
    Share,
    Slice,
    balanced_score,
    class_scores,
    compare,
    difference,
    judge_labels,
    score,
    slice_scores,
)
from chary.audit.filling import AnsweredElsewhereError, Filling
from chary.audit.intervals import accuracy_interval, count_interval, interval, required_size, sequence
from chary.audit.judge import JudgedTable, draw_to_judge, judge_table
from chary.audit.model import AuditedResult, cross_fitted_score, fit_with_audit
from chary.audit.sheet import SKIPPED, AuditAnswers, read_audit, write_audit
from chary.audit.stopping import Settled, Stopping, settled

__all__ = [
    "SKIPPED",
    "Acceptance",
    "Agreement",
    "AnsweredElsewhereError",
    "AuditAnswers",
    "AuditedResult",
    "ClassJudgement",
    "Comparison",
    "Difference",
    "Filling",
    "JudgedTable",
    "Judgement",
    "Score",
    "Settled",
    "Share",
    "Slice",
    "Stopping",
    "accept_threshold",
    "accuracy_interval",
    "balanced_score",
    "class_scores",
    "compare",
    "count_interval",
    "cross_fitted_score",
    "difference",
    "draw",
    "draw_sheet",
    "draw_to_judge",
    "fit_with_audit",
    "interval",
    "judge_labels",
    "judge_table",
    "read_audit",
    "required_size",
    "score",
    "sequence",
    "settled",
    "slice_scores",
    "smallest_audit",
    "write_audit",
]
