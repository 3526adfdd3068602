"""The target column of a table: its classes, which rows have a label, and spellings that are one class.

Of a table of any size: its labelled rows, and a uniform random sample of the others. Every row has
a random number that depends on the seed and its place alone; of the rows without a label those of
the smallest are taken. So the sample is exact and uniform, and the same however the rows lie in
files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, counted, listed, shown
from chary.method.labels import Labels, encode
from chary.tables.cells import as_whole, codes_of, doubtful_labels, label_texts, may_be_unlabeled
from chary.tables.table import (
    BlankRows,
    Table,
    TableError,
    Taken,
    blank_rows,
    blank_rows_note,
    can_be_text,
    column_named,
    composed,
    row_bytes,
    told_apart,
    total_bytes,
)

if TYPE_CHECKING:
    from chary.tables.source import Source

MAX_CLASSES = 1000  # more are no labels, and would cost more than they tell
_MAX_LABEL_BYTES = 2**31  # of all labels in an array of fixed width
_SHOWN = 6  # spellings of a class that are named in a sentence


class UndecidedError(TableError):
    """A column holds values of which only a person can tell whether they are labels."""


class Target(NamedTuple):
    """The target column of a table."""

    labels: Labels
    notes: list[str]  # what a person should know of how it was read, a sentence each


def read_target(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    *,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Target:
    """The target column of a table, encoded; its empty cells, and cells equal to ``unlabeled``, have no label.

    Labels that differ in nothing but case and white space are one class, called by its most
    frequent spelling; ``notes`` say so.

    Parameters
    ----------
    table, target
        The table, and the name of one of its columns.
    unlabeled : str or sequence of str, default=None
        What means "no label", in upper or lower case. Cells that look like it without being empty
        (NA, ?, -1, unknown, 99 beside 0 to 10 or beside words) are refused unless they are named
        here or among the classes.
    classes : sequence of str, default=()
        Cells that look like no label and are a class.
    missing : sequence of str, default=()
        Codes for nothing in other columns, which may mean no label here.
    """
    require_target(table, target)
    markers = markers_of(unlabeled)
    cells, counts, none = _counted(table.frame[target], markers)
    refuse_doubtful(target, counts, bool(markers), classes, missing)
    chosen, by_class = _by_class(counts)
    _refuse_unlearnable(target, by_class)
    longest = max(map(len, chosen.values()))
    if 4 * longest * len(cells) > _MAX_LABEL_BYTES:
        raise TableError(
            f"Column {shown(target)} has a label of {longest:,} characters; shorten it."
        )
    labels = cells.replace_strict(chosen, default=None, return_dtype=pl.String)
    notes = fold_sentences(counts, chosen, target)
    for text in none:
        if text not in markers and folded(text):
            notes.append(f"In column {shown(target)}, {shown(text)} is treated as unlabelled.")
    return Target(encode(labels, unlabeled=None), notes)


class Value(NamedTuple):
    """A value of a column that may hold labels, whichever way it is spelled."""

    name: str
    rows: int
    is_label: bool
    is_doubtful: bool  # whether it looks like a missing answer


def target_values(
    column: pl.Series,
    unlabeled: str | Sequence[str] | None = None,
    *,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> list[Value]:
    """What a column holds, the most frequent value first, for a person to say which values are labels.

    The parameters are those of ``read_target``, which refuses what here is doubtful.
    """
    _, counts, none = _counted(column, markers_of(unlabeled))
    counts = counts | none
    chosen, rows = _by_class(counts)
    doubtful = {chosen[text] for text in doubtful_labels(counts, codes_of(column.name, missing))}
    unticked = {chosen[text] for text in none} | {
        text for text in doubtful if not is_marker(text, classes)
    }
    return [
        Value(name, n, name not in unticked, name in doubtful) for name, n in rows.most_common()
    ]


def target_labels(
    table: Table, target: str, unlabeled: str | Sequence[str] | None = None, **told: Any
) -> Labels:
    """The labels alone, of what ``read_target`` says."""
    return read_target(table, target, unlabeled, **told).labels


def require_target(table: Table, target: str) -> None:
    """Refuse a table that has no such column, or no other."""
    if table.frame.width < 2:
        raise TableError(
            f"{table.name} has one column only, {shown(table.frame.columns[0])}; chary needs a target and "
            f"features (if the columns are separated by an unusual character, pass {Parameter('delimiter')})."
        )
    column_named(table, target)
    if not can_be_text(table.frame[target].dtype):
        raise TableError(
            f"Column {shown(target)} holds {table.frame[target].dtype}, not labels; choose another."
        )


def _counted(
    cells: pl.Series, markers: Sequence[str]
) -> tuple[pl.Series, dict[str, int], dict[str, int]]:
    """Cells as labels; rows by label, the most frequent first; and rows by what means that there is none."""
    labels = label_texts(cells)
    rows = labels.alias("label").drop_nulls().value_counts(name="rows")
    counts: dict[str, int] = {}
    none: dict[str, int] = {}
    for text, n in rows.sort("rows", "label", descending=[True, False]).iter_rows():
        (none if is_marker(text, markers) or not folded(text) else counts)[text] = n
    return labels, counts, none


def _by_class(counts: Mapping[str, int]) -> tuple[dict[str, str], Counter[str]]:
    """The class of each label, and the rows of each class."""
    chosen = chosen_spellings(counts)
    rows: Counter[str] = Counter()
    for text, n in counts.items():
        rows[chosen[text]] += n
    return chosen, rows


def refuse_doubtful(
    target: str,
    counts: Mapping[str, int],
    told: bool,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> None:
    """Refuse labels of which only who wrote them can tell whether they are any, unless they are said to be."""
    found = [
        text
        for text in doubtful_labels(counts, codes_of(target, missing))
        if not is_marker(text, classes)
    ]
    if not found:
        return
    found = found[:_SHOWN]
    said = listed(f"{shown(text)} in {counted(counts[text], 'row')}" for text in found)
    no_label, a_class = (
        " ".join(f"{Parameter(name, text)}" for text in found) for name in ("unlabeled", "classes")
    )
    also = "also " if told else ""
    raise UndecidedError(
        f"Column {shown(target)} holds {said}; pass {also}{no_label} if that means no label, or {a_class} if that "
        "is a class."
    )


def _refuse_unlearnable(target: str, counts: Mapping[str, int]) -> None:
    n_labeled = sum(counts.values())
    if len(counts) < 2:
        found = (
            f"one class only, {shown(next(iter(counts)))} in {n_labeled:,} rows"
            if n_labeled
            else "no label"
        )
        raise TableError(
            f"Column {shown(target)} holds {found}; label some rows of at least two classes."
        )
    if len(counts) > MAX_CLASSES or len(counts) > max(20, n_labeled / 2):
        said = f"{len(counts):,} different values in {n_labeled:,} labelled rows"
        raise TableError(
            f"Column {shown(target)} has {said}; group them, or choose another target."
        )


# ---------------------------------------------------------------- spellings


def folded(text: str) -> str:
    """What is left of a text without case, white space around and between its words, and what nobody can see.

    The 1.0 of one format is the 1 of another.

    >>> folded(" Not  SURE") == folded("not sure"), folded("Cafe\\u0301\\u200b") == folded("caf\\u00e9")
    (True, True)
    """
    return as_whole(composed(" ".join(composed(text).split()).casefold()))


def chosen_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """For each text the spelling of its class: the most frequent one, of equally frequent ones the first by value.

    The 1.0 of a text file is the 1 that it is in a file of numbers.

    >>> chosen_spellings({"yes": 3, "Yes": 5, "1.0": 2})
    {'yes': 'Yes', 'Yes': 'Yes', '1.0': '1'}
    """
    best: dict[str, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        best.setdefault(folded(text), as_whole(text))
    return {text: best[folded(text)] for text in counts}


def fold_sentences(counts: Mapping[str, int], chosen: Mapping[str, str], target: str) -> list[str]:
    """Say which labels were read as one class, a sentence for each class.

    >>> fold_sentences({"yes": 3, "YES": 1, "no": 2}, {"yes": "yes", "YES": "yes", "no": "no"}, "churn")
    ["In column 'churn', 'yes' (3 rows) and 'YES' (1 row) were read as one class, 'yes'."]
    """
    spellings: dict[str, list[str]] = {}
    for text in sorted(
        counts, key=lambda text: (chosen[text], text != chosen[text], -counts[text], text)
    ):
        spellings.setdefault(chosen[text], []).append(
            f"{told_apart(text)} ({counted(counts[text], 'row')})"
        )
    return [
        f"In column {shown(target)}, {listed(texts[:_SHOWN])} were read as one class, {shown(name)}."
        for name, texts in spellings.items()
        if len(texts) > 1
    ]


def markers_of(unlabeled: str | Sequence[str] | None) -> tuple[str, ...]:
    """The labels that stand for none, without white space around them; an empty one stands for nothing.

    >>> markers_of("NA "), markers_of(["NA", "", "unknown"]), markers_of(None)
    (('NA',), ('NA', 'unknown'), ())
    """
    given = [unlabeled] if isinstance(unlabeled, str) else list(unlabeled or ())
    return tuple(dict.fromkeys(text.strip() for text in given if text.strip()))


def is_marker(text: str, markers: Sequence[str]) -> bool:
    """Tell whether a label stands for none, in upper or lower case."""
    return folded(text) in {folded(marker) for marker in markers}


# ---------------------------------------------------------------- the rows to learn from

# Keeps the numbers apart from those of an audit, or of anyone who makes a table from the same seed.
_SAMPLE = 0x73616D706C65
_NEVER = np.uint64(2**64 - 1)


def sample_rows(
    source: Source,
    target: str,
    k: int,
    *,
    keep: Sequence[int] = (),
    seed: int = 0,
    room: int = 1 << 30,
    each: Callable[[pl.DataFrame], None] = lambda frame: None,
    seen: Callable[[int, float], None] = lambda rows, share: None,
    **reading: Any,
) -> Table:
    """The rows of a table to learn from, in their order; ``taken`` says which they are.

    Parameters
    ----------
    source : Source
        It is read once.
    target, reading : as in ``read_target``
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
    cells = GivenCells(target, **reading)
    # Raw random numbers, which stay the same over versions of NumPy.
    generator = np.random.PCG64(np.random.SeedSequence([seed, _SAMPLE]))
    kept, wanted, n_rows = _Kept(k, room, source.table.name), np.asarray(keep, np.int64), 0
    blank_numbers: list[NDArray[np.int64]] = []
    for batch in source.batches():
        frame = batch.table.frame
        numbers = np.arange(n_rows, n_rows + frame.height)
        labeled = cells.see(frame[target])
        ranks = np.asarray(generator.random_raw(frame.height), dtype=np.uint64)
        is_blank = blank_rows(frame)
        blank_numbers.append(numbers[is_blank])
        is_certain = labeled | np.isin(numbers, wanted)
        kept.add(
            _Rows(
                frame, numbers, np.where(labeled | is_blank, _NEVER, ranks), is_certain & ~is_blank
            )
        )
        each(frame)
        n_rows += frame.height
        seen(n_rows, batch.share)
    cells.refuse()
    rows = kept.pruned()
    sample = replace(source.table, frame=rows.frame.rechunk(), taken=Taken(rows.numbers, n_rows))
    left_out = np.concatenate(blank_numbers)
    if not len(left_out):
        return sample
    return replace(
        sample,
        taken=Taken(rows.numbers, n_rows - len(left_out)),
        blank=BlankRows(left_out, sample.frame.clear()),
        notes=(*sample.notes, blank_rows_note(len(left_out))),
    )


class _Rows(NamedTuple):
    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    ranks: NDArray[np.uint64]  # of rows that may be drawn; of others _NEVER
    certain: NDArray[np.bool_]  # taken in any case

    def only(self, mask: NDArray[np.bool_]) -> _Rows:
        return _Rows(
            self.frame.filter(mask), self.numbers[mask], self.ranks[mask], self.certain[mask]
        )


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
            size_text = f"{self.n_bytes >> 20:,} MiB"
            raise TableError(
                f"The rows of {self.name} to learn from take {size_text}; raise {Parameter('memory')}, or leave "
                "rows or columns out of the table."
            )
        return self.parts[0]


class GivenCells:
    """Tells which cells of a target hold a label, part by part; at the end, whether all are surely any."""

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
        self._told = classes, missing
        self._counts: Counter[str] = (
            Counter()
        )  # of all labels, as long as there are few enough to be classes

    def see(self, cells: pl.Series) -> NDArray[np.bool_]:
        """Where some cells hold a label; such as may mean none are counted, not taken."""
        labels, counts, none = _counted(cells, self._markers)
        doubtful = [
            text for text in counts if may_be_unlabeled(text) and not is_marker(text, self._told[0])
        ]
        if len(self._counts) <= MAX_CLASSES:
            self._counts.update(counts)
        else:
            self._counts.update({text: counts[text] for text in doubtful})
        return (
            labels.is_not_null() & ~labels.is_in([*none, *doubtful]).fill_null(False)
        ).to_numpy()

    def refuse(self) -> None:
        """Refuse cells of which only who wrote them can tell whether they are labels."""
        most = dict(sorted(self._counts.items(), key=lambda item: (-item[1], item[0])))
        refuse_doubtful(self._target, most, bool(self._markers), *self._told)
