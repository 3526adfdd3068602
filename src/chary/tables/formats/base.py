"""What every file format gives, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from chary.tables.formats.files import File
from chary.tables.table import Table


class Reading(NamedTuple):
    """How the user says that a file is to be read; None: found out."""

    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None

    def as_given(self) -> dict[str, Any]:
        """Return only what differs from the defaults."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Batch(NamedTuple):
    """Consecutive rows of a table."""

    table: Table
    share: float  # of the table that was read up to the end of this batch


class Format:
    """A kind of file: a new one is a subclass, and a line in ``chary.tables.formats``."""

    name: str  # and the extension of its files
    words: str  # what it is called in a sentence
    endings: tuple[str, ...]  # extensions that promise it
    begins: bytes  # a pattern of the first bytes
    in_batches = True  # whether it has ``head`` and ``batches``; otherwise it is read as a whole

    def read(self, file: File, reading: Reading) -> Table:
        """Read all rows."""
        raise NotImplementedError

    def head(self, file: File, reading: Reading) -> Table:
        """Read the columns and their types, as in ``read``, without rows."""
        raise NotImplementedError

    def batches(
        self, file: File, reading: Reading, head: Table, columns: Sequence[str] | None, memory: int
    ) -> Iterator[Batch]:
        """Read all rows in order, in the types of ``head``.

        Other columns than ``columns`` need not be read; None: all are.
        """
        raise NotImplementedError

    def holds(self, dtype: pl.DataType) -> bool:
        """Tell whether files of this format can keep cells of a type."""
        return dtype != pl.Object

    def refuse_unwritable(self, frame: pl.DataFrame) -> None:
        """Refuse a table that cannot be written for another reason than a type."""

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """Make an appender, which writes rows to ``stream`` as they come."""
        raise NotImplementedError


class Appender:
    """A file that takes tables of the same columns, one after the other.

    ``close`` completes it, ``abandon`` gives it up. ``write`` is called with each table, the
    columns added to it, the stream, and whether the table is the first.
    """

    def __init__(
        self, stream: BinaryIO, write: Callable[[Table, pl.DataFrame, BinaryIO, bool], None]
    ) -> None:
        self.stream = stream
        self.write = write
        self.is_first = True

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        """Write rows, with columns added on the right."""
        self.write(table, as_columns(added), self.stream, self.is_first)
        self.is_first = False

    def close(self) -> None:
        """Write what is still to be written."""

    abandon = close  # nothing has to be undone


def as_columns(added: Mapping[str, Any]) -> pl.DataFrame:
    """Make a frame of columns to add."""
    return pl.DataFrame([pl.Series(name, values) for name, values in added.items()])


def with_added(frame: pl.DataFrame, added: pl.DataFrame) -> pl.DataFrame:
    """Put columns on the right of a frame; they replace columns of the same names."""
    is_taken = any(name in frame.columns for name in added.columns)
    if is_taken or frame.width == 0:
        return frame.with_columns(added.get_columns())
    # This needs no thread of Polars, all of which may be busy.
    return frame.hstack(added.get_columns())
