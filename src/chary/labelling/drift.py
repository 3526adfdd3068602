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
from scipy.special import chdtrc, ndtr, xlogy
from sklearn.pipeline import Pipeline

from chary._threads import one_thread
from chary._words import day, percent, shown, visible
from chary.labelling.diagnose import SIGNIFICANCE, STRONG_AUC, few_of
from chary.model_file import N_CUTS, DriftReference
from chary.tables import TablePreparation
from chary.tables.cells import DATE, TOPIC, UNREADABLE, Column
from chary.tables.preparation import Feature

Floats = NDArray[np.floating[Any]]

ALIKE, DIFFERENT, VERY_DIFFERENT, UNCHECKED = "alike", "different", "very different", "unchecked"

# However sure, a difference is none of weight if an event holds in less than so many more or fewer of the rows, or
# if all columns together tell the rows apart less well than this.
SMALLEST_DIFFERENCE, SMALLEST_AUC = 0.1, 0.6

# One column, and all together, may be wrong by chance: each half as often.
_LEVEL = SIGNIFICANCE / 2
# Events of such shares make the sum over all columns; the others are looked at one by one only.
_FREQUENT = 0.05, 0.95
# Fewer new rows than this have no sum: it would rest on single rows.
_SUMMED_ROWS = 10
# Rows that the cuts, and the spectrum, come from.
_CUT_ROWS, _GRAM_ROWS, _GRAM_CELLS = 20_000, 1_000, 2**23
_CHUNK_CELLS = 2**18
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
            f"({shift.what}: {percent(shift.new)} here, {percent(shift.seen)} then)"
            for i, shift in enumerate(self.columns[:_NAMED])
        ]
        return f"{differ}: {', then '.join(named)}" if named else f"{differ} a little in many columns"

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
            "columns": [
                {"column": s.column, "what": s.what, "here": round(s.new, 4), "then": round(s.seen, 4)}
                for s in self.columns
            ],
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
    most = min(_GRAM_ROWS, max(_SUMMED_ROWS, _GRAM_CELLS // max(1, len(events.column))))  # as many as fit
    rows = few_of(np.arange(len(X)), most, np.random.default_rng(0))
    with one_thread("blas"):
        spectrum = measure_spectrum(events.hold(X[rows], cuts), seen.shares, events.column)
    model.drift_reference_ = DriftReference(len(X), cuts, seen.counts, *spectrum)
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
    drift = compare_counts(seen, new, events.column, Spectrum(reference.columns, reference.tail))
    shifts = [
        ColumnShift(
            *events.words(e, reference.cuts), float(seen.shares[e]), float(new.shares[e]), float(drift.p_values[e])
        )
        for e in drift.events[:_MOST_COLUMNS].tolist()
    ]
    return RowComparison(drift.verdict, new.n_rows, reference.n_rows, drift.auc, shifts)


# ---------------------------------------------------------------- the statistics


class Drift(NamedTuple):
    """How far new rows are from those that a model learned from."""

    verdict: str  # alike, different or very different
    auc: float  # how well new rows are told from old ones, by the best event or by all: 0.5 not at all, 1 always
    events: NDArray[np.intp]  # to tell of: of every column that differs beyond chance the one that differs most
    p_values: Floats  # (e,) of all events, adjusted for their number (Bonferroni)
    overall: Overall


class Spectrum(NamedTuple):
    """How columns hang together; of independent ones of two values, both are their number."""

    columns: float  # independent ones that vary as much as all, in sum
    tail: float  # independent ones whose sum has as long a tail: fewer, if some hang together and others do not


class Overall(NamedTuple):
    """How far all columns together differ."""

    auc: float  # chance taken off
    p_value: float


def compare_counts(seen: EventCounts, new: EventCounts, column: NDArray[np.intp], spectrum: Spectrum) -> Drift:
    """Whether new rows look like those seen before.

    They differ if some event holds in at least a tenth more or fewer of them and chance hardly ever makes it so
    (``event_p_values``, adjusted for the number of events), or if all columns together do (``measure_overall``).
    So a large file is not accused of trifles, and a small one not of chance.

    Parameters
    ----------
    seen, new : EventCounts
        Of the same e events.
    column : array of shape (e,), int
        The number of the column that an event is about.
    spectrum : Spectrum
        From ``measure_spectrum``, of rows seen before.
    """
    difference = np.abs(new.shares - seen.shares)
    everything = seen.plus(new).shares
    n_possible = int(((everything > 0) & (everything < 1)).sum())
    p_values = np.minimum(1.0, event_p_values(seen, new) * n_possible)
    overall = measure_overall(seen, new, column, spectrum)
    sure = np.flatnonzero(p_values <= _LEVEL)
    order = sure[np.argsort(-difference[sure], kind="stable")]
    events = order[np.sort(np.unique(column[order], return_index=True)[1])]
    n_weighty = int((difference[events] >= SMALLEST_DIFFERENCE).sum())
    auc = 0.5 + float(difference[events].max(initial=0)) / 2
    at_large = overall.p_value <= _LEVEL and overall.auc >= SMALLEST_AUC
    auc = max(auc, overall.auc) if at_large else auc
    verdict = ALIKE if not (n_weighty or at_large) else VERY_DIFFERENT if auc >= STRONG_AUC else DIFFERENT
    told = events[: n_weighty or None]  # if some differ by enough to matter, those alone
    return Drift(verdict, auc, told, p_values, overall)


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


def measure_overall(seen: EventCounts, new: EventCounts, column: NDArray[np.intp], spectrum: Spectrum) -> Overall:
    r"""How far all columns together differ, from frequent events.

    With p and q the shares of an event in n and m rows, r in all of them, and w its weight
    (``event_weights``),

    .. math:: T = \frac{nm}{n + m} \sum_e w_e \frac{(p_e - q_e)^2}{r_e (1 - r_e)}

    has the mean c, the number of columns, and the variance 2 c^2 / nu if the rows are alike, nu those of them that
    are independent; its p-value is that of a chi-squared distribution of tau degrees of freedom moved to this mean
    and variance, which has its skewness, too (Hall, Buckley and Eagleson; ``Spectrum``). The squared distance
    between both in standard deviations along the line that tells them best apart is then about

    .. math:: \delta^2 = \frac{\nu}{c} \sum_e w_e \frac{(p_e - q_e)^2}{s_e (1 - s_e)} - \nu \frac{n + m}{nm}

    with s the mean of p and q; and the AUC that belongs to it Phi(delta / sqrt(2)).
    """
    weights = event_weights(seen.shares, column)
    n_columns = float(weights.sum())
    if n_columns == 0 or spectrum.tail == 0 or min(seen.n_rows, new.n_rows) < _SUMMED_ROWS:
        return Overall(0.5, 1.0)
    used = weights > 0
    p, q, r = seen.shares[used], new.shares[used], seen.plus(new).shares[used]
    middle, nu, tau = (p + q) / 2, spectrum.columns, spectrum.tail
    rows = seen.n_rows / (seen.n_rows + new.n_rows) * new.n_rows
    statistic = rows * float(weights[used] @ ((p - q) ** 2 / (r * (1 - r))))
    moved = tau + np.sqrt(tau * nu) * (statistic / n_columns - 1)
    distance = nu / n_columns * float(weights[used] @ ((p - q) ** 2 / (middle * (1 - middle)))) - nu / rows
    auc = float(ndtr(np.sqrt(max(distance, 0.0) / 2)))
    return Overall(auc, float(chdtrc(tau, max(moved, 0.0))))


def event_weights(shares: Floats, column: NDArray[np.intp]) -> Floats:
    """(e,) Weights of frequent events in the sum: those of a column add up to 1, of others they are 0."""
    frequent = (shares >= _FREQUENT[0]) & (shares <= _FREQUENT[1])
    n_of_column = np.bincount(column[frequent], minlength=column.max(initial=0) + 1)
    return np.where(frequent, 1 / np.maximum(1, n_of_column)[column], 0.0)


def measure_spectrum(events: NDArray[np.bool_], shares: Floats, column: NDArray[np.intp]) -> Spectrum:
    r"""How the columns hang together, from the eigenvalues of the weighted correlations of their events.

    .. math:: \nu = s_1^2 / s_2, \quad \tau = s_2^3 / s_3^2, \quad s_k = \mathrm{tr}\, (W^{1/2} R W^{1/2})^k

    with R the correlations of the events and W their weights. s_2 and s_3 are estimated without bias, by the mean
    over pairs and over triples of different rows of products of inner products of their standardised events.

    Parameters
    ----------
    events : array of shape (n, e), bool
        Which events hold in each of some rows.
    shares : array of shape (e,)
        Of the events in all rows.
    column : array of shape (e,), int
    """
    weights = event_weights(shares, column)
    used, n = weights > 0, len(events)
    if not used.any() or n < 3:
        return Spectrum(0.0, 0.0)
    p, w = shares[used].astype(np.float32), weights[used].astype(np.float32)
    Z = (events[:, used] - p) * np.sqrt(w / (p * (1 - p)))  # (n, frequent)
    gram = (Z @ Z.T).astype(np.float64)
    np.fill_diagonal(gram, 0)
    first = float(weights.sum())
    second = max(np.square(gram).sum() / (n * (n - 1)), first**2 / used.sum())
    third = max(((gram @ gram) * gram).sum() / (n * (n - 1) * (n - 2)), second**2 / first)
    nu = max(1.0, first**2 / second)
    # Rounded, as sums differ in their last digits from one machine to another.
    return Spectrum(round(float(nu), 2), round(float(np.clip(second**3 / third**2, 1.0, nu)), 2))


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
