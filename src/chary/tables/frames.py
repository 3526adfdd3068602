"""Whatever holds a table in, a data frame or a file of any kind; a polars DataFrame or a ``Table`` out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from chary._words import Parameter
from chary.method import is_missing
from chary.tables.errors import TableError
from chary.tables.reading import read_table, usable
from chary.tables.table import ADDED_COLUMNS, Table, refuse_duplicates


def table_from(
    data: Any, *, name: str = "the table", taken: Sequence[str] = ADDED_COLUMNS, **read_with: Any
) -> Table:
    """A table of whatever holds one.

    Parameters
    ----------
    data : Table, path, sequence of paths, pandas or polars DataFrame, or mapping of columns
        A path may be a file of any kind, a folder, a pattern such as ``"in/*.csv"``, or ``"-"``. A data frame is
        kept as ``given``, so that the same kind of frame can be given back.
    name : str
        What to call a data frame in sentences.
    taken : sequence of str
        Names that no column of a data frame may have.
    **read_with
        How to read a file: ``delimiter``, ``encoding``, ``sheet``, as in ``read_table``.

    >>> table_from({"age": [31, 47], "city": ["Ulm", None]}).frame.shape
    (2, 2)
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)) or _are_paths(data):
        return read_table(data, **read_with)
    given = [
        key for key, value in read_with.items() if value is not None and (key, value) != ("encoding", "utf-8")
    ]
    if given:
        raise TableError(f"{name} is no file, so ", Parameter(given[0]), " has no meaning; leave it out.")
    frame = data.collect() if isinstance(data, pl.LazyFrame) else from_dataframe(data)
    return usable(Table(frame, name, given=data), taken)


def _are_paths(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in data)


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
