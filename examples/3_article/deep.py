"""A small CNN on images of digits, 100 labels, with and without selection bias: what T-similarity adds.

    python examples/3_article/deep.py                          # scikit-learn's digits, 3 seeds
    CHARY_DATA=... python examples/3_article/deep.py --dataset mnist

Every cell is kept in studies/results/deep_*.json as soon as it is done and is never computed twice. With --show
the table of the stored cells is printed and nothing is computed. One thread; CPU seconds stand with each cell.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional

from chary import Curriculum, FixedThreshold, SelfTrainingClassifier
from chary.studies import iid, selection_biased
from chary.studies.datasets import load
from chary.torch import FixMatchTrainer, TorchDiverseClassifier

Array = NDArray[Any]
RESULTS = Path(__file__).parents[2] / "studies" / "results"
SEEDS = [0, 1, 42, 100, 1000, 2000, 1234, 3407, 380843]
N_LABELED = 100
# Rows of Mnist that take part (stratified), so that the study fits on a laptop without a GPU.
N_ROWS = {"digits": 1797, "mnist": 4000}


def digits_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 64), nn.ReLU(),
    )  # fmt: skip


def mnist_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(400, 64), nn.ReLU(),
    )  # fmt: skip


def warp(X: Tensor, degrees: float, shift: float, scale: float) -> Tensor:
    """Each image turned, moved and scaled at random, by at most this much (shift as a share of the side)."""
    n, side = len(X), math.isqrt(X.shape[1])
    angle, zoom = math.radians(degrees) * random(n), 1 + scale * random(n)
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    moves = [2 * shift * random(n) for _ in range(2)]
    matrix = torch.stack([cos, -sin, moves[0], sin, cos, moves[1]], dim=1).reshape(n, 2, 3)
    grid = functional.affine_grid(matrix, [n, 1, side, side], align_corners=False)
    images = X.reshape(n, 1, side, side)
    return functional.grid_sample(images, grid, align_corners=False).flatten(1)


def random(n: int) -> Tensor:
    """Uniform in [-1, 1]."""
    return 2 * torch.rand(n) - 1


def weak(X: Tensor) -> Tensor:
    return warp(X, degrees=5, shift=1 / 16, scale=0.05)


def strong(X: Tensor) -> Tensor:
    """Warped further, in another contrast, with noise, and with a third of the side cut out."""
    n, side = len(X), math.isqrt(X.shape[1])
    X = warp(X, degrees=25, shift=1 / 8, scale=0.2) * (1 + 0.3 * random(n))[:, None]
    X = X + 0.1 * torch.randn_like(X)
    corner = torch.randint(0, side, (n, 2, 1))
    row_or_column = torch.arange(side).expand(n, 2, side)
    inside = (row_or_column >= corner) & (row_or_column < corner + side // 3)  # (n, 2, side)
    hole = inside[:, 0, :, None] & inside[:, 1, None, :]  # (n, side, side)
    return X * ~hole.flatten(1)


def methods(backbone: Callable[[], nn.Module], seed: int) -> dict[str, Any]:
    classifier = TorchDiverseClassifier(backbone, n_steps=500, device="cpu", random_state=seed)
    longer = clone(classifier).set_params(n_steps=1000, unlabeled_batch_size=64)

    def self_training(policy: Any, confidence: str) -> Any:
        return SelfTrainingClassifier(classifier, policy=policy, confidence=confidence)

    def fixmatch(confidence: str, **settings: Any) -> Any:
        return FixMatchTrainer(longer, strong, weak, confidence=confidence, **settings)

    return {
        "ERM": classifier,
        "PL, softmax": self_training(FixedThreshold(0.8), "softmax"),
        "PL, T-similarity": self_training(FixedThreshold(0.8), "t_similarity"),
        "CSTA, softmax": self_training(Curriculum(0.4), "softmax"),
        "CSTA, T-similarity": self_training(Curriculum(0.4), "t_similarity"),
        "ERM on weak views": fixmatch("softmax", consistency_weight=0),
        "FixMatch 0.95, softmax": fixmatch("softmax"),
        "FixMatch 0.95, T-similarity": fixmatch("t_similarity"),
        "FixMatch 0.8, softmax": fixmatch("softmax", threshold=0.8),
        "FixMatch 0.8, T-similarity": fixmatch("t_similarity", threshold=0.8),
        "FlexMatch 0.95, softmax": fixmatch("softmax", per_class=True),
        "FlexMatch 0.95, T-similarity": fixmatch("t_similarity", per_class=True),
    }


def split(name: str, labeling: str, seed: int) -> tuple[Array, Array, Array, Array]:
    """Pixels in [0, 1] and labels to train on (-1 where hidden), pixels and labels to test on."""
    data = load(name)
    keep = np.random.default_rng(0).permutation(len(data.X))[: N_ROWS[name]]
    X, y = data.X[keep] / data.X.max(), data.y[keep].astype(int)
    train, test = train_test_split(np.arange(len(X)), test_size=0.25, stratify=y, random_state=seed)
    if labeling == "IID":
        labeled = iid(y[train], N_LABELED, random_state=seed)
    else:  # the bias acts on standardised pixels, as in the paper; the network sees the pixels themselves
        standardized = StandardScaler().fit_transform(X[train])
        labeled = selection_biased(standardized, y[train], N_LABELED, data.r, random_state=seed)
    return X[train], np.where(labeled, y[train], -1), X[test], y[test]


def run_cell(name: str, labeling: str, method: str, seed: int) -> dict[str, float]:
    X, y, X_test, y_test = split(name, labeling, seed)
    model = methods({"digits": digits_cnn, "mnist": mnist_cnn}[name], seed)[method]
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    result = {"accuracy": float(np.mean(model.predict(X_test) == y_test)), "cpu_seconds": round(seconds, 2)}
    if isinstance(model, FixMatchTrainer):
        accepted = model.classifier_.loss_curve_["accepted"]
        result["accepted_at_end"] = float(accepted[-len(accepted) // 10 :].mean())
    return result


def summary(cells: dict[str, dict[str, float]]) -> list[tuple[str, str, str]]:
    """For each method, its test accuracy in percent under IID and SSB: mean ± standard deviation (seeds)."""
    accuracies: dict[tuple[str, str], list[float]] = {}
    for key, cell in cells.items():
        labeling, method, _ = key.split(" | ")
        accuracies.setdefault((method, labeling), []).append(100 * cell["accuracy"])

    def entry(method: str, labeling: str) -> str:
        values = accuracies.get((method, labeling))
        return f"{np.mean(values):.1f} ± {np.std(values):.1f} ({len(values)})" if values else ""

    return [(method, entry(method, "IID"), entry(method, "SSB")) for method in methods(digits_cnn, 0)]


def show(name: str, cells: dict[str, dict[str, float]]) -> None:
    table = Table(title=f"{name}, {N_LABELED} labels: test accuracy (%), mean ± standard deviation (seeds)")
    for column in ("", "IID", "SSB"):
        table.add_column(column, justify="right" if column else "left")
    for row in summary(cells):
        table.add_row(*row)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", choices=sorted(N_ROWS), default="digits")
    parser.add_argument("--seeds", type=int, default=3, help="how many of the paper's nine")
    parser.add_argument("--show", action="store_true", help="print the table of the stored cells only")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    path = RESULTS / f"deep_{arguments.dataset}.json"
    cells = json.loads(path.read_text()) if path.exists() else {}
    todo = product(SEEDS[: arguments.seeds], methods(digits_cnn, 0), ["IID", "SSB"])
    for seed, method, labeling in [] if arguments.show else todo:
        key = f"{labeling} | {method} | {seed}"
        if key not in cells:
            cells[key] = run_cell(arguments.dataset, labeling, method, seed)
            path.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n")
    show(arguments.dataset, cells)


if __name__ == "__main__":
    main()
