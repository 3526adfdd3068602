"""CPU time of one fit on the paper's thirteen shapes, beside PyTorch and scikit-learn, as a table.

    python benchmarks/fit.py [repeats [DATA_SET ...]] > benchmarks/results/fit.txt

Three ways to do 500 steps of 32 labelled rows, on one thread, best of ``repeats`` (default 3):

- ``chary``: DiverseEnsembleClassifier, everything included: checks, standardisation, 32 unlabelled
  rows a step
- ``PyTorch``: the same model as an ordinary training loop: nn.Module, two DataLoaders, autograd,
  torch.optim.Adam
- ``MLP``: scikit-learn's MLPClassifier: same hidden layers, labelled rows alone, no ensemble
"""

import os

# Before NumPy starts its threads.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import gmean
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from stored import print_head, print_ratio
from torch import nn
from torch.nn import functional as F  # noqa: N812
from torch.utils.data import DataLoader, TensorDataset

from chary import DiverseEnsembleClassifier
from chary.method import t_similarity
from chary.method.network import default_hidden_sizes

N_STEPS, BATCH, N_HEADS, GAMMA = 500, 32, 5, 1.0


class Shape(NamedTuple):
    """Size of a data set of the paper."""

    name: str
    n: int
    n_labeled: int
    d: int
    n_classes: int


SHAPES = [
    Shape("Svmguide1", 3089, 39, 4, 2),
    Shape("Rice", 3810, 29, 7, 2),
    Shape("Cod-RNA", 59535, 99, 8, 2),
    Shape("DryBean", 13543, 104, 16, 7),
    Shape("Splice", 3175, 39, 60, 2),
    Shape("Digits", 1797, 99, 64, 10),
    Shape("Phishing", 11055, 99, 68, 2),
    Shape("Protein", 1080, 80, 77, 8),
    Shape("Mushrooms", 8124, 79, 112, 2),
    Shape("DNA", 3186, 149, 180, 3),
    Shape("HAR", 10299, 299, 561, 6),
    Shape("Mnist", 70000, 100, 784, 10),
    Shape("COIL-20", 1440, 200, 1024, 20),
]


def data_of(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Make normal rows of a shape, float32; the first ``n_labeled`` carry a label, others -1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape.n, shape.d), dtype=np.float32)
    y = np.full(shape.n, -1)
    y[: shape.n_labeled] = np.arange(shape.n_labeled) % shape.n_classes
    return X, y


def fit_chary(X: np.ndarray, y: np.ndarray) -> None:
    DiverseEnsembleClassifier(
        n_heads=N_HEADS,
        gamma=GAMMA,
        n_steps=N_STEPS,
        batch_size=BATCH,
        unlabeled_batch_size=BATCH,
        random_state=0,
    ).fit(X, y)


def fit_scikit_learn(X: np.ndarray, y: np.ndarray) -> None:
    labeled = y >= 0
    batch = min(BATCH, int(labeled.sum()))
    n_epochs = ceil(N_STEPS / ceil(labeled.sum() / batch))
    model = MLPClassifier(
        default_hidden_sizes(X.shape[1]),
        alpha=0,
        batch_size=batch,
        max_iter=n_epochs,
        n_iter_no_change=n_epochs,
        random_state=0,
    )
    with warnings.catch_warnings():
        # The number of steps is what was asked for.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X[labeled], y[labeled])


class TorchNetwork(nn.Module):
    """Backbone, prediction head and ensemble heads, the heads on detached features."""

    def __init__(self, d: int, n_classes: int) -> None:
        super().__init__()
        widths = (d, *default_hidden_sizes(d))
        layers = [
            layer
            for n_in, n_out in pairwise(widths)
            for layer in (nn.Linear(n_in, n_out), nn.ReLU())
        ]
        self.backbone = nn.Sequential(*layers)
        self.prediction_head = nn.Linear(widths[-1], n_classes)
        self.heads = nn.ModuleList(nn.Linear(widths[-1], n_classes) for _ in range(N_HEADS))

    def head_logits(self, features: torch.Tensor) -> torch.Tensor:
        return torch.stack([head(features.detach()) for head in self.heads], dim=1)  # (n, M, C)


def fit_pytorch(X: np.ndarray, y: np.ndarray) -> None:
    torch.manual_seed(0)
    labeled = y >= 0
    labeled_rows = TensorDataset(torch.from_numpy(X[labeled]), torch.from_numpy(y[labeled]))
    unlabeled_rows = TensorDataset(torch.from_numpy(X[~labeled]))
    batches = endless(DataLoader(labeled_rows, batch_size=BATCH, shuffle=True))
    unlabeled_batches = endless(DataLoader(unlabeled_rows, batch_size=BATCH, shuffle=True))
    model = TorchNetwork(X.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(N_STEPS):
        X_batch, y_batch = next(batches)
        (X_unlabeled,) = next(unlabeled_batches)
        features = model.backbone(X_batch)
        supervised = F.cross_entropy(model.prediction_head(features), y_batch)
        ensemble = sum(
            F.cross_entropy(logits, y_batch) for logits in model.head_logits(features).unbind(1)
        )
        head_probs = model.head_logits(model.backbone(X_unlabeled)).softmax(-1)
        loss = supervised + ensemble / N_HEADS + GAMMA * t_similarity(head_probs).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def endless(loader: DataLoader) -> Iterator[Any]:
    while True:
        yield from loader


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Least CPU time of the process over some repeats."""
    times = []
    for _ in range(repeats):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times)


def matmul_peak(repeats: int = 10, size: int = 1024) -> float:
    """GFLOP/s of a square float32 matrix product."""
    a = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    return 2e-9 * size**3 / seconds(lambda: a @ a, repeats)


def gflop_of_a_fit(shape: Shape) -> float:
    """Billions of multiplications and additions in the matrix products of one fit of chary."""
    n_labeled, n_unlabeled = min(BATCH, shape.n_labeled), BATCH
    n = n_labeled + n_unlabeled
    widths = (shape.d, *default_hidden_sizes(shape.d))
    backbone = [n_in * n_out for n_in, n_out in pairwise(widths)]
    heads = widths[-1] * (1 + N_HEADS) * shape.n_classes
    forward = n * (sum(backbone) + heads)
    backward = n * heads + n_labeled * (
        widths[-1] * shape.n_classes + 2 * sum(backbone) - backbone[0]
    )
    return 2e-9 * N_STEPS * (forward + backward)


def main(repeats: int = 3, names: Sequence[str] = ()) -> None:
    print_head()
    torch.set_num_threads(1)
    peak = matmul_peak()
    table = Table(title=f"One fit of {N_STEPS} steps: CPU seconds on one thread, best of {repeats}")
    table.add_column("data set", no_wrap=True)
    for column in (
        "n",
        "d",
        "C",
        "chary",
        "PyTorch",
        "MLP",
        "vs PyTorch",
        "vs MLP",
        "GFLOP/s",
        "of peak",
    ):
        table.add_column(column, justify="right", no_wrap=True)
    speedups = []
    for shape in SHAPES:
        if names and shape.name not in names:
            continue
        X, y = data_of(shape)
        ours, pytorch, mlp = (
            seconds(partial(fit, X, y), repeats)
            for fit in (fit_chary, fit_pytorch, fit_scikit_learn)
        )
        speed = gflop_of_a_fit(shape) / ours
        speedups.append((pytorch / ours, mlp / ours))
        table.add_row(
            shape.name, str(shape.n), str(shape.d), str(shape.n_classes),
            f"{ours:.3f}", f"{pytorch:.3f}", f"{mlp:.3f}",
            f"{pytorch / ours:.1f}x", f"{mlp / ours:.1f}x", f"{speed:.1f}", f"{speed / peak:.0%}",
        )  # fmt: skip
    vs_pytorch, vs_mlp = gmean(speedups, axis=0)
    table.add_section()
    table.add_row("geometric mean", *[""] * 6, f"{vs_pytorch:.1f}x", f"{vs_mlp:.1f}x")
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    console.print(
        f"Peak: {peak:.0f} GFLOP/s, the float32 product of two 1024 x 1024 matrices on one thread."
    )
    print_ratio("one fit of the network", 1, "a PyTorch loop", vs_pytorch)
    print_ratio("one fit of the network", 1, "MLPClassifier", vs_mlp)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), names=sys.argv[2:])
