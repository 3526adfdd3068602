"""
A text encoder
==============

A backbone may take dictionaries of token numbers and masks, as transformers do. Here a small one
tells from which part of scikit-learn's documentation a sentence is. **Where the heads agree, it is
right more often.**
"""

import re
from zlib import crc32

import matplotlib.pyplot as plt
import torch
from sklearn.utils.discovery import all_estimators
from torch import nn
from torch.nn.functional import cross_entropy

from chary.torch import DiverseHeads, DiverseNetwork, diversity_loss, ensemble_loss, t_similarity

torch.manual_seed(0)
PARTS = ["cluster", "ensemble", "linear_model", "preprocessing"]
models = [model for _, model in all_estimators() if model.__module__.split(".")[1] in PARTS]
texts = sorted(
    {(m.__module__.split(".")[1], text) for m in models for text in m.__doc__.split(". ")}
)
texts = [texts[row] for row in torch.randperm(len(texts))]
tokens = [
    [crc32(word.encode()) % 4000 + 1 for word in re.findall(r"\w+|$", text)[:20]]
    for _, text in texts
]
ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)
labels = torch.tensor([PARTS.index(part) for part, _ in texts])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(4001, 32, padding_idx=0)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)

    def forward(self, batch):
        words = self.embedding(batch["input_ids"])
        return self.layer(words, src_key_padding_mask=~batch["attention_mask"])[:, 0]


network = DiverseNetwork(Encoder(), DiverseHeads(in_features=32, n_classes=len(PARTS)))
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=150)
batches = {"input_ids": ids, "attention_mask": ids > 0}
for _ in range(150):
    rows, unlabeled = torch.randint(300, (32,)), torch.randint(300, len(ids), (32,))
    logits, head_logits = network(
        *({k: v[r] for k, v in batches.items()} for r in (rows, unlabeled))
    )
    loss = cross_entropy(logits[:32], labels[rows]) + diversity_loss(head_logits[32:])
    loss += ensemble_loss(head_logits[:32], labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()

network.eval()
with torch.no_grad():
    logits, head_logits = network({k: v[300:] for k, v in batches.items()})
right = (logits.argmax(dim=1) == labels[300:]).float()
surest_first = right[t_similarity(head_logits.softmax(dim=-1)).argsort(descending=True)]
plt.bar(
    ["surest", "second", "third", "least sure quarter"],
    [q.mean().item() for q in surest_first.chunk(4)],
)
