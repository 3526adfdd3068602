"""A table of cells in; numeric features out, and what each column was taken for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from chary._words import shown
from chary.tables.reading import MAX_COLUMNS, TableError, column_hint, from_dataframe

USED_KINDS = ("numeric", "boolean", "date", "categorical")

_MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")
_TRUE, _FALSE = ("true", "yes", "y", "t"), ("false", "no", "n", "f")
_ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|key|index|row|rowid|no|nr)$)|[a-z](Id|ID)$")
_YEAR_FIRST = r"^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?$"
_YEAR_LAST = r"^(\d{1,2})[-/.](\d{1,2})[-/.](\d{4})(?:[T ].*)?$"
_DATE_LIKE = re.compile(rf"{_YEAR_FIRST}|{_YEAR_LAST}", re.DOTALL)
_COMMA_DECIMAL = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d*)?([eE][+-]?\d+)?$"
_COMMA_THOUSANDS = r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)?(\.\d*)?([eE][+-]?\d+)?$"
_NUMBER_FORMS = {
    "": ("", "numbers such as 1234.5"),
    "comma": ("decimal comma", "numbers with a decimal comma such as 1234,5"),
    "thousands": ("thousands separated by commas", "numbers such as 1,234.5"),
}  # a note, and what is expected
_DATE_FORMS = {
    "ymd": ("", "dates such as 2024-01-31"),
    "dmy": ("day first", "dates such as 31.01.2024"),
    "mdy": ("month first", "dates such as 01/31/2024"),
}
_DATE_PARTS = ("year", "month", "weekday", "elapsed days")

# A column is numeric, or a date, if at least this share of its filled cells reads as one; the rest is missing.
_READABLE = 0.98
# New cells are refused if so many that cannot be read are less likely than this where that share can.
_UNLIKELY = 0.01
# A column is categorical if its frequent values cover at least this share of its filled cells.
_COVERED = 0.5
_MAX_CATEGORIES = 30
# Medians, means and standard deviations come from at most this many rows.
_STATISTICS_ROWS = 100_000
_CHUNK_CELLS = 2**22
# Squares of larger numbers overflow; such cells count as missing. Standardised values are clipped.
_LARGEST, _CLIP = 1e100, 100.0


@dataclass(frozen=True)
class Column:
    """What a column was taken for."""

    name: str
    kind: str  # one of USED_KINDS, or why it was left out: identifier, text, constant, dropped, unsupported
    note: str = ""  # for people
    form: str = ""  # how to read a cell: numbers "comma" or "thousands"; dates "ymd", "dmy" or "mdy"
    categories: tuple[str, ...] = ()  # categorical: its frequent values; boolean: the value read as 1
    other: bool = False  # categorical: rare and unseen values share a feature
    missing: bool = False  # cells were missing when the preparation was fitted

    @property
    def used(self) -> bool:
        """Whether the column becomes features."""
        return self.kind in USED_KINDS


class TablePreparation(TransformerMixin, BaseEstimator):
    """Turn the cells of a table into numeric features.

    Kinds are found from the cells: numeric (decimal point or comma), boolean, date (year, month, weekday and
    elapsed days), categorical (rare values share one feature). Identifiers, free text and constant columns are
    left out; ``columns_`` says so. Missing numbers become the median, with a feature that tells where; missing
    categories are a category. Values never seen in ``fit`` are accepted; numbers and dates that are written
    otherwise than in ``fit`` are refused. All numbers are standardised.

    Parameters
    ----------
    drop, categorical, numeric, identifier : sequences of column names, default=()
        Override what the cells suggest.

    Attributes
    ----------
    columns_ : list of Column
        In the order of the table.
    transformer_ : ColumnTransformer
        Fitted on the numbers and category codes of the used columns.

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
    ) -> None:
        self.drop = drop
        self.categorical = categorical
        self.numeric = numeric
        self.identifier = identifier

    def fit(self, X: Any, y: Any = None) -> TablePreparation:
        """Find the kinds of the columns and the statistics of the used ones."""
        frame = from_dataframe(X)
        for name in (*self.drop, *self.categorical, *self.numeric, *self.identifier):
            if name not in frame.columns:
                hint = column_hint(name, frame.columns)
                raise TableError(f"The table of features has no column {shown(name)} to override; {hint}")
        columns = [self._column(frame[name]) for name in frame.columns]
        if not any(column.used for column in columns):
            left_out = "; ".join(f"{shown(column.name)} is {column.note}" for column in columns[:3])
            raise TableError(f"No column is left to learn from ({left_out}); add columns or override their kind.")
        n_features = len(_feature_names(columns))
        if n_features > MAX_COLUMNS:
            raise TableError(
                f"The columns become {n_features:,} features; chary takes up to {MAX_COLUMNS:,}: leave some "
                "columns out with --drop."
            )
        rows = np.arange(frame.height)
        if frame.height > _STATISTICS_ROWS:
            rows = np.sort(np.random.default_rng(0).choice(rows, _STATISTICS_ROWS, replace=False))
        self.columns_ = columns
        self.transformer_ = _transformer(columns).fit(self._cells(frame[rows]))
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Features (n, d); columns are found by name, further columns are ignored."""
        check_is_fitted(self)
        frame = from_dataframe(X)
        present = set(frame.columns)
        for column in self.columns_:
            if column.used and column.name not in present:
                raise TableError(f"Column {shown(column.name)} is missing; the model was trained with it: add it.")
        features = np.empty((frame.height, len(self.get_feature_names_out())), np.float32)
        size = max(1, _CHUNK_CELLS // features.shape[1])
        n_missing: Any = 0
        for start in range(0, frame.height, size):
            cells = self._cells(frame.slice(start, size))
            n_missing += np.isnan(cells).sum(axis=0)
            features[start : start + size] = np.clip(self.transformer_.transform(cells), -_CLIP, _CLIP)
        place = 0
        for column in (column for column in self.columns_ if _number_names(column)) if frame.height else ():
            # Where a column lacks no more numbers than cells, all of them were read.
            if n_missing[place] > frame[column.name].null_count() or column.form == "comma":
                _refuse_another_form(frame[column.name], column, forced=column.name in self.numeric)
            place += len(_number_names(column))
        return features

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """A name a person understands for each feature."""
        check_is_fitted(self)
        return np.array(_feature_names(self.columns_), dtype=object)

    def feature_columns(self) -> list[str]:
        """The column that each feature was made from."""
        check_is_fitted(self)
        return _feature_columns(self.columns_)

    def original_scale(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and scale (d,) that turn features back into the table's own numbers: ``mean + scale * feature``."""
        check_is_fitted(self)
        n_features = len(self.get_feature_names_out())
        mean, scale = np.zeros(n_features), np.ones(n_features)
        if "number" in self.transformer_.named_transformers_:
            scaler = self.transformer_.named_transformers_["number"][-1]
            mean[: len(scaler.mean_)], scale[: len(scaler.mean_)] = scaler.mean_, scaler.scale_
        return mean, scale

    def _column(self, cells: pl.Series) -> Column:
        name = cells.name
        if name in self.drop:
            return Column(name, "dropped", "dropped as asked")
        if name in self.identifier:
            return Column(name, "identifier", "an identifier, as asked")
        if name in self.categorical:
            filled = _filled(cells.cast(pl.String))
            column = _categorical(filled, forced=True) or Column(name, "constant", "empty")
            return replace(column, missing=len(filled) < len(cells))
        return _kind(cells, numeric=name in self.numeric)

    def _cells(self, frame: pl.DataFrame) -> NDArray[np.float64]:
        """Numbers of the used columns, then category codes; NaN where missing or unknown."""
        used = [column for column in self.columns_ if column.used]
        numbers = [part for column in used if column.kind != "categorical" for part in _numbers(frame, column)]
        codes = [_codes(frame, column) for column in used if column.kind == "categorical"]
        return np.column_stack([*numbers, *codes])


def preparation_state(preparation: TablePreparation) -> tuple[list[Column], dict[str, NDArray[np.float64]]]:
    """All a fitted preparation has learned: its columns and, where there are numbers, their statistics."""
    check_is_fitted(preparation)
    if "number" not in preparation.transformer_.named_transformers_:
        return preparation.columns_, {}
    imputer, scaler = preparation.transformer_.named_transformers_["number"]
    return preparation.columns_, {
        "median": imputer.statistics_,
        "mean": scaler.mean_,
        "scale": scaler.scale_,
    }


def restore_preparation(
    preparation: TablePreparation, columns: list[Column], statistics: dict[str, NDArray[np.float64]]
) -> TablePreparation:
    """Put learned state into an unfitted preparation."""
    preparation.columns_ = columns
    numbers = [name for column in columns for name in _number_names(column)]
    n_cells = len(numbers) + sum(column.kind == "categorical" for column in columns)
    # Fitted on zeros to set scikit-learn's own machinery up, whatever its version; then given what was learned.
    preparation.transformer_ = _transformer(columns).fit(np.zeros((2, n_cells)))
    if numbers:
        imputer, scaler = preparation.transformer_.named_transformers_["number"]
        imputer.statistics_ = statistics["median"]
        scaler.mean_, scaler.scale_ = statistics["mean"], statistics["scale"]
    return preparation


def _transformer(columns: list[Column]) -> ColumnTransformer:
    """Unfitted; takes the matrix of ``_cells``: numbers first, category codes after them."""
    with_indicator = [_has_indicator(column) for column in columns for _ in _number_names(column)]
    first_parts = [part == 0 for column in columns for part in range(len(_number_names(column)))]
    n_numbers = len(with_indicator)
    indicated = [j for j in range(n_numbers) if with_indicator[j] and first_parts[j]]
    n_groups = [len(_groups(column)) for column in columns if column.kind == "categorical"]
    coded = list(range(n_numbers, n_numbers + len(n_groups)))
    encoder = OneHotEncoder(
        categories=[np.arange(n, dtype=float) for n in n_groups], handle_unknown="ignore", sparse_output=False
    )
    steps = [
        (
            "number",
            make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()),
            list(range(n_numbers)),
        ),
        ("missing", MissingIndicator(features="all"), indicated),
        ("category", encoder, coded),
    ]
    return ColumnTransformer([step for step in steps if step[2]])


def _feature_names(columns: list[Column]) -> list[str]:
    numbers = [name for column in columns for name in _number_names(column)]
    missing = [f"{column.name} is missing" for column in columns if _has_indicator(column)]
    groups = [f"{column.name} = {value}" for column in columns for value in _groups(column)]
    return [*numbers, *missing, *groups]


def _feature_columns(columns: list[Column]) -> list[str]:
    """The column of each of ``_feature_names``."""
    numbers = [column.name for column in columns for _ in _number_names(column)]
    missing = [column.name for column in columns if _has_indicator(column)]
    return [*numbers, *missing, *(column.name for column in columns for _ in _groups(column))]


def _has_indicator(column: Column) -> bool:
    return column.missing and column.used and column.kind != "categorical"


def _number_names(column: Column) -> list[str]:
    if column.kind == "date":
        return [f"{column.name}: {part}" for part in _DATE_PARTS]
    return [column.name] if column.kind in ("numeric", "boolean") else []


def _groups(column: Column) -> list[str]:
    """What the features of a categorical column stand for."""
    if column.kind != "categorical":
        return []
    return [*column.categories, *["(other)"] * column.other, *["(missing)"] * column.missing]


def _kind(cells: pl.Series, *, numeric: bool) -> Column:
    """Find out what a column is."""
    name, dtype = cells.name, cells.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return Column(name, "unsupported", f"of a type chary does not read ({dtype})")
    if dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    filled = _filled(cells)
    n_distinct, missing = filled.n_unique(), len(filled) < len(cells)
    if n_distinct == 0:
        return Column(name, "constant", "empty")
    if n_distinct == 1 and not missing:
        return Column(name, "constant", "the same in every row")
    column = _number_kind(filled, numeric) or _date_kind(filled)
    if column is None and cells.dtype == pl.String:
        column = _boolean_kind(filled) or _categorical(filled)
    if column is None:
        kind, note = (
            ("identifier", "different in every row") if n_distinct == len(filled) else ("text", "free text")
        )
        return Column(name, kind, note)
    return replace(column, missing=missing or column.missing)


def _filled(cells: pl.Series) -> pl.Series:
    """Cells that hold something, stripped."""
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        cells = cells.filter(~cells.str.to_lowercase().is_in(_MISSING))
    elif cells.dtype.is_float():
        cells = cells.filter(cells.is_finite())
    return cells.drop_nulls()


def _number_kind(filled: pl.Series, forced: bool) -> Column | None:
    name = filled.name
    if filled.dtype == pl.Boolean:
        return Column(name, "boolean", categories=("true",))
    if _is_date(filled.dtype):
        return None
    is_text = filled.dtype == pl.String
    share = _READABLE if is_text and not forced else 0
    read = {
        form: _read_numbers(filled, form).drop_nulls() for form in (_possible_forms(filled) if is_text else ("",))
    }
    form = max(read, key=lambda form: len(read[form]))
    numbers, n_odd = read[form], len(filled) - len(read[form])
    if not len(numbers) or len(numbers) < share * len(filled):
        return None
    if not forced and not n_odd and _counts_rows(name, numbers):
        return Column(name, "identifier", "a number that counts or names the rows")
    notes = [_NUMBER_FORMS[form][0]] if form else []
    notes += [f"{n_odd:,} cells that are no number count as missing"] * (n_odd > 0)
    return Column(name, "numeric", ", ".join(notes), form, missing=n_odd > 0)


def _possible_forms(filled: pl.Series) -> tuple[str, ...]:
    """How numbers may be written here; commas separate thousands if all of them can, as in 1,200 and 15,000."""
    with_comma = filled.filter(filled.str.contains(",", literal=True))
    thousands = with_comma.str.contains(_COMMA_THOUSANDS)
    if (with_comma.str.contains(_COMMA_DECIMAL) & ~thousands).any():
        return ("", "comma")
    return ("thousands",) if thousands.any() else ("",)


def _counts_rows(name: str, numbers: pl.Series) -> bool:
    """Whole numbers, all different, that either follow the order of the rows or are called an identifier."""
    if len(numbers) < 20 or not (numbers == numbers.floor()).all() or numbers.n_unique() < len(numbers):
        return False
    steps = numbers.diff().drop_nulls()
    return bool((steps == 1).all()) or _ID_NAME.search(name) is not None


def _date_kind(filled: pl.Series) -> Column | None:
    if _is_date(filled.dtype):
        return Column(filled.name, "date")
    if filled.dtype != pl.String:
        return None
    first = filled.head(50).to_list()
    if sum(_DATE_LIKE.match(cell) is not None for cell in first) < len(first) / 2:
        return None  # most columns leave here, before the slow reading
    readable = {form: _read_dates(filled, form).is_not_null().sum() for form in _DATE_FORMS}
    best = max(readable, key=lambda form: readable[form])
    if readable[best] < _READABLE * len(filled):
        return None
    note = _DATE_FORMS[best][0]
    if best == "dmy" and readable["mdy"] == readable["dmy"]:
        note = "day first assumed, month first would fit too"
    n_odd = len(filled) - readable[best]
    note += f"{', ' if note else ''}{n_odd:,} cells that are no date count as missing" if n_odd else ""
    return Column(filled.name, "date", note, best, missing=n_odd > 0)


def _boolean_kind(filled: pl.Series) -> Column | None:
    values = set(filled.str.to_lowercase().unique().head(3))  # three different ones are no yes and no
    for true, false in zip(_TRUE, _FALSE, strict=True):
        if values <= {true, false}:
            return Column(filled.name, "boolean", categories=(true,))
    return None


def _categorical(filled: pl.Series, forced: bool = False) -> Column | None:
    """Frequent values as categories; None if they do not cover the column."""
    smallest = 1 if forced else math.ceil(max(0.005 * len(filled), min(5, len(filled) / 10), 2))
    counts = filled.alias("value").value_counts(sort=True)
    frequent = counts.filter(pl.col("count") >= smallest).head(_MAX_CATEGORIES)
    if not len(frequent) or frequent["count"].sum() < (0 if forced else _COVERED) * len(filled):
        return None
    n_rare = len(counts) - len(frequent)
    note = f"{len(frequent)} value{'s' * (len(frequent) > 1)}" + (
        f", {n_rare:,} rare ones grouped" if n_rare else ""
    )
    categories = tuple(sorted(frequent["value"].to_list()))
    return Column(filled.name, "categorical", note, categories=categories, other=n_rare > 0)


def _read_numbers(cells: pl.Series, form: str) -> pl.Series:
    """Numbers, null where there is none."""
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        if form:
            well_formed = cells.str.contains(_COMMA_DECIMAL if form == "comma" else _COMMA_THOUSANDS)
            between, decimal = (".", ",") if form == "comma" else (",", ".")
            cells = cells.str.replace_all(between, "", literal=True).str.replace(decimal, ".", literal=True)
            cells = cells.set(~well_formed.fill_null(False), None)
    elif _is_date(cells.dtype) or cells.dtype.is_nested() or cells.dtype == pl.Binary:
        cells = cells.clear(len(cells))
    numbers = cells.cast(pl.Float64, strict=False)
    return numbers.set(~(numbers.abs() < _LARGEST).fill_null(False), None)


def _read_dates(cells: pl.Series, form: str) -> pl.Series:
    """Dates, null where there is none; the time of day is not used."""
    if cells.dtype != pl.String:
        return (cells if _is_date(cells.dtype) else cells.clear(len(cells))).cast(pl.Date, strict=False)
    pattern = _YEAR_FIRST if form == "ymd" else _YEAR_LAST
    order = {"ymd": "$1-$2-$3", "dmy": "$3-$2-$1", "mdy": "$3-$1-$2"}[form]
    cells = cells.str.strip_chars()
    cells = cells.set(~cells.str.contains(pattern).fill_null(False), None)
    return cells.str.replace(pattern, order).str.to_date("%Y-%m-%d", strict=False)


def _is_date(dtype: pl.DataType) -> bool:
    return dtype in (pl.Date, pl.Datetime)


def _refuse_another_form(cells: pl.Series, column: Column, *, forced: bool) -> None:
    """Refuse a column of which more cannot be read than ``fit`` lets pass; a forced one, if nothing can."""
    if cells.dtype.is_numeric() and column.kind != "date":
        return
    filled = _filled(cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells)
    unread = filled.filter(np.isnan(_numbers(filled.to_frame(), column)[0]))
    if column.form == "comma" and filled.dtype == pl.String and not filled.str.contains(",", literal=True).any():
        points = filled.filter(filled.str.contains(".", literal=True))  # 1.234 may be a fraction, not thousands
        unread = points if len(points) > len(filled) / 2 else unread
    n, n_odd = len(filled), len(unread)
    usual = n - n_odd >= _READABLE * n or binom.sf(n_odd - 1, n, 1 - _READABLE) >= _UNLIKELY
    if n == 0 or (n_odd < n and (usual or forced)):
        return
    forms = {
        "numeric": _NUMBER_FORMS.get(column.form, _NUMBER_FORMS[""]),
        "date": _DATE_FORMS.get(column.form, _DATE_FORMS["ymd"]),
        "boolean": ("", f"{'/'.join(column.categories)} or its opposite"),
    }
    raise TableError(
        f"Column {shown(column.name)} holds {shown(unread[0])}: {n_odd:,} of {n:,} cells cannot be read, because "
        f"the model learned from {forms[column.kind][1]}; write them so."
    )


def _numbers(frame: pl.DataFrame, column: Column) -> list[NDArray[np.float64]]:
    cells = frame[column.name]
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if column.kind == "date":
        dates = _read_dates(cells, column.form or "ymd")
        parts = [dates.dt.year(), dates.dt.month(), dates.dt.weekday(), dates.to_physical()]
        return [part.cast(pl.Float64).to_numpy() for part in parts]
    if column.kind == "boolean" and cells.dtype == pl.String:
        words = cells.str.strip_chars().str.to_lowercase()
        true = column.categories[0]
        known = words.is_in([true, dict(zip(_TRUE, _FALSE, strict=True))[true]])
        return [(words == true).set(~known.fill_null(False), None).cast(pl.Float64).to_numpy()]
    return [_read_numbers(cells, column.form).to_numpy()]


def _codes(frame: pl.DataFrame, column: Column) -> NDArray[np.float64]:
    """Position among the column's groups; -1, which stands for nothing, if there is none."""
    cells = frame[column.name].cast(pl.String).str.strip_chars()
    missing = cells.is_null() | cells.str.to_lowercase().is_in(_MISSING).fill_null(True)
    groups = _groups(column)
    code_of = {value: float(code) for code, value in enumerate(column.categories)}
    unknown = float(len(column.categories)) if column.other else -1.0
    codes = cells.replace_strict(code_of, default=unknown, return_dtype=pl.Float64)
    return codes.set(missing, float(len(groups) - 1) if column.missing else -1.0).to_numpy()
