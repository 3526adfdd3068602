"""The study of calibration: true errors of four confidences, beside the curves of the paper.

Origin of ``published/calibration.csv``: the output of ``notebooks/plot_ECE_curves.ipynb`` in the
authors' repository (github.com/ambroiseodt/tsim), stored with it from commit 6e01776 until 09e3041
deleted it. Heights were measured in the picture to about a thousandth of a panel. The ticks stand
at a tenth and at nine tenths of a panel's height, but their labels are rounded to one decimal: a
panel's scale is known to 5 points only; that does not touch its shape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chary._words import listed
from studies import datasets
from studies.datasets import dataset_title
from studies.figures import GREY, NAMES, STYLES, Axes, draw_mean, finish, panels
from studies.findings import told
from studies.methods import CONFIDENCES, FOUR, calibration_errors
from studies.results import shown_value, summarize
from studies.study import Results, Study, TextTable


class Curve(NamedTuple):
    """One panel of the figure, in percent."""

    softmax: float  # a horizontal line
    t_similarity: Mapping[float, float]  # by gamma


@cache
def calibration_curves() -> Mapping[tuple[str, str], Curve]:
    """The panels of the paper's figure of calibration errors: (data set, labelling) -> curve.

    >>> calibration_curves()["cod_rna", "iid"].t_similarity[0.0]
    61.91
    """
    panels = {}
    for row in datasets.published("calibration.csv"):
        place = datasets.find(row["dataset"]).name, row["labeling"].lower()
        values = {
            float(name.removeprefix("tsim_")): float(row[name])
            for name in row
            if name.startswith("tsim_")
        }
        panels[place] = Curve(float(row["softmax"]), values)
    return panels


def likeness(ours: Mapping[float, float], theirs: Mapping[float, float]) -> float:
    """Pearson's correlation of two curves at the points both have; NaN with fewer than three.

    >>> likeness({0: 1.0, 1: 2.0, 2: 4.0}, {0: 10.0, 1: 20.0, 2: 40.0, 3: 0.0})
    1.0
    """
    at = sorted(set(ours) & set(theirs))
    if len(at) < 3:
        return float("nan")
    return round(float(np.corrcoef([ours[x] for x in at], [theirs[x] for x in at])[0, 1]), 9)


TITLES = {
    "softmax": "softmax",
    "t_similarity": "T-similarity",
    "t_share": "class share",
    "head_mean": "mean of the heads",
}
ALIKE = 0.99  # a correlation above this counts as the same curve


def errors_beside_softmax(study: Study, results: Results) -> str:
    """Tell T-similarity's error by the diversity's strength, and where it is below softmax's."""
    name, values = study.vary or ("", ())
    mean = _means(study, results)
    parts = []
    for labeling in study.labelings:
        errors = [mean(labeling, value, "t_similarity_ece") for value in values]
        softmax = mean(labeling, values[0], "softmax_ece")
        if np.isnan([*errors, softmax]).any():
            continue
        shown = listed([f"{error:.1f}" for error in errors])
        pairs = zip(values, errors, strict=True)
        better_at = [shown_value(value) for value, error in pairs if error < softmax] or ["none"]
        parts.append(
            f"{shown} with {study.words_of(labeling)} (softmax {softmax:.1f}; T-similarity is "
            f"better at {listed(better_at)})"
        )
    strengths = listed([shown_value(value) for value in values])
    return told(f"Calibration error of T-similarity at {name} = {strengths}:", parts, "; ".join)


def errors_by_gamma(study: Study, results: Results) -> TextTable:
    """Tabulate means over the data sets: a row per labelling and gamma, a column per confidence."""
    mean = _means(study, results)
    rows = []
    for labeling in study.labelings:
        for value in study.vary[1] if study.vary else ():
            found = [
                [mean(labeling, value, f"{kind}_{ending}") for ending in ("ece", "ece_mass")]
                for kind in FOUR
            ]
            if not np.isnan(found).all():
                cells = [f"{width:.1f} / {mass:.1f}" for width, mass in found]
                rows.append([labeling.upper(), shown_value(value), *cells])
    return TextTable(
        "True calibration error in percent, in bins of equal width / of equal mass, mean over the "
        "data sets",
        ["Labels", "gamma", *(TITLES[kind] for kind in FOUR)],
        rows,
    )


def beside_the_papers_curves(study: Study, results: Results) -> TextTable:
    """What the paper's formula gives, the paper's curve in brackets, and how alike the two are."""
    rows = []
    for (dataset, labeling), (ours, softmax) in _notebook_curves(study, results).items():
        paper = calibration_curves().get((dataset, labeling))
        theirs = paper.t_similarity if paper else {}
        cells = [
            f"{y:.1f}" + (f" ({theirs[x]:.1f})" if x in theirs else "") for x, y in ours.items()
        ]
        of_softmax = f"{softmax:.1f}" + (f" ({paper.softmax:.1f})" if paper else "")
        alike = f"{likeness(ours, theirs):.4f}" if theirs else ""
        rows.append([dataset_title(dataset), labeling.upper(), of_softmax, *cells, alike])
    heads = [
        f"T-similarity, {shown_value(value)}" for value in (study.vary[1] if study.vary else ())
    ]
    return TextTable(
        "What the paper's notebook computes, in percent (in brackets the paper's curve, as read "
        "from the picture, whose scale is known to 5 points only)",
        ["Data set", "Labels", "softmax", *heads, "Correlation"],
        rows,
    )


def panels_alike(study: Study, results: Results, companion: Results) -> list[str]:
    """In how many panels the paper's formula gives the paper's curve."""
    found = []
    for place, (ours, _) in _notebook_curves(study, results).items():
        if place in calibration_curves():
            found.append(likeness(ours, calibration_curves()[place].t_similarity))
    if not found:
        return []
    return [
        "The notebook's formula gives the published curve of T-similarity (correlation above "
        f"{ALIKE}) in {sum(r > ALIKE for r in found)} of {len(found)} panels; the least is "
        f"{min(found):.4f}, the median {np.median(found):.4f}."
    ]


def _notebook_curves(
    study: Study, results: Results
) -> dict[tuple[str, str], tuple[dict[float, float], float]]:
    """For each panel the curve of T-similarity by gamma, and the mean of softmax."""
    found: dict[tuple[str, str], dict[str, dict[float, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for line in summarize(study, results):
        for kind in CONFIDENCES:
            if line.metric == f"{kind}_notebook":
                found[line.dataset, line.labeling][kind][line.value] = line.mean
    return {
        place: (dict(curves["t_similarity"]), float(np.mean(list(curves["softmax"].values()))))
        for place, curves in found.items()
        if len(curves) == len(CONFIDENCES)
    }


def _means(study: Study, results: Results) -> Callable[..., float]:
    """Average over the data sets, in percent: (labelling, value, metric) -> mean or NaN."""
    found: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for line in summarize(study, results):
        found[line.labeling, line.value, line.metric].append(line.mean)
    return lambda *place: float(np.mean(found[place])) if place in found else float("nan")


# What is drawn: the ending of the number's name, its confidences, and what stands beside the row.
_ROWS = (
    ("ece", FOUR, "Calibration error\n(%), equal width"),
    ("ece_mass", FOUR, "Calibration error\n(%), equal mass"),
    ("notebook", CONFIDENCES, "The notebook's\nformula (%)"),
)


def calibration(study: Study, results: Results) -> Axes:
    """Draw the error of four confidences in bins of both kinds, and the paper's beside ours."""
    lines = summarize(study, results)
    names = list(dict.fromkeys(line.dataset for line in lines))
    rows = [(labeling, *row) for row in _ROWS for labeling in study.labelings]
    axes = panels(len(rows), len(names), 2.2, 1.5, sharex=True, sharey="row")
    for row, (labeling, ending, kinds, label) in zip(axes, rows, strict=True):
        for ax, name in zip(row, names, strict=True):
            here = [line for line in lines if (line.dataset, line.labeling) == (name, labeling)]
            for kind in kinds:
                if chosen := [line for line in here if line.metric == f"{kind}_{ending}"]:
                    draw_mean(ax, chosen, STYLES[kind], NAMES[kind])
            if ending == "notebook":
                _draw_papers(ax, name, labeling)
            ax.set_title(f"{dataset_title(name)}, {labeling.upper()}", fontsize=8)
        row[0].set_ylim(bottom=0)  # of the whole row, once all of it is drawn
        row[0].set_ylabel(label, fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel(study.axis)
    drawn = axes[0, 0].get_legend_handles_labels()[0]
    papers = [line for line in axes[-1, 0].lines if str(line.get_label()).startswith("paper")]
    return finish(axes, study, results, [*drawn, *papers])


def _draw_papers(ax: Axes, name: str, labeling: str) -> None:
    curve = calibration_curves().get((name, labeling))
    if curve is not None:
        ax.axhline(
            curve.softmax, color=GREY, linestyle=(0, (5, 3)), linewidth=1, label="paper, softmax"
        )
        x, y = list(curve.t_similarity), list(curve.t_similarity.values())
        ax.plot(
            x, y, color=GREY, linewidth=1, marker="x", markersize=6, label="paper, T-similarity"
        )


FIGURE_CALIBRATION = Study(
    "figure-calibration",
    "Calibration of four confidences against the diversity of the heads",
    (
        "cod_rna",
        "mushrooms",
        "phishing",
        "rice",
        "splice",
        "svmguide1",
    ),  # those of the authors' notebook
    measure=calibration_errors,
    vary=("gamma", (0.0, 0.5, 1.0, 1.5, 2.0)),
    axis="Diversity γ",
    metric="t_similarity_ece",
    caption="Calibration error of T-similarity",
    tables=(errors_by_gamma, beside_the_papers_curves),
    headline=errors_beside_softmax,
    conclude=(panels_alike,),
    figure=calibration,
)
