"""
Your own base classifier
========================

Self-training works around any classifier of scikit-learn with ``predict_proba``. If the classifier
also has ``predict_head_proba``, an array of shape (rows, members, classes), its members can be
asked how far they agree: T-similarity needs no more. Here the members are nearest class means, each
on its own random half of the columns. **The labels on which the members agree are right far more
often than the others.** (Voting, bagging and forest classifiers of scikit-learn need nothing at
all: their ``estimators_`` are the members.)
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits

import chary
from chary.method import selection_biased


class HalvesOfColumns(ClassifierMixin, BaseEstimator):
    def __init__(self, n_members=15, random_state=0):
        self.n_members, self.random_state = n_members, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])  # (C, d)
        self.columns_ = rng.random((self.n_members, X.shape[1])) < 0.5  # (M, d)
        return self

    def predict_head_proba(self, X):
        squares = (X[:, None] - self.means_) ** 2  # (n, C, d)
        return softmax(-squares @ self.columns_.T, axis=1).transpose(0, 2, 1)  # (n, M, C)

    def predict_proba(self, X):
        return self.predict_head_proba(X).mean(axis=1)  # (n, C)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# %%
# It is given the labelled rows alone: a classifier with a parameter ``unlabeled`` would get all of
# them.

X, truth = load_digits(return_X_y=True)
X = X / 16
labeled = selection_biased(X, truth, n_labeled=100, r=1.5, random_state=0)
y = np.where(labeled, truth, -1)
model = chary.SelfTrainingClassifier(HalvesOfColumns(), confidence="t_similarity").fit(X, y)
confidence, right = (
    model.predict_confidence(X[~labeled]),
    model.predict(X[~labeled]) == truth[~labeled],
)

# %%
# Rows in ten groups of the same size, from those on which the members agree least to the others.

groups = np.array_split(np.argsort(confidence), 10)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
bars = ax.bar(range(10), [100 * right[rows].mean() for rows in groups], color="#0072B2")
ax.bar_label(bars, fmt="%.0f")
ax.set(
    xticks=range(10),
    xticklabels=[f"{confidence[rows].mean():.2f}" for rows in groups],
    ylim=(0, 110),
)
ax.set(xlabel="T-similarity, mean of the group", ylabel="right labels, percent")
plt.show()
