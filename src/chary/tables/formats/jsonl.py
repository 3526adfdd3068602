"""JSON lines: an object on each line, cells of their own types.

A key that a line lacks is an empty cell. Lines that are written back are as they were, with further keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from chary._words import shown
from chary.tables.formats.base import (
    CHUNK,
    Appender,
    Batch,
    File,
    Format,
    Reading,
    Wanted,
    refuse_endless,
    text_chunks,
    with_added,
)
from chary.tables.table import Lines, Table, TableError, cast_to, common_schema, reason

# Deeper, and Polars takes minutes, or runs out of stack, which ends the process.
_MOST_LEVELS = 32
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ORDER_ROWS = 1000  # so many lines tell the order of the columns


class Jsonl(Format):
    """Types are those of all lines, so that reading it in batches takes two looks."""

    name, words, endings = "jsonl", "JSON lines", (".jsonl", ".ndjson")
    begins = rb"(?:\xef\xbb\xbf)?\s*\{\s*[\"}]"  # an object

    def read(self, file: File, how: Reading) -> Table:
        return next(_batches(file, how, None)).table

    def in_batches(self, file: File) -> bool:
        return True

    def head(self, file: File, how: Reading) -> Table:
        seen = pl.DataFrame()
        for batch in _batches(file, how, CHUNK):
            seen = pl.DataFrame(schema=common_schema([seen, batch.table.frame], file.name))
        return Table(seen, file.name, format=self.name)

    def batches(self, file: File, how: Reading, head: Table, wanted: Wanted, memory: int) -> Iterator[Batch]:
        for table, share in _batches(file, how, CHUNK):
            yield Batch(table.with_frame(cast_to(table.frame, head.frame.schema, file.name)), share)

    def holds(self, dtype: pl.DataType) -> bool:
        return all(self.holds(part) for part in _parts_of(dtype)) and dtype not in (pl.Binary, pl.Object)

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        return Appender(stream, _write)


def _write(table: Table, added: pl.DataFrame, stream: BinaryIO, first: bool) -> None:
    """Lines as they were with the added keys last; a table that was no JSON lines is written anew."""
    lines = table.lines
    if lines is None or lines.frame is not table.frame or set(added.columns) & set(table.frame.columns):
        with_added(table.frame, added).write_ndjson(stream)
        return
    whole = lines.texts
    if added.width:
        keys = added.select(pl.struct(pl.all()).struct.json_encode().str.slice(1)).to_series()
        opened = whole.str.strip_chars().str.strip_suffix("}").str.strip_chars_end()
        comma = pl.when(opened == "{").then(pl.lit("")).otherwise(pl.lit(", "))
        whole = pl.select(pl.concat_str([pl.lit(opened), comma, pl.lit(keys)])).to_series()
    for part in range(0, len(whole), 100_000):
        stream.write(("\n".join(whole[part : part + 100_000].to_list()) + "\n").encode())


def _batches(file: File, how: Reading, size: int | None) -> Iterator[Batch]:
    """Whole lines, each batch in the types that it has by itself."""
    rest, before, found = b"", 0, False
    for chunk in text_chunks(file, how.encoding or "utf-8", size):
        rest += chunk.data
        end = len(rest) if chunk.last else rest.rfind(b"\n") + 1
        if not end and not chunk.last:
            refuse_endless(rest, file.name, before)
            continue
        data, rest = rest[:end], rest[end:]
        if data.strip():
            found = True
            yield Batch(_read_lines(data, file.name, before), chunk.share)
        before += data.count(b"\n")
    if not found:
        raise TableError(f"{file.name} is empty; chary needs rows.")


def _read_lines(data: bytes, name: str, before: int = 0) -> Table:
    """Read JSON lines, which are UTF-8; what is wrong with them is said with its line, after ``before`` others."""
    texts = pl.Series("line", data.decode().split("\n"), dtype=pl.String)
    _refuse_many_levels(texts, name, before)
    texts = texts.filter(texts.str.strip_chars() != "")
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        _refuse_first_odd_line(data, name, before)
        raise TableError(f"{name} cannot be read as JSON lines ({reason(error)}); write it again.") from None
    if frame.height != len(texts):
        _refuse_first_odd_line(data, name, before)
        raise TableError(f"{name} has lines that hold more than one object; put each on a line of its own.")
    frame = frame.select(_in_order(frame.columns, texts))
    return Table(frame, name, format="jsonl", lines=Lines(texts, frame))


def _parts_of(dtype: pl.DataType) -> list[Any]:
    """The types of which a list or a record is made."""
    if isinstance(dtype, pl.Struct):
        return [field.dtype for field in dtype.fields]
    return [dtype.inner] if isinstance(dtype, (pl.List, pl.Array)) else []


def _refuse_many_levels(texts: pl.Series, name: str, before: int) -> None:
    """Say where a line is that no reader is to be given; few have so many brackets that they need a look."""
    many = texts.str.count_matches(r"[\[{]") > _MOST_LEVELS
    for row in many.arg_true().to_list():
        line = np.frombuffer(_STRING.sub(b"", texts[row].encode()), np.uint8)
        steps = np.isin(line, list(b"[{")).astype(np.int64) - np.isin(line, list(b"]}"))
        if steps.cumsum().max(initial=0) > _MOST_LEVELS:
            raise TableError(f"{name}, line {before + row + 1}: nested too deeply; write its parts as columns.")


def _refuse_first_odd_line(data: bytes, name: str, before: int = 0) -> None:
    """Say where the first line is that is no object."""
    for number, line in enumerate(data.split(b"\n"), start=before + 1):
        where = f"{name}, line {number}"
        try:
            found = json.loads(line, parse_constant=_refuse_constant) if line.strip() else {}
        except ValueError as error:
            raise TableError(
                f"{where}: no JSON object ({reason(error)}); write one object on each line."
            ) from None
        if not isinstance(found, dict):
            raise TableError(f"{where}: no JSON object but {shown(line.decode(), 20)}; write one on each line.")


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON: write null where there is no number")


def _in_order(names: list[str], texts: pl.Series) -> list[str]:
    """The columns in the order in which the lines name them."""
    first: dict[str, None] = {}
    for text in texts.head(_ORDER_ROWS):
        try:
            first |= dict.fromkeys(json.loads(text))
        except ValueError:  # Python is stricter than Polars: numbers of thousands of digits
            continue
    known = [name for name in first if name in set(names)]
    return [*known, *(name for name in names if name not in first)]
