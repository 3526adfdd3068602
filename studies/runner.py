"""Runs a study: works out the cells that are missing, on worker processes or on Dask, and stores each at once.

A worker process stores a cell as soon as it is done, so that whatever ends the run, finished cells stay. Each
worker has one BLAS thread, so that results do not depend on how many work side by side.
"""

from __future__ import annotations

import importlib
import os
import pickle
import platform
import re
import signal
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from chary import __version__
from chary._files import probe
from studies.store import Store, key_of
from studies.study import Cell, Study

try:  # both come with scikit-learn
    import cloudpickle  # type: ignore[import-untyped]
except ImportError:  # joblib before 1.6 carries its own copy
    from joblib.externals import cloudpickle

_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A signal ended the run; everything finished so far is stored."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"Stopped by {signal.Signals(signum).name}; run again to resume.")
        self.exit_code = 128 + signum  # as a shell reports it


@dataclass
class Progress:
    """Where a run stands."""

    n_cells: int
    n_found: int  # stored before this run
    n_done: int = 0
    n_running: int = 0
    failed: list[tuple[Cell, str]] = field(default_factory=list)
    n_damaged: int = 0  # files that did not verify
    started: float = field(default_factory=time.monotonic)

    @property
    def n_left(self) -> int:
        """Cells still to be worked out."""
        return self.n_cells - self.n_found - self.n_done - len(self.failed)

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the rate so far; None before the first cell."""
        elapsed = time.monotonic() - self.started
        return self.n_left * elapsed / self.n_done if self.n_done else None


def run(
    study: Study,
    cells: list[Cell],
    store: Store,
    *,
    jobs: int = 1,
    engine: str = "process",
    address: str | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Work out the cells that the store does not hold yet.

    Parameters
    ----------
    study : Study
        Gives the methods and the measure; functions of a script or notebook are fine.
    cells : list of Cell
        ``study.cells(...)`` or a part of it.
    store : Store
    jobs : int, default=1
        Worker processes; of a Dask cluster, how many to start when no address is given.
    engine : {"process", "dask"}, default="process"
    address : str, default=None
        Of a running Dask scheduler. None: a cluster on this machine for the time of the run.
    report : callable, default=nothing
        Called with the progress, again and again.

    Returns
    -------
    Progress
        With what failed and why. A cell that raised an exception failed; so did one during which its worker died
        once more when it was tried alone.

    Raises
    ------
    Interrupted
        On SIGINT or SIGTERM, within two seconds, with everything finished so far in the store.
    """
    if engine not in ("process", "dask"):
        raise ValueError(f"engine={engine!r} is not known; choose 'process' or 'dask'.")
    if jobs < 1:
        raise ValueError(f"jobs={jobs} leaves nobody to work; give at least 1.")
    store.sweep()
    by_key = {key_of(cell.content()): cell for cell in cells}
    todo = {key: cell for key, cell in by_key.items() if store.read(key) is None}
    progress = Progress(len(by_key), len(by_key) - len(todo), n_damaged=len(store.damaged))
    report(progress)
    if not todo:
        return progress
    probe([store.path(next(iter(todo)))], overwrite=True)
    groups: dict[str, list[Cell]] = defaultdict(list)
    for key, cell in todo.items():
        store.forget_failure(key)
        groups[cell.group].append(cell)
    with _stop_on_signals() as stopped:
        crew = _Crew(study, store, progress, report, stopped, engine, address)
        suspects = crew.work(list(groups.values()), jobs)
        crew.work([[cell] for cell in suspects], 1, alone=True)
    if stopped:
        store.sweep()  # what the workers were writing when they were ended
        raise Interrupted(stopped[0])
    return progress


@dataclass
class _Crew:
    """Workers for the cells of a study, and what becomes of these."""

    study: Study
    store: Store
    progress: Progress
    report: Callable[[Progress], None]
    stopped: list[int]
    engine: str
    address: str | None

    def __post_init__(self) -> None:
        self.job = cloudpickle.dumps(self.study)
        self.accounted: set[str] = set()

    def work(self, groups: list[list[Cell]], jobs: int, alone: bool = False) -> list[Cell]:
        """Have groups of cells worked out; returns the cells that were at work when a worker died.

        ``alone``: one group of one cell at a time; a cell whose worker dies then is given up.
        """
        pending, suspects = deque(groups), []
        width = 1 if alone else jobs if self.engine == "process" else len(groups)
        while pending and not self.stopped:
            cells, reason = self._work_until_a_death(pending, jobs, width)
            left = [cell for cell in cells if key_of(cell.content()) not in self.accounted]
            suspects += left
            if alone:
                for cell in left:
                    self.store.fail(cell.content(), reason)
                self._account(left)
        return suspects

    def _work_until_a_death(self, pending: deque[list[Cell]], jobs: int, width: int) -> tuple[list[Cell], str]:
        """Cells that were at work with a worker that died, and how it did; a pool of processes ends with it."""
        running: dict[Future[Any], list[Cell]] = {}
        suspects: list[Cell] = []
        reason = ""
        with self._executor(min(jobs, len(pending))) as executor:
            while (pending or running) and not self.stopped:
                while pending and len(running) < width:
                    group = pending.popleft()
                    running[executor.submit(*self._call(group))] = group
                done = wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done
                died = {future: why for future in done if (why := self._take(future))}
                self._account([cell for group in running.values() for cell in group])
                if died:
                    reason = next(iter(died.values()))
                    ended = running if self.engine == "process" else died
                    suspects += [cell for future in ended for cell in running[future]]
                running = {future: group for future, group in running.items() if future not in done}
                self.progress.n_running = len(running)
                self.report(self.progress)
                if died and self.engine == "process":
                    break
        return suspects, reason

    def _call(self, group: list[Cell]) -> tuple[Any, ...]:
        """What a worker is asked: to store results itself where it shares this machine's files."""
        return _work_out_group, self.job, group, self.store.directory if self.engine == "process" else None

    def _take(self, future: Future[Any]) -> str:
        """Store what a worker gave back; why it died, if it did."""
        try:
            for outcome in future.result():
                _record(self.store, outcome)
        except Exception as error:
            names = {kind.__name__ for kind in type(error).__mro__}
            if names & {"BrokenExecutor", "KilledWorker"}:
                codes = re.search(r"exit codes? of the workers?.*?\{(.*?)\}", str(error), re.DOTALL)
                return f"its worker died ({codes[1]})" if codes else "its worker died"
            if isinstance(error, OSError):
                raise
            raise RuntimeError(f"No worker could be started: {type(error).__name__}: {error}") from error
        return ""

    def _account(self, cells: list[Cell]) -> None:
        """Count the cells that are stored or given up by now."""
        for cell in cells:
            key = key_of(cell.content())
            if key in self.accounted:
                continue
            if self.store.path(key).exists():
                self.progress.n_done += 1
            elif (reason := self.store.failure(key)) is not None:
                self.progress.failed.append((cell, reason))
            else:
                continue
            self.accounted.add(key)

    @contextmanager
    def _executor(self, jobs: int) -> Iterator[Executor]:
        if self.engine == "process":
            executor = ProcessPoolExecutor(
                jobs, initializer=_start_worker, initargs=(os.getpid(),), env=_ONE_THREAD
            )
            try:
                yield executor
            finally:
                executor.shutdown(kill_workers=True)
            return
        try:
            dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
        except ImportError as error:
            raise RuntimeError("The Dask engine needs `pip install chary[dask]`.") from error
        # Without an address of its own the page of an older Dask is open to other machines.
        options: dict[str, Any] = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
        options["worker_dashboard_address"] = "127.0.0.1:0"
        # Deaths are handled here; a scheduler at an address keeps its own patience.
        with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
            target: Any = self.address or distributed.LocalCluster(**options)
            try:
                with distributed.Client(target) as client:
                    executor = client.get_executor(pure=False)
                    try:
                        yield executor
                    finally:
                        executor.shutdown(wait=False)
            finally:
                if not self.address:
                    target.close()


class Outcome(NamedTuple):
    """A cell's result, or why there is none."""

    cell: Cell
    result: dict[str, Any] | None
    reason: str
    env: dict[str, Any]


def work_out(study: Study, cells: list[Cell]) -> Iterator[Outcome]:
    """Results of cells that share a first fit, one by one."""
    task: Any = None
    for cell in cells:
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            task = task or study.task(cell)
            task.cell = cell  # of the same group: data, labels and first fit are the same
            result = study.measure(task, study.methods[cell.method].run(task, **cell.options))
        except Exception as error:
            yield Outcome(cell, None, f"{type(error).__name__}: {error}", {})
        else:
            seconds = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
            yield Outcome(cell, result, "", {**_environment(), **seconds})


def _work_out_group(job: bytes, cells: list[Cell], directory: Path | None) -> list[Outcome]:
    """What a worker does; without a directory to store in, it gives the outcomes back."""
    study: Study = pickle.loads(job)
    with threadpool_limits(1):
        if directory is None:
            return list(work_out(study, cells))
        for outcome in work_out(study, cells):
            _record(Store(directory), outcome)
    return []


def _record(store: Store, outcome: Outcome) -> None:
    content, reason = outcome.cell.content(), outcome.reason
    if outcome.result is not None:
        try:
            store.write(content, outcome.result, outcome.env)
        except (TypeError, ValueError) as error:  # not a dict of finite numbers, texts and lists
            reason = f"its result cannot be stored: {error}"
    if reason:
        store.fail(content, reason)


def _start_worker(parent: int) -> None:
    """A worker leaves Ctrl-C to the run that started it, and ends when that is gone, be it before it has begun."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _environment() -> dict[str, Any]:
    return {
        "chary": __version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "host": platform.node(),
        "blas_threads": 1,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@contextmanager
def _stop_on_signals() -> Iterator[list[int]]:
    """A list that holds the signal, once one has asked to stop."""
    stopped: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    previous = {signum: signal.signal(signum, lambda signum, frame: stopped.append(signum)) for signum in signals}
    try:
        yield stopped
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
