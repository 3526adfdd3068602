"""A table: its cells and how its file was written, finding columns by name; and ``TableError``."""

from __future__ import annotations

import difflib
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from chary._arrays import Ints, Mask
from chary._words import Parameter, Step, listed, parts_of, shown, visible
from chary.options import FORMAT_WORDS

# A table has at most this many columns, and at most this many features.
MAX_COLUMNS = 4096
# A file may be compressed in one of these ways.
PACKED = ("gz",)
# These formats are worth compressing; the others do it themselves.
PACKABLE = ("csv", "jsonl")

# The added column that holds a label for each row.
LABEL = "chary_label"
# The added column that says how far to trust the label.
CONFIDENCE = "chary_confidence"
# The added column that says where the label comes from.
SOURCE = "chary_source"
# The added column that says whether to accept the label.
ACCEPT = "chary_accept"
# The added column that names the cells which decide the label.
WHY = "chary_why"
ADDED_COLUMNS = (LABEL, CONFIDENCE, SOURCE, ACCEPT, WHY)

# These characters have no width: soft hyphen, joiners, direction marks, byte-order mark, and
# variation selectors.
NO_WIDTH = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_WITHOUT_WIDTH = re.compile(f"[{NO_WIDTH}]")
_FIXED_SPACES = re.compile("[\u00a0\u2007\u202f]")

# A text table keeps such an extension; any other becomes .csv.
_TEXT_ENDINGS = (".tsv", ".txt", ".tab")
_ENDINGS = (*(f".{name}" for name in FORMAT_WORDS), *_TEXT_ENDINGS, ".json", ".ndjson")
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
        flat_parts: list[str | Parameter | Step] = []
        for part in parts:
            flat_parts += parts_of(part) if isinstance(part, str) else [part]
        super().__init__(*flat_parts)

    def __str__(self) -> str:
        return "".join(map(str, self.args))


def refuse_together(*checks: Callable[[], object]) -> None:
    """Run checks, and refuse once with the sentences of all that fail.

    So a user who mends a file learns of every problem in one run.

    >>> def empty():
    ...     raise TableError("It is empty.")
    >>> def locked():
    ...     raise TableError("It is locked.")
    >>> refuse_together(empty, print, locked)
    Traceback (most recent call last):
    chary.tables.table.TableError: It is empty. Also: It is locked.
    """
    errors: list[ValueError | OSError] = []
    for check in checks:
        try:
            check()
        except (ValueError, OSError) as error:
            errors.append(error)
    if not errors:
        return
    first, *others = errors
    if not others:
        raise first
    parts = [*_sentence_parts(first)]
    for other in others:
        parts += [" Also: ", *_sentence_parts(other)]
    raise TableError(*parts)


def _sentence_parts(error: ValueError | OSError) -> Sequence[str | Parameter | Step]:
    """Return the parts of the sentence of an error."""
    return error.args if isinstance(error, TableError) else (str(error),)


def reason(error: BaseException) -> str:
    """Return the first line of an error message of a library, shortened."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return visible(lines[0] if lines else type(error).__name__, 100)


class Taken(NamedTuple):
    """Rows that were taken from a table with more rows."""

    numbers: NDArray[np.int64]  # (n,) from 0, ascending
    n_rows: int  # of the whole table
    checksum: str = ""  # of all rows, if a sheet needs it

    def places(self, numbers: ArrayLike) -> Ints:
        """Find the rows ``numbers`` among the taken rows; all must be there."""
        # A number beyond the last taken one is compared to the last, and so refused below.
        last_place = max(0, len(self.numbers) - 1)
        places = np.minimum(np.searchsorted(self.numbers, numbers), last_place)
        if not np.array_equal(self.numbers[places], numbers):
            raise KeyError("A row was asked for that was not taken.")
        return places


class BlankRows(NamedTuple):
    """Rows in which every cell is empty.

    They are written back into their place, and count nowhere else.
    """

    numbers: NDArray[np.int64]  # (n,) among all rows, from 0, ascending
    frame: pl.DataFrame  # their cells: nothing, or white space


@dataclass(frozen=True)
class Table:
    """The cells of a file, and how it was written."""

    frame: pl.DataFrame  #: CSV: all text; others: the types of the file
    name: str  #: for people
    delimiter: str = ""  #: of a CSV
    bom: bool = False  #: whether a CSV has a byte-order mark, by which spreadsheets know UTF-8
    newline: str = "\n"  #: at the end of a line of a CSV
    path: str = ""  #: as it was given: a file, a folder, a pattern, "-"
    read_with: Mapping[str, Any] = field(default_factory=dict)  #: parameters to read it again with
    format: str = ""  #: one of FORMAT_WORDS; found by the delimiter if not given
    packed: str = ""  #: one of PACKED: the file was compressed
    more_paths: tuple[str, ...] = ()  #: further paths that were given
    files: tuple[str, ...] = ()  #: the files that were read, in this order
    notes: tuple[str, ...] = ()  #: what a person should know of how it was read, a sentence each
    taken: Taken | None = None  #: which rows of the file these are; None: all
    blank: BlankRows | None = None  #: rows that were left out of ``frame``
    #: Columns of text in which cells such as 2024-01-31 are dates of a workbook, and stay dates.
    dated: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.format:
            object.__setattr__(self, "format", "csv" if self.delimiter else "parquet")

    @property
    def n_rows(self) -> int:
        """Number of rows of the file that are not blank, in ``frame`` or not."""
        return self.frame.height if self.taken is None else self.taken.n_rows

    @property
    def n_file_rows(self) -> int:
        """Number of rows of the file, blank ones too."""
        n_blank = 0 if self.blank is None else len(self.blank.numbers)
        return self.n_rows + n_blank

    def numbers(self, places: Ints) -> NDArray[np.int64]:
        """Return the row numbers in the file, from 0, of ``places`` in ``frame``."""
        if self.taken is not None:
            return self.taken.numbers[places]
        if self.blank is not None:
            filled_numbers = np.delete(np.arange(self.n_file_rows), self.blank.numbers)
            return filled_numbers[places]
        return np.asarray(places, dtype=np.int64)

    def places_of(self, numbers: ArrayLike) -> Ints:
        """Return the places of the rows ``numbers`` in ``frame``; all must be there."""
        if self.taken is not None:
            return self.taken.places(numbers)
        wanted = np.asarray(numbers, dtype=np.intp)
        if self.blank is None:
            return wanted
        blank_wanted = np.intersect1d(wanted, self.blank.numbers)
        if len(blank_wanted):
            raise TableError(
                f"Row {blank_wanted[0] + 1} of {self.name} is blank; it has no label, so leave it "
                "out."
            )
        # A row moved up by the number of blank rows before it.
        return wanted - np.searchsorted(self.blank.numbers, wanted)

    def without_blank_rows(self) -> Table:
        """Leave out rows in which every cell is empty; a note counts them.

        >>> frame = pl.DataFrame({"a": [1, None, 3], "b": ["x", " ", None]})
        >>> table = Table(frame, "t").without_blank_rows()
        >>> table.frame.height, table.numbers(np.array([1])).tolist()
        (2, [2])
        """
        is_blank = blank_rows(self.frame)
        if not is_blank.any():
            return self
        mask = pl.Series(is_blank)
        blank_numbers = np.flatnonzero(is_blank)
        note = blank_rows_note(len(blank_numbers))
        return replace(
            self,
            frame=self.frame.filter(~mask),
            blank=BlankRows(blank_numbers, self.frame.filter(mask)),
            notes=(*self.notes, note),
        )

    def with_blank_rows(self, added: Mapping[str, Any]) -> tuple[Table, dict[str, pl.Series]]:
        """Put blank rows back into their place.

        Parameters
        ----------
        added : mapping of str to array-like
            Columns with a value for each row of ``frame``, by name.

        Returns
        -------
        table : Table
            All rows of the file, in their order.
        columns : dict of str to Series
            The columns ``added``, with an empty cell for each blank row.
        """
        columns = {name: pl.Series(name, values) for name, values in added.items()}
        if self.blank is None:
            return self, columns

        # Blank rows are appended below the filled rows, then all are sorted by row number.
        blank_numbers = self.blank.numbers
        n_blank = len(blank_numbers)
        all_numbers = np.arange(self.n_file_rows)
        filled_numbers = np.delete(all_numbers, blank_numbers)
        appended_numbers = np.concatenate([filled_numbers, blank_numbers])
        order = np.argsort(appended_numbers)

        blank_cells = self.blank.frame.select(self.frame.columns)
        appended = pl.concat([self.frame, blank_cells])
        whole = replace(self, frame=appended[order], blank=None)
        for name, column in columns.items():
            with_empty_cells = column.extend_constant(None, n_blank)
            columns[name] = with_empty_cells[order]
        return whole, columns

    @property
    def suffix(self) -> str:
        """Extension of a file written like this one."""
        _, ending = _stem_and_ending(self._first_path)
        if self.format != "csv" or ending.lower() not in _TEXT_ENDINGS:
            ending = f".{self.format}"
        return f"{ending}.{self.packed}" if self.packed else ending

    @property
    def stem(self) -> str:
        """Name for a file made from this one, without its extension."""
        if self.path == "-":
            return "stdin"
        if self._is_folder:
            return Path(self.path).resolve().name or "table"
        stem, _ = _stem_and_ending(self._first_path or self.name)
        return f"{stem}-and-{len(self.files) - 1}-more" if len(self.files) > 1 else stem

    @property
    def folder(self) -> Path:
        """Folder for a file made from this one: the folder that holds it."""
        if self.path in ("", "-"):
            return Path()
        if not self._is_folder:
            return Path(self._first_path).parent
        folder = Path(self.path)
        return Path(folder, "..") if folder.name in ("", "..") else folder.parent

    @property
    def _first_path(self) -> str:
        return self.files[0] if self.files else self.path

    @property
    def _is_folder(self) -> bool:
        return bool(self.path) and not self.more_paths and Path(self.path).is_dir()

    def written_as(self, format: str | None) -> Table:
        """Return the table, to be written in another format.

        Parameters
        ----------
        format : str or None
            One of FORMAT_WORDS, or such as ``"csv.gz"``. None: as the table was read.

        >>> Table(pl.DataFrame({"a": [1]}), "t.parquet").written_as("csv.gz").suffix
        '.csv.gz'
        """
        if not format:
            return self
        name, _, packed = format.lower().removeprefix(".").partition(".")
        is_packable = packed in PACKED and name in PACKABLE
        if name not in FORMAT_WORDS or (packed and not is_packable):
            raise TableError(
                f"The format {shown(format)} is not known; choose {listed(FORMAT_WORDS, 'or')}, or "
                "csv.gz."
            )
        delimiter = (self.delimiter or ",") if name == "csv" else ""
        return replace(self, format=name, packed=packed, delimiter=delimiter)


def _stem_and_ending(path: str) -> tuple[str, str]:
    """Split the name of a file, or of its unpacked content, at its extension.

    >>> _stem_and_ending("in/a.csv.gz"), _stem_and_ending("b.v2.gz")
    (('a', '.csv'), ('b.v2', ''))
    """
    file = Path(path)
    if file.suffix.lower().removeprefix(".") not in PACKED:
        return file.stem, file.suffix
    content = Path(file.stem)
    if content.suffix.lower() not in _ENDINGS:
        return content.name, ""
    return content.stem, content.suffix


def blank_rows(frame: pl.DataFrame) -> Mask:
    """Tell which rows hold nothing: null, NaN or white space in every cell.

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
        if not is_blank.any():  # in most tables, after the first column
            break
    return is_blank


def rows_that_count(table: Table) -> Table:
    """Leave out blank rows.

    A table of one column, or of blank rows only, keeps them: the check of its labels comes later
    and has a better message.
    """
    if table.frame.width == 1:
        return table
    filled = table.without_blank_rows()
    return filled if filled.frame.height else table


def blank_rows_note(n_blank: int) -> str:
    """Say that blank rows count nowhere.

    >>> blank_rows_note(1)
    '1 blank row is left out: it gets no label and is not counted.'
    """
    if n_blank == 1:
        return "1 blank row is left out: it gets no label and is not counted."
    return f"{n_blank:,} blank rows are left out: they get no label and are not counted."


# ---------------------------------------------------------------- columns by name


def column_named(table: Table, name: str) -> str:
    """Return the name of a column, or suggest one in an error."""
    if name in table.frame.columns:
        return name
    raise TableError(
        f"{table.name} has no column {shown(name)}; {column_hint(name, table.frame.columns)}"
    )


def column_hint(name: str, columns: Sequence[str]) -> str:
    """Suggest a column for a name that no column has.

    >>> column_hint("aeg", ["id", "age"])
    "did you mean 'age'?"
    """
    candidates = [column[:200] for column in columns[:500]]
    nearest = difflib.get_close_matches(name[:200], candidates, n=1, cutoff=0.6)
    if nearest:
        return f"did you mean {told_apart(nearest[0])}?"
    first_names = ", ".join(shown(column) for column in columns[:8])
    if len(columns) > 8:
        first_names += ", ..."
    return f"the table has {first_names}."


def refuse_taken(table: Table, names: Iterable[str]) -> None:
    """Refuse a table that already has a column of these names."""
    for name in names:
        if name in table.frame.columns:
            raise TableError(
                f"{table.name} already has a column {shown(name)}, made by chary; rename it."
            )


def refuse_duplicates(names: Sequence[str], where: str) -> None:
    """Refuse columns of the same name; ``where`` says in a sentence where they are."""
    positions_of: dict[str, list[str]] = {}  # from 1, by name
    for position, name in enumerate(names, 1):
        positions_of.setdefault(name, []).append(str(position))

    clauses = []
    n_to_rename = 0
    for name, positions in positions_of.items():
        if len(positions) > 1:
            both = "both" if len(positions) == 2 else "all"
            clauses.append(f"columns {listed(positions)} are {both} called {shown(name)}")
            n_to_rename += len(positions) - 1
    if clauses:
        rename = "rename one" if n_to_rename == 1 else "rename all but one of each name"
        raise TableError(f"{where}: {'; '.join(clauses)}; {rename}.")


def told_apart(text: str) -> str:
    r"""Put text in quotes, with what makes it different from similar text escaped.

    Escaped are invisible characters, and accents that are characters apart from their letters.

    >>> told_apart("Cafe\u0301")
    "'Cafe\\u0301'"
    """
    plain = composed(text)
    escaped = [c if c in plain else c.encode("unicode_escape").decode() for c in text]
    return shown("".join(escaped), 80)


# ---------------------------------------------------------------- cells as text


def can_be_text(dtype: pl.DataType) -> bool:
    """Tell whether cells are not lists, records, bytes or Python objects."""
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Object)


def texts(cells: pl.Series) -> pl.Series:
    """Convert cells to text, null if their type cannot be shown.

    >>> texts(pl.Series([90, None]).cast(pl.Duration("ms"))).to_list()
    ['90ms', None]
    """
    try:
        return cells.dt.to_string("polars") if cells.dtype == pl.Duration else cells.cast(pl.String)
    except pl.exceptions.PolarsError:
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)


def composed(text: str) -> str:
    r"""Convert text to the form in which it is compared.

    Letters and their marks are one character (NFC), what has no width is gone, and spaces are
    plain.

    >>> composed("Cafe\u0301\u200b") == "Caf\u00e9", composed("New\u00a0York")
    (True, 'New York')
    """
    if text.isascii():
        return text
    plain = _FIXED_SPACES.sub(" ", _WITHOUT_WIDTH.sub("", text))
    return unicodedata.normalize("NFC", plain)


def all_composed(cells: pl.Series) -> pl.Series:
    r"""Convert texts of a column to the form in which they are compared.

    >>> all_composed(pl.Series(["Cafe\u0301", None])).to_list() == ["Caf\u00e9", None]
    True
    """
    if cells.dtype != pl.String:
        return cells
    # Only ASCII text has as many bytes as characters.
    is_ascii = (cells.str.len_bytes() == cells.str.len_chars()).fill_null(True)
    if is_ascii.all():
        return cells
    spellings = cells.filter(~is_ascii).unique()
    plain = spellings.str.replace_all(_WITHOUT_WIDTH.pattern, "")
    plain = plain.str.replace_all(_FIXED_SPACES.pattern, " ").str.normalize("NFC")
    is_changed = plain != spellings
    if not is_changed.any():
        return cells
    return cells.replace(spellings.filter(is_changed), plain.filter(is_changed))


# ---------------------------------------------------------------- tables of several files


def common_schema(frames: Sequence[pl.DataFrame], name: str) -> dict[str, pl.DataType]:
    """Find types for the columns of all frames that hold all cells.

    Text and numbers in columns of the same name are refused.
    """
    try:
        empty = pl.concat([frame.clear() for frame in frames], how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f"{name}: types of a column differ ({reason(error)}); write it in one type."
        ) from None
    for frame in frames:
        for column, dtype in frame.schema.items():
            common = empty.schema[column]
            agree_on_numbers = dtype.is_numeric() == common.is_numeric()
            agree_on_text = (dtype in _TEXT) == (common in _TEXT)
            is_empty = dtype == pl.Null  # a column without a filled cell fits any type
            if not is_empty and not (agree_on_numbers and agree_on_text):
                raise TableError(
                    f"{name}: column {shown(column)} holds {dtype} and {common}; write it in one "
                    "type."
                )
    return dict(empty.schema)


def cast_to(frame: pl.DataFrame, schema: Mapping[str, pl.DataType], name: str) -> pl.DataFrame:
    """Give a frame the columns and types of a schema.

    A column that the frame lacks is empty. Whole numbers that a float cannot hold are refused.
    """
    empty = pl.Series([None]).new_from_index(0, frame.height)
    columns = []
    for column, dtype in schema.items():
        cells = frame.get_column(column, default=empty.alias(column))
        cast = cells.cast(dtype)
        if cells.dtype.is_numeric():
            cast_back = cast.cast(cells.dtype, strict=False)
            if not cast_back.equals(cells, null_equal=True):
                raise TableError(
                    f"Column {shown(column)} of {name} is too long for {dtype}; write it in one "
                    "type."
                )
        columns.append(cast)
    return pl.DataFrame(columns)


# ---------------------------------------------------------------- memory

# A table needs about this many bytes of memory for each byte of its cells. Equal cells of a column
# with a dictionary share their bytes, but only until the column is converted.
_GROWTH = 3
# Linux tells in this folder how much memory it and each program uses.
_PROC = Path("/proc")
# Linux tells in this folder how much memory a container uses, and its limit.
_GROUP = Path("/sys/fs/cgroup")


def free_memory() -> int:
    """Return the bytes that are free on this machine, or in this container if it has less."""
    free_on_machine = _free_on_machine()
    free_in_container = free_on_machine
    with suppress(OSError, ValueError, StopIteration):
        used = int((_GROUP / "memory.current").read_text(encoding="ascii"))
        limit = int((_GROUP / "memory.max").read_text(encoding="ascii"))
        free_in_container = limit - used
        # Cached files count as used memory, but make room when it is needed.
        lines = (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        cached = next(line for line in lines if line.startswith("inactive_file "))
        free_in_container += int(cached.split()[1])
    return max(0, min(free_on_machine, free_in_container))


def _free_on_machine() -> int:
    """Return the bytes that a new program could take on this machine."""
    try:
        lines = (_PROC / "meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        import psutil  # a requirement on systems other than Linux

        return int(psutil.virtual_memory().available)
    available = next(line for line in lines if line.startswith("MemAvailable:"))
    n_kibibytes = int(available.split()[1])
    return n_kibibytes << 10


def resident_bytes() -> int:
    """Return the bytes of memory of this process, if possible without shared files."""
    try:
        pages = (_PROC / "self/statm").read_text(encoding="ascii").split()
    except OSError:
        import psutil

        info = psutil.Process().memory_info()
        return int(info.rss - getattr(info, "shared", 0))
    n_resident = int(pages[1])
    n_shared = int(pages[2])
    return (n_resident - n_shared) * os.sysconf("SC_PAGE_SIZE")


def refuse_large(frame: pl.DataFrame, name: str) -> None:
    """Refuse a table whose cells are too large for the memory."""
    if frame.width == 0:
        return
    longest = max(frame, key=lambda cells: total_bytes(cells.to_frame())).name
    remedy = f"write it with fewer rows, or without {shown(longest)}"
    refuse_beyond_memory(name, total_bytes(frame) * _GROWTH, remedy)


def refuse_beyond_memory(name: str, needed: int, remedy: str) -> None:
    """Refuse what would take more memory than is free."""
    free = free_memory()
    if needed > free:
        raise TableError(
            f"{name} would take about {needed >> 20:,} MiB of memory, and {free >> 20:,} MiB are "
            f"free; {remedy}."
        )


def total_bytes(frame: pl.DataFrame) -> int:
    """Return the bytes that all cells take: the sum of ``row_bytes``."""
    return int(row_bytes(frame).sum())


def row_bytes(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Return the bytes that the cells of each row take.

    Text takes its length, anything else eight bytes.

    >>> row_bytes(pl.DataFrame({"a": [1, 2], "b": ["xyz", None]})).tolist()
    [11, 8]
    """
    total = np.zeros(frame.height, np.int64)
    for cells in frame:
        total += _cell_bytes(cells)
    return total


def _cell_bytes(cells: pl.Series) -> int | NDArray[np.int64]:
    """Return the bytes of each cell, or one number if all are equal.

    A list takes eight bytes, and eight for each of its values.
    """
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        sizes = cells.str.len_bytes()
    elif cells.dtype == pl.Binary:
        sizes = cells.bin.size()
    elif cells.dtype in (pl.List, pl.Array):
        n_values = cells.list.len() if cells.dtype == pl.List else cells.arr.len()
        sizes = 8 + 8 * n_values.cast(pl.Int64).fill_null(0)
    else:
        return 8
    return sizes.fill_null(0).to_numpy().astype(np.int64)
