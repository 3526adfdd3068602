"""The authors' draws and training: rows as they say, heads as one training each gives them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from chary import DiverseEnsembleClassifier
from studies import authors, import_results
from studies.authors import STUDY, AuthorsTask, first_fit
from studies.calibration import beside_the_papers_curves
from studies.methods import calibration_errors

ROOT = Path(__file__).parents[2]


def cell(blobs, labeling, **changes):
    return replace(next(c for c in STUDY.cells([blobs], 1) if c.labeling == labeling), **changes)


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(authors, "N_STEPS", 4)


def test_rows_are_split_labelled_and_all_used(blobs):
    for labeling in ("iid", "ssb"):
        task = AuthorsTask(cell(blobs, labeling))
        assert task.X.shape == (150, 3)
        np.testing.assert_allclose(task.X.mean(axis=0), 0, atol=1e-12)
        assert sorted([*task.given, *task.hidden]) == list(range(150))
        assert set(np.flatnonzero(task.labeled)) == set(task.given)
        again = AuthorsTask(cell(blobs, labeling))
        assert again.given.tolist() == task.given.tolist()
        if labeling == "iid":
            assert np.bincount(task.y_true[task.given]).tolist() == [10, 10]


def test_the_bias_draws_rows_far_out(blobs):
    far = [
        np.mean(np.abs(task.X[task.given] - task.X.mean(axis=0)))
        for r in (0.0, 20.0)
        for task in (AuthorsTask(cell(blobs, "ssb", r=r)),)
    ]
    assert far[1] > far[0]


def test_heads_trained_side_by_side_are_those_of_one_training(blobs, short, monkeypatch):
    task = AuthorsTask(cell(blobs, "iid"))
    state = torch.random.get_rng_state()
    together = task.network.probabilities(task.X, 2.0)
    assert torch.equal(state, torch.random.get_rng_state())  # the caller's generator is left alone
    monkeypatch.setattr(authors, "GAMMAS", (2.0,))
    alone = AuthorsTask(cell(blobs, "iid")).network.probabilities(task.X, 2.0)
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4)


def test_diversity_moves_the_heads_and_not_the_prediction(blobs, short):
    task = AuthorsTask(cell(blobs, "ssb"))
    weak, strong = (first_fit(task, gamma).predict_joint_proba(task.X) for gamma in (0.0, 2.0))
    assert np.array_equal(weak[0], strong[0])
    assert weak[1].shape == (150, 5, 2)
    assert not np.allclose(weak[1], strong[1])
    assert {"t_similarity_notebook", "t_share_ece"} < set(
        calibration_errors(task, first_fit(task, 1.0))
    )


def test_the_first_layer_starts_as_torch_starts_it(blobs, monkeypatch):
    monkeypatch.setattr(authors, "N_STEPS", 0)
    task = AuthorsTask(cell(blobs, "iid"))
    torch.manual_seed(task.cell.seed)
    layer = torch.nn.Linear(3, 128)
    assert torch.equal(task.network.backbone[0].weight, layer.weight)
    assert DiverseEnsembleClassifier().n_steps == 500  # as many as were taken here before the patch


def test_the_stored_curves_are_the_papers():
    results = import_results(ROOT / "studies" / "results" / STUDY.name / "cells.json.gz")
    alike = [float(row[-1]) for row in beside_the_papers_curves(STUDY, results).rows]
    assert len(alike) == 12
    assert min(alike) > 0.999
