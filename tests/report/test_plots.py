"""Pictures with matplotlib: of the figures in the summary, on request, nothing global."""

import sys

import matplotlib as mpl
import pytest

mpl.use("Agg")

from matplotlib.figure import Figure

from chary.report import Plots

SUMMARY = {
    "diagnosis": {
        "verdict": "strongly biased",
        "density": {"grid": [0.0, 1.0, 2.0], "labeled": [0.0, 1.0, 0.0], "unlabeled": [0.5, 0.0, 0.0]},
    },
    "confidence": {"learned": [0, 2], "predicted": [3, 1]},
}


@pytest.fixture(autouse=True)
def close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_the_bias_is_drawn_as_it_is_in_the_summary():
    ax = Plots(SUMMARY).bias()
    drawn = {line.get_label(): line.get_ydata().tolist() for line in ax.get_lines()}
    assert drawn == {"labelled rows": [0, 1, 0], "other rows": [0.5, 0, 0]}
    assert ax.get_title() == "strongly biased"
    alone = Plots(SUMMARY["diagnosis"]).bias()  # of a diagnosis on its own
    assert len(alone.get_lines()) == 2


def test_the_confidence_stands_on_what_was_learned():
    ax = Plots(SUMMARY).confidence()
    boxes = [(bar.get_y(), bar.get_height()) for bar in ax.patches]
    assert boxes == [(0, 0), (0, 2), (0, 3), (2, 1)]
    only = Plots({"confidence": {"learned": [0, 0], "predicted": [3, 1]}}).confidence()
    assert len(only.patches) == 2


def test_axes_given_are_drawn_on_and_handed_back():
    settings = dict(mpl.rcParams)
    ax = Figure().subplots()
    assert Plots(SUMMARY).bias(ax) is ax
    assert Plots(SUMMARY).confidence(ax=ax) is ax
    assert dict(mpl.rcParams) == settings


def test_nothing_to_draw_is_said():
    empty = Plots({"diagnosis": {"verdict": "too few rows to tell", "density": None}})
    assert empty.bias(Figure().subplots()).get_title() == "too few rows to tell"
    with pytest.raises(ValueError, match="A diagnosis labels no row"):
        empty.confidence()


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"install it with: pip install 'chary\[plots\]'"):
        Plots(SUMMARY).bias()
