"""Results of a study in; its accuracies as a figure out: by data set and method, or against a parameter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chary.studies.datasets import dataset_title
from chary.studies.figures.canvas import (
    BLUE,
    GREY,
    NAMES,
    ORANGE,
    STYLES,
    draw_mean,
    finish,
    handle,
    main_lines,
    panels,
)
from chary.studies.methods import POLICIES
from chary.studies.results import Line, shown_value, summarize
from chary.studies.study import Results, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def duels(study: Study, results: Results) -> Axes:
    """Accuracy of each data set and policy: from softmax to T-similarity, with the baseline as a tick."""
    lines = {(line.dataset, line.labeling, line.method): line for line in main_lines(study, results)}
    names = list(dict.fromkeys(dataset for dataset, _, _ in lines))
    height = 0.32 * len(names) + 0.8
    axes = panels(len(study.labelings), len(POLICIES), 3.4, height, sharex=True, sharey=True)
    places = np.arange(len(names))[::-1]
    for row, labeling in zip(axes, study.labelings, strict=True):
        for ax, policy in zip(row, POLICIES, strict=True):
            for name, place in zip(names, places, strict=True):
                _draw_duel(
                    ax, place, [lines.get((name, labeling, m)) for m in (f"{policy}-softmax", f"{policy}-tsim")]
                )
                if baseline := lines.get((name, labeling, "erm")):
                    ax.plot(baseline.mean, place, "|", color="black", markersize=11)
            ax.set(title=f"{policy.upper()}, {labeling.upper()} labels", xlabel="Test accuracy (%)")
            ax.set_yticks(places, [dataset_title(name) for name in names])
            ax.grid(axis="x")
    handles = [handle(axes[0, 0], "softmax"), handle(axes[0, 0], "tsim")]
    handles.append(axes[0, 0].plot([], [], "|", color="black", markersize=11, label=NAMES["erm"])[0])
    return finish(axes, study, results, handles)


def failure_of_softmax(study: Study, results: Results) -> Axes:
    """Accuracy under random and biased labels of the baseline and of softmax self-training."""
    lines = {(line.dataset, line.labeling, line.method): line for line in main_lines(study, results)}
    names = list(dict.fromkeys(dataset for dataset, _, _ in lines))
    axes = panels(len(study.methods), 1, 0.62 * len(names) + 1.5, 1.7, sharex=True, sharey=True)
    places = np.arange(len(names))
    shades = {"iid": {"color": BLUE, "hatch": ""}, "ssb": {"color": ORANGE, "hatch": "///"}}
    for ax, method in zip(axes[:, 0], study.methods, strict=True):
        for shift, (labeling, shade) in zip((-0.2, 0.2), shades.items(), strict=True):
            here = [lines.get((name, labeling, method)) for name in names]
            means = [line.mean if line else 0 for line in here]
            ax.bar(places + shift, means, 0.38, label=f"{labeling.upper()} labels", edgecolor="white", **shade)
        ax.set(ylabel="Test accuracy (%)", ylim=(40, 100), title=study.title_of(method))
    axes[-1, 0].set_xticks(places, [dataset_title(name) for name in names], rotation=35, ha="right")
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def curves(study: Study, results: Results, log: bool = False) -> Axes:
    """Accuracy against the varied parameter: a panel for each policy, a row for each labelling or data set."""
    lines = main_lines(study, results)
    columns = _columns(lines)
    axes = panels(len(study.labelings), len(columns), 3.3, 2.9, sharex=True, sharey="row")
    for row, labeling in zip(axes, study.labelings, strict=True):
        for ax, (title, chosen) in zip(row, columns, strict=True):
            _draw_curves(ax, [line for line in lines if line.labeling == labeling and chosen(line)])
            ax.set_title(f"{title}, {labeling.upper()} labels")
        row[0].set_ylabel("Test accuracy (%)")
    assert study.vary is not None
    for ax in axes[-1]:
        ax.set_xlabel(study.axis or study.vary[0])
        if log:
            ax.set_xscale("log")
            ax.set_xticks(study.vary[1][::2], [str(n) for n in study.vary[1][::2]], minor=False)
            ax.set_xticks([], minor=True)
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def means(
    study: Study, results: Results, drawn: Mapping[str, tuple[str, str]] | None = None, odds: bool = False
) -> Axes:
    """The mean over data sets against the varied parameter, a line for each method.

    ``drawn``: for a method, the name of its style and what it is called here.
    """
    lines = main_lines(study, results)
    axes = panels(1, 1, 6.4, 3.6)
    ax = axes[0, 0]
    for method in study.methods:
        style, label = (drawn or {}).get(method, ("", study.title_of(method)))
        draw_mean(ax, [line for line in lines if line.method == method], STYLES.get(style, {"marker": "o"}), label)
    assert study.vary is not None
    if odds:
        ax.set_xscale("log", base=2)
    ax.set_xticks(study.vary[1], [_fraction(value) if odds else shown_value(value) for value in study.vary[1]])
    ax.set(xlabel=study.axis or study.vary[0], ylabel=f"{study.caption} (%), all sets")
    return finish(axes, study, results, ax.get_legend_handles_labels()[0])


def extra_labels(study: Study, results: Results, models: Mapping[str, str]) -> Axes:
    """Accuracy against the number of extra labels, random ones and as many from the same source.

    ``models``: those that the methods ``NAME-random`` and ``NAME-same`` train, and what they are called.
    """
    lines = main_lines(study, results)
    labelings = [labeling for labeling in study.labelings if any(line.labeling == labeling for line in lines)]
    found = [name for name in models if any(line.method.rpartition("-")[0] == name for line in lines)]
    axes = panels(len(labelings), len(found), 3.3, 2.9, sharex=True, sharey="row")
    sources = {"random": ("tsim", "random rows"), "same": ("softmax", "rows from the same source")}
    for row, labeling in zip(axes, labelings, strict=True):
        for ax, model in zip(row, found, strict=True):
            here = [x for x in lines if (x.labeling, x.method.rpartition("-")[0]) == (labeling, model)]
            n_lines = Counter(line.dataset for line in here)  # both sources are of the same data sets
            here = [line for line in here if n_lines[line.dataset] == max(n_lines.values())]
            for source, (style, label) in sources.items():
                if of_source := [line for line in here if line.method.endswith(source)]:
                    draw_mean(ax, of_source, STYLES[style], label)
            if not ax.lines:
                continue
            ax.axhline(ax.lines[0].get_ydata()[0], color=GREY, linestyle=":", label="no more labels")
            ax.set_title(f"{models[model]}, {labeling.upper()} labels")
        row[0].set_ylabel("Test accuracy (%), all sets")
    for ax in axes[-1]:
        ax.set(xlabel="Labels added", xticks=study.vary[1] if study.vary else ())
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def dots(study: Study, results: Results, styles: Mapping[str, Mapping[str, Any]]) -> Axes:
    """Accuracy of each data set with some of the methods, each in its style, and their means."""
    numbers: dict[str, dict[str, float]] = {}
    for line in main_lines(study, results):
        labels = f", {line.labeling.upper()}" if len(study.labelings) > 1 else ""
        numbers.setdefault(dataset_title(line.dataset) + labels, {})[line.method] = line.mean
    numbers["Mean"] = {
        method: float(np.mean(found))
        for method in styles
        if len(found := [by[method] for by in numbers.values() if method in by]) == len(numbers)
    }
    axes = panels(1, 1, 7.6, 0.34 * len(numbers) + 0.8)
    ax = axes[0, 0]
    places = np.arange(len(numbers))[::-1]
    for method, style in styles.items():
        here = [method in by for by in numbers.values()]
        accuracies = [by[method] for by in numbers.values() if method in by]
        ax.plot(accuracies, places[here], linestyle="none", label=study.title_of(method), **style)
    ax.axhspan(-0.5, 0.5, color="#eeeeee", zorder=0)
    ax.set_yticks(places, list(numbers))
    ax.set(xlabel="Test accuracy (%)", ylim=(-0.5, len(numbers) - 0.5))
    ax.grid(axis="both", alpha=0.4)
    return finish(axes, study, results, ax.get_legend_handles_labels()[0])


def shares(study: Study, results: Results, colors: Mapping[str, str]) -> Axes:
    """For each data set and labelling, how often each outcome was seen, one bar.

    ``colors``: of the outcomes, whose shares are metrics of the study.
    """
    means: dict[str, dict[str, float]] = {}
    for line in summarize(study, results):
        means.setdefault(f"{dataset_title(line.dataset)}, {line.labeling.upper()}", {})[line.metric] = line.mean
    axes = panels(1, 1, 7.6, 0.3 * len(means) + 0.8)
    ax = axes[0, 0]
    places, left = np.arange(len(means))[::-1], np.zeros(len(means))
    for outcome, color in colors.items():
        widths = np.array([by[outcome] for by in means.values()])
        ax.barh(places, widths, left=left, color=color, label=outcome)
        left += widths
    ax.set_yticks(places, list(means))
    ax.set(xlabel="Share of the draws (%)", xlim=(0, 100))
    return finish(axes, study, results, ax.get_legend_handles_labels()[0])


def _columns(lines: list[Line]) -> list[tuple[str, Callable[[Line], bool]]]:
    """Titles of the panels, and which lines go there."""
    policies = [p for p in POLICIES if any(line.method.startswith(p) for line in lines)]
    if not policies:
        return [("ERM", lambda line: line.method == "erm")]
    if len(policies) == 1:  # several data sets, one policy
        names = dict.fromkeys(line.dataset for line in lines)
        return [(dataset_title(name), lambda line, name=name: line.dataset == name) for name in names]  # type: ignore[misc]
    return [(p.upper(), lambda line, p=p: line.method.startswith((p, "erm"))) for p in policies]  # type: ignore[misc]


def _draw_curves(ax: Axes, lines: list[Line]) -> None:
    for kind in ("erm", "softmax", "tsim"):
        if here := [line for line in lines if line.method.endswith(kind)]:
            draw_mean(ax, here, STYLES[kind], NAMES[kind])


def _draw_duel(ax: Axes, place: float, ends: list[Line | None]) -> None:
    """From softmax to T-similarity on one line."""
    values = [line.mean for line in ends if line is not None]
    if len(values) < 2:
        return
    ax.plot(values, [place, place], color="#bbbbbb", linewidth=2, zorder=1)
    for value, kind in zip(values, ("softmax", "tsim"), strict=True):
        ax.plot(value, place, **{**STYLES[kind], "linestyle": "none"})


def _fraction(value: float) -> str:
    """As odds are written: 1/3, 0.67, 2."""
    return f"1/{1 / value:g}" if 0 < value < 1 and float(1 / value).is_integer() else f"{value:.2g}"
