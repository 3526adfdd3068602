"""
Your own figure from stored results
===================================

Every stored study can be read without running anything: ``import_results(...).to_frame()`` has a
row for each run: data set, labelling, method, seed and what was measured. **Thirteen data sets,
nine seeds: what self-training with a curriculum gains or loses against the network alone, run by
run, with either confidence.** To draw the figure of a study itself, call
``studies.draw(study, results)``.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import studies

stored = Path(studies.__file__).parent / "results" / "table-ssb" / "cells.json.gz"
frame = studies.import_results(stored).to_frame()
wide = 100 * frame.pivot(index=["dataset", "seed"], columns="method", values="accuracy")
gains = wide[["csta-softmax", "csta-tsim"]].sub(wide["erm"], axis=0)
print(gains.groupby("dataset").mean().round(1))

# %%
figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
names = sorted(frame.dataset.unique(), key=lambda name: gains.loc[name, "csta-tsim"].mean())
for method, title, shift, color in (
    ("csta-softmax", "softmax", 0.15, "#0072B2"),
    ("csta-tsim", "T-similarity", -0.15, "#D55E00"),
):
    for place, name in enumerate(names):
        runs = gains.loc[name, method]
        ax.plot(runs, [place + shift] * len(runs), ".", color=color, alpha=0.5)
        ax.plot(runs.mean(), place + shift, "|", color=color, markersize=10, markeredgewidth=2)
    ax.plot([], [], "|", color=color, markeredgewidth=2, label=title)
ax.axvline(0, color="black", linewidth=0.8)
ax.set(
    yticks=range(len(names)), yticklabels=names, xlabel="points of accuracy over the network alone"
)
ax.legend()
plt.show()
