"""The method, on arrays: classifiers and policies, which ``chary`` itself exports, and confidences."""

from chary.method.confidence import CONFIDENCES, entropy, margin, max_probability, t_share, t_similarity
from chary.method.metrics import (
    ReliabilityCurve,
    RiskCoverageCurve,
    confidence_auroc,
    expected_calibration_error,
    reliability_curve,
    risk_coverage_curve,
)
from chary.method.mixture import Member, boosted_trees, default_members, linear_model
from chary.method.policies import Decision, Policy, Round
from chary.method.priors import Sensitivity, balanced_shares, sensitivity
from chary.method.simulated_bias import iid, selection_biased

__all__ = [
    "CONFIDENCES",
    "Decision",
    "Member",
    "Policy",
    "ReliabilityCurve",
    "RiskCoverageCurve",
    "Round",
    "Sensitivity",
    "balanced_shares",
    "boosted_trees",
    "confidence_auroc",
    "default_members",
    "entropy",
    "expected_calibration_error",
    "iid",
    "linear_model",
    "margin",
    "max_probability",
    "reliability_curve",
    "risk_coverage_curve",
    "selection_biased",
    "sensitivity",
    "t_share",
    "t_similarity",
]
