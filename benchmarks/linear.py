"""The closed form of LinearDiverseEnsemble against 1,000 steps of gradient descent on the same problem.

    OPENBLAS_NUM_THREADS=1 python benchmarks/linear.py      # prints the table; a minute on one core

Both start from the rows. Gradient descent gets its step length for free, and multiplies with the d x d
matrices rather than with the rows. Times are CPU times, best of three for the closed form. A gap is
|W - W*| / |W*| after the last step: once with lambdas that satisfy Assumption A, once with lambdas that reach
down to 1 % above the edge of convexity.
"""

import time
from itertools import product

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.linalg import eigvalsh

from chary import LinearDiverseEnsemble

N_LABELED, N_UNLABELED, GAMMA, STEPS = 100, 2000, 1.0, 1000


def problem(d, n_heads):
    """Rows with a decaying spectrum; the smallest lambdas of Assumption A and of strict convexity."""
    rng = np.random.default_rng(d + n_heads)
    X = rng.normal(size=(N_LABELED + N_UNLABELED, d)) / np.sqrt(np.arange(1, d + 1))
    y = np.where(X[:, 0] + rng.normal(size=len(X)) > 0, 1, 0)
    y[N_LABELED:] = -1
    model = LinearDiverseEnsemble(n_heads, GAMMA, regularization=1e3).fit(X, y)
    return X, y, model.assumption_holds().smallest_lambda, model.strictly_convex().smallest_lambda


def matrices(X, y, n_heads):
    """A, B and b of the stationarity system."""
    rows, labeled = X - X.mean(axis=0), y >= 0
    X_l, X_u = rows[labeled], rows[~labeled]
    A = X_l.T @ X_l / len(X_l)
    B = GAMMA / (len(X_u) * (n_heads - 1)) * X_u.T @ X_u
    return A, B, X_l.T @ (2.0 * y[labeled] - 1) / len(X_l)


def best_step(A, B, lambdas):
    """2 / (smallest + largest eigenvalue of the Hessian), or rather bounds on them."""
    n_heads = len(lambdas)
    largest = lambdas.max() + eigvalsh(A + (n_heads - 1) * B)[-1]
    smallest = lambdas.min() + eigvalsh(A - B)[0]
    return n_heads / (smallest + largest)


def descend(X, y, lambdas):
    """Gradient descent from zero; the last W and the CPU seconds."""
    step = best_step(*matrices(X, y, len(lambdas))[:2], lambdas)
    start = time.process_time()
    A, B, b = matrices(X, y, len(lambdas))
    W = np.zeros((len(b), len(lambdas)))
    for _ in range(STEPS):
        others = W.sum(axis=1, keepdims=True) - W
        W -= step * 2 / len(lambdas) * (lambdas * W + A @ W + B @ others - b[:, None])
    return W, time.process_time() - start


def solve(X, y, lambdas):
    """The closed form; W and the CPU seconds."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        model = LinearDiverseEnsemble(len(lambdas), GAMMA, lambdas).fit(X, y)
        seconds.append(time.process_time() - start)
    return model.coef_.T, min(seconds)


def main():
    """One row per size."""
    names = ["d", "M", "closed form", "gradient descent", "ratio", "gap (A)", "gap (edge)"]
    table = Table(*names, title="CPU seconds", box=None)
    for column in table.columns:
        column.justify = "right"
    for d, n_heads in product((10, 100, 1000), (2, 5, 20)):
        X, y, asked, needed = problem(d, n_heads)
        gaps = []
        for smallest in (asked, max(needed, 1e-3 * asked)):
            lambdas = np.geomspace(1.01 * smallest, 100 * asked, n_heads)
            (exact, quick), (W, slow) = solve(X, y, lambdas), descend(X, y, lambdas)
            gaps.append(f"{np.linalg.norm(W - exact) / np.linalg.norm(exact):.0e}")
        table.add_row(f"{d:,}", str(n_heads), f"{quick:.4f}", f"{slow:.4f}", f"{slow / quick:.1f}", *gaps)
    console = Console()
    console.print(table)
    for n in (500, 3000):
        X = np.random.default_rng(n).normal(size=(n, 2000))
        y = np.where(np.arange(n) < N_LABELED, X[:, 0] > 0, -1)
        _, seconds = solve(X, y, np.geomspace(1, 100, 50))
        console.print(f"d = 2,000, M = 50, {n:,} rows: {seconds:.2f} s for the closed form")


if __name__ == "__main__":
    main()
