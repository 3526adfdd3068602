"""The table behind a sheet: its cells by row, and the checksums that tie the sheet to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from chary.tables.nested import can_be_shown, shown_texts
from chary.tables.sampling import sample_rows
from chary.tables.source import Source
from chary.tables.table import Table, can_be_text

# This many rows are written as text at a time.
_BLOCK = 50_000


class TableCells(NamedTuple):
    """The table behind a sheet, as far as a sheet needs it."""

    name: str
    n_rows: int
    texts: Callable[[Sequence[int]], pl.DataFrame]  # reads rows, by number from 0, as text
    checksums: Callable[[pl.DataFrame], Sequence[str]]  # one for each row that ``texts`` returned


def cells_of(table: Table, target: str, source: Source | None = None) -> TableCells:
    """Describe the table behind a sheet, with one checksum of the whole table for all rows.

    So a change in any cell outside the target changes the token of every row of a sheet.

    Parameters
    ----------
    table : Table
        All rows; or a sample of them with the checksum of all, from ``sample_of_table``.
    target : str
    source : Source, default=None
        Where all rows can be read, if ``table`` is a sample.
    """
    if table.taken:
        checksum = table.taken.checksum
    else:
        checksum = table_checksum(table, target)

    def read_texts(numbers: Sequence[int]) -> pl.DataFrame:
        if source:
            rows = source.rows(numbers)
        else:
            rows = table.frame[table.places_of(numbers)]
        return as_texts(rows.select(pl.exclude(target)))

    def same_checksum(cells: pl.DataFrame) -> list[str]:
        return [checksum] * cells.height

    return TableCells(table.name, table.n_file_rows, read_texts, same_checksum)


def sample_of_table(
    source: Source, target: str, k: int, *, checksum: bool = False, **options: Any
) -> Table:
    """Sample rows as ``sample_rows`` does, with the checksum of all rows if asked for."""
    if not checksum:
        return sample_rows(source, target, k, **options)
    digest = TableDigest(target)
    table = sample_rows(source, target, k, on_frame=digest.add, **options)
    if table.taken is None:
        return table
    return replace(table, taken=table.taken._replace(checksum=digest.hexdigest()))


def table_checksum(table: Table, target: str) -> str:
    """Digest all cells outside the target column, in the order of rows and columns."""
    digest = TableDigest(target)
    # Blank rows were taken out when the table was read; the file has them, so they count.
    table_with_blank_rows, _ = table.with_blank_rows({})
    for block in table_with_blank_rows.frame.iter_slices(_BLOCK):
        digest.add(block)
    return digest.hexdigest()


class TableDigest:
    """The checksum of a table that is read in blocks; their sizes do not change it."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._sha = hashlib.sha256()
        self._has_header = False

    def add(self, frame: pl.DataFrame) -> None:
        """Add further rows."""
        # Lists and records are left out: to write all of them out would take minutes.
        flat = [name for name, dtype in frame.schema.items() if can_be_text(dtype)]
        cells = as_texts(frame.select(flat).select(pl.exclude(self._target)))
        if not self._has_header:
            self._sha.update(json.dumps(cells.columns).encode())
            self._has_header = True
        self._sha.update(cells.write_csv(include_header=False).encode())

    def hexdigest(self) -> str:
        """Return the checksum of the rows added by now."""
        return self._sha.hexdigest()


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """Convert cells to text; leave out columns that cannot be shown."""
    return frame.select(shown_texts(cells) for cells in frame if can_be_shown(cells.dtype))
