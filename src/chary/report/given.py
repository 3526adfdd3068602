"""Whatever a Python caller holds, and settings, in; a table, and the settings that are not for reading, out."""

from __future__ import annotations

import inspect
import os
from typing import Any, NamedTuple

import polars as pl

from chary._words import Parameter
from chary.jobs import refuse_taken
from chary.tables import Table, TableError, TablePreparation, from_dataframe, read_table

# Settings of ``read_table``: they say how a file is written, and a frame is not.
READING = tuple(name for name in inspect.signature(read_table).parameters if name != "path")
# Settings that name columns; a pandas frame may have names that are no text.
_NAMES = tuple(inspect.signature(TablePreparation).parameters)


class Given(NamedTuple):
    """What a Python caller gave."""

    data: Any  # as it was given
    table: Table
    settings: dict[str, Any]  # for a job


def given(data: Any, settings: dict[str, Any] | None = None) -> Given:
    """A path, a pandas or polars frame, a dict of columns or a Table as a table."""
    settings = dict(settings or {})
    reading = {name: settings.pop(name) for name in READING if name in settings}
    for name in _NAMES:
        if isinstance(settings.get(name), (list, tuple)):
            settings[name] = [str(column) for column in settings[name]]
    if isinstance(data, (str, os.PathLike)):
        return Given(data, read_table(data, **reading), settings)
    if reading:
        raise TableError("This table is no file, so leave out ", Parameter(next(iter(reading))), ".")
    return Given(data, _table_from(data), settings)


def _table_from(data: Any) -> Table:
    """Stands in for ``chary.tables.table_from`` until that is there."""
    if isinstance(data, Table):
        return data
    frame = from_dataframe(data.collect() if isinstance(data, pl.LazyFrame) else data)
    table = Table(frame, "the table")
    refuse_taken(table, ("chary_label", "chary_confidence", "chary_source", "chary_accept"))
    if not frame.height:
        raise TableError("The table has no rows; chary needs labelled and unlabelled rows.")
    return table
