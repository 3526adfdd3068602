"""The files that a page writes beside the table."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chary._files import atomic_writes
from chary.tables import Table
from chary.tables.formats.files import state_of

Writer = Callable[[BinaryIO], None]


class Paths(NamedTuple):
    """The files of one table: those that the commands use."""

    audit: Path  # the sheet of random rows
    check: Path  # the sheet of doubtful rows
    labels: Path
    model: Path
    report: Path


def paths_of(table: Table, judged: bool) -> Paths:
    """Name the files of a table."""
    sheet, labels, report = (
        ("judge", "judged", "judged") if judged else ("audit", "labeled", "report")
    )
    names = f"{sheet}.csv", "check.csv", f"{labels}{table.suffix}", "model.chary", f"{report}.html"
    return Paths(*(table.folder / f"{table.stem}.{name}" for name in names))


class Outputs:
    """The files that a page makes: whose they are, and whether they are of the last result."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.paths = paths
        self._written: dict[
            str, tuple[object, object]
        ] = {}  # by kind: what it was made of, its state on the disk

    def write(
        self, writers: Mapping[str, Writer], made_of: object, overwrite: bool = False
    ) -> list[str]:
        """Write what may be written; returns the names of those that are somebody else's."""
        ours = {kind: self.paths[kind] for kind in writers if overwrite or self._is_free(kind)}
        with atomic_writes(list(ours.values()), overwrite=True) as streams:
            for kind, stream in zip(ours, streams, strict=True):
                writers[kind](stream)
        for kind, path in ours.items():
            self._written[kind] = made_of, state_of(path)
        return [self.paths[kind].name for kind in writers if kind not in ours]

    def files(self, kinds: Iterable[str], made_of: object) -> list[dict[str, Any]]:
        """Tell of each file whether it is there, ours, and of the last result."""
        files = []
        for kind in kinds:
            path = self.paths[kind]
            is_there, is_ours = path.exists(), self._is_free(kind)
            is_stale = is_there and not (is_ours and self._written[kind][0] == made_of)
            files.append(
                {
                    "kind": kind,
                    "name": path.name,
                    "written": is_there,
                    "ours": is_ours,
                    "stale": is_stale,
                }
            )
        return files

    def _is_free(self, kind: str) -> bool:
        """Whether a file may be written unasked; a link is somebody's, also one that leads nowhere."""
        path = self.paths[kind]
        if not os.path.lexists(path):
            return True
        return (
            kind in self._written
            and not path.is_symlink()
            and self._written[kind][1] == state_of(path)
        )
