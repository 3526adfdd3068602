"""Would rows drawn from thirds of the confidence give narrower exact intervals than a simple draw of as many?

Thirty rows of a table of any size. Strata: ten rows of each third; outcomes are ordered by their chance over that
expected before the draw, as in ``chary.audit.interval``, and an accuracy is kept if any three accuracies of the
thirds with this mean keep the outcome, on a grid of 0.05. Two priors: one trusts the confidence, one does
not.
Run: ``python benchmarks/strata.py > benchmarks/results/strata.txt``
"""

from itertools import product

import numpy as np
from scipy.stats import betabinom, binom

from chary.audit import interval

ROWS, RISK = 10, 0.05  # of each third
GRID = np.linspace(0, 1, 21)
DESIGNS = {"informative": (0.95, 0.85, 0.60), "useless": (0.8, 0.8, 0.8), "reversed": (0.60, 0.85, 0.95)}
PRIORS = {"prior by confidence": [(9, 1), (5, 1), (2, 1)], "one prior": [(3, 1)] * 3}


def joint(thirds: list[np.ndarray]) -> np.ndarray:
    """The chance of each outcome of three independent draws."""
    return np.einsum("i,j,k->ijk", *thirds).ravel()


def widths(priors: list[tuple[int, int]]) -> np.ndarray:
    """Of the interval of each outcome."""
    outcomes = np.arange(ROWS + 1)
    chances = [binom.pmf(outcomes, ROWS, p) for p in GRID]
    expected = joint([betabinom.pmf(outcomes, ROWS, a, b) for a, b in priors])
    low, high = np.full(len(expected), 2.0), np.full(len(expected), -1.0)
    for places in product(range(len(GRID)), repeat=3):
        chance = joint([chances[place] for place in places])
        order = np.argsort(chance / expected, kind="stable")
        p_values = np.empty_like(chance)
        p_values[order] = np.cumsum(chance[order])
        kept, accuracy = p_values > RISK, float(np.mean(GRID[list(places)]))
        low[kept], high[kept] = np.minimum(low[kept], accuracy), np.maximum(high[kept], accuracy)
    return high - low


def main() -> None:
    """Print the expected widths in points."""
    of_strata = {name: widths(priors) for name, priors in PRIORS.items()}
    n = 3 * ROWS
    simple = np.array([high - low for low, high in (interval(x, n) for x in range(n + 1))])
    print(f"Expected width in points, {n} rows")
    for name, thirds in DESIGNS.items():
        chance = joint([binom.pmf(np.arange(ROWS + 1), ROWS, p) for p in thirds])
        drawn = binom.pmf(np.arange(n + 1), n, np.mean(thirds)) @ simple
        said = ", ".join(f"strata with {one} {100 * chance @ found:.1f}" for one, found in of_strata.items())
        print(f"{name} confidence {thirds}: simple draw {100 * drawn:.1f}, {said}")


if __name__ == "__main__":
    main()
