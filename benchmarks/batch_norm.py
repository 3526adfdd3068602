"""Whether diverse heads change how a network with batch normalisation trains.

    CHARY_DATA=... python benchmarks/batch_norm.py

A small CNN learns 100 images of Mnist. The unlabelled images are brighter than the labelled ones
and than the test images. "old": the unlabelled rows pass the backbone in training mode, so that
they enter the running statistics of the batch normalisation. "new": in evaluation mode, as
``DiverseNetwork`` does it. "none": no diverse heads. Labelled rows, initial weights and test images
of a seed are the same in all three.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from stored import print_head
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from chary.torch import DiverseHeads, DiverseNetwork, diversity_loss, ensemble_loss
from studies import datasets

N_LABELED, N_UNLABELED, N_TEST, BATCH = 100, 2000, 2000, 32
BRIGHTER = 0.5


class OldNetwork(DiverseNetwork):
    """Passes the unlabelled rows in the mode that the backbone is in."""

    def forward(self, X: Tensor, X_unlabeled: Tensor | None = None) -> tuple[Tensor, Tensor]:
        logits, head_logits = self.heads(self.backbone(X))
        if X_unlabeled is None:
            return logits, head_logits
        with torch.no_grad():
            features = self.backbone(X_unlabeled)
        more_logits, more_head_logits = self.heads(features)
        return torch.cat([logits, more_logits]), torch.cat([head_logits, more_head_logits])


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(),
        nn.Linear(400, 64), nn.ReLU(),
    )  # fmt: skip


def accuracy_and_numbers(
    mode: str, seed: int, images: Tensor, digits: Tensor, n_steps: int
) -> tuple[float, Tensor]:
    """Train in one mode; the accuracy on the test images, and all numbers of the backbone."""
    rows = torch.as_tensor(np.random.default_rng(seed).permutation(len(images)))
    labeled, unlabeled, test = rows[: N_LABELED + N_UNLABELED + N_TEST].split(
        [N_LABELED, N_UNLABELED, N_TEST]
    )
    brighter = images[unlabeled] + BRIGHTER
    torch.manual_seed(seed)
    make = OldNetwork if mode == "old" else DiverseNetwork
    network = make(cnn(), DiverseHeads(64, 10))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    draws = torch.Generator().manual_seed(seed)
    for _ in range(n_steps):
        network.train()
        picks = labeled[torch.randint(N_LABELED, (BATCH,), generator=draws)]
        extra = torch.randint(N_UNLABELED, (BATCH,), generator=draws)
        if mode == "none":
            loss = cross_entropy(network(images[picks])[0], digits[picks])
        else:
            logits, head_logits = network(images[picks], brighter[extra])
            heads_loss = ensemble_loss(head_logits[:BATCH], digits[picks]) + diversity_loss(
                head_logits[BATCH:]
            )
            loss = cross_entropy(logits[:BATCH], digits[picks]) + heads_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        right = network(images[test])[0].argmax(dim=1) == digits[test]
    numbers = torch.cat(
        [value.double().flatten() for value in network.backbone.state_dict().values()]
    )
    return float(right.float().mean()), numbers


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    data = datasets.load("mnist")
    images = torch.as_tensor(data.X / data.X.max()).float()
    digits = torch.as_tensor(data.y.astype(int))
    print(
        f"Test accuracy on {N_TEST} images after {arguments.steps} steps, unlabelled images "
        f"brighter by {BRIGHTER}"
    )
    print("seed    none     old     new  new equals none to the bit")
    accuracies = []
    for seed in range(arguments.seeds):
        runs = {
            mode: accuracy_and_numbers(mode, seed, images, digits, arguments.steps)
            for mode in ("none", "old", "new")
        }
        accuracies.append([accuracy for accuracy, _ in runs.values()])
        is_equal = torch.equal(runs["none"][1], runs["new"][1])
        print(
            f"{seed:4d}",
            *(f"{value:7.3f}" for value in accuracies[-1]),
            "",
            "yes" if is_equal else "NO",
            flush=True,
        )
    print("mean", *(f"{value:7.3f}" for value in np.mean(accuracies, axis=0)))


if __name__ == "__main__":
    print_head()
    main()
