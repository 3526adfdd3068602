"""Audit sheets: drawn rows with an empty column for a person's labels, written and read back.

Each row carries a token: its place in the draw, how many rows were drawn, its number in the table,
and a checksum of these numbers and the table. A spreadsheet treats a token as text. So rows may
come back in any order, with columns added, removed or retyped, or without an answer; parts of one
sheet may be joined again. A row is found by its token; a row that holds another row's cells is
refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from chary._arrays import Array, Mask
from chary._files import sole_writer
from chary._words import Parameter, Step, counted, shown
from chary.audit.origin import (
    CLASSES,
    DOUBT,
    RANDOM,
    SheetOrigin,
    origin_cells,
    places_in_draw,
    sheet_origin,
    with_origin,
)
from chary.audit.table_cells import TableCells, cells_of
from chary.method.labels import Labels
from chary.tables.cells import as_typed, guarded
from chary.tables.formats import write_table
from chary.tables.source import Source, read_table
from chary.tables.table import Table, TableError, column_named
from chary.tables.target import folded

# The column of tokens, each of which names a row of the table.
ROW = "chary_row"
# The column of a model's opinion.
GUESS = "chary_guess"
# The answer to a row that a person passed over.
SKIPPED = "?"

# Columns with a model's opinion, by name: the values of the rows of a sheet.
Guesses = Mapping[str, Any] | None

# A token, such as ``3/30: row 128 of x5f1c20a9be``: see ``_token``.
_TOKEN = re.compile(
    r"(?P<check>check )?(?P<place>\d{1,9})/(?P<n_drawn>\d{1,9}): row (?P<number>\d{1,12}) "
    r"of x[0-9a-f]{10}"
)


# ---------------------------------------------------------------- writing


class DrawPool(NamedTuple):
    """The rows of a table that a sheet is drawn from."""

    table: Table
    origin: SheetOrigin  # what the sheet will say of where it comes from
    cells: TableCells
    closed: Mask  # (n,) whether each row must not be drawn, such as a labelled one
    # Columns that a person must not see, and that are dropped from an older sheet.
    hidden: frozenset[str] = frozenset()


def unlabelled_rows(
    table: Table,
    target: str,
    labels: Labels,
    *,
    source: Source | None = None,
    unlabeled: str | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    chosen: str = RANDOM,
) -> DrawPool:
    """Collect the rows without a label.

    Parameters
    ----------
    table, target, labels
        The table, and what ``target_labels`` reads in its target column.
    source : Source, default=None
        If the table is read in batches, ``table`` may hold only the labelled rows; the other rows
        come from ``source``.
    unlabeled : default=None
        As given to ``target_labels``: it decides which rows count as unlabelled.
    options, chosen
        Fields of ``SheetOrigin``.
    """
    closed = np.zeros(table.n_file_rows, dtype=bool)
    closed[table.numbers(np.flatnonzero(labels.labeled))] = True
    if table.blank is not None:
        closed[table.blank.numbers] = True
    origin = sheet_origin(table, target, labels.classes.tolist(), unlabeled)
    origin = origin._replace(options=dict(options or {}), chosen=chosen)
    return DrawPool(table, origin, cells_of(table, target, source), closed)


def is_workbook(path: str | os.PathLike[str]) -> bool:
    """Tell whether a sheet of this name is an Excel workbook; otherwise it is a CSV."""
    return Path(path).suffix.lower() == ".xlsx"


def write_sheet(
    pool: DrawPool,
    rows: Array,
    file: BinaryIO,
    guesses: Guesses = None,
    *,
    as_workbook: bool = False,
) -> None:
    """Write a sheet of rows with an empty target column.

    Parameters
    ----------
    pool : DrawPool
    rows : array of int
        Row numbers in the order to label them.
    file : binary file
    guesses : mapping, default=None
        Columns with a model's opinion, which sways a person who sees it.
    as_workbook : bool, default=False
        Whether to write an Excel workbook instead of a CSV.
    """
    frame = _fresh_rows(pool.origin, pool.cells, rows, first=1, guesses=guesses)
    if as_workbook:
        write_table(Table(frame, pool.table.name, format="xlsx"), {}, file)
        return
    frame = guarded(frame)
    # Spreadsheets open a .csv only if it is delimited by a comma or a semicolon.
    delimiter = pool.table.delimiter
    if delimiter not in (",", ";"):
        delimiter = ","
    write_table(Table(frame, pool.table.name, delimiter, pool.table.bom), {}, file)


def enlarge_sheet(
    sheet: Table,
    origin: SheetOrigin,
    cells: TableCells,
    new: Array,
    file: BinaryIO,
    guesses: Guesses = None,
) -> None:
    """Write a sheet again with more rows at its end; its answers, order and columns stay.

    Parameters
    ----------
    sheet, origin
        The sheet as it is now, from ``read_sheet``, and the origin of the new rows.
    cells : TableCells
        The table behind the sheet.
    new : row numbers
        Of rows drawn after those of the sheet, in the order to label them.
    file, guesses
        As in ``write_sheet``, for the new rows.
    """
    n_before = max(row.n_drawn for row in named_rows(sheet))
    if origin.options:
        sheet = with_origin(sheet, "options", origin.options)
    frame = sheet.frame.cast(pl.String)
    if len(new):
        new_rows = _fresh_rows(origin, cells, new, first=n_before + 1, guesses=guesses)
        if sheet.format == "csv":
            new_rows = guarded(new_rows)
        # The sheet may lack columns of the new rows, which a person removed: they stay away.
        frame = pl.concat([frame, new_rows], how="diagonal").select(frame.columns)
    write_table(replace(sheet, frame=frame), {}, file)


def _fresh_rows(
    origin: SheetOrigin, cells: TableCells, rows: Array, first: int, guesses: Guesses
) -> pl.DataFrame:
    """Build the rows of a sheet, without answers, for rows of the table.

    ``rows`` are their numbers in the table, from 0, in the order of the draw. The first one has the
    place ``first`` in the draw.
    """
    numbers = rows.tolist()
    row_cells = cells.texts(numbers)
    for name in (ROW, CLASSES, GUESS):
        if name in row_cells.columns:
            raise TableError(
                f"{cells.name} already has a column {shown(name)}; remove or rename it."
            )

    # A token names the last place as the number of rows drawn.
    places = range(first, first + len(numbers))
    checksums = cells.checksums(row_cells)
    tokens = [
        _token(place, places[-1], number + 1, checksum, origin.chosen)
        for place, number, checksum in zip(places, numbers, checksums, strict=True)
    ]

    # The tokens, the empty target, a model's opinion, the cells of the table, and the origin.
    columns = [
        pl.Series(ROW, tokens),
        pl.Series(origin.target, [None] * len(numbers), dtype=pl.String),
    ]
    for name, values in (guesses or {}).items():
        columns.append(pl.Series(name, values).cast(pl.String))
    return pl.DataFrame([*columns, *row_cells, origin_cells(origin, places)])


def _token(place: int, n_drawn: int, number: int, checksum: str, chosen: str) -> str:
    """Write the token of a row, such as ``3/30: row 128 of x5f1c20a9be``.

    This row is the third of thirty drawn ones, and row 128 (``number``, from 1) of the table. The
    letters at the end digest all this and the ``checksum`` of the table. The token of a row that
    was chosen for doubt begins with "check".
    """
    row = f"{place}/{n_drawn}: row {number}"
    if chosen == DOUBT:
        row = f"check {row}"
    digest = hashlib.sha256(f"{row} {checksum}".encode()).hexdigest()
    return f"{row} of x{digest[:10]}"


# ------------------------------------------------------------ the rows of a sheet that came back


class SheetRow(NamedTuple):
    """A row of a sheet that came back."""

    place: int  # in the draw, from 1
    n_drawn: int  # rows drawn by the time when this row was written
    number: int  # in the table, from 0
    chosen: str  # RANDOM or DOUBT
    token: str  # in lower case, without additional white space
    line: int = 0  # of the sheet, from 1
    answer: str = ""  # as it is in the file, without white space around it


class SheetRows(NamedTuple):
    """The rows of a sheet."""

    by_place: dict[int, SheetRow]
    n_drawn: int
    notes: list[str]

    def refuse_removed(self, name: str, last: int) -> None:
        """Refuse a sheet that lacks a row up to the place ``last``.

        A person may have removed the row because of its label, which would bias the figures.
        """
        n_removed = len(set(range(1, last + 1)) - set(self.by_place))
        if n_removed:
            raise TableError(
                f"{name} lacks {counted(n_removed, 'row')} of the draw; put what was removed back, "
                "even without a label."
            )


def read_sheet(path: str | os.PathLike[str]) -> Table:
    """Read the file of a sheet; wait until no other process is writing it."""
    with sole_writer(path):
        sheet = read_table(path)
    if ROW not in sheet.frame.columns:
        raise TableError(
            f"{sheet.name} has no column {shown(ROW)}, which says which row is which; it was not "
            "written by ",
            Step("draw", "a draw of random rows"),
            ", or the column was removed: draw again, or put it back.",
        )
    return sheet


def column_texts(sheet: Table, name: str) -> list[str]:
    """Return the cells of a column, without white space around them."""
    return sheet.frame[name].cast(pl.String).fill_null("").str.strip_chars().to_list()


def named_rows(sheet: Table, target: str = ROW) -> list[SheetRow]:
    """Read the rows of a sheet in the order of its lines, each as its token describes it.

    Lines without a token and an answer are passed over. Answers are read from column ``target``.
    """
    rows = []
    cells = zip(column_texts(sheet, ROW), column_texts(sheet, target), strict=True)
    for line, (cell, answer) in enumerate(cells, start=1):
        token = " ".join(cell.split()).lower()
        match = _TOKEN.fullmatch(token)
        # The number of a row is counted from 1 in a token, and from 0 in a ``SheetRow``.
        if match is not None and int(match["number"]) > 0:
            rows.append(
                SheetRow(
                    place=int(match["place"]),
                    n_drawn=int(match["n_drawn"]),
                    number=int(match["number"]) - 1,
                    chosen=DOUBT if match["check"] else RANDOM,
                    token=token,
                    line=line,
                    answer=answer,
                )
            )
        elif cell or answer:
            raise TableError(
                f"Row {line} of {sheet.name} has {shown(cell)} in column {shown(ROW)}, which names "
                "no row of a table; put back what chary wrote there, or remove the row."
            )
    return rows


def sheet_rows(sheet: Table, cells: TableCells, target: str, chosen: str = RANDOM) -> SheetRows:
    """Read the rows of a sheet by place in the draw; refuse a sheet that does not fit the table.

    Parameters
    ----------
    sheet : Table
    cells : TableCells
        The table that the rows were drawn from, as it is today.
    target : str
        The column with the answers.
    chosen : RANDOM or DOUBT, default=RANDOM
        How the rows must have been chosen.
    """
    rows = named_rows(sheet, column_named(sheet, target))
    if not rows:
        raise TableError(f"{sheet.name} holds no drawn row; draw again.")
    if any(row.chosen != chosen for row in rows):
        raise _chosen_otherwise(sheet, chosen)

    # Each token must be the one that the table has for the row today.
    numbers = [row.number for row in rows if row.number < cells.n_rows]
    table_rows = cells.texts(numbers)
    checksum_of = dict(zip(numbers, cells.checksums(table_rows), strict=True))
    for row in rows:
        expected_token = None  # the table has no such row
        if row.number in checksum_of:
            checksum = checksum_of[row.number]
            expected_token = _token(row.place, row.n_drawn, row.number + 1, checksum, chosen)
        if row.token != expected_token:
            raise TableError(
                f"{sheet.name} does not match {cells.name} (row {row.line}): the table has "
                f"changed, or column {shown(ROW)} was edited; use the original table, restore the "
                "column, or draw a new sheet."
            )

    # Each row must hold its own cells.
    by_place = _by_place(rows, sheet)
    notes = []
    columns_left = [name for name in table_rows.columns if name in sheet.frame.columns]
    if table_rows.columns and not columns_left:
        notes.append(
            f"{sheet.name} has no column of the table left, so nothing shows whether rows were "
            "mixed up."
        )
    for name in columns_left:
        _refuse_moved_cells(sheet, name, table_rows[name], rows)
    n_drawn = max(row.n_drawn for row in rows)
    return SheetRows(by_place, n_drawn, notes)


def _chosen_otherwise(sheet: Table, chosen: str) -> TableError:
    """Return the error that the rows of a sheet were not chosen as required."""
    if chosen == RANDOM:
        way = "chosen for doubt, not drawn at random, so they measure nothing"
        parameter = Parameter("checked")
    else:
        way = "drawn at random, so they measure as well as teach"
        parameter = Parameter("audit")
    return TableError(f"The rows of {sheet.name} were {way}; pass it as ", parameter, ".")


def _by_place(rows: Sequence[SheetRow], sheet: Table) -> dict[int, SheetRow]:
    """Map each place in the draw to its row.

    A sheet is refused if it has a row twice or rows of two draws, or if some of its columns were
    sorted without the others: then the place in column CLASSES is not the token's.
    """
    places = places_in_draw(sheet)
    by_place: dict[int, SheetRow] = {}
    numbers: set[int] = set()
    for row in rows:
        if row.place in by_place or row.number in numbers:
            raise TableError(
                f"{sheet.name} has the same row twice, or rows of two draws (row {row.line}); keep "
                "each row once."
            )
        if places[row.line - 1] not in (None, row.place):
            raise _mixed(sheet, row, CLASSES)
        by_place[row.place] = row
        numbers.add(row.number)
    return by_place


def _refuse_moved_cells(
    sheet: Table, name: str, table_cells: pl.Series, rows: Sequence[SheetRow]
) -> None:
    """Refuse a sheet in which cells of a column have moved to other rows.

    Cells have moved if some differ from the table's, and each that differs is what the table has in
    another row of the sheet. If one is new, a spreadsheet or a person rewrote the column, which is
    allowed. ``table_cells`` are the cells that the table has in ``rows``.
    """
    sheet_cells = column_texts(sheet, name)
    expected_cells = [_plain(text or "") for text in table_cells]
    moved_rows = []
    for row, expected_cell in zip(rows, expected_cells, strict=True):
        cell = _plain(sheet_cells[row.line - 1])
        if not cell or _same_cell(cell, expected_cell):
            continue
        is_new = cell not in expected_cells
        if is_new:
            return
        moved_rows.append(row)
    if moved_rows:
        raise _mixed(sheet, moved_rows[0], name)


def _mixed(sheet: Table, row: SheetRow, column: str) -> TableError:
    """Return the error that a row holds cells of another row."""
    return TableError(
        f"Row {row.line} of {sheet.name} mixes cells of two rows (column {shown(column)}): some "
        "columns were probably sorted without the others; undo that, or draw a new sheet."
    )


def _same_cell(cell: str, expected: str) -> bool:
    """Tell whether two cells are equal, or the same number shown with fewer digits.

    A number with two decimals may differ from the expected one by less than 0.01:

    >>> _same_cell("3.14", expected="3.14159")
    True
    """
    if cell == expected:
        return True
    n_decimals = len(cell.partition(".")[2])
    try:
        difference = abs(float(cell) - float(expected))
    except ValueError:
        return False
    return difference < 10.0**-n_decimals


def _plain(cell: str) -> str:
    """Fold case and white space, and remove an apostrophe at the start.

    Spreadsheets and chary write one before a formula, so that it is not run.
    """
    return folded(as_typed(cell.strip()).removeprefix("'"))
