"""
Your own backbone
=================

Any PyTorch network that makes features of rows can carry the diverse heads: here a small CNN on scans of digits,
with 60 labels. ``own_backbone.py`` beside this script has the same in a training loop of your own. **The more of
the scans are left to a person, those on which the heads agree least first, the fewer of the others are wrong.**
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

from chary.method import risk_coverage_curve
from chary.torch import TorchDiverseClassifier

torch.set_num_threads(1)
images, digits = load_digits(return_X_y=True)
images = (images / 16).astype(np.float32).reshape(-1, 1, 8, 8)
y = digits.copy()
y[60:] = -1


def cnn() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 32), nn.ReLU())


model = TorchDiverseClassifier(cnn, n_steps=150, device="cpu", random_state=0).fit(images, y)

# %%
# Errors among the scans that are answered, from the surest to all of them.

right = model.predict(images[60:]) == digits[60:]
curve = risk_coverage_curve(model.predict_confidence(images[60:]), right)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
ax.plot(100 * curve.coverage, 100 * curve.risk, color="#D55E00", label="surest first, by T-similarity")
ax.axhline(100 * np.mean(~right), color="black", linestyle=":", label="all of them, or any at random")
ax.set(xlabel="scans answered, percent", ylabel="wrong among them, percent", xlim=(0, 100), ylim=(0, None))
ax.legend()
plt.show()
