"""Whether the statements of an audit hold: coverage of its interval, and errors among accepted rows.

Biased labels, a logistic regression, and many audits of it; the truth is known, so every statement can be checked.
Run: ``python benchmarks/audit.py``
"""

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from chary.audit import accept_threshold, draw, interval
from chary.audit.model import fit_with_audit


def interval_coverage(k: int, n_audits: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of audits whose 95 % interval covers the truth, and the mean width; pools of 2,000 of any accuracy."""
    truth = rng.integers(0, 2001, n_audits)
    correct = rng.hypergeometric(truth, 2000 - truth, k)
    intervals = np.array([interval(x, k) for x in range(k + 1)])[correct]
    covered = (intervals[:, 0] <= truth / 2000) & (truth / 2000 <= intervals[:, 1])
    return float(covered.mean()), float(np.diff(intervals, axis=1).mean())


def a_biased_problem(seed: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, classes, and about forty labels that prefer one side of the first column."""
    X, y = make_classification(
        2000, 6, n_informative=4, flip_y=0.05, class_sep=0.7 + rng.random(), random_state=seed
    )
    weight = np.exp(2 * X[:, 0])
    labeled = np.zeros(len(X), dtype=bool)
    labeled[rng.choice(len(X), 40, replace=False, p=weight / weight.sum())] = True
    labeled[[np.flatnonzero(y == c)[0] for c in (0, 1)]] = True
    return X, y, labeled


def accepted_errors(k: int, error: float, n_audits: int, rng: np.random.Generator) -> dict[str, list[float]]:
    """Of both models, whether the error among accepted rows was kept and which share was accepted."""
    found: dict[str, list[float]] = {"exact kept": [], "exact share": [], "cross kept": [], "cross share": []}
    for seed in range(n_audits // 20):
        X, y, labeled = a_biased_problem(seed, rng)
        pool = ~labeled
        for _ in range(20):
            rows = draw(labeled, k, rng)
            target = np.where(labeled, y, -1)
            target[rows] = y[rows]
            result = fit_with_audit(LogisticRegression(), X, target, rows, random_state=rng)
            for name, model, judged in (
                ("exact", result.unaudited_model, result.before),
                ("cross", result.model, result.after),
            ):
                confidence = model.predict_proba(X[pool]).max(axis=1)
                wrong = model.predict(X[pool]) != y[pool]
                accepted = (
                    confidence >= accept_threshold(judged.confidence, judged.correct, confidence, error).threshold
                )
                found[f"{name} kept"].append(not accepted.any() or wrong[accepted].mean() <= error)
                found[f"{name} share"].append(accepted.mean())
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1000, help="audits behind each line of the second table")
    n_audits = parser.parse_args().audits
    rng = np.random.default_rng(0)
    console = Console()
    table = Table("k", "covers the truth", "mean width", title="95 % interval of the accuracy, 10,000 audits each")
    for k in (10, 20, 30, 50, 100):
        coverage, width = interval_coverage(k, 10_000, rng)
        table.add_row(str(k), f"{coverage:.1%}", f"{100 * width:.0f} points")
    console.print(table)
    title = f"Accepting rows at level 90 %, {n_audits:,} audits each, biased training labels"
    table = Table("k", "error allowed", "model", "kept", "audits that accept", "rows accepted", title=title)
    for k, error in ((30, 0.2), (60, 0.1), (100, 0.1), (200, 0.05)):
        found = accepted_errors(k, error, n_audits, rng)
        for name, model in (("exact", "without the audit"), ("cross", "with it, cross-fitted")):
            shares = np.array(found[f"{name} share"])
            kept = np.mean(found[f"{name} kept"])
            numbers = (f"{kept:.1%}", f"{np.mean(shares > 0):.0%}", f"{shares.mean():.0%}")
            table.add_row(str(k), f"{error:.0%}", model, *numbers)
    console.print(table)


if __name__ == "__main__":
    main()
