"""A table of any size in; its labelled rows, rows by number, and so many of the others at random, out.

Every row has a random number that depends on the seed and its place alone; of the rows without a label those of
the smallest are taken. So the sample is exact and uniform, and the same however the rows lie in files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter
from chary.tables.errors import TableError
from chary.tables.large import Large
from chary.tables.memory import row_bytes
from chary.tables.sheets.rows import Behind, Digest, as_texts
from chary.tables.table import Table, Taken
from chary.tables.target import GivenCells, require_target

# Keeps the numbers apart from those of an audit, or of anyone who makes a table from the same seed.
_SAMPLE = 0x73616D706C65

Seen = Callable[[int, float], None]


def sample_rows(
    large: Large,
    target: str,
    k: int,
    *,
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    keep: Sequence[int] = (),
    seed: int = 0,
    room: int = 1 << 30,
    checksum: bool = False,
    seen: Seen = lambda rows, share: None,
) -> Table:
    """The rows of a table to learn from, in their order; ``taken`` says which they are.

    Parameters
    ----------
    large : Large
        It is read once.
    target, unlabeled, exact_labels : as in ``read_target``
    k : int
        How many rows without a label to draw, if there are as many.
    keep : sequence of int, default=()
        Further rows to take, by number from 0.
    seed : int, default=0
    room : int
        Bytes that the cells of all these rows may take.
    checksum : bool, default=False
        Whether to work out the checksum of the table that sheets need.
    seen : callable, default=nothing
        Told how many rows were read by now, and which share of the files.
    """
    require_target(large.table, target)
    cells = GivenCells(target, unlabeled, exact_labels=exact_labels)
    ranks, digest = _ranks(seed), Digest(target) if checksum else None
    kept, wanted, n_rows = _Kept(k, room, large.table), np.unique(np.asarray(keep, np.int64)), 0
    for part in large.parts():
        frame = part.table.frame
        numbers = np.arange(n_rows, n_rows + frame.height)
        labeled = cells.see(frame[target])
        kept.add(frame, numbers, ranks(frame.height), labeled, labeled | np.isin(numbers, wanted))
        if digest is not None:
            digest.add(frame)
        n_rows += frame.height
        seen(n_rows, part.share)
    cells.refuse()
    frame, numbers = kept.rows()
    return replace(large.table, frame=frame, taken=Taken(numbers, n_rows, digest.text() if digest else ""))


def rows_numbered(large: Large, numbers: Sequence[int]) -> pl.DataFrame:
    """Some rows of a table, by number from 0, in this order; it is read as far as the last of them."""
    wanted = np.asarray(numbers, np.int64)
    order, n_rows, found = np.unique(wanted), 0, [large.table.frame]
    for part in large.parts():
        there = slice(*np.searchsorted(order, [n_rows, n_rows + part.table.frame.height]))
        found.append(part.table.frame[(order[there] - n_rows).tolist()])
        n_rows += part.table.frame.height
        if there.stop == len(order):
            break
    large.refuse_changed()
    return pl.concat(found)[np.searchsorted(order, wanted).tolist()]


def behind_large(large: Large, taken: Taken, target: str) -> Behind:
    """What a sheet needs of a table that is read in parts; its checksum was worked out with ``taken``."""
    return Behind(
        large.table.name,
        taken.n_rows,
        lambda rows: as_texts(rows_numbered(large, rows).select(pl.exclude(target))),
        lambda cells: [taken.checksum] * cells.height,
    )


def _ranks(seed: int) -> Callable[[int], NDArray[np.uint64]]:
    """Random numbers of the next rows: raw ones, which stay the same over versions of NumPy."""
    generator = np.random.PCG64(np.random.SeedSequence([seed, _SAMPLE]))
    return lambda n: np.asarray(generator.random_raw(n), dtype=np.uint64)


class _Chunk(NamedTuple):
    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    ranks: NDArray[np.uint64]
    certain: NDArray[np.bool_]  # taken in any case

    def part(self, mask: NDArray[np.bool_]) -> _Chunk:
        return _Chunk(self.frame.filter(mask), self.numbers[mask], self.ranks[mask], self.certain[mask])


class _Kept:
    """The rows to take, as far as they are known."""

    def __init__(self, k: int, room: int, table: Table) -> None:
        self._k, self._room, self._table = k, room, table
        self._chunks: list[_Chunk] = []
        self._limit: np.uint64 | None = None  # of the ranks that can still be among the k smallest
        self._n_open = self._n_bytes = 0

    def add(
        self,
        frame: pl.DataFrame,
        numbers: NDArray[np.int64],
        ranks: NDArray[np.uint64],
        labeled: NDArray[np.bool_],
        certain: NDArray[np.bool_],
    ) -> None:
        """Rows that follow, some of which are certain to be taken; those labelled are not drawn."""
        drawn = ~labeled if self._limit is None else ~labeled & (ranks <= self._limit)
        ranks = np.where(labeled, np.iinfo(np.uint64).max, ranks)
        new = _Chunk(frame, numbers, ranks, certain).part(drawn | certain)
        self._chunks.append(new)
        self._n_open += int(drawn.sum())
        self._n_bytes += int(row_bytes(new.frame).sum())
        if self._n_open > 2 * self._k or self._n_bytes > self._room:
            self._prune()

    def rows(self) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """The cells, and the numbers of the rows."""
        self._prune()
        return self._chunks[0].frame.rechunk(), self._chunks[0].numbers

    def _prune(self) -> None:
        """Put what is kept together, less the rows that cannot be among the k smallest any more."""
        whole = _Chunk(
            pl.concat([chunk.frame for chunk in self._chunks]),
            *(np.concatenate(parts) for parts in list(zip(*self._chunks, strict=True))[1:]),
        )
        is_open = np.flatnonzero(whole.ranks < np.iinfo(np.uint64).max)
        drawn = is_open[np.lexsort((whole.numbers[is_open], whole.ranks[is_open]))[: self._k]]
        taken = whole.certain.copy()
        taken[drawn] = True
        if len(is_open) > self._k:
            self._limit = whole.ranks[drawn[-1]]
        self._chunks, self._n_open = [whole.part(taken)], len(drawn)
        size = row_bytes(self._chunks[0].frame)
        self._n_bytes = int(size.sum())
        if self._n_bytes > self._room:
            self._refuse(int(size[self._chunks[0].certain].sum()))

    def _refuse(self, certain: int) -> None:
        name = self._table.name
        if certain > self._room / 2:
            raise TableError(
                f"The labelled rows of {name} alone take {certain >> 20:,} MiB and more; pass more with ",
                Parameter("memory"),
                ", or leave some labels out.",
            )
        raise TableError(
            f"{self._k:,} rows of {name} to learn from take more than the {self._room >> 20:,} MiB that there are "
            "for them; pass fewer with ",
            Parameter("sample"),
            ", or more with ",
            Parameter("memory"),
            ".",
        )
