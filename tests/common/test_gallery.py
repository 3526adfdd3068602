"""The scripts of the gallery, run headless: each ends in a picture, and is a page of the site."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

from chary import DiverseEnsembleClassifier

plt = pytest.importorskip("matplotlib.pyplot")

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/plot_*.py"))


@pytest.fixture
def short_training(monkeypatch):
    """How long a network trains shows in a picture, not in whether there is one."""
    monkeypatch.setitem(DiverseEnsembleClassifier.__init__.__kwdefaults__, "n_steps", 50)


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("Agg")
    plt.close("all")
    yield
    plt.close("all")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_ends_in_a_picture(
    script, tmp_path, monkeypatch, quick_learners, short_training, inline
):
    imported = re.findall(
        r"^(?:import|from) (torch|skorch|lightning)\b", script.read_text(), re.MULTILINE
    )
    for package in imported:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        if "lightning" in imported:
            # It warns of itself: few workers, names that PyTorch deprecates.
            warnings.simplefilter("ignore")
        runpy.run_path(str(script), run_name="__main__")
    (number,) = plt.get_fignums()
    figure = plt.figure(number)
    figure.canvas.draw()
    assert any(ax.lines or ax.patches or ax.collections or ax.images for ax in figure.axes)
    assert not list(tmp_path.iterdir())  # nothing is left behind
