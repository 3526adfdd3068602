"""chary labels the rest of a table from a few labels that were not picked at random.

The rooms of the house, in the order the data flows. A room is a folder that answers one question;
its ``__init__`` is its door. Each may use the rooms above it, and no other:

    ``method``       arrays only: labels, confidence, network, policies, self-training, theory
    ``tables``       files and frames of any kind; kinds of columns; the target
    ``model_file``   save and load a fitted model: arrays and JSON, nothing executed
    ``audit``        random rows and exact answers: draw, sheet, intervals, acceptance
    ``labelling``    diagnose, learn, score, explain, check
    ``report``       a result -> terminal, JSON, HTML, a notebook
    ``api``          chary in Python: ``label``, ``judge``, ``load`` and their siblings
    ``review``       the page in the browser
    ``cli``          the commands
    ``torch``        diverse heads on any PyTorch backbone (uses ``method`` only)

Open to all: ``options`` (everything a user can choose, by command), ``_sklearn`` (every private
name of scikit-learn that is used), ``_files`` (the one atomic write), ``_words`` (how a value, a
share, a list is shown to a person). See ``CONTRIBUTING.md``.

The names below are loaded when they are touched: importing chary imports nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chary.api import diagnose, draw_rows, explain, judge, label, load, predictor
    from chary.method.confidence import t_similarity
    from chary.method.diverse import DiverseEnsembleClassifier
    from chary.method.held_out import LabeledStratifiedKFold
    from chary.method.linear import LinearDiverseEnsemble
    from chary.method.mixture import MixedEnsembleClassifier
    from chary.method.policies import (
        Curriculum,
        FixedThreshold,
        KBest,
        RisingShare,
        TransductiveBound,
    )
    from chary.method.self_training import SelfTrainingClassifier

__version__ = "1.0.0"
__all__ = [
    "Curriculum",
    "DiverseEnsembleClassifier",
    "FixedThreshold",
    "KBest",
    "LabeledStratifiedKFold",
    "LinearDiverseEnsemble",
    "MixedEnsembleClassifier",
    "RisingShare",
    "SelfTrainingClassifier",
    "TransductiveBound",
    "__version__",
    "diagnose",
    "draw_rows",
    "explain",
    "judge",
    "label",
    "load",
    "predictor",
    "t_similarity",
]
# The files of the public names.
_HOMES = {
    "method.confidence": ("t_similarity",),
    "method.diverse": ("DiverseEnsembleClassifier",),
    "method.linear": ("LinearDiverseEnsemble",),
    "method.mixture": ("MixedEnsembleClassifier",),
    "method.held_out": ("LabeledStratifiedKFold",),
    "method.self_training": ("SelfTrainingClassifier",),
    "method.policies": (
        "Curriculum",
        "FixedThreshold",
        "KBest",
        "RisingShare",
        "TransductiveBound",
    ),
    "api": ("diagnose", "draw_rows", "explain", "judge", "label", "load", "predictor"),
}


def __getattr__(name: str) -> Any:
    """Import a public name from its file when it is first asked for."""
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(f"chary.{home}"), name)
            globals()[name] = value  # the next time it is found without a call
            return value
    raise AttributeError(f"module 'chary' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
