"""
Sure, and sure with reason
==========================

Two half-moons, and twenty labels that were not picked at random. The same network is asked twice
how sure it is. **Softmax is sure almost everywhere**, close to the labels and far from them. Its
five diverse heads fit the same labels, but were made to disagree wherever they can: **they agree
around labels that stand together, and doubt the rest.**
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.preprocessing import StandardScaler

import chary
from chary.method import selection_biased

X, truth = make_moons(1000, noise=0.1, random_state=0)
X = StandardScaler().fit_transform(X)
labeled = selection_biased(X, truth, n_labeled=20, r=3, random_state=0)
model = chary.DiverseEnsembleClassifier(random_state=0).fit(X, np.where(labeled, truth, -1))

# %%
# Both confidences over the plane: bright is sure. White lines are where the predicted class
# changes.

x, y = np.linspace(-2.5, 2.5, 120), np.linspace(-2.5, 2.5, 120)
plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
for ax, kind, name in zip(
    axes, ("max_probability", "t_similarity"), ("softmax", "T-similarity"), strict=True
):
    confidence = model.predict_confidence(plane, kind).reshape(120, 120)
    filled = ax.contourf(x, y, confidence, np.linspace(0, 1, 11), cmap="cividis")
    ax.contour(x, y, model.predict(plane).reshape(120, 120), [0.5], colors="white")
    for c, color, marker in ((0, "#D55E00", "o"), (1, "#0072B2", "^")):
        ax.plot(*X[truth == c].T, marker, color="white", alpha=0.3, markersize=3)
        ax.plot(
            *X[labeled & (truth == c)].T, marker, color=color, markeredgecolor="black", markersize=8
        )
    ax.set_title(f"{name}: above 0.9 on {np.mean(confidence > 0.9):.0%} of the plane")
figure.colorbar(filled, ax=axes, label="confidence")
plt.show()
