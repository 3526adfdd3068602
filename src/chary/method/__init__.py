"""The method on arrays: classifiers, policies and confidences.

Other rooms use the names below and nothing else of this room; ``chary`` itself exports the
classifiers and the policies.
"""

from chary.method.confidence import (
    CONFIDENCES,
    confidence_auroc,
    expected_calibration_error,
    risk_coverage_curve,
    t_share,
    t_similarity,
)
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.estimators import in_blocks_of_rows, log_of, predict_scores, probabilities
from chary.method.held_out import (
    HeldOut,
    LabeledStratifiedKFold,
    confidence_of,
    encode_for,
    fit_without,
    hold_out,
    hold_out_folds,
    labelled_folds,
    predict_held_out,
    stratified_folds,
)
from chary.method.kept_guesses import KeptGuessesClassifier, keep_guesses
from chary.method.labels import Labels, drop_empty_classes, encode, is_missing
from chary.method.linear import LinearDiverseEnsemble
from chary.method.mixture import (
    MIXTURE_DEFAULTS,
    ColumnScaler,
    Member,
    MixedEnsembleClassifier,
    MixtureDefaults,
    boosted_trees,
    default_members,
    linear_model,
)
from chary.method.network import Losses, Network
from chary.method.policies import (
    POLICIES,
    Curriculum,
    Decision,
    FixedThreshold,
    KBest,
    Policy,
    RisingShare,
    Round,
    TransductiveBound,
)
from chary.method.priors import (
    ACCURACY,
    AIMS,
    ClassPrior,
    balanced_shares,
    describe_prior,
    shares_of_sample,
    variation,
)
from chary.method.self_training import SelfTrainingClassifier
from chary.method.simulated_bias import iid, selection_biased
from chary.method.trees import PlainBoosting, PlainForest, Trees, plain_trees

__all__ = [
    "ACCURACY",
    "AIMS",
    "CONFIDENCES",
    "MIXTURE_DEFAULTS",
    "POLICIES",
    "ClassPrior",
    "ColumnScaler",
    "Curriculum",
    "Decision",
    "DiverseEnsembleClassifier",
    "FixedThreshold",
    "HeldOut",
    "KBest",
    "KeptGuessesClassifier",
    "LabeledStratifiedKFold",
    "Labels",
    "LinearDiverseEnsemble",
    "Losses",
    "Member",
    "MixedEnsembleClassifier",
    "MixtureDefaults",
    "Network",
    "PlainBoosting",
    "PlainForest",
    "Policy",
    "RisingShare",
    "Round",
    "SelfTrainingClassifier",
    "TransductiveBound",
    "Trees",
    "balanced_shares",
    "boosted_trees",
    "confidence_auroc",
    "confidence_of",
    "default_members",
    "describe_prior",
    "drop_empty_classes",
    "encode",
    "encode_for",
    "expected_calibration_error",
    "fit_without",
    "hold_out",
    "hold_out_folds",
    "iid",
    "in_blocks_of_rows",
    "is_missing",
    "keep_guesses",
    "labelled_folds",
    "linear_model",
    "log_of",
    "plain_trees",
    "predict_held_out",
    "predict_scores",
    "probabilities",
    "risk_coverage_curve",
    "selection_biased",
    "shares_of_sample",
    "stratified_folds",
    "t_share",
    "t_similarity",
    "variation",
]
