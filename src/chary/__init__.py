"""chary labels the rest of a table from a few labels that were not picked at random.

The modules, in the order the data flows:

``labels``      a target column -> classes, codes, labelled mask
``network``     a batch -> head logits, losses, exact gradients (NumPy)
``training``    rows and codes -> a trained network
``confidence``  class probabilities -> one number per row
``classifier``  a partly labelled table -> a classifier with honest confidence
"""

from chary.classifier import DiverseEnsembleClassifier

__version__ = "0.1.0"
__all__ = ["DiverseEnsembleClassifier", "__version__"]
