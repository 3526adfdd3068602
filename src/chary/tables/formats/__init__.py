"""The file formats, one module each; what a file is by its content; and tables written back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from chary._words import Parameter, shown
from chary.tables.formats.base import Appender, Format
from chary.tables.formats.columnar import Parquet as Parquet
from chary.tables.formats.csv import Csv
from chary.tables.formats.files import GZIP, File, packed_stream
from chary.tables.formats.jsonl import Jsonl
from chary.tables.formats.xlsx import Xlsx
from chary.tables.table import PACKABLE, Table, TableError

# A file is of the first format whose pattern fits its first bytes; that of CSV fits all.
FORMATS: dict[str, Format] = {format.name: format for format in (Parquet(), Xlsx(), Jsonl(), Csv())}
# The format that the extension of a file name promises; a text table may have any extension.
_PROMISED = {ending: format.name for format in FORMATS.values() for ending in format.endings}
_PROMISED[".gz"] = GZIP

_ARROW = "an Arrow or Feather file; write the table as Parquet"
_PICKLE = "a Python pickle, which chary never opens; write it as Parquet"
_PACKED = "packed; unpack it first"
# Files that chary does not read, by their first bytes.
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as .xlsx or CSV",
    b"%PDF": "a PDF; export the table as CSV",
    b"ARROW1": _ARROW,
    b"FEA1": _ARROW,
    b"\xff\xff\xff\xff": _ARROW,
    b"\x80\x04": _PICKLE,
    b"\x80\x05": _PICKLE,
    b"\x1f\x8b": _PACKED,  # compressed twice: ``File.unpacked`` has taken off one layer
    b"BZh": _PACKED,
    b"\xfd7zXZ": _PACKED,
    b"\x28\xb5\x2f\xfd": _PACKED,
    b"7z\xbc\xaf": _PACKED,
    b"Rar!": _PACKED,
    b"version https://git-lfs": (
        "a Git LFS pointer, not the file itself; fetch it with git lfs pull"
    ),
}
_PAGE = re.compile(rb"\s*<(?:!doctype html|html|head|body|\?xml)", re.IGNORECASE)
_ARRAY = re.compile(rb"\s*\[\s*[\[{]")


def look_into(file: File) -> tuple[File, Format]:
    """Find out how a file is packed, and the format of its content.

    The file returned has a note if its name promises another format.
    """
    _refuse_empty(file)
    file, content_name = file.unpacked()
    _refuse_empty(file)
    head = file.head()
    _refuse_foreign(head, file.name)
    format = next(format for format in FORMATS.values() if re.match(format.begins, head))
    if file.packed and format.name not in PACKABLE:
        raise TableError(
            f"{file.name} holds {format.words}, which is compressed by itself; unpack it."
        )

    promised = _PROMISED.get(Path(content_name).suffix.lower(), format.name)
    if format.name == "csv" and promised != "csv":
        words = "a gzip file" if promised == GZIP else FORMATS[promised].words
        raise TableError(
            f"{file.name} is named as {words} but is none; check how it was written, and if it is "
            "a CSV, call it .csv."
        )
    if promised == format.name or file.path is None:
        return file, format
    note = f"{content_name} is {format.words} despite its name, and was read as one."
    return replace(file, notes=(note,)), format


def _refuse_empty(file: File) -> None:
    """Refuse a file without content."""
    if not file.head():
        raise TableError(f"{file.name} is empty; chary needs a header and rows.")


def _refuse_foreign(head: bytes, name: str) -> None:
    """Refuse content that is no table, and say how to get a table."""
    for first_bytes, words in _FOREIGN.items():
        if head.startswith(first_bytes):
            raise TableError(f"{name} is {words}.")

    text = head.removeprefix(b"\xef\xbb\xbf")
    if _PAGE.match(text):
        raise TableError(
            f"{name} is a web page or XML (a download may have failed), not a table; get the CSV "
            "or Parquet file itself."
        )
    if _ARRAY.match(text):
        raise TableError(
            f"{name} is one JSON array; write it as JSON lines, an object on each line."
        )


# ---------------------------------------------------------------- tables written back

# A row group of a Parquet file has this many rows.
GROUP_ROWS = 2**17


def write_table(table: Table, added: Mapping[str, Any], file: BinaryIO) -> None:
    """Write a table with columns added on the right.

    It is written as it was read, or as ``Table.written_as`` says. Its own cells are unchanged; what
    a format cannot hold is refused. Text in added columns of a CSV that a spreadsheet would run as
    a formula gets an apostrophe in front.

    Parameters
    ----------
    table : Table
        The table, as it was read.
    added : mapping of str to column
        Columns to add, by name.
    file : binary file
        Open for writing.
    """
    with appending(table, file) as appender:
        appender.append(table, added)


class _WithBlankRows:
    """An appender that puts blank rows back into their place."""

    def __init__(self, appender: Appender) -> None:
        self.appender = appender

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        """Write rows, with columns added on the right."""
        self.appender.append(*table.with_blank_rows(added))


@contextmanager
def appending(
    table: Table, file: BinaryIO, group_rows: int = GROUP_ROWS
) -> Iterator[_WithBlankRows]:
    """Open a file that takes tables one after the other.

    The result is the same as if they had been written at once: as the table is, or as
    ``Table.written_as`` says.
    """
    require_writable(table)
    with packed_stream(file, table.packed) as stream:
        appender = FORMATS[table.format].appender(stream, group_rows)
        try:
            yield _WithBlankRows(appender)
            appender.close()
        except BaseException:
            appender.abandon()
            raise


def require_writable(table: Table) -> None:
    """Refuse, before any work is done, a table that its format cannot hold."""
    format = FORMATS[table.format]
    format.refuse_unwritable(table.frame)
    for name, dtype in table.frame.schema.items():
        if not format.holds(dtype):
            raise TableError(
                f"{table.format} files cannot hold column {shown(name)}, which is {dtype}; choose "
                f"{Parameter('format', 'parquet')}."
            )
