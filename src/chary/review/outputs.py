"""A result in; its files written whole out, where nothing of anybody else's is in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from chary._files import atomic_write
from chary.review.files import Ownership

Writer = Callable[[Path], None]


class Outputs:
    """The files that a page makes: which are written, whose they are, and whether they are of the last result."""

    def __init__(self, paths: Mapping[str, Path], ownership: Ownership) -> None:
        self.paths, self.ownership = dict(paths), ownership
        self._written: dict[str, object] = {}  # by kind: what it was made of

    def in_the_way(self) -> list[str]:
        """Names of files that somebody else wrote, or changed since."""
        return [path.name for path in self.paths.values() if not self.ownership.may_write(path)]

    def write(self, writers: Mapping[str, Writer], made_of: object, overwrite: bool = False) -> list[str]:
        """Write what may be written; returns the names of those that were not."""
        left = []
        for kind, write in writers.items():
            path = self.paths[kind]
            if not overwrite and not self.ownership.may_write(path):
                left.append(path.name)
                continue
            write(path)
            self.ownership.wrote(path)
            self._written[kind] = made_of
        return left

    def files(self, kinds: Mapping[str, Any] | list[str], made_of: object) -> list[dict[str, Any]]:
        """What there is to tell of each file."""
        told = []
        for kind in kinds:
            path = self.paths[kind]
            there, own = path.exists(), self.ownership.is_own(path)
            stale = there and (not own or self._written.get(kind) != made_of)
            told.append(
                {"kind": kind, "name": path.name, "written": there, "ours": own or not there, "stale": stale}
            )
        return told


def to_stream(write: Callable[[BinaryIO], None]) -> Writer:
    """A writer to a path, whole or not at all, of one to a stream."""

    def to_path(path: Path) -> None:
        with atomic_write(path, overwrite=True) as stream:
            write(stream)

    return to_path
