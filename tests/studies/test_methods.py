"""The paper's methods: all of a seed start from one fit, which changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.self_training import SelfTrainingClassifier
from chary.studies.catalogue import STUDIES
from chary.studies.methods import POLICIES, SELF_TRAINING, TABLE
from chary.studies.study import Task


@pytest.fixture
def task(blobs):
    return Task(replace(STUDIES["table-ssb"].cells([blobs], 1)[0], model={"n_steps": 30}))


def test_each_policy_comes_with_both_confidences():
    assert list(SELF_TRAINING) == [f"{policy}-{kind}" for policy in POLICIES for kind in ("softmax", "tsim")]
    assert [TABLE[name].title for name in ("erm", "pl-softmax", "csta-tsim")] == [
        "ERM",
        "PL softmax",
        "CSTA T-sim",
    ]


def test_all_methods_of_a_seed_start_from_one_fit(task, monkeypatch):
    fits = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(
        DiverseEnsembleClassifier, "fit", lambda self, X, y: fits.append(y) or original(self, X, y)
    )
    for method in TABLE.values():
        method.run(task, **method.options)
    from_the_start = [y for y in fits if np.array_equal(y, task.y)]
    assert len(from_the_start) == 1
    assert len(fits) > 8


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"erm"}))
def test_a_shared_first_fit_changes_nothing(task, name):
    method = TABLE[name]
    shared = method.run(task, **method.options)
    alone = SelfTrainingClassifier(task.estimator(), policy=shared.policy, confidence=shared.confidence)
    alone.fit(task.X, task.y)
    assert np.array_equal(shared.transduction_, alone.transduction_)
    assert np.array_equal(shared.predict_proba(task.X_test), alone.predict_proba(task.X_test))
