"""The training loop: its optimiser against PyTorch's, its batches against what they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from chary.method import network as training
from chary.method.network import Adam, Losses, Network, draw_batches, train


def test_adam_steps_as_in_pytorch():
    for learning_rate in [1e-3, 0.5]:
        for weight_decay in [0.0, 0.1]:
            torch = pytest.importorskip("torch")
            rng = np.random.default_rng(0)
            params = rng.standard_normal(50)
            theirs = torch.tensor(params, requires_grad=True)
            reference = torch.optim.AdamW([theirs], lr=learning_rate, weight_decay=weight_decay)
            ours = Adam(params, learning_rate, weight_decay)
            for step in range(200):
                gradient = rng.standard_normal(50) * 10.0 ** rng.integers(-12, 4)
                gradient[step % 50] = 0
                theirs.grad = torch.tensor(gradient)
                reference.step()
                ours.step(gradient.copy())
                assert_allclose(params, theirs.detach().numpy(), rtol=1e-10, atol=1e-13)


@given(st.integers(1, 40), st.integers(1, 50), st.integers(1, 30), st.integers(0, 2**32))
def test_batches_are_shuffled_passes_end_to_end(n_rows, size, n_steps, seed):
    batches = draw_batches(n_rows, size, n_steps, np.random.default_rng(seed))
    assert batches.shape == (n_steps, min(size, n_rows))
    drawn = batches.ravel()
    for start in range(0, len(drawn), n_rows):
        one_pass = drawn[start : start + n_rows]
        assert len(np.unique(one_pass)) == len(one_pass)  # none twice before all once
        assert ((one_pass >= 0) & (one_pass < n_rows)).all()
    counts = np.bincount(drawn, minlength=n_rows)
    assert counts.max() - counts.min() <= 1


def test_every_row_is_as_likely_in_every_place():
    rng = np.random.default_rng(0)
    first = np.array([draw_batches(4, 2, 1, rng)[0] for _ in range(4000)])
    for place in first.T:
        assert_allclose(np.bincount(place) / 4000, 1 / 4, atol=0.03)


def test_passes_are_shuffled_anew():
    batches = draw_batches(20, 20, 3, np.random.default_rng(0))
    assert (batches[0] != batches[1]).any()
    assert (batches[1] != batches[2]).any()


def blobs(n=60, n_labeled=20, dtype=np.float32):
    """Two clouds, the first rows labelled: what ``train`` is given beside a network."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 2
    X = (rng.standard_normal((n, 3)) + 8 * codes[:, None]).astype(dtype)
    ones = np.ones(n_labeled, dtype)
    return X.__getitem__, np.arange(n_labeled), codes[:n_labeled], ones, np.arange(n_labeled, n)


def trained(*data, hidden_sizes=(8,), seed=0, dtype=np.float32, **options):
    network = Network(3, hidden_sizes, 2, 3, dtype)
    rng = np.random.default_rng(seed)
    network.initialize(rng)
    return network, train(network, *data, rng=rng, **options)


def test_training_separates_two_clouds():
    fetch, labeled, codes, weights, unlabeled = blobs()
    network, losses = trained(
        fetch, labeled, codes, weights, unlabeled, n_steps=300, learning_rate=1e-2
    )
    assert losses.shape == (300, 3)
    assert losses[0, 0] > 0.4 > 0.05 > losses[-1, 0]
    predicted = network.logits(fetch(unlabeled))[:, 0].argmax(axis=1)
    assert_array_equal(predicted, unlabeled % 2)


def test_what_is_not_said_is_as_in_the_paper():
    """No decay of weights, and similarity counts once."""
    usual, said = (
        trained(*blobs(), n_steps=20, **options)[0]
        for options in ({}, {"weight_decay": 0, "gamma": 1})
    )
    assert_array_equal(usual.params, said.params)
    assert (Losses(1, 2, 4).total(), Losses(1, 2, 4).total(0.5)) == (7, 5)


def test_gamma_makes_the_heads_disagree_on_unlabelled_rows():
    quiet = trained(*blobs(), gamma=0.0)[1]
    diverse = trained(*blobs(), gamma=1.0)[1]
    assert diverse[-50:, 2].mean() < quiet[-50:, 2].mean() - 0.1
    assert_array_equal(diverse[:, 0], quiet[:, 0])  # the prediction head does not notice


def test_without_unlabelled_rows_there_is_no_similarity():
    fetch, labeled, codes, weights, _ = blobs()
    _, losses = trained(fetch, labeled, codes, weights, labeled[:0], n_steps=5)
    assert losses[:, 0].all()
    assert not losses[:, 2].any()


def test_rows_of_weight_zero_teach_nothing():
    fetch, labeled, codes, weights, unlabeled = blobs()
    weights[::2] = 0
    wrong = np.where(weights == 0, 1 - codes, codes)
    one, _ = trained(fetch, labeled, codes, weights, unlabeled, n_steps=20)
    other, _ = trained(fetch, labeled, wrong, weights, unlabeled, n_steps=20)
    assert_array_equal(one.params, other.params)


def test_fetching_in_blocks_changes_nothing(monkeypatch):
    at_once, _ = trained(*blobs(), n_steps=20)
    monkeypatch.setattr(training, "_BLOCK_NUMBERS", 1)
    step_by_step, _ = trained(*blobs(), n_steps=20)
    assert_array_equal(at_once.params, step_by_step.params)


def test_divergence_is_an_error_that_says_what_to_lower():
    for options in [{"learning_rate": 1e30}, {"gamma": 1e30}, {"weight_decay": 1e9}]:
        with pytest.raises(
            ValueError, match=r"Training diverged.*lower learning_rate, weight_decay or gamma"
        ):
            trained(*blobs(), n_steps=30, **options)


# --- Threads --------------------------------------------------------------------------------------


def n_blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        assert n_blas_threads() == {2}
        yield
        assert n_blas_threads() == {2}


def test_training_takes_one_blas_thread_and_gives_the_others_back(two_threads):
    fetch, *data = blobs()
    seen = []
    trained(lambda rows: seen.append(n_blas_threads()) or fetch(rows), *data, n_steps=2)
    assert seen == [{1}]
    assert n_blas_threads() == {2}


def test_threads_are_given_back_after_an_error(two_threads):
    fetch, *data = blobs()

    def fail(rows):
        assert n_blas_threads() == {1}
        raise OSError("no such row")

    with pytest.raises(OSError, match="no such row"):
        trained(fail, *data)
    assert n_blas_threads() == {2}
    with pytest.raises(ValueError, match="diverged"):
        trained(fetch, *data, learning_rate=1e30, n_steps=30)
    assert n_blas_threads() == {2}


def test_the_number_of_threads_before_changes_no_bit():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 300)).astype(np.float32)
    codes, ones, rows = np.arange(100) % 2, np.ones(100, np.float32), np.arange(200)
    weights = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            network = Network(300, (256, 64), 2, 3)
            network.initialize(np.random.default_rng(0))
            options = {"batch_size": 100, "unlabeled_batch_size": 100, "n_steps": 5}
            train(
                network,
                X.__getitem__,
                rows[:100],
                codes,
                ones,
                rows[100:],
                rng=np.random.default_rng(0),
                **options,
            )
            weights.append(network.params)
    assert_array_equal(*weights)
