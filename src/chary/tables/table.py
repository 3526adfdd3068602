"""A table: its cells and how its file was written, finding columns by name; and ``TableError``."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from chary._words import Parameter, Step, listed, parts_of, shown, visible
from chary.options import FORMAT_WORDS

MAX_COLUMNS = 4096
PACKED = ("gz",)
PACKABLE = ("csv", "jsonl")  # formats that are worth compressing
# The columns that chary adds: a label, how far to trust it, who gave it, whether to accept it, what
# decides it.
LABEL, CONFIDENCE, SOURCE, ACCEPT, WHY = ADDED_COLUMNS = (
    "chary_label",
    "chary_confidence",
    "chary_source",
    "chary_accept",
    "chary_why",
)


# What has no width: soft hyphen, joiners, marks of direction, byte-order mark, variants of a sign.
NO_WIDTH = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_FIXED_SPACES = "\u00a0\u2007\u202f"
_WITHOUT_WIDTH, _FIXED = re.compile(f"[{NO_WIDTH}]"), re.compile(f"[{_FIXED_SPACES}]")
_TEXTS = (".tsv", ".txt", ".tab")  # a text table keeps such an extension
_ENDINGS = (*(f".{name}" for name in FORMAT_WORDS), *_TEXTS, ".json", ".ndjson")


_TEXT = (pl.String, pl.Categorical, pl.Enum)


class TableError(ValueError):
    """A table that cannot be used: what was found, where, and what to do.

    Its ``args`` are the parts of the sentence: text, and the parameters and steps it speaks of.

    >>> error = TableError(f"There are too many columns; leave some out with {Parameter('drop')}.")
    >>> print(error)
    There are too many columns; leave some out with the parameter drop.
    """

    args: tuple[str | Parameter | Step, ...]

    def __init__(self, *parts: str | Parameter | Step) -> None:
        each = [parts_of(part) if isinstance(part, str) else [part] for part in parts]
        super().__init__(*(part for several in each for part in several))

    def __str__(self) -> str:
        return "".join(map(str, self.args))


def reason(error: BaseException) -> str:
    """The first line of what a library said, short."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return visible(lines[0] if lines else type(error).__name__, 100)


class Taken(NamedTuple):
    """Which rows of a table were taken, where they are not all."""

    numbers: NDArray[np.int64]  # (n,) from 0, ascending
    n_rows: int  # that there are in all
    checksum: str = ""  # of all of them, where a sheet needs it

    def places(self, numbers: ArrayLike) -> NDArray[np.intp]:
        """Where rows are among those taken, by their number; every one must be there."""
        wanted = np.asarray(numbers, dtype=np.int64)
        found = np.minimum(np.searchsorted(self.numbers, wanted), max(0, len(self.numbers) - 1))
        if not np.array_equal(self.numbers[found], wanted):
            raise KeyError("A row was asked for that was not taken.")
        return found


class BlankRows(NamedTuple):
    """Rows in which every cell is empty: they are written back in their place and count nowhere else."""

    numbers: NDArray[np.int64]  # (n,) among all rows, from 0, ascending
    frame: pl.DataFrame  # their cells: nothing, or white space


@dataclass(frozen=True)
class Table:
    """A file's cells and how it was written."""

    frame: pl.DataFrame  #: CSV: all text; others: the types of the file
    name: str  #: for people
    delimiter: str = ""  #: of a CSV
    bom: bool = (
        False  #: whether a CSV is written with a byte-order mark, by which spreadsheets know UTF-8
    )
    newline: str = "\n"  #: at the end of a line of a CSV
    path: str = ""  #: as it was given: a file, a folder, a pattern, "-"
    read_with: Mapping[str, Any] = field(default_factory=dict)  #: parameters to read it again with
    format: str = ""  #: one of FORMAT_WORDS; found by the delimiter if not given
    packed: str = ""  #: one of PACKED: the file was compressed
    more_paths: tuple[str, ...] = ()  #: as given, where several were
    files: tuple[str, ...] = ()  #: what was read in the end, in this order
    notes: tuple[str, ...] = ()  #: what a person should know of how it was read, a sentence each
    taken: Taken | None = None  #: which rows of the file these are; None: all
    blank: BlankRows | None = None  #: rows that were left out of ``frame``; None: none were

    def __post_init__(self) -> None:
        if not self.format:
            object.__setattr__(self, "format", "csv" if self.delimiter else "parquet")

    @property
    def n_rows(self) -> int:
        """Rows of the file that count, whether they are here or not: all but blank ones."""
        return self.frame.height if self.taken is None else self.taken.n_rows

    @property
    def n_numbers(self) -> int:
        """Rows of the file, blank ones too: their numbers are below this."""
        return self.n_rows if self.blank is None else self.n_rows + len(self.blank.numbers)

    def numbers(self, places: NDArray[np.intp]) -> NDArray[np.int64]:
        """Which rows of the file, from 0, are at ``places`` here."""
        if self.taken is not None:
            return self.taken.numbers[places]
        if self.blank is not None:
            return np.delete(np.arange(self.n_numbers), self.blank.numbers)[places]
        return np.asarray(places, dtype=np.int64)

    def places_of(self, numbers: ArrayLike) -> NDArray[np.intp]:
        """Where rows of the file are here, by their ``numbers``; every one must be here."""
        if self.taken is not None:
            return self.taken.places(numbers)
        wanted = np.asarray(numbers, dtype=np.intp)
        if self.blank is None:
            return wanted
        for number in np.intersect1d(wanted, self.blank.numbers)[:1].tolist():
            raise TableError(
                f"Row {number + 1} of {self.name} is blank; it has no label, so leave it out."
            )
        return wanted - np.searchsorted(self.blank.numbers, wanted)

    def without_blank_rows(self) -> Table:
        """Leave out the rows in which every cell is empty; a note says how many there are.

        >>> table = Table(pl.DataFrame({"a": [1, None, 3], "b": ["x", " ", None]}), "t").without_blank_rows()
        >>> table.frame.height, table.numbers(np.array([1])).tolist()
        (2, [2])
        """
        is_blank = blank_rows(self.frame)
        if not is_blank.any():
            return self
        mask = pl.Series(is_blank)
        blank = BlankRows(np.flatnonzero(is_blank), self.frame.filter(mask))
        note = blank_rows_note(len(blank.numbers))
        return replace(self, frame=self.frame.filter(~mask), blank=blank, notes=(*self.notes, note))

    def with_blank_rows(self, added: Mapping[str, Any]) -> tuple[Table, dict[str, pl.Series]]:
        """Put blank rows back into their place, and empty cells for them into the columns ``added``."""
        columns = {name: pl.Series(name, values) for name, values in added.items()}
        if self.blank is None:
            return self, columns
        kept_numbers = np.delete(np.arange(self.n_numbers), self.blank.numbers)
        order = np.argsort(np.concatenate([kept_numbers, self.blank.numbers]))
        frame = pl.concat([self.frame, self.blank.frame.select(self.frame.columns)])[order]
        for name, column in columns.items():
            columns[name] = column.extend_constant(None, len(self.blank.numbers))[order]
        return replace(self, frame=frame, blank=None), columns

    @property
    def suffix(self) -> str:
        """Extension of a file written like this one."""
        _, own = _name_and_ending(self.files[0] if self.files else self.path)
        ending = own if self.format == "csv" and own.lower() in _TEXTS else f".{self.format}"
        return f"{ending}.{self.packed}" if self.packed else ending

    @property
    def stem(self) -> str:
        """What to call a file made of this one, before its extension."""
        if self.path == "-":
            return "stdin"
        if self._is_folder:
            return Path(self.path).resolve().name or "table"
        first, _ = _name_and_ending(self.files[0] if self.files else self.path or self.name)
        return f"{first}-and-{len(self.files) - 1}-more" if len(self.files) > 1 else first

    @property
    def folder(self) -> Path:
        """Where a file made of this one goes: next to it; the current folder if it was no file."""
        if self.path in ("", "-"):
            return Path()
        if self._is_folder:
            return (
                Path(self.path, "..")
                if Path(self.path).name in ("", "..")
                else Path(self.path).parent
            )
        return Path(self.files[0] if self.files else self.path).parent

    @property
    def _is_folder(self) -> bool:
        return bool(self.path) and not self.more_paths and Path(self.path).is_dir()

    def written_as(self, format: str | None) -> Table:
        """The same table, to be written in another format: one of FORMAT_WORDS, or such as ``csv.gz``.

        >>> Table(pl.DataFrame({"a": [1]}), "t.parquet").written_as("csv.gz").suffix
        '.csv.gz'
        """
        if not format:
            return self
        name, _, packed = format.lower().removeprefix(".").partition(".")
        is_packable = packed in PACKED and name in PACKABLE
        if name not in FORMAT_WORDS or (packed and not is_packable):
            raise TableError(
                f"The format {shown(format)} is not known; choose {listed(FORMAT_WORDS, 'or')}, or csv.gz."
            )
        delimiter = (self.delimiter or ",") if name == "csv" else ""
        return replace(self, format=name, packed=packed, delimiter=delimiter)


def _name_and_ending(path: str) -> tuple[str, str]:
    """A file's name without its extension, and that; of a compressed file those of what is in it.

    >>> _name_and_ending("in/a.csv.gz"), _name_and_ending("b.v2.gz"), _name_and_ending("c.v2.tsv")
    (('a', '.csv'), ('b.v2', ''), ('c.v2', '.tsv'))
    """
    file = Path(path)
    if file.suffix.lower().removeprefix(".") in PACKED:
        inner = Path(file.stem)
        return (inner.stem, inner.suffix) if inner.suffix.lower() in _ENDINGS else (inner.name, "")
    return file.stem, file.suffix


def blank_rows(frame: pl.DataFrame) -> NDArray[np.bool_]:
    """Tell which rows hold nothing: no cell, a number that is none, or white space.

    >>> blank_rows(pl.DataFrame({"a": [1, None, None], "b": ["", " ", "x"]})).tolist()
    [False, True, False]
    """
    is_blank = np.ones(frame.height, dtype=bool)
    for cells in frame:
        is_empty = cells.is_null()
        if cells.dtype == pl.String:
            is_empty = is_empty | (cells.str.strip_chars() == "").fill_null(True)
        elif cells.dtype.is_float():
            is_empty = is_empty | cells.is_nan().fill_null(True)
        is_blank &= is_empty.to_numpy()
        if not is_blank.any():  # as in most tables, by their first column
            break
    return is_blank


def rows_that_count(table: Table) -> Table:
    """Leave out blank rows; a table that has the target alone is refused later as it is."""
    if table.frame.width == 1:
        return table
    filled = table.without_blank_rows()
    return filled if filled.frame.height else table  # that there is no label is said later


def blank_rows_note(n_blank: int) -> str:
    """Say that blank rows count nowhere.

    >>> blank_rows_note(1)
    '1 blank row is left out: it gets no label and is not counted.'
    """
    if n_blank == 1:
        return "1 blank row is left out: it gets no label and is not counted."
    return f"{n_blank:,} blank rows are left out: they get no label and are not counted."


def column_named(table: Table, name: str) -> str:
    """The name, if the table has such a column; otherwise an error that suggests the nearest."""
    if name in table.frame.columns:
        return name
    raise TableError(
        f"{table.name} has no column {shown(name)}; {column_hint(name, table.frame.columns)}"
    )


def refuse_taken(table: Table, names: Iterable[str]) -> None:
    """No column that is added may take the place of one of the table's own."""
    if taken := [name for name in names if name in table.frame.columns]:
        raise TableError(
            f"{table.name} already has a column {shown(taken[0])}, made by chary; rename it."
        )


def column_hint(name: str, columns: Sequence[str]) -> str:
    """What may have been meant by a name that no column has.

    >>> column_hint("aeg", ["id", "age"])
    "did you mean 'age'?"
    """
    near = difflib.get_close_matches(
        name[:200], [column[:200] for column in columns[:500]], n=1, cutoff=0.6
    )
    if near:
        return f"did you mean {told_apart(near[0])}?"
    first_names = ", ".join(shown(column) for column in columns[:8])
    if len(columns) > 8:
        first_names += ", ..."
    return f"the table has {first_names}."


def told_apart(text: str) -> str:
    """Text in quotes; what makes it another one than it seems to be is escaped: unseen, or a mark on a letter.

    >>> told_apart("Cafe\\u0301")
    "'Cafe\\\\u0301'"
    """
    same = composed(text)
    return shown("".join(c if c in same else c.encode("unicode_escape").decode() for c in text), 80)


def can_be_text(dtype: pl.DataType) -> bool:
    """Whether cells can be shown as text: they are no lists, records, bytes or objects of Python."""
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Object)


def texts(cells: pl.Series) -> pl.Series:
    """Cells as text, null where they are of a type that cannot be shown.

    >>> texts(pl.Series([90, None]).cast(pl.Duration("ms"))).to_list()
    ['90ms', None]
    """
    try:
        return cells.dt.to_string("polars") if cells.dtype == pl.Duration else cells.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)


def composed(text: str) -> str:
    """Text as it is compared: letters and their marks in one (NFC), nothing without width, plain spaces.

    >>> composed("Cafe\\u0301\\u200b") == "Caf\\u00e9", composed("New\\u00a0York")
    (True, 'New York')
    """
    return (
        text
        if text.isascii()
        else unicodedata.normalize("NFC", _FIXED.sub(" ", _WITHOUT_WIDTH.sub("", text)))
    )


def all_composed(cells: pl.Series) -> pl.Series:
    """The same of all cells of a column, if they are text; in other types they are as they are.

    >>> all_composed(pl.Series(["Cafe\\u0301", None, "Bar"])).to_list() == ["Caf\\u00e9", None, "Bar"]
    True
    """
    if cells.dtype != pl.String or cells.str.len_bytes().sum() == cells.str.len_chars().sum():
        return cells
    odd = cells.filter((cells.str.len_bytes() != cells.str.len_chars()).fill_null(False)).unique()
    plain = odd.str.replace_all(f"[{NO_WIDTH}]", "").str.replace_all(f"[{_FIXED_SPACES}]", " ")
    plain = plain.str.normalize("NFC")
    return (
        cells.replace(odd.filter(plain != odd), plain.filter(plain != odd))
        if (plain != odd).any()
        else cells
    )


def common_schema(frames: Sequence[pl.DataFrame], name: str) -> dict[str, pl.DataType]:
    """All columns of some frames, in types that hold the cells of all; numbers and text do not meet."""
    try:
        schema = dict(pl.concat([frame.clear() for frame in frames], how="diagonal_relaxed").schema)
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"{name}: types of a column differ ({reason(error)}); write it in one type."
        ) from None
    for column, dtype in (
        (column, dtype) for frame in frames for column, dtype in frame.schema.items()
    ):
        common = schema[column]
        if dtype != pl.Null and (dtype.is_numeric(), dtype in _TEXT) != (
            common.is_numeric(),
            common in _TEXT,
        ):
            raise TableError(
                f"{name}: column {shown(column)} holds {dtype} and {common}; write it in one type."
            )
    return schema


def cast_to(frame: pl.DataFrame, schema: Mapping[str, pl.DataType], name: str) -> pl.DataFrame:
    """The frame with these columns in these types; whole numbers that a fraction cannot hold are refused."""
    nothing, columns = pl.Series([None]).new_from_index(0, frame.height), []
    for column, dtype in schema.items():
        cells = frame.get_column(column, default=nothing.alias(column))
        cast = cells.cast(dtype)
        if cells.dtype.is_numeric() and not cast.cast(cells.dtype, strict=False).equals(
            cells, null_equal=True
        ):
            raise TableError(
                f"Column {shown(column)} of {name} is too long for {dtype}; write it in one type."
            )
        columns.append(cast)
    return pl.DataFrame(columns)


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Two columns of one name cannot be told apart."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if name in seen:
            raise TableError(
                f"{where}: columns {seen[name]} and {position} are both called {shown(name)}; rename one."
            )
        seen[name] = position


# ---------------------------------------------------------------- memory

# Bytes that are needed for one of a cell: cells of a dictionary share theirs until something is
# made of them.
_GROWTH = 3
_GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Bytes that are free now, on this machine or in this container."""
    import psutil

    found = [int(psutil.virtual_memory().available)]
    with suppress(OSError, ValueError, StopIteration):
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        found.append(limit - used)
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        # Files that were read, and would make room.
        found[1] += next(
            int(line.split()[1]) for line in lines if line.startswith("inactive_file ")
        )
    return max(0, min(found))


def resident_bytes() -> int:
    """Memory of this process, without that of files where the system tells it apart."""
    import psutil

    info = psutil.Process().memory_info()
    return int(info.rss - getattr(info, "shared", 0))


def refuse_large(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table that is small in its file and too large for memory once its cells are looked at."""
    if not frame.width:
        return
    longest = max(frame, key=lambda cells: total_bytes(cells.to_frame())).name
    remedy = f"write it with fewer rows, or without {shown(longest)}"
    refuse_beyond_memory(name, total_bytes(frame) * _GROWTH, remedy)


def refuse_beyond_memory(name: str, needed: int, remedy: str) -> None:
    """Refuse what would take more memory than is free; every reader and command asks here."""
    free = free_memory()
    if needed > free:
        raise TableError(
            f"{name} would take about {needed >> 20:,} MiB of memory, and {free >> 20:,} MiB are free; {remedy}."
        )


def total_bytes(frame: pl.DataFrame) -> int:
    """What all cells take: the sum of ``row_bytes``."""
    return int(row_bytes(frame).sum())


def row_bytes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """What the cells of each row take, whatever they are kept in: text its length, anything else eight bytes.

    >>> row_bytes(pl.DataFrame({"a": [1, 2], "b": ["xyz", None]})).tolist()
    [11, 8]
    """
    total = np.zeros(frame.height, np.int64)
    for cells in frame:
        total += _cell_bytes(cells)
    return total


def _cell_bytes(cells: pl.Series) -> int | NDArray[np.int64]:
    """What each cell of a column takes; one number where all take the same."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if isinstance(cells.dtype, pl.List | pl.Array):
        lengths = cells.list.len() if isinstance(cells.dtype, pl.List) else cells.arr.len()
        sizes = 8 + 8 * lengths.cast(pl.Int64).fill_null(0)
    elif cells.dtype in (pl.String, pl.Binary):
        sizes = (cells.str.len_bytes() if cells.dtype == pl.String else cells.bin.size()).fill_null(
            0
        )
    else:
        return 8
    return sizes.to_numpy().astype(np.int64)
