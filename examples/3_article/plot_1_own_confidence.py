"""
Your own confidence
===================

A confidence is a function of a fitted model and some rows: one number for each row, high where the
label can be trusted. ``predict_head_proba`` gives what the heads say, an array of shape (rows,
heads, classes). Here the confidence is that of the head that believes least in the label. **It
orders right and wrong labels as T-similarity does (the curves lie on each other); on this draw of
labels the largest probability orders them better than both.**
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import chary
from chary.method import confidence_auroc, risk_coverage_curve, selection_biased

X, truth = load_digits(return_X_y=True)
X = X / 16
labeled = selection_biased(X, truth, n_labeled=100, r=1.5, random_state=0)
y = np.where(labeled, truth, -1)  # -1: no label


def weakest_head(model, X):
    heads = model.predict_head_proba(X)  # (n, M, C)
    label = model.predict_proba(X).argmax(axis=1)  # (n,)
    return heads[np.arange(len(X)), :, label].min(axis=1)  # (n,)


# %%
# In self-training it stands where ``"t_similarity"`` would. That it runs does not mean that it
# helps: here the rounds cost accuracy.

first = chary.DiverseEnsembleClassifier(n_steps=300, random_state=0).fit(X, y)
model = chary.SelfTrainingClassifier(first, confidence=weakest_head).fit(X, y, initial=first)
print(f"{first.score(X[~labeled], truth[~labeled]):.1%} right before self-training,")
print(f"{model.score(X[~labeled], truth[~labeled]):.1%} after {model.n_rounds_} rounds")

# %%
# How well does it order the labels of the first fit? The lower the curve, the fewer errors among
# the rows that are answered first; in the legend, how often a right label has more confidence than
# a wrong one.

right = first.predict(X[~labeled]) == truth[~labeled]
orders = {
    "weakest head": weakest_head(first, X[~labeled]),
    "T-similarity": first.predict_confidence(X[~labeled], "t_similarity"),
    "largest probability": first.predict_confidence(X[~labeled], "max_probability"),
}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, confidence), style in zip(orders.items(), ("-", "--", ":"), strict=True):
    curve = risk_coverage_curve(confidence, right)
    label = f"{name} ({confidence_auroc(confidence, right):.0%})"
    ax.plot(100 * curve.coverage, 100 * curve.risk, style, label=label)
ax.set(
    xlabel="rows answered, surest first, percent", ylabel="wrong among them, percent", xlim=(0, 100)
)
ax.legend()
plt.show()
