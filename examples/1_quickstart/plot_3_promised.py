"""
What labels promise, and what is true
=====================================

Cross-validation judges a model where the labels are. Where these are not a random sample it knows
nothing of the other rows: **here it promises 96 % or more throughout, where little more than half
is true with few labels. Thirty random rows tell, with an interval that holds.**
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary.audit import draw, interval

X, truth = load_breast_cancer(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression())
uneven = np.argsort(-X[:, 10])  # the error of the radius: uneven tumours were looked at first
sizes = (80, 100, 120, 140, 160, 180)

# %%
# For each number of labels: what cross-validation says, what is true elsewhere, and what an audit
# of thirty rows says.

promised, true, audited = [], [], []
for size in sizes:
    labeled = np.isin(np.arange(len(X)), uneven[:size])
    promised.append(cross_val_score(model, X[labeled], truth[labeled], cv=3).mean())
    right = model.fit(X[labeled], truth[labeled]).predict(X) == truth
    true.append(right[~labeled].mean())
    rows = draw(labeled, 30, random_state=size)
    audited.append(interval(right[rows].sum(), 30, population=int((~labeled).sum())))
low, high = 100 * np.transpose(audited)
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(
    sizes, 100 * np.array(promised), "s--", color="#0072B2", label="cross-validation on the labels"
)
ax.plot(sizes, 100 * np.array(true), "o", color="black", label="truth, on all other rows")
middle = (low + high) / 2
ax.errorbar(
    sizes,
    middle,
    high - middle,
    fmt="none",
    color="#D55E00",
    capsize=5,
    label="audit of 30 random rows",
)
ax.set(
    xlabel="labels, the most uneven tumours first",
    ylabel="right, percent",
    ylim=(0, 102),
    xticks=sizes,
)
ax.legend(loc="lower right")
plt.show()
