"""Whether the statements of an audit hold: coverage of its interval, and errors among accepted rows.

Biased labels, a logistic regression, and many audits of it; the truth is known, so every statement can be checked.
Run: ``python benchmarks/audit.py``
"""

import argparse
import math

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import bdtr, betaincinv
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


SHAPES = {  # the chance of a wrong label, by the share of rows that are more confident
    "honest": lambda u: 0.4 * u**2,
    "steep": lambda u: np.where(u < 0.6, 0.01, 0.3),
    "useless": lambda u: np.full(len(u), 0.105),
    "confidently wrong": lambda u: np.where(u < 0.3, 0.25, 0.05),
}


def split_by_starts(confidence: np.ndarray, correct: np.ndarray, pool: np.ndarray, error: float) -> float:
    """The rule before: walks from several starts that depend on the error share the risk of 10 % evenly."""
    k, starts = len(confidence), np.empty(0)
    for n_starts in range(1, 10):
        needed = math.ceil(math.log(0.1 / n_starts) / math.log1p(-error) - 1e-9)
        doubled = betaincinv(needed, k - needed + 1, 0.9) * 2.0 ** np.arange(n_starts) if needed <= k else [2.0]
        if doubled[-1] > 1:
            break
        starts = doubled
    if not len(starts):
        return math.inf
    shares = np.union1d(np.geomspace(starts[0], 1, 30), starts)
    thresholds = np.sort(pool)[np.minimum(np.round((1 - shares) * len(pool)).astype(int), len(pool) - 1)]
    above = confidence >= thresholds[:, None]
    passed = bdtr((above & ~correct).sum(axis=1), above.sum(axis=1), error) <= 0.1 / len(starts)
    best = -1
    for first in np.searchsorted(shares, starts):
        n_passed = int(np.append(passed[first:], False).argmin())
        best = max(best, first + n_passed - 1) if n_passed else best
    return math.inf if best < 0 else float(thresholds[best])


def accepted_by_design(console: Console, n_audits: int, rng: np.random.Generator) -> None:
    """Twelve designs whose truth is known: how often the error is kept, and how much is accepted, then and now."""
    title = f"Accepting rows at level 90 %, {n_audits:,} audits each, truth known"
    columns = "confidence", "k", "error allowed", "kept", "rows accepted", "rule before: kept", "accepted"
    table = Table(*columns, title=title)
    pool = np.linspace(1, 0, 4000)
    for shape, chance in SHAPES.items():
        for k, error in ((30, 0.2), (100, 0.1), (300, 0.05)):
            kept, shares = np.zeros((2, n_audits)), np.zeros((2, n_audits))
            for i in range(n_audits):
                wrong = rng.random(4000) < chance((np.arange(4000) + 0.5) / 4000)
                rows = rng.choice(4000, k, replace=False)
                found = accept_threshold(pool[rows], ~wrong[rows], pool, error).threshold
                before = split_by_starts(pool[rows], ~wrong[rows], pool, error)
                for rule, threshold in enumerate((found, before)):
                    accepted = pool >= threshold
                    kept[rule, i] = not accepted.any() or wrong[accepted].mean() <= error
                    shares[rule, i] = accepted.mean()
            numbers = [f"{figure:.1%}" for rule in (0, 1) for figure in (kept[rule].mean(), shares[rule].mean())]
            table.add_row(shape, str(k), f"{error:.0%}", *numbers)
    console.print(table)


def orders_of_errors(rng: np.random.Generator) -> tuple[int, int]:
    """Of 1,000 random audits, in how many a larger error (1 to 59 %) accepts fewer rows: now, and before."""
    broken = [0, 0]
    for _ in range(1000):
        pool, k = rng.random(1000), int(rng.integers(5, 300))
        rows = rng.choice(1000, k, replace=False)
        correct = rng.random(k) < rng.uniform(0.5, 1) ** (rng.uniform(0, 3) * (1 - pool[rows]))
        errors = np.arange(1, 60) / 100
        now = [accept_threshold(pool[rows], correct, pool, error).threshold for error in errors]
        before = [split_by_starts(pool[rows], correct, pool, error) for error in errors]
        broken = [
            n + (found != sorted(found, reverse=True)) for n, found in zip(broken, (now, before), strict=True)
        ]
    return broken[0], broken[1]


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=1000, help="audits behind each line of the second table")
    n_audits = parser.parse_args().audits
    rng = np.random.default_rng(0)
    console = Console(width=120)
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
    accepted_by_design(console, 2 * n_audits, rng)
    now, before = orders_of_errors(rng)
    before = f"by the rule before in {before}"
    console.print(f"A larger error accepts fewer rows in {now} of 1,000 random audits, {before}.")


if __name__ == "__main__":
    main()
