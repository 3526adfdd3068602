"""Text tables: every cell is the text it was, so that it can be written back unchanged."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter
from chary.tables.cells import guarded
from chary.tables.formats.base import (
    CHUNK,
    ROWS,
    Appender,
    Batch,
    File,
    Format,
    Reading,
    Wanted,
    find_header,
    refuse_endless,
    text_chunks,
    with_added,
)
from chary.tables.table import (
    MAX_COLUMNS,
    Table,
    TableError,
    can_be_text,
    reason,
    refuse_duplicates,
)

_WHOLE_CHUNK = 8 << 20  # bytes read at a time of a file that is kept
_HEAD = 1 << 20  # bytes that tell the delimiter and where the column names are
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_NAME = 131_072  # characters of a column name: the limit that the csv module starts with
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


class Csv(Format):
    """Cells between delimiters; what is wrong with them is said with its line."""

    name, words, endings = "csv", "a text table", (".csv", ".tsv", ".tab")
    begins = b""  # what is nothing else

    def read(self, file: File, how: Reading) -> Table:
        """Batches put together, which is quicker than to read all at once."""
        first, *others = [batch.table for batch in _batches(file, how, _WHOLE_CHUNK)]
        if not others:
            return first
        frame = pl.concat([first.frame, *(table.frame for table in others)], rechunk=True)
        return replace(others[-1], frame=frame)

    def head(self, file: File, how: Reading) -> Table:
        table = next(_batches(file, how, CHUNK)).table
        return replace(table, frame=table.frame.clear())

    def batches(
        self, file: File, how: Reading, head: Table, wanted: Wanted, memory: int
    ) -> Iterator[Batch]:
        return _batches(file, how, CHUNK, wanted)

    def holds(self, dtype: pl.DataType) -> bool:
        return can_be_text(dtype) and dtype != pl.Duration

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        return Appender(stream, _write)


def _write(table: Table, added: pl.DataFrame, stream: BinaryIO, first: bool) -> None:
    """Cells as the table's are; in the columns that are added nothing runs as a formula."""
    frame = with_added(table.frame, guarded(added))
    how: Any = {
        "separator": table.delimiter,
        "include_header": first,
        "line_terminator": table.newline,
    }
    frame.write_csv(stream, include_bom=table.bom and first, **how)


def _batches(file: File, how: Reading, size: int, columns: Wanted = None) -> Iterator[Batch]:
    """Whole records, each batch read as a CSV of its own with the header of the file; of all or some columns."""
    rest, header, head, before = b"", b"", _Head(), 0
    for chunk in text_chunks(file, how.encoding, size):
        rest += chunk.data
        first, end = (0, len(rest)) if chunk.last else _ends_of(rest)
        if not chunk.last and (not end or (not header and end == first)):
            refuse_endless(rest, file.name, before)
            continue
        data, rest = rest[:end], rest[end:]
        if not header and not data.strip():
            raise TableError(f"{file.name} is empty; chary needs a header and rows.")
        if not data:
            continue
        if not header:
            data, head = _header_first(data, how, file.name)
            first = 0 if chunk.last else _ends_of(data)[0]
        records = _Records.of(header + data, file.name, head.above, before)
        table = _read_records(records, head.separator, columns)
        before += data.count(b"\n")
        if not header:
            header = data[:first]
            before -= header.count(b"\n")
        notes = head.notes
        if how.encoding is None and chunk.encoding == "cp1252":
            notes += (
                f"{file.name} is not UTF-8 and was read as cp1252, as some spreadsheets write it.",
            )
        table = replace(table, bom=chunk.bom, newline=head.newline, notes=notes)
        yield Batch(table, chunk.share)


class _Head(NamedTuple):
    """What the beginning of a file tells."""

    separator: str = ","
    above: int = 0  # lines that are not part of the table
    newline: str = "\n"
    notes: tuple[str, ...] = ()


def _header_first(data: bytes, how: Reading, name: str) -> tuple[bytes, _Head]:
    """The beginning of a file from its column names on, in one row."""
    sample = data if len(data) <= _HEAD else data[: _ends_of(data[:_HEAD])[1]] or data
    records = _Records.of(sample, name)
    records.check_text()
    separator = how.delimiter or records.sniff()
    lines = records.data[: records.ends[: max(ROWS, how.header_row or 0)][-1] + 1].decode()
    newline = "\r\n" if 2 * lines.count("\r\n") > lines.count("\n") else "\n"
    found = None
    with suppress(
        csv.Error
    ):  # that, and quotes in the middle of cells, is said with its line later on
        rows = list(csv.reader(io.StringIO(lines, newline=""), delimiter=separator))
        found = find_header(rows, how.header_row, name) if len(rows) <= len(records.ends) else None
    if found is None:
        return data, _Head(separator, 0, newline)
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator=newline).writerow(found.names)
    cut = int(records.ends[found.row]) + 1
    above = data.count(b"\n", 0, cut) - text.getvalue().count("\n")
    return text.getvalue().encode() + data[cut:], _Head(separator, above, newline, found.notes)


def _read_records(records: _Records, separator: str, columns: Wanted) -> Table:
    """All cells as text, without blank lines; a table of one column keeps them, as empty cells."""
    name = records.name
    records.check_text()
    records.check_quotes(separator)
    blank = records.check_widths(separator)
    header = _names(records, separator)
    refuse_duplicates(header, name)
    if len(header) > MAX_COLUMNS:
        raise TableError(
            f"{name} has {len(header):,} columns; chary takes up to {MAX_COLUMNS:,}: select some."
        )
    names = [column for column in header if column in set(columns)] if columns else header
    places = [header.index(column) for column in names] if columns else None
    try:
        frame = pl.read_csv(
            records.data, separator=separator, infer_schema=False, glob=False, columns=places
        )
        frame.columns = names
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{name} is not a well-formed CSV ({reason(error)}); write it again."
        ) from None
    if len(blank) and len(header) > 1:
        keep = np.ones(frame.height, dtype=bool)
        keep[blank[blank < frame.height]] = False
        frame = frame.filter(pl.Series(keep))
    return Table(frame, name, separator)


def _names(records: _Records, separator: str) -> list[str]:
    """Read the column names, which stand in the first record."""
    text = records.data[: records.ends[0]].decode()
    try:
        names = next(csv.reader(io.StringIO(text), delimiter=separator))
        # The limit of the module holds for the process, and any library may have raised it.
        if max(map(len, names)) > _LONGEST_NAME:
            raise csv.Error(f"field larger than field limit ({_LONGEST_NAME})")
        return names
    except csv.Error as error:
        raise TableError(
            f"{records.where(0)}: no readable column names ({reason(error)}); mend them."
        ) from None


def _ends_of(data: bytes) -> tuple[int, int]:
    """How long the first record with its newline is, and all whole ones together; 0 if there is none."""
    if b'"' not in data:
        return data.find(b"\n") + 1, data.rfind(b"\n") + 1
    cells = np.frombuffer(data, np.uint8)
    ends = _outside(np.flatnonzero(cells == _NEWLINE), np.flatnonzero(cells == _QUOTE))
    return (int(ends[0]) + 1, int(ends[-1]) + 1) if len(ends) else (0, 0)


def _outside(positions: NDArray[np.intp], quotes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of some positions that are outside quotes: after an even number of them."""
    return positions[np.searchsorted(quotes, positions) % 2 == 0] if len(quotes) else positions


@dataclass(frozen=True)
class _Records:
    """A header and records, UTF-8, and where each ends: a newline outside quotes ends one."""

    data: bytes
    cells: NDArray[np.uint8]  # the same, as numbers
    name: str  # of the file
    above: int  # lines of the file above the header
    before: int  # and between the header and the rest of this part
    ends: NDArray[np.intp]  # (n_records,) position of the newline, or of the end of the file
    quotes: NDArray[np.intp]  # (n_quotes,) their positions

    @classmethod
    def of(cls, data: bytes, name: str, above: int = 0, before: int = 0) -> _Records:
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE)
        ends = _outside(np.flatnonzero(cells == _NEWLINE), quotes)
        if not len(ends) or ends[-1] != len(cells) - 1:
            ends = np.append(ends, len(cells))
        return cls(data, cells, name, above, before, ends, quotes)

    def where(self, position: int) -> str:
        """The file, and its line that a byte stands in."""
        line = self.data.count(b"\n", 0, position) + 1 + self.above
        line += self.before if position > self.ends[0] else 0
        return f"{self.name}, line {line}"

    def widths(self, delimiter: str, n_records: int | None = None) -> NDArray[np.intp]:
        """Number of cells of each of the first records."""
        ends = self.ends[:n_records]
        separators = _outside(
            np.flatnonzero(self.cells[: int(ends[-1])] == ord(delimiter)), self.quotes
        )
        return np.diff(np.searchsorted(separators, ends), prepend=0) + 1

    def sniff(self) -> str:
        """The delimiter that cuts most of the first records into the same number of cells."""

        def fit(delimiter: str) -> tuple[float, int]:
            counts = np.bincount(self.widths(delimiter, 200))
            usual = (
                len(counts) - 1 - int(counts[::-1].argmax())
            )  # of equally frequent widths the largest
            return (counts[usual] / counts.sum(), usual) if usual > 1 else (0.0, 0)

        return max(_DELIMITERS, key=fit)

    def check_text(self) -> None:
        """Refuse what is no text, or in another encoding."""
        nul = int(np.argmin(self.cells))
        if self.cells[nul] == 0:
            how = Parameter("encoding", "utf-16")
            raise TableError(
                f"{self.where(nul)}: a NUL character, which text does not have; if it is UTF-16, pass {how}."
            )

    def check_quotes(self, delimiters: str) -> None:
        """Quotes must stand around whole cells."""
        cells, quotes = self.cells, self.quotes
        if not len(quotes):
            return
        if len(quotes) % 2:
            where = self.where(int(quotes[-1]))
            raise TableError(
                f"{where}: a quote is opened and never closed; close it, or double it if it is text."
            )
        edges = np.isin(np.arange(256), [_QUOTE, _NEWLINE, _RETURN, *delimiters.encode()])
        neighbour = quotes.copy()
        neighbour[::2] -= 1  # of those that open
        neighbour[1::2] += 1
        outside = (neighbour < 0) | (neighbour >= len(cells))
        stray = ~outside & ~edges[cells[np.clip(neighbour, 0, len(cells) - 1)]]
        if stray.any():
            where = self.where(int(quotes[stray.argmax()]))
            raise TableError(
                f"{where}: a quote in the middle of a cell; put the cell in quotes and double it."
            )

    def check_widths(self, delimiter: str) -> NDArray[np.intp]:
        """Refuse ragged rows; return which rows are blank lines."""
        widths = self.widths(delimiter)
        starts = np.concatenate([[0], self.ends[:-1] + 1])
        lengths = self.ends - starts
        is_return = self.cells[np.minimum(starts, len(self.cells) - 1)] == _RETURN
        blank = (lengths == 0) | ((lengths == 1) & is_return)
        if blank[0]:
            raise TableError(
                f"{self.where(0)}: blank where the column names should be; remove the blank line."
            )
        ragged = np.flatnonzero((widths != widths[0]) & ~blank)
        if len(ragged):
            of_names = (
                "" if ragged[0] > 1 or widths[1] < widths[0] else f", or {Parameter('header_row')}"
            )
            raise TableError(
                f"{self.where(int(starts[ragged[0]]))}: {widths[ragged[0]]:,} cells where the header has "
                f"{widths[0]:,}; quote cells that contain the delimiter, or pass the right one with "
                f"{Parameter('delimiter')}{of_names}."
            )
        return np.flatnonzero(blank[1:])
