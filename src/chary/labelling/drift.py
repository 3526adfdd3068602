"""Compare new rows with those that a model learned from.

Three kinds of events are counted in every column: values never seen, numbers outside the range, and
missing cells. A model holds the ranges, and the counts of these events among the rows that it
learned from. (Numbers and dates that are written in another form are refused by the preparation.)
The counts of parts of the rows add up to the counts of all rows.
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

# The end of the sentence about rows that are alike.
KNOWN = "have the values, ranges and missing cells that the model knows"
# A column differs if the share of rows with an event has grown by at least this ...
_SMALLEST_DIFFERENCE = 0.1
# ... and if chance makes any column of a file differ as much in at most this share of files.
_SIGNIFICANCE = 0.01
# The range of a number leaves out this share of the rows at either end, so that a single mistyped
# number does not widen it.
_TAIL_SHARE = 0.005
# About this many rows give the ranges.
_RANGE_ROWS = 20_000
# Most columns that the sentence names.
_MAX_NAMED_COLUMNS = 2


class EventCounts(NamedTuple):
    """The number of rows with each event; ``_Events`` lists the events."""

    n_rows: int = 0
    counts: NDArray[np.int64] = np.int64(0)  # type: ignore[assignment]  # (e,)

    def plus(self, other: EventCounts) -> EventCounts:
        """Add the rows of another part."""
        return EventCounts(self.n_rows + other.n_rows, self.counts + other.counts)


class ColumnShift(NamedTuple):
    """An event that is more frequent in a column of the new rows."""

    column: str
    what: str  # "a new value", "outside 18 to 90", "missing"
    here: float  # share of the new rows
    then: float  # share of the rows that the model learned from


@dataclass(frozen=True)
class RowComparison:
    """Whether new rows look like those that a model learned from."""

    verdict: str  # alike or different; unchecked: there is nothing to compare
    n_rows: int
    n_seen: int = 0  # rows that the model learned from
    # The columns that differ, the most different first.
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
            for shift in self.columns[:_MAX_NAMED_COLUMNS]
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
    """Store in a model the ranges and event counts of the rows that it learned from.

    ``X`` and ``missing`` come from ``transform_counted`` of the model's preparation. They are of
    all rows, labelled and unlabelled, or of a part of the rows if ``recount_reference`` is called
    later.
    """
    events = _Events(model[0])
    ranges = events.find_ranges(X)
    counts = events.count(X, missing, ranges).counts
    model.drift_reference_ = DriftReference(len(X), ranges, counts)
    return model


def recount_reference(model: Pipeline, seen: EventCounts) -> None:
    """Replace the event counts of a sample, in a model's reference, by the counts of all rows."""
    model.drift_reference_ = replace(model.drift_reference_, n_rows=seen.n_rows, counts=seen.counts)


def count_events(model: Pipeline, X: Floats, missing: Mapping[str, int]) -> EventCounts:
    """Count the events in new rows.

    ``X`` and ``missing`` come from ``transform_counted`` of the model's preparation. If the model
    has no reference, only the number of rows is counted.
    """
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None:
        return EventCounts(len(X))
    return _Events(model[0]).count(X, missing, reference.ranges)


def compare_with_reference(model: Pipeline, new: EventCounts) -> RowComparison:
    """Compare the counts of new rows with those of the rows that the model learned from."""
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None or not new.n_rows:
        return RowComparison(UNCHECKED, new.n_rows)

    events = _Events(model[0])
    here = new.counts / new.n_rows
    then = reference.counts / reference.n_rows
    # The probability that chance gives at least the new count. One row with the event is added to
    # the reference, so that no event has probability 0.
    smoothed = (reference.counts + 1) / (reference.n_rows + 1)
    chance = binom.sf(new.counts - 1, new.n_rows, smoothed)
    # Bonferroni: as many events are tested as ``chance`` has entries.
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
    """The events that are counted in prepared rows.

    They are numbered in this order:

    1. for each numeric feature: the number is outside its range;
    2. for each column of categories: the value was never seen;
    3. for each column that is used: the cell is missing.
    """

    def __init__(self, preparation: TablePreparation) -> None:
        features = preparation.features()
        self.columns = {column.name: column for column in preparation.ordered_ if column.used}
        # The numbers come first among the features.
        self.numbers = [feature for feature in features if not feature.indicator]
        numeric_columns = {feature.column for feature in self.numbers}
        # Of each column of categories, by category, the place of its indicator feature.
        self.groups: dict[str, dict[str, int]] = {
            name: {} for name in self.columns if name not in numeric_columns
        }
        for place, feature in enumerate(features):
            if feature.column in self.groups:
                group = feature.name.removeprefix(f"{feature.column} = ")
                self.groups[feature.column][group] = place

    def find_ranges(self, X: Floats) -> NDArray[np.float32]:
        """Find the range of each numeric feature, without the tails, (d, 2).

        The year, month and weekday of a date have an infinite range.
        """
        step = max(1, len(X) // _RANGE_ROWS)
        some = X[::step, : len(self.numbers)]
        ranges = np.quantile(some, [_TAIL_SHARE, 1 - _TAIL_SHARE], axis=0).T.astype(np.float32)
        for number, feature in enumerate(self.numbers):
            # The range of a date's day covers its year, month and weekday.
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
        n_new_values = []
        for name, places in self.groups.items():
            in_group = {group: int(np.count_nonzero(X[:, k])) for group, k in places.items()}
            in_none = len(X) - sum(in_group.values())
            # New values, and missing cells, that have no group are zero in every group.
            column = self.columns[name]
            n_new_values.append(in_group["(other)"] if column.other else in_none)
            n_missing[name] = in_group["(missing)"] if column.missing else in_none
        counts = [*outside.sum(axis=0), *n_new_values, *(n_missing[name] for name in self.columns)]
        return EventCounts(len(X), np.array(counts, dtype=np.int64))

    def words(self, event: int, ranges: NDArray[np.float32]) -> tuple[str, str]:
        """Return the column of an event, and words for what happened there."""
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
