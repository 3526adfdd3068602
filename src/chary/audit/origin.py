"""What a sheet says of where it comes from: the table, how to read it, how rows were drawn."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from chary._words import shown
from chary.tables.table import Table, TableError, column_named
from chary.tables.target import markers_of

CLASSES = "chary_classes"  # the column of a sheet that holds its origin, in every row
# How the rows of a sheet were chosen: at random, to measure the accuracy; or because a model
# doubts their labels, which cannot measure it.
RANDOM = "random"
DOUBT = "doubt"

# Keys of the JSON in column CLASSES. Its first key is the name of the target, with the classes.
_UNLABELED = "chary_unlabeled"
_TABLE = "chary_table"
_READ_WITH = "chary_read_with"
_PLACE = "chary_place"


class SheetOrigin(NamedTuple):
    """Where a sheet comes from."""

    target: str
    classes: list[str]  # the classes known at the draw
    unlabeled: tuple[str, ...] | None  # as given to ``target_labels``
    tables: tuple[str, ...]  # paths as typed, several if these were one table; empty if unknown
    read_with: dict[str, Any]  # the parameters to read them with
    chosen: str = RANDOM
    seed: int | None = None  # of the draw
    judged: tuple[str, ...] = ()  # columns of labels under test; empty: an audit of missing labels
    digests: dict[str, str] = {}  # noqa: RUF012 - of the labels at the draw, by judged column
    shown: tuple[str, ...] = ()  # columns that the sheet shows, if labels are under test
    stopped_when_enough: bool = False  # whether the annotator is told when to stop
    options: dict[str, Any] = {}  # noqa: RUF012 - how to make labels, from ``Options.to_keep``

    @property
    def markers(self) -> tuple[str, ...]:
        """The texts that mean "no label"."""
        return markers_of(self.unlabeled)


def sheet_origin(
    table: Table,
    target: str,
    classes: Sequence[str],
    unlabeled: str | Sequence[str] | None = None,
) -> SheetOrigin:
    """Describe where a sheet of a table comes from; ``unlabeled`` as given to ``target_labels``."""
    if isinstance(unlabeled, str):
        unlabeled = (unlabeled,)
    return SheetOrigin(
        target,
        list(classes),
        tuple(unlabeled) if unlabeled else None,
        (table.path, *table.more_paths),
        dict(table.read_with),
    )


def read_origin(sheet: Table) -> SheetOrigin | None:
    """Read where a sheet comes from; return None if a spreadsheet has lost it."""
    # Every row holds the same origin: the first that can be read will do.
    cell = next(filter(None, _parse_cells(sheet)), {})
    try:
        target = next(iter(cell))
        classes = [str(name) for name in cell[target]]
        reading = {**cell.get(_READ_WITH, {})}
    except (StopIteration, TypeError):
        return None

    read_with: dict[str, Any] = {}
    for name in ("delimiter", "encoding", "sheet"):
        if name in reading:
            read_with[name] = str(reading[name])
    header_row = _whole_number(reading.get("header_row"))
    if header_row:
        read_with["header_row"] = header_row

    unlabeled = cell.get(_UNLABELED)
    return SheetOrigin(
        target,
        classes,
        None if unlabeled is None else _texts(unlabeled),
        _texts(cell.get(_TABLE) or []),
        read_with,
        **{name: read(cell[_key(name)]) for name, read in _FIELDS.items() if _key(name) in cell},
    )


def origin_of(sheet: Table) -> SheetOrigin:
    """Read where a sheet comes from; refuse a sheet that has lost this."""
    origin = read_origin(sheet)
    if origin is None:
        raise TableError(
            f"{sheet.name} has no usable column {shown(CLASSES)}, which says how it was drawn; to "
            "put the column back, draw the same rows again elsewhere and copy it."
        )
    column_named(sheet, origin.target)
    return origin


def places_in_draw(sheet: Table) -> list[int | None]:
    """Read the place of each row in the draw, None if its cell does not say."""
    return [_whole_number(cell.get(_PLACE)) for cell in _parse_cells(sheet)]


def with_origin(sheet: Table, field: str, value: Any) -> Table:
    """Set a field of ``SheetOrigin`` in every row of a sheet."""
    if CLASSES not in sheet.frame.columns:
        return sheet
    cells = [_as_json({**cell, _key(field): value}) if cell else "" for cell in _parse_cells(sheet)]
    return replace(sheet, frame=sheet.frame.with_columns(pl.Series(CLASSES, cells)))


def origin_cells(origin: SheetOrigin, places: Sequence[int]) -> pl.Series:
    """Write the origin for each row, with the row's place to compare with its token."""
    cell: dict[str, Any] = {
        origin.target: origin.classes,
        _UNLABELED: origin.unlabeled,
        _TABLE: origin.tables,
        _READ_WITH: origin.read_with,
    }
    for name in _FIELDS:
        value = getattr(origin, name)
        if value != origin._field_defaults[name]:
            cell[_key(name)] = value
    return pl.Series(CLASSES, [_as_json({**cell, _PLACE: place}) for place in places])


def tables_beside(sheet: str | os.PathLike[str], origin: SheetOrigin) -> list[str] | None:
    """Find the tables that a sheet names in the sheet's own folder; return None if one is missing.

    The sheet may come from a stranger, so its cells are only read as names of plain files and
    folders: no other folder is looked into, no pattern is expanded, and no link is followed, since
    a link may lead to a device or another machine.
    """
    names = [re.split(r"[/\\]", table)[-1] for table in origin.tables]
    paths = [Path(sheet).with_name(name) for name in names if name not in ("", ".", "..")]
    if len(paths) < len(names) or not all(map(_is_plain, paths)):
        return None
    return [str(path) for path in paths] or None


def _is_plain(path: Path) -> bool:
    """Tell whether a path is a file or a folder itself: no link, device or pipe."""
    return not os.path.islink(path) and (os.path.isfile(path) or os.path.isdir(path))


def _parse_cells(sheet: Table) -> list[dict[str, Any]]:
    """Parse the cell of CLASSES in each row; return {} for a cell that cannot be read."""
    if CLASSES not in sheet.frame.columns:
        return [{}] * sheet.frame.height
    cells = []
    for text in sheet.frame[CLASSES]:
        try:
            cell = json.loads(str(text))
        except (ValueError, RecursionError):
            cell = None
        cells.append(cell if isinstance(cell, dict) else {})
    return cells


def _as_json(cell: dict[str, Any]) -> str:
    """Write the origin of a sheet as the JSON of a cell."""
    return json.dumps(cell, ensure_ascii=False)


# ------------------------------------------------------------ values that a person may have edited


def _texts(value: Any) -> tuple[str, ...]:
    """Read a list of texts, or a single text."""
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _mapping(value: Any) -> dict[str, Any]:
    """Read a mapping; return {} for anything else."""
    return value if isinstance(value, dict) else {}


def _whole_number(value: Any) -> int | None:
    """Read a whole number of at least 0; return None for anything else."""
    return value if isinstance(value, int) and value >= 0 else None


# How to read the fields of ``SheetOrigin`` that a cell holds only if they differ from the default.
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "chosen": str,
    "seed": _whole_number,
    "judged": _texts,
    "digests": _mapping,
    "shown": _texts,
    "stopped_when_enough": bool,
    "options": _mapping,
}


def _key(field: str) -> str:
    """Return the key in a cell of a field of ``SheetOrigin``."""
    return f"chary_{field}"
