"""Audit sheets: rows drawn at random with an empty column for a person's labels, written, enlarged and read back.

Each row carries a token: its place in the draw, how many were drawn, its number in the table, and a
checksum of all that with the table. It is text to any spreadsheet. So rows may come back in any
order, with columns added, removed or retyped, some not answered; parts of one sheet may be joined
again. A row that moved is found by its token; one that holds cells of another is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from chary._files import atomic_rewrite, atomic_write, sole_writer
from chary._words import Parameter, Step, counted, shown
from chary.method.labels import Labels
from chary.tables.cells import as_typed, guarded
from chary.tables.formats import write_table
from chary.tables.sampling import sample_rows
from chary.tables.source import Source, read_table
from chary.tables.table import Table, TableError, can_be_text, column_named, texts
from chary.tables.target import folded, markers_of

# Columns of a sheet: which row is which, where the sheet comes from, and a model's opinion.
ROW, CLASSES, GUESS = "chary_row", "chary_classes", "chary_guess"
SKIPPED = "?"  # the answer to a row that a person passed over
# How the rows of a sheet were chosen: at random, which measures; or for doubt, which does not.
RANDOM, DOUBT = "random", "doubt"

Guesses = Mapping[str, Any] | None  # columns with a model's opinion

# In the cells of CLASSES, after the target and its classes; then fields of ``SheetOrigin`` that are
# no default.
_UNLABELED, _TABLE, _READ_WITH, _PLACE = (
    "chary_unlabeled",
    "chary_table",
    "chary_read_with",
    "chary_place",
)
_FIELDS = {
    name: f"chary_{name}"
    for name in ("chosen", "seed", "judged", "digests", "shown", "hidden", "stopped", "options")
}
_FIELDS["stopped"] = "chary_stopped_when_enough"
MOST_SHOWN = 20_000  # characters of names, or of options; a cell of a spreadsheet holds 32,767
_TOKEN = re.compile(r"(check )?(\d{1,9})/(\d{1,9}): row (\d{1,12}) of x[0-9a-f]{10}")

_BLOCK = 1_000_000  # rows that are given their random numbers at a time
# Keeps the numbers apart from those of anyone who makes a table, or a model, from the same seed.
_AUDIT = 0x6175646974


# ---------------------------------------------------------------- rows drawn at random


def draw(labeled: ArrayLike, k: int, random_state: Any = None) -> NDArray[np.intp]:
    """Row numbers of k unlabelled rows, uniformly at random without replacement, in random order.

    Every row of the table, labelled or not, has a random number that depends on the seed and its
    place alone; the draw is the k unlabelled rows of the smallest, in their order. So for one table
    and one seed draws are nested: the first 30 of a draw of 60 are the draw of 30. They go on, too:
    with the 30 rows marked as labelled, the draw of 30 more is the second half of that draw of 60.
    Rows drawn with another seed, or by an older version, can be enlarged in the same way and stay a
    random draw. The numbers are the same on every machine, and 10,000,000 rows need no more memory
    at a time than a million.

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
    # Raw 64-bit numbers stay the same over versions of NumPy, as those of its samplers need not.
    numbers = np.random.PCG64(np.random.SeedSequence([int(random_state), _AUDIT]))
    rows = np.empty(0, dtype=np.intp)
    ranks = np.empty(0, dtype=np.uint64)
    for start in range(0, len(labeled), _BLOCK):
        is_open = ~labeled[start : start + _BLOCK]
        block_ranks = np.asarray(numbers.random_raw(len(is_open)), dtype=np.uint64)
        rows = np.concatenate([rows, np.flatnonzero(is_open) + start])
        ranks = np.concatenate([ranks, block_ranks[is_open]])
        if len(ranks) > k:
            smallest = np.argpartition(ranks, k)[:k]
            rows, ranks = rows[smallest], ranks[smallest]
    return rows[np.argsort(ranks)]


class DrawnSheet(NamedTuple):
    """A sheet that was written."""

    n_drawn: int
    n_new: int  # rows that were not in it before
    n_answered: int  # rows that had an answer before, and keep it
    enlarged: bool  # whether it was there already
    hidden: tuple[
        str, ...
    ] = ()  # columns that are not on it because they give the labels under test away
    shown: tuple[str, ...] = ()  # of a table to judge: the columns that are on it
    copy: str | None = None  # where the sheet that it replaces is kept, if that held answers


def draw_sheet(
    path: str | os.PathLike[str],
    pool: DrawPool,
    k: int,
    *,
    seed: int | None = None,
    force: bool = False,
    discard_answers: bool = False,
) -> DrawnSheet:
    """Draw rows at random for a person to label; where a smaller sheet of the table is already, enlarge it.

    Answers that are there stay: for one table and seed the first rows of a large draw are the small
    one, and rows added to those of another draw are random among the rest, so that all together are
    a random draw in any case.

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
    force : bool, default=False
        Whether to draw anew in place of what is there; a sheet that holds answers is refused.
    discard_answers : bool, default=False
        Whether to draw anew even in place of a sheet that holds answers, of which a copy is kept.
    """
    n_open = len(pool.closed) - int(np.count_nonzero(pool.closed))
    if not 2 <= k <= n_open:
        raise TableError(
            f"{k:,} rows cannot be drawn from {n_open:,}; ask for two or more, and not for more."
        )
    with sole_writer(path):  # an answer given meanwhile would be lost
        draw_anew = force or discard_answers
        if Path(path).exists() and not draw_anew:
            return _enlarge(path, pool, k, seed)
        if not discard_answers:
            refuse_to_lose_answers(path, pool.origin.target, "audit")

        rows = draw(pool.closed, k, seed or 0)
        copy = keep_copy(path, pool.origin.target)
        with atomic_write(path, overwrite=draw_anew) as stream:
            seeded = pool._replace(origin=pool.origin._replace(seed=seed or 0))
            write_sheet(seeded, rows, stream)
    return DrawnSheet(k, k, 0, enlarged=False, copy=copy)


def _enlarge(path: str | os.PathLike[str], pool: DrawPool, k: int, seed: int | None) -> DrawnSheet:
    """Add rows to the sheet that is there; where that cannot be, it stays as it is and the error says why."""
    origin, cells = pool.origin, pool.cells
    try:
        sheet = read_sheet(path)
        there, told = sheet_rows(sheet, cells, origin.target, origin.chosen), origin_of(sheet)
        there.refuse_removed(sheet.name, there.n_drawn)
    except TableError as error:
        *most, last = error.args
        why = *most, last.rstrip(".") if isinstance(last, str) else last
        unusable = "exists already and cannot be enlarged (", *why, "); draw elsewhere"
        raise _in_the_way(path, origin.target, *unusable) from None
    drawn_with = seed or 0 if told.seed is None else told.seed
    if seed is not None and seed != drawn_with:
        drawn_otherwise = (
            f"exists already, drawn with the seed {drawn_with}; draw with that to enlarge it"
        )
        raise _in_the_way(path, origin.target, drawn_otherwise)
    shown_until_now = pool.hidden & set(sheet.frame.columns)
    if k < there.n_drawn or (k == there.n_drawn and not shown_until_now):
        large_enough = (
            f"exists already, with {there.n_drawn:,} rows; ask for more of them to enlarge it"
        )
        raise _in_the_way(path, origin.target, large_enough)
    if (told.unlabeled, told.judged) != (origin.unlabeled, origin.judged):
        raise _in_the_way(
            path, origin.target, "exists already, drawn for other labels; draw elsewhere"
        )
    for name, digest in told.digests.items():
        if origin.digests.get(name) != digest:
            changed = f"exists already, and column {shown(name)} has changed since it was drawn; draw elsewhere"
            raise _in_the_way(path, origin.target, changed)
    new = np.empty(0, dtype=np.intp)
    if k > there.n_drawn:
        # The draw goes on where it stopped: the rows that are there are left out.
        closed = pool.closed.copy()
        closed[[row.number for row in there.by_place.values()]] = True
        new = draw(closed, k - there.n_drawn, drawn_with)
    sheet = replace(sheet, frame=sheet.frame.drop(shown_until_now))
    # The labels are those of the first draw: what an older sheet does not say, more rows cannot
    # tell.
    says = origin._replace(seed=drawn_with, stopped=told.stopped, digests=told.digests)
    with atomic_rewrite(path) as stream:
        enlarge_sheet(sheet, says, cells, new, stream)
    n_answered = sum(bool(row.answer) for row in there.by_place.values())
    return DrawnSheet(k, len(new), n_answered, enlarged=True)


def _in_the_way(path: str | os.PathLike[str], target: str, *why: Any) -> TableError:
    """Say why a sheet is not enlarged, how many answers it holds, and what replaces it."""
    n_answers = count_answers(path, target)
    if not n_answers:
        return TableError(
            f"{os.fspath(path)} ", *why, ", or pass ", Parameter("force"), " to replace it."
        )
    there = f"{os.fspath(path)} holds {counted(n_answers, 'answer')} and "
    return TableError(
        there, *why, ", or pass ", Parameter("discard_answers"), " to draw anew; a copy is kept."
    )


# ---------------------------------------------------------------- answers are not overwritten


def count_answers(path: str | os.PathLike[str], target: str) -> int:
    """Count the rows of a sheet that a person has answered or skipped.

    The answers are in the column that the sheet names, or in ``target`` if it names none any more.
    A file that is no sheet holds none; a sheet that is too damaged to be read may hold some, and is
    refused.
    """
    if not os.path.isfile(path):
        return 0
    try:
        sheet = read_table(path)
    except TableError:
        if ROW.encode() not in Path(path).read_bytes().replace(b"\0", b""):
            return 0
        damaged = f"{os.fspath(path)} is a damaged sheet, which may hold answers; repair it, or put it elsewhere."
        raise TableError(damaged) from None
    origin = read_origin(sheet)
    column = target if origin is None else origin.target
    if column not in sheet.frame.columns:
        return 0
    return sum(bool(answer) for answer in column_texts(sheet, column))


def refuse_to_lose_answers(path: str | os.PathLike[str], target: str, use_as: str) -> None:
    """Refuse to write over a sheet that holds answers; ``use_as`` is the parameter that takes it."""
    n_answers = count_answers(path, target)
    if n_answers:
        raise TableError(
            f"{os.fspath(path)} holds {counted(n_answers, 'answer')}, which are never overwritten; to use them, "
            "pass it as ",
            Parameter(use_as),
            "; to begin anew, pass ",
            Parameter("discard_answers"),
            ", which keeps a copy.",
        )


def keep_copy(path: str | os.PathLike[str], target: str) -> str | None:
    """Copy a sheet that holds answers beside it, before it is replaced; return where the copy is.

    The copy of ``t.judge.csv`` is ``t.discarded-1.judge.csv``, or the first such name that is free:
    it is sorted beside its sheet, and known by its ending as a file that chary wrote.
    """
    if not count_answers(path, target):
        return None
    original = Path(path)
    stem, *endings = original.name.rsplit(".", 2)
    for number in count(1):
        copy = original.with_name(".".join([stem, f"discarded-{number}", *endings]))
        if not os.path.lexists(copy):
            break
    with atomic_write(copy) as stream:
        stream.write(original.read_bytes())
    return str(copy)


# ---------------------------------------------------------------- where a sheet comes from


class SheetOrigin(NamedTuple):
    """What a sheet says of where it comes from."""

    target: str
    classes: list[str]  # known when it was drawn
    unlabeled: tuple[str, ...] | None  # as given to ``target_labels``
    tables: tuple[
        str, ...
    ]  # paths as typed, several where these were one table; empty text if unknown
    read_with: dict[str, Any]  # the parameters to read them with
    chosen: str = RANDOM
    seed: int | None = None  # of the draw
    judged: tuple[
        str, ...
    ] = ()  # columns of labels that were to be judged; empty: an audit of missing labels
    digests: dict[str, str] = {}  # noqa: RUF012 - by judged column: its labels at the draw
    shown: tuple[
        str, ...
    ] = ()  # of a table to judge: the columns that the sheet has; empty: too many to say
    hidden: tuple[
        str, ...
    ] = ()  # if they are too many to say: the columns that it has not, beside those judged
    stopped: bool = False  # whether the person was told when it was enough
    options: dict[str, Any] = {}  # noqa: RUF012 - how labels were to be made, from ``Options.to_keep``

    @property
    def markers(self) -> tuple[str, ...]:
        """The labels that stand for none."""
        return markers_of(self.unlabeled)


def sheet_origin(
    table: Table,
    target: str,
    classes: Sequence[str],
    unlabeled: str | Sequence[str] | None = None,
    **more: Any,
) -> SheetOrigin:
    """What a sheet of this table shall say of where it comes from; ``unlabeled`` as given to ``target_labels``."""
    told = (unlabeled,) if isinstance(unlabeled, str) else tuple(unlabeled) if unlabeled else None
    tables = table.path, *table.more_paths
    return SheetOrigin(target, list(classes), told, tables, dict(table.read_with), **more)


def read_origin(audit: Table) -> SheetOrigin | None:
    """What a sheet says of the table it was drawn from; None where a spreadsheet has lost it."""
    found = next(filter(None, _about(audit)), {})
    try:
        target, classes = next(iter(found.items()))
        classes = [str(name) for name in classes]
        told = {**found.get(_READ_WITH, {})}
    except (StopIteration, TypeError):
        return None
    unlabeled = None if found.get(_UNLABELED) is None else _like((), found[_UNLABELED])
    kept = "delimiter", "encoding", "sheet"
    read_with: dict[str, Any] = {name: str(told[name]) for name in kept if name in told}
    if isinstance(row := told.get("header_row"), int) and row > 0:
        read_with |= {"header_row": row}
    defaults = SheetOrigin._field_defaults
    more = {
        name: _like(defaults[name], found[key]) for name, key in _FIELDS.items() if key in found
    }
    return SheetOrigin(
        target, classes, unlabeled, _like((), found.get(_TABLE) or ""), read_with, **more
    )


def origin_of(sheet: Table) -> SheetOrigin:
    """Read what a sheet says of the table it was drawn from; refuse one that does not say it any more."""
    origin = read_origin(sheet)
    if origin is None:
        raise TableError(
            f"{sheet.name} has no usable column {shown(CLASSES)}, which says how it was drawn; to put the column "
            "back, draw the same rows again elsewhere and copy it."
        )
    column_named(sheet, origin.target)
    return origin


def tables_beside(sheet: str | os.PathLike[str], origin: SheetOrigin) -> list[str] | None:
    """Find the tables that a sheet names among the plain files and folders beside it; None if one is not there.

    The sheet may come from a stranger, so its cells are read as names alone: no other folder is
    looked into, and no link is followed, which may lead to a device or another machine. Nor is a
    pattern.
    """
    names = [re.split(r"[/\\]", table)[-1] for table in origin.tables]
    paths = [Path(sheet).with_name(name) for name in names if name not in ("", ".", "..")]
    if len(paths) < len(names) or not all(map(_is_plain, paths)):
        return None
    return list(map(str, paths)) or None


def _is_plain(path: Path) -> bool:
    """Tell whether a path is a file or a folder itself: no link, device or pipe."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def with_origin(audit: Table, field: str, value: Any) -> Table:
    """A sheet of which every row says something more of where it comes from: a field of ``SheetOrigin``."""
    if CLASSES not in audit.frame.columns:
        return audit
    said = {_FIELDS[field]: value}
    told = [
        json.dumps({**about, **said}, ensure_ascii=False) if about else ""
        for about in _about(audit)
    ]
    return replace(audit, frame=audit.frame.with_columns(pl.Series(CLASSES, told)))


def _origin_cells(origin: SheetOrigin, places: Sequence[int]) -> pl.Series:
    """A cell for each row: all that ``read_origin`` reads, and the row's place, to be held against its token."""
    shown = origin.shown if len("".join(origin.shown)) < MOST_SHOWN else ()
    options = origin.options if len(json.dumps(origin.options)) < MOST_SHOWN else {}
    said, defaults = origin._replace(shown=shown, options=options)._asdict(), origin._field_defaults
    about: dict[str, Any] = {
        origin.target: list(origin.classes),
        _UNLABELED: origin.unlabeled,
        _TABLE: origin.tables,
        _READ_WITH: dict(origin.read_with),
        **{key: said[name] for name, key in _FIELDS.items() if said[name] != defaults[name]},
    }
    return pl.Series(
        CLASSES, [json.dumps({**about, _PLACE: place}, ensure_ascii=False) for place in places]
    )


def _about(audit: Table) -> Iterator[dict[str, Any]]:
    """What the cell of CLASSES in each row says, empty where it says nothing."""
    for cell in (
        audit.frame[CLASSES] if CLASSES in audit.frame.columns else [""] * audit.frame.height
    ):
        try:
            said = json.loads(str(cell))
        except (ValueError, RecursionError):
            said = None
        yield said if isinstance(said, dict) else {}


def _like(default: Any, value: Any) -> Any:
    """What a cell says, in the type of a field's default; None stands for a whole number from 0 on."""
    if isinstance(default, tuple):
        return tuple(map(str, value)) if isinstance(value, list) else (str(value),)
    if isinstance(default, dict):
        return value if isinstance(value, dict) else {}
    if default is None:
        is_whole_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_whole_number and value >= 0 else None
    return type(default)(value)


# ---------------------------------------------------------------- the table behind a sheet


class TableCells(NamedTuple):
    """The table behind a sheet, as far as a sheet needs it."""

    name: str
    n_rows: int
    texts: Callable[
        [Sequence[int]], pl.DataFrame
    ]  # the cells of some rows, by number from 0, as text
    checksums: Callable[[pl.DataFrame], Sequence[str]]  # one for each row of what ``texts`` gave


def cells_of(table: Table, target: str, source: Source | None = None) -> TableCells:
    """A table, by row number: any change in it outside the target column changes every token.

    Where ``table`` is a sample, from ``sample_of_table`` with its checksum, rows are read from
    ``source``.
    """
    taken = table.taken
    checksum = table_checksum(table, target) if taken is None else taken.checksum

    def cells(rows: Sequence[int]) -> pl.DataFrame:
        found = source.rows(rows) if source else table.frame[table.places_of(rows)]
        return as_texts(found.select(pl.exclude(target)))

    return TableCells(table.name, table.n_numbers, cells, lambda cells: [checksum] * cells.height)


def sample_of_table(
    source: Source, target: str, k: int, *, checksum: bool = False, **options: Any
) -> Table:
    """As ``chary.tables.sampling.sample_rows``; ``taken`` has the checksum of all rows, if it is asked for."""
    if not checksum:
        return sample_rows(source, target, k, **options)
    digest = Digest(target)
    table = sample_rows(source, target, k, on_frame=digest.add, **options)
    return replace(
        table, taken=table.taken and table.taken._replace(checksum=digest.sha.hexdigest())
    )


def table_checksum(table: Table, target: str) -> str:
    """A number that changes with any cell outside the target column, and with the order of rows and columns."""
    digest = Digest(target)
    whole, _ = table.with_blank_rows({})
    for part in whole.frame.iter_slices(50_000):
        digest.add(part)
    return digest.sha.hexdigest()


class Digest:
    """The same, of a table that comes in parts; how it is cut changes nothing."""

    def __init__(self, target: str) -> None:
        self._target, self.sha, self._begun = target, hashlib.sha256(), False

    def add(self, frame: pl.DataFrame) -> None:
        """Further rows."""
        others = as_texts(frame.select(pl.exclude(self._target)))
        if not self._begun:
            self.sha.update(json.dumps(others.columns).encode())
            self._begun = True
        self.sha.update(others.write_csv(include_header=False).encode())


def as_texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that can be shown in a cell, as text."""
    return frame.select(texts(cells) for cells in frame if can_be_text(cells.dtype))


# ---------------------------------------------------------------- writing


class DrawPool(NamedTuple):
    """The rows of a table that a sheet is drawn from."""

    table: Table
    origin: SheetOrigin  # what the sheet shall say of it
    cells: TableCells
    closed: NDArray[np.bool_]  # (n,) rows that are not to be drawn
    hidden: frozenset[str] = (
        frozenset()
    )  # columns that an older sheet may still show, and a person must not see


def unlabelled_rows(
    table: Table, target: str, labels: Labels, *, source: Source | None = None, **about: Any
) -> DrawPool:
    """The rows without a label, by what ``target_labels`` says.

    Of a table that is read in batches ``table`` may hold its labelled rows alone; the others come
    from ``source``. The rows drawn are random among those unlabelled now, so the sheet says how
    that was told: ``unlabeled`` as given to ``target_labels``. Further fields of ``SheetOrigin``
    may be said, too.
    """
    closed = np.zeros(table.n_numbers, dtype=bool)
    closed[table.numbers(np.flatnonzero(labels.labeled))] = True
    if table.blank is not None:
        closed[table.blank.numbers] = True
    origin = sheet_origin(table, target, labels.classes.tolist(), **about)
    return DrawPool(table, origin, cells_of(table, target, source), closed)


def write_sheet(
    pool: DrawPool, rows: NDArray[Any], file: BinaryIO, guesses: Guesses = None
) -> None:
    """Write chosen rows, by number, in the order in which they shall be labelled, with an empty target column.

    ``guesses`` are columns with a model's opinion, which sways whoever sees it.
    """
    table, origin, cells = pool.table, pool.origin, pool.cells
    frame = _fresh_rows(origin, cells, rows, 1, guesses)
    delimiter = (
        table.delimiter if table.delimiter in (",", ";") else ","
    )  # what a .csv is opened with
    write_table(Table(frame, table.name, delimiter, table.bom), {}, file)


def enlarge_sheet(
    sheet: Table,
    origin: SheetOrigin,
    cells: TableCells,
    new: Any,
    file: BinaryIO,
    guesses: Guesses = None,
) -> None:
    """Write a sheet again with more rows at its end: answers, order and columns of those before stay.

    Parameters
    ----------
    sheet, origin
        As it is now, from ``read_sheet``, and what the new rows shall say of where they come from.
    cells : TableCells
        The table behind it.
    new : row numbers
        Drawn after those of the sheet, in the order in which they shall be labelled.
    file, guesses
        As in ``write_sheet``, for the new rows.
    """
    n_before = max(row.of for row in named_rows(sheet))
    if (read_origin(sheet) or origin).options != origin.options:
        sheet = with_origin(sheet, "options", origin.options)
    frame = sheet.frame.cast(pl.String)
    if len(new):
        fresh = _fresh_rows(origin, cells, new, n_before + 1, guesses)
        frame = pl.concat([frame, fresh], how="diagonal").select(frame.columns)
    write_table(replace(sheet, frame=frame), {}, file)


def _fresh_rows(
    origin: SheetOrigin, cells: TableCells, rows: NDArray[Any], first: int, guesses: Guesses
) -> pl.DataFrame:
    """Rows of a sheet without an answer, from the place ``first`` of the draw on; the last place is its size."""
    others, places = cells.texts(rows.tolist()), range(first, first + len(rows))
    taken = [name for name in (ROW, CLASSES, GUESS) if name in others.columns]
    if taken:
        raise TableError(
            f"{cells.name} already has a column {shown(taken[0])}; remove or rename it."
        )
    tokens = [
        _token(place, places[-1], number + 1, checksum, origin.chosen)
        for place, number, checksum in zip(
            places, rows.tolist(), cells.checksums(others), strict=True
        )
    ]
    added = [
        pl.Series(origin.target, [None] * len(rows), dtype=pl.String),
        *(pl.Series(name, values).cast(pl.String) for name, values in (guesses or {}).items()),
    ]
    return guarded(
        pl.DataFrame([pl.Series(ROW, tokens), *added, *others, _origin_cells(origin, places)])
    )


def _token(place: int, of: int, number: int, checksum: str, chosen: str) -> str:
    row = f"{'check ' * (chosen == DOUBT)}{place}/{of}: row {number}"
    return f"{row} of x{hashlib.sha256(f'{row} {checksum}'.encode()).hexdigest()[:10]}"


# ---------------------------------------------------------------- the rows of a sheet that came back


class SheetRow(NamedTuple):
    """A row of a sheet that came back."""

    place: int  # in the draw, from 1
    of: int  # rows drawn, when the sheet was written
    number: int  # in the table, from 0
    chosen: str
    token: str  # without what spreadsheets add
    line: int = 0  # of the sheet, from 1
    answer: str = ""  # as it stands in the file


class SheetRows(NamedTuple):
    """The rows of a sheet."""

    by_place: dict[int, SheetRow]
    n_drawn: int
    notes: list[str]

    def refuse_removed(self, name: str, last: int) -> None:
        """Refuse a sheet that lacks one of the rows up to a place: who removed it may have known its label."""
        n_removed = len(set(range(1, last + 1)) - set(self.by_place))
        if n_removed:
            raise TableError(
                f"{counted(n_removed, 'row')} of the draw {'is' if n_removed == 1 else 'are'} not in {name}; put "
                "what was removed back, even without a label."
            )


def read_sheet(path: str | os.PathLike[str]) -> Table:
    """The file once nobody writes it; its notes say if it was read in the encoding of older spreadsheets."""
    with sole_writer(path):
        audit = read_table(path)
    if ROW not in audit.frame.columns:
        raise TableError(
            f"{audit.name} has no column {shown(ROW)}, which says which row is which; it was not written by ",
            Step("draw", "a draw of random rows"),
            ", or the column was removed: draw again, or put it back.",
        )
    return audit


def column_texts(audit: Table, name: str) -> list[str]:
    """The cells of a column, without white space around them."""
    return audit.frame[name].cast(pl.String).fill_null("").str.strip_chars().to_list()


def named_rows(audit: Table, target: str = ROW) -> list[SheetRow]:
    """The rows of a sheet, line by line, as their tokens name them; empty lines are passed over."""
    rows, answers = [], column_texts(audit, target)
    for line, (token, answer) in enumerate(
        zip(column_texts(audit, ROW), answers, strict=True), start=1
    ):
        text = " ".join(token.split()).lower()
        found = _TOKEN.fullmatch(text)
        if found is not None and int(found[4]) > 0:
            chosen = DOUBT if found[1] else RANDOM
            rows.append(
                SheetRow(
                    int(found[2]), int(found[3]), int(found[4]) - 1, chosen, text, line, answer
                )
            )
        elif token or answer:
            raise TableError(
                f"Row {line} of {audit.name} has {shown(token)} in column {shown(ROW)}, which names no row of a "
                "table; put back what chary wrote there, or remove the row."
            )
    return rows


def sheet_rows(audit: Table, cells: TableCells, target: str, chosen: str = RANDOM) -> SheetRows:
    """The rows of a sheet by their place in the draw, if each is what it was when it was drawn."""
    rows = named_rows(audit, column_named(audit, target))
    if not rows:
        raise TableError(f"{audit.name} holds no drawn row; draw again.")
    if any(row.chosen != chosen for row in rows):
        how, instead = "drawn at random, so they measure as well as teach", Parameter("audit")
        if chosen == RANDOM:
            how, instead = (
                "chosen for doubt, not drawn at random, so they measure nothing",
                Parameter("checked"),
            )
        raise TableError(f"The rows of {audit.name} were {how}; pass it as ", instead, ".")
    own = cells.texts([row.number for row in rows if row.number < cells.n_rows])
    for row, checksum in zip_longest(rows, cells.checksums(own)):
        if checksum is None or row.token != _token(
            row.place, row.of, row.number + 1, checksum, chosen
        ):
            raise TableError(
                f"{audit.name} does not match {cells.name} (row {row.line}): the table has changed, or column "
                f"{shown(ROW)} was edited; use the original table, restore the column, or draw a new sheet."
            )
    by_place, notes = _by_place(rows, audit), _refuse_moved(audit, own, rows)
    return SheetRows(by_place, max(row.of for row in rows), notes)


def _by_place(rows: Sequence[SheetRow], audit: Table) -> dict[int, SheetRow]:
    """Rows by place in the draw; refused are rows that are there twice, or of two draws, or sorted in part."""
    about = list(_about(audit))
    seeds = {_like(None, said.get(_FIELDS["seed"])) for said in about} - {None}
    by_place: dict[int, SheetRow] = {}
    numbers: set[int] = set()
    for row in rows:
        if row.place in by_place or row.number in numbers or len(seeds) > 1:
            raise TableError(
                f"{audit.name} has the same row twice, or rows of two draws (row {row.line}); keep each row once."
            )
        if _like(None, about[row.line - 1].get(_PLACE)) not in (None, row.place):
            raise _mixed(audit, row, CLASSES)
        by_place[row.place] = row
        numbers.add(row.number)
    return by_place


def _mixed(audit: Table, row: SheetRow, column: str) -> TableError:
    return TableError(
        f"Row {row.line} of {audit.name} mixes cells of two rows (column {shown(column)}): some columns were "
        "probably sorted without the others; undo that, or draw a new sheet."
    )


def _refuse_moved(audit: Table, own: pl.DataFrame, rows: Sequence[SheetRow]) -> list[str]:
    """Refuse a sheet in which cells of a column have moved to other rows; ``own`` are the cells of the table.

    A column has moved if every cell that differs from the table's is the cell of another row of the
    sheet. A column that a spreadsheet or a person rewrote in another way has not.
    """
    compared = [name for name in own.columns if name in audit.frame.columns]
    if own.columns and not compared:
        return [
            f"{audit.name} has no column of the table left, so nothing shows whether rows were mixed up."
        ]
    for name in compared:
        every, wanted = column_texts(audit, name), [_plain(text or "") for text in own[name]]
        found = [_plain(every[row.line - 1]) for row in rows]
        moved = [i for i, cell in enumerate(found) if cell and not _same_cell(cell, wanted[i])]
        if moved and all(found[i] in wanted for i in moved):
            raise _mixed(audit, rows[moved[0]], name)
    return []


def _same_cell(found: str, wanted: str) -> bool:
    """Whether two cells are the same, or numbers of which one is shown with fewer digits."""
    try:
        return found == wanted or abs(float(found) - float(wanted)) < 10.0 ** -len(
            found.partition(".")[2]
        )
    except ValueError:
        return False


def _plain(cell: str) -> str:
    """A cell without case, white space, and the apostrophe that keeps a formula from running."""
    return folded(as_typed(cell.strip()).removeprefix("'"))
