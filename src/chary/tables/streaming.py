"""A file of any size in; its cells in parts, in order, as the whole would be read, out.

Parquet, CSV and JSON lines, also in gzip or alone in a ZIP archive, are never in memory as a whole. Other kinds
are, and refused if they are too large for it.
"""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from chary._words import Parameter
from chary.tables import contents
from chary.tables.contents import content_of, refuse_broken_promise, told_otherwise, words_for
from chary.tables.delimited import ends_of, read_records, require_delimiter, undecodable
from chary.tables.errors import TableError, reason
from chary.tables.jsonlines import common_schema, read_jsonlines
from chary.tables.packed import only_member, opened_zip_file, refuse_bomb_ratio
from chary.tables.reading import read_table, usable
from chary.tables.row_groups import RowGroup, row_groups
from chary.tables.table import Lines, Table

# Bytes of text read at a time, and those that one record may have at most.
_CHUNK, _MOST_RECORD = 4 << 20, 256 << 20
# Rows of Parquet read at a time: as many as take about so many bytes in the file, within bounds.
_PART_BYTES, _FEWEST_ROWS, _MOST_ROWS = 8 << 20, 64, 2**15
# Memory that is used whatever the file is, and what is left to read it at least.
_FIXED, _LEAST_ROOM = 350 << 20, 64 << 20
# A file that is read as a whole may have one byte for so many that may be used: unpacked and read it takes more.
_GROWTH = 12
_HEAD = 4096


class Part(NamedTuple):
    """Some rows of a file, one after the other."""

    table: Table
    share: float  # of the file that was read by now


@dataclass(frozen=True)
class Stream:
    """A file to be read once, from its beginning to its end."""

    table: Table  # how it is written, and its columns; it holds no row
    parts: Iterator[Part]


def stream_table(
    path: str | os.PathLike[str],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
    columns: Sequence[str] | None = None,
    memory: int = 1 << 31,
    name: str | None = None,
) -> Stream:
    """Read a file of any kind part by part; what is wrong with it is a ``TableError``, there or on the way.

    Parameters
    ----------
    path : path of one file
    delimiter, encoding, sheet : as in ``read_table``
    columns : sequence of str, default=None
        Parquet: the columns to read, those of them that there are; None: all.
    memory : int
        Bytes that a file may take that has to be read as a whole.
    name : str, default=None
        What to call it in sentences; None: by its name.
    """
    require_delimiter(delimiter)
    given = os.fspath(path)
    name, own = name or Path(given).name, Path(given).name
    if sheet is not None or not os.path.isfile(given):
        return _whole(given, memory, delimiter, encoding, sheet)
    content, packed = _look(Path(given), name)
    note = told_otherwise(packed or content, own)
    if content == contents.PARQUET and not packed and delimiter is None:
        stream = _parquet(Path(given), name, columns, memory)
    elif content in (contents.CSV, contents.JSONL):
        text = _Text(Path(given), name, packed, encoding)
        stream = _csv(text, delimiter) if content == contents.CSV else _jsonlines(text)
    else:
        return _whole(given, memory, delimiter, encoding, sheet)
    how = {"delimiter": delimiter, "encoding": None if encoding == "utf-8" else encoding}
    table = replace(
        stream.table,
        path=given,
        files=(given,),
        packed=packed,
        notes=() if note is None else (note,),
        read_with={key: value for key, value in how.items() if value is not None},
    )
    parts = _with_rows(stream.parts, name)
    first = next(parts)
    usable(replace(table, frame=first.table.frame))
    return Stream(table, chain([first], parts))


def file_kind(path: str | os.PathLike[str]) -> Table:
    """How a file is written, by its first bytes: a table without columns, for what one made of it is called."""
    given = os.fspath(path)
    content, packed = _look(Path(given), Path(given).name)
    delimiter = "," if content == contents.CSV else ""
    return Table(
        pl.DataFrame(), Path(given).name, delimiter, path=given, files=(given,), format=content, packed=packed
    )


def _with_rows(parts: Iterator[Part], name: str) -> Iterator[Part]:
    """Those that have some; a file in which none has is refused."""
    found = False
    for part in parts:
        if part.table.frame.height:
            found = True
            yield part
    if not found:
        raise TableError(f"{name} has a header and no rows; there is nothing to label.")


def _whole(given: str, memory: int, delimiter: str | None, encoding: str, sheet: str | None) -> Stream:
    size = os.path.getsize(given) if os.path.isfile(given) else 0
    if size * _GROWTH > memory:
        raise TableError(
            f"{Path(given).name} has to be read as a whole, and its {size >> 20:,} MiB take more memory than is "
            "allowed; write it as Parquet or CSV, or pass more with ",
            Parameter("memory"),
            ".",
        )
    table = read_table(given, delimiter=delimiter, encoding=encoding, sheet=sheet)
    return Stream(replace(table, frame=table.frame.clear(), lines=None), iter([Part(table, 1.0)]))


def _look(path: Path, name: str) -> tuple[str, str]:
    """What a file holds, and how that is packed: "", "gz" or "zip"; a workbook is a ZIP archive for now."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise TableError(f"{name} is empty; chary needs a header and rows.")
    content, promised = content_of(head, name), name
    if content == contents.GZIP:
        promised = name[:-3] if name.lower().endswith(".gz") else name
    elif content == contents.ZIP:
        member = only_member(path, name)
        if member is None:
            return contents.XLSX, ""
        promised = member
    packed = content if content in (contents.GZIP, contents.ZIP) else ""
    if packed:
        with _opened(path, name, packed) as (_, file):
            head = file.read(_HEAD)
        if not head:
            raise TableError(f"{name} holds nothing; chary needs a header and rows.")
        content = content_of(head, name)
        if content in (contents.GZIP, contents.ZIP):
            raise TableError(f"{name} holds {words_for(content)}, compressed twice; unpack it once.")
    refuse_broken_promise(content, head, name, promised)
    return content, packed


# ---------------------------------------------------------------- Parquet


def _parquet(path: Path, name: str, columns: Sequence[str] | None, memory: int) -> Stream:
    lazy = pl.scan_parquet(path, glob=False, use_statistics=False, hive_partitioning=False)
    with _one_sentence(name):
        schema = lazy.collect_schema()
        n_rows = int(lazy.select(pl.len()).collect().item())
    names = [one for one in schema.names() if columns is None or one in columns]
    table = Table(pl.DataFrame(schema={one: schema[one] for one in names}), name)
    groups = row_groups(path, names) or []
    if sum(group.n_rows for group in groups) != n_rows:
        groups = [RowGroup(n_rows, 0, 0)]  # as if there were one, and a small one: memory is watched on the way
    runs = list(_runs(groups, max(_LEAST_ROOM, memory - _FIXED), name))
    return Stream(table, _parquet_parts(lazy.select(names), runs, n_rows, path.stat().st_size, name))


class _Run(NamedTuple):
    """Rows that are read at a time."""

    start: int
    n_rows: int
    sliced: bool = False  # whether they are a part of a row group that is too large to be unpacked as a whole


def _runs(groups: list[RowGroup], room: int, name: str) -> Iterator[_Run]:
    """Whole row groups, as many as fit; one that does not fit is cut, as long as its bytes in the file do.

    Polars fetches what is in the file for a row group at once, also for some of its rows, and looks ahead.
    """
    start = n_rows = size = 0
    for group in groups:
        takes = group.packed + group.unpacked
        if n_rows and size + takes > room // 2:
            yield _Run(start, n_rows)
            start, n_rows, size = start + n_rows, 0, 0
        if takes > room // 2:
            if group.packed > 2 * room // 3:
                raise TableError(
                    f"{name} has a row group of {group.packed >> 20:,} MiB, more than can be read at once in the "
                    "memory allowed; write it in smaller row groups, or pass more with ",
                    Parameter("memory"),
                    ".",
                )
            pieces = -(-takes // max(1, room // 8))
            rows = max(1, -(-group.n_rows // pieces))
            for first in range(0, group.n_rows, rows):
                yield _Run(start + first, min(rows, group.n_rows - first), sliced=True)
            start += group.n_rows
        else:
            n_rows, size = n_rows + group.n_rows, size + takes
    if n_rows:
        yield _Run(start, n_rows)


def _parquet_parts(lazy: pl.LazyFrame, runs: list[_Run], n_rows: int, n_bytes: int, name: str) -> Iterator[Part]:
    size = min(_MOST_ROWS, max(_FEWEST_ROWS, _PART_BYTES * n_rows // max(1, n_bytes)))
    n_read = 0
    for run in runs:
        rows = lazy if len(runs) == 1 else lazy.slice(run.start, run.n_rows)
        for frame in _collected(rows, size, run.sliced, name):
            n_read += frame.height
            yield Part(Table(frame, name), n_read / max(1, n_rows))


def _collected(rows: pl.LazyFrame, size: int, sliced: bool, name: str) -> Iterator[pl.DataFrame]:
    """Rows of a lazy frame, so many at a time."""
    if sliced:
        with _one_sentence(name):
            frame = rows.collect(engine="streaming")
        yield from frame.iter_slices(size)
        return
    batches = iter(rows.collect_batches(chunk_size=size, maintain_order=True))
    while True:
        with _one_sentence(name):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


@contextmanager
def _one_sentence(name: str) -> Iterator[None]:
    why = "it contradicts itself"
    try:
        yield
        return
    except pl.exceptions.PanicException:
        pass
    except (pl.exceptions.PolarsError, OSError) as error:
        why = why if "{" in reason(error) else reason(error)
    raise TableError(f"{name} is a damaged Parquet file ({why}); write it again.")


# ---------------------------------------------------------------- text


class _Text(NamedTuple):
    """A text file, packed or not."""

    path: Path
    name: str
    packed: str
    encoding: str

    def chunks(self, told: _Told) -> Iterator[bytes]:
        """Its bytes as UTF-8, without a byte-order mark; ``told`` is told on the way what there is to tell."""
        size = max(1, self.path.stat().st_size)
        with _opened(self.path, self.name, self.packed) as (raw, file):
            head = file.read(_CHUNK)
            decode = _Decoder(head, self.encoding, self.name)
            told.bom, n_read = decode.bom, len(head)
            while head:
                following = file.read(_CHUNK)
                n_read += len(following)
                if self.packed:
                    refuse_bomb_ratio(n_read, size, self.name)
                told.share, told.last = min(1.0, raw.tell() / size) if following else 1.0, not following
                yield decode(head, last=not following)
                head = following


class _Told:
    """What is known of a text file so far."""

    bom, share, last = False, 0.0, False


class _Decoder:
    """Bytes of an encoding to those of UTF-8."""

    def __init__(self, head: bytes, encoding: str, name: str) -> None:
        self.bom = head.startswith(codecs.BOM_UTF8)
        if self.bom:
            encoding = "utf-8-sig"
        elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            encoding = "utf-16"
        undecodable(b"", encoding, name)  # refuses an encoding that nobody knows
        self.encoding, self.name, self.n_lines = encoding, name, 0
        self.decoder = codecs.getincrementaldecoder(encoding)()

    def __call__(self, data: bytes, last: bool) -> bytes:
        kept = self.decoder.getstate()[0]
        try:
            text = self.decoder.decode(data, last)
        except (UnicodeError, ValueError) as error:
            whole, start = kept + data, getattr(error, "start", 0)
            raise undecodable(whole[:start], self.encoding, self.name, self.n_lines) from None
        encoded = text.encode()
        self.n_lines += encoded.count(b"\n")
        return encoded


@contextmanager
def _opened(path: Path, name: str, packed: str) -> Iterator[tuple[BinaryIO, Any]]:
    """The file as it is, and what is in it."""
    with path.open("rb") as raw:
        try:
            if packed == contents.GZIP:
                with gzip.GzipFile(fileobj=raw) as file:
                    yield raw, file
            elif packed == contents.ZIP:
                with opened_zip_file(raw, name) as file:
                    yield raw, file
            else:
                yield raw, raw
        except EOFError:
            raise TableError(f"{name} is a gzip file that is cut off; copy or download it again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TableError(
                f"{name} is a damaged gzip file ({reason(error)}); copy or download it again."
            ) from None


def _csv(text: _Text, delimiter: str | None) -> Stream:
    told = _Told()
    parts = _csv_parts(text.chunks(told), told, text.name, delimiter)
    first = next(parts)
    table = replace(first.table, frame=first.table.frame.clear(), bom=told.bom)
    return Stream(table, chain([first], parts))


def _csv_parts(chunks: Iterator[bytes], told: _Told, name: str, delimiter: str | None) -> Iterator[Part]:
    """Whole records, each part read as a CSV of its own with the header of the file."""
    rest, header, separator, before, returns = b"", b"", None, 0, False
    for chunk in chunks:
        if not header and not rest:
            returns = b"\n" not in chunk  # as old programs end lines
        rest += chunk.replace(b"\r", b"\n") if returns else chunk
        first, end = ends_of(rest)
        if not told.last and (not end or (not header and end == first)):
            _refuse_endless(rest, name, before)
            continue
        data, rest = (rest, b"") if told.last else (rest[:end], rest[end:])
        if not header and not data.strip():
            raise TableError(f"{name} is empty; chary needs a header and rows.")
        if header and not data:
            continue
        table = read_records(header + data, name, delimiter, separator, before=before, last=told.last)
        before += data.count(b"\n")
        if not header:
            header, separator = data[:first], table.delimiter
            before -= header.count(b"\n")
        yield Part(table, told.share)


def _jsonlines(text: _Text) -> Stream:
    """Types are those of all lines: they are looked at twice."""
    schema: dict[str, pl.DataType] | None = None
    for part in _line_parts(text, None):
        schema = common_schema(schema, part.table.frame.schema, text.name)
    if schema is None:
        raise TableError(f"{text.name} is empty; chary needs rows.")
    table = Table(pl.DataFrame(schema=schema), text.name, format="jsonl")
    return Stream(table, _line_parts(text, schema))


def _line_parts(text: _Text, schema: dict[str, pl.DataType] | None) -> Iterator[Part]:
    told, rest, before = _Told(), b"", 0
    for chunk in text.chunks(told):
        rest += chunk
        end = len(rest) if told.last else rest.rfind(b"\n") + 1
        if not end:
            _refuse_endless(rest, text.name, before)
            continue
        data, rest = rest[:end], rest[end:]
        if data.strip():
            table = read_jsonlines(data, text.name, before)
            if schema is not None:
                frame = _typed(table.frame, schema)
                table = replace(table, frame=frame, lines=Lines(table.lines.texts, frame) if table.lines else None)
            yield Part(table, told.share)
        before += data.count(b"\n")


def _typed(frame: pl.DataFrame, schema: dict[str, pl.DataType]) -> pl.DataFrame:
    height, own = frame.height, set(frame.columns)
    nothing = [
        pl.Series(name, [None], dtype=dtype).new_from_index(0, height)
        for name, dtype in schema.items()
        if name not in own
    ]
    return frame.with_columns(nothing).select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def _refuse_endless(rest: bytes, name: str, before: int) -> None:
    if len(rest) > _MOST_RECORD:
        raise TableError(
            f"{name}, line {before + 2:,}: a row of more than {_MOST_RECORD >> 20} MiB; perhaps a quote is opened "
            "and never closed: close it, or double it if it belongs to the text."
        )
