"""Results of a study in; its confidences, and the rows they were given to, as a figure out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chary.studies.datasets import dataset_title
from chary.studies.figures.canvas import BLUE, GREEN, GREY, NAMES, ORANGE, finish, panels
from chary.studies.measures import CONFIDENCES
from chary.studies.study import Results, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
                counts: NDArray[Any] = np.sum([np.zeros(20), *(r[f"{kind}_{outcome}"] for r in chosen)], axis=0)
                share = 100 * counts / max(1, counts.sum())
                ax.hist(centres, 20, range=(0, 1), weights=share, label=f"{outcome} predictions", **style)
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
    kinds = (("leave_one_out", "leave-one-out on the labels", BLUE), ("accuracy", "on the test set", ORANGE))
    for ax, name in zip(axes[0], names, strict=True):
        for place, labeling in enumerate(study.labelings):
            for shift, (metric, _, color) in zip((-0.18, 0.18), kinds, strict=True):
                chosen = [
                    100 * r[metric] for cell, r in results if (cell.dataset, cell.labeling) == (name, labeling)
                ]
                box = ax.boxplot([chosen], positions=[place + shift], widths=0.3, patch_artist=True)
                box["boxes"][0].set(facecolor=color, hatch="" if metric == "accuracy" else "///", alpha=0.7)
                box["medians"][0].set(color="black")
        ax.set_xticks(range(len(study.labelings)), [f"{labeling.upper()} labels" for labeling in study.labelings])
        ax.set_title(dataset_title(name))
    axes[0, 0].set_ylabel("Accuracy (%)")
    handles = [
        axes[0, 0].bar([0], [0], color=color, alpha=0.7, hatch="" if metric == "accuracy" else "///", label=label)
        for metric, label, color in kinds
    ]
    return finish(axes, study, results, handles)


def bias(study: Study, results: Results) -> Axes:
    """Labelled rows among all rows on the first two principal components, under both labellings."""
    axes = panels(2, len(study.labelings), 3.8, 2.6, sharex=True, sharey="row")
    first = {cell.labeling: (cell, r) for cell, r in reversed(results)}  # one seed is enough to see it
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
        top.set_title(f"{dataset_title(cell.dataset)}, {cell.labeling.upper()} labels ({cell.n_labeled})")
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
        filled = ax.contourf(x, y, np.array(r[kind]).reshape(len(y), len(x)), levels, cmap="cividis")
        ax.contour(x, y, np.array(r["prediction"]).reshape(len(y), len(x)), [0.5], colors="white", linewidths=1.5)
        for c, marker in ((0, "o"), (1, "^")):
            ax.plot(*points[classes == c].T, marker, color="white", alpha=0.45, markersize=3, linestyle="none")
            style = {"markersize": 8, "markeredgecolor": "black", "linestyle": "none", "color": (ORANGE, BLUE)[c]}
            ax.plot(*labeled[labeled_class == c].T, marker, label=f"labelled, class {c + 1}", **style)
        auroc = 100 * (r[f"{kind}_auroc"] or np.nan)
        ax.set_title(f"{NAMES[kind]}: tells right from wrong {auroc:.0f} % of the time", fontsize=10)
        ax.set_xlabel("First feature (standard units)")
    axes[0, 0].set_ylabel("Second feature (standard units)")
    figure = axes[0, 0].figure
    figure.colorbar(filled, ax=list(axes[0]), label="Confidence")
    handles = axes[0, 0].get_legend_handles_labels()[0]
    border = axes[0, 0].plot([], [], color="white", label="where the prediction changes (white)")[0]
    cloud = axes[0, 0].plot([], [], "o", color="white", markeredgecolor=GREY, markersize=4, label="unlabelled")[0]
    return finish(axes, study, results, [*handles, cloud, border])
