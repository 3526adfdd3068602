"""A pandas or polars DataFrame, or a mapping of columns, in; a polars DataFrame out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from chary.method import is_missing
from chary.tables.errors import TableError
from chary.tables.table import refuse_duplicates


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
    try:
        return pl.Series(name, items, strict=True)
    except (TypeError, pl.exceptions.PolarsError):  # a column of mixed types: read it as text
        return pl.Series(name, [None if item is None else str(item) for item in items])
