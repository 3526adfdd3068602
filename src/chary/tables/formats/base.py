"""Files, packed or not; what every file format gives; text in chunks; and finding the column names."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from chary._words import Parameter, listed, shown
from chary.options import flag_of
from chary.tables.table import Table, TableError, reason

# ---------------------------------------------------------------- files, never unpacked to more than a table is

GZIP = "gz"
_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")  # the last: an empty archive
# A file that unpacks to more than this is refused; so is one that grows more than so many times and
# is not small.
_MOST, _SMALL, _RATIO = 2**34, 2**28, 200
_PIECE, _HEAD = 1 << 20, 4096


@dataclass(frozen=True)
class File:
    """A file to read, as often as asked."""

    name: str  # for people
    path: Path | None = None  # None: standard input
    data: bytes = b""  # what was read from there
    packed: str = ""  # "gz"
    notes: tuple[str, ...] = ()  # what a person should know of it
    state: tuple[int, ...] | None = (
        None  # when it was found: another once it was written to or replaced
    )

    def refuse_changed(self) -> None:
        """Refuse it if what is read of it now is of another state than what was read before."""
        if self.path is not None and state_of(self.path) != self.state:
            raise TableError(
                f"{self.name} was changed while it was read; wait until it is whole, then try again."
            )

    @property
    def size(self) -> int:
        """Bytes, as it lies on the disk."""
        return len(self.data) if self.path is None else os.path.getsize(self.path)

    def head(self) -> bytes:
        """Its first bytes, unpacked, which say what it is."""
        with self._opened() as (_, stream):
            return bytes(stream.read(_HEAD))

    def unpacked(self) -> tuple[File, str]:
        """Return the file with the way it is packed, and the name that what is in it has."""
        head = self.head()
        if head.startswith(_ZIP_MAGIC):
            self._refuse_all_but_workbooks()
        if not head.startswith(_GZIP_MAGIC):
            return self, self.name

        file = replace(self, packed=GZIP)
        if file.head().startswith((_GZIP_MAGIC, *_ZIP_MAGIC)):
            raise TableError(
                f"{self.name} holds a compressed file, compressed twice; unpack it once."
            )
        name = self.name[:-3] if self.name.lower().endswith(".gz") else self.name
        return file, name

    def chunks(self, size: int | None = None) -> Iterator[tuple[bytes, float, bool]]:
        """What is in it, about so many bytes at a time or all at once; the share read; whether it is the last."""
        held: list[bytes] = []
        n_held = total = 0
        with self._opened() as (raw, stream):
            while piece := stream.read(_PIECE if self.packed else size or -1):
                held.append(piece)
                n_held, total = n_held + len(piece), total + len(piece)
                if self.packed:
                    refuse_bomb(total, self.size, self.name, whole=size is None)
                if size is not None and n_held >= size:
                    yield b"".join(held), min(1.0, raw.tell() / self.size), False
                    held, n_held = [], 0
        yield b"".join(held), 1.0, True

    def read(self) -> bytes:
        """All that is in it."""
        return next(self.chunks())[0]

    def _refuse_all_but_workbooks(self) -> None:
        """Refuse a ZIP archive that is no Excel workbook; office files are named by what they are."""
        with self._raw() as raw, opened_zip(raw, self.name) as archive:
            names = set(archive.namelist())
        if "xl/workbook.bin" in names:
            raise TableError(f"{self.name} is a binary Excel workbook; save it as .xlsx.")
        if "mimetype" in names and "content.xml" in names:
            raise TableError(
                f"{self.name} is an OpenDocument file; save the sheet as .xlsx or CSV."
            )
        if "[Content_Types].xml" in names and "xl/workbook.xml" not in names:
            raise TableError(
                f"{self.name} is an office document without a sheet; chary needs a table."
            )
        if "xl/workbook.xml" not in names:
            raise TableError(f"{self.name} is a ZIP archive; unpack it first.")

    def _raw(self) -> BinaryIO:
        return io.BytesIO(self.data) if self.path is None else self.path.open("rb")

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, Any]]:
        """The file as it is, and what is in it."""
        with self._raw() as raw:
            try:
                if self.packed == GZIP:
                    with gzip.GzipFile(fileobj=raw) as stream:
                        yield raw, stream
                else:
                    yield raw, raw
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                why = "it is cut off" if isinstance(error, EOFError) else reason(error)
                raise TableError(
                    f"{self.name} is a damaged gzip file ({why}); copy it again."
                ) from None


def state_of(path: Path) -> tuple[int, ...] | None:
    """What is another once a file was written to or replaced; None where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def refuse_bomb(size: int, packed: int, name: str, whole: bool = True) -> None:
    """Refuse what would fill the memory, by its size so far; read in parts, only how far it grows matters."""
    if (whole and size > _MOST) or size > max(_SMALL, _RATIO * packed):
        raise TableError(
            f"{name} would unpack to more than {size >> 20:,} MiB; unpack it yourself if you trust it."
        )


@contextmanager
def opened_zip(file: BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """An archive to read from; whatever is wrong with it is a sentence. No name in it is ever used as a path."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except TableError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        ValueError,
        LookupError,
    ) as error:
        raise TableError(
            f"{name} is a damaged ZIP archive ({reason(error)}); copy it again."
        ) from None


@contextmanager
def packed_stream(file: BinaryIO, packed: str) -> Iterator[BinaryIO]:
    """A file to write to, so that its bytes end up compressed; the same bytes every time."""
    if packed == GZIP:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield _Unflushed(stream)  # type: ignore[misc]
    else:
        yield file


class _Unflushed(io.RawIOBase):
    """Passes bytes on, and no flush: compressed bytes depend on where one is."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: Any) -> int:
        return int(self.file.write(data))


# ---------------------------------------------------------------- formats


class Reading(NamedTuple):
    """How to read a file, where that has to be told."""

    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    header_row: int | None = None

    def as_given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {name: value for name, value in self._asdict().items() if value is not None}


class Batch(NamedTuple):
    """Some rows of a table, one after the other."""

    table: Table
    share: float  # of the table that was read by now


class Format:
    """A kind of file: a new one is a subclass, and a line in ``chary.tables.formats``."""

    name: str  # and the extension of its files
    words: str  # what it is called in a sentence
    endings: tuple[str, ...]  # of names that promise it
    begins: bytes  # a pattern of its first bytes
    in_batches = True  # it need not be in memory as a whole: ``head`` and ``batches`` are there

    def read(self, file: File, how: Reading) -> Table:
        """All its rows."""
        raise NotImplementedError

    def head(self, file: File, how: Reading) -> Table:
        """Columns and their types without rows, as in ``read``."""
        raise NotImplementedError

    def batches(
        self, file: File, how: Reading, head: Table, wanted: Wanted, memory: int
    ) -> Iterator[Batch]:
        """All its rows, in order, in the types of ``head``; other columns than those wanted need not be read."""
        raise NotImplementedError

    def holds(self, dtype: pl.DataType) -> bool:
        """Whether it can keep cells of a type."""
        return dtype != pl.Object

    def refuse_unwritable(self, frame: pl.DataFrame) -> None:
        """Refuse a table that it cannot hold for another reason than a type."""

    def appender(self, stream: BinaryIO, group_rows: int) -> Appender:
        """What takes rows bit by bit."""
        raise NotImplementedError


Wanted = Sequence[str] | None  # columns; None: all


class Appender:
    """A file that takes tables of the same columns; ``close`` completes it, ``abandon`` if it is not wanted."""

    def __init__(
        self, stream: BinaryIO, write: Callable[[Table, pl.DataFrame, BinaryIO, bool], None]
    ) -> None:
        self.stream, self.write, self.first = stream, write, True

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        """Write rows, with columns added on the right."""
        self.write(table, as_columns(added), self.stream, self.first)
        self.first = False

    def close(self) -> None:
        """Write what is still to be written."""

    abandon = close


def as_columns(added: Mapping[str, Any]) -> pl.DataFrame:
    """Columns to add, by name."""
    return pl.DataFrame([pl.Series(name, values) for name, values in added.items()])


def with_added(frame: pl.DataFrame, added: pl.DataFrame) -> pl.DataFrame:
    """A frame with columns on the right, which replace its own of the same names."""
    more = added.get_columns()
    taken = any(name in frame.columns for name in added.columns)
    return (
        frame.with_columns(more) if taken or not frame.width else frame.hstack(more)
    )  # asks no busy thread


# ---------------------------------------------------------------- text

CHUNK = 4 << 20  # bytes read at a time
_MOST_RECORD = 256 << 20


class Chunk(NamedTuple):
    """Some of a text file."""

    data: bytes  # UTF-8 without byte-order mark
    share: float  # of the file that was read by now
    last: bool
    bom: bool  # whether it begins with a byte-order mark, or would need one if it were written as UTF-8
    encoding: str  # that it is in


def text_chunks(file: File, encoding: str | None, size: int | None) -> Iterator[Chunk]:
    """Read a text file, about so many bytes at a time or all at once, as UTF-8; refuse what does not decode.

    A byte-order mark says what it is. Without one and without an encoding, text that is not UTF-8,
    and was ASCII so far, is Windows-1252, as Excel and older programs write it.
    """
    decoder, codec, is_certain, is_ascii = None, "", False, True
    for data, share, last in file.chunks(size):
        if decoder is None:
            mark = _codec_of_mark(data)
            codec = mark or _codec(encoding or "utf-8")
            is_certain = bool(mark or encoding)
            decoder = codecs.getincrementaldecoder(codec)()
        held = decoder.getstate()[0]
        try:
            utf8 = decoder.decode(data, last).encode()
        except ValueError:
            if is_certain or not is_ascii or not _is_windows_1252(held + data):
                how = (
                    f"{Parameter('encoding')}, such as cp1252, cp1250, cp1251, latin-1 or shift_jis"
                )
                name = codec.removesuffix("-sig")
                raise TableError(
                    f"{file.name} is not valid {name} text; pass its encoding with {how}."
                ) from None
            codec, is_certain = "cp1252", True
            decoder = codecs.getincrementaldecoder(codec)()
            utf8 = decoder.decode(held + data, last).encode()
        is_ascii = is_ascii and data.isascii()
        yield Chunk(utf8, share, last, codec != "utf-8", codec)


def _codec_of_mark(data: bytes) -> str:
    """Name the encoding that a byte-order mark tells; empty if there is none."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""


def _is_windows_1252(data: bytes) -> bool:
    """Whether text that is not UTF-8 may be this, and is not mostly UTF-8 with something damaged in it."""
    found = data.decode("utf-8", "replace")
    if len(re.findall("[^\x00-\x7f\ufffd]", found)) > found.count("\ufffd"):
        return False
    try:
        return bool(data.decode("cp1252"))
    except UnicodeDecodeError:
        return False


def refuse_endless(record: bytes, name: str, before: int) -> None:
    """Refuse a row that does not end, after so many lines."""
    if len(record) > _MOST_RECORD:
        raise TableError(
            f"{name}, line {before + 2:,}: a row without end; perhaps a quote is not closed: close it."
        )


def _codec(encoding: str) -> str:
    """Find the name that Python has for an encoding of text."""
    try:
        "a".encode(encoding)  # some codecs are of bytes
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise TableError(
            f"Unknown encoding {shown(encoding)}; try utf-8, utf-16, cp1252 or latin-1."
        ) from None


# ---------------------------------------------------------------- column names

ROWS = 50  # that are looked at
_MOST_ABOVE = 20  # rows above the column names

Rows = list[list[str]]


class Header(NamedTuple):
    """The column names, and where they were found."""

    names: list[str]
    row: int  # of the names, from 0: cells begin below it
    notes: tuple[str, ...]


def find_header(rows: Rows, given: int | None, name: str) -> Header | None:
    """Find the column names of a table by its first rows; None if they are the first row as it stands.

    Rows above them are blank, or fill at most half of the columns, as a title does, or are set off
    by a blank row.

    Parameters
    ----------
    rows : list of list of str
        The first rows, as cells of text.
    given : int or None
        The row, from 1, if somebody says which it is.
    name : str
        Of the file.

    >>> find_header([["Sales 2024", "", ""], ["id", "city", "sum"], ["1", "Ulm", "20"]], None, "a.csv").names
    ['id', 'city', 'sum']
    """
    texts = [[cell.strip() for cell in row] for row in rows]
    if given is None:
        width = max((len(cells) for cells in texts[:ROWS]), default=0)
        padded = [cells + [""] * (width - len(cells)) for cells in texts]
        row = _first_row(padded, rows)
    elif given > len(texts) or not any(texts[given - 1]):
        what = "is empty" if given <= len(texts) else "is not among the first rows"
        how = Parameter("header_row")
        raise TableError(
            f"Row {given} of {name} {what}; pass the row of the column names with {how}."
        )
    else:
        row = given - 1

    names = list(rows[row])
    unnamed = [place for place, text in enumerate(names) if not text.strip()]
    if row == 0 and len(unnamed) < 2:
        return None

    notes = []
    if row and given is None:
        notes.append(
            f"The column names of {name} were found in row {row + 1}; if not, pass {flag_of('header_row')}."
        )
    if len(unnamed) > 1:
        for place in unnamed:
            names[place] = f"column {place + 1}"
        shown_names = [shown(names[place]) for place in unnamed[:5]]
        if len(unnamed) > 5:
            shown_names.append("so on")
        notes.append(
            f"{len(unnamed):,} columns of {name} have no name; they are called {listed(shown_names)}."
        )
    return Header(names, row, tuple(notes))


def _first_row(texts: Rows, rows: Rows) -> int:
    """The first row that may hold names; 0 if none above the others can be told from data."""
    n_used = sum(any(cells) for cells in zip(*texts[:ROWS], strict=True))
    usual = Counter(len(row) for row in rows[:ROWS] if row).most_common(1)
    for place, row in enumerate(texts[:_MOST_ABOVE]):
        n, set_off = (
            sum(map(bool, row)),
            not any(texts[place + 1] if place + 1 < len(texts) else ["end"]),
        )
        if set_off and n < n_used:
            continue
        # Of two columns, one may be all that a wrong delimiter leaves of a header.
        if 2 * n > n_used or (n and n_used < 3 and len(rows[place]) < usual[0][0]):
            titled = any(map(any, texts[:place]))
            return place if not titled or _are_names(texts, place) else 0
    return 0


def _are_names(texts: Rows, place: int) -> bool:
    """Whether a row may hold names: no numbers, and nothing that a column repeats further down."""
    columns = zip(*texts[place:ROWS], strict=True)
    return not any(own and (_is_number(own) or own in cells) for own, *cells in columns)


def _is_number(cell: str) -> bool:
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))
