"""What a report quotes from the studies is what they found, computed again from stored cells."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from chary.report import Hints
from chary.report.next_steps import STUDIED, prior_advice

CELLS = Path(__file__).parents[2] / "studies/results/tables/cells.json.gz"


@pytest.fixture(scope="module")
def cells():
    """Those with labels from one group of the rows or picked by a column."""
    with gzip.open(CELLS) as stream:
        every = json.load(stream)
    collection = [
        c
        for c in every
        if c["cell"]["labeling"] in ("group", "column") and c["cell"]["dataset"] not in OWN
    ]
    return [(c["cell"], c["result"]) for c in collection]


OWN = ("wine", "tumours", "scans")  # tables that ship with scikit-learn


def gain(cells, method, other, metric="accuracy"):
    """Points on average over tables and ways, where both methods have the draw."""
    found = defaultdict(dict)
    for cell, result in cells:
        if cell["method"] in (method, other):
            found[cell["dataset"], cell["labeling"], cell["seed"]][cell["method"]] = (
                100 * result[metric]
            )
    by_table = defaultdict(list)
    for (table, way, _), both in found.items():
        if len(both) == 2:
            by_table[table, way].append(both[method] - both[other])
    return np.mean([np.mean(gains) for gains in by_table.values()])


def test_how_many_tables(cells):
    assert len({cell["dataset"] for cell, _ in cells}) == STUDIED["n_tables"]


def test_what_told_shares_were_worth(cells):
    assert STUDIED["prior_gain"] == pytest.approx(gain(cells, "auto-shares", "auto"), abs=0.051)
    balanced = gain(cells, "auto-shares", "auto", "balanced")
    assert STUDIED["prior_balanced_gain"] == pytest.approx(balanced, abs=0.051)


def test_the_sentence_holds_the_numbers():
    said = prior_advice({"biased": True}, Hints())
    assert "on 20 real tables" in said
    assert "0.3 points of accuracy and 3.9 of balanced accuracy" in said
