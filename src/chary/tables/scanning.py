"""A table of any size in; some of its rows, or some of its columns, out, and no more of it read than that takes.

Parquet is read by row and column. So is a CSV too large to be read and checked as a whole; others are read once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from chary.tables import contents
from chary.tables.contents import content_of
from chary.tables.delimited import read_csv
from chary.tables.errors import TableError, reason
from chary.tables.frames import table_from
from chary.tables.reading import read_labelled
from chary.tables.sources import refuse_changed, state_of
from chary.tables.table import Table, column_named, refuse_duplicates

_LARGE = 64 << 20  # bytes of a CSV from which on it is not read as a whole
_HEAD = 1 << 16
_INDEX = "chary_row"

T = TypeVar("T")


@dataclass(frozen=True)
class Scan:
    """A table whose rows and columns are read when asked for."""

    table: Table  # how it was written; its frame holds no row unless the table was read as a whole
    lazy: pl.LazyFrame
    n_rows: int
    is_sliced: bool = False  # whether a row is found without reading those before it
    state: tuple[int, ...] | None = None  # of a file that is read anew each time

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return self.table.frame.columns

    def rows(self, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
        """Some rows, by number from 0, in this order."""
        lazy, wanted = self.lazy.select(columns), list(numbers)
        if not wanted:
            return self.table.frame.select(columns).clear()
        if self.table.frame.height:
            return self.table.frame.select(columns)[wanted]
        if self.is_sliced:
            return self._read(lambda: pl.concat([lazy.slice(number, 1).collect() for number in wanted]))
        found = self._read(
            lambda: (
                lazy.with_row_index(_INDEX)
                .filter(pl.col(_INDEX).is_in(sorted(set(wanted))))
                .collect(engine="streaming")
            )
        )
        places = {number: place for place, number in enumerate(found[_INDEX].to_list())}
        return found.drop(_INDEX)[[places[number] for number in wanted]]

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Whole columns."""
        return self._read(lambda: self.lazy.select(names).collect(engine="streaming"))

    def counts(self, name: str) -> tuple[pl.Series, list[int]]:
        """The different values of a column, sorted, and how many rows have each."""
        lazy = self.lazy.select(pl.col(name).alias("value")).group_by("value").len("rows").sort("value")
        found = self._read(lambda: lazy.collect(engine="streaming"))
        return found["value"], found["rows"].to_list()

    def whole(self) -> Table:
        """All cells, to be written again."""
        if self.table.frame.height:
            return self.table
        return replace(self.table, frame=self._read(lambda: self.lazy.collect(engine="streaming")))

    def _read(self, read: Callable[[], T]) -> T:
        path = None if self.state is None else Path(self.table.files[0])
        refuse_changed(path, self.state, self.table.name)  # before Polars panics, aloud
        try:
            found = _or_one_sentence(read, self.table.name)
        except TableError:
            refuse_changed(path, self.state, self.table.name)
            raise
        refuse_changed(path, self.state, self.table.name)
        return found


def scan_table(
    data: Any, *, delimiter: str | None = None, encoding: str = "utf-8", sheet: str | None = None
) -> Scan:
    """A table of whatever holds one, as in ``table_from``; columns that chary wrote are columns like any other."""
    how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet}
    path = _one_file(data)
    if path is not None and sheet is None:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        content = content_of(head[:4096], path.name) if head else ""
        if content == contents.PARQUET and delimiter is None:
            return _scan_parquet(path, os.fspath(_first(data)))
        if content == contents.CSV and encoding == "utf-8" and path.stat().st_size > _LARGE:
            return _scan_csv(path, os.fspath(_first(data)), head, delimiter)
    if isinstance(data, (str, os.PathLike)) or (isinstance(data, (list, tuple)) and data):
        table = read_labelled(data, **how)
    else:
        table = table_from(data, taken=(), **how)
    return Scan(table, table.frame.lazy(), table.frame.height)


def scanned_column(scan: Scan, name: str) -> str:
    """The name, if the table has such a column; otherwise an error that suggests the nearest."""
    return column_named(scan.table, name)


def _first(data: Any) -> Any:
    return data[0] if isinstance(data, (list, tuple)) else data


def _one_file(data: Any) -> Path | None:
    """The path, if it is that of one file."""
    one = data[0] if isinstance(data, (list, tuple)) and len(data) == 1 else data
    if not isinstance(one, (str, os.PathLike)):
        return None
    try:
        return Path(one) if os.path.isfile(one) and os.access(one, os.R_OK) else None
    except ValueError:  # a name that no file can have
        return None


def _scan_parquet(path: Path, given: str) -> Scan:
    lazy = pl.scan_parquet(path, glob=False, use_statistics=False, hive_partitioning=False)
    return _scanned(lazy, Table(pl.DataFrame(), path.name, path=given, files=(str(path),)), is_sliced=True)


def _scan_csv(path: Path, given: str, head: bytes, delimiter: str | None) -> Scan:
    """A large CSV; its first lines are checked as those of any other."""
    bom = head.startswith(b"\xef\xbb\xbf")
    start = read_csv(head[: head.rfind(b"\n") + 1] or head, path.name, delimiter, "utf-8")
    lazy = pl.scan_csv(path, separator=start.delimiter, infer_schema=False, glob=False, encoding="utf8")
    read_with = {} if delimiter is None else {"delimiter": delimiter}
    table = Table(pl.DataFrame(), path.name, start.delimiter, bom, given, read_with, files=(str(path),))
    return _scanned(lazy, table)


def _scanned(lazy: pl.LazyFrame, table: Table, is_sliced: bool = False) -> Scan:
    state = state_of(Path(table.files[0]))
    schema = _or_one_sentence(lazy.collect_schema, table.name)
    refuse_duplicates(schema.names(), table.name)
    n_rows = _or_one_sentence(lambda: lazy.select(pl.len()).collect(engine="streaming").item(), table.name)
    if not n_rows:
        raise TableError(f"{table.name} has a header and no rows; there is nothing to draw from.")
    return Scan(replace(table, frame=pl.DataFrame(schema=schema)), lazy, int(n_rows), is_sliced, state)


def _or_one_sentence(read: Callable[[], T], name: str) -> T:
    why = "it contradicts itself"
    try:
        return read()
    except pl.exceptions.PanicException:
        pass
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        why = reason(error)
    raise TableError(f"{name} cannot be read ({why}); write it again.")
