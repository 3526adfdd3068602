"""chary labels the rest of a table from a few labels that were not picked at random.

The modules, in the order the data flows:

``labels``           a target column -> classes, codes, labelled mask
``model_selection``  partly labelled rows -> folds and scores of labelled rows only
``network``          a batch -> head logits, losses, exact gradients (NumPy)
``training``         rows and codes -> a trained network
``confidence``       class probabilities -> one number per row
``assignment``       scores and class sizes -> the best assignment of rows to classes
``priors``           class proportions that the user knows -> an offset for each class
``classifier``       a partly labelled table -> a classifier with honest confidence
``linear``           rows of two classes -> the paper's linear problem solved exactly, with its bounds
``ensemble``         a partly labelled table -> classifiers of unlike kinds on one scale
``members``          a fitted classifier -> its and its members' class probabilities
``policies``         the confidences of a round -> which rows to accept
``self_training``    a partly labelled table and any classifier -> labels, round by round
"""

from chary.classifier import DiverseEnsembleClassifier
from chary.ensemble import MixedEnsembleClassifier
from chary.linear import LinearDiverseEnsemble
from chary.model_selection import LabeledScorer, LabeledStratifiedKFold
from chary.policies import ClassBalanced, Curriculum, FixedThreshold, RisingShare, TopK, TransductiveBound
from chary.self_training import SelfTrainingClassifier

__version__ = "0.1.0"
__all__ = [
    "ClassBalanced",
    "Curriculum",
    "DiverseEnsembleClassifier",
    "FixedThreshold",
    "LabeledScorer",
    "LabeledStratifiedKFold",
    "LinearDiverseEnsemble",
    "MixedEnsembleClassifier",
    "RisingShare",
    "SelfTrainingClassifier",
    "TopK",
    "TransductiveBound",
    "__version__",
]
