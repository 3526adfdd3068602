"""What diverse heads add to a training step of a ResNet-18, in CPU time on one thread.

    python benchmarks/heads.py

Every variant takes one step in turn, many times over, so that a busy machine slows all of them
alike. The network is ResNet-18 as published (11.2 million weights, 512 features) on 64 x 64 images,
with a batch of 16 labelled and 16 unlabelled ones. ``DiverseNetwork`` passes the unlabelled images
apart from the labelled ones, and sends no gradient back through the backbone from them unless the
heads are joint.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from stored import print_head, print_ratio
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from chary.torch import DiverseHeads, DiverseNetwork, diverse_losses

SUPERVISED = "labelled rows, one head: a supervised step"
ALL_ROWS = "all rows in one batch, one head"
ALL_ROWS_FIVE = "all rows in one batch, 5 diverse heads"
FIVE = "DiverseNetwork, 5 heads"
FIFTY = "DiverseNetwork, 50 heads"
FIVE_JOINT = "DiverseNetwork, 5 heads, joint"
WIDTH = len(SUPERVISED)
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
    """Make one training step of each kind, all on the same backbone."""
    backbone = resnet18()
    labeled = targets[:N_LABELED]

    def take(loss: Callable[[], Tensor], head: nn.Module) -> Callable[[], None]:
        optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=1e-4)

        def step() -> None:
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()

        return step

    def supervised() -> Callable[[], None]:
        head = nn.Linear(512, N_CLASSES)
        return take(lambda: cross_entropy(head(backbone(X[:N_LABELED])), labeled), head)

    def all_rows() -> Callable[[], None]:
        head = nn.Linear(512, N_CLASSES)
        return take(lambda: cross_entropy(head(backbone(X))[:N_LABELED], labeled), head)

    def diverse(n_heads: int, joint: bool = False) -> Callable[[], None]:
        heads = DiverseHeads(512, N_CLASSES, n_heads, joint=joint)
        network = DiverseNetwork(backbone, heads)

        def loss() -> Tensor:
            return diverse_losses(*network(X[:N_LABELED], X[N_LABELED:]), targets).total()

        return take(loss, heads)

    def all_rows_diverse() -> Callable[[], None]:
        heads = DiverseHeads(512, N_CLASSES)
        return take(lambda: diverse_losses(*heads(backbone(X)), targets).total(), heads)

    return {
        SUPERVISED: supervised(),
        ALL_ROWS: all_rows(),
        ALL_ROWS_FIVE: all_rows_diverse(),
        FIVE: diverse(5),
        FIFTY: diverse(50),
        FIVE_JOINT: diverse(5, joint=True),
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

    print_head()
    print(f"One thread, no GPU. A training step on ResNet-18: median CPU ms of {arguments.repeats}")
    print(f"{'':{WIDTH}} {'ms':>5}  {'beside a supervised step':>24}")
    for name, value in medians.items():
        print(f"{name:{WIDTH}} {1000 * value:5.0f}  {value / medians[SUPERVISED]:24.2f}")
    print()
    heads_alone = medians[ALL_ROWS_FIVE] / medians[ALL_ROWS]
    more_heads = medians[FIFTY] / medians[FIVE]
    print(f"Five heads in a loop that passes all rows anyway: {heads_alone:.3f}")
    print(f"Fifty heads against five: {more_heads:.3f}")
    print_ratio("a step of DiverseNetwork", medians[FIVE], "supervised", medians[SUPERVISED])
    print_ratio("five heads, all rows pass", medians[ALL_ROWS_FIVE], "one head", medians[ALL_ROWS])


if __name__ == "__main__":
    main()
