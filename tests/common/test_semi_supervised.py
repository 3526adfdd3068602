"""The semi-supervised checks, on self-training with five policies and two kinds of classifier."""

import importlib.util
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from chary import (
    Curriculum,
    DiverseEnsembleClassifier,
    FixedThreshold,
    RisingShare,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method.policies import Decision

spec = importlib.util.spec_from_file_location(
    "checks", Path(__file__).with_name("semi_supervised_checks.py")
)
checks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(checks)


class AcceptNothing:
    rescore = False

    def accept(self, round):
        return Decision(np.zeros(len(round.confidence), dtype=bool), {})


class AcceptAll:
    rescore = False

    def accept(self, round):
        return Decision(np.ones(len(round.confidence), dtype=bool), {})


def make(base, *, policy, accept="policy", warm_start=False, **parameters):
    policy = {"policy": policy, "nothing": AcceptNothing(), "all": AcceptAll()}[accept]
    has_heads = isinstance(base, DiverseEnsembleClassifier)
    confidence = "t_similarity" if has_heads else "max_probability"
    warm_start = warm_start and has_heads  # one check counts the fits of a regression
    return SelfTrainingClassifier(
        base, policy=policy, confidence=confidence, warm_start=warm_start, **parameters
    )


def network():
    return DiverseEnsembleClassifier((8,), n_steps=30, learning_rate=0.02, random_state=0)


SUBJECTS = [
    checks.Subject(
        f"{base.__name__} {policy!r} {options}",
        partial(make, policy=policy, **options),
        base,
        policy.rescore,
    )
    for base, policy, options in (
        (LogisticRegression, FixedThreshold(0.75), {}),
        (LogisticRegression, RisingShare(), {}),
        (network, Curriculum(0.4), {}),
        (network, TransductiveBound(index="mixed"), {"warm_start": True}),
        (network, Curriculum(0.2, rescore=True), {"class_prior": "labeled"}),
    )
]
# With a prior the model is not the base estimator, which knows nothing of it.
COMPARISONS = {
    "check_02_no_unlabelled_rows_is_the_base_estimator",
    "check_14_k_rounds_are_k_plus_1_fits",
}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_pack(check, subject):
    if check.__name__ in COMPARISONS and "class_prior" in subject.name:
        return
    check(subject)
