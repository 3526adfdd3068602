"""The studies behind ``chary label``: who learns, how often, and what the verdict on the labels is worth."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._words import listed
from chary.labelling import Diagnosis, diagnose
from chary.labelling.diagnose import MILD, REPRESENTATIVE, STRONG
from chary.method import confidence_auroc
from studies.datasets import dataset_title
from studies.findings import data_sets, told
from studies.methods import curriculum
from studies.priors import mixed
from studies.results import summarize
from studies.study import SEEDS, Method, Results, Study, Task, TextTable, accuracy

KINDS = (REPRESENTATIVE, MILD, STRONG)
_CSTA = {"confidence": "t_similarity", "step": 0.4}


# -- Who learns ----------------------------------------------------------------------------------------------


def accuracy_by_verdict(task: Task, fitted: Any) -> dict[str, Any]:
    """Test accuracy, and what the diagnosis says of the labelled rows."""
    verdict = task.once("verdict", lambda: diagnosis(task).verdict)
    return {**accuracy(task, fitted), "verdict": verdict}


def by_verdict(study: Study, results: Results) -> TextTable:
    """For each verdict, the mean accuracy over data sets, and that of the worst of them."""
    rows = []
    for verdict, by_dataset in _fits(study, results).items():
        means = 100 * np.array([np.mean(fits, axis=0) for fits in by_dataset.values()])  # (data sets, methods)
        numbers = [f"{m:.1f} ({low:.1f})" for m, low in zip(means.mean(axis=0), means.min(axis=0), strict=True)]
        rows.append([verdict, str(len(means)), str(sum(map(len, by_dataset.values()))), *numbers])
    caption = (
        "Test accuracy in percent by the verdict on the labelled rows, mean over data sets (lowest of a data set)"
    )
    return TextTable(caption, ["Labelled rows", "Data sets", "Fits", *map(study.title_of, study.methods)], rows)


def best_by_verdict(study: Study, results: Results) -> str:
    """Who learns best under each verdict."""
    titles = [study.title_of(method) for method in study.methods]
    parts = []
    for verdict, by_dataset in _fits(study, results).items():
        means = 100 * np.mean([np.mean(fits, axis=0) for fits in by_dataset.values()], axis=0)
        parts.append(f"{titles[means.argmax()]} where labels are {verdict} ({means.max():.1f})")
    return told("Best on average:", parts)


def _fits(study: Study, results: Results) -> dict[str, dict[str, list[list[float]]]]:
    """verdict -> data set -> for each draw of labels that all methods have, their accuracies."""
    draws: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for cell, result in results:
        draws[result["verdict"], cell.dataset, cell.group][cell.method] = result["accuracy"]
    found: dict[str, dict[str, list[list[float]]]] = {verdict: defaultdict(list) for verdict in KINDS}
    for (verdict, dataset, _), by_method in draws.items():
        if verdict in found and len(by_method) == len(study.methods):
            found[verdict][dataset].append([by_method[method] for method in study.methods])
    return {verdict: by_dataset for verdict, by_dataset in found.items() if by_dataset}


LEARNERS = Study(
    "learners",
    "Who learns in `chary label`: three learners, by the verdict on the labelled rows",
    ("svmguide1", "rice", "splice", "mushrooms", "phishing", "protein", "digits", "dna", "dry_bean"),
    labelings=("ssb",),
    methods={
        "network": Method(curriculum, {**_CSTA, "max_rounds": 1}, "network, 1 round"),
        "mixed": Method(mixed, {"prior": None}, "unlike learners"),
        "mixed-st": Method(mixed, {"prior": None, "rounds": 5}, "unlike learners, 5 rounds"),
    },
    measure=accuracy_by_verdict,
    vary=("alpha", (0.0, 0.35, 0.5, 0.65, 1.0)),
    axis="Bias α (0: none, 1: full)",
    seeds=SEEDS[:3],
    tables=(by_verdict,),
    headline=best_by_verdict,
)


# -- How often -----------------------------------------------------------------------------------------------


def on_the_rest(task: Task, fitted: Any) -> dict[str, Any]:
    """On the unlabelled rows: accuracy, mean confidence, and how well confidence tells right from wrong."""
    X, y = task.X[~task.labeled], task.y_true[~task.labeled]
    right, confidence = fitted.predict(X) == y, fitted.predict_confidence(X)
    auroc = confidence_auroc(confidence, right)
    return {
        "rest_accuracy": float(right.mean()),
        "confidence": float(confidence.mean()),
        "auroc": None if np.isnan(auroc) else auroc,
    }


def by_rounds(study: Study, results: Results) -> TextTable:
    """For each data set, and on average of them, the three numbers after each number of rounds."""
    names, values, numbers = _by_rounds(study, results)
    rows = [[dataset_title(name), *map(_slashed, of_set)] for name, of_set in zip(names, numbers, strict=True)]
    rows += [["Mean", *map(_slashed, numbers.mean(axis=0))]] if len(rows) > 1 else []
    caption = "On the unlabelled rows, in percent: accuracy / mean confidence / AUROC of the confidence"
    return TextTable(caption, ["Data set", *(f"{value} rounds" for value in values)], rows)


def gain_of_rounds(study: Study, results: Results) -> str:
    """What each number of rounds does to accuracy and confidence, where all data sets have it."""
    names, values, numbers = _by_rounds(study, results)
    means = dict(zip(values, numbers.mean(axis=0), strict=True)) if names else {}
    found = {value: mean for value, mean in means.items() if not np.isnan(mean[0])}
    if not found:
        return ""
    accuracy, confidence = (listed([f"{mean[column]:.1f}" for mean in found.values()]) for column in (0, 1))
    after = f"after {listed([str(value) for value in found])} rounds"
    return (
        f"Accuracy on the unlabelled rows {after}: {accuracy}; mean confidence: {confidence} "
        f"(percent, {data_sets(len(names))})"
    )


_REST = ("rest_accuracy", "confidence", "auroc")


def _by_rounds(study: Study, results: Results) -> tuple[list[str], tuple[Any, ...], NDArray[np.float64]]:
    """Data sets, numbers of rounds, and three means of each: (data sets, rounds, 3), NaN where there is none."""
    lines = {(line.dataset, line.value, line.metric): line.mean for line in summarize(study, results)}
    names = list(dict.fromkeys(dataset for dataset, _, _ in lines))
    values = study.vary[1] if study.vary else ()
    numbers = [[[lines.get((name, value, m), np.nan) for m in _REST] for value in values] for name in names]
    return names, values, np.array(numbers)


def _slashed(numbers: NDArray[np.float64]) -> str:
    return " / ".join("-" if np.isnan(number) else f"{number:.1f}" for number in numbers)


ROUNDS = Study(
    "rounds",
    "How often the network of `chary label` learns from its own labels",
    ("svmguide1", "rice", "splice", "mushrooms", "phishing", "protein", "dna", "dry_bean", "cod_rna"),
    labelings=("ssb",),
    methods={"csta-tsim": Method(curriculum, {**_CSTA, "max_rounds": 5}, "CSTA T-sim")},
    measure=on_the_rest,
    vary=("max_rounds", (0, 1, 2, 5)),
    axis="Rounds",
    seeds=SEEDS[:5],
    metric="rest_accuracy",
    caption="Accuracy on the unlabelled rows",
    tables=(by_rounds,),
    headline=gain_of_rounds,
)


# -- What the verdict is worth -------------------------------------------------------------------------------


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

CHOICES = (LEARNERS, ROUNDS, VERDICTS)
