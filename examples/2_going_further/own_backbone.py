"""Your own network and training loop, and the few lines that give it an honest confidence.

The lines that end in "# chary" are the added ones; without them this is a plain PyTorch script.

    python examples/2_going_further/own_backbone.py
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from chary.torch import DiverseHeads, diversity_loss, ensemble_loss, t_similarity  # chary

torch.manual_seed(0)
images, labels = map(torch.as_tensor, load_digits(return_X_y=True))
images = (images / 16).float().reshape(-1, 1, 8, 8)
n_labeled = 100  # the other images have labels too, but only to check the result

backbone = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 64), nn.ReLU())
classifier = nn.Linear(64, 10)
optimizer = torch.optim.AdamW([*backbone.parameters(), *classifier.parameters()], lr=1e-3)
heads = DiverseHeads(in_features=64, n_classes=10)  # chary
optimizer.add_param_group({"params": heads.parameters()})  # chary

for _ in range(300):
    rows = torch.randint(n_labeled, (32,))
    features = backbone(images[rows])
    loss = functional.cross_entropy(classifier(features), labels[rows])
    unlabeled = torch.randint(n_labeled, len(images), (32,))  # chary
    loss += ensemble_loss(heads(features)[1], labels[rows])  # chary
    loss += diversity_loss(heads(backbone(images[unlabeled]))[1])  # chary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

with torch.no_grad():
    features = backbone(images[n_labeled:])
    right = classifier(features).argmax(dim=1) == labels[n_labeled:]
    print(f"right on {right.float().mean():.1%} of {len(right)} unlabelled images")
    trusted = t_similarity(heads(features)[1].softmax(dim=-1)).argsort(descending=True)[: len(right) // 2]  # chary
    print(f"right on {right[trusted].float().mean():.1%} of the half on which the heads agree most")  # chary
