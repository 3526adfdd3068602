"""Data frames of other libraries as polars frames, and results as a frame of the kind that was given."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from chary.method.labels import is_missing
from chary.tables.cells import target_texts
from chary.tables.table import LABEL, Table, TableError, reason, refuse_duplicates


def from_dataframe(data: Any) -> pl.DataFrame:
    """Whatever holds a table in memory as a polars DataFrame.

    A pandas or polars frame, a mapping of columns, a Dataset of Hugging Face, or anything that speaks Arrow (has
    ``__arrow_c_stream__``): a table of pyarrow, a relation of DuckDB, a table of Ibis.

    >>> from_dataframe({"age": [31, 47], "city": ["Ulm", None]}).shape
    (2, 2)
    """
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    is_mapping = isinstance(data, Mapping)
    if not is_mapping and not is_pandas(data) and (found := _from_arrow(data)) is not None:
        return found
    if not is_mapping and not hasattr(data, "columns"):
        raise TableError(f"A table is needed, a DataFrame or a dict of columns; got {type(data).__name__}.")
    keys = data if is_mapping else data.columns
    names = [str(name) for name in keys]
    refuse_duplicates(names, "The table")
    return pl.DataFrame([_series(name, data[key]) for name, key in zip(names, keys, strict=True)])


def _from_arrow(data: Any) -> pl.DataFrame | None:
    """A table of a library that speaks Arrow; None if it does not."""
    speaks = any(hasattr(data, f"__arrow_c_{kind}__") for kind in ("stream", "array"))
    if not speaks and not hasattr(data, "to_polars"):
        return None
    try:
        return pl.DataFrame(data) if speaks else data.to_polars()
    except pl.exceptions.DuplicateError:
        raise TableError("Two columns of the table have the same name; rename one of them.") from None
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(f"The {type(data).__name__} cannot be read as a table ({reason(error)}).") from None


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
        return pl.Series(name, [None if item is None else next(texts) for item in items], dtype=pl.Categorical)
    try:
        return pl.Series(name, items, strict=True)
    except (TypeError, pl.exceptions.PolarsError):  # a column of mixed types: read it as text
        return pl.Series(name, [None if item is None else str(item) for item in items])


def extended(data: Any, table: Table, added: Mapping[str, pl.Series], target: str = "", rows: Any = None) -> Any:
    """What was given, or some of its ``rows`` by number, with columns on the right; it is not changed itself.

    A pandas frame stays one, with its index and types, and ``chary_label`` has the type of the target where that
    can hold it. A file becomes a polars frame of its cells.
    """
    if not is_pandas(data):
        frame = data if isinstance(data, pl.DataFrame) else table.frame
        frame = frame if rows is None else frame[rows]
        return _of_its_kind(data, frame.with_columns([column.alias(name) for name, column in added.items()]))
    data = data if rows is None else data.iloc[rows]
    own = [data[name].dtype for name in data.columns if str(name) == target]
    return data.assign(**{
        name: _pandas_array(column, own[0] if own and name == LABEL else None)
        for name, column in added.items()
    })  # fmt: skip


def like(data: Any, columns: Mapping[str, Any], rows: Any = None) -> Any:
    """Columns alone, one value for each of the ``rows`` or for all, as a frame of the kind that was given."""
    frame = alone(data, columns)
    return frame.set_index(data.index if rows is None else data.index[rows]) if is_pandas(data) else frame


def alone(data: Any, columns: Mapping[str, Any]) -> Any:
    """The same with rows of their own: whatever index there is does not fit them."""
    if not is_pandas(data):
        return _of_its_kind(data, pl.DataFrame(dict(columns)))
    import pandas as pd

    return pd.DataFrame(dict(columns))


def _of_its_kind(data: Any, frame: pl.DataFrame) -> Any:
    """A frame as what was given is, if that is of a library that takes one; otherwise the polars frame itself."""
    library = type(data).__module__.partition(".")[0].lstrip("_")
    if library == "pyarrow":
        return frame.to_arrow()
    if library == "datasets":
        return type(data).from_polars(frame)
    if library == "ibis":
        return sys.modules[library].memtable(frame)
    if library == "duckdb":
        return sys.modules[library].from_arrow(frame.to_arrow())
    return frame


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
    if column.dtype.is_integer() and dtype.kind == "f":  # whole numbers, though some cells were missing
        return plain.array
    if categories is not None:
        known = dict(zip(target_texts(pl.Series(list(categories), strict=False)), categories, strict=True))
        found = [known.get(text) for text in target_texts(column)]
        return plain.array if None in found else pd.Series(found, dtype=dtype).array
    try:
        typed = pd.Series(values, dtype=dtype)
    except (TypeError, ValueError):
        return plain.array
    return plain.array if typed.isna().any() else typed.array
