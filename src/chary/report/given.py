"""Whatever a Python caller holds, and settings, in; a table, and the settings that are not for reading, out."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from chary.tables import Table, TablePreparation, read_table, table_from

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
    return Given(data, table_from(data, **reading), settings)
