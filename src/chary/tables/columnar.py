"""A Parquet or Arrow file in; its columns in their own types, or why it is damaged, out; and Arrow written."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from chary.tables.errors import TableError, reason
from chary.tables.packed import is_bomb

_MAGIC, _MORE = b"ARROW1", b"\xff\xff\xff\xff"
_DICTIONARY, _BATCH = 2, 3  # kinds of messages that hold cells
# What Polars says of decimal256, which it does not read: of Parquet, of Arrow.
_TOO_WIDE = ("precision must be between", "Int256")


def read_parquet(source: Path | bytes, name: str) -> pl.DataFrame:
    """The columns of a Parquet file."""
    return _read(
        lambda: pl.read_parquet(source, glob=False, use_statistics=False, hive_partitioning=False), name, "Parquet"
    )


def read_arrow(data: bytes, name: str) -> pl.DataFrame:
    """The columns of an Arrow file or stream (Feather version 2 is the former)."""
    try:
        size = _unpacked_size(data)
    except (struct.error, IndexError, OverflowError):
        raise TableError(f"{name} is a damaged Arrow file (it contradicts itself); write it again.") from None
    if is_bomb(size, len(data)):
        raise TableError(f"{name} is a damaged Arrow file (it asks for {size >> 20:,} MiB); write it again.")
    is_file = data.startswith(_MAGIC)
    return _read(lambda: pl.read_ipc(data) if is_file else pl.read_ipc_stream(data), name, "Arrow")


def write_arrow(frame: pl.DataFrame, file: BinaryIO) -> None:
    """Write an Arrow file that pandas and pyarrow read too."""
    frame.write_ipc(file, compression="lz4", compat_level=pl.CompatLevel.oldest())


def refuse_wide_decimals(error: BaseException, name: str) -> None:
    """Say so if a file could not be read because of decimal numbers that are too wide: it is not damaged."""
    if any(words in str(error) for words in _TOO_WIDE):
        raise TableError(
            f"{name} holds decimal numbers of 256 bits (decimal256), which chary does not read; write them as "
            "float64, or as decimal128 if 38 digits are enough."
        ) from None


def _read(read: Callable[[], pl.DataFrame], name: str, kind: str) -> pl.DataFrame:
    why = "it contradicts itself"
    try:
        return read()
    except pl.exceptions.PanicException as error:
        refuse_wide_decimals(error, name)
    except Exception as error:
        refuse_wide_decimals(error, name)
        why = why if "{" in reason(error) else reason(error)  # a program's own notes, which tell nobody anything
    raise TableError(f"{name} is a damaged {kind} file ({why}); write it again.")


# ---------------------------------------------------------------- how large an Arrow file says it will be
#
# A buffer has a size, for which Polars asks the system without looking further: where a bit of it is wrong, the
# whole program is ended. So the sizes are read and checked first. Metadata are FlatBuffers: a table begins with
# the distance back to the list of where its fields are.


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
