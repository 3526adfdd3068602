"""Rows, generators, devices and stopping: what a fit in torch stands on."""

from contextlib import suppress

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import Dataset

from chary.torch.classifier import NumberedRows, find_device, local_generators, train_network


class Pairs(Dataset):
    """Five rows of two numbers with a label each."""

    def __len__(self):
        return 5

    def __getitem__(self, row):
        return np.array([row, -row]), row % 2


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (np.arange(10, dtype=np.uint8).reshape(5, 2), torch.float32),
        (np.arange(10.0).reshape(5, 2), torch.float32),
        (torch.arange(10).reshape(5, 2), torch.int64),
        (torch.arange(10.0, dtype=torch.float64).reshape(5, 2), torch.float32),
    ],
)
def test_rows_by_number(X, dtype):
    rows = NumberedRows(X, torch.float32)
    batch = rows[np.array([3, 0])]
    assert len(rows) == 5
    assert batch.dtype == dtype
    assert batch.tolist() == [[6, 7], [0, 1]]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_batches_come_in_order_and_draw_nothing_from_the_global_generator(num_workers):
    rows = NumberedRows(np.arange(10.0).reshape(5, 2), torch.float32)
    before = torch.get_rng_state()
    batches = [batch[:, 0].tolist() for batch in rows.batches([np.array([4, 1]), np.array([0])], num_workers)]
    assert batches == [[8, 2], [0]]
    assert torch.equal(torch.get_rng_state(), before)


def test_read_only_rows_give_no_warning():
    X = np.arange(10.0).reshape(5, 2)
    X.flags.writeable = False
    assert NumberedRows(X, torch.float64)[np.arange(2)].tolist() == [[0, 1], [2, 3]]


def test_generators_are_seeded_inside_and_put_back():
    cpu = torch.device("cpu")
    before = torch.get_rng_state()
    with local_generators(3, cpu):
        first = torch.rand(2)
    with suppress(RuntimeError), local_generators(3, cpu):
        again = torch.rand(2)
        raise RuntimeError("in the middle")
    assert torch.equal(first, again)
    assert torch.equal(torch.get_rng_state(), before)


def test_devices(monkeypatch):
    assert find_device("cpu") == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert find_device("auto") == torch.device("cpu")
    with pytest.raises(ValueError, match="device='cuda' is not there"):
        find_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert find_device("auto") == torch.device("cuda")


BATCH = (torch.ones(3, 2), torch.zeros(3), torch.ones(3))


def least_squares(network, X, targets, weights):
    loss = (weights * (network(X)[:, 0] - targets) ** 2).mean()
    return loss, {"supervised": loss, "double": 2 * loss}


def test_train_records_every_term():
    network = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    curve = train_network(network, [BATCH] * 4, least_squares, optimizer, n_steps=4)
    assert list(curve) == ["supervised", "double"]
    assert np.all(np.diff(curve["supervised"]) < 0)
    assert curve["double"] == pytest.approx(2 * curve["supervised"])
    assert len(curve["double"]) == 4


def test_training_ends_when_the_held_out_loss_stays_and_the_best_weights_are_put_back():
    network = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    seen = []

    def held_out():
        seen.append(network.weight.detach().clone())
        return abs(len(seen) - 4.0)  # the fourth look is the best

    curve = train_network(network, [BATCH] * 100, least_squares, optimizer, n_steps=100, held_out_loss=held_out)
    assert len(seen) == 4 + 10
    assert len(curve["supervised"]) == 2 * len(seen)  # fifty looks in a hundred steps
    assert torch.equal(network.weight, seen[3])
    assert not torch.equal(seen[3], seen[4])


def test_progress_goes_to_stderr_and_only_when_asked(capsys):
    for verbose in (False, True):
        network = nn.Linear(2, 1)
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        train_network(network, [BATCH], least_squares, optimizer, n_steps=1, verbose=verbose)
        shown = capsys.readouterr()
        assert shown.out == ""
        assert ("Training" in shown.err) == verbose
