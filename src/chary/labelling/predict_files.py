"""Label any number of files of any size, each written whole or not at all; a run that was interrupted is resumed.

A file is read, scored and written block by block. The bytes of its output depend on nothing but file, model and
settings: one thread, several and a Dask cluster all write the same.
Threads are enough on one machine: most of the time goes into NumPy, Polars and BLAS, which do not hold Python's
lock (two threads scoring with the mixture waited for each other in less than a tenth of the time).
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl
from joblib import cpu_count

from chary._files import atomic_writes, folders_for, sweep
from chary._words import Parameter, shown
from chary.labelling.drift import compare_with_reference
from chary.labelling.score import Predictor, RowCounts, about, refuse_memory, score_batches
from chary.options import Options
from chary.tables import Table, TableError, open_source
from chary.tables.formats import GROUP_ROWS, appending
from chary.tables.formats.base import Batch
from chary.tables.source import file_kind, find_files
from chary.tables.table import blank_rows_note, total_bytes

_MOST_DEATHS = 3  # of Dask workers on one file, which is then given up
# What one file at a time needs: Python, NumPy, Polars, a model, and some blocks of rows.
_LEAST_MEMORY = 400 << 20
# Bytes of a row group that is written, where rows are long.
_GROUP_BYTES = 64 << 20
# Hidden from Spark, Hive and a folder given to chary, which all pass over names that begin so.
_RECORDS = "_chary"
_RECORD_VERSION = 2


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
    options: Options = field(default_factory=Options)  # how it is read and written
    name: str | None = None  # for people, where that of the file says nothing
    recorded: bool = False  # whether a record is kept beside the output
    resources: Resources = field(default_factory=Resources)


@dataclass(frozen=True)
class LabelledFile:
    """What came of a file."""

    output: str
    rows: int
    labels: dict[str, int]
    notes: list[str] = field(default_factory=list)
    new_rows: dict[str, Any] | None = None  # ``RowComparison.figures``


Seen = Callable[[FileTask, int, float], None]  # told of a file how many rows are done, and which share of it
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
        The address of a running Dask scheduler, whose workers see the files under the same paths. None: threads
        of this process.
    """
    executor = _threads(predictor, resources.jobs, seen)
    if scheduler is not None:
        executor = _dask(predictor, scheduler)
    outcomes: dict[str, LabelledFile | Exception] = {}
    with _folders(tasks), executor as submit:
        futures = {submit(replace(task, resources=resources)): task for task in tasks}
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
                outcomes[task.output] = TableError(f"{task.source}: its worker died {_MOST_DEATHS} times.")
            seen(task, n_rows, 1.0)
    return [outcomes[task.output] for task in tasks]


# ---------------------------------------------------------------- one file


def label_file(
    predictor: Predictor, task: FileTask, seen: Callable[[int, float], None] = lambda rows, share: None
) -> LabelledFile:
    """Write a file with the labels of its rows added; ``seen`` is told how many rows are done, and the share.

    The folders of the output and of its record must be there.
    """
    output, source = Path(task.output), Path(task.source)
    before = finished(predictor, task)
    if before is not None:  # by a worker that was lost before it could say so
        return before
    opened = open_source(source, **task.options.reading, memory=task.resources.memory, name=task.name)
    table = opened.table.written_as(task.options.format)
    _require_columns(predictor, table)
    counts = RowCounts(predictor.model)
    paths = [output, *([_record_path(output)] if task.recorded else [])]
    if task.recorded and not os.path.lexists(output):  # of a run that was ended between the two
        _record_path(output).unlink(missing_ok=True)
    with atomic_writes(paths, overwrite=task.options.force) as (file, *records):
        _write(predictor, task, counts, table, opened.batches(), file, seen)
        compared = compare_with_reference(predictor.model, counts.events)
        opened.refuse_changed()
        notes = list(opened.table.notes)
        if counts.n_blank:
            notes.append(blank_rows_note(counts.n_blank))
        labelled = LabelledFile(task.output, counts.n_rows, counts.labels, notes, compared.figures())
        for record in records:
            file.flush()
            record.write(_record(predictor, task, Path(file.name), labelled))
    return labelled


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
    task: FileTask,
    counts: RowCounts,
    table: Table,
    batches: Iterator[Batch],
    file: BinaryIO,
    seen: Callable[[int, float], None],
) -> None:
    """Score blocks as they are read, write them in order, and refuse at the end what is written otherwise."""
    jobs, threads, memory = task.resources
    scored = score_batches(predictor.model, batches, counts, threads)
    first = next(scored)
    group = group_rows(first[0].table.frame)
    with appending(table, file, group) as appender:
        for batch, found in chain([first], scored):
            block = batch.table
            in_group = group / max(1, block.frame.height) * total_bytes(block.frame)  # of the row group to write
            refuse_memory(table.name, memory * jobs, in_group * jobs)
            lines = block.lines if table.format == "jsonl" else None  # written as they stood
            out = replace(table, frame=block.frame, lines=lines, blank=block.blank)
            appender.append(out, predictor.added(found))
            seen(counts.n_rows, batch.share)
        counts.refuse(table.name)


def group_rows(first: pl.DataFrame) -> int:
    """Rows of a row group that is written: fewer where rows are long, as the first block tells."""
    if not first.height:  # blank rows alone
        return GROUP_ROWS
    return int(max(1, min(GROUP_ROWS, _GROUP_BYTES * first.height / max(1, total_bytes(first)))))


# ---------------------------------------------------------------- records: what is finished


def finished(predictor: Predictor, task: FileTask) -> LabelledFile | None:
    """What came of a file whose output is there, whole, and of this input and model; None: it is still to be made.

    A record beside the output says what it was made of. It takes its name before the output does, so that there is
    no output without one, and holds its digest. An output that is anything else is refused: it is somebody's.
    """
    output = Path(task.output)
    if not task.recorded or task.options.force or not os.path.lexists(output):
        return None
    more = "; pass ", Parameter("force"), " to overwrite it, or choose another folder."
    try:
        record = json.loads(_record_path(output).read_text())
        found = LabelledFile(task.output, *(record[name] for name in ("rows", "labels", "notes", "new_rows")))
        made_of = {name: record[name] for name in ("version", "model_sha256", "settings", "input_sha256")}
        own_digest = record["output_sha256"]
    except (OSError, ValueError, TypeError, KeyError):
        raise TableError(f"{output} exists already and was not written by this command", *more) from None
    now = _made_of(predictor, task)
    for name, why in {
        "version": f"{output} was written by another version of chary",
        "model_sha256": f"{output} was made with another model",
        "settings": f"{output} was made with other settings",
        "input_sha256": f"{shown(task.source, 200)} has changed since {output} was written",
    }.items():
        if made_of[name] != now[name]:
            raise TableError(why, *more)
    if _digest(output) != own_digest:
        raise TableError(f"{output} was changed after it was written", *more)
    return found


def _made_of(predictor: Predictor, task: FileTask) -> dict[str, Any]:
    """What the bytes of an output depend on."""
    reading = {"format": task.options.format, **task.options.reading}
    settings = {key: value for key, value in reading.items() if value is not None} | predictor.settings
    return {
        "version": _RECORD_VERSION,
        "model_sha256": predictor.digest,
        "settings": settings,
        "input_sha256": _digest(Path(task.source)),
    }


def _record(predictor: Predictor, task: FileTask, written: Path, labelled: LabelledFile) -> bytes:
    """What is to be known of an output that is written and has not its name yet."""
    found = {name: value for name, value in vars(labelled).items() if name != "output"}
    record = {**_made_of(predictor, task), "output_sha256": _digest(written), **found}
    return (json.dumps(record, indent=1) + "\n").encode()


def _record_path(output: Path) -> Path:
    return output.parent / _RECORDS / f"{output.name}.json"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# ---------------------------------------------------------------- which files become which outputs


class Plan(NamedTuple):
    """What is to be done."""

    tasks: list[FileTask]
    done: list[LabelledFile]  # finished by a run before, and verified
    failed: list[tuple[str, Exception]]  # files that cannot be labelled, and why
    notes: list[str]


def plan_files(predictor: Predictor, given: Sequence[str], options: Options) -> Plan:
    """One output for each file, called FILE.predicted: next to it, or as deep as it was in the folder of ``out``.

    How deep is counted from the folder that all that is given has in common.

    Of a folder, a pattern and several files, a record is kept beside each output. One that is there, whole, and
    made of its input with this model and these options, is done.
    """
    files, notes = find_files(list(given))
    paths = [file.path for file in files if file.path]
    if len(paths) < len(files):
        raise TableError("New rows are read from files, not from standard input; save them in one first.")
    inputs = {os.path.realpath(path) for path in paths}
    root = Path(os.path.commonpath([_start(one).resolve() for one in given]))
    recorded = len(given) > 1 or os.path.isdir(given[0]) or _is_pattern(given[0])
    plan, outputs = Plan([], [], [], notes), dict[str, Path]()
    for path in paths:
        try:
            output = _output(path, root, options)
            _refuse_clash(path, output, outputs, inputs)
            task = FileTask(str(path), str(output), options, recorded=recorded)
            before = finished(predictor, task)
        except TableError as error:
            plan.failed.append((str(path), error))
            continue
        if before is None:
            plan.tasks.append(task)
        else:
            plan.done.append(before)
    return plan


def _output(path: Path, root: Path, options: Options) -> Path:
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
        raise TableError(f"The output of {shown(path, 200)} would take the place of an input; rename one.")
    outputs[name] = path


def _start(given: str) -> Path:
    """The folder given, that of a file, or the folders of a pattern before the first that is none of them.

    >>> str(_start("in/2024-*/*.csv")), str(_start("*.csv"))
    ('in', '.')
    """
    start = Path(given) if os.path.isdir(given) else Path(given).parent
    while _is_pattern(given) and glob.has_magic(str(start)):
        start = start.parent
    return start


def _is_pattern(given: str) -> bool:
    return glob.has_magic(given) and not os.path.lexists(given)


# ---------------------------------------------------------------- who labels them


class _StoppedError(Exception):
    """Nobody waits for the file any more."""


@contextmanager
def _folders(tasks: Sequence[FileTask]) -> Iterator[None]:
    """The folders of all outputs; those that stay empty go again, and so does what a lost worker left."""
    outputs = [Path(task.output).absolute() for task in tasks]
    records = [_record_path(path) for path, task in zip(outputs, tasks, strict=True) if task.recorded]
    paths = [*outputs, *records]
    new = sorted({folder for path in paths for folder in path.parents if not folder.exists()}, reverse=True)
    with folders_for(paths):
        yield
    for folder in {path.parent for path in paths}:
        sweep(folder)
    for folder in new:  # inner ones first
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _threads(predictor: Predictor, jobs: int, seen: Seen) -> Iterator[Submit]:
    """Threads that label a file each; after an interruption each takes back what it has not finished."""
    stop = threading.Event()

    def label(task: FileTask) -> LabelledFile:
        def heed(rows: int, share: float) -> None:
            if stop.is_set():
                raise _StoppedError
            seen(task, rows, share)

        return label_file(predictor, task, heed)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield lambda task: pool.submit(label, task)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _dask(predictor: Predictor, address: str) -> Iterator[Submit]:
    """Have the workers of a Dask cluster label a file each."""
    try:
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError as error:
        raise TableError("A Dask cluster needs the package dask: pip install 'chary[dask]'.") from error
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _MOST_DEATHS - 1}),
        distributed.Client(address) as client,
        client.get_executor(pure=False) as pool,
    ):
        # Made on a worker, so that others can make it again if that is lost.
        model = client.submit(Predictor, *predictor.__reduce__()[1], pure=False)
        try:
            yield lambda task: pool.submit(label_file, model, task)
        except BaseException:
            pool.shutdown(wait=False)
            raise
