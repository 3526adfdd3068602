"""FixMatchTrainer: its loss by hand, FreeMatch's thresholds, and what it does to a network."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_blobs
from torch import nn
from torch.nn import functional

from chary.method.confidence import t_similarity
from chary.torch.classifier import TorchDiverseClassifier
from chary.torch.fixmatch import AdaptiveThresholds, FixMatchTrainer

# Most trainings here are of a few steps, after which a network may name any class.
pytestmark = pytest.mark.filterwarnings("ignore:The rows are predicted")

B, U = 8, 16


def blobs(n_labeled=12):
    X, y_true = make_blobs(150, 4, centers=3, cluster_std=2.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = y_true.copy()
    y[n_labeled:] = -1
    return X, y, y_true


def backbone():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU())


def noise(X):
    return X + 0.3 * torch.randn_like(X)


def classifier(**params):
    defaults = {"n_steps": 40, "batch_size": B, "unlabeled_batch_size": U, "random_state": 0, "device": "cpu"}
    return TorchDiverseClassifier(backbone, **{**defaults, **params})


class Named:
    """A function that shows its name and not its address, so that every test process collects the same tests."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments):
        return self.function(*arguments)

    def __repr__(self):
        return self.function.__name__


def lazy_backbone():
    return nn.Sequential(nn.LazyLinear(16), nn.ReLU())


contract = TorchDiverseClassifier(
    Named(lazy_backbone),
    n_steps=40,
    learning_rate=0.05,
    dtype="float64",
    unlabeled=None,
    random_state=0,
    device="cpu",
)


@pytest.mark.parametrize(("confidence", "threshold"), [("softmax", 0.4), ("t_similarity", 0.331)])
def test_the_loss_by_hand(confidence, threshold):
    """One step on fixed views, whose loss is worked out row by row from the weights it started with."""
    X, y, _ = blobs()
    seen = []

    def strong(batch):
        return batch * 0.5

    def weak(batch):
        seen.append(batch.clone())
        return batch + 0.25

    first = classifier(
        n_steps=1, dtype="float64", learning_rate=1e-300
    )  # does not move: weights are the first ones
    trainer = FixMatchTrainer(
        first, strong, weak, confidence=confidence, threshold=threshold, consistency_weight=3.0
    ).fit(X, y)
    labeled, unlabeled = seen
    network = trainer.classifier_.network_

    def log_probs(batch):
        with torch.no_grad():
            logits, head_logits = network(batch)
        return functional.log_softmax(logits, -1).numpy(), functional.softmax(head_logits, -1).numpy()

    weak_log_probs, weak_heads = log_probs(unlabeled + 0.25)
    strong_log_probs, _ = log_probs(unlabeled * 0.5)
    trust = t_similarity(weak_heads) if confidence == "t_similarity" else np.exp(weak_log_probs).max(axis=1)
    labels = weak_log_probs.argmax(axis=1)
    by_hand = [-strong_log_probs[j, labels[j]] if trust[j] >= threshold else 0.0 for j in range(U)]
    truth = [int(np.flatnonzero((X[:12] == row.numpy()).all(axis=1))[0]) for row in labeled]
    supervised = [-log_probs(labeled + 0.25)[0][i, y[row]] for i, row in enumerate(truth)]

    curve = {name: values.item() for name, values in trainer.classifier_.loss_curve_.items()}
    assert 0 < np.count_nonzero(by_hand) < U  # some rows are trusted and some are not
    assert curve["consistency"] == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert curve["accepted"] == np.mean(trust >= threshold)
    assert curve["similarity"] == pytest.approx(t_similarity(weak_heads).mean(), abs=1e-12)
    assert curve["supervised"] == pytest.approx(np.mean(supervised), abs=1e-12)


def test_consistency_moves_the_backbone_and_a_weight_of_zero_does_not():
    X, y, _ = blobs()

    def first_weight(consistency_weight):
        base = classifier(dtype="float64")
        trainer = FixMatchTrainer(base, noise, threshold=0.3, consistency_weight=consistency_weight).fit(X, y)
        return trainer.classifier_.network_.backbone[0].weight

    plain = classifier(dtype="float64").fit(X, y).network_.backbone[0].weight
    torch.testing.assert_close(first_weight(0.0), plain, rtol=0, atol=1e-12)
    assert not torch.allclose(first_weight(1.0), plain, atol=1e-4)


def test_it_makes_strong_views_agree_with_weak_ones():
    X, y, y_true = blobs()
    base = classifier(n_steps=150, learning_rate=1e-2)
    trainer = FixMatchTrainer(base, noise, confidence="softmax", threshold=0.8).fit(X, y)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        noisy = noise(torch.as_tensor(X).repeat(20, 1)).numpy()
    agreement = [
        (np.tile(model.predict(X), 20) == model.predict(noisy)).mean()
        for model in (clone(base).fit(X, y), trainer)
    ]
    assert agreement[1] > agreement[0]
    assert trainer.classifier_.loss_curve_["accepted"][-50:].mean() > 0.5
    assert (trainer.predict(X) == y_true).mean() > 0.9


def test_adaptive_thresholds_by_hand():
    adaptive = AdaptiveThresholds()
    tau, p = 0.5, np.array([0.5, 0.5])
    for confidence, share in ((0.9, 0.8), (0.1, 0.6), (0.3, 0.7)):
        probs = torch.tensor([[share, 1 - share]] * 3)
        found = adaptive.updated(torch.full((3,), confidence), probs)
        tau, p = 0.99 * tau + 0.01 * confidence, 0.99 * p + 0.01 * np.array([share, 1 - share])
        assert found.numpy() == pytest.approx(tau * p / p.max(), rel=1e-5)


@pytest.mark.parametrize("confidence", ["t_similarity", "softmax"])
def test_adaptive_thresholds_accept_rows_on_any_scale(confidence):
    X, y, _ = blobs()
    trainer = FixMatchTrainer(classifier(n_steps=60), noise, confidence=confidence).fit(X, y)
    assert trainer.classifier_.loss_curve_["accepted"][-20:].mean() > 0.3


def test_same_number_same_model_and_global_state_left_alone():
    X, y, _ = blobs()
    before = torch.get_rng_state()
    probs = [FixMatchTrainer(classifier(), noise).fit(X, y).predict_proba(X) for _ in range(2)]
    np.testing.assert_array_equal(*probs)
    assert torch.equal(torch.get_rng_state(), before)


def test_predictions_are_those_of_its_classifier():
    X, y, _ = blobs()
    names = np.array(["a", "b", "c", None], dtype=object)[y]
    trainer = FixMatchTrainer(classifier(unlabeled=None), noise).fit(X, names)
    assert trainer.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(trainer.predict(X), trainer.classifier_.predict(X))
    np.testing.assert_array_equal(trainer.predict_head_proba(X), trainer.classifier_.predict_head_proba(X))
    np.testing.assert_array_equal(trainer.predict_confidence(X), t_similarity(trainer.predict_head_proba(X)))
    assert 0 <= trainer.score(X, np.array(["a", "b", "c"])[blobs()[2]]) <= 1


def test_without_unlabelled_rows_it_is_its_classifier():
    X, _, y_true = blobs()
    probs = FixMatchTrainer(classifier(), noise, noise).fit(X, y_true).predict_head_proba(X)
    np.testing.assert_array_equal(probs, classifier().fit(X, y_true).predict_head_proba(X))


def test_bad_input():
    X, y, _ = blobs()
    with pytest.raises(ValueError, match="'threshold' parameter"):
        FixMatchTrainer(classifier(), noise, threshold=1.5).fit(X, y)
    with pytest.raises(ValueError, match="'strong' parameter"):
        FixMatchTrainer(classifier(), None).fit(X, y)
    with pytest.raises(ValueError, match="not fitted"):
        FixMatchTrainer(classifier(), noise).predict(X)


def test_a_strong_view_that_destroys_the_rows_is_warned_of():
    X, y, _ = blobs(6)
    with pytest.warns(UserWarning, match="has collapsed"):
        FixMatchTrainer(classifier(n_steps=150), lambda X: 5 * torch.randn_like(X), consistency_weight=20).fit(
            X, y
        )
