"""Rows of numbers in, more than memory holds; the same rows out, in order, as often as asked: from the disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Spool:
    """A file without a name, which is gone with the process, however that ends.

    Parameters
    ----------
    folder : path
        Where the file is: on a disk that has room for it.
    width : int
        Numbers of a row.
    dtype : dtype
        Of each.
    """

    def __init__(self, folder: str | os.PathLike[str], width: int, dtype: Any = np.float64) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - open until it is closed
        self.width, self.dtype, self.n_rows = width, np.dtype(dtype), 0

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows (n, width) after those before."""
        if rows.shape[1:] != (self.width,):
            raise ValueError(f"rows of shape {rows.shape} are not {self.width} wide.")
        self._file.write(np.ascontiguousarray(rows, dtype=self.dtype).tobytes())
        self.n_rows += len(rows)

    def read(self, start: int, n: int) -> NDArray[Any]:
        """Some rows (n, width), one after the other."""
        size = self.width * self.dtype.itemsize
        self._file.seek(start * size)
        data = self._file.read(max(0, min(n, self.n_rows - start)) * size)
        return np.frombuffer(data, dtype=self.dtype).reshape(-1, self.width)

    def blocks(self, n: int) -> Iterator[NDArray[Any]]:
        """All rows, so many at a time."""
        for start in range(0, self.n_rows, n):
            yield self.read(start, n)

    def close(self) -> None:
        """Give the room back."""
        self._file.close()
