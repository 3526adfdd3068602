"""
T-similarity of a random forest
===============================

T-similarity asks the members of any ensemble how far they agree: the trees of a forest, too. A forest's vote
says which class has most of the trees; **T-similarity is lower wherever they are split, and never higher than
the vote.** As an order of the rows the two are close: the members of a forest were not made to disagree.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from chary.method import confidence_auroc, t_similarity

X, truth = load_digits(return_X_y=True)
rows = np.random.default_rng(0).permutation(len(X))
train, rest = rows[:80], rows[80:]
forest = RandomForestClassifier(100, random_state=0).fit(X[train], truth[train])
members = np.stack([tree.predict_proba(X[rest]) for tree in forest.estimators_], axis=1)  # (n, M, C)
vote, agreement = members.mean(axis=1).max(axis=1), t_similarity(members)
right = forest.predict(X[rest]) == truth[rest]

# %%
# A point is a scan.

figure, ax = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
for mask, color, marker, name in ((right, "#0072B2", ".", "right"), (~right, "#D55E00", "x", "wrong")):
    ax.plot(vote[mask], agreement[mask], marker, color=color, alpha=0.5, label=f"{name} ({mask.sum()})")
ax.plot([0, 1], [0, 1], ":", color="black", label="equal")
names = {"vote": vote, "T-similarity": agreement}
told = ", ".join(f"{name} {confidence_auroc(values, right):.2f}" for name, values in names.items())
ax.set(xlabel="share of the vote for the winner", ylabel="T-similarity of the trees", xlim=(0, 1), ylim=(0, 1))
ax.set_title(f"chance that a right scan is above a wrong one: {told}")
ax.legend()
plt.show()
