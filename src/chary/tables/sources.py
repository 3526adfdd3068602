"""Paths, folders, patterns or the sign for standard input in; the files that are meant, in their order, out."""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chary._files import why_unreadable
from chary._words import shown
from chary.tables.errors import TableError

STDIN = "-"
# What chary itself writes next to a table, which is no part of the next one.
_OWN = (".labeled.", ".predicted.", ".audit.", ".check.", ".judge.", ".judged.", ".model.chary", ".report.html")
_HEAD = 4096


class Source(NamedTuple):
    """A file to read."""

    name: str  # for people
    path: Path | None  # None: standard input

    def head(self, data: bytes | None) -> bytes:
        """Its first bytes, which say what it is."""
        if data is not None or self.path is None:
            return (data or b"")[:_HEAD]
        with self.path.open("rb") as file:
            return file.read(_HEAD)

    def read(self) -> bytes:
        """All its bytes."""
        return sys.stdin.buffer.read() if self.path is None else self.path.read_bytes()

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Refuse it if somebody writes to it while it is read."""
        before = state_of(self.path)
        try:
            yield
        except Exception:
            refuse_changed(self.path, before, self.name)
            raise
        refuse_changed(self.path, before, self.name)


def state_of(path: Path | None) -> tuple[int, ...] | None:
    """What is another once a file was written to or replaced; None where there is no file."""
    if path is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def refuse_changed(path: Path | None, before: tuple[int, ...] | None, name: str) -> None:
    """Refuse what was read of a file in two states, half of the one and half of the other."""
    if state_of(path) != before:
        raise TableError(f"{name} was changed while it was read; wait until it is whole, then try again.")


def find_sources(given: Sequence[str]) -> tuple[list[Source], list[str]]:
    """The files that paths, folders and patterns mean, in order, and a note on what was passed over."""
    if STDIN in given and len(given) > 1:
        raise TableError("Standard input is one table; give it alone, or the files alone.")
    notes: list[str] = []
    found = [source for path in given for source in _sources_of(path, notes)]
    paths = [source.path for source in found]
    twice = [path for k, path in enumerate(paths) if path is not None and path in paths[:k]]
    if twice:
        raise TableError(f"{shown(twice[0], 200)} is given twice; each row counts once: give each file once.")
    return found, notes


def _sources_of(given: str, notes: list[str]) -> list[Source]:
    if given == STDIN:
        return [Source("standard input", None)]
    if _exists(given):
        return _in_folder(Path(given), notes) if os.path.isdir(given) else [_file(given)]
    if glob.has_magic(given):
        matches = [path for path in glob.glob(given, recursive=True) if os.path.isfile(path)]
        return _chosen(sorted(matches), f"No file is called {shown(given, 200)}; check the pattern.", notes)
    return [_file(given)]


def _file(given: str) -> Source:
    path = Path(given)
    if sentence := why_unreadable(path):
        raise TableError(sentence)
    if not path.is_file():
        raise TableError(f"{path} is not a regular file; save the table in one first.")
    return Source(path.name, path)


def _in_folder(folder: Path, notes: list[str]) -> list[Source]:
    """The files of a folder, without hidden ones and the notes that other programs leave among tables."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        raise TableError(f"{shown(folder, 200)} cannot be read ({(error.strerror or '').lower()}).") from None
    seen = [str(folder / name) for name in names if not name.startswith((".", "_"))]
    nothing = f"The folder {shown(folder, 200)} holds no table; give a file, or a pattern for files deeper in it."
    return _chosen(seen, nothing, notes)


def _chosen(paths: list[str], nothing: str, notes: list[str]) -> list[Source]:
    """Those that chary has not written itself."""
    kept = [path for path in paths if not any(mark in os.path.basename(path) for mark in _OWN)]
    if not kept:
        raise TableError(nothing)
    if len(kept) < len(paths):
        n = len(paths) - len(kept)
        notes.append(
            f"{n} {'files' if n > 1 else 'file'} written by chary {'were' if n > 1 else 'was'} passed over."
        )
    return [_file(path) for path in kept]


def _exists(given: str) -> bool:
    try:
        return os.path.exists(given)
    except ValueError:  # a name that no file can have
        return False
