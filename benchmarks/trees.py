"""Trees from a model file beside scikit-learn's own: CPU time of ``predict_proba`` as a ratio, in one run.

    python benchmarks/trees.py [repeats] > benchmarks/results/trees.txt

Compiled: scikit-learn's trees, filled with the plain arrays.
"""

import sys
from time import process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from chary.method.trees import plain_trees

N_ROWS, N_LABELED, N_COLUMNS = 100_000, 1_000, 20
MODELS = {
    "200 extra trees": ExtraTreesClassifier(200, max_features=0.5, random_state=0),
    "boosting, 100 iterations": HistGradientBoostingClassifier(random_state=0),
}


def ways(model: Any, one: np.ndarray) -> dict[str, Any]:
    """The model itself, and its plain arrays, each ready to predict."""
    found = {"scikit-learn": model, "compiled": plain_trees(model)}
    found["compiled"].predict_proba(one)
    return found


def seconds(model: Any, X: np.ndarray) -> tuple[float, np.ndarray]:
    start = process_time()
    probs = model.predict_proba(X)
    return process_time() - start, probs


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    title = f"{N_ROWS:,} rows x {N_COLUMNS} columns, {N_LABELED:,} labels, one thread, median of {repeats}"
    table = Table(title=title, title_justify="left")
    names = ("trees", "classes", "scikit-learn, s", "compiled, times it", "largest difference")
    for name in names:
        table.add_column(name, justify="left" if name == "trees" else "right")
    for n_classes in (2, 4):
        X, y = make_classification(
            N_ROWS, N_COLUMNS, n_informative=8, n_classes=n_classes, flip_y=0.1, random_state=0
        )
        for name, model in MODELS.items():
            models = ways(model.fit(X[:N_LABELED], y[:N_LABELED]), X[:1])
            runs = [{way: seconds(model, X) for way, model in models.items()} for _ in range(repeats)]
            taken = {way: float(np.median([run[way][0] for run in runs])) for way in models}
            own = runs[0]["scikit-learn"][1]
            worst = max(float(np.abs(probs - own).max()) for _, probs in runs[0].values())
            ratio = f"{taken['compiled'] / taken['scikit-learn']:.2f}"
            table.add_row(name, str(n_classes), f"{taken['scikit-learn']:.1f}", ratio, f"{worst:.0e}")
    Console(width=110).print(table)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
