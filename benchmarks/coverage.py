"""Whether every interval that is called exact covers the truth as often as it says, and its width.

Twelve tables of two classes whose truth is known, 2,000 audits of each. Where rows are skipped, the
wrongly labelled ones are skipped more often. Beside them the hypergeometric interval of equal
tails, used before; intervals of the answered rows only, and after every row ("peeking"); and the
asymptotic interval of prediction-powered inference.

Differences of two labellings where rows are skipped (``--part differences``): audits of tables in
which people skip mostly the rows that one of the two has right, beside the rule used before, which
left skipped rows out; and every table of 12 and 20 rows by enumeration. Run:
``python benchmarks/coverage.py > benchmarks/results/coverage.txt``
"""

import argparse
from functools import lru_cache
from math import comb
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import hypergeom
from stored import print_head

from chary.audit import count_interval, figures, interval, sequence
from chary.audit.intervals import MOSTLY_RIGHT, NEUTRAL, _fewest_by_tail, clopper_pearson

LEVEL = 0.95


class Design(NamedTuple):
    """A table and an audit of it."""

    k: int
    population: int
    share: float  # of the class "yes"
    found: float  # of the class that is labelled so
    false: float  # of the other class that is labelled so
    skipped: tuple[float, float] = (0.0, 0.0)  # of the rightly, of the wrongly labelled rows


DESIGNS = [
    Design(10, 60, 0.50, 0.90, 0.10),
    Design(10, 100_000, 0.005, 0.60, 0.02),
    Design(20, 200, 0.05, 0.80, 0.15),
    Design(30, 60, 0.10, 0.80, 0.08),
    Design(30, 1_000, 0.30, 0.90, 0.10),
    Design(30, 5_000, 0.10, 0.70, 0.10, (0.05, 0.60)),
    Design(30, 100_000, 0.005, 0.90, 0.03),
    Design(60, 300, 0.20, 0.50, 0.25),
    Design(100, 1_000, 0.02, 0.50, 0.09),
    Design(100, 100_000, 0.10, 0.95, 0.03, (0.25, 0.70)),
    Design(200, 1_000, 0.50, 0.99, 0.01),
    Design(200, 100_000, 0.005, 0.50, 0.40),
]


def cells(design: Design) -> np.ndarray:
    """Rows of the table by truth, label and whether a person would skip them, (2, 2, 2)."""
    yes = round(design.share * design.population)
    counts = np.zeros((2, 2, 2), dtype=int)
    for truth, n, labelled_yes in [
        (1, yes, design.found),
        (0, design.population - yes, design.false),
    ]:
        for label in (0, 1):
            rows = round(n * (labelled_yes if label else 1 - labelled_yes))
            rows = rows if label else n - round(n * labelled_yes)
            skipped = round(rows * design.skipped[int(truth != label)])
            counts[truth, label] = rows - skipped, skipped
    return counts


def drawn(design: Design, table: np.ndarray, n_audits: int, rng: np.random.Generator) -> np.ndarray:
    """For each audit the cell of each of its rows, in the order of the draw, (n_audits, k)."""
    found = rng.multivariate_hypergeometric(table.ravel(), design.k, size=n_audits)
    rows = np.array([np.repeat(np.arange(8), audit_cells) for audit_cells in found])
    return rng.permuted(rows, axis=1)


class Tally:
    """How often intervals cover, and how wide they are."""

    def __init__(self) -> None:
        self.hits: dict[str, list[bool]] = {}
        self.widths: dict[str, list[float]] = {}

    def add(self, name: str, truth: float, low: float, high: float) -> None:
        self.hits.setdefault(name, []).append(bool(low - 1e-12 <= truth <= high + 1e-12))
        self.widths.setdefault(name, []).append(high - low)

    def coverage(self, name: str) -> str:
        return f"{100 * np.mean(self.hits[name]):.1f}" if name in self.hits else "-"

    def width(self, name: str) -> str:
        return f"{100 * np.mean(self.widths[name]):.1f}" if name in self.widths else "-"


def every_fixed_interval(k: int) -> np.ndarray:
    """Compute Clopper and Pearson's intervals, (k + 1, k + 1, 2), for sizes up to k."""
    n, x = np.mgrid[: k + 1, : k + 1]
    return np.stack(clopper_pearson(np.minimum(x, n), np.maximum(n, 1), LEVEL), axis=-1)


@lru_cache(None)
def equal_tails(correct: int, n: int, population: int, skipped: int) -> tuple[float, float]:
    """The interval of a pool whose size is known, with half of the risk on either side."""
    low, wrong = (
        _fewest_by_tail(x, n, population, (1 - LEVEL) / 2) for x in (correct, n - correct - skipped)
    )
    return low / population, 1 - wrong / population


def prediction_powered(
    truth: np.ndarray, labels: np.ndarray, labelled_share: float, n: int
) -> tuple[float, float]:
    r"""The asymptotic interval of a mean (Angelopoulos et al., Prediction-powered inference, 2023).

    .. math::
        \bar f + \overline{(y - f)} \pm 1.96 \sqrt{\mathrm{var}(f) / N + \mathrm{var}(y - f) / k}
    """
    rest = truth - labels
    middle = labelled_share + rest.mean()
    half = 1.96 * np.sqrt(labelled_share * (1 - labelled_share) / n + rest.var() / len(rest))
    return middle - half, middle + half


def judge(design: Design, n_audits: int, rng: np.random.Generator) -> Tally:
    """All intervals of all audits of one table."""
    table, tally = cells(design), Tally()
    n, names = design.population, np.array(["no", "yes"], dtype=object)
    both = table.sum(axis=2)
    accuracy, share = (both[0, 0] + both[1, 1]) / n, both[1].sum() / n
    truths = {"precision": both[1, 1] / both[:, 1].sum(), "recall": both[1, 1] / both[1].sum()}
    counts = {"no": int(both[:, 0].sum()), "yes": int(both[:, 1].sum())}
    fixed = every_fixed_interval(design.k)
    for rows in drawn(design, table, n_audits, rng):
        truth, label, skipped = rows // 4, rows // 2 % 2, rows % 2 == 1
        right = (truth == label) & ~skipped
        found = figures.judge_labels(
            names[truth], names[label], counts, skipped=skipped, level=LEVEL
        )
        judged = found.classes["yes"]
        tally.add("accuracy", accuracy, found.accuracy.low, found.accuracy.high)
        tails = equal_tails(int(right.sum()), design.k, n, int(skipped.sum()))
        tally.add("equal tails", accuracy, *tails)
        tally.add("answered only", accuracy, *interval(int(right.sum()), int((~skipped).sum())))
        tally.add("share", share, judged.share.low / n, judged.share.high / n)
        for name, figure in [("precision", judged.precision), ("recall", judged.recall)]:
            if figure is not None:
                tally.add(name, truths[name], figure.low, figure.high)
        if design.skipped == (0.0, 0.0):
            tails = equal_tails(int(truth.sum()), design.k, n, 0)
            tally.add("share, equal tails", share, *tails)
            tally.add("share, PPI", share, *prediction_powered(truth, label, counts["yes"] / n, n))
        low, high = sequence(right, n, LEVEL, skipped=skipped)
        tally.add("sequence", accuracy, float(low[-1]), float(high[-1]))
        tally.hits["sequence"][-1] = bool(
            ((low <= accuracy + 1e-12) & (accuracy <= high + 1e-12)).all()
        )
        if design.skipped == (0.0, 0.0):
            seen, steps = np.cumsum(right), np.arange(1, design.k + 1)
            low, high = fixed[steps, seen].T
            tally.add("peeking", accuracy, float(low[-1]), float(high[-1]))
            tally.hits["peeking"][-1] = bool(((low <= accuracy) & (accuracy <= high)).all())
    return tally


def compare(design: Design, n_audits: int, rng: np.random.Generator, tally: Tally) -> None:
    """A second labelling that errs on its own, a tenth more often."""
    n, both = design.population, cells(design).sum(axis=2)
    right = int(both[0, 0] + both[1, 1])
    second = max(0.05, right / n - 0.1)
    table = [round(right * second), right - round(right * second)]  # both right, the first alone
    table += [round((n - right) * second), (n - right) - round((n - right) * second)]
    value = (table[1] - table[2]) / n
    for of_both, b, c, none in rng.multivariate_hypergeometric(
        table, design.k, size=n_audits
    ).tolist():
        first = np.repeat([True, True, False, False], [of_both, b, c, none])
        other = np.repeat([True, False, True, False], [of_both, b, c, none])
        found = figures.difference(first, other, n, LEVEL)
        tally.add("difference", value, found.low, found.high)


def enumerated(
    k: int, population: int, right: np.ndarray, prior: tuple[float, float]
) -> np.ndarray:
    """Coverage of the exact interval for some numbers of right rows: no simulation."""
    covered = np.zeros(len(right))
    for x in range(k + 1):
        low, high = count_interval(x, k, population, LEVEL, 0, prior)
        inside = (low <= right) & (right <= high)
        covered[inside] += hypergeom.pmf(x, population, right[inside], k)
    return covered


def show_enumerated(console: Console) -> None:
    """Sum the chances of outcomes whose interval covers: what the simulations estimate."""
    title = (
        "The same by enumeration, in percent: the exact interval of a share; worst of 500 truths"
    )
    table = Table("k", "rows", "at the accuracy", "at the share", "at the worst truth", title=title)
    for design in DESIGNS:
        both = cells(design).sum(axis=2)
        some = np.linspace(0, design.population, 500).round().astype(int)
        truths = np.append([both[0, 0] + both[1, 1], both[1].sum()], some)
        expected = 100 * enumerated(design.k, design.population, truths, MOSTLY_RIGHT)
        neutral = 100 * enumerated(design.k, design.population, truths, NEUTRAL)
        figures = expected[0], neutral[1], min(expected.min(), neutral.min())
        table.add_row(
            str(design.k), str(design.population), *(f"{figure:.2f}" for figure in figures)
        )
    console.print(table)


class PairDesign(NamedTuple):
    """Two labellings of a table and which rows a person skips."""

    k: int
    population: int
    shares: tuple[
        float, float, float
    ]  # of the rows that the first alone has right, the second alone, neither
    skipped: tuple[
        float, float, float, float
    ]  # of those rows, and of the rows that both have right


PAIR_DESIGNS = [
    PairDesign(60, 1_000, (0.10, 0.10, 0.05), (0.0, 0.0, 0.0, 0.0)),
    PairDesign(60, 1_000, (0.10, 0.10, 0.05), (0.2, 0.2, 0.2, 0.2)),
    PairDesign(60, 1_000, (0.15, 0.15, 0.05), (0.0, 0.6, 0.3, 0.05)),
    PairDesign(100, 2_000, (0.15, 0.15, 0.05), (0.0, 0.8, 0.3, 0.05)),
    PairDesign(100, 2_000, (0.12, 0.18, 0.05), (0.0, 0.8, 0.3, 0.05)),
    PairDesign(100, 2_000, (0.12, 0.18, 0.05), (0.0, 1.0, 0.5, 0.0)),
    PairDesign(200, 5_000, (0.10, 0.20, 0.05), (0.0, 0.9, 0.3, 0.05)),
    PairDesign(200, 5_000, (0.25, 0.05, 0.05), (0.05, 0.05, 0.05, 0.05)),
    PairDesign(200, 5_000, (0.25, 0.05, 0.05), (0.20, 0.0, 0.2, 0.05)),
]


@lru_cache(None)
def difference_of_counts(
    b: int, c: int, skipped: int, n: int, population: int
) -> figures.Difference:
    """Compute the difference if answered rows are right by one alone and skipped rows differ."""
    counts = [b, c, skipped, n - b - c - skipped]
    first = np.repeat([True, False, False, False], counts)
    second = np.repeat([False, True, False, False], counts)
    unknown = np.repeat([False, False, True, False], counts)
    return figures.difference(first, second, population, LEVEL, skipped=unknown)


def is_covered(found: figures.Difference, truth: float) -> bool:
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def names_worse(found: figures.Difference, truth: float) -> bool:
    """Whether a labelling is called better that is not."""
    if found.comparison.p_value >= 1 - LEVEL:
        return False
    first_ahead = found.comparison.only_first > found.comparison.only_second
    return truth <= 0 if first_ahead else truth >= 0


def names_better(found: figures.Difference, truth: float) -> bool:
    return found.comparison.p_value < 1 - LEVEL and not names_worse(found, truth)


def audits_of_pair(design: PairDesign, n_audits: int, rng: np.random.Generator) -> list[float]:
    """Measure percentages by both rules: covered, worse called better, better named."""
    shares = np.append(design.shares, 1 - sum(design.shares))
    rows = np.round(shares * design.population).astype(int)
    skipped_rows = np.round(rows * design.skipped).astype(int)
    table = np.append(rows - skipped_rows, skipped_rows)
    truth = (rows[0] - rows[1]) / design.population

    outcomes = []
    for b, c, _, _, *skipped in rng.multivariate_hypergeometric(
        table, design.k, size=n_audits
    ).tolist():
        # On the rows that neither has right, both say other wrong things.
        n_differing = sum(skipped[:3])
        now = difference_of_counts(b, c, n_differing, design.k, design.population)
        before = difference_of_counts(b, c, 0, design.k, design.population)
        outcomes.append(
            [
                test(found, truth)
                for found in (now, before)
                for test in (is_covered, names_worse, names_better)
            ]
        )
    return (100 * np.mean(outcomes, axis=0)).tolist()


def least_coverage_of_pairs(n: int, population: int) -> list[float]:
    """Find the coverage at the worst table, without skipped rows and with all those of one."""
    least = [1.0, 1.0, 1.0]
    for first in range(population + 1):
        for second in range(population + 1 - first):
            truth = (first - second) / population
            covered = [0.0, 0.0, 0.0]
            for b in range(min(n, first) + 1):
                for c in range(min(n - b, second) + 1):
                    draws = (
                        comb(first, b)
                        * comb(second, c)
                        * comb(population - first - second, n - b - c)
                    )
                    chance = draws / comb(population, n)
                    outcomes = [(b, c, 0), (b, 0, c), (0, 0, b + c)]
                    for i, outcome in enumerate(outcomes):
                        covered[i] += chance * is_covered(
                            difference_of_counts(*outcome, n, population), truth
                        )
            least = np.minimum(least, covered).tolist()
    return least


def show_differences(console: Console, n_audits: int) -> None:
    heads = [
        "k",
        "rows",
        "first alone",
        "second alone",
        "neither",
        "skipped of these and of the others",
    ]
    heads += [
        "covers",
        "worse named",
        "better named",
        "before: covers",
        "worse named",
        "better named",
    ]
    title = (
        f"Differences with skipped rows: percent of {n_audits:,} audits; 95 promised, "
        "5 at most wrong"
    )
    table = Table(*heads, title=title)
    for i, design in enumerate(PAIR_DESIGNS):
        outcomes = audits_of_pair(design, n_audits, np.random.default_rng([i, 2026, 40]))
        skipped = " ".join(f"{100 * share:g}" for share in design.skipped)
        shares = [f"{100 * share:g}" for share in design.shares]
        table.add_row(
            str(design.k), str(design.population), *shares, skipped, *(f"{x:.1f}" for x in outcomes)
        )
    console.print(table)

    title = "Differences by enumeration of every table, in percent: coverage at the worst one"
    table = Table(
        "k",
        "rows",
        "none skipped",
        "skipped if the second alone is right",
        "if either is",
        title=title,
    )
    for n, population in [(6, 12), (8, 20), (12, 20)]:
        least = least_coverage_of_pairs(n, population)
        table.add_row(str(n), str(population), *(f"{100 * coverage:.2f}" for coverage in least))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=2000)
    parser.add_argument("--part", choices=["all", "intervals", "differences"], default="all")
    options = parser.parse_args()
    if options.part != "differences":
        show_intervals(options.audits)
    if options.part != "intervals":
        console = Console(width=150)
        console.print("python benchmarks/coverage.py --part differences")
        show_differences(console, options.audits)


def show_intervals(n_audits: int) -> None:
    figures.interval = lru_cache(None)(interval)  # audits of one table are often the same
    figures.count_interval = lru_cache(None)(count_interval)
    globals()["interval"] = figures.interval
    console = Console(width=150)
    tallies = []
    for i, design in enumerate(DESIGNS):
        rng = np.random.default_rng([i, 2026])
        tally = judge(design, n_audits, rng)
        compare(design, n_audits, rng, tally)
        tallies.append(tally)
    first = [
        "accuracy",
        "equal tails",
        "answered only",
        "sequence",
        "peeking",
        "precision",
        "recall",
        "difference",
    ]
    second = ["share", "share, equal tails", "share, PPI"]
    show(
        console,
        f"Coverage in percent of {n_audits:,} audits, 95 promised",
        first,
        tallies,
        Tally.coverage,
    )
    show(console, "Mean width in points", first, tallies, Tally.width)
    show(
        console,
        f"Shares: coverage in percent of {n_audits:,} audits, 95 promised",
        second,
        tallies,
        Tally.coverage,
    )
    show(console, "Shares: mean width in points", second, tallies, Tally.width)
    show_enumerated(console)


def show(console: Console, title: str, names: list[str], tallies: list[Tally], figure) -> None:
    table = Table("k", "rows", "share", "accuracy", "skipped", *names, title=title)
    for design, tally in zip(DESIGNS, tallies, strict=True):
        both = cells(design)
        right = (both[0, 0] + both[1, 1]).sum() / design.population
        skipped = both[:, :, 1].sum() / design.population
        percent = (f"{100 * design.share:g}", f"{100 * right:.0f}", f"{100 * skipped:.0f}")
        table.add_row(
            str(design.k),
            str(design.population),
            *percent,
            *(figure(tally, name) for name in names),
        )
    console.print(table)


if __name__ == "__main__":
    print_head()
    main()
