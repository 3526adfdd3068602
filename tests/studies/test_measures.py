"""The measures of the paper's studies: each looks at the rows it says, and at no others."""

from dataclasses import replace

import numpy as np
import pytest

from chary.method.diverse import DiverseEnsembleClassifier
from chary.studies import measures
from chary.studies.catalogue import STUDIES
from chary.studies.study import Task


def task_of(name, dataset, **changes):
    cell = next(c for c in STUDIES[name].cells([dataset], 1) if c.labeling == "ssb")
    return Task(replace(cell, model={"n_steps": 30}, **changes))


def test_histograms_and_calibration_look_at_the_unlabelled_rows(blobs):
    task = task_of("table-ssb", blobs)
    histogram = measures.confidence_histogram(task, task.initial)
    n_right = (task.initial.predict(task.X[~task.labeled]) == task.y_true[~task.labeled]).sum()
    for name in measures.CONFIDENCES:
        assert sum(histogram[f"{name}_right"]) == n_right
        assert sum(histogram[f"{name}_right"]) + sum(histogram[f"{name}_wrong"]) == (~task.labeled).sum()
    figures = measures.calibration(task, task.initial)
    assert {
        f"{name}_{what}" for name in measures.CONFIDENCES for what in ("ece", "ece_mass", "auroc", "aurc")
    } < set(figures)


def test_histograms_become_shares_of_confident_mistakes():
    counts = [0] * 17 + [10, 20, 10]
    result = {"softmax_wrong": counts, "softmax_right": [0] * 20, "n_wrong": 3}
    assert measures.shares_of_the_sure(result) == {"softmax_wrong_above_0.9": 0.75}


def test_leave_one_out_leaves_one_out(blobs, monkeypatch):
    task = task_of("figure-model-selection", blobs, n_labeled=8)
    seen = []
    original = DiverseEnsembleClassifier.fit
    monkeypatch.setattr(
        DiverseEnsembleClassifier, "fit", lambda self, X, y: seen.append(X) or original(self, X, y)
    )
    result = measures.leave_one_out(task, task.initial)
    X = task.X[task.labeled]
    assert [len(part) for part in seen[-8:]] == [7] * 8
    assert all(not (part == X[i]).all(axis=1).any() for i, part in enumerate(seen[-8:]))
    assert result["leave_one_out"] * 8 == pytest.approx(round(result["leave_one_out"] * 8))


def test_the_unlabelled_rows_do_not_touch_the_prediction_head(blobs):
    """What leave-one-out relies on, up to the rounding of larger matrix products."""
    task = task_of("table-ssb", blobs)
    alone = task.estimator().fit(task.X[task.labeled], task.y[task.labeled])
    assert np.array_equal(alone.predict(task.X_test), task.initial.predict(task.X_test))


def test_projections_and_plane_describe_the_data():
    task = task_of("figure-bias", "digits")
    shown = measures.projections(task, None)
    assert sum(shown["all"]) == len(task.X)
    assert sum(shown["labeled"]) == len(shown["points_labeled"]) == 99
    assert len(shown["points_all"]) == 600
    task = task_of("figure-intro", "moons")
    shown = measures.plane(task, task.initial)
    assert len(shown["softmax"]) == len(shown["t_similarity"]) == len(shown["prediction"]) == 3600
    assert all(0 <= value <= 1 for value in shown["t_similarity"])
