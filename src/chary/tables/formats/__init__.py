"""The file formats, one module each, and what a file is by its content, whatever its name says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from chary.tables.errors import TableError
from chary.tables.formats.base import Format
from chary.tables.formats.columnar import Arrow, Parquet
from chary.tables.formats.csv import Csv
from chary.tables.formats.jsonl import Jsonl
from chary.tables.formats.packing import GZIP, PACKED_WORDS, ZIP, File
from chary.tables.formats.xlsx import Xlsx

# In the order in which a file is looked at: what is nothing else is a CSV.
FORMATS: dict[str, Format] = {kind.name: kind for kind in (Parquet(), Arrow(), Xlsx(), Jsonl(), Csv())}

_WORDS = {**{kind.name: kind.words for kind in FORMATS.values()}, **PACKED_WORDS}
# What the extension of a name promises; a text table may have any.
_PROMISED = {ending: kind.name for kind in FORMATS.values() for ending in kind.endings} | {
    ".gz": GZIP,
    ".zip": ZIP,
}
_FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as .xlsx or CSV",
    b"%PDF": "a PDF; export the table as CSV",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x89PNG": "an image; chary needs a table",
    b"\xff\xd8\xff": "an image; chary needs a table",
    b"GIF8": "an image; chary needs a table",
    b"FEA1": "a Feather file of the old version 1; write it again as version 2",
    b"\x93NUMPY": "a NumPy array, which has no columns; chary needs a table",
    b"\x89HDF": "an HDF5 file; write the table as Parquet",
    b"\x80\x04": "a Python pickle, which chary never opens; write the table as Parquet",
    b"\x80\x05": "a Python pickle, which chary never opens; write the table as Parquet",
    b"BZh": "bzip2-compressed; unpack it first",
    b"\xfd7zXZ": "xz-compressed; unpack it first",
    b"\x28\xb5\x2f\xfd": "zstd-compressed; unpack it first",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
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
    if twice := file.packed_twice:
        raise TableError(f"{file.name} holds {_WORDS[twice]}, compressed twice; unpack it once.")
    _refuse_foreign(head, file.name)
    format = next(kind for kind in FORMATS.values() if kind.matches(head))
    said = _PROMISED.get(Path(promised).suffix.lower(), format.name)
    if format.name == "csv" and said != "csv":
        found = (
            "nothing that chary knows" if _BINARY.search(head) else "text, perhaps a CSV: call it .csv if it is"
        )
        raise TableError(
            f"{file.name} is not {_WORDS[said]} (its first bytes say so) but {found}; check how it was written."
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
        kind = "an XML file" if found[1].startswith(b"?") else "a web page (a download may have failed)"
        raise TableError(f"{name} is {kind}, not a table; get the CSV or Parquet file itself.")
    if _ARRAY.match(text):
        raise TableError(f"{name} is one JSON array; write it as JSON lines, an object on each line.")
