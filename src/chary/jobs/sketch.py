"""The features of a table in; a sketch of them for the model file, and how new rows differ from it, out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from chary._words import percent, shown, visible
from chary.evaluation import (
    ALIKE,
    N_CUTS,
    Drift,
    EventCounts,
    Spectrum,
    compare_counts,
    count_above,
    find_cuts,
    measure_spectrum,
    rows_to_measure,
)
from chary.tables import Column, Feature, TablePreparation

UNCHECKED = "unchecked"
# Columns that are named, in JSON and in the sentence; and a file in which less than such a difference would be
# noticed for certain is a small one.
_MOST_COLUMNS, _NAMED, _NOTICED = 20, 2, 0.25
_GROUPS = {"(other)": "a rare or new value", "(missing)": "missing"}
_MANY_ERRORS = 4.0  # standard errors of a share that no chance explains, whatever the number of columns


@dataclass(frozen=True)
class Sketch:
    """What the rows looked like that a model learned from: shares alone, no cells."""

    n_rows: int
    cuts: NDArray[np.float32]  # (numbers, 9) between values of the features that are numbers, infinity after them
    counts: NDArray[np.int64]  # (e,) rows in which each event holds, in the order of ``_Events``
    columns: float  # both as in ``Spectrum``: how the columns hang together
    tail: float


class ColumnShift(NamedTuple):
    """How a column differs, by what differs most in it."""

    column: str
    what: str  # "north", "above 45", "missing"
    seen: float  # share of the rows the model learned from
    new: float
    p_value: float  # adjusted for the number of all such shares


@dataclass(frozen=True)
class RowComparison:
    """Whether new rows look like those that a model learned from."""

    verdict: str  # alike, different, very different; unchecked: there is nothing to compare
    n_rows: int
    n_seen: int = 0
    auc: float | None = None  # how well they can be told apart: 0.5 not at all, 1 always
    columns: list[ColumnShift] = field(default_factory=list)  # that differ beyond chance, the most different first

    @property
    def alike(self) -> bool | None:
        """None: it cannot be told."""
        return None if self.verdict == UNCHECKED else self.verdict == ALIKE

    @property
    def finding(self) -> str:
        """What was found, as part of a sentence."""
        rows = "the row" if self.n_rows == 1 else f"the {self.n_rows:,} rows"
        one = self.n_rows == 1
        if self.verdict == UNCHECKED:
            why = "there are none" if not self.n_rows else "the model holds no sketch of those"
            return f"whether {rows} look{'s' * one} like those the model learned from cannot be told: {why}"
        if self.verdict == ALIKE:
            doubt = ", as far as so few can tell" if self._few else ""
            return f"{rows} look{'s' * one} like those the model learned from{doubt}"
        differ = f"{rows} differ{'s' * one} from those the model learned from"
        named = [
            f"{shown(shift.column)}{' most' if not i else ''} "
            f"({shift.what}: {percent(shift.new)} here, {percent(shift.seen)} then)"
            for i, shift in enumerate(self.columns[:_NAMED])
        ]
        return f"{differ}: {', then '.join(named)}" if named else f"{differ} a little in many columns"

    @property
    def sentence(self) -> str:
        """What was found, and what it means."""
        end = "; labels and confidence may be off." if self.alike is False else "."
        return self.finding[0].upper() + self.finding[1:] + end

    def figures(self) -> dict[str, Any]:
        """Plain data, as a program gets it."""
        return {
            "verdict": self.verdict,
            "rows": self.n_rows,
            "rows_then": self.n_seen,
            "auc": None if self.auc is None else round(self.auc, 4),
            "columns": [
                {"column": s.column, "what": s.what, "here": round(s.new, 4), "then": round(s.seen, 4)}
                for s in self.columns
            ],
            "sentence": self.sentence,
        }

    @property
    def _few(self) -> bool:
        rows = self.n_rows * self.n_seen / (self.n_rows + self.n_seen)
        return _MANY_ERRORS * np.sqrt(0.25 / rows) > _NOTICED

    def __repr__(self) -> str:
        return self.sentence


class NewRows:
    """Counts what new rows of a model look like, part by part: in any order, in little room.

    Of a model without a sketch, which older versions of chary made, the rows are counted and nothing else.
    """

    def __init__(self, model: Pipeline) -> None:
        self._sketch: Sketch | None = getattr(model, "sketch_", None)
        self._events = _Events.of(model[0]) if self._sketch else None
        self.counts = EventCounts(0, np.zeros(0 if self._sketch is None else len(self._sketch.counts), np.int64))
        self.labels: dict[str, int] = {}  # how many rows have each

    def add(self, X: NDArray[np.floating[Any]], missing: Mapping[str, int]) -> None:
        """Count the rows of ``preparation.transform_counted``."""
        if self._sketch is None or self._events is None:
            self.counts = self.counts.plus(EventCounts(len(X), np.zeros(0, np.int64)))
        else:
            self.counts = self.counts.plus(self._events.count(X, missing, self._sketch.cuts))

    def merge(self, other: NewRows) -> None:
        """Count the rows that another of the same model has counted."""
        self.counts = self.counts.plus(other.counts)
        for name, n in other.labels.items():
            self.labels[name] = self.labels.get(name, 0) + n

    def add_labels(self, codes: NDArray[np.intp], names: Sequence[str]) -> None:
        """Count the labels of rows, given as places of their names."""
        for name, n in zip(names, np.bincount(codes, minlength=len(names)).tolist(), strict=True):
            self.labels[name] = self.labels.get(name, 0) + n

    def compare(self) -> RowComparison:
        """All rows so far with those that the model learned from."""
        n, sketch, events = self.counts.n_rows, self._sketch, self._events
        if sketch is None or events is None or not n:
            return RowComparison(UNCHECKED, n)
        seen = EventCounts(sketch.n_rows, sketch.counts)
        drift = compare_counts(seen, self.counts, events.column, Spectrum(sketch.columns, sketch.tail))
        shifts = [
            ColumnShift(
                *events.words(e, sketch.cuts),
                seen=float(seen.shares[e]),
                new=float(self.counts.shares[e]),
                p_value=float(drift.p_values[e]),
            )
            for e in _told(drift)
        ]
        return RowComparison(drift.verdict, n, sketch.n_rows, drift.auc, shifts)


def with_sketch(model: Pipeline, X: NDArray[np.floating[Any]], missing: Mapping[str, int]) -> Pipeline:
    """The model, which knows from now on what the rows look like that it learned from.

    ``X`` and ``missing`` are what ``transform_counted`` of its preparation makes of all of them, with a label or
    without one.
    """
    events = _Events.of(model[0])
    cuts = find_cuts(X[:, events.numbers], events.once)
    seen = events.count(X, missing, cuts)
    rows = rows_to_measure(len(X), len(events.column))
    spectrum = measure_spectrum(events.hold(X[rows], cuts), seen.shares, events.column)
    model.sketch_ = Sketch(len(X), cuts, seen.counts, *spectrum)
    return model


def with_counts(model: Pipeline, rows: NewRows) -> Pipeline:
    """The model, whose sketch is from now on of all the rows counted, where it was one of a part of them."""
    model.sketch_ = replace(model.sketch_, n_rows=rows.counts.n_rows, counts=rows.counts.counts)
    return model


def is_sketch_of(sketch: Sketch, preparation: TablePreparation) -> bool:
    """Whether a sketch from a file can be one of the features of a preparation."""
    events = _Events.of(preparation)
    cuts, counts, n = sketch.cuts, sketch.counts, sketch.n_rows
    if not (
        type(n) is int
        and 1 <= n < 2**53
        and isinstance(cuts, np.ndarray)
        and isinstance(counts, np.ndarray)
        and cuts.dtype == np.float32
        and counts.dtype == np.int64
        and cuts.shape == (len(events.numbers), N_CUTS)
        and counts.shape == events.column.shape
        and type(sketch.columns) is type(sketch.tail) is float
        and 0 <= sketch.tail <= sketch.columns <= max(1, len(counts))
    ):
        return False
    above = counts[: cuts.size].reshape(cuts.shape)
    in_order = (cuts[:, 1:] >= cuts[:, :-1]).all() and (above[:, 1:] <= above[:, :-1]).all()
    return bool(in_order and (cuts > -np.inf).all() and (counts >= 0).all() and (counts <= n).all())


@dataclass(frozen=True)
class _Events:
    """What is counted of the features of a preparation, in order: cuts, groups, no group, missing cells."""

    features: list[Feature]
    columns: list[Column]  # that are used
    numbers: list[int]  # features that are cut
    once: NDArray[np.bool_]  # (numbers,) which of them are cut in the middle only
    groups: list[int]  # features that are groups
    grouped: list[int]  # columns that are
    counted: list[int]  # columns whose missing cells are counted
    column: NDArray[np.intp]  # (e,) which one an event is about

    @classmethod
    def of(cls, preparation: TablePreparation) -> _Events:
        features = preparation.features()
        columns = [column for column in preparation.ordered_ if column.used]
        place = {column.name: c for c, column in enumerate(columns)}
        numbers = [j for j, feature in enumerate(features) if not feature.indicator]
        of_number = [place[features[j].column] for j in numbers]
        counted = sorted(set(of_number))
        grouped = sorted(set(place.values()) - set(counted))
        groups = [j for j, f in enumerate(features) if f.indicator and place[f.column] in set(grouped)]
        # The topics of texts fit the very texts they come from: of new ones they are nearer to 0 on either side.
        once = np.array([columns[c].kind == "words" for c in of_number], dtype=bool)
        of_group = [place[features[j].column] for j in groups]
        column = np.array([*np.repeat(of_number, N_CUTS), *of_group, *grouped, *counted], dtype=np.intp)
        return cls(features, columns, numbers, once, groups, grouped, counted, column)

    def count(
        self, X: NDArray[np.floating[Any]], missing: Mapping[str, int], cuts: NDArray[np.float32]
    ) -> EventCounts:
        """In how many rows each event holds."""
        in_group = np.array([np.count_nonzero(X[:, j]) for j in self.groups], np.int64)
        members = np.zeros(len(self.columns), np.int64)
        np.add.at(members, self.column[len(self.numbers) * N_CUTS :][: len(in_group)], in_group)
        in_none = len(X) - members[self.grouped]
        absent = np.array([missing[self.columns[c].name] for c in self.counted], np.int64)
        above = count_above(X[:, : len(self.numbers)], cuts).ravel()  # they are the first
        return EventCounts(len(X), np.concatenate([above, in_group, in_none, absent]))

    def hold(self, X: NDArray[np.floating[Any]], cuts: NDArray[np.float32]) -> NDArray[np.bool_]:
        """(n, e) Which events hold in each row that the preparation was fitted to."""
        above = (X[:, self.numbers, None] > cuts).reshape(len(X), cuts.size)
        of = {(f.column, f.indicator): j for j, f in enumerate(self.features)}
        told = [of.get((self.columns[c].name, True)) for c in self.counted]  # none if no cell was missing
        absent = np.column_stack([np.zeros((len(X), 0)), *(0 * X[:, 0] if j is None else X[:, j] for j in told)])
        in_group = X[:, self.groups] > 0.5
        of_group = self.column[cuts.size :][: len(self.groups)]
        in_none = [~in_group[:, of_group == c].any(axis=1) for c in self.grouped]
        return np.column_stack([above, in_group, *in_none, absent > 0.5])

    def words(self, event: int, cuts: NDArray[np.float32]) -> tuple[str, str]:
        """The column of an event, and what holds, for a person."""
        column = self.columns[self.column[event]]
        n_above, n_groups = cuts.size, len(self.groups)
        if event < n_above:
            feature = self.features[self.numbers[event // N_CUTS]]
            return column.name, _above(column, feature, float(cuts.flat[event]))
        if event < n_above + n_groups:
            group = self.features[self.groups[event - n_above]].name.removeprefix(f"{column.name} = ")
            return column.name, {"(other)": "a rare or new value", "(missing)": "missing"}.get(
                group, visible(group, 40)
            )
        if event < n_above + n_groups + len(self.grouped):
            return column.name, _no_group(column)
        return column.name, "missing"


def _told(drift: Drift) -> list[int]:
    """Events to speak of: if some differ by enough to matter, those alone."""
    n = drift.n_weighty or len(drift.events)
    return drift.events[: min(n, _MOST_COLUMNS)].tolist()


def _above(column: Column, feature: Feature, cut: float) -> str:
    """A number above a cut, in units of the table."""
    if column.kind == "boolean":
        return visible("".join(column.categories[:1]), 40)
    part = feature.name.removeprefix(column.name).strip(" :~")
    if column.kind == "words":
        return visible(f"more of topic {part}", 60)
    value = feature.in_units(cut)
    if part == "elapsed days" and abs(value) < 10**6:
        return f"after {date(1970, 1, 1) + timedelta(days=int(np.floor(value)))}"
    return f"{part} above {_short(value)}".strip()


def _short(value: float) -> str:
    """A number with the digits that count.

    >>> _short(2019.5), _short(1234567.8)
    ('2,019.5', '1,234,600')
    """
    return f"{float(f'{value:.{4 if abs(value) < 1000 else 5}g}'):,.10g}"


def _no_group(column: Column) -> str:
    """What cells are that belong to no group of a category."""
    if column.other:
        return "missing"
    return "a new value" if column.missing else "a new or missing value"
