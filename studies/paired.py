"""One method against another in points of accuracy: the mean gain, its error, the worst draw.

``studies.paired_tests`` compares by any number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from studies import figures
from studies.figures import Axes
from studies.findings import signed
from studies.study import Results, Study, TextTable

Place = tuple[str, str, int]  # table, labelling, seed


class Gains(NamedTuple):
    """Points that one method is ahead of another, by draw."""

    by_draw: dict[Place, float]  # in points

    @property
    def by_table(self) -> list[float]:
        """The mean of the draws of each table: these are alike, so they count as one."""
        of_table: dict[str, list[float]] = defaultdict(list)
        for (table, _, _), gain in self.by_draw.items():
            of_table[table].append(gain)
        return [float(np.mean(gains)) for gains in of_table.values()]

    @property
    def mean(self) -> float:
        """Points on average over tables."""
        return float(np.mean(self.by_table))

    @property
    def error(self) -> float:
        """The standard error of this mean; 0 if there is one table."""
        tables = self.by_table
        return float(np.std(tables, ddof=1) / np.sqrt(len(tables))) if len(tables) > 1 else 0.0

    @property
    def worst(self) -> float:
        """The points of the worst draw."""
        return min(self.by_draw.values())

    @property
    def is_clear(self) -> bool:
        """Whether the mean is more than two standard errors from zero."""
        return len(self.by_table) > 1 and abs(self.mean) > 2 * self.error

    @property
    def words(self) -> str:
        """The mean and its error, as they are written."""
        return f"{signed(self.mean)} ± {self.error:.1f}"

    def __str__(self) -> str:
        """The same with the worst draw; a dash if there is no draw."""
        return f"{self.words} [{signed(self.worst)}]" if self.by_draw else "-"


def by_draw(results: Results, method: str) -> dict[Place, float]:
    """Find the accuracy of a method in percent, draw by draw."""
    return {
        (cell.dataset, cell.labeling, cell.seed): 100 * result["accuracy"]
        for cell, result in results
        if cell.method == method
    }


def gains_over(results: Results, labelings: Sequence[str], ours: str, rival: str) -> Gains:
    """Compare two methods on the draws that both have."""
    accuracies = by_draw(results, ours)
    rival_accuracies = by_draw(results, rival)
    return Gains(
        {
            place: accuracy - rival_accuracies[place]
            for place, accuracy in accuracies.items()
            if place in rival_accuracies and place[1] in labelings
        }
    )


class Contest(NamedTuple):
    """Two methods to be compared."""

    words: str
    ours: str
    rival: str


def contest_table(
    title: str, contests: Sequence[Contest], study: Study, results: Results
) -> TextTable:
    """The gain in each contest, by how labels were drawn."""
    rows = []
    for words, ours, rival in contests:
        of_ways = [gains_over(results, [way], ours, rival) for way in study.labelings]
        if any(gains.by_draw for gains in of_ways):
            rows.append([words, *map(str, of_ways)])
    caption = f"{title}: points gained on the same draws ± standard error over tables [worst draw]"
    return TextTable(caption, ["Method", *study.labelings], rows)


def contest_figure(contests: Sequence[Contest], study: Study, results: Results) -> Axes:
    """Plot the gain in each contest with two standard errors, a panel for each way of drawing."""
    axes = figures.panels(
        1, len(study.labelings), 3.8, 0.3 * len(contests) + 0.5, sharex=True, sharey=True
    )
    places = np.arange(len(contests))[::-1]
    for ax, way in zip(axes[0], study.labelings, strict=True):
        ax.axvline(0, color="black", linewidth=0.8)
        for (_, ours, rival), place in zip(contests, places, strict=True):
            gains = gains_over(results, [way], ours, rival)
            if gains.by_draw:
                error = 2 * gains.error
                ax.errorbar(gains.mean, place, xerr=error, color=figures.BLUE, marker="o")
        ax.set(title=study.words_of(way), xlabel="Points of accuracy (%)")
        ax.set_yticks(places, [contest.words for contest in contests])
    label = "mean over tables ± 2 standard errors"
    handle = axes[0, 0].plot([], [], "o", color=figures.BLUE, label=label)[0]
    return figures.finish(axes, study, results, [handle])
