"""The bytes of a file in; what it is, whatever its name says, out."""

from __future__ import annotations

import re
from pathlib import Path

from chary.tables.errors import TableError

CSV, PARQUET, JSONL, ARROW, XLSX, GZIP, ZIP = "csv", "parquet", "jsonl", "arrow", "xlsx", "gz", "zip"

_WORDS = {
    CSV: "a text table",
    PARQUET: "a Parquet file",
    JSONL: "JSON lines",
    ARROW: "an Arrow file",
    XLSX: "an Excel workbook",
    GZIP: "a gzip file",
    ZIP: "a ZIP archive",
}
# What the extension of a name promises; a text table may have any.
_PROMISED = {
    ".parquet": PARQUET, ".pq": PARQUET, ".jsonl": JSONL, ".ndjson": JSONL, ".arrow": ARROW, ".feather": ARROW,
    ".ipc": ARROW, ".xlsx": XLSX, ".xlsm": XLSX, ".gz": GZIP, ".zip": ZIP, ".csv": CSV, ".tsv": CSV, ".tab": CSV,
}  # fmt: skip
_KNOWN = {
    b"PAR1": PARQUET,
    b"ARROW1": ARROW,
    b"\xff\xff\xff\xff": ARROW,  # as a stream
    b"PK\x03\x04": ZIP,
    b"PK\x05\x06": ZIP,  # an empty one
    b"\x1f\x8b": GZIP,
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
_OBJECT = re.compile(rb"\s*\{\s*[\"}]")
_ARRAY = re.compile(rb"\s*\[\s*[\[{]")
_BOM = b"\xef\xbb\xbf"


def content_of(head: bytes, name: str) -> str:
    """What a file is by its first bytes; text is JSON lines if it begins with an object, and else a CSV."""
    for magic, what in _KNOWN.items():
        if head.startswith(magic):
            return what
    for magic, foreign in _FOREIGN.items():
        if head.startswith(magic):
            raise TableError(f"{name} is {foreign}.")
    text = head.removeprefix(_BOM)
    if found := _PAGE.match(text):
        kind = "an XML file" if found[1].startswith(b"?") else "a web page (a download may have failed)"
        raise TableError(f"{name} is {kind}, not a table; get the CSV or Parquet file itself.")
    if _ARRAY.match(text):
        raise TableError(f"{name} is one JSON array; write it as JSON lines, an object on each line.")
    return JSONL if _OBJECT.match(text) else CSV


def refuse_broken_promise(content: str, head: bytes, name: str, promised: str) -> None:
    """Refuse text under the name of something that cannot be mistaken: it is damaged, or something else.

    The name of what is in a compressed file, ``promised``, is another than that of the file.
    """
    said = _PROMISED.get(Path(promised).suffix.lower(), content)
    if content != CSV or said == CSV:
        return
    found = "text, perhaps a CSV: call it .csv if it is" if _is_text(head) else "nothing that chary knows"
    raise TableError(
        f"{name} is not {_WORDS[said]} (its first bytes say so) but {found}; check how it was written."
    )


def told_otherwise(content: str, name: str) -> str | None:
    """The sentence about a file that is not what its name says, and was read as what it is."""
    said = _PROMISED.get(Path(name).suffix.lower(), content)
    return (
        None if said == content else f"{name} is {_WORDS[content]}, whatever its name says, and was read as such."
    )


def words_for(content: str) -> str:
    """What it is called in a sentence.

    >>> words_for("xlsx")
    'an Excel workbook'
    """
    return _WORDS[content]


def _is_text(head: bytes) -> bool:
    """Whether the bytes have nothing that text has not; the last letter may be cut off."""
    return bool(head) and not re.search(rb"[\x00-\x08\x0e-\x1a]", head)
