"""Every table and figure of the paper as a study, beside the numbers that the paper prints."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

from studies import datasets, figures, findings
from studies.calibration import FIGURE_CALIBRATION
from studies.findings import nearness
from studies.methods import (
    PL,
    POLICIES,
    SELF_TRAINING,
    TABLE,
    as_the_authors,
    confidence_histogram,
    leave_one_out,
    plane,
    projections,
    shares_of_the_sure,
)
from studies.study import ERM, SEEDS, Published, Study


@cache
def accuracy_tables(labeling: str) -> Published:
    """Return the paper's accuracies in percent: (data set, method) -> mean and deviation.

    >>> accuracy_tables("ssb")["mushrooms", "csta-tsim"]
    (77.55, 7.65)
    """
    return _published(f"accuracy_{labeling}.csv", labeling)


@cache
def failure_table(labeling: str) -> Published:
    """The same of its table on softmax; there the policies are called by their name alone."""
    found = _published("failure_of_softmax.csv", labeling)
    return {
        (d, f"{m}-softmax" if m in POLICIES else m): numbers for (d, m), numbers in found.items()
    }


def _published(name: str, labeling: str) -> Published:
    numbers = {}
    for row in datasets.published(name) if (datasets.PUBLISHED / name).is_file() else ():
        if row.get("labeling", labeling).lower() == labeling:
            for column in (name for name in row if name.endswith("_mean")):
                method = column.removesuffix("_mean").replace("_", "-")
                std = float(row[column.replace("_mean", "_std")])
                numbers[datasets.find(row["dataset"]).name, method] = (float(row[column]), std)
    return numbers


_COMPARED = (
    findings.on_average,
    nearness,
    findings.beside_the_paper,
    findings.won_back,
)
# Accepted rows weigh, together, as much as the given labels: so that a one-sided first harvest
# cannot take over.
_BALANCED = {
    name: method._replace(options={**method.options, "balance_weights": True})
    for name, method in SELF_TRAINING.items()
}
_SOFTMAX = {name: method for name, method in SELF_TRAINING.items() if name.endswith("softmax")}
_TSIM = {name: method for name, method in SELF_TRAINING.items() if name.endswith("tsim")}
_MUSHROOMS = ("mushrooms",)
_BESIDE_THE_PAPER: dict[str, Any] = {
    "paper": accuracy_tables,
    "headline": findings.pairs_won,
    "conclude": _COMPARED,
    "figure": figures.duels,
}
_IN_BOTH_PROTOCOLS = (
    "table-ssb",
    "table-iid",
    "figure-threshold",
    "figure-gamma",
    "figure-n-heads",
)

_STUDIES = (
    Study(
        "table-ssb",
        "Biased labels: self-training with softmax and with T-similarity",
        labelings=("ssb",),
        methods=TABLE,
        companion="table-iid",
        **_BESIDE_THE_PAPER,
    ),
    Study(
        "table-iid",
        "Random labels: self-training with softmax and with T-similarity",
        labelings=("iid",),
        methods=TABLE,
        **_BESIDE_THE_PAPER,
    ),
    Study(
        "table-balanced",
        "Accepted rows weighed down: self-training with softmax and with T-similarity",
        methods=ERM | _BALANCED,
        **_BESIDE_THE_PAPER,
    ),
    Study(
        "failure-of-softmax",
        "Random and biased labels: self-training with softmax",
        methods=ERM | _SOFTMAX,
        paper=failure_table,
        headline=findings.cost_of_the_bias,
        conclude=_COMPARED,
    ),
    Study(
        "figure-bias",
        "Labelled rows among all rows, on the first two principal components",
        _MUSHROOMS,
        measure=projections,
        seeds=SEEDS[:1],
        headline=findings.distance_of_the_labels,
        figure=figures.bias,
    ),
    Study(
        "figure-confidence",
        "Both confidences of right and of wrong predictions",
        ("mnist", "coil20", "dna", "har", "digits", "protein"),
        measure=confidence_histogram,
        derive=shares_of_the_sure,
        metric="t_similarity_wrong_above_0.9",
        caption="Wrong predictions that T-similarity gives more than 0.9",
        headline=findings.sure_mistakes,
        figure=figures.confidence,
    ),
    FIGURE_CALIBRATION,
    Study(
        "figure-threshold",
        "Accuracy of PL against its threshold, with softmax and with T-similarity",
        ("mushrooms", "phishing", "svmguide1"),
        methods=PL,
        vary=("threshold", (0.7, 0.8, 0.9, 0.95)),
        axis="Threshold θ of PL",
        headline=findings.pairs_won,
        figure=figures.curves,
    ),
    Study(
        "figure-model-selection",
        "Leave-one-out accuracy on the labels beside the accuracy on the test set",
        ("mnist", "mushrooms", "protein"),
        measure=leave_one_out,
        metric="leave_one_out",
        caption="Leave-one-out accuracy",
        headline=findings.promised_and_kept,
        figure=figures.model_selection,
    ),
    Study(
        "figure-interpolation",
        "Accuracy against the strength of the bias, with softmax and with T-similarity",
        _MUSHROOMS,
        labelings=("ssb",),
        methods=ERM | SELF_TRAINING,
        vary=("alpha", (0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)),
        axis="Bias α (0: none, 1: full)",
        headline=findings.gain_at_the_ends,
        figure=figures.curves,
    ),
    Study(
        "figure-n-labeled",
        "Accuracy against the number of labels, with softmax and with T-similarity",
        _MUSHROOMS,
        methods=ERM | SELF_TRAINING,
        vary=("n_labeled", (20, 50, 100, 200, 500, 1000, 2000)),
        axis="Labelled rows",
        headline=findings.gain_at_the_ends,
        figure=partial(figures.curves, log=True),
    ),
    Study(
        "figure-gamma",
        "Accuracy against the diversity of the heads",
        _MUSHROOMS,
        methods=ERM | _TSIM,
        vary=("gamma", (0.0, 0.5, 1.0, 1.5, 2.0)),
        axis="Diversity γ",
        headline=findings.change_from_end_to_end,
        figure=figures.curves,
    ),
    Study(
        "figure-n-heads",
        "Accuracy against the number of heads",
        _MUSHROOMS,
        methods=ERM | _TSIM,
        vary=("n_heads", (2, 5, 10)),
        axis="Number of heads M",
        headline=findings.change_from_end_to_end,
        figure=figures.curves,
    ),
    Study(
        "figure-intro",
        "Both confidences over the plane, around a few labels",
        (datasets.MOONS,),
        labelings=("ssb",),
        measure=plane,
        seeds=SEEDS[:1],
        headline=findings.confidence_over_the_plane,
        figure=figures.intro,
    ),
)

# Those that can also be run as the authors seem to have run them.
_AUTHORS = tuple(
    replace(
        study,
        name=f"{study.name}-authors",
        title=f"{study.title}, as the authors seem to have run it",
        methods=as_the_authors(study.methods),
        companion=f"{study.companion}-authors" if study.companion else "",
    )
    for study in _STUDIES
    if study.name in _IN_BOTH_PROTOCOLS
)
PAPER = (*_STUDIES, *_AUTHORS)
