"""The parts of a file in, cut as they came; blocks of rows out, cut by what the rows hold alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from chary.tables.memory import row_bytes, total_bytes
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
