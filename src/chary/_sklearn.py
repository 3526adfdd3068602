"""Every private name of scikit-learn that chary uses, once: here to look when a new release moves one.

Besides these, estimators state ``_parameter_constraints`` and call ``_validate_params``, as scikit-learn's own do.
"""

# The nodes of a fitted tree: a model file holds them.
from sklearn.tree._tree import Tree

# Rows of arrays, frames, sparse matrices and lists alike.
from sklearn.utils import _safe_indexing as safe_indexing

# Parameters are refused in the words in which scikit-learn refuses its own.
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

# Weights that are None, one number, or one for each row.
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = ["HasMethods", "Interval", "StrOptions", "Tree", "check_sample_weight", "safe_indexing"]
