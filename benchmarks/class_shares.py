"""How often intervals of a class's share hold the truth, and how wide they are, beside rivals.

A person looks at k random rows of 5,000. Each row has a label (pass or fail) of a language model.
The share that really passes is estimated by ``chary.audit.class_shares``; by the same exact
interval without the labels; by judgy 0.1.0 (the share of labels corrected by TPR and TNR, with a
bootstrap; 2,000 resamples); and by prediction-powered inference as in ppi-python 0.2.3, plain and
with power tuning (PPI++, Angelopoulos, Duchi and Zrnic, 2023). The last three are written out here,
for many audits at once.

Coverage and mean width are sums over all outcomes of an audit that have a chance above one in ten
million: no simulation, but for the resamples of judgy. Where judgy refuses (no row of a class, or
TPR + TNR of at most 1) there is no interval: "none" is the chance of that, and coverage is of the
other audits. Run: ``python benchmarks/class_shares.py > benchmarks/results/class_shares.txt``.
With judgy and ppi-python installed, ``--check`` holds the formulas against the two packages.
"""

import argparse
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import multivariate_hypergeom
from stored import print_head

from chary.audit import count_interval
from chary.audit.class_counts import Sample, class_count_interval

LEVEL = 0.95
N_ROWS = 5_000
N_RESAMPLES = 2_000
LEAST_CHANCE = 1e-7
Z = 1.959963984540054


class Design(NamedTuple):
    """A table of labels."""

    share: float  # of the rows that pass
    recall: float  # of these, labelled pass (TPR)
    specificity: float  # of the others, labelled fail (TNR)

    def cells(self) -> list[int]:
        """Count rows by (pass, pass), (pass, fail), (fail, pass), (fail, fail): truth and label."""
        n_pass = round(self.share * N_ROWS)
        n_fail = N_ROWS - n_pass
        true_pass = round(self.recall * n_pass)
        true_fail = round(self.specificity * n_fail)
        return [true_pass, n_pass - true_pass, n_fail - true_fail, true_fail]


DESIGNS = [
    Design(0.70, 0.90, 0.85),
    Design(0.85, 0.97, 0.92),
    Design(0.95, 0.98, 0.90),
    Design(0.50, 0.80, 0.80),
    Design(0.30, 0.90, 0.90),
    Design(0.10, 0.80, 0.95),
    Design(0.03, 0.90, 0.97),
    Design(0.70, 0.70, 0.30),  # labels that say nothing
]


def outcomes_of(design: Design, k: int) -> tuple[np.ndarray, np.ndarray]:
    """List the outcomes of an audit, by the cells of ``Design.cells``, and their chances."""
    grid = np.array(np.meshgrid(*[np.arange(k + 1)] * 3, indexing="ij")).reshape(3, -1).T
    grid = grid[grid.sum(axis=1) <= k]
    outcomes = np.column_stack([grid, k - grid.sum(axis=1)])
    chances = multivariate_hypergeom.pmf(outcomes, design.cells(), k)
    is_likely = chances > LEAST_CHANCE
    return outcomes[is_likely], chances[is_likely]


def exact(outcomes: np.ndarray, n_labelled: int) -> np.ndarray:
    """Compute the limits of ``class_shares``, (n, 2)."""
    limits = []
    for true_pass, false_fail, false_pass, true_fail in outcomes.tolist():
        labelled = Sample(true_pass, 0, true_pass + false_pass, n_labelled)
        others = Sample(false_fail, 0, false_fail + true_fail, N_ROWS - n_labelled)
        limits.append(class_count_interval(labelled, others, LEVEL))
    return np.array(limits) / N_ROWS


def without_labels(outcomes: np.ndarray) -> np.ndarray:
    """Compute the limits of ``count_interval``, which uses the answers alone, (n, 2)."""
    k = int(outcomes[0].sum())
    limits = np.array([count_interval(x, k, N_ROWS, LEVEL) for x in range(k + 1)])
    return limits[outcomes[:, 0] + outcomes[:, 1]] / N_ROWS


def rest_share(outcomes: np.ndarray, n_labelled: int) -> np.ndarray:
    """Compute the share of pass among the labels of the rows that nobody looked at, (n,)."""
    k = outcomes.sum(axis=1)
    return (n_labelled - outcomes[:, 0] - outcomes[:, 2]) / (N_ROWS - k)


def judgy(outcomes: np.ndarray, n_labelled: int, n_resamples: int = N_RESAMPLES) -> np.ndarray:
    """Correct the share of labels by TPR and TNR, with a bootstrap of the audit; NaN if refused."""
    rng = np.random.default_rng(0)
    k = int(outcomes[0].sum())
    limits = np.full((len(outcomes), 2), np.nan)
    observed = rest_share(outcomes, n_labelled)
    for place, cells in enumerate(outcomes):
        if np.isnan(_corrected(cells, observed[place])):
            continue
        resamples = rng.multinomial(k, cells / k, size=n_resamples).T
        shares = _corrected(resamples, observed[place])
        shares = shares[~np.isnan(shares)]
        limits[place] = np.percentile(shares, [50 * (1 - LEVEL), 100 - 50 * (1 - LEVEL)])
    return limits


def _corrected(cells: np.ndarray, observed: float) -> np.ndarray:
    """Correct a share of labels by TPR and TNR; NaN where these are unknown or say nothing."""
    true_pass, false_fail, false_pass, true_fail = cells
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr = true_pass / (true_pass + false_fail)
        tnr = true_fail / (true_fail + false_pass)
        gain = tpr + tnr - 1
        share = np.clip((observed + tnr - 1) / gain, 0, 1)
    return np.where(gain > 0, share, np.nan)


def prediction_powered(outcomes: np.ndarray, n_labelled: int, tuned: bool) -> np.ndarray:
    r"""Compute the normal limits of prediction-powered inference, (n, 2).

    .. math::
        \lambda \bar f + \overline{(y - \lambda f)} \pm
            1.96 \sqrt{\lambda^2 \mathrm{var}(f) / M + \mathrm{var}(y - \lambda f) / k}, \qquad
        \lambda = \frac{\mathrm{cov}(y, f)}{(1 + k / M) \, \mathrm{var}(f)}

    with the mean and variance of the labels f of the M other rows; without tuning lambda is 1.
    """
    cells = outcomes.T.astype(float)
    true_pass, false_fail, false_pass, _ = cells
    k = cells.sum(axis=0)
    n_rest = N_ROWS - k
    rest = rest_share(outcomes, n_labelled)
    y = (true_pass + false_fail) / k
    f = (true_pass + false_pass) / k
    weight = np.ones(len(k))
    if tuned:
        covariance = true_pass / k - y * f
        of_all = n_labelled / N_ROWS
        variance = of_all * (1 - of_all) * N_ROWS / (N_ROWS - 1)
        weight = np.clip(covariance / ((1 + k / n_rest) * variance), 0, 1)
    # y - weight f is 1 - weight, 1, -weight or 0 in the four cells.
    values = np.array([1 - weight, np.ones(len(k)), -weight, np.zeros(len(k))])
    mean = (cells * values).sum(axis=0) / k
    variance_of_rest = (cells * values**2).sum(axis=0) / k - mean**2
    middle = weight * rest + mean
    half = Z * np.sqrt(weight**2 * rest * (1 - rest) / n_rest + variance_of_rest / k)
    return np.column_stack([middle - half, middle + half])


def figures_of(limits: np.ndarray, chances: np.ndarray, share: float) -> tuple[float, float, float]:
    """Compute coverage and mean width of the given intervals, and the chance of no interval."""
    is_given = ~np.isnan(limits[:, 0])
    weights = chances * is_given
    covers = (limits[:, 0] <= share + 1e-12) & (share - 1e-12 <= limits[:, 1])
    # Normal limits may lie beyond 0 and 1; nobody would quote them so.
    width = np.diff(np.clip(limits, 0, 1), axis=1)[:, 0]
    given = weights.sum()
    coverage = (weights * covers).sum() / given
    return coverage, np.nansum(weights * width) / given, 1 - given / chances.sum()


def show(console: Console, k: int, n_exact: int) -> None:
    """Show all designs with audits of k rows."""
    title = f"{k} of {N_ROWS:,} rows: coverage in percent (mean width in points), 95 promised"
    names = ["class_shares", "without labels", "judgy", "none", "PPI", "PPI++"]
    table = Table("share", "TPR", "TNR", *names, title=title)
    for design in DESIGNS:
        outcomes, chances = outcomes_of(design, k)
        n_labelled = design.cells()[0] + design.cells()[2]
        share = round(design.share * N_ROWS) / N_ROWS
        limits = {
            "without labels": without_labels(outcomes),
            "judgy": judgy(outcomes, n_labelled),
            "PPI": prediction_powered(outcomes, n_labelled, tuned=False),
            "PPI++": prediction_powered(outcomes, n_labelled, tuned=True),
        }
        if k <= n_exact:
            limits["class_shares"] = exact(outcomes, n_labelled)
        cells = []
        for name in names:
            if name == "none":
                none = figures_of(limits["judgy"], chances, share)[2]
                cells.append(f"{100 * none:.1f}")
            elif name in limits:
                coverage, width, _ = figures_of(limits[name], chances, share)
                cells.append(f"{100 * coverage:.1f} ({100 * width:.1f})")
            else:
                cells.append("-")
        percents = [f"{100 * value:g}" for value in design]
        table.add_row(*percents, *cells)
    console.print(table)


def check() -> None:
    """Hold the formulas against the packages on forty outcomes."""
    import judgy as judgy_package  # installed for this check alone
    from ppi_py import ppi_mean_ci

    rng = np.random.default_rng(0)
    farthest = {"judgy": 0.0, "PPI": 0.0, "PPI++": 0.0}
    for design in DESIGNS[:5]:
        outcomes, chances = outcomes_of(design, 30)
        n_labelled = design.cells()[0] + design.cells()[2]
        for place in rng.choice(len(outcomes), 8, p=chances / chances.sum()):
            cells = outcomes[place]
            y = np.repeat([1, 1, 0, 0], cells)
            f = np.repeat([1, 0, 1, 0], cells)
            n_rest = n_labelled - int(f.sum())
            rest = np.repeat([1, 0], [n_rest, N_ROWS - len(y) - n_rest])
            limits = {}
            for name, weight in (("PPI", 1), ("PPI++", None)):
                expected = ppi_mean_ci(y, f, rest, alpha=1 - LEVEL, lam=weight)
                limits[name] = np.ravel(expected)
            ours = {
                "PPI": prediction_powered(cells[None], n_labelled, tuned=False)[0],
                "PPI++": prediction_powered(cells[None], n_labelled, tuned=True)[0],
            }
            try:
                np.random.seed(0)  # noqa: NPY002 - the package draws from the global generator
                limits["judgy"] = judgy_package.estimate_success_rate(y, f, rest)[1:]
            except ValueError:
                assert np.isnan(judgy(cells[None], n_labelled)).all()
            else:
                ours["judgy"] = judgy(cells[None], n_labelled, 20_000)[0]
            for name, expected in limits.items():
                distance = float(np.abs(np.subtract(ours[name], expected)).max())
                farthest[name] = max(farthest[name], distance)
    print("Farthest from the package, of forty audits:", farthest)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[30, 60])
    parser.add_argument("--exact-up-to", type=int, default=60)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        check()
        return
    print_head()
    console = Console(width=120)
    for k in options.rows:
        show(console, k, options.exact_up_to)


if __name__ == "__main__":
    main()
