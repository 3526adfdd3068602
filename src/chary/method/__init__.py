"""The method on arrays: classifiers, policies and confidences.

``chary`` itself exports the classifiers and the policies.
"""

from chary.method.confidence import (
    CONFIDENCES,
    confidence_auroc,
    expected_calibration_error,
    risk_coverage_curve,
    t_share,
    t_similarity,
)
from chary.method.mixture import Member, default_members
from chary.method.policies import Decision, Policy, Round
from chary.method.priors import balanced_shares
from chary.method.simulated_bias import iid, selection_biased

__all__ = [
    "CONFIDENCES",
    "Decision",
    "Member",
    "Policy",
    "Round",
    "balanced_shares",
    "confidence_auroc",
    "default_members",
    "expected_calibration_error",
    "iid",
    "risk_coverage_curve",
    "selection_biased",
    "t_share",
    "t_similarity",
]
