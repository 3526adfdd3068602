"""chary labels the rest of a table from a few labels that were not picked at random.

The modules, in the order the data flows:

``labels``          a target column -> classes, codes, labelled mask
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
