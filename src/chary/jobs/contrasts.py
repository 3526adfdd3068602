"""Features and which rows are labelled in; how the columns that differ most are spread on either side out.

What is drawn beside the verdict: counts of bounded size, over all rows, computed once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.evaluation import Diagnosis
from chary.tables import TablePreparation

# Columns drawn, bins of numbers, groups of categories; numbers of so few values are groups as well.
_N_COLUMNS, _N_BINS, _N_GROUPS, _FEW_VALUES = 3, 20, 8, 8
# A column is drawn if chance alone seldom makes it differ as much.
_UNLIKELY = 0.05
_OTHERS = "all others"
_MOST_ROWS = 100_000  # of either side are looked at for the ends of the bins


class Contrast(NamedTuple):
    """How one column is spread over labelled and other rows: shares that add up to 1 on either side."""

    column: str
    feature: str  # of its features the one that differs most, or the column itself
    groups: list[str]  # names of what the shares are of; empty: they are of bins
    edges: list[float]  # of the bins, one more than bins; rows beyond the ends are in the outer ones
    labeled: list[float]
    unlabeled: list[float]
    missing: tuple[float, float]  # shares of cells, labelled and other rows, that the shares above leave out


def contrasts(
    X: NDArray[Any], preparation: TablePreparation, labeled: NDArray[np.bool_], diagnosis: Diagnosis
) -> list[Contrast]:
    """The columns that differ most, if they differ more than chance would make them."""
    features = preparation.features()
    first: dict[str, int] = {}  # by column, the feature that differs most
    for shift in diagnosis.shifts:
        if shift.p_value <= _UNLIKELY:
            first.setdefault(features[shift.feature].column, shift.feature)
    truths = {column.name: column.categories for column in preparation.columns_ if column.kind == "boolean"}
    found = []
    for column, j in list(first.items())[:_N_COLUMNS]:
        own = [k for k, feature in enumerate(features) if feature.column == column]
        numbers = [k for k in own if not features[k].indicator]
        if not numbers:
            found.append(_of_groups(X, column, {features[k].name: k for k in own}, labeled))
            continue
        told = [k for k in own if features[k].indicator]  # tells where its cells are missing
        missing = X[:, told[0]] > 0.5 if told else np.zeros(len(X), dtype=bool)
        j = j if j in numbers else numbers[0]
        standardized: Any = X[:, j].astype(np.float64)
        values: Any = features[j].in_units(standardized)
        contrast = _of_numbers(column, features[j].name, values, missing, labeled)
        if column in truths and contrast.groups == ["0", "1"]:
            yes = "".join(truths[column][:1])
            contrast = contrast._replace(groups=[f"not {yes}", yes])
        found.append(contrast)
    return found


def _of_groups(X: NDArray[Any], column: str, own: dict[str, int], labeled: NDArray[np.bool_]) -> Contrast:
    """Shares of a category's values; beyond a few, those that differ least go together."""
    names = [name.removeprefix(f"{column} = ") for name in own]
    places = list(own.values())
    shares = np.stack([X[side][:, places].mean(axis=0, dtype=np.float64) for side in (labeled, ~labeled)])
    order = np.argsort(-np.abs(shares[0] - shares[1]), kind="stable")
    kept = np.sort(order[: _N_GROUPS if len(own) <= _N_GROUPS else _N_GROUPS - 1])
    named, sides = [names[k] for k in kept], shares[:, kept]
    if (rest := 1 - sides.sum(axis=1)).max() > 1e-6:
        named, sides = [*named, _OTHERS], np.column_stack([sides, np.maximum(rest, 0)])
    return Contrast(column, column, named, [], sides[0].tolist(), sides[1].tolist(), (0.0, 0.0))


def _of_numbers(
    column: str, name: str, values: NDArray[Any], missing: NDArray[np.bool_], labeled: NDArray[np.bool_]
) -> Contrast:
    """Shares of bins of equal width; of the values themselves where these are few."""
    absent = float(missing[labeled].mean()), float(missing[~labeled].mean())
    sides = values[labeled & ~missing], values[~labeled & ~missing]
    some = np.concatenate([side[:: len(side) // _MOST_ROWS + 1] for side in sides])
    low, high = some.min(), some.max()
    step = (high - low) / 1e5 or 1.0  # values nearer than this are one: features are of single precision
    distinct = np.unique(np.round((some - low) / step))
    groups: list[str] = []
    edges: list[float] = []
    if len(distinct) <= _FEW_VALUES:
        counts = [(np.round((side - low) / step)[:, None] == distinct).sum(axis=0) for side in sides]
        digits = -1 - math.floor(math.log10(step))  # those that are certain
        groups = [f"{round(low + step * place, digits) + 0.0:.6g}" for place in distinct.tolist()]
    else:
        low, high = _ends(*(side for side in sides if len(side)))
        counts = [np.histogram(np.clip(side, low, high), _N_BINS, (low, high))[0] for side in sides]
        edges = np.linspace(low, high, _N_BINS + 1).tolist()
    shares = [(count / max(1, count.sum())).tolist() for count in counts]
    return Contrast(column, name, groups, edges, shares[0], shares[1], absent)


def _ends(*sides: NDArray[Any]) -> tuple[float, float]:
    """Where bins begin and end: the outer hundredths, but no long tail that would leave one bin for the rest."""
    first, low, middle, high, last = np.array([np.quantile(side, [0.01, 0.1, 0.5, 0.9, 0.99]) for side in sides]).T
    start = np.maximum(first, middle - 2 * (middle - low)).min()
    end = np.minimum(last, middle + 2 * (high - middle)).max()
    return (
        (float(start), float(end))
        if end > start
        else (float(min(map(np.min, sides))), float(max(map(np.max, sides))))
    )
