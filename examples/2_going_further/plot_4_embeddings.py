"""
Embeddings: images as rows of a table
=====================================

An image becomes a list of numbers, by a network for images or, as here, by a principal component
analysis; the list is a column of the table. **Eight of the scans on which the learners agree most,
and eight on which they agree least**: the sure ones are written as in school, the doubtful ones are
those over which people would argue, too.
"""

import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import chary

images, digits = (values[:600] for values in load_digits(return_X_y=True))
vectors = PCA(16, random_state=0).fit_transform(images)
known = np.arange(600) % 4 == 0
target = pl.Series(
    [str(digit) if told else None for digit, told in zip(digits, known, strict=True)]
)
frame = pl.DataFrame({"image": pl.Series(vectors, dtype=pl.Array(pl.Float64, 16)), "digit": target})
result = chary.label(frame, target="digit")

# %%
# Above each scan its label; red is wrong.

new = (
    result.frame.with_row_index("row")
    .filter(pl.col("chary_source") != "given")
    .sort("chary_confidence")
)
figure, axes = plt.subplots(2, 8, figsize=(9, 3.2), layout="constrained")
for line, rows in zip(axes, (new.tail(8), new.head(8)), strict=True):
    for ax, row in zip(line, rows.iter_rows(named=True), strict=True):
        ax.imshow(images[row["row"]].reshape(8, 8), cmap="Greys")
        color = "black" if row["chary_label"] == str(digits[row["row"]]) else "red"
        ax.set_title(row["chary_label"], color=color)
        ax.set(xticks=[], yticks=[], xlabel=f"{row['chary_confidence']:.2f}")
axes[0, 0].set_ylabel("agree most")
axes[1, 0].set_ylabel("agree least")
right = np.mean((new["chary_label"] == digits[new["row"]].astype(str)).to_numpy())
figure.suptitle(f"{right:.0%} of {len(new)} new labels are right; below each scan, the confidence")
plt.show()
