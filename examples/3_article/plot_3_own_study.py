"""
A study of your own
===================

Your method beside the paper's, on the paper's biased labels, with the paper's seeds: a method is a function from
a task to anything with ``predict``. Cells that are finished are kept, so that a study can be stopped and gone on
with. ``own_method.py`` beside this script is the same from the command line. **Digits, three seeds: a dot is a
run, a line a mean, and the two methods of your own (orange) stand beside the paper's three.**
"""

import tempfile
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from studies import STUDIES, Method, Store, results_of, run


def spreading(task, n_neighbors):
    return LabelSpreading(kernel="knn", n_neighbors=n_neighbors).fit(task.X, task.y)


def plain(task):
    return LogisticRegression(max_iter=500).fit(task.X[task.labeled], task.y[task.labeled])


table = STUDIES["table-ssb"]
theirs = {name: table.methods[name] for name in ("erm", "csta-softmax", "csta-tsim")}
mine = {"spreading": Method(spreading, {"n_neighbors": 7}), "logistic regression": Method(plain)}
study = replace(table, methods=theirs | mine)

# %%
# Run, and read what the store holds.

with tempfile.TemporaryDirectory() as folder:
    cells, store = study.cells(["digits"], n_seeds=3), Store(folder)
    run(study, cells, store)
    results = results_of(cells, store)
figure, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for place, method in enumerate(study.methods):
    runs = [100 * result["accuracy"] for cell, result in results if cell.method == method]
    color = "#D55E00" if method in mine else "#0072B2"
    ax.plot(np.mean(runs), place, "|", color="black", markersize=24)
    ax.plot(runs, [place] * len(runs), "o", color=color)
ax.set(yticks=range(len(study.methods)), yticklabels=[study.title_of(name) for name in study.methods])
ax.set(xlabel="test accuracy, percent", ylim=(-0.6, len(study.methods) - 0.4))
ax.grid(axis="x", alpha=0.4)
ax.invert_yaxis()
plt.show()
