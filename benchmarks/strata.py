"""Could the exact interval of the accuracy be narrower? Other priors; rows counted by halves of the confidence.

All widths are against the interval of equal tails (Clopper and Pearson; of a pool of known size, hypergeometric).

1. Priors for ``chary.audit.interval``, fixed before the draw, on the designs of ``coverage.py`` and on six real
   tables (labels and confidence as in ``real_audits.py``). Beside them the least expected width that any
   procedure, even a randomised one, can have at that accuracy (Pratt, 1961): of one that knew it beforehand.
2. The same draw, counted by halves of the confidence. How many drawn rows fall into each half tells nothing about
   their answers, so the rows of a half are a random sample of it. Outcomes are ordered by their chance, averaged
   over pairs of accuracies with this mean, over that expected before the draw; the p-value is the largest of all
   such pairs. First with as many rows drawn from each half, then on the real tables with as many as fall into it.
Run: ``CHARY_DATA=... python benchmarks/strata.py > benchmarks/results/strata.txt``
"""

import csv
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from coverage import DESIGNS, cells
from real_audits import TABLES, labels_of_a_plain_model
from scipy.special import logit
from scipy.stats import beta, betabinom, binom, hypergeom

RISK, GRID, STEP = 0.05, 2_001, 0.002  # STEP: of the shares looked at by halves
PRIORS = {
    "(3,1)": [(1.0, 3, 1)],
    "(4,1)": [(1.0, 4, 1)],
    "(6,1.5)": [(1.0, 6, 1.5)],
    "(8,1.5)": [(1.0, 8, 1.5)],
    "(17,3)": [(1.0, 17, 3)],
    ".8(8,1.5)+.2": [(0.8, 8, 1.5), (0.2, 1, 1)],
    ".9(12,2)+.1": [(0.9, 12, 2), (0.1, 1, 1)],
    ".9(20,4)+.1": [(0.9, 20, 4), (0.1, 1, 1)],
}
HALVES = {  # accuracies of the rows with a high and with a low confidence
    "informative": (0.92, 0.68),
    "useless": (0.8, 0.8),
    "reversed": (0.68, 0.92),
    "mostly right": (0.99, 0.88),
    "nearly all right": (0.99, 0.95),
    "half wrong": (0.6, 0.4),
}


@lru_cache(None)
def chances(n: int, population: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares that may be right, and the chance of each number of right rows among n at each of them."""
    right = np.unique(np.linspace(0, population, GRID).round().astype(int))
    return right / population, hypergeom.pmf(np.arange(n + 1), population, right[:, None], n)


def expected(n: int, prior: list[tuple[float, float, float]]) -> np.ndarray:
    """The chance of each number of right rows before the draw."""
    return sum(weight * betabinom.pmf(np.arange(n + 1), n, a, b) for weight, a, b in prior)


def hull(shares: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest share kept, for each outcome."""
    return shares[kept.argmax(axis=0)], shares[::-1][kept[::-1].argmax(axis=0)]


def equal_tails(n: int, population: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits for each number of right rows."""
    shares, chance = chances(n, population)
    above, below = chance[:, ::-1].cumsum(axis=1)[:, ::-1], chance.cumsum(axis=1)
    return hull(shares, (above > RISK / 2) & (below > RISK / 2))


def ordered(n: int, population: int, prior: list[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Limits of ``chary.audit.interval`` for any prior."""
    shares, chance = chances(n, population)
    order = np.argsort(chance / expected(n, prior), axis=1, kind="stable")
    p_values = np.empty_like(chance)
    np.put_along_axis(p_values, order, np.take_along_axis(chance, order, 1).cumsum(axis=1), 1)
    return hull(shares, p_values > RISK)


def least_width(n: int, population: int, truth: float) -> float:
    """Of any procedure at this accuracy: the shares that the most powerful test of each does not reject."""
    shares, chance = chances(n, population)
    true_chance = chance[np.abs(shares - truth).argmin()]
    order = np.argsort(chance / np.maximum(true_chance, 1e-300), axis=1, kind="stable")
    spent, won = (np.take_along_axis(np.broadcast_to(c, chance.shape), order, 1) for c in (chance, true_chance))
    part = np.clip((RISK - spent.cumsum(axis=1) + spent) / np.maximum(spent, 1e-300), 0, 1)
    return float(np.trapezoid(1 - (won * part).sum(axis=1), shares))


def by_halves(
    n: tuple[int, int], weight: float = 0.5, prior: tuple[float, float] = (3, 1), steps: int = round(1 / STEP) + 1
):
    """Limits for each pair of right rows; ``weight`` is the share of rows in the first half.

    Before the draw the mean accuracy has the prior, and the logits of the two halves differ by a normal number.
    """
    outcomes = [np.arange(k + 1) for k in n]
    shares = np.linspace(0, 1, steps)
    chance, averaged = [], []  # of each pair of right rows: at pairs of accuracies with this mean, and over them
    for share in shares:
        first = np.linspace(max(0, (share - 1 + weight) / weight), min(1, share / weight), 201)
        second = np.clip((share - weight * first) / (1 - weight), 0, 1)
        one, other = (binom.pmf(x, k, q[:, None]) for x, k, q in zip(outcomes, n, (first, second), strict=True))
        inside = [np.clip(q, 1e-3, 1 - 1e-3) for q in (first, second)]
        density = np.exp(-((logit(inside[0]) - logit(inside[1])) ** 2) / 4)
        density /= np.prod([q * (1 - q) for q in inside], axis=0)
        chance.append((one, other))
        averaged.append((one * (density / density.sum())[:, None]).T @ other)
    weights = beta.pdf(np.clip(shares, STEP / 4, 1 - STEP / 4), *prior)
    before = np.average(averaged, axis=0, weights=weights)
    kept = np.zeros((steps, before.size), dtype=bool)
    for i, (one, other) in enumerate(chance):
        order = np.argsort((averaged[i] / before).ravel(), kind="stable")
        every = (one[:, :, None] * other[:, None, :]).reshape(len(one), -1)
        kept[i, order] = every[:, order].cumsum(axis=1).max(axis=0) > RISK
    low, high = hull(shares, kept)
    half = shares[1] / 2  # between the last share that is kept and the next one
    return tuple(x.reshape(before.shape) for x in (np.maximum(0, low - half), np.minimum(1, high + half)))


def real_tables():
    """Name, rows, which labels are right, and which rows have the higher confidence."""
    folder = Path(os.environ["CHARY_DATA"]) / "tables"
    with (folder / "tables.csv").open() as file:
        known = {row["name"]: row for row in csv.DictReader(file)}
    for name in TABLES:
        truth, labels, confidence = labels_of_a_plain_model(folder, known[name])
        yield name, truth == labels, confidence >= np.sort(confidence)[len(truth) // 2]


def show_priors(tables: list[tuple[str, np.ndarray, np.ndarray]]) -> None:
    print("1. Expected width against equal tails, in percent, by prior (.8(8,1.5)+.2: mixed with a uniform one)")
    print(f"{'':24}{'tails':>7}{'least':>8}" + "".join(f"{name:>14}" for name in PRIORS))
    cases = []
    for design in DESIGNS:
        both, rng = cells(design), np.random.default_rng(0)
        right, skipped = both[0, 0, 0] + both[1, 1, 0], both[:, :, 1].sum()
        counts = [right, skipped, design.population - right - skipped]
        cases.append((f"{design.k} of {design.population}", design.k, counts, rng))
    for name, right, _ in tables:
        counts = [int(right.sum()), 0, int((~right).sum())]
        cases += [(f"{name}, {k} rows", k, counts, np.random.default_rng(0)) for k in (30, 100)]
    every = []
    for about, k, counts, rng in cases:
        population = sum(counts)
        right, skipped, _ = rng.multivariate_hypergeometric(counts, k, size=5_000).T
        limits = [equal_tails(k, population), *(ordered(k, population, prior) for prior in PRIORS.values())]
        tails, *widths = (float((high[right + skipped] - low[right]).mean()) for low, high in limits)
        least = np.nan if counts[1] else least_width(k, population, counts[0] / population)
        every.append([100 * (width / tails - 1) for width in (least, *widths)])
        print(f"{about:24}{100 * tails:7.1f}{every[-1][0]:8.1f}" + "".join(f"{x:14.1f}" for x in every[-1][1:]))
    least, *means = np.nanmean(every, axis=0)
    print(f"{'mean':31}{least:8.1f}" + "".join(f"{x:14.1f}" for x in means))
    shares = np.linspace(0.02, 0.98, 49)
    for n in (10, 30, 100):
        chance, (low, high) = binom.pmf(np.arange(n + 1), n, shares[:, None]), equal_tails(n, 10**6)
        tails, said = chance @ (high - low), ""
        for prior in PRIORS.values():
            low, high = ordered(n, 10**6, prior)
            wide = shares[chance @ (high - low) > 1.1 * tails]
            said += f"{f'{wide.min():.2f} to {wide.max():.2f}' if len(wide) else 'nowhere':>14}"
        print(f"{f'{n} rows: > 10 % wider at':39}{said}")


def show_halves(tables: list[tuple[str, np.ndarray, np.ndarray]]) -> None:
    print("\n2. Counted by halves of the confidence, prior (3, 1): expected width in points")
    for n in (30, 60, 100):
        half, total = np.arange(n // 2 + 1), np.arange(n + 1)
        low, high = by_halves((n // 2, n // 2))
        simple, tails = (
            found[1] - found[0] for found in (ordered(n, 10**6, PRIORS["(3,1)"]), equal_tails(n, 10**6))
        )
        said = []
        for name, (a, b) in HALVES.items():
            width = 100 * binom.pmf(half, n // 2, a) @ (high - low) @ binom.pmf(half, n // 2, b)
            chance = 100 * binom.pmf(total, n, (a + b) / 2)
            said.append(f"{name} {width:.1f} ({chance @ simple:.1f}, {chance @ tails:.1f})")
        worst, rng = 1.0, np.random.default_rng(0)
        for a, b in [*rng.random((3_000, 2)), *(1 - 0.1 * rng.random((1_000, 2)))]:
            inside = (low - STEP / 2 <= (a + b) / 2) & ((a + b) / 2 <= high + STEP / 2)
            worst = min(worst, float(binom.pmf(half, n // 2, a) @ inside @ binom.pmf(half, n // 2, b)))
        print(
            f"{n} rows (one count, equal tails): {', '.join(said)}; "
            f"covers {100 * worst:.2f} % at the worst of 4,000 pairs"
        )
    for name, right, sure in tables:
        for k in (30, 100):
            share = float(sure.mean())
            n_sure = binom.ppf((np.arange(7) + 0.5) / 7, k, share).astype(int)  # as they come out
            widths, others = [], []
            for first in n_sure.tolist():
                low, high = by_halves((first, k - first), share, steps=301)
                a, b = float(right[sure].mean()), float(right[~sure].mean())
                chance = np.outer(
                    binom.pmf(np.arange(first + 1), first, a), binom.pmf(np.arange(k - first + 1), k - first, b)
                )
                widths.append(float((chance * (high - low)).sum()))
                x = np.add.outer(np.arange(first + 1), np.arange(k - first + 1))
                limits = ordered(k, len(right), PRIORS["(3,1)"]), equal_tails(k, len(right))
                others.append([float((chance * (high - low)[x]).sum()) for low, high in limits])
            one, tails = np.mean(others, axis=0)
            print(
                f"{name}, {k} rows, right {100 * a:.0f} % and {100 * b:.0f} %: {100 * np.mean(widths):.1f} "
                f"points, {100 * (np.mean(widths) / tails - 1):.1f} %; one count {100 * (one / tails - 1):.1f} %"
            )


def main() -> None:
    tables = list(real_tables())
    show_priors(tables)
    show_halves(tables)


if __name__ == "__main__":
    main()
