"""A fitted classifier in; its class probabilities and those of its members out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import Pipeline

from chary.method.network import Floats

# Their estimators_ tell some classes from others; none of them is a classifier of all.
_ONE_CLASS_EACH = (OneVsRestClassifier, OneVsOneClassifier, OutputCodeClassifier, ClassifierChain)


def probabilities(estimator: Any, X: Any) -> Floats:
    """Class probabilities (n, C), from decision values where there is nothing better."""
    if hasattr(estimator, "predict_proba"):
        return np.asarray(estimator.predict_proba(X))
    if not hasattr(estimator, "decision_function"):
        raise ValueError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, so its labels come "
            "without any confidence; choose a classifier that has one."
        )
    decision = np.asarray(estimator.decision_function(X))
    if decision.ndim == 1:
        positive = expit(decision)
        return np.column_stack([1 - positive, positive])
    return softmax(decision, axis=1)


def probabilities_with_members(estimator: Any, X: Any) -> tuple[Floats, Floats]:
    """Probabilities (n, C) and members' probabilities (n, M, C), in one pass where the model offers it."""
    if hasattr(estimator, "predict_joint_proba"):
        return estimator.predict_joint_proba(X)
    return probabilities(estimator, X), member_probabilities(estimator, X)


def member_probabilities(model: Any, X: Any) -> Floats:
    """Class probabilities (n, M, C) of a fitted model's members.

    Parameters
    ----------
    model : fitted ensemble, or list of fitted classifiers
        With ``predict_head_proba``; or a voting, bagging or forest classifier (``estimators_``); or a Pipeline
        that ends in one; or classifiers that know the same classes.
    X : array-like of shape (n, ...)
    """
    if isinstance(model, (list, tuple)):
        return np.stack([member.predict_proba(X) for member in model], axis=1)
    if isinstance(model, Pipeline):
        return member_probabilities(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if hasattr(model, "predict_head_proba"):
        return model.predict_head_proba(X)
    members = () if isinstance(model, _ONE_CLASS_EACH) else getattr(model, "estimators_", ())
    if len(members) < 2 or not all(hasattr(member, "predict_proba") for member in members):
        raise ValueError(
            f"T-similarity compares the members of an ensemble, and {type(model).__name__} has none that give "
            "probabilities; pass confidence='max_probability', or an ensemble such as DiverseEnsembleClassifier, "
            "RandomForestClassifier, BaggingClassifier or VotingClassifier."
        )
    subsets = getattr(model, "estimators_features_", [slice(None)] * len(members))
    return np.stack(
        [
            # scikit-learn's ensembles fit their members on class numbers.
            _spread(member.predict_proba(_member_input(member, X, columns)), member.classes_, len(model.classes_))
            for member, columns in zip(members, subsets, strict=True)
        ],
        axis=1,
    )  # (n, M, C)


def _member_input(member: Any, X: Any, columns: Any) -> Any:
    if hasattr(member, "feature_names_in_"):
        return X
    return (np.asarray(X) if hasattr(X, "columns") or isinstance(X, list) else X)[:, columns]


def _spread(probs: Floats, codes: NDArray[Any], n_classes: int) -> Floats:
    """Probabilities of the classes a member has seen as columns among all classes."""
    if probs.shape[1] == n_classes:
        return probs
    full = np.zeros((len(probs), n_classes))
    full[:, np.asarray(codes, dtype=np.intp)] = probs
    return full
