"""Draws the figures of studies, without a display; each function returns the Axes.

Softmax is blue, dashed, with circles; T-similarity is orange, solid, with triangles; the supervised
baseline is grey and dotted: told apart also without colour.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.datasets import FACTS, dataset_title
from studies.methods import CONFIDENCES, POLICIES
from studies.results import Line, shown_value, summarize
from studies.study import Results, Study, Task

Axes = Any  # matplotlib's, which is imported when something is drawn

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


def draw(study: Study, results: Results) -> Axes:
    """Draw the figure of a study, or a plain one: means if a parameter varies, else dots.

    The plain figure shows every method. It is drawn if the study names no figure, or one that would
    leave out a method of the results.
    """
    plain = means if study.vary else dots
    if study.figure is None or _leaves_out_methods(study, results):
        return plain(study, results)
    return study.figure(study, results)


def _leaves_out_methods(study: Study, results: Results) -> bool:
    """Tell whether a published study's figure does not know all methods of the results."""
    from studies import imported_studies  # which imports this module

    same_figure = [known for known in imported_studies() if known.figure is study.figure]
    if not same_figure:
        return False  # the user's own
    known_methods: set[str] = set()
    for known in same_figure:
        if bool(known.vary) == bool(study.vary):
            known_methods |= set(known.methods)
    methods = {cell.method for cell, _ in results}
    if not methods <= known_methods:
        return True
    return study.figure is duels and _has_half_a_duel(methods)


def _has_half_a_duel(methods: set[str]) -> bool:
    """Tell whether a policy has one of the two confidences that a duel is between."""
    for policy in POLICIES:
        duel = {f"{policy}-softmax", f"{policy}-tsim"}
        if len(duel & methods) == 1:
            return True
    return False


def panels(
    n_rows: int, n_columns: int, width: float, height: float, **options: Any
) -> NDArray[Any]:
    """Axes (n_rows, n_columns) of a figure that no window manager knows."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(width * n_columns, height * n_rows + 0.9), layout="constrained", dpi=120
    )
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
        {
            len({c.seed for c, _ in results if c.dataset == name})
            for name in {c.dataset for c, _ in results}
        }
    )
    labels = sorted({result.get("n_labeled") or cell.n_labeled for cell, result in results} - {0})
    labelled_rows = f", {_span(labels)} labelled rows" if labels else ""
    # Another task than the paper's may take part of a data set only.
    rows = sorted(
        {n for cell, _ in results if (n := _n_training_rows(cell.dataset)) and study.task is Task}
    )
    of = f" of {_span(rows)} training rows" if rows else ""
    width = first.figure.get_figwidth()
    figure.suptitle(
        textwrap.fill(study.says(results), round(9 * width)), fontsize=12, fontweight="bold"
    )
    noun = "seed" if seeds == [1] else "seeds"
    band = "; bands: 95 % interval of the mean" if study.vary else ""
    figure.legend(
        handles=handles,
        title=f"{_span(seeds)} {noun}{labelled_rows}{of}{band}",
        title_fontsize=8,
        loc="outside lower center",
        ncols=len(handles) if width > 9 else min(4 if len(handles) < 9 else 3, len(handles)),
        frameon=False,
        fontsize=9,
    )
    return first


def draw_mean(ax: Axes, lines: list[Line], style: Mapping[str, Any], label: str) -> None:
    """Plot means over complete data sets against the varied parameter, and the seeds' band."""
    n_values = Counter(line.dataset for line in lines)
    lines = [line for line in lines if n_values[line.dataset] == max(n_values.values())]
    n_sets = Counter(line.value for line in lines)
    values = sorted(value for value in n_sets if n_sets[value] == max(n_sets.values()))
    means, half = [], []
    for value in values:
        seeds = [np.array(list(line.by_seed.values())) for line in lines if line.value == value]
        means.append(np.mean([of_set.mean() for of_set in seeds]))
        half.append(
            1.96 * np.sqrt(sum(of_set.var() / len(of_set) for of_set in seeds)) / len(seeds)
        )
    (drawn,) = ax.plot(values, means, label=label, markersize=5, **style)
    low, high = np.subtract(means, half), np.add(means, half)
    ax.fill_between(values, low, high, color=drawn.get_color(), alpha=0.15, linewidth=0)


def handle(ax: Axes, kind: str) -> Any:
    """For the legend: the marker of a confidence, or of the baseline."""
    return ax.plot([], [], label=NAMES[kind], **{**STYLES[kind], "linestyle": "none"})[0]


def _axis(study: Study) -> str:
    """Name the study's number and its unit."""
    return study.caption + study.metric_of(study.metric).symbol


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _n_training_rows(dataset: str) -> int:
    """Three quarters of a benchmark set; 0 where that is not known without opening it."""
    return next((facts.n - -(-facts.n // 4) for facts in FACTS if facts.name == dataset), 0)


def duels(study: Study, results: Results) -> Axes:
    """Plot accuracy by data set and policy: softmax, T-similarity, and the baseline as a tick."""
    lines = {
        (line.dataset, line.labeling, line.method): line
        for line in summarize(study, results, study.metric)
    }
    names = list(dict.fromkeys(dataset for dataset, _, _ in lines))
    height = 0.32 * len(names) + 0.8
    axes = panels(len(study.labelings), len(POLICIES), 3.4, height, sharex=True, sharey=True)
    places = np.arange(len(names))[::-1]
    for row, labeling in zip(axes, study.labelings, strict=True):
        for ax, policy in zip(row, POLICIES, strict=True):
            for name, place in zip(names, places, strict=True):
                _draw_duel(
                    ax,
                    place,
                    [
                        lines.get((name, labeling, m))
                        for m in (f"{policy}-softmax", f"{policy}-tsim")
                    ],
                )
                if baseline := lines.get((name, labeling, "erm")):
                    ax.plot(baseline.mean, place, "|", color="black", markersize=11)
            ax.set(title=f"{policy.upper()}, {labeling.upper()} labels", xlabel=_axis(study))
            ax.set_yticks(places, [dataset_title(name) for name in names])
            ax.grid(axis="x")
    handles = [handle(axes[0, 0], "softmax"), handle(axes[0, 0], "tsim")]
    handles.append(
        axes[0, 0].plot([], [], "|", color="black", markersize=11, label=NAMES["erm"])[0]
    )
    return finish(axes, study, results, handles)


def curves(study: Study, results: Results, log: bool = False) -> Axes:
    """Plot accuracy against the varied parameter, in panels.

    There is a panel for each policy, or for each data set if there is one policy.
    """
    assert study.vary is not None
    lines = summarize(study, results, study.metric)
    policies = [p for p in POLICIES if any(line.method.startswith(p) for line in lines)]
    columns = {
        p.upper(): [line for line in lines if line.method.startswith((p, "erm"))] for p in policies
    }
    if len(policies) == 1:
        names = dict.fromkeys(line.dataset for line in lines)
        columns = {
            dataset_title(name): [line for line in lines if line.dataset == name] for name in names
        }
    kinds = {kind: (kind, NAMES[kind]) for kind in ("erm", "softmax", "tsim")}
    axes = _panels_of_means(study, columns or {"ERM": lines}, kinds, _axis(study))
    for ax in axes[-1] if log else ():
        ax.set_xscale("log")
        ax.set_xticks(study.vary[1][::2], [str(n) for n in study.vary[1][::2]], minor=False)
        ax.set_xticks([], minor=True)
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def extra_labels(study: Study, results: Results, models: Mapping[str, str]) -> Axes:
    """Accuracy against the number of extra labels, random ones and as many from the same source.

    ``models``: those that the methods ``NAME-random`` and ``NAME-same`` train, and what they are
    called.
    """
    assert study.vary is not None
    lines = summarize(study, results, study.metric)
    by_model = {
        title: [x for x in lines if x.method.startswith(f"{name}-")]
        for name, title in models.items()
    }
    columns = {title: of_model for title, of_model in by_model.items() if of_model}
    sources = {"random": ("tsim", "random rows"), "same": ("softmax", "rows from the same source")}
    axes = _panels_of_means(study, columns, sources, f"{_axis(study)}, all sets")
    for ax in axes.flat:
        ax.set_xticks(study.vary[1])
        if ax.lines:
            ax.axhline(
                ax.lines[0].get_ydata()[0], color=GREY, linestyle=":", label="no more labels"
            )
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def _panels_of_means(
    study: Study,
    columns: Mapping[str, list[Line]],
    kinds: Mapping[str, tuple[str, str]],
    ylabel: str,
) -> NDArray[Any]:
    """A row of panels for each labelling, a column for each title.

    ``kinds``: the ending of a method, the name of its style, and what it is called here.
    """
    axes = panels(len(study.labelings), len(columns), 3.3, 2.9, sharex=True, sharey="row")
    for row, labeling in zip(axes, study.labelings, strict=True):
        for ax, (title, lines) in zip(row, columns.items(), strict=True):
            here = [line for line in lines if line.labeling == labeling]
            n_lines = Counter(line.dataset for line in here)  # all kinds are of the same data sets
            here = [line for line in here if n_lines[line.dataset] == max(n_lines.values())]
            for ending, (style, label) in kinds.items():
                if of_kind := [line for line in here if line.method.endswith(ending)]:
                    draw_mean(ax, of_kind, STYLES[style], label)
            ax.set_title(f"{title}, {labeling.upper()} labels")
        row[0].set_ylabel(ylabel)
    for ax in axes[-1]:
        ax.set_xlabel(study.axis or (study.vary or ("",))[0])
    return axes


def means(
    study: Study,
    results: Results,
    drawn: Mapping[str, tuple[str, str]] | None = None,
    odds: bool = False,
) -> Axes:
    """The mean over data sets against the varied parameter, a line for each method.

    ``drawn``: for a method, the name of its style and what it is called here.
    """
    lines = summarize(study, results, study.metric)
    axes = panels(1, 1, 6.4, 3.6)
    ax = axes[0, 0]
    for method in study.methods:
        style, label = (drawn or {}).get(method, ("", study.title_of(method)))
        draw_mean(
            ax,
            [line for line in lines if line.method == method],
            STYLES.get(style, {"marker": "o"}),
            label,
        )
    assert study.vary is not None
    if odds:
        ax.set_xscale("log", base=2)
    ax.set_xticks(
        study.vary[1], [_fraction(value) if odds else shown_value(value) for value in study.vary[1]]
    )
    ax.set(xlabel=study.axis or study.vary[0], ylabel=f"{_axis(study)}, all sets")
    return finish(axes, study, results, ax.get_legend_handles_labels()[0])


def dots(
    study: Study, results: Results, styles: Mapping[str, Mapping[str, Any]] | None = None
) -> Axes:
    """Plot the study's number for each data set and method, and the means of the methods."""
    styles = styles or {
        method: {"marker": mark} for method, mark in zip(study.methods, cycle("osD^vx*P<>"))
    }
    numbers: dict[str, dict[str, float]] = {}
    for line in summarize(study, results, study.metric):
        labels = f", {line.labeling.upper()}" if len(study.labelings) > 1 else ""
        numbers.setdefault(dataset_title(line.dataset) + labels, {})[line.method] = line.mean
    complete = [method for method in styles if all(method in by for by in numbers.values())]
    if numbers:
        numbers["Mean"] = {
            method: float(np.mean([by[method] for by in numbers.values()])) for method in complete
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
    ax.set(xlabel=_axis(study), ylim=(-0.5, max(len(numbers), 1) - 0.5))
    ax.grid(axis="both", alpha=0.4)
    return finish(axes, study, results, ax.get_legend_handles_labels()[0])


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


def confidence(study: Study, results: Results) -> Axes:
    """Distribution of both confidences over right and wrong predictions on the unlabelled rows."""
    names = list(dict.fromkeys(cell.dataset for cell, _ in results))
    columns = [(labeling, kind) for labeling in study.labelings for kind in CONFIDENCES]
    axes = panels(len(names), len(columns), 2.6, 1.6, sharex=True)
    centres = (np.arange(20) + 0.5) / 20
    for row, name in zip(axes, names, strict=True):
        for ax, (labeling, kind) in zip(row, columns, strict=True):
            chosen = [r for cell, r in results if (cell.dataset, cell.labeling) == (name, labeling)]
            for outcome, style in (
                ("right", {"color": GREEN, "alpha": 0.55}),
                ("wrong", {"color": "black", "histtype": "step", "linewidth": 1.4}),
            ):
                counts: NDArray[Any] = np.sum(
                    [np.zeros(20), *(r[f"{kind}_{outcome}"] for r in chosen)], axis=0
                )
                share = 100 * counts / max(1, counts.sum())
                ax.hist(
                    centres,
                    20,
                    range=(0, 1),
                    weights=share,
                    label=f"{outcome} predictions",
                    **style,
                )
            if name == names[0]:
                ax.set_title(f"{NAMES[kind]}, {labeling.upper()} labels", fontsize=9)
        row[0].set_ylabel(f"{dataset_title(name)}\nshare (%)")
    for ax in axes[-1]:
        ax.set_xlabel("Confidence")
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def model_selection(study: Study, results: Results) -> Axes:
    """Leave-one-out accuracy on the labels beside the test accuracy, under both labellings."""
    names = list(dict.fromkeys(cell.dataset for cell, _ in results))
    axes = panels(1, len(names), 3.0, 3.2, sharey=True)
    kinds = (
        ("leave_one_out", "leave-one-out on the labels", BLUE),
        ("accuracy", "on the test set", ORANGE),
    )
    for ax, name in zip(axes[0], names, strict=True):
        for place, labeling in enumerate(study.labelings):
            for shift, (metric, _, color) in zip((-0.18, 0.18), kinds, strict=True):
                chosen = [
                    100 * r[metric]
                    for cell, r in results
                    if (cell.dataset, cell.labeling) == (name, labeling)
                ]
                box = ax.boxplot([chosen], positions=[place + shift], widths=0.3, patch_artist=True)
                box["boxes"][0].set(
                    facecolor=color, hatch="" if metric == "accuracy" else "///", alpha=0.7
                )
                box["medians"][0].set(color="black")
        ax.set_xticks(
            range(len(study.labelings)),
            [f"{labeling.upper()} labels" for labeling in study.labelings],
        )
        ax.set_title(dataset_title(name))
    axes[0, 0].set_ylabel("Accuracy (%)")
    handles = [
        axes[0, 0].bar(
            [0],
            [0],
            color=color,
            alpha=0.7,
            hatch="" if metric == "accuracy" else "///",
            label=label,
        )
        for metric, label, color in kinds
    ]
    return finish(axes, study, results, handles)


def bias(study: Study, results: Results) -> Axes:
    """Labelled rows among all rows on the first two principal components, under both labellings."""
    axes = panels(2, len(study.labelings), 3.8, 2.6, sharex=True, sharey="row")
    first = {
        cell.labeling: (cell, r) for cell, r in reversed(results)
    }  # one seed is enough to see it
    for labeling, (top, bottom) in zip(study.labelings, axes.T, strict=True):
        if labeling not in first:
            continue
        cell, r = first[labeling]
        edges = np.array(r["edges"])
        for name, label, style in (
            ("all", "all training rows", {"color": ORANGE, "alpha": 0.5}),
            ("labeled", "labelled rows", {"color": BLUE, "histtype": "step", "linewidth": 1.6}),
        ):
            share = 100 * np.array(r[name]) / sum(r[name])
            top.hist((edges[:-1] + edges[1:]) / 2, edges, weights=share, label=label, **style)
        everything, labeled = np.array(r["points_all"]), np.array(r["points_labeled"])
        bottom.plot(*everything.T, ".", color=ORANGE, alpha=0.35, markersize=4)
        bottom.plot(*labeled.T, "^", color=BLUE, markersize=5)
        top.set_title(
            f"{dataset_title(cell.dataset)}, {cell.labeling.upper()} labels ({cell.n_labeled})"
        )
        bottom.set_xlabel("First principal component (standard units)")
    axes[0, 0].set_ylabel("Share of rows (%)")
    axes[1, 0].set_ylabel("Second component")
    return finish(axes, study, results, axes[0, 0].get_legend_handles_labels()[0])


def intro(study: Study, results: Results) -> Axes:
    """Both confidences over the plane, with the labelled points and where the model is wrong."""
    (_, r), *_ = results
    axes = panels(1, 2, 4.4, 3.9, sharex=True, sharey=True)
    x, y = (np.array(axis) for axis in r["axes"])
    points, classes = np.array(r["points"]), np.array(r["points_class"])
    labeled, labeled_class = np.array(r["labeled"]), np.array(r["labeled_class"])
    for ax, kind in zip(axes[0], CONFIDENCES, strict=True):
        levels = np.linspace(0, 1, 11)
        filled = ax.contourf(
            x, y, np.array(r[kind]).reshape(len(y), len(x)), levels, cmap="cividis"
        )
        ax.contour(
            x,
            y,
            np.array(r["prediction"]).reshape(len(y), len(x)),
            [0.5],
            colors="white",
            linewidths=1.5,
        )
        for c, marker in ((0, "o"), (1, "^")):
            ax.plot(
                *points[classes == c].T,
                marker,
                color="white",
                alpha=0.45,
                markersize=3,
                linestyle="none",
            )
            style = {
                "markersize": 8,
                "markeredgecolor": "black",
                "linestyle": "none",
                "color": (ORANGE, BLUE)[c],
            }
            ax.plot(
                *labeled[labeled_class == c].T, marker, label=f"labelled, class {c + 1}", **style
            )
        auroc = 100 * (r[f"{kind}_auroc"] or np.nan)
        ax.set_title(
            f"{NAMES[kind]}: tells right from wrong {auroc:.0f} % of the time", fontsize=10
        )
        ax.set_xlabel("First feature (standard units)")
    axes[0, 0].set_ylabel("Second feature (standard units)")
    figure = axes[0, 0].figure
    figure.colorbar(filled, ax=list(axes[0]), label="Confidence")
    handles = axes[0, 0].get_legend_handles_labels()[0]
    border = axes[0, 0].plot([], [], color="white", label="where the prediction changes (white)")[0]
    cloud = axes[0, 0].plot(
        [], [], "o", color="white", markeredgecolor=GREY, markersize=4, label="unlabelled"
    )[0]
    return finish(axes, study, results, [*handles, cloud, border])
