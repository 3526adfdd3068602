"""A table of any size with a few labels in; the file with all its labels written, and what can be said of it, out.

It is read three times: for the rows to learn from, to score every row, and to write it with its labels. What is
known of every row meanwhile is on the disk, a few bytes each.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter
from chary.evaluation import STEPS, in_steps
from chary.jobs.acceptance import acceptable
from chary.jobs.audit import AuditFigures
from chary.jobs.doubted import Chosen, Doubted, Gathered
from chary.jobs.explain import Explainer, every_reason
from chary.jobs.label import Learnt, Progress, Shown, run
from chary.jobs.labeled import Counts, LabeledTable, columns_to_add
from chary.jobs.predict import block_rows, probability_names, refuse_taken
from chary.jobs.put_aside import KnownRows, no_scores, packed, rows_of, unpacked
from chary.jobs.sketch import NewRows, with_counts
from chary.jobs.spool import Spool
from chary.jobs.steps import Asked, LabeledRows
from chary.jobs.streamed import group_rows, resident_bytes
from chary.method import (
    ACCURACY,
    ClassPrior,
    Labels,
    RawScores,
    align_in_parts,
    in_blocks_of_rows,
    log_of,
    one_thread,
    probabilities,
)
from chary.tables import (
    Forms,
    Large,
    Part,
    Table,
    TableError,
    Taken,
    appending,
    in_blocks,
    numbers_named,
    sample_rows,
)

SAMPLE = 100_000  # rows without a label to learn with
# What a process needs besides the rows that it keeps, how much these grow on the way, and the least of all.
_BASE, _GROWTH, _LEAST = 450 << 20, 3, 600 << 20
_SPOOLED = 2**15  # rows read back at a time


@dataclass(frozen=True)
class Allowance:
    """What labelling in parts may use."""

    memory: int  # bytes
    threads: int = 1
    sample: int = SAMPLE


def label_in_parts(
    large: Large,
    asked: Asked,
    file: BinaryIO,
    folder: str | os.PathLike[str],
    means: Allowance,
    *,
    probabilities: bool = False,
    checksum: bool = False,
    progress: Progress = lambda step: None,
) -> LabeledTable:
    """Label a table that is never in memory as a whole, and write it.

    The model learns from every labelled row and so many of the others, drawn at random; the rest is as in
    ``label_table``. Counts, class shares, what an audit says, and the rows to check are of the whole table.

    Parameters
    ----------
    large : Large
        From ``open_large``; its table says how ``file`` is written.
    asked : Asked
    file : binary file
        Written when all is known; what is wrong before leaves it empty.
    folder : path
        On a disk with room for what is known of every row until then.
    means : Allowance
    probabilities : bool, default=False
        Whether to write the probability of each class, too.
    checksum : bool, default=False
        Whether a sheet will be written from the result.
    progress : callable, default=nothing

    Returns
    -------
    LabeledTable
        Its rows are those learned from and those to check; ``counts`` is of all.
    """
    if asked.features is not None:
        raise TableError(
            "A file of features is read as a whole, and this table in parts; leave ",
            Parameter("sample"),
            " out, pass more with ",
            Parameter("memory"),
            ", or put the numbers into the table as a column of lists.",
        )
    if means.memory < _LEAST:
        raise TableError(
            f"A table that is read in parts needs {_LEAST >> 20:,} MiB at least, and {means.memory >> 20:,} "
            "MiB are allowed; pass more with ",
            Parameter("memory"),
            ".",
        )
    sheets = [path for path in (asked.audit, asked.checked) if path is not None]
    table = sample_rows(
        large,
        asked.target,
        means.sample,
        unlabeled=asked.unlabeled,
        exact_labels=asked.exact_labels,
        keep=[number for path in sheets for number in numbers_named(path)],
        seed=asked.seed,
        room=_room(means.memory),
        checksum=checksum or bool(sheets),
        seen=lambda rows, share: progress(f"Reading: {rows:,} rows"),
    )
    with ExitStack() as opened:
        spools = _Spools(folder, opened)
        return run(table, asked, _InParts(large, file, spools, means, probabilities, progress), progress)


def _room(memory: int) -> int:
    return max(0, memory - _BASE) // _GROWTH


class _Spools(NamedTuple):
    """Room on the disk, given back at the end."""

    folder: str | os.PathLike[str]
    opened: ExitStack

    def new(self, width: int, dtype: Any = np.float64) -> Spool:
        spool = Spool(self.folder, width, dtype)
        self.opened.callback(spool.close)
        return spool


class _Scored(NamedTuple):
    """A block of rows, scored, and what was counted of it."""

    n: int
    raw: RawScores  # of the rows that nobody labelled
    forms: Forms
    new: NewRows


class _InParts:
    """Labels the rows of a file, block after block."""

    def __init__(
        self,
        large: Large,
        file: BinaryIO,
        spools: _Spools,
        means: Allowance,
        probabilities: bool,
        progress: Progress,
    ) -> None:
        self.large, self.file, self.spools, self.means = large, file, spools, means
        self.with_probabilities, self.progress = probabilities, progress
        self.notes: list[str] = []

    # ------------------------------------------------------------ every row is scored

    def score(self, learnt: Learnt) -> Counts:
        """Score every row, find the offsets of the classes on all of them, and keep what each row gets."""
        classifier, every = learnt.fitted.classifier, learnt.labels.every
        n_classes = len(every.classes)
        if self.with_probabilities:
            refuse_taken(self.large.table, probability_names(every.classes))
        self.known = KnownRows(learnt)
        self.results = self.spools.new(3 + n_classes * self.with_probabilities, np.uint16)
        prior = ClassPrior.of(learnt.asked.class_prior, every, learnt.asked.aim, learnt.table.n_rows)
        self.counts: Counts | None = None
        raws: Spool | None = None
        start = 0
        for block in self._scored(learnt):
            if not prior.imposes:
                self._keep(start, block.n, *classifier.finished(block.raw), learnt)
            else:
                raws = raws or self.spools.new(packed(block.raw).shape[1])
                raws.append(packed(block.raw))
            start += block.n
        if raws is not None:
            self._align(learnt, prior, raws)
            place = 0
            for start in range(0, learnt.table.n_rows, _SPOOLED):
                n = min(_SPOOLED, learnt.table.n_rows - start)
                n_rest = int(self.known.rest(start, n).sum())
                raw = unpacked(raws.read(place, n_rest), n_classes)
                self._keep(start, n, *classifier.finished(raw), learnt)
                place += n_rest
            raws.close()
        if self.counts is None:
            raise TableError(f"{self.large.table.name} holds no row.")
        return self.counts

    def _scored(self, learnt: Learnt) -> Iterator[_Scored]:
        """The blocks of the file with their scores, in order; at the end, whether it is written as learned."""
        forms, new = learnt.model[0].forms(), NewRows(learnt.model)
        n_read = 0
        for block in self._in_order(lambda part, start: self._block(learnt, part, start), learnt):
            forms.add(block.forms)
            new.merge(block.new)
            n_read += block.n
            self.progress(f"Labelling: {n_read:,} of {learnt.table.n_rows:,} rows")
            yield block
        try:
            forms.refuse()
        except TableError as error:
            raise TableError(f"{self.large.table.name}: ", *error.args) from None
        with_counts(learnt.model, new)

    def _block(self, learnt: Learnt, table: Table, start: int) -> _Scored:
        """Done in any thread."""
        preparation, classifier = learnt.model[0], learnt.fitted.classifier
        forms, new = preparation.forms(), NewRows(learnt.model)
        X = preparation.part(table.frame, forms)
        new.add(X, forms.missing)
        rest = self.known.rest(start, len(X))
        with one_thread("openmp"):
            raw = classifier.raw_scores(X if rest.all() else X[rest]) if rest.any() else no_scores(learnt)
        return _Scored(len(X), raw, forms, new)

    def _in_order(self, score: Callable[[Table, int], _Scored], learnt: Learnt) -> Iterator[_Scored]:
        """Blocks as many at a time as there are threads, and what comes of them in the order of the rows."""
        blocks, start = in_blocks(self.large.parts(), block_rows(learnt.model)), 0
        with one_thread("blas"), ThreadPoolExecutor(self.means.threads) as pool:
            waiting: deque[Future[_Scored]] = deque()
            try:
                while True:
                    while len(waiting) <= self.means.threads and (part := next(blocks, None)) is not None:
                        waiting.append(pool.submit(score, part.table, start))
                        start += part.table.frame.height
                    if not waiting:
                        return
                    self._hold()
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()

    def _hold(self) -> None:
        """Refuse to take more memory than is allowed."""
        if resident_bytes() > self.means.memory:
            raise TableError(
                f"{self.large.table.name} takes more than the {self.means.memory >> 20:,} MiB allowed; pass more ",
                "with ",
                Parameter("memory"),
                ", or fewer rows to learn from with ",
                Parameter("sample"),
                ".",
            )

    def _align(self, learnt: Learnt, prior: ClassPrior, raws: Spool) -> None:
        """Bring the classifier in line with class prior and aim on all rows."""
        classifier, n_classes = learnt.fitted.classifier, len(learnt.labels.every.classes)
        rest = np.flatnonzero(~learnt.labels.every.labeled)

        def of_sample() -> NDArray[Any]:
            score = lambda X: (log_of(probabilities(classifier.estimator_, X)),)  # noqa: E731
            return in_blocks_of_rows(score, learnt.X, rest)[0]

        def parts() -> Iterator[NDArray[Any]]:
            for block in raws.blocks(_SPOOLED):
                yield np.ascontiguousarray(log_of(block[:, :n_classes]).T)

        matched = align_in_parts(parts, prior.wanted(of_sample))
        classifier.class_prior, classifier.class_prior_ = learnt.asked.class_prior, prior.shares
        classifier.class_bias_ = matched.offset
        if prior.shares is not None and prior.aim == ACCURACY:
            off = "exactly" if not matched.n_off else f"but for {matched.n_off:,} of them"
            self.notes.append(f"The class shares are met on all rows, {off}.")

    def _keep(self, start: int, n: int, probs: NDArray[Any], confidence: NDArray[Any], learnt: Learnt) -> None:
        """What rows get, counted and put aside."""
        every = learnt.labels.every
        own = np.searchsorted(every.classes, learnt.fitted.classifier.classes_.astype(str))
        found = self.known.results(start, n, own[probs.argmax(axis=1)], confidence)
        more = Counts.of(*rows_of(found), len(every.classes))
        self.counts = more if self.counts is None else self.counts.plus(more)
        if self.with_probabilities:
            of_class = np.eye(len(every.classes))[found[:, 0]]
            of_class[self.known.rest(start, n)] = probs
            found = np.column_stack([found, in_steps(of_class)])
        self.results.append(found)

    # ------------------------------------------------------------ every row is written

    def show(self, learnt: Learnt, audit: AuditFigures | None, explained: Explainer, progress: Progress) -> Shown:
        """Write the table; what is handed back are the rows learned from, and those to check."""
        self.progress("Writing")
        every = learnt.labels.every
        if self.counts is None:
            raise ValueError("score comes first.")
        doubted = Doubted(learnt, self.counts, _room(self.means.memory) // 2)
        kept = Gathered(learnt.table.numbers(np.arange(len(every.codes))))
        blocks = in_blocks(self.large.parts(), block_rows(learnt.model))
        first = next(blocks)
        start, table = 0, replace(self.large.table, frame=first.table.frame.clear())
        # Several groups are on their way at a time, beside what was learned: they are smaller than usual.
        group = max(1, group_rows(first.table.frame) // 4)
        with appending(table, self.file, group) as appender:
            for part in _with_first(first, blocks):
                frame = part.table.frame
                found = self.results.read(start, frame.height)
                rows = rows_of(found)
                out = replace(table, frame=frame, lines=part.table.lines if table.format == "jsonl" else None)
                appender.append(out, self._added(learnt, audit, explained, out, start, found, rows))
                kept.see(start, rows)
                doubted.see(start, frame, rows)
                start += frame.height
                self.progress(f"Writing: {start:,} of {learnt.table.n_rows:,} rows")
        return self._shown(learnt, kept.rows(), doubted.chosen())

    def _added(
        self,
        learnt: Learnt,
        audit: AuditFigures | None,
        explained: Explainer,
        table: Table,
        start: int,
        found: NDArray[Any],
        rows: LabeledRows,
    ) -> dict[str, pl.Series]:
        every, n = learnt.labels.every, table.frame.height
        labeled = ~self.known.rest(start, n)
        accept = acceptable(audit, labeled, rows.confidence, rows.settled)
        why = None
        if learnt.asked.explain:
            X = learnt.model[0].part(table.frame, learnt.model[0].forms())
            why = every_reason(explained, X, table, rows.codes, labeled, lambda step: None)
        dtype = table.frame.schema[learnt.asked.target]
        added = columns_to_add(every, dtype, rows.codes, rows.confidence, rows.source, accept, why)
        if self.with_probabilities:
            names = probability_names(every.classes)
            added |= {name: pl.Series(found[:, 3 + code] / STEPS) for code, name in enumerate(names)}
        return added

    def _shown(self, learnt: Learnt, rows: LabeledRows, chosen: Chosen) -> Shown:
        """The rows learned from and those to check, in their order."""
        every, sample = learnt.labels.every, learnt.table
        own = sample.numbers(np.arange(len(every.codes)))
        new = ~np.isin(chosen.numbers, own)
        numbers = np.concatenate([own, chosen.numbers[new]])
        order = np.argsort(numbers, kind="stable")
        codes = np.concatenate([every.codes, np.full(new.sum(), -1)])[order]
        taken = Taken(numbers[order], sample.n_rows, sample.taken.checksum if sample.taken else "")
        frame = pl.concat([sample.frame, chosen.frame.filter(new)])[order]
        return Shown(
            table=replace(sample, frame=frame, taken=taken),
            X=np.concatenate([learnt.X, chosen.X[new]])[order],
            labels=Labels(every.classes, codes, codes >= 0),
            rows=LabeledRows.joined([rows, chosen.rows.part(new)]).part(order),
            next_rows=taken.places(chosen.numbers),
            notes=[self._sentence(learnt), *self.notes],
        )

    def _sentence(self, learnt: Learnt) -> str:
        labeled = learnt.labels.every.labeled
        return (
            f"The table was read in parts: the model learned from its {int(labeled.sum()):,} labelled rows and "
            f"{int((~labeled).sum()):,} of the {learnt.n_unlabeled:,} others, drawn at random."
        )


def _with_first(first: Part, rest: Iterator[Part]) -> Iterator[Part]:
    yield first
    yield from rest
