"""The paper's figure of calibration, with the draws and the training of its authors.

Written from what their repository (github.com/ambroiseodt/tsim) does, with none of its code: which
generator draws what from a seed, in which order rows come, and that diversity is asked of one
unlabelled row at each step.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional

from chary.method import t_similarity
from chary.method.network import default_hidden_sizes
from studies import STUDIES, Cell, Method, datasets
from studies.study import Shared

N_HEADS, N_STEPS, BATCH_SIZE, LEARNING_RATE = 5, 500, 32, 1e-3
_FIGURE = STUDIES["figure-calibration"]
GAMMAS: tuple[float, ...] = _FIGURE.vary[1] if _FIGURE.vary else ()


class AuthorsTask(Shared):
    """Rows as the authors' seed splits, standardises and labels them."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        data = datasets.load(cell.dataset)
        _, codes = np.unique(data.y, return_inverse=True)
        n_classes = codes.max() + 1
        share = data.facts.n_labeled_iid // n_classes * (n_classes / ((1 - 0.25) * len(codes)))
        X = np.asarray(data.X, dtype=np.float64)
        split = train_test_split(X, codes, test_size=0.25, random_state=cell.seed, stratify=codes)
        X, X_test, y, self.y_test = split
        scaler = StandardScaler().fit(X)
        self.X, self.X_test, self.y_true = scaler.transform(X), scaler.transform(X_test), y
        rng = np.random.default_rng(cell.seed)
        if cell.labeling == "iid":
            per_class = int(share * len(y) / n_classes)
            drawn = [
                rng.choice(np.flatnonzero(y == c), per_class, replace=False)
                for c in range(n_classes)
            ]
            rest = [np.setdiff1d(np.arange(len(y)), np.concatenate(drawn))]
        else:
            counted, _ = train_test_split(y, train_size=share, random_state=cell.seed, stratify=y)
            drawn, rest = self._biased(rng, np.bincount(counted))
        # In the order in which training goes through them.
        self.given, self.hidden = (_shuffled(rng, np.concatenate(parts)) for parts in (drawn, rest))
        self.labeled = np.isin(np.arange(len(y)), self.given)

    @cached_property
    def network(self) -> AuthorsNetwork:
        """Trained once for all strengths of the diversity."""
        X, y = self.X[self.given], self.y_true[self.given]
        return AuthorsNetwork(X, y, self.X[self.hidden], self.cell.seed)

    def _biased(
        self, rng: np.random.Generator, counts: NDArray[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Draw rows class by class, weighted by exp(r |score|) on the first component."""
        drawn, rest = [], []
        for c, count in enumerate(counts):
            rows = np.flatnonzero(self.y_true == c)
            weight = np.exp(
                float(self.cell.r or 0) * np.abs(PCA().fit_transform(self.X[rows])[:, 0])
            )
            chosen = rng.choice(np.arange(len(rows)), count, p=weight / weight.sum(), replace=False)
            drawn.append(rows[chosen])
            rest.append(np.delete(rows, chosen))
        return drawn, rest


class AuthorsNetwork:
    """Backbone, prediction head, and five heads for each strength of the diversity.

    The heads' gradient stops at the features and Adam treats every number on its own: heads of all
    strengths, trained side by side on one backbone, are those of one training each.
    """

    def __init__(self, X: NDArray[Any], y: NDArray[Any], X_hidden: NDArray[Any], seed: int) -> None:
        self._initialize(*untrained_layers(X.shape[1], len(np.unique(y)), seed))
        self._train(_tensor(X), torch.as_tensor(y), _tensor(X_hidden))

    def probabilities(self, X: NDArray[Any], gamma: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Those of the prediction head (n, C) and of the heads of this strength (n, M, C)."""
        with torch.no_grad():
            features = self.backbone(_tensor(X))
            probs = torch.softmax(self.head(features), dim=-1)
            return probs.numpy(), torch.softmax(
                self._logits(features)[GAMMAS.index(gamma)], dim=-1
            ).numpy()

    def _initialize(self, backbone: list[nn.Linear], all_heads: list[nn.Linear]) -> None:
        self.backbone = nn.Sequential(*(part for x in backbone for part in (x, nn.ReLU())))
        self.head, *heads = all_heads
        # (number of strengths, M, C, features) and (number of strengths, M, C): the same start for
        # each strength
        self.weight = (
            torch.stack([h.weight.detach() for h in heads])
            .repeat(len(GAMMAS), 1, 1, 1)
            .requires_grad_()
        )
        self.bias = (
            torch.stack([h.bias.detach() for h in heads]).repeat(len(GAMMAS), 1, 1).requires_grad_()
        )

    def _logits(self, features: Tensor) -> Tensor:
        # (strengths, n, M, C)
        return torch.einsum("nf,gmcf->gnmc", features, self.weight) + self.bias[:, None]

    def _train(self, X: Tensor, y: Tensor, X_hidden: Tensor) -> None:
        """Batches in order, the last of a round smaller; one unlabelled row at a step."""
        parameters = [*self.backbone.parameters(), *self.head.parameters(), self.weight, self.bias]
        optimizer = torch.optim.Adam(parameters, lr=LEARNING_RATE)
        batches = list(zip(X.split(BATCH_SIZE), y.split(BATCH_SIZE), strict=True))
        for step in range(N_STEPS):
            rows, classes = batches[step % len(batches)]
            hidden = X_hidden[step % len(X_hidden)]
            features = self.backbone(torch.cat([rows, hidden[None]]))
            logits = self._logits(features.detach())
            answers = classes.repeat_interleave(N_HEADS).repeat(len(GAMMAS))
            of_heads = len(GAMMAS) * functional.cross_entropy(logits[:, :-1].flatten(0, 2), answers)
            agreement = t_similarity(torch.softmax(logits[:, -1], dim=-1))  # (strengths,)
            loss = functional.cross_entropy(self.head(features[:-1]), classes) + of_heads
            loss = loss + (torch.tensor(GAMMAS) * agreement).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def untrained_layers(
    n_features: int, n_classes: int, seed: int
) -> tuple[list[nn.Linear], list[nn.Linear]]:
    """Draw the layers of the backbone, and the prediction head before the diverse ones."""
    widths = (n_features, *default_hidden_sizes(n_features))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        backbone = [nn.Linear(n_in, n_out) for n_in, n_out in pairwise(widths)]
        heads = [nn.Linear(widths[-1], n_classes) for _ in range(1 + N_HEADS)]
    return backbone, heads


class HeadsOfOneStrength:
    """What the measure asks: the prediction head and the heads trained with one strength."""

    def __init__(self, network: AuthorsNetwork, gamma: float) -> None:
        self.network, self.gamma = network, gamma
        self.classes_ = np.arange(network.head.out_features)

    def predict_joint_proba(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Probabilities (n, C) of the prediction head and (n, M, C) of the heads."""
        return self.network.probabilities(X, self.gamma)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Class codes, from the prediction head."""
        return self.predict_joint_proba(X)[0].argmax(axis=1)


def first_fit(task: AuthorsTask, gamma: float) -> HeadsOfOneStrength:
    """The network of this task, with the heads of one strength."""
    return HeadsOfOneStrength(task.network, gamma)


def _shuffled(rng: np.random.Generator, rows: NDArray[Any]) -> NDArray[Any]:
    return rng.choice(rows, len(rows), replace=False)


def _tensor(X: NDArray[Any]) -> Tensor:
    return torch.as_tensor(X, dtype=torch.float32)


STUDY = replace(
    _FIGURE,
    name="figure-calibration-authors",
    title="Calibration against the diversity of the heads, with the authors' draws and training",
    # An option, not a parameter of the network: cells of all strengths then share one task.
    methods={"erm": Method(first_fit, {"gamma": 0.0}, "ERM")},
    task=AuthorsTask,
)
