"""Rows, class codes and an initialised network in; the network trained and the losses of every step out."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from chary.method.network import Floats, Network, loss_and_gradient
from chary.method.threads import one_thread

# Rows of many steps are fetched at once, up to this many numbers (8 MiB in float32).
_BLOCK_NUMBERS = 2**21


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

    The steps run on one BLAS thread: their matrices are so small that more threads wait for each other longer than
    they work. The result is therefore the same to the bit whatever the number of threads before (as long as no
    other Python thread sets it meanwhile: it is one number for the whole process, put back at the end).

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
    extra = unlabeled[draw_batches(len(unlabeled), unlabeled_batch_size, n_steps, rng)]  # (n_steps, U)
    numbers = np.hstack([labeled[picks], extra])  # (n_steps, B + U)

    gradient = np.empty_like(network.params)
    layers, gradients = network.layers(network.params), network.layers(gradient)
    optimizer = Adam(network.params, learning_rate, weight_decay)
    losses = np.empty((n_steps, 3))
    steps_per_block = max(1, _BLOCK_NUMBERS // (numbers.shape[1] * network.n_features))
    with one_thread("blas"), np.errstate(over="ignore", invalid="ignore"):  # checked once, at the end
        for start in range(0, n_steps, steps_per_block):
            block = numbers[start : start + steps_per_block]
            X_block = fetch(block.ravel()).reshape(*block.shape, -1)  # (steps, B + U, d)
            for step, X_batch in enumerate(X_block, start):
                batch = picks[step]
                losses[step] = loss_and_gradient(
                    layers, gradients, X_batch, codes[batch], weights[batch], network.n_heads, gamma
                )
                optimizer.step(gradient)
    _refuse_divergence(losses, network.params, optimizer.second)
    return losses


def _refuse_divergence(losses: NDArray[np.float64], params: Floats, second_moment: Floats) -> None:
    if not all(np.isfinite(numbers).all() for numbers in (losses, params, second_moment)):
        raise ValueError(
            "Training diverged: numbers grew beyond what their type can hold; "
            "lower learning_rate, weight_decay or gamma, or rescale X (standardize=True does)."
        )


def draw_batches(n_rows: int, size: int, n_steps: int, rng: np.random.Generator) -> NDArray[np.intp]:
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

    The moments are kept without their factors 1 - beta, which the step size and epsilon take up instead: ten
    passes over the buffer a step and no temporary.
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
