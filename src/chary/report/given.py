"""Whatever a Python caller holds, and settings, in; a table, and the settings that are not for reading, out."""

from __future__ import annotations

import inspect
import os
from typing import Any, NamedTuple

from chary.jobs import free_memory
from chary.tables import Table, TableError, TablePreparation, may_be_large, open_large, read_table, table_from

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
    _refuse_too_large(data, reading)
    return Given(data, table_from(data, **reading), settings)


def _refuse_too_large(data: Any, reading: dict[str, Any]) -> None:
    """Refuse a file that would take more memory than is free; what else is wrong with it, its reader says."""
    if not isinstance(data, (str, os.PathLike)):
        return
    free = free_memory()
    try:
        large = open_large(data, **reading) if os.path.isfile(data) and may_be_large([data], free) else None
    except (TableError, ValueError):
        return
    if large is not None and large.needed > free:
        raise TableError(
            f"{large.table.name} would take about {large.needed >> 20:,} MiB of memory, and {free >> 20:,} are "
            "free; give a part of it, or label it on the command line, which reads such a table in parts."
        )
