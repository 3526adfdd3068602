"""
Your own policy
===============

Self-training takes in its own labels in rounds; a policy says which. A policy is an object with
``accept``, which sees a round and answers with a boolean for each row. Here each class gives the
surest third of its rows, so that no class is crowded out. **It stands between the paper's
curriculum, which takes in all rows soon, and a fixed threshold, which takes hardly any.**
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import chary
from chary.method import selection_biased


class BestOfEachClass:
    def __init__(self, share):
        self.share = share

    def accept(self, round):
        accepted = np.zeros(len(round.confidence), dtype=bool)
        for label in np.unique(round.prediction):
            of_class = round.prediction == label
            accepted |= of_class & (
                round.confidence >= np.quantile(round.confidence[of_class], 1 - self.share)
            )
        return accepted


# %%
# A ``Round`` has ``confidence`` (n,), ``class_confidence`` (n, C), ``prediction`` (n,),
# ``posterior`` (n, C) and its ``number``; and the ``model``, all rows ``X``, their ``labels`` and
# the pool's ``rows``. All policies start from the same first fit.

X, truth = load_digits(return_X_y=True)
X = X / 16
labeled = selection_biased(X, truth, n_labeled=100, r=1.5, random_state=0)
y = np.where(labeled, truth, -1)
first = chary.DiverseEnsembleClassifier(n_steps=300, random_state=0).fit(X, y)
policies = {
    "own: best of each class": BestOfEachClass(1 / 3),
    "Curriculum(0.4)": chary.Curriculum(0.4),
    "FixedThreshold(0.8)": chary.FixedThreshold(0.8),
}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for name, policy in policies.items():
    model = chary.SelfTrainingClassifier(first, policy=policy, max_rounds=4).fit(
        X, y, initial=first
    )
    taken = [(model.labeled_iter_ > 0) & (model.labeled_iter_ <= t) for t in range(1, 5)]
    wrong = [
        100 * np.mean(model.transduction_[rows] != truth[rows]) if rows.any() else np.nan
        for rows in taken
    ]
    score = model.score(X[~labeled], truth[~labeled])
    left.plot(range(1, 5), [100 * rows.sum() / (~labeled).sum() for rows in taken], "o-")
    right.plot(range(1, 5), wrong, "o-", label=f"{name}: {score:.0%} right in the end")
left.set(xlabel="round", ylabel="rows taken in, percent", xticks=range(1, 5), ylim=(0, 105))
right.set(xlabel="round", ylabel="wrong among them, percent", xticks=range(1, 5), ylim=(0, None))
figure.legend(loc="outside lower center", ncols=2)
plt.show()

# %%
# One seed of one data set shows that it runs, not which is best. :doc:`plot_4_own_dataset` puts
# methods into a study.
