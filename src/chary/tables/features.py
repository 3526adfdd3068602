"""A frame and a NumPy file of numbers, a row for each of its rows, in; the frame with them as a column out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._files import why_unreadable
from chary._words import Parameter, shown
from chary.tables.errors import TableError
from chary.tables.table import MAX_COLUMNS

# The column that the numbers become; a model knows by it that it learned from such a file.
FEATURES = "(features)"


def with_features(
    frame: pl.DataFrame, path: str | os.PathLike[str] | None, known: Sequence[str] | None = None
) -> pl.DataFrame:
    """The frame and a column more, of lists of numbers; without a file, the frame.

    ``known`` are the columns that a model learned from; with or without such a file as it learned, no otherwise.
    """
    if known is not None and path is None and FEATURES in known and FEATURES not in frame.columns:
        raise TableError(
            "The model learned from a NumPy file of features beside the table; give one for these rows with ",
            Parameter("features"),
            ".",
        )
    if path is None:
        return frame
    if known is not None and FEATURES not in known:
        raise TableError("The model learned from no file of features; leave ", Parameter("features"), " out.")
    if FEATURES in frame.columns:
        raise TableError(f"The table has a column {shown(FEATURES)} already; rename it.")
    numbers = read_features(path, frame.height)
    return frame.with_columns(pl.Series(FEATURES, numbers, dtype=pl.Array(_dtype(numbers), numbers.shape[1])))


def read_features(path: str | os.PathLike[str], n_rows: int) -> NDArray[np.float32 | np.float64]:
    """The numbers (n_rows, d) of a NumPy file; nothing but numbers is read, and nothing in it is executed."""
    name = Path(path).name
    if sentence := why_unreadable(Path(path)):
        raise TableError(sentence)
    try:
        with Path(path).open("rb") as file:
            is_numpy = file.read(6) == b"\x93NUMPY"
        if not is_numpy:
            raise TableError(f"{name} is no NumPy file (.npy); write it with numpy.save.")
        # Mapped, a file cannot claim to hold more than it does.
        numbers = np.load(path, mmap_mode="r", allow_pickle=False)
    except TableError:
        raise
    except Exception:
        raise TableError(
            f"{name} is damaged, or holds something else than numbers; write numbers with numpy.save."
        ) from None
    return _checked(numbers, name, n_rows)


def _checked(numbers: NDArray[np.generic], name: str, n_rows: int) -> NDArray[np.float32 | np.float64]:
    if numbers.dtype.kind not in "fiub":
        raise TableError(f"{name} holds {numbers.dtype.name} values; write numbers with numpy.save.")
    if numbers.ndim not in (1, 2) or not numbers.size:
        raise TableError(
            f"{name} is of shape {numbers.shape}; a row of numbers for each row of the table is needed."
        )
    if len(numbers) != n_rows:
        raise TableError(f"{name} has {len(numbers):,} rows and the table {n_rows:,}; they must be the same rows.")
    table = numbers.reshape(n_rows, -1)
    if table.shape[1] > MAX_COLUMNS:
        raise TableError(
            f"{name} has {table.shape[1]:,} numbers for each row; chary takes up to {MAX_COLUMNS:,}: make fewer "
            "of them, by a principal component analysis for example."
        )
    single = numbers.dtype in (np.float16, np.float32)
    return np.ascontiguousarray(table, np.float32 if single else np.float64)


def _dtype(numbers: NDArray[np.float32 | np.float64]) -> type[pl.DataType]:
    return pl.Float32 if numbers.dtype == np.float32 else pl.Float64
