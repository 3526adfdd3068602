"""The study of real tables: one fit gives the labels of one round and of three, and the report."""

import numpy as np
import pytest

from chary import Curriculum
from chary.labelling.learners import learners
from studies.collection import part_of_table, table_draw
from studies.real_tables import (
    REAL_TABLES,
    labels_after,
    share_right,
)
from studies.runner import work_out

pytestmark = pytest.mark.usefixtures("quick_learners")


@pytest.fixture(scope="module")
def cell():
    return next(cell for cell in REAL_TABLES.cells(["tumours"], 1) if cell.labeling == "column")


@pytest.mark.parametrize("learner", ["network", "mixed"])
@pytest.mark.parametrize("confidence", ["softmax", "t_similarity"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_labels_are_those_of_a_fit_with_as_many_rounds(cell, learner, confidence, rounds):
    draw = part_of_table(cell)
    model = learners()[learner].classifier(rounds, draw.seed)
    model.set_params(policy=Curriculum(0.4), confidence=confidence, warm_start=learner == "network")
    model.fit(draw.X, draw.labels(draw.audited(0)))
    rest = ~draw.labeled
    labels = np.where(
        model.labeled_iter_[rest] > 0, model.transduction_[rest], model.predict(draw.X[rest])
    )
    assert (labels_after(draw, learner, confidence, rounds) == labels).all()


def test_without_rounds_the_rows_are_predicted(cell):
    draw = part_of_table(cell)
    model = learners()["network"].classifier(0, draw.seed).fit(draw.X, draw.labels(draw.audited(0)))
    labels = labels_after(draw, "network")
    assert (labels == model.predict(draw.X[~draw.labeled])).all()
    truth = draw.classes[draw.truth[~draw.labeled]]
    assert share_right(draw, labels)["accuracy"] == pytest.approx(np.mean(labels == truth))


def test_large_tables_keep_all_labels_and_some_others(cell, monkeypatch):
    monkeypatch.setattr("studies.collection._ROWS", 100)
    draw = part_of_table(cell)
    assert draw.labeled.sum() == table_draw(cell).labeled.sum()
    assert (~draw.labeled).sum() == 100


def test_it_runs_from_a_fresh_clone(cell, monkeypatch):
    monkeypatch.delenv("CHARY_DATA", raising=False)
    cells = [one for one in REAL_TABLES.cells(["tumours"], 1) if one.labeling == "group"]
    outcomes = list(work_out(REAL_TABLES, cells))
    assert [one.reason for one in outcomes] == [""] * 10, outcomes
    assert all(one.result["accuracy"] > 0.5 for one in outcomes)
