"""The study of deep networks: a small CNN on images of digits, 100 labels, with and without selection bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional

from chary.method import confidence_auroc, iid, selection_biased
from chary.torch.classifier import TorchDiverseClassifier
from chary.torch.fixmatch import FixMatchTrainer
from studies import STUDIES, datasets, findings
from studies.datasets import dataset_title
from studies.results import summarize
from studies.study import Cell, Method, Results, Study, TextTable, erm


def digits_cnn() -> nn.Module:
    """Features of 8 x 8 images."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(256, 64), nn.ReLU(),
    )  # fmt: skip


def mnist_cnn() -> nn.Module:
    """Features of 28 x 28 images."""
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)), nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
        nn.Flatten(), nn.Linear(400, 64), nn.ReLU(),
    )  # fmt: skip


class Images(NamedTuple):
    """How a data set of images takes part."""

    n_rows: int  # a random part of Mnist, so that the study fits on a laptop without a GPU
    backbone: Callable[[], nn.Module]


IMAGES = {"digits": Images(1797, digits_cnn), "mnist": Images(4000, mnist_cnn)}


class ImageTask:
    """What a method gets to work on: pixels in [0, 1] with some labels, and the network to use."""

    def __init__(self, cell: Cell) -> None:
        if cell.dataset not in IMAGES:
            raise ValueError(f"{cell.dataset} is not among the images of this study: {', '.join(IMAGES)}.")
        self.cell, seed = cell, cell.seed
        data = datasets.load(cell.dataset)
        keep = np.random.default_rng(0).permutation(len(data.X))[: IMAGES[cell.dataset].n_rows]
        X, y = data.X[keep] / data.X.max(), data.y[keep].astype(int)
        train, test = train_test_split(np.arange(len(X)), test_size=0.25, stratify=y, random_state=seed)
        self.X, self.y_true, self.X_test, self.y_test = X[train], y[train], X[test], y[test]
        if cell.labeling == "iid":
            self.labeled = iid(self.y_true, cell.n_labeled, random_state=seed)
        else:  # the bias acts on standardised pixels, as in the paper; the network sees the pixels themselves
            standardized = StandardScaler().fit_transform(self.X)
            self.labeled = selection_biased(
                standardized, self.y_true, cell.n_labeled, float(cell.r or 0), random_state=seed
            )
        self.y = np.where(self.labeled, self.y_true, -1)

    def estimator(self, **changes: Any) -> TorchDiverseClassifier:
        """The network of this data set, not fitted."""
        params = {"n_steps": 500, "device": "cpu", "random_state": self.cell.seed, **self.cell.model, **changes}
        return TorchDiverseClassifier(IMAGES[self.cell.dataset].backbone, **params)

    @cached_property
    def initial(self) -> TorchDiverseClassifier:
        """Fitted on the labels given: self-training starts from it."""
        return self.estimator().fit(self.X, self.y)


def fixmatch(task: ImageTask, confidence: str, **options: Any) -> FixMatchTrainer:
    """Consistency between a weak and a strong view of each image, in a training twice as long."""
    classifier = task.estimator(n_steps=2 * task.estimator().n_steps, unlabeled_batch_size=64)
    return FixMatchTrainer(classifier, strong, weak, confidence=confidence, **options).fit(task.X, task.y)


def weak(X: Tensor) -> Tensor:
    """Each image turned, moved and scaled a little."""
    return _warp(X, degrees=5, shift=1 / 16, scale=0.05)


def strong(X: Tensor) -> Tensor:
    """Warped further, in another contrast, with noise, and with a third of the side cut out."""
    n, side = len(X), math.isqrt(X.shape[1])
    X = _warp(X, degrees=25, shift=1 / 8, scale=0.2) * (1 + 0.3 * _uniform(n))[:, None]
    X = X + 0.1 * torch.randn_like(X)
    corner = torch.randint(0, side, (n, 2, 1))
    row_or_column = torch.arange(side).expand(n, 2, side)
    inside = (row_or_column >= corner) & (row_or_column < corner + side // 3)  # (n, 2, side)
    hole = inside[:, 0, :, None] & inside[:, 1, None, :]  # (n, side, side)
    return X * ~hole.flatten(1)


def accuracy_and_acceptance(task: ImageTask, fitted: Any) -> dict[str, Any]:
    """Test accuracy; of consistency training also the share of rows it trusts in its last tenth."""
    result = {"accuracy": float(np.mean(fitted.predict(task.X_test) == task.y_test))}
    if isinstance(fitted, FixMatchTrainer):
        accepted = fitted.classifier_.loss_curve_["accepted"]
        result["accepted_at_end"] = float(accepted[-len(accepted) // 10 :].mean())
    return result


def by_method(study: Study, results: Results) -> TextTable:
    """A row for each data set and method, a column for each labelling."""
    lines = {(x.dataset, x.method, x.labeling): x for x in summarize(study, results, "accuracy")}
    rows = []
    for dataset, method in dict.fromkeys(place[:2] for place in lines):
        found = [lines.get((dataset, method, labeling)) for labeling in study.labelings]
        cells = [f"{x.mean:.1f} ± {x.std:.1f} ({len(x.by_seed)})" if x else "" for x in found]
        rows.append([dataset_title(dataset), study.title_of(method), *cells])
    heads = ["Data set", "Method", *map(str.upper, study.labelings)]
    return TextTable("Test accuracy in percent, mean ± standard deviation (seeds)", heads, rows)


def _warp(X: Tensor, degrees: float, shift: float, scale: float) -> Tensor:
    """Each image turned, moved and scaled at random, by at most this much (shift as a share of the side)."""
    n, side = len(X), math.isqrt(X.shape[1])
    angle, zoom = math.radians(degrees) * _uniform(n), 1 + scale * _uniform(n)
    cos, sin = zoom * angle.cos(), zoom * angle.sin()
    moves = [2 * shift * _uniform(n) for _ in range(2)]
    matrix = torch.stack([cos, -sin, moves[0], sin, cos, moves[1]], dim=1).reshape(n, 2, 3)
    grid = functional.affine_grid(matrix, [n, 1, side, side], align_corners=False)
    images = X.reshape(n, 1, side, side)
    return functional.grid_sample(images, grid, align_corners=False).flatten(1)


def _uniform(n: int) -> Tensor:
    """In [-1, 1]."""
    return 2 * torch.rand(n) - 1


def _both(name: str, title: str, **options: Any) -> dict[str, Method]:
    return {
        f"{name}-softmax": Method(fixmatch, {"confidence": "softmax", **options}, f"{title}, softmax"),
        f"{name}-tsim": Method(fixmatch, {"confidence": "t_similarity", **options}, f"{title}, T-similarity"),
    }


_PAPER = STUDIES["table-ssb"].methods
_METHODS = {
    "erm": _PAPER["erm"],
    "pl-softmax": _PAPER["pl-softmax"]._replace(title="PL, softmax"),
    "pl-tsim": _PAPER["pl-tsim"]._replace(title="PL, T-similarity"),
    "csta-softmax": _PAPER["csta-softmax"]._replace(title="CSTA, softmax"),
    "csta-tsim": _PAPER["csta-tsim"]._replace(title="CSTA, T-similarity"),
    "weak-views": Method(fixmatch, {"confidence": "softmax", "consistency_weight": 0}, "ERM on weak views"),
    **_both("fixmatch95", "FixMatch 0.95", threshold=0.95),
    **_both("fixmatch80", "FixMatch 0.8", threshold=0.8),
    **_both("adaptive", "FixMatch, adaptive", threshold="adaptive"),
}
DEEP = Study(
    "deep",
    "A small CNN on images of digits: self-training and consistency training",
    tuple(IMAGES),
    methods=_METHODS,
    measure=accuracy_and_acceptance,
    seeds=STUDIES["table-ssb"].seeds[:3],
    n_labeled=100,
    task=ImageTask,
    tables=(by_method,),
    headline=findings.pairs_won,
)


def joint(task: ImageTask) -> TorchDiverseClassifier:
    """The heads' losses move the backbone, too."""
    return task.estimator(joint=True).fit(task.X, task.y)


def accuracy_and_orders(task: ImageTask, fitted: Any) -> dict[str, Any]:
    """Test accuracy, and how well both confidences order right and wrong labels there."""
    right = fitted.predict(task.X_test) == task.y_test
    kinds = {"softmax_auroc": "max_probability", "t_similarity_auroc": "t_similarity"}
    return {"accuracy": float(right.mean())} | {
        name: confidence_auroc(fitted.predict_confidence(task.X_test, kind), right) for name, kind in kinds.items()
    }


def by_number_of_labels(study: Study, results: Results) -> TextTable:
    """With and without joint training: accuracy, AUROC of softmax, AUROC of T-similarity."""
    lines = {x[:5]: x.mean for x in summarize(study, results)}
    metrics = ("accuracy", "softmax_auroc", "t_similarity_auroc")
    rows = []
    for dataset, labeling, n in dict.fromkeys((place[0], place[1], place[3]) for place in lines):
        cells = [
            " / ".join(f"{lines.get((dataset, labeling, method, n, metric), np.nan):.1f}" for metric in metrics)
            for method in study.methods
        ]
        rows.append([dataset_title(dataset), labeling.upper(), str(n), *cells])
    caption = "Test accuracy / AUROC of softmax / AUROC of T-similarity, in percent, mean over seeds"
    return TextTable(caption, ["Data set", "Labels", "How many", *map(study.title_of, study.methods)], rows)


JOINT = replace(
    DEEP,
    name="deep-joint",
    datasets=("digits",),
    title="A small CNN: diverse heads that move the backbone, and heads that do not",
    methods={"erm": Method(erm, title="heads alone"), "joint": Method(joint, title="joint=True")},
    measure=accuracy_and_orders,
    vary=("n_labeled", (50, 100, 300)),
    tables=(by_number_of_labels,),
    headline=None,
)
