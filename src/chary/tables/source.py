"""Sources of tables, read as often as asked: whole, in batches, by row or by column.

A source is a data frame, a file, several files, a folder, a pattern, or standard input. This is the
only door for untrusted files: a file that cannot be read ends in a ``TableError``, one sentence
that says what is wrong, where, and what to do.
"""

from __future__ import annotations

import copy
import glob
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from chary._arrays import Ints
from chary._files import why_unreadable
from chary._words import Parameter, shown
from chary.tables.formats import Parquet, look_into
from chary.tables.formats.base import Batch, Format, Reading
from chary.tables.formats.files import File, state_of
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

# This path stands for standard input.
STDIN = "-"
GivenPath = str | os.PathLike[str]

# chary itself writes files with such names next to a table; a folder is read without them.
_OUTPUT = re.compile(
    r"\.(labeled|predicted|judged)\.(csv|tsv|txt|tab|parquet|jsonl|xlsx)(\.gz)?$"
    r"|\.(audit|check|judge)\.csv$|\.(report|judged)\.html$|\.model\.chary$|\.review\.json$"
)

# The cells of a block of rows take at most this many bytes; see ``in_blocks``.
_BLOCK_BYTES = 64 << 20
# To label a table in memory takes this many bytes for each byte of its cells.
_GROWTH = 3
# Python, NumPy and Polars themselves take this many bytes of memory.
_BASE_BYTES = 300 << 20
# A byte of a text file becomes at most this many bytes in memory, also in JSON lines of numbers.
_TEXT_GROWTH = 4
# The size of all cells of a Parquet file is estimated from this many first rows.
_FIRST_ROWS = 2**12
# Files up to this size are read once and kept, even if only some rows or columns are asked for.
_SMALL_BYTES = 64 << 20
# A note names at most this many files from the first on, and the last.
_NAMED_FILES = 6
# These words mark a row of sums, in several languages.
_SUM_WORDS = (
    "total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt", "gesamtsumme",
    "insgesamt", "somme", "totale", "suma", "totaal", "totalt", "razem", "итого",
    "всего", "合計", "合计",
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
    """Open a table; of files, only the beginnings are read.

    Parameters
    ----------
    data : Table, path, sequence of paths, mapping of columns, or data frame
        A data frame of any library that speaks Arrow. A path may be a file of any kind, also one in
        gzip; a folder, or a pattern such as ``"in/*.csv"``: files with the same
        columns, one table in the order of their names; or ``"-"``, standard input.
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default=None
        Encoding of a CSV; a byte-order mark overrides it. None: UTF-8, or Windows-1252 if the text
        is not valid UTF-8, which a note says. Text that does not decode is refused.
    sheet : str, default=None
        Name of a sheet; needed if an Excel workbook has several.
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
    reading = Reading(delimiter, encoding, sheet, header_row)
    if isinstance(data, Table):
        return Source([], [], reading, reserved, memory, _whole=data)
    if _are_paths(data):
        return _open_files(data, reading, reserved, memory, name)

    name = name or "the table"
    for option in reading.as_given():
        raise TableError(f"{Parameter(option)} only applies to files; leave it out.")
    table = Table(from_dataframe(data), name)
    _refuse_unusable(table, reserved)
    _refuse_sums(table)
    return Source([], [], reading, reserved, memory, _whole=table)


def _open_files(
    data: GivenPath | Sequence[GivenPath],
    reading: Reading,
    reserved: Sequence[str],
    memory: int,
    name: str | None,
) -> Source:
    """Open files, folders and patterns as one table."""
    delimiter = reading.delimiter
    if delimiter is not None:
        is_ascii_character = len(delimiter) == 1 and delimiter.isascii()
        if not is_ascii_character or delimiter in '"\r\n':
            raise TableError(
                f"The delimiter {shown(delimiter)} is not usable; give one ASCII character such as "
                "';'."
            )
    paths = [os.fspath(path) for path in _as_list(data)]
    if not paths:
        raise TableError("No file was given; give one at least.")

    files_given, notes = find_files(paths)
    if name and len(files_given) == 1 and files_given[0].path is not None:
        files_given = [replace(files_given[0], name=name)]

    files = []
    formats = []
    for file_given in files_given:
        opened = file_given if file_given.path else _standard_input()
        file, format = look_into(opened)
        files.append(file)
        formats.append(format)
    for file, format in zip(files, formats, strict=True):
        if reading.sheet is not None and format.name != "xlsx":
            raise TableError(
                f"{file.name} is {format.words} without sheets; leave {Parameter('sheet')} out."
            )

    names = tuple(str(file.path) for file in files if file.path)
    origin = _Origin(
        path=paths[0],
        more_paths=tuple(paths[1:]),
        files=names,
        read_with=reading.as_given(),
    )
    return Source(files, formats, reading, reserved, memory, _origin=origin, _notes=notes)


def read_table(
    path: GivenPath | Sequence[GivenPath],
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header_row: int | None = None,
) -> Table:
    """Read a table from CSV, Parquet, JSON lines or Excel files.

    The content of a file says which it is, not its name.

    Parameters
    ----------
    path : path, or sequence of paths
        A file, also one in gzip; a folder, or a pattern such as ``"in/*.csv"``: files with
        the same columns, one table in the order of their names; or ``"-"``, standard
        input.
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default=None
        Encoding of a CSV; a byte-order mark overrides it. None: UTF-8, or Windows-1252 if the text
        is not valid UTF-8, which a note says. Text that does not decode is refused.
    sheet : str, default=None
        Name of a sheet; needed if an Excel workbook has several.
    header_row : int, default=None
        The row of a CSV or an Excel sheet, counted from 1, that holds the column names. None finds
        it: the first row, unless that is empty or a title.
    """
    return open_source(
        _as_list(path),
        delimiter=delimiter,
        encoding=encoding,
        sheet=sheet,
        header_row=header_row,
    ).read()


def flattened(source: Source) -> Source:
    """Give the fields of records columns of their own, such as ``output.label``.

    A table with records is read as a whole for that; any other source is returned unchanged.

    >>> records = pl.DataFrame({"id": [1], "output": [{"label": "a"}]})
    >>> flattened(open_source(records)).names
    ['id', 'output.label']
    """
    if not _record_columns(source.table.frame):
        return source
    table = source.read()
    frame = table.frame
    try:
        while records := _record_columns(frame):  # a record may hold records
            frame = frame.unnest(records, separator=".")
    except pl.exceptions.DuplicateError:
        raise TableError(
            f"{table.name} has a column and a field of the same name; rename one of them."
        ) from None
    return open_source(replace(table, frame=frame), reserved=())


def _record_columns(frame: pl.DataFrame) -> list[str]:
    return [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Struct)]


class _Origin(NamedTuple):
    """Where the files of a table came from: fields of ``Table``."""

    path: str = ""
    more_paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    read_with: Mapping[str, Any] = {}


@dataclass(eq=False, repr=False)
class Source:
    """A table that is read when asked for; see ``open_source``.

    Files that changed since they were opened are refused.
    """

    files: list[File]  #: empty if the source is a data frame
    _formats: list[Format]  # of each file
    _reading: Reading
    _reserved: Sequence[str]
    memory: int  #: bytes that reading in batches may take
    _origin: _Origin = field(default_factory=_Origin)
    _notes: Sequence[str] = ()  # on the choice of files
    _whole: Table | None = None  # all rows, once they were read as a whole
    _columns: dict[str, pl.Series] = field(default_factory=dict)  # read as a whole, by name

    # ------------------------------------------------------------ what the table is

    @cached_property
    def table(self) -> Table:
        """The table without rows: its columns, notes, and how it is written."""
        if self._is_whole:
            whole = self.read()
            return replace(whole, frame=whole.frame.clear())
        with self._unchanged():
            return self._with_origin(_joined(self._heads))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.table.frame.columns

    def column_named(self, name: str) -> str:
        """Return the name of a column, or suggest one in an error."""
        return column_named(self.table, name)

    @cached_property
    def n_rows(self) -> int:
        """Number of rows; all of them may have to be read for that."""
        if self._may_read_whole():
            return self.read().frame.height
        parquet = self._parquet()
        if parquet is not None:
            with self._unchanged():
                return parquet.n_rows(self.files[0])
        return sum(batch.table.frame.height for batch in self.batches(self.names[:1]))

    @cached_property
    def n_bytes(self) -> int:
        """Bytes that the cells take in memory, estimated from the first rows."""
        if self._is_whole:
            return total_bytes(self.read().frame)

        # Polars reads far ahead in a Parquet file if it is asked for batches.
        if self._parquet() is not None:
            n_first = min(self.n_rows, _FIRST_ROWS)
            if n_first == 0:
                return 0
            return int(total_bytes(self.rows(range(n_first))) * self.n_rows / n_first)

        first_batch = next(self.batches())
        return int(total_bytes(first_batch.table.frame) / max(first_batch.share, 1e-9))

    @property
    def needed(self) -> int:
        """Bytes of memory that labelling all rows at once would take, about."""
        return _BASE_BYTES + _GROWTH * self.n_bytes

    def exceeds(self, memory: int) -> bool:
        """Tell whether labelling all rows at once would take more than ``memory`` bytes.

        False for sources that can only be read as a whole, and for damaged files, which the reader
        refuses later.
        """
        if self._is_whole or any(file.path is None for file in self.files):
            return False
        return self._takes_more_than(memory)

    def _takes_more_than(self, memory: int) -> bool:
        """Estimate whether labelling all rows at once would take more than ``memory`` bytes."""
        # The size of plain text files bounds what they take, without a look at their cells.
        is_text = all(format.name in ("csv", "jsonl") for format in self._formats)
        if is_text and not any(file.packed for file in self.files):
            most_bytes = _BASE_BYTES + _GROWTH * _TEXT_GROWTH * self._size
            if most_bytes <= memory:
                return False
        try:
            return self.needed > memory
        except TableError:  # a damaged file, which the reader refuses later
            return False

    # ------------------------------------------------------------ its rows and columns

    def read(self) -> Table:
        """Read all rows, and keep them."""
        if self._whole is None:
            with self._unchanged():
                self._whole = self._read_files()
        return self._whole

    def _read_files(self) -> Table:
        """Read all rows of all files; refuse a table that is larger than the memory."""
        # A format that cannot be read in batches looks at the size of its content by itself.
        if self._in_batches and self._takes_more_than(free_memory()):
            remedy = (
                "give a part of it, or label it on the command line, which reads such a table in "
                "parts"
            )
            refuse_beyond_memory(self.table.name, self.needed, remedy)
        tables = self._from_each_file(lambda file, format: format.read(file, self._reading))
        table = self._with_origin(_joined(tables))
        _refuse_unusable(table, self._reserved)
        _refuse_sums(table)
        return table

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Read all rows in order, never holding all of them in memory.

        Parameters
        ----------
        columns : sequence of str, default=None
            Columns to read, if they exist; None: all.
        """
        if self._is_whole:
            whole = replace(self.table, frame=self.read().frame)
            yield Batch(_selected(whole, columns), 1.0)
            return

        # Each file counts by its size in the share that was read.
        sizes = [max(1, file.size) for file in self.files]
        n_rows = 0  # of the batches so far
        last_table = None
        with self._unchanged():
            for i, size in enumerate(sizes):
                size_before = sum(sizes[:i])
                for table, share_of_file in self._file_batches(i, columns):
                    if n_rows == 0:
                        _refuse_unusable(table, self._reserved)
                    n_rows += table.frame.height
                    last_table = table
                    size_read = size_before + share_of_file * size
                    yield Batch(table, size_read / sum(sizes))
        if last_table is None:
            raise TableError(
                f"{self.table.name} has a header and no rows; there is nothing to label."
            )
        _refuse_sums(last_table)
        self.n_rows = n_rows  # all rows were counted, so the cached property has its value

    def rows(self, numbers: Sequence[int], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Read rows by their ``numbers`` from 0, in this order.

        Parameters
        ----------
        numbers : sequence of int
            A row may be asked for several times.
        columns : sequence of str, default=None
            None: all.
        """
        names = self.names if columns is None else list(columns)
        if not len(numbers):
            return self.table.frame.select(names)
        if self._may_read_whole():
            return self.read().frame.select(names)[list(numbers)]
        parquet = self._parquet()
        if parquet is not None:
            with self._unchanged():
                return parquet.rows(self.files[0], numbers, names)

        return self._rows_from_batches(numbers, names)

    def _rows_from_batches(self, numbers: Sequence[int], names: list[str]) -> pl.DataFrame:
        """Read rows by their numbers from batches, no further than the last of these rows.

        Each row is read once, in ascending order. At the end ``places`` puts the rows into the
        order asked for: for the numbers 9, 2, 9, ``ascending`` is 2, 9 and ``places`` is 1, 0, 1.
        """
        ascending, places = np.unique(np.asarray(numbers, np.int64), return_inverse=True)
        frames = [self.table.frame.select(names)]  # without rows, for the types
        batch_start = 0  # the number of the first row of the batch
        for batch in self.batches(names):
            frame = batch.table.frame.select(names)
            batch_end = batch_start + frame.height
            first, end = np.searchsorted(ascending, [batch_start, batch_end])
            places_in_batch = ascending[first:end] - batch_start
            frames.append(frame[places_in_batch.tolist()])
            batch_start = batch_end
            if end == len(ascending):
                break
        self.refuse_changed()
        rows = pl.concat(frames)
        return rows[places.tolist()]

    def columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Read whole columns by their ``names``, and keep them."""
        if self._may_read_whole():
            return self.read().frame.select(names)
        new_names = [name for name in names if name not in self._columns]
        if new_names:
            frames = []
            for batch in self.batches(new_names):
                frames.append(batch.table.frame.select(new_names))
            for cells in pl.concat(frames, rechunk=True):
                self._columns[cells.name] = cells
        return pl.DataFrame([self._columns[name] for name in names])

    def column(self, name: str) -> pl.Series:
        """Read a whole column by its ``name``, and keep it."""
        return self.columns([name])[name]

    def counts(self, name: str) -> tuple[pl.Series, list[int]]:
        """Count the distinct values of the column ``name``, in their order.

        Blank rows do not count.
        """
        cells = self.filled_columns([name])[name].alias("value")
        counts = cells.to_frame().group_by("value").len("rows").sort("value")
        return counts["value"], counts["rows"].to_list()

    @cached_property
    def blank_numbers(self) -> Ints:
        """Numbers from 0 of rows without a filled cell, if there are several columns."""
        if len(self.names) == 1:
            return np.empty(0, dtype=np.intp)
        if self._may_read_whole():
            return np.flatnonzero(blank_rows(self.read().frame))

        # A row is blank as long as no column has a filled cell there.
        is_blank = np.ones(1, dtype=bool)  # the first column broadcasts it to all rows
        # Columns at hand come first: in most tables, a single column has a cell in every row.
        for name in dict.fromkeys([*self._columns, *self.names]):
            masks = []
            for batch in self.batches([name]):
                masks.append(blank_rows(batch.table.frame.select(name)))
            is_blank = is_blank & np.concatenate(masks)
            if not is_blank.any():
                break
        return np.flatnonzero(is_blank)

    @property
    def n_filled(self) -> int:
        """Number of rows that are not blank."""
        return self.n_rows - len(self.blank_numbers)

    def filled_columns(self, names: Sequence[str]) -> pl.DataFrame:
        """Read whole columns by their ``names``, without blank rows."""
        columns = self.columns(names)
        if not len(self.blank_numbers):
            return columns
        is_filled = np.ones(columns.height, dtype=bool)
        is_filled[self.blank_numbers] = False
        return columns.filter(pl.Series(is_filled))

    def refuse_changed(self) -> None:
        """Refuse files that changed since they were opened."""
        for file in self.files:
            file.refuse_changed()

    def written_as(self, format: str | None) -> Source:
        """Return the same rows, whose tables are to be written in another ``format``."""
        source = copy.copy(self)
        source.table = self.table.written_as(format)
        return source

    # ------------------------------------------------------------ how they are read

    @cached_property
    def _in_batches(self) -> bool:
        """Whether there are files, and each can be read in batches."""
        return bool(self.files) and all(format.in_batches for format in self._formats)

    @property
    def _is_whole(self) -> bool:
        """Whether all rows are in memory, or some file can only be read as a whole."""
        return self._whole is not None or not self._in_batches

    @property
    def _size(self) -> int:
        """Bytes of all files, as they lie on the disk."""
        return sum(file.size for file in self.files)

    def _may_read_whole(self) -> bool:
        """Tell whether all rows are in memory, or few enough for it."""
        return self._is_whole or (self._parquet() is None and self._size <= _SMALL_BYTES)

    def _parquet(self) -> Parquet | None:
        """Return the format of a single Parquet file, which finds rows fast."""
        if len(self.files) == 1 and isinstance(self._formats[0], Parquet):
            return self._formats[0]
        return None

    def _from_each_file(self, read: Callable[[File, Format], Table]) -> list[Table]:
        """Read a table from each file, with the notes on the file itself."""
        tables = []
        for file, format in zip(self.files, self._formats, strict=True):
            table = read(file, format)
            notes = (*file.notes, *table.notes)
            tables.append(replace(table, packed=file.packed, notes=notes))
        return tables

    @cached_property
    def _heads(self) -> list[Table]:
        """The columns and types of each file, as tables without rows."""
        # Read one file at a time: an open one holds its first rows in memory.
        return self._from_each_file(lambda file, format: format.head(file, self._reading))

    def _file_batches(self, i: int, columns: Sequence[str] | None) -> Iterator[Batch]:
        """Read the batches of file ``i`` in the types of the table, which may be wider."""
        selected = _selected(self.table, columns)
        schema = dict(selected.frame.schema)
        names = None if columns is None else list(schema)
        file = self.files[i]
        head = self._heads[i]
        format = self._formats[i]
        batches = format.batches(file, self._reading, head, names, self.memory)
        for table, share in batches:
            if table.frame.height > 0:
                frame = _selected(table, names).frame
                if frame.schema != schema:
                    frame = cast_to(frame, schema, table.name)
                yield Batch(replace(self.table, frame=frame), share)

    def _with_origin(self, table: Table) -> Table:
        """Record in a table the files that it came from."""
        return replace(table, **self._origin._asdict(), notes=(*table.notes, *self._notes))

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Refuse files that change before or while they are read."""
        # Also checked before reading: for a file that became shorter, Polars prints a traceback of
        # its own, which no handler can take back.
        self.refuse_changed()
        try:
            yield
        except Exception:
            self.refuse_changed()  # the change explains the error better
            raise
        self.refuse_changed()


def in_blocks(
    batches: Iterator[Batch], n_rows: int, most_bytes: int = _BLOCK_BYTES
) -> Iterator[Batch]:
    """Regroup batches into blocks of ``n_rows`` rows or fewer.

    A block has fewer rows if their cells take more than ``most_bytes`` bytes, but at least one.
    Where it begins depends on the rows before it, not on the batches: a file that is written in
    other row groups has the same blocks.
    """
    pieces: list[Table] = []  # the parts of batches that the present block consists of
    block_rows = 0
    block_bytes = 0
    for batch in batches:
        frame = batch.table.frame
        height = frame.height
        # The bytes of all rows of the batch that come before each row, and of the whole batch.
        bytes_before = np.concatenate([[0], np.cumsum(row_bytes(frame))])
        start = 0  # the first row of the batch that is in no block yet
        while start < height:
            # Rows fit while the block has bytes left; an empty block takes one row of any size.
            bytes_left = most_bytes - block_bytes
            most_before_end = bytes_before[start] + bytes_left
            end = int(np.searchsorted(bytes_before, most_before_end, side="right")) - 1
            n_fitting = end - start
            n_least = 0 if block_rows else 1
            n_taken = min(n_rows - block_rows, height - start, max(n_fitting, n_least))
            if n_taken > 0:
                end = start + n_taken
                pieces.append(replace(batch.table, frame=frame.slice(start, n_taken)))
                block_rows += n_taken
                block_bytes += int(bytes_before[end] - bytes_before[start])
                start = end

            # If rows of the batch are left, they did not fit into the block.
            is_full = block_rows == n_rows or start < height
            if is_full:
                yield Batch(_concatenated(pieces), batch.share)
                pieces = []
                block_rows = 0
                block_bytes = 0
    if pieces:
        yield Batch(_concatenated(pieces), 1.0)


def _concatenated(tables: list[Table]) -> Table:
    return replace(tables[0], frame=pl.concat([table.frame for table in tables]))


def _selected(table: Table, columns: Sequence[str] | None) -> Table:
    """Keep only ``columns``, if the table has them, in its own order."""
    if columns is None:
        return table
    names = [name for name in table.frame.columns if name in set(columns)]
    return replace(table, frame=table.frame.select(names))


# ---------------------------------------------------------------- which files are meant


def find_files(paths: Sequence[str]) -> tuple[list[File], list[str]]:
    """Find the files that paths, folders and patterns mean.

    Returns
    -------
    files : list of File
        In order, each once.
    notes : list of str
        Sentences on files that were skipped, or given twice.
    """
    if STDIN in paths and len(paths) > 1:
        raise TableError("Standard input cannot be combined with files; give one or the other.")
    notes: list[str] = []
    by_identity: dict[Any, File] = {}
    for path in paths:
        files, skipped_notes = _files_of(path)
        notes += skipped_notes
        for file in files:
            first = by_identity.setdefault(_identity(file), file)
            if first is not file:
                notes.append(
                    f"{file.name} is the same file as {first.name} and was read once: each row "
                    "counts once."
                )
    return list(by_identity.values()), notes


def table_without_cells(path: GivenPath) -> Table:
    """Describe the table of a file by a look at its first bytes alone.

    The ``Table`` has no column. It is for planning: it knows the format of the file, and the names
    of the files that will be made from it.
    """
    text = str(path)
    file, format = look_into(_file(os.fspath(path)))
    return Table(
        pl.DataFrame(),
        file.name,
        format=format.name,
        packed=file.packed,
        path=text,
        files=(text,),
    )


def _are_paths(data: Any) -> bool:
    paths = data if isinstance(data, (list, tuple)) else [data]
    return all(isinstance(path, (str, os.PathLike)) for path in paths)


def _as_list(paths: GivenPath | Sequence[GivenPath]) -> list[GivenPath]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _files_of(path: str) -> tuple[list[File], list[str]]:
    """Find the files of a path, folder or pattern.

    The second result is a note on skipped files: outputs of chary, and in a folder what other
    programs put beside tables.
    """
    if path == STDIN:
        return [File(path)], []
    is_folder = os.path.isdir(path)
    is_pattern = glob.has_magic(path) and not os.path.lexists(path)
    if is_folder:
        candidates = _paths_in_folder(path)
        refusal = (
            f"The folder {shown(path, 200)} holds no table; give a file, or a pattern for files "
            "deeper in it."
        )
    elif is_pattern:
        matches = glob.glob(path, recursive=True)
        candidates = sorted(match for match in matches if os.path.isfile(match))
        refusal = f"No file is called {shown(path, 200)}; check the pattern."
    else:
        return [_file(path)], []

    tables = []
    skipped = []
    for candidate in candidates:
        name = os.path.basename(candidate)
        # Programs such as Spark put files like _SUCCESS beside tables.
        is_beside_tables = is_folder and name.startswith("_")
        if is_beside_tables or _OUTPUT.search(name):
            skipped.append(name)
        else:
            tables.append(candidate)
    if not tables:
        raise TableError(refusal)

    notes = []
    if skipped:
        notes.append(
            "Skipped by name, as written by chary or beside tables: "
            f"{_listed_files(skipped)}; name a file to read it."
        )
    return [_file(table) for table in tables], notes


def _paths_in_folder(folder: str) -> list[str]:
    """List the files of a folder by name, without hidden ones."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file())
    except OSError as error:
        why = (error.strerror or "").lower()
        raise TableError(f"{shown(folder, 200)} cannot be read ({why}).") from None
    return [os.path.join(folder, name) for name in names if not name.startswith(".")]


def _file(path: str) -> File:
    """Find the file at a path; refuse a path that cannot be read or is no regular file."""
    sentence = why_unreadable(path)
    if sentence is not None:
        raise TableError(sentence)
    file = Path(path)
    if not file.is_file():
        raise TableError(f"{file} is not a regular file; save the table in one first.")
    return File(file.name, file, state=state_of(file))


def _standard_input() -> File:
    return File("standard input", data=sys.stdin.buffer.read())


def _identity(file: File) -> Any:
    """Return a key that is equal for all paths to the same file."""
    if file.path is None or file.state is None:
        return file.name
    device, inode, *_ = file.state
    if inode == 0:  # a file system without inode numbers
        return os.path.realpath(file.path)
    return device, inode


def _listed_files(names: Sequence[str]) -> str:
    """List names; of many, the first ones and the last."""
    if len(names) <= _NAMED_FILES:
        return ", ".join(names)
    return ", ".join(names[:_NAMED_FILES]) + f", ... {names[-1]}"


# ---------------------------------------------------------------- several files, one table


def _joined(tables: Sequence[Table]) -> Table:
    """Join the rows of all tables, in the order of the first one's columns.

    A column that has several types gets one that holds all cells.
    """
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables[1:]:
        _refuse_different(first, table)

    schema = common_schema([table.frame for table in tables], f"{first.name} and others")
    listing = _listed_files([table.name for table in tables])
    notes = [f"{len(tables)} files were read as one table, in this order: {listing}."]
    frames = []
    for table in tables:
        frames.append(cast_to(table.frame, schema, table.name))
        notes += table.notes
    return replace(
        first,
        frame=pl.concat(frames),
        name=f"{len(tables)} files",
        notes=tuple(dict.fromkeys(notes)),  # each note once
    )


def _refuse_different(first: Table, table: Table) -> None:
    """Refuse a table with other columns than the first; name one column that only one has."""
    first_names = first.frame.columns
    names = table.frame.columns
    only_in_first = [name for name in first_names if name not in set(names)]
    only_here = [name for name in names if name not in set(first_names)]
    if only_in_first:
        name = only_in_first[0]
        with_column = first
        without_column = table
    elif only_here:
        name = only_here[0]
        with_column = table
        without_column = first
    else:
        return
    raise TableError(
        f"{with_column.name} has a column {shown(name)} and {without_column.name} has not; give "
        "files of one kind."
    )


# ---------------------------------------------------------------- what is no table to label


def _refuse_unusable(table: Table, reserved: Sequence[str]) -> None:
    """Refuse a table without rows, with too many columns, or with reserved names."""
    frame = table.frame
    if frame.width > MAX_COLUMNS:
        raise TableError(
            f"{table.name} has {frame.width:,} columns; chary takes up to {MAX_COLUMNS:,}: "
            "select some."
        )
    if frame.height == 0:
        raise TableError(
            f"{table.name} has a header and no rows; chary needs labelled and unlabelled rows."
        )
    refuse_taken(table, reserved)


def _refuse_sums(table: Table) -> None:
    """Refuse a last row that seems to hold sums: it would get a label."""
    for cells in table.frame.select(pl.col(pl.String)):
        last = cells[-1]
        if last is None or len(cells) == 1:
            continue
        is_sum_word = folded(last).rstrip(":") in _SUM_WORDS
        # A word that other rows have, too, is a value of the column.
        if is_sum_word and (cells == last).sum() == 1:
            raise TableError(
                f"The last row of {table.name} has {shown(last)} in column {shown(cells.name)}; "
                "delete it if it sums up the others, or move it up if it is like them."
            )
