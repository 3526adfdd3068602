"""The bytes of a CSV in; its cells, as the text they were, so that they can be written back unchanged, out."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, shown
from chary.tables.errors import EncodingError, TableError, reason
from chary.tables.table import MAX_COLUMNS, Table, refuse_duplicates

_DELIMITERS = (",", ";", "\t", "|")
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


def read_csv(data: bytes, name: str, delimiter: str | None, encoding: str) -> Table:
    """Read a CSV; what is wrong with it is said with its line."""
    require_delimiter(delimiter)
    data, bom = as_utf8(data, encoding, name)
    if not data.strip():
        raise TableError(f"{name} is empty; chary needs a header and rows.")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return replace(read_records(data, name, delimiter), bom=bom)


def require_delimiter(delimiter: str | None) -> None:
    """Refuse what cannot stand between cells."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
        raise TableError(f"The delimiter {shown(delimiter)} is not usable; give one ASCII character such as ';'.")


def read_records(
    data: bytes,
    name: str,
    delimiter: str | None,
    separator: str | None = None,
    *,
    before: int = 0,
    last: bool = True,
) -> Table:
    """Read a header and records, UTF-8 with newlines; ``delimiter`` is as given, ``separator`` as known.

    Of a part of a file, ``before`` is how many of its lines stand between the header and the part, and ``last``
    whether nothing follows.
    """
    cells = np.frombuffer(data, np.uint8)
    records = _Records.scan(cells, before, last)
    nul = int(np.argmin(cells))
    if cells[nul] == 0:
        raise TableError(
            f"{name}, line {records.line(data, nul)}: a NUL character, which text tables do not have; if the file "
            "is UTF-16, pass ",
            Parameter("encoding", "utf-16"),
            ".",
        )
    records.check_quotes(data, delimiter or "".join(_DELIMITERS), name)
    separator = delimiter or separator or records.sniff(cells)
    blank = records.check_widths(data, cells, separator, name)
    header = next(csv.reader(io.StringIO(data[: records.ends[0]].decode()), delimiter=separator))
    return Table(_parse(data, separator, header, blank, name), name, separator)


def ends_of(data: bytes) -> tuple[int, int]:
    """How long the first record with its newline is, and all whole ones together; 0 if there is none."""
    cells = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((cells == _NEWLINE) & ~np.bitwise_xor.accumulate(cells == _QUOTE))
    return (int(ends[0]) + 1, int(ends[-1]) + 1) if len(ends) else (0, 0)


def as_utf8(data: bytes, encoding: str, name: str) -> tuple[bytes, bool]:
    """The bytes as UTF-8 without byte-order mark, and whether there was one."""
    bom = data.startswith(codecs.BOM_UTF8)
    if bom:
        encoding, data = "utf-8", data[len(codecs.BOM_UTF8) :]
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    codec = _codec(encoding)
    try:
        text = data.decode(encoding)
        return (data if codec == "utf-8" else text.encode()), bom
    except (UnicodeError, ValueError) as error:
        raise undecodable(data[: getattr(error, "start", 0)], encoding, name) from None


def undecodable(before: bytes, encoding: str, name: str, n_lines: int = 0) -> EncodingError:
    """What to say of bytes that are no text, after others and so many lines; an unknown encoding is refused."""
    codec = _codec(encoding)
    remedy, parameter = "pass the encoding it was written in with ", Parameter("encoding")
    if codec.startswith("utf-8"):
        codec, remedy = "utf-8", "if it was written by Excel or an older program, pass "
        parameter = Parameter("encoding", "cp1252")
    line = _line(before, len(before)) + n_lines
    return EncodingError(f"{name}, line {line}: not valid {codec} text; {remedy}", parameter, ".")


def _codec(encoding: str) -> str:
    """The name that Python has for an encoding of text."""
    try:
        codec = codecs.lookup(encoding)
        if not getattr(codec, "_is_text_encoding", True):
            raise LookupError
        return codec.name
    except (LookupError, ValueError):
        raise TableError(f"Unknown encoding {shown(encoding)}; try utf-8, utf-16, cp1252 or latin-1.") from None


def _parse(data: bytes, separator: str, header: list[str], blank: NDArray[np.intp], name: str) -> pl.DataFrame:
    """All cells as text, without blank lines; a table of one column keeps them, as empty cells."""
    refuse_duplicates(header, name)
    if len(header) > MAX_COLUMNS:
        raise TableError(f"{name} has {len(header):,} columns; chary takes up to {MAX_COLUMNS:,}: select some.")
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False, glob=False)
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(f"{name} is not a well-formed CSV ({reason(error)}); write it again.") from None
    if frame.width != len(header):
        raise TableError(f"{name} is not a well-formed CSV (its header is ambiguous); write it again.")
    frame.columns = header
    if len(blank) and frame.width > 1:
        keep = np.ones(frame.height, dtype=bool)
        keep[blank[blank < frame.height]] = False
        frame = frame.filter(pl.Series(keep))
    return frame


@dataclass(frozen=True)
class _Records:
    """Where the records of a CSV end: a newline outside quotes ends one."""

    ends: NDArray[np.intp]  # (n_records,) position of the newline, or of the end of the file
    quoted: NDArray[np.bool_]  # (n_bytes,) whether a byte is inside quotes
    closed: bool  # whether the last quote was closed
    before: int = 0  # lines of the file between the header and the rest of this part
    last: bool = True  # whether the file ends here

    @classmethod
    def scan(cls, cells: NDArray[np.uint8], before: int = 0, last: bool = True) -> _Records:
        quoted = np.bitwise_xor.accumulate(cells == _QUOTE)
        ends = np.flatnonzero((cells == _NEWLINE) & ~quoted)
        if not len(ends) or ends[-1] != len(cells) - 1:
            ends = np.append(ends, len(cells))
        return cls(ends, quoted, not quoted[-1], before, last)

    def line(self, data: bytes, position: int) -> int:
        """The line of the file that a byte stands in."""
        return _line(data, position) + (self.before if position > self.ends[0] else 0)

    def widths(self, cells: NDArray[np.uint8], delimiter: str, n_records: int | None = None) -> NDArray[np.intp]:
        """Number of cells of each of the first records."""
        ends = self.ends[:n_records]
        part = slice(0, int(ends[-1]))
        separators = np.flatnonzero((cells[part] == ord(delimiter)) & ~self.quoted[part])
        return np.diff(np.searchsorted(separators, ends), prepend=0) + 1

    def sniff(self, cells: NDArray[np.uint8]) -> str:
        """The delimiter that cuts most of the first records into as many cells as the header."""

        def fit(delimiter: str) -> tuple[float, int]:
            widths = self.widths(cells, delimiter, 200)
            return (float(np.mean(widths == widths[0])), int(widths[0])) if widths[0] > 1 else (0.0, 0)

        return max(_DELIMITERS, key=fit)

    def check_quotes(self, data: bytes, delimiters: str, name: str) -> None:
        """Quotes must stand around whole cells."""
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE)
        if not len(quotes):
            return
        if not self.closed:
            raise TableError(
                f"{name}, line {self.line(data, int(quotes[-1]))}: a quote is opened and never closed; close it, "
                "or double it if it belongs to the text."
            )
        edges = np.isin(np.arange(256), [_QUOTE, _NEWLINE, _RETURN, *delimiters.encode()])
        opening = self.quoted[quotes]
        neighbour = np.where(opening, quotes - 1, quotes + 1)
        outside = (neighbour < 0) | (neighbour >= len(cells))
        stray = ~outside & ~edges[cells[np.clip(neighbour, 0, len(cells) - 1)]]
        if stray.any():
            raise TableError(
                f"{name}, line {self.line(data, int(quotes[stray.argmax()]))}: a quote in the middle of a cell; "
                "put the whole cell in quotes and double the ones inside."
            )

    def check_widths(self, data: bytes, cells: NDArray[np.uint8], delimiter: str, name: str) -> NDArray[np.intp]:
        """Refuse ragged rows; return which rows are blank lines."""
        widths = self.widths(cells, delimiter)
        starts = np.concatenate([[0], self.ends[:-1] + 1])
        lengths = self.ends - starts
        is_return = cells[np.minimum(starts, len(cells) - 1)] == _RETURN
        blank = (lengths == 0) | ((lengths == 1) & is_return)
        if blank[0]:
            raise TableError(f"{name}, line 1: blank where the column names should be; remove the blank line.")
        ragged = np.flatnonzero((widths != widths[0]) & ~blank)
        if len(ragged):
            line = self.line(data, int(starts[ragged[0]]))
            last = " (the file seems to be cut off)" if self.last and ragged[0] == len(widths) - 1 else ""
            raise TableError(
                f"{name}, line {line}: {widths[ragged[0]]:,} cells where the header has {widths[0]:,}{last}; "
                "quote cells that contain the delimiter, or pass the right one with ",
                Parameter("delimiter"),
                ".",
            )
        return np.flatnonzero(blank[1:])


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
