"""The paper's loop with its authors' draws: training, rounds, and what is counted of them."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from studies import authors, find_study, import_results
from studies import published_loop as loop
from studies.authors import AuthorsTask, first_fit
from studies.published_loop import PUBLISHED_LOOP, TABLE_SSB_EXACT

ROOT = Path(__file__).parents[2]


@pytest.fixture
def task(blobs):
    return AuthorsTask(TABLE_SSB_EXACT.cells([blobs], 1)[0])


@pytest.fixture
def short(monkeypatch):
    for module in (authors, loop):
        monkeypatch.setattr(module, "N_STEPS", 40)


def test_training_is_that_of_the_authors_network(task, short, monkeypatch):
    monkeypatch.setattr(authors, "GAMMAS", (loop.GAMMA,))
    ours = loop.erm(task, weights=0).predict_joint_proba(task.X_test)
    theirs = first_fit(task, loop.GAMMA).predict_joint_proba(task.X_test)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("is_warm", [False, True])
def test_rounds_go_on_from_the_given_rows(task, short, monkeypatch, is_warm):
    fits = []
    train = loop.train

    def spy(network, task, rows, codes, hidden):
        fits.append((network.params.copy(), rows, codes, hidden))
        train(network, task, rows, codes, hidden)

    monkeypatch.setattr(loop, "train", spy)
    loop.curriculum(task, "softmax", step=0.4, weights=1, warm=is_warm)
    assert len(fits) == 1 + 3  # 40 %, then 80 % of the rest, then all
    for before, after in pairwise(fits):
        # Rows keep their place in training and their label, and leave the hidden ones.
        n_before = len(before[1])
        assert after[1][:n_before].tolist() == before[1].tolist()
        assert after[2][:n_before].tolist() == before[2].tolist()
        assert sorted([*after[1], *after[3]]) == list(range(len(task.X)))
        assert np.array_equal(after[0], fits[0][0]) == (not is_warm)
    assert len(fits[-1][3]) == 0


def test_the_first_weights_are_torchs_and_sets_differ(task):
    drawn = authors.untrained_layers(3, 2, task.cell.seed)[1]
    network = loop.untrained(task, weights=0)
    heads = network.layers(network.params)[-1].weight  # (32, 6 * 2)
    np.testing.assert_array_equal(heads[:, 2:4], drawn[1].weight.detach().numpy().T)
    assert not np.array_equal(network.params, loop.untrained(task, weights=1).params)


def made_up(study, accuracy, names):
    return [(cell, {"accuracy": accuracy(cell)}) for cell in study.cells(names)]


def test_z_scores_are_of_the_spread_between_sets_of_weights():
    """From every seed the sets give 60, 61 and 62: a mean over nine seeds moves by a third."""
    results = made_up(PUBLISHED_LOOP, lambda c: 0.59 + c.options["weights"] / 100, ["splice"])
    band = loop.bands(PUBLISHED_LOOP, results)["splice", "ssb", "pl-warm"]
    assert band == pytest.approx((61.0, 1 / 3))
    assert band.z_score(62.0) == pytest.approx(3 / np.sqrt(4 / 3))
    table = loop.sums_of_z_scores(PUBLISHED_LOOP, results)
    printed = [loop.failure_table(way)["splice", "csta-softmax"][0] for way in ("iid", "ssb")]
    expected = sum(((mean - 61) * 3) ** 2 / (4 / 3) for mean in printed)
    assert table.rows[-1][1:] == ["2", f"{expected:.0f}", f"{expected:.0f}"]


def test_cells_agree_with_both_printed_decimals():
    """Mushrooms are printed with 69.45, 72.16 and 76.16."""
    points = {"erm": 69.75, "msta-softmax": 71.85, "msta-tsim": 76.16, "msta-tsim-exact": 85.1}
    study = replace(TABLE_SSB_EXACT, methods={m: TABLE_SSB_EXACT.methods[m] for m in points})
    results = made_up(study, lambda c: points[c.method] / 100, ["mushrooms"])
    table = loop.with_both_decimals(study, results)
    assert table.rows[0][1] == "69.75 ± 0.00 (69.45 ± 7.29)"
    assert table.rows[1][1:] == ["1 of 1", "0 of 1", "1 of 1", "0 of 1"]
    assert "in all 2 of 3." in loop.cells_that_agree(study, results, ())[0]
    assert "by +8.9 points on Mushrooms" in loop.exact_search(study, results, ())[0]


def test_both_are_found_by_their_names():
    assert find_study("table-ssb-exact") is TABLE_SSB_EXACT
    assert TABLE_SSB_EXACT.cells()[0].code == ""  # published, so its cells have no digest


def test_the_page_on_the_paper_says_what_is_stored():
    page = (ROOT / "docs/explanation/paper.md").read_text()
    stored = {
        study.name: import_results(ROOT / "studies/results" / study.name / "cells.json.gz")
        for study in (TABLE_SSB_EXACT, PUBLISHED_LOOP)
    }
    for column, *numbers in loop.sums_of_z_scores(PUBLISHED_LOOP, stored[PUBLISHED_LOOP.name]).rows:
        assert f"| {column.replace(' softmax', '')} | {' | '.join(numbers)} |\n" in page
    table = loop.with_both_decimals(TABLE_SSB_EXACT, stored[TABLE_SSB_EXACT.name])
    _, *published, _, other_index = table.rows[-1]
    counts = " | ".join([*published, other_index])
    assert f"| data sets met within 0.3 points | {counts} |\n" in page
