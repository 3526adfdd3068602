"""Whether the statements of an audit hold: coverage of its interval, errors among accepted rows.

Biased labels, a logistic regression, and many audits of it; the truth is known, so every statement
can be checked. ``--part promises``: of which rows an accepted error holds if much of a small table
is audited, and what looking after every fifth row does to comparisons and acceptance. Run:
``python benchmarks/audit.py > benchmarks/results/audit.txt``
"""

import argparse
import math

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import bdtr, betaincinv
from scipy.stats import hypergeom
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from stored import print_head

from chary.audit import accept_threshold, compare, draw, interval
from chary.audit.model import fit_with_audit


def interval_coverage(k: int, n_audits: int, rng: np.random.Generator) -> tuple[float, float]:
    """Measure coverage of the 95 % interval and its mean width.

    The audits are of pools of 2,000 rows of any accuracy.
    """
    truth = rng.integers(0, 2001, n_audits)
    correct = rng.hypergeometric(truth, 2000 - truth, k)
    intervals = np.array([interval(x, k) for x in range(k + 1)])[correct]
    covered = (intervals[:, 0] <= truth / 2000) & (truth / 2000 <= intervals[:, 1])
    return float(covered.mean()), float(np.diff(intervals, axis=1).mean())


def a_biased_problem(
    seed: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, classes, and about forty labels that prefer one side of the first column."""
    X, y = make_classification(
        2000, 6, n_informative=4, flip_y=0.05, class_sep=0.7 + rng.random(), random_state=seed
    )
    weight = np.exp(2 * X[:, 0])
    labeled = np.zeros(len(X), dtype=bool)
    labeled[rng.choice(len(X), 40, replace=False, p=weight / weight.sum())] = True
    labeled[[np.flatnonzero(y == c)[0] for c in (0, 1)]] = True
    return X, y, labeled


def accepted_errors(
    k: int, error: float, n_audits: int, rng: np.random.Generator
) -> dict[str, list[float]]:
    """Compare both models: is the error among accepted rows kept, and which share is accepted."""
    found: dict[str, list[float]] = {
        "exact kept": [],
        "exact share": [],
        "cross kept": [],
        "cross share": [],
    }
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
                    confidence
                    >= accept_threshold(
                        judged.confidence, judged.correct, confidence, error
                    ).threshold
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


def split_by_starts(
    confidence: np.ndarray, correct: np.ndarray, pool: np.ndarray, error: float
) -> float:
    """Apply the former rule: walks from several starts share the risk of 10 % evenly."""
    k, starts = len(confidence), np.empty(0)
    for n_starts in range(1, 10):
        needed = math.ceil(math.log(0.1 / n_starts) / math.log1p(-error) - 1e-9)
        doubled = (
            betaincinv(needed, k - needed + 1, 0.9) * 2.0 ** np.arange(n_starts)
            if needed <= k
            else [2.0]
        )
        if doubled[-1] > 1:
            break
        starts = doubled
    if not len(starts):
        return math.inf
    shares = np.union1d(np.geomspace(starts[0], 1, 30), starts)
    thresholds = np.sort(pool)[
        np.minimum(np.round((1 - shares) * len(pool)).astype(int), len(pool) - 1)
    ]
    above = confidence >= thresholds[:, None]
    passed = bdtr((above & ~correct).sum(axis=1), above.sum(axis=1), error) <= 0.1 / len(starts)
    best = -1
    for first in np.searchsorted(shares, starts):
        n_passed = int(np.append(passed[first:], False).argmin())
        best = max(best, first + n_passed - 1) if n_passed else best
    return math.inf if best < 0 else float(thresholds[best])


def accepted_by_design(console: Console, n_audits: int, rng: np.random.Generator) -> None:
    """Run twelve designs of known truth by the former rule and the present one.

    Shown are how often the error is kept, and how much is accepted.
    """
    title = f"Accepting rows at level 90 %, {n_audits:,} audits each, truth known"
    columns = (
        "confidence",
        "k",
        "error allowed",
        "kept",
        "rows accepted",
        "rule before: kept",
        "accepted",
    )
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
            numbers = [
                f"{figure:.1%}"
                for rule in (0, 1)
                for figure in (kept[rule].mean(), shares[rule].mean())
            ]
            table.add_row(shape, str(k), f"{error:.0%}", *numbers)
    console.print(table)


def orders_of_errors(rng: np.random.Generator) -> tuple[int, int]:
    """Count random audits, of 1,000, in which a larger error accepts fewer rows, by both rules."""
    broken = [0, 0]
    for _ in range(1000):
        pool, k = rng.random(1000), int(rng.integers(5, 300))
        rows = rng.choice(1000, k, replace=False)
        correct = rng.random(k) < rng.uniform(0.5, 1) ** (rng.uniform(0, 3) * (1 - pool[rows]))
        errors = np.arange(1, 60) / 100
        now = [accept_threshold(pool[rows], correct, pool, error).threshold for error in errors]
        before = [split_by_starts(pool[rows], correct, pool, error) for error in errors]
        broken = [
            n + (found != sorted(found, reverse=True))
            for n, found in zip(broken, (now, before), strict=True)
        ]
    return broken[0], broken[1]


def broken_by_enumeration(n: int, k: int, error: float) -> tuple[float, float]:
    """Find the largest chance, over all numbers of wrong rows, to accept too many.

    All rows are equally confident, so that either all are accepted or none, by the number of wrong
    audited rows.
    """
    pool, audited = np.ones(n), np.ones(k)
    is_accepted = np.array(
        [
            accept_threshold(audited, np.arange(k) >= w, pool, error).n_accepted > 0
            for w in range(k + 1)
        ]
    )
    w = np.arange(k + 1)
    worst_of_all = worst_of_rest = 0.0
    for n_wrong in range(n + 1):
        chance = hypergeom.pmf(w, n, n_wrong, k)
        if n_wrong > error * n:
            worst_of_all = max(worst_of_all, float(chance[is_accepted].sum()))
        too_many_left = n_wrong - w > error * (n - k)
        worst_of_rest = max(worst_of_rest, float(chance[is_accepted & too_many_left].sum()))
    return worst_of_all, worst_of_rest


def broken_by_simulation(
    shape: str, n: int, k: int, error: float, n_audits: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Measure the share of audits that accept too many wrong rows: of all, of the rest."""
    pool = np.linspace(1, 0, n)
    broken = np.zeros((n_audits, 2), dtype=bool)
    for i in range(n_audits):
        is_wrong = rng.random(n) < SHAPES[shape]((np.arange(n) + 0.5) / n)
        rows = rng.choice(n, k, replace=False)
        is_accepted = pool >= accept_threshold(pool[rows], ~is_wrong[rows], pool, error).threshold
        is_rest = is_accepted.copy()
        is_rest[rows] = False
        for j, counted in enumerate((is_accepted, is_rest)):
            broken[i, j] = counted.any() and is_wrong[counted].mean() > error
    of_all, of_rest = broken.mean(axis=0)
    return float(of_all), float(of_rest)


def broken_by_model(
    n: int, k: int, error: float, n_audits: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Measure ``broken_by_simulation`` for a model that learned from the audit.

    The thresholds are found with cross-fitted confidences, and the file holds the answers of
    audited rows.
    """
    broken = np.zeros((n_audits, 2), dtype=bool)
    for i in range(n_audits):
        X, y = make_classification(
            n + 40, 6, n_informative=4, flip_y=0.05, class_sep=0.7 + rng.random(), random_state=i
        )
        labeled = np.zeros(n + 40, dtype=bool)
        weight = np.exp(2 * X[:, 0])
        labeled[rng.choice(n + 40, 40, replace=False, p=weight / weight.sum())] = True
        if len(np.unique(y[labeled])) < 2:
            continue
        rows = draw(labeled, k, rng)
        result = fit_with_audit(
            LogisticRegression(),
            X,
            np.where(labeled | np.isin(np.arange(n + 40), rows), y, -1),
            rows,
            random_state=rng,
        )
        pool = np.flatnonzero(~labeled)
        confidence = result.model.predict_proba(X[pool]).max(axis=1)
        after = result.after
        is_accepted = (
            confidence
            >= accept_threshold(after.confidence, after.correct, confidence, error).threshold
        )
        is_audited = np.isin(pool, rows)
        is_wrong = ~is_audited & (result.model.predict(X[pool]) != y[pool])
        for j, counted in enumerate((is_accepted, is_accepted & ~is_audited)):
            broken[i, j] = counted.any() and is_wrong[counted].mean() > error
    of_all, of_rest = broken.mean(axis=0)
    return float(of_all), float(of_rest)


def looked_at_pairs(
    alone: float, k: int, n_audits: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Measure how often equal labellings are called different, at any look and at the end."""
    population = 5_000
    n_alone = round(alone * population)
    outcomes = np.repeat([1, -1, 0], [n_alone, n_alone, population - 2 * n_alone])
    named = np.zeros((n_audits, 2), dtype=bool)
    for i in range(n_audits):
        drawn = rng.choice(outcomes, k, replace=False)
        looks = [
            compare(drawn[:m] == 1, drawn[:m] == -1).p_value < 0.05 for m in range(10, k + 1, 5)
        ]
        named[i] = any(looks), looks[-1]
    at_any, at_end = named.mean(axis=0)
    return float(at_any), float(at_end)


def looked_at_acceptance(
    shape: str, k: int, error: float, n_audits: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Measure the share of audits that accept too many wrong rows, at first and at the end."""
    n = 4_000
    pool = np.linspace(1, 0, n)
    broken = np.zeros((n_audits, 2), dtype=bool)
    for i in range(n_audits):
        is_wrong = rng.random(n) < SHAPES[shape]((np.arange(n) + 0.5) / n)
        rows = rng.choice(n, k, replace=False)
        looks = []
        for m in range(10, k + 1, 5):
            seen = rows[:m]
            is_accepted = (
                pool >= accept_threshold(pool[seen], ~is_wrong[seen], pool, error).threshold
            )
            looks.append(bool(is_accepted.any() and is_wrong[is_accepted].mean() > error))
        broken[i] = any(looks), looks[-1]
    at_any, at_end = broken.mean(axis=0)
    return float(at_any), float(at_end)


def show_promises(console: Console, n_audits: int) -> None:
    """Print of which rows an accepted error holds, and what looking again and again does."""
    columns = (
        "rows",
        "answers",
        "error",
        "confidence",
        "too many wrong of all rows",
        "of the rows not audited",
    )
    title = (
        "Accepting rows: percent of audits (10 promised); by enumeration or "
        f"{n_audits:,} simulated audits"
    )
    table = Table(*columns, title=title)
    for n, k, error in [
        (100, 60, 0.1),
        (100, 60, 0.2),
        (100, 80, 0.2),
        (100, 90, 0.2),
        (300, 100, 0.1),
        (1_000, 60, 0.1),
    ]:
        broken = broken_by_enumeration(n, k, error)
        table.add_row(
            str(n),
            str(k),
            f"{error:.0%}",
            "equal, worst truth",
            *(f"{100 * x:.1f}" for x in broken),
        )
    for i, (n, k, error) in enumerate([(100, 60, 0.1), (100, 60, 0.2), (1_000, 60, 0.1)]):
        for j, shape in enumerate(SHAPES):
            rng = np.random.default_rng([i, j, 40])
            broken = broken_by_simulation(shape, n, k, error, n_audits, rng)
            table.add_row(
                str(n), str(k), f"{error:.0%}", shape, *(f"{100 * x:.1f}" for x in broken)
            )
    n_models = max(1, n_audits * 3 // 10)  # each audit of a model takes eight fits
    for i, (n, k, error) in enumerate([(100, 60, 0.1), (100, 60, 0.2), (300, 100, 0.1)]):
        broken = broken_by_model(n, k, error, n_models, np.random.default_rng([i, 43]))
        table.add_row(
            str(n),
            str(k),
            f"{error:.0%}",
            f"a model, {n_models} audits",
            *(f"{100 * x:.1f}" for x in broken),
        )
    console.print(table)

    title = f"Looking after every fifth row, {n_audits:,} audits each: percent that are wrong"
    table = Table(
        "statement", "rows drawn", "promised", "at any look", "at the end of the draw", title=title
    )
    for i, (alone, k) in enumerate([(0.05, 100), (0.1, 100), (0.2, 100), (0.1, 200)]):
        wrong = looked_at_pairs(alone, k, n_audits, np.random.default_rng([i, 41]))
        words = f"equal labellings called different, each alone right on {alone:.0%}"
        table.add_row(words, str(k), "5", *(f"{100 * x:.1f}" for x in wrong))
    for i, (shape, k) in enumerate([("useless", 100), ("useless", 200), ("honest", 200)]):
        wrong = looked_at_acceptance(shape, k, 0.1, n_audits, np.random.default_rng([i, 42]))
        table.add_row(
            f"too many wrong accepted at 10 %, {shape} confidence",
            str(k),
            "10",
            *(f"{100 * x:.1f}" for x in wrong),
        )
    console.print(table)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--audits", type=int, default=1000, help="audits behind each line of the second table"
    )
    parser.add_argument("--part", choices=["all", "model", "promises"], default="all")
    options = parser.parse_args()
    console = Console(width=120)
    if options.part != "promises":
        show_model(console, options.audits)
    if options.part != "model":
        console.print("python benchmarks/audit.py --part promises")
        show_promises(console, options.audits)


def show_model(console: Console, n_audits: int) -> None:
    """Print intervals and accepted rows of a model, and of known truths."""
    rng = np.random.default_rng(0)
    table = Table(
        "k",
        "covers the truth",
        "mean width",
        title="95 % interval of the accuracy, 10,000 audits each",
    )
    for k in (10, 20, 30, 50, 100):
        coverage, width = interval_coverage(k, 10_000, rng)
        table.add_row(str(k), f"{coverage:.1%}", f"{100 * width:.0f} points")
    console.print(table)
    title = f"Accepting rows at level 90 %, {n_audits:,} audits each, biased training labels"
    table = Table(
        "k", "error allowed", "model", "kept", "audits that accept", "rows accepted", title=title
    )
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
    print_head()
    main()
