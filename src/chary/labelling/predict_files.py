"""Label any number of files of any size, each written whole or not at all; outputs that are there stay.

A file is read, scored and written block by block. The bytes of its output depend on nothing but
file, model and settings: one thread, several and a Dask cluster all write the same. Threads are
enough on one machine: most of the time goes into NumPy, Polars and BLAS, which do not hold Python's
lock (two threads scoring with the mixture waited for each other in less than a tenth of the time).
"""

from __future__ import annotations

import glob
import importlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl
from joblib import cpu_count

from chary._files import atomic_write, make_folders
from chary._words import Parameter, shown
from chary.labelling.drift import compare_with_reference
from chary.labelling.score import Predictor, RowCounts, about, refuse_memory, score_batches
from chary.options import PredictOptions
from chary.tables import Table, TableError, open_source
from chary.tables.formats import GROUP_ROWS, appending
from chary.tables.formats.base import Batch
from chary.tables.source import file_kind, find_files
from chary.tables.table import blank_rows_note, total_bytes

# What one file at a time needs: Python, NumPy, Polars, a model, and some blocks of rows.
_LEAST_MEMORY = 400 << 20
# Bytes of a row group that is written, where rows are long.
_GROUP_BYTES = 64 << 20


class Resources(NamedTuple):
    """What a run may use."""

    jobs: int = 1  # files at a time
    threads: int = 1  # of each file
    memory: int = 2 << 30  # bytes of each file

    @classmethod
    def of(cls, n_files: int, memory: int) -> Resources:
        """Take as many jobs as there are cores, files, and room for; cores left over are their threads."""
        if memory < _LEAST_MEMORY:
            raise TableError(
                f"Labelling a file needs at least {_LEAST_MEMORY >> 20:,} MiB, but only {memory >> 20:,} MiB are "
                f"allowed; allow more with {Parameter('memory')}."
            )
        cores = cpu_count()
        jobs = max(1, min(cores, n_files, memory // _LEAST_MEMORY))
        return cls(jobs, max(1, cores // jobs), memory // jobs)


@dataclass(frozen=True)
class FileTask:
    """A file to label, where to, and how."""

    source: str
    output: str
    options: PredictOptions = field(default_factory=PredictOptions)  # how it is read and written
    name: str | None = None  # for people, where that of the file says nothing


@dataclass(frozen=True)
class LabelledFile:
    """What came of a file."""

    output: str
    rows: int
    labels: dict[str, int]
    notes: list[str] = field(default_factory=list)
    new_rows: dict[str, Any] | None = None  # ``RowComparison.figures``


Seen = Callable[
    [FileTask, int, float], None
]  # told of a file how many rows are done, and which share of it
Submit = Callable[[FileTask], "Future[LabelledFile]"]


def label_files(
    predictor: Predictor,
    tasks: Sequence[FileTask],
    resources: Resources,
    seen: Seen = lambda task, rows, share: None,
    *,
    scheduler: str | None = None,
) -> list[LabelledFile | Exception]:
    """Label files; what came of each, or why it could not be labelled, in their order.

    Parameters
    ----------
    predictor : Predictor
    tasks : sequence of FileTask
    resources : Resources
    seen : callable, default=nothing
        Told of progress, from any thread.
    scheduler : str, default=None
        The address of a running Dask scheduler, whose workers see the files under the same paths.
        None: threads of this process.
    """
    executor = _threads(predictor, resources, seen)
    if scheduler is not None:
        executor = _dask(predictor, resources, scheduler)
    outputs = [Path(task.output) for task in tasks]
    outcomes: dict[str, LabelledFile | Exception] = {}
    make_folders(outputs)
    with executor as submit:
        futures = {submit(task): task for task in tasks}
        for future in as_completed(futures):
            task, n_rows = futures[future], 0
            try:
                outcomes[task.output] = labelled = future.result()
                n_rows = labelled.rows
            except (TableError, OSError) as error:
                outcomes[task.output] = error
            except Exception as error:
                if type(error).__name__ != "KilledWorker":
                    raise
                outcomes[task.output] = TableError(
                    f"{task.source}: the workers that labelled it died."
                )
            seen(task, n_rows, 1.0)
    return [outcomes[task.output] for task in tasks]


# ---------------------------------------------------------------- one file


def label_file(
    predictor: Predictor,
    task: FileTask,
    resources: Resources,
    seen: Callable[[int, float], None] = lambda rows, share: None,
) -> LabelledFile:
    """Write a file with the labels of its rows added; ``seen`` is told how many rows are done, and the share.

    The folder of the output must be there.
    """
    opened = open_source(
        Path(task.source), **task.options.reading, memory=resources.memory, name=task.name
    )
    table = opened.table.written_as(task.options.format)
    _require_columns(predictor, table)
    counts = RowCounts(predictor.model)
    with atomic_write(task.output, overwrite=task.options.force) as file:
        _write(predictor, resources, counts, table, opened.batches(), file, seen)
        opened.refuse_changed()
    notes = list(opened.table.notes)
    if counts.n_blank:
        notes.append(blank_rows_note(counts.n_blank))
    compared = compare_with_reference(predictor.model, counts.events)
    return LabelledFile(task.output, counts.n_rows, counts.labels, notes, compared.figures())


def _require_columns(predictor: Predictor, table: Table) -> None:
    """Refuse a table that lacks a column to read, or holds one that is to be added."""
    names = table.frame.columns
    with about(table.name):
        predictor.model[0].require_columns(names)
        for name in predictor.schema:
            if name in names:
                raise TableError(
                    f"There is a column {shown(name)} already, written by chary; remove or rename it."
                )


def _write(
    predictor: Predictor,
    resources: Resources,
    counts: RowCounts,
    table: Table,
    batches: Iterator[Batch],
    file: BinaryIO,
    seen: Callable[[int, float], None],
) -> None:
    """Score blocks as they are read, write them in order, and refuse at the end what is written otherwise."""
    jobs, threads, memory = resources
    scored = score_batches(predictor.model, batches, counts, threads)
    first = next(scored)
    group = group_rows(first[0].table.frame)
    with appending(table, file, group) as appender:
        for batch, found in chain([first], scored):
            block = batch.table
            in_group = (
                group / max(1, block.frame.height) * total_bytes(block.frame)
            )  # of the row group to write
            refuse_memory(table.name, memory * jobs, in_group * jobs)
            out = replace(table, frame=block.frame, blank=block.blank)
            appender.append(out, predictor.added(found))
            seen(counts.n_rows, batch.share)
        counts.refuse(table.name)


def group_rows(first: pl.DataFrame) -> int:
    """Rows of a row group that is written: fewer where rows are long, as the first block tells."""
    if not first.height:  # blank rows alone
        return GROUP_ROWS
    return int(max(1, min(GROUP_ROWS, _GROUP_BYTES * first.height / max(1, total_bytes(first)))))


# ---------------------------------------------------------------- which files become which outputs


class Plan(NamedTuple):
    """What is to be done."""

    tasks: list[FileTask]
    failed: list[tuple[str, Exception]]  # files that cannot be labelled, and why
    notes: list[str]


def plan_files(given: Sequence[str], options: PredictOptions) -> Plan:
    """One output for each file, called FILE.predicted: next to it, or as deep as it was in the folder of ``out``.

    How deep is counted from the folder that all that is given has in common. A file whose output is
    there already is not labelled again, unless ``force`` is among the options.
    """
    files, notes = find_files(list(given))
    paths = [file.path for file in files if file.path]
    if len(paths) < len(files):
        raise TableError(
            "New rows are read from files, not from standard input; save them in one first."
        )
    inputs = {os.path.realpath(path) for path in paths}
    root = Path(os.path.commonpath([_start(one).resolve() for one in given]))
    plan = Plan([], [], notes)
    outputs: dict[str, Path] = {}
    for path in paths:
        try:
            output = _output(path, root, options)
            _refuse_clash(path, output, outputs, inputs)
            _refuse_existing(output, options)
        except TableError as error:
            plan.failed.append((str(path), error))
        else:
            plan.tasks.append(FileTask(str(path), str(output), options))
    return plan


def _output(path: Path, root: Path, options: PredictOptions) -> Path:
    table = file_kind(path).written_as(options.format)
    folder = path.parent
    if options.out is not None:
        folder = Path(options.out) / folder.resolve().relative_to(root)
    return folder / f"{table.stem}.predicted{table.suffix}"


def _refuse_clash(path: Path, output: Path, outputs: dict[str, Path], inputs: set[str]) -> None:
    """No output may take the place of another, or of an input."""
    name = os.path.realpath(output)
    if name in outputs:
        raise TableError(
            f"{shown(outputs[name], 200)} and {shown(path, 200)} would both be written to {output}; rename one."
        )
    if name in inputs:
        raise TableError(
            f"The output of {shown(path, 200)} would take the place of an input; rename one."
        )
    outputs[name] = path


def _refuse_existing(output: Path, options: PredictOptions) -> None:
    """Refuse an output that is there, whoever wrote it."""
    if os.path.lexists(output) and not options.force:
        ways = " to overwrite it, or ", Parameter("out"), " for another folder."
        raise TableError(f"{output} exists already; pass ", Parameter("force"), *ways)


def _start(given: str) -> Path:
    """The folder given, that of a file, or the folders of a pattern before the first that is none of them.

    >>> str(_start("in/2024-*/*.csv")), str(_start("*.csv"))
    ('in', '.')
    """
    start = Path(given) if os.path.isdir(given) else Path(given).parent
    is_pattern = glob.has_magic(given) and not os.path.lexists(given)
    while is_pattern and glob.has_magic(str(start)):
        start = start.parent
    return start


# ---------------------------------------------------------------- who labels them


class _StoppedError(Exception):
    """Nobody waits for the file any more."""


@contextmanager
def _threads(predictor: Predictor, resources: Resources, seen: Seen) -> Iterator[Submit]:
    """Threads that label a file each; after an interruption each takes back what it has not finished."""
    stop = threading.Event()

    def label(task: FileTask) -> LabelledFile:
        def heed(rows: int, share: float) -> None:
            if stop.is_set():
                raise _StoppedError
            seen(task, rows, share)

        return label_file(predictor, task, resources, heed)

    with ThreadPoolExecutor(resources.jobs) as pool:
        try:
            yield lambda task: pool.submit(label, task)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _dask(predictor: Predictor, resources: Resources, address: str) -> Iterator[Submit]:
    """Have the workers of a Dask cluster label a file each."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise TableError(
            "A Dask cluster needs the package dask: pip install 'chary[dask]'."
        ) from error
    with distributed.Client(address) as client, client.get_executor(pure=False) as pool:
        # Made on a worker, so that others can make it again if that is lost.
        model = client.submit(Predictor, *predictor.__reduce__()[1], pure=False)

        def submit(task: FileTask) -> Future[LabelledFile]:
            # A worker may be lost when it has written the file: another then writes the same over
            # it.
            again = replace(task, options=replace(task.options, force=True))
            return pool.submit(label_file, model, again, resources)

        try:
            yield submit
        except BaseException:
            pool.shutdown(wait=False)
            raise
