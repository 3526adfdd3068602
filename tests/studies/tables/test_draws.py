"""Draws: what a method may know, what it is judged by, and the paper's data sets as tables."""

import numpy as np
import pytest

from chary.studies.study import Task
from chary.studies.tables.draws import paper_draw, table_draw
from chary.studies.tables.study import TABLES, TABLES_PAPER
from chary.tables import read_target


@pytest.fixture(scope="module")
def draw():
    return table_draw(next(cell for cell in TABLES.cells(["wine"], 1) if cell.labeling == "group"))


def test_a_draw_hides_all_labels_but_those_of_its_rows(draw):
    assert draw.labeled.sum() == 40
    assert set(draw.table.frame["colour"].filter(draw.labeled)) == {"ruby"}
    read = read_target(draw.hidden(), "cultivar").labels
    assert (read.labeled == draw.labeled).all()
    known = draw.labels(draw.audited(0))
    assert read.classes.tolist() == known.classes.tolist()
    assert (read.codes == known.codes).all()


def test_audited_rows_are_known_and_never_scored(draw):
    rows = draw.audited(30)
    assert not draw.labeled[rows].any()
    assert draw.audited(10).tolist() == rows[:10].tolist()
    known, scored = draw.labels(rows), draw.scored(rows)
    assert known.labeled.sum() == 70
    assert (known.classes[known.codes[rows]] == draw.classes[draw.truth[rows]]).all()
    together = np.concatenate([np.flatnonzero(known.labeled), scored.rows])
    assert sorted(together) == list(range(178))
    assert (scored.truth == draw.truth[scored.rows]).all()
    assert (draw.X[scored.rows] == scored.X).all()


def test_classes_without_a_label_are_unknown_until_an_audit_finds_them(draw):
    labeled = draw.labeled & (draw.truth != 1)
    fewer = type(draw)(draw.cell, draw.X, draw.truth, draw.classes, labeled, draw.table)
    assert fewer.labels(fewer.audited(0)).classes.tolist() == ["cultivar 1", "cultivar 3"]
    found = fewer.labels(fewer.audited(30))
    assert found.classes.tolist() == draw.classes.tolist()
    assert (found.codes[found.labeled] == draw.truth[found.labeled]).all()


def test_work_is_shared_within_a_draw(draw):
    assert draw.once("work", lambda: [1]) is draw.once("work", lambda: [2])


def test_the_paper_s_sets_are_split_and_labelled_as_there(blobs):
    cell = next(cell for cell in TABLES_PAPER.cells([blobs], 1) if cell.labeling == "ssb")
    task, draw = Task(cell), paper_draw(cell)
    assert (draw.labeled == task.labeled).all()
    assert (draw.truth == task.y_true).all()
    scored = draw.scored(draw.audited(0))
    assert scored.rows is None
    assert (scored.truth == task.y_test).all()
    # Numbers are standardised by either.
    np.testing.assert_allclose(draw.X, task.X, atol=1e-6)
    np.testing.assert_allclose(scored.X, task.X_test, atol=1e-6)
