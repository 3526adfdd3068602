"""Parquet and Arrow: columns in their own types; or why a file of them is damaged."""

from __future__ import annotations

import io
import os
import queue
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import polars as pl

from chary.tables.errors import TableError, reason
from chary.tables.formats.base import Appender, Batch, Format, Reading, as_columns, extended
from chary.tables.formats.packing import File, is_bomb
from chary.tables.memory import refuse_large
from chary.tables.table import Table, refuse_duplicates

# What Polars says of decimal256, which it does not read: of Parquet, of Arrow.
_TOO_WIDE = ("precision must be between", "Int256")
# Rows of a batch: as many as take about so many bytes in the file, within bounds.
_BATCH_BYTES, _FEWEST_ROWS, _MOST_ROWS = 8 << 20, 64, 2**15
# Memory that is used whatever the file is, and what is left to read it at least.
_FIXED, _LEAST_ROOM = 450 << 20, 64 << 20
_UNPACKED = 8  # bytes in memory for one of the file, with what Polars looks ahead
_NUMBER = re.compile(r"\b(?:Errno|os error) (\d+)")
_PATIENCE = 0.2  # seconds between two looks whether the writer still lives


class Parquet(Format):
    """Rows and columns are found without reading the others."""

    name, words, endings, magic = "parquet", "a Parquet file", (".parquet", ".pq"), (b"PAR1",)

    def read(self, file: File, how: Reading) -> Table:
        source = file.read() if file.packed or file.path is None else file.path
        with _damage_told(file.name, "Parquet"):
            frame = pl.read_parquet(source, glob=False, use_statistics=False, hive_partitioning=False)
        refuse_large(frame, file.name)
        return Table(frame, file.name)

    def in_batches(self, file: File) -> bool:
        return not file.packed

    def head(self, file: File, how: Reading) -> Table:
        with _damage_told(file.name, "Parquet"):
            empty = pl.DataFrame(schema=self._scanned(file).collect_schema())
        refuse_duplicates(empty.columns, file.name)
        return Table(empty, file.name)

    def batches(
        self, file: File, how: Reading, head: Table, columns: Sequence[str] | None, memory: int
    ) -> Iterator[Batch]:
        """Slices, each as many rows as fit in the memory by their size in the file: Polars looks far ahead."""
        lazy, n_rows = self._scanned(file), self.n_rows(file)
        if columns is not None:
            lazy = lazy.select(columns)
        per_row = file.size / max(1, n_rows)
        size = int(min(_MOST_ROWS, max(_FEWEST_ROWS, _BATCH_BYTES // per_row)))
        rows = max(size, int(max(_LEAST_ROOM, memory - _FIXED) / _UNPACKED / per_row))
        n_read = 0
        for start in range(0, n_rows, rows):
            part = lazy if rows >= n_rows else lazy.slice(start, rows)
            batches = iter(part.collect_batches(chunk_size=size, maintain_order=True))
            while True:
                with _damage_told(file.name, "Parquet"):
                    frame = next(batches, None)
                if frame is None:
                    break
                n_read += frame.height
                yield Batch(Table(frame, file.name), n_read / n_rows)

    def has_random_access(self, file: File) -> bool:
        return not file.packed

    def n_rows(self, file: File) -> int:
        with _damage_told(file.name, "Parquet"):
            return int(self._scanned(file).select(pl.len()).collect(engine="streaming").item())

    def rows(self, file: File, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        lazy = self._scanned(file).select(columns)
        with _damage_told(file.name, "Parquet"):
            return pl.concat([lazy.slice(number, 1).collect() for number in numbers])

    def holds(self, dtype: pl.DataType) -> bool:
        return dtype != pl.Object

    def write(self, table: Table, added: pl.DataFrame, stream: BinaryIO, first: bool = True) -> None:
        extended(table.frame, added).write_parquet(stream)

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        # The default level of compression, 3, takes up to twice the time and makes files a twentieth smaller.
        return _Columns(lambda lazy: lazy.sink_parquet(stream, row_group_size=group_rows, compression_level=1))

    def _scanned(self, file: File) -> pl.LazyFrame:
        source = io.BytesIO(file.data) if file.path is None else file.path
        return pl.scan_parquet(source, glob=False, use_statistics=False, hive_partitioning=False)


class Arrow(Format):
    """An Arrow file or stream (Feather version 2 is the former)."""

    name, words, endings = "arrow", "an Arrow file", (".arrow", ".feather", ".ipc")
    magic = (b"ARROW1", b"\xff\xff\xff\xff")  # a file; a stream

    def read(self, file: File, how: Reading) -> Table:
        data = file.read()
        try:
            size = _unpacked_size(data)
        except (struct.error, IndexError, OverflowError):
            raise TableError(
                f"{file.name} is a damaged Arrow file (it contradicts itself); write it again."
            ) from None
        if is_bomb(size, len(data)):
            raise TableError(
                f"{file.name} is a damaged Arrow file (it asks for {size >> 20:,} MiB); write it again."
            )
        with _damage_told(file.name, "Arrow"):
            frame = pl.read_ipc(data) if data.startswith(_MAGIC) else pl.read_ipc_stream(data)
        refuse_large(frame, file.name)
        return Table(frame, file.name, format=self.name)

    def holds(self, dtype: pl.DataType) -> bool:
        return dtype != pl.Object

    def write(self, table: Table, added: pl.DataFrame, stream: BinaryIO, first: bool = True) -> None:
        """Such that pandas and pyarrow read it too."""
        oldest = pl.CompatLevel.oldest()
        extended(table.frame, added).write_ipc(stream, compression="lz4", compat_level=oldest)

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        oldest = pl.CompatLevel.oldest()
        return _Columns(
            lambda lazy: lazy.sink_ipc(
                stream, compression="lz4", compat_level=oldest, record_batch_size=group_rows
            )
        )


@contextmanager
def _damage_told(name: str, kind: str) -> Iterator[None]:
    """Whatever a library says of a file, in one sentence."""
    why = "it contradicts itself"
    try:
        yield
        return
    except (Exception, pl.exceptions.PanicException) as error:
        if any(words in str(error) for words in _TOO_WIDE):
            raise TableError(
                f"{name} holds decimal numbers of 256 bits (decimal256), which chary does not read; write them as "
                "float64, or as decimal128 if 38 digits are enough."
            ) from None
        if isinstance(error, Exception) and "{" not in reason(error):  # else a program's own notes
            why = reason(error)
    raise TableError(f"{name} is a damaged {kind} file ({why}); write it again.")


class _Columns(Appender):
    """Polars writes in a thread of its own and takes the rows as they come."""

    def __init__(self, sink: Callable[[pl.LazyFrame], Any]) -> None:
        self.sink, self.pool = sink, ThreadPoolExecutor(1)
        self.waiting: queue.Queue[pl.DataFrame | None] = queue.Queue(1)
        self.writer: Future[Any] | None = None
        self.abandoned = False

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        from polars.io.plugins import register_io_source

        frame = extended(table.frame, as_columns(added))
        if self.writer is None:
            rows = register_io_source(self._rows, schema=frame.schema, is_pure=False)
            self.writer = self.pool.submit(self.sink, rows)
        self._put(frame)

    def close(self) -> None:
        if self.writer is not None:
            self._put(None)
            self._result()
        self.pool.shutdown()

    def abandon(self) -> None:
        self.abandoned = True
        with suppress(Exception):
            self._put(None)
        self.pool.shutdown()

    def _put(self, what: pl.DataFrame | None) -> None:
        while self.writer is not None:
            if self.writer.done():
                self._result()
                raise RuntimeError("The writer ended before its file.")
            with suppress(queue.Full):
                self.waiting.put(what, timeout=_PATIENCE)
                return

    def _result(self) -> None:
        """What the system said of a disk, Polars passes on as its own."""
        try:
            if self.writer is not None:
                self.writer.result()
        except pl.exceptions.PolarsError as error:
            found = _NUMBER.search(str(error))
            raise OSError(int(found[1]), os.strerror(int(found[1]))) if found else error from None

    def _rows(self, *_: Any) -> Iterator[pl.DataFrame]:
        while (frame := self.waiting.get()) is not None:
            yield frame
        if self.abandoned:
            raise InterruptedError("Nobody wants the file any more.")


# ---------------------------------------------------------------- how large an Arrow file says it will be
#
# A buffer has a size, for which Polars asks the system without looking further: where a bit of it is wrong, the
# whole program is ended. So the sizes are read and checked first. Metadata are FlatBuffers: a table begins with
# the distance back to the list of where its fields are.


_MAGIC, _MORE = b"ARROW1", b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages that hold cells


def _unpacked_size(data: bytes) -> int:
    """The sum of the sizes of all compressed buffers."""
    messages = _messages_of_file(data) if data.startswith(_MAGIC) else _messages_of_stream(data)
    return sum(_batch_size(data, message, body) for message, body in messages)


def _messages_of_stream(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each message is, and where its body begins: one after the other."""
    at = 0
    while data[at : at + 4] == _MORE:
        (size,) = struct.unpack_from("<i", data, at + 4)
        if size <= 0:
            return
        message, body = _table(data, at + 8), at + 8 + size
        yield message, body
        length = _field(data, message, 3, "<q")
        if length < 0:
            raise IndexError
        at = body + length


def _messages_of_file(data: bytes) -> Iterator[tuple[int, int]]:
    """The same, as the table of contents at the end of a file tells."""
    (size,) = struct.unpack_from("<i", data, len(data) - len(_MAGIC) - 4)
    start = len(data) - len(_MAGIC) - 4 - size
    if start < 0 or size <= 0 or not data.endswith(_MAGIC):
        raise IndexError
    footer = _table(data, start)
    for index in (2, 3):  # dictionaries, record batches
        for offset, length, _ in _structs(data, _child(data, footer, index), "<qi4xq"):
            if offset < 0 or length < 0:
                raise IndexError
            prefix = 8 if data[offset : offset + 4] == _MORE else 4
            yield _table(data, offset + prefix), offset + length


def _batch_size(data: bytes, message: int, body: int) -> int:
    """The sum of the sizes of the buffers of a message, which must lie within the file."""
    kind, batch = _field(data, message, 1, "<B"), _child(data, message, 2)
    if kind == _DICTIONARY:
        batch = _child(data, batch, 1)
    if kind not in (_DICTIONARY, _BATCH) or not batch:
        return 0
    is_compressed = bool(_child(data, batch, 3))
    buffers = _structs(data, _child(data, batch, 2), "<qq")
    total = 0
    for offset, length in buffers:
        if min(offset, length) < 0 or body + offset + length > len(data):
            raise IndexError
        size = struct.unpack_from("<q", data, body + offset)[0] if is_compressed and length >= 8 else length
        total += length if size == -1 else size  # -1: this one is not compressed
        if size < -1:
            raise IndexError
    shared = [
        count for (count,) in _structs(data, _child(data, batch, 4), "<q")
    ]  # buffers of each column of views
    if min(shared, default=0) < 0 or sum(shared) > len(buffers):
        raise IndexError
    rows = [length for length, _ in _structs(data, _child(data, batch, 1), "<qq")]
    if min(rows, default=0) < 0 or max(rows, default=0) > max(8 * total, _field(data, batch, 0, "<q")):
        raise IndexError
    return total


def _structs(data: bytes, at: int, form: str) -> list[tuple[int, ...]]:
    """A list of structs, which must lie within the file."""
    (count,) = struct.unpack_from("<I", data, at) if at else (0,)
    end = at + 4 + count * struct.calcsize(form)
    if end > len(data):
        raise IndexError
    return list(struct.iter_unpack(form, data[at + 4 : end])) if at else []


def _table(data: bytes, at: int) -> int:
    """Where the table is that an offset points to."""
    (offset,) = struct.unpack_from("<I", data, at)
    return int(at + offset)


def _place(data: bytes, table: int, index: int) -> int:
    """Where a field of a table is; 0: it has none."""
    (back,) = struct.unpack_from("<i", data, table)
    fields = table - back
    if fields < 0:
        raise IndexError
    (size,) = struct.unpack_from("<H", data, fields)
    if 4 + 2 * index >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, fields + 4 + 2 * index)
    return table + offset if offset else 0


def _field(data: bytes, table: int, index: int, form: str) -> Any:
    place = _place(data, table, index)
    return struct.unpack_from(form, data, place)[0] if place else 0


def _child(data: bytes, table: int, index: int) -> int:
    place = _place(data, table, index)
    return _table(data, place) if place else 0
