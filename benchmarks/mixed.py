"""What unlike learners cost: CPU seconds to learn from 500 labels and to label the rest, beside the first ones.

python benchmarks/mixed.py [rows]
"""

from __future__ import annotations

import sys
from time import process_time
from types import SimpleNamespace

import numpy as np
from rich.console import Console
from rich.table import Table

from chary import MixedEnsembleClassifier
from studies.methods import first_mixture

N_LABELED, N_COLUMNS, REPEATS = 500, 50, 3


def rows_and_labels(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the columns numbers, half zeros and ones; the class depends on five of either."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(n_rows, N_COLUMNS // 2)), rng.integers(0, 2, (n_rows, N_COLUMNS // 2))])
    score = X[:, :5].sum(axis=1) + X[:, -5:].sum(axis=1) + rng.normal(size=n_rows)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X, np.where(np.arange(n_rows) < N_LABELED, y, -1)


def seconds(model: MixedEnsembleClassifier, X: np.ndarray, y: np.ndarray) -> float:
    """The least of some runs."""
    found = []
    for _ in range(REPEATS):
        start = process_time()
        model.fit(X, y).predict_joint_proba(X)
        found.append(process_time() - start)
    return min(found)


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    grid = Table(title=f"CPU seconds, {n_rows:,} rows x {N_COLUMNS}, {N_LABELED} labels", title_justify="left")
    for column in ("classes", "first: two linear models, trees", "today: linear model, trees, boosting", "ratio"):
        grid.add_column(column, justify="right")
    for n_classes in (2, 5, 10):
        X, y = rows_and_labels(n_rows, n_classes)
        first = seconds(first_mixture(SimpleNamespace(X=X, random_state=0)), X, y)
        today = seconds(MixedEnsembleClassifier(random_state=0), X, y)
        grid.add_row(str(n_classes), f"{first:.2f}", f"{today:.2f}", f"{today / first:.2f}")
    Console(width=110).print(grid)


if __name__ == "__main__":
    main()
