"""
When you know the share of each class
=====================================

Labels of the left class lie far from the right one, labels of the right class close to the left:
the boundary is off. **Told that both classes have half of the rows, the model moves it back**,
without a single label more.
"""

import matplotlib.pyplot as plt
import numpy as np

import chary

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (500, 2)), rng.normal([3, 0], 1, (500, 2))])
truth = np.repeat(["left", "right"], 500)
y = np.full(1000, None)
y[np.argsort(X[:500, 0])[:20]] = "left"  # labelled far from the other class
y[500 + np.argsort(X[500:, 0])[:20]] = "right"  # labelled close to it
hidden = y == None  # noqa: E711
shares = {"left": 0.5, "right": 0.5}

# %%
# Grey is what the model calls "left"; large marks are the labels.

x, height = np.linspace(-4, 7, 150), np.linspace(-4, 4, 100)
plane = np.stack(np.meshgrid(x, height), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, prior, name in zip(axes, (None, shares), ("told nothing", "told the shares"), strict=True):
    model = chary.MixedEnsembleClassifier(class_prior=prior, random_state=0).fit(X, y)
    ax.contourf(
        x, height, (model.predict(plane) == "left").reshape(100, 150), [0.5, 1.5], colors="#cccccc"
    )
    for c, color, marker in (("left", "#D55E00", "o"), ("right", "#0072B2", "^")):
        ax.plot(*X[truth == c].T, marker, color=color, alpha=0.25, markersize=3)
        ax.plot(
            *X[y == c].T,
            marker,
            color=color,
            markeredgecolor="black",
            markersize=8,
            label=f"labelled {c}",
        )
    ax.set_title(f"{name}: {model.score(X[hidden], truth[hidden]):.0%} right")
axes[0].legend(loc="lower left")
plt.show()
