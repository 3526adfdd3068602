"""Cells, and how the file that held them was written, in; a table, and the column that a name means, out."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from chary._words import shown
from chary.tables.errors import TableError

MAX_COLUMNS = 4096
ADDED_COLUMNS = ("chary_label", "chary_confidence", "chary_source", "chary_accept")


@dataclass(frozen=True)
class Table:
    """A file's cells and how it was written."""

    frame: pl.DataFrame  # CSV: all text; Parquet: the file's own types
    name: str
    delimiter: str = ""  # empty: Parquet
    bom: bool = False
    path: str = ""  # as it was given
    read_with: Mapping[str, str] = field(default_factory=dict)  # parameters to read it again with

    @property
    def suffix(self) -> str:
        """Extension of a file written like this one."""
        return ".csv" if self.delimiter else ".parquet"


def column_named(table: Table, name: str) -> str:
    """The name, if the table has such a column; otherwise an error that suggests the nearest."""
    if name in table.frame.columns:
        return name
    raise TableError(f"{table.name} has no column {shown(name)}; {column_hint(name, table.frame.columns)}")


def column_hint(name: str, columns: Sequence[str]) -> str:
    """What may have been meant by a name that no column has.

    >>> column_hint("aeg", ["id", "age"])
    "did you mean 'age'?"
    """
    near = difflib.get_close_matches(name[:200], [column[:200] for column in columns[:500]], n=1, cutoff=0.6)
    listed = ", ".join(shown(column) for column in columns[:8]) + (", ..." if len(columns) > 8 else "")
    return f"did you mean {shown(near[0])}?" if near else f"it has {listed}."


def has_texts(cells: pl.Series) -> bool:
    """Whether its cells can be shown as text: they are no lists, records, bytes or objects of Python."""
    return not cells.dtype.is_nested() and cells.dtype not in (pl.Binary, pl.Object)


def texts(cells: pl.Series) -> pl.Series:
    """Cells as text, null where they are of a type that cannot be shown."""
    try:
        return cells.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Two columns of one name cannot be told apart."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if name in seen:
            raise TableError(
                f"{where}: columns {seen[name]} and {position} are both called {shown(name)}; rename one of them."
            )
        seen[name] = position
