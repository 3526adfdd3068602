"""The path of a stranger's file in; a table of cells, or what is wrong with the file in one sentence, out.

This is the only door for untrusted files. Whatever is wrong with one ends in a ``TableError``: one sentence that
says what was found, where, and what to do.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import polars as pl

from chary._files import why_unreadable
from chary._words import shown
from chary.tables.delimited import read_csv
from chary.tables.errors import TableError, reason
from chary.tables.table import ADDED_COLUMNS, MAX_COLUMNS, Table

_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook; unpack it, or save the sheet as CSV",
    b"\x1f\x8b": "gzip-compressed; unpack it first",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF; export the table as CSV",
    b"SQLite format 3": "an SQLite database; export the table as CSV",
    b"\x89PNG": "an image; chary needs a CSV or Parquet table",
}


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
    head = _head(path)
    for magic, what in _FOREIGN.items():
        if head.startswith(magic):
            raise TableError(f"{path.name} is {what}.")
    if head.startswith(b"PAR1"):
        return usable(Table(_read_parquet(path), path.name, path=str(path)))
    if path.suffix.lower() in (".parquet", ".pq"):
        raise TableError(f"{path.name} is not a Parquet file (its first bytes say so); check how it was written.")
    given = {"delimiter": delimiter, "encoding": None if encoding == "utf-8" else encoding}
    read_with = {name: value for name, value in given.items() if value is not None}
    return usable(replace(read_csv(path, delimiter, encoding), path=str(path), read_with=read_with))


def _head(path: Path) -> bytes:
    """The first bytes of a file, which say what it is."""
    if path.is_dir():
        raise TableError(f"{path.name} is a directory; give the CSV or Parquet file in it.")
    if path.exists() and not path.is_file():
        raise TableError(f"{path} is not a regular file; save the table in one first.")
    if sentence := why_unreadable(path):
        raise TableError(sentence)
    with path.open("rb") as file:
        return file.read(16)


def usable(table: Table) -> Table:
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
        raise TableError(f"{path.name} is a damaged Parquet file ({reason(error)}); write it again.") from None
