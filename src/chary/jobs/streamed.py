"""One file of any size and a predictor in; the file with its labels out, whole or absent, in bounded memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl

from chary._files import atomic_writes, folders_for
from chary._words import Parameter
from chary.jobs.predict import block_rows, refuse_taken
from chary.jobs.predictor import Predictor
from chary.jobs.records import Record, digest_of, finished, record_path
from chary.jobs.sketch import NewRows, RowComparison
from chary.method import one_thread
from chary.tables import (
    GROUP_ROWS,
    MOST_BYTES,
    Forms,
    Part,
    Table,
    TableError,
    appending,
    in_blocks,
    stream_table,
    total_bytes,
    with_features,
)

GIB = 1 << 30
# What a process needs: Python, NumPy, Polars, a model, and some blocks of rows.
LEAST_MEMORY = 400 << 20
# Bytes of a row group that is written, where rows are long.
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True)
class FileTask:
    """A file to label, where to, and how."""

    source: str
    output: str
    name: str | None = None  # for people, where that of the file says nothing
    overwrite: bool = False
    recorded: bool = False  # whether a record is kept beside the output
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    sheet: str | None = None
    features: str | None = None
    strict: bool = False  # whether rows unlike those learned from are refused
    memory: int = 2 * GIB
    threads: int = 1
    together: int = 1  # files that this process labels at a time; ``memory`` is for each

    @property
    def settings(self) -> dict[str, Any]:
        """What besides model and input an output depends on."""
        how = {"format": self.format, "delimiter": self.delimiter, "encoding": self.encoding, "sheet": self.sheet}
        return {key: value for key, value in how.items() if value is not None}


@dataclass(frozen=True)
class Labelled:
    """What came of a file."""

    output: str
    rows: int
    labels: dict[str, int]
    notes: tuple[str, ...] = ()
    new_rows: dict[str, Any] | None = None  # ``RowComparison.figures``

    @classmethod
    def before(cls, output: str, record: Record) -> Labelled:
        """The outcome of a file that was finished in another run."""
        return cls(output, record.rows, record.labels, tuple(record.notes), record.new_rows)


Seen = Callable[[int, float], None]


def label_file(predictor: Predictor, task: FileTask, seen: Seen = lambda rows, share: None) -> Labelled:
    """Write a file with the labels of its rows added; ``seen`` is told how many more rows are done, and the share.

    Rows are read, scored by ``threads`` threads and written block by block. Blocks are cut by their rows alone,
    and BLAS computes with one thread, so that the bytes depend on nothing but file, model and settings.
    """
    settings = {**task.settings, **predictor.settings}
    if task.recorded and not task.overwrite:
        record = finished(Path(task.output), Path(task.source), predictor.digest, settings)
        if record is not None:  # by a worker that was lost before it could say so
            return Labelled.before(task.output, record)
    output = Path(task.output)
    before = _identity(task.source)
    stream = stream_table(
        task.source,
        delimiter=task.delimiter,
        encoding=task.encoding,
        sheet=task.sheet,
        columns=_needed(predictor),
        memory=task.memory,
        name=task.name,
    )
    table = stream.table.written_as(task.format)
    kept = _kept(predictor, table)
    work = _Work(predictor, task)
    paths = [output, *([record_path(output)] if task.recorded else [])]
    if task.recorded and not os.path.lexists(output):  # of a run that was ended between the two
        record_path(output).unlink(missing_ok=True)
    with (
        folders_for(paths),
        atomic_writes(paths, overwrite=task.overwrite) as (file, *records),
        one_thread("blas"),
    ):
        _write(work, replace(table, frame=kept), stream.parts, file, seen)
        compared = work.new.compare()
        if task.strict:
            _refuse_unlike(compared, table.name)
        if _identity(task.source) != before:
            raise TableError(f"{table.name} changed while it was read; label it again when it is at rest.")
        labelled = Labelled(task.output, work.rows, work.labels(), stream.table.notes, compared.figures())
        for beside in records:
            beside.write(_record(work.predictor, labelled, task, settings, file).text())
    return labelled


def _refuse_unlike(compared: RowComparison, name: str) -> None:
    """Refuse rows that are not known to look like those the model learned from."""
    if not compared.alike:
        raise TableError(
            f"{name}: {compared.finding}, so nothing was written; leave ",
            Parameter("strict"),
            " out to label them all the same.",
        )


def _needed(predictor: Predictor) -> list[str] | None:
    """Columns to read of a file that is read by columns; all, if all are kept."""
    if not predictor.columns:
        return None
    used = [column.name for column in predictor.model[0].columns_ if column.used]
    return [*used, *predictor.columns]


def _kept(predictor: Predictor, table: Table) -> pl.DataFrame:
    """The columns that are written back, without a row; refused is what could not be written."""
    try:
        predictor.require_columns([*table.frame.columns, *_beside(predictor)])
    except TableError as error:
        raise TableError(f"{table.name}: ", *error.args) from None
    frame = table.frame.select(predictor.columns) if predictor.columns else table.frame
    refuse_taken(replace(table, frame=frame), predictor.schema)
    return frame


def _beside(predictor: Predictor) -> list[str]:
    """Columns of the model that come from a file beside the table; who reads that says what is wrong with it."""
    return [column.name for column in predictor.model[0].columns_ if column.name == "(features)"]


def _identity(source: str) -> tuple[int, int]:
    status = os.stat(source)
    return status.st_size, status.st_mtime_ns


# ---------------------------------------------------------------- block after block


class _Scored(NamedTuple):
    """A block with its labels, and what was counted of it."""

    table: Table
    added: dict[str, pl.Series]
    forms: Forms
    new: NewRows


class _Work:
    """The rows of one file on their way, and what is known of all of them at its end."""

    def __init__(self, predictor: Predictor, task: FileTask) -> None:
        self.predictor, self.task = predictor, task
        self.forms = predictor.model[0].forms()
        self.new = NewRows(predictor.model)
        self.rows = 0

    def labels(self) -> dict[str, int]:
        """How many rows have each label, the most frequent first."""
        found = {name: n for name, n in self.new.labels.items() if n}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def score(self, table: Table) -> _Scored:
        """Label a block; done in any thread, so that what it counts is put together later."""
        forms, new = self.predictor.model[0].forms(), NewRows(self.predictor.model)
        with one_thread("openmp"):
            added = self.predictor.added(table.frame, forms, new)
        return _Scored(table, added, forms, new)

    def take(self, block: _Scored) -> None:
        """Count a block that was labelled, in the order of the file."""
        self.forms.add(block.forms)
        self.new.merge(block.new)
        self.rows += block.table.frame.height


def _write(work: _Work, table: Table, parts: Iterator[Part], file: BinaryIO, seen: Seen) -> None:
    """Score blocks as they are read, write them in order, and refuse at the end what is written otherwise."""
    cut = in_blocks(_with_features(work, parts), block_rows(work.predictor.model))
    first = next(cut)
    group = group_rows(first.table.frame)
    with appending(table, file, group) as appender:
        for block, added, share in _in_order(work, first, cut):
            _hold(work, block, group)
            whole = block.frame.columns == table.frame.columns
            frame = block.frame if whole else block.frame.select(table.frame.columns)
            lines = block.lines._replace(frame=frame) if block.lines and frame.width == block.frame.width else None
            out = replace(table, frame=frame, lines=lines if table.format == "jsonl" else None)
            appender.append(out, added)
            seen(block.frame.height, share)
        try:
            work.forms.refuse()
        except TableError as error:
            raise TableError(f"{table.name}: ", *error.args) from None


def _in_order(
    work: _Work, first: Part, rest: Iterator[Part]
) -> Iterator[tuple[Table, dict[str, pl.Series], float]]:
    """Blocks with their labels, in order; as many at a time as there are threads."""
    with ThreadPoolExecutor(work.task.threads) as pool:
        waiting: deque[tuple[Future[Any], float]] = deque()
        try:
            waiting.append((pool.submit(work.score, first.table), first.share))
            while waiting:
                while len(waiting) <= work.task.threads and (part := next(rest, None)) is not None:
                    waiting.append((pool.submit(work.score, part.table), part.share))
                done, share = waiting.popleft()
                try:
                    scored: _Scored = done.result()
                except TableError as error:
                    raise TableError(f"{first.table.name}: ", *error.args) from None
                work.take(scored)
                yield scored.table, scored.added, share
        finally:
            for future, _ in waiting:
                future.cancel()


def _with_features(work: _Work, parts: Iterator[Part]) -> Iterator[Part]:
    """Parts with the numbers of a file beside the table, if there is one: then it is read as a whole."""
    columns = [column.name for column in work.predictor.model[0].columns_]
    if work.task.features is None and "(features)" not in columns:
        yield from parts
        return
    every = list(parts)
    table = replace(every[0].table, frame=pl.concat([part.table.frame for part in every]))
    yield Part(
        replace(table, frame=with_features(table.frame, work.task.features, known=columns), lines=None), 1.0
    )


# ---------------------------------------------------------------- memory


def group_rows(first: pl.DataFrame) -> int:
    """Rows of a row group that is written: fewer where rows are long, as the first block tells."""
    return int(max(1, min(GROUP_ROWS, _GROUP_BYTES * first.height / max(1, total_bytes(first)))))


def _hold(work: _Work, block: Table, group: int) -> None:
    """Refuse to take more memory than is allowed."""
    share = group / max(1, block.frame.height)  # of a row group that is written, in blocks
    most = share * MOST_BYTES
    if most > work.task.memory:  # it may be too much: looked at more closely
        most = share * total_bytes(block.frame)
    if most > work.task.memory or resident_bytes() > work.task.memory * work.task.together:
        raise TableError(
            f"{block.name} takes more than the {work.task.memory >> 20:,} MiB allowed, near row {work.rows:,}; "
            "pass more with ",
            Parameter("memory"),
            ", or write it in smaller row groups.",
        )


def resident_bytes() -> int:
    """Memory of this process that is no file's: 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _record(
    predictor: Predictor, labelled: Labelled, task: FileTask, settings: dict[str, Any], file: BinaryIO
) -> Record:
    """What is to be known of an output that is written and has not its name yet."""
    file.flush()
    size, time = _identity(task.source)
    written = Path(file.name)
    return Record(
        input_bytes=size,
        input_time=time,
        input_sha256=digest_of(Path(task.source)),
        model_sha256=predictor.digest,
        settings=settings,
        output_bytes=written.stat().st_size,
        output_sha256=digest_of(written),
        rows=labelled.rows,
        labels=labelled.labels,
        notes=list(labelled.notes),
        new_rows=labelled.new_rows,
    )
