"""Data frames of other libraries: read as polars frames, and given back with columns added."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from chary._words import shown
from chary.method.labels import is_missing
from chary.tables.cells import target_texts
from chary.tables.table import LABEL, Table, TableError, reason, refuse_duplicates


def from_dataframe(data: Any) -> pl.DataFrame:
    """Whatever holds a table in memory as a polars DataFrame.

    A pandas or polars frame, a mapping of columns, or anything that speaks Arrow (has
    ``__arrow_c_stream__``): a table of pyarrow, a relation of DuckDB, a table of Ibis.

    >>> from_dataframe({"age": [31, 47], "city": ["Ulm", None]}).shape
    (2, 2)
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    is_mapping = isinstance(data, Mapping)
    if hasattr(data, "__arrow_c_stream__") and not is_pandas(data):
        return _from_arrow(data)
    if not is_mapping and not hasattr(data, "columns"):
        raise TableError(
            f"A table is needed, a DataFrame or a dict of columns; got {type(data).__name__}."
        )
    keys = data if is_mapping else data.columns
    names = [str(name) for name in keys]
    refuse_duplicates(names, "The table")
    if is_mapping:
        _refuse_different_indexes(data)
    return pl.DataFrame([_series(name, data[key]) for name, key in zip(names, keys, strict=True)])


def _from_arrow(data: Any) -> pl.DataFrame:
    """Read a table of a library that speaks Arrow."""
    try:
        return pl.DataFrame(data)
    except pl.exceptions.DuplicateError:
        raise TableError(
            "Two columns of the table have the same name; rename one of them."
        ) from None
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"The {type(data).__name__} cannot be read as a table ({reason(error)})."
        ) from None


def _series(name: str, values: Any) -> pl.Series:
    """One column of a foreign DataFrame, without asking which library it came from."""
    array = values if isinstance(values, np.ndarray) else getattr(values, "array", values)
    dtype = getattr(array, "dtype", None)
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufM":
        return pl.Series(name, np.asarray(array))
    items = [None if is_missing(value) else value for value in values]
    if getattr(dtype, "categories", None) is not None:  # whatever its values are
        named = target_texts(pl.Series([item for item in items if item is not None], strict=False))
        texts = iter(named.to_list())
        return pl.Series(
            name, [None if item is None else next(texts) for item in items], dtype=pl.Categorical
        )
    try:
        return pl.Series(name, items, strict=True)
    except (TypeError, pl.exceptions.PolarsError):  # a column of mixed types: read it as text
        return pl.Series(name, [None if item is None else str(item) for item in items])


def extended(
    data: Any, table: Table, added: Mapping[str, pl.Series], target: str = "", rows: Any = None
) -> Any:
    """What was given, or some of its ``rows`` by number, with columns on the right; it is not changed itself.

    A pandas frame stays one, with its index and types, and ``chary_label`` has the type of the
    target where that can hold it. A file becomes a polars frame of its cells.
    """
    if table.blank is not None:
        if rows is None:
            table, added = table.with_blank_rows(added)
        else:
            rows = table.numbers(rows)
            table, _ = table.with_blank_rows({})
    if not is_pandas(data):
        frame = data if isinstance(data, pl.DataFrame) else table.frame
        frame = frame if rows is None else frame[rows]
        return _of_its_kind(
            data, frame.with_columns([column.alias(name) for name, column in added.items()])
        )
    data = data if rows is None else data.iloc[rows]
    own = [data[name].dtype for name in data.columns if str(name) == target]
    return data.assign(**{
        name: _pandas_array(column, own[0] if own and name == LABEL else None)
        for name, column in added.items()
    })  # fmt: skip


def like(data: Any, columns: Mapping[str, Any], rows: Any = None) -> Any:
    """Make a frame of columns alone, of the kind that was given: a value for each of the ``rows``, or for all."""
    frame = alone(data, columns)
    return (
        frame.set_index(data.index if rows is None else data.index[rows])
        if is_pandas(data)
        else frame
    )


def alone(data: Any, columns: Mapping[str, Any]) -> Any:
    """The same with rows of their own: whatever index there is does not fit them."""
    if not is_pandas(data):
        return _of_its_kind(data, pl.DataFrame(dict(columns)))
    import pandas as pd

    return pd.DataFrame(dict(columns))


def _of_its_kind(data: Any, frame: pl.DataFrame) -> Any:
    """Make a frame of the library that the data came from, if it takes one; otherwise keep it polars."""
    library = type(data).__module__.partition(".")[0].lstrip("_")
    if library == "pyarrow":
        return frame.to_arrow()
    if library == "duckdb":
        return sys.modules[library].from_arrow(frame.to_arrow())
    return frame


def aligned(values: Any, data: Any, n_rows: int, what: str) -> Any:
    """Put a pandas Series into the order of a table's rows, by its index; give back anything else as it is.

    The rows of a pandas frame are known by its index, those of other tables by their numbers from
    0.

    Parameters
    ----------
    values : Series or anything
        One value for each row.
    data : frame, path, mapping or Table
        The table as it was given.
    n_rows : int
        Of the table.
    what : str
        What the values are, for the message if they do not fit, such as "the truth".
    """
    if not _is_pandas_class(values, "Series"):
        return values
    import pandas as pd

    index = data.index if is_pandas(data) else pd.RangeIndex(n_rows)
    if values.index.equals(index):
        return values

    if not (values.index.is_unique and index.is_unique):
        raise TableError(
            f"The index of {what} is not that of the table, and several rows have the same index, so they cannot "
            "be aligned; give each row an index of its own, or an array in the order of the rows."
        )
    if len(values) != len(index) or not values.index.isin(index).all():
        raise TableError(
            f"The index of {what} is not that of the table's {n_rows:,} rows; give one value for each row under "
            "the same index, or an array in the order of the rows."
        )
    return values.reindex(index)


def _refuse_different_indexes(columns: Mapping[Any, Any]) -> None:
    """Refuse columns whose values belong to different rows if one looks at their indexes."""
    series = [
        (name, values) for name, values in columns.items() if _is_pandas_class(values, "Series")
    ]
    for name, values in series[1:]:
        first_name, first = series[0]
        if not values.index.equals(first.index):
            raise TableError(
                f"Columns {shown(first_name)} and {shown(name)} have different indexes; give a DataFrame, "
                "in which they are aligned."
            )


def is_pandas(data: Any) -> bool:
    """Tell whether it is a pandas frame, or of a class made of it; pandas is not imported for that."""
    return _is_pandas_class(data, "DataFrame")


def _is_pandas_class(data: Any, name: str) -> bool:
    bases = type(data).__mro__
    return any(
        base.__name__ == name and base.__module__.split(".")[0] == "pandas" for base in bases
    )


def _pandas_array(column: pl.Series, dtype: Any) -> Any:
    """The values as pandas keeps them: of a given type, if that holds each of them."""
    import pandas as pd

    plain = pd.Series(
        column.to_numpy()
        if column.dtype.is_numeric() or column.dtype == pl.Boolean
        else column.to_list()
    )
    # Durations stay as they are read, and whole numbers whole, though some cells of the target were
    # missing.
    was_float = column.dtype.is_integer() and getattr(dtype, "kind", "") == "f"
    if dtype is None or str(dtype) == "object" or dtype.kind == "m" or was_float:
        return plain.array
    categories = getattr(dtype, "categories", None)
    if categories is not None:
        # Labels are texts here, and categories may be numbers.
        category_texts = target_texts(pl.Series(list(categories), strict=False))
        category_of = dict(zip(category_texts, categories, strict=True))
        values = [category_of.get(text) for text in target_texts(column)]
        return plain.array if None in values else pd.Series(values, dtype=dtype).array
    try:
        typed = plain.astype(dtype)
    except (TypeError, ValueError):
        return plain.array
    return plain.array if typed.isna().any() else typed.array
