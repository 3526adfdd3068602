"""Paths and how to read them in; the table a page is about out, without what chary itself has added to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from chary._words import shown
from chary.tables import ADDED_COLUMNS, Table, TableError, scan_table

_LABELED = ".labeled"


class Opened(NamedTuple):
    """A table, and what the files beside it are called after."""

    table: Table
    folder: Path
    stem: str
    files: tuple[str, ...]  # that were read
    notes: tuple[str, ...]  # what a person should know of it


def open_table(paths: Sequence[str], *, keep: bool = False, **reading: Any) -> Opened:
    """Read a table, or a finished result: its columns of chary are set aside, and its files are the table's.

    With ``keep`` they are columns like any other: they may be what is judged.
    """
    if "-" in paths:
        raise TableError("A page needs a table that it can read again; save standard input in a file first.")
    table = scan_table(list(paths), **reading).whole()
    files, folder, stem = table.files, table.folder, table.stem
    added = [name for name in ADDED_COLUMNS if name in table.frame.columns]
    added += [name for name in table.frame.columns if name.startswith("chary_p_") and added]
    if keep or not added:
        return Opened(table, folder, stem, files, ())
    plain = replace(table, frame=table.frame.drop(added), lines=None)
    note = f"{table.name} is a result of chary: its columns {shown(added[0])} and others like it were set aside."
    if not stem.endswith(_LABELED):
        return Opened(plain, folder, stem, files, (note,))
    stem = stem.removesuffix(_LABELED)
    original = folder / f"{stem}{table.suffix}"
    if original.exists():  # what commands are to be typed with
        plain = replace(plain, path=str(original), files=(str(original),), name=original.name)
    return Opened(plain, folder, stem, files, (note,))
