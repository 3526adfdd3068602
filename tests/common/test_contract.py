"""scikit-learn's own checks of estimators: all pass, and what cannot pass is declared."""

from unittest import SkipTest

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from chary import (
    DiverseEnsembleClassifier,
    LinearDiverseEnsemble,
    MixedEnsembleClassifier,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method import mixture as mixed

MINI_BATCHES = (
    "A row of weight 2 and two copies of it fall into different mini-batches; "
    "test_classifier.py compares them in whole batches, and statistically."
)
MINUS_ONE = (
    "Its labels are {-1, 1}, and by default -1 marks an unlabelled row: "
    "the error that is due, is raised."
)

ESTIMATORS = [
    DiverseEnsembleClassifier(n_steps=100),
    MixedEnsembleClassifier(unlabeled=None),
    LinearDiverseEnsemble(unlabeled=None),
    SelfTrainingClassifier(
        LogisticRegression(), confidence="entropy", policy=TransductiveBound(), unlabeled=None
    ),
]


def expected_failures(estimator):
    failures = {}
    if isinstance(estimator, DiverseEnsembleClassifier):
        failures["check_sample_weight_equivalence_on_dense_data"] = MINI_BATCHES
    if estimator.unlabeled is not None and not isinstance(estimator, SelfTrainingClassifier):
        failures["check_classifiers_classes"] = MINUS_ONE
    return failures


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """Make the default members with a tenth of the trees; the checks do not depend on them."""
    usual = mixed.default_members

    def members(*sizes):
        linear, trees, boosting = usual(*sizes)
        trees.estimator.set_params(n_estimators=20)
        boosting.estimator.set_params(max_iter=4)
        return [linear, trees, boosting]

    monkeypatch.setattr(mixed, "default_members", members)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except SkipTest as skipped:
        pytest.fail(f"A check was skipped: {skipped}")
