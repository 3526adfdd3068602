"""Nothing in; the calibration curves that the paper prints only as a picture, read from it as numbers, out.

Origin: the output of ``notebooks/plot_ECE_curves.ipynb`` in the authors' repository (github.com/ambroiseodt/tsim),
stored with it from commit 6e01776 until 09e3041 deleted it. Heights were measured in the picture to about a
thousandth of a panel. The ticks stand at a tenth and at nine tenths of a panel's height, but their labels are
rounded to one decimal: a panel's scale is known to 5 points only; that does not touch its shape.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from chary.studies import datasets


class Curve(NamedTuple):
    """One panel of the figure, in percent."""

    softmax: float  # a horizontal line
    t_similarity: Mapping[float, float]  # by gamma


@cache
def calibration_curves() -> Mapping[tuple[str, str], Curve]:
    """The panels of the paper's figure of calibration errors: (data set, labelling) -> curve.

    >>> calibration_curves()["cod_rna", "iid"].t_similarity[0.0]
    61.91
    """
    file = resources.files("chary.studies") / "published" / "calibration.csv"
    panels = {}
    for row in csv.DictReader(io.StringIO(file.read_text())):
        place = datasets.find(row["dataset"]).name, row["labeling"].lower()
        values = {float(name.removeprefix("tsim_")): float(row[name]) for name in row if name.startswith("tsim_")}
        panels[place] = Curve(float(row["softmax"]), values)
    return panels


def likeness(ours: Mapping[float, float], theirs: Mapping[float, float]) -> float:
    """Pearson's correlation of two curves at the points both have; NaN with fewer than three.

    >>> likeness({0: 1.0, 1: 2.0, 2: 4.0}, {0: 10.0, 1: 20.0, 2: 40.0, 3: 0.0})
    1.0
    """
    at = sorted(set(ours) & set(theirs))
    if len(at) < 3:
        return float("nan")
    return round(float(np.corrcoef([ours[x] for x in at], [theirs[x] for x in at])[0, 1]), 9)
