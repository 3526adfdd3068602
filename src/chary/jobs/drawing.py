"""A table, a number of rows and a seed in; a sheet of random rows out, new or with more rows than before."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._files import atomic_rewrite, atomic_write
from chary._words import Parameter
from chary.evaluation import draw
from chary.jobs.labeled import LabeledTable
from chary.method import Labels
from chary.tables import (
    DOUBT,
    GUESS,
    Behind,
    DrawnFrom,
    Large,
    SheetRows,
    Table,
    TableError,
    behind,
    behind_large,
    enlarge_sheet,
    origin_of,
    read_sheet,
    rows_numbered,
    sample_rows,
    sheet_rows,
    target_labels,
    write_audit,
    write_sheet,
)

Guesses = Callable[[NDArray[np.intp]], Mapping[str, Any]]


class ToDrawFrom(NamedTuple):
    """A table, and what a draw of its unlabelled rows needs of it."""

    table: Table  # of one that is read in parts its labelled rows, and hardly any other
    labels: Labels  # of those
    closed: NDArray[np.bool_]  # (n,) rows of all that have a label
    cells: Behind
    frame: Callable[[NDArray[np.intp]], pl.DataFrame]  # some rows, by number

    @classmethod
    def at_once(cls, table: Table, target: str, unlabeled: str | Sequence[str] | None, exact: bool) -> ToDrawFrom:
        """From a table in memory; ``unlabeled`` and ``exact`` as in ``target_labels``."""
        labels = target_labels(table, target, unlabeled, exact_labels=exact)
        return cls(table, labels, labels.labeled, behind(table, target), lambda rows: table.frame[rows])

    @classmethod
    def in_parts(
        cls, large: Large, target: str, unlabeled: str | Sequence[str] | None, exact: bool, room: int
    ) -> ToDrawFrom:
        """From one that is read in parts; its labelled rows may take so many bytes. The draw is the same."""
        asked: dict[str, Any] = {"unlabeled": unlabeled, "exact_labels": exact}
        table = sample_rows(large, target, 1, **asked, room=room, checksum=True)
        if table.taken is None:
            raise ValueError("A sample says which rows it is of.")
        labels, closed = target_labels(table, target, **asked), np.zeros(table.n_rows, dtype=bool)
        closed[table.numbers(np.flatnonzero(labels.labeled))] = True
        cells = behind_large(large, table.taken, target)
        return cls(table, labels, closed, cells, lambda rows: rows_numbered(large, rows.tolist()))


class DrawnSheet(NamedTuple):
    """A sheet that was written."""

    n_drawn: int
    n_new: int  # rows that were not in it before
    n_answered: int  # rows that had an answer before, and keep it
    enlarged: bool  # whether it was there already


def draw_sheet(
    path: str | os.PathLike[str],
    table: Table,
    origin: DrawnFrom,
    cells: Behind,
    closed: NDArray[np.bool_],
    k: int,
    *,
    seed: int | None = None,
    overwrite: bool = False,
    guesses: Guesses | None = None,
) -> DrawnSheet:
    """Draw rows at random for a person to label; where a smaller sheet of the table is already, enlarge it.

    Answers that are there stay: for one table and seed the first rows of a large draw are the small one, and rows
    added to those of another draw are random among the rest, so that all together are a random draw in any case.

    Parameters
    ----------
    path : path
        Of the sheet.
    table, origin, cells
        The table, what the sheet shall say of it, and its cells, from ``origin_to_tell`` and ``behind``.
    closed : (n,) mask
        Rows that are not to be drawn.
    k : int
        How many rows the sheet shall hold in the end.
    seed : int, default=None
        None: that of the sheet that is there, and else 0.
    overwrite : bool, default=False
        Whether to draw anew in place of what is there.
    guesses : callable, default=None
        From row numbers to columns with a model's opinion.
    """
    n_open = len(closed) - int(np.count_nonzero(closed))
    if not 2 <= k <= n_open:
        raise TableError(
            f"{k:,} rows cannot be drawn from {n_open:,}; ask for two or more, and no more than there are."
        )
    if Path(path).exists() and not overwrite:
        return _enlarge(path, origin, cells, closed, k, seed, guesses)
    rows = draw(closed, k, seed or 0)
    with atomic_write(path, overwrite=overwrite) as stream:
        write_sheet(table, origin._replace(seed=seed or 0), cells, rows, stream, guesses and guesses(rows))
    return DrawnSheet(k, k, 0, enlarged=False)


def write_rows_to_check(result: LabeledTable, file: BinaryIO) -> None:
    """A sheet of the rows of highest doubt, with the label that each has now: to be checked, not to measure by."""
    guess = result.added_columns["chary_label"].gather(result.next_rows)
    settings = result.settings
    write_audit(
        result.table,
        result.target,
        result.labels,
        result.next_rows,
        file,
        {GUESS: guess.cast(pl.String)},
        settings["unlabeled"],
        exact_labels=settings["exact_labels"],
        chosen=DOUBT,
    )


def rows_to_add(there: SheetRows, closed: NDArray[np.bool_], k: int, seed: int) -> NDArray[np.intp]:
    """The rows that a draw of k has beyond those of a sheet, in order."""
    open_ones = closed.copy()
    numbers = [row.number for row in there.by_place.values()]
    open_ones[numbers] = False  # labelled in the table since, perhaps, and of the draw all the same
    whole = draw(open_ones, k, seed)
    if all(whole[place - 1] == row.number for place, row in there.by_place.items()):
        return whole[there.n_drawn :]
    open_ones[numbers] = True
    return draw(open_ones, k - there.n_drawn, seed)


def _enlarge(
    path: str | os.PathLike[str],
    origin: DrawnFrom,
    cells: Behind,
    closed: NDArray[np.bool_],
    k: int,
    seed: int | None,
    guesses: Guesses | None,
) -> DrawnSheet:
    """Add rows to the sheet that is there; where that cannot be, it stays as it is and the error says why."""
    try:
        sheet, _ = read_sheet(path)
        there, told = sheet_rows(sheet, cells, origin.target, origin.chosen), origin_of(sheet)
    except TableError as error:
        *most, last = error.args
        why = *most, last.rstrip(".") if isinstance(last, str) else last
        raise _in_the_way(path, "exists already and cannot be enlarged (", *why, "); draw elsewhere") from None
    drawn_with = told.seed if told is not None and told.seed is not None else seed or 0
    if seed is not None and seed != drawn_with:
        raise _in_the_way(path, f"exists already, drawn with the seed {drawn_with}; draw with that to enlarge it")
    if k <= there.n_drawn:
        raise _in_the_way(path, f"exists already, with {there.n_drawn:,} rows; ask for more of them to enlarge it")
    if (
        told is not None
        and (told.unlabeled, told.judged) != (origin.unlabeled, origin.judged)
        and told.says_unlabeled
    ):
        raise _in_the_way(path, "exists already, drawn for other labels; draw elsewhere")
    new = rows_to_add(there, closed, k, drawn_with)
    if guesses is not None:
        sheet = _with_empty(sheet, guesses(new[:1]))
    says = origin._replace(seed=drawn_with, stopped=bool(told and told.stopped))
    with atomic_rewrite(path) as stream:
        enlarge_sheet(sheet, says, cells, new, stream, guesses and guesses(new))
    n_answered = sum(bool(row.answer) for row in there.by_place.values())
    return DrawnSheet(k, len(new), n_answered, enlarged=True)


def _with_empty(sheet: Table, columns: Mapping[str, Any]) -> Table:
    """The sheet with columns that it has not yet, for the rows before empty."""
    missing = [pl.lit(None, dtype=pl.String).alias(name) for name in columns if name not in sheet.frame.columns]
    return replace(sheet, frame=sheet.frame.with_columns(missing))


def _in_the_way(path: str | os.PathLike[str], *why: Any) -> TableError:
    return TableError(
        f"{os.fspath(path)} ", *why, ", or pass ", Parameter("overwrite"), " to draw anew in its place."
    )
