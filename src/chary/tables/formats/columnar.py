"""Parquet: columns in their own types, found without reading others."""

from __future__ import annotations

import io
import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from chary.tables.formats.base import (
    Appender,
    Batch,
    Format,
    Reading,
    as_columns,
    with_added,
)
from chary.tables.formats.files import File, state_of
from chary.tables.formats.pages import has_sound_pages
from chary.tables.table import (
    Table,
    TableError,
    reason,
    refuse_beyond_memory,
    refuse_duplicates,
    refuse_large,
)

# Part of the error of Polars for decimal256, which it does not read.
_TOO_WIDE = "precision must be between"

# The rows of a batch take about this many bytes in the file.
_BATCH_BYTES = 8 << 20
# A batch has at least this many rows, however large they are.
_FEWEST_ROWS = 64
# A batch has at most this many rows, however small they are.
_MOST_ROWS = 2**15
# The process takes about this many bytes of memory, whatever the file is.
_FIXED_BYTES = 450 << 20
# The rows of a slice may take this many bytes of memory even if less is left.
_LEAST_ROOM = 64 << 20
# A byte of the file becomes about this many bytes in memory, with what Polars reads ahead.
_UNPACKED_GROWTH = 8
# After this many seconds without room for more rows, it is checked whether the writer is alive.
_PATIENCE = 0.2


class Parquet(Format):
    """Rows and columns are found without reading others."""

    name = "parquet"
    words = "a Parquet file"
    endings = (".parquet", ".pq")
    begins = b"PAR1"

    def read(self, file: File, reading: Reading) -> Table:
        """Read all rows."""
        content = _content(file)
        _refuse_unsound_pages(content, file.name)
        n_rows = self.n_rows(file)
        with _damage_reported(file.name):
            n_columns = len(_scan(file).collect_schema())
        # A small file can hold any number of equal cells, so the check comes before reading.
        refuse_beyond_memory(
            file.name, n_rows * n_columns * 8, "write it with fewer rows or columns"
        )
        with _damage_reported(file.name):
            frame = pl.read_parquet(
                content, glob=False, use_statistics=False, hive_partitioning=False
            )
        refuse_large(frame, file.name)
        return Table(frame, file.name)

    def head(self, file: File, reading: Reading) -> Table:
        """Read the columns and their types."""
        _refuse_unsound_pages(_content(file), file.name)
        with _damage_reported(file.name):
            empty = pl.DataFrame(schema=_scan(file).collect_schema())
        refuse_duplicates(empty.columns, file.name)
        return Table(empty, file.name)

    def batches(
        self, file: File, reading: Reading, head: Table, columns: Sequence[str] | None, memory: int
    ) -> Iterator[Batch]:
        """Read all rows in order, in slices that fit in the memory.

        Polars reads far ahead, but not beyond a slice. How large one is in memory is estimated by
        the size of the file.
        """
        lazy = _scan(file)
        if columns is not None:
            lazy = lazy.select(columns)
        n_rows = self.n_rows(file)
        row_bytes = file.size / max(1, n_rows)  # in the file
        batch_rows = max(_FEWEST_ROWS, _BATCH_BYTES // row_bytes)
        batch_rows = int(min(_MOST_ROWS, batch_rows))
        room = max(_LEAST_ROOM, memory - _FIXED_BYTES)
        slice_rows = int(room / _UNPACKED_GROWTH / row_bytes)
        slice_rows = max(batch_rows, slice_rows)

        n_read = 0
        for start in range(0, n_rows, slice_rows):
            part = lazy if slice_rows >= n_rows else lazy.slice(start, slice_rows)
            frames = iter(part.collect_batches(chunk_size=batch_rows, maintain_order=True))
            while True:
                with _damage_reported(file.name):
                    frame = next(frames, None)
                if frame is None:
                    break
                n_read += frame.height
                yield Batch(Table(frame, file.name), n_read / n_rows)

    def n_rows(self, file: File) -> int:
        """Count the rows."""
        with _damage_reported(file.name):
            return int(_scan(file).select(pl.len()).collect(engine="streaming").item())

    def rows(self, file: File, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """Read rows by their numbers from 0, in the given order.

        Consecutive rows are read at once: the numbers 7, 8, 9, 2 are two runs, (7, 8, 9) and (2).
        """
        lazy = _scan(file).select(columns)
        begins_run = np.diff(numbers) != 1
        run_starts = np.flatnonzero(begins_run) + 1
        runs = np.split(np.asarray(numbers), run_starts)
        frames = []
        with _damage_reported(file.name):
            for run in runs:
                first = int(run[0])
                frames.append(lazy.slice(first, len(run)).collect())
        return pl.concat(frames)

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """Make an appender, which writes rows to ``stream`` as they come."""
        # The default level of compression, 3, takes up to twice the time and makes files a
        # twentieth smaller.
        return _ParquetAppender(
            lambda lazy: lazy.sink_parquet(stream, row_group_size=group_rows, compression_level=1)
        )


def _content(file: File) -> bytes | Path:
    return file.data if file.path is None else file.path


def _scan(file: File) -> pl.LazyFrame:
    return pl.scan_parquet(
        io.BytesIO(file.data) if file.path is None else file.path,
        glob=False,
        use_statistics=False,
        hive_partitioning=False,
    )


def _refuse_unsound_pages(content: bytes | Path, name: str) -> None:
    """Refuse a file at which Polars would end the process."""
    if isinstance(content, bytes):
        is_sound = has_sound_pages(content)
    else:
        is_sound = _remember_sound_pages(content, state_of(content))
    if not is_sound:
        raise TableError(
            f"{name} is a damaged Parquet file (it contradicts itself); write it again."
        )


@lru_cache(maxsize=1000)
def _remember_sound_pages(path: Path, state: tuple[int, ...] | None) -> bool:
    """Call ``has_sound_pages`` once for each ``state`` of the file."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return has_sound_pages(data)


@contextmanager
def _damage_reported(name: str) -> Iterator[None]:
    """Turn any error of a library in the block into one sentence on the damaged file."""
    try:
        yield
        return
    except (Exception, pl.exceptions.PanicException) as error:
        if _TOO_WIDE in str(error):
            raise TableError(
                f"{name} holds decimal numbers of 256 bits; write them as float64 or decimal128."
            ) from None
        why = reason(error)
        # Braces show that the message is a dump of internals, which tells a user nothing.
        if not isinstance(error, Exception) or "{" in why:
            why = "it contradicts itself"
    raise TableError(f"{name} is a damaged Parquet file ({why}); write it again.")


class _ParquetAppender(Appender):
    """Writes rows to a Parquet file as they come.

    Polars asks for the rows that it writes, so it runs in a thread of its own, the writer.
    ``append`` puts rows into a queue, and the writer takes them out. The queue holds one frame, to
    keep the memory small.

    Parameters
    ----------
    sink : callable
        Writes all rows of a lazy frame to the file.
    """

    def __init__(self, sink: Callable[[pl.LazyFrame], Any]) -> None:
        self.sink = sink
        self.pool = ThreadPoolExecutor(1)
        self.frames: queue.Queue[pl.DataFrame | None] = queue.Queue(1)  # None ends the rows
        self.writer: Future[Any] | None = None  # None: nothing was appended yet
        self.is_abandoned = False

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        """Hand over rows, with columns added on the right; the first rows start the writer."""
        from polars.io.plugins import register_io_source

        frame = with_added(table.frame, as_columns(added))
        if self.writer is None:
            rows = register_io_source(self._rows, schema=frame.schema, is_pure=False)
            self.writer = self.pool.submit(self.sink, rows)
        self._put(frame)

    def close(self) -> None:
        """Wait until all rows are written."""
        if self.writer is not None:
            self._put(None)
            self.writer.result()  # raises the writer's own error
        self.pool.shutdown()

    def abandon(self) -> None:
        """End the writer with an error, whatever it has written."""
        self.is_abandoned = True
        with suppress(Exception):
            self._put(None)
        self.pool.shutdown()

    def _put(self, frame: pl.DataFrame | None) -> None:
        """Wait until the writer has taken the last rows, and hand over these.

        A writer that failed never takes them, so it is checked again and again while waiting.
        """
        while self.writer is not None:
            if self.writer.done():
                self.writer.result()  # raises the writer's own error
                raise RuntimeError("Writing stopped early.")
            with suppress(queue.Full):
                self.frames.put(frame, timeout=_PATIENCE)
                return

    def _rows(self, *_: Any) -> Iterator[pl.DataFrame]:
        """Give the writer the rows that are handed over; Polars calls this in the thread."""
        while (frame := self.frames.get()) is not None:
            yield frame
        if self.is_abandoned:
            raise InterruptedError("Writing was stopped.")
