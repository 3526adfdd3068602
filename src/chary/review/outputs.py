"""A result in; its files written whole out, where nothing of anybody else's is in the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from chary._files import atomic_writes
from chary.review.files import Ownership

Writer = Callable[[BinaryIO], None]


class Outputs:
    """The files that a page makes: which are written, whose they are, and whether they are of the last result."""

    def __init__(self, paths: Mapping[str, Path], ownership: Ownership) -> None:
        self.paths, self.ownership = dict(paths), ownership
        self._written: dict[str, object] = {}  # by kind: what it was made of

    def in_the_way(self) -> list[str]:
        """Names of files that somebody else wrote, or changed since."""
        return [path.name for path in self.paths.values() if not self.ownership.may_write(path)]

    def write(self, writers: Mapping[str, Writer], made_of: object, overwrite: bool = False) -> list[str]:
        """Write what may be written, all of it or nothing; returns the names of those that were not."""
        ours = {kind: path for kind, path in self.paths.items() if kind in writers}
        if not overwrite:
            ours = {kind: path for kind, path in ours.items() if self.ownership.may_write(path)}
        with atomic_writes(list(ours.values()), overwrite=True) as streams:
            for kind, stream in zip(ours, streams, strict=True):
                writers[kind](stream)
        for kind, path in ours.items():
            self.ownership.wrote(path)
            self._written[kind] = made_of
        return [self.paths[kind].name for kind in writers if kind not in ours]

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
