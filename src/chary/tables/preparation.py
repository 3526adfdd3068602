"""A table of cells in; numeric features out, and what each column was taken for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._words import Parameter, shown
from chary.tables.columns import left_out
from chary.tables.columns.column import Column, Kind
from chary.tables.columns.kinds import as_categories, as_text, find_column, kind_of, plain
from chary.tables.errors import TableError
from chary.tables.forms import Forms, width_of
from chary.tables.frames import from_dataframe
from chary.tables.missing import codes_of, without_codes
from chary.tables.table import MAX_COLUMNS, column_hint

# Medians, means and standard deviations come from at most so many rows and cells.
_STATISTICS_ROWS, _STATISTICS_CELLS = 100_000, 2**26
_CHUNK_CELLS = 2**22
# Standardised values are clipped.
_CLIP = 100.0


class Feature(NamedTuple):
    """What a feature was made of, and how it turns back into the table's own numbers."""

    name: str  # for a person
    column: str
    indicator: bool  # 1 or 0: whether a cell is missing, or belongs to a group; otherwise a number
    mean: float = 0.0
    scale: float = 1.0

    def in_units(self, value: float) -> float:
        """The number of the table that a value of the feature stands for."""
        return self.mean + self.scale * value


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn the cells of a table into numeric features.

    Kinds are found from the cells: numeric (with its unit or currency, if there is one throughout), boolean, date
    (year, month, weekday, elapsed days, and the hour if it is told), time of day, duration, categorical (rare
    values share one feature), free text (thirty topics), embedding (a list of numbers). Identifiers and constant
    columns are left out; ``columns_`` says so. Missing numbers become the median, with a feature that tells where;
    missing categories are a category. Values never seen in ``fit`` are accepted; numbers and dates that are
    written otherwise than in ``fit`` are refused. All numbers are standardised, those of a text or of an embedding
    by one scale. Features are made of the columns in the order of their names, so that nothing that is learned
    from them depends on the order of the columns in the table; arrays have no names, and keep theirs.

    Parameters
    ----------
    drop, categorical, numeric, identifier, text : sequences of column names, default=()
        Override what the cells suggest.
    missing : sequence of str, default=()
        Cells that hold nothing besides empty ones and NA: ``"-9"`` in every column, ``"age=-9"`` in one.

    Attributes
    ----------
    columns_ : list of Column
        In the order of the table.
    ordered_ : list of Column
        The same in the order of their features: by name. A model file keeps them so.
    transformer_ : ColumnTransformer
        Fitted on the numbers and category codes of the used columns.

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
    ) -> None:
        self.drop = drop
        self.categorical = categorical
        self.numeric = numeric
        self.identifier = identifier
        self.text = text
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> TablePreparation:
        """Find the kinds of the columns and the statistics of the used ones."""
        frame = from_dataframe(X)
        for name in (*self.drop, *self.categorical, *self.numeric, *self.identifier, *self.text):
            if name not in frame.columns:
                hint = column_hint(name, frame.columns)
                raise TableError(f"The table of features has no column {shown(name)} to override; {hint}")
        frame = self._without_codes(frame)
        columns = [self._column(frame[name]) for name in frame.columns]
        if not any(column.used for column in columns):
            reasons = "; ".join(f"{shown(column.name)} is {column.note}" for column in columns[:3])
            raise TableError(f"No column is left to learn from ({reasons}); add columns or override their kind.")
        n_features = len(_features(columns))
        if n_features > MAX_COLUMNS:
            raise TableError(
                f"The columns become {n_features:,} features; chary takes up to {MAX_COLUMNS:,}: leave some "
                "columns out with ",
                Parameter("drop"),
                ".",
            )
        rows = np.arange(frame.height)
        most = min(_STATISTICS_ROWS, _STATISTICS_CELLS // n_features)
        if frame.height > most:
            rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
        self.columns_, self.ordered_ = columns, sorted(columns, key=lambda column: column.name)
        self.transformer_ = _transformer(self.ordered_).fit(_numbers(frame[rows], self.ordered_))
        self._share_scales()
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features (n, d); columns are found by name, further columns are ignored."""
        return self.transform_counted(X)[0]

    def transform_counted(self, X: Any) -> tuple[NDArray[np.float32], dict[str, int]]:
        """Features (n, d), and how many cells of each used column hold no number; categories are not counted."""
        check_is_fitted(self)
        forms, frame = self.forms(), from_dataframe(X)
        features = np.empty((frame.height, len(_features(self.ordered_))), np.float32)
        self._fill(frame, forms, features)
        forms.refuse()
        return features, forms.missing

    def forms(self) -> Forms:
        """What is shown each part of a table, and asked at its end whether it is written as in ``fit``."""
        return Forms(_used(self.ordered_), self.numeric)

    def part(self, frame: pl.DataFrame, forms: Forms) -> NDArray[np.float32]:
        """Features (n, d) of a ``frame`` that is a part of a table: those that its rows have in the whole of it.

        What could not be read is counted in ``forms``; a cell alone cannot tell whether it is an odd one in a
        column as it should be, or one of a column that is written otherwise.
        """
        features = np.empty((frame.height, len(_features(self.ordered_))), np.float32, order="F")
        self._fill(frame, forms, features)
        return features

    def _fill(self, frame: pl.DataFrame, forms: Forms, features: NDArray[np.float32]) -> None:
        """Write the features (n, d), some rows at a time; column by column, as the cells lie in memory."""
        self.require_columns(frame.columns)
        frame = self._without_codes(frame)
        size = max(1, _CHUNK_CELLS // features.shape[1])
        n_missing = np.zeros(sum(width_of(column, kind) for column, kind in _used(self.ordered_)), np.intp)
        for start in range(0, frame.height, size):
            rows = features[start : start + size]
            columns = rows if features.flags.f_contiguous else np.empty_like(rows, order="F")
            self._transform(frame.slice(start, size), columns, n_missing)
            if columns is not rows:
                rows[:] = columns
        if frame.height:
            forms.see(frame, n_missing)

    def _transform(self, frame: pl.DataFrame, features: NDArray[np.float32], n_missing: NDArray[np.intp]) -> None:
        """What ``transformer_`` makes of the numbers, to the bit and clipped; missing ones are counted."""
        statistics = preparation_state(self)[1]
        place = 0
        told = sum(width_of(column, kind) for column, kind in _used(self.ordered_) if not kind.grouped)
        group = told + sum(column.missing for column, kind in _used(self.ordered_) if not kind.grouped)
        for column, kind in _used(self.ordered_):
            numbers = kind.read(plain(frame[column.name]), column)
            width = numbers.shape[1]
            if kind.grouped:
                for code in range(len(kind.feature_names(column))):
                    np.equal(numbers[:, 0], code, out=features[:, group])
                    group += 1
            else:
                here = slice(place, place + width)
                own = {name: values[here] for name, values in statistics.items()}
                missing = _standardize(numbers, out=features[:, here], **own)
                if missing is not None:
                    n_missing[here] = n_missing[here] + missing.sum(axis=0)
                if column.missing:
                    features[:, told] = 0 if missing is None else missing[:, 0]
                    told += 1
                place += width

    def require_columns(self, names: Sequence[str]) -> None:
        """Refuse a table with these ``names`` of columns if it lacks one that the model goes by."""
        present = set(names)
        for column in self.columns_:
            if column.used and column.name not in present:
                raise TableError(f"Column {shown(column.name)} is missing; the model was trained with it: add it.")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name a person understands for each feature; ``input_features`` is not used."""
        check_is_fitted(self)
        return np.array([feature.name for feature in _features(self.ordered_)], dtype=object)

    def features(self) -> list[Feature]:
        """What each feature was made of, and the mean and scale of those that are numbers."""
        check_is_fitted(self)
        features = _features(self.ordered_)
        if "number" in self.transformer_.named_transformers_:
            scaler = self.transformer_.named_transformers_["number"][-1]
            for j, (mean, scale) in enumerate(zip(scaler.mean_.tolist(), scaler.scale_.tolist(), strict=True)):
                features[j] = features[j]._replace(mean=mean, scale=scale)
        return features

    def _without_codes(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The table with nothing where somebody says that a cell holds nothing."""
        known = [column.name for column in self.columns_] if hasattr(self, "columns_") else frame.columns
        for code in self.missing:
            if "=" in code and not any(code.startswith(f"{name}=") for name in known):
                name = code.partition("=")[0]
                hint = column_hint(name, frame.columns)
                raise TableError(f"There is no column {shown(name)} for the code {shown(code)}; {hint}")
        coded = {name: codes_of(name, self.missing) for name in frame.columns}
        return frame.with_columns(without_codes(frame[name], codes) for name, codes in coded.items() if codes)

    def _column(self, cells: pl.Series) -> Column:
        name = cells.name
        if name in self.drop or name in self.identifier:
            return left_out.asked(name, dropped=name in self.drop)
        if name in self.text:
            return as_text(cells)
        return as_categories(cells) if name in self.categorical else find_column(cells, name in self.numeric)

    def _share_scales(self) -> None:
        """Give the numbers of a column whose kind asks for it the root mean square of their deviations."""
        place = 0
        for column, kind in _used(self.ordered_):
            width = width_of(column, kind)
            if kind.one_scale:
                scaler = self.transformer_.named_transformers_["number"][-1]
                mean_square = scaler.var_[place : place + width].mean()
                scaler.scale_[place : place + width] = np.sqrt(mean_square) if mean_square > 0 else 1.0
            place += width


def preparation_state(preparation: TablePreparation) -> tuple[list[Column], dict[str, NDArray[np.float64]]]:
    """All a fitted preparation has learned: columns in the order of their features, and statistics of numbers."""
    check_is_fitted(preparation)
    if "number" not in preparation.transformer_.named_transformers_:
        return preparation.ordered_, {}
    imputer, scaler = preparation.transformer_.named_transformers_["number"]
    return preparation.ordered_, {
        "median": imputer.statistics_,
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }


def restore_preparation(
    preparation: TablePreparation, columns: list[Column], statistics: dict[str, NDArray[np.float64]]
) -> TablePreparation:
    """Put learned state into an unfitted preparation; the features keep the order of the columns as they come."""
    for column, kind in _used(columns):
        if not kind.whole(column):
            raise TableError(f"Column {shown(column.name)} lacks what its kind goes by; train the model again.")
    n_numbers, n_known = 0, min(map(len, statistics.values()), default=0)
    for column, kind in _used(columns):
        n_numbers += width_of(column, kind)
        if not kind.grouped and n_numbers > n_known:  # looked at on the way: a short note may promise thousands
            raise TableError(f"Column {shown(column.name)} lacks its statistics; train the model again.")
    preparation.columns_ = preparation.ordered_ = columns
    # Fitted on zeros to set scikit-learn's own machinery up, whatever its version; then given what was learned.
    preparation.transformer_ = _transformer(columns).fit(np.zeros((2, n_numbers)))
    if "number" in preparation.transformer_.named_transformers_:
        imputer, scaler = preparation.transformer_.named_transformers_["number"]
        if (
            any(statistics[name].shape != scaler.mean_.shape for name in ("median", "mean", "scale"))
            or not (statistics["scale"] > 0).all()
        ):
            raise TableError("The statistics of the columns are not theirs; train the model again.")
        imputer.statistics_ = statistics["median"]
        scaler.mean_, scaler.scale_ = statistics["mean"], statistics["scale"]
    return preparation


def _used(columns: list[Column]) -> list[tuple[Column, Kind]]:
    """The columns that become features, with their kinds: grouped ones after all others."""
    used = [(column, kind_of(column)) for column in columns if column.used]
    return sorted(used, key=lambda pair: pair[1].grouped)


def _numbers(frame: pl.DataFrame, columns: list[Column]) -> NDArray[np.float64]:
    """What the kinds read in the cells, NaN where there is none."""
    return np.column_stack([kind.read(plain(frame[column.name]), column) for column, kind in _used(columns)])


def _standardize(
    numbers: NDArray[np.float64],
    median: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    out: NDArray[np.float32],
) -> NDArray[np.bool_] | None:
    """Write numbers (n, k) in units of their scale; which of them are missing, if one is."""
    if numbers.shape[1] == 1:  # a column as such: loops over one number a row take ten times as long
        numbers, out = numbers[:, 0], out[:, 0]
        median, mean, scale = median[0], mean[0], scale[0]
    missing = None
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    if np.isnan(low).any():
        missing = np.isnan(numbers)
        numbers = np.where(missing, median, numbers)
        low, high = numbers.min(axis=0), numbers.max(axis=0)
    inside = np.all((low - mean) / scale >= -_CLIP) and np.all((high - mean) / scale <= _CLIP)
    if inside:
        np.divide(numbers - mean, scale, out=out)
    else:
        np.clip((numbers - mean) / scale, -_CLIP, _CLIP, out=out)
    return missing if missing is None else missing.reshape(len(missing), -1)


def _features(columns: list[Column]) -> list[Feature]:
    """All numbers, then what tells which of them are missing, then the groups."""
    used = _used(columns)
    made = [
        Feature(name, column.name, kind.grouped) for column, kind in used for name in kind.feature_names(column)
    ]
    told = [column for column, kind in used if column.missing and not kind.grouped]
    missing = [Feature(f"{column.name} is missing", column.name, indicator=True) for column in told]
    return [*(f for f in made if not f.indicator), *missing, *(f for f in made if f.indicator)]


def _transformer(columns: list[Column]) -> ColumnTransformer:
    """Unfitted; from the matrix of ``_numbers`` to the features."""
    used = _used(columns)
    parts = [(column, kind, part) for column, kind in used for part in range(width_of(column, kind))]
    numbers = [j for j, (_, kind, _) in enumerate(parts) if not kind.grouped]
    told = [j for j, (column, kind, part) in enumerate(parts) if not kind.grouped and column.missing and not part]
    coded = [j for j, (_, kind, _) in enumerate(parts) if kind.grouped]
    groups = [np.arange(len(kind.feature_names(column)), dtype=float) for column, kind in used if kind.grouped]
    steps = [
        (
            "number",
            make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()),
            numbers,
        ),
        ("missing", MissingIndicator(features="all"), told),
        ("category", OneHotEncoder(categories=groups, handle_unknown="ignore", sparse_output=False), coded),
    ]
    return ColumnTransformer([step for step in steps if step[2]])
