"""
A PyTorch loop with a scheduler
===============================

A CNN learns scans of digits from 100 labels, with 50 more to validate. The lines that end in "#
chary" add the diverse heads. **The more scans are left to a person, those on which the heads agree
least first, the fewer of the others are wrong.**
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy

from chary.method import risk_coverage_curve
from chary.torch import (  # chary
    DiverseHeads,
    DiverseNetwork,
    diversity_loss,
    ensemble_loss,
    t_similarity,
)

torch.set_num_threads(1)
torch.manual_seed(0)
images, digits = map(torch.as_tensor, load_digits(return_X_y=True))
images = (images / 16).float().reshape(-1, 1, 8, 8)
n_steps = 200

convolution = nn.Sequential(nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten())
backbone = nn.Sequential(convolution, nn.Dropout(0.2), nn.Linear(576, 32), nn.ReLU())
network = DiverseNetwork(backbone, DiverseHeads(in_features=32, n_classes=10))  # chary
# The heads are there before the optimizer, and the optimizer before the scheduler.
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=n_steps)
best_accuracy = -1.0

for step in range(n_steps):
    network.train()
    rows = torch.randint(100, (32,))
    unlabeled = torch.randint(150, len(images), (32,))  # chary
    logits, head_logits = network(images[rows], images[unlabeled])  # chary
    loss = cross_entropy(logits[:32], digits[rows])
    loss += ensemble_loss(head_logits[:32], digits[rows])  # chary
    loss += diversity_loss(head_logits[32:])  # chary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 20 == 19:
        network.eval()
        with torch.no_grad():
            logits, _ = network(images[100:150])
        accuracy = (logits.argmax(dim=1) == digits[100:150]).float().mean()
        if accuracy >= best_accuracy:
            best_accuracy = accuracy
            best_weights = {name: value.clone() for name, value in network.state_dict().items()}

# %%
# The weights that did best on the validation rows, on all other scans.
network.load_state_dict(best_weights)
network.eval()
with torch.no_grad():
    logits, head_logits = network(images[150:])
right = logits.argmax(dim=1) == digits[150:]
curve = risk_coverage_curve(t_similarity(head_logits.softmax(dim=-1)), right)  # chary
plt.plot(100 * curve.coverage, 100 * curve.risk)
plt.xlabel("scans answered, surest first, percent")
plt.ylabel("wrong among them, percent")
