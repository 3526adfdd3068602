"""The heads and losses in torch: against the NumPy network, finite differences, and by hand."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

import chary.method.confidence
import chary.torch
from chary.method.network import Adam, Network, loss_and_gradient
from chary.torch.heads import (
    DiverseHeads,
    DiverseNetwork,
    diverse_losses,
    diversity_loss,
    ensemble_loss,
)

PRECISIONS = [("float32", 1e-5), ("float64", 1e-10)]
D, HIDDEN, C, M, B, U = 12, (16, 8), 4, 5, 10, 14


def two_engines(dtype):
    """The same random weights as a NumPy network and as a torch network."""
    network = Network(D, HIDDEN, C, M, np.dtype(dtype))
    network.initialize(np.random.default_rng(0))
    widths = (D, *HIDDEN)
    backbone = nn.Sequential()
    for n_in, n_out in pairwise(widths):
        backbone.extend([nn.Linear(n_in, n_out), nn.ReLU()])
    twin = DiverseNetwork(backbone, DiverseHeads(HIDDEN[-1], C, M)).to(getattr(torch, dtype))
    with torch.no_grad():
        for layer, linear in zip(network.layers(network.params), linears(twin), strict=True):
            linear.weight.copy_(torch.as_tensor(layer.weight.T))
            linear.bias.copy_(torch.as_tensor(layer.bias))
    return network, twin


def linears(network):
    return [module for module in network.modules() if isinstance(module, nn.Linear)]


def batch(dtype, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((B + U, D)).astype(dtype)
    return X, rng.integers(C, size=B), rng.uniform(0.5, 2, B).astype(dtype)


def twin_losses(twin, X, codes, weights, gamma):
    targets = torch.as_tensor(np.concatenate([codes, np.full(U, -1)]))
    row_weights = torch.as_tensor(np.concatenate([weights, np.zeros(U, weights.dtype)]))
    rows = torch.as_tensor(X)
    logits, head_logits = twin(rows[:B], rows[B:])
    losses = diverse_losses(logits, head_logits, targets, row_weights)
    return losses, losses.total(gamma)


def assert_same(network, flat, twin, of, tolerance):
    for layer, linear in zip(network.layers(flat), linears(twin), strict=True):
        np.testing.assert_allclose(of(linear.weight).T, layer.weight, rtol=0, atol=tolerance)
        np.testing.assert_allclose(of(linear.bias), layer.bias, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), PRECISIONS)
def test_a_training_step_is_that_of_the_numpy_network(dtype, tolerance):
    weight_decay = 0.1
    network, twin = two_engines(dtype)
    X, codes, weights = batch(dtype)
    gradient = np.empty_like(network.params)
    losses = loss_and_gradient(
        network.layers(network.params), network.layers(gradient), X, codes, weights, M, gamma=0.7
    )
    twin_terms, total = twin_losses(twin, X, codes, weights, gamma=0.7)
    total.backward()
    np.testing.assert_allclose([term.item() for term in twin_terms], losses, rtol=0, atol=tolerance)
    assert_same(network, gradient, twin, lambda parameter: parameter.grad.numpy(), tolerance)

    Adam(network.params, 1e-3, weight_decay).step(gradient)
    torch.optim.AdamW(twin.parameters(), 1e-3, weight_decay=weight_decay).step()
    assert_same(
        network, network.params, twin, lambda parameter: parameter.detach().numpy(), tolerance
    )


def test_twenty_steps_stay_those_of_the_numpy_network():
    network, twin = two_engines("float64")
    gradient = np.empty_like(network.params)
    adam, adamw = (
        Adam(network.params, 1e-2),
        torch.optim.AdamW(twin.parameters(), 1e-2, weight_decay=0.0),
    )
    for seed in range(20):
        X, codes, weights = batch("float64", seed)
        loss_and_gradient(
            network.layers(network.params), network.layers(gradient), X, codes, weights, M, 1.0
        )
        adam.step(gradient)
        adamw.zero_grad()
        twin_losses(twin, X, codes, weights, 1.0)[1].backward()
        adamw.step()
    assert_same(network, network.params, twin, lambda parameter: parameter.detach().numpy(), 1e-10)


def random_logits(n=6, heads=M, classes=C, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(
        n, heads, classes, generator=generator, dtype=torch.float64, requires_grad=True
    )
    targets = torch.tensor([0, -1, 3, 2, -1, 1])[:n]
    return logits, targets


def test_gradcheck_of_every_loss():
    head_logits, targets = random_logits()
    logits = head_logits[:, 0].detach().clone().requires_grad_()
    weights = torch.linspace(0.5, 2, 6, dtype=torch.float64)
    check = torch.autograd.gradcheck
    assert check(lambda h: ensemble_loss(h, targets), head_logits)
    assert check(lambda h: ensemble_loss(h, targets, weights), head_logits)
    assert check(diversity_loss, head_logits)
    assert check(lambda h: diversity_loss(h, targets < 0), head_logits)

    def total_loss(gamma, p, h):
        return diverse_losses(p, h, targets, weights).total(gamma)

    for gamma in (0.0, 1.0, 10.0):
        assert check(partial(total_loss, gamma), (logits, head_logits))


def test_losses_by_hand():
    head_logits, targets = random_logits()
    probs = head_logits.detach().softmax(-1).numpy()
    labeled, unlabeled = [0, 2, 3, 5], [1, 4]
    weights = np.array([1.0, 9.0, 2.0, 0.5, 9.0, 3.0])
    by_hand = np.mean(
        [-weights[i] * np.log(probs[i, m, targets[i]]) for i in labeled for m in range(M)]
    )
    pairs = [
        probs[i, m] @ probs[i, k] for i in unlabeled for m in range(M) for k in range(M) if m != k
    ]
    logits = head_logits[:, 0]
    supervised = np.mean([-weights[i] * np.log(probs[i, 0, targets[i]]) for i in labeled])

    losses = diverse_losses(logits, head_logits, targets, torch.as_tensor(weights))
    assert [term.item() for term in losses] == pytest.approx(
        [supervised, by_hand, np.mean(pairs)], abs=1e-12
    )
    assert losses.total(0.3).item() == pytest.approx(
        supervised + by_hand + 0.3 * np.mean(pairs), abs=1e-12
    )


def test_a_batch_without_labelled_or_without_unlabelled_rows():
    head_logits, _ = random_logits()
    none_labeled = diverse_losses(head_logits[:, 0], head_logits, torch.full((6,), -1))
    assert none_labeled.supervised.item() == none_labeled.ensemble.item() == 0
    all_labeled = diverse_losses(head_logits[:, 0], head_logits, torch.zeros(6, dtype=torch.int64))
    assert all_labeled.similarity.item() == 0


def test_t_similarity_is_the_one_of_confidence():
    assert chary.torch.t_similarity is chary.method.confidence.t_similarity


@pytest.mark.parametrize("n_classes", [3, 1000])
def test_t_similarity_of_tensors_is_that_of_arrays_for_rows_of_any_width(n_classes):
    probs = torch.randn(4, 5, n_classes, dtype=torch.float64).softmax(-1).requires_grad_()
    similarity = chary.torch.t_similarity(probs)
    expected = chary.method.t_similarity(probs.detach().numpy())
    np.testing.assert_allclose(similarity.detach(), expected, rtol=0, atol=1e-12)
    similarity.sum().backward()
    # The gradient of a head is twice the sum of the others, over the number of pairs.
    others = probs.sum(1, keepdim=True) - probs
    torch.testing.assert_close(probs.grad, 2 * others.detach() / 20)


def gradients(module):
    return [
        parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None
    ]


@pytest.mark.parametrize("joint", [False, True])
def test_the_ensemble_moves_the_backbone_only_when_joint(joint):
    torch.manual_seed(0)
    backbone, heads = nn.Sequential(nn.Linear(D, 8), nn.Tanh()), DiverseHeads(8, C, joint=joint)
    X, targets = torch.randn(B + U, D), torch.cat([torch.randint(C, (B,)), torch.full((U,), -1)])
    for parameter in backbone.parameters():
        parameter.grad = torch.zeros_like(parameter)

    losses = diverse_losses(*heads(backbone(X)), targets)
    (losses.ensemble + losses.similarity + 0 * losses.supervised).backward()
    assert all(grad.count_nonzero() == 0 for grad in gradients(backbone)) != joint
    assert heads.linear.weight.grad[C:].count_nonzero() > 0
    assert heads.linear.weight.grad[:C].count_nonzero() == 0


def test_the_backbone_learns_exactly_what_it_would_without_the_ensemble():
    torch.manual_seed(0)
    backbone, heads = nn.Sequential(nn.Linear(D, 8), nn.Tanh()), DiverseHeads(8, C)
    X, targets = torch.randn(B + U, D), torch.cat([torch.randint(C, (B,)), torch.full((U,), -1)])
    diverse_losses(*heads(backbone(X)), targets).total(10.0).backward()
    with_ensemble = gradients(backbone)
    backbone.zero_grad()
    nn.functional.cross_entropy(heads(backbone(X))[0][:B], targets[:B]).backward()
    for grad, alone in zip(with_ensemble, gradients(backbone), strict=True):
        torch.testing.assert_close(grad, alone, rtol=0, atol=1e-7)


def test_rows_left_out_of_the_backward_pass_change_no_value_and_no_gradient():
    _, twin = two_engines("float64")
    X = torch.as_tensor(batch("float64")[0])
    targets = torch.cat([torch.arange(B) % C, torch.full((U,), -1)])
    results = []
    for batches in ((X,), (X[:B], X[B:])):
        twin.zero_grad()
        logits, head_logits = twin(*batches)
        diverse_losses(logits, head_logits, targets).total().backward()
        results.append([logits, head_logits, *gradients(twin)])
    for full, short in zip(*results, strict=True):
        torch.testing.assert_close(short, full, rtol=0, atol=1e-14)


BACKBONES = {
    "neither": lambda: nn.Sequential(nn.Linear(D, 8), nn.ReLU()),
    "batch normalisation": lambda: nn.Sequential(nn.Linear(D, 8), nn.BatchNorm1d(8), nn.ReLU()),
    "dropout": lambda: nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Dropout(0.5)),
    "both": lambda: nn.Sequential(
        nn.Linear(D, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 8)
    ),
}


def trained(backbone, with_heads, n_steps=5):
    """Train a network with or without the diverse heads' additions to a loop."""
    torch.manual_seed(0)
    network = DiverseNetwork(backbone(), DiverseHeads(8, C, M))
    optimizer = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], lr=1e-2)
    generator = torch.Generator().manual_seed(1)
    for _ in range(n_steps):
        network.train()
        X = torch.randn(B, D, generator=generator)
        X_unlabeled = 5 + 3 * torch.randn(U, D, generator=generator)
        targets = torch.randint(C, (B,), generator=generator)
        if with_heads:
            logits, head_logits = network(X, X_unlabeled)
            loss = nn.functional.cross_entropy(logits[:B], targets)
            loss = loss + ensemble_loss(head_logits[:B], targets) + diversity_loss(head_logits[B:])
        else:
            loss = nn.functional.cross_entropy(network(X)[0], targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


@pytest.mark.parametrize("backbone", BACKBONES.values(), ids=BACKBONES)
def test_the_heads_do_not_change_how_the_backbone_trains_to_the_bit(backbone):
    plain, diverse = (trained(backbone, with_heads) for with_heads in (False, True))
    expected = plain.backbone.state_dict()  # parameters and buffers
    for name, value in diverse.backbone.state_dict().items():
        assert torch.equal(value, expected[name]), name
    # The prediction head, too; the diverse heads are those that learned.
    plain_weight, diverse_weight = plain.heads.linear.weight, diverse.heads.linear.weight
    assert torch.equal(plain_weight[:C], diverse_weight[:C])
    assert not torch.equal(plain_weight[C:], diverse_weight[C:])
    assert all(module.training for module in diverse.modules())


def test_frozen_parts_stay_frozen():
    def partly_frozen():
        frozen = BACKBONES["both"]().eval().requires_grad_(False)
        return nn.Sequential(frozen, nn.Linear(8, 8), nn.BatchNorm1d(8))

    torch.manual_seed(0)
    before = partly_frozen()[0].state_dict()
    network = trained(partly_frozen, with_heads=True)
    frozen = network.backbone[0]
    assert {
        name for name, value in frozen.state_dict().items() if not torch.equal(value, before[name])
    } == set()
    assert not any(module.training for module in frozen.modules())
    assert network.backbone[2].training
    frozen.requires_grad_(True)  # once it may learn, it is trained as everything else
    assert all(module.training for module in network.train().modules())
    assert not any(module.training for module in network.eval().modules())


def test_a_pretrained_backbone_in_evaluation_mode_that_may_learn_is_trained():
    network = DiverseNetwork(BACKBONES["both"]().eval(), DiverseHeads(8, C, M)).train()
    assert all(module.training for module in network.modules())


def test_modes_are_put_back_if_the_unlabelled_pass_fails():
    network = DiverseNetwork(BACKBONES["both"](), DiverseHeads(8, C, M))
    with pytest.raises(RuntimeError):
        network(torch.zeros(3, D), torch.zeros(3, D + 1))
    assert all(module.training for module in network.modules())


def test_joint_heads_pass_unlabelled_rows_as_labelled_ones():
    torch.manual_seed(0)
    network = DiverseNetwork(BACKBONES["batch normalisation"](), DiverseHeads(8, C, M, joint=True))
    diversity_loss(network(torch.randn(B, D), torch.randn(U, D))[1][B:]).backward()
    assert network.backbone[0].weight.grad.count_nonzero() > 0
    assert network.backbone[1].num_batches_tracked == 2


def test_under_autocast_agreement_has_the_precision_of_float32():
    torch.manual_seed(0)
    network = DiverseNetwork(nn.Sequential(nn.Linear(D, 8), nn.ReLU()), DiverseHeads(8, C, M))
    X = torch.randn(1000, D)
    with torch.no_grad():
        exact = chary.torch.t_similarity(network(X)[1].softmax(-1))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits, head_logits = network(X)
            similarity = chary.torch.t_similarity(head_logits.softmax(-1))
        # The diverse heads alone are exempt: the network under them trains as without them.
        assert logits.dtype == torch.bfloat16
    assert similarity.dtype == torch.float32
    assert len(similarity.unique()) > 990  # 200 in bfloat16
    torch.testing.assert_close(similarity, exact, rtol=0, atol=0.01)
    half = network.bfloat16()(X.bfloat16())[1]
    assert half.dtype == torch.float32
    diversity_loss(half).backward()
    assert network.heads.linear.weight.grad.isfinite().all()


@pytest.mark.parametrize("places", [(7,), (4, 3)], ids=["tokens", "places in an image"])
def test_every_token_and_every_place_is_a_row(places):
    generator = torch.Generator().manual_seed(0)
    heads = DiverseHeads(8, C, M)
    features = torch.randn(6, *places, 8, generator=generator)
    targets = torch.randint(-1, C, (6, *places), generator=generator)
    weights = torch.rand(6, *places, generator=generator)
    found = heads(features)
    as_rows = heads(features.flatten(0, -2))
    for outputs, rows in zip(found, as_rows, strict=True):
        torch.testing.assert_close(outputs.reshape(rows.shape), rows)
    torch.testing.assert_close(
        diverse_losses(*found, targets, weights),
        diverse_losses(*as_rows, targets.flatten(), weights.flatten()),
    )
    is_text = torch.rand(6, *places, generator=generator) < 0.5
    torch.testing.assert_close(
        diversity_loss(found[1], is_text), diversity_loss(as_rows[1][is_text.flatten()])
    )


def test_shapes_that_do_not_fit_are_refused_with_a_way_out():
    heads = DiverseHeads(8, C)
    with pytest.raises(ValueError, match=r"shape \(2, 8, 4, 3\).*8 features.*movedim\(1, -1\)"):
        heads(torch.zeros(2, 8, 4, 3))
    with pytest.raises(ValueError, match=r"shape \(2, 9\); the heads expect 8 .* dimension\.$"):
        heads(torch.zeros(2, 9))
    recurrent = DiverseNetwork(nn.GRU(D, 8, batch_first=True), heads)
    with pytest.raises(TypeError, match=r"returned a tuple; .* first output of a GRU"):
        recurrent(torch.zeros(2, 7, D))
    _, of_tokens = heads(torch.zeros(2, 7, 8))
    with pytest.raises(ValueError, match=r"\(2,\).*\(2, 7, 5, 4\).*shape \(2, 7\) are expected"):
        ensemble_loss(of_tokens, torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize("joint", [False, True])
def test_export_is_one_graph_whatever_the_number_of_heads(joint):
    X = torch.randn(9, 7, generator=torch.Generator().manual_seed(0))
    sizes = []
    for n_heads in (2, 50):
        heads = DiverseHeads(7, C, n_heads, joint=joint)
        batch_size = torch.export.Dim("batch_size", min=2)
        program = torch.export.export(heads, (X[:4],), dynamic_shapes=({0: batch_size},))
        torch.testing.assert_close(program.module()(X), heads(X))
        sizes.append(len(program.graph.nodes))
    assert sizes[0] == sizes[1]  # no loop over the heads was unrolled


def test_compiles_without_a_graph_break():
    heads = DiverseHeads(7, C)
    X, targets = (
        torch.randn(6, 7, generator=torch.Generator().manual_seed(0)),
        torch.tensor([0, -1, 3, 2, -1, 1]),
    )

    def total(X, targets):
        return diverse_losses(*heads(X), targets).total()

    compiled = torch.compile(total, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(X, targets), total(X, targets))
