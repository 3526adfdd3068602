"""The paper's network in NumPy: layers, losses with exact gradients, and training by Adam.

All parameters live in one flat buffer; layers are views of it, and so are their gradients. An
optimiser then needs to know nothing of layers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import ceil, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from chary._arrays import Floats, Ints
from chary._threads import one_thread

# The rows of several training steps are fetched at once, as long as they hold at most this many
# numbers (8 MiB in float32).
_BLOCK_NUMBERS = 2**21
# Rows are scored in matrices of this many rows, because the products of small matrices are faster.
_MATRIX_ROWS = 128
# The prediction head is always drawn together with this many diverse heads, whatever the number of
# heads, so that it does not depend on that number. It is the default number of heads, because
# networks with that number should stay the same to the bit.
_FIRST_HEADS = 5


class Losses(NamedTuple):
    """The three terms of the loss on one batch: numbers here, tensors in ``chary.torch``."""

    supervised: Any  #: cross-entropy of the prediction head on labelled rows
    ensemble: Any  #: mean cross-entropy of the diverse heads on labelled rows
    similarity: Any  #: mean T-similarity of the diverse heads on unlabelled rows, -l_div

    def total(self, gamma: float = 1.0) -> Any:
        """Sum the terms; similarity counts ``gamma`` times."""
        return self.supervised + self.ensemble + gamma * self.similarity


class Layer(NamedTuple):
    """One linear layer."""

    weight: Floats  # (n_in, n_out)
    bias: Floats  # (n_out,)


def default_hidden_sizes(n_features: int) -> tuple[int, ...]:
    """Return the widths of the paper's backbone for d features.

    They are d//2, d//4 and d//8 for wide data, and 128 and 32 for d <= 50.
    """
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
        n_params = sum((n_in + 1) * n_out for n_in, n_out in pairwise(self.widths))
        self.params = np.zeros(n_params, dtype)

    @property
    def widths(self) -> tuple[int, ...]:
        """Widths of the inputs, of every hidden layer and of the heads' logits."""
        return self.n_features, *self.hidden_sizes, (1 + self.n_heads) * self.n_classes

    def layers(self, flat: Floats) -> list[Layer]:
        """View a flat buffer as layers; the last one holds the heads.

        The buffer holds the parameters or their gradient: the weight of the first layer, its bias,
        the weight of the second layer, and so on.
        """
        layers = []
        start = 0
        for n_in, n_out in pairwise(self.widths):
            weight_end = start + n_in * n_out
            bias_end = weight_end + n_out
            weight = flat[start:weight_end].reshape(n_in, n_out)
            layers.append(Layer(weight, bias=flat[weight_end:bias_end]))
            start = bias_end
        return layers

    def initialize(self, rng: np.random.Generator) -> None:
        """Draw weights and biases uniformly from +-1/sqrt(fan_in), fan_in the number of inputs.

        Neither the prediction head nor what ``rng`` draws next depends on the number of heads:
        ``rng`` always draws the prediction head and five diverse heads. Fewer are cut off; further
        ones come from another generator, which is seeded by those five.
        """
        *backbone, head_layer = self.layers(self.params)
        for layer in backbone:
            fan_in = len(layer.weight)
            bound = 1 / sqrt(fan_in)
            for numbers in layer:  # the weights (n_in, n_out), then the biases (n_out,)
                numbers[:] = rng.uniform(-bound, bound, numbers.shape)

        fan_in = len(head_layer.weight)
        bound = 1 / sqrt(fan_in)
        n_first = (1 + _FIRST_HEADS) * self.n_classes  # outputs of the first heads
        for numbers in head_layer:
            *n_inputs, n_outputs = numbers.shape
            first = rng.uniform(-bound, bound, (*n_inputs, n_first))
            seed_of_further = first.ravel().view(np.uint64)
            further_rng = np.random.default_rng(seed_of_further)
            # All outputs are drawn by the other generator, and then the first ones replaced.
            numbers[:] = further_rng.uniform(-bound, bound, numbers.shape)
            n_kept = min(n_first, n_outputs)
            numbers[..., :n_kept] = first[..., :n_kept]

    def reorder_classes(self, order: Ints) -> None:
        """Reorder the outputs of every head: class ``order[i]`` moves to i."""
        head_layer = self.layers(self.params)[-1]
        # Weight (h, (1 + M) C) and bias ((1 + M) C,) are views, so this changes ``params``.
        for weight_or_bias in head_layer:
            shape_by_class = (*weight_or_bias.shape[:-1], 1 + self.n_heads, self.n_classes)
            by_class = weight_or_bias.reshape(shape_by_class)
            by_class[:] = by_class[..., order]

    def astype(self, dtype: DTypeLike) -> Network:
        """Return a copy that computes in another precision."""
        copy = Network(self.n_features, self.hidden_sizes, self.n_classes, self.n_heads, dtype)
        copy.params[:] = self.params
        return copy

    def logits(self, X: Floats, heads: slice = slice(None)) -> Floats:
        """Compute the logits of the chosen heads, (n, number of heads, C).

        ``slice(1)`` is the prediction head alone.
        """
        # The part of the last layer that computes the outputs of the chosen heads.
        *backbone, head_layer = self.layers(self.params)
        chosen_heads = range(1 + self.n_heads)[heads]
        outputs = slice(chosen_heads.start * self.n_classes, chosen_heads.stop * self.n_classes)
        chosen_outputs = Layer(head_layer.weight[:, outputs], head_layer.bias[outputs])

        values = _columns_of_matrices(X.astype(self.params.dtype, copy=False))
        for layer in backbone:
            values = _apply_to_columns(layer, values)  # (matrices, h, 128)
            np.maximum(values, 0.0, out=values)
        values = _apply_to_columns(chosen_outputs, values)  # (matrices, heads C, 128)

        # The rows of all matrices are put side by side again, and the padding is cut off.
        by_output = values.transpose(1, 0, 2).reshape(len(chosen_heads), self.n_classes, -1)
        n_rows = len(X)
        return by_output[..., :n_rows].transpose(2, 0, 1)  # (n, heads, C)


def _columns_of_matrices(X: Floats) -> Floats:
    """Cut rows (n, d) into matrices of 128 rows, each row a column: (matrices, d, 128).

    So the rows of one output stand side by side in memory. The last matrix is filled up with zeros.
    """
    n_rows, n_features = X.shape
    n_matrices = ceil(n_rows / _MATRIX_ROWS)
    padded = np.zeros((n_matrices * _MATRIX_ROWS, n_features), X.dtype)
    padded[:n_rows] = X
    matrices = padded.reshape(n_matrices, _MATRIX_ROWS, n_features)
    return np.ascontiguousarray(matrices.transpose(0, 2, 1))


def _apply_to_columns(layer: Layer, values: Floats) -> Floats:
    """Apply a layer to the columns of matrices.

    (matrices, n_in, rows) become (matrices, n_out, rows).
    """
    outputs = np.ascontiguousarray(layer.weight.T) @ values
    outputs += layer.bias[:, None]
    return outputs


def loss_and_gradient(
    layers: list[Layer],
    gradients: list[Layer],
    X: Floats,
    codes: Ints,
    weights: Floats,
    n_heads: int,
    gamma: float,
) -> Losses:
    r"""Compute the losses on a batch, and the gradient of their total.

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
    # Forward.
    *backbone, head_layer = layers
    activations = [X]
    for layer in backbone:
        hidden = activations[-1] @ layer.weight  # (n, h)
        hidden += layer.bias
        activations.append(np.maximum(hidden, 0, out=hidden))
    features = activations[-1]
    outputs = features @ head_layer.weight  # (n, (1 + M) C)
    outputs += head_layer.bias
    logits = outputs.reshape(len(X), 1 + n_heads, -1)  # (n, 1 + M, C), a view

    # Backward; ``outputs`` becomes the gradient of the logits.
    losses = _losses_and_logit_gradient(logits, codes, weights, gamma)
    _linear_gradient(features, outputs, gradients[-1])

    # Only the prediction head, whose outputs come first, on labelled rows, which come first, sends
    # a gradient back through the backbone. ``delta`` is the gradient of what a layer hands on.
    n_labeled = len(codes)
    n_classes = logits.shape[-1]
    delta = outputs[:n_labeled, :n_classes] @ head_layer.weight[:, :n_classes].T  # (B, h)
    for depth in reversed(range(len(backbone))):
        # The layer at ``depth`` leads from activations[depth] to activations[depth + 1]. ReLU lets
        # the gradient through where its output is above 0.
        delta *= activations[depth + 1][:n_labeled] > 0
        _linear_gradient(activations[depth][:n_labeled], delta, gradients[depth])
        if depth > 0:
            delta = delta @ backbone[depth].weight.T
    return losses


def _losses_and_logit_gradient(
    logits: Floats, codes: Ints, weights: Floats, gamma: float
) -> Losses:
    """Compute losses from logits (n, 1 + M, C), overwritten by their gradient."""
    # The logits become probabilities in place, so those of the true classes are kept before.
    n_labeled = len(codes)
    rows = np.arange(n_labeled)
    logits -= logits.max(axis=-1, keepdims=True)
    true_logits = logits[rows, :, codes]  # (B, 1 + M)
    probs = np.exp(logits, out=logits)
    normalizer = probs.sum(axis=-1, keepdims=True)  # (n, 1 + M, 1)
    probs /= normalizer

    # A cross-entropy is minus the logarithm of the probability of the true class.
    cross_entropy = np.log(normalizer[:n_labeled, :, 0]) - true_logits  # (B, 1 + M)
    head_losses = weights @ cross_entropy / n_labeled  # (1 + M,)

    # Labelled rows: the gradient of a cross-entropy is the probabilities less the one-hot label,
    # written over the probabilities.
    gradient = probs[:n_labeled]  # (B, 1 + M, C), a view
    gradient[rows, :, codes] -= 1
    gradient *= (weights / n_labeled)[:, None, None]
    # The ensemble term is a mean over the M diverse heads.
    n_diverse_heads = len(head_losses) - 1
    gradient[:, 1:] /= n_diverse_heads

    # Unlabelled rows train the diverse heads only: the prediction head gets the gradient 0.
    similarity = 0.0
    if len(probs) > n_labeled:
        probs[n_labeled:, 0] = 0
        similarity = _similarity_and_logit_gradient(probs[n_labeled:, 1:], gamma)
    return Losses(float(head_losses[0]), float(head_losses[1:].mean()), similarity)


def _similarity_and_logit_gradient(probs: Floats, gamma: float) -> float:
    r"""Compute the mean T-similarity of the diverse heads, and write its gradient over ``probs``.

    ``probs`` (U, M, C) are the probabilities :math:`h_m` of the heads on unlabelled rows. The
    gradient is that of :math:`\gamma` times the mean T-similarity, with respect to the logits of
    each head, before its softmax. With :math:`o_m = \sum_{k \ne m} h_k`, the sum of all other
    heads, it is :math:`2 \gamma \, h_m \, (o_m - h_m^\top o_m) / (U M (M - 1))`.
    """
    n_rows, n_heads, _ = probs.shape
    n_pairs = n_rows * n_heads * (n_heads - 1)
    sum_of_others = probs.sum(axis=1, keepdims=True) - probs  # (U, M, C) o_m
    agreement = (probs * sum_of_others).sum(axis=-1, keepdims=True)  # (U, M, 1) h_m^T o_m
    similarity = float(agreement.sum()) / n_pairs

    factor = np.subtract(sum_of_others, agreement, out=sum_of_others)  # (U, M, C)
    factor *= 2 * gamma / n_pairs
    probs *= factor
    return similarity


def _linear_gradient(inputs: Floats, delta: Floats, gradient: Layer) -> None:
    """Write the gradient of a layer's weight and bias.

    ``inputs`` (n, n_in) are what the layer was given, and ``delta`` (n, n_out) is the gradient of
    its outputs.
    """
    np.matmul(inputs.T, delta, out=gradient.weight)
    np.sum(delta, axis=0, out=gradient.bias)


def train(
    network: Network,
    fetch: Callable[[Ints], Floats],
    labeled: Ints,
    codes: Ints,
    weights: Floats,
    unlabeled: Ints,
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
    labeled_batches = draw_batches(len(labeled), batch_size, n_steps, rng)  # (n_steps, B)
    unlabeled_batches = draw_batches(len(unlabeled), unlabeled_batch_size, n_steps, rng)
    rows = np.hstack([labeled[labeled_batches], unlabeled[unlabeled_batches]])  # (n_steps, B + U)

    gradient = np.empty_like(network.params)
    layers = network.layers(network.params)
    gradients = network.layers(gradient)
    optimizer = Adam(network.params, learning_rate, weight_decay)
    losses = np.empty((n_steps, 3))
    steps_per_block = max(1, _BLOCK_NUMBERS // (rows.shape[1] * network.n_features))

    # Overflow is looked for once, at the end.
    with one_thread("blas"), np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, n_steps, steps_per_block):
            block = rows[start : start + steps_per_block]  # (steps, B + U)
            X_block = fetch(block.ravel()).reshape(*block.shape, -1)  # (steps, B + U, d)
            for step, X in enumerate(X_block, start):
                batch = labeled_batches[step]
                losses[step] = loss_and_gradient(
                    layers, gradients, X, codes[batch], weights[batch], network.n_heads, gamma
                )
                optimizer.step(gradient)

    for numbers in (losses, network.params, optimizer.second_moment):
        if not np.isfinite(numbers).all():
            raise ValueError(
                "Training diverged: numbers grew beyond what their type can hold; "
                "lower learning_rate, weight_decay or gamma, or rescale X (standardize=True does)."
            )
    return losses


def draw_batches(n_rows: int, size: int, n_steps: int, rng: np.random.Generator) -> Ints:
    """Draw row numbers for every step, (n_steps, min(size, n_rows)).

    All rows are shuffled again and again, these passes are laid end to end, and the batches are cut
    from them. Below, two passes, 2 0 1 and 2 1 0, give three batches of two rows:

    >>> draw_batches(3, 2, 3, np.random.default_rng(0))
    array([[2, 0],
           [1, 2],
           [1, 0]])
    """
    size = min(size, n_rows)
    if size == 0:
        return np.empty((n_steps, 0), dtype=np.intp)
    n_drawn = n_steps * size
    n_passes = ceil(n_drawn / n_rows)
    unshuffled = np.tile(np.arange(n_rows), (n_passes, 1))  # (n_passes, n_rows)
    passes = rng.permuted(unshuffled, axis=1)  # each line is shuffled on its own
    return passes.ravel()[:n_drawn].reshape(n_steps, size)


class Adam:
    r"""Adam with decoupled weight decay on one flat buffer, all in place.

    With gradients g and step t the update is

    .. math:: \theta \leftarrow \theta - \eta \, \frac{m / (1 - \beta_1^t)}
        {\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    with :math:`m = (1 - \beta_1) \sum_s \beta_1^{t-s} g_s`, and v likewise from :math:`\beta_2` and
    :math:`g_s^2`.

    ``first_moment`` and ``second_moment`` hold the sums alone, without the factors :math:`1 -
    \beta`. These and the denominators :math:`1 - \beta^t` are numbers that are the same for the
    whole buffer, so ``step`` multiplies the step size and epsilon by them instead. A step then
    takes ten passes over the buffer and no temporary array.
    """

    beta1 = 0.9
    beta2 = 0.999
    epsilon = 1e-8

    def __init__(self, params: Floats, learning_rate: float, weight_decay: float = 0.0) -> None:
        self.params = params
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = 0
        self.first_moment = np.zeros_like(params)  # m / (1 - beta1)
        self.second_moment = np.zeros_like(params)  # v / (1 - beta2)

    def step(self, gradient: Floats) -> None:
        """Update the parameters; ``gradient`` is used as scratch space."""
        # The corrected moments are ``mean_factor`` times the first and the square of ``rms_factor``
        # times the second.
        self.n_steps += 1
        mean_factor = (1 - self.beta1) / (1 - self.beta1**self.n_steps)
        rms_factor = sqrt((1 - self.beta2) / (1 - self.beta2**self.n_steps))
        if self.weight_decay:
            self.params *= 1 - self.learning_rate * self.weight_decay

        self.first_moment *= self.beta1
        self.first_moment += gradient
        np.square(gradient, out=gradient)
        self.second_moment *= self.beta2
        self.second_moment += gradient

        # eta * mean_factor * first / (rms_factor * sqrt(second) + epsilon), with numerator and
        # denominator divided by ``rms_factor``.
        update = np.sqrt(self.second_moment, out=gradient)
        update += self.epsilon / rms_factor
        np.divide(self.first_moment, update, out=update)
        update *= self.learning_rate * mean_factor / rms_factor
        self.params -= update
