"""
Text columns are read
=====================

Tickets of a help desk, each with a sentence and the hour at which it came in. The sentence says
what it is about; the hour hardly does. **With the text read as topics nearly every ticket goes to
the right team; without it, the labels are guesses.**
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

import chary

rng = np.random.default_rng(0)
words = {
    "billing": ["invoice", "refund", "charged twice", "payment", "credit card", "wrong amount"],
    "login": [
        "password",
        "locked out",
        "cannot sign in",
        "reset link",
        "account",
        "two-factor code",
    ],
    "delivery": ["parcel", "late", "tracking number", "damaged box", "courier", "wrong address"],
}
greetings = ["Hello,", "Hi there,", "Dear team,", "Please help:", "Again:", "Urgent!"]
teams = rng.choice(list(words), 300)
texts = [
    f"{rng.choice(greetings)} {' and '.join(rng.choice(words[team], 2, replace=False))}"
    for team in teams
]
frame = pl.DataFrame({"message": texts, "hour": rng.normal(12, 4, 300).round(1), "team": teams})
known = rng.random(300) < 0.2
tickets = frame.with_columns(team=pl.when(pl.Series(known)).then("team"))

# %%
# Which labels were right, of the tickets that had none?

right = {}
for name, drop in (("hour alone", ["message"]), ("hour and message", [])):
    labels = chary.label(tickets, target="team", drop=drop).frame["chary_label"]
    right[name] = [
        np.mean((labels == teams).to_numpy()[~known & (teams == team)]) for team in words
    ]
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for shift, (name, shares), color in zip(
    (-0.2, 0.2), right.items(), ("#999999", "#009E73"), strict=True
):
    bars = ax.bar(np.arange(3) + shift, 100 * np.array(shares), 0.36, color=color, label=name)
    ax.bar_label(bars, fmt="%.0f")
ax.axhline(100 / 3, color="black", linestyle=":", label="guessing")
ax.set(xticks=range(3), xticklabels=list(words), ylabel="right labels, percent", ylim=(0, 125))
ax.legend(loc="upper center", ncols=3)
plt.show()
