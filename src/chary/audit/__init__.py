"""Random rows and exact answers: draws, intervals, figures of accuracy, acceptance, labels judged."""

from chary.audit.acceptance import Acceptance, accept_threshold, smallest_audit
from chary.audit.drawing import draw
from chary.audit.figures import (
    Score,
    balanced_score,
    class_scores,
    compare,
    difference,
    judge_labels,
    score,
    slice_scores,
)
from chary.audit.intervals import at_least, count_interval, interval, sequence
from chary.audit.model import cross_fitted_score, fit_with_audit

__all__ = [
    "Acceptance",
    "Score",
    "accept_threshold",
    "at_least",
    "balanced_score",
    "class_scores",
    "compare",
    "count_interval",
    "cross_fitted_score",
    "difference",
    "draw",
    "fit_with_audit",
    "interval",
    "judge_labels",
    "score",
    "sequence",
    "slice_scores",
    "smallest_audit",
]
