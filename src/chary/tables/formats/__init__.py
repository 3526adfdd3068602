"""The file formats, one module each; what a file is by its content; and tables written back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from chary._words import Parameter, shown
from chary.tables.formats.base import GZIP, Appender, File, Format, packed_stream
from chary.tables.formats.columnar import Parquet as Parquet
from chary.tables.formats.csv import Csv
from chary.tables.formats.jsonl import Jsonl
from chary.tables.formats.xlsx import Xlsx
from chary.tables.table import PACKABLE, Table, TableError

# In the order in which a file is looked at: what is nothing else is a CSV.
FORMATS: dict[str, Format] = {kind.name: kind for kind in (Parquet(), Xlsx(), Jsonl(), Csv())}

_WORDS = {**{kind.name: kind.words for kind in FORMATS.values()}, GZIP: "a gzip file"}
# What the extension of a name promises; a text table may have any.
_PROMISED = {ending: kind.name for kind in FORMATS.values() for ending in kind.endings} | {
    ".gz": GZIP
}
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as .xlsx or CSV",
    b"%PDF": "a PDF; export the table as CSV",
    **dict.fromkeys(
        (b"ARROW1", b"FEA1", b"\xff" * 4), "an Arrow or Feather file; write the table as Parquet"
    ),
    **dict.fromkeys(
        (b"\x80\x04", b"\x80\x05"), "a Python pickle, which chary never opens; write it as Parquet"
    ),
    **dict.fromkeys(
        (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf", b"Rar!"),
        "packed; unpack it first",
    ),
    b"version https://git-lfs": "a Git LFS pointer, not the file itself; fetch it with git lfs pull",
}
_PAGE = re.compile(rb"\s*<(!doctype html|html|head|body|\?xml)", re.IGNORECASE)
_ARRAY = re.compile(rb"\s*\[\s*[\[{]")
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a]")  # what text has not


def look_into(file: File) -> tuple[File, Format]:
    """A file with how it is packed and a note if its name says something else, and the format of what is in it."""
    _refuse_empty(file)
    file, promised = file.unpacked()
    head = _refuse_empty(file)
    _refuse_foreign(head, file.name)
    format = next(kind for kind in FORMATS.values() if re.match(kind.begins, head))
    if file.packed and format.name not in PACKABLE:
        raise TableError(
            f"{file.name} holds {format.words}, which is compressed by itself; unpack it."
        )
    said = _PROMISED.get(Path(promised).suffix.lower(), format.name)
    if format.name == "csv" and said != "csv":
        found = "unknown data" if _BINARY.search(head) else "text (if it is a CSV, call it .csv)"
        raise TableError(
            f"{file.name} is named as {_WORDS[said]} but contains {found}; check how it was written."
        )
    if said == format.name or file.path is None:
        return file, format
    note = f"{promised} is {format.words} despite its name, and was read as one."
    return replace(file, notes=(note,)), format


def _refuse_empty(file: File) -> bytes:
    if head := file.head():
        return head
    raise TableError(f"{file.name} is empty; chary needs a header and rows.")


def _refuse_foreign(head: bytes, name: str) -> None:
    for magic, foreign in _FOREIGN.items():
        if head.startswith(magic):
            raise TableError(f"{name} is {foreign}.")
    text = head.removeprefix(b"\xef\xbb\xbf")
    if found := _PAGE.match(text):
        kind = (
            "an XML file"
            if found[1].startswith(b"?")
            else "a web page (a download may have failed)"
        )
        raise TableError(f"{name} is {kind}, not a table; get the CSV or Parquet file itself.")
    if _ARRAY.match(text):
        raise TableError(
            f"{name} is one JSON array; write it as JSON lines, an object on each line."
        )


# ---------------------------------------------------------------- written back, with columns added on the right

GROUP_ROWS = 2**17  # of a row group of Parquet


def write_table(table: Table, added: Mapping[str, Any], file: BinaryIO) -> None:
    """Write the table as it was read, or as ``Table.written_as`` says, with columns added on the right.

    The table's own cells are unchanged; what a format cannot hold is refused. Text in added columns
    of a CSV that a spreadsheet would run as a formula gets an apostrophe in front.

    Parameters
    ----------
    table : Table
        What was read.
    added : mapping of str to column
        Columns to add, by name.
    file : binary file
        Open for writing.
    """
    with appending(table, file) as appender:
        appender.append(table, added)


class _Rows:
    """Writes rows, with the blank ones among them in their place."""

    def __init__(self, appender: Appender) -> None:
        self.appender = appender

    def append(self, table: Table, added: Mapping[str, Any]) -> None:
        """Write rows, with columns added on the right."""
        whole, columns = table.with_blank_rows(added)
        self.appender.append(whole, columns)


@contextmanager
def appending(table: Table, file: BinaryIO, group_rows: int = GROUP_ROWS) -> Iterator[_Rows]:
    """Open a file that takes tables one after the other, as if they had been written at once.

    It is written as the table is, or as ``Table.written_as`` says.
    """
    require_writable(table)
    with packed_stream(file, table.packed) as stream:
        appender = FORMATS[table.format].appender(stream, group_rows)
        try:
            yield _Rows(appender)
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
            how = Parameter("format", "parquet")
            raise TableError(
                f"{table.format} files cannot hold column {shown(name)}, which is {dtype}; choose {how}."
            )
