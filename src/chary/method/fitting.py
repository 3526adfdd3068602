"""Any classifier and partly labelled rows in; it fitted, with the unlabelled rows where it can use them, out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from chary._sklearn import safe_indexing
from chary.method.labels import Labels, decode


def fit_partly(estimator: Any, X: Any, labels: Labels, **params: Any) -> Any:
    """Fit a classifier in place on partly labelled rows, and hand it back.

    One with a parameter ``unlabeled`` is given all rows, any other the labelled ones. chary's own take the labels
    as they are encoded; others get the user's labels back.

    Parameters
    ----------
    estimator : classifier, or Pipeline that ends in one
    X : array, DataFrame, sparse matrix or list of shape (n, ...)
    labels : Labels
    **params : dict
        For ``fit``; arrays of length n are sliced with the rows, ``sample_weight`` and ``start_from`` are sent to
        the last step.
    """
    params = _addressed(estimator, params)
    if takes_unlabeled(estimator):
        return estimator.fit(X, labels if _is_own(estimator) else _marked(estimator, labels), **params)
    if labels.labeled.all():
        return estimator.fit(X, labels.classes[labels.codes], **params)
    rows = np.flatnonzero(labels.labeled)
    params = {name: rows_of(value, rows, len(labels.codes)) for name, value in params.items()}
    return estimator.fit(safe_indexing(X, rows), labels.classes[labels.codes[rows]], **params)


def last_step(estimator: Any) -> Any:
    """The classifier itself, at the end of a Pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def takes_unlabeled(estimator: Any) -> bool:
    """Whether a classifier can be given rows without a label."""
    return "unlabeled" in last_step(estimator).get_params(deep=False)


def can_start_from(estimator: Any) -> bool:
    """Whether a classifier can start training from the weights of a fitted one."""
    return has_fit_parameter(last_step(estimator), "start_from")


def seeded_clone(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted clone in which every ``random_state`` that was None, however deep, is a number."""
    estimator = clone(estimator)
    for name, value in sorted(estimator.get_params().items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            estimator.set_params(**{name: int(rng.integers(2**31))})
    return estimator


def rows_of(value: Any, rows: NDArray[np.intp], n_rows: int) -> Any:
    """A per-row parameter sliced with its rows; anything else as it is."""
    per_row = hasattr(value, "__len__") and not isinstance(value, (str, dict)) and len(value) == n_rows
    return safe_indexing(value, rows) if per_row else value


def _is_own(estimator: Any) -> bool:
    """Whether its ``fit`` is one of chary's; that of a user's subclass, or a pipeline's steps, may look into y."""
    return type(estimator).fit.__module__.startswith("chary.")


def _marked(estimator: Any, labels: Labels) -> NDArray[Any]:
    """The user's labels, and where there are none the marker that the classifier knows."""
    return decode(labels.codes, labels.classes, unlabeled=last_step(estimator).unlabeled)


def _addressed(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Fit parameters under the names by which the estimator takes them."""
    last = last_step(estimator)
    if "sample_weight" in params and not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__} takes no sample_weight in fit; "
            "leave sample_weight and balance_weights out, or choose a classifier that does."
        )
    step = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    for_last = ("sample_weight", "start_from")
    return {f"{step}{name}" if name in for_last else name: value for name, value in params.items()}
