"""What every figure of a study has: panels, styles, a headline, a legend, and what the numbers are made of.

Softmax is blue, dashed, with circles; T-similarity is orange, solid, with triangles; the supervised baseline is
grey and dotted: told apart also without colour.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chary.studies.datasets import FACTS
from chary.studies.results import Line, summarize
from chary.studies.study import Results, Study, Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, safe for colour-blind readers.
BLUE, ORANGE, GREY, GREEN, PURPLE = "#0072B2", "#D55E00", "#6e6e6e", "#009E73", "#CC79A7"
STYLES: dict[str, dict[str, Any]] = {
    "softmax": {"color": BLUE, "linestyle": "--", "marker": "o"},
    "tsim": {"color": ORANGE, "linestyle": "-", "marker": "^"},
    "erm": {"color": GREY, "linestyle": ":", "marker": "s"},
}
STYLES["t_similarity"] = STYLES["tsim"]
STYLES["t_share"] = {"color": GREEN, "linestyle": "-", "marker": "D"}
STYLES["head_mean"] = {"color": PURPLE, "linestyle": "-.", "marker": "v"}
NAMES = {
    "softmax": "softmax",
    "tsim": "T-similarity",
    "t_similarity": "T-similarity",
    "t_share": "class share of T-similarity",
    "head_mean": "mean of the heads",
    "erm": "ERM (no self-training)",
}


def panels(n_rows: int, n_columns: int, width: float, height: float, **options: Any) -> NDArray[Any]:
    """Axes (n_rows, n_columns) of a figure that no window manager knows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns, height * n_rows + 0.9), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    axes: NDArray[Any] = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
        ax.title.set_fontsize(10)
    return axes


def finish(axes: NDArray[Any], study: Study, results: Results, handles: list[Any]) -> Axes:
    """Headline, legend, and what the numbers are made of."""
    first: Axes = axes.flat[0]
    figure = first.figure
    seeds = sorted(
        {len({c.seed for c, _ in results if c.dataset == name}) for name in {c.dataset for c, _ in results}}
    )
    labels = sorted({cell.n_labeled for cell, _ in results})
    # Another task than the paper's may take part of a data set only.
    rows = sorted({n for cell, _ in results if (n := _n_training_rows(cell.dataset)) and study.task is Task})
    of = f" of {_span(rows)} training rows" if rows else ""
    width = first.figure.get_figwidth()  # type: ignore[union-attr]
    figure.suptitle(textwrap.fill(study.says(results), round(9 * width)), fontsize=12, fontweight="bold")
    noun = "seed" if seeds == [1] else "seeds"
    band = "; bands: 95 % interval of the mean" if study.vary else ""
    figure.legend(
        handles=handles,
        title=f"{_span(seeds)} {noun}, {_span(labels)} labelled rows{of}{band}",
        title_fontsize=8,
        loc="outside lower center",
        ncols=len(handles) if width > 9 else min(4 if len(handles) < 9 else 3, len(handles)),
        frameon=False,
        fontsize=9,
    )
    return first


def draw_mean(ax: Axes, lines: list[Line], style: Mapping[str, Any], label: str) -> None:
    """Against the varied parameter, the mean over the data sets that have all its values; a band for the seeds."""
    n_values = Counter(line.dataset for line in lines)
    lines = [line for line in lines if n_values[line.dataset] == max(n_values.values())]
    n_sets = Counter(line.value for line in lines)
    values = sorted(value for value in n_sets if n_sets[value] == max(n_sets.values()))
    means, half = [], []
    for value in values:
        seeds = [100 * np.array(list(line.by_seed.values())) for line in lines if line.value == value]
        means.append(np.mean([of_set.mean() for of_set in seeds]))
        half.append(1.96 * np.sqrt(sum(of_set.var() / len(of_set) for of_set in seeds)) / len(seeds))
    (drawn,) = ax.plot(values, means, label=label, markersize=5, **style)
    low, high = np.subtract(means, half), np.add(means, half)
    ax.fill_between(values, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)


def main_lines(study: Study, results: Results) -> list[Line]:
    """The lines of the number that the study is about."""
    return [line for line in summarize(study, results) if line.metric == study.metric]


def handle(ax: Axes, kind: str) -> Any:
    """For the legend: the marker of a confidence, or of the baseline."""
    return ax.plot([], [], label=NAMES[kind], **{**STYLES[kind], "linestyle": "none"})[0]


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _n_training_rows(dataset: str) -> int:
    """Three quarters of a benchmark set; 0 where that is not known without opening it."""
    return next((facts.n - -(-facts.n // 4) for facts in FACTS if facts.name == dataset), 0)
