"""Text files in chunks: whatever their encoding, they are read as UTF-8."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple

from chary._words import Parameter, shown
from chary.tables.formats.files import File
from chary.tables.table import TableError

# This many bytes are read at a time.
CHUNK = 4 << 20
# A record of more bytes than these is refused: it seems to have no end.
_LONGEST_RECORD = 256 << 20


class Chunk(NamedTuple):
    """A piece of a text file."""

    data: bytes  # UTF-8 without byte-order mark
    share: float  # of the file that was read up to the end of this chunk
    last: bool
    bom: bool  # whether the file has a byte-order mark, or would need one when written as UTF-8
    encoding: str  # of the file


def text_chunks(file: File, encoding: str | None, size: int | None) -> Iterator[Chunk]:
    """Read a text file as UTF-8, in pieces of ``size`` or all at once.

    A byte-order mark says what the encoding is. Without one and without ``encoding``, text that is
    not UTF-8, and was ASCII so far, is Windows-1252, as Excel and older programs write it. Text
    that does not decode is refused.
    """
    decoder = None
    codec = ""
    is_certain = False
    is_ascii = True  # so far
    for data, share, is_last in file.chunks(size):
        if decoder is None:
            marked_codec = _codec_of_mark(data)
            codec = marked_codec or _codec(encoding or "utf-8")
            is_certain = bool(marked_codec or encoding)
            decoder = codecs.getincrementaldecoder(codec)()
        undecoded = decoder.getstate()[0]  # bytes of a character whose end is in the next chunk
        try:
            utf8 = decoder.decode(data, is_last).encode()
        except ValueError:
            # The encoding was a guess, UTF-8, and no chunk before this one has supported it.
            is_open = not is_certain and is_ascii
            if not is_open or not _is_windows_1252(undecoded + data):
                raise TableError(
                    f"{file.name} is not valid {codec.removesuffix('-sig')} text; pass its "
                    f"encoding with {Parameter('encoding')}, such as cp1252, cp1250, cp1251, "
                    "latin-1 or shift_jis."
                ) from None
            codec = "cp1252"
            is_certain = True
            decoder = codecs.getincrementaldecoder(codec)()
            utf8 = decoder.decode(undecoded + data, is_last).encode()
        is_ascii = is_ascii and data.isascii()
        needs_mark = codec != "utf-8"
        yield Chunk(utf8, share, last=is_last, bom=needs_mark, encoding=codec)


def _codec_of_mark(data: bytes) -> str:
    """Name the encoding that a byte-order mark tells; empty without a mark."""
    if data.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return ""


def _is_windows_1252(data: bytes) -> bool:
    """Tell whether text that is not UTF-8 may be Windows-1252.

    UTF-8 with some damaged bytes is not: most of its characters beyond ASCII decode as UTF-8.
    """
    text = data.decode("utf-8", "replace")
    n_decoded = len(re.findall("[^\x00-\x7f\ufffd]", text))
    if n_decoded > text.count("\ufffd"):
        return False
    try:
        return bool(data.decode("cp1252"))
    except UnicodeDecodeError:
        return False


def _codec(encoding: str) -> str:
    """Return Python's name of an encoding of text."""
    try:
        "a".encode(encoding)  # some codecs encode bytes, not text
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise TableError(
            f"Unknown encoding {shown(encoding)}; try utf-8, utf-16, cp1252 or latin-1."
        ) from None


def refuse_endless(record: bytes, name: str, n_lines_before: int) -> None:
    """Refuse a row that does not end: a record of very many bytes.

    ``n_lines_before`` are the lines between the header and the record.
    """
    if len(record) > _LONGEST_RECORD:
        raise TableError(
            f"{name}, line {n_lines_before + 2:,}: a row without end; perhaps a quote is not "
            "closed: close it."
        )
