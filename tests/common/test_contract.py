"""scikit-learn's own checks of an estimator: all pass, none is skipped, and what cannot pass is declared."""

from unittest import SkipTest

import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from chary import DiverseEnsembleClassifier, FixedThreshold, SelfTrainingClassifier, TransductiveBound

MINI_BATCHES = (
    "A row of weight 2 and two copies of it fall into different mini-batches; "
    "test_classifier.py compares them in whole batches, and statistically."
)
MINUS_ONE = "Its labels are {-1, 1}, and by default -1 marks an unlabelled row: the error that is due, is raised."

SAMPLE_WEIGHT_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": MINI_BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": MINI_BATCHES,
}
ESTIMATORS = [
    DiverseEnsembleClassifier(unlabeled=None),
    DiverseEnsembleClassifier(),
    SelfTrainingClassifier(LogisticRegression(), confidence="max_probability"),
    SelfTrainingClassifier(LogisticRegression(), confidence="entropy", policy=TransductiveBound(), unlabeled=None),
    SelfTrainingClassifier(RidgeClassifier(), confidence="margin", policy=FixedThreshold(0.9)),
    SelfTrainingClassifier(DecisionTreeClassifier(), confidence="max_probability", random_state=0),
    SelfTrainingClassifier(DiverseEnsembleClassifier(n_steps=200)),
]


def expected_failures(estimator):
    if isinstance(estimator, SelfTrainingClassifier):
        inside = isinstance(estimator.estimator, DiverseEnsembleClassifier)
        return SAMPLE_WEIGHT_CHECKS if inside else {}
    if estimator.unlabeled is None:
        return SAMPLE_WEIGHT_CHECKS
    return SAMPLE_WEIGHT_CHECKS | {"check_classifiers_classes": MINUS_ONE}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except SkipTest as skipped:
        pytest.fail(f"A check was skipped: {skipped}")
