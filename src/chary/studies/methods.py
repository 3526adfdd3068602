"""A task in; a classifier by each of the paper's methods out: PL, CSTA and MSTA, with either confidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chary.method import Curriculum, FixedThreshold, SelfTrainingClassifier, TransductiveBound
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
TABLE = {
    **ERM,
    **SELF_TRAINING,
    # The class of the prediction, not of the confidence, picks the threshold: see TransductiveBound.
    "msta-tsim-prediction": Method(
        transductive, {"confidence": "t_similarity", "index": "prediction"}, "MSTA T-sim pred."
    ),
}
