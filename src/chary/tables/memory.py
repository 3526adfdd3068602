"""How much memory a table takes, and how much is free."""

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


def free_memory() -> int:
    """Bytes that are free now, on this machine or in this container."""
    import psutil

    found = [int(psutil.virtual_memory().available)]
    with suppress(OSError, ValueError, StopIteration):
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        found.append(limit - used)
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        # Files that were read, and would make room.
        found[1] += next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return max(0, min(found))


def resident_bytes() -> int:
    """Memory of this process, without that of files where the system tells it apart."""
    import psutil

    info = psutil.Process().memory_info()
    return int(info.rss - getattr(info, "shared", 0))


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


def total_bytes(frame: pl.DataFrame) -> int:
    """What all cells take: the sum of ``row_bytes``."""
    return int(row_bytes(frame).sum())


def row_bytes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """What the cells of each row take, whatever they are kept in: text its length, anything else eight bytes.

    >>> row_bytes(pl.DataFrame({"a": [1, 2], "b": ["xyz", None]})).tolist()
    [11, 8]
    """
    total = np.zeros(frame.height, np.int64)
    for cells in frame:
        total += _cell_bytes(cells)
    return total


def _cell_bytes(cells: pl.Series) -> int | NDArray[np.int64]:
    """What each cell of a column takes; one number where all take the same."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if isinstance(cells.dtype, pl.Array):
        return 8 + 8 * int(np.prod(cells.dtype.shape))
    if isinstance(cells.dtype, pl.List):
        sizes = 8 + 8 * cells.list.len().cast(pl.Int64).fill_null(0)
    elif cells.dtype == pl.String:
        sizes = cells.str.len_bytes().fill_null(0)
    elif cells.dtype == pl.Binary:
        sizes = cells.bin.size().fill_null(0)
    else:
        return 8
    return sizes.to_numpy().astype(np.int64)
