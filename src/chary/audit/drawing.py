"""Rows drawn at random for a person to label, and the sheet of them: new, or with more rows than before."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chary._files import atomic_rewrite, atomic_write, sole_writer
from chary._words import Parameter
from chary.audit.sheet import DrawPool, SheetRows, enlarge_sheet, read_origin, read_sheet, sheet_rows, write_sheet
from chary.tables.table import TableError

_BLOCK = 1_000_000  # rows that are given their random numbers at a time
# Keeps the numbers apart from those of anyone who makes a table, or a model, from the same seed.
_AUDIT = 0x6175646974


def draw(labeled: ArrayLike, k: int, random_state: Any = None) -> NDArray[np.intp]:
    """Row numbers of k unlabelled rows, uniformly at random without replacement, in random order.

    Every row of the table, labelled or not, has a random number that depends on the seed and its place alone;
    the draw is the k unlabelled rows of the smallest, in their order. So for one table and one seed draws are
    nested: the first 30 of a draw of 60 are the draw of 30. They go on, too: with the 30 rows marked as
    labelled, the draw of 30 more is the second half of that draw of 60. Rows drawn with another seed, or by an
    older version, can be enlarged in the same way and stay a random draw. The numbers are the same on every
    machine, and 10,000,000 rows need no more memory at a time than a million.

    Parameters
    ----------
    labeled : array-like of shape (n,), bool
        Where a label was given; all False to draw from all rows.
    k : int
        How many rows a person will label.
    random_state : None, int, RandomState or Generator

    Examples
    --------
    >>> draw([True, False, False, True, False], 2, random_state=0)
    array([2, 4])
    """
    labeled = np.asarray(labeled)
    if labeled.ndim != 1 or labeled.dtype != bool:
        raise ValueError(f"labeled must be a mask of shape (n,); got {labeled.dtype} of shape {labeled.shape}.")
    n_unlabeled = len(labeled) - int(np.count_nonzero(labeled))
    if not 1 <= k <= n_unlabeled:
        raise ValueError(f"{k} rows cannot be drawn from {n_unlabeled:,} unlabelled rows; ask for fewer.")
    if not isinstance(random_state, (int, np.integer)):
        random_state = np.random.default_rng(random_state).integers(2**63)
    # Raw 64-bit numbers stay the same over versions of NumPy, as those of its samplers need not.
    numbers = np.random.PCG64(np.random.SeedSequence([int(random_state), _AUDIT]))
    rows, ranks = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint64)
    for start in range(0, len(labeled), _BLOCK):
        part = labeled[start : start + _BLOCK]
        found = np.asarray(numbers.random_raw(len(part)), dtype=np.uint64)
        rows = np.concatenate([rows, np.flatnonzero(~part) + start])
        ranks = np.concatenate([ranks, found[~part]])
        if len(ranks) > 4 * k:
            near = np.flatnonzero(ranks <= np.partition(ranks, k - 1)[k - 1])
            rows, ranks = rows[near], ranks[near]
        first = np.argsort(ranks, kind="stable")[:k]
        rows, ranks = rows[first], ranks[first]
    return rows


class DrawnSheet(NamedTuple):
    """A sheet that was written."""

    n_drawn: int
    n_new: int  # rows that were not in it before
    n_answered: int  # rows that had an answer before, and keep it
    enlarged: bool  # whether it was there already
    hidden: tuple[str, ...] = ()  # columns that are not on it because they give the labels under test away


def draw_sheet(
    path: str | os.PathLike[str], pool: DrawPool, k: int, *, seed: int | None = None, overwrite: bool = False
) -> DrawnSheet:
    """Draw rows at random for a person to label; where a smaller sheet of the table is already, enlarge it.

    Answers that are there stay: for one table and seed the first rows of a large draw are the small one, and rows
    added to those of another draw are random among the rest, so that all together are a random draw in any case.

    Parameters
    ----------
    path : path
        Of the sheet.
    pool : DrawPool
        From ``unlabelled_rows``.
    k : int
        How many rows the sheet shall hold in the end.
    seed : int, default=None
        None: that of the sheet that is there, and else 0.
    overwrite : bool, default=False
        Whether to draw anew in place of what is there.
    """
    n_open = len(pool.closed) - int(np.count_nonzero(pool.closed))
    if not 2 <= k <= n_open:
        raise TableError(
            f"{k:,} rows cannot be drawn from {n_open:,}; ask for two or more, and no more than that."
        )
    with sole_writer(path):  # an answer given meanwhile would be lost
        if Path(path).exists() and not overwrite:
            return _enlarge(path, pool, k, seed)
        rows = draw(pool.closed, k, seed or 0)
        with atomic_write(path, overwrite=overwrite) as stream:
            seeded = pool._replace(origin=pool.origin._replace(seed=seed or 0))
            write_sheet(seeded, rows, stream)
    return DrawnSheet(k, k, 0, enlarged=False)


def _enlarge(path: str | os.PathLike[str], pool: DrawPool, k: int, seed: int | None) -> DrawnSheet:
    """Add rows to the sheet that is there; where that cannot be, it stays as it is and the error says why."""
    origin, cells = pool.origin, pool.cells
    try:
        sheet = read_sheet(path)
        there, told = sheet_rows(sheet, cells, origin.target, origin.chosen), read_origin(sheet)
    except TableError as error:
        *most, last = error.args
        why = *most, last.rstrip(".") if isinstance(last, str) else last
        raise _in_the_way(path, "exists already and cannot be enlarged (", *why, "); draw elsewhere") from None
    drawn_with = told.seed if told is not None and told.seed is not None else seed or 0
    if seed is not None and seed != drawn_with:
        raise _in_the_way(path, f"exists already, drawn with the seed {drawn_with}; draw with that to enlarge it")
    shown_until_now = pool.hidden & set(sheet.frame.columns)
    if k < there.n_drawn or (k == there.n_drawn and not shown_until_now):
        raise _in_the_way(path, f"exists already, with {there.n_drawn:,} rows; ask for more of them to enlarge it")
    if told is not None and (told.unlabeled, told.judged) != (origin.unlabeled, origin.judged):
        raise _in_the_way(path, "exists already, drawn for other labels; draw elsewhere")
    new = _rows_to_add(there, pool.closed, k, drawn_with) if k > there.n_drawn else np.empty(0, dtype=np.intp)
    sheet = replace(sheet, frame=sheet.frame.drop(shown_until_now))
    says = origin._replace(seed=drawn_with, stopped=bool(told and told.stopped))
    with atomic_rewrite(path) as stream:
        enlarge_sheet(sheet, says, cells, new, stream)
    n_answered = sum(bool(row.answer) for row in there.by_place.values())
    return DrawnSheet(k, len(new), n_answered, enlarged=True)


def _rows_to_add(there: SheetRows, closed: NDArray[np.bool_], k: int, seed: int) -> NDArray[np.intp]:
    """The rows that a draw of k has beyond those of a sheet, in order."""
    open_ones = closed.copy()
    numbers = [row.number for row in there.by_place.values()]
    open_ones[numbers] = False  # labelled in the table since, perhaps, and of the draw all the same
    whole = draw(open_ones, k, seed)
    if all(whole[place - 1] == row.number for place, row in there.by_place.items()):
        return whole[there.n_drawn :]
    open_ones[numbers] = True
    return draw(open_ones, k - there.n_drawn, seed)


def _in_the_way(path: str | os.PathLike[str], *why: Any) -> TableError:
    return TableError(
        f"{os.fspath(path)} ", *why, ", or pass ", Parameter("overwrite"), " to draw anew in its place."
    )
