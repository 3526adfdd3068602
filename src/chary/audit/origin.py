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

# This column of a sheet holds the sheet's origin, in every row. It is named for the classes, which
# the origin lists first.
CLASSES = "chary_classes"
# The rows of a sheet were chosen at random: so they measure the accuracy.
RANDOM = "random"
# The rows of a sheet were chosen because a model doubts their labels: so they cannot measure it.
DOUBT = "doubt"

# The cells of column CLASSES are JSON. The first key is the name of the target, and its value the
# list of classes. The next four are further keys.
# This key has the markers of missing labels, as given to ``target_labels``.
_UNLABELED = "chary_unlabeled"
# This key has the paths of the table's files.
_TABLE = "chary_table"
# This key has the parameters to read these files with.
_READ_WITH = "chary_read_with"
# This key has the place of the row in the draw, from 1.
_PLACE = "chary_place"


class SheetOrigin(NamedTuple):
    """Where a sheet comes from."""

    target: str
    classes: list[str]  # the classes known at the draw
    unlabeled: tuple[str, ...] | None  # as given to ``target_labels``
    tables: tuple[str, ...]  # paths of the table's files, as typed; empty if unknown
    read_with: dict[str, Any]  # the parameters to read these files with
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
    """Read where a sheet comes from; return None if column CLASSES was lost or spoilt."""
    # Every row holds the same origin, so the first cell that can be read is enough.
    cell = next(filter(None, _parse_cells(sheet)), None)
    if cell is None:
        return None
    target = next(iter(cell))
    try:
        classes = [str(name) for name in cell[target]]
        parameters = {**cell.get(_READ_WITH, {})}
    except TypeError:  # no list of classes, or no mapping of parameters
        return None

    # A person may have edited the cell, so every value is converted to the type that it should
    # have.
    read_with: dict[str, Any] = {}
    for name in ("delimiter", "encoding", "sheet"):
        if name in parameters:
            read_with[name] = str(parameters[name])
    header_row = _whole_number(parameters.get("header_row"))
    if header_row:
        read_with["header_row"] = header_row

    optional_fields = {}
    for name, read_value in _FIELDS.items():
        if _key(name) in cell:
            optional_fields[name] = read_value(cell[_key(name)])
    unlabeled = None
    if cell.get(_UNLABELED) is not None:
        unlabeled = _texts(cell[_UNLABELED])
    return SheetOrigin(
        target,
        classes,
        unlabeled=unlabeled,
        tables=_texts(cell.get(_TABLE) or []),
        read_with=read_with,
        **optional_fields,
    )


def origin_of(sheet: Table) -> SheetOrigin:
    """Read where a sheet comes from, as ``read_origin`` does, but refuse a sheet that cannot tell.

    A sheet without its target column, in which the answers stand, is refused, too.
    """
    origin = read_origin(sheet)
    if origin is None:
        raise TableError(
            f"{sheet.name} has no usable column {shown(CLASSES)}, which says how it was drawn; to "
            "put the column back, draw the same rows again elsewhere and copy it."
        )
    column_named(sheet, origin.target)  # raises TableError if there is no such column
    return origin


def places_in_draw(sheet: Table) -> list[int | None]:
    """Read from column CLASSES each row's place in the draw; None if its cell does not say."""
    return [_whole_number(cell.get(_PLACE)) for cell in _parse_cells(sheet)]


def with_origin(sheet: Table, field: str, value: Any) -> Table:
    """Set a field of ``SheetOrigin`` in every row of a sheet; a spoilt cell becomes empty."""
    if CLASSES not in sheet.frame.columns:
        return sheet
    json_cells = []
    for cell in _parse_cells(sheet):
        if cell:
            json_cells.append(_as_json({**cell, _key(field): value}))
        else:
            json_cells.append("")
    return replace(sheet, frame=sheet.frame.with_columns(pl.Series(CLASSES, json_cells)))


def origin_cells(origin: SheetOrigin, places: Sequence[int]) -> pl.Series:
    """Write the cells of column CLASSES: the origin, the same for each row, and the row's place.

    The place is also in the row's token. If the two differ, columns were sorted without others.
    """
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
    """Find the table's files in the folder of the sheet; return None if one is missing.

    The sheet may come from a stranger, so its cells are only read as names of plain files and
    folders: no other folder is looked into, no pattern is expanded, and no link is followed, since
    a link may lead to a device or another machine. Of ``data/t.csv`` only ``t.csv`` is used.
    """
    paths = []
    for table in origin.tables:
        name = re.split(r"[/\\]", table)[-1]  # the part after the last slash or backslash
        if name in ("", ".", ".."):
            return None
        path = Path(sheet).with_name(name)
        if not _is_plain(path):
            return None
        paths.append(str(path))
    return paths or None


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


# The fields of ``SheetOrigin`` that a cell holds only if they differ from the default, each with
# the function that reads it.
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
    """Return the key under which a cell holds a field of ``SheetOrigin``."""
    return f"chary_{field}"
