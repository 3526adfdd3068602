"""chary's and scikit-learn's SelfTrainingClassifier side by side: time to the same labels, and the pack of checks.

python benchmarks/self_training.py
"""

import importlib.util
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import sklearn.semi_supervised
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from chary import FixedThreshold, SelfTrainingClassifier

PACK = Path(__file__).parents[1] / "tests" / "common" / "semi_supervised_checks.py"


def ours(base, max_rounds=10, accept="policy", **parameters):
    threshold = {"policy": 0.75, "nothing": 1.01, "all": 0.0}[accept]
    return SelfTrainingClassifier(
        base, policy=FixedThreshold(threshold), confidence="softmax", max_rounds=max_rounds, **parameters
    )


def theirs(base, max_rounds=10, accept="policy", **parameters):
    threshold = {"policy": 0.75, "nothing": 1 - 1e-12, "all": 1e-12}[accept]
    return sklearn.semi_supervised.SelfTrainingClassifier(
        base, threshold=threshold, max_iter=max_rounds, **parameters
    )


def cpu_seconds(make, X, y, repeats=3):
    best = np.inf
    for _ in range(repeats):
        start = process_time()
        make(LogisticRegression(max_iter=200)).fit(X, y)
        best = min(best, process_time() - start)
    return best


def time_table(console):
    table = Table(title="CPU seconds to the same labels: logistic regression, threshold 0.75, at most 10 rounds")
    for name in ("rows", "columns", "classes", "scikit-learn", "chary", "ratio", "same labels"):
        table.add_column(name, justify="right")
    for n_rows, n_columns, n_classes in ((1_000, 10, 2), (10_000, 20, 3), (20_000, 50, 5)):
        X, y_true = make_classification(
            n_rows, n_columns, n_informative=n_columns // 2, n_classes=n_classes, random_state=0
        )
        y = np.where(np.arange(n_rows) < 200, y_true, -1)
        seconds = [cpu_seconds(make, X, y) for make in (theirs, ours)]
        labels = [make(LogisticRegression(max_iter=200)).fit(X, y).transduction_ for make in (theirs, ours)]
        table.add_row(
            f"{n_rows:,}",
            f"{n_columns}",
            f"{n_classes}",
            *(f"{s:.3f}" for s in seconds),
            f"{seconds[0] / seconds[1]:.2f}x",
            "yes" if np.array_equal(*labels) else "NO",
        )
    console.print(table)


def score_table(console):
    spec = importlib.util.spec_from_file_location("checks", PACK)
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    table = Table(title="The pack of semi-supervised checks")
    table.add_column("check")
    subjects = [
        pack.Subject("scikit-learn", theirs, LogisticRegression),
        pack.Subject("chary", ours, LogisticRegression),
    ]
    for subject in subjects:
        table.add_column(subject.name, justify="center")
    passed = dict.fromkeys((subject.name for subject in subjects), 0)
    for check in pack.CHECKS:
        cells = []
        for subject in subjects:
            ok = passes(check, subject)
            passed[subject.name] += ok
            cells.append("[green]pass[/]" if ok else "[red]fail[/]")
        table.add_row(check.__name__.removeprefix("check_").replace("_", " "), *cells)
    table.add_section()
    table.add_row("passed", *(f"{count} of {len(pack.CHECKS)}" for count in passed.values()))
    console.print(table)


def passes(check, subject):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(subject)
        except BaseException as error:  # pytest.raises fails with a BaseException
            if isinstance(error, KeyboardInterrupt):
                raise
            return False
    return True


if __name__ == "__main__":
    screen = Console(width=100)
    time_table(screen)
    score_table(screen)
