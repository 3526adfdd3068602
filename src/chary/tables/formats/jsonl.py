"""JSON lines: an object on each line, with cells of their own types.

A key that a line lacks is an empty cell.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from chary._words import shown
from chary.tables.formats.base import Appender, Batch, Format, Reading, with_added
from chary.tables.formats.files import File
from chary.tables.formats.text import CHUNK, refuse_endless, text_chunks
from chary.tables.table import Table, TableError, cast_to, common_schema, reason

# A line may be nested this deeply. Polars takes minutes for deeper lines, or runs out of stack,
# which ends the process.
_MOST_LEVELS = 32
# At most this many first lines tell the order of the columns.
_ORDER_ROWS = 1000
# Polars keeps the fields of a record in order if there are at most this many.
_FIELDS_IN_ORDER = 32
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_STRING_OR_KEY = r'"(?:[^"\\]|\\.)*"\s*:?'


class Jsonl(Format):
    """Types are those of all lines, so that reading in batches takes two passes."""

    name = "jsonl"
    words = "JSON lines"
    endings = (".jsonl", ".ndjson")
    begins = rb"(?:\xef\xbb\xbf)?\s*\{\s*[\"}]"  # an object

    def read(self, file: File, reading: Reading) -> Table:
        """Read all rows."""
        return next(_batches(file, reading, None)).table

    def head(self, file: File, reading: Reading) -> Table:
        """Read all lines for the columns and their types."""
        frame = pl.DataFrame()
        for batch in _batches(file, reading, CHUNK):
            frame = pl.DataFrame(schema=common_schema([frame, batch.table.frame], file.name))
        return Table(frame, file.name, format=self.name)

    def batches(
        self, file: File, reading: Reading, head: Table, columns: Sequence[str] | None, memory: int
    ) -> Iterator[Batch]:
        """Read all rows in order, in the types of ``head``."""
        for table, share in _batches(file, reading, CHUNK):
            frame = cast_to(table.frame, head.frame.schema, file.name)
            yield Batch(replace(table, frame=frame), share)

    def holds(self, dtype: pl.DataType) -> bool:
        """Tell whether JSON can keep cells of a type."""
        if isinstance(dtype, pl.Struct):
            return all(self.holds(field.dtype) for field in dtype.fields)  # type: ignore[arg-type]
        if isinstance(dtype, (pl.List, pl.Array)):
            return self.holds(dtype.inner)  # type: ignore[arg-type]
        return dtype not in (pl.Binary, pl.Object)

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """Make an appender, which writes rows to ``stream`` as they come."""
        return Appender(stream, _write)


def _write(table: Table, added: pl.DataFrame, stream: BinaryIO, is_first: bool) -> None:
    """Write an object with all keys for each row, the added ones last."""
    with_added(table.frame, added).write_ndjson(stream)


def _batches(file: File, reading: Reading, size: int | None) -> Iterator[Batch]:
    """Read whole lines, some at a time.

    Each batch has the types of its own lines: a column that is empty in all of them has no type
    yet, and one of whole numbers may hold fractions later.
    """
    rest = b""  # the beginning of a line whose end is in the next chunk
    n_lines = 0  # lines before ``rest``
    is_empty = True
    for chunk in text_chunks(file, reading.encoding or "utf-8", size):
        rest += chunk.data
        end = len(rest) if chunk.last else rest.rfind(b"\n") + 1
        if end == 0 and not chunk.last:
            refuse_endless(rest, file.name, n_lines)
            continue
        data = rest[:end]
        rest = rest[end:]
        if data.strip():
            is_empty = False
            yield Batch(_read_lines(data, file.name, n_lines), chunk.share)
        n_lines += data.count(b"\n")
    if is_empty:
        raise TableError(f"{file.name} is empty; chary needs rows.")


def _read_lines(data: bytes, name: str, n_before: int = 0) -> Table:
    """Read JSON lines in UTF-8, which follow ``n_before`` others."""
    texts = pl.Series("line", data.decode().split("\n"), dtype=pl.String)
    _refuse_many_levels(texts, name, n_before)
    numbers = pl.Series(range(n_before + 1, n_before + 1 + len(texts)))
    is_filled = texts.str.strip_chars() != ""
    texts = texts.filter(is_filled)
    numbers = numbers.filter(is_filled)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        _refuse_first_bad_line(data, name, n_before)
        _refuse_repeated_keys(texts, numbers, name)
        raise TableError(
            f"{name} cannot be read as JSON lines ({reason(error)}); write it again."
        ) from None
    if frame.height != len(texts):
        _refuse_first_bad_line(data, name, n_before)
        raise TableError(
            f"{name} has lines that hold more than one object; put each on a line of its own."
        )
    _refuse_repeated_keys(texts, numbers, name)
    return Table(_in_order(frame, texts), name, format="jsonl")


def _refuse_many_levels(texts: pl.Series, name: str, n_before: int) -> None:
    """Refuse lines that are nested too deeply for any reader."""
    # Only the few lines with many brackets are counted exactly, without their strings.
    has_many = texts.str.count_matches(r"[\[{]") > _MOST_LEVELS
    for row in has_many.arg_true().to_list():
        without_strings = _STRING.sub(b"", texts[row].encode())
        codes = np.frombuffer(without_strings, np.uint8)
        opens = np.isin(codes, list(b"[{")).astype(np.int64)
        closes = np.isin(codes, list(b"]}"))
        levels = np.cumsum(opens - closes)  # at each byte
        if levels.max(initial=0) > _MOST_LEVELS:
            raise TableError(
                f"{name}, line {n_before + row + 1}: nested too deeply; write its parts as columns."
            )


def _refuse_first_bad_line(data: bytes, name: str, n_before: int) -> None:
    """Refuse the first line that is not a JSON object."""
    for number, line in enumerate(data.split(b"\n"), start=n_before + 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=_refuse_constant)
            if not isinstance(value, dict):
                raise ValueError(f"but {shown(line.decode(), 20)}")
        except ValueError as error:
            raise TableError(
                f"{name}, line {number}: no JSON object ({reason(error)}); write one object on "
                "each line."
            ) from None


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON: write null where there is no number")


def _refuse_repeated_keys(texts: pl.Series, numbers: pl.Series, name: str) -> None:
    """Refuse an object with a key twice: a value would be lost.

    Polars tells nothing of it. All lines are searched for keys with a pattern, and only the few
    that may repeat one are read again by Python.
    """
    is_key = pl.element().str.ends_with(":")
    plain_key = pl.element().str.strip_chars_end(": \t\r")
    strings = texts.str.extract_all(_STRING_OR_KEY)
    keys = strings.list.eval(plain_key.filter(is_key))
    # Different objects of a line may have the same keys; few lines have any twice.
    may_repeat = keys.list.n_unique() < keys.list.len()
    for row in may_repeat.arg_true().to_list():
        key = _repeated_key(texts[row])
        if key is not None:
            raise TableError(
                f"{name}, line {numbers[row]}: the key {shown(key)} stands twice in one object; "
                "keep it once."
            )


def _repeated_key(text: str) -> str | None:
    """Find a key that an object of a line has twice."""
    repeated: list[str] = []

    def note_repeated(pairs: list[tuple[str, Any]]) -> None:
        """Note the repeated keys of an object; the parser calls this with each object."""
        n_of_key = Counter(key for key, _ in pairs)
        for key, n in n_of_key.items():
            if n > 1:
                repeated.append(key)

    with suppress(ValueError):  # Python is stricter than Polars: numbers of thousands of digits
        json.loads(text, object_pairs_hook=note_repeated)
    return repeated[0] if repeated else None


def _in_order(frame: pl.DataFrame, texts: pl.Series) -> pl.DataFrame:
    """Put columns into the order in which the lines name them.

    The fields of large records are put into the order of their names: the order that Polars gives
    is another in each run if a record has more than 32 fields.
    """
    names: dict[str, None] = {}  # in order: a dict is used as an ordered set
    for text in texts.head(_ORDER_ROWS):
        with suppress(ValueError):  # Python is stricter than Polars: numbers of thousands of digits
            line = json.loads(text)
            names |= dict.fromkeys(line)
    # Columns that only later lines name come last.
    names |= dict.fromkeys(sorted(frame.columns))

    schema = frame.schema  # looked up once: this makes all types anew
    columns = []
    for name in names:
        ordered_type = _ordered(schema[name])
        columns.append(pl.col(name).cast(ordered_type))
    return frame.select(columns)


def _ordered(dtype: Any) -> Any:
    """Sort the fields of the large records of a type by name."""
    if isinstance(dtype, pl.List):
        return pl.List(_ordered(dtype.inner))
    if not isinstance(dtype, pl.Struct):
        return dtype
    fields = [pl.Field(field.name, _ordered(field.dtype)) for field in dtype.fields]
    if len(fields) > _FIELDS_IN_ORDER:
        fields.sort(key=lambda field: field.name)
    return pl.Struct(fields)
