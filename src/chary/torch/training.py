"""A torch module, its rows and a loss in; the module trained, and the terms of its loss at every step, out.

Randomness, devices and processes are handled here and nowhere else: torch's generators are seeded for the time
of a fit and put back, and several processes train through PyTorch's own DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torch.utils.data import DataLoader, Dataset, default_collate

# A module (wrapped for several processes), the number of the step and its rows -> the loss and its named terms.
BatchLoss = Callable[[nn.Module, int, Tensor], tuple[Tensor, dict[str, Tensor]]]


def train(
    network: nn.Module,
    batches: Iterable[Tensor],
    loss: BatchLoss,
    optimizer: Optimizer,
    scheduler: LRScheduler | None = None,
    *,
    n_steps: int,
    is_done: Callable[[int], bool] = lambda step: False,
    verbose: bool = False,
) -> dict[str, NDArray[np.float64]]:
    """Train a network in place, one step for each batch.

    Parameters
    ----------
    network : nn.Module
    batches : iterable of Tensors
        The rows of each of the ``n_steps`` steps.
    loss : callable
        (module, step, rows) -> what to minimise, and the terms to record by name.
    optimizer, scheduler : of ``network``'s parameters; the scheduler moves at every step.
    is_done : callable
        Asked after every step, given the number of steps done.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    dict of arrays of shape (number of steps done,)
        The terms of the loss.
    """
    module = DistributedDataParallel(network) if n_processes() > 1 else network
    device = next(network.parameters()).device
    curve: list[Tensor] = []
    names: list[str] = []
    quiet = not verbose or (n_processes() > 1 and distributed.get_rank() > 0)
    for X_batch in track(batches, "Training", n_steps, console=Console(stderr=True), disable=quiet):
        network.train()
        value, terms = loss(module, len(curve), X_batch.to(device))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        names = list(terms)
        curve.append(torch.stack([term.detach() for term in terms.values()]))
        if is_done(len(curve)):
            break
    values = torch.stack(curve).cpu().double().numpy()  # (number of steps, number of terms)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"The loss is not finite from step {int(finite.argmin())} on; "
            "lower learning_rate, or bring the columns of X to a common scale."
        )
    return dict(zip(names, values.T.copy(), strict=True))


class Rows(Dataset[Tensor]):
    """Rows of an array, a Tensor or a Dataset, fetched as one batch by their numbers.

    Parameters
    ----------
    X : array or Tensor of shape (n, ...), or Dataset
        An item of a Dataset is one row, or a tuple or list that begins with it.
    dtype : torch dtype
        What floats become, and all numbers of an array.
    """

    def __init__(self, X: Any, dtype: torch.dtype) -> None:
        self.X, self.dtype = X, dtype

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, numbers: NDArray[np.intp]) -> Tensor:
        if isinstance(self.X, Dataset):
            items = [self.X[int(number)] for number in numbers]
            batch = default_collate([item[0] if isinstance(item, (tuple, list)) else item for item in items])
        else:
            batch = torch.as_tensor(self.X[numbers])
        keep_integers = not isinstance(self.X, np.ndarray) and not batch.is_floating_point()
        return batch if keep_integers else batch.to(self.dtype)

    def batches(self, numbers: Iterable[NDArray[np.intp]], num_workers: int = 0) -> Iterable[Tensor]:
        """The rows of each set of numbers, loaded by so many processes."""
        # Its own generator, for a DataLoader draws a seed from the global one.
        loader: Iterable[Tensor] = DataLoader(
            self, sampler=list(numbers), batch_size=None, num_workers=num_workers, generator=torch.Generator()
        )
        return loader


class EarlyStopping:
    """Ends training once the validation loss has stopped falling, and keeps the best weights.

    Parameters
    ----------
    network : nn.Module
    validate : callable
        Gives the validation loss of the network as it is.
    every : int
        Steps from one look to the next.
    patience : int
        Looks in a row without a lower loss after which to stop.
    """

    def __init__(self, network: nn.Module, validate: Callable[[], float], every: int, patience: int) -> None:
        self.network, self.validate, self.every, self.patience = network, validate, every, patience
        self.best_loss, self.n_stale = float("inf"), 0
        self.best_state: dict[str, Tensor] = {}

    def __call__(self, n_steps: int) -> bool:
        """Whether to stop after so many steps."""
        if n_steps % self.every:
            return False
        loss = self.validate()
        self.n_stale += 1
        if loss < self.best_loss:
            self.best_loss, self.n_stale = loss, 0
            self.best_state = {name: value.clone() for name, value in self.network.state_dict().items()}
        return self.n_stale >= self.patience

    def restore(self) -> None:
        """Put the best weights back."""
        if self.best_state:
            self.network.load_state_dict(self.best_state)


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the first there is of cuda, mps and cpu."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, is_there in there.items() if is_there)
    if not there[name]:
        found = ", ".join(device for device, is_there in there.items() if is_there)
        raise ValueError(f"device={name!r} is not there; this PyTorch finds {found}: choose one, or 'auto'.")
    return torch.device(name)


@contextmanager
def local_generators(seed: int, device: torch.device) -> Iterator[None]:
    """Seed the generators of the CPU and the device inside the block; they are as before after it.

    Modules draw initial weights, dropout and augmentations from these global generators and take no other.
    """
    accelerator: Any = {"cuda": torch.cuda, "mps": torch.mps}.get(device.type)
    state = accelerator.get_rng_state() if accelerator else None
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed, which would reseed every device of the machine.
        torch.default_generator.manual_seed(seed)
        if accelerator:
            accelerator.manual_seed(seed)
        try:
            yield
        finally:
            if accelerator:
                accelerator.set_rng_state(state)


def n_processes() -> int:
    """Processes that train together: 1 unless torch.distributed is initialised."""
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def own_share(batches: NDArray[np.intp]) -> NDArray[np.intp]:
    """This process's part of every batch, (n_steps, B) -> (n_steps, B / number of processes).

    Parts of equal size: the mean over processes of their gradients is then the gradient of the whole batch.
    """
    n, size = n_processes(), batches.shape[1]
    if n == 1:
        return batches
    if size % n:
        raise ValueError(
            f"A batch of {size} rows cannot be shared evenly by {n} processes; "
            f"choose batch_size and unlabeled_batch_size as multiples of {n} that there are rows for."
        )
    return batches[:, distributed.get_rank() :: n]
