"""Data frames of other libraries as polars frames, and results as a frame of the kind that was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from chary.method.labels import is_missing
from chary.tables.errors import TableError
from chary.tables.table import Table, refuse_duplicates


def from_dataframe(data: Any) -> pl.DataFrame:
    """A pandas or polars DataFrame, or a mapping of columns, as a polars DataFrame.

    >>> from_dataframe({"age": [31, 47], "city": ["Ulm", None]}).shape
    (2, 2)
    """
    if isinstance(data, pl.DataFrame):
        return data
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise TableError(f"A table is needed, a DataFrame or a dict of columns; got {type(data).__name__}.")
    names = [str(name) for name in (data if isinstance(data, Mapping) else data.columns)]
    refuse_duplicates(names, "The table")
    values = (data[key] for key in (data if isinstance(data, Mapping) else data.columns))
    return pl.DataFrame([_series(name, column) for name, column in zip(names, values, strict=True)])


def _series(name: str, values: Any) -> pl.Series:
    """One column of a foreign DataFrame, without asking which library it came from."""
    array = values if isinstance(values, np.ndarray) else getattr(values, "array", values)
    dtype = getattr(array, "dtype", None)
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufM":
        return pl.Series(name, np.asarray(array))
    items = [None if is_missing(value) else value for value in values]
    kept = getattr(getattr(dtype, "categories", None), "dtype", None)
    try:
        found = pl.Series(name, items, strict=True)
        # Numbers that were declared to be categories, as pandas can: the text of each, and still categories.
        is_number = isinstance(kept, np.dtype) and kept.kind in "iuf"
        return found.cast(pl.String).cast(pl.Categorical) if is_number else found
    except (TypeError, pl.exceptions.PolarsError):  # a column of mixed types: read it as text
        return pl.Series(name, [None if item is None else str(item) for item in items])


def extended(data: Any, table: Table, added: Mapping[str, pl.Series], target: str = "") -> Any:
    """What was given with columns on the right; it is not changed itself.

    A pandas frame stays one, with its index and types, and ``chary_label`` has the type of the target where that
    can hold it. Everything else becomes a polars frame: a file its cells.
    """
    if not is_pandas(data):
        frame = data if isinstance(data, pl.DataFrame) else table.frame
        return frame.with_columns([column.alias(name) for name, column in added.items()])
    own = [data[name].dtype for name in data.columns if str(name) == target]
    return data.assign(**{
        name: _pandas_array(column, own[0] if own and name == "chary_label" else None)
        for name, column in added.items()
    })  # fmt: skip


def like(data: Any, columns: Mapping[str, Any]) -> Any:
    """Columns alone as a frame of the kind that was given, with its index if it has one."""
    frame = alone(data, columns)
    return frame.set_index(data.index) if is_pandas(data) else frame


def alone(data: Any, columns: Mapping[str, Any]) -> Any:
    """The same with rows of their own: whatever index there is does not fit them."""
    if not is_pandas(data):
        return pl.DataFrame(dict(columns))
    import pandas as pd

    return pd.DataFrame(dict(columns))


def part_of(data: Any, table: Table, rows: Any) -> Any:
    """Some rows of what was given, by their numbers from 0: a pandas frame, or else a polars frame."""
    if is_pandas(data):
        return data.iloc[rows]
    return (data if isinstance(data, pl.DataFrame) else table.frame)[rows]


def is_pandas(data: Any) -> bool:
    """Whether it is a pandas frame, or of a class made of it; pandas is not imported for that."""
    bases = type(data).__mro__
    return any(base.__name__ == "DataFrame" and base.__module__.split(".")[0] == "pandas" for base in bases)


def _pandas_array(column: pl.Series, dtype: Any) -> Any:
    """The values as pandas keeps them: of a given type, if that holds each of them."""
    import pandas as pd

    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        values: Any = column.to_numpy()
    else:
        values = column.to_list()
    plain = pd.Series(values)
    categories = getattr(dtype, "categories", None)
    if dtype is None or str(dtype) == "object" or dtype.kind == "m":  # durations stay as they are read
        return plain.array
    if categories is not None and not plain.isin(categories).all():
        return plain.array
    try:
        typed = pd.Series(values, dtype=dtype)
    except (TypeError, ValueError):
        return plain.array
    return plain.array if typed.isna().any() else typed.array
