"""Files to read, in gzip or not, which are never unpacked to more than a table can be."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from chary.tables.table import TableError, reason

GZIP = "gz"
_GZIP_MAGIC = b"\x1f\x8b"
# An archive begins with one of these, an empty one with the second.
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")

# A file that unpacks to more bytes than this is refused.
_MOST_BYTES = 2**34
# A file that unpacks to more than this many times its size is refused, unless it stays small.
_MOST_GROWTH = 200
# A file that unpacks to at most this many bytes is small.
_SMALL_BYTES = 2**28

# A packed file is unpacked in pieces of this many bytes.
_PIECE = 1 << 20
# The first bytes of a file, this many, say what it is.
_HEAD = 4096


@dataclass(frozen=True)
class File:
    """A file to read, as often as asked."""

    name: str  # for people
    path: Path | None = None  # None: standard input
    data: bytes = b""  # what was read from standard input
    packed: str = ""  # "gz", or not packed
    notes: tuple[str, ...] = ()  # what a person should know of it
    state: tuple[int, ...] | None = None  # see ``state_of``, when the file was found

    def refuse_changed(self) -> None:
        """Refuse the file if it changed since it was found."""
        if self.path is not None and state_of(self.path) != self.state:
            raise TableError(
                f"{self.name} was changed while it was read; wait until it is whole, then try "
                "again."
            )

    @property
    def size(self) -> int:
        """Bytes, as the file lies on the disk."""
        return len(self.data) if self.path is None else os.path.getsize(self.path)

    def head(self) -> bytes:
        """Read the first bytes, unpacked, which say what the file is."""
        with self._opened() as (_, stream):
            return bytes(stream.read(_HEAD))

    def unpacked(self) -> tuple[File, str]:
        """Return the file with the way it is packed, and the name of its content.

        The content of ``t.csv.gz`` is called ``t.csv``.
        """
        head = self.head()
        if head.startswith(_ZIP_MAGIC):
            self._refuse_all_but_workbooks()
        if not head.startswith(_GZIP_MAGIC):
            return self, self.name

        name = self.name[:-3] if self.name.lower().endswith(".gz") else self.name
        return replace(self, packed=GZIP), name

    def chunks(self, size: int | None = None) -> Iterator[tuple[bytes, float, bool]]:
        """Read the content, about ``size`` bytes at a time or all at once.

        Yields
        ------
        data : bytes
            The next bytes, unpacked.
        share : float
            Share of the file that was read by now.
        is_last : bool
        """
        pieces: list[bytes] = []  # of the next chunk
        n_bytes = 0  # of these pieces
        n_total = 0  # of all pieces so far
        # A packed file is read in small pieces, to notice in time if it grows too much.
        piece_size = _PIECE if self.packed else size or -1
        with self._opened() as (raw, stream):
            while piece := stream.read(piece_size):
                pieces.append(piece)
                n_bytes += len(piece)
                n_total += len(piece)
                if self.packed:
                    refuse_bomb(n_total, self.size, self.name, whole=size is None)
                if size is not None and n_bytes >= size:
                    yield b"".join(pieces), min(1.0, raw.tell() / self.size), False
                    pieces = []
                    n_bytes = 0
        yield b"".join(pieces), 1.0, True

    def read(self) -> bytes:
        """Read the whole content, unpacked."""
        return next(self.chunks())[0]

    def _refuse_all_but_workbooks(self) -> None:
        """Refuse a ZIP archive that is not an Excel workbook."""
        with self._raw() as raw, opened_zip(raw, self.name) as archive:
            is_workbook = "xl/workbook.xml" in archive.namelist()
        if not is_workbook:
            raise TableError(
                f"{self.name} is a ZIP archive, or a document of another program; unpack it, or "
                "save its table as .xlsx or CSV."
            )

    def _raw(self) -> BinaryIO:
        return io.BytesIO(self.data) if self.path is None else self.path.open("rb")

    @contextmanager
    def _opened(self) -> Iterator[tuple[BinaryIO, Any]]:
        """Open the file as it lies on the disk, and its content."""
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
    """Return numbers that change when a file is written to or replaced."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def refuse_bomb(size: int, packed_size: int, name: str, whole: bool = True) -> None:
    """Refuse content that would fill the memory, by its size so far.

    Content that is not kept as a ``whole`` is refused only if it grows too much.
    """
    is_too_large = whole and size > _MOST_BYTES
    if is_too_large or size > max(_SMALL_BYTES, _MOST_GROWTH * packed_size):
        raise TableError(
            f"{name} would unpack to more than {size >> 20:,} MiB; unpack it yourself if you "
            "trust it."
        )


@contextmanager
def opened_zip(file: BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """Open an archive to read from; refuse a damaged one.

    No name in the archive is ever used as a path.
    """
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
    """Open a file to write to, in gzip if ``packed`` says so.

    The same content gives the same bytes: gzip is told no name and no time.
    """
    if packed == GZIP:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as stream:
            yield _Unflushed(stream)  # type: ignore[misc]
    else:
        yield file


class _Unflushed(io.RawIOBase):
    """A stream that ignores flushes: each one would change the compressed bytes."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: Any) -> int:
        return int(self.file.write(data))
