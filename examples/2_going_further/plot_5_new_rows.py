"""
Do new rows look like those the model learned from?
===================================================

A model is used for as long as rows look like those it learned from. ``model.compare`` tells, without any label.
**Customers of the next months are alike, until the prices change: then it says so, and names the column.**
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import chary

rng = np.random.default_rng(0)


def customers(n, raise_of_prices=0.0):
    visits, fee = rng.gamma(2, 2, n), rng.normal(30 + raise_of_prices, 5, n)
    churn = np.where(fee - 3 * visits + rng.normal(0, 4, n) > 20, "yes", "no")
    return pd.DataFrame({"visits": visits.round(1), "fee": fee.round(2), "churn": churn})


first = customers(500)
first.loc[200:, "churn"] = None
model = chary.label(first, target="churn").model

# %%
# 0.5: nobody could tell the new rows from the old ones; 1: anybody could.

raises = (0, 0, 0, 0, 2, 4, 6, 8, 10)
found = [model.compare(customers(300, euros).drop(columns="churn")) for euros in raises]
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
bars = ax.bar(range(1, 10), [f.auc for f in found], color=["#009E73" if f.alike else "#D55E00" for f in found])
ax.bar_label(bars, ["" if f.alike else f.columns[0].column for f in found])
ax.set(
    xlabel="month; prices rise from the fifth on", ylabel="told apart (AUC)", ylim=(0.4, 1), xticks=range(1, 10)
)
ax.axhline(0.5, color="black", linestyle=":")
ax.set_title("green: alike; red: different, and the column that differs most")
plt.show()
