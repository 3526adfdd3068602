"""Text tables: every cell is the text it was, so that it can be written back unchanged."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Ints
from chary._words import Parameter
from chary.tables.cells import guarded
from chary.tables.formats.base import Appender, Batch, Format, Reading, with_added
from chary.tables.formats.files import File
from chary.tables.formats.header import ROWS, find_header
from chary.tables.formats.text import CHUNK, refuse_endless, text_chunks
from chary.tables.table import (
    MAX_COLUMNS,
    Table,
    TableError,
    can_be_text,
    reason,
    refuse_duplicates,
)

# Of a file that is kept, this many bytes are read at a time.
_WHOLE_CHUNK = 8 << 20
# The delimiter and the column names are looked for in at most this many first bytes.
_HEAD_BYTES = 1 << 20
# At most this many first records tell the delimiter.
_SNIFFED_RECORDS = 200
_DELIMITERS = (",", ";", "\t", "|")
# An error on ragged rows names at most this many further lines.
_NAMED_LINES = 5

# The bytes that matter, as numbers.
_QUOTE = ord('"')
_NEWLINE = ord("\n")
_RETURN = ord("\r")


class Csv(Format):
    """Cells between delimiters; a refusal names the line."""

    name = "csv"
    words = "a text table"
    endings = (".csv", ".tsv", ".tab")
    begins = b""  # anything that no other format begins with

    def read(self, file: File, reading: Reading) -> Table:
        """Read all rows, in batches: that is quicker than at once."""
        first, *more = [batch.table for batch in _batches(file, reading, _WHOLE_CHUNK)]
        if not more:
            return first
        frame = pl.concat([first.frame, *(table.frame for table in more)], rechunk=True)
        return replace(more[-1], frame=frame)

    def head(self, file: File, reading: Reading) -> Table:
        """Read the column names."""
        table = next(_batches(file, reading, CHUNK)).table
        return replace(table, frame=table.frame.clear())

    def batches(
        self, file: File, reading: Reading, head: Table, columns: Sequence[str] | None, memory: int
    ) -> Iterator[Batch]:
        """Read all rows in order."""
        return _batches(file, reading, CHUNK, columns)

    def holds(self, dtype: pl.DataType) -> bool:
        """Tell whether text says all of a cell."""
        return can_be_text(dtype) and dtype != pl.Duration

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """Make an appender, which writes rows to ``stream`` as they come."""
        return Appender(stream, _write)


def _write(table: Table, added: pl.DataFrame, stream: BinaryIO, is_first: bool) -> None:
    """Write rows in the style of the table, with formulas in added columns disarmed."""
    with_added(table.frame, guarded(added)).write_csv(
        stream,
        include_bom=table.bom and is_first,
        include_header=is_first,
        separator=table.delimiter,
        line_terminator=table.newline,
    )


class _Head(NamedTuple):
    """What the beginning of a file tells."""

    delimiter: str = ","
    n_above: int = 0  # lines above the column names
    newline: str = "\n"
    notes: tuple[str, ...] = ()


def _batches(
    file: File, reading: Reading, size: int, columns: Sequence[str] | None = None
) -> Iterator[Batch]:
    """Read whole records, each batch as a CSV with the header of the file.

    A chunk of the file may end within a record. What comes after its last whole record is kept in
    ``rest``, and put before the next chunk.
    """
    rest = b""
    header = b""  # the record of the column names, once it was read
    head = _Head()
    n_lines = 0  # lines between the header and ``rest``
    for chunk in text_chunks(file, reading.encoding, size):
        rest += chunk.data
        end = len(rest)
        if not chunk.last:
            first_end, end = _record_ends(rest)
            # A batch needs a whole record; the first batch needs one below the header.
            has_record = end > 0 if header else end > first_end
            if not has_record:
                refuse_endless(rest, file.name, n_lines)
                continue

        body = rest[:end]
        rest = rest[end:]
        if not header:
            if not body.strip():
                raise TableError(f"{file.name} is empty; chary needs a header and rows.")
            beginning, head = _header_first(body, reading, file.name)
            header_end, _ = _record_ends(beginning)
            header = beginning[:header_end]
            body = beginning[header_end:]
        elif not body:
            continue
        records = _Records.of(header + body, file.name, n_above=head.n_above, n_between=n_lines)
        table = _read_records(records, head.delimiter, columns)
        n_lines += body.count(b"\n")

        notes = head.notes
        if reading.encoding is None and chunk.encoding == "cp1252":
            notes += (
                f"{file.name} is not UTF-8 and was read as cp1252, as some spreadsheets write it.",
            )
        table = replace(table, bom=chunk.bom, newline=head.newline, notes=notes)
        yield Batch(table, chunk.share)


def _header_first(data: bytes, reading: Reading, name: str) -> tuple[bytes, _Head]:
    """Make the column names the first record of a file's beginning.

    If there are lines above the column names, these are cut off, and the names are written again.
    They are also written again if some had to be invented. Any other beginning is left as it is.

    Returns
    -------
    data : bytes
        The beginning, which starts with the column names.
    head : _Head
        What the beginning tells.
    """
    sample = data
    if len(data) > _HEAD_BYTES:
        _, whole_records = _record_ends(data[:_HEAD_BYTES])
        sample = data[:whole_records] or data
    records = _Records.of(sample, name)
    records.refuse_binary()
    delimiter = reading.delimiter or records.sniff()

    last_end = records.ends[:ROWS][-1]
    text = sample[: last_end + 1].decode()
    most_end_with_return = 2 * text.count("\r\n") > text.count("\n")
    newline = "\r\n" if most_end_with_return else "\n"
    header = None
    # Text that the csv module cannot read, or that quotes inside cells split into more rows, passes
    # here: it is refused later, with its line.
    with suppress(csv.Error):
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        if len(rows) <= len(records.ends):
            header = find_header(rows, reading.header_row, name)
    if header is None:
        return data, _Head(delimiter, n_above=0, newline=newline)

    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator=newline)
    writer.writerow(header.names)
    names = stream.getvalue()
    cells_start = int(records.ends[header.row]) + 1
    n_lines_cut = data.count(b"\n", 0, cells_start)
    n_above = n_lines_cut - names.count("\n")
    head = _Head(delimiter, n_above, newline, header.notes)
    return names.encode() + data[cells_start:], head


def _read_records(records: _Records, delimiter: str, columns: Sequence[str] | None) -> Table:
    """Read all cells as text, without blank lines.

    A table of one column keeps blank lines, as empty cells.
    """
    records.refuse_binary()
    records.refuse_stray_quotes(delimiter)
    blank = records.blank_rows(delimiter)
    all_names = _column_names(records, delimiter)
    refuse_duplicates(all_names, records.name)
    if len(all_names) > MAX_COLUMNS:
        raise TableError(
            f"{records.name} has {len(all_names):,} columns; chary takes up to {MAX_COLUMNS:,}: "
            "select some."
        )

    names = all_names
    places = None  # of the columns to read; None: all
    if columns:
        names = [name for name in all_names if name in set(columns)]
        places = [all_names.index(name) for name in names]
    try:
        frame = pl.read_csv(
            records.data, separator=delimiter, infer_schema=False, glob=False, columns=places
        )
        frame.columns = names
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(
            f"{records.name} is not a well-formed CSV ({reason(error)}); write it again."
        ) from None

    if len(blank) and len(all_names) > 1:
        is_filled = np.ones(frame.height, dtype=bool)
        is_filled[blank[blank < frame.height]] = False
        frame = frame.filter(pl.Series(is_filled))
    return Table(frame, records.name, delimiter)


def _column_names(records: _Records, delimiter: str) -> list[str]:
    """Read the column names from the first record."""
    text = records.data[: records.ends[0]].decode()
    try:
        return next(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error as error:
        raise TableError(
            f"{records.where(0)}: no readable column names ({reason(error)}); mend them."
        ) from None


def _record_ends(data: bytes) -> tuple[int, int]:
    r"""Return the positions after the first and the last whole record; 0 without one.

    >>> _record_ends(b'a,b\n1,"x\ny"\n2,')
    (4, 12)
    """
    if b'"' not in data:
        return data.find(b"\n") + 1, data.rfind(b"\n") + 1
    codes = np.frombuffer(data, np.uint8)
    newlines = np.flatnonzero(codes == _NEWLINE)
    quotes = np.flatnonzero(codes == _QUOTE)
    ends = _outside_quotes(newlines, quotes)
    if not len(ends):
        return 0, 0
    return int(ends[0]) + 1, int(ends[-1]) + 1


def _outside_quotes(positions: Ints, quotes: Ints) -> Ints:
    """Keep positions after an even number of quotes."""
    if not len(quotes):
        return positions
    n_quotes_before = np.searchsorted(quotes, positions)
    return positions[n_quotes_before % 2 == 0]


@dataclass(frozen=True)
class _Records:
    """A header and records, in UTF-8; a newline outside quotes ends a record."""

    data: bytes
    codes: NDArray[np.uint8]  # the data as numbers
    name: str  # of the file
    n_above: int  # lines of the file above the header
    n_between: int  # lines of the file between the header and the other records
    ends: Ints  # (n_records,) position of the newline, or of the end of the file
    quotes: Ints  # (n_quotes,) positions

    @classmethod
    def of(cls, data: bytes, name: str, n_above: int = 0, n_between: int = 0) -> _Records:
        """Find where the records of ``data`` end; the last one may lack its newline."""
        codes = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(codes == _QUOTE)
        ends = _outside_quotes(np.flatnonzero(codes == _NEWLINE), quotes)
        if not len(ends) or ends[-1] != len(codes) - 1:
            ends = np.append(ends, len(codes))
        return cls(data, codes, name, n_above, n_between, ends, quotes)

    def where(self, position: int) -> str:
        """Name the file and the line of a byte."""
        return f"{self.name}, line {self._line(position)}"

    def _line(self, position: int) -> int:
        """Return the line of the file, from 1, in which a byte stands."""
        line = self.data.count(b"\n", 0, position) + 1 + self.n_above
        if position > self.ends[0]:
            line += self.n_between
        return line

    def widths(self, delimiter: str, n_records: int | None = None) -> Ints:
        """Count the cells of the first ``n_records`` records; None: of all."""
        ends = self.ends[:n_records]
        delimiters = np.flatnonzero(self.codes[: int(ends[-1])] == ord(delimiter))
        between_cells = _outside_quotes(delimiters, self.quotes)
        n_before_end = np.searchsorted(between_cells, ends)  # (n_records,) delimiters before
        n_delimiters = np.diff(n_before_end, prepend=0)
        return n_delimiters + 1

    def sniff(self) -> str:
        """Find the delimiter by which most records have equally many cells.

        If several delimiters do so for equally many records, the one that makes more cells is
        taken.
        """

        def fit(delimiter: str) -> tuple[float, int]:
            """Return the share of records of the most frequent width, and this width."""
            widths = self.widths(delimiter, _SNIFFED_RECORDS)
            n_records_of = np.bincount(widths)  # by width
            # The largest width if several are equally frequent: the first one from the end.
            usual_width = len(n_records_of) - 1 - int(n_records_of[::-1].argmax())
            if usual_width < 2:
                return 0.0, 0
            return n_records_of[usual_width] / n_records_of.sum(), usual_width

        return max(_DELIMITERS, key=fit)

    def refuse_binary(self) -> None:
        """Refuse NUL characters: binary data, or another encoding."""
        position = self.data.find(b"\0")
        if position >= 0:
            raise TableError(
                f"{self.where(position)}: a NUL character, which text does not have; if it is "
                f"UTF-16, pass {Parameter('encoding', 'utf-16')}."
            )

    def refuse_stray_quotes(self, delimiter: str) -> None:
        """Refuse quotes that do not stand around whole cells, as in ``a "big" dog``.

        A quote within a quoted cell must be doubled: ``"a ""big"" dog"``.
        """
        if not len(self.quotes):
            return
        if len(self.quotes) % 2:
            where = self.where(int(self.quotes[-1]))
            raise TableError(
                f"{where}: a quote is opened and never closed; close it, or double it if it is "
                "text."
            )
        # Quotes open and close in turn. The byte before one that opens, and the byte after one
        # that closes, must be a delimiter, the end of a line, or the other half of a doubled quote.
        neighbours = self.quotes.copy()
        neighbours[::2] -= 1
        neighbours[1::2] += 1
        is_edge_byte = np.isin(np.arange(256), [_QUOTE, _NEWLINE, _RETURN, *delimiter.encode()])
        is_inside = (neighbours >= 0) & (neighbours < len(self.codes))
        is_stray = is_inside & ~is_edge_byte[self.codes.take(neighbours, mode="clip")]
        if is_stray.any():
            where = self.where(int(self.quotes[is_stray.argmax()]))
            raise TableError(
                f"{where}: a quote in the middle of a cell; put the cell in quotes and double it."
            )

    def blank_rows(self, delimiter: str) -> Ints:
        """Find blank lines, by number from 0 among the lines below the header.

        Rows of another width than the header are refused.
        """
        widths = self.widths(delimiter)
        starts = np.concatenate([[0], self.ends[:-1] + 1])
        lengths = self.ends - starts
        begins_with_return = self.codes.take(starts, mode="clip") == _RETURN
        is_blank = (lengths == 0) | ((lengths == 1) & begins_with_return)
        if is_blank[0]:
            raise TableError(
                f"{self.where(0)}: blank where the column names should be; remove the blank line."
            )
        ragged = np.flatnonzero((widths != widths[0]) & ~is_blank)
        if len(ragged):
            self._refuse_ragged(ragged, widths, starts)
        return np.flatnonzero(is_blank[1:])  # among the rows below the header

    def _refuse_ragged(self, ragged: Ints, widths: Ints, starts: Ints) -> None:
        """Refuse records of another width than the header.

        Parameters
        ----------
        ragged : array of int
            The numbers of these records, in order.
        widths, starts : arrays of shape (n_records,)
            How many cells each record has, and where it begins.
        """
        first, *others = ragged.tolist()
        remedy = f"{Parameter('delimiter')}"
        # The header itself may be a title that stands above the column names.
        if first == 1 and widths[1] > widths[0]:
            remedy += f", or {Parameter('header_row')}"
        also = ""
        if others:
            lines = [self._line(int(starts[record])) for record in others[:_NAMED_LINES]]
            more = ", ..." if len(others) > _NAMED_LINES else ""
            also = f" (also {len(others):,} more: line {', '.join(map(str, lines))}{more})"
        raise TableError(
            f"{self.where(int(starts[first]))}: {widths[first]:,} cells where the header has "
            f"{widths[0]:,}{also}; quote cells that contain the delimiter, or pass the right "
            f"one with {remedy}."
        )
