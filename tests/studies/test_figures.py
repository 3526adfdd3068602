"""Figures: each draws without a display, says what it shows, and carries units, legend, labels and seeds."""

import sys

import numpy as np
import pytest
from matplotlib.axes import Axes

from chary.cli.study import STUDIES as ALL_STUDIES
from chary.evaluation.metrics import reliability_curve, risk_coverage_curve
from chary.studies import figures as plots
from chary.studies.paper import STUDIES


def plausible(study):
    """Results of the right shape, made up, for the first seeds of a study."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 50, size=20).tolist()
    grid = rng.uniform(size=3600).round(3).tolist()
    points = rng.normal(size=(30, 2)).tolist()
    classes = (np.arange(30) % 2).tolist()
    shapes = {
        **dict.fromkeys(
            ["accuracy", "audited", "accuracy_and_ranking", "shifted_accuracy"],
            lambda: {"accuracy": float(rng.uniform(0.5, 1))},
        ),
        "calibration": lambda: {
            f"{k}_{what}": float(rng.uniform()) for k in ("softmax", "t_similarity") for what in ("ece", "auroc")
        },
        "confidence_histogram": lambda: {
            f"{k}_{o}": counts for k in ("softmax", "t_similarity") for o in ("right", "wrong")
        },
        "leave_one_out": lambda: {
            "leave_one_out": float(rng.uniform(0.5, 1)),
            "accuracy": float(rng.uniform(0.5, 1)),
        },
        "projections": lambda: {
            "edges": np.linspace(-3, 3, 21).tolist(),
            "all": counts,
            "labeled": counts,
            "points_all": points,
            "points_labeled": points,
        },
        "plane": lambda: {
            "axes": [np.linspace(-2, 2, 60).tolist()] * 2,
            "softmax": grid,
            "t_similarity": grid,
            "prediction": (np.array(grid) > 0.5).astype(int).tolist(),
            "points": points,
            "points_class": classes,
            "labeled": points,
            "labeled_class": classes,
            "softmax_auroc": 0.7,
            "t_similarity_auroc": None,
        },
    }
    return [(cell, shapes[cell.measure]()) for cell in study.cells(n_seeds=min(3, len(study.seeds)))]


@pytest.mark.parametrize("name", ALL_STUDIES)
def test_every_study_has_a_figure_that_explains_itself(name, tmp_path):
    study = ALL_STUDIES[name]
    results = plausible(study)
    ax = plots.draw(study, results)
    assert isinstance(ax, Axes)
    figure = ax.figure
    assert figure.get_suptitle().replace("\n", " ") == study.title
    n_seeds = min(3, len(study.seeds))
    made_of = figure.legends[0].get_title().get_text()
    assert made_of.startswith(f"{n_seeds} seed")
    assert "labelled rows" in made_of
    assert len(figure.legends[0].get_texts()) >= 2
    shown = [a for a in figure.axes if a.get_subplotspec() is not None]
    assert any("%" in a.get_ylabel() + a.get_xlabel() or "units" in a.get_xlabel() for a in shown)
    figure.savefig(tmp_path / "figure.png")
    figure.savefig(tmp_path / "figure.svg")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_no_window_is_opened():
    plots.draw(STUDIES["figure-gamma"], plausible(STUDIES["figure-gamma"]))
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_softmax_and_t_similarity_differ_also_without_colour():
    for key in ("linestyle", "marker", "color"):
        assert len({plots.STYLES[kind][key] for kind in ("softmax", "tsim", "erm")}) == 3


def test_what_is_drawn_is_the_mean():
    study = STUDIES["figure-gamma"]
    cells = study.cells(n_seeds=2)
    results = [
        (cell, {"accuracy": 0.5 + 0.1 * study.value_of(cell) + 0.01 * study.seeds.index(cell.seed)})
        for cell in cells
    ]
    line = plots.draw(study, results).get_lines()[0]
    assert line.get_xdata() == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert line.get_ydata() == pytest.approx([50.5, 55.5, 60.5, 65.5, 70.5])


def test_reliability_and_risk_coverage():
    confidence, correct = np.linspace(0.05, 0.95, 50), np.arange(50) % 3 > 0
    ax = plots.reliability({"softmax": reliability_curve(confidence, correct)})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["calibrated", "softmax"]
    ax = plots.risk_coverage(
        {
            "t_similarity": risk_coverage_curve(confidence, correct),
            "mine": risk_coverage_curve(confidence, correct),
        }
    )
    assert ax.get_legend().get_texts()[0].get_text().startswith("T-similarity, area 0.")


def test_a_partial_table_still_draws():
    study = STUDIES["table-ssb"]
    results = [
        (cell, r) for cell, r in plausible(study) if not (cell.method == "pl-tsim" and cell.dataset == "dna")
    ]
    plots.draw(study, results)


@pytest.mark.parametrize("name", ALL_STUDIES)
def test_a_study_that_has_just_begun_still_draws(name):
    study = ALL_STUDIES[name]
    plots.draw(study, plausible(study)[:1])


def test_data_sets_with_fewer_seeds_count_as_much():
    study = ALL_STUDIES["prior-misspecification"]
    cells = [c for c in study.cells(["digits", "rice"], 3) if c.dataset == "digits" or c.seed == 0]
    results = [(cell, {"accuracy": 0.9 if cell.dataset == "digits" else 0.7}) for cell in cells]
    ax = plots.draw(study, results)
    assert all(line.get_ydata() == pytest.approx([80] * 7) for line in ax.get_lines())
    assert ax.figure.legends[0].get_title().get_text().startswith("1 to 3 seeds")
