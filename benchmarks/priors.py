"""CPU time of aligning predictions to class proportions, beside general-purpose ways to do it, as a table.

    python benchmarks/priors.py [repeats]

``align``    chary.method.align: exact counts for any number of rows (CPU time, best of ``repeats``, default 3)
``soft``     the same with soft=True: mean probabilities instead of counts
``HiGHS``    the assignment as a linear programme, scipy.optimize.linprog, exact
``L-BFGS``   scipy.optimize.minimize on the smooth problem that ``soft`` solves, to 1e-8

The others are left out where they would take minutes. ``off`` is the number of rows by which the counts miss.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy starts them

import sys
from collections.abc import Callable
from functools import partial
from time import process_time

import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table
from scipy.optimize import linprog, minimize
from scipy.special import logsumexp, softmax

from chary.method import align, whole_counts

SIZES = [(2_000, 3), (10_000, 2), (10_000, 10), (100_000, 10), (1_000_000, 2), (1_000_000, 10)]
MOST_FOR_HIGHS, MOST_FOR_LBFGS = 20_000, 1_000_000  # numbers in the scores


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
    done = linprog(-scores.ravel(), A_eq=sp.vstack([one_class_each, class_sizes]).tocsc(), b_eq=right)
    assert done.success


def lbfgs(scores: np.ndarray, prior: np.ndarray) -> None:
    def objective(offset: np.ndarray) -> tuple[float, np.ndarray]:
        raised = scores + offset
        return logsumexp(raised, axis=1).mean() - prior @ offset, softmax(raised, axis=1).mean(axis=0) - prior

    minimize(objective, np.zeros(len(prior)), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 0})


def best_time(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def main(repeats: int) -> None:
    table = Table(title="Aligning predictions to class proportions, seconds of CPU time")
    for heading in ("rows", "classes", "align", "off", "HiGHS", "x align", "soft", "L-BFGS", "x soft"):
        table.add_column(heading, justify="right")
    for n, n_classes in SIZES:
        scores, prior = problem(n, n_classes)
        hard = best_time(partial(align, scores, prior), repeats)
        counts = np.bincount((scores + align(scores, prior)).argmax(axis=1), minlength=n_classes)
        off = np.abs(counts - whole_counts(prior, n)).sum()
        soft = best_time(partial(align, scores, prior, soft=True), repeats)
        cells = [f"{n:,}", str(n_classes), f"{hard:.3f}", str(off)]
        cells += compared(linear_programme, scores, prior, hard, MOST_FOR_HIGHS)
        cells.append(f"{soft:.3f}")
        cells += compared(lbfgs, scores, prior, soft, MOST_FOR_LBFGS)
        table.add_row(*cells)
    Console(width=120).print(table)


def compared(work: Callable, scores: np.ndarray, prior: np.ndarray, ours: float, most: int) -> list[str]:
    if scores.size > most:
        return ["-", "-"]
    theirs = best_time(partial(work, scores, prior), 1)
    return [f"{theirs:.3f}", f"{theirs / ours:.1f}"]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
