"""Label any number of files of any size, each written whole or not at all; a run that was interrupted is resumed.

A file is read, scored and written block by block. The bytes of its output depend on nothing but file, model and
settings: one process, several, parts of the files on several machines and a Dask cluster all write the same. A
process or a machine that is lost costs the file it was at, which is begun again.
"""

from __future__ import annotations

import glob
import hashlib
import importlib
import json
import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import polars as pl
from joblib import cpu_count

from chary._files import atomic_writes, folders_for, sweep
from chary._words import Parameter, shown
from chary.labelling.drift import compare_with_reference
from chary.labelling.score import Predictor, RowCounts, about, refuse_taken, score_batches
from chary.method.self_training import scores_quickly
from chary.options import Options
from chary.tables import Table, TableError, open_source
from chary.tables.columns.embeddings import with_features
from chary.tables.formats.base import Batch
from chary.tables.memory import total_bytes
from chary.tables.source import MOST_BYTES, file_kind, find_files
from chary.tables.writing import GROUP_ROWS, appending

ENGINES = ("process", "dask")
MOST_DEATHS = 3  # of processes at work on one file, which is then given up
# What a process needs: Python, NumPy, Polars, a model, and some blocks of rows.
LEAST_MEMORY = 400 << 20
# Bytes of a row group that is written, where rows are long.
_GROUP_BYTES = 64 << 20
# Hidden from Spark, Hive and a folder given to chary, which all pass over names that begin so.
_RECORDS = "_chary"
_RECORD_VERSION = 1
_OFTEN = 0.25  # seconds between two looks at what a process has done
_SPAWN = multiprocessing.get_context("spawn")  # Polars and BLAS have threads, which no fork survives


@dataclass(frozen=True)
class FileTask:
    """A file to label, where to, and how."""

    source: str
    output: str
    options: Options = field(default_factory=Options)  # how it is read and written
    name: str | None = None  # for people, where that of the file says nothing
    recorded: bool = False  # whether a record is kept beside the output
    strict: bool = False  # whether rows unlike those learned from are refused
    memory: int = 2 << 30
    threads: int = 1
    neighbours: int = 1  # files that this process labels at a time; ``memory`` is for each

    @property
    def settings(self) -> dict[str, Any]:
        """What besides model and input an output depends on."""
        how = {"format": self.options.format, **self.options.reading}
        return {key: value for key, value in how.items() if value is not None}


@dataclass(frozen=True)
class LabelledFile:
    """What came of a file."""

    output: str
    rows: int
    labels: dict[str, int]
    notes: list[str] = field(default_factory=list)
    new_rows: dict[str, Any] | None = None  # ``RowComparison.figures``


class Resources(NamedTuple):
    """What a run may use."""

    jobs: int
    threads: int  # of each job
    memory: int  # bytes of each job

    @classmethod
    def of(cls, n_files: int, jobs: int | None, memory: int) -> Resources:
        """As many jobs as there are cores, files, and room for; the cores that are left over are their threads."""
        cores = cpu_count()
        if jobs is None:
            jobs = max(1, min(cores, n_files, memory // LEAST_MEMORY))
        if memory // jobs < LEAST_MEMORY:
            raise TableError(
                f"{jobs} at a time need {jobs * LEAST_MEMORY >> 20:,} MiB at least, and {memory >> 20:,} MiB are "
                "allowed; pass fewer with ",
                Parameter("jobs"),
                ", or more with ",
                Parameter("memory"),
                ".",
            )
        jobs = max(1, min(jobs, n_files))
        return cls(jobs, max(1, cores // jobs), memory // jobs)


Seen = Callable[[FileTask, int, float], None]  # told of a file how many rows are done, and which share of it
Submit = Callable[[FileTask], "Future[LabelledFile]"]


def label_files(
    predictor: Predictor,
    tasks: Sequence[FileTask],
    resources: Resources,
    seen: Seen = lambda task, rows, share: None,
    *,
    engine: str = "process",
    address: str | None = None,
) -> list[LabelledFile | Exception]:
    """Label files; what came of each, or why it could not be labelled, in their order.

    Parameters
    ----------
    predictor : Predictor
    tasks : sequence of FileTask
    resources : Resources
    seen : callable, default=nothing
        Told of progress, from any thread.
    engine : {"process", "dask"}, default="process"
    address : str, default=None
        Of a running Dask scheduler, whose workers see the files under the same paths. None: a cluster of so many
        workers on this machine, for the time of the run.
    """
    if engine not in ENGINES:
        raise TableError(
            f"There is no engine {shown(engine)}; pass ", Parameter("engine", "process"), " or 'dask'."
        )
    executor: AbstractContextManager[Submit]
    if engine == "dask":
        executor = _dask(predictor, resources.jobs, address)
    elif resources.jobs == 1 or scores_quickly(predictor.model[-1]):  # so that starting processes would count
        tasks = [replace(task, neighbours=resources.jobs) for task in tasks]
        stop = threading.Event()
        executor = _threads(resources.jobs, partial(_label, predictor, stop, seen), stop)
    else:
        executor = _processes(predictor, resources, seen)
    tasks = [replace(task, threads=resources.threads, memory=resources.memory) for task in tasks]
    outcomes: dict[str, LabelledFile | Exception] = {}
    with _folders(tasks), executor as submit:
        futures = {submit(task): task for task in tasks}
        for future in as_completed(futures):
            task = futures[future]
            outcomes[task.output] = outcome = _outcome(future, task)
            seen(task, outcome.rows if isinstance(outcome, LabelledFile) else 0, 1.0)
    return [outcomes[task.output] for task in tasks]


# ---------------------------------------------------------------- one file


def label_file(
    predictor: Predictor, task: FileTask, seen: Callable[[int, float], None] = lambda rows, share: None
) -> LabelledFile:
    """Write a file with the labels of its rows added; ``seen`` is told how many rows are done, and the share."""
    output, source = Path(task.output), Path(task.source)
    settings = {**task.settings, **predictor.settings}
    if task.recorded and not task.options.force:
        before = finished(output, source, predictor.digest, settings)
        if before is not None:  # by a process that was lost before it could say so
            return before
    opened = open_source(source, **task.options.reading, memory=task.memory, name=task.name)
    table = opened.table.written_as(task.options.format)
    table = replace(table, frame=_kept(predictor, table))
    counts = RowCounts(predictor.model)
    paths = [output, *([_record_path(output)] if task.recorded else [])]
    if task.recorded and not os.path.lexists(output):  # of a run that was ended between the two
        _record_path(output).unlink(missing_ok=True)
    with folders_for(paths), atomic_writes(paths, overwrite=task.options.force) as (file, *records):
        _write(predictor, task, counts, table, opened.batches(_needed(predictor)), file, seen)
        compared = compare_with_reference(predictor.model, counts.events)
        if task.strict and not compared.alike:
            raise TableError(
                f"{table.name}: {compared.finding}, so nothing was written; leave ",
                Parameter("strict"),
                " out to label them all the same.",
            )
        opened.refuse_changed()
        notes = list(opened.table.notes)
        labelled = LabelledFile(task.output, counts.n_rows, counts.labels, notes, compared.figures())
        for record in records:
            file.flush()
            record.write(_record(source, predictor.digest, settings, Path(file.name), labelled))
    return labelled


def _needed(predictor: Predictor) -> list[str] | None:
    """Columns to read of a file that is read by columns; all, if all are kept."""
    if not predictor.columns:
        return None
    used = [column.name for column in predictor.model[0].columns_ if column.used]
    return [*used, *predictor.columns]


def _kept(predictor: Predictor, table: Table) -> pl.DataFrame:
    """The columns that are written back, without a row; refused is what could not be written."""
    # Who reads the features from a file beside the table says what is wrong with it.
    beside = [column.name for column in predictor.model[0].columns_ if column.name == "(features)"]
    with about(table.name):
        predictor.require_columns([*table.frame.columns, *beside])
    frame = table.frame.select(predictor.columns) if predictor.columns else table.frame
    refuse_taken(replace(table, frame=frame), predictor.schema)
    return frame


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
    batches = _with_features(predictor, task, batches)
    scored = score_batches(predictor.model, batches, task.threads)
    first = next(scored)
    group, columns = group_rows(first[0].table.frame), table.frame.columns
    with appending(table, file, group) as appender:
        for batch, found in chain([first], scored):
            block = batch.table
            counts.add(found.counts)
            _refuse_large(task, block, group, counts.n_rows)
            whole = block.frame.columns == columns
            frame = block.frame if whole else block.frame.select(columns)
            lines = block.lines._replace(frame=frame) if block.lines and frame.width == block.frame.width else None
            out = replace(table, frame=frame, lines=lines if table.format == "jsonl" else None)
            appender.append(out, predictor.added(found))
            seen(counts.n_rows, batch.share)
        counts.refuse(table.name)


def _with_features(predictor: Predictor, task: FileTask, batches: Iterator[Batch]) -> Iterator[Batch]:
    """Batches with the numbers of a file beside the table, if there is one: then it is read as a whole."""
    known = [column.name for column in predictor.model[0].columns_]
    if task.options.features is None and "(features)" not in known:
        return batches
    every = [batch.table for batch in batches]
    frame = with_features(pl.concat([table.frame for table in every]), task.options.features, known=known)
    return iter([Batch(replace(every[0], frame=frame, lines=None), 1.0)])


def group_rows(first: pl.DataFrame) -> int:
    """Rows of a row group that is written: fewer where rows are long, as the first block tells."""
    return int(max(1, min(GROUP_ROWS, _GROUP_BYTES * first.height / max(1, total_bytes(first)))))


def _refuse_large(task: FileTask, block: Table, group: int, n_rows: int) -> None:
    """Refuse to take more memory than is allowed."""
    share = group / max(1, block.frame.height)  # of a row group that is written, in blocks
    most = share * MOST_BYTES
    if most > task.memory:  # it may be too much: looked at more closely
        most = share * total_bytes(block.frame)
    if most > task.memory or resident_bytes() > task.memory * task.neighbours:
        raise TableError(
            f"{block.name} takes more than the {task.memory >> 20:,} MiB allowed, near row {n_rows:,}; pass more ",
            "with ",
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


# ---------------------------------------------------------------- records: what is finished


def finished(output: Path, source: Path, model_sha256: str, settings: dict[str, Any]) -> LabelledFile | None:
    """What came of a file whose output is there, whole, and of this input and model; None: it is still to be made.

    A record beside the output says what it was made of. It takes its name before the output does, so that there is
    no output without one, and holds its digest. An output that is anything else is refused: it is somebody's.
    """
    if not os.path.lexists(output):
        return None
    more = "; pass ", Parameter("overwrite"), " to write it again, or write elsewhere."
    try:
        record = json.loads(_record_path(output).read_text())
        if record["version"] != _RECORD_VERSION:
            raise ValueError
        found = LabelledFile(str(output), *(record[name] for name in ("rows", "labels", "notes", "new_rows")))
        names = ("model_sha256", "settings", "input_bytes", "input_time", "input_sha256")
        model, made_with, *made_of = (record[name] for name in names)
        size, digest = record["output_bytes"], record["output_sha256"]
    except (OSError, ValueError, TypeError, KeyError):
        raise TableError(f"{output} exists already and no run of this kind wrote it", *more) from None
    if model != model_sha256:
        raise TableError(f"{output} was made with another model", *more)
    if made_with != settings:
        raise TableError(f"{output} was made with other settings", *more)
    status = source.stat()
    # By size and time, as make has it; where only the time is another, by content.
    if status.st_size != made_of[0] or (status.st_mtime_ns != made_of[1] and _digest(source) != made_of[2]):
        raise TableError(f"{shown(source, 200)} has changed since {output} was made of it", *more)
    if output.stat().st_size != size or _digest(output) != digest:
        raise TableError(f"{output} is not as it was written", *more)
    return found


def _record(
    source: Path, model_sha256: str, settings: dict[str, Any], written: Path, labelled: LabelledFile
) -> bytes:
    """What is to be known of an output that is written and has not its name yet."""
    status, found = source.stat(), asdict(labelled)
    del found["output"]
    record = {
        "version": _RECORD_VERSION,
        "input_bytes": status.st_size,
        "input_time": status.st_mtime_ns,
        "input_sha256": _digest(source),
        "model_sha256": model_sha256,
        "settings": settings,
        "output_bytes": written.stat().st_size,
        "output_sha256": _digest(written),
        **found,
    }
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


def is_one_file(given: Sequence[str]) -> bool:
    """Whether one file is meant by its name, or standard input; a folder and a pattern mean several."""
    return len(given) == 1 and (given[0] == "-" or (not os.path.isdir(given[0]) and not _is_pattern(given[0])))


def output_of_one(source: str | os.PathLike[str], options: Options) -> Path:
    """Where the labelled rows of one file go: next to it, or into a folder, under a name that says what it is."""
    table = file_kind(source).written_as(options.format)
    return Path(options.out or table.folder) / f"{table.stem}.predicted{table.suffix}"


def plan_files(
    predictor: Predictor, given: Sequence[str], task: FileTask, shard: tuple[int, int] = (1, 1)
) -> Plan:
    """One output for each file.

    ``task`` holds the settings of all of them. Into the folder of its options go files of the same names, as deep
    as they were; without one an output is next to its input, called FILE.predicted. A file whose output is there,
    whole, and made of it with this model and these settings, is done. Of several machines, each takes its part of
    the files: ``shard`` is which one, from 1, and of how many.
    """
    number, of = shard
    if not 1 <= number <= of:
        raise TableError(f"There is no part {number} of {of}; parts are counted from 1.")
    sources, notes = find_files(list(given))
    paths = [source.path for source in sources if source.path]
    plan, roots = Plan([], [], [], notes), _roots(given)
    outputs: dict[str, Path] = {}
    inputs = {os.path.realpath(path) for path in paths}
    for path in paths[number - 1 :: of]:
        try:
            output = _output(path, roots[path], task.options)
            _refuse_clash(path, output, outputs, inputs)
            settings = {**task.settings, **predictor.settings}
            before = None if task.options.force else finished(output, path, predictor.digest, settings)
        except TableError as error:
            plan.failed.append((str(path), error))
            continue
        if before is None:
            plan.tasks.append(replace(task, source=str(path), output=str(output), recorded=True))
        else:
            plan.done.append(before)
    return plan


def _output(path: Path, root: Path, options: Options) -> Path:
    if options.out is None:
        return output_of_one(path, options)
    table = file_kind(path).written_as(options.format)
    folder = Path(options.out) / path.parent.resolve().relative_to(root.resolve())
    return folder / (path.name if options.format is None else f"{table.stem}{table.suffix}")


def _refuse_clash(path: Path, output: Path, outputs: dict[str, Path], inputs: set[str]) -> None:
    """No output may take the place of another, or of an input."""
    name = os.path.realpath(output)
    if name in outputs:
        raise TableError(
            f"{shown(outputs[name], 200)} and {shown(path, 200)} would both be written to {output}; rename one."
        )
    if name in inputs:
        raise TableError(
            f"The output of {shown(path, 200)} would take the place of an input; choose another folder with ",
            Parameter("out"),
            ".",
        )
    outputs[name] = path


def _roots(given: Sequence[str]) -> dict[Path, Path]:
    """For each file the folder from which on its place is kept: the folder given, or where a pattern begins."""
    plain = [one for one in given if not os.path.isdir(one) and not _is_pattern(one)]
    folders = [os.path.dirname(os.path.abspath(one)) for one in plain]
    shared = Path(os.path.commonpath(folders)) if plain else Path()
    roots: dict[Path, Path] = {}
    for one in given:
        root = shared if one in plain else Path(one) if os.path.isdir(one) else _start(one)
        roots |= {source.path: root for source in find_files([one])[0] if source.path}
    return roots


def _start(pattern: str) -> Path:
    """The folders of a pattern before the first that is none of them.

    >>> str(_start("in/2024-*/*.csv")), str(_start("*.csv"))
    ('in', '.')
    """
    parts = Path(pattern).parent.parts
    fixed = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return Path(*parts[:fixed])


def _is_pattern(given: str) -> bool:
    return glob.has_magic(given) and not os.path.lexists(given)


# ---------------------------------------------------------------- who labels them


class _StoppedError(Exception):
    """Nobody waits for the file any more."""


def _outcome(future: Future[LabelledFile], task: FileTask) -> LabelledFile | Exception:
    try:
        return future.result()
    except (TableError, OSError) as error:
        return error
    except Exception as error:
        if type(error).__name__ != "KilledWorker":  # of Dask
            raise
        return _given_up(task)


def _given_up(task: FileTask) -> TableError:
    return TableError(f"{task.source}: its worker died {MOST_DEATHS} times.")


@contextmanager
def _folders(tasks: Sequence[FileTask]) -> Iterator[None]:
    """Folders of all outputs, swept, made before anybody looks for his own; empty ones go again."""
    outputs = [Path(task.output).absolute() for task in tasks]
    paths = [
        *outputs,
        *(_record_path(output) for task, output in zip(tasks, outputs, strict=True) if task.recorded),
    ]
    new = sorted({folder for path in paths for folder in path.parents if not folder.exists()}, reverse=True)
    with folders_for(paths):
        try:
            yield
        finally:  # what a process that died has left
            for folder in {path.parent for path in paths}:
                sweep(folder)
    for folder in new:  # inner ones first
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def _threads(jobs: int, label: Callable[[FileTask], LabelledFile], stop: Any) -> Iterator[Submit]:
    """Threads that label a file each; after an interruption each takes back what it has not finished."""

    def leave_interrupts() -> None:  # to the main thread; so do processes that this one starts
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    with ThreadPoolExecutor(jobs, initializer=leave_interrupts) as pool:
        try:
            yield lambda task: pool.submit(label, task)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _label(predictor: Predictor, stop: Any, seen: Seen, task: FileTask) -> LabelledFile:
    def heed(rows: int, share: float) -> None:
        if stop.is_set():
            raise _StoppedError
        seen(task, rows, share)

    return label_file(predictor, task, heed)


@contextmanager
def _processes(predictor: Predictor, resources: Resources, seen: Seen) -> Iterator[Submit]:
    """A process for each job, with a thread that waits for it; if one dies, its file is begun again in another."""
    stop, idle = _SPAWN.Event(), queue.SimpleQueue[_Worker]()
    for _ in range(resources.jobs):
        idle.put(_Worker(predictor, stop))

    def label(task: FileTask) -> LabelledFile:
        for _ in range(MOST_DEATHS):
            worker = idle.get()
            try:
                return worker.label(task, seen)
            except BrokenProcessPool:
                worker = _Worker(predictor, stop)
            finally:
                idle.put(worker)
        raise _given_up(task)

    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    limits = {**dict.fromkeys(names, "1"), "POLARS_MAX_THREADS": str(resources.threads)}
    before = dict(os.environ)
    os.environ.update(limits)  # for the processes: here, all is imported
    try:
        with _threads(resources.jobs, label, stop) as submit:
            yield submit
    finally:
        for name in limits.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)
        while not idle.empty():
            idle.get().pool.shutdown()


class _Worker:
    """A process that labels one file after the other."""

    def __init__(self, predictor: Predictor, stop: Any) -> None:
        self.done = _SPAWN.Array("d", 2)  # rows of its file, and the share
        self.pool = ProcessPoolExecutor(1, _SPAWN, _start_worker, (predictor, stop, self.done))

    def label(self, task: FileTask, seen: Seen) -> LabelledFile:
        self.done[:] = 0, 0
        future = self.pool.submit(_label_in_worker, task)
        while wait([future], _OFTEN).not_done:
            seen(task, int(self.done[0]), self.done[1])
        return future.result()


_of_worker: list[Any] = []  # in a process: what it was started with


def _start_worker(predictor: Predictor, stop: Any, done: Any) -> None:
    def leave() -> None:  # as soon as nobody is left to give orders
        multiprocessing.parent_process().join()  # type: ignore[union-attr]
        os._exit(1)

    threading.Thread(target=leave, daemon=True).start()
    _of_worker[:] = predictor, stop, done


def _label_in_worker(task: FileTask) -> LabelledFile:
    predictor, stop, done = _of_worker

    def tell(task: FileTask, rows: int, share: float) -> None:
        done[:] = rows, share

    return _label(predictor, stop, tell, task)


@contextmanager
def _dask(predictor: Predictor, jobs: int, address: str | None) -> Iterator[Submit]:
    """The workers of a Dask cluster: at an address, or so many on this machine."""
    try:
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError as error:
        raise TableError("The engine 'dask' needs a package more: pip install 'chary[dask]'.") from error
    # Without an address of its own the page of an older Dask is open to other machines.
    own: dict[str, Any] = dict.fromkeys(("dashboard_address", "worker_dashboard_address"), "127.0.0.1:0")
    own |= {"n_workers": jobs, "threads_per_worker": 1}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": MOST_DEATHS - 1}),
        distributed.Client(address, **({} if address else own)) as client,
        client.get_executor(pure=False) as pool,
    ):
        # Made on a worker, so that others can make it again if that is lost.
        model = client.submit(Predictor, *predictor.__reduce__()[1], pure=False)
        try:
            yield lambda task: pool.submit(label_file, model, task)
        except BaseException:
            pool.shutdown(wait=False)
            raise
