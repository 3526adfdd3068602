"""
Diverse heads in Lightning
==========================

The network around a backbone is an ordinary module, so that a ``LightningModule`` needs two lines
more. Lightning brings labelled and unlabelled rows in one step if it is given two loaders. **On the
rows that the heads agree on, the predictions are right more often.**
"""

import lightning
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from chary.torch import DiverseHeads, DiverseNetwork, diversity_loss, ensemble_loss, t_similarity

images, digits = map(torch.as_tensor, load_digits(return_X_y=True))
images = (images / 16).float().reshape(-1, 1, 8, 8)


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(576, 32)
        )
        self.network = DiverseNetwork(cnn, DiverseHeads(in_features=32, n_classes=10))

    def training_step(self, batch):
        (X, y), (X_unlabeled,) = batch["labeled"], batch["unlabeled"]
        logits, head_logits = self.network(X, X_unlabeled)
        heads_loss = ensemble_loss(head_logits[: len(X)], y) + diversity_loss(head_logits[len(X) :])
        return cross_entropy(logits[: len(X)], y) + heads_loss

    def validation_step(self, batch):
        self.log("accuracy", (self.network(batch[0])[0].argmax(dim=1) == batch[1]).float().mean())

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 0.01, self.trainer.estimated_stepping_batches
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }


torch.set_num_threads(1)
lightning.seed_everything(0, verbose=False)
labeled = DataLoader(TensorDataset(images[:100], digits[:100]), 32, shuffle=True)
unlabeled = DataLoader(TensorDataset(images[150:]), 32, shuffle=True)
validation = DataLoader(TensorDataset(images[100:150], digits[100:150]), 50)
quiet = dict.fromkeys(
    ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary"), False
)
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", **quiet)
model = Digits()
trainer.fit(model, {"labeled": labeled, "unlabeled": unlabeled}, validation)

model.eval()
with torch.no_grad():
    logits, head_logits = model.network(images[150:])
right = (logits.argmax(dim=1) == digits[150:]).float()
surest_first = right[t_similarity(head_logits.softmax(dim=-1)).argsort(descending=True)]
plt.bar(["surest half", "other half"], [half.mean().item() for half in surest_first.chunk(2)])
