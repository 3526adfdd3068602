"""The paper's network in NumPy: layers, losses with exact gradients, and training by Adam.

All parameters live in one flat buffer; layers are views of it, and so are their gradients. An
optimiser then needs to know nothing of layers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from chary._threads import one_thread
from chary.method.confidence import Floats

# Rows of many training steps are fetched at once, up to this many numbers (8 MiB in float32).
_BLOCK_NUMBERS = 2**21
# Rows that go through the layers in one matrix when they are scored: small products are the quicker
# ones.
_MATRIX_ROWS = 128


class Losses(NamedTuple):
    """The three terms of the loss on one batch: numbers here, tensors in ``chary.torch``."""

    supervised: Any  #: cross-entropy of the prediction head on labelled rows
    ensemble: Any  #: mean cross-entropy of the diverse heads on labelled rows
    similarity: Any  #: mean T-similarity of the diverse heads on unlabelled rows

    def total(self, gamma: float = 1.0) -> Any:
        """What training minimises: similarity counts ``gamma`` times."""
        return self.supervised + self.ensemble + gamma * self.similarity


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
        self.params = np.zeros(sum(prod(shape) for shape in self.shapes()), dtype)

    def shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the weights and biases, layer by layer."""
        widths = (self.n_features, *self.hidden_sizes, (1 + self.n_heads) * self.n_classes)
        return [shape for n_in, n_out in pairwise(widths) for shape in ((n_in, n_out), (n_out,))]

    @property
    def widest(self) -> int:
        """Size of the longest vector that a row becomes on its way."""
        return max(self.n_features, *self.hidden_sizes, (1 + self.n_heads) * self.n_classes)

    def layers(self, flat: Floats) -> list[Layer]:
        """Views of a flat buffer (parameters or gradient) as layers; the last one holds the heads."""
        shapes = self.shapes()
        ends = np.cumsum([prod(shape) for shape in shapes])
        views = [
            flat[end - prod(shape) : end].reshape(shape)
            for shape, end in zip(shapes, ends, strict=True)
        ]
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
        """Logits of the chosen heads, (n, number of heads, C); ``slice(1)`` is the prediction head alone.

        Rows are columns of matrices here, so that one output of all rows is one run of memory.
        """
        n_rows, chosen = len(X), range(1 + self.n_heads)[heads]
        wanted = slice(chosen.start * self.n_classes, chosen.stop * self.n_classes)
        padded = np.zeros(
            (-(-n_rows // _MATRIX_ROWS), _MATRIX_ROWS, self.n_features), self.params.dtype
        )
        padded.reshape(-1, self.n_features)[:n_rows] = X
        values = np.ascontiguousarray(padded.transpose(0, 2, 1))  # (matrices, d, rows of each)
        *backbone, (weight, bias) = self.layers(self.params)
        for layer in backbone:
            values = np.ascontiguousarray(layer.weight.T) @ values
            values += layer.bias[:, None]
            np.maximum(values, 0.0, out=values)
        values = np.ascontiguousarray(weight[:, wanted].T) @ values
        values += bias[wanted, None]
        outputs = values.transpose(1, 0, 2).reshape(values.shape[1], len(values) * _MATRIX_ROWS)[
            :, :n_rows
        ]
        return outputs.reshape(len(chosen), self.n_classes, n_rows).transpose(2, 0, 1)


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

    over the B labelled rows i and the U unlabelled rows j of the batch. The first term alone moves
    the backbone: the gradient of the ensemble stops at its heads.

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
        hidden = activations[-1] @ layer.weight  # (n, h)
        hidden += layer.bias
        activations.append(np.maximum(hidden, 0, out=hidden))
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


def _losses_and_logit_gradient(
    logits: Floats, codes: NDArray[np.intp], weights: Floats, gamma: float
) -> Losses:
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


def _linear_gradient(inputs: Floats, delta: Floats, gradient: Layer) -> None:
    np.matmul(inputs.T, delta, out=gradient.weight)
    np.sum(delta, axis=0, out=gradient.bias)


def train(
    network: Network,
    fetch: Callable[[NDArray[np.intp]], Floats],
    labeled: NDArray[np.intp],
    codes: NDArray[np.intp],
    weights: Floats,
    unlabeled: NDArray[np.intp],
    *,
    gamma: float = 1.0,
    learning_rate: float = 1e-3,
    weight_decay: float = 0.0,
    n_steps: int = 500,
    batch_size: int = 32,
    unlabeled_batch_size: int = 32,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """Train a network in place by mini-batches and Adam.

    The steps run on one BLAS thread: their matrices are so small that more threads wait for each
    other longer than they work. The result is therefore the same to the bit whatever the number of
    threads before.

    Parameters
    ----------
    network : Network
        Initialised; its ``params`` are updated.
    fetch : callable
        Row numbers (k,) -> rows (k, d), as the network is to see them.
    labeled, codes, weights : arrays of shape (n_labeled,)
        Row number, class index and weight of every labelled row.
    unlabeled : array of shape (n_unlabeled,)
        Row numbers of the unlabelled rows; may be empty, and then there is no diversity term.
    gamma, learning_rate, weight_decay, n_steps, batch_size, unlabeled_batch_size
        As in ``DiverseEnsembleClassifier``.
    rng : Generator
        Orders the rows.

    Returns
    -------
    array of shape (n_steps, 3)
        The terms of ``Losses`` on the batch of every step.
    """
    picks = draw_batches(len(labeled), batch_size, n_steps, rng)  # (n_steps, B)
    extra = unlabeled[
        draw_batches(len(unlabeled), unlabeled_batch_size, n_steps, rng)
    ]  # (n_steps, U)
    numbers = np.hstack([labeled[picks], extra])  # (n_steps, B + U)

    gradient = np.empty_like(network.params)
    layers, gradients = network.layers(network.params), network.layers(gradient)
    optimizer = Adam(network.params, learning_rate, weight_decay)
    losses = np.empty((n_steps, 3))
    steps_per_block = max(1, _BLOCK_NUMBERS // (numbers.shape[1] * network.n_features))
    with (
        one_thread("blas"),
        np.errstate(over="ignore", invalid="ignore"),
    ):  # checked once, at the end
        for start in range(0, n_steps, steps_per_block):
            block = numbers[start : start + steps_per_block]
            X_block = fetch(block.ravel()).reshape(*block.shape, -1)  # (steps, B + U, d)
            for step, X_batch in enumerate(X_block, start):
                batch = picks[step]
                losses[step] = loss_and_gradient(
                    layers, gradients, X_batch, codes[batch], weights[batch], network.n_heads, gamma
                )
                optimizer.step(gradient)
    if not all(
        np.isfinite(numbers).all() for numbers in (losses, network.params, optimizer.second)
    ):
        raise ValueError(
            "Training diverged: numbers grew beyond what their type can hold; "
            "lower learning_rate, weight_decay or gamma, or rescale X (standardize=True does)."
        )
    return losses


def draw_batches(
    n_rows: int, size: int, n_steps: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Row numbers for every step, (n_steps, min(size, n_rows)): shuffled passes over all rows, end to end.

    >>> draw_batches(3, 2, 3, np.random.default_rng(0))
    array([[2, 0],
           [1, 2],
           [1, 0]])
    """
    size = min(size, n_rows)
    if size == 0:
        return np.empty((n_steps, 0), dtype=np.intp)
    n_passes = ceil(n_steps * size / n_rows)
    passes = rng.permuted(np.tile(np.arange(n_rows), (n_passes, 1)), axis=1)
    return passes.ravel()[: n_steps * size].reshape(n_steps, size)


class Adam:
    """Adam with decoupled weight decay on one flat buffer, all in place.

    The moments are kept without their factors 1 - beta, which the step size and epsilon take up
    instead: ten passes over the buffer a step and no temporary.
    """

    beta1, beta2, epsilon = 0.9, 0.999, 1e-8

    def __init__(self, params: Floats, learning_rate: float, weight_decay: float = 0.0) -> None:
        self.params = params
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = 0
        self.first = np.zeros_like(params)
        self.second = np.zeros_like(params)

    def step(self, gradient: Floats) -> None:
        """Update the parameters; ``gradient`` is used as scratch space."""
        self.n_steps += 1
        rms_factor = sqrt((1 - self.beta2) / (1 - self.beta2**self.n_steps))
        mean_factor = (1 - self.beta1) / (1 - self.beta1**self.n_steps)
        if self.weight_decay:
            self.params *= 1 - self.learning_rate * self.weight_decay
        self.first *= self.beta1
        self.first += gradient
        np.square(gradient, out=gradient)
        self.second *= self.beta2
        self.second += gradient
        np.sqrt(self.second, out=gradient)
        gradient += self.epsilon / rms_factor
        np.divide(self.first, gradient, out=gradient)
        gradient *= self.learning_rate * mean_factor / rms_factor
        self.params -= gradient
