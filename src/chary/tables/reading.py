"""A user's CSV, Parquet or DataFrame in; a table of cells, its target and its columns' kinds out.

This is the only door for untrusted files. Whatever is wrong with one ends in a ``TableError``: one sentence that
says what was found, where, and what to do. The cells of a CSV stay the text they were, so that they can be written
back unchanged.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown, visible
from chary.method import Labels, encode

MAX_COLUMNS = 4096
ADDED_COLUMNS = ("chary_label", "chary_confidence", "chary_source")

_DELIMITERS = (",", ";", "\t", "|")
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_SUSPECT_LABELS = ("-1", "na", "n/a", "nan", "null", "?")  # may or may not mean "not labelled"
_SPACE = " \t\r\n\x0b\x0c\x00\ufeff\u00a0"  # around a label; NumPy drops a NUL at the end of text anyway
_MAX_LABEL_BYTES = 2**31  # of all labels in an array of fixed width
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"\x1f\x8b": "gzip-compressed; unpack it first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF; export the table as CSV",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x89PNG": "an image; chary needs a CSV or Parquet table",
}


class TableError(ValueError):
    """A table that cannot be used: what was found, where, and what to do."""


@dataclass(frozen=True)
class Table:
    """A file's cells and how it was written."""

    frame: pl.DataFrame  # CSV: all text; Parquet: the file's own types
    name: str
    delimiter: str = ""  # empty: Parquet
    bom: bool = False
    path: str = ""  # as it was given
    options: tuple[str, ...] = ()  # of the command line, to read it again

    @property
    def suffix(self) -> str:
        """Extension of a file written like this one."""
        return ".csv" if self.delimiter else ".parquet"

    def command(self, verb: str, target: str, unlabeled: str | None = None, *more: str) -> str:
        """A command on this table, to be copied into a shell.

        >>> Table(pl.DataFrame(), "my data.csv", path="in/my data.csv").command("label", "y", "?")
        "chary label 'in/my data.csv' --target y --unlabeled '?'"
        """
        marker = () if unlabeled is None else ("--unlabeled", unlabeled)
        words = [*verb.split(), self.path or self.name, "--target", target, *marker, *self.options, *more]
        return shlex.join(["chary", *words])


def read_table(path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str = "utf-8") -> Table:
    """Read a CSV or Parquet file, whichever its content says it is.

    Parameters
    ----------
    path : path
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default="utf-8"
        Of a CSV. A byte-order mark overrides it. Nothing is guessed: text that does not decode is refused.
    """
    path = Path(path)
    name = path.name
    if path.is_dir():
        raise TableError(f"{name} is a directory; give the CSV or Parquet file in it.")
    if path.exists() and not path.is_file():
        raise TableError(f"{path} is not a regular file; save the table in one first.")
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except (OSError, ValueError) as error:
        raise TableError(f"{shown(path, 200)} cannot be read ({_reason(error)}); check the path.") from None
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise TableError(f"{name} is {what}.")
    if head.startswith(b"PAR1"):
        return _named(Table(_read_parquet(path), name, path=str(path)))
    if path.suffix.lower() in (".parquet", ".pq"):
        raise TableError(f"{name} is not a Parquet file (its first bytes say so); check how it was written.")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii()):
        raise TableError(f"The delimiter {delimiter!r} is not usable; give one ASCII character such as ';'.")
    options = [] if delimiter is None else ["--delimiter", delimiter]
    options += [] if encoding == "utf-8" else ["--encoding", encoding]
    return _named(replace(_read_csv(path, delimiter, encoding), path=str(path), options=tuple(options)))


def from_dataframe(data: Any) -> pl.DataFrame:
    """A pandas or polars DataFrame, or a mapping of columns, as a polars DataFrame.

    >>> from_dataframe({"age": [31, 47], "city": ["Ulm", None]}).shape
    (2, 2)
    """
    if isinstance(data, pl.DataFrame):
        return data
    if not isinstance(data, Mapping) and not hasattr(data, "columns"):
        raise TableError(f"A table is needed, a DataFrame or a dict of columns; got {type(data).__name__}.")
    names = [str(name) for name in (data if isinstance(data, Mapping) else data.columns)]
    _refuse_duplicates(names, "The table")
    values = (data[key] for key in (data if isinstance(data, Mapping) else data.columns))
    return pl.DataFrame([_series(name, column) for name, column in zip(names, values, strict=True)])


def target_labels(table: Table, target: str, unlabeled: str | None = None) -> Labels:
    """The target column of a table, encoded; its empty cells, and cells equal to ``unlabeled``, have no label.

    Classes are text, as in the file. Cells that look like "no label" without being empty (NA, ?, -1) are refused
    unless ``unlabeled`` says what they are; an empty ``unlabeled`` makes them classes.
    """
    if table.frame.width < 2:
        raise TableError(
            f"{table.name} has one column only, {shown(table.frame.columns[0])}; chary needs a target and "
            "features (if the columns are separated by an unusual character, pass --delimiter)."
        )
    column_named(table, target)
    if table.frame[target].dtype.is_nested() or table.frame[target].dtype in (pl.Binary, pl.Object):
        raise TableError(f"Column {shown(target)} holds {table.frame[target].dtype}, not labels; choose another.")
    cells = table.frame[target].cast(pl.String).str.strip_chars(_SPACE)
    cells = cells.set(cells == "", None)
    if unlabeled:
        cells = cells.set(cells == unlabeled.strip(), None)
    counts = cells.alias("label").drop_nulls().value_counts(sort=True)
    if unlabeled is None:
        for label, count in counts.iter_rows():
            if label.lower() in _SUSPECT_LABELS:
                raise TableError(
                    f"Column {shown(target)} holds {shown(label)} in {count:,} rows, which may or may not mean "
                    f"unlabelled; pass --unlabeled {shlex.quote(label)} if it does, or --unlabeled '' if it is a "
                    "class."
                )
    n_labeled = int(counts["count"].sum())
    if len(counts) < 2:
        found = f"one class only, {shown(counts.item(0, 0))} in {n_labeled:,} rows" if n_labeled else "no label"
        raise TableError(f"Column {shown(target)} holds {found}; label some rows of at least two classes.")
    if len(counts) > 20 and len(counts) > n_labeled / 2:
        raise TableError(
            f"Column {shown(target)} has {len(counts):,} different values in {n_labeled:,} labelled rows; chary "
            "needs a class that repeats: group the values, or choose another target."
        )
    longest = max(map(len, counts["label"].to_list()))
    if 4 * longest * len(cells) > _MAX_LABEL_BYTES:
        raise TableError(f"Column {shown(target)} has a label of {longest:,} characters; shorten it.")
    return encode(cells, unlabeled=None)


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


def write_table(table: Table, added: Mapping[str, Any], file: BinaryIO) -> None:
    """Write the table as it was read, with columns added on the right.

    The table's own cells are unchanged. Text in added columns of a CSV that a spreadsheet would run as a formula
    gets an apostrophe in front.
    """
    frame = table.frame.with_columns([pl.Series(name, values) for name, values in added.items()])
    if not table.delimiter:
        frame.write_parquet(file)
        return
    schema = frame.schema  # made anew each time it is asked for
    texts = [name for name in added if schema[name] == pl.String]
    frame.with_columns([_without_formulas(name) for name in texts]).write_csv(
        file, separator=table.delimiter, include_bom=table.bom
    )


def as_typed(text: str) -> str:
    """Text without the apostrophe that ``write_table`` puts before a formula.

    >>> as_typed("'=yes"), as_typed("'n")
    ('=yes', "'n")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA_STARTS) else text


def _without_formulas(name: str) -> pl.Expr:
    column = pl.col(name)
    risky = pl.any_horizontal([column.str.starts_with(start) for start in _FORMULA_STARTS])
    risky &= ~column.is_in(["+", "-"])  # a sign alone runs nothing
    is_number = column.cast(pl.Float64, strict=False).is_not_null()
    return pl.when(risky & ~is_number).then(pl.lit("'") + column).otherwise(column).alias(name)


def _named(table: Table) -> Table:
    """The table, once its shape and its column names can be worked with."""
    frame, name = table.frame, table.name
    if frame.width > MAX_COLUMNS:
        raise TableError(f"{name} has {frame.width:,} columns; chary takes up to {MAX_COLUMNS:,}: select some.")
    if not frame.height:
        raise TableError(f"{name} has a header and no rows; chary needs labelled and unlabelled rows.")
    taken = [column for column in ADDED_COLUMNS if column in frame.columns]
    if taken:
        raise TableError(f"{name} already has a column {shown(taken[0])}, written by chary; remove or rename it.")
    return table


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path, glob=False, use_statistics=False, hive_partitioning=False)
    except pl.exceptions.PanicException:
        raise TableError(
            f"{path.name} is a damaged Parquet file (it contradicts itself); write it again."
        ) from None
    except Exception as error:
        raise TableError(f"{path.name} is a damaged Parquet file ({_reason(error)}); write it again.") from None


def _read_csv(path: Path, delimiter: str | None, encoding: str) -> Table:
    name = path.name
    data, bom = _utf8(path.read_bytes(), encoding, name)
    if not data.strip():
        raise TableError(f"{name} is empty; chary needs a header and rows.")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    cells = np.frombuffer(data, np.uint8)
    nul = int(np.argmin(cells)) if len(cells) else 0
    if cells[nul] == 0:
        raise TableError(
            f"{name}, line {_line(data, nul)}: a NUL character, which text tables do not have; if the file is "
            "UTF-16, pass --encoding utf-16."
        )
    records = _Records.scan(cells)
    records.check_quotes(data, delimiter or "".join(_DELIMITERS), name)
    separator = delimiter or records.sniff(cells)
    blank = records.check_widths(data, cells, separator, name)
    header = next(csv.reader(io.StringIO(data[: records.ends[0]].decode()), delimiter=separator))
    _refuse_duplicates(header, name)
    if len(header) > MAX_COLUMNS:
        raise TableError(f"{name} has {len(header):,} columns; chary takes up to {MAX_COLUMNS:,}: select some.")
    try:
        frame = pl.read_csv(data, separator=separator, infer_schema=False, glob=False)
    except (Exception, pl.exceptions.PanicException) as error:
        raise TableError(f"{name} is not a well-formed CSV ({_reason(error)}); write it again.") from None
    if frame.width != len(header):
        raise TableError(f"{name} is not a well-formed CSV (its header is ambiguous); write it again.")
    frame.columns = header
    if len(blank) and frame.width > 1:
        keep = np.ones(frame.height, dtype=bool)
        keep[blank[blank < frame.height]] = False
        frame = frame.filter(pl.Series(keep))
    return Table(frame, name, separator, bom)


def _utf8(data: bytes, encoding: str, name: str) -> tuple[bytes, bool]:
    """The bytes as UTF-8 without byte-order mark, and whether there was one."""
    bom = data.startswith(codecs.BOM_UTF8)
    if bom:
        encoding, data = "utf-8", data[len(codecs.BOM_UTF8) :]
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        codec = codecs.lookup(encoding)
        if not getattr(codec, "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError):
        raise TableError(f"Unknown encoding {shown(encoding)}; try utf-8, utf-16, cp1252 or latin-1.") from None
    try:
        text = data.decode(encoding)
        return (data if codec.name == "utf-8" else text.encode()), bom
    except (UnicodeError, ValueError) as error:
        start = getattr(error, "start", 0)
        remedy = "if it was written by Excel or an older program, pass --encoding cp1252"
        if codec.name != "utf-8":
            remedy = "pass the encoding it was written in with --encoding"
        raise TableError(f"{name}, line {_line(data, start)}: not valid {codec.name} text; {remedy}.") from None


@dataclass(frozen=True)
class _Records:
    """Where the records of a CSV end: a newline outside quotes ends one."""

    ends: NDArray[np.intp]  # (n_records,) position of the newline, or of the end of the file
    quoted: NDArray[np.bool_]  # (n_bytes,) whether a byte is inside quotes
    closed: bool  # whether the last quote was closed

    @classmethod
    def scan(cls, cells: NDArray[np.uint8]) -> _Records:
        quoted = np.bitwise_xor.accumulate(cells == _QUOTE)
        ends = np.flatnonzero((cells == _NEWLINE) & ~quoted)
        if not len(ends) or ends[-1] != len(cells) - 1:
            ends = np.append(ends, len(cells))
        return cls(ends, quoted, closed=not quoted[-1])

    def widths(self, cells: NDArray[np.uint8], delimiter: str, n_records: int | None = None) -> NDArray[np.intp]:
        """Number of cells of each of the first records."""
        ends = self.ends[:n_records]
        part = slice(0, int(ends[-1]))
        separators = np.flatnonzero((cells[part] == ord(delimiter)) & ~self.quoted[part])
        return np.diff(np.searchsorted(separators, ends), prepend=0) + 1

    def sniff(self, cells: NDArray[np.uint8]) -> str:
        """The delimiter that cuts most of the first records into as many cells as the header."""

        def fit(delimiter: str) -> tuple[float, int]:
            widths = self.widths(cells, delimiter, 200)
            return (float(np.mean(widths == widths[0])), int(widths[0])) if widths[0] > 1 else (0.0, 0)

        return max(_DELIMITERS, key=fit)

    def check_quotes(self, data: bytes, delimiters: str, name: str) -> None:
        """Quotes must stand around whole cells."""
        cells = np.frombuffer(data, np.uint8)
        quotes = np.flatnonzero(cells == _QUOTE)
        if not len(quotes):
            return
        if not self.closed:
            raise TableError(
                f"{name}, line {_line(data, int(quotes[-1]))}: a quote is opened and never closed; close it, or "
                "double it if it belongs to the text."
            )
        edges = np.isin(np.arange(256), [_QUOTE, _NEWLINE, _RETURN, *delimiters.encode()])
        opening = self.quoted[quotes]
        neighbour = np.where(opening, quotes - 1, quotes + 1)
        outside = (neighbour < 0) | (neighbour >= len(cells))
        stray = ~outside & ~edges[cells[np.clip(neighbour, 0, len(cells) - 1)]]
        if stray.any():
            raise TableError(
                f"{name}, line {_line(data, int(quotes[stray.argmax()]))}: a quote in the middle of a cell; put "
                "the whole cell in quotes and double the ones inside."
            )

    def check_widths(self, data: bytes, cells: NDArray[np.uint8], delimiter: str, name: str) -> NDArray[np.intp]:
        """Refuse ragged rows; return which rows are blank lines."""
        widths = self.widths(cells, delimiter)
        starts = np.concatenate([[0], self.ends[:-1] + 1])
        lengths = self.ends - starts
        is_return = cells[np.minimum(starts, len(cells) - 1)] == _RETURN
        blank = (lengths == 0) | ((lengths == 1) & is_return)
        if blank[0]:
            raise TableError(f"{name}, line 1: blank where the column names should be; remove the blank line.")
        ragged = np.flatnonzero((widths != widths[0]) & ~blank)
        if len(ragged):
            line = _line(data, int(starts[ragged[0]]))
            last = " (the file seems to be cut off)" if ragged[0] == len(widths) - 1 else ""
            raise TableError(
                f"{name}, line {line}: {widths[ragged[0]]:,} cells where the header has {widths[0]:,}{last}; "
                "quote cells that contain the delimiter, or pass the right one with --delimiter."
            )
        return np.flatnonzero(blank[1:])


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _refuse_duplicates(names: Sequence[str], where: str) -> None:
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if name in seen:
            raise TableError(
                f"{where}: columns {seen[name]} and {position} are both called {shown(name)}; rename one of them."
            )
        seen[name] = position


def _series(name: str, values: Any) -> pl.Series:
    """One column of a foreign DataFrame, without asking which library it came from."""
    array = values if isinstance(values, np.ndarray) else getattr(values, "array", values)
    dtype = getattr(array, "dtype", None)
    if isinstance(values, pl.Series):
        return values.alias(name)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufM":
        return pl.Series(name, np.asarray(array))
    items = [None if _is_missing(value) else value for value in values]
    try:
        return pl.Series(name, items, strict=True)
    except (TypeError, pl.exceptions.PolarsError):  # a column of mixed types: read it as text
        return pl.Series(name, [None if item is None else str(item) for item in items])


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and math.isnan(value))
    )


def _reason(error: BaseException) -> str:
    """The first line of what a library said, short."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return visible(lines[0] if lines else type(error).__name__, 100)
