"""Compressed bytes in; what is in them, never more than a table can be, out; and bytes compressed again."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from chary._words import listed, shown
from chary.tables.errors import TableError, reason

# A file that unpacks to more than this is refused; so is one that grows more than so many times and is not small.
_MOST, _SMALL, _RATIO = 2**34, 2**28, 200
_CHUNK = 2**20
# What archives hold besides files that somebody put there.
_BESIDES = ("__MACOSX/", ".DS_Store", "Thumbs.db", "desktop.ini")


def is_bomb(size: int, packed: int) -> bool:
    """Whether no table grows to this size when it is unpacked, from that of its file."""
    return size > _MOST or (size > _SMALL and size > _RATIO * packed)


def refuse_bomb(size: int, packed: int, name: str) -> None:
    """Refuse what would fill the memory, by its size so far."""
    if is_bomb(size, packed):
        raise TableError(
            f"{name} unpacks to {size >> 20:,} MiB or more from {max(1, packed >> 10):,} KiB, as no table does; "
            "unpack it yourself if you trust it."
        )


def from_gzip(data: bytes, name: str) -> bytes:
    """What a gzip file holds."""
    unpacked = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while chunk := file.read(_CHUNK):
                unpacked.write(chunk)
                refuse_bomb(unpacked.tell(), len(data), name)
    except EOFError:
        raise TableError(f"{name} is a gzip file that is cut off; copy or download it again.") from None
    except (OSError, zlib.error) as error:
        raise TableError(f"{name} is a damaged gzip file ({reason(error)}); copy or download it again.") from None
    return unpacked.getvalue()


def from_zip(data: bytes, name: str) -> tuple[str, bytes]:
    """Name and bytes of the one file in a ZIP archive. No name in it is ever used as a path."""
    with opened_zip(data, name) as archive:
        members = [m for m in archive.infolist() if not m.is_dir() and not _is_besides(m.filename)]
        if len(members) != 1:
            held = listed([shown(m.filename, 40) for m in members[:5]]) if members else "no file"
            more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
            raise TableError(f"{name} holds {held}{more}; chary reads an archive of one file: unpack it.")
        if members[0].flag_bits & 1:
            raise TableError(f"{name} is locked with a password; unpack it.")
        refuse_bomb(members[0].file_size, len(data), name)
        return members[0].filename, archive.read(members[0])  # never more than the size that was just checked


@contextmanager
def opened_zip(data: bytes, name: str) -> Iterator[zipfile.ZipFile]:
    """An archive to read from; whatever is wrong with it is a sentence."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            yield archive
    except TableError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError) as error:
        raise TableError(
            f"{name} is a damaged ZIP archive ({reason(error)}); copy it again or unpack it."
        ) from None


@contextmanager
def packing(file: BinaryIO, packed: str, name: str) -> Iterator[BinaryIO]:
    """A file to write to, so that its bytes end up compressed; the same bytes every time."""
    if packed == "gz":
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield stream  # type: ignore[misc]
    elif packed == "zip":
        member = zipfile.ZipInfo(name)
        member.compress_type = zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(file, "w") as archive, archive.open(member, "w", force_zip64=True) as stream:
            yield stream  # type: ignore[misc]
    else:
        yield file


def _is_besides(name: str) -> bool:
    return name.startswith(_BESIDES[0]) or name.rpartition("/")[2] in _BESIDES[1:]
