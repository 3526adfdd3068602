"""FixMatch and FlexMatch: a network trained to agree with itself across two views of a row."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from chary._sklearn import Interval, StrOptions
from chary.method import t_similarity
from chary.method.confidence import Floats
from chary.method.network import Losses
from chary.torch.classifier import BatchLoss, TorchDiverseClassifier
from chary.torch.heads import diversity_loss, ensemble_loss

Augmentation = Callable[[Tensor], Tensor]


class FixMatchTrainer(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Consistency training (FixMatch, FlexMatch) in which T-similarity decides what to trust.

    In every step the network labels a weak view of U unlabelled rows, and where it is confident it learns that
    label on a strong view of them. With c the confidence, h_0 the prediction head and yhat its label for the weak
    view, the term

    .. math:: \lambda \, \frac1U \sum_j [c(\text{weak}(x_j)) \ge \tau_{\hat y_j}] \,
        \mathrm{ce}(h_0(\text{strong}(x_j)), \hat y_j)

    is added to the losses of ``TorchDiverseClassifier``, whose heads are asked to be diverse on the weak views.
    Where no row is unlabelled, the classifier is fitted as it is.

    Parameters
    ----------
    classifier : TorchDiverseClassifier
        The network and how it is trained; it is cloned.
    strong, weak : callable (batch -> batch), weak may be None
        Augmentations of a batch of rows, on the device of the network, drawing from PyTorch's global generators,
        which ``classifier.random_state`` seeds. None: no change.
    confidence : {"t_similarity", "max_probability", "softmax"}, default="t_similarity"
        ``max_probability`` (also ``softmax``), the published choice, is the prediction head's.
    threshold : float, default=0.95
        tau, on the scale of the confidence.
    per_class : bool, default=False
        FlexMatch: lower the threshold of a class that few rows were confidently given so far, to
        tau b / (2 - b) with b its count as a share of the largest one (rows still undecided being a class, too).
        With several processes each counts its own rows.
    consistency_weight : float, default=1.0
        lambda.

    Attributes
    ----------
    classifier_ : TorchDiverseClassifier
        Trained; its ``loss_curve_`` also holds ``consistency`` and ``accepted``, the share of confident rows.
    classes_ : array of shape (C,)

    See Also
    --------
    chary.torch.TorchDiverseClassifier : Without views.

    References
    ----------
    Sohn et al.: FixMatch. NeurIPS 2020. Zhang et al.: FlexMatch. NeurIPS 2021.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from torch import nn
    >>> X, y = load_iris(return_X_y=True)
    >>> y[25:50], y[75:100], y[125:] = -1, -1, -1
    >>> def shaken(batch):
    ...     return batch + 0.1 * torch.randn_like(batch)
    >>> network = TorchDiverseClassifier(lambda: nn.Linear(4, 16), n_steps=20, device="cpu", random_state=0)
    >>> model = FixMatchTrainer(network, strong=shaken, threshold=0.8).fit(X.astype("float32"), y)
    >>> model.predict(X[:2].astype("float32")).shape
    (2,)
    """

    _parameter_constraints = {  # noqa: RUF012
        "classifier": [TorchDiverseClassifier],
        "strong": [callable],
        "weak": [callable, None],
        "confidence": [StrOptions({"t_similarity", "max_probability", "softmax"})],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "per_class": ["boolean"],
        "consistency_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        classifier: TorchDiverseClassifier,
        strong: Augmentation,
        weak: Augmentation | None = None,
        *,
        confidence: str = "t_similarity",
        threshold: float = 0.95,
        per_class: bool = False,
        consistency_weight: float = 1.0,
    ) -> None:
        self.classifier = classifier
        self.strong = strong
        self.weak = weak
        self.confidence = confidence
        self.threshold = threshold
        self.per_class = per_class
        self.consistency_weight = consistency_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FixMatchTrainer:
        """Fit on labelled and unlabelled rows, and their ``sample_weight``, as ``TorchDiverseClassifier.fit``."""
        self._validate_params()
        classifier = clone(self.classifier)
        self.classifier_ = classifier._fit(X, y, sample_weight, self._loss_factory(classifier))
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row, given by the prediction head."""
        return self._fitted().predict(X)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities (n, C) of the prediction head."""
        return self._fitted().predict_proba(X)

    def predict_head_proba(self, X: Any) -> Floats:
        """Class probabilities (n, M, C) of the diverse heads."""
        return self._fitted().predict_head_proba(X)

    def predict_confidence(self, X: Any, kind: str = "t_similarity") -> Floats:
        """How far each prediction can be trusted; ``kind`` as for ``TorchDiverseClassifier``."""
        return self._fitted().predict_confidence(X, kind)

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels that occur, sorted."""
        return self.classifier_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in ``fit``, where it was given an array."""
        return self.classifier_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns seen in ``fit``, where it was given a DataFrame."""
        return self.classifier_.feature_names_in_

    def _fitted(self) -> TorchDiverseClassifier:
        check_is_fitted(self, "classifier_")
        return self.classifier_

    def _loss_factory(self, classifier: TorchDiverseClassifier) -> Any:
        def make_loss(targets: Tensor, weights: Tensor, extra: Tensor, n_unlabeled: int) -> BatchLoss:
            if not n_unlabeled:
                return classifier._make_loss(targets, weights, extra, n_unlabeled)
            B, U = targets.shape[1], extra.shape[1]
            trusted = ConfidentClasses(n_unlabeled, len(classifier.classes_), self.threshold, extra.device)

            def loss(module: Any, step: int, X: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
                weak = self.weak or (lambda batch: batch)
                # Weak views of unlabelled rows stand last: they move no backbone.
                views = torch.cat([weak(X[:B]), self.strong(X[B:]), weak(X[B:])])
                logits, head_logits = classifier._forward(module, views, B + U)
                labels, confidence = self._judge(logits[B + U :].detach(), head_logits[B + U :].detach())
                accepted = confidence >= (trusted.thresholds()[labels] if self.per_class else self.threshold)
                trusted.update(extra[step], labels, confidence)

                strong_loss = functional.cross_entropy(logits[B : B + U], labels, reduction="none")
                consistency = (strong_loss * accepted).mean()
                losses = Losses(
                    ensemble_loss(logits[:B, None], targets[step], weights[step]),
                    ensemble_loss(head_logits[:B], targets[step], weights[step]),
                    diversity_loss(head_logits[B + U :]),
                )
                total = losses.total(classifier.gamma) + self.consistency_weight * consistency
                share = accepted.to(total.dtype).mean()
                return total, {**losses._asdict(), "consistency": consistency, "accepted": share}

            return loss

        return make_loss

    def _judge(self, logits: Tensor, head_logits: Tensor) -> tuple[Tensor, Tensor]:
        """Labels and confidences of weak views, each (U,)."""
        top, labels = logits.softmax(dim=-1).max(dim=-1)
        return labels, t_similarity(head_logits.softmax(dim=-1)) if self.confidence == "t_similarity" else top

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags


class ConfidentClasses:
    """The class each unlabelled row was last confidently given, and FlexMatch's thresholds that follow.

    Parameters
    ----------
    n_rows, n_classes : int
    threshold : float
        tau, at which a row is confident.
    device : torch device
    """

    def __init__(self, n_rows: int, n_classes: int, threshold: float, device: Any = "cpu") -> None:
        self.n_classes, self.threshold = n_classes, threshold
        self.last = torch.full((n_rows,), -1, device=device)  # -1: never confident

    def update(self, rows: Tensor, labels: Tensor, confidence: Tensor) -> None:
        """Note the labels (U,) of these rows where they are confident."""
        self.last[rows] = torch.where(confidence >= self.threshold, labels, self.last[rows])

    def thresholds(self) -> Tensor:
        """The threshold of every class, (C,)."""
        counts = torch.bincount(self.last + 1, minlength=self.n_classes + 1)  # the first: never confident
        learned = counts[1:] / counts.max()
        return self.threshold * learned / (2 - learned)
