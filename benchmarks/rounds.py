"""Why ``chary label`` accepts labels once: accuracy and confidence on unlabelled rows after 0, 1, 2 and 5 rounds.

CHARY_DATA=... python benchmarks/rounds.py [seeds]
"""

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

from chary import Curriculum, DiverseEnsembleClassifier, SelfTrainingClassifier
from chary.evaluation import confidence_auroc
from chary.studies import selection_biased, train_test_protocol
from chary.studies.datasets import load

NAMES = ("svmguide1", "rice", "splice", "mushrooms", "phishing", "protein", "dna", "dry_bean", "cod_rna")
ROUNDS = (0, 1, 2, 5)


def figures(name: str, seed: int) -> np.ndarray:
    """For each number of rounds: accuracy, mean confidence, AUROC of the confidence. (rounds, 3)"""
    data = load(name)
    split = train_test_protocol(data.X, data.y, random_state=seed)
    labeled = selection_biased(split.X_train, split.y_train, data.n_labeled, data.r, random_state=seed)
    y = np.where(labeled, split.y_train.astype(object), None)
    X_rest, y_rest = split.X_train[~labeled], split.y_train[~labeled]
    base = DiverseEnsembleClassifier(random_state=seed, unlabeled=None)
    first = DiverseEnsembleClassifier(random_state=seed, unlabeled=None).fit(split.X_train, y)
    found = []
    for rounds in ROUNDS:
        model = SelfTrainingClassifier(base, policy=Curriculum(0.4), max_rounds=rounds, unlabeled=None)
        model.fit(split.X_train, y, initial=first)
        right = model.predict(X_rest) == y_rest
        confidence = model.predict_confidence(X_rest)
        found.append((right.mean(), confidence.mean(), confidence_auroc(confidence, right)))
    return np.array(found)


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = Table(
        title=f"The paper's biased labels, {n_seeds} seeds, unlabelled rows, percent", title_justify="left"
    )
    table.add_column("data set")
    for rounds in ROUNDS:
        table.add_column(f"{rounds} rounds\naccuracy / confidence / AUROC", justify="right")
    means = []
    for name in NAMES:
        means.append(np.mean([figures(name, seed) for seed in range(n_seeds)], axis=0))
        table.add_row(name, *_cells(means[-1]))
    table.add_section()
    table.add_row("mean", *_cells(np.mean(means, axis=0)))
    Console(width=140).print(table)


def _cells(values: np.ndarray) -> list[str]:
    return [" / ".join(f"{100 * value:.1f}" for value in row) for row in values]


if __name__ == "__main__":
    main()
