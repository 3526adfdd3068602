"""chary labels the rest of a table from a few labels that were not picked at random.

The modules, in the order the data flows:

Files and data
    ``files``            bytes -> a file that is there whole or not at all
    ``labels``           a target column -> classes, codes, labelled mask
    ``model_selection``  partly labelled rows -> folds and scores of labelled rows only
    ``tables``           a CSV, Parquet or DataFrame -> cells and target
    ``preparation``      cells -> numeric features
    ``datasets``         a name -> a benchmark data set
    ``assignment``       scores and class sizes -> the best assignment of rows to classes
    ``labeling``         a fully labelled data set -> which rows keep their label
    ``diagnostics``      features and labelled mask -> are the labels representative?
    ``audit``            a few random rows labelled by a person -> honest accuracy (``audit_files``: to and fro)
Models
    ``network``          a batch -> head logits, losses, exact gradients (NumPy)
    ``training``         rows and codes -> a trained network
    ``confidence``       class probabilities -> one number per row
    ``priors``           class proportions that the user knows -> an offset for each class
    ``classifier``       a partly labelled table -> a classifier with honest confidence
    ``linear``           rows of two classes -> the paper's linear problem solved exactly, with its bounds
    ``ensemble``         a partly labelled table -> classifiers of unlike kinds on one scale
    ``members``          a fitted classifier -> its and its members' class probabilities
    ``policies``         the confidences of a round -> which rows to accept
    ``self_training``    a partly labelled table and any classifier -> labels, round by round
    ``audited``          the same and an audit -> a model and its honest accuracy
Results
    ``metrics``          confidences and what was right -> calibration, risk and coverage
    ``studies``          a table or figure of the paper -> its cells (``audit_study``, ``prior_study``: our own)
    ``store``            a finished cell -> a verified file
    ``runner``           cells -> worker processes
    ``study_report``     results -> tables beside the paper's
    ``persistence``      a fitted model -> one file, and back
    ``workflow``         a table -> labels, model and figures for a report (``audit_figures``, ``prior_figures``)
    ``plots``            results -> figures
    ``report``           a labelled table -> one HTML page
    ``cli``              words -> all of the above (``study_cli``, ``audit_cli``, ``demo``)
Extra, with PyTorch
    ``torch``            diverse heads on any backbone (``torch_network``, ``torch_training``, ``fixmatch``)
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
