"""How often the verdict of ``diagnose`` is right: the paper's biased labels, and labels drawn at random.

CHARY_DATA=... python benchmarks/verdicts.py [seeds]
"""

import sys
from collections import Counter

import numpy as np
from rich.console import Console
from rich.table import Table

from chary.evaluation import MILD, REPRESENTATIVE, STRONG, diagnose
from chary.studies import iid, selection_biased, train_test_protocol
from chary.studies.datasets import load

NAMES = ("mushrooms", "phishing", "svmguide1")
LABELINGS = {
    "biased (the paper's SSB)": lambda X, y, data, seed: selection_biased(
        X, y, data.n_labeled, data.r, random_state=seed
    ),
    "drawn at random": lambda X, y, data, seed: np.random.default_rng(seed).permutation(len(y)) < data.n_labeled,
    "at random within classes": lambda X, y, data, seed: selection_biased(
        X, y, data.n_labeled, data.r, alpha=0, random_state=seed
    ),
    "as many of each class": lambda X, y, data, seed: iid(y, data.n_labeled, random_state=seed),
}


def main() -> None:
    n_seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    table = Table(title=f"Verdicts over {n_seeds} seeds", title_justify="left")
    for name in ("data set", "labels", REPRESENTATIVE, MILD, STRONG, "AUC, range", "coverage, mean"):
        table.add_column(name, justify="left" if name in ("data set", "labels") else "right")
    for name in NAMES:
        data = load(name)
        for title, labeling in LABELINGS.items():
            verdicts, aucs, coverages = Counter(), [], []
            for seed in range(n_seeds):
                split = train_test_protocol(data.X, data.y, random_state=seed)
                labeled = labeling(split.X_train, split.y_train, data, seed)
                found = diagnose(split.X_train, labeled, random_state=seed)
                verdicts[found.verdict] += 1
                aucs.append(found.separation.auc)
                coverages.append(found.coverage)
            counts = [str(verdicts[verdict]) for verdict in (REPRESENTATIVE, MILD, STRONG)]
            table.add_row(name, title, *counts, f"{min(aucs):.2f} to {max(aucs):.2f}", f"{np.mean(coverages):.0%}")
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
