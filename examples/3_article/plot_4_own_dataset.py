"""
Your own data set and method in a study
=======================================

A study runs methods on data sets with biased labels and the paper's seeds, and keeps what is
finished. A data set of yours is an ``.npz`` file with ``X`` and ``y``; it may also hold
``n_labeled`` and ``r``, the strength of the bias. A method of yours is a function from a task to
anything with ``predict``. **Breast cancer, 20 labels, three seeds: a dot is a run, a tick a mean.**
In a clone of the repository, ``python -m studies run table-ssb --datasets mine.npz`` does the same
with all of the paper's methods.
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from studies import STUDIES, Method, Store, results_of, run

folder = tempfile.TemporaryDirectory()
mine = Path(folder.name) / "tumours.npz"
X, y = load_breast_cancer(return_X_y=True)
np.savez(mine, X=X, y=y, n_labeled=20, r=2.0)


def logistic(task):
    return LogisticRegression(max_iter=500).fit(task.X[task.labeled], task.y[task.labeled])


# %%
# The task has ``X``, ``y`` (-1 where the label is hidden), ``labeled``, ``estimator()``, the
# paper's network, and ``initial``, its first fit. ``run`` works out what the store does not hold
# yet; an error in your function is shown with its traceback.

table = STUDIES["table-ssb"]
theirs = {name: table.methods[name] for name in ("erm", "csta-softmax", "csta-tsim")}
study = replace(
    table, methods=theirs | {"logistic": Method(logistic, title="own: logistic regression")}
)
cells, store = study.cells([str(mine)], n_seeds=3), Store(folder.name)
run(study, cells, store)
frame = results_of(cells, store).to_frame()
print(frame.pivot(index="seed", columns="method", values="accuracy").round(3))

# %%
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for place, method in enumerate(study.methods):
    runs = 100 * frame.accuracy[frame.method == method]
    ax.plot(runs, [place] * len(runs), "o", color="#D55E00" if method == "logistic" else "#0072B2")
    ax.plot(runs.mean(), place, "|", color="black", markersize=22)
ax.set(
    yticks=range(len(study.methods)), yticklabels=[study.title_of(name) for name in study.methods]
)
ax.set(xlabel="test accuracy, percent", ylim=(len(study.methods) - 0.4, -0.6))
plt.show()
folder.cleanup()
