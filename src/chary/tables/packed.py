"""Compressed bytes in; what is in them, never more than a table can be, out; and bytes compressed again."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

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


def refuse_bomb_ratio(size: int, packed: int, name: str) -> None:
    """The same of a file that is never in memory as a whole, so that only how far it grows matters."""
    if size > _SMALL and size > _RATIO * packed:
        refuse_bomb(size, packed, name)


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
        member = _only(archive, name)
        refuse_bomb(member.file_size, len(data), name)
        return member.filename, archive.read(member)  # never more than the size that was just checked


def only_member(path: Path, name: str) -> str | None:
    """The name of the one file in a ZIP archive; None if the archive is an office document."""
    with opened_zip(path, name) as archive:
        if "[Content_Types].xml" in archive.namelist() or "mimetype" in archive.namelist():
            return None
        return _only(archive, name).filename


@contextmanager
def opened_zip_file(file: BinaryIO, name: str) -> Iterator[IO[bytes]]:
    """What the one file in a ZIP archive holds, to be read bit by bit."""
    with opened_zip(file, name) as archive, archive.open(_only(archive, name)) as inside:
        yield inside


def _only(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    members = [m for m in archive.infolist() if not m.is_dir() and not _is_besides(m.filename)]
    if len(members) != 1:
        held = listed([shown(m.filename, 40) for m in members[:5]]) if members else "no file"
        more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
        raise TableError(f"{name} holds {held}{more}; chary reads an archive of one file: unpack it.")
    if members[0].flag_bits & 1:
        raise TableError(f"{name} is locked with a password; unpack it.")
    return members[0]


@contextmanager
def opened_zip(source: bytes | Path | BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """An archive to read from; whatever is wrong with it is a sentence."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
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
