"""Use any classifier: fit it on partly labelled rows, and ask it for probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_consistent_length, has_fit_parameter

from chary._arrays import Array, Floats, Ints
from chary._sklearn import (
    check_method_params,
    check_sample_weight,
    routing_enabled,
    safe_indexing,
)
from chary.method.labels import Labels, decode, encode

# This many rows are scored at a time, so that intermediate results stay small.
BLOCK_ROWS = 2**16
# In these ensembles, each member, in estimators_, is a classifier of all classes.
_ENSEMBLES = (BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, VotingClassifier)


def fit_partly(
    estimator: Any,
    X: Any,
    labels: Labels,
    sample_weight: Floats | None = None,
    start_from: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    """Fit a classifier in place on partly labelled rows, and hand it back.

    A classifier with a parameter ``unlabeled`` is given all rows, any other the labelled rows
    alone. chary's own classifiers are given ``labels`` as they are, any other the user's labels.

    Parameters
    ----------
    estimator : classifier, or Pipeline that ends in one
    X : array, DataFrame, sparse matrix or list of shape (n, ...)
    labels : Labels
    sample_weight : array of shape (n,), default=None
    start_from : fitted classifier, default=None
        For a classifier whose ``fit`` takes it. A Pipeline passes it, and the weights, to its last
        step.
    metadata : mapping, default=None
        Further arguments of ``fit``, which scikit-learn's metadata routing has assigned to it. An
        array with an entry for each row is cut to the rows that are used.
    """
    last = last_step(estimator)
    # With metadata routing, the steps of a Pipeline say by themselves who takes weights.
    is_routed_pipeline = isinstance(estimator, Pipeline) and routing_enabled()
    takes_weights = is_routed_pipeline or has_fit_parameter(last, "sample_weight")
    if sample_weight is not None and not takes_weights:
        raise ValueError(
            f"{type(last).__name__} takes no sample_weight in fit; "
            "leave sample_weight and balance_weights out, or choose a classifier that does."
        )

    # A classifier that cannot use unlabelled rows is given the labelled ones alone.
    params = dict(metadata or {})
    if not takes_unlabeled(estimator) and not labels.labeled.all():
        rows = np.flatnonzero(labels.labeled)
        params = check_method_params(X, params, indices=rows)
        X = safe_indexing(X, rows)
        labels = labels.subset(rows)
        if sample_weight is not None:
            sample_weight = sample_weight[rows]

    y: Any
    if takes_unlabeled(estimator) and type(estimator).fit.__module__.startswith("chary."):
        y = labels
    else:
        # A user's subclass, and the steps of a pipeline, expect y to be an array of labels.
        y = decode(labels.codes, labels.classes, unlabeled=getattr(last, "unlabeled", None))

    # A Pipeline passes the parameter step__name on to that step; with metadata routing, its steps
    # request parameters by their plain names.
    prefix = ""
    if isinstance(estimator, Pipeline) and not is_routed_pipeline:
        prefix = f"{estimator.steps[-1][0]}__"
    if sample_weight is not None:
        params[f"{prefix}sample_weight"] = sample_weight
    if start_from is not None:
        params[f"{prefix}start_from"] = start_from
    return estimator.fit(X, y, **params)


def weighted_rows(X: Any, labels: Labels, sample_weight: Any) -> tuple[Any, Labels, Floats]:
    """Keep the rows whose weight is above 0, with their labels and weights."""
    check_consistent_length(X, labels.codes)
    weights = check_sample_weight(sample_weight, X, ensure_non_negative=True, dtype=np.float64)
    present = weights > 0
    # scikit-learn before 1.8 lets this pass.
    if not present.any():
        raise ValueError("sample_weight is 0 everywhere; at least one non-zero weight is needed.")
    if present.all():
        return X, labels, weights
    return X[present], encode(labels.subset(present), unlabeled=None), weights[present]


def last_step(estimator: Any) -> Any:
    """Return the classifier itself, at the end of a Pipeline."""
    if isinstance(estimator, Pipeline):
        return estimator[-1]
    return estimator


def takes_unlabeled(estimator: Any) -> bool:
    """Tell whether a classifier can be given rows without a label."""
    return "unlabeled" in last_step(estimator).get_params(deep=False)


def seeded_clone(estimator: Any, rng: np.random.Generator) -> Any:
    """Clone an estimator and seed every ``random_state`` of None, nested ones too."""
    estimator = clone(estimator)
    for name, value in sorted(estimator.get_params().items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            estimator.set_params(**{name: int(rng.integers(2**31))})
    return estimator


def predicted_labels(estimator: Any, X: Any) -> Array:
    """Predict the label of each row, (n,).

    CatBoost predicts a column (n, 1) if there are several classes. It becomes (n,), because NumPy
    would compare a column with labels (n,) in all n x n pairs.
    """
    return np.reshape(estimator.predict(X), _n_rows(X))


def probabilities(estimator: Any, X: Any) -> Floats:
    """Predict class probabilities (n, C), from decision values if there is nothing else."""
    if hasattr(estimator, "predict_proba"):
        probs = np.asarray(estimator.predict_proba(X))
        has_columns = probs.ndim == 2
        # A classifier without ``classes_`` does not say how many columns there should be.
        if has_columns and hasattr(estimator, "classes_"):
            has_columns = probs.shape[1] == len(estimator.classes_)
        if not has_columns:
            raise ValueError(
                f"predict_proba of {type(estimator).__name__} gives shape {probs.shape}; one "
                "number for each row and class is needed."
            )
        return probs

    if not hasattr(estimator, "decision_function"):
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, so its "
            "labels come without any confidence; choose a classifier that has one."
        )
    decision = np.asarray(estimator.decision_function(X))
    if decision.ndim > 1:
        return softmax(decision, axis=1)
    # Two classes: a single value for each row, positive for the second class.
    prob_of_second = expit(decision)
    return np.column_stack([1 - prob_of_second, prob_of_second])


def predict_scores(classifier: Any, X: Any) -> tuple[Floats, Floats]:
    """Predict class probabilities (n, C) and confidence (n,), in one pass if possible."""
    if hasattr(classifier, "predict_scores"):
        return classifier.predict_scores(X)
    return classifier.predict_proba(X), classifier.predict_confidence(X)


def has_members(model: Any) -> bool:
    """Tell whether ``member_probabilities`` finds members in a classifier or its last step."""
    last = last_step(model)
    return hasattr(last, "predict_head_proba") or isinstance(last, _ENSEMBLES)


def member_probabilities(model: Any, X: Any) -> Floats:
    """Predict class probabilities (n, M, C) by each member of a fitted ensemble.

    Parameters
    ----------
    model : fitted ensemble
        With ``predict_head_proba``; or a voting, bagging or forest classifier; or a Pipeline that
        ends in one.
    X : array-like of shape (n, ...)
    """
    if isinstance(model, Pipeline):
        if len(model) > 1:
            X = model[:-1].transform(X)
        return member_probabilities(model[-1], X)
    if hasattr(model, "predict_head_proba"):
        return model.predict_head_proba(X)
    if not has_members(model):
        raise ValueError(
            f"T-similarity compares the members of an ensemble, and {type(model).__name__} has "
            "none; pass confidence='max_probability', or an ensemble such as "
            "DiverseEnsembleClassifier, RandomForestClassifier, BaggingClassifier or "
            "VotingClassifier."
        )

    # A member of a bagging classifier may know only some of the features.
    members = model.estimators_
    feature_subsets = getattr(model, "estimators_features_", [slice(None)] * len(members))
    matrix = X
    if hasattr(X, "columns") or isinstance(X, list):
        matrix = np.asarray(X)

    probs = np.zeros((_n_rows(X), len(members), len(model.classes_)))  # (n, M, C)
    for m, (member, features) in enumerate(zip(members, feature_subsets, strict=True)):
        # A member that was fitted on a DataFrame must be given one.
        if hasattr(member, "feature_names_in_"):
            rows = X
        else:
            rows = matrix[:, features]
        # A member numbers its classes by their places in ``model.classes_``. Its sample of rows may
        # have lacked a class, which then keeps the probability 0.
        member_classes = np.asarray(member.classes_, dtype=np.intp)
        probs[:, m, member_classes] = member.predict_proba(rows)
    return probs


def _n_rows(X: Any) -> int:
    """Count the rows of a matrix, a frame, or a list of rows."""
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(np.asarray(X))


def log_of(probs: Floats) -> Floats:
    """Take logarithms of probabilities, finite for 0 too."""
    return np.log(np.maximum(probs, np.finfo(np.float64).tiny))


def in_blocks_of_rows(
    score: Callable[[Any], tuple[Array, ...]], X: Any, rows: Ints
) -> tuple[Array, ...]:
    """Apply a function of features to some rows, a block of them at a time.

    Parameters
    ----------
    score : callable
        Features of the rows of a block -> a tuple of arrays with an entry for each of these rows.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    rows : array of row numbers

    Returns
    -------
    tuple of arrays
        Each with an entry for each of ``rows``, in their order.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    >>> in_blocks_of_rows(lambda block: (block.sum(axis=1),), X, np.array([2, 0]))
    (array([7., 3.]),)
    """
    results_of_blocks = []
    # Without rows there is one empty block, so that the result has its arrays all the same.
    for start in range(0, max(1, len(rows)), BLOCK_ROWS):
        block = rows[start : start + BLOCK_ROWS]
        results_of_blocks.append(score(safe_indexing(X, block)))
    # For each array of the tuple, its parts in every block are joined.
    parts_of_arrays = zip(*results_of_blocks, strict=True)
    return tuple(np.concatenate(parts) for parts in parts_of_arrays)
