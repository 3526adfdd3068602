"""
What bias looks like
====================

Tumours, of which some were diagnosed: 40 at random, or 40 that stood out. ``chary.diagnose`` asks
one question: can a classifier tell the labelled rows from the others? **Where labels were drawn at
random it cannot, and the columns hardly differ; where the cases that stood out were labelled, they
do.**
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
    "those that stood out": selection_biased(
        scaled, data.target, n_labeled=40, r=3, random_state=0
    ),
}

# %%
# How far the labelled rows are from the others on average, in standard deviations.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, layout="constrained")
for ax, (how, labeled) in zip(axes, picked.items(), strict=True):
    table = frame.assign(
        diagnosis=np.where(labeled, data.target_names[data.target].astype(object), None)
    )
    found = chary.diagnose(table, target="diagnosis")
    shifts = found.summary["shifts"][:6]
    ax.barh(
        [shift["name"] for shift in shifts],
        [shift["difference"] for shift in shifts],
        color="#2f6fbf",
    )
    ax.invert_yaxis()
    ax.set_title(f"{how}: {found.verdict} (AUC {found.details.separation.auc:.2f})")
plt.show()
