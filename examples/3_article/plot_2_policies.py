"""
Policies compared
=================

Self-training takes in its own labels in rounds; a policy says which. Digits, 100 labels that were not picked at
random, one seed: **a threshold of 0.8 on softmax takes in most rows at once, and right and wrong ones alike stay
in; the same threshold on T-similarity takes hardly any, and none that is wrong. The curriculum goes by order:
the best 40 % first, all rows in the end.** Which of them is best in the end depends on the data;
:doc:`../../explanation/paper` has thirteen sets and nine seeds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import chary
from chary.method import selection_biased

X, truth = load_digits(return_X_y=True)
X, truth = X[:900] / 16, truth[:900]
policies = {
    "softmax, FixedThreshold(0.8)": (chary.FixedThreshold(0.8), "max_probability", "#0072B2"),
    "T-similarity, FixedThreshold(0.8)": (chary.FixedThreshold(0.8), "t_similarity", "#D55E00"),
    "T-similarity, Curriculum(0.4)": (chary.Curriculum(0.4), "t_similarity", "#009E73"),
    "T-similarity, TransductiveBound()": (chary.TransductiveBound(), "t_similarity", "#CC79A7"),
}

# %%
# All start from the same first fit. Left: rows that have been taken in. Right: how many of the labels taken in
# are wrong.

labeled = selection_biased(X, truth, n_labeled=100, r=1.5, random_state=0)
y = np.where(labeled, truth, -1)
first = chary.DiverseEnsembleClassifier(n_steps=300, random_state=0).fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for name, (policy, confidence, color) in policies.items():
    model = chary.SelfTrainingClassifier(first, policy=policy, confidence=confidence, max_rounds=4)
    model.fit(X, y, initial=first)
    rounds, score = np.arange(1, 5), model.score(X[~labeled], truth[~labeled])
    taken = [(model.labeled_iter_ > 0) & (model.labeled_iter_ <= t) for t in rounds]
    wrong = [100 * np.mean(model.transduction_[rows] != truth[rows]) if rows.any() else np.nan for rows in taken]
    left.plot(rounds, [100 * rows.sum() / (~labeled).sum() for rows in taken], "o-", color=color)
    right.plot(rounds, wrong, "o-", color=color, label=f"{name}: {score:.0%} right in the end")
left.set(xlabel="round", ylabel="rows taken in, percent", xticks=rounds, ylim=(0, 105))
right.set(xlabel="round", ylabel="wrong among them, percent", xticks=rounds, ylim=(0, None))
figure.legend(loc="outside lower center", ncols=2)
plt.show()
