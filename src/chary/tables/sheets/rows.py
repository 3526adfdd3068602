"""Rows of a table in; tokens that say which row is which out; and from a sheet that came back its rows, each once.

A token holds the place of the row in the draw, how many were drawn, the number of the row, and a checksum of all
that with the table: text to any spreadsheet. Sheets of one draw can be joined, a larger one with a smaller: the
first rows of a large draw are the small one.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from chary._words import Parameter, Step, shown
from chary.tables.errors import EncodingError, TableError
from chary.tables.reading import read_table
from chary.tables.sheets.cells import refuse_moved
from chary.tables.sheets.origin import DOUBT, RANDOM, draws_of
from chary.tables.spellings import folded
from chary.tables.table import Table, column_named, has_texts, texts

ROW = "chary_row"
_TOKEN = re.compile(r"(check )?(\d{1,9})/(\d{1,9}): row (\d{1,12}) of x[0-9a-f]{10}")


class Behind(NamedTuple):
    """The table behind a sheet, as far as a sheet needs it."""

    name: str
    n_rows: int
    texts: Callable[[Sequence[int]], pl.DataFrame]  # the cells of some rows, by number from 0, as text
    checksums: Callable[[pl.DataFrame], Sequence[str]]  # one for each row of what ``texts`` gave


class SheetRow(NamedTuple):
    """A row of a sheet that came back."""

    place: int  # in the draw, from 1
    of: int  # rows drawn, when the sheet was written
    number: int  # in the table, from 0
    answer: str  # as it stands in the file


class SheetRows(NamedTuple):
    """The rows of a sheet, each once."""

    by_place: dict[int, SheetRow]
    n_drawn: int
    notes: list[str]


def behind(table: Table, target: str) -> Behind:
    """A table, by row number: any change in it outside the target column changes every token."""
    checksum = table_checksum(table, target) if table.taken is None else table.taken.checksum
    others, taken = table.frame.select(pl.exclude(target)), table.taken
    return Behind(
        table.name,
        table.n_rows,
        lambda rows: as_texts(others[list(rows) if taken is None else taken.places(rows)]),
        lambda cells: [checksum] * cells.height,
    )


def table_checksum(table: Table, target: str) -> str:
    """A number that changes with any cell outside the target column, and with the order of rows and columns."""
    digest = Digest(target)
    for part in table.frame.iter_slices(50_000):
        digest.add(part)
    return digest.text()


class Digest:
    """The same, of a table that comes in parts; how it is cut changes nothing."""

    def __init__(self, target: str) -> None:
        self._target, self._sha = target, hashlib.sha256()
        self._begun = False

    def add(self, frame: pl.DataFrame) -> None:
        """Further rows."""
        others = as_texts(frame.select(pl.exclude(self._target)))
        if not self._begun:
            self._sha.update(json.dumps(others.columns).encode())
            self._begun = True
        self._sha.update(others.write_csv(include_header=False).encode())

    def text(self) -> str:
        """What came of all of them."""
        return self._sha.hexdigest()


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that can be shown in a cell, as text."""
    return frame.select(texts(cells) for cells in frame if has_texts(cells))


def tokens(
    numbers: Sequence[int],
    checksums: Sequence[str],
    of: int,
    places: Sequence[int] | None = None,
    chosen: str = RANDOM,
) -> list[str]:
    """What to write in column ROW: for each row, by number from 0, its place in the draw and all else."""
    every = range(1, len(numbers) + 1) if places is None else places
    parts = zip(every, numbers, checksums, strict=True)
    return [_token(place, of, number + 1, checksum, chosen) for place, number, checksum in parts]


def read_sheet(path: object) -> tuple[Table, list[str]]:
    """The file as it is, and a note if it was read in the encoding of older spreadsheets."""
    notes = []
    try:
        audit = read_table(path)  # type: ignore[arg-type]
    except EncodingError:
        audit = read_table(path, encoding="cp1252")  # type: ignore[arg-type]
        notes = [f"{audit.name} is not UTF-8 and was read as cp1252, as some spreadsheets write it."]
    if ROW not in audit.frame.columns:
        raise TableError(
            f"{audit.name} has no column {shown(ROW)}, which says which row is which; it was not written by ",
            Step("draw", "a draw of random rows"),
            ", or the column was removed: draw again, or put it back.",
        )
    return audit, notes


def sheet_rows(audit: Table, table: Behind, target: str, chosen: str = RANDOM) -> SheetRows:
    """The rows of a sheet by their place in the draw, if each is what it was when it was drawn."""
    column_named(audit, target)
    answers = audit.frame[target].cast(pl.String).fill_null("").str.strip_chars().to_list()
    written = audit.frame[ROW].cast(pl.String).fill_null("").str.strip_chars().to_list()
    kept = [line for line, (token, answer) in enumerate(zip(written, answers, strict=True)) if token or answer]
    found = [_parse(written[line], f"Row {line + 1} of {audit.name}") for line in kept]
    if not found:
        raise TableError(f"{audit.name} holds no drawn row; draw again.")
    for other in {token.chosen for token in found} - {chosen}:
        refuse_other_choice(audit.name, other)
    own = _check_tokens(found, [line + 1 for line in kept], audit.name, table)
    rows = [
        SheetRow(token.place, token.of, token.number, answers[line])
        for token, line in zip(found, kept, strict=True)
    ]
    by_place, notes = _once_each(rows, [line + 1 for line in kept], audit)
    lines, numbers = [line + 1 for line in kept], [row.number + 1 for row in rows]
    notes += refuse_moved(audit.frame[kept], own, numbers, lines, audit.name)
    return SheetRows(by_place, max(row.of for row in rows), notes)


def places_and_rows(audit: Table) -> list[tuple[int, int]]:
    """For each row of a sheet its place in the draw and its number in the table, as its token says."""
    written = audit.frame[ROW].cast(pl.String).fill_null("").str.strip_chars().to_list()
    found = [_parse(token, f"Row {line} of {audit.name}") for line, token in enumerate(written, start=1)]
    return [(token.place, token.number) for token in found]


def numbers_named(path: object) -> list[int]:
    """Rows of the table that a sheet speaks of, from 0; what cannot be read is passed over here."""
    audit, _ = read_sheet(path)
    written = audit.frame[ROW].cast(pl.String).fill_null("").to_list()
    found = [_TOKEN.fullmatch(" ".join(token.split()).lower()) for token in written]
    return [int(token[4]) - 1 for token in found if token is not None]


def place_and_row(token: str, where: str) -> tuple[int, int]:
    """The same of one token; ``where`` it stands is said if it is none."""
    found = _parse(token, where)
    return found.place, found.number


def in_order(audit: Table) -> Table:
    """A sheet with its rows in the order of the draw."""
    order = np.argsort([place for place, _ in places_and_rows(audit)], kind="stable")
    return replace(audit, frame=audit.frame[order.tolist()])


def refuse_other_choice(name: str, chosen: str) -> None:
    """Refuse rows of doubt where random ones are needed, and random ones where they would be wasted."""
    if chosen == DOUBT:
        raise TableError(
            f"The rows of {name} were chosen for doubt, not drawn at random, so they measure nothing; pass it as ",
            Parameter("checked"),
            ", and the model learns from its labels.",
        )
    raise TableError(
        f"The rows of {name} were drawn at random, so they measure as well as teach; pass the sheet as ",
        Parameter("audit"),
        ".",
    )


class _Token(NamedTuple):
    place: int
    of: int
    number: int  # from 0
    chosen: str
    text: str  # without what spreadsheets add


def _check_tokens(found: Sequence[_Token], lines: Sequence[int], name: str, table: Behind) -> pl.DataFrame:
    """Refuse rows that were not drawn from the table as it is; returns the table's cells of these rows."""
    for token, line in zip(found, lines, strict=True):
        if not token.number < table.n_rows:
            raise TableError(
                f"{name} was not drawn from {table.name} as it is now (row {line} is row {token.number + 1:,} of "
                f"{table.n_rows:,}); use the table it was drawn from, or draw again."
            )
    own = table.texts([token.number for token in found])
    for token, line, checksum in zip(found, lines, table.checksums(own), strict=True):
        if token.text != _token(token.place, token.of, token.number + 1, checksum, token.chosen):
            raise TableError(
                f"{name} was not drawn from {table.name} as it is now, or its column {shown(ROW)} was changed "
                f"(row {line}); use the table it was drawn from, put back what chary wrote, or draw again."
            )
        if not 1 <= token.place <= token.of:
            raise TableError(
                f"Row {line} of {name} says that it is the {token.place}th of {token.of} rows drawn, which cannot "
                "be; draw again."
            )
    return own


def _once_each(
    rows: Sequence[SheetRow], lines: Sequence[int], audit: Table
) -> tuple[dict[int, SheetRow], list[str]]:
    """Rows by place; a row may be there several times if it says the same, and rows of two draws are refused."""
    name = audit.name
    seeds, told = draws_of(audit)
    by_place: dict[int, SheetRow] = {}
    n_twice = 0
    for row, line in zip(rows, lines, strict=True):
        before = by_place.get(row.place, row._replace(answer=""))
        if before.number != row.number or len(seeds) > 1:
            raise TableError(f"{name} mixes two draws (row {line}); keep the rows of one of them.")
        if before.answer and row.answer and folded(before.answer) != folded(row.answer):
            raise TableError(
                f"{name} labels row {row.number + 1} of the table twice, {shown(before.answer)} and "
                f"{shown(row.answer)}; decide, and remove one of them."
            )
        if told[line - 1] not in (None, row.place):
            raise TableError(
                f"Row {line} of {name} begins as the {row.place}th row drawn and ends as the {told[line - 1]}th; "
                "some columns were sorted without the others: undo it, or draw again."
            )
        n_twice += row.place in by_place
        by_place[row.place] = row._replace(answer=before.answer or row.answer)
    if len({row.number for row in by_place.values()}) < len(by_place):
        raise TableError(f"{name} mixes two draws; keep the rows of one of them.")
    return by_place, [f"{n_twice} rows of {name} are there twice and count once."] if n_twice else []


def _token(place: int, of: int, number: int, checksum: str, chosen: str) -> str:
    row = f"{'check ' * (chosen == DOUBT)}{place}/{of}: row {number}"
    return f"{row} of x{hashlib.sha256(f'{row} {checksum}'.encode()).hexdigest()[:10]}"


def _parse(token: str, where: str) -> _Token:
    text = " ".join(token.split()).lower()
    found = _TOKEN.fullmatch(text)
    if found is None or int(found[4]) < 1:
        raise TableError(
            f"{where} has {shown(token)} in column {shown(ROW)}, which names no row of a table; put back what "
            "chary wrote there, or remove the row."
        )
    return _Token(int(found[2]), int(found[3]), int(found[4]) - 1, DOUBT if found[1] else RANDOM, text)
