"""Numeric features of the cells of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._arrays import Array, Mask
from chary._words import Parameter, shown
from chary.tables.cells import codes_of, filled_cells, without_codes
from chary.tables.columns import COLUMN_DEFAULTS, Column, ColumnDefaults, find_column, kind_of
from chary.tables.columns.kind import DROPPED, NUMBER, Kind, unified
from chary.tables.frames import from_dataframe
from chary.tables.table import MAX_COLUMNS, TableError, column_hint

# Medians, means and standard deviations come from at most this many rows, and from fewer if these
# would have more than this many values of features.
_STATISTICS_ROWS = 100_000
_STATISTICS_CELLS = 2**26
# About as many values of features are computed at a time.
_CHUNK_CELLS = 2**22
# Standardised values are clipped.
_CLIP = 100.0
# A new table is refused if at least as many unreadable cells as a column has are less probable than
# this, given the share of unreadable cells that ``fit`` accepts.
_UNLIKELY = 0.01
# Parameters that override the kind of a column; the first one counts.
_FORCED = ("drop", "identifier", "text", "categorical", "numeric")

Statistics = dict[str, NDArray[np.float64]]


class Feature(NamedTuple):
    """What a feature was made of, and how to undo its scale."""

    name: str
    column: str
    indicator: bool  # 1 or 0: whether a cell is missing, or belongs to a group; otherwise a number
    mean: float = 0.0
    scale: float = 1.0
    words: str = ""  # what a person calls it; several features of a date may share them
    unit: str = NUMBER  # how a person reads it: see ``Kind.feature_words``

    def in_units(self, value: float) -> float:
        """Convert a value of the feature to the table's number."""
        return self.mean + self.scale * value


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn the cells of a table into numeric features.

    Kinds are found from the cells: numeric (with its unit or currency, if it has one throughout),
    boolean, date (year, month, weekday, elapsed days, and the hour if cells have one), time of day,
    categorical (rare values share one feature), free text (thirty topics, more if ``y`` has more
    than twenty classes), embedding (a list of numbers). Identifiers and constant columns are left
    out; ``columns_`` says so. Missing numbers become the median, with a feature that marks them;
    missing categories are a category. Values never seen in ``fit`` are accepted; numbers and dates
    in another form than in ``fit`` are refused. All numbers are standardised, those of a text or of
    an embedding by one scale. Features are in the order of the names of their columns, so that
    nothing learned from them depends on the order of the columns in the table; arrays have no
    names, and keep theirs.

    Parameters
    ----------
    drop, categorical, numeric, identifier, text : sequences of column names, default=()
        Override what the cells suggest.
    missing : sequence of str, default=()
        Cells that hold nothing besides empty ones and NA: ``"-9"`` in every column, ``"age=-9"`` in
        one.
    dates : sequence of str, default=()
        How dates such as 03/04/2024 are written: ``"day-first"``, ``"month-first"`` or
        ``"year-first"``, or ``"start=month-first"`` in one column. Dates that can be read in one
        way only are read so.

    Attributes
    ----------
    columns_ : list of Column
        In the order of the table.
    ordered_ : list of Column
        In the order of their features: by name. A model file keeps them so.
    statistics_ : dict of arrays (k,)
        ``median``, ``mean`` and ``scale`` of the k features that are numbers; empty if none is.

    See Also
    --------
    chary.label : Prepares, learns and reports in one call.
    chary.tables.read_table : Reads a file of any kind.

    Examples
    --------
    >>> table = {
    ...     "age": ["31", "", "47", "52"],
    ...     "city": ["Ulm", "Bonn", "Ulm", "Bonn"],
    ...     "n": ["1", "1", "1", "1"],
    ... }
    >>> preparation = TablePreparation().fit(table)
    >>> [(column.name, column.kind) for column in preparation.columns_]
    [('age', 'numeric'), ('city', 'categorical'), ('n', 'constant')]
    >>> preparation.get_feature_names_out().tolist()
    ['age', 'age is missing', 'city = Bonn', 'city = Ulm']
    >>> preparation.transform({"city": ["Kiel"], "age": ["1000.5"]}).shape
    (1, 4)
    """

    def __init__(
        self,
        *,
        drop: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        identifier: Sequence[str] = (),
        text: Sequence[str] = (),
        missing: Sequence[str] = (),
        dates: Sequence[str] = (),
    ) -> None:
        self.drop = drop
        self.categorical = categorical
        self.numeric = numeric
        self.identifier = identifier
        self.text = text
        self.missing = missing
        self.dates = dates

    def fit(
        self, X: Any, y: Any = None, defaults: ColumnDefaults = COLUMN_DEFAULTS
    ) -> TablePreparation:
        """Find the kinds of columns, and the statistics of numbers.

        ``y`` only tells the number of classes. ``defaults`` are for studies.
        """
        frame = from_dataframe(X)
        self.refuse_unknown_columns(frame.columns)
        forced = self._forced_kinds()
        frame = self._without_codes(frame)
        n_classes = 0 if y is None else len(set(map(str, y)))
        columns = []
        for cells in frame:
            # If several settings apply to a column, the last one counts.
            orders = codes_of(cells.name, self.dates) or [""]
            kind = forced.get(cells.name, "")
            columns.append(find_column(cells, kind, orders[-1], n_classes, defaults))

        if not any(column.used for column in columns):
            reasons = "; ".join(f"{shown(column.name)}: {column.note}" for column in columns[:3])
            raise TableError(
                f"No column is left to learn from ({reasons}); add columns or override their kind."
            )
        self.columns_ = columns
        self.ordered_ = sorted(columns, key=lambda column: column.name)
        self._layout = _lay_out(self.ordered_)
        n_features = self._layout.n_features
        if n_features > MAX_COLUMNS:
            raise TableError(
                f"The columns become {n_features:,} features, of {MAX_COLUMNS:,} at most; "
                f"use {Parameter('drop')}."
            )
        self.statistics_ = _statistics(frame, self._layout)
        return self

    @classmethod
    def restored(
        cls, params: dict[str, Sequence[str]], columns: list[Column], statistics: Statistics
    ) -> TablePreparation:
        """Restore a fitted preparation from its ``ordered_`` columns and ``statistics_``."""
        mismatch = TableError("The model file does not fit its columns; train the model again.")
        n_numbers = 0
        for column in columns:
            if column.used and not kind_of(column).grouped:
                n_numbers += len(kind_of(column).feature_names(column))
            # Checked after each column: a small file can claim columns of thousands of numbers.
            if n_numbers > MAX_COLUMNS:
                raise mismatch
        expected = dict.fromkeys(("median", "mean", "scale"), (n_numbers,)) if n_numbers else {}
        shapes = {name: values.shape for name, values in statistics.items()}
        if shapes != expected or (n_numbers and (statistics["scale"] <= 0).any()):
            raise mismatch
        preparation = cls(**params)
        preparation.columns_ = columns
        preparation.ordered_ = columns
        preparation.statistics_ = statistics
        preparation._layout = _lay_out(columns)
        return preparation

    def without(self, notes: Mapping[str, str]) -> TablePreparation:
        """Return this preparation with some columns left out.

        Parameters
        ----------
        notes : mapping
            The columns to leave out, and for each the reason, which is its note.
        """
        check_is_fitted(self)
        is_used = [feature.column not in notes for feature in self.features()]
        statistics = {}
        for name, values in self.statistics_.items():
            # Numbers are the first features, and each has its statistics.
            statistics[name] = values[is_used[: len(values)]]

        left_out = {name: Column(name, DROPPED, note) for name, note in notes.items()}
        columns = [left_out.get(column.name, column) for column in self.ordered_]
        preparation = TablePreparation.restored(self.get_params(), columns, statistics)
        preparation.columns_ = [left_out.get(column.name, column) for column in self.columns_]
        return preparation

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Make features (n, d).

        Columns are found by name; further columns are ignored.
        """
        return self.transform_counted(X)[0]

    def transform_counted(self, X: Any) -> tuple[NDArray[np.float32], dict[str, int]]:
        """Make features (n, d), and count cells without a number by column."""
        counts = self.cell_counts()
        features = self.transform_part(from_dataframe(X), counts)
        counts.refuse()
        return np.ascontiguousarray(features), counts.missing

    def cell_counts(self) -> CellCounts:
        """Start to count the cells of a new table."""
        check_is_fitted(self)
        return CellCounts([place.column for place in self._layout.numbers], self.numeric)

    def transform_part(
        self, frame: pl.DataFrame, counts: CellCounts | None = None
    ) -> NDArray[np.float32]:
        """Make the features (n, d) of ``frame``, a part of a table.

        Cells are counted in ``counts``, which decides at the end of the table whether it is
        refused: a part cannot tell a few odd cells from a column in another form. The values of a
        feature lie side by side in memory, as the cells of a column do.
        """
        if counts is None:
            counts = self.cell_counts()
        self.require_columns(frame.columns)
        frame = self._without_codes(frame)
        features = np.empty((frame.height, self._layout.n_features), np.float32, order="F")
        size = max(1, _CHUNK_CELLS // features.shape[1])
        for start in range(0, frame.height, size):
            self._fill(frame.slice(start, size), counts, features[start : start + size])
        return features

    def _fill(self, frame: pl.DataFrame, counts: CellCounts, features: NDArray[np.float32]) -> None:
        """Write the features of some rows, and count their cells."""
        medians = self.statistics_.get("median", ())  # no column of numbers, no statistics
        means = self.statistics_.get("mean", ())
        scales = self.statistics_.get("scale", ())
        for place in self._layout.numbers:
            cells = unified(frame[place.column.name])
            numbers = place.kind.read(cells, place.column)
            # One feature after the other: their values lie side by side in memory.
            for i, values in enumerate(numbers.T, place.features.start):
                filled = np.where(np.isnan(values), medians[i], values)
                standardised = (filled - means[i]) / scales[i]
                np.clip(standardised, -_CLIP, _CLIP, out=features[:, i])
            is_missing = np.isnan(numbers[:, 0])
            counts.add_cells(place.column.name, cells, is_missing)
            if place.indicator is not None:
                features[:, place.indicator] = is_missing

        for place in self._layout.groups:
            cells = unified(frame[place.column.name])
            codes = place.kind.read(cells, place.column)[:, 0]
            for code, feature in enumerate(features[:, place.features].T):
                np.equal(codes, code, out=feature)

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a table whose ``names`` lack a column that the model uses."""
        present = set(names)
        for column in self.columns_:
            if column.used and column.name not in present:
                hint = column_hint(column.name, names)
                raise TableError(
                    f"Column {shown(column.name)} is missing, and the model learned from it; {hint}"
                )

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name each feature for a person; ``input_features`` is not used."""
        return np.array([feature.name for feature in self.features()], dtype=object)

    def features(self) -> list[Feature]:
        """Describe the features, in their order."""
        check_is_fitted(self)
        numbers: list[Feature] = []
        indicators: list[Feature] = []
        for place in self._layout.numbers:
            column = place.column.name
            means = self.statistics_["mean"][place.features].tolist()
            scales = self.statistics_["scale"][place.features].tolist()
            words = place.kind.feature_words(place.column)
            for i, name in enumerate(place.names):
                label, unit = words[i]
                number = Feature(
                    name,
                    column,
                    indicator=False,
                    mean=means[i],
                    scale=scales[i],
                    words=label,
                    unit=unit,
                )
                numbers.append(number)
            if place.indicator is not None:
                indicators.append(_indicator(f"{column} is missing", column))
        for place in self._layout.groups:
            indicators += [_indicator(name, place.column.name) for name in place.names]
        return numbers + indicators

    def refuse_unknown_columns(self, names: Sequence[str]) -> None:
        """Refuse parameters that speak of columns which are not among ``names``; list all."""
        sentences = []
        for name in self._forced_kinds():
            if name not in names:
                sentences.append(
                    f"The table of features has no column {shown(name)} to override; "
                    f"{column_hint(name, names)}"
                )
        for settings, kind in ((self.missing, "the code"), (self.dates, "the dates")):
            sentences += _unknown_columns(settings, names, kind)
        if sentences:
            raise TableError(" ".join(sentences))

    def _forced_kinds(self) -> dict[str, str]:
        """Return the kinds that columns are forced to be."""
        forced: dict[str, str] = {}
        for kind in reversed(_FORCED):
            forced.update(dict.fromkeys(getattr(self, kind), kind))
        return forced

    def _without_codes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Empty the cells that hold a code for a missing value."""
        for cells in frame:
            codes = codes_of(cells.name, self.missing)
            if codes:
                frame = frame.with_columns(without_codes(cells, codes))
        return frame


def _unknown_columns(settings: Sequence[str], columns: Sequence[str], kind: str) -> list[str]:
    """Say which settings, such as ``age=99``, name no column; a sentence for each."""
    sentences = []
    for setting in settings:
        if "=" in setting and not any(setting.startswith(f"{name}=") for name in columns):
            name = setting.partition("=")[0]
            sentences.append(
                f"There is no column {shown(name)} for {kind} {shown(setting)}; "
                f"{column_hint(name, columns)}"
            )
    return sentences


def _indicator(name: str, column: str) -> Feature:
    """Describe a feature that is 1 or 0."""
    return Feature(name, column, indicator=True, words=name)


@dataclass
class _Place:
    """Where the features of a column are."""

    column: Column
    kind: Kind
    names: list[str]  # of its numbers, or groups
    features: slice = field(init=False)  # the places of its numbers, or groups
    indicator: int | None = None  # the feature that marks missing cells, if there is one


class _Layout(NamedTuple):
    """Where all features are: numbers, indicators of missing ones, groups."""

    numbers: list[_Place]
    groups: list[_Place]
    n_features: int


def _lay_out(columns: list[Column]) -> _Layout:
    """Give the features of columns their places."""
    numbers: list[_Place] = []
    groups: list[_Place] = []
    for column in columns:
        if column.used:
            kind = kind_of(column)
            places = groups if kind.grouped else numbers
            places.append(_Place(column, kind, kind.feature_names(column)))

    end = _place_all(numbers, start=0)
    for place in numbers:
        if place.column.missing:
            place.indicator = end
            end += 1
    return _Layout(numbers, groups, n_features=_place_all(groups, start=end))


def _place_all(places: list[_Place], start: int) -> int:
    """Place features one after the other, and return where they end."""
    for place in places:
        end = start + len(place.names)
        place.features = slice(start, end)
        start = end
    return start


def _statistics(frame: pl.DataFrame, layout: _Layout) -> Statistics:
    """Compute median, mean and scale of the numbers."""
    if not layout.numbers:
        return {}
    n_rows = min(_STATISTICS_ROWS, _STATISTICS_CELLS // layout.n_features)
    if frame.height > n_rows:
        drawn = np.random.default_rng(0).choice(frame.height, n_rows, replace=False)
        frame = frame[np.sort(drawn)]

    columns = []
    for place in layout.numbers:
        cells = unified(frame[place.column.name])
        columns.append(place.kind.read(cells, place.column))
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    numbers = imputer.fit_transform(np.asfortranarray(np.column_stack(columns)))
    # Sorted, so that the order of the rows does not change how sums are rounded.
    scaler = StandardScaler().fit(np.sort(numbers, axis=0))
    for place in layout.numbers:
        if place.kind.one_scale:  # the root mean square of all deviations
            mean_square = scaler.var_[place.features].mean()
            scaler.scale_[place.features] = np.sqrt(mean_square) if mean_square > 0 else 1.0
    return {"median": imputer.statistics_, "mean": scaler.mean_, "scale": scaler.scale_}


# ---------------------------------------------------------------- cells that cannot be read


class CellCounts:
    """Counts of the cells of a new table, by column.

    Counts are added up, so that the whole table is accepted or refused, however it was cut.
    """

    def __init__(self, columns: Sequence[Column], forced: Sequence[str] = ()) -> None:
        self._columns = {column.name: column for column in columns}
        self._forced = forced
        # Cells that hold something, cells without a number, and cells in another form than in
        # ``fit``: "filled", "missing" and "unreadable".
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in self._columns}
        self._first_unreadable: dict[str, Any] = {}

    @property
    def missing(self) -> dict[str, int]:
        """Cells without a number, by column.

        If one number of a cell is missing, all are.
        """
        return {name: counts["missing"] for name, counts in self._counts.items()}

    def add_cells(self, name: str, cells: pl.Series, is_missing: Mask) -> None:
        """Count cells of a column in a part of the table."""
        column = self._columns[name]
        numberless = cells.filter(is_missing)
        filled = filled_cells(numberless)
        unreadable = kind_of(column).unreadable_cells(filled, column)
        if len(unreadable):
            self._first_unreadable.setdefault(name, unreadable.head(1).to_list()[0])
        self._counts[name].update(
            filled=len(cells) - len(numberless) + len(filled),
            missing=len(numberless),
            unreadable=len(unreadable),
        )

    def add(self, later: CellCounts) -> None:
        """Add the counts of the rows that follow."""
        for name, counts in later._counts.items():
            self._counts[name].update(counts)
        self._first_unreadable = later._first_unreadable | self._first_unreadable

    def refuse(self) -> None:
        """Refuse the table if a column has too many unreadable cells.

        A column that the user forced to be numeric is refused only if no cell can be read.
        """
        for name, counts in self._counts.items():
            n_filled = counts["filled"]
            n_unreadable = counts["unreadable"]
            # The probability of at least as many unreadable cells.
            p = binom.sf(n_unreadable - 1, n_filled, 1 - COLUMN_DEFAULTS.readable_share)
            is_accepted = p >= _UNLIKELY or name in self._forced
            if n_unreadable == 0 or (n_unreadable < n_filled and is_accepted):
                continue
            column = self._columns[name]
            expected = kind_of(column).expected(column)
            raise TableError(
                f"Column {shown(name)} holds {shown(self._first_unreadable[name])}: "
                f"{n_unreadable:,} of {n_filled:,} cells cannot be read, "
                f"because the model learned from {expected}; write them the same way."
            )
