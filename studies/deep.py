"""The study of deep networks: a small CNN on images of digits with 100 labels, biased or not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional

from chary._arrays import Floats
from chary.method import confidence_auroc, iid, selection_biased, t_similarity
from chary.method.confidence import MembersMixin
from chary.method.diverse import class_order_of, content_order
from chary.method.labels import encode
from chary.method.network import draw_batches
from chary.torch import DiverseHeads, Losses, diverse_losses, diversity_loss, ensemble_loss
from studies import STUDIES, datasets, findings
from studies.datasets import dataset_title
from studies.results import summarize
from studies.study import Cell, Method, Results, Study, TextTable, erm, right_on_test


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


# Labelled rows of a step, and rows that are scored at a time.
BATCH = 32
_SCORED_ROWS = 256
# What a batch moves the running means of the adaptive thresholds by: they are of about the last
# hundred batches.
_PACE = 0.01


class Consistency(NamedTuple):
    """FixMatch: learn the label of a weak view on a strong view, if it can be trusted."""

    confidence: str  # "softmax" or "t_similarity"
    threshold: float | str = 0.95  # "adaptive": FreeMatch's
    consistency_weight: float = 1.0


class ImageClassifier(MembersMixin, BaseEstimator):
    """The paper's heads on a CNN, trained by a plain loop, with image views also by consistency.

    ``backbone`` makes the module. With ``joint`` the heads' losses move the backbone, too. Rows
    whose label is ``unlabeled`` or missing are unlabelled. ``accepted_`` is the share of views that
    were trusted in each step.
    """

    def __init__(
        self,
        backbone: Callable[[], nn.Module],
        *,
        joint: bool = False,
        n_steps: int = 500,
        unlabeled_batch_size: int = 32,
        consistency: Consistency | None = None,
        unlabeled: Any = -1,
        random_state: int = 0,
    ) -> None:
        self.backbone = backbone
        self.joint = joint
        self.n_steps = n_steps
        self.unlabeled_batch_size = unlabeled_batch_size
        self.consistency = consistency
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: Any) -> ImageClassifier:
        """Train for ``n_steps`` steps; PyTorch's global generator is as before afterwards."""
        labels = encode(y, unlabeled=self.unlabeled)
        self.classes_ = labels.classes
        # The order of the rows and the names of the classes change nothing.
        order = content_order(X, labels.codes, np.ones(len(X)))
        labeled = order[labels.labeled[order]]
        unlabeled = order[~labels.labeled[order]]
        self._rank = np.argsort(class_order_of(labels.codes[labeled]))

        rng = np.random.default_rng(self.random_state)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            self.features_ = self.backbone()
            n_features = self.features_(torch.zeros(1, X.shape[1])).shape[1]
            self.heads_ = DiverseHeads(n_features, len(self.classes_), joint=self.joint)
            drawn = labeled[draw_batches(len(labeled), BATCH, self.n_steps, rng)]  # (n_steps, B)
            extra = unlabeled[
                draw_batches(len(unlabeled), self.unlabeled_batch_size, self.n_steps, rng)
            ]
            targets = torch.as_tensor(self._rank[labels.codes[drawn]])
            self._train(_tensor(X), drawn, extra, targets)
        return self

    def _train(
        self, X: Tensor, drawn: NDArray[np.intp], extra: NDArray[np.intp], targets: Tensor
    ) -> None:
        parameters = [*self.features_.parameters(), *self.heads_.parameters()]
        optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.0)
        thresholds = AdaptiveThresholds()
        self.accepted_: list[float] = []
        for step in range(self.n_steps):
            if self.consistency is not None and extra.shape[1]:
                loss = self._consistency_loss(
                    X[drawn[step]], X[extra[step]], targets[step], thresholds
                )
            else:
                # (B + U,)
                row_targets = functional.pad(targets[step], (0, extra.shape[1]), value=-1)
                loss = diverse_losses(
                    *self._logits(X[drawn[step]], X[extra[step]]), row_targets
                ).total()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def _consistency_loss(
        self, X: Tensor, X_unlabeled: Tensor, targets: Tensor, thresholds: AdaptiveThresholds
    ) -> Tensor:
        options = self.consistency or Consistency("softmax")
        B, U = len(X), len(X_unlabeled)
        views = torch.cat([weak(X), strong(X_unlabeled)])
        # Of B weak, U strong, U weak views.
        logits, head_logits = self._logits(views, weak(X_unlabeled))
        probs = logits[B + U :].detach().softmax(dim=-1)  # (U, C)
        confidence, labels = probs.max(dim=-1)  # (U,) each
        if options.confidence == "t_similarity":
            confidence = t_similarity(head_logits[B + U :].detach().softmax(dim=-1))
        if isinstance(options.threshold, str):  # adaptive
            accepted = confidence >= thresholds.updated(confidence, probs)[labels]
        else:
            accepted = confidence >= options.threshold
        self.accepted_.append(float(accepted.float().mean()))

        # (U,)
        strong_losses = functional.cross_entropy(logits[B : B + U], labels, reduction="none")
        consistency = (strong_losses * accepted).mean()
        losses = Losses(
            ensemble_loss(logits[:B, None], targets),
            ensemble_loss(head_logits[:B], targets),
            diversity_loss(head_logits[B + U :]),
        )
        return losses.total() + options.consistency_weight * consistency

    def _logits(self, X: Tensor, X_unlabeled: Tensor) -> tuple[Tensor, Tensor]:
        """Compute logits of both kinds of heads; unlabelled rows move the backbone only jointly."""
        if self.joint:
            return self.heads_(self.features_(torch.cat([X, X_unlabeled])))
        with torch.no_grad():
            rest = self.features_(X_unlabeled)
        return self.heads_(torch.cat([self.features_(X), rest]))

    @torch.inference_mode()
    def predict_joint_proba(self, X: NDArray[Any]) -> tuple[Floats, Floats]:
        """Class probabilities (n, C) of the prediction head and (n, M, C) of the diverse heads."""
        probs, head_probs = [], []
        for rows in _tensor(X).split(_SCORED_ROWS):
            logits, head_logits = self.heads_(self.features_(rows))
            probs.append(softmax(logits[:, self._rank].double().numpy(), axis=-1))
            head_probs.append(softmax(head_logits[:, :, self._rank].double().numpy(), axis=-1))
        return np.concatenate(probs), np.concatenate(head_probs)


class AdaptiveThresholds:
    """FreeMatch's thresholds of the C classes.

    They are running means over the unlabelled rows, from 1 / C on.
    """

    mean: Tensor | None = None
    shares: Tensor | None = None

    def updated(self, confidence: Tensor, probs: Tensor) -> Tensor:
        """Update the thresholds (C,) with confidences (U,) and probabilities (U, C) of rows."""
        start = torch.full_like(probs[0], 1 / probs.shape[1])  # (C,)
        mean = start[0] if self.mean is None else self.mean
        shares = start if self.shares is None else self.shares
        self.mean = mean.lerp(confidence.mean(), _PACE)
        self.shares = shares.lerp(probs.mean(dim=0), _PACE)
        return self.mean * self.shares / self.shares.max()


def _tensor(X: NDArray[Any]) -> Tensor:
    return torch.as_tensor(X).float()


class ImageTask:
    """What a method gets to work on: pixels in [0, 1] with some labels, and the network to use."""

    def __init__(self, cell: Cell) -> None:
        if cell.dataset not in IMAGES:
            raise ValueError(
                f"{cell.dataset} is not among the images of this study: {', '.join(IMAGES)}."
            )
        self.cell, seed = cell, cell.seed
        data = datasets.load(cell.dataset)
        keep = np.random.default_rng(0).permutation(len(data.X))[: IMAGES[cell.dataset].n_rows]
        X, y = data.X[keep] / data.X.max(), data.y[keep].astype(int)
        train, test = train_test_split(
            np.arange(len(X)), test_size=0.25, stratify=y, random_state=seed
        )
        self.X, self.y_true, self.X_test, self.y_test = X[train], y[train], X[test], y[test]
        if cell.labeling == "iid":
            self.labeled = iid(self.y_true, cell.n_labeled, random_state=seed)
        else:
            # The bias acts on standardised pixels, as in the paper; the network sees plain pixels.
            standardized = StandardScaler().fit_transform(self.X)
            self.labeled = selection_biased(
                standardized, self.y_true, cell.n_labeled, float(cell.r or 0), random_state=seed
            )
        self.y = np.where(self.labeled, self.y_true, -1)

    def estimator(self, **changes: Any) -> ImageClassifier:
        """The network of this data set, not fitted."""
        params = {"random_state": self.cell.seed, **self.cell.model, **changes}
        return ImageClassifier(IMAGES[self.cell.dataset].backbone, **params)

    @cached_property
    def initial(self) -> ImageClassifier:
        """Fitted on the labels given: self-training starts from it."""
        return self.estimator().fit(self.X, self.y)


def fixmatch(task: ImageTask, confidence: str, **options: Any) -> ImageClassifier:
    """Consistency between a weak and a strong view of each image, in a training twice as long."""
    n_steps = 2 * task.estimator().n_steps
    consistency = Consistency(confidence, **options)
    classifier = task.estimator(n_steps=n_steps, unlabeled_batch_size=64, consistency=consistency)
    return classifier.fit(task.X, task.y)


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
    result = {"accuracy": float(right_on_test(task, fitted).mean())}
    accepted = getattr(fitted, "accepted_", [])
    if accepted:
        result["accepted_at_end"] = float(np.mean(accepted[-len(accepted) // 10 :]))
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
    """Turn, move and scale each image at random.

    The arguments are the largest amounts; a shift is a share of the side.
    """
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
        f"{name}-softmax": Method(
            fixmatch, {"confidence": "softmax", **options}, f"{title}, softmax"
        ),
        f"{name}-tsim": Method(
            fixmatch, {"confidence": "t_similarity", **options}, f"{title}, T-similarity"
        ),
    }


_PAPER = STUDIES["table-ssb"].methods
_METHODS = {
    "erm": _PAPER["erm"],
    "pl-softmax": _PAPER["pl-softmax"]._replace(title="PL, softmax"),
    "pl-tsim": _PAPER["pl-tsim"]._replace(title="PL, T-similarity"),
    "csta-softmax": _PAPER["csta-softmax"]._replace(title="CSTA, softmax"),
    "csta-tsim": _PAPER["csta-tsim"]._replace(title="CSTA, T-similarity"),
    "weak-views": Method(
        fixmatch, {"confidence": "softmax", "consistency_weight": 0}, "ERM on weak views"
    ),
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


def joint(task: ImageTask) -> ImageClassifier:
    """The heads' losses move the backbone, too."""
    return task.estimator(joint=True).fit(task.X, task.y)


def accuracy_and_orders(task: ImageTask, fitted: Any) -> dict[str, Any]:
    """Test accuracy, and how well both confidences order right and wrong labels there."""
    right = right_on_test(task, fitted)
    kinds = {"softmax_auroc": "max_probability", "t_similarity_auroc": "t_similarity"}
    return {"accuracy": float(right.mean())} | {
        name: confidence_auroc(fitted.predict_confidence(task.X_test, kind), right)
        for name, kind in kinds.items()
    }


def by_number_of_labels(study: Study, results: Results) -> TextTable:
    """With and without joint training: accuracy, AUROC of softmax, AUROC of T-similarity."""
    lines = {x[:5]: x.mean for x in summarize(study, results)}
    metrics = ("accuracy", "softmax_auroc", "t_similarity_auroc")
    rows = []
    for dataset, labeling, n in dict.fromkeys((place[0], place[1], place[3]) for place in lines):
        cells = [
            " / ".join(
                f"{lines.get((dataset, labeling, method, n, metric), np.nan):.1f}"
                for metric in metrics
            )
            for method in study.methods
        ]
        rows.append([dataset_title(dataset), labeling.upper(), str(n), *cells])
    caption = (
        "Test accuracy / AUROC of softmax / AUROC of T-similarity, in percent, mean over seeds"
    )
    return TextTable(
        caption, ["Data set", "Labels", "How many", *map(study.title_of, study.methods)], rows
    )


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
