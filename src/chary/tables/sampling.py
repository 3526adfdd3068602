"""The labelled rows of a table of any size, and a uniform random sample of the others.

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
from chary.tables.source import Source
from chary.tables.table import Table, TableError, Taken, row_bytes, total_bytes
from chary.tables.target import GivenCells, require_target

# Keeps the numbers apart from those of an audit, or of anyone who makes a table from the same seed.
_SAMPLE = 0x73616D706C65
_NEVER = np.uint64(2**64 - 1)


def sample_rows(
    source: Source,
    target: str,
    k: int,
    *,
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
    keep: Sequence[int] = (),
    seed: int = 0,
    room: int = 1 << 30,
    each: Callable[[pl.DataFrame], None] = lambda frame: None,
    seen: Callable[[int, float], None] = lambda rows, share: None,
) -> Table:
    """The rows of a table to learn from, in their order; ``taken`` says which they are.

    Parameters
    ----------
    source : Source
        It is read once.
    target, unlabeled, exact_labels, classes, missing : as in ``read_target``
    k : int
        How many rows without a label to draw, if there are as many.
    keep : sequence of int, default=()
        Further rows to take, by number from 0.
    seed : int, default=0
    room : int
        Bytes that the cells of all these rows may take.
    each : callable, default=nothing
        Given all rows, some after the others.
    seen : callable, default=nothing
        Told how many rows were read by now, and which share of the files.
    """
    require_target(source.table, target)
    told = {"classes": classes, "missing": missing}
    cells = GivenCells(target, unlabeled, exact_labels=exact_labels, **told)
    # Raw random numbers, which stay the same over versions of NumPy.
    generator = np.random.PCG64(np.random.SeedSequence([seed, _SAMPLE]))
    kept, wanted, n_rows = _Kept(k, room, source.table.name), np.asarray(keep, np.int64), 0
    for batch in source.batches():
        frame = batch.table.frame
        numbers = np.arange(n_rows, n_rows + frame.height)
        labeled = cells.see(frame[target])
        ranks = np.asarray(generator.random_raw(frame.height), dtype=np.uint64)
        kept.add(_Rows(frame, numbers, np.where(labeled, _NEVER, ranks), labeled | np.isin(numbers, wanted)))
        each(frame)
        n_rows += frame.height
        seen(n_rows, batch.share)
    cells.refuse()
    rows = kept.pruned()
    return replace(source.table, frame=rows.frame.rechunk(), taken=Taken(rows.numbers, n_rows))


class _Rows(NamedTuple):
    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    ranks: NDArray[np.uint64]  # of rows that may be drawn; of others _NEVER
    certain: NDArray[np.bool_]  # taken in any case

    def only(self, mask: NDArray[np.bool_]) -> _Rows:
        return _Rows(self.frame.filter(mask), self.numbers[mask], self.ranks[mask], self.certain[mask])


class _Kept:
    """The rows to take, as far as they are known."""

    def __init__(self, k: int, room: int, name: str) -> None:
        self.k, self.room, self.name = k, room, name
        self.parts: list[_Rows] = []
        self.limit = _NEVER - 1  # of the ranks that can still be among the k smallest
        self.n_drawn = self.n_bytes = 0

    def add(self, rows: _Rows) -> None:
        """Rows that follow."""
        drawn = rows.ranks <= self.limit
        self.parts.append(rows.only(drawn | rows.certain))
        self.n_drawn += int(drawn.sum())
        self.n_bytes += total_bytes(self.parts[-1].frame)
        if self.n_drawn > 2 * self.k or self.n_bytes > self.room:
            self.pruned()

    def pruned(self) -> _Rows:
        """All that is kept, less the rows that cannot be among the k smallest any more."""
        _, *arrays = zip(*self.parts, strict=True)
        whole = _Rows(pl.concat([part.frame for part in self.parts]), *map(np.concatenate, arrays))
        order = np.argsort(whole.ranks, kind="stable")  # of equal ranks the first row
        drawn = order[: min(self.k, int((whole.ranks != _NEVER).sum()))]
        if len(drawn) == self.k:
            self.limit = whole.ranks[drawn].max(initial=0)
        taken = whole.certain.copy()
        taken[drawn] = True
        self.parts, self.n_drawn = [whole.only(taken)], len(drawn)
        size = row_bytes(self.parts[0].frame)
        self.n_bytes = int(size.sum())
        if self.n_bytes > self.room:
            self._refuse(int(size[self.parts[0].certain].sum()))
        return self.parts[0]

    def _refuse(self, certain: int) -> None:
        if certain > self.room / 2:
            raise TableError(
                f"The labelled rows of {self.name} alone take {certain >> 20:,} MiB and more; pass more with "
                f"{Parameter('memory')}, or leave some labels out."
            )
        raise TableError(
            f"{self.k:,} rows of {self.name} to learn from take more than the {self.room >> 20:,} MiB that there "
            f"are for them; pass fewer with {Parameter('sample')}, or more with {Parameter('memory')}."
        )
