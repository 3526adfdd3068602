"""scikit-learn's own checks of an estimator: all pass, none is skipped, and what cannot pass is declared."""

from unittest import SkipTest

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from chary import (
    DiverseEnsembleClassifier,
    FixedThreshold,
    MixedEnsembleClassifier,
    SelfTrainingClassifier,
    TransductiveBound,
)
from chary.method import mixed

MINI_BATCHES = (
    "A row of weight 2 and two copies of it fall into different mini-batches; "
    "test_classifier.py compares them in whole batches, and statistically."
)
MINUS_ONE = "Its labels are {-1, 1}, and by default -1 marks an unlabelled row: the error that is due, is raised."

ROWS_COUNT = "A class prior is about the shares of rows, so a row of weight 2 counts as one row, not as two."
QUANTILES = (
    "Quantiles and scales of the columns take each row once, whatever its weight, as unlabelled rows have none."
)

TWO_KINDS = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(random_state=0))]
ESTIMATORS = [
    DiverseEnsembleClassifier(n_steps=200, unlabeled=None),
    DiverseEnsembleClassifier(),
    DiverseEnsembleClassifier(n_steps=200, class_prior="labeled", unlabeled=None),
    MixedEnsembleClassifier(TWO_KINDS, unlabeled=None),
    MixedEnsembleClassifier(unlabeled=None),
    MixedEnsembleClassifier(TWO_KINDS, class_prior="labeled"),
    SelfTrainingClassifier(LogisticRegression(), confidence="max_probability"),
    SelfTrainingClassifier(LogisticRegression(), confidence="entropy", policy=TransductiveBound(), unlabeled=None),
    SelfTrainingClassifier(RidgeClassifier(), confidence="margin", policy=FixedThreshold(0.9)),
    SelfTrainingClassifier(DecisionTreeClassifier(), confidence="max_probability", random_state=0),
    SelfTrainingClassifier(DiverseEnsembleClassifier(n_steps=200)),
    SelfTrainingClassifier(DiverseEnsembleClassifier(n_steps=200), warm_start=True, confidence="t_share"),
    SelfTrainingClassifier(LogisticRegression(), confidence="max_probability", class_prior="labeled"),
]


def expected_failures(estimator):
    failures = {}
    inside = getattr(estimator, "estimator", estimator)
    mixed = isinstance(inside, MixedEnsembleClassifier)  # fits its few rows: all offsets are in the same gap
    if (estimator.class_prior is not None and not mixed) or isinstance(inside, DiverseEnsembleClassifier):
        reason = MINI_BATCHES if isinstance(inside, DiverseEnsembleClassifier) else ROWS_COUNT
        failures["check_sample_weight_equivalence_on_dense_data"] = reason
        failures["check_sample_weight_equivalence_on_sparse_data"] = reason
    if mixed and inside.members is None:
        failures["check_sample_weight_equivalence_on_dense_data"] = QUANTILES
    if estimator.unlabeled is not None and not isinstance(estimator, SelfTrainingClassifier):
        failures["check_classifiers_classes"] = MINUS_ONE
    return failures


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """The default members with a tenth of the trees: what the checks ask does not depend on their number."""
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
