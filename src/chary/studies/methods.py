"""A task in; a classifier by each of the paper's methods out: PL, CSTA and MSTA, with either confidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from chary.method import (
    Curriculum,
    FixedThreshold,
    MixedEnsembleClassifier,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.studies.study import ERM, Method, Task


def pseudo_labels(task: Task, confidence: str, threshold: float, **options: Any) -> SelfTrainingClassifier:
    """PL: accept above a fixed threshold."""
    return _self_train(task, confidence, FixedThreshold(threshold), **options)


def curriculum(task: Task, confidence: str, step: float, **options: Any) -> SelfTrainingClassifier:
    """CSTA: accept a growing share."""
    return _self_train(task, confidence, Curriculum(step), **options)


def transductive(task: Task, confidence: str, index: str, **options: Any) -> SelfTrainingClassifier:
    """MSTA: accept what a bound on the error allows."""
    return _self_train(task, confidence, TransductiveBound(index=index), **options)


def _self_train(task: Task, confidence: str, policy: Any, **options: Any) -> SelfTrainingClassifier:
    model = SelfTrainingClassifier(task.estimator(), policy=policy, confidence=confidence, **options)
    return model.fit(task.X, task.y, initial=task.initial)


def _both(name: str, run: Callable[..., Any], **options: Any) -> dict[str, Method]:
    return {
        f"{name}-softmax": Method(run, {"confidence": "softmax", **options}, f"{name.upper()} softmax"),
        f"{name}-tsim": Method(run, {"confidence": "t_similarity", **options}, f"{name.upper()} T-sim"),
    }


POLICIES = ("pl", "csta", "msta")
PL = _both("pl", pseudo_labels, threshold=0.8)
CSTA = _both("csta", curriculum, step=0.4)
MSTA = _both("msta", transductive, index="confidence")
SELF_TRAINING = {**PL, **CSTA, **MSTA}
# Two more readings of which class's threshold a row must reach: see TransductiveBound.
MSTA_READINGS = {
    "msta-tsim-prediction": Method(
        transductive, {"confidence": "t_similarity", "index": "prediction"}, "MSTA T-sim pred."
    ),
    "msta-tsim-mixed": Method(transductive, {"confidence": "t_similarity", "index": "mixed"}, "MSTA T-sim mixed"),
}
TABLE = {**ERM, **SELF_TRAINING, **MSTA_READINGS}
PL_SHARE = {"pl-tshare": Method(pseudo_labels, {"confidence": "t_share", "threshold": 0.8}, "PL T-share")}


def as_the_authors(methods: Mapping[str, Method]) -> dict[str, Method]:
    """Methods as the paper's numbers show them to have been run: PL and CSTA go on from the weights they have.

    Their refits start from the weights of the round before, those of MSTA from random ones. A method that is the
    same in both protocols has the same cells.
    """
    return {
        name: method._replace(options={**method.options, "warm_start": True})
        if name.partition("-")[0] in ("pl", "csta")
        else method
        for name, method in methods.items()
    }


def first_mixture(task: Task, n_rows: int | None = None) -> MixedEnsembleClassifier:
    """Two linear models and trees, which count twice: chary's first unlike learners, not fitted.

    The stored results of the studies of priors, audits and learners rest on them; those of ``tables`` and
    ``tables-paper`` on today's. ``n_rows``: that they will see, if not all of the task's.
    """
    quantiles = QuantileTransformer(n_quantiles=min(1000, n_rows or len(task.X)), output_distribution="normal")
    members = [
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))),
        ("quantile", make_pipeline(quantiles, LogisticRegression(max_iter=1000))),
        ("trees", ExtraTreesClassifier(200, max_features=0.5), 2.0),
    ]
    return MixedEnsembleClassifier(members, random_state=task.random_state)
