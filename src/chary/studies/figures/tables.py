"""Results on real tables in; figures out: chary against its rivals table by table, and what more labels add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chary.studies.figures.canvas import BLUE, GREEN, GREY, ORANGE, STYLES, draw_mean, finish, main_lines, panels
from chary.studies.study import LABELINGS, Results, Study
from chary.studies.tables.findings import numbers, together
from chary.studies.tables.methods import AUTO, RIVALS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = dict(zip(RIVALS, (("s", BLUE), ("^", GREEN), ("D", ORANGE)), strict=True))


def gains_by_table(study: Study, results: Results) -> Axes:
    """By table, points that chary is ahead of each rival (open marks) and of the best of them (filled)."""
    found = numbers(results)
    ways = {
        labeling: means for labeling in study.labelings if (means := together(found, labeling, [AUTO, *RIVALS]))
    }
    names = list(dict.fromkeys(name for means in ways.values() for name in means))
    places = dict(zip(names, np.arange(len(names))[::-1], strict=True))
    axes = panels(1, max(1, len(ways)), 3.6, 0.26 * len(names) + 0.9, sharex=True, sharey=True)
    for ax, (labeling, means) in zip(axes[0], ways.items(), strict=False):
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvline(-3, color=GREY, linestyle=":", linewidth=0.8)
        at = [places[name] for name in means]
        gains = np.array([own - np.array(others) for own, *others in means.values()])  # (tables, rivals)
        for j, rival in enumerate(RIVALS):
            marker, color = _MARKS[rival]
            ax.plot(
                gains[:, j], at, marker, color=color, fillstyle="none", markersize=5, alpha=0.7,
                label=f"ahead of {study.title_of(rival)}",
            )  # fmt: skip
        ax.plot(gains.min(axis=1), at, "o", color="black", markersize=4, label="ahead of the best of the three")
        ax.set(title=LABELINGS[labeling], xlabel="Points of accuracy (%)", ylim=(-0.6, len(names) - 0.4))
        ax.set_xscale("symlog", linthresh=5, linscale=1.5)  # a rival that fails is far off
        ax.set_xticks(ticks := [-30, -10, -3, 0, 3, 10, 30], [f"{tick:+d}" if tick else "0" for tick in ticks])
        ax.set_xticks([], minor=True)
        ax.set_yticks(list(places.values()), names)
        ax.grid(axis="y", alpha=0.3)
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def more_labels(study: Study, results: Results) -> Axes:
    """Accuracy against the number of further labels, by who chose the rows; with an audit and without."""
    lines = main_lines(study, results)
    starts = {"": "without an audit", "-audited": "after an audit of 30"}
    styles = dict(zip(("report", "random", "margin"), ("softmax", "tsim", "erm"), strict=True))
    axes = panels(len(study.labelings), 2, 3.6, 2.9, sharex=True, sharey="row")
    for row, labeling in zip(axes, study.labelings, strict=True):
        for ax, (suffix, words) in zip(row, starts.items(), strict=True):
            for chosen, style in styles.items():
                method = f"{chosen}{suffix}"
                if here := [line for line in lines if (line.labeling, line.method) == (labeling, method)]:
                    draw_mean(ax, here, STYLES[style], study.title_of(chosen))
            ax.set_title(f"{LABELINGS[labeling]}, {words}", fontsize=8)
        row[0].set_ylabel("Accuracy (%), all tables")
    for ax in axes[-1]:
        ax.set(xlabel=study.axis, xticks=study.vary[1] if study.vary else ())
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])
