"""
An audit's interval shrinks
===========================

A rule of thumb has labelled 569 tumours. How many of its labels are right? **Each row that is drawn
at random and looked at narrows the interval**, which holds the truth all the while. The wide one
may be looked at after every row, and the audit stopped at will; the narrow ones are for a number of
rows that was fixed beforehand.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from chary.audit import draw, interval, sequence

data = load_breast_cancer(as_frame=True)
rule = (data.data["mean area"] < 600).astype(int)  # 1 is benign
right = (rule == data.target).to_numpy()
# In the order in which they are looked at.
rows = draw(np.zeros(len(right), dtype=bool), 200, random_state=0)

# %%
# In life the truth (dotted) is not known; the audit is all there is.

low, high = sequence(right[rows], population=len(right))
sizes = np.array([10, 20, 30, 50, 75, 100, 150, 200])
fixed = np.array([interval(right[rows[:n]].sum(), n, population=len(right)) for n in sizes])
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
looked = np.arange(1, len(rows) + 1)
ax.fill_between(
    looked, 100 * low, 100 * high, color="#0072B2", alpha=0.2, label="holds at every moment"
)
middle, half = fixed.mean(axis=1), np.ptp(fixed, axis=1) / 2
ax.errorbar(
    sizes, 100 * middle, 100 * half, fmt="none", color="#D55E00", capsize=4, label="of a fixed size"
)
ax.axhline(100 * right.mean(), color="black", linestyle=":", label=f"truth, {right.mean():.1%}")
ax.set(xlabel="rows looked at", ylabel="right labels, percent", xlim=(0, 205), ylim=(40, 100))
ax.legend(loc="lower right")
plt.show()
