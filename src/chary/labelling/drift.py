"""Compare new rows with those that a model learned from.

Three things are looked for in every column: values never seen, numbers outside the range, and
missing cells. A model holds the ranges and how many of its rows had each of these. (Numbers and
dates that are written in another form are refused by the preparation.) Counts add up over any parts
of the rows, in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.pipeline import Pipeline

from chary._arrays import Floats
from chary._words import day, percent, shown
from chary.model_file import DriftReference
from chary.tables import TablePreparation
from chary.tables.columns.kind import DATE, NUMBER
from chary.tables.preparation import Feature

ALIKE = "alike"
DIFFERENT = "different"
UNCHECKED = "unchecked"

# What all rows have that are not called different.
KNOWN = "have the values, ranges and missing cells that the model knows"
# A column differs if it has something in so many more of the rows ...
_SMALLEST_DIFFERENCE = 0.1
# ... and chance makes any column of a file differ as much in fewer than this share of files.
_SIGNIFICANCE = 0.01
# The range of a number leaves out this share of the rows on either side: a slip of the pen widens
# it for nobody.
_TAIL = 0.005
# Rows that ranges come from.
_RANGE_ROWS = 20_000
# Columns that the sentence names.
_NAMED = 2


class EventCounts(NamedTuple):
    """In how many of some rows each event holds: see ``_Events``."""

    n_rows: int = 0
    counts: NDArray[np.int64] = np.int64(0)  # type: ignore[assignment]  # (e,)

    def plus(self, other: EventCounts) -> EventCounts:
        """Add the rows of another part."""
        return EventCounts(self.n_rows + other.n_rows, self.counts + other.counts)


class ColumnShift(NamedTuple):
    """What a column has in more of the new rows."""

    column: str
    what: str  # "a new value", "outside 18 to 90", "missing"
    here: float  # share of the new rows
    then: float  # and of those that the model learned from


@dataclass(frozen=True)
class RowComparison:
    """Whether new rows look like those that a model learned from."""

    verdict: str  # alike or different; unchecked: there is nothing to compare
    n_rows: int
    n_seen: int = 0
    # Those that differ, the most different first.
    columns: list[ColumnShift] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """What was found, and what it means."""
        rows = f"The {self.n_rows:,} rows"
        if self.verdict == UNCHECKED:
            why = "there are no rows"
            if self.n_rows:
                why = "the model file has no figures to compare with"
            return f"{rows} could not be compared with those the model learned from: {why}."
        if self.verdict == ALIKE:
            return f"{rows} {KNOWN}."
        shifts = [
            f"{shown(shift.column)} ({shift.what}: {percent(shift.here)} here, "
            f"{percent(shift.then)} then)"
            for shift in self.columns[:_NAMED]
        ]
        differ = f"{rows} differ from those the model learned from: {', then '.join(shifts)}"
        return f"{differ}. Labels and confidence may be wrong."

    def figures(self) -> dict[str, Any]:
        """Plain data, as a program gets it."""
        return {
            "verdict": self.verdict,
            "rows": self.n_rows,
            "rows_then": self.n_seen,
            "columns": [shift._asdict() for shift in self.columns],
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return self.sentence


def with_drift_reference(model: Pipeline, X: Floats, missing: Mapping[str, int]) -> Pipeline:
    """Give a model figures of the rows that it learned from.

    ``X`` and ``missing`` are what ``transform_counted`` of its preparation makes of all of them,
    with a label or without one; or of a part of them, where ``recount_reference`` follows.
    """
    events = _Events(model[0])
    ranges = events.find_ranges(X)
    counts = events.count(X, missing, ranges).counts
    model.drift_reference_ = DriftReference(len(X), ranges, counts)
    return model


def recount_reference(model: Pipeline, seen: EventCounts) -> None:
    """Replace the counts of a model's reference by those of all its rows."""
    model.drift_reference_ = replace(model.drift_reference_, n_rows=seen.n_rows, counts=seen.counts)


def count_events(model: Pipeline, X: Floats, missing: Mapping[str, int]) -> EventCounts:
    """Count the events of new rows, from ``transform_counted`` of the model's preparation.

    If the model has no reference, the rows are counted and nothing else.
    """
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None:
        return EventCounts(len(X))
    return _Events(model[0]).count(X, missing, reference.ranges)


def compare_with_reference(model: Pipeline, new: EventCounts) -> RowComparison:
    """Compare all rows that were counted with those that the model learned from."""
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None or not new.n_rows:
        return RowComparison(UNCHECKED, new.n_rows)

    events = _Events(model[0])
    here = new.counts / new.n_rows
    then = reference.counts / reference.n_rows
    # How often chance gives so many rows or more; one row is added to those seen, as nothing is
    # impossible.
    chance = binom.sf(new.counts - 1, new.n_rows, (reference.counts + 1) / (reference.n_rows + 1))
    differs = (here - then >= _SMALLEST_DIFFERENCE) & (chance * len(chance) <= _SIGNIFICANCE)

    shifts: dict[str, ColumnShift] = {}
    for event in np.argsort(then - here, kind="stable").tolist():
        if differs[event]:
            column, what = events.words(event, reference.ranges)
            share_here = round(float(here[event]), 4)
            share_then = round(float(then[event]), 4)
            shifts.setdefault(column, ColumnShift(column, what, share_here, share_then))
    verdict = DIFFERENT if shifts else ALIKE
    return RowComparison(verdict, new.n_rows, reference.n_rows, list(shifts.values()))


class _Events:
    """What is counted of prepared rows.

    In this order: each feature that is a number is outside its range; the cell of each column of
    categories is a value never seen; the cell of each column that is used is missing.
    """

    def __init__(self, preparation: TablePreparation) -> None:
        features = preparation.features()
        self.columns = {column.name: column for column in preparation.ordered_ if column.used}
        # The numbers come first among the features.
        self.numbers = [feature for feature in features if not feature.indicator]
        with_numbers = {feature.column for feature in self.numbers}
        self.groups: dict[str, dict[str, int]] = {
            name: {} for name in self.columns if name not in with_numbers
        }
        for place, feature in enumerate(features):
            if feature.column in self.groups:
                group = feature.name.removeprefix(f"{feature.column} = ")
                self.groups[feature.column][group] = place

    def find_ranges(self, X: Floats) -> NDArray[np.float32]:
        """Find the limits of all but a hundredth of each number, (d, 2).

        A part of a date that says little alone has none.
        """
        step = max(1, len(X) // _RANGE_ROWS)
        some = X[::step, : len(self.numbers)]
        ranges = np.quantile(some, [_TAIL, 1 - _TAIL], axis=0).T.astype(np.float32)
        for number, feature in enumerate(self.numbers):
            # Of a date the day says it all; its year, month and weekday need no range of their own.
            unit = DATE if self.columns[feature.column].kind == "date" else NUMBER
            if feature.unit != unit:
                ranges[number] = -np.inf, np.inf
        return ranges

    def count(
        self, X: Floats, missing: Mapping[str, int], ranges: NDArray[np.float32]
    ) -> EventCounts:
        """Count the rows in which each event holds."""
        numbers = X[:, : len(self.numbers)]
        outside = (numbers < ranges[:, 0]) | (numbers > ranges[:, 1])
        n_missing = dict(missing)
        n_new = []
        for name, places in self.groups.items():
            in_group = {group: int(np.count_nonzero(X[:, k])) for group, k in places.items()}
            in_none = len(X) - sum(in_group.values())
            # Without a group of their own, values never seen and missing cells are in none.
            column = self.columns[name]
            n_new.append(in_group["(other)"] if column.other else in_none)
            n_missing[name] = in_group["(missing)"] if column.missing else in_none
        counts = [*outside.sum(axis=0), *n_new, *(n_missing[name] for name in self.columns)]
        return EventCounts(len(X), np.array(counts, dtype=np.int64))

    def words(self, event: int, ranges: NDArray[np.float32]) -> tuple[str, str]:
        """Name the column of an event, and what holds, for a person."""
        if event < len(self.numbers):
            feature = self.numbers[event]
            return feature.column, _outside(feature, *ranges[event].tolist())
        event -= len(self.numbers)
        if event < len(self.groups):
            column = self.columns[list(self.groups)[event]]
            if column.other:
                return column.name, "a rare or new value"
            return column.name, "a new value" if column.missing else "a new or missing value"
        return list(self.columns)[event - len(self.groups)], "missing"


def _outside(feature: Feature, low: float, high: float) -> str:
    """Say that a number is outside a range, in units of the table."""
    first = feature.in_units(low)
    last = feature.in_units(high)
    if feature.unit == DATE:
        return f"before {day(first)} or after {day(last)}"
    part_name = feature.words.removeprefix(feature.column).strip(" :,")
    return f"{part_name} outside {_short(first)} to {_short(last)}".strip()


def _short(value: float) -> str:
    """Write a number with the digits that count.

    >>> _short(2019.5), _short(1234567.8)
    ('2,019.5', '1,234,600')
    """
    n_digits = 5
    if abs(value) < 1000:
        n_digits = 4
    rounded = float(f"{value:.{n_digits}g}")
    return f"{rounded:,.10g}"
