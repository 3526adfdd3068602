"""Text of any encoding, as UTF-8, at once or in chunks."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import NamedTuple

from chary._words import Parameter, shown
from chary.tables.errors import EncodingError, TableError
from chary.tables.formats.packing import File

CHUNK = 4 << 20  # bytes read at a time
_MOST_RECORD = 256 << 20


class Chunk(NamedTuple):
    """Some of a text file."""

    data: bytes  # UTF-8 without byte-order mark
    share: float  # of the file that was read by now
    last: bool
    bom: bool  # whether the file begins with the mark of UTF-8


def text_chunks(file: File, encoding: str, size: int | None) -> Iterator[Chunk]:
    """A text file, about so many bytes at a time or all at once; what does not decode is refused with its line."""
    decoder, codec, bom, n_lines = None, "", False, 0
    for data, share, last in file.chunks(size):
        if decoder is None:
            bom = data.startswith(codecs.BOM_UTF8)
            if bom:
                encoding, data = "utf-8", data.removeprefix(codecs.BOM_UTF8)
            elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                encoding = "utf-16"
            codec = _codec(encoding)
            decoder = codecs.getincrementaldecoder(encoding)()
        held = decoder.getstate()[0]
        try:
            text = decoder.decode(data, last)
            as_it_is = codec == "utf-8" and not held and not decoder.getstate()[0]
            encoded = data if as_it_is else text.encode()
        except (UnicodeError, ValueError) as error:
            before = (held + data)[: getattr(error, "start", 0)]
            raise _undecodable(file.name, codec, n_lines + before.count(b"\n") + 1) from None
        n_lines += 0 if last else encoded.count(b"\n")
        yield Chunk(encoded, share, last, bom)


def refuse_endless(record: bytes, name: str, before: int) -> None:
    """Refuse a row that does not end, after so many lines."""
    if len(record) > _MOST_RECORD:
        raise TableError(
            f"{name}, line {before + 2:,}: a row of more than {_MOST_RECORD >> 20} MiB; perhaps a quote is opened "
            "and never closed: close it, or double it if it belongs to the text."
        )


def _undecodable(name: str, codec: str, line: int) -> EncodingError:
    remedy, parameter = "pass the encoding it was written in with ", Parameter("encoding")
    if codec.startswith("utf-8"):
        codec, remedy = "utf-8", "if it was written by Excel or an older program, pass "
        parameter = Parameter("encoding", "cp1252")
    return EncodingError(f"{name}, line {line}: not valid {codec} text; {remedy}", parameter, ".")


def _codec(encoding: str) -> str:
    """The name that Python has for an encoding of text."""
    try:
        codec = codecs.lookup(encoding)
        if not getattr(codec, "_is_text_encoding", True) or codec.incrementaldecoder is None:
            raise LookupError
        return codec.name
    except (LookupError, ValueError):
        raise TableError(f"Unknown encoding {shown(encoding)}; try utf-8, utf-16, cp1252 or latin-1.") from None
