"""Results of the study of calibration in; its figure out: errors against the diversity, and the paper's curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chary.studies.curves import calibration_curves
from chary.studies.datasets import dataset_title
from chary.studies.figures.canvas import GREY, NAMES, STYLES, draw_mean, finish, panels
from chary.studies.measures import CONFIDENCES, FOUR
from chary.studies.results import Line, summarize
from chary.studies.study import Results, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is drawn: the ending of the number's name, its confidences, and what stands beside the row.
_ROWS = (
    ("ece", FOUR, "Calibration error\n(%), equal width"),
    ("ece_mass", FOUR, "Calibration error\n(%), equal mass"),
    ("notebook", CONFIDENCES, "The notebook's\nformula (%)"),
)


def calibration(study: Study, results: Results) -> Axes:
    """The error of four confidences in bins of both kinds; and what the paper calls so, ours beside its curves."""
    lines = summarize(study, results)
    names = list(dict.fromkeys(line.dataset for line in lines))
    rows = [(labeling, *row) for row in _ROWS for labeling in study.labelings]
    axes = panels(len(rows), len(names), 2.2, 1.5, sharex=True, sharey="row")
    for row, (labeling, ending, kinds, label) in zip(axes, rows, strict=True):
        for ax, name in zip(row, names, strict=True):
            here = [line for line in lines if (line.dataset, line.labeling) == (name, labeling)]
            _draw_lines(ax, here, ending, kinds)
            if ending == "notebook":
                _draw_papers(ax, name, labeling)
            ax.set_title(f"{dataset_title(name)}, {labeling.upper()}", fontsize=8)
        row[0].set_ylim(bottom=0)  # of the whole row, once all of it is drawn
        row[0].set_ylabel(label, fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel(study.axis)
    drawn = axes[0, 0].get_legend_handles_labels()[0]
    return finish(axes, study, results, [*drawn, *_papers_handles(axes[-1, 0])])


def _draw_lines(ax: Axes, lines: list[Line], ending: str, kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        if chosen := [line for line in lines if line.metric == f"{kind}_{ending}"]:
            draw_mean(ax, chosen, STYLES[kind], NAMES[kind])


def _draw_papers(ax: Axes, name: str, labeling: str) -> None:
    curve = calibration_curves().get((name, labeling))
    if curve is not None:
        ax.axhline(curve.softmax, color=GREY, linestyle=(0, (5, 3)), linewidth=1, label="paper, softmax")
        x, y = list(curve.t_similarity), list(curve.t_similarity.values())
        ax.plot(x, y, color=GREY, linewidth=1, marker="x", markersize=6, label="paper, T-similarity")


def _papers_handles(ax: Axes) -> list[object]:
    handles, labels = ax.get_legend_handles_labels()
    return [handle for handle, label in zip(handles, labels, strict=True) if label.startswith("paper")]
