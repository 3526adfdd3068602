"""The method: classifiers, policies and confidences on arrays."""

from chary.method.confidence import CONFIDENCES, entropy, margin, max_probability, t_share, t_similarity
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.linear import LinearDiverseEnsemble
from chary.method.metrics import (
    ReliabilityCurve,
    RiskCoverageCurve,
    confidence_auroc,
    expected_calibration_error,
    reliability_curve,
    risk_coverage_curve,
)
from chary.method.mixture import Member, MixedEnsembleClassifier, boosted_trees, default_members, linear_model
from chary.method.model_selection import LabeledScorer, LabeledStratifiedKFold
from chary.method.policies import (
    ClassBalanced,
    Curriculum,
    Decision,
    FixedThreshold,
    Policy,
    RisingShare,
    Round,
    TopK,
    TransductiveBound,
)
from chary.method.priors import Sensitivity, balanced_shares, sensitivity
from chary.method.self_training import SelfTrainingClassifier
from chary.method.simulated_bias import iid, selection_biased

__all__ = [
    "CONFIDENCES",
    "ClassBalanced",
    "Curriculum",
    "Decision",
    "DiverseEnsembleClassifier",
    "FixedThreshold",
    "LabeledScorer",
    "LabeledStratifiedKFold",
    "LinearDiverseEnsemble",
    "Member",
    "MixedEnsembleClassifier",
    "Policy",
    "ReliabilityCurve",
    "RisingShare",
    "RiskCoverageCurve",
    "Round",
    "SelfTrainingClassifier",
    "Sensitivity",
    "TopK",
    "TransductiveBound",
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
