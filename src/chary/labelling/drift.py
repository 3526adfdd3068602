"""Whether new rows look like those that a model learned from.

Rows are known by events alone: a number is above a cut, a cell belongs to a group, or is missing. A model holds a
reference: in how many of the rows it learned from each event holds, and no cell of them. Counts of events add up
over any parts of the rows, in any order, and take no more room for more rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, xlogy
from sklearn.pipeline import Pipeline

from chary._words import day, percent, shown, visible
from chary.labelling.diagnose import SIGNIFICANCE, STRONG_AUC, few_of
from chary.model_file import N_CUTS, DriftReference
from chary.tables import TablePreparation
from chary.tables.cells import DATE, TOPIC, UNREADABLE, Column
from chary.tables.preparation import Feature

Floats = NDArray[np.floating[Any]]

ALIKE, DIFFERENT, VERY_DIFFERENT, UNCHECKED = "alike", "different", "very different", "unchecked"

# However sure, a difference is none of weight if an event holds in less than so many more or fewer of the rows.
SMALLEST_DIFFERENCE = 0.1

_CUT_ROWS, _CHUNK_CELLS = 20_000, 2**18  # rows that the cuts come from, and numbers that are counted at a time
# Columns that are named, in JSON and in the sentence; and a file in which less than such a difference would be
# noticed for certain is a small one.
_MOST_COLUMNS, _NAMED, _NOTICED = 20, 2, 0.25
_MANY_ERRORS = 4.0  # standard errors of a share that no chance explains, whatever the number of columns


class EventCounts(NamedTuple):
    """In how many of some rows each event holds."""

    n_rows: int = 0
    counts: NDArray[np.int64] = np.int64(0)  # type: ignore[assignment]  # (e,)

    def plus(self, other: EventCounts) -> EventCounts:
        """Those of the rows of both."""
        return EventCounts(self.n_rows + other.n_rows, self.counts + other.counts)

    @property
    def shares(self) -> Floats:
        """(e,) of the rows, from 0 to 1."""
        return self.counts / max(1, self.n_rows)


class ColumnShift(NamedTuple):
    """How a column differs, by what differs most in it."""

    column: str
    what: str  # "north", "above 45", "missing"
    here: float  # share of the new rows
    then: float  # and of those that the model learned from


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
        one = self.n_rows == 1
        rows = "the row" if one else f"the {self.n_rows:,} rows"
        if self.verdict == UNCHECKED:
            why = "there are no rows" if not self.n_rows else "the model file has no figures to compare with"
            return f"{rows} could not be compared with those the model learned from: {why}"
        if self.verdict == ALIKE:
            compared = self.n_rows * self.n_seen / (self.n_rows + self.n_seen)
            few = _MANY_ERRORS * np.sqrt(0.25 / compared) > _NOTICED
            doubt = " (as far as so few rows can show)" if few else ""
            return f"{rows} look{'s' * one} like those the model learned from{doubt}"
        differ = f"{rows} differ{'s' * one} from those the model learned from"
        named = [
            f"{shown(shift.column)}{' most' if not i else ''} "
            f"({shift.what}: {percent(shift.here)} here, {percent(shift.then)} then)"
            for i, shift in enumerate(self.columns[:_NAMED])
        ]
        return f"{differ}: {', then '.join(named)}"

    @property
    def sentence(self) -> str:
        """What was found, and what it means."""
        end = ". Labels and confidence may be wrong." if self.alike is False else "."
        return self.finding[0].upper() + self.finding[1:] + end

    def figures(self) -> dict[str, Any]:
        """Plain data, as a program gets it."""
        return {
            "verdict": self.verdict,
            "rows": self.n_rows,
            "rows_then": self.n_seen,
            "auc": None if self.auc is None else round(self.auc, 4),
            "columns": [shift._asdict() for shift in self.columns],
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return self.sentence


def with_drift_reference(model: Pipeline, X: NDArray[np.floating[Any]], missing: Mapping[str, int]) -> Pipeline:
    """The model, which knows from now on what the rows look like that it learned from.

    ``X`` and ``missing`` are what ``transform_counted`` of its preparation makes of all of them, with a label or
    without one; or of a part of them, where ``recount_reference`` follows.
    """
    events = _Events.of(model[0])
    cuts = find_cuts(X[:, events.numbers], events.once)
    seen = events.count(X, missing, cuts)
    model.drift_reference_ = DriftReference(len(X), cuts, seen.counts)
    return model


def recount_reference(model: Pipeline, seen: EventCounts) -> None:
    """Have the reference of a model, made of some of its rows, be one of all rows, counted with it."""
    model.drift_reference_ = replace(model.drift_reference_, n_rows=seen.n_rows, counts=seen.counts)


def count_events(model: Pipeline, X: NDArray[np.floating[Any]], missing: Mapping[str, int]) -> EventCounts:
    """What is counted of new rows, from ``transform_counted`` of the model's preparation.

    Of a model without a reference, which older versions of chary made, the rows are counted and nothing else.
    """
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None:
        return EventCounts(len(X))
    return _Events.of(model[0]).count(X, missing, reference.cuts)


def compare_with_reference(model: Pipeline, new: EventCounts) -> RowComparison:
    """All rows that were counted with those that the model learned from."""
    reference: DriftReference | None = getattr(model, "drift_reference_", None)
    if reference is None or not new.n_rows:
        return RowComparison(UNCHECKED, new.n_rows)
    events, seen = _Events.of(model[0]), EventCounts(reference.n_rows, reference.counts)
    verdict, auc, differing = compare_counts(seen, new, events.column)
    shifts = [
        ColumnShift(*events.words(e, reference.cuts), *(round(float(rows.shares[e]), 4) for rows in (new, seen)))
        for e in differing[:_MOST_COLUMNS].tolist()
    ]
    return RowComparison(verdict, new.n_rows, reference.n_rows, auc, shifts)


# ---------------------------------------------------------------- the statistics


def compare_counts(
    seen: EventCounts, new: EventCounts, column: NDArray[np.intp]
) -> tuple[str, float, NDArray[np.intp]]:
    """Whether new rows look like those seen before.

    They differ if some event holds in at least a tenth more or fewer of them and chance hardly ever makes it so
    (``event_p_values``, adjusted for the number of events). So a large file is not accused of trifles, and a small
    one not of chance.

    Parameters
    ----------
    seen, new : EventCounts
        Of the same e events.
    column : array of shape (e,), int
        The number of the column that an event is about.

    Returns
    -------
    verdict : alike, different or very different
    auc : how well new rows are told from old ones by the best event: 0.5 not at all, 1 always
    events : of every column that differs beyond chance the one that differs most
    """
    difference = np.abs(new.shares - seen.shares)
    everything = seen.plus(new).shares
    n_possible = int(((everything > 0) & (everything < 1)).sum())
    p_values = np.minimum(1.0, event_p_values(seen, new) * n_possible)
    sure = np.flatnonzero(p_values <= SIGNIFICANCE)
    order = sure[np.argsort(-difference[sure], kind="stable")]
    events = order[np.sort(np.unique(column[order], return_index=True)[1])]
    n_weighty = int((difference[events] >= SMALLEST_DIFFERENCE).sum())
    auc = 0.5 + float(difference[events].max(initial=0)) / 2
    verdict = ALIKE if not n_weighty else VERY_DIFFERENT if auc >= STRONG_AUC else DIFFERENT
    return verdict, auc, events[: n_weighty or None]  # if some differ by enough to matter, those alone


def event_p_values(seen: EventCounts, new: EventCounts) -> Floats:
    r"""(e,) How often chance makes an event differ as much, if both are drawn from the same rows.

    With k of n rows in one and l of m in the other, and p the share in both together, the deviance

    .. math:: G = \sum_{(k, n)} k \log\frac{k}{n p} + (n - k) \log\frac{n - k}{n (1 - p)}

    after k and l were moved towards p by half a row (as Yates did), and 2 Phi(-sqrt(2 G)). It is nearly that of
    Fisher's exact test, on its safe side where counts are small, and costs the same for a billion rows.
    """
    n, m = float(seen.n_rows), float(new.n_rows)
    total = (seen.counts + new.counts).astype(np.float64)
    expected = total * m / max(1.0, n + m)
    excess = new.counts - expected
    here = expected + np.sign(excess) * np.maximum(np.abs(excess) - 0.5, 0)

    def information(k: Floats, n: float) -> Floats:
        return xlogy(k, k) + xlogy(n - k, n - k) - xlogy(n, n)

    deviance = information(total - here, n) + information(here, m) - information(total, n + m)
    return 2 * ndtr(-np.sqrt(2 * np.maximum(deviance, 0)))


# ---------------------------------------------------------------- events


def find_cuts(X: Floats, once: NDArray[np.bool_]) -> NDArray[np.float32]:
    """(d, 9) Where to cut each feature: near its deciles, or where it is to be cut ``once``, near the median.

    A cut lies halfway between two values, so it is none of them, and rounding moves no value across. Features of
    few values have fewer cuts, then infinity.
    """
    rows = few_of(np.arange(len(X)), _CUT_ROWS, np.random.default_rng(0))
    cuts = np.full((X.shape[1], N_CUTS), np.inf, np.float32)
    for j in range(X.shape[1]):
        values, n_cuts = np.sort(X[rows, j]), 1 if once[j] else N_CUTS
        # Below the quantiles, or above where nothing is below.
        at = values[np.arange(1, n_cuts + 1) * len(values) // (n_cuts + 1)]
        first, after = np.searchsorted(values, at, "left"), np.searchsorted(values, at, "right")
        upper = np.where(first > 0, first, after)
        upper = np.unique(upper[upper < len(values)])
        found = np.unique((values[upper - 1] + values[upper]) / 2)
        cuts[j, : len(found)] = found
    return cuts


def count_above(X: Floats, cuts: NDArray[np.float32]) -> NDArray[np.int64]:
    """(d, 9) In how many rows each feature is above each cut."""
    counts = np.zeros(cuts.shape, np.int64)
    size = max(1, _CHUNK_CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), size):
        part = np.ascontiguousarray(X[start : start + size].T)
        above = np.empty(part.shape, np.bool_)
        for k in np.flatnonzero(np.isfinite(cuts).any(axis=0)):  # nothing is above infinity
            np.greater(part, cuts[:, k, None], out=above)
            counts[:, k] += [np.count_nonzero(row) for row in above]  # with an axis it takes five times as long
    return counts


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

    def words(self, event: int, cuts: NDArray[np.float32]) -> tuple[str, str]:
        """The column of an event, and what holds, for a person."""
        column = self.columns[self.column[event]]
        if event < cuts.size:
            feature = self.features[self.numbers[event // N_CUTS]]
            return column.name, _above(column, feature, float(cuts.flat[event]))
        group, no_group = event - cuts.size, event - cuts.size - len(self.groups)
        if no_group < 0:
            name = self.features[self.groups[group]].name.removeprefix(f"{column.name} = ")
            rare = {"(other)": "a rare or new value", "(missing)": "missing"}
            return column.name, rare.get(name, visible(name, 40))
        if no_group < len(self.grouped) and not column.other:
            return column.name, "a new value" if column.missing else "a new or missing value"
        return column.name, "missing"


def _above(column: Column, feature: Feature, cut: float) -> str:
    """A number above a cut, in units of the table."""
    if column.kind == "boolean":
        return visible("".join(column.categories[:1]), 40)
    part = feature.words.removeprefix(column.name).strip(" :,")
    if feature.unit == TOPIC:
        return visible(f"more {part}", 60)
    if feature.unit == UNREADABLE:
        return f"certain {part}s"
    value = feature.in_units(cut)
    if feature.unit == DATE:
        return f"after {day(value)}"
    return f"{part} above {_short(value)}".strip()


def _short(value: float) -> str:
    """A number with the digits that count.

    >>> _short(2019.5), _short(1234567.8)
    ('2,019.5', '1,234,600')
    """
    return f"{float(f'{value:.{4 if abs(value) < 1000 else 5}g}'):,.10g}"
