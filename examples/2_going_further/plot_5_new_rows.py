"""
Do new rows look like those the model learned from?
===================================================

A model is used for as long as rows have the values and ranges it learned from. ``model.compare``
tells, without any label. **Customers of the next months are alike, until prices have risen clearly:
then it names the column.**
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
# How many more rows than before lie outside the range of 99 % of the old rows, in the column that
# differs most.

raises = (0, 0, 0, 0, 4, 8, 12, 16, 20)
months = range(1, len(raises) + 1)
comparisons = [model.compare(customers(300, euros).drop(columns="churn")) for euros in raises]
shares, colours, names = [], [], []
for comparison in comparisons:
    if comparison.verdict == "alike":
        shares.append(0.0)
        colours.append("#009E73")
        names.append("alike")
    else:
        shift = comparison.columns[0]
        shares.append(100 * (shift.here - shift.then))
        colours.append("#D55E00")
        names.append(shift.column)

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
bars = ax.bar(months, shares, color=colours)
ax.bar_label(bars, names)
ax.margins(y=0.12)
ax.set(
    xlabel="month; prices rise from the fifth on",
    ylabel="rows outside the range,\npoints more than before",
    xticks=months,
)
ax.set_title("red: different, and the column that differs most")
plt.show()
