"""Figures: each draws without a display, says what it shows, and carries units, legend, labels and seeds."""

import sys
from dataclasses import replace

import pytest
from matplotlib.axes import Axes

from chary.studies import figures
from chary.studies.catalogue import ELSEWHERE, NAMES, find_study
from chary.studies.figures import canvas


@pytest.mark.parametrize("name", NAMES)
def test_every_study_has_a_figure_that_explains_itself(name, plausible, tmp_path):
    if name in ELSEWHERE:
        pytest.importorskip(ELSEWHERE[name][1])
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
    assert len(figure.legends[0].get_texts()) >= (1 if len(study.methods) == 1 and study.vary else 2)
    shown = [a for a in figure.axes if a.get_subplotspec() is not None]
    assert any("%" in a.get_ylabel() + a.get_xlabel() or "units" in a.get_xlabel() for a in shown)
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


@pytest.mark.parametrize("name", NAMES)
def test_a_study_that_has_just_begun_still_draws(name, plausible):
    if name in ELSEWHERE:
        pytest.importorskip(ELSEWHERE[name][1])
    study = find_study(name)
    figures.draw(study, plausible(study)[:1])


def test_a_figure_without_a_headline_says_what_is_studied(plausible):
    study = replace(find_study("figure-gamma"), headline=None)
    assert figures.draw(study, plausible(study)).figure.get_suptitle() == study.title


def test_no_window_is_opened(plausible):
    study = find_study("figure-gamma")
    figures.draw(study, plausible(study))
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_softmax_and_t_similarity_differ_also_without_colour():
    for key in ("linestyle", "marker", "color"):
        assert len({canvas.STYLES[kind][key] for kind in ("softmax", "tsim", "erm")}) == 3


def test_data_sets_with_fewer_seeds_count_as_much():
    study = find_study("prior-misspecification")
    cells = [c for c in study.cells(["digits", "rice"], 3) if c.dataset == "digits" or c.seed == 0]
    results = [(cell, {"accuracy": 0.9 if cell.dataset == "digits" else 0.7}) for cell in cells]
    ax = figures.draw(study, results)
    assert all(line.get_ydata() == pytest.approx([80] * 7) for line in ax.get_lines())
    assert ax.figure.legends[0].get_title().get_text().startswith("1 to 3 seeds")
