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

torch.set_num_threads(1)
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
        mask = batch["attention_mask"]
        words = self.embedding(batch["input_ids"])
        tokens = self.layer(words, src_key_padding_mask=~mask)  # (n, tokens, 32)
        # One vector per text, (n, 32): the mean over its tokens, without the padding.
        return (tokens * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)


def batch(rows):
    return {"input_ids": ids[rows], "attention_mask": ids[rows] > 0}


# %%
# 300 sentences have labels, 100 more validate, the others have none.
network = DiverseNetwork(Encoder(), DiverseHeads(in_features=32, n_classes=len(PARTS)))
optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=150)
best_accuracy = -1.0

for step in range(150):
    network.train()
    rows = torch.randint(300, (32,))
    unlabeled = torch.randint(400, len(ids), (32,))
    logits, head_logits = network(batch(rows), batch(unlabeled))
    loss = cross_entropy(logits[:32], labels[rows])
    loss += ensemble_loss(head_logits[:32], labels[rows])
    loss += diversity_loss(head_logits[32:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 15 == 14:
        network.eval()
        with torch.no_grad():
            logits, _ = network(batch(slice(300, 400)))
        accuracy = (logits.argmax(dim=1) == labels[300:400]).float().mean()
        if accuracy >= best_accuracy:
            best_accuracy = accuracy
            best_weights = {name: value.clone() for name, value in network.state_dict().items()}

# %%
# The weights that did best on the validation sentences, on all sentences without a label.
network.load_state_dict(best_weights)
network.eval()
with torch.no_grad():
    logits, head_logits = network(batch(slice(400, None)))
right = (logits.argmax(dim=1) == labels[400:]).float()
surest_first = right[t_similarity(head_logits.softmax(dim=-1)).argsort(descending=True)]
plt.bar(
    ["surest", "second", "third", "least sure quarter"],
    [quarter.mean().item() for quarter in surest_first.chunk(4)],
)
plt.ylabel("share of sentences that are right")
print(f"{best_accuracy:.0%} of the validation sentences are right.")
