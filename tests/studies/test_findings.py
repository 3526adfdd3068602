"""What is said of results, counted by hand on results made up for it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import wilcoxon

from studies import STUDIES
from studies.findings import deviations

SSB = STUDIES["table-ssb"]


def made_up(study, names, value_of, n_seeds=None):
    """Results as if the study had been run: value_of(cell, i) is the accuracy of the i-th seed."""
    cells = study.cells(names, n_seeds)
    return [(cell, {"accuracy": value_of(cell, study.seeds.index(cell.seed))}) for cell in cells]


@pytest.fixture
def results():
    """Make results: T-similarity is +5 on Digits, -5 on DNA; softmax +2 on both."""

    def value(cell, i):
        gain = 0.05 if cell.dataset == "digits" else -0.05
        return (
            0.6
            + 0.01 * i
            + (gain if "tsim" in cell.method else 0.02 if "softmax" in cell.method else 0)
        )

    return made_up(SSB, ["digits", "dna"], value)


def test_p_values_are_those_of_scipy(results):
    rng = np.random.default_rng(0)
    noisy = [
        (cell, {"accuracy": result["accuracy"] + rng.normal(0, 0.05)}) for cell, result in results
    ]
    gains = []
    for name in ("digits", "dna"):
        by_method = {
            m: [r["accuracy"] for c, r in noisy if (c.dataset, c.method) == (name, m)]
            for m in ("pl-tsim", "pl-softmax")
        }
        a, b = (np.array(by_method[m]) for m in ("pl-tsim", "pl-softmax"))
        gains.append((wilcoxon(a, b).pvalue < 0.05, (a - b).mean() > 0))
    better, worse = gains.count((True, True)), gains.count((True, False))
    sentence = next(s for s in SSB.findings(noisy) if s.startswith("PL"))
    assert f"better on {better}, worse on {worse}" in sentence


PAPER = {
    ("digits", "erm"): (70.0, 2.0),
    ("digits", "pl-tsim"): (80.0, 2.0),
    ("dna", "msta-tsim"): (90.0, 5.0),
    ("dna", "msta-softmax"): (90.0, 5.0),
}
STUDY = replace(STUDIES["table-ssb"], paper=lambda labeling: PAPER)


@pytest.fixture
def near_results():
    """Make two seeds, one point apart: 71 on Digits but 77 for PL, 94 on DNA but 84 for MSTA."""
    points = {"pl-tsim": 77, "msta-tsim": 84}

    def accuracy(cell):
        usual = 71 if cell.dataset == "digits" else 94
        return (points.get(cell.method, usual) + (0.5 if cell.seed else -0.5)) / 100

    return [(cell, {"accuracy": accuracy(cell)}) for cell in STUDY.cells(["digits", "dna"], 2)]


def test_ours_less_the_papers(near_results):
    found = {
        (d.dataset, d.method): (pytest.approx(d.points), d.is_near)
        for d in deviations(STUDY, near_results, "ssb")
    }
    assert found == {
        ("digits", "erm"): (1, True),
        ("digits", "pl-tsim"): (-3, False),
        ("dna", "msta-tsim"): (-6, False),
        ("dna", "msta-softmax"): (4, True),
    }
    of_digits = [(cell, result) for cell, result in near_results if cell.dataset == "digits"]
    assert len(deviations(STUDY, of_digits, "ssb")) == 2  # what both have
