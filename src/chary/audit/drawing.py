"""Rows drawn at random onto a sheet, which may be enlarged, and whose answers are never lost."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chary._arrays import Ints
from chary._files import atomic_rewrite, atomic_write, sole_writer
from chary._words import Parameter, counted
from chary.audit.origin import SheetOrigin, origin_of, read_origin
from chary.audit.sheet import (
    DrawPool,
    column_texts,
    enlarge_sheet,
    is_workbook,
    read_sheet,
    sheet_rows,
    write_sheet,
)
from chary.tables.source import read_table
from chary.tables.table import Table, TableError

# This is the second part of the seed, "audit" in ASCII. With it, the random numbers differ from the
# ones that other code draws with the same seed.
_SEED_OF_AUDIT = 0x6175646974
# An option accepts no larger seed than this.
_LARGEST_SEED = 2**31 - 1


def draw(labeled: ArrayLike, k: int, random_state: Any = None) -> Ints:
    """Draw k unlabelled rows uniformly at random, without replacement, in random order.

    Every row of the table, labelled or not, has a random number that depends on the seed and its
    place alone, and is the same on every machine. The draw is the k unlabelled rows with the
    smallest numbers, in ascending order of these.

    So for one table and one seed draws are nested: the first 30 rows of a draw of 60 are the draw
    of 30. A draw can also be continued: with the 30 rows marked as labelled, a draw of 30 more is
    the second half of the draw of 60. If the first 30 rows were drawn with another seed, or by an
    older version, 30 more are drawn in the same way, and all 60 together are random.

    Parameters
    ----------
    labeled : array-like of shape (n,), bool
        Whether each row has a label; all False to draw from all rows.
    k : int
        How many rows a person will label.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    array of shape (k,)
        Row numbers.

    Examples
    --------
    >>> draw([True, False, False, True, False], 2, random_state=0)
    array([2, 4])
    """
    labeled = np.asarray(labeled)
    if labeled.ndim != 1 or labeled.dtype != bool:
        raise ValueError(
            f"labeled must be a mask of shape (n,); got {labeled.dtype} of shape {labeled.shape}."
        )
    n_unlabeled = len(labeled) - int(np.count_nonzero(labeled))
    if not 1 <= k <= n_unlabeled:
        raise ValueError(
            f"{k} rows cannot be drawn from {n_unlabeled:,} unlabelled rows; ask for fewer."
        )
    if not isinstance(random_state, (int, np.integer)):
        random_state = np.random.default_rng(random_state).integers(2**63)

    # Raw 64-bit numbers are the same in every version of NumPy; what its samplers make of them may
    # change.
    generator = np.random.PCG64(np.random.SeedSequence([int(random_state), _SEED_OF_AUDIT]))
    numbers = np.asarray(generator.random_raw(len(labeled)), dtype=np.uint64)  # (n,)
    unlabeled_rows = np.flatnonzero(~labeled)
    order = np.argsort(numbers[unlabeled_rows])
    return unlabeled_rows[order[:k]]


def sheet_path(table: Table, folder: Path, kind: str) -> Path:
    """Name the sheet of a table: ``t.audit.csv``, ``t.judge.csv`` or ``t.check.csv``.

    The sheet of a workbook is a workbook, such as ``t.audit.xlsx``.
    """
    ending = "xlsx" if table.format == "xlsx" else "csv"
    return folder / f"{table.stem}.{kind}.{ending}"


class SheetBeside(NamedTuple):
    """A sheet that lies beside its table."""

    path: Path
    n_answers: int  # rows that a person has answered or skipped


def sheet_beside(table: Table, folder: Path, target: str) -> SheetBeside | None:
    """Find the sheet of random rows that lies beside a table; None if there is none to be read."""
    path = sheet_path(table, folder, "audit")
    if not os.path.isfile(path):
        return None
    try:
        return SheetBeside(path, count_answers(path, target))
    except TableError:
        return None


def random_seed() -> int:
    """Choose the seed of a draw at random, so that nobody can foresee which rows are audited."""
    return secrets.randbelow(_LARGEST_SEED + 1)


class DrawnSheet(NamedTuple):
    """A sheet that was written."""

    n_drawn: int
    n_new: int  # rows that were not on the sheet before
    n_answered: int  # rows that had an answer before, and keep it
    enlarged: bool  # whether the sheet existed and was enlarged
    hidden: tuple[str, ...] = ()  # columns left out because they give the labels under test away
    shown: tuple[str, ...] = ()  # columns that are on the sheet, if labels are to be judged
    unreadable: tuple[str, ...] = ()  # columns left out because a person cannot read their cells
    copy: str | None = None  # path of the copy of a replaced sheet that held answers


def draw_sheet(
    path: str | os.PathLike[str],
    pool: DrawPool,
    k: int,
    *,
    seed: int | None = None,
    force: bool = False,
    discard_answers: bool = False,
) -> DrawnSheet:
    """Draw rows at random for a person to label, or enlarge an existing smaller sheet.

    An enlarged sheet keeps its rows and answers. All its rows together are a random draw: the added
    rows are random among the rows that were not drawn before.

    Parameters
    ----------
    path : path
        Of the sheet.
    pool : DrawPool
        From ``unlabelled_rows``.
    k : int
        Rows of the sheet in the end, earlier ones included.
    seed : int, default=None
        None: the seed of the existing sheet, or a random one. The sheet names it.
    force : bool, default=False
        Whether to replace an existing sheet by a new draw; a sheet that holds answers is refused.
    discard_answers : bool, default=False
        Whether to replace even a sheet that holds answers; a copy of it is kept.
    """
    n_open = len(pool.closed) - int(np.count_nonzero(pool.closed))
    if not 2 <= k <= n_open:
        raise TableError(
            f"{k:,} rows cannot be drawn from {n_open:,}; ask for two or more, and not for more."
        )
    target = pool.origin.target
    draw_anew = force or discard_answers
    # An answer that is given while the sheet is written would be lost.
    with sole_writer(path):
        if Path(path).exists() and not draw_anew:
            return _enlarge(path, pool, k, seed)
        if not discard_answers:
            refuse_to_lose_answers(path, target, use_as="audit")

        if seed is None:
            seed = random_seed()
        rows = draw(pool.closed, k, seed)
        copy = keep_copy(path, target)
        pool = pool._replace(origin=pool.origin._replace(seed=seed))
        with atomic_write(path, overwrite=draw_anew) as stream:
            write_sheet(pool, rows, stream, as_workbook=is_workbook(path))
    return DrawnSheet(k, k, 0, enlarged=False, copy=copy)


def _enlarge(path: str | os.PathLike[str], pool: DrawPool, k: int, seed: int | None) -> DrawnSheet:
    """Add rows to an existing sheet; if that is impossible, leave it alone and say why."""
    target = pool.origin.target
    try:
        sheet = read_sheet(path)
        earlier_rows = sheet_rows(sheet, pool.cells, target, pool.origin.chosen)
        earlier = origin_of(sheet)
        earlier_rows.refuse_removed(sheet.name, earlier_rows.n_drawn)
    except TableError as error:
        # An error may hold names of parameters beside text, so its parts are passed on one by one.
        reason = ["exists already and cannot be enlarged: ", *error.args, " Draw elsewhere"]
        raise _in_the_way(path, target, *reason) from None

    # What stands against enlarging it, if anything.
    n_new = k - earlier_rows.n_drawn
    columns_to_drop = pool.hidden.intersection(sheet.frame.columns)
    has_nothing_to_do = n_new == 0 and not columns_to_drop
    obstacle = ""
    if seed not in (None, earlier.seed):
        obstacle = f"drawn with the seed {earlier.seed}; draw with that to enlarge it"
    elif n_new < 0 or has_nothing_to_do:
        obstacle = f"with {earlier_rows.n_drawn:,} rows; ask for more of them to enlarge it"
    elif not _has_same_labels(earlier, pool.origin):
        obstacle = "drawn for other labels, or these have changed since; draw elsewhere"
    if obstacle:
        raise _in_the_way(path, target, f"exists already, {obstacle}")

    # The draw goes on where it stopped: the rows of the sheet are left out.
    new_rows = np.empty(0, dtype=np.intp)
    if n_new:
        drawn_before = [row.number for row in earlier_rows.by_place.values()]
        closed = pool.closed.copy()
        closed[drawn_before] = True
        new_rows = draw(closed, n_new, earlier.seed or 0)

    # The digests stay those of the first draw, even if an older sheet has none: today's labels may
    # have changed since.
    origin = pool.origin._replace(
        seed=earlier.seed, stopped_when_enough=earlier.stopped_when_enough, digests=earlier.digests
    )
    sheet = replace(sheet, frame=sheet.frame.drop(columns_to_drop))
    with atomic_rewrite(path) as stream:
        enlarge_sheet(sheet, origin, pool.cells, new_rows, stream)
    n_answered = sum(bool(row.answer) for row in earlier_rows.by_place.values())
    return DrawnSheet(k, n_new, n_answered, enlarged=True)


def _has_same_labels(earlier: SheetOrigin, origin: SheetOrigin) -> bool:
    """Tell whether an earlier sheet was drawn for the present labels.

    A sheet of an older version has no digests of labels, so it is taken on trust.
    """
    has_same_columns = earlier.judged == origin.judged
    has_same_markers = earlier.unlabeled == origin.unlabeled
    has_same_digests = earlier.digests in ({}, origin.digests)
    return has_same_columns and has_same_markers and has_same_digests


def _in_the_way(path: str | os.PathLike[str], target: str, *reason: Any) -> TableError:
    """Return the error that says why a sheet is not enlarged, and which option replaces it."""
    n_answers = count_answers(path, target)
    if n_answers:
        return TableError(
            f"{os.fspath(path)} holds {counted(n_answers, 'answer')} and ",
            *reason,
            ", or pass ",
            Parameter("discard_answers"),
            " to draw anew; a copy is kept.",
        )
    return TableError(
        f"{os.fspath(path)} ", *reason, ", or pass ", Parameter("force"), " to replace it."
    )


# ---------------------------------------------------------------- answers are not overwritten


def count_answers(path: str | os.PathLike[str], target: str) -> int:
    """Count the rows of a sheet that a person has answered or skipped.

    The answers are in the column that the sheet names, or in ``target`` if the sheet has lost that
    name. A table without this column holds no answers. A file that cannot be read is refused: it
    may hold some.
    """
    if not os.path.isfile(path):
        return 0
    try:
        sheet = read_table(path)
    except TableError:
        raise TableError(
            f"{os.fspath(path)} cannot be read, and may hold answers; repair it, or put it "
            "elsewhere."
        ) from None
    origin = read_origin(sheet)
    if origin is not None:
        target = origin.target
    if target not in sheet.frame.columns:
        return 0
    return sum(bool(answer) for answer in column_texts(sheet, target))


def refuse_to_lose_answers(path: str | os.PathLike[str], target: str, use_as: str) -> None:
    """Refuse to overwrite a sheet that holds answers; ``use_as`` is the parameter that takes it."""
    n_answers = count_answers(path, target)
    if n_answers:
        raise TableError(
            f"{os.fspath(path)} holds {counted(n_answers, 'answer')}, which are never overwritten; "
            "to use them, pass it as ",
            Parameter(use_as),
            "; to begin anew, pass ",
            Parameter("discard_answers"),
            ", which keeps a copy.",
        )


def keep_copy(path: str | os.PathLike[str], target: str) -> str | None:
    """Copy a sheet that holds answers before it is replaced; return where the copy is.

    The copy of ``t.judge.csv`` is ``t.discarded-1.judge.csv``, or the first such name that is free.
    So it is listed beside the sheet, and its ending shows that chary wrote it.
    """
    if not count_answers(path, target):
        return None
    original = Path(path)
    stem, *endings = original.name.rsplit(".", 2)  # such as "t", "judge", "csv"
    for number in count(1):
        copy = original.with_name(".".join([stem, f"discarded-{number}", *endings]))
        if not os.path.lexists(copy):
            break
    with atomic_write(copy) as stream:
        stream.write(original.read_bytes())
    return str(copy)
