"""A table and columns to add in; the file as it was, with these on the right and no formula in them, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import polars as pl

from chary._words import Parameter, shown
from chary.tables.columnar import write_arrow
from chary.tables.errors import TableError
from chary.tables.formulas import without_formulas
from chary.tables.jsonlines import parts_of, write_jsonlines
from chary.tables.packed import packing
from chary.tables.table import Table, can_be_text
from chary.tables.workbooks import require_workbook, write_workbook


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
    more = pl.DataFrame([pl.Series(name, values) for name, values in added.items()])
    with packing(file, table.packed, f"{table.stem}.{table.format}") as stream:
        if table.format == "jsonl":
            write_jsonlines(table, more, stream)
            return
        frame = table.frame.with_columns(more.get_columns())
        if table.format == "csv":
            write_csv(table, frame, list(added), stream)
        elif table.format == "xlsx":
            write_workbook(frame, stream)
        elif table.format == "arrow":
            write_arrow(frame, stream)
        else:
            frame.write_parquet(stream)


def require_writable(table: Table) -> None:
    """Refuse, before any work is done, a table that its format cannot hold."""
    if table.format == "xlsx":
        require_workbook(table.frame)
    for name, dtype in table.frame.schema.items():
        if not _HOLDS[table.format](dtype):
            raise TableError(
                f"A file of the format {table.format} cannot hold column {shown(name)}, which is {dtype}; choose ",
                Parameter("format", "parquet"),
                ".",
            )


def least_bytes(table: Table) -> int:
    """So many bytes at least the table takes as it will be written; 0 where compression makes it any number."""
    if table.format not in ("csv", "jsonl") or table.packed:
        return 0
    frame = table.frame
    texts = frame.select(pl.col(pl.String).str.len_bytes().sum())
    signs = frame.width if table.format == "csv" else 1  # for each row: between cells, and at its end
    return int(sum(texts.row(0))) + signs * frame.height


def _in_json(dtype: pl.DataType) -> bool:
    return all(_in_json(part) for part in parts_of(dtype)) and dtype not in (pl.Binary, pl.Object)


# Which types a format can hold.
_HOLDS: dict[str, Callable[[pl.DataType], bool]] = {
    "csv": lambda dtype: can_be_text(dtype) and dtype != pl.Duration,
    "jsonl": _in_json,
    "xlsx": can_be_text,
    "arrow": lambda dtype: dtype != pl.Object,
    "parquet": lambda dtype: dtype != pl.Object,
}


def write_csv(table: Table, frame: pl.DataFrame, added: list[str], file: BinaryIO, *, header: bool = True) -> None:
    """Write cells as the table's are; in the columns that are ``added`` nothing runs as a formula."""
    schema = frame.schema  # made anew each time it is asked for
    texts = [name for name in added if schema[name] == pl.String]
    frame.with_columns([without_formulas(name) for name in texts]).write_csv(
        file, separator=table.delimiter, include_bom=table.bom, include_header=header
    )
