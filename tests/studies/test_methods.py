"""The paper's methods: all of a seed start from one fit, which changes nothing."""

from dataclasses import replace

import numpy as np
import pytest

from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.self_training import SelfTrainingClassifier
from chary.studies.catalogue import STUDIES
from chary.studies.methods import POLICIES, SELF_TRAINING, TABLE, as_the_authors
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

    def fit(self, X, y, *, start_from=None):
        fits.append(y)
        return original(self, X, y, start_from=start_from)

    monkeypatch.setattr(DiverseEnsembleClassifier, "fit", fit)
    for method in (*TABLE.values(), *as_the_authors(TABLE).values()):
        method.run(task, **method.options)
    from_the_start = [y for y in fits if np.array_equal(y, task.y)]
    assert len(from_the_start) == 1
    assert len(fits) > 8


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"erm"}))
@pytest.mark.parametrize("methods", [TABLE, as_the_authors(TABLE)], ids=["ours", "authors"])
def test_a_shared_first_fit_changes_nothing(task, name, methods):
    method = methods[name]
    shared = method.run(task, **method.options)
    assert shared.warm_start == (methods is not TABLE and name.startswith(("pl", "csta")))
    alone = SelfTrainingClassifier(
        task.estimator(), policy=shared.policy, confidence=shared.confidence, warm_start=shared.warm_start
    )
    alone.fit(task.X, task.y)
    assert np.array_equal(shared.transduction_, alone.transduction_)
    assert np.array_equal(shared.predict_proba(task.X_test), alone.predict_proba(task.X_test))
