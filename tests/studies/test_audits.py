"""The study of audits: which rows it adds, what it measures, what it says."""

from dataclasses import replace

import numpy as np
import pytest

from studies import audits as audit_study
from studies import figures as plots
from studies.audits import AUDIT, RANDOM, SAME, SIZES, extra_rows
from studies.study import Task


def cell(labeling, method="erm-random", k=0, **model):
    cells = AUDIT.cells(["digits"], 1)
    (found,) = (c for c in cells if (c.labeling, c.method, c.options["k"]) == (labeling, method, k))
    return replace(found, model={"n_steps": 30, **model})


@pytest.fixture(name="tasks", scope="module")
def both_tasks():
    return {labeling: Task(cell(labeling)) for labeling in ("ssb", "iid")}


@pytest.mark.parametrize("labeling", ["ssb", "iid"])
@pytest.mark.parametrize("source", [RANDOM, SAME])
def test_rows_added_are_new_as_many_as_asked_and_nested(tasks, labeling, source):
    task, before = tasks[labeling], set()
    for k in SIZES:
        rows = extra_rows(task, source, k)
        assert len(set(rows.tolist())) == k
        assert not task.labeled[rows].any()
        assert before <= set(rows.tolist())
        before = set(rows.tolist())


def test_more_from_the_same_source_is_as_biased_as_the_first_labels(tasks):
    """The first labels lie far out on their class's first principal component; added ones too."""
    task = tasks["ssb"]
    far = np.zeros(len(task.X))
    for c in np.unique(task.y_true):
        own = task.y_true == c
        centred = task.X[own] - task.X[own].mean(axis=0)
        scores = np.abs(centred @ np.linalg.svd(centred, full_matrices=False)[2][0])
        far[own] = scores.argsort().argsort() / len(scores)
    first, same, random = (
        far[task.labeled],
        far[extra_rows(task, SAME, 50)],
        far[extra_rows(task, RANDOM, 50)],
    )
    assert random.mean() == pytest.approx(0.5, abs=0.1)
    assert min(first.mean(), same.mean()) > random.mean() + 0.1


def test_more_of_random_labels_is_balanced_over_classes(tasks):
    counts = np.bincount(tasks["iid"].y_true[extra_rows(tasks["iid"], SAME, 50)])
    assert counts.tolist() == [5] * 10


def test_self_training_and_mixed_ensemble_start_from_the_same_rows(tasks):
    task = tasks["ssb"]
    for run in (audit_study.curriculum, audit_study.mixed):
        trained = run(task, RANDOM, 10)
        assert trained.rows.tolist() == extra_rows(task, RANDOM, 10).tolist()
        assert set(audit_study.audited(task, trained)) == {"accuracy"}
        assert run(task, RANDOM, 10).model is trained.model  # not worked out twice


def plausible():
    results = []
    for c in AUDIT.cells(["digits", "rice"], 3):
        k, gain = c.options["k"], 0.005 if c.options["source"] == RANDOM else 0.001
        result = {"accuracy": 0.6 + gain * k}
        results.append((c, result))
    return results


def test_the_figure_shows_both_controls(tmp_path):
    ax = plots.draw(AUDIT, plausible())
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == [
        "random rows",
        "rows from the same source",
        "no more labels",
    ]
    random, same, _ = ax.lines
    assert random.get_ydata().tolist() == pytest.approx([60, 65, 70, 75, 85])
    assert same.get_ydata().tolist() == pytest.approx([60, 61, 62, 63, 65])
    ax.figure.savefig(tmp_path / "audit.png")
