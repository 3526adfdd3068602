"""FixMatch and FreeMatch: a network trained to agree with itself across two views of a row."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from chary._sklearn import Interval, StrOptions
from chary.method import t_similarity
from chary.method.confidence import Floats, MembersMixin
from chary.method.network import Losses
from chary.method.priors import is_narrower
from chary.torch.classifier import BatchLoss, TorchDiverseClassifier
from chary.torch.heads import diversity_loss, ensemble_loss

Augmentation = Callable[[Tensor], Tensor]
# What a batch moves the running means by: they are of about the last hundred batches.
_PACE = 0.01
_LOOKED_AT = 1_000  # rows, for a collapse


class FixMatchTrainer(MembersMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Consistency training (FixMatch, FreeMatch) in which T-similarity decides what to trust.

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
    threshold : "adaptive" or float, default="adaptive"
        tau. "adaptive", as in FreeMatch: the mean confidence of recent unlabelled rows, times p_c / max p for
        class c, with p the mean probabilities of the same rows; half of the rows or more are confident, whatever
        the scale. A number is the same for all classes, on the
        scale of the confidence: FixMatch has 0.95 for ``max_probability``, which T-similarity hardly ever reaches.
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
    Sohn et al.: FixMatch. NeurIPS 2020. Wang et al.: FreeMatch. ICLR 2023.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_iris
    >>> from torch import nn
    >>> X, y = load_iris(return_X_y=True)
    >>> y[25:50], y[75:100], y[125:] = -1, -1, -1
    >>> def shaken(batch):
    ...     return batch + 0.1 * torch.randn_like(batch)
    >>> network = TorchDiverseClassifier(lambda: nn.Linear(4, 16), learning_rate=0.01, n_steps=100, random_state=0)
    >>> model = FixMatchTrainer(network, strong=shaken).fit(X.astype("float32"), y)
    >>> model.predict(X[:2].astype("float32")).shape
    (2,)
    """

    _parameter_constraints = {  # noqa: RUF012
        "classifier": [TorchDiverseClassifier],
        "strong": [callable],
        "weak": [callable, None],
        "confidence": [StrOptions({"t_similarity", "max_probability", "softmax"})],
        "threshold": [StrOptions({"adaptive"}), Interval(Real, 0, 1, closed="both")],
        "consistency_weight": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        classifier: TorchDiverseClassifier,
        strong: Augmentation,
        weak: Augmentation | None = None,
        *,
        confidence: str = "t_similarity",
        threshold: float | str = "adaptive",
        consistency_weight: float = 1.0,
    ) -> None:
        self.classifier = classifier
        self.strong = strong
        self.weak = weak
        self.confidence = confidence
        self.threshold = threshold
        self.consistency_weight = consistency_weight

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FixMatchTrainer:
        """Fit on labelled and unlabelled rows, and their ``sample_weight``, as ``TorchDiverseClassifier.fit``."""
        self._validate_params()
        classifier = clone(self.classifier)
        self.classifier_ = classifier._fit(X, y, sample_weight, self._loss_of(classifier))
        if self._is_collapsed(X):
            warnings.warn(
                "The rows are predicted to be of far fewer classes than the labels: training was too short, or "
                "consistency training has collapsed. Compare it with the classifier alone, raise n_steps, weaken "
                "the strong view, or lower consistency_weight.",
                stacklevel=2,
            )
        return self

    def _is_collapsed(self, X: Any) -> bool:
        fitted = self.classifier_
        rows = fitted._rows(X, reset=False)
        some = np.random.default_rng(0).permutation(len(rows))[:_LOOKED_AT]
        logits = torch.cat([logits[:, 0] for logits in fitted._logits(fitted.network_, rows, some)])
        return is_narrower(logits.argmax(dim=1).numpy(), fitted._label_codes, len(fitted.classes_))

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """``predict_proba`` (n, C) and ``predict_head_proba`` (n, M, C) in one pass over the rows."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.predict_joint_proba(X)

    @property
    def classes_(self) -> NDArray[Any]:  # type: ignore[override]
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

    def _loss_of(self, classifier: TorchDiverseClassifier) -> BatchLoss:
        adaptive = AdaptiveThresholds()

        def loss(network: Any, X: Tensor, targets: Tensor, weights: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
            B, U = len(targets), len(X) - len(targets)
            if not U:
                return classifier._loss(network, X, targets, weights)
            weak = self.weak or (lambda batch: batch)
            # Weak views of unlabelled rows stand last: they move no backbone.
            views = torch.cat([weak(X[:B]), self.strong(X[B:]), weak(X[B:])])
            logits, head_logits = classifier._forward(network, views, B + U)
            probs = logits[B + U :].detach().softmax(dim=-1)  # (U, C)
            top, labels = probs.max(dim=-1)  # (U,) each
            if self.confidence == "t_similarity":
                top = t_similarity(head_logits[B + U :].detach().softmax(dim=-1))
            tau = adaptive.updated(top, probs)[labels] if isinstance(self.threshold, str) else self.threshold
            accepted = top >= tau

            strong_loss = functional.cross_entropy(logits[B : B + U], labels, reduction="none")
            consistency = (strong_loss * accepted).mean()
            losses = Losses(
                ensemble_loss(logits[:B, None], targets, weights),
                ensemble_loss(head_logits[:B], targets, weights),
                diversity_loss(head_logits[B + U :]),
            )
            total = losses.total(classifier.gamma) + self.consistency_weight * consistency
            share = accepted.to(total.dtype).mean()
            return total, {**losses._asdict(), "consistency": consistency, "accepted": share}

        return loss

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.classifier).input_tags
        return tags


class AdaptiveThresholds:
    """FreeMatch's thresholds of the C classes: running means over the unlabelled rows, from 1 / C on."""

    mean: Tensor | None = None
    shares: Tensor | None = None

    def updated(self, confidence: Tensor, probs: Tensor) -> Tensor:
        """The thresholds (C,) after some more rows, of this confidence (U,) and these probabilities (U, C)."""
        start = torch.full_like(probs[0], 1 / probs.shape[1], dtype=torch.float32)  # (C,)
        mean = start[0] if self.mean is None else self.mean
        shares = start if self.shares is None else self.shares
        self.mean = mean.lerp(confidence.mean().float(), _PACE)
        self.shares = shares.lerp(probs.mean(dim=0).float(), _PACE)
        return self.mean * self.shares / self.shares.max()
