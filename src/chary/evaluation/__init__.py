"""Features, labels and answers in; what can be trusted out: diagnosis, held-out checks, audits, metrics."""

from chary.evaluation import audit
from chary.evaluation.audit import (
    Acceptance,
    Comparison,
    Score,
    accept_threshold,
    accuracy_interval,
    balanced_score,
    class_scores,
    compare,
    draw,
    required_size,
    score,
    smallest_audit,
)
from chary.evaluation.audited import AuditedResult, fit_with_audit
from chary.evaluation.diagnosis import (
    MILD,
    REPRESENTATIVE,
    STRONG,
    UNKNOWN,
    Density,
    Diagnosis,
    FeatureShift,
    Likeness,
    diagnose,
)
from chary.evaluation.explaining import Importance, decisive, effects, importance, screened, spread_rows
from chary.evaluation.held_out import HeldOut, confidence_of, held_out, judge_folds
from chary.evaluation.metrics import (
    ReliabilityCurve,
    RiskCoverageCurve,
    confidence_auroc,
    expected_calibration_error,
    recovered_share,
    reliability_curve,
    risk_coverage_curve,
)
from chary.evaluation.rows_to_check import rows_to_label
from chary.evaluation.second_look import doubtful_labels

__all__ = [
    "MILD",
    "REPRESENTATIVE",
    "STRONG",
    "UNKNOWN",
    "Acceptance",
    "AuditedResult",
    "Comparison",
    "Density",
    "Diagnosis",
    "FeatureShift",
    "HeldOut",
    "Importance",
    "Likeness",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "Score",
    "accept_threshold",
    "accuracy_interval",
    "audit",
    "balanced_score",
    "class_scores",
    "compare",
    "confidence_auroc",
    "confidence_of",
    "decisive",
    "diagnose",
    "doubtful_labels",
    "draw",
    "effects",
    "expected_calibration_error",
    "fit_with_audit",
    "held_out",
    "importance",
    "judge_folds",
    "recovered_share",
    "reliability_curve",
    "required_size",
    "risk_coverage_curve",
    "rows_to_label",
    "score",
    "screened",
    "smallest_audit",
    "spread_rows",
]
