"""Coverage and width of the interval of a difference of two labellings, by enumeration.

For a grid of truths (B rows on which only the first is right, C on which only the second) all
outcomes of an audit are enumerated. Beside it the interval that chary used before (``split``), and
that of Agresti and Min (2005), which is asymptotic; and how often the test calls equal labellings
different, beside McNemar's exact test. Run (five minutes):
``python benchmarks/paired.py > benchmarks/results/paired.txt``
"""

import argparse

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import binomtest, multivariate_hypergeom, norm
from stored import print_head

from chary.audit.paired import Outcome, PairedLimits, paired_limits, split_limits

LEVEL = 0.95
# Drawn rows, and rows of the table.
DESIGNS = [(10, 5_000), (20, 60), (20, 5_000), (30, 200), (30, 5_000), (60, 5_000)]
N_TRUTHS = 40  # along either axis, up to the share MOST
MOST = 0.5
RIVALS = ("chary", "split", "Agresti-Min")


def agresti_min(b: int, c: int, n: int) -> tuple[float, float]:
    """Agresti and Min's interval: Wald's with half a row added to each of the four cells."""
    p = (b + 0.5) / (n + 2)
    q = (c + 0.5) / (n + 2)
    half = norm.ppf((1 + LEVEL) / 2) * np.sqrt((p + q - (p - q) ** 2) / (n + 2))
    return p - q - half, p - q + half


def all_limits(n: int, population: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute every rival's limits, (outcomes, rivals, 2), and two tests' p-values."""
    outcomes = [(b, c) for b in range(n + 1) for c in range(n + 1 - b)]
    limits = []
    p_values = []
    for b, c in outcomes:
        outcome = Outcome(b, c, n, population)
        if b >= c:
            ours = paired_limits(outcome, LEVEL)
        else:  # the two labellings are exchanged
            other = paired_limits(Outcome(c, b, n, population), LEVEL)
            ours = PairedLimits(-other.high, -other.low, other.p_value)
        limits.append([ours[:2], split_limits(outcome, LEVEL)[:2], agresti_min(b, c, n)])
        mcnemar = float(binomtest(b, b + c).pvalue) if b + c else 1.0
        p_values.append([ours.p_value, mcnemar])
    return np.array(outcomes), np.array(limits), np.array(p_values)


def chances(outcomes: np.ndarray, n: int, population: int, first: int, second: int) -> np.ndarray:
    """Compute the chance of each outcome if the truth is (B, C)."""
    counts = np.column_stack([outcomes, n - outcomes.sum(axis=1)])
    pool = [first, second, population - first - second]
    return multivariate_hypergeom.pmf(counts, pool, n)


def rows_of(n: int, population: int) -> list[list[str]]:
    """Summarize a design: a line for each rival."""
    outcomes, limits, p_values = all_limits(n, population)
    shares = np.unique(np.round(np.linspace(0, MOST, N_TRUTHS) * population).astype(int))
    coverage = []
    widths = []
    sizes = []
    for first in shares:
        for second in shares[shares <= min(first, population - first)]:
            chance = chances(outcomes, n, population, int(first), int(second))
            truth = (first - second) / population
            holds = (limits[..., 0] <= truth + 1e-12) & (truth - 1e-12 <= limits[..., 1])
            coverage.append(chance @ holds)
            widths.append(chance @ (limits[..., 1] - limits[..., 0]))
            if first == second:
                sizes.append(chance @ (p_values < 1 - LEVEL))
    size_of = dict(zip(RIVALS, np.max(sizes, axis=0), strict=False))
    lines = []
    for place, name in enumerate(RIVALS):
        called = "-"
        if name == "chary":
            called = f"{100 * size_of['chary']:.2f} ({100 * np.max(sizes, axis=0)[1]:.2f})"
        lines.append(
            [
                f"{n} of {population:,}",
                name,
                f"{100 * np.min(coverage, axis=0)[place]:.2f}",
                f"{100 * np.mean(coverage, axis=0)[place]:.1f}",
                f"{100 * np.mean(widths, axis=0)[place]:.1f}",
                called,
            ]
        )
    return lines


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    console = Console(width=110)
    print_head()
    table = Table("Audit", "Interval", "Worst coverage", "Mean", "Mean width", "Called different")
    for n, population in DESIGNS:
        for line in rows_of(n, population):
            table.add_row(*line)
    console.print(table)
    console.print(
        "Percent and points; truths on a grid up to half of the rows on either side. Called\n"
        "different: equal labellings, by the test at 5 % (in brackets McNemar's exact test)."
    )


if __name__ == "__main__":
    main()
