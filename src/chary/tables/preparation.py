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
from chary.tables.cells import filled_cells, missing_cells, settings_for, without_codes
from chary.tables.columns import COLUMN_DEFAULTS, Column, ColumnDefaults, find_column, kind_of
from chary.tables.columns.kind import DROPPED, NUMBER, Kind, unified
from chary.tables.frames import from_dataframe
from chary.tables.table import MAX_COLUMNS, TableError, column_hint

# Medians, means and standard deviations are computed from at most this many rows.
_STATISTICS_ROWS = 100_000
# They are computed from fewer rows if all numbers of these would be more than this many.
_STATISTICS_CELLS = 2**26
# Features are computed for some rows at a time, so that about this many values are in memory.
_CHUNK_CELLS = 2**22
# Standardised values lie between minus this number and this number; others are clipped to it.
_CLIP = 100.0
# A new table is refused if a column has so many unreadable cells that as many or more are less
# probable than this, if each cell were unreadable with the largest share that ``fit`` accepts.
_UNLIKELY = 0.01
# The parameters that override the kind of a column. For a column in several, the first one counts.
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
            # If several values of ``dates`` apply to a column, the last one counts. Those for the
            # column alone come last.
            orders = settings_for(cells.name, self.dates) or [""]
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
        """Restore a fitted preparation from its ``ordered_`` columns and ``statistics_``.

        Both may come from a damaged or hostile model file: they are refused if the statistics do
        not have one positive scale, mean and median for each feature that is a number.
        """
        mismatch = TableError("The model file does not fit its columns; train the model again.")
        n_numbers = 0
        for column in columns:
            if column.used and not kind_of(column).grouped:
                n_numbers += len(kind_of(column).feature_names(column))
            # Checked after each column: a small file can claim columns of thousands of numbers.
            if n_numbers > MAX_COLUMNS:
                raise mismatch
        expected_shapes = {}
        if n_numbers:
            expected_shapes = dict.fromkeys(("median", "mean", "scale"), (n_numbers,))
        shapes = {name: values.shape for name, values in statistics.items()}
        if shapes != expected_shapes:
            raise mismatch
        if n_numbers and (statistics["scale"] <= 0).any():
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
        stays = [feature.column not in notes for feature in self.features()]  # by feature
        statistics = {}
        for name, values in self.statistics_.items():
            # Only features that are numbers have statistics; they are the first features.
            n_numbers = len(values)
            statistics[name] = values[stays[:n_numbers]]

        left_out = {name: Column(name, DROPPED, note) for name, note in notes.items()}

        def as_left_out(columns: list[Column]) -> list[Column]:
            return [left_out.get(column.name, column) for column in columns]

        ordered = as_left_out(self.ordered_)
        preparation = TablePreparation.restored(self.get_params(), ordered, statistics)
        preparation.columns_ = as_left_out(self.columns_)
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
        """Start to count the cells of a new table.

        Cells are counted in columns of numbers. Cells of any text fit a column of categories.
        """
        check_is_fitted(self)
        counted_columns = [place.column for place in self._layout.numbers]
        return CellCounts(counted_columns, forced=self.numeric)

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
        n_features = self._layout.n_features
        features = np.empty((frame.height, n_features), np.float32, order="F")
        chunk_rows = max(1, _CHUNK_CELLS // n_features)
        for start in range(0, frame.height, chunk_rows):
            chunk = frame.slice(start, chunk_rows)
            chunk_features = features[start : start + chunk_rows]  # a view, which is written to
            for place in self._layout.numbers:
                self._write_numbers(place, chunk, counts, chunk_features)
            for place in self._layout.groups:
                self._write_groups(place, chunk, chunk_features)
        return features

    def _write_numbers(
        self,
        place: _Place,
        frame: pl.DataFrame,
        counts: CellCounts,
        features: NDArray[np.float32],
    ) -> None:
        """Write the features of a column of numbers, standardised, and count its cells.

        A cell may have several numbers, as a date has a year and a month. A missing number becomes
        the median; the feature ``place.indicator``, if there is one, marks the cell.
        """
        column = place.column
        cells = unified(frame[column.name])
        numbers = place.kind.read(cells, column)  # (n, numbers of a cell)
        # One feature after the other, as the values of a feature lie side by side in memory.
        for i, values in enumerate(numbers.T, place.features.start):
            median = self.statistics_["median"][i]
            mean = self.statistics_["mean"][i]
            scale = self.statistics_["scale"][i]
            without_gaps = np.where(np.isnan(values), median, values)
            standardised = (without_gaps - mean) / scale
            np.clip(standardised, -_CLIP, _CLIP, out=features[:, i])

        # If one number of a cell is missing, all are.
        is_missing = np.isnan(numbers[:, 0])
        counts.add_cells(column.name, cells, is_missing)
        if place.indicator is not None:
            features[:, place.indicator] = is_missing

    def _write_groups(
        self, place: _Place, frame: pl.DataFrame, features: NDArray[np.float32]
    ) -> None:
        """Write the features of a column of categories: 1 for the group of a cell, 0 for others."""
        cells = unified(frame[place.column.name])
        codes = place.kind.read(cells, place.column)[:, 0]  # (n,) the number of a cell's group
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
        # In their order: numbers, indicators of missing numbers, groups of categories.
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

    def refuse_unknown_columns(self, names: Sequence[str], target: str | None = None) -> None:
        """Refuse parameters that speak of columns which are not among ``names``; list all.

        The ``target`` is not among them: its kind is not chosen.
        """
        sentences = []
        for name, kind in self._forced_kinds().items():
            if name == target:
                sentences.append(
                    f"Column {shown(name)} is the target, which is read as it is: leave out "
                    f"{Parameter(kind, name)}."
                )
            elif name not in names:
                sentences.append(
                    f"The table of features has no column {shown(name)} to override; "
                    f"{column_hint(name, names)}"
                )
        for settings, words in ((self.missing, "the code"), (self.dates, "the dates")):
            sentences += _unknown_columns(settings, names, words)
        if sentences:
            raise TableError(" ".join(sentences))

    def _forced_kinds(self) -> dict[str, str]:
        """Return the kind that each column named in a parameter is forced to be."""
        forced: dict[str, str] = {}
        # The first parameter counts, so it is written last.
        for kind in reversed(_FORCED):
            for name in getattr(self, kind):
                forced[name] = kind
        return forced

    def filled(self, cells: pl.Series) -> Mask:
        """Tell which cells of a column hold something; codes for missing values hold nothing."""
        return ~missing_cells(self.without_codes(cells)).to_numpy()

    def without_codes(self, cells: pl.Series) -> pl.Series:
        """Empty the cells of a column that hold a code for a missing value."""
        return without_codes(cells, settings_for(cells.name, self.missing))

    def _without_codes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Empty the cells that hold a code for a missing value."""
        for cells in frame:
            codes = settings_for(cells.name, self.missing)
            if codes:
                frame = frame.with_columns(without_codes(cells, codes))
        return frame


def _unknown_columns(settings: Sequence[str], columns: Sequence[str], kind: str) -> list[str]:
    """Say which settings, such as ``age=99``, name no column; a sentence for each.

    A setting without "=" is for every column. A column's own name may hold "=", so a setting is
    compared with whole names.
    """
    sentences = []
    for setting in settings:
        names_column = any(setting.startswith(f"{name}=") for name in columns)
        if "=" in setting and not names_column:
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
    """Where the features of a column stand among all features.

    A column has a feature for each number of a cell, or one for each group of cells.
    """

    column: Column
    kind: Kind
    names: list[str]  # of the features, without the indicator
    features: slice = field(init=False)  # the places of these features
    indicator: int | None = None  # the place of the feature that marks missing cells, if any


class _Layout(NamedTuple):
    """The order of all features: numbers, indicators of missing numbers, groups."""

    numbers: list[_Place]  # the columns whose features are numbers
    groups: list[_Place]  # the columns whose features are groups
    n_features: int


def _lay_out(columns: list[Column]) -> _Layout:
    """Give the features of columns their places.

    First come the numbers of all columns, then an indicator for each of these columns that had
    missing cells, then the groups of all columns of categories.
    """
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
    """Compute median, mean and scale of each feature that is a number, from a sample of rows.

    The scale is the standard deviation. The topics of a text, or the entries of an embedding, share
    one scale: the root of the mean of their variances.
    """
    if not layout.numbers:
        return {}
    n_rows = min(_STATISTICS_ROWS, _STATISTICS_CELLS // layout.n_features)
    if frame.height > n_rows:
        rng = np.random.default_rng(0)
        sample = rng.choice(frame.height, n_rows, replace=False)
        frame = frame[np.sort(sample)]

    number_arrays = []
    for place in layout.numbers:
        cells = unified(frame[place.column.name])
        number_arrays.append(place.kind.read(cells, place.column))
    numbers = np.asfortranarray(np.column_stack(number_arrays))  # (n, k)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    without_gaps = imputer.fit_transform(numbers)
    # Sorted, so that the order of the rows does not change how sums are rounded.
    scaler = StandardScaler().fit(np.sort(without_gaps, axis=0))

    scales = scaler.scale_
    for place in layout.numbers:
        if place.kind.one_scale:
            mean_variance = scaler.var_[place.features].mean()
            scales[place.features] = np.sqrt(mean_variance) if mean_variance > 0 else 1.0
    return {"median": imputer.statistics_, "mean": scaler.mean_, "scale": scales}


# ---------------------------------------------------------------- cells that cannot be read


class CellCounts:
    """Counts of the cells of a new table, by column.

    Counts are added up, so that the whole table is accepted or refused, however it was cut.
    """

    def __init__(self, columns: Sequence[Column], forced: Sequence[str] = ()) -> None:
        self._columns = {column.name: column for column in columns}
        self._forced = forced
        # For each column the number of its "filled" cells, which hold something, of its "missing"
        # cells, which have no number, and of its "unreadable" cells, in another form than in
        # ``fit``. An unreadable cell is both filled and missing.
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in self._columns}
        # For each column its first unreadable cell, as an example for the error.
        self._first_unreadable: dict[str, Any] = {}

    @property
    def missing(self) -> dict[str, int]:
        """Cells without a number, by column.

        If one number of a cell is missing, all are.
        """
        return {name: counts["missing"] for name, counts in self._counts.items()}

    def add_cells(self, name: str, cells: pl.Series, is_missing: Mask) -> None:
        """Count cells of a column in a part of the table.

        Parameters
        ----------
        name : str
            The column.
        cells : Series
            Its cells.
        is_missing : array of shape (n,)
            Whether no number was read from a cell: it is empty, or cannot be read.
        """
        column = self._columns[name]
        numberless = cells.filter(is_missing)
        filled_numberless = filled_cells(numberless)  # those that hold something
        unreadable = kind_of(column).unreadable_cells(filled_numberless, column)
        if len(unreadable) and name not in self._first_unreadable:
            self._first_unreadable[name] = unreadable.head(1).to_list()[0]

        n_with_number = len(cells) - len(numberless)
        n_filled = n_with_number + len(filled_numberless)
        self._counts[name].update(
            filled=n_filled, missing=len(numberless), unreadable=len(unreadable)
        )

    def add(self, later: CellCounts) -> None:
        """Add the counts of the rows that follow."""
        for name, counts in later._counts.items():
            self._counts[name].update(counts)
        self._first_unreadable = later._first_unreadable | self._first_unreadable

    def refuse(self) -> None:
        """Refuse the table if a column has too many unreadable cells.

        They are too many if no cell can be read, or if chance would hardly make as many of a column
        that ``fit`` accepts. A column that the user forced to be numeric is refused only if no cell
        can be read.
        """
        for name, counts in self._counts.items():
            n_filled = counts["filled"]
            n_unreadable = counts["unreadable"]
            if n_unreadable == 0:
                are_too_many = False
            elif n_unreadable == n_filled:
                are_too_many = True
            elif name in self._forced:
                are_too_many = False
            else:
                largest_share = 1 - COLUMN_DEFAULTS.readable_share  # that ``fit`` accepts
                p_as_many = binom.sf(n_unreadable - 1, n_filled, largest_share)
                are_too_many = p_as_many < _UNLIKELY
            if are_too_many:
                column = self._columns[name]
                expected = kind_of(column).expected(column)
                raise TableError(
                    f"Column {shown(name)} holds {shown(self._first_unreadable[name])}: "
                    f"{n_unreadable:,} of {n_filled:,} cells cannot be read, "
                    f"because the model learned from {expected}; write them the same way."
                )
