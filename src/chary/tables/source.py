"""Anything that holds a table, opened once and read as often as asked: at once, in batches, by row or by column.

A source is a data frame, a file, several files, a folder, a pattern, or standard input. This is the
only door for untrusted files: whatever is wrong with one ends in a ``TableError``, one sentence
that says what was found, where, and what to do.
"""

from __future__ import annotations

import copy
import glob
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._files import is_address, why_unreadable
from chary._words import Parameter, shown
from chary.tables.formats import FORMATS, Parquet, look_into
from chary.tables.formats.base import Batch, File, Format, Reading, state_of
from chary.tables.frames import from_dataframe
from chary.tables.table import (
    ADDED_COLUMNS,
    MAX_COLUMNS,
    Table,
    TableError,
    blank_rows,
    cast_to,
    column_named,
    common_schema,
    free_memory,
    refuse_beyond_memory,
    refuse_taken,
    row_bytes,
    total_bytes,
)
from chary.tables.target import folded

STDIN = "-"
MOST_BYTES = 64 << 20  # of text in a block
GivenPath = str | os.PathLike[str]
# What chary itself writes next to a table, which is no part of the next one.
_OUTPUT = re.compile(
    r"\.(labeled|predicted|judged)\.(csv|tsv|txt|tab|parquet|jsonl|xlsx)(\.gz)?$"
    r"|\.(audit|check|judge)\.csv$|\.(report|judged)\.html$|\.model\.chary$|\.review\.json$"
)
# What labelling a table in memory takes: so many bytes for each that its cells do, and what Python
# itself needs.
_GROWTH, _BASE = 3, 300 << 20
# A file that is read as a whole may have one byte for so many that may be used: unpacked and read
# it takes more.
_WHOLE_GROWTH = 12
_FIRST_ROWS = 2**12  # of a Parquet file, by which the size of its cells is told
_KEPT = 64 << 20  # bytes of files that are read once and kept, where rows or columns are asked for
_NAMED = 6
# What is written before sums.
_SUMS = (
    "total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtsumme", "insgesamt", "somme",
    "totale", "suma", "totaal", "totalt", "razem", "итого", "всего", "合計", "合计",
)  # fmt: skip


def open_source(
    data: Any,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
    memory: int = 1 << 31,
    name: str | None = None,
    reserved: Sequence[str] = ADDED_COLUMNS,
) -> Source:
    """Open whatever holds a table; of files, no more than their beginnings is read.

    Parameters
    ----------
    data : Table, path, sequence of paths, mapping of columns, or data frame of any library that speaks Arrow
        A path may be a file of any kind, also one in gzip; a folder, or a pattern such as
        ``"in/*.csv"``: files of one kind with the same columns, one table in the order of their
        names; or ``"-"``, standard input.
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default=None
        Of a CSV. A byte-order mark overrides it. None: UTF-8, or UTF-16 or Windows-1252 if it is
        not, which a note says; text that does not decode is refused.
    sheet : str, default=None
        Of an Excel workbook that has several.
    header_row : int, default=None
        The row of a CSV or an Excel sheet, counted from 1, that holds the column names. None finds
        it: the first row, unless that is empty or a title.
    memory : int
        Bytes that reading in batches may take, about.
    name : str, default=None
        What to call it in sentences; None: a file by its name, and a data frame "the table".
    reserved : sequence of str
        Names that no column may have.

    Examples
    --------
    >>> source = open_source({"age": [31, 47, 23], "city": ["Ulm", None, "Bonn"]})
    >>> source.n_rows, source.rows([2, 0], ["age"])["age"].to_list()
    (3, [23, 31])
    """
    how = Reading(delimiter, encoding, sheet, header_row)
    if isinstance(data, Table):
        return Source([], [], how, reserved, memory, _kept=data)
    if not _are_paths(data):
        name = name or "the table"
        if told := how.as_given():
            raise TableError(f"{Parameter(next(iter(told)))} only applies to files; leave it out.")
        table = _usable(Table(from_dataframe(data), name), reserved)
        _refuse_sums(table)
        return Source([], [], how, reserved, memory, _kept=table)
    if delimiter is not None and (
        len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()
    ):
        raise TableError(
            f"The delimiter {shown(delimiter)} is not usable; give one ASCII character such as ';'."
        )
    given = [os.fspath(one) for one in ([data] if isinstance(data, (str, os.PathLike)) else data)]
    if not given:
        raise TableError("No file was given; give one at least.")
    found, notes = find_files(given)
    if name and len(found) == 1 and found[0].path is not None:
        found = [replace(found[0], name=name)]
    looked_into = [look_into(file if file.path else _standard_input()) for file in found]
    for file, format in looked_into:
        if sheet is not None and format.name != "xlsx":
            raise TableError(
                f"{file.name} is {format.words} without sheets; leave {Parameter('sheet')} out."
            )
    files, formats = [file for file, _ in looked_into], [format for _, format in looked_into]
    facts = {
        "path": given[0],
        "more_paths": tuple(given[1:]),
        "files": tuple(str(file.path) for file in files if file.path),
        "read_with": how.as_given(),
    }
    return Source(files, formats, how, reserved, memory, facts, notes)


def flattened(source: Source) -> Source:
    """The same table with the fields of records as columns of their own, as ``output.label``, if it has records.

    It is read as a whole then.

    >>> flattened(open_source(pl.DataFrame({"id": [1], "output": [{"label": "a"}]}))).names
    ['id', 'output.label']
    """
    if not any(isinstance(dtype, pl.Struct) for dtype in source.table.frame.dtypes):
        return source
    table = source.read()
    frame = table.frame
    try:
        while records := [cells.name for cells in frame if isinstance(cells.dtype, pl.Struct)]:
            frame = frame.unnest(records, separator=".")
    except pl.exceptions.DuplicateError:
        raise TableError(
            f"{table.name} has a column and a field of the same name; rename one of them."
        ) from None
    return open_source(replace(table, frame=frame), reserved=())


def read_table(
    path: GivenPath | Sequence[GivenPath],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> Table:
    """Read a table from files: CSV, Parquet, JSON lines or Excel, whichever their content says they are.

    Parameters
    ----------
    path : path, or sequence of paths
        A file, also one in gzip; a folder, or a pattern such as ``"in/*.csv"``: files of
        one kind with the same columns, one table in the order of their names; or ``"-"``, standard
        input.
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default=None
        Of a CSV. A byte-order mark overrides it. None: UTF-8, or UTF-16 or Windows-1252 if it is
        not, which a note says; text that does not decode is refused.
    sheet : str, default=None
        Of an Excel workbook that has several.
    header_row : int, default=None
        The row of a CSV or an Excel sheet, counted from 1, that holds the column names. None finds
        it: the first row, unless that is empty or a title.
    """
    paths = path if isinstance(path, (str, os.PathLike)) else list(path)
    return open_source(paths, **Reading(delimiter, encoding, sheet, header_row).as_given()).read()


@dataclass(eq=False, repr=False)
class Source:
    """A table that is read when asked for, as often as asked; see ``open_source``.

    Whatever is read of files that changed since they were opened is refused.
    """

    files: list[File]  #: none: a data frame
    _formats: list[Format]
    _how: Reading
    _reserved: Sequence[str]
    memory: int  #: bytes that reading in batches may take
    _facts: dict[str, Any] = field(
        default_factory=dict
    )  # of the table: which paths were given for it, and so on
    _notes: Sequence[str] = ()
    _kept: Table | None = None  # all rows, once they were read as a whole
    _columns: dict[str, pl.Series] = field(default_factory=dict)  # that were read as a whole
    _n_rows: int | None = None

    # ------------------------------------------------------------ what it is

    @cached_property
    def table(self) -> Table:
        """How it is written, its columns and their types, and notes; it holds no row."""
        if self._is_whole:
            whole = self.read()
            return replace(whole, frame=whole.frame.clear())
        with self._unchanged():
            return self._as_given(_joined(self._heads))

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return self.table.frame.columns

    def column_named(self, name: str) -> str:
        """The ``name``, if there is such a column; otherwise an error that suggests the nearest."""
        return column_named(self.table, name)

    @property
    def n_rows(self) -> int:
        """How many rows there are; it may have to be read for that."""
        if self._n_rows is None:
            if self._is_kept():
                self._n_rows = self.read().frame.height
            elif parquet := self._parquet():
                with self._unchanged():
                    self._n_rows = parquet.n_rows(self.files[0])
            else:
                self._n_rows = sum(
                    batch.table.frame.height for batch in self.batches(self.names[:1])
                )
        return self._n_rows

    @cached_property
    def n_bytes(self) -> int:
        """Bytes that its cells take in memory, about, by its first rows."""
        if self._is_whole:
            return total_bytes(self.read().frame)
        if parquet := self._parquet():  # of which Polars reads far ahead if it is asked for batches
            with self._unchanged():
                n_rows = parquet.n_rows(self.files[0])
                n_first = min(n_rows, _FIRST_ROWS)
                if not n_rows:
                    return 0
                first_rows = parquet.rows(self.files[0], range(n_first), self.names)
            return int(total_bytes(first_rows) * n_rows / n_first)
        first = next(self.batches())
        return int(total_bytes(first.table.frame) / max(first.share, 1e-9))

    @property
    def needed(self) -> int:
        """Bytes of memory that it would take to label it at once, about."""
        return _BASE + _GROWTH * self.n_bytes

    def exceeds(self, memory: int) -> bool:
        """Whether it has to be read in batches, as labelling it at once would take more than ``memory`` bytes.

        What is wrong with a file is not said here but by whoever reads it.
        """
        if self._is_whole or any(file.path is None for file in self.files):
            return False
        return self._takes_more_than(memory)

    def _takes_more_than(self, memory: int) -> bool:
        is_text = all(kind.name in ("csv", "jsonl") for kind in self._formats)
        # Text takes no more than four times its size, numbers in JSON lines included.
        if (
            is_text
            and not any(file.packed for file in self.files)
            and _BASE + 4 * _GROWTH * self._size <= memory
        ):
            return False
        try:
            return self.needed > memory
        except TableError:
            return False

    # ------------------------------------------------------------ what is in it

    def read(self) -> Table:
        """All rows; they are kept."""
        if self._kept is None:
            with self._unchanged():
                # A format that cannot be read in batches looks at the size of its content by
                # itself.
                if self._in_batches and self._takes_more_than(free_memory()):
                    remedy = "give a part of it, or label it on the command line, which reads such a table in parts"
                    refuse_beyond_memory(self.table.name, self.needed, remedy)
                tables = self._of_each_file(lambda file, kind: kind.read(file, self._how))
                self._kept = _usable(self._as_given(_joined(tables)), self._reserved)
                _refuse_sums(self._kept)
        return self._kept

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """All rows, in order, of all columns or those of ``columns`` that there are; never in memory as a whole.

        A file of a kind that has to be read as a whole is refused if it is too large for that.
        """
        if self._is_whole:
            table = self._kept or self._read_if_small()
            yield Batch(_selected(replace(self.table, frame=table.frame), columns), 1.0)
            return
        n_rows, size, last = 0, [max(1, file.size) for file in self.files], None
        with self._unchanged():
            for place in range(len(self.files)):
                before = sum(size[:place])
                for batch in self._file_batches(place, columns):
                    if not n_rows:
                        _usable(batch.table, self._reserved)
                    n_rows, last = n_rows + batch.table.frame.height, batch.table
                    yield Batch(batch.table, (before + batch.share * size[place]) / sum(size))
        if last is None:
            raise TableError(
                f"{self.table.name} has a header and no rows; there is nothing to label."
            )
        _refuse_sums(last)
        self._n_rows = n_rows

    def rows(self, numbers: Sequence[int], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Some rows, by ``numbers`` from 0, in this order, of all or some ``columns``."""
        names = self.names if columns is None else list(columns)
        if not len(numbers):
            return self.table.frame.select(names)
        if self._is_kept():
            return self.read().frame.select(names)[list(numbers)]
        if parquet := self._parquet():
            with self._unchanged():
                return parquet.rows(self.files[0], numbers, names)
        wanted, n_read = np.asarray(numbers, np.int64), 0
        order, found = np.unique(wanted), [self.table.frame.select(names)]
        for batch in self.batches(names):
            frame = batch.table.frame.select(names)
            there = slice(*np.searchsorted(order, [n_read, n_read + frame.height]))
            found.append(frame[(order[there] - n_read).tolist()])
            n_read += frame.height
            if there.stop == len(order):
                break
        self.refuse_changed()
        return pl.concat(found)[np.searchsorted(order, wanted).tolist()]

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Whole columns, by their ``names``; they are kept."""
        if self._is_kept():
            return self.read().frame.select(names)
        if new := [name for name in names if name not in self._columns]:
            frames = [batch.table.frame.select(new) for batch in self.batches(new)]
            self._columns |= {cells.name: cells for cells in pl.concat(frames, rechunk=True)}
        return pl.DataFrame([self._columns[name] for name in names])

    def column(self, name: str) -> pl.Series:
        """A whole column, by its ``name``; it is kept."""
        return self.columns([name])[name]

    def counts(self, name: str) -> tuple[pl.Series, list[int]]:
        """The different values of the column ``name``, sorted, and how many rows that are not blank have each."""
        cells = self.filled_columns([name])[name].alias("value")
        found = cells.to_frame().group_by("value").len("rows").sort("value")
        return found["value"], found["rows"].to_list()

    @cached_property
    def blank_numbers(self) -> NDArray[np.intp]:
        """Rows in which every cell is empty, by number from 0; of a table of one column that is no reason."""
        if len(self.names) == 1:
            return np.empty(0, dtype=np.intp)
        if self._is_kept():
            return np.flatnonzero(blank_rows(self.read().frame))
        is_blank = np.ones(1, dtype=bool)  # becomes as long as the columns
        for name in dict.fromkeys([*self._columns, *self.names]):  # those at hand first
            parts = [blank_rows(batch.table.frame.select(name)) for batch in self.batches([name])]
            is_blank = is_blank & np.concatenate(parts)
            if not is_blank.any():  # as in most tables, by one column
                break
        return np.flatnonzero(is_blank)

    @property
    def n_filled(self) -> int:
        """How many rows there are that are not blank."""
        return self.n_rows - len(self.blank_numbers)

    def filled_columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Whole columns, by their ``names``, without blank rows."""
        columns = self.columns(names)
        if not len(self.blank_numbers):
            return columns
        is_filled = np.ones(columns.height, dtype=bool)
        is_filled[self.blank_numbers] = False
        return columns.filter(pl.Series(is_filled))

    def refuse_changed(self) -> None:
        """Refuse files of which some rows would be of another state than others."""
        for file in self.files:
            file.refuse_changed()

    def written_as(self, format: str | None) -> Source:
        """The same rows, whose tables are to be written in another ``format``."""
        other = copy.copy(self)
        other.table = self.table.written_as(format)
        return other

    # ------------------------------------------------------------ how

    @cached_property
    def _in_batches(self) -> bool:
        return bool(self.files) and all(kind.in_batches for kind in self._formats)

    @property
    def _is_whole(self) -> bool:
        """Whether all rows are in memory, or some file can only be read as a whole."""
        return self._kept is not None or not self._in_batches

    @property
    def _size(self) -> int:
        """Bytes of all files, as they lie on the disk."""
        return sum(file.size for file in self.files)

    def _is_kept(self) -> bool:
        """Whether all rows are in memory, or may be since they are few; some format cannot do without."""
        return self._is_whole or (self._parquet() is None and self._size <= _KEPT)

    def _parquet(self) -> Parquet | None:
        """The format, if it is a single file whose rows are found by number without reading the others."""
        format = self._formats[0] if len(self.files) == 1 and self._in_batches else None
        return format if isinstance(format, Parquet) else None

    def _of_each_file(self, read: Callable[[File, Format], Table]) -> list[Table]:
        """What is read of each file, with what there is to say of the file."""
        tables = [read(file, kind) for file, kind in zip(self.files, self._formats, strict=True)]
        return [
            replace(table, packed=file.packed, notes=(*file.notes, *table.notes))
            for table, file in zip(tables, self.files, strict=True)
        ]

    @cached_property
    def _heads(self) -> list[Table]:
        """The columns of each file, one file at a time: an open one holds its first rows in memory."""
        return self._of_each_file(lambda file, kind: kind.head(file, self._how))

    def _file_batches(self, place: int, columns: Sequence[str] | None) -> Iterator[Batch]:
        """The batches of a file that have rows, in the types of the whole table."""
        wanted = dict(self.table.frame.schema)
        if columns is not None:
            wanted = {name: dtype for name, dtype in wanted.items() if name in set(columns)}
        file, head = self.files[place], self._heads[place]
        names = None if columns is None else list(wanted)
        for table, share in self._formats[place].batches(file, self._how, head, names, self.memory):
            if not table.frame.height:
                continue
            table = _selected(table, names)
            if table.frame.schema != wanted:
                table = replace(table, frame=cast_to(table.frame, wanted, table.name))
            yield Batch(replace(self.table, frame=table.frame), share)

    def _as_given(self, table: Table) -> Table:
        return replace(table, **self._facts, notes=(*table.notes, *self._notes))

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        self.refuse_changed()  # before Polars panics, aloud
        try:
            yield
        except Exception:
            self.refuse_changed()
            raise
        self.refuse_changed()

    def _read_if_small(self) -> Table:
        """All rows of files that can only be read as a whole."""
        for file in self.files:
            if file.size * _WHOLE_GROWTH > self.memory:
                how = Parameter("memory")
                raise TableError(
                    f"{file.name} is too large to read as a whole; write it as Parquet or CSV, or raise {how}."
                )
        return self.read()


def _refuse_sums(table: Table) -> None:
    """Refuse a last row that seems to hold the sums of those above it: as a row like them it would get a label."""
    for cells in table.frame.select(pl.col(pl.String)):
        last = cells[-1]
        if (
            last is not None
            and folded(last).rstrip(":") in _SUMS
            and 1 == (cells == last).sum() < len(cells)
        ):
            raise TableError(
                f"The last row of {table.name} has {shown(last)} in column {shown(cells.name)}; delete it if it "
                "sums up the others, or move it up if it is like them."
            )


def in_blocks(
    batches: Iterator[Batch], n_rows: int, most_bytes: int = MOST_BYTES
) -> Iterator[Batch]:
    """So many rows at a time, or fewer where their cells take more than so many bytes; one at least.

    Where a block begins depends on the rows before it, not on the batches: a file that is written
    in other row groups has the same blocks.
    """
    held: list[Table] = []
    rows = size = 0
    for batch in batches:
        start, height = 0, batch.table.frame.height
        ends = np.cumsum(row_bytes(batch.table.frame))
        while start < height:
            before = int(ends[start - 1]) if start else 0
            fit = int(np.searchsorted(ends, before + most_bytes - size, side="right")) - start
            n = min(n_rows - rows, height - start, max(fit, 0 if rows else 1))
            if n:
                held.append(replace(batch.table, frame=batch.table.frame.slice(start, n)))
                rows, start, size = rows + n, start + n, size + int(ends[start + n - 1]) - before
            if rows == n_rows or start < height:
                yield Batch(_concatenated(held), batch.share)
                held, rows, size = [], 0, 0
    if held:
        yield Batch(_concatenated(held), 1.0)


def _concatenated(tables: list[Table]) -> Table:
    return replace(tables[0], frame=pl.concat([table.frame for table in tables]))


def _selected(table: Table, columns: Sequence[str] | None) -> Table:
    """Keep those of some columns that there are."""
    if columns is None:
        return table
    names = [name for name in table.frame.columns if name in set(columns)]
    return replace(table, frame=table.frame.select(names))


def _usable(table: Table, reserved: Sequence[str]) -> Table:
    """The table, once its shape and its column names can be worked with."""
    frame, name = table.frame, table.name
    if frame.width > MAX_COLUMNS:
        raise TableError(
            f"{name} has {frame.width:,} columns; chary takes up to {MAX_COLUMNS:,}: select some."
        )
    if not frame.height:
        raise TableError(
            f"{name} has a header and no rows; chary needs labelled and unlabelled rows."
        )
    refuse_taken(table, reserved)
    return table


# ---------------------------------------------------------------- which files are meant


def find_files(given: Sequence[str]) -> tuple[list[File], list[str]]:
    """The files that paths, folders and patterns mean, in order, and a note on what was passed over."""
    if STDIN in given and len(given) > 1:
        raise TableError("Standard input cannot be combined with files; give one or the other.")
    notes: list[str] = []
    by_identity: dict[Any, File] = {}
    for path in given:
        for file in _files_of(path, notes):
            first = by_identity.setdefault(_identity(file), file)
            if first is not file:
                notes.append(
                    f"{file.name} is the same file as {first.name} and was read once: each row counts once."
                )
    return list(by_identity.values()), notes


def _identity(file: File) -> Any:
    """Tell by what two paths, or a file and a link to it, are the same file."""
    if file.path is None or file.state is None:
        return file.name
    device, inode, *_ = file.state
    if not inode:  # a file system that numbers none
        return os.path.realpath(file.path)
    return device, inode


def _some_names(names: Sequence[str]) -> str:
    """List names, of many the first and the last."""
    if len(names) <= _NAMED:
        return ", ".join(names)
    return ", ".join(names[:_NAMED]) + f", ... {names[-1]}"


def file_kind(path: GivenPath) -> Table:
    """How a file is written, by its first bytes: a table without columns, for what one made of it is called."""
    file, format = look_into(_file(os.fspath(path)))
    own = str(path)
    return Table(
        pl.DataFrame(), file.name, format=format.name, packed=file.packed, path=own, files=(own,)
    )


def _are_paths(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike)) or (
        isinstance(data, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in data)
    )


def _files_of(given: str, notes: list[str]) -> list[File]:
    """Those of a folder or a pattern that chary has not written, nor other programs beside tables; or one file."""
    if given == STDIN:
        return [File(given)]
    if os.path.isdir(given):
        try:
            names = sorted(entry.name for entry in os.scandir(given) if entry.is_file())
        except OSError as error:
            raise TableError(
                f"{shown(given, 200)} cannot be read ({(error.strerror or '').lower()})."
            ) from None
        paths = [os.path.join(given, name) for name in names if not name.startswith(".")]
        nothing = f"The folder {shown(given, 200)} holds no table; give a file, or a pattern for files deeper in it."
    elif glob.has_magic(given) and not is_address(given) and not os.path.lexists(given):
        paths = sorted(path for path in glob.glob(given, recursive=True) if os.path.isfile(path))
        nothing = f"No file is called {shown(given, 200)}; check the pattern."
    else:
        return [_file(given)]
    kept, skipped = list[str](), list[str]()
    for path in paths:
        name = os.path.basename(path)
        is_beside = os.path.isdir(given) and name.startswith("_")
        if is_beside or _OUTPUT.search(name):
            skipped.append(name)
        else:
            kept.append(path)
    if not kept:
        raise TableError(nothing)
    if skipped:
        listing = _some_names(skipped)
        notes.append(
            f"Skipped by name, as written by chary or beside tables: {listing}; name a file to read it."
        )
    return [_file(path) for path in kept]


def _file(given: str) -> File:
    if sentence := why_unreadable(given):
        raise TableError(sentence)
    path = Path(given)
    if not path.is_file():
        raise TableError(f"{path} is not a regular file; save the table in one first.")
    return File(path.name, path, state=state_of(path))


def _standard_input() -> File:
    return File("standard input", data=sys.stdin.buffer.read())


# ---------------------------------------------------------------- several files, one table


def _joined(tables: Sequence[Table]) -> Table:
    """The rows of all tables, in this order; the columns are those of the first."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        _refuse_others(first, table)
    schema = common_schema([table.frame for table in tables], f"{first.name} and others")
    joined = pl.concat([cast_to(table.frame, schema, table.name) for table in tables])
    names = [table.name for table in tables]
    note = f"{len(tables)} files were read as one table, in this order: {_some_names(names)}."
    notes = [note, *(note for table in tables for note in table.notes)]
    return replace(
        first, frame=joined, name=f"{len(tables)} files", notes=tuple(dict.fromkeys(notes))
    )


def _refuse_others(first: Table, table: Table) -> None:
    """Refuse a table that is of another kind than the first, or has other columns."""
    if table.format != first.format:
        words = FORMATS[first.format].words, FORMATS[table.format].words
        raise TableError(
            f"{first.name} is {words[0]} and {table.name} is {words[1]}; give files of one kind."
        )
    here, there = set(table.frame.columns), set(first.frame.columns)
    different = here ^ there
    if odd := [name for name in (*first.frame.columns, *table.frame.columns) if name in different]:
        has, lacks = (first, table) if odd[0] in there else (table, first)
        raise TableError(
            f"{has.name} has a column {shown(odd[0])} and {lacks.name} has not; give files of one kind."
        )
