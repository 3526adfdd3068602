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
_TEXTS = (pl.String, pl.Binary, pl.Categorical, pl.Enum)


def in_blocks(parts: Iterator[Part], n_rows: int, most_bytes: int = MOST_BYTES) -> Iterator[Part]:
    """So many rows at a time, or fewer where their cells take more than so many bytes; one at least.

    Where a block begins depends on the rows before it, not on the parts: a file that is written in other row
    groups has the same blocks.
    """
    held: list[Table] = []
    rows = size = 0
    for part in parts:
        start, height = 0, part.table.frame.height
        while start < height:
            taken = _rows(part.table, start, min(n_rows - rows, height - start))
            more = total_bytes(taken.frame)
            if size + more > most_bytes:  # one row at least
                ends = np.cumsum(row_bytes(taken.frame))
                fits = int(np.searchsorted(ends, most_bytes - size, side="right"))
                taken = _rows(taken, 0, max(fits, 0 if rows else 1))
                more = total_bytes(taken.frame)
            if taken.frame.height:
                held.append(taken)
                rows, start, size = rows + taken.frame.height, start + taken.frame.height, size + more
            if rows == n_rows or start < height:
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
        if (more := _beyond_eight(cells)) is not None:
            total += more.fill_null(0).to_numpy().astype(np.int64)
            total -= 8 * (cells.dtype in _TEXTS)
    return total


def total_bytes(frame: pl.DataFrame) -> int:
    """The sum of ``row_bytes``, quicker.

    >>> total_bytes(pl.DataFrame({"a": [1, 2], "b": ["xyz", None]}))
    19
    """
    total = 8 * frame.width * frame.height
    for cells in frame:
        if (more := _beyond_eight(cells)) is not None:
            total += int(more.sum() or 0) - 8 * frame.height * (cells.dtype in _TEXTS)
    return total


def _beyond_eight(cells: pl.Series) -> pl.Series | None:
    """Bytes of each cell of text, null where there is none; of lists, what they take beyond eight."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        return cells.str.len_bytes()
    if cells.dtype == pl.Binary:
        return cells.bin.size()
    if isinstance(cells.dtype, pl.List):
        return 8 * cells.list.len().cast(pl.Int64)
    if isinstance(cells.dtype, pl.Array):
        return pl.Series([8 * int(np.prod(cells.dtype.shape))], dtype=pl.Int64).new_from_index(0, len(cells))
    return None


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
