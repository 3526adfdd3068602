"""The files that a page writes beside the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypedDict

from chary._files import atomic_writes
from chary.audit import sheet_path
from chary.tables import Table, state_of

# For each kind of output, such as "report", a function that writes it to a stream.
Writers = dict[str, Callable[[BinaryIO], object]]


class Paths(NamedTuple):
    """The files of one table, with the names that the commands give them."""

    audit: Path  # the sheet of random rows
    check: Path  # the sheet of doubtful rows
    labels: Path
    model: Path
    report: Path


class FileStatus(TypedDict):
    """What the page Result shows of a file."""

    kind: str  # a field of ``Paths``
    name: str
    written: bool  # it exists
    ours: bool  # this page may write it unasked
    stale: bool  # it exists, and does not hold the result at hand


def paths_of(table: Table, judged: bool) -> Paths:
    """Name the files of a table."""
    kind = "judge" if judged else "audit"
    names = [f"labeled{table.suffix}", "model.chary", "report.html"]
    if judged:
        names = [f"judged{table.suffix}", "model.chary", "judged.html"]
    return Paths(
        sheet_path(table, table.folder, kind),
        sheet_path(table, table.folder, "check"),
        *(table.folder / f"{table.stem}.{name}" for name in names),
    )


class Outputs:
    """The files that a page writes; it does not overwrite files of other programs unasked."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.paths = paths
        self._states: dict[str, object] = {}  # by kind: the file's state right after writing
        self._content: dict[str, object] = {}  # by kind: what the written file was made from

    def write(self, writers: Writers, content: object, overwrite: bool = False) -> list[str]:
        """Write the files that may be written; return the names of those that may not.

        ``content`` is what the files depend on, which ``status`` compares.
        """
        kinds = []
        names_left = []
        for kind in writers:
            if overwrite or self._is_free(kind):
                kinds.append(kind)
            else:
                names_left.append(self.paths[kind].name)

        paths = [self.paths[kind] for kind in kinds]
        with atomic_writes(paths, overwrite=True) as streams:
            for kind, stream in zip(kinds, streams, strict=True):
                write = writers[kind]
                write(stream)
        for kind, path in zip(kinds, paths, strict=True):
            self._states[kind] = state_of(path)
            self._content[kind] = content
        return names_left

    def status(self, kinds: Iterable[str], content: object) -> list[FileStatus]:
        """Tell which files exist, which may be written unasked, and which are out of date."""
        files: list[FileStatus] = []
        for kind in kinds:
            path = self.paths[kind]
            is_ours = self._is_free(kind)
            is_current = is_ours and self._content.get(kind) == content
            files.append(
                {
                    "kind": kind,
                    "name": path.name,
                    "written": path.exists(),
                    "ours": is_ours,
                    "stale": path.exists() and not is_current,
                }
            )
        return files

    def _is_free(self, kind: str) -> bool:
        """Tell whether a file may be written unasked: it is new, or as this page left it."""
        path = self.paths[kind]
        # This page makes no links; and a link that leads nowhere does not count as existing.
        if path.is_symlink():
            return False
        return not path.exists() or self._states.get(kind) == state_of(path)
