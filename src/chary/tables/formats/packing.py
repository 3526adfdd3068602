"""Files to read, packed or not, never unpacked to more than a table can be; and bytes packed again."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from chary._words import listed, shown
from chary.tables.table import TableError, reason

GZIP, ZIP = "gz", "zip"
PACKED_WORDS = {GZIP: "a gzip file", ZIP: "a ZIP archive"}
_MAGIC = {b"\x1f\x8b": GZIP, b"PK\x03\x04": ZIP, b"PK\x05\x06": ZIP}  # the last: an empty archive
# A file that unpacks to more than this is refused; so is one that grows more than so many times and is not small.
_MOST, _SMALL, _RATIO = 2**34, 2**28, 200
_PIECE, _HEAD = 1 << 20, 4096
# What archives hold besides files that somebody put there.
_BESIDES = (".DS_Store", "Thumbs.db", "desktop.ini")


@dataclass(frozen=True)
class File:
    """A file to read, as often as asked."""

    name: str  # for people
    path: Path | None = None  # None: standard input, or something at an address
    data: bytes = b""  # of these, once they were read
    packed: str = ""  # "gz", "zip"
    notes: tuple[str, ...] = ()  # what a person should know of it
    state: tuple[int, ...] | None = None  # when it was found: another once it was written to or replaced

    @classmethod
    def at(cls, path: Path) -> File:
        """A file of the disk."""
        return cls(path.name, path, state=state_of(path))

    def refuse_changed(self) -> None:
        """Refuse it if what is read of it now is of another state than what was read before."""
        if self.path is not None and state_of(self.path) != self.state:
            raise TableError(f"{self.name} was changed while it was read; wait until it is whole, then try again.")

    @property
    def size(self) -> int:
        """Bytes, as it lies on the disk."""
        return len(self.data) if self.path is None else os.path.getsize(self.path)

    def head(self) -> bytes:
        """Its first bytes, unpacked, which say what it is."""
        with self._opened() as (_, stream):
            return bytes(stream.read(_HEAD))

    def unpacked(self) -> tuple[File, str]:
        """The file with the way it is packed, and the name that what is in it has; a workbook is not unpacked."""
        packed = self.packing()
        file = replace(self, packed=packed)
        if packed != ZIP:
            return file, self.name[:-3] if packed and self.name.lower().endswith(".gz") else self.name
        with self._raw() as raw, opened_zip(raw, self.name) as archive:
            return file, _only(archive, self.name).filename

    def packing(self) -> str:
        """How it is packed, or what is in it is packed once more; empty: it is not."""
        head = self.head()
        packed = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
        return "" if packed == ZIP and self._is_workbook() else packed

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

    def _is_workbook(self) -> bool:
        """Whether what is in it is an Excel workbook; other office files are refused by what they are."""
        with io.BytesIO(self.read()) if self.packed else self._raw() as raw, opened_zip(raw, self.name) as archive:
            names = set(archive.namelist())
        if "xl/workbook.bin" in names:
            raise TableError(f"{self.name} is a binary Excel workbook; save it as .xlsx.")
        if "mimetype" in names and "content.xml" in names:
            raise TableError(f"{self.name} is an OpenDocument file; save the sheet as .xlsx or CSV.")
        if "[Content_Types].xml" in names and "xl/workbook.xml" not in names:
            raise TableError(f"{self.name} is an office document without a sheet; chary needs a table.")
        return "xl/workbook.xml" in names

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
                elif self.packed == ZIP:
                    with opened_zip(raw, self.name) as archive, archive.open(_only(archive, self.name)) as inside:
                        yield raw, inside
                else:
                    yield raw, raw
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                why = "it is cut off" if isinstance(error, EOFError) else reason(error)
                raise TableError(
                    f"{self.name} is a damaged gzip file ({why}); copy or download it again."
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
            f"{name} would unpack from {max(1, packed >> 10):,} KiB to at least {size >> 20:,} MiB, which no "
            "normal table does; unpack it yourself if you trust it."
        )


@contextmanager
def opened_zip(file: BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """An archive to read from; whatever is wrong with it is a sentence. No name in it is ever used as a path."""
    try:
        with zipfile.ZipFile(file) as archive:
            yield archive
    except TableError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, LookupError) as error:
        raise TableError(
            f"{name} is a damaged ZIP archive ({reason(error)}); copy it again or unpack it."
        ) from None


def _only(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        if not (
            member.is_dir() or member.filename.startswith("__MACOSX/") or Path(member.filename).name in _BESIDES
        )
    ]
    if len(members) != 1:
        held = listed([shown(m.filename, 40) for m in members[:5]]) if members else "no file"
        more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
        raise TableError(f"{name} holds {held}{more}; chary reads an archive of one file: unpack it.")
    if members[0].flag_bits & 1:
        raise TableError(f"{name} is locked with a password; unpack it.")
    return members[0]


@contextmanager
def packed_stream(file: BinaryIO, packed: str, name: str) -> Iterator[BinaryIO]:
    """A file to write to, so that its bytes end up compressed; the same bytes every time."""
    if not packed:
        yield file
        return
    with ExitStack() as stack:
        if packed == GZIP:
            stream: Any = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0))
        else:
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive = stack.enter_context(zipfile.ZipFile(file, "w"))
            stream = stack.enter_context(archive.open(member, "w", force_zip64=True))
        even = _Even(stream)
        yield even  # type: ignore[misc]
        even.finish()


class _Even(io.RawIOBase):
    """Passes bytes on in pieces of one size: compression depends on the cuts."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.held = file, bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.held += data
        while len(self.held) >= _PIECE:
            self.file.write(bytes(self.held[:_PIECE]))
            del self.held[:_PIECE]
        return len(data)

    def finish(self) -> None:
        self.file.write(bytes(self.held))
        self.held.clear()
