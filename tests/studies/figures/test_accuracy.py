"""Figures of accuracies: what is drawn is the mean of what was measured, also of a part."""

from dataclasses import replace

import pytest

from chary.studies import figures
from chary.studies.catalogue import STUDIES
from chary.studies.study import Method


def test_what_is_drawn_is_the_mean():
    study = STUDIES["figure-gamma"]
    cells = study.cells(n_seeds=2)
    results = [
        (cell, {"accuracy": 0.5 + 0.1 * study.value_of(cell) + 0.01 * study.seeds.index(cell.seed)})
        for cell in cells
    ]
    line = figures.draw(study, results).get_lines()[0]
    assert line.get_xdata() == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert line.get_ydata() == pytest.approx([50.5, 55.5, 60.5, 65.5, 70.5])


def test_a_partial_table_still_draws(plausible):
    study = STUDIES["table-ssb"]
    results = [
        (cell, r) for cell, r in plausible(study) if not (cell.method == "pl-tsim" and cell.dataset == "dna")
    ]
    figures.draw(study, results)


def test_a_study_that_names_no_figure_gets_curves_or_duels():
    table = replace(STUDIES["table-ssb"], figure=None)
    results = [(cell, {"accuracy": 0.5}) for cell in table.cells(["digits"], 1)]
    assert len(figures.draw(table, results).figure.axes) == 3  # the policies
    varied = replace(table, vary=("gamma", (0.0, 1.0)))
    results = [(cell, {"accuracy": 0.5}) for cell in varied.cells(["digits"], 1)]
    assert figures.draw(varied, results).figure.axes[0].get_xlabel() == "gamma"


def test_dots_show_each_data_set_and_the_mean_of_methods_that_have_all():
    study = STUDIES["beyond-ssb"]
    results = [
        (cell, {"accuracy": 0.8 if cell.dataset == "digits" else 0.6})
        for cell in study.cells(["digits", "rice"], 1)
        if cell.method != "mixed" or cell.dataset == "digits"
    ]
    ax = figures.draw(study, results)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Digits", "Rice", "Mean"]
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert drawn["ERM"] == pytest.approx([80, 60, 70])
    assert drawn["mixed"] == pytest.approx([80])
    both = replace(study, labelings=("iid", "ssb"))
    ax = figures.draw(both, [(cell, {"accuracy": 0.5}) for cell in both.cells(["digits"], 1)])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Digits, IID", "Digits, SSB", "Mean"]


def test_means_take_in_a_method_of_ones_own():
    study = STUDIES["prior-misspecification"]
    study = replace(study, methods={**study.methods, "mine": Method(print, {"odds": 1.0})})
    results = [(cell, {"accuracy": 0.5}) for cell in study.cells(["digits"], 1)]
    ax = figures.draw(study, results)
    assert [line.get_label() for line in ax.lines] == ["told nothing", "told the shares on the axis", "mine"]
    assert [label.get_text() for label in ax.get_xticklabels()][:3] == ["1/3", "1/2", "0.67"]
