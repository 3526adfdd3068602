"""CPU seconds of the policies on large pools: the exact transductive search beside the published grid.

Run with ``python benchmarks/policies.py``. The baseline of each block is its first line, and a ratio
above 1 is faster than it. "The grid as published" makes one pass over the rows for each pair of classes,
threshold and g, which is why its pool is small.
"""

import argparse
import tracemalloc
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import softmax

from chary import Curriculum, FixedThreshold, RisingShare, TransductiveBound
from chary.method import Round


def a_pool(n_rows: int, n_classes: int, kind: str) -> Round:
    """Softmax votes; softmax votes of which many are exactly 0 or 1; votes that have nothing in common."""
    rng = np.random.default_rng(0)
    scale, dtype = (30, np.float32) if kind == "saturated" else (3, np.float64)
    posterior = softmax(scale * rng.normal(size=(n_rows, n_classes)).astype(dtype), axis=1)
    votes = rng.random((n_rows, n_classes)) if kind == "uniform" else posterior
    return Round(votes.max(axis=1), votes, posterior.argmax(axis=1), posterior, 1)


def published_grid(pool: Round) -> None:
    """The published search: every sum is a pass over the rows; both loops stop early."""
    votes, posterior, index = pool.class_confidence, pool.posterior, pool.class_confidence.argmax(axis=1)
    for j in range(votes.shape[1]):
        v = np.ascontiguousarray(votes[:, j])
        ratios: list[float] = []
        for theta in v.min() + np.arange(50) * (v.max() - v.min()) / 50:
            total = 0.0
            for i in np.delete(np.arange(votes.shape[1]), j):
                p = np.ascontiguousarray(posterior[:, i])
                total += published_infimum(v, p, p * v, index == j, theta)
            ratios.append(total / max(1e-8 * len(v), np.sum((v >= theta) & (index == j))))
            if stops(ratios):
                break


def published_infimum(v, p, weight, predicted, theta) -> float:
    kappa, values = weight @ predicted, []
    for gamma in theta + (np.arange(50) + 1) * (1 - theta) / 50:
        between = (v >= theta) & (v < gamma)
        values.append(p @ between + max(0.0, kappa - weight @ between) / gamma)
        if stops(values):
            break
    return min(values)


def stops(values: list[float]) -> bool:
    return len(values) > 4 and values[-1] > values[-2] >= values[-3]


def cpu_seconds(job: Callable[[], object]) -> float:
    """The fastest of three runs."""
    seconds = []
    for _ in range(3):
        start = process_time()
        job()
        seconds.append(process_time() - start)
    return min(seconds)


def peak_megabytes(job: Callable[[], object]) -> float:
    """What the job allocates beyond its input."""
    tracemalloc.start()
    job()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 2**20


def searches(pool: Round) -> dict[str, Callable[[], object]]:
    return {"TransductiveBound()": partial(TransductiveBound().accept, pool)}


def selections(pool: Round) -> list[dict[str, Callable[[], object]]]:
    confidence = pool.confidence
    return [
        {
            "scikit-learn's threshold": lambda: confidence > 0.8,
            "FixedThreshold()": lambda: FixedThreshold().accept(pool),
        },
        {
            "one numpy.argsort": lambda: np.argsort(confidence),
            "Curriculum()": lambda: Curriculum().accept(pool),
            "RisingShare()": lambda: RisingShare().accept(pool),
        },
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rows-published", type=int, default=5_000, help="for the search as published")
    parser.add_argument("--classes", type=int, default=10)
    options = parser.parse_args()

    table = Table("pool", title=f"Time and memory of one round, {options.classes} classes")
    table.add_column("rows", justify="right")
    table.add_column("policy")
    for heading in ("CPU s", "ratio", "peak MB"):
        table.add_column(heading, justify="right")
    for kind in ("uniform", "saturated", "softmax"):
        small, large = (a_pool(n, options.classes, kind) for n in (options.rows_published, options.rows))
        published = {"the grid as published": partial(published_grid, small)}
        add_block(table, kind, small, published | searches(small))
        add_block(table, kind, large, searches(large))
    for jobs in selections(large):
        add_block(table, kind, large, jobs)
    Console().print(table)


def add_block(table: Table, kind: str, pool: Round, jobs: dict[str, Callable[[], object]]) -> None:
    """One line per job; the first is the baseline."""
    seconds = {name: cpu_seconds(job) for name, job in jobs.items()}
    baseline = next(iter(seconds.values()))
    for name, job in jobs.items():
        figures = f"{seconds[name]:.4f}", f"{baseline / seconds[name]:.2f}", f"{peak_megabytes(job):.0f}"
        table.add_row(kind, f"{len(pool.confidence):,}", name, *figures)
    table.add_section()


if __name__ == "__main__":
    main()
