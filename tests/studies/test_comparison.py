"""Tests of two methods claim what SciPy's do, and nothing with fewer than six seeds."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import false_discovery_control, wilcoxon

from studies import Metric, Study, average_ranks, find_study, paired_tests
from studies.comparison import corrected
from studies.results import to_latex
from studies.study import ERM, Method

SETS = ("digits", "dna", "rice", "splice", "protein", "mushrooms", "phishing")
STUDY = Study(
    name="mine",
    title="Mine",
    datasets=SETS,
    labelings=("ssb",),
    methods={**ERM, "ours": Method(lambda task: task.initial), "other": Method(lambda task: None)},
)


@pytest.fixture(scope="module")
def cells():
    return find_study("table-ssb").cells(SETS, 9, ["erm"])


def results_of(cells, numbers, n_seeds=9):
    """Make results of methods up: numbers by method, (data sets, seeds)."""
    by_place = {(cell.dataset, cell.seed): cell for cell in cells}
    seeds = list(dict.fromkeys(cell.seed for cell in cells))[:n_seeds]
    return [
        (replace(by_place[name, seed], method=method), {"accuracy": float(table[i, j])})
        for method, table in numbers.items()
        for i, name in enumerate(SETS)
        for j, seed in enumerate(seeds)
    ]


def test_ranks_and_p_values_are_those_of_scipy(cells):
    rng = np.random.default_rng(0)
    erm = rng.random((7, 9))
    ours = erm + 0.01 + 0.001 * rng.random((7, 9))
    other = rng.random((7, 9))
    results = results_of(cells, {"erm": erm, "ours": ours, "other": other})
    ranks = {row[0]: float(row[1]) for row in average_ranks(STUDY, results).rows}
    assert ranks["ours"] < ranks["ERM"]
    assert sum(ranks.values()) == pytest.approx(1 + 2 + 3, abs=0.02)

    first, *_ = rows = paired_tests(STUDY, results).rows
    assert [row[1] for row in rows] == [
        "ours against ERM",
        "other against ERM",
        "other against ours",
    ]
    others = [wilcoxon((other - rival).mean(axis=1)).pvalue for rival in (erm, ours)]
    smallest = wilcoxon((ours - erm).mean(axis=1)).pvalue
    assert smallest < min(others)
    assert first[3:] == ["7 of 7", f"{3 * smallest:.3f}", "9", f"{3 * 2 / 2**9:.3f}"]


def test_nothing_is_claimed_with_fewer_than_six_seeds(cells):
    rng = np.random.default_rng(0)
    erm = rng.random((7, 9))
    for n_seeds, claims in ((5, False), (6, True)):
        rows = paired_tests(STUDY, results_of(cells, {"erm": erm, "ours": erm + 0.1}, n_seeds)).rows
        assert (rows[0][4] != "-", rows[0][6] != "-") == (claims, claims)


def test_a_number_that_is_better_if_lower_is_turned(cells):
    numbers = {"erm": np.full((7, 9), 0.5), "ours": np.full((7, 9), 0.4)}
    results = results_of(cells, numbers)
    study = replace(STUDY, metrics={"accuracy": Metric("nats", lower_is_better=True)})
    assert paired_tests(STUDY, results).rows[0][2] == "-10.0"
    assert paired_tests(study, results).rows[0][2] == "+0.100"
    assert average_ranks(study, results).rows == [["ERM", "2.00"], ["ours", "1.00"]]


def test_missing_results_leave_no_row(cells):
    assert paired_tests(STUDY, []).rows == average_ranks(STUDY, []).rows == []
    only = results_of(cells, {"erm": np.zeros((7, 9))})
    assert paired_tests(STUDY, only).rows == []


def test_holm_raises_p_values_step_by_step():
    p_values = np.random.default_rng(0).random(20) / 20
    raised = np.array(corrected(p_values))
    # Between Benjamini-Hochberg's and Bonferroni's, in the same order.
    assert (raised >= false_discovery_control(p_values) - 1e-12).all()
    assert (raised <= np.minimum(1, 20 * p_values) + 1e-12).all()
    assert raised.min() == pytest.approx(20 * p_values.min())
    assert (np.diff(raised[np.argsort(p_values)]) >= 0).all()


def test_tables_of_the_tests_are_latex(cells):
    rng = np.random.default_rng(0)
    results = results_of(cells, {"erm": rng.random((7, 9)), "ours": rng.random((7, 9))})
    text = to_latex([average_ranks(STUDY, results), paired_tests(STUDY, results)])
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    assert "Gain in points of the first method" in text
