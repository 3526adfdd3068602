"""Who ``chary label`` lets learn, and why: accuracy of its learners by the verdict on the labelled rows.

CHARY_DATA=... python benchmarks/learners.py [seeds]
"""

import sys
from collections import defaultdict

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from chary import (
    Curriculum,
    DiverseEnsembleClassifier,
    MixedEnsembleClassifier,
    RisingShare,
    SelfTrainingClassifier,
)
from chary.evaluation import MILD, REPRESENTATIVE, STRONG, diagnose
from chary.studies import selection_biased, train_test_protocol
from chary.studies.datasets import load

NAMES = ("svmguide1", "rice", "splice", "mushrooms", "phishing", "protein", "digits", "dna", "dry_bean")
ALPHAS = (0.0, 0.35, 0.5, 0.65, 1.0)  # 0: labels drawn at random within each class; 1: the paper's bias


def figures(name: str, seed: int, alpha: float) -> tuple[str, np.ndarray]:
    """The verdict, and test accuracies: network, one round; unlike learners, none and five. (3,)"""
    data = load(name)
    split = train_test_protocol(data.X, data.y, random_state=seed)
    labeled = selection_biased(split.X_train, split.y_train, data.n_labeled, data.r, alpha, random_state=seed)
    y = np.where(labeled, split.y_train.astype(object), None)
    verdict = diagnose(split.X_train, labeled, random_state=seed).verdict
    network = DiverseEnsembleClassifier(random_state=seed)
    unlike = MixedEnsembleClassifier(random_state=seed, unlabeled=None)
    first = MixedEnsembleClassifier(random_state=seed, unlabeled=None).fit(split.X_train, y)
    models = [
        SelfTrainingClassifier(network, policy=Curriculum(0.4), max_rounds=1, unlabeled=None).fit(
            split.X_train, y
        ),
        first,
        SelfTrainingClassifier(unlike, policy=RisingShare(max_rows=10_000), unlabeled=None).fit(
            split.X_train, y, initial=first
        ),
    ]
    return verdict, np.array([np.mean(model.predict(split.X_test) == split.y_test) for model in models])


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    found = defaultdict(lambda: defaultdict(list))  # verdict -> data set -> accuracies of a fit, (3,)
    grid = [(name, seed, alpha) for name in NAMES for seed in range(n_seeds) for alpha in ALPHAS]
    for name, seed, alpha in track(grid, console=Console(stderr=True)):
        verdict, accuracies = figures(name, seed, alpha)
        found[verdict][name].append(accuracies)
    table = Table(
        title=f"{len(NAMES)} data sets, {n_seeds} seeds, bias of {len(ALPHAS)} strengths: test accuracy, percent "
        "(lowest of a data set)",
        title_justify="left",
    )
    table.add_column("labelled rows")
    for title in ("data sets", "fits", "network, 1 round", "unlike learners", "and 5 rounds"):
        table.add_column(title, justify="right")
    for verdict in (REPRESENTATIVE, MILD, STRONG):
        by_dataset = [np.mean(fits, axis=0) for fits in found[verdict].values()]
        if by_dataset:
            mean, least = 100 * np.mean(by_dataset, axis=0), 100 * np.min(by_dataset, axis=0)
            n_fits = sum(len(fits) for fits in found[verdict].values())
            cells = [f"{m:.1f} ({low:.1f})" for m, low in zip(mean, least, strict=True)]
            table.add_row(verdict, str(len(by_dataset)), str(n_fits), *cells)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
