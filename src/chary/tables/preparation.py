"""Turning the cells of a table into numeric features, and counting the cells that cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._words import Parameter, shown
from chary.tables.cells import (
    DROPPED,
    NUMBER,
    READABLE,
    Column,
    Kind,
    codes_of,
    filled_cells,
    unified,
    without_codes,
)
from chary.tables.columns import find_column, kind_of
from chary.tables.frames import from_dataframe
from chary.tables.table import MAX_COLUMNS, TableError, column_hint

# Medians, means and standard deviations come from at most so many rows and cells.
_STATISTICS_ROWS, _STATISTICS_CELLS = 100_000, 2**26
_CHUNK_CELLS = 2**22
# Standardised values are clipped.
_CLIP = 100.0
# New cells are refused if so many that cannot be read are less likely than this where ``READABLE``
# of them can.
_UNLIKELY = 0.01
# What somebody may say of a column, in the order in which it counts.
_FORCED = ("drop", "identifier", "text", "categorical", "numeric")

Statistics = dict[str, NDArray[np.float64]]


class Feature(NamedTuple):
    """What a feature was made of, and how it turns back into the table's own numbers."""

    name: str  # of its own
    column: str
    indicator: bool  # 1 or 0: whether a cell is missing, or belongs to a group; otherwise a number
    mean: float = 0.0
    scale: float = 1.0
    words: str = ""  # what a person calls it; several features of a date may share them
    unit: str = NUMBER  # how a person reads it: see ``Kind.feature_words``

    def in_units(self, value: float) -> float:
        """The number of the table that a value of the feature stands for."""
        return self.mean + self.scale * value


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn the cells of a table into numeric features.

    Kinds are found from the cells: numeric (with its unit or currency, if there is one throughout),
    boolean, date (year, month, weekday, elapsed days, and the hour if it is told), time of day,
    categorical (rare values share one feature), free text (thirty topics, more if ``y`` has more
    than twenty classes), embedding (a list of numbers). Identifiers and constant columns are left
    out; ``columns_`` says so. Missing numbers become the median, with a feature that tells where;
    missing categories are a category. Values never seen in ``fit`` are accepted; numbers and dates
    that are written otherwise than in ``fit`` are refused. All numbers are standardised, those of a
    text or of an embedding by one scale. Features are made of the columns in the order of their
    names, so that nothing that is learned from them depends on the order of the columns in the
    table; arrays have no names, and keep theirs.

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
        The same in the order of their features: by name. A model file keeps them so.
    statistics_ : dict of arrays (k,)
        ``median``, ``mean`` and ``scale`` of the k features that are numbers; empty if none is.

    See Also
    --------
    chary.label : Prepares, learns and reports in one call.
    chary.tables.read_table : Reads a file of any kind.

    Examples
    --------
    >>> table = {"age": ["31", "", "47", "52"], "city": ["Ulm", "Bonn", "Ulm", "Bonn"], "n": ["1", "1", "1", "1"]}
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

    def fit(self, X: Any, y: Any = None) -> TablePreparation:
        """Find the kinds of the columns and the statistics of the used ones; in ``y`` only classes are counted."""
        frame = from_dataframe(X)
        n_classes = 0 if y is None else len(set(map(str, y)))
        forced = {name: how for how in reversed(_FORCED) for name in getattr(self, how)}
        for name in forced:
            if name not in frame.columns:
                hint = column_hint(name, frame.columns)
                raise TableError(
                    f"The table of features has no column {shown(name)} to override; {hint}"
                )
        _refuse_unknown(self.dates, frame.columns, "the dates")
        frame = self._without_codes(frame, frame.columns)
        dates = {name: (codes_of(name, self.dates) or [""])[-1] for name in frame.columns}
        columns = [
            find_column(frame[name], forced.get(name, ""), dates[name], n_classes)
            for name in frame.columns
        ]
        if not any(column.used for column in columns):
            reasons = "; ".join(f"{shown(column.name)}: {column.note}" for column in columns[:3])
            raise TableError(
                f"No column is left to learn from ({reasons}); add columns or override their kind."
            )
        ordered = sorted(columns, key=lambda column: column.name)
        self.columns_, self.ordered_, self._places = columns, ordered, _places(ordered)
        n_features = self._n_features
        if n_features > MAX_COLUMNS:
            raise TableError(
                f"The columns become {n_features:,} features, of {MAX_COLUMNS:,} at most; use {Parameter('drop')}."
            )
        self.statistics_ = _statistics(frame, self._numbers, n_features)
        return self

    @classmethod
    def restored(
        cls, params: dict[str, Sequence[str]], columns: list[Column], statistics: Statistics
    ) -> TablePreparation:
        """A fitted preparation, of what a model file says of it: its ``ordered_`` columns and ``statistics_``."""
        n_numbers = 0
        n_known = min(map(len, statistics.values()), default=0)
        fits = True
        for kind, column in [(kind_of(column), column) for column in columns if column.used]:
            fits = (
                fits and n_numbers <= n_known and kind.whole(column)
            )  # a short note may promise thousands
            if fits and not kind.grouped:
                n_numbers += len(kind.feature_names(column))
        expected = dict.fromkeys(("median", "mean", "scale"), (n_numbers,)) if n_numbers else {}
        shapes = {name: values.shape for name, values in statistics.items()}
        if not fits or shapes != expected or (n_numbers and (statistics["scale"] <= 0).any()):
            raise TableError("The model file does not fit its columns; train the model again.")
        preparation = cls(**params)
        preparation.columns_ = preparation.ordered_ = columns
        preparation.statistics_, preparation._places = statistics, _places(columns)
        return preparation

    def without(self, notes: Mapping[str, str]) -> TablePreparation:
        """The same preparation with some columns left out.

        Parameters
        ----------
        notes : mapping
            The columns to leave out, and for each the reason, which is its note.
        """
        check_is_fitted(self)
        kept = [feature.column not in notes for feature in self.features()]
        statistics = {
            name: values[kept[: len(values)]] for name, values in self.statistics_.items()
        }
        left_out = {name: Column(name, DROPPED, note) for name, note in notes.items()}
        columns = [left_out.get(column.name, column) for column in self.ordered_]
        preparation = TablePreparation.restored(self.get_params(), columns, statistics)
        preparation.columns_ = [left_out.get(column.name, column) for column in self.columns_]
        return preparation

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features (n, d); columns are found by name, further columns are ignored."""
        return self.transform_counted(X)[0]

    def transform_counted(self, X: Any) -> tuple[NDArray[np.float32], dict[str, int]]:
        """Features (n, d), and how many cells of each used column hold no number; categories are not counted."""
        forms = self.forms()
        features = self.part(from_dataframe(X), forms)
        forms.refuse()
        return np.ascontiguousarray(features), forms.missing

    def forms(self) -> Forms:
        """What is shown each part of a table, and asked at its end whether it is written as in ``fit``."""
        check_is_fitted(self)
        return Forms([place.column for place in self._numbers], self.numeric)

    def part(self, frame: pl.DataFrame, forms: Forms) -> NDArray[np.float32]:
        """Features (n, d) of a ``frame`` that is a part of a table: those that its rows have in the whole of it.

        What could not be read is counted in ``forms``; a cell alone cannot tell whether it is an
        odd one in a column as it should be, or one of a column that is written otherwise. The array
        has its columns together, as the cells have theirs.
        """
        self.require_columns(frame.columns)
        frame = self._without_codes(frame, [column.name for column in self.columns_])
        features = np.empty((frame.height, self._n_features), np.float32, order="F")
        size = max(1, _CHUNK_CELLS // features.shape[1])
        for start in range(0, frame.height, size):
            self._fill(frame.slice(start, size), forms, features[start : start + size])
        return features

    def _fill(self, frame: pl.DataFrame, forms: Forms, features: NDArray[np.float32]) -> None:
        """Write the features of some rows; those of cells without a number are counted."""
        for place in self._numbers:
            cells = unified(frame[place.column.name])
            numbers = place.kind.read(cells, place.column)
            own = {name: values[place.here] for name, values in self.statistics_.items()}
            missing = _standardize(numbers, out=features[:, place.here], **own)
            forms.see(place.column.name, cells, missing)
            if place.told is not None:
                features[:, place.told] = missing
        for place in self._groups:
            codes = place.kind.read(unified(frame[place.column.name]), place.column)[:, 0]
            for code, j in enumerate(range(place.here.start, place.here.stop)):
                np.equal(codes, code, out=features[:, j])

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a table whose ``names`` lack a column that the model goes by."""
        present = set(names)
        for column in self.columns_:
            if column.used and column.name not in present:
                hint = column_hint(column.name, names)
                raise TableError(
                    f"Column {shown(column.name)} is missing, and the model learned from it; {hint}"
                )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name a person understands for each feature; ``input_features`` is not used."""
        return np.array([feature.name for feature in self.features()], dtype=object)

    def features(self) -> list[Feature]:
        """What each feature was made of, and the mean and scale of those that are numbers."""
        check_is_fitted(self)
        features: list[Feature] = []
        indicators: list[tuple[str, str]] = []
        for place in self._numbers:
            column = place.column.name
            mean, scale = (
                self.statistics_[which][place.here].tolist() for which in ("mean", "scale")
            )
            words = place.kind.feature_words(place.column)
            features += [
                Feature(name, column, False, mean[i], scale[i], *words[i])
                for i, name in enumerate(place.names)
            ]
            if place.told is not None:
                indicators.append((f"{column} is missing", column))
        for place in self._groups:
            indicators += [(name, place.column.name) for name in place.names]
        return features + [
            Feature(name, column, indicator=True, words=name) for name, column in indicators
        ]

    @property
    def _numbers(self) -> list[_Place]:
        return [place for place in self._places if not place.kind.grouped]

    @property
    def _groups(self) -> list[_Place]:
        return [place for place in self._places if place.kind.grouped]

    @property
    def _n_features(self) -> int:
        return sum(len(place.names) + (place.told is not None) for place in self._places)

    def _without_codes(self, frame: pl.DataFrame, known: Sequence[str]) -> pl.DataFrame:
        """The table with nothing where somebody says that a cell holds nothing."""
        _refuse_unknown(self.missing, known, "the code")
        coded = {name: codes_of(name, self.missing) for name in frame.columns}
        return frame.with_columns(
            without_codes(frame[name], codes) for name, codes in coded.items() if codes
        )


def _refuse_unknown(settings: Sequence[str], columns: Sequence[str], kind: str) -> None:
    """Refuse a setting such as ``age=99`` that names no column."""
    for setting in settings:
        if "=" in setting and not any(setting.startswith(f"{name}=") for name in columns):
            name = setting.partition("=")[0]
            hint = column_hint(name, columns)
            raise TableError(
                f"There is no column {shown(name)} for {kind} {shown(setting)}; {hint}"
            )


class _Place(NamedTuple):
    """Where the features of a column are."""

    column: Column
    kind: Kind
    names: list[str]  # of its numbers, or groups
    here: slice  # where these are
    told: int | None = None  # the feature that tells where cells are missing, if there is one


def _places(columns: list[Column]) -> list[_Place]:
    """Of columns in this order: all numbers come first, then what tells which of them are missing, then groups."""
    used = [(column, kind_of(column)) for column in columns if column.used]
    places, end = list[_Place](), 0
    for grouped in (False, True):
        for column, kind in used:
            if kind.grouped == grouped:
                names = kind.feature_names(column)
                places.append(_Place(column, kind, names, slice(end, end + len(names))))
                end += len(names)
        for k, place in enumerate(places):
            if place.column.missing and not grouped:
                places[k] = place._replace(told=end)
                end += 1
    return places


def _statistics(frame: pl.DataFrame, numbers: list[_Place], n_features: int) -> Statistics:
    """Median, mean and scale of the numbers, those of one column by one scale where its kind asks for it."""
    if not numbers:
        return {}
    most = min(_STATISTICS_ROWS, _STATISTICS_CELLS // n_features)
    if frame.height > most:
        frame = frame[
            np.sort(np.random.default_rng(0).choice(np.arange(frame.height), most, replace=False))
        ]
    read = [place.kind.read(unified(frame[place.column.name]), place.column) for place in numbers]
    imputer, scaler = SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    # Sorted, as sums round otherwise in another order of the rows.
    scaler.fit(np.sort(imputer.fit_transform(np.asfortranarray(np.column_stack(read))), axis=0))
    for place in numbers:
        if place.kind.one_scale:  # the root mean square of all deviations
            mean_square = scaler.var_[place.here].mean()
            scaler.scale_[place.here] = np.sqrt(mean_square) if mean_square > 0 else 1.0
    return {"median": imputer.statistics_, "mean": scaler.mean_, "scale": scaler.scale_}


def _standardize(
    numbers: NDArray[np.float64],
    median: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    out: NDArray[np.float32],
) -> NDArray[np.bool_]:
    """Write numbers (n, k) in units of their scale; return which rows (n,) lack the first of them."""
    for j, column in enumerate(numbers.T):
        filled = np.where(np.isnan(column), median[j], column)
        np.clip((filled - mean[j]) / scale[j], -_CLIP, _CLIP, out=out[:, j])
    return np.isnan(numbers[:, 0])


# ---------------------------------------------------------------- cells that cannot be read


class Forms:
    """How the columns of a new table are written, as far as its parts were seen.

    Counts are added up, so that the answer is that for the whole table, however it was cut.
    """

    def __init__(self, columns: Sequence[Column], forced: Sequence[str] = ()) -> None:
        self._columns = {column.name: column for column in columns}
        self._forced = forced
        self._n_filled: Counter[str] = Counter()  # cells that hold something, by column
        self._n_missing: Counter[str] = Counter()  # cells without a number
        self._n_unread: Counter[str] = Counter()  # cells that are written otherwise than in ``fit``
        self._first_unread: dict[str, Any] = {}

    @property
    def missing(self) -> dict[str, int]:
        """How many cells of each column hold no number; where one of its numbers is missing, all are."""
        return {name: self._n_missing[name] for name in self._columns}

    def see(self, name: str, cells: pl.Series, missing: NDArray[np.bool_]) -> None:
        """Cells of a column in a part of the table, and which of them have no number."""
        column = self._columns[name]
        without_number = cells.filter(missing)
        filled = filled_cells(without_number)
        unread = kind_of(column).unread(filled, column)
        self._n_filled[name] += len(cells) - len(without_number) + len(filled)
        self._n_missing[name] += len(without_number)
        self._n_unread[name] += len(unread)
        if len(unread):
            self._first_unread.setdefault(name, unread.head(1).to_list()[0])

    def add(self, later: Forms) -> None:
        """What was seen of the rows that follow."""
        self._n_filled.update(later._n_filled)
        self._n_missing.update(later._n_missing)
        self._n_unread.update(later._n_unread)
        self._first_unread = {**later._first_unread, **self._first_unread}

    def refuse(self) -> None:
        """Refuse a table with a column of which more cannot be read than ``fit`` lets pass; if forced, of all."""
        for name, column in self._columns.items():
            n = self._n_filled[name]
            n_unread = self._n_unread[name]
            is_usual = binom.sf(n_unread - 1, n, 1 - READABLE) >= _UNLIKELY
            if n_unread == 0 or (n_unread < n and (is_usual or name in self._forced)):
                continue
            first = shown(self._first_unread[name])
            raise TableError(
                f"Column {shown(name)} holds {first}: {n_unread:,} of {n:,} cells cannot be read, "
                f"because the model learned from {kind_of(column).expected(column)}; write them the same way."
            )
