"""The parts of a file in, cut as they came; blocks of rows out, cut by what the rows hold alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.tables.streaming import Part
from chary.tables.table import Lines, Table

MOST_BYTES = 64 << 20  # of text in a block


def in_blocks(parts: Iterator[Part], n_rows: int, most_bytes: int = MOST_BYTES) -> Iterator[Part]:
    """So many rows at a time, or fewer where their cells take more than so many bytes; one at least.

    Where a block begins depends on the rows before it, not on the parts: a file that is written in other row
    groups has the same blocks.
    """
    held: list[Table] = []
    rows = size = 0
    for part in parts:
        ends, start = np.cumsum(row_bytes(part.table.frame)), 0
        while start < len(ends):
            room = most_bytes - size + (int(ends[start - 1]) if start else 0)
            fits = int(np.searchsorted(ends[start:], room, side="right"))
            taken = min(n_rows - rows, max(fits, 0 if rows else 1))
            if taken:
                held.append(_rows(part.table, start, taken))
                size += int(ends[start + taken - 1]) - (int(ends[start - 1]) if start else 0)
                rows, start = rows + taken, start + taken
            if rows == n_rows or start < len(ends):
                yield Part(_joined(held), part.share)
                held, rows, size = [], 0, 0
    if held:
        yield Part(_joined(held), 1.0)


def row_bytes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """What the cells of each row take, whatever they are kept in: text its length, anything else eight bytes.

    >>> row_bytes(pl.DataFrame({"a": [1, 2], "b": ["xyz", None]})).tolist()
    [11, 8]
    """
    total = np.full(frame.height, 8 * frame.width, np.int64)
    for cells in frame:
        if cells.dtype in (pl.Categorical, pl.Enum):
            cells = cells.cast(pl.String)
        if cells.dtype in (pl.String, pl.Binary):
            lengths = cells.str.len_bytes() if cells.dtype == pl.String else cells.bin.size()
            total += lengths.fill_null(0).to_numpy().astype(np.int64) - 8
        elif isinstance(cells.dtype, pl.List):
            total += 8 * cells.list.len().fill_null(0).to_numpy().astype(np.int64)
        elif isinstance(cells.dtype, pl.Array):
            total += 8 * int(np.prod(cells.dtype.shape))
    return total


def _rows(table: Table, start: int, n: int) -> Table:
    frame = table.frame.slice(start, n)
    lines = None if table.lines is None else Lines(table.lines.texts.slice(start, n), frame)
    return replace(table, frame=frame, lines=lines)


def _joined(tables: list[Table]) -> Table:
    if len(tables) == 1:
        return tables[0]
    frame = pl.concat([table.frame for table in tables])
    texts = [table.lines.texts for table in tables if table.lines is not None]
    return replace(tables[0], frame=frame, lines=Lines(pl.concat(texts), frame) if texts else None)
