"""The studies of class priors: what models are told, how rows shift, what the findings say."""

from dataclasses import replace

import numpy as np
import pytest

from studies import STUDIES
from studies.priors import (
    LABELED,
    TRUE,
    _belief,
    _thinned,
    accuracy_and_ranking,
    mixed,
    shifted,
    shifted_accuracy,
    tilted,
)
from studies.study import Task


@pytest.fixture(scope="module")
def task():
    """Digits with biased labels, and a network that is fitted in no time."""
    cell = STUDIES["label-shift"].cells(["digits"], 1)[0]
    return Task(replace(cell, model={"n_steps": 50}))


def shares(codes, n_classes=10):
    return np.bincount(codes, minlength=n_classes) / len(codes)


def test_tilted_multiplies_the_odds_of_every_second_class():
    moved = tilted(np.array([0.2, 0.3, 0.5]), 3.0)
    assert moved.sum() == pytest.approx(1)
    assert moved[0] / moved[1] == pytest.approx(3 * 0.2 / 0.3)
    assert moved[0] / moved[2] == pytest.approx(0.2 / 0.5)


def test_what_a_model_is_told(task):
    assert _belief(task, None) is None
    assert _belief(task, LABELED) == "labeled"
    np.testing.assert_allclose(_belief(task, TRUE), shares(task.y_true))
    np.testing.assert_allclose(_belief(task, TRUE, 2.0), tilted(shares(task.y_true), 2.0))


def test_a_prior_reaches_the_predictions_of_the_ensemble(task):
    X = task.X[~task.labeled]
    believed = mixed(task, LABELED).predict(X)
    np.testing.assert_allclose(shares(believed), shares(task.y[task.labeled]), atol=2 / len(X))
    fitted = mixed(task, TRUE, odds=2.0)
    labels = np.where(task.labeled, task.y_true, fitted.predict(task.X))
    np.testing.assert_allclose(shares(labels), tilted(shares(task.y_true), 2.0), atol=2 / len(X))
    result = accuracy_and_ranking(task, fitted)
    off = np.abs(shares(fitted.predict(X)) - shares(task.y_true[~task.labeled])).sum() / 2
    assert result["shares_off"] == pytest.approx(off)
    assert 0 < result["t_similarity_aurc"] < 0.5


def test_shifted_rows_have_the_odds_asked_for(task):
    natural, truth = shares(task.y_true), tilted(shares(task.y_true), 4.0)
    informed = shifted(task, TRUE, 4.0)
    kept = _thinned(task, truth)
    np.testing.assert_allclose(informed.class_prior_, shares(task.y_true[kept | task.labeled]))
    assert not kept[task.labeled].any()
    np.testing.assert_allclose(shares(task.y_true[kept]), truth, atol=0.01)
    assert len(informed.labeled_iter_) == kept.sum() + task.labeled.sum()
    believed = shifted(task, LABELED, 4.0)
    np.testing.assert_allclose(believed.class_prior_, shares(task.y[task.labeled]))

    shifted_task = Task(replace(task.cell, options={"prior": TRUE, "shift": 4.0}))
    right = informed.predict(task.X_test) == task.y_test
    weights = (truth / natural)[task.y_test]
    assert shifted_accuracy(shifted_task, informed) == {
        "accuracy": pytest.approx(weights @ right / weights.sum())
    }
