"""The rows to learn from in a table of any size.

These are all labelled rows, and a uniform random sample of the others. Every row has a random
number that depends on the seed and its place alone; of the rows without a label those with the
smallest numbers are taken. So the sample is exact and uniform, and the same however the rows lie in
files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

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
    MAX_CLASSES,
    count_labels,
    is_marker,
    markers_of,
    refuse_doubtful,
    require_target,
)

if TYPE_CHECKING:
    from chary.tables.source import Source

# Keeps the random numbers apart from those of an audit, or of other uses of the same seed.
_STREAM = 0x73616D706C65
# The random number of a row that must not be drawn, and the largest of a row that may.
_NEVER = np.uint64(2**64 - 1)
_LARGEST = _NEVER - 1


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
        Bytes that the cells of all these rows may take.
    on_frame : callable, default=nothing
        Called with all rows, a batch at a time.
    on_progress : callable, default=nothing
        Called with the number of rows read so far, and the share of the files.
    """
    require_target(source.table, target)
    cells = GivenCells(target, unlabeled, classes=classes, missing=missing)
    # Raw random numbers, which stay the same over versions of NumPy.
    generator = np.random.PCG64(np.random.SeedSequence([seed, _STREAM]))
    reservoir = _Reservoir(k, max_bytes, source.table.name)
    blank_numbers: list[NDArray[np.int64]] = []
    n_rows = 0
    for batch in source.batches():
        frame = batch.table.frame
        numbers = np.arange(n_rows, n_rows + frame.height)
        is_labeled = cells.see(frame[target])
        is_blank = blank_rows(frame)
        blank_numbers.append(numbers[is_blank])

        ranks = np.asarray(generator.random_raw(frame.height), dtype=np.uint64)
        ranks[is_labeled | is_blank] = _NEVER
        is_certain = (is_labeled | np.isin(numbers, keep)) & ~is_blank
        reservoir.add(_Rows(frame, numbers, ranks, is_certain))
        on_frame(frame)
        n_rows += frame.height
        on_progress(n_rows, batch.share)

    cells.refuse()
    rows = reservoir.prune()
    blank = np.concatenate(blank_numbers)
    sample = replace(
        source.table,
        frame=rows.frame.rechunk(),
        taken=Taken(rows.numbers, n_rows - len(blank)),
    )
    if not len(blank):
        return sample
    return replace(
        sample,
        blank=BlankRows(blank, sample.frame.clear()),
        notes=(*sample.notes, blank_rows_note(len(blank))),
    )


class _Rows(NamedTuple):
    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    ranks: NDArray[np.uint64]  # random; ``_NEVER`` if a row must not be drawn
    is_certain: NDArray[np.bool_]  # taken whatever its rank


class _Reservoir:
    """The rows that may still be in the sample.

    These are the certain ones, and the ``k`` of the smallest ranks so far.
    """

    def __init__(self, k: int, max_bytes: int, name: str) -> None:
        self.k = k
        self.max_bytes = max_bytes
        self.name = name  # of the table
        self._batches: list[_Rows] = []
        self._largest_rank = _LARGEST  # of a row that can still be drawn
        self._n_drawn = 0
        self._n_bytes = 0

    def add(self, rows: _Rows) -> None:
        """Add the rows that follow, if they can be taken."""
        is_drawn = rows.ranks <= self._largest_rank
        batch = _filter(rows, is_drawn | rows.is_certain)
        self._batches.append(batch)
        self._n_drawn += int(is_drawn.sum())
        self._n_bytes += total_bytes(batch.frame)
        if self._n_drawn > 2 * self.k or self._n_bytes > self.max_bytes:
            self.prune()

    def prune(self) -> _Rows:
        """Drop the rows that cannot be taken any more."""
        frames, numbers, ranks, is_certain = zip(*self._batches, strict=True)
        rows = _Rows(
            pl.concat(frames),
            np.concatenate(numbers),
            np.concatenate(ranks),
            np.concatenate(is_certain),
        )
        n_candidates = int((rows.ranks != _NEVER).sum())
        order = np.argsort(rows.ranks, kind="stable")  # of equal ranks the first row
        drawn = order[: min(self.k, n_candidates)]
        if len(drawn) == self.k:
            self._largest_rank = rows.ranks[drawn].max(initial=0)
        is_taken = rows.is_certain.copy()
        is_taken[drawn] = True

        rows = _filter(rows, is_taken)
        self._batches = [rows]
        self._n_drawn = len(drawn)
        self._n_bytes = total_bytes(rows.frame)
        if self._n_bytes > self.max_bytes:
            raise TableError(
                f"The rows of {self.name} to learn from take {self._n_bytes >> 20:,} MiB; "
                f"raise {Parameter('memory')}, or leave rows or columns out of the table."
            )
        return rows


def _filter(rows: _Rows, mask: NDArray[np.bool_]) -> _Rows:
    """Keep the rows of a mask."""
    return _Rows(
        rows.frame.filter(mask), rows.numbers[mask], rows.ranks[mask], rows.is_certain[mask]
    )


class GivenCells:
    """The cells of a target that hold a label, as its parts are read."""

    def __init__(
        self,
        target: str,
        unlabeled: str | Sequence[str] | None = None,
        *,
        classes: Sequence[str] = (),
        missing: Sequence[str] = (),
    ) -> None:
        self._target = target
        self._markers = markers_of(unlabeled)
        self._classes = classes
        self._missing = missing
        # Rows by label, of all labels as long as there are few enough to be classes.
        self._counts: Counter[str] = Counter()

    def see(self, cells: pl.Series) -> NDArray[np.bool_]:
        """Tell which cells hold a label.

        Those that may mean none are counted, not taken.
        """
        column = count_labels(cells, self._markers)
        doubtful = [
            text
            for text in column.counts
            if may_be_unlabeled(text) and not is_marker(text, self._classes)
        ]
        if len(self._counts) <= MAX_CLASSES:
            self._counts.update(column.counts)
        else:
            self._counts.update({text: column.counts[text] for text in doubtful})
        is_no_label = column.labels.is_in([*column.marker_counts, *doubtful]).fill_null(False)
        return (column.labels.is_not_null() & ~is_no_label).to_numpy()

    def refuse(self) -> None:
        """Refuse the target if cells may mean "no label"."""
        by_frequency = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        refuse_doubtful(
            self._target, dict(by_frequency), bool(self._markers), self._classes, self._missing
        )
