"""Diverse heads on any PyTorch backbone, and the losses that train them."""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = "chary.torch needs PyTorch, which is not installed: pip install 'chary[torch]'"
    raise ModuleNotFoundError(message, name="torch") from None

from chary.method import t_similarity
from chary.method.network import Losses
from chary.torch.heads import (
    DiverseHeads,
    DiverseNetwork,
    diverse_losses,
    diversity_loss,
    ensemble_loss,
)

__all__ = [
    "DiverseHeads",
    "DiverseNetwork",
    "Losses",
    "diverse_losses",
    "diversity_loss",
    "ensemble_loss",
    "t_similarity",
]
