"""What diverse heads add to a training step of a ResNet-18, in CPU time on one thread.

    python benchmarks/heads.py

Every variant takes one step in turn, many times over, so that a busy machine slows all of them
alike. The network is ResNet-18 as published (11.2 million weights, 512 features) on 64 x 64 images,
with a batch of 16 labelled and 16 unlabelled ones.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional

from chary.torch import DiverseHeads, diverse_losses

N_CLASSES, N_LABELED, N_UNLABELED = 10, 16, 16


class Block(nn.Module):
    """Two 3 x 3 convolutions and a way round them."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False), nn.BatchNorm2d(n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False), nn.BatchNorm2d(n_out),
        )  # fmt: skip
        same = stride == 1 and n_in == n_out
        around = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))
        self.around = nn.Identity() if same else around

    def forward(self, X: Tensor) -> Tensor:
        return (self.body(X) + self.around(X)).relu()


def resnet18() -> nn.Module:
    stem = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    blocks = [
        (64, 64, 1),
        (64, 64, 1),
        (64, 128, 2),
        (128, 128, 1),
        (128, 256, 2),
        (256, 256, 1),
        (256, 512, 2),
    ]
    body = [Block(*sizes) for sizes in [*blocks, (512, 512, 1)]]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def steps(X: Tensor, targets: Tensor) -> dict[str, Callable[[], None]]:
    """One training step of each kind, all on the same backbone."""
    backbone = resnet18()
    plain = nn.Linear(512, N_CLASSES)
    labeled = targets[:N_LABELED]

    def take(loss: Callable[[], Tensor], head: nn.Module) -> Callable[[], None]:
        optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=1e-4)

        def step() -> None:
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

        return step

    def supervised() -> Tensor:
        return functional.cross_entropy(plain(backbone(X[:N_LABELED])), labeled)

    def same_rows() -> Tensor:
        return functional.cross_entropy(plain(backbone(X))[:N_LABELED], labeled)

    def diverse(heads: nn.Module) -> Callable[[], Tensor]:
        return lambda: diverse_losses(*heads(backbone(X)), targets).total()

    def one_way(heads: nn.Module) -> Callable[[], Tensor]:
        def loss() -> Tensor:  # unlabelled rows do not go back
            features = backbone(X[:N_LABELED])
            with torch.no_grad():
                rest = backbone(X[N_LABELED:])
            return diverse_losses(*heads(torch.cat([features, rest])), targets).total()

        return loss

    five, fifty = DiverseHeads(512, N_CLASSES, 5), DiverseHeads(512, N_CLASSES, 50)
    return {
        "labelled rows only, one head": take(supervised, plain),
        "all rows, one head": take(same_rows, plain),
        "all rows, 5 diverse heads": take(diverse(five), five),
        "all rows, 50 diverse heads": take(diverse(fifty), fifty),
        "5 diverse heads, unlabelled forward only": take(one_way(five), five),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    X = torch.randn(N_LABELED + N_UNLABELED, 3, 64, 64)
    targets = torch.cat([torch.randint(N_CLASSES, (N_LABELED,)), torch.full((N_UNLABELED,), -1)])
    variants = steps(X, targets)
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for repeat in range(arguments.repeats + 1):
        for name, step in variants.items():
            start = time.process_time()
            step()
            if repeat:  # the first one warms up
                seconds[name].append(time.process_time() - start)
    medians = {name: float(np.median(values)) for name, values in seconds.items()}

    base, five, fifty = (medians[name] for name in list(medians)[1:4])
    table = Table(
        title=f"A training step on ResNet-18: median CPU ms of {arguments.repeats}, one thread"
    )
    for column in ("step", "ms", "ratio"):
        table.add_column(column, justify="left" if column == "step" else "right")
    for name, value in medians.items():
        table.add_row(name, f"{1000 * value:.0f}", f"{value / base:.3f}")
    console = Console()
    console.print(table)
    for claim, ratio, limit in [
        ("5 diverse heads against one head", five / base, 1.15),
        ("50 diverse heads against 5", fifty / five, 1.2),
    ]:
        console.print(f"{claim}: {ratio:.3f}, at most {limit}: {'yes' if ratio <= limit else 'NO'}")


if __name__ == "__main__":
    main()
