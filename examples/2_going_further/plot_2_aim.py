"""
When rare classes matter
========================

One row in twenty is of the class that you look for. As many right labels as possible means: hardly
label any of them so. **With the aim "balanced" more of the rare class is found, at the cost of
errors among the common one.**
"""

import matplotlib.pyplot as plt
import numpy as np

import chary

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(0, 1, (1900, 2)), rng.normal([2.5, 0], 1, (100, 2))])
truth = np.repeat(["common", "rare"], [1900, 100])
y = np.where(rng.random(2000) < 0.1, truth.astype(object), None)
hidden = y == None  # noqa: E711

# %%
# Of each class, the share that is found among the rows without a label.

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for shift, aim, color in ((-0.2, "accuracy", "#0072B2"), (0.2, "balanced", "#D55E00")):
    labels = chary.MixedEnsembleClassifier(aim=aim, random_state=0).fit(X, y).predict(X[hidden])
    found = [100 * np.mean(labels[truth[hidden] == name] == name) for name in ("common", "rare")]
    right = np.mean(labels == truth[hidden])
    bars = ax.bar(
        np.arange(2) + shift,
        found,
        0.36,
        color=color,
        label=f'aim="{aim}": {right:.0%} right in all',
    )
    ax.bar_label(bars, fmt="%.0f")
ax.set(
    xticks=[0, 1],
    xticklabels=["common (95 %)", "rare (5 %)"],
    ylabel="found, percent",
    ylim=(0, 130),
)
ax.legend(loc="upper center", ncols=2)
plt.show()
