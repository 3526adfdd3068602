"""Arrays in; labels, confidence and all that the method is made of out: no file, no table, no word."""

from chary.method.assignment import whole_counts
from chary.method.confidence import CONFIDENCES, entropy, margin, max_probability, t_share, t_similarity
from chary.method.diverse import (
    DiverseEnsembleClassifier,
    check_same_classes,
    class_order_of,
    content_order,
)
from chary.method.fitting import fit_partly, last_step
from chary.method.forests import PlainBoosting, PlainForest, Trees, plain_trees
from chary.method.information import ACCURACY, AIMS, BALANCED, balanced_shares
from chary.method.labels import Labels, decode, encode, is_missing
from chary.method.layers import predict_scores, scores_quickly
from chary.method.linear import LinearDiverseEnsemble
from chary.method.members import probabilities
from chary.method.mixed import Member, MixedEnsembleClassifier, boosted_trees, default_members, linear_model
from chary.method.model_selection import LabeledScorer, LabeledStratifiedKFold
from chary.method.network import Floats, Network, default_hidden_sizes
from chary.method.policies import (
    POLICIES,
    Acceptance,
    ClassBalanced,
    Curriculum,
    FixedThreshold,
    Policy,
    RisingShare,
    Round,
    TopK,
    TransductiveBound,
)
from chary.method.priors import (
    ClassPrior,
    Sensitivity,
    align,
    align_in_parts,
    describe_prior,
    prior_of_rest,
    sensitivity,
    shares_of_part,
    shares_of_rest,
)
from chary.method.scaling import ColumnScaler
from chary.method.scoring import RawScores, in_blocks_of_rows, log_of
from chary.method.self_training import SelfTrainingClassifier
from chary.method.threads import one_thread
from chary.method.training import draw_batches

__all__ = [
    "ACCURACY",
    "AIMS",
    "BALANCED",
    "CONFIDENCES",
    "POLICIES",
    "Acceptance",
    "ClassBalanced",
    "ClassPrior",
    "ColumnScaler",
    "Curriculum",
    "DiverseEnsembleClassifier",
    "FixedThreshold",
    "Floats",
    "LabeledScorer",
    "LabeledStratifiedKFold",
    "Labels",
    "LinearDiverseEnsemble",
    "Member",
    "MixedEnsembleClassifier",
    "Network",
    "PlainBoosting",
    "PlainForest",
    "Policy",
    "RawScores",
    "RisingShare",
    "Round",
    "SelfTrainingClassifier",
    "Sensitivity",
    "TopK",
    "TransductiveBound",
    "Trees",
    "align",
    "align_in_parts",
    "balanced_shares",
    "boosted_trees",
    "check_same_classes",
    "class_order_of",
    "content_order",
    "decode",
    "default_hidden_sizes",
    "default_members",
    "describe_prior",
    "draw_batches",
    "encode",
    "entropy",
    "fit_partly",
    "in_blocks_of_rows",
    "is_missing",
    "last_step",
    "linear_model",
    "log_of",
    "margin",
    "max_probability",
    "one_thread",
    "plain_trees",
    "predict_scores",
    "prior_of_rest",
    "probabilities",
    "scores_quickly",
    "sensitivity",
    "shares_of_part",
    "shares_of_rest",
    "t_share",
    "t_similarity",
    "whole_counts",
]
