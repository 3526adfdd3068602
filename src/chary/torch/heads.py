"""Diverse heads on the features of any backbone, and the losses that train them.

The counterpart of ``chary.method.network``: the same maths, differentiated by autograd.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from chary.method import t_similarity
from chary.method.network import Losses


class DiverseHeads(nn.Module):
    """A prediction head and M diverse heads on a backbone's features, in one linear layer.

    The diverse heads compute in float32 under autocast, too: agreement in half precision would
    take few values, and many rows would tie.

    Parameters
    ----------
    in_features, n_classes : int
        Width h of the features, and C.
    n_heads : int, default=5
        M, at least 2.
    joint : bool, default=False
        Let the gradient of the diverse heads through to the features. By default it stops at the
        heads.

    Examples
    --------
    >>> heads = DiverseHeads(in_features=8, n_classes=3)
    >>> logits, head_logits = heads(torch.zeros(2, 8))
    >>> logits.shape, head_logits.shape
    (torch.Size([2, 3]), torch.Size([2, 5, 3]))

    A label for each token of a text: features (n, tokens, h).

    >>> logits, head_logits = heads(torch.zeros(2, 7, 8))
    >>> logits.shape, head_logits.shape
    (torch.Size([2, 7, 3]), torch.Size([2, 7, 5, 3]))
    """

    def __init__(
        self, in_features: int, n_classes: int, n_heads: int = 5, *, joint: bool = False
    ) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.n_heads = n_heads
        self.joint = joint
        # PyTorch's own initialisation is the paper's: uniform in +-1/sqrt(fan_in).
        self.linear = nn.Linear(in_features, (1 + n_heads) * n_classes)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the logits of both kinds of heads, (n, C) and (n, M, C).

        The prediction head comes first, then the diverse heads.

        Parameters
        ----------
        features : Tensor of shape (n, h), (n, tokens, h) or (n, height, width, h)
            Every vector of h features gets a label: of a row, a token or a place in an image.
        """
        if not isinstance(features, Tensor):
            raise TypeError(
                f"The backbone returned a {type(features).__name__}; the heads expect a tensor of "
                "features. Let the backbone return one, such as the first output of a GRU or the "
                "last_hidden_state of a transformer."
            )
        if features.shape[-1] != self.linear.in_features:
            raise ValueError(_wrong_width(features, self.linear.in_features))

        # The first C outputs of the linear layer are the prediction head.
        C = self.n_classes
        weight = self.linear.weight  # ((1 + M) C, h)
        bias = self.linear.bias  # ((1 + M) C,)
        logits = functional.linear(features, weight[:C], bias[:C])  # (n, C)
        # A detached tensor sends no gradient back.
        if not self.joint:
            features = features.detach()
        with _no_autocast(features):
            head_logits = functional.linear(
                _at_least_float32(features),
                _at_least_float32(weight[C:]),
                _at_least_float32(bias[C:]),
            )  # (n, M C)
        return logits, head_logits.unflatten(-1, (self.n_heads, C))


class DiverseNetwork(nn.Module):
    """A backbone under its heads, which do not change how it trains.

    A part of the backbone is frozen if it is in evaluation mode when the network is made, and none
    of its parameters requires a gradient. ``train`` leaves a frozen part in evaluation mode, until
    its parameters are made to require a gradient.

    Parameters
    ----------
    backbone : Module
        Rows -> features (n, h), or one of the other shapes that ``DiverseHeads`` takes.
    heads : DiverseHeads
        On these features.
    """

    def __init__(self, backbone: nn.Module, heads: DiverseHeads) -> None:
        super().__init__()
        self.backbone = backbone
        self.heads = heads
        # Names, not modules: a copy of the network has modules of its own.
        self._in_evaluation = [
            name for name, module in backbone.named_modules() if not module.training
        ]

    def forward(self, X: Any, X_unlabeled: Any = None) -> tuple[Tensor, Tensor]:
        """Compute logits of both kinds of heads, for ``X`` and then for ``X_unlabeled``.

        Each is a batch as the backbone takes it: a tensor, a dictionary. Unless the heads are
        ``joint``, the rows of ``X_unlabeled`` pass the backbone in evaluation mode, and no gradient
        goes back through it from them: they change neither its weights, nor the running statistics
        of batch normalisation, nor the random numbers of dropout.
        """
        logits, head_logits = self.heads(self.backbone(X))
        if X_unlabeled is None:
            return logits, head_logits

        if self.heads.joint:
            features = self.backbone(X_unlabeled)
        else:
            with torch.no_grad(), _evaluation_mode(self.backbone):
                features = self.backbone(X_unlabeled)

        # Not one product for X and X_unlabeled: that could round the rows of X differently.
        unlabeled_logits, unlabeled_head_logits = self.heads(features)
        return (
            torch.cat([logits, unlabeled_logits]),
            torch.cat([head_logits, unlabeled_head_logits]),
        )

    def train(self, mode: bool = True) -> DiverseNetwork:
        """Set the mode; frozen parts of the backbone stay in evaluation mode."""
        super().train(mode)
        for name in self._in_evaluation:
            module = self.backbone.get_submodule(name)
            if _is_frozen(module):
                module.eval()
        return self


def _wrong_width(features: Tensor, in_features: int) -> str:
    """Say why features do not fit the heads, and how to make them fit."""
    message = (
        f"The features have shape {tuple(features.shape)}; the heads expect {in_features} features "
        "in the last dimension."
    )
    if features.ndim > 2 and features.shape[1] == in_features:
        message += (
            " For one label per row pool them, features.flatten(2).mean(dim=2); for one label per "
            "place move the channels, features.movedim(1, -1)."
        )
    return message


def _no_autocast(tensor: Tensor) -> AbstractContextManager[Any]:
    """Leave autocast, where it is on for the tensor's device."""
    device = tensor.device.type
    # Only where it is on: the context manager would show in an exported graph.
    if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device):
        return torch.autocast(device, enabled=False)
    return nullcontext()


def _at_least_float32(tensor: Tensor) -> Tensor:
    """Turn half precision into float32; leave float32 and float64 as they are."""
    return tensor.float() if tensor.dtype.itemsize < 4 else tensor


def _is_frozen(module: nn.Module) -> bool:
    """Tell whether a module has parameters or buffers, none of which requires a gradient."""
    tensors = [*module.parameters(), *module.buffers()]
    return len(tensors) > 0 and not any(tensor.requires_grad for tensor in tensors)


@contextmanager
def _evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode inside the block."""
    modes = [(submodule, submodule.training) for submodule in module.modules()]
    module.eval()
    try:
        yield
    finally:
        # Not module.train(), which would wake submodules that were in evaluation mode.
        for submodule, mode in modes:
            submodule.training = mode


def ensemble_loss(head_logits: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
    r"""Average the cross-entropy of the heads over the labelled rows.

    .. math:: \frac{1}{BM} \sum_i w_i \sum_m \mathrm{ce}(h_m(x_i), y_i)

    for the M heads and the B labelled rows of a batch.

    Parameters
    ----------
    head_logits : Tensor of shape (n, M, C)
        Or (n, tokens, M, C), (n, height, width, M, C); then ``targets`` has a label for each token
        or place.
    targets : Tensor of shape (n,)
        Class index of each row; a row with a negative index is unlabelled and does not count.
    weights : Tensor of shape (n,), default=None
        w, 1 when None.
    """
    if targets.shape != head_logits.shape[:-2]:
        raise ValueError(
            f"targets have shape {tuple(targets.shape)}, head_logits {tuple(head_logits.shape)}; "
            f"targets of shape {tuple(head_logits.shape[:-2])} are expected. For one label per row "
            "give the heads one vector per row, such as features.mean(dim=1) over tokens."
        )
    labeled = targets >= 0  # (n,)
    n_heads = head_logits.shape[-2]
    # Every head has a line with the target of its row. An unlabelled row gets class 0 here, and is
    # left out of the mean in the end.
    valid_targets = targets.clamp(min=0).flatten()  # (n,)
    head_targets = valid_targets.repeat_interleave(n_heads)  # (n M,)
    head_lines = head_logits.flatten(0, -2)  # (n M, C)
    losses = functional.cross_entropy(head_lines, head_targets, reduction="none")  # (n M,)
    row_losses = losses.reshape(head_logits.shape[:-1]).mean(dim=-1)  # (n,)
    if weights is not None:
        row_losses = row_losses * weights
    return _mean(row_losses, labeled)


def diversity_loss(head_logits: Tensor, rows: Tensor | None = None) -> Tensor:
    """Average the T-similarity of the heads; minimised, it makes them disagree.

    The paper's diversity loss l_div is minus this: its total loss subtracts gamma * l_div.

    Parameters
    ----------
    head_logits : Tensor of shape (n, M, C)
        Or (n, tokens, M, C), (n, height, width, M, C).
    rows : bool Tensor of shape (n,), default=None
        The rows that count, in the paper the unlabelled ones; all when None. Leave out the padding
        of texts.
    """
    similarity = t_similarity(head_logits.softmax(dim=-1))  # (n,)
    if rows is None:
        rows = torch.ones_like(similarity, dtype=torch.bool)
    return _mean(similarity, rows)


def diverse_losses(
    logits: Tensor, head_logits: Tensor, targets: Tensor, weights: Tensor | None = None
) -> Losses:
    """Compute all terms of the paper's loss on a batch.

    Labelled and unlabelled rows may come in any order.

    Parameters
    ----------
    logits, head_logits : Tensors of shape (n, C) and (n, M, C)
        The outputs of ``DiverseHeads``.
    targets : Tensor of shape (n,)
        Class index of each row; negative where unlabelled.
    weights : Tensor of shape (n,), default=None
        Weights of the labelled rows.
    """
    return Losses(
        supervised=ensemble_loss(logits.unsqueeze(-2), targets, weights),
        ensemble=ensemble_loss(head_logits, targets, weights),
        similarity=diversity_loss(head_logits, targets < 0),
    )


def _mean(values: Tensor, rows: Tensor) -> Tensor:
    """Average the values of the chosen rows, or return 0 if there is none.

    The other rows are multiplied by 0 instead of being cut out: then no shape depends on the data,
    which an exported or compiled network needs.
    """
    return (values * rows).sum() / rows.sum().clamp(min=1)
