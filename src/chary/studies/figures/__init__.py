"""Results of a study in; a figure out, one function each. Draws without a display; returns the Axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chary.studies.figures.accuracy import curves, dots, duels, extra_labels, failure_of_softmax, means, shares
from chary.studies.figures.calibration import calibration
from chary.studies.figures.canvas import BLUE, GREEN, GREY, ORANGE
from chary.studies.figures.confidence import bias, confidence, intro, model_selection
from chary.studies.figures.tables import gains_by_table, more_labels
from chary.studies.study import Results, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "bias",
    "calibration",
    "confidence",
    "curves",
    "dots",
    "draw",
    "duels",
    "extra_labels",
    "failure_of_softmax",
    "gains_by_table",
    "intro",
    "means",
    "model_selection",
    "more_labels",
    "shares",
]


def draw(study: Study, results: Results) -> Axes:
    """The figure of a study; of one that names none, curves where a parameter varies, else duels."""
    return (study.figure or (curves if study.vary else duels))(study, results)
