"""Tables written back: the file as it was, with columns added on the right, at once or bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import polars as pl

from chary._words import Parameter, shown
from chary.tables.errors import TableError
from chary.tables.formats import FORMATS
from chary.tables.formats.base import Appender, as_columns
from chary.tables.formats.packing import packing
from chary.tables.table import Table

GROUP_ROWS = 2**17  # of a row group of Parquet, or of a record batch of Arrow


def write_table(table: Table, added: Mapping[str, Any], file: BinaryIO) -> None:
    """Write the table as it was read, or as ``Table.written_as`` says, with columns added on the right.

    The table's own cells are unchanged; what a format cannot hold is refused. Text in added columns of a CSV that
    a spreadsheet would run as a formula gets an apostrophe in front.

    Parameters
    ----------
    table : Table
        What was read.
    added : mapping of str to column
        Columns to add, by name.
    file : binary file
        Open for writing.
    """
    require_writable(table)
    with packing(file, table.packed, f"{table.stem}.{table.format}") as stream:
        FORMATS[table.format].write(table, as_columns(added), stream)


@contextmanager
def appending(table: Table, file: BinaryIO, group_rows: int = GROUP_ROWS) -> Iterator[Appender]:
    """Open a file that takes tables one after the other, as if they had been written at once.

    It is written as the table is, or as ``Table.written_as`` says.
    """
    require_writable(table)
    with packing(file, table.packed, f"{table.stem}.{table.format}") as stream:
        appender = FORMATS[table.format].appender(stream, group_rows)
        try:
            yield appender
            appender.close()
        except BaseException:
            appender.abandon()
            raise


def require_writable(table: Table) -> None:
    """Refuse, before any work is done, a table that its format cannot hold."""
    format = FORMATS[table.format]
    format.refuse_unwritable(table.frame)
    for name, dtype in table.frame.schema.items():
        if not format.holds(dtype):
            raise TableError(
                f"A file of the format {table.format} cannot hold column {shown(name)}, which is {dtype}; choose "
                f"{Parameter('format', 'parquet')}."
            )


def least_bytes(table: Table) -> int:
    """So many bytes at least the table takes as it will be written; 0 where compression makes it any number."""
    if table.format not in ("csv", "jsonl") or table.packed:
        return 0
    frame = table.frame
    texts = frame.select(pl.col(pl.String).str.len_bytes().sum())
    signs = frame.width if table.format == "csv" else 1  # for each row: between cells, and at its end
    return int(sum(texts.row(0))) + signs * frame.height
