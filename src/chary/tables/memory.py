"""A table in; what its cells take in memory out, and a refusal if that is more than there is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown
from chary.tables.errors import TableError

# Bytes that are needed for one of a cell: cells of a dictionary share theirs until something is made of them.
_GROWTH = 3
_GROUP = Path("/sys/fs/cgroup")
_TEXTS = (pl.String, pl.Binary, pl.Categorical, pl.Enum)


def free_memory() -> int:
    """Bytes that are free now, on this machine or in this container; two gibibytes where nobody tells."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")]
    with suppress(OSError, ValueError):
        used = int((_GROUP / "memory.current").read_text())
        with suppress(OSError, ValueError, IndexError):  # of files that were read, and would make room
            lines = (_GROUP / "memory.stat").read_text().splitlines()
            used -= sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        found.append(int((_GROUP / "memory.max").read_text()) - used)
    return max(0, min(found, default=2 << 30))


def refuse_large(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table that is small in its file and too large for memory once its cells are looked at."""
    size = total_bytes(frame)
    if size * _GROWTH <= (free := free_memory()):
        return
    longest = max(frame, key=lambda cells: total_bytes(cells.to_frame())).name
    raise TableError(
        f"{name} holds {size >> 20:,} MiB of cells, and what is made of them would take more than the "
        f"{free >> 20:,} MiB of memory that are free; write it with fewer rows, or without {shown(longest)}, its "
        "longest column."
    )


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
