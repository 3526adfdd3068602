"""Files of strangers in; one table of cells, or what is wrong with a file in one sentence, out.

This is the only door for untrusted files. Whatever is wrong with one ends in a ``TableError``: one sentence that
says what was found, where, and what to do.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from chary._words import Parameter, shown
from chary.tables import contents
from chary.tables.columnar import read_arrow, read_parquet
from chary.tables.contents import content_of, refuse_broken_promise, told_otherwise, words_for
from chary.tables.delimited import as_utf8, read_csv
from chary.tables.errors import TableError
from chary.tables.joining import joined
from chary.tables.jsonlines import read_jsonlines
from chary.tables.memory import refuse_large
from chary.tables.packed import from_gzip, from_zip
from chary.tables.sources import Source, find_sources
from chary.tables.table import ADDED_COLUMNS, MAX_COLUMNS, Table
from chary.tables.workbooks import is_workbook, read_workbook

GivenPath = str | os.PathLike[str]


def read_table(
    path: GivenPath | Sequence[GivenPath],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> Table:
    """Read a table from files: CSV, Parquet, JSON lines, Arrow or Excel, whichever their content says they are.

    Parameters
    ----------
    path : path, or sequence of paths
        A file, also one in gzip or alone in a ZIP archive; a folder, or a pattern such as ``"in/*.csv"``: files of
        one kind with the same columns, one table in the order of their names; or ``"-"``, standard input.
    delimiter : str, default=None
        One character; None finds out among comma, semicolon, tab and bar.
    encoding : str, default="utf-8"
        Of a CSV. A byte-order mark overrides it. Nothing is guessed: text that does not decode is refused.
    sheet : str, default=None
        Of an Excel workbook that has several.
    """
    return usable(_read_all(path, _How(delimiter, encoding, sheet)))


def read_labelled(
    path: GivenPath | Sequence[GivenPath],
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sheet: str | None = None,
) -> Table:
    """The same of a table whose labels somebody wants to judge: chary may have made them."""
    return usable(_read_all(path, _How(delimiter, encoding, sheet)), taken=())


def _read_all(path: GivenPath | Sequence[GivenPath], how: _How) -> Table:
    given = [os.fspath(one) for one in ([path] if isinstance(path, (str, os.PathLike)) else path)]
    if not given:
        raise TableError("No file was given; give one at least.")
    sources, notes = find_sources(given)
    return as_given(
        joined([_read_once(source, how) for source in sources]), given, sources, notes, **how._asdict()
    )


def as_given(
    table: Table,
    given: Sequence[str],
    sources: Sequence[Source],
    notes: Sequence[str],
    *,
    delimiter: str | None,
    encoding: str,
    sheet: str | None,
) -> Table:
    """The table of several sources, with the paths that were given for it and how to read it again."""
    return replace(
        table,
        path=given[0],
        more_paths=tuple(given[1:]),
        files=tuple(str(source.path) for source in sources if source.path),
        notes=(*table.notes, *notes),
        read_with=_How(delimiter, encoding, sheet).as_given(),
    )


def usable(table: Table, taken: Sequence[str] = ADDED_COLUMNS) -> Table:
    """The table, once its shape and its column names can be worked with."""
    frame, name = table.frame, table.name
    if frame.width > MAX_COLUMNS:
        raise TableError(f"{name} has {frame.width:,} columns; chary takes up to {MAX_COLUMNS:,}: select some.")
    if not frame.height:
        raise TableError(f"{name} has a header and no rows; chary needs labelled and unlabelled rows.")
    there = [column for column in taken if column in frame.columns]
    if there:
        raise TableError(f"{name} already has a column {shown(there[0])}, written by chary; remove or rename it.")
    return table


class _How(NamedTuple):
    """How to read a file, where that has to be told."""

    delimiter: str | None
    encoding: str
    sheet: str | None

    def as_given(self) -> dict[str, str]:
        given = {**self._asdict(), "encoding": None if self.encoding == "utf-8" else self.encoding}
        return {name: value for name, value in given.items() if value is not None}


class _Found(NamedTuple):
    """What a file holds."""

    content: str
    data: bytes | None  # None: not read yet
    packed: str
    notes: tuple[str, ...]


def _read_once(source: Source, how: _How) -> Table:
    with source.unchanged():
        return _read(source, how)


def _read(source: Source, how: _How) -> Table:
    found, name = _look_into(source), source.name
    if how.sheet is not None and found.content != contents.XLSX:
        raise TableError(
            f"{name} is {words_for(found.content)}, which has no sheets; leave ", Parameter("sheet"), " out."
        )
    if found.content == contents.PARQUET:
        file = (
            source.path
            if found.data is None and source.path
            else source.read()
            if found.data is None
            else found.data
        )
        table = Table(read_parquet(file, name), name)
    else:
        table = _from_bytes(source.read() if found.data is None else found.data, name, found.content, how)
    if found.content in (contents.PARQUET, contents.ARROW):  # the others are no smaller in their files
        refuse_large(table.frame, name)
    return replace(table, packed=found.packed, notes=(*found.notes, *table.notes))


def _from_bytes(data: bytes, name: str, content: str, how: _How) -> Table:
    if content == contents.ARROW:
        return Table(read_arrow(data, name), name, format="arrow")
    if content == contents.XLSX:
        frame, notes = read_workbook(data, name, how.sheet)
        return Table(frame, name, format="xlsx", notes=notes)
    if content == contents.JSONL:
        return read_jsonlines(as_utf8(data, how.encoding, name)[0], name)
    return read_csv(data, name, how.delimiter, how.encoding)


def _look_into(source: Source) -> _Found:
    """What a file is, and what is in it if it is compressed."""
    name, promised = source.name, source.name
    data = source.read() if source.path is None else None
    content, packed = _content(source.head(data), name, promised), ""
    if content in (contents.GZIP, contents.ZIP):
        data = source.read() if data is None else data
        if content == contents.ZIP and is_workbook(data, name):
            content = contents.XLSX
        else:
            packed = content
            promised, data = _unpacked(data, name, content)
            content = _content(data[:4096], name, promised)
            if content == contents.ZIP and is_workbook(data, name):
                content = contents.XLSX
            if content in (contents.GZIP, contents.ZIP):
                raise TableError(f"{name} holds {words_for(content)}, compressed twice; unpack it once.")
    note = told_otherwise(content, promised)
    return _Found(content, data, packed, () if note is None or source.path is None else (note,))


def _content(head: bytes, name: str, promised: str) -> str:
    if not head:
        raise TableError(f"{name} is empty; chary needs a header and rows.")
    content = content_of(head, name)
    refuse_broken_promise(content, head, name, promised)
    return content


def _unpacked(data: bytes, name: str, content: str) -> tuple[str, bytes]:
    """The name that what is in a compressed file has, and its bytes."""
    if content == contents.ZIP:
        return from_zip(data, name)
    return name[:-3] if name.lower().endswith(".gz") else name, from_gzip(data, name)
