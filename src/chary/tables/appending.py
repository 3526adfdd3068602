"""Tables in, one after the other; one file out that grows by each of them, as if they had been written at once."""

from __future__ import annotations

import io
import os
import queue
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, BinaryIO

import polars as pl

from chary.tables.jsonlines import write_jsonlines
from chary.tables.packed import packing
from chary.tables.table import Table
from chary.tables.workbooks import write_workbook
from chary.tables.writing import require_writable, write_csv

# Rows of a row group of Parquet, or of a record batch of Arrow.
GROUP_ROWS = 2**17
_PIECE = 1 << 20
_NUMBER = re.compile(r"\b(?:Errno|os error) (\d+)")
_PATIENCE = 0.2  # seconds between two looks whether the writer still lives


class Appender:
    """A file that takes tables of the same columns; ``close`` completes it."""

    def append(self, table: Table, added: Mapping[str, pl.Series]) -> None:
        """Write rows, with columns added on the right."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what is still to be written."""

    def abandon(self) -> None:
        """The file is not wanted any more."""


@contextmanager
def appending(table: Table, file: BinaryIO, group_rows: int = GROUP_ROWS) -> Iterator[Appender]:
    """Open a file that is written as the table is, or as ``Table.written_as`` says."""
    require_writable(table)
    with packing(file, table.packed, f"{table.stem}.{table.format}") as packed:
        stream: Any = _Even(packed) if table.packed else packed
        kind = {"csv": _Csv, "jsonl": _Lines, "xlsx": _Workbook}.get(table.format)
        appender: Appender = _Columns(table.format, stream, group_rows) if kind is None else kind(stream)
        try:
            yield appender
            appender.close()
            if table.packed:
                stream.finish()
        except BaseException:
            appender.abandon()
            raise


class _Even(io.RawIOBase):
    """Bytes passed on in pieces of one size: what compression makes of them depends on where they are cut."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.held = file, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.held += data
        while len(self.held) >= _PIECE:
            self.file.write(bytes(self.held[:_PIECE]))
            del self.held[:_PIECE]
        return len(data)

    def finish(self) -> None:
        self.file.write(bytes(self.held))
        self.held.clear()


class _Csv(Appender):
    def __init__(self, file: BinaryIO) -> None:
        self.file, self.first = file, True

    def append(self, table: Table, added: Mapping[str, pl.Series]) -> None:
        frame = _extended(table.frame, added)
        write_csv(replace(table, bom=table.bom and self.first), frame, list(added), self.file, header=self.first)
        self.first = False


class _Lines(Appender):
    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def append(self, table: Table, added: Mapping[str, pl.Series]) -> None:
        more = pl.DataFrame([column.alias(name) for name, column in added.items()])
        write_jsonlines(table, more, self.file)


class _Workbook(Appender):
    """A sheet is written at once; it has no more than a million rows."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.parts: list[pl.DataFrame] = []

    def append(self, table: Table, added: Mapping[str, pl.Series]) -> None:
        self.parts.append(_extended(table.frame, added))

    def close(self) -> None:
        frame = pl.concat(self.parts)
        require_writable(Table(frame, "the table", format="xlsx"))
        write_workbook(frame, self.file)


class _Columns(Appender):
    """Parquet or Arrow: Polars writes in a thread of its own and takes the rows as they come."""

    def __init__(self, format: str, file: BinaryIO, group_rows: int) -> None:
        self.format, self.file, self.group_rows = format, file, group_rows
        self.waiting: queue.Queue[pl.DataFrame | BaseException | None] = queue.Queue(1)
        self.thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def append(self, table: Table, added: Mapping[str, pl.Series]) -> None:
        frame = _extended(table.frame, added)
        if self.thread is None:
            self.thread = threading.Thread(target=self._write, args=(frame.schema,), daemon=True)
            self.thread.start()
        self._put(frame)

    def close(self) -> None:
        if self.thread is not None:
            self._put(None)
            self.thread.join()
        if self.error is not None:
            raise self.error

    def abandon(self) -> None:
        with suppress(BaseException):
            self._put(_AbandonedError())
        if self.thread is not None:
            self.thread.join()

    def _put(self, what: pl.DataFrame | BaseException | None) -> None:
        while self.thread is not None:
            if not self.thread.is_alive():
                raise self.error or RuntimeError("The writer ended before its file.")
            with suppress(queue.Full):
                self.waiting.put(what, timeout=_PATIENCE)
                return

    def _write(self, schema: Any) -> None:
        from polars.io.plugins import register_io_source

        try:
            lazy = register_io_source(self._rows, schema=schema, is_pure=False)
            if self.format == "arrow":
                oldest = pl.CompatLevel.oldest()
                lazy.sink_ipc(self.file, compression="lz4", compat_level=oldest, record_batch_size=self.group_rows)
            else:
                # Its default, level 3, takes up to twice the time and makes files a twentieth smaller.
                lazy.sink_parquet(self.file, row_group_size=self.group_rows, compression_level=1)
        except pl.exceptions.PolarsError as error:
            self.error = _of_the_system(error)
        except BaseException as error:
            self.error = error

    def _rows(self, *_: Any) -> Iterator[pl.DataFrame]:
        while (what := self.waiting.get()) is not None:
            if isinstance(what, BaseException):
                raise what
            yield what


def _of_the_system(error: pl.exceptions.PolarsError) -> Exception:
    """What the system said of a disk, where Polars passes it on as its own."""
    found = _NUMBER.search(str(error))
    return OSError(int(found[1]), os.strerror(int(found[1]))) if found else error


class _AbandonedError(Exception):
    """Nobody wants the file any more."""


def _extended(frame: pl.DataFrame, added: Mapping[str, pl.Series]) -> pl.DataFrame:
    more = [column.alias(name) for name, column in added.items()]
    taken = any(name in frame.columns for name in added)
    return frame.with_columns(more) if taken or not frame.width else frame.hstack(more)  # asks no busy thread
