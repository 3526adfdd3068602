"""A batch of rows in, features, head logits, losses and exact gradients out: the paper's network in NumPy.

All parameters live in one flat buffer; layers are views of it, and so are their gradients. An optimiser then
needs to know nothing of layers.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.floating[Any]]


class Losses(NamedTuple):
    """The three terms of the loss on one batch."""

    supervised: float  # cross-entropy of the prediction head on labelled rows
    ensemble: float  # mean cross-entropy of the ensemble heads on labelled rows
    similarity: float  # mean T-similarity of the ensemble heads on unlabelled rows


class Layer(NamedTuple):
    """One linear layer."""

    weight: Floats  # (n_in, n_out)
    bias: Floats  # (n_out,)


def default_hidden_sizes(n_features: int) -> tuple[int, ...]:
    """The paper's backbone: d//2, d//4, d//8 for wide data, 128, 32 for d <= 50."""
    if n_features > 50:
        return n_features // 2, n_features // 4, n_features // 8
    return 128, 32


class Network:
    """A ReLU backbone under one prediction head and M ensemble heads.

    The 1 + M heads are one linear layer; head 0 is the prediction head.

    Parameters
    ----------
    n_features, n_classes, n_heads : int
        d, C and M.
    hidden_sizes : tuple of int
        Widths of the backbone's layers; () puts the heads on the inputs.
    dtype : float dtype
        Of the parameters and of all computations.
    """

    def __init__(
        self,
        n_features: int,
        hidden_sizes: tuple[int, ...],
        n_classes: int,
        n_heads: int,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.n_features = n_features
        self.hidden_sizes = tuple(hidden_sizes)
        self.n_classes = n_classes
        self.n_heads = n_heads
        self.params = np.zeros(sum(prod(shape) for shape in self._shapes()), dtype)

    def _shapes(self) -> list[tuple[int, ...]]:
        widths = (self.n_features, *self.hidden_sizes, (1 + self.n_heads) * self.n_classes)
        return [shape for n_in, n_out in pairwise(widths) for shape in ((n_in, n_out), (n_out,))]

    @property
    def widest(self) -> int:
        """Size of the longest vector that a row becomes on its way."""
        return max(self.n_features, *self.hidden_sizes, (1 + self.n_heads) * self.n_classes)

    def layers(self, flat: Floats) -> list[Layer]:
        """Views of a flat buffer (parameters or gradient) as layers; the last one holds the heads."""
        shapes = self._shapes()
        ends = np.cumsum([prod(shape) for shape in shapes])
        views = [flat[end - prod(shape) : end].reshape(shape) for shape, end in zip(shapes, ends, strict=True)]
        return [Layer(*pair) for pair in zip(views[::2], views[1::2], strict=True)]

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw weights and biases uniformly from +-1/sqrt(fan_in)."""
        for weight, bias in self.layers(self.params):
            bound = 1 / sqrt(len(weight))
            weight[:] = rng.uniform(-bound, bound, weight.shape)
            bias[:] = rng.uniform(-bound, bound, bias.shape)

    def reorder_classes(self, order: NDArray[np.intp]) -> None:
        """Move the outputs of every head so that class order[i] comes to stand at i."""
        for view in self.layers(self.params)[-1]:
            by_class = view.reshape(*view.shape[:-1], 1 + self.n_heads, self.n_classes)
            by_class[:] = by_class[..., order]

    def astype(self, dtype: DTypeLike) -> Network:
        """A copy that computes in another precision."""
        other = Network(self.n_features, self.hidden_sizes, self.n_classes, self.n_heads, dtype)
        other.params[:] = self.params
        return other

    def logits(self, X: Floats, heads: slice = slice(None)) -> Floats:
        """Logits of the chosen heads, (n, number of heads, C); ``slice(1)`` is the prediction head alone."""
        *backbone, (weight, bias) = self.layers(self.params)
        features = X
        for layer in backbone:
            features = _hidden(features, layer)
        chosen = range(1 + self.n_heads)[heads]
        columns = slice(chosen.start * self.n_classes, chosen.stop * self.n_classes)
        return (features @ weight[:, columns] + bias[columns]).reshape(len(X), len(chosen), self.n_classes)


def loss_and_gradient(
    layers: list[Layer],
    gradients: list[Layer],
    X: Floats,
    codes: NDArray[np.intp],
    weights: Floats,
    n_heads: int,
    gamma: float,
) -> Losses:
    r"""Losses on a batch, and the gradient of their total, written into ``gradients``.

    .. math:: \frac1B \sum_i w_i \, \mathrm{ce}(h_0(x_i), y_i)
        + \frac{1}{BM} \sum_i w_i \sum_{m \ge 1} \mathrm{ce}(h_m(x_i), y_i)
        + \frac{\gamma}{U} \sum_j s_{\mathcal T}(x_j)

    over the B labelled rows i and the U unlabelled rows j of the batch. The first term alone moves the backbone:
    the gradient of the ensemble stops at its heads.

    Parameters
    ----------
    layers, gradients : lists of Layer
        Views of the parameters and of the gradient to overwrite (``Network.layers``).
    X : array of shape (B + U, d)
        Labelled rows first; U may be 0.
    codes, weights : arrays of shape (B,)
        Class index and weight of each labelled row.
    n_heads : int
        M, the number of ensemble heads.
    gamma : float
        Strength of the diversity term.
    """
    *backbone, head_layer = layers
    activations = [X]
    for layer in backbone:
        activations.append(_hidden(activations[-1], layer))  # (n, h)
    features = activations[-1]
    logits = features @ head_layer.weight
    logits += head_layer.bias
    logits = logits.reshape(len(X), 1 + n_heads, -1)  # (n, 1 + M, C)

    losses = _losses_and_logit_gradient(logits, codes, weights, gamma)
    n_labeled, n_classes = len(codes), logits.shape[-1]
    delta = logits.reshape(len(X), -1)  # (n, (1 + M) C), now the gradient of the logits
    _linear_gradient(features, delta, gradients[-1])

    # Only the prediction head's labelled rows go back through the backbone.
    delta = delta[:n_labeled, :n_classes] @ head_layer.weight[:, :n_classes].T  # (B, h)
    for depth in reversed(range(len(backbone))):
        delta *= activations[depth + 1][:n_labeled] > 0
        _linear_gradient(activations[depth][:n_labeled], delta, gradients[depth])
        if depth > 0:
            delta = delta @ backbone[depth].weight.T
    return losses


def _losses_and_logit_gradient(logits: Floats, codes: NDArray[np.intp], weights: Floats, gamma: float) -> Losses:
    """Losses from the logits (n, 1 + M, C), which are overwritten by their gradient."""
    n_labeled, n_heads = len(codes), logits.shape[1] - 1
    n_unlabeled = len(logits) - n_labeled
    rows = np.arange(n_labeled)

    logits -= logits.max(axis=-1, keepdims=True)
    true_logits = logits[rows, :, codes]  # (B, 1 + M)
    probs = np.exp(logits, out=logits)
    normalizer = probs.sum(axis=-1, keepdims=True)  # (n, 1 + M, 1)
    probs /= normalizer

    cross_entropy = np.log(normalizer[:n_labeled, :, 0]) - true_logits  # (B, 1 + M)
    head_losses = weights @ cross_entropy / n_labeled  # (1 + M,)

    labeled = probs[:n_labeled]
    labeled[rows, :, codes] -= 1
    labeled *= (weights / n_labeled)[:, None, None]
    labeled[:, 1:] /= n_heads

    if n_unlabeled == 0:
        return Losses(float(head_losses[0]), float(head_losses[1:].mean()), 0.0)
    probs[n_labeled:, 0] = 0
    head_probs = probs[n_labeled:, 1:]  # (U, M, C)
    others = head_probs.sum(axis=1, keepdims=True) - head_probs  # what the other heads say
    agreement = (head_probs * others).sum(axis=-1, keepdims=True)  # (U, M, 1)
    n_pairs = n_unlabeled * n_heads * (n_heads - 1)
    similarity = float(agreement.sum()) / n_pairs
    others -= agreement
    others *= 2 * gamma / n_pairs
    head_probs *= others
    return Losses(float(head_losses[0]), float(head_losses[1:].mean()), similarity)


def _hidden(X: Floats, layer: Layer) -> Floats:
    out = X @ layer.weight
    out += layer.bias
    return np.maximum(out, 0, out=out)


def _linear_gradient(inputs: Floats, delta: Floats, gradient: Layer) -> None:
    np.matmul(inputs.T, delta, out=gradient.weight)
    np.sum(delta, axis=0, out=gradient.bias)
