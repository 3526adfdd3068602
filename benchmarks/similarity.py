"""T-similarity of many rows beside a matrix product of the same numbers: CPU time, as a ratio.

    python benchmarks/similarity.py [--rows N] > benchmarks/results/similarity.txt

NumPy: ``matmul`` of the heads of each row with themselves. PyTorch: ``bmm``, the same. All take
turns on one thread; the best of seven counts. Rows of 1,000 classes are a thousandth as many.
"""

import argparse
import os

# Before NumPy starts its threads.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import torch
from stored import print_head, print_ratio

from chary.method import t_similarity

N_HEADS = 10
REPEATS = 7


def heads(n_rows: int, n_classes: int) -> np.ndarray:
    """Make class probabilities of heads, (n, M, C)."""
    rng = np.random.default_rng(0)
    probs = rng.random((n_rows, N_HEADS, n_classes), dtype=np.float32)
    return probs / probs.sum(axis=2, keepdims=True)


def compare(name: str, probs: Any, baseline: str, product: Callable[[Any], object]) -> None:
    """Print the least CPU time of T-similarity, and of its baseline, and their ratio."""
    seconds = np.zeros((REPEATS, 2))
    for repeat in range(REPEATS):
        for w, work in enumerate((t_similarity, product)):
            start = process_time()
            work(probs)
            seconds[repeat, w] = process_time() - start
    ours, theirs = seconds.min(axis=0)
    print(f"{name:34}{1000 * ours:8.1f} ms, {baseline} {1000 * theirs:8.1f} ms")
    print_ratio(f"T-similarity, {name}", ours, baseline, theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    torch.set_num_threads(1)
    print_head()
    for n, n_classes in ((n_rows, 10), (n_rows // 1000, 1000)):
        probs = heads(n, n_classes)
        tensor = torch.from_numpy(probs)
        words = f"{n:,} rows, {n_classes:,} classes"
        compare(f"NumPy, {words}", probs, "matmul", lambda P: P @ P.transpose(0, 2, 1))
        compare(f"PyTorch, {words}", tensor, "bmm", lambda P: torch.bmm(P, P.transpose(1, 2)))


if __name__ == "__main__":
    main()
