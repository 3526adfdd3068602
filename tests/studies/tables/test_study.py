"""The study of real tables: which cells there are, and that a part of it runs from a fresh clone."""

from collections import Counter

from chary.studies.runner import work_out
from chary.studies.tables.study import TABLES, TABLES_PAPER


def test_the_grid_has_every_table_way_and_seed_that_is_wanted():
    cells = TABLES.cells()
    by_method = Counter(cell.method for cell in cells)
    assert by_method["auto"] == by_method["logistic"] == 5 * (3 * 20 - 2)  # two tables have no group
    assert by_method["report"] == 2 * 58
    assert by_method["auto-shares"] == 2 * 38  # where labels are biased
    assert by_method["auto-shares-5"] == 18  # where they come from one group
    assert by_method["self-training"] == 2 * 58
    assert {cell.seed for cell in cells} == {0, 1, 2, 3, 4}
    assert {(cell.r, cell.alpha) for cell in cells} == {(None, None)}


def test_a_part_of_it_runs_from_a_fresh_clone(monkeypatch, quick_learners):
    monkeypatch.delenv("CHARY_DATA", raising=False)
    cells = [cell for cell in TABLES.cells(["wine"], 1) if cell.labeling == "group"]
    outcomes = list(work_out(TABLES, cells))
    assert [kind for kind, _ in outcomes] == ["result"] * len(TABLES.methods), outcomes
    accuracies = {
        cell.method: answer["result"]["accuracy"] for cell, (_, answer) in zip(cells, outcomes, strict=True)
    }
    assert accuracies["auto"] == accuracies["report"] > accuracies["majority"]


def test_the_paper_s_sets_go_through_the_same_methods(blobs, quick_learners):
    cells = TABLES_PAPER.cells([blobs], 1)
    outcomes = list(work_out(TABLES_PAPER, cells))
    assert {kind for kind, _ in outcomes} == {"result"}, outcomes
    assert all(answer["result"]["accuracy"] > 0.7 for _, answer in outcomes)
    assert {cell.labeling for cell in cells} == {"iid", "ssb"}
    assert set(TABLES_PAPER.methods) <= set(TABLES.methods)
