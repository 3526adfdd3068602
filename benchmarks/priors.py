"""CPU time of aligning predictions to class proportions, beside a general-purpose way to do it.

    python benchmarks/priors.py [repeats [ROWSxCLASSES ...]] > benchmarks/results/priors.txt

``align`` (``chary.method.priors``) gives exact counts for any number of rows. ``HiGHS`` solves the
assignment as a linear programme by ``scipy.optimize.linprog``, exactly, too. ``sort`` sorts the
scores of each class once. Shown is the CPU time, best of ``repeats`` (default 3).

HiGHS is left out if it would take minutes. ``off`` is the number of rows by which the counts miss.
"""

import os

# Before NumPy starts its threads.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog
from scipy.special import softmax
from stored import print_head, print_ratio

from chary.method.priors import align, whole_counts

SIZES = [(2_000, 3), (10_000, 2), (10_000, 10), (100_000, 10), (1_000_000, 2), (1_000_000, 10)]
MOST_FOR_HIGHS = 20_000  # numbers in the scores


def problem(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores that favour some classes, and proportions that favour others."""
    rng = np.random.default_rng(0)
    favour = rng.standard_normal(n_classes)
    return 3 * rng.standard_normal((n, n_classes)) + favour, softmax(-favour)


def linear_programme(scores: np.ndarray, prior: np.ndarray) -> None:
    n, n_classes = scores.shape
    one_class_each = sp.kron(sp.eye(n), np.ones((1, n_classes)))
    class_sizes = sp.kron(np.ones((1, n)), sp.eye(n_classes))
    right = np.concatenate([np.ones(n), whole_counts(prior, n)])
    done = linprog(
        -scores.ravel(), A_eq=sp.vstack([one_class_each, class_sizes]).tocsc(), b_eq=right
    )
    assert done.success


def best_time(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def main(repeats: int, sizes: list[tuple[int, int]]) -> None:
    print_head()
    ratios = []
    table = Table(title="Class proportions met: seconds of CPU time")
    for heading in ("rows", "classes", "align", "off", "sort", "HiGHS", "x align"):
        table.add_column(heading, justify="right")
    for n, n_classes in sizes:
        scores, prior = problem(n, n_classes)
        ours = best_time(partial(align, scores, prior), repeats)
        counts = np.bincount((scores + align(scores, prior)).argmax(axis=1), minlength=n_classes)
        off = np.abs(counts - whole_counts(prior, n)).sum()
        sorting = best_time(partial(np.sort, scores, axis=0), repeats)
        ratios.append((f"align, {n:,} rows, {n_classes} classes", ours, "np.sort", sorting))
        compared = ["-", "-"]
        if scores.size <= MOST_FOR_HIGHS:
            theirs = best_time(partial(linear_programme, scores, prior), 1)
            compared = [f"{theirs:.3f}", f"{theirs / ours:.1f}"]
        table.add_row(
            f"{n:,}", str(n_classes), f"{ours:.3f}", str(off), f"{sorting:.3f}", *compared
        )
    Console(width=120).print(table)
    for ratio in ratios:
        print_ratio(*ratio)


if __name__ == "__main__":
    chosen = [tuple(map(int, size.split("x"))) for size in sys.argv[2:]]
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, chosen or SIZES)
