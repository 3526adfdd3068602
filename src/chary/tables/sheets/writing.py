"""A table and chosen rows in; a sheet with an empty column for a person's labels out, new or enlarged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import shown
from chary.method import Labels
from chary.tables.errors import TableError
from chary.tables.formulas import guarded
from chary.tables.sheets.origin import CLASSES, RANDOM, DrawnFrom, about_cells
from chary.tables.sheets.rows import ROW, Behind, behind, sheet_rows, tokens
from chary.tables.table import MAX_COLUMNS, Table
from chary.tables.writing import write_table

GUESS = "chary_guess"


def write_audit(
    table: Table,
    target: str,
    labels: Labels,
    rows: NDArray[np.intp],
    file: BinaryIO,
    guesses: Mapping[str, Any] | None = None,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
    seed: int | None = None,
    chosen: str = RANDOM,
) -> None:
    """Write the drawn rows with an empty target column for a person to fill in.

    Parameters
    ----------
    table, target, labels
        The table, its target column and what ``target_labels`` made of it.
    rows : (k,) where the rows are in the table
        From ``chary.evaluation.audit.draw``, in the order in which they shall be labelled.
    file : binary file
    guesses : mapping of column name to k values, default=None
        Columns with a model's opinion, which sway whoever sees them.
    unlabeled : str or sequence of str, default=None
        As given to ``target_labels``. The rows drawn are random among those it calls unlabelled, so the file is
        of use only with the same.
    exact_labels : bool, default=False
        As given to ``target_labels``; kept for the next command.
    seed : int, default=None
        Of the draw: with the same it can be enlarged.
    chosen : "random" or "doubt", default="random"
        How the rows were chosen. Answers to rows of doubt are never taken for an audit.
    """
    origin = origin_to_tell(table, target, labels, unlabeled, exact_labels=exact_labels, seed=seed, chosen=chosen)
    write_sheet(table, origin, behind(table, target), table.numbers(rows), file, guesses)


def origin_to_tell(
    table: Table, target: str, labels: Labels, unlabeled: str | Sequence[str] | None = None, **more: Any
) -> DrawnFrom:
    """What a sheet of this table shall say of where it comes from."""
    return DrawnFrom(
        target,
        labels.classes.tolist(),
        unlabeled=(unlabeled,) if isinstance(unlabeled, str) else None if unlabeled is None else tuple(unlabeled),
        says_unlabeled=True,
        table=table.path,
        read_with=dict(table.read_with),
        more_tables=table.more_paths,
        **more,
    )


def write_sheet(
    table: Table,
    origin: DrawnFrom,
    cells: Behind,
    rows: NDArray[np.intp],
    file: BinaryIO,
    guesses: Mapping[str, Any] | None = None,
) -> None:
    """Write chosen rows, by number, with an empty column called as the origin's target."""
    others = cells.texts(rows.tolist())
    taken = [name for name in (ROW, CLASSES, GUESS) if name in others.columns]
    if taken:
        raise TableError(
            f"{table.name} already has a column {shown(taken[0])}, written by chary; remove or rename it."
        )
    k = len(rows)
    added = {origin.target: pl.Series([None] * k, dtype=pl.String), **(guesses or {}), **others.to_dict()}
    added[CLASSES] = about_cells(origin, range(1, k + 1))
    if len(added) + 1 > MAX_COLUMNS:
        raise TableError(
            f"An audit file of {table.name} would have {len(added) + 1:,} columns, and chary reads up to "
            f"{MAX_COLUMNS:,}; leave some out of the table."
        )
    texts = tokens(rows.tolist(), cells.checksums(others), k, chosen=origin.chosen)
    delimiter = table.delimiter if table.delimiter in (",", ";") else ","  # what a .csv is opened with
    write_table(Table(pl.DataFrame({ROW: texts}), table.name, delimiter, table.bom), added, file)


def enlarge_sheet(
    sheet: Table,
    origin: DrawnFrom,
    cells: Behind,
    new: NDArray[np.intp],
    file: BinaryIO,
    guesses: Mapping[str, Any] | None = None,
) -> None:
    """Write a sheet again with more rows at its end: answers, order and columns of those before stay.

    Parameters
    ----------
    sheet, origin
        As it is now, from ``read_sheet``, and what the new rows shall say of where they come from.
    cells : Behind
        The table behind it.
    new : row numbers
        Drawn after those of the sheet, in the order in which they shall be labelled.
    file, guesses
        As in ``write_audit``, for the new rows.
    """
    n_before = sheet_rows(sheet, cells, origin.target, origin.chosen).n_drawn
    n = n_before + len(new)
    places = range(n_before + 1, n + 1)
    others = cells.texts(new.tolist())
    texts = tokens(new.tolist(), cells.checksums(others), n, places, origin.chosen)
    told = [pl.Series(name, values).cast(pl.String) for name, values in (guesses or {}).items()]
    fresh = guarded(others.with_columns(told)).with_columns(pl.Series(ROW, texts), about_cells(origin, places))
    nothing = pl.Series([None] * len(new), dtype=pl.String)
    columns = [fresh[name] if name in fresh.columns else nothing.alias(name) for name in sheet.frame.columns]
    frame = pl.concat([sheet.frame.cast(pl.String), pl.DataFrame(columns)])
    write_table(replace(sheet, frame=frame, lines=None), {}, file)


def sheet_with_answers(sheet: Table, target: str, answers: Sequence[str | None]) -> Table:
    """A sheet with these answers in its target column and all else as it was; in a CSV none runs as a formula."""
    told = pl.DataFrame({target: pl.Series(answers, dtype=pl.String)})
    column = (guarded(told) if sheet.format == "csv" else told)[target]
    return replace(sheet, frame=sheet.frame.with_columns(column), lines=None)
