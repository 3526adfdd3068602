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
    """Convert a table in memory to a polars DataFrame.

    It may be a pandas or polars frame, a mapping of columns, or anything that speaks Arrow (has
    ``__arrow_c_stream__``): a table of pyarrow, a relation of DuckDB, a table of Ibis.

    >>> from_dataframe({"age": [31, 47], "city": ["Ulm", None]}).shape
    (2, 2)
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if hasattr(data, "__arrow_c_stream__") and not is_pandas(data):
        return _from_arrow(data)

    if isinstance(data, Mapping):
        keys = list(data)
    elif hasattr(data, "columns"):
        keys = list(data.columns)
    else:
        raise TableError(
            f"A table is needed, a DataFrame or a dict of columns; got {type(data).__name__}."
        )
    names = [str(key) for key in keys]
    refuse_duplicates(names, "The table")
    if isinstance(data, Mapping):
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
    """Read a column without asking which library it comes from.

    A column with a type of NumPy is taken as it is. Of any other column each cell is looked at: a
    missing value of any library becomes null, and a column of mixed types becomes text.
    """
    if isinstance(values, pl.Series):
        return values.alias(name)
    array = values
    if not isinstance(values, np.ndarray):
        array = getattr(values, "array", values)  # a pandas Series has one
    dtype = getattr(array, "dtype", None)
    # Truth values, whole numbers with and without a sign, floats, and moments.
    if isinstance(dtype, np.dtype) and dtype.kind in "biufM":
        return pl.Series(name, np.asarray(array))

    cells = [None if is_missing(value) else value for value in values]
    if hasattr(dtype, "categories"):
        # Categories may be of any type, and polars knows only those of text.
        texts = target_texts(pl.Series(cells, strict=False))
        return pl.Series(name, texts, dtype=pl.Categorical)
    try:
        return pl.Series(name, cells, strict=True)
    except (TypeError, pl.exceptions.PolarsError):  # the column mixes types
        as_text = [None if cell is None else str(cell) for cell in cells]
        return pl.Series(name, as_text)


def _refuse_different_indexes(columns: Mapping[Any, Any]) -> None:
    """Refuse pandas columns whose indexes pair their values with different rows."""
    first_name = None
    first_index = None
    series = {name: cells for name, cells in columns.items() if _is_pandas_class(cells, "Series")}
    for name, values in series.items():
        if first_index is None:
            first_name = name
            first_index = values.index
        elif not values.index.equals(first_index):
            raise TableError(
                f"Columns {shown(first_name)} and {shown(name)} have different indexes; give a "
                "DataFrame, in which they are aligned."
            )


# ---------------------------------------------------------------- given back


def extended(
    data: Any,
    table: Table,
    added: Mapping[str, pl.Series],
    target: str = "",
    rows: Any = None,
) -> Any:
    """Return a copy of the data with columns on the right.

    A pandas frame stays one, with its index and types, and ``chary_label`` has the type of the
    target if that can hold it. A file becomes a polars frame of its cells.

    Parameters
    ----------
    data : frame, path, mapping or Table
        The table as it was given.
    table : Table
        The table as chary read it, with or without its blank rows.
    added : mapping of str to Series
        The columns to add, by name.
    target : str, default=""
        Name of the target.
    rows : array-like of int, default=None
        Places of rows in ``table``; None: all rows, blank ones too.
    """
    # Blank rows go back into their place, so that places in the table become row numbers.
    if table.blank is not None:
        if rows is None:
            table, added = table.with_blank_rows(added)
        else:
            rows = table.numbers(rows)
            table, _ = table.with_blank_rows({})

    if not is_pandas(data):
        frame = data if isinstance(data, pl.DataFrame) else table.frame
        if rows is not None:
            frame = frame[rows]
        columns = [column.alias(name) for name, column in added.items()]
        return _of_its_kind(data, frame.with_columns(columns))

    if rows is not None:
        data = data.iloc[rows]
    arrays = {name: _pandas_array(column, dtype=None) for name, column in added.items()}
    target_types = [data[name].dtype for name in data.columns if str(name) == target]
    if target_types and LABEL in added:
        arrays[LABEL] = _pandas_array(added[LABEL], target_types[0])
    return data.assign(**arrays)


def like(data: Any, columns: Mapping[str, Any], rows: Any = None) -> Any:
    """Make a frame of columns in the library of ``data``, with its index.

    Parameters
    ----------
    data : frame, path, mapping or Table
        The table as it was given.
    columns : mapping of str to array-like
        A value for each of the ``rows``.
    rows : array of int, default=None
        Rows of ``data``; None: all.
    """
    frame = alone(data, columns)
    if not is_pandas(data):
        return frame
    return frame.set_index(data.index if rows is None else data.index[rows])


def alone(data: Any, columns: Mapping[str, Any]) -> Any:
    """Make a frame of columns in the library of ``data``, with its own index."""
    if not is_pandas(data):
        return _of_its_kind(data, pl.DataFrame(dict(columns)))
    import pandas as pd

    return pd.DataFrame(dict(columns))


def _of_its_kind(data: Any, frame: pl.DataFrame) -> Any:
    """Convert a frame to the library of ``data``, or leave it polars."""
    library = type(data).__module__.partition(".")[0].lstrip("_")
    if library == "pyarrow":
        return frame.to_arrow()
    if library == "duckdb":
        return sys.modules[library].from_arrow(frame.to_arrow())
    return frame


def aligned(values: Any, data: Any, n_rows: int, what: str) -> Any:
    """Put a pandas Series into the order of a table's rows.

    The index decides: rows of a pandas frame are known by its index, those of other tables by their
    numbers from 0. Values that are not a Series are returned unchanged.

    Parameters
    ----------
    values : Series or anything
        One value for each row.
    data : frame, path, mapping or Table
        The table as it was given.
    n_rows : int
        Rows of the table.
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
            f"The index of {what} is not that of the table, and several rows have the same index, "
            "so they cannot be aligned; give each row an index of its own, or an array in the "
            "order of the rows."
        )
    if len(values) != len(index) or not values.index.isin(index).all():
        raise TableError(
            f"The index of {what} is not that of the table's {n_rows:,} rows; give one value for "
            "each row under the same index, or an array in the order of the rows."
        )
    return values.reindex(index)


def _pandas_array(column: pl.Series, dtype: Any) -> Any:
    """Convert values for pandas, to ``dtype`` if it can hold all of them.

    The ``dtype`` is that of the target; None: pandas finds one. Labels are texts here, so "3"
    becomes the number 3 again in a target of numbers.
    """
    import pandas as pd

    is_plain = column.dtype.is_numeric() or column.dtype == pl.Boolean
    untyped = pd.Series(column.to_numpy() if is_plain else column.to_list())
    if dtype is None or str(dtype) == "object":
        return untyped.array
    # Durations stay as they were read. Pandas stores a target of whole numbers as floats only
    # because cells are missing: the added column keeps whole numbers.
    is_float_for_gaps = column.dtype.is_integer() and dtype.kind == "f"
    if dtype.kind == "m" or is_float_for_gaps:
        return untyped.array

    categories = getattr(dtype, "categories", None)
    if categories is not None:
        # Labels are texts here, and categories may be numbers.
        category_texts = target_texts(pl.Series(list(categories), strict=False))
        category_of = dict(zip(category_texts, categories, strict=True))
        values = [category_of.get(text) for text in target_texts(column)]
        if None in values:  # a label that is no category
            return untyped.array
        return pd.Series(values, dtype=dtype).array

    try:
        typed = untyped.astype(dtype)
    except (TypeError, ValueError):
        return untyped.array
    return untyped.array if typed.isna().any() else typed.array


def is_pandas(data: Any) -> bool:
    """Tell whether data is a pandas frame, without importing pandas."""
    return _is_pandas_class(data, "DataFrame")


def _is_pandas_class(data: Any, name: str) -> bool:
    return any(
        base.__name__ == name and base.__module__.split(".")[0] == "pandas"
        for base in type(data).__mro__
    )
