"""What a report quotes from the studies is what they found: worked out again from the stored cells."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from chary.report.summary import EVIDENCE, STUDIED

CELLS = Path(__file__).parents[2] / "studies/results/tables/cells.json.gz"


@pytest.fixture(scope="module")
def cells():
    """Those with labels from one group of the rows or picked by a column."""
    with gzip.open(CELLS) as stream:
        every = json.load(stream)
    collection = [
        c for c in every if c["cell"]["labeling"] in ("group", "column") and c["cell"]["dataset"] not in OWN
    ]
    return [(c["cell"], c["result"]) for c in collection]


OWN = ("wine", "tumours", "scans")  # tables that ship with scikit-learn


def gain(cells, method, other, metric="accuracy"):
    """Points on average over tables and ways, where both methods have the draw."""
    found = defaultdict(dict)
    for cell, result in cells:
        if cell["method"] in (method, other):
            found[cell["dataset"], cell["labeling"], cell["seed"]][cell["method"]] = 100 * result[metric]
    by_table = defaultdict(list)
    for (table, way, _), both in found.items():
        if len(both) == 2:
            by_table[table, way].append(both[method] - both[other])
    return np.mean([np.mean(gains) for gains in by_table.values()])


def levels(cells):
    return [level for cell, result in cells if cell["method"] == "report" for level in result["levels"]]


def test_how_many_tables(cells):
    assert len({cell["dataset"] for cell, _ in cells}) == STUDIED["n_tables"]


def test_what_the_surest_half_meant(cells):
    half = [level for level in levels(cells) if level["share"] == 0.5 and level["error"] is not None]
    assert STUDIED["surest_half_said"] == pytest.approx(
        100 * np.mean([level["error"] for level in half]), abs=0.51
    )
    assert STUDIED["surest_half_true"] == pytest.approx(
        100 * np.mean([level["true_error"] for level in half]), abs=0.51
    )


def test_how_often_the_limit_was_passed(cells):
    passed = [
        level["true_error"] > level["error_high"] for level in levels(cells) if level["error_high"] is not None
    ]
    assert STUDIED["limits_passed"] == pytest.approx(100 * np.mean(passed), abs=0.51)


def test_what_told_shares_were_worth(cells):
    assert STUDIED["prior_gain"] == pytest.approx(gain(cells, "auto-shares", "auto"), abs=0.051)
    balanced = gain(cells, "auto-shares", "auto", "balanced")
    assert STUDIED["prior_balanced_gain"] == pytest.approx(balanced, abs=0.051)


def test_the_sentences_hold_the_numbers():
    assert (
        "20 % of the most confident half were wrong where the held-out check had said 14 %"
        in EVIDENCE["acceptance"]
    )
    assert "0.3 points of accuracy and 3.9 of balanced accuracy" in EVIDENCE["prior"]
