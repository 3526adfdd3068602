"""The study of verdicts: how often the diagnosis says rightly whether labelled rows are like the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from chary.labelling import Diagnosis, diagnose
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG
from studies.datasets import dataset_title
from studies.findings import told
from studies.study import Method, Results, Study, Task, TextTable

KINDS = (REPRESENTATIVE, MILD, STRONG)


def diagnosis(task: Task) -> Diagnosis:
    """Whether the labelled rows are like the rest; no model is fitted to the labels."""
    return diagnose(task.X, task.labeled, random_state=task.random_state)


def verdict_of(task: Task, found: Diagnosis) -> dict[str, Any]:
    """The verdict, and the two numbers it comes with."""
    return {
        "verdict": found.verdict,
        "auc": found.separation.auc if found.separation else None,
        "coverage": found.coverage,
    }


def shares_of_verdicts(result: dict[str, Any]) -> dict[str, float]:
    """One for the verdict that was given, zero for the others: their means are shares."""
    return {verdict: float(result["verdict"] == verdict) for verdict in KINDS}


def by_labeling(study: Study, results: Results) -> TextTable:
    """For each data set and labelling, how often each verdict was given."""
    here: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for cell, result in results:
        here[cell.dataset, cell.labeling].append(result)
    rows = []
    for (dataset, labeling), found in here.items():
        counts = Counter(result["verdict"] for result in found)
        aucs = [result["auc"] for result in found if result["auc"] is not None]
        coverages = [result["coverage"] for result in found if result["coverage"] is not None]
        numbers = [f"{min(aucs):.2f} to {max(aucs):.2f}", f"{np.mean(coverages):.0%}"] if aucs else ["-", "-"]
        counted = [str(counts[verdict]) for verdict in KINDS]
        rows.append([dataset_title(dataset), _DRAWN[labeling], *counted, *numbers])
    caption = f"Verdicts over {len({cell.seed for cell, _ in results})} seeds"
    return TextTable(caption, ["Data set", "Labels drawn", *KINDS, "AUC, range", "Coverage, mean"], rows)


def taken_for_representative(study: Study, results: Results) -> str:
    """How often labels of each kind were taken for a random draw."""
    parts = []
    for labeling in study.labelings:
        found = [result["verdict"] == REPRESENTATIVE for cell, result in results if cell.labeling == labeling]
        parts += [f"{sum(found)} of {len(found)} drawn {_DRAWN[labeling]}"] if found else []
    return told("Taken for representative:", parts, "; ".join)


_DRAWN = {
    "ssb": "with the paper's bias",
    "random": "at random from all rows",
    "stratified": "at random within each class",
    "iid": "as many of each class, at random",
}
VERDICTS = Study(
    "verdicts",
    "How often the verdict on the labelled rows is right, by how they were drawn",
    ("mushrooms", "phishing", "svmguide1"),
    labelings=("ssb", "random", "stratified", "iid"),
    methods={"diagnosis": Method(diagnosis)},
    measure=verdict_of,
    seeds=tuple(range(100)),
    derive=shares_of_verdicts,
    metric=REPRESENTATIVE,
    caption="Draws taken for representative",
    tables=(by_labeling,),
    headline=taken_for_representative,
)
