"""JSON lines: an object on each line, cells of their own types; a key that a line lacks is an empty cell."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
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
from chary.tables.table import Table, TableError, cast_to, common_schema, reason

# Deeper, and Polars takes minutes, or runs out of stack, which ends the process.
_MOST_LEVELS = 32
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_STRING_OR_KEY = r'"(?:[^"\\]|\\.)*"\s*:?'
_ORDER_ROWS = 1000  # so many lines tell the order of the columns
_FIELDS_IN_ORDER = 32  # Polars keeps the fields of records in order up to so many


class Jsonl(Format):
    """Types are those of all lines, so that reading it in batches takes two looks."""

    name, words, endings = "jsonl", "JSON lines", (".jsonl", ".ndjson")
    begins = rb"(?:\xef\xbb\xbf)?\s*\{\s*[\"}]"  # an object

    def read(self, file: File, how: Reading) -> Table:
        return next(_batches(file, how, None)).table

    def head(self, file: File, how: Reading) -> Table:
        seen = pl.DataFrame()
        for batch in _batches(file, how, CHUNK):
            seen = pl.DataFrame(schema=common_schema([seen, batch.table.frame], file.name))
        return Table(seen, file.name, format=self.name)

    def batches(
        self, file: File, how: Reading, head: Table, wanted: Wanted, memory: int
    ) -> Iterator[Batch]:
        for table, share in _batches(file, how, CHUNK):
            frame = cast_to(table.frame, head.frame.schema, file.name)
            yield Batch(replace(table, frame=frame), share)

    def holds(self, dtype: pl.DataType) -> bool:
        return all(self.holds(part) for part in _parts_of(dtype)) and dtype not in (
            pl.Binary,
            pl.Object,
        )

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        return Appender(stream, _write)


def _write(table: Table, added: pl.DataFrame, stream: BinaryIO, first: bool) -> None:
    """Write an object with all keys for each row, the added ones last."""
    with_added(table.frame, added).write_ndjson(stream)


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
    numbers = pl.Series(range(before + 1, before + 1 + len(texts)))
    filled = texts.str.strip_chars() != ""
    texts = texts.filter(filled)
    numbers = numbers.filter(filled)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        _refuse_first_odd_line(data, name, before)
        _refuse_repeated_keys(texts, numbers, name)
        raise TableError(
            f"{name} cannot be read as JSON lines ({reason(error)}); write it again."
        ) from None
    if frame.height != len(texts):
        _refuse_first_odd_line(data, name, before)
        raise TableError(
            f"{name} has lines that hold more than one object; put each on a line of its own."
        )
    _refuse_repeated_keys(texts, numbers, name)
    return Table(_in_order(frame, texts), name, format="jsonl")


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
            raise TableError(
                f"{name}, line {before + row + 1}: nested too deeply; write its parts as columns."
            )


def _refuse_first_odd_line(data: bytes, name: str, before: int = 0) -> None:
    """Say where the first line is that is no object."""
    for number, line in enumerate(data.split(b"\n"), start=before + 1):
        try:
            found = json.loads(line, parse_constant=_refuse_constant) if line.strip() else {}
            if not isinstance(found, dict):
                raise ValueError(f"but {shown(line.decode(), 20)}")
        except ValueError as error:
            raise TableError(
                f"{name}, line {number}: no JSON object ({reason(error)}); write one object on each line."
            ) from None


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON: write null where there is no number")


def _refuse_repeated_keys(texts: pl.Series, numbers: pl.Series, name: str) -> None:
    """Say where an object has a key twice: one of the two values would be lost."""
    is_key = pl.element().str.ends_with(":")
    plain_key = pl.element().str.strip_chars_end(": \t\r")
    keys = texts.str.extract_all(_STRING_OR_KEY).list.eval(plain_key.filter(is_key))
    # Different objects of a line may have the same keys; few lines have any twice.
    for row in (keys.list.n_unique() < keys.list.len()).arg_true().to_list():
        key = _repeated_key(texts[row])
        if key is not None:
            raise TableError(
                f"{name}, line {numbers[row]}: the key {shown(key)} stands twice in one object; keep it once."
            )


def _repeated_key(text: str) -> str | None:
    """Find a key that an object of a line has twice."""
    repeated: list[str] = []

    def record(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, n in counts.items() if n > 1)

    with suppress(ValueError):  # Python is stricter than Polars: numbers of thousands of digits
        json.loads(text, object_pairs_hook=record)
    return repeated[0] if repeated else None


def _in_order(frame: pl.DataFrame, texts: pl.Series) -> pl.DataFrame:
    """Put columns into the order in which the lines name them, and the fields of large records into that of names.

    The order that Polars gives is another in each run if a record has more than 32 fields.
    """
    names: dict[str, Any] = {}
    for text in texts.head(_ORDER_ROWS):
        with suppress(ValueError):  # Python is stricter than Polars: numbers of thousands of digits
            names.update(dict.fromkeys(json.loads(text)))
    names.update(dict.fromkeys(sorted(frame.columns)))
    schema = frame.schema
    return frame.select(pl.col(name).cast(_ordered(schema[name])) for name in names)


def _ordered(dtype: Any) -> Any:
    """Give a type with the fields of its large records in the order of their names."""
    if isinstance(dtype, pl.List):
        return pl.List(_ordered(dtype.inner))
    if not isinstance(dtype, pl.Struct):
        return dtype
    fields = [pl.Field(field.name, _ordered(field.dtype)) for field in dtype.fields]
    if len(fields) > _FIELDS_IN_ORDER:
        fields.sort(key=lambda field: field.name)
    return pl.Struct(fields)
