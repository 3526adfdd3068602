"""
What bias looks like
====================

Tumours, of which some were diagnosed: 40 at random, or 40 that stood out. ``chary.diagnose`` asks one question:
can a classifier tell the labelled rows from the others? **Where labels were drawn at random it cannot, and the
two outlines coincide; where the cases that stood out were labelled, they part.**
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import chary
from chary.method import selection_biased

data = load_breast_cancer(as_frame=True)
frame = data.data.iloc[:, :10]
scaled = StandardScaler().fit_transform(frame)
picked = {
    "drawn at random": np.random.default_rng(0).permutation(len(frame)) < 40,
    "those that stood out": selection_biased(scaled, data.target, n_labeled=40, r=3, random_state=0),
}

# %%
# The score of a row says how much it looks like a labelled one, by a classifier that had not seen it.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, (how, labeled) in zip(axes, picked.items(), strict=True):
    table = frame.assign(diagnosis=np.where(labeled, data.target_names[data.target].astype(object), None))
    found = chary.diagnose(table, target="diagnosis")
    density = found.summary["density"]
    for side, colour in (("unlabeled", "#2f6fbf"), ("labeled", "#c96400")):
        ax.fill_between(density["grid"], density[side], color=colour, alpha=0.4, label=f"{side} rows")
    ax.set(xlabel="looks like a labelled row →", yticks=[])
    ax.legend()
    ax.set_title(f"{how}: {found.verdict} (AUC {found.details.separation.auc:.2f})")
plt.show()
