"""The paper's classifier on any PyTorch backbone, and its training.

Randomness and devices are handled below the class and nowhere else: torch's generators are seeded for the time of
a fit and put back.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from scipy.special import softmax
from sklearn.utils import Tags, gen_batches
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset, default_collate

from chary._sklearn import Interval, StrOptions, check_sample_weight
from chary.method.confidence import Floats
from chary.method.diverse import DiverseEnsembleClassifier, class_order_of, content_order
from chary.method.labels import encode
from chary.method.network import default_hidden_sizes, draw_batches
from chary.torch.heads import DiverseHeads, DiverseNetwork, diverse_losses

# A network, B labelled and U unlabelled rows, the targets (B,) and weights (B,) -> the loss and its named terms.
BatchLoss = Callable[[nn.Module, Tensor, Tensor, Tensor], tuple[Tensor, dict[str, Tensor]]]

_SCORED_ROWS = 256  # at a time
# With early stopping: looks at the labels held out, and looks without a gain before training ends.
_LOOKS, _PATIENCE = 50, 10


class TorchDiverseClassifier(DiverseEnsembleClassifier):
    """``DiverseEnsembleClassifier`` on your own PyTorch backbone, trained by PyTorch.

    The prediction head and the backbone learn from the labelled rows; M linear heads fit the same labels while
    they disagree as much as they can on the unlabelled rows, and do not move the backbone. Predictions,
    probabilities and confidences come from the same methods as in ``DiverseEnsembleClassifier``.

    Parameters
    ----------
    backbone : nn.Module, callable without arguments that makes one, or None
        Maps a batch to features (n, h). A module is copied with the weights it has, so that a pretrained one
        keeps them; a callable (a class, a function) is called in each fit and draws its weights by
        ``random_state``. None: the paper's MLP, for tables. Nothing is standardised.
    n_heads : int, default=5
        Number M of diverse heads, at least 2.
    gamma : float, default=1.0
        Strength of the diversity asked of the heads on unlabelled rows.
    joint : bool, default=False
        Let the heads' losses move the backbone too.
    learning_rate, weight_decay : float, default=1e-3 and 0.0
        Of AdamW.
    n_steps : int, default=500
        Number of mini-batches.
    batch_size, unlabeled_batch_size : int, default=32
        Labelled and unlabelled rows in a mini-batch; all where there are fewer.
    early_stopping : bool, default=False
        Hold out a tenth of the labels of each class, look at their loss fifty times in a training, end it after
        ten looks without a better one, and keep the best weights. Some class must have ten labels or more.
    device : {"auto", "cpu", "cuda", "mps"}, default="auto"
        "auto" takes the first there is of cuda, mps, cpu. This project's tests run on a CPU alone: nobody has run
        it on "cuda" or "mps" yet.
    dtype : {"float32", "float64", "bfloat16"}, default="float32"
        Precision; "bfloat16" is mixed: weights in float32, the backbone's products in bfloat16. Tested on a CPU,
        where it is no faster; not run on a GPU.
    num_workers : int, default=0
        Processes that load the batches, as in ``DataLoader``.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do.
    random_state : int, Generator, RandomState or None, default=None
        Same number, same model on one device and number of threads, whatever the names of the classes and,
        where ``X`` is an array, the order of the rows. PyTorch's global generators are put back as they were.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (C,)
    network_ : nn.Module
        The trained network with its parts ``backbone`` and ``heads``, in evaluation mode.
    loss_curve_ : dict of arrays, one number for each step
        ``supervised``, ``ensemble`` and ``similarity`` on the mini-batch of every step that was taken.

    See Also
    --------
    chary.DiverseEnsembleClassifier : The same for tables, without PyTorch.
    chary.torch.DiverseHeads : The heads alone, for a loop of your own.
    chary.torch.FixMatchTrainer : Adds consistency between views of a row.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> y[100:] = -1                              # the first 100 rows are labelled
    >>> cnn = nn.Sequential(
    ...     nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 32), nn.ReLU()
    ... )
    >>> model = TorchDiverseClassifier(cnn, n_steps=50, random_state=0).fit(X / 16, y)
    >>> model.predict_confidence(X[100:] / 16).shape
    (1697,)
    """

    network_: Any  # an nn.Module here

    _parameter_constraints = {  # noqa: RUF012
        **DiverseEnsembleClassifier._parameter_constraints,
        "backbone": [nn.Module, callable, None],
        "joint": ["boolean"],
        "early_stopping": ["boolean"],
        "device": [StrOptions({"auto", "cpu", "cuda", "mps"})],
        "dtype": [StrOptions({"float32", "float64", "bfloat16"})],
        "num_workers": [Interval(Integral, 0, None, closed="left")],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        backbone: nn.Module | Callable[[], nn.Module] | None = None,
        n_heads: int = 5,
        gamma: float = 1.0,
        *,
        joint: bool = False,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        n_steps: int = 500,
        batch_size: int = 32,
        unlabeled_batch_size: int = 32,
        early_stopping: bool = False,
        device: str = "auto",
        dtype: str = "float32",
        num_workers: int = 0,
        unlabeled: Any = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.backbone = backbone
        self.n_heads = n_heads
        self.gamma = gamma
        self.joint = joint
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.early_stopping = early_stopping
        self.device = device
        self.dtype = dtype
        self.num_workers = num_workers
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, start_from: Any = None
    ) -> TorchDiverseClassifier:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array or DataFrame of shape (n, d, ...), Tensor, or Dataset
            Arrays reach the backbone as floats; integers in a Tensor or Dataset stay integers (token numbers).
            An item of a Dataset is one row, or a tuple that begins with it.
        y : array-like of shape (n,), or Labels
            Labels; missing or ``unlabeled`` where there is none. None with a Dataset: its items are (row, label).
        sample_weight : array-like of shape (n,), default=None
            Weights of labelled rows in the losses. A row of weight 0, labelled or not, is as if absent.
        start_from : fitted TorchDiverseClassifier, default=None
            Training starts from its weights, which are not changed, in place of those of ``backbone`` and of
            random ones. It must know the same classes and have as many heads and the same backbone.
        """
        return self._fit(X, y, sample_weight, self._loss, start_from)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, loss: BatchLoss, start_from: Any = None
    ) -> TorchDiverseClassifier:
        self._validate_params()
        rows = self._rows(X, reset=True)
        if y is None and isinstance(X, Dataset):
            given = (X[row][1] for row in range(len(rows)))
            y = [label.item() if isinstance(label, Tensor) else label for label in given]
        labels = encode(y, unlabeled=self.unlabeled)
        check_consistent_length(rows, labels.codes)
        weights = check_sample_weight(sample_weight, labels.codes, ensure_non_negative=True, dtype=np.float64)
        present = weights > 0
        if not present.all():
            labels = encode(labels.without(~present), unlabeled=None)
        self.classes_, self._label_codes = labels.classes, labels.codes[labels.labeled]
        rng = np.random.default_rng(self.random_state)
        device = find_device(self.device)
        order = np.arange(len(rows))
        if isinstance(rows.X, np.ndarray):
            order = content_order(rows.X.reshape(len(rows), -1), labels.codes, weights)
        labeled, unlabeled = order[labels.labeled[order]], order[(present & ~labels.labeled)[order]]
        with local_generators(int(rng.integers(2**63)), device):
            network = self._network(rows[np.arange(min(2, len(rows)))], device)
            if start_from is not None:
                self._take_weights(network, start_from)
                network.heads.reorder_classes(
                    torch.as_tensor(class_order_of(labels.codes[labeled]), device=device)
                )
            self._train_network(network, rows, labels.codes, weights, labeled, unlabeled, loss, rng)
        return self

    def _rows(self, X: Any, *, reset: bool) -> NumberedRows:
        if not isinstance(X, (Tensor, Dataset)):
            X = validate_data(self, X, reset=reset, allow_nd=True, dtype="numeric")
        elif not hasattr(X, "__len__"):
            raise ValueError(f"{type(X).__name__} has no length; rows are drawn by number: give it __len__.")
        return NumberedRows(X, self._float)

    def _network(self, X_sample: Tensor, device: torch.device) -> DiverseNetwork:
        """The backbone under fresh heads that fit the features it makes of some rows."""
        backbone = self._fresh_backbone(X_sample.shape[1]).to(device, self._float).eval()
        with torch.no_grad():
            features = backbone(X_sample.to(device))
        if features.ndim != 2:
            raise ValueError(
                f"The backbone turned a batch of shape {tuple(X_sample.shape)} into {tuple(features.shape)}; "
                "heads need one vector of features per row: end the backbone in nn.Flatten() or pooling."
            )
        heads = DiverseHeads(features.shape[1], len(self.classes_), self.n_heads, joint=self.joint)
        return DiverseNetwork(backbone, heads).to(device, self._float)

    def _take_weights(self, network: DiverseNetwork, other: Any) -> None:
        """Copy the weights of a fitted classifier into the network, once it is sure that they mean the same."""
        theirs = getattr(other, "network_", None)
        reason = f"it is {other!r}"
        if isinstance(theirs, DiverseNetwork) and np.array_equal(other.classes_, self.classes_):
            try:
                network.load_state_dict(theirs.state_dict())
                return
            except RuntimeError as error:
                reason = " ".join(str(error).split())
        raise ValueError(
            "start_from must be a fitted TorchDiverseClassifier of the same backbone, classes and n_heads; "
            f"{reason}."
        )

    def _fresh_backbone(self, n_features: int) -> nn.Module:
        if self.backbone is None:
            widths = (n_features, *default_hidden_sizes(n_features))
            layers = [[nn.Linear(n_in, n_out), nn.ReLU()] for n_in, n_out in pairwise(widths)]
            return nn.Sequential(*chain.from_iterable(layers))
        return copy.deepcopy(self.backbone) if isinstance(self.backbone, nn.Module) else self.backbone()

    @property
    def _float(self) -> torch.dtype:
        return torch.float64 if self.dtype == "float64" else torch.float32

    def _train_network(
        self,
        network: DiverseNetwork,
        rows: NumberedRows,
        codes: NDArray[np.intp],
        weights: Floats,
        labeled: NDArray[np.intp],
        unlabeled: NDArray[np.intp],
        loss: BatchLoss,
        rng: np.random.Generator,
    ) -> None:
        rank = np.argsort(class_order_of(codes[labeled]))
        held_out = tenth_of_each_class(codes, labeled, rng) if self.early_stopping else labeled[:0]
        labeled = labeled[~np.isin(labeled, held_out)]
        picks = labeled[draw_batches(len(labeled), self.batch_size, self.n_steps, rng)]
        extra = unlabeled[draw_batches(len(unlabeled), self.unlabeled_batch_size, self.n_steps, rng)]
        device = next(network.parameters()).device
        targets = torch.as_tensor(rank[codes[picks]], device=device)  # (n_steps, B)
        batch_weights = torch.as_tensor(weights[picks] / weights[labeled].mean(), dtype=self._float, device=device)
        batches = rows.batches(np.hstack([picks, extra]), self.num_workers)  # (B + U, ...)

        def held_out_loss() -> float:
            logits = torch.cat([logits[:, 0] for logits in self._logits(network.eval(), rows, held_out)])
            return float(functional.cross_entropy(logits, torch.as_tensor(rank[codes[held_out]])))

        self.loss_curve_ = train_network(
            network,
            zip(batches, targets, batch_weights, strict=True),
            loss,
            torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=self.weight_decay),
            n_steps=self.n_steps,
            held_out_loss=held_out_loss if self.early_stopping else None,
            verbose=self.verbose,
        )
        network.heads.reorder_classes(torch.as_tensor(rank, device=device))
        self.network_ = network.eval()

    def _loss(
        self, network: nn.Module, X: Tensor, targets: Tensor, weights: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a step: a ``BatchLoss``."""
        n_unlabeled = len(X) - len(targets)
        logits, head_logits = self._forward(network, X, len(targets))
        targets = functional.pad(targets, (0, n_unlabeled), value=-1)  # (B + U,)
        weights = functional.pad(weights, (0, n_unlabeled))
        losses = diverse_losses(logits, head_logits, targets, weights)
        return losses.total(self.gamma), losses._asdict()

    def _forward(self, module: nn.Module, X: Tensor, n_backward: int) -> tuple[Tensor, Tensor]:
        """Logits of both kinds of heads; only the first rows move the backbone, unless it is trained jointly."""
        with torch.autocast(X.device.type, torch.bfloat16, enabled=self.dtype == "bfloat16"):
            logits, head_logits = module(X, None if self.joint else n_backward)
        return logits.to(self._float), head_logits.to(self._float)

    def _head_probs(self, X: Any, heads: slice) -> Iterator[Floats]:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        for logits in self._logits(self.network_, rows, np.arange(len(rows))):
            yield softmax(logits[:, heads].numpy(), axis=-1)

    def _logits(self, network: nn.Module, rows: NumberedRows, numbers: NDArray[np.intp]) -> Iterator[Tensor]:
        """Logits (k, 1 + M, C) of some rows, a few at a time; the prediction head stands first."""
        device = next(network.parameters()).device
        chunks = [numbers[chunk] for chunk in gen_batches(len(numbers), _SCORED_ROWS)]
        for X_batch in rows.batches(chunks, self.num_workers):
            with torch.inference_mode():
                logits, head_logits = self._forward(network, X_batch.to(device), len(X_batch))
            yield torch.cat([logits[:, None], head_logits], dim=1).cpu().double()

    def save_state(self, path: str | PathLike[str]) -> None:
        """Write the weights and the classes to ``path``, a safetensors file."""
        check_is_fitted(self)
        facts = {"classes": self.classes_.tolist(), "dtype": self.classes_.dtype.str}
        if hasattr(self, "n_features_in_"):
            facts["n_features"] = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            facts["feature_names"] = self.feature_names_in_.tolist()
        # Clones: a safetensors file holds no shared memory, and tied weights do share it.
        state = {name: value.cpu().clone() for name, value in self.network_.state_dict().items()}
        save_file(state, path, metadata={"chary": json.dumps(facts)})

    def load_state(self, path: str | PathLike[str]) -> TorchDiverseClassifier:
        """Take weights and classes from ``path``, where ``save_state`` put them.

        ``backbone`` and ``n_heads`` must be as they were.
        """
        self._validate_params()
        try:
            with safe_open(path, "pt") as file:
                facts = json.loads(file.metadata()["chary"])
            classes = np.array(facts["classes"], dtype=facts["dtype"])
            state = load_file(path)
            in_features = state["heads.linear.weight"].shape[1]
            with local_generators(0, torch.device("cpu")):  # initial weights are drawn only to be replaced
                # Tensors and data sets leave no number of columns; the default backbone has it in its weights.
                first = state.get("backbone.0.weight", state["heads.linear.weight"])
                backbone = self._fresh_backbone(first.shape[1])
                network = DiverseNetwork(backbone, DiverseHeads(in_features, len(classes), self.n_heads))
            network.to(self._float).load_state_dict(state)
        except (SafetensorError, OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"{path} holds no state of a TorchDiverseClassifier with this backbone and "
                f"n_heads={self.n_heads}: {reason}"
            ) from error
        self.classes_ = classes
        if "n_features" in facts:
            self.n_features_in_ = facts["n_features"]
        if "feature_names" in facts:
            self.feature_names_in_ = np.array(facts["feature_names"], dtype=object)
        self.network_ = network.to(find_device(self.device), self._float).eval()
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.three_d_array = True
        return tags


# -- Training ------------------------------------------------------------------------------------------------


def train_network(
    network: nn.Module,
    batches: Iterable[tuple[Tensor, Tensor, Tensor]],
    loss: BatchLoss,
    optimizer: torch.optim.Optimizer,
    *,
    n_steps: int,
    held_out_loss: Callable[[], float] | None = None,
    verbose: bool = False,
) -> dict[str, NDArray[np.float64]]:
    """Train a network in place, one step for each batch.

    Parameters
    ----------
    network : nn.Module
    batches : iterable of (rows, targets, weights)
        Of each of the ``n_steps`` steps.
    loss : callable
        What to minimise, and the terms to record by name.
    optimizer : of ``network``'s parameters
    held_out_loss : callable, default=None
        Of the network as it is. With it, training may end early, and the best weights are put back.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    dict of arrays of shape (n_steps,), shorter where training ended early
        The terms of the loss.
    """
    device = next(network.parameters()).device
    curve: list[Tensor] = []
    names: list[str] = []
    least, best_step, best_weights = np.inf, 0, None
    every = max(1, n_steps // _LOOKS)
    steps = track(batches, "Training", n_steps, console=Console(stderr=True), disable=not verbose)
    for X_batch, targets, weights in steps:
        network.train()
        value, terms = loss(network, X_batch.to(device), targets, weights)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        names = list(terms)
        curve.append(torch.stack([term.detach() for term in terms.values()]))
        if held_out_loss is not None and (len(curve) % every == 0 or len(curve) == n_steps):
            if (now := held_out_loss()) < least:
                least, best_step, best_weights = now, len(curve), copy.deepcopy(network.state_dict())
            if len(curve) - best_step >= _PATIENCE * every:
                break
    if best_weights is not None:
        network.load_state_dict(best_weights)
    values = torch.stack(curve).cpu().double().numpy()  # (n_steps, number of terms)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"The loss is not finite from step {int(finite.argmin())} on; "
            "lower learning_rate, or bring the columns of X to a common scale."
        )
    return dict(zip(names, values.T.copy(), strict=True))


class NumberedRows(Dataset[Tensor]):
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


def tenth_of_each_class(
    codes: NDArray[np.intp], labeled: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.intp]:
    """A random tenth of the labelled rows of each class, rounded down."""
    drawn = rng.permutation(labeled)
    by_class = [drawn[codes[drawn] == code] for code in np.unique(codes[labeled])]
    held_out = np.concatenate([rows[: len(rows) // 10] for rows in by_class])
    if not len(held_out):
        raise ValueError(
            "early_stopping holds out a tenth of the labels of each class, and no class has ten; leave it out."
        )
    return held_out


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the first there is of cuda, mps and cpu."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, is_there in there.items() if is_there)
    if not there[name]:
        raise ValueError(f"device={name!r} is not there for this PyTorch; choose another, or 'auto'.")
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
