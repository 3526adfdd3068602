"""Estimates without labels: each as its paper defines it, and how far they are off."""

import numpy as np
import pytest

from chary.method.held_out import HeldOut
from studies.label_free import (
    ESTIMATES,
    LABEL_FREE,
    calibrated_confidence,
    difference_of_confidences,
    error_table,
    errors_of,
    importance_weights,
    mano_score,
    thresholded_confidence,
)
from studies.runner import work_out

pytestmark = pytest.mark.usefixtures("quick_learners")


def held_out(probability, correct):
    n = len(correct)
    return HeldOut(np.zeros(n), np.array(correct), np.zeros(n), np.array(probability))


def test_estimates_are_those_of_their_papers():
    labelled = held_out([0.6, 0.7, 0.8, 0.9], [False, True, True, True])
    same = labelled.probability
    # Of rows like the labelled ones, all estimates are the held-out accuracy.
    assert difference_of_confidences(labelled, same) == pytest.approx(0.75)
    assert thresholded_confidence(labelled, same) == pytest.approx(0.75)
    assert calibrated_confidence(labelled, same) == pytest.approx(0.75)
    less_sure = same - 0.1
    assert difference_of_confidences(labelled, less_sure) == pytest.approx(0.65)
    assert thresholded_confidence(labelled, less_sure) == pytest.approx(0.5)
    assert calibrated_confidence(labelled, less_sure) == pytest.approx(0.5)


def test_mano_is_the_norm_of_normalised_logits():
    sure = np.array([[1 - 2e-9, 1e-9, 1e-9]] * 4)
    assert mano_score(sure) == pytest.approx((1 / 3) ** 0.25)
    unsure = np.full((4, 3), 1 / 3)
    assert mano_score(unsure) == pytest.approx(1 / 3)


def test_rows_that_look_unlabelled_weigh_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    labeled = rng.random(400) < 1 / (1 + np.exp(2 * X[:, 0]))
    weights, auc = importance_weights(X, labeled, seed=0)
    assert np.corrcoef(weights, X[labeled, 0])[0, 1] > 0.5
    assert auc > 0.75
    _, auc = importance_weights(X, rng.random(400) < 0.5, seed=0)
    assert auc == pytest.approx(0.5, abs=0.1)


def test_the_study_runs_from_a_fresh_clone(monkeypatch):
    monkeypatch.delenv("CHARY_DATA", raising=False)
    cells = [cell for cell in LABEL_FREE.cells(["tumours"], 1) if cell.labeling == "column"]
    outcomes = list(work_out(LABEL_FREE, cells))
    assert [one.reason for one in outcomes] == ["", ""], outcomes
    results = [(one.cell, one.result) for one in outcomes]
    for learner in LABEL_FREE.methods:
        errors = errors_of(results, learner)
        assert set(errors) == set(ESTIMATES)
        assert all(abs(error) <= 100 for of_draw in errors.values() for error in of_draw.values())
    assert len(error_table(LABEL_FREE, results).rows) == 2 * len(ESTIMATES)
