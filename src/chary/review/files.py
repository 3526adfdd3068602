"""A table and what was made of it in; the files beside it out, and whether this page may write them unasked."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chary.tables import Seen, Table, seen

_PART = 1 << 20


class Paths(NamedTuple):
    """The files of one table: those that the commands use."""

    audit: Path  # the sheet of random rows
    check: Path
    labels: Path
    model: Path
    report: Path
    kept: Path  # what was chosen on the page, and what it wrote


def paths_of(folder: Path, stem: str, table: Table, judged: bool) -> Paths:
    """Where everything is."""
    sheet, labels, report = ("judge", "judged", "judged") if judged else ("audit", "labeled", "report")
    return Paths(
        audit=folder / f"{stem}.{sheet}.csv",
        check=folder / f"{stem}.check.csv",
        labels=folder / f"{stem}.{labels}{table.suffix}",
        model=folder / f"{stem}.model.chary",
        report=folder / f"{stem}.{report}.html",
        kept=folder / f"{stem}.review.json",
    )


class Ownership:
    """Which of the files that are there this page wrote, and nobody has changed since."""

    def __init__(self, digests: dict[str, str]) -> None:
        self.digests = digests
        self._known: dict[Path, tuple[Seen, str]] = {}  # so that a large file is read once

    def is_own(self, path: Path) -> bool:
        """Whether it is as this page wrote it."""
        told, now = self.digests.get(path.name), seen(path)
        if told is None or now is None:
            return False
        if path not in self._known or self._known[path][0] != now:
            with path.open("rb") as file:
                self._known[path] = now, digest(file)
        return self._known[path][1] == told

    def may_write(self, path: Path) -> bool:
        """Whether nothing is lost if it is written."""
        return not path.exists() or self.is_own(path)

    def wrote(self, path: Path) -> None:
        """This page has written it."""
        with path.open("rb") as file:
            found = digest(file)
        now = seen(path)
        self.digests[path.name] = found
        if now is not None:
            self._known[path] = now, found


class Fingerprint:
    """Whether the files of a table are as they were when they were read."""

    def __init__(self, files: Iterable[str]) -> None:
        self.files = [Path(file) for file in files]
        self._seen = [seen(file) for file in self.files]

    def renew(self, written: Iterable[Path]) -> None:
        """These were written on purpose: a result may be the very file that was read."""
        own = {path.absolute() for path in written}
        for place, file in enumerate(self.files):
            if file.absolute() in own:
                self._seen[place] = seen(file)

    def changed(self) -> str:
        """The name of the first that is not; empty: none."""
        now = zip(self.files, self._seen, strict=True)
        return next((file.name for file, before in now if seen(file) != before), "")


def digest(file: BinaryIO) -> str:
    """SHA-256 of all bytes."""
    found = hashlib.sha256()
    while part := file.read(_PART):
        found.update(part)
    return found.hexdigest()
