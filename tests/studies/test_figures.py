"""Figures: each draws without a display, says what it shows, and shows the measured means."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes

from studies import STUDIES, figures, find_study
from studies.calibration import calibration_curves
from studies.study import Method, erm
from studies.tables import TABLES

# One study for each way of drawing.
DRAWN = {
    str(getattr(study.figure, "func", study.figure) or bool(study.vary)): study.name
    for study in STUDIES.values()
}


@pytest.mark.parametrize("name", DRAWN.values())
def test_every_study_has_a_figure_that_explains_itself(name, plausible):
    study = find_study(name)
    results = plausible(study)
    ax = figures.draw(study, results)
    assert isinstance(ax, Axes)
    figure = ax.figure
    assert figure.get_suptitle().replace("\n", " ") == study.headline(study, results)
    n_seeds = min(3, len(study.seeds))
    made_of = figure.legends[0].get_title().get_text()
    assert made_of.startswith(f"{n_seeds} seed")
    assert "labelled rows" in made_of
    assert figure.legends[0].get_texts()
    shown = [a for a in figure.axes if a.get_subplotspec() is not None]
    assert any("%" in a.get_ylabel() + a.get_xlabel() or "units" in a.get_xlabel() for a in shown)
    figures.draw(study, results[:1])  # one that has just begun


def test_no_window_is_opened(plausible):
    study = find_study("figure-gamma")
    figures.draw(study, plausible(study))
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_data_sets_with_fewer_seeds_count_as_much():
    study = find_study("prior-misspecification")
    cells = [c for c in study.cells(["digits", "rice"], 3) if c.dataset == "digits" or c.seed == 0]
    results = [(cell, {"accuracy": 0.9 if cell.dataset == "digits" else 0.7}) for cell in cells]
    ax = figures.draw(study, results)
    assert all(line.get_ydata() == pytest.approx([80] * 7) for line in ax.get_lines())
    assert ax.figure.legends[0].get_title().get_text().startswith("1 to 3 seeds")


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


def test_dots_show_each_data_set_and_the_mean_of_methods_that_have_all():
    study = replace(STUDIES["peers"], labelings=("ssb",))
    results = [
        (cell, {"accuracy": 0.8 if cell.dataset == "digits" else 0.6})
        for cell in study.cells(["digits", "rice"], 1)
        if cell.method != "spreading" or cell.dataset == "digits"
    ]
    ax = figures.draw(study, results)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Digits", "Rice", "Mean"]
    drawn = {line.get_label(): line.get_xdata().tolist() for line in ax.lines}
    assert drawn["ERM"] == pytest.approx([80, 60, 70])
    assert drawn["label spreading"] == pytest.approx([80])
    both = STUDIES["peers"]
    ax = figures.draw(both, [(cell, {"accuracy": 0.5}) for cell in both.cells(["digits"], 1)])
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "Digits, IID",
        "Digits, SSB",
        "Mean",
    ]


@pytest.mark.parametrize("own", [["csta-tsim"], ["csta-softmax", "csta-tsim", "mine"]])
def test_no_method_of_a_changed_study_is_left_out_of_its_figure(own):
    table = STUDIES["table-ssb"]
    methods = {name: table.methods.get(name, table.methods["erm"]) for name in ("erm", *own)}
    study = replace(table, methods=methods)
    ax = figures.draw(study, [(cell, {"accuracy": 0.5}) for cell in study.cells(["digits"], 1)])
    labels = {line.get_label() for line in ax.lines}
    assert labels >= {study.title_of(method) for method in methods}


def test_a_figure_of_curves_gives_way_to_means_for_an_own_method():
    gamma = STUDIES["figure-gamma"]
    study = replace(gamma, methods={**gamma.methods, "mine": Method(erm)})
    ax = figures.draw(study, [(cell, {"accuracy": 0.5}) for cell in study.cells(n_seeds=1)])
    assert "mine" in {line.get_label() for line in ax.lines}


def test_errors_stand_against_gamma_and_the_papers_curve_beside_its_formula():
    study = STUDIES["figure-calibration"]
    results = [
        (
            cell,
            {
                "softmax_ece": 0.1,
                "t_similarity_ece": 0.1 * study.value_of(cell),
                "t_share_ece": 0.05,
                "t_similarity_notebook": 0.3,
            },
        )
        for cell in study.cells(["rice", "splice"], 1)
    ]
    first = figures.draw(study, results)
    softmax, tsim, share = first.lines
    assert softmax.get_ydata() == pytest.approx([10] * 5)
    assert tsim.get_ydata() == pytest.approx([0, 5, 10, 15, 20])
    assert share.get_label() == "class share of T-similarity"
    axes = first.figure.axes
    # Two kinds of bins and the paper's formula, two labellings; two data sets.
    assert len(axes) == 6 * 2
    ours, _, paper = axes[8].lines
    assert ours.get_ydata() == pytest.approx([30] * 5)
    assert list(paper.get_ydata()) == list(
        calibration_curves()["rice", "iid"].t_similarity.values()
    )


def test_histograms_are_shares_of_the_right_and_of_the_wrong():
    study = STUDIES["figure-confidence"]
    names = [
        f"{kind}_{what}" for kind in ("softmax", "t_similarity") for what in ("right", "wrong")
    ]
    results = [
        (cell, dict.fromkeys(names, [1, 3] + [0] * 18)) for cell in study.cells(["digits"], 2)
    ]
    right = figures.draw(study, results).patches[:20]
    assert [bar.get_height() for bar in right[:3]] == pytest.approx([25, 75, 0])


def test_labelled_rows_are_shown_among_all_of_one_seed():
    study = STUDIES["figure-bias"]
    shown = {
        "edges": [0, 1, 2],
        "all": [1, 1],
        "labeled": [1, 3],
        "points_all": [[0, 0]],
        "points_labeled": [[1, 1]],
    }
    ax = figures.draw(study, [(cell, shown) for cell in study.cells()])
    assert [bar.get_height() for bar in ax.patches[:2]] == [50, 50]
    assert np.max(ax.patches[2].get_xy()[:, 1]) == 75


ACCURACIES = {"auto": 0.80, "logistic": 0.70, "extra-trees": 0.75, "boosting": 0.82}


def test_gains_are_drawn_by_table_against_each_rival_and_the_best():
    cells = [cell for cell in TABLES.cells(["hotel", "fastfood"], 1) if cell.method in ACCURACIES]
    ax = figures.draw(TABLES, [(cell, {"accuracy": ACCURACIES[cell.method]}) for cell in cells])
    drawn = {
        line.get_label(): line.get_xdata()
        for line in ax.get_lines()
        if not line.get_label().startswith("_")
    }
    assert {label: np.round(gains, 6).tolist() for label, gains in drawn.items()} == {
        "ahead of logistic regression": [10, 10],
        "ahead of extra trees": [5, 5],
        "ahead of boosting": [-2, -2],
        "ahead of the best of the three": [-2, -2],
    }
    assert [panel.get_title() for panel in ax.figure.axes] == [
        "labels drawn at random from all rows",
        "labels from one group",
        "labels picked by a column",
    ]
    assert len(ax.figure.axes[1].get_lines()[-1].get_xdata()) == 1  # fastfood has no group
