"""The network: its gradient against finite differences, its losses against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from chary.method.network import Network, default_hidden_sizes, loss_and_gradient


@st.composite
def problems(draw, min_unlabeled=0):
    """A float64 network and a batch: (network, X, codes, weights, gamma)."""
    n_labeled, n_unlabeled = draw(st.integers(1, 5)), draw(st.integers(min_unlabeled, 5))
    n_features, n_classes, n_heads = (
        draw(st.integers(1, 5)),
        draw(st.integers(2, 4)),
        draw(st.integers(2, 4)),
    )
    hidden_sizes = tuple(draw(st.lists(st.integers(1, 5), max_size=3)))
    network = Network(n_features, hidden_sizes, n_classes, n_heads, np.float64)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    network.initialize(rng)
    X = rng.standard_normal((n_labeled + n_unlabeled, n_features))
    codes = rng.integers(n_classes, size=n_labeled)
    weights = rng.exponential(size=n_labeled) if draw(st.booleans()) else np.ones(n_labeled)
    return network, X, codes, weights, draw(st.sampled_from([0.0, 0.5, 1.0, 10.0]))


def loss_and_flat_gradient(network, X, codes, weights, gamma):
    gradient = np.full_like(network.params, np.nan)  # a number left unwritten shows
    layers, gradients = network.layers(network.params), network.layers(gradient)
    losses = loss_and_gradient(layers, gradients, X, codes, weights, network.n_heads, gamma)
    return losses, gradient


def features_of(network, params, X):
    for weight, bias in network.layers(params)[:-1]:
        X = X @ weight + bias
        X = X * (X.real > 0)
    return X


def losses_by_definition(network, params, ensemble_features, X, codes, weights):
    """Compute the three terms head by head; the ensemble's heads see the given features."""
    n_labeled = len(codes)
    weight, bias = network.layers(params)[-1]

    def probs(features):
        exp = np.exp(
            (features @ weight + bias).reshape(len(X), 1 + network.n_heads, network.n_classes)
        )
        return exp / exp.sum(axis=-1, keepdims=True)

    def cross_entropy(probs):
        return -(weights * np.log(probs[np.arange(n_labeled), codes])).sum() / n_labeled

    supervised = cross_entropy(probs(features_of(network, params, X))[:n_labeled, 0])
    heads = [probs(ensemble_features)[:, 1 + m] for m in range(network.n_heads)]
    ensemble = np.mean([cross_entropy(head[:n_labeled]) for head in heads])
    if n_labeled == len(X):
        return supervised, ensemble, 0.0
    agreements = [
        (one * other)[n_labeled:].sum(axis=-1).mean() for one, other in combinations(heads, 2)
    ]
    return supervised, ensemble, np.mean(agreements)


@given(problems())
def test_losses_follow_their_definition(problem):
    network, X, codes, weights, _ = problem
    losses, _ = loss_and_flat_gradient(*problem)
    features = features_of(network, network.params, X)
    expected = losses_by_definition(network, network.params, features, X, codes, weights)
    assert_allclose(losses, expected, rtol=1e-12)


@settings(max_examples=60)
@given(problems())
def test_every_gradient_agrees_with_finite_differences(problem):
    """Differentiate along the imaginary axis, which cancels no digits: f'(x) = Im f(x + ih) / h."""
    network, X, codes, weights, gamma = problem
    _, gradient = loss_and_flat_gradient(*problem)
    # Frozen for the ensemble: its gradient stops there.
    features = features_of(network, network.params, X)
    step = 1e-20
    differences = np.empty_like(gradient)
    for i in range(len(differences)):
        params = network.params.astype(complex)
        params[i] += 1j * step
        supervised, ensemble, similarity = losses_by_definition(
            network, params, features, X, codes, weights
        )
        differences[i] = (supervised + ensemble + gamma * similarity).imag / step
    assert_allclose(gradient, differences, rtol=1e-6, atol=1e-13)


@given(problems(min_unlabeled=1), st.integers(0, 2**32))
def test_the_ensemble_leaves_the_backbone_alone(problem, seed):
    """Other heads, other gamma, no unlabelled rows: the backbone's gradient keeps every bit."""
    network, X, codes, weights, gamma = problem
    n_heads_params = sum(view.size for view in network.layers(network.params)[-1])
    _, before = loss_and_flat_gradient(*problem)
    rng = np.random.default_rng(seed)
    for view in network.layers(network.params)[-1]:
        view[..., network.n_classes :] = rng.standard_normal(view[..., network.n_classes :].shape)
    _, other_heads = loss_and_flat_gradient(network, X, codes, weights, gamma + 5)
    X_other = np.vstack([X[: len(codes)], rng.standard_normal(X[len(codes) :].shape)])
    _, other_rows = loss_and_flat_gradient(network, X_other, codes, weights, gamma)
    for after in (other_heads, other_rows):
        assert_array_equal(after[:-n_heads_params], before[:-n_heads_params])
    head_columns = slice(network.n_classes)
    for one, other in zip(network.layers(before)[-1], network.layers(other_heads)[-1], strict=True):
        # The prediction head's own.
        assert_array_equal(one[..., head_columns], other[..., head_columns])


def test_the_ensemble_alone_gives_the_backbone_a_zero_gradient():
    """Make labels that the prediction head is certain of; only the ensemble can learn more."""
    network = Network(3, (4,), 2, 3, np.float64)
    network.initialize(np.random.default_rng(0))
    network.layers(network.params)[-1].bias[:2] = 0, 1000
    X = np.random.default_rng(1).standard_normal((6, 3))
    losses, gradient = loss_and_flat_gradient(network, X, np.ones(4, dtype=int), np.ones(4), 1.0)
    backbone, heads = network.layers(gradient)
    assert losses.supervised == 0 < losses.ensemble
    assert not backbone.weight.any()
    assert not backbone.bias.any()
    assert heads.weight.any()


@given(problems())
def test_a_weight_is_a_number_of_copies(problem):
    network, X, codes, _, gamma = problem
    n_copies = 1 + np.arange(len(codes)) % 3
    X_copies = np.vstack([np.repeat(X[: len(codes)], n_copies, axis=0), X[len(codes) :]])
    weights = n_copies / n_copies.mean()
    _, weighted = loss_and_flat_gradient(network, X, codes, weights, gamma)
    ones = np.ones(n_copies.sum())
    _, copied = loss_and_flat_gradient(network, X_copies, np.repeat(codes, n_copies), ones, gamma)
    assert_allclose(weighted, copied, rtol=1e-9, atol=1e-14)


def test_large_logits_neither_overflow_nor_vanish():
    network = Network(1, (), 2, 2, np.float32)
    network.layers(network.params)[-1].weight[:] = [[-1, 1, -1, 1, 1, -1]]
    X = np.array([[1e4], [-1e4], [1e4]], dtype=np.float32)
    with np.errstate(all="raise", under="ignore"):
        losses, gradient = loss_and_flat_gradient(
            network, X, np.array([1, 1]), np.ones(2, np.float32), 1.0
        )
    assert losses.supervised == pytest.approx(1e4)
    assert losses.similarity == 0
    assert np.isfinite(gradient).all()


def test_default_hidden_sizes_are_the_papers():
    assert default_hidden_sizes(4) == default_hidden_sizes(50) == (128, 32)
    assert default_hidden_sizes(51) == (25, 12, 6)
    assert default_hidden_sizes(784) == (392, 196, 98)


def test_initial_weights_are_uniform_within_one_over_root_fan_in():
    network = Network(100, (400,), 10, 5)
    network.initialize(np.random.default_rng(0))
    for layer, fan_in in zip(network.layers(network.params), (100, 400), strict=True):
        for view in layer:
            scaled = view.ravel() * np.sqrt(fan_in)
            assert np.abs(scaled).max() <= 1.000001
            assert scaled.std() == pytest.approx(1 / np.sqrt(3), rel=0.1)


def test_the_number_of_heads_changes_no_other_draw():
    """The prediction head, the diverse heads that both have, and what is drawn next."""
    rng = np.random.default_rng(0)
    default = Network(3, (4,), 2, 5)
    default.initialize(rng)
    next_draw = rng.random()
    # The five default heads are drawn at once with the prediction head: 12 columns.
    at_once = np.random.default_rng(0)
    for layer, shape in zip(default.layers(default.params), [(3, 4), (4, 12)], strict=True):
        bound = 1 / np.sqrt(shape[0])
        assert_array_equal(layer.weight, np.float32(at_once.uniform(-bound, bound, shape)))
        assert_array_equal(layer.bias, np.float32(at_once.uniform(-bound, bound, shape[1])))

    for n_heads in (2, 10):
        rng = np.random.default_rng(0)
        network = Network(3, (4,), 2, n_heads)
        network.initialize(rng)
        assert rng.random() == next_draw
        backbone, heads = network.layers(network.params)
        assert_array_equal(backbone.weight, default.layers(default.params)[0].weight)
        n_shared = 2 * (1 + min(n_heads, 5))
        for one, other in zip(heads, default.layers(default.params)[-1], strict=True):
            assert_array_equal(one[..., :n_shared], other[..., :n_shared])
            assert len(np.unique(one)) == one.size


def test_logits_of_chosen_heads_are_those_of_all_heads():
    network = Network(3, (4,), 5, 2, np.float64)
    network.initialize(np.random.default_rng(0))
    X = np.random.default_rng(1).standard_normal((6, 3))
    logits = network.logits(X)
    assert logits.shape == (6, 3, 5)
    assert_allclose(network.logits(X, slice(1)), logits[:, :1], rtol=1e-13)
    assert_allclose(network.logits(X, slice(1, None)), logits[:, 1:], rtol=1e-13)
    assert network.logits(X[:0]).shape == (0, 3, 5)


def test_logits_are_products_and_biases_added():
    network = Network(2, (2,), 2, 1, np.float64)
    hidden, heads = network.layers(network.params)
    hidden.weight[:], hidden.bias[:] = [[1, 0], [0, 1]], [1, -5]
    heads.weight[:], heads.bias[:] = [[1, 2, 3, 4], [9, 9, 9, 9]], [10, 20, -30, 40]
    assert network.logits(np.array([[1.0, 2.0]])).tolist() == [
        [[12, 24], [-24, 48]]
    ]  # the second is cut at 0
    assert network.logits(np.array([[1.0, 2.0]]), slice(1, 2)).tolist() == [[[-24, 48]]]


def test_reordered_classes_bring_their_logits_along():
    for n_heads in [1, 2, 3]:
        network = Network(3, (4, 6), 3, n_heads, np.float64)
        network.initialize(np.random.default_rng(0))
        X = np.random.default_rng(1).standard_normal((6, 3))
        before = network.logits(X)
        network.reorder_classes(np.array([2, 0, 1]))
        assert_allclose(network.logits(X), before[..., [2, 0, 1]], rtol=1e-13)
