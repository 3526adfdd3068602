"""The rows to learn from in a table of any size.

These are all labelled rows, and a uniform random sample of the rows without a label. Every row has
a random number, its rank, which depends only on the seed and on the row's place in the table. Of
the rows without a label, the ``k`` of the smallest ranks are taken. So the sample is uniform, has
exactly ``k`` of these rows if there are as many, and does not depend on how the table is divided
into files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Mask
from chary._words import Parameter
from chary.tables.cells import may_be_unlabeled
from chary.tables.table import (
    BlankRows,
    Table,
    TableError,
    Taken,
    blank_rows,
    blank_rows_note,
    total_bytes,
)
from chary.tables.target import (
    LabelCounts,
    count_labels,
    is_marker,
    markers_of,
    refuse_doubtful,
    require_target,
)

if TYPE_CHECKING:
    from chary.tables.source import Source

# This number is joined to the seed, so that an audit with the same seed draws other numbers. It is
# the word "sample".
_STREAM = 0x73616D706C65
# A row of this rank is never drawn.
_NEVER = 2**64 - 1


def sample_rows(
    source: Source,
    target: str,
    k: int,
    *,
    unlabeled: str | Sequence[str] | None = None,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
    keep: Sequence[int] = (),
    seed: int = 0,
    max_bytes: int = 1 << 30,
    on_frame: Callable[[pl.DataFrame], None] = lambda frame: None,
    on_progress: Callable[[int, float], None] = lambda n_rows, share: None,
) -> Table:
    """Sample the rows to learn from.

    They are in the order of the table; ``taken`` says which they are.

    Parameters
    ----------
    source : Source
        It is read once.
    target, unlabeled, classes, missing
        As in ``read_target``.
    k : int
        Rows without a label to draw, if there are as many.
    keep : sequence of int, default=()
        Further rows to take, by number from 0.
    seed : int, default=0
    max_bytes : int
        The cells of the sampled rows may take at most this many bytes.
    on_frame : callable, default=nothing
        Called with all rows, a batch at a time.
    on_progress : callable, default=nothing
        Called with the number of rows read so far, and the share of the files.
    """
    require_target(source.table, target)
    markers = markers_of(unlabeled)
    counts: Counter[str] = Counter()
    # Raw random numbers, which stay the same over versions of NumPy.
    generator = np.random.PCG64(np.random.SeedSequence([seed, _STREAM]))
    reservoir = _Reservoir(k, max_bytes, source.table.name)
    blank_numbers: list[NDArray[np.int64]] = []  # of each batch
    n_rows = 0  # before the batch
    for batch in source.batches():
        frame = batch.table.frame
        numbers = np.arange(n_rows, n_rows + frame.height)
        column = count_labels(frame[target], markers)
        counts.update(column.counts)
        is_labeled = _hold_labels(column, classes)
        is_blank = blank_rows(frame)
        blank_numbers.append(numbers[is_blank])

        # Every row gets a rank, so that it depends on nothing but the row's place. Labelled rows
        # are taken without a draw, and blank rows not at all.
        ranks = np.asarray(generator.random_raw(frame.height), dtype=np.uint64)
        ranks[is_labeled | is_blank] = _NEVER
        is_certain = (is_labeled | np.isin(numbers, keep)) & ~is_blank
        marks = pl.DataFrame({"number": numbers, "rank": ranks, "is_certain": is_certain})
        reservoir.add(_Rows(frame, marks))
        on_frame(frame)
        n_rows += frame.height
        on_progress(n_rows, batch.share)

    refuse_doubtful(target, dict(counts.most_common()), classes, missing)
    rows = reservoir.prune()
    blank = np.concatenate(blank_numbers)
    sample = replace(
        source.table,
        frame=rows.frame.rechunk(),
        taken=Taken(rows.marks["number"].to_numpy(), n_rows - len(blank)),
    )
    if not len(blank):
        return sample
    return replace(
        sample,
        blank=BlankRows(blank, sample.frame.clear()),
        notes=(*sample.notes, blank_rows_note(len(blank))),
    )


class _Rows(NamedTuple):
    """Rows of a table, and in ``marks`` the number and the rank of each.

    A row that ``is_certain`` is taken whatever its rank.
    """

    frame: pl.DataFrame
    marks: pl.DataFrame

    def below(self, limit: int) -> _Rows:
        """Keep the certain rows, and those with a rank below a limit."""
        is_taken = self.marks["is_certain"] | (self.marks["rank"] < limit)
        return _Rows(self.frame.filter(is_taken), self.marks.filter(is_taken))


class _Reservoir:
    """The rows that may still be in the sample.

    These are the certain rows, and the ``k`` rows of the smallest ranks so far.
    """

    def __init__(self, k: int, max_bytes: int, name: str) -> None:
        self.k = k
        self.max_bytes = max_bytes
        self.name = name  # of the table
        self._batches: list[_Rows] = []
        self._limit = _NEVER  # rows of this rank, or a larger one, can no longer be drawn
        self._n_bytes = 0
        self._most_bytes = 0  # with more bytes, ``add`` prunes

    def add(self, rows: _Rows) -> None:
        """Add the rows that follow, if they can be taken."""
        batch = rows.below(self._limit)
        self._batches.append(batch)
        self._n_bytes += total_bytes(batch.frame)
        if self._n_bytes > self._most_bytes:
            self.prune()

    def prune(self) -> _Rows:
        """Drop the rows that cannot be taken any more, and return the others.

        If the others are more than ``max_bytes``, the sample is refused.
        """
        frames, marks = zip(*self._batches, strict=True)
        rows = _Rows(pl.concat(frames), pl.concat(marks))
        ranks = rows.marks["rank"].sort()
        # Only the ``k`` smallest ranks can be drawn: all are below the next one.
        if len(ranks) > self.k:
            self._limit = ranks[self.k]

        rows = rows.below(self._limit)
        self._batches = [rows]
        self._n_bytes = total_bytes(rows.frame)
        if self._n_bytes > self.max_bytes:
            raise TableError(
                f"The rows of {self.name} to learn from take {self._n_bytes >> 20:,} MiB; "
                f"raise {Parameter('memory')}, or leave rows or columns out of the table."
            )
        self._most_bytes = min(2 * self._n_bytes, self.max_bytes)
        return rows


def _hold_labels(column: LabelCounts, classes: Sequence[str]) -> Mask:
    """Tell which cells hold a label, leaving out texts that may mean "no label"."""
    certain = [
        text for text in column.counts if is_marker(text, classes) or not may_be_unlabeled(text)
    ]
    return column.labels.is_in(certain).fill_null(False).to_numpy()
