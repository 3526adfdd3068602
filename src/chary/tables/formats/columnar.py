"""Parquet: columns in their own types; or why a file of them is damaged."""

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
    File,
    Format,
    Reading,
    Wanted,
    as_columns,
    state_of,
    with_added,
)
from chary.tables.formats.pages import has_sound_pages
from chary.tables.table import (
    Table,
    TableError,
    reason,
    refuse_beyond_memory,
    refuse_duplicates,
    refuse_large,
)

_TOO_WIDE = "precision must be between"  # what Polars says of decimal256, which it does not read
# Rows of a batch: as many as take about so many bytes in the file, within bounds.
_BATCH_BYTES, _FEWEST_ROWS, _MOST_ROWS = 8 << 20, 64, 2**15
# Memory that is used whatever the file is, and what is left to read it at least.
_FIXED, _LEAST_ROOM = 450 << 20, 64 << 20
_UNPACKED = 8  # bytes in memory for one of the file, with what Polars looks ahead
_PATIENCE = 0.2  # seconds between two looks whether the writer still lives


class Parquet(Format):
    """Rows and columns are found without reading the others."""

    name, words, endings, begins = "parquet", "a Parquet file", (".parquet", ".pq"), b"PAR1"

    def read(self, file: File, how: Reading) -> Table:
        source = file.data if file.path is None else file.path
        _refuse_unsound_pages(source, file.name)
        with _damage_told(file.name):
            lazy = _scan(source)
            n_rows = int(lazy.select(pl.len()).collect(engine="streaming").item())
            n_columns = len(lazy.collect_schema())
        # Few bytes can stand for any number of equal cells.
        refuse_beyond_memory(
            file.name, n_rows * n_columns * 8, "write it with fewer rows or columns"
        )
        with _damage_told(file.name):
            frame = pl.read_parquet(
                source, glob=False, use_statistics=False, hive_partitioning=False
            )
        refuse_large(frame, file.name)
        return Table(frame, file.name)

    def head(self, file: File, how: Reading) -> Table:
        _refuse_unsound_pages(file.data if file.path is None else file.path, file.name)
        with _damage_told(file.name):
            empty = pl.DataFrame(schema=self._scanned(file).collect_schema())
        refuse_duplicates(empty.columns, file.name)
        return Table(empty, file.name)

    def batches(
        self, file: File, how: Reading, head: Table, wanted: Wanted, memory: int
    ) -> Iterator[Batch]:
        """Slices, each as many rows as fit in the memory by their size in the file: Polars looks far ahead."""
        lazy, n_rows = self._scanned(file), self.n_rows(file)
        lazy = lazy if wanted is None else lazy.select(wanted)
        per_row = file.size / max(1, n_rows)
        size = int(min(_MOST_ROWS, max(_FEWEST_ROWS, _BATCH_BYTES // per_row)))
        rows = max(size, int(max(_LEAST_ROOM, memory - _FIXED) / _UNPACKED / per_row))
        n_read = 0
        for start in range(0, n_rows, rows):
            part = lazy if rows >= n_rows else lazy.slice(start, rows)
            batches = iter(part.collect_batches(chunk_size=size, maintain_order=True))
            while True:
                with _damage_told(file.name):
                    frame = next(batches, None)
                if frame is None:
                    break
                n_read += frame.height
                yield Batch(Table(frame, file.name), n_read / n_rows)

    def n_rows(self, file: File) -> int:
        """How many there are."""
        with _damage_told(file.name):
            return int(self._scanned(file).select(pl.len()).collect(engine="streaming").item())

    def rows(self, file: File, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """Some rows, by number from 0, in this order; neighbours are read at once, and no others."""
        lazy = self._scanned(file).select(columns)
        runs = np.split(np.asarray(numbers), np.flatnonzero(np.diff(numbers) != 1) + 1)
        with _damage_told(file.name):
            return pl.concat([lazy.slice(int(run[0]), len(run)).collect() for run in runs])

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        # The default level of compression, 3, takes up to twice the time and makes files a
        # twentieth smaller.
        return _Columns(
            lambda lazy: lazy.sink_parquet(stream, row_group_size=group_rows, compression_level=1)
        )

    def _scanned(self, file: File) -> pl.LazyFrame:
        return _scan(file.data if file.path is None else file.path)


def _scan(source: bytes | Path) -> pl.LazyFrame:
    content = io.BytesIO(source) if isinstance(source, bytes) else source
    return pl.scan_parquet(content, glob=False, use_statistics=False, hive_partitioning=False)


def _refuse_unsound_pages(source: bytes | Path, name: str) -> None:
    """Refuse a file at which Polars would end the process."""
    if not (
        has_sound_pages(source)
        if isinstance(source, bytes)
        else _has_sound_pages(source, state_of(source))
    ):
        raise TableError(
            f"{name} is a damaged Parquet file (it contradicts itself); write it again."
        )


@lru_cache(maxsize=1000)
def _has_sound_pages(path: Path, state: tuple[int, ...] | None) -> bool:
    """Look at the pages of a file, which is opened several times, once for each state it is in."""
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        return has_sound_pages(data)


@contextmanager
def _damage_told(name: str) -> Iterator[None]:
    """Whatever a library says of a file, in one sentence."""
    why = "it contradicts itself"
    try:
        yield
        return
    except (Exception, pl.exceptions.PanicException) as error:
        if _TOO_WIDE in str(error):
            raise TableError(
                f"{name} holds decimal numbers of 256 bits; write them as float64 or decimal128."
            ) from None
        if isinstance(error, Exception) and "{" not in reason(error):  # else a program's own notes
            why = reason(error)
    raise TableError(f"{name} is a damaged Parquet file ({why}); write it again.")


class _Columns(Appender):
    """Polars writes in a thread of its own and takes the rows as they come."""

    def __init__(self, sink: Callable[[pl.LazyFrame], Any]) -> None:
        self.sink, self.pool = sink, ThreadPoolExecutor(1)
        self.waiting: queue.Queue[pl.DataFrame | None] = queue.Queue(1)
        self.writer: Future[Any] | None = None
        self.abandoned = False

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        from polars.io.plugins import register_io_source

        frame = with_added(table.frame, as_columns(added))
        if self.writer is None:
            rows = register_io_source(self._rows, schema=frame.schema, is_pure=False)
            self.writer = self.pool.submit(self.sink, rows)
        self._put(frame)

    def close(self) -> None:
        if self.writer is not None:
            self._put(None)
            self.writer.result()
        self.pool.shutdown()

    def abandon(self) -> None:
        self.abandoned = True
        with suppress(Exception):
            self._put(None)
        self.pool.shutdown()

    def _put(self, what: pl.DataFrame | None) -> None:
        while self.writer is not None:
            if self.writer.done():
                self.writer.result()
                raise RuntimeError("Writing stopped early.")
            with suppress(queue.Full):
                self.waiting.put(what, timeout=_PATIENCE)
                return

    def _rows(self, *_: Any) -> Iterator[pl.DataFrame]:
        while (frame := self.waiting.get()) is not None:
            yield frame
        if self.abandoned:
            raise InterruptedError("Writing was stopped.")
