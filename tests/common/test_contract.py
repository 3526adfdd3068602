"""scikit-learn's own checks of an estimator: all pass, none is skipped, and what cannot pass is declared."""

from unittest import SkipTest

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from chary import DiverseEnsembleClassifier

MINI_BATCHES = (
    "A row of weight 2 and two copies of it fall into different mini-batches; "
    "test_classifier.py compares them in whole batches, and statistically."
)
MINUS_ONE = "Its labels are {-1, 1}, and by default -1 marks an unlabelled row: the error that is due, is raised."

SAMPLE_WEIGHT_CHECKS = {
    "check_sample_weight_equivalence_on_dense_data": MINI_BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": MINI_BATCHES,
}


def expected_failures(estimator):
    if estimator.unlabeled is None:
        return SAMPLE_WEIGHT_CHECKS
    return SAMPLE_WEIGHT_CHECKS | {"check_classifiers_classes": MINUS_ONE}


@parametrize_with_checks(
    [DiverseEnsembleClassifier(unlabeled=None), DiverseEnsembleClassifier()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except SkipTest as skipped:
        pytest.fail(f"A check was skipped: {skipped}")
