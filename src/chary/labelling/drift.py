"""Compare new rows with those that a model learned from.

An event is a number outside a column's range, a value that was never seen, or a missing cell. A
model holds the ranges, and how often each event occurs in the rows that it learned from; in new
rows the same events are counted. The counts of parts of the rows add up to the counts of all rows.
(Numbers and dates that are written in another form are refused earlier, by the preparation.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.pipeline import Pipeline

from chary._arrays import Floats
from chary._words import day, percent, shown
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.model_file import DriftReference
from chary.tables import TablePreparation
from chary.tables.columns.kind import DATE, NUMBER
from chary.tables.preparation import Feature

# The new rows are like those that were learned from.
ALIKE = "alike"
# The new rows differ from those that were learned from.
DIFFERENT = "different"
# The new rows could not be compared.
UNCHECKED = "unchecked"

# The sentence about rows that are alike ends with this.
LOOK_AS_KNOWN = "have the values, ranges and missing cells that the model knows"
# The ranges are found in this many rows, or up to twice as many; a bound of cost.
_RANGE_ROWS = 20_000
# The sentence names at most this many columns.
_MAX_NAMED_COLUMNS = 2


class EventCounts(NamedTuple):
    """The number of rows with each event, in the order of ``_Events``."""

    n_rows: int = 0
    # (number of events,); a single 0, to which any counts can be added, if no row was counted
    counts: NDArray[np.int64] = np.int64(0)  # type: ignore[assignment]

    def plus(self, other: EventCounts) -> EventCounts:
        """Add the rows of another part."""
        return EventCounts(self.n_rows + other.n_rows, self.counts + other.counts)


class ColumnShift(NamedTuple):
    """An event that is more frequent in new rows than in the rows that were learned from."""

    column: str
    what: str  # the event: "a new value", "outside 18 to 90", "missing"
    here: float  # share of the new rows with the event
    then: float  # share of the rows that the model learned from


@dataclass(frozen=True)
class RowComparison:
    """Whether new rows look like those that a model learned from."""

    verdict: str  # ALIKE, DIFFERENT, or UNCHECKED if there is nothing to compare
    n_rows: int  # number of new rows
    n_seen: int = 0  # number of rows that the model learned from
    # The columns that differ, most different first; of each only the event that differs most.
    columns: list[ColumnShift] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The verdict, why, and what it means."""
        rows = f"The {self.n_rows:,} rows"
        if self.verdict == UNCHECKED:
            why = "there are no rows"
            if self.n_rows:
                why = "the model file has no figures to compare with"
            return f"{rows} could not be compared with those the model learned from: {why}."
        if self.verdict == ALIKE:
            return f"{rows} {LOOK_AS_KNOWN}."
        shifts = [
            f"{shown(shift.column)} ({shift.what}: {percent(shift.here)} here, "
            f"{percent(shift.then)} then)"
            for shift in self.columns[:_MAX_NAMED_COLUMNS]
        ]
        differ = f"{rows} differ from those the model learned from: {', then '.join(shifts)}"
        return f"{differ}. Labels and confidence may be wrong."

    def figures(self) -> NewRowsSummary:
        """Return the comparison as plain data, for a program."""
        columns: list[ColumnShiftSummary] = [
            {"column": shift.column, "what": shift.what, "here": shift.here, "then": shift.then}
            for shift in self.columns
        ]
        return {
            "verdict": self.verdict,
            "rows": self.n_rows,
            "rows_then": self.n_seen,
            "columns": columns,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return self.sentence


class ColumnShiftSummary(TypedDict):
    """A ``ColumnShift`` as plain data."""

    column: str
    what: str  # the event: "a new value", "outside 18 to 90", "missing"
    here: float  # share of the new rows with the event
    then: float  # share of the rows that the model learned from


class NewRowsSummary(TypedDict):
    """A ``RowComparison`` as plain data."""

    verdict: str
    rows: int  # new rows
    rows_then: int  # rows that the model learned from
    columns: list[ColumnShiftSummary]  # the most different first
    sentence: str


def with_drift_reference(
    model: Pipeline, X: Floats, missing: Mapping[str, int], defaults: Defaults = DEFAULTS
) -> Pipeline:
    """Store in a model the ranges and event counts of the rows that it learned from.

    ``X`` and ``missing`` come from ``transform_counted`` of the model's preparation, for all rows,
    labelled or not. If they are for a sample of the rows only, call ``recount_reference`` later.
    """
    events = _Events(model[0])
    ranges = events.find_ranges(X, defaults.range_tail)
    counts = events.count(X, missing, ranges).counts
    model.drift_reference_ = DriftReference(len(X), ranges, counts)
    return model


def recount_reference(model: Pipeline, seen: EventCounts) -> None:
    """Replace the event counts in a model's reference, of a sample, by the counts of all rows."""
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


def compare_with_reference(
    model: Pipeline, new: EventCounts, defaults: Defaults = DEFAULTS
) -> RowComparison:
    """Compare the event counts of new rows with the counts that the model holds as reference."""
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None or not new.n_rows:
        return RowComparison(UNCHECKED, new.n_rows)

    # The share of rows with each event, (number of events,): in new rows, and in the reference.
    events = _Events(model[0])
    here = new.counts / new.n_rows
    then = reference.counts / reference.n_rows

    # The p-value of an event is the probability of at least its new count if nothing has changed.
    # One row with the event is added to the reference, so that no event has probability 0.
    smoothed_then = (reference.counts + 1) / (reference.n_rows + 1)
    p_values = binom.sf(new.counts - 1, new.n_rows, smoothed_then)
    # Bonferroni: a p-value is multiplied by the number of events tested.
    is_significant = p_values * len(p_values) <= defaults.drift_significance
    is_large = here - then >= defaults.min_share_gained
    differs = is_large & is_significant

    shifts: dict[str, ColumnShift] = {}
    most_grown_first = np.argsort(then - here, kind="stable")
    for event in most_grown_first.tolist():
        if differs[event]:
            column, what = events.words(event, reference.ranges)
            share_here = round(float(here[event]), 4)
            share_then = round(float(then[event]), 4)
            # Only the most grown event of a column is kept: the first one.
            shifts.setdefault(column, ColumnShift(column, what, share_here, share_then))
    verdict = DIFFERENT if shifts else ALIKE
    return RowComparison(verdict, new.n_rows, reference.n_rows, list(shifts.values()))


class _Events:
    """The events that are counted in prepared rows.

    They are numbered in this order:

    1. for each of the R numeric features: the number is outside its range;
    2. for each column of categories: the value was never seen;
    3. for each column that is used: the cell is missing.
    """

    def __init__(self, preparation: TablePreparation) -> None:
        features = preparation.features()
        self.columns = {column.name: column for column in preparation.ordered_ if column.used}
        # The R numeric features; they come before all others in a row of X.
        self.numeric = [feature for feature in features if not feature.indicator]
        numeric_columns = {feature.column for feature in self.numeric}

        # For each column of categories, the place in X of the indicator (0 or 1) of each category:
        # {"town": {"Bonn": 7, "Ulm": 8}}. The feature of a category is called "town = Bonn".
        self.indicators: dict[str, dict[str, int]] = {
            name: {} for name in self.columns if name not in numeric_columns
        }
        for place, feature in enumerate(features):
            if feature.column in self.indicators:
                category = feature.name.removeprefix(f"{feature.column} = ")
                self.indicators[feature.column][category] = place

    def find_ranges(self, X: Floats, tail: float) -> NDArray[np.float32]:
        """Find the range of each numeric feature, (R, 2), without a share ``tail`` at either end.

        A column of dates becomes several features, of which only the day has a range: its year,
        month and weekday get an infinite one. A feature of any other column has a range if it is a
        plain number.
        """
        step = max(1, len(X) // _RANGE_ROWS)
        sample = X[::step, : len(self.numeric)]  # (rows, R)
        quantiles = np.quantile(sample, [tail, 1 - tail], axis=0)  # (2, R)
        ranges = quantiles.T.astype(np.float32)
        for number, feature in enumerate(self.numeric):
            is_of_date = self.columns[feature.column].kind == "date"
            unit_with_range = DATE if is_of_date else NUMBER
            if feature.unit != unit_with_range:
                ranges[number] = -np.inf, np.inf
        return ranges

    def count(
        self, X: Floats, missing: Mapping[str, int], ranges: NDArray[np.float32]
    ) -> EventCounts:
        """Count the rows of X (n, d) with each event.

        ``missing`` has the missing cells of each numeric column, and ``ranges`` (R, 2) the range of
        each numeric feature.
        """
        # Event 1, for each numeric feature.
        numbers = X[:, : len(self.numeric)]  # (n, R)
        is_outside = (numbers < ranges[:, 0]) | (numbers > ranges[:, 1])
        outside_counts = is_outside.sum(axis=0)  # (R,)

        # Event 2, for each column of categories; event 3 is counted on the way.
        new_value_counts = []
        n_missing = dict(missing)
        for name, place_of_category in self.indicators.items():
            n_rows_of = {}  # category -> number of rows
            for category, place in place_of_category.items():
                n_rows_of[category] = int(np.count_nonzero(X[:, place]))
            # Some cells are of no category with an indicator. New values are among these unless
            # they have an indicator "(other)", and missing cells unless they have "(missing)". If
            # there is neither indicator, such a cell counts as new and as missing.
            n_without_indicator = len(X) - sum(n_rows_of.values())
            column = self.columns[name]
            n_new = n_rows_of["(other)"] if column.other else n_without_indicator
            new_value_counts.append(n_new)
            n_missing[name] = n_rows_of["(missing)"] if column.missing else n_without_indicator

        # Event 3, for each column.
        missing_counts = [n_missing[name] for name in self.columns]
        counts = [*outside_counts, *new_value_counts, *missing_counts]
        return EventCounts(len(X), np.array(counts, dtype=np.int64))

    def words(self, event: int, ranges: NDArray[np.float32]) -> tuple[str, str]:
        """Return the column of an event, and words for what happened: ("age", "missing").

        ``event`` is its number: first come the numeric features, then the columns of categories,
        then all columns.
        """
        if event < len(self.numeric):
            feature = self.numeric[event]
            low, high = ranges[event].tolist()
            return feature.column, _words_for_outside(feature, low, high)

        number_of_category = event - len(self.numeric)
        if number_of_category < len(self.indicators):
            column = self.columns[list(self.indicators)[number_of_category]]
            if column.other:
                return column.name, "a rare or new value"
            if column.missing:
                return column.name, "a new value"
            return column.name, "a new or missing value"

        number_of_column = number_of_category - len(self.indicators)
        return list(self.columns)[number_of_column], "missing"


def _words_for_outside(feature: Feature, low: float, high: float) -> str:
    """Say that a number is outside a range, in units of the table: "outside 18 to 90"."""
    first = feature.in_units(low)
    last = feature.in_units(high)
    if feature.unit == DATE:
        return f"before {day(first)} or after {day(last)}"
    # A column may become several numbers, such as the topics of a text: name this one.
    part_name = feature.words.removeprefix(feature.column).strip(" :,")
    return f"{part_name} outside {_short(first)} to {_short(last)}".strip()


def _short(value: float) -> str:
    """Write a number with four significant digits, or five from 1,000 on.

    >>> _short(3.14159), _short(1000.25), _short(1234567.8)
    ('3.142', '1,000.2', '1,234,600')
    """
    n_digits = 5
    if abs(value) < 1000:
        n_digits = 4
    rounded = float(f"{value:.{n_digits}g}")
    return f"{rounded:,.10g}"
