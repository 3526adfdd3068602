"""Label any number of files of any size, each written whole or not at all.

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
from typing import BinaryIO, NamedTuple

import polars as pl
from joblib import cpu_count

from chary._files import atomic_write, make_folders
from chary._words import Parameter, counted, shown
from chary.labelling.drift import NewRowsSummary, compare_with_reference
from chary.labelling.score import Predictor, RowCounts, naming_table, refuse_memory, score_batches
from chary.options import PredictOptions
from chary.tables import Table, TableError, open_source
from chary.tables.formats import GROUP_ROWS, appending
from chary.tables.formats.base import Batch
from chary.tables.source import find_files, table_without_cells
from chary.tables.table import blank_rows_note, total_bytes

# Labelling a file needs at least this many bytes: for Python, NumPy, Polars, a model, and some
# blocks of rows.
_MIN_MEMORY = 400 << 20
# A row group that is written has at most about this many bytes, and so fewer rows if rows are long;
# a bound of memory.
_MAX_GROUP_BYTES = 64 << 20


class Resources(NamedTuple):
    """What a run may use."""

    jobs: int = 1  # files that are labelled at the same time
    threads: int = 1  # threads for each of these files
    memory: int = 2 << 30  # bytes for each of these files

    @classmethod
    def of(cls, n_files: int, memory: int) -> Resources:
        """Take as many jobs as cores, files and memory allow, and share cores and memory out.

        With 8 cores, 3 files and 6 GiB there are 3 jobs, with 2 threads and 2 GiB each.
        """
        if memory < _MIN_MEMORY:
            raise TableError(
                f"Labelling a file needs at least {_MIN_MEMORY >> 20:,} MiB, but only "
                f"{memory >> 20:,} MiB are allowed; allow more with {Parameter('memory')}."
            )
        cores = cpu_count()
        jobs = max(1, min(cores, n_files, memory // _MIN_MEMORY))
        return cls(jobs=jobs, threads=max(1, cores // jobs), memory=memory // jobs)


@dataclass(frozen=True)
class FileTask:
    """A file to label: its path, the path of its output, and the options."""

    source: str
    output: str
    options: PredictOptions = field(default_factory=PredictOptions)  # how it is read and written
    name: str | None = None  # shown in messages instead of the path


@dataclass(frozen=True)
class LabelledFile:
    """A file that was labelled."""

    output: str  # its path
    rows: int  # number of rows
    labels: dict[str, int]  # number of rows with each label
    notes: list[str] = field(default_factory=list)
    new_rows: NewRowsSummary | None = None  # ``RowComparison.figures``


# A function that is called with a task, the number of its rows that are done, and the share of its
# file that was read.
Seen = Callable[[FileTask, int, float], None]
# A function that starts to label a file, and returns the future outcome.
Submit = Callable[[FileTask], "Future[LabelledFile]"]


def label_files(
    predictor: Predictor,
    tasks: Sequence[FileTask],
    resources: Resources,
    seen: Seen = lambda task, rows, share: None,
    *,
    scheduler: str | None = None,
) -> list[LabelledFile | Exception]:
    """Label files, and return for each the labelled file, or the error.

    Parameters
    ----------
    predictor : Predictor
    tasks : sequence of FileTask
    resources : Resources
    seen : callable, default=nothing
        Called as rows are done, from any thread.
    scheduler : str, default=None
        The address of a running Dask scheduler, whose workers see the files under the same paths.
        None: threads of this process.
    """
    executor = _threads(predictor, resources, seen)
    if scheduler is not None:
        executor = _dask(predictor, resources, scheduler)
    make_folders([Path(task.output) for task in tasks])

    outcomes: dict[str, LabelledFile | Exception] = {}
    with executor as submit:
        futures = {submit(task): task for task in tasks}
        for future in as_completed(futures):
            task = futures[future]
            outcome = _outcome(task, future)
            outcomes[task.output] = outcome
            n_rows = 0
            if isinstance(outcome, LabelledFile):
                n_rows = outcome.rows
            seen(task, n_rows, 1.0)
    return [outcomes[task.output] for task in tasks]


def _outcome(task: FileTask, future: Future[LabelledFile]) -> LabelledFile | Exception:
    """Return the labelled file, or why it could not be labelled."""
    try:
        return future.result()
    except (TableError, OSError) as error:
        return error
    except Exception as error:
        # An error of Dask is recognised by its name: Dask may not be installed.
        if type(error).__name__ != "KilledWorker":
            raise
        return TableError(f"{task.source}: the workers that labelled it died.")


# ---------------------------------------------------------------- one file


def label_file(
    predictor: Predictor,
    task: FileTask,
    resources: Resources,
    seen: Callable[[int, float], None] = lambda rows, share: None,
) -> LabelledFile:
    """Write a copy of a file with the labels added; the folder of the output must exist.

    ``seen`` is called with the number of rows that are done, and the share of the file that was
    read.
    """
    source = open_source(
        Path(task.source), **task.options.reading, memory=resources.memory, name=task.name
    )
    table = source.table.written_as(task.options.format)
    _require_columns(predictor, table)
    counts = RowCounts(predictor.model)
    with atomic_write(task.output, overwrite=task.options.force) as file:
        _write(predictor, resources, counts, table, source.batches(), file, seen)
        source.refuse_changed()

    notes = list(source.table.notes)
    if counts.n_blank:
        notes.append(blank_rows_note(counts.n_blank))
    comparison = compare_with_reference(predictor.model, counts.events)
    return LabelledFile(task.output, counts.n_rows, counts.labels, notes, comparison.figures())


def _require_columns(predictor: Predictor, table: Table) -> None:
    """Refuse a table that lacks a column of the model, or already has a column to be added."""
    names = table.frame.columns
    with naming_table(table.name):
        predictor.model[0].require_columns(names)
        for name in predictor.schema:
            if name in names:
                raise TableError(
                    f"There is a column {shown(name)} already, written by chary; remove or rename "
                    "it."
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
    """Score blocks as they are read, and write them in order.

    Cells in a form that the model does not know are counted, and refused at the end.
    """
    memory_of_all_jobs = resources.memory * resources.jobs  # they share this process
    scored_batches = score_batches(predictor.model, batches, counts, resources.threads)
    # The size of row groups depends on the first batch, so the writer is opened after it is read.
    first = next(scored_batches)
    with appending(table, file, group_rows(first[0].table.frame)) as appender:
        for batch, scores in chain([first], scored_batches):
            refuse_memory(table.name, memory_of_all_jobs)
            output = replace(table, frame=batch.table.frame, blank=batch.table.blank)
            appender.append(output, predictor.added(scores))
            seen(counts.n_rows, batch.share)
        counts.refuse(table.name)


def group_rows(first: pl.DataFrame) -> int:
    """Choose the rows of a row group: fewer than usual if the rows of the first block are long."""
    # A block may hold blank rows alone.
    if first.height == 0:
        return GROUP_ROWS
    bytes_per_row = max(1, total_bytes(first)) / first.height
    return int(max(1, min(GROUP_ROWS, _MAX_GROUP_BYTES / bytes_per_row)))


# ---------------------------------------------------------------- which files become which outputs


class Plan(NamedTuple):
    """The files to label, the files that are refused, and notes for the user."""

    tasks: list[FileTask]
    failed: list[tuple[str, Exception]]  # files that cannot be labelled, and why
    notes: list[str]


def plan_files(given: Sequence[str], options: PredictOptions) -> Plan:
    """Plan one output for each file, called FILE.predicted.

    The output is written next to the file. With ``out`` it is written to that folder, under the
    file's path relative to the folder that all given paths have in common.

    An output that exists already is overwritten only with the option ``force``. Without it, a
    single file is refused; of several files those with an output are skipped, so that the same
    command continues after an interruption.
    """
    files, notes = find_files(list(given))
    paths = [file.path for file in files if file.path]
    if len(paths) < len(files):
        raise TableError(
            "New rows are read from files, not from standard input; save them in one first."
        )
    inputs = {os.path.realpath(path) for path in paths}
    given_folders = [_start(path).resolve() for path in given]
    common_folder = Path(os.path.commonpath(given_folders))

    plan = Plan(tasks=[], failed=[], notes=notes)
    skipped: list[str] = []  # names of outputs that exist already
    input_of: dict[str, Path] = {}  # the file that each output is made of
    for path in paths:
        try:
            output = _output(path, common_folder, options)
            _refuse_clash(path, output, input_of, inputs)
            must_stay = os.path.lexists(output) and not options.force
            if must_stay and len(paths) == 1:
                raise TableError(
                    f"{output} exists already; pass ",
                    Parameter("force"),
                    " to overwrite it, or ",
                    Parameter("out"),
                    " for another folder.",
                )
        except TableError as error:
            plan.failed.append((str(path), error))
        else:
            if must_stay:
                skipped.append(output.name)
            else:
                plan.tasks.append(FileTask(str(path), str(output), options))

    # A note, so that old outputs are not mistaken for new ones.
    if skipped:
        plan.notes.append(
            "There already, and left as found whichever model made them: "
            f"{counted(len(skipped), 'output')} (the first is {skipped[0]})."
        )
    return plan


def _output(path: Path, common_folder: Path, options: PredictOptions) -> Path:
    """Name the output of a file: b.csv becomes b.predicted.csv.

    With the option ``out``, common_folder/a/b.csv becomes out/a/b.predicted.csv.
    """
    table = table_without_cells(path).written_as(options.format)
    folder = path.parent
    if options.out is not None:
        folder = Path(options.out) / folder.resolve().relative_to(common_folder)
    return folder / f"{table.stem}.predicted{table.suffix}"


def _refuse_clash(path: Path, output: Path, input_of: dict[str, Path], inputs: set[str]) -> None:
    """Refuse an output that would overwrite another output or an input; else record its input.

    ``input_of`` has the input of each output so far, and ``inputs`` all inputs, by their real
    paths.
    """
    name = os.path.realpath(output)
    if name in input_of:
        raise TableError(
            f"{shown(input_of[name], 200)} and {shown(path, 200)} would both be written to "
            f"{output}; rename one."
        )
    if name in inputs:
        raise TableError(
            f"The output of {shown(path, 200)} would take the place of an input; rename one."
        )
    input_of[name] = path


def _start(given: str) -> Path:
    """Find the folder of a given path: the folder itself, a file's folder, or a pattern's folder.

    The folder of a pattern is the deepest folder above its first wildcard.

    >>> str(_start("in/2024-*/*.csv")), str(_start("*.csv"))
    ('in', '.')
    """
    start = Path(given)
    if not start.is_dir():
        start = start.parent
    # A file may have a wildcard in its name: then the path exists, and is no pattern.
    is_pattern = glob.has_magic(given) and not os.path.lexists(given)
    while is_pattern and glob.has_magic(str(start)):
        start = start.parent
    return start


# ---------------------------------------------------------------- threads and clusters


class _StoppedError(Exception):
    """Raised in a thread to stop labelling its file, because the run was interrupted."""


@contextmanager
def _threads(predictor: Predictor, resources: Resources, seen: Seen) -> Iterator[Submit]:
    """Label files in threads; after an interruption each thread removes its unfinished output.

    An interruption is an error in the caller's block, such as ``KeyboardInterrupt``. A thread
    cannot be stopped from outside, so each looks for ``stop`` whenever it reports its progress.
    """
    stop = threading.Event()

    def label(task: FileTask) -> LabelledFile:
        def seen_unless_stopped(rows: int, share: float) -> None:
            if stop.is_set():
                raise _StoppedError
            seen(task, rows, share)

        return label_file(predictor, task, resources, seen_unless_stopped)

    with ThreadPoolExecutor(resources.jobs) as pool:
        try:
            yield lambda task: pool.submit(label, task)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _dask(predictor: Predictor, resources: Resources, address: str) -> Iterator[Submit]:
    """Label files on the workers of the Dask cluster whose scheduler has this address."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise TableError(
            "A Dask cluster needs the package dask: pip install 'chary[dask]'."
        ) from error
    with distributed.Client(address) as client, client.get_executor(pure=False) as pool:
        # The predictor is made on a worker; if that worker is lost, Dask makes it on another one.
        _, arguments = predictor.__reduce__()
        remote_predictor = client.submit(Predictor, *arguments, pure=False)

        def submit(task: FileTask) -> Future[LabelledFile]:
            # A worker may be lost after it wrote the file; Dask then runs the task on another,
            # which must be allowed to overwrite the output.
            options = replace(task.options, force=True)
            return pool.submit(
                label_file, remote_predictor, replace(task, options=options), resources
            )

        try:
            yield submit
        except BaseException:
            pool.shutdown(wait=False)
            raise
