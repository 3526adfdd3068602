"""Runs a study: works out the cells that are missing, on worker processes, and stores each at once.

A worker process stores a cell as soon as it is done, so that whatever ends the run, finished cells
stay. Each worker has one BLAS thread, so that results do not depend on how many work side by side.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from chary import __version__
from chary._files import probe
from studies.store import Store, key_of
from studies.study import Cell, Study

_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
# Cells that failed, and why: the error in one line, then its traceback.
Failures = list[tuple[Cell, str]]


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
    failed: Failures = field(default_factory=list)
    n_damaged: int = 0  # files that did not verify


def run(
    study: Study,
    cells: list[Cell],
    store: Store,
    *,
    jobs: int = 1,
    again: bool = False,
    report: Callable[[Progress], None] | None = None,
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
        Worker processes.
    again : bool, default=False
        Delete these cells from the store first, so that all of them are worked out anew.
    report : callable, default=None
        Called with the progress, again and again. None: one line if cells are reused, and a warning
        at the end if cells failed.

    Returns
    -------
    Progress
        With what failed and why. A cell that raised an exception, or called ``sys.exit``, failed;
        so did one during which its worker died once more when it was tried alone.

    Raises
    ------
    Interrupted
        On SIGINT or SIGTERM, within two seconds, with everything finished so far in the store.
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs} leaves nobody to work; give at least 1.")
    by_key = {key_of(cell.content()): cell for cell in cells}
    if again:
        for key in by_key:
            store.forget(key)
    todo = {key: cell for key, cell in by_key.items() if store.read(key) is None}
    progress = Progress(len(by_key), len(by_key) - len(todo), n_damaged=len(store.damaged))
    show = report or (lambda progress: None)
    show(progress)
    if progress.n_found and report is None:
        print(
            f"{progress.n_found} of {progress.n_cells} cells are reused from {store.directory}; "
            "again=True runs them anew.",
            file=sys.stderr,
        )
    if not todo:
        return progress
    probe([store.path(next(iter(todo)))], overwrite=True)
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in todo.values():
        groups[cell.group].append(cell)
    with _stop_on_signals() as stopped:
        crew = _Crew(study, store, progress, show, stopped)
        pending = deque(groups.values())
        suspects: Failures = []
        while pending and not stopped:
            suspects += crew.work_until_a_death(pending, jobs)
        alone = deque([cell] for cell, _ in suspects)
        while alone and not stopped:
            progress.failed += crew.work_until_a_death(alone, 1)
    if stopped:
        raise Interrupted(stopped[0])
    if progress.failed and report is None:
        warnings.warn(
            f"{len(progress.failed)} cells failed; the first: {progress.failed[0][1]}", stacklevel=2
        )
    return progress


@dataclass
class _Crew:
    """Workers for the cells of a study."""

    study: Study
    store: Store
    progress: Progress
    report: Callable[[Progress], None]
    stopped: list[int]

    def work_until_a_death(self, pending: deque[list[Cell]], jobs: int) -> Failures:
        """Work out groups of cells until none is pending or a worker dies, which ends all workers.

        Returns the cells that were at work then, and how the worker died.
        """
        n_before = self.progress.n_done
        running: dict[Future[Failures], list[Cell]] = {}
        executor = ProcessPoolExecutor(
            min(jobs, len(pending)),
            initializer=_start_worker,
            initargs=(os.getpid(),),
            env=_ONE_THREAD,
        )
        try:
            while (pending or running) and not self.stopped:
                while pending and len(running) < jobs:
                    group = pending.popleft()
                    running[
                        executor.submit(_work_out_group, self.study, group, self.store.directory)
                    ] = group
                died = ""
                for future in wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done:
                    try:
                        self.progress.failed += future.result()
                    except TerminatedWorkerError as error:
                        codes = re.search(
                            r"exit codes? of the workers?.*?\{(.*?)\}", str(error), re.DOTALL
                        )
                        died = f"its worker died ({codes[1]})" if codes else "its worker died"
                    except OSError:
                        raise
                    except Exception as error:
                        raise RuntimeError(
                            f"No worker could be started: {type(error).__name__}: {error}"
                        ) from error
                    else:
                        n_before += self._n_stored(running.pop(future))
                self.progress.n_running = len(running)
                self.progress.n_done = n_before + sum(map(self._n_stored, running.values()))
                self.report(self.progress)
                if died:
                    return [
                        (cell, died)
                        for group in running.values()
                        for cell in group
                        if not self._n_stored([cell])
                    ]
        finally:
            executor.shutdown(kill_workers=True)
        return []

    def _n_stored(self, cells: list[Cell]) -> int:
        return sum(self.store.path(key_of(cell.content())).exists() for cell in cells)


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
            task = task or study.make_task(cell)
            task.cell = cell  # of the same group: data, labels and first fit are the same
            fitted = study.methods[cell.method].run(task, **cell.options)
            result = study.measure(task, fitted)
            if not isinstance(result, dict):
                raise TypeError(
                    f"The measure {cell.measure} returned {type(result).__name__}; expected a dict "
                    "of numbers by name."
                )
            # Only now is known how many rows a bias of the user labels.
            if cell.labeling in study.biases:
                result = {"n_labeled": int(task.labeled.sum()), **result}
        except (
            Exception,
            SystemExit,
        ) as error:  # of a user's function; SystemExit would end the worker
            trace = "".join(traceback.format_exception(error.with_traceback(_below(error))))
            yield Outcome(cell, None, f"{type(error).__name__}: {error}\n{trace}", {})
        else:
            seconds = {
                "seconds": time.perf_counter() - start,
                "cpu_seconds": time.process_time() - cpu_start,
            }
            yield Outcome(cell, result, "", {**_environment(), **seconds})


def _below(error: BaseException) -> Any:
    """The traceback without the line of :func:`work_out`."""
    return error.__traceback__.tb_next if error.__traceback__ else None


def _work_out_group(study: Study, cells: list[Cell], directory: Path) -> Failures:
    """What a worker does: store each result at once, and give back what failed."""
    failed, store = [], Store(directory)
    with threadpool_limits(1):
        for cell, result, reason, env in work_out(study, cells):
            if result is None:
                failed.append((cell, reason))
                continue
            try:
                store.write(cell.content(), result, env)
            except (
                TypeError,
                ValueError,
            ) as error:  # not a dict of finite numbers, texts and lists
                failed.append((cell, f"its result cannot be stored: {error}"))
    return failed


def _start_worker(parent: int) -> None:
    """Leave Ctrl-C to the run that started this worker, and end when that run is gone."""
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
    previous = {
        signum: signal.signal(signum, lambda signum, frame: stopped.append(signum))
        for signum in signals
    }
    try:
        yield stopped
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)
