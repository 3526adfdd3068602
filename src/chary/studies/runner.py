"""Cells of a study in; each worked out by a worker and stored out: resumed, retried, stopped at once if asked.

Workers only compute; this process alone writes. Each has one BLAS thread, so that results do not depend on
how many work side by side.
"""

from __future__ import annotations

import importlib
import os
import pickle
import platform
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
import sklearn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from chary import __version__
from chary._files import probe
from chary.studies.store import Store, key_of
from chary.studies.study import Cell, Study

try:  # both come with scikit-learn
    import cloudpickle  # type: ignore[import-untyped]
except ImportError:  # joblib before 1.6 carries its own copy
    from joblib.externals import cloudpickle

MAX_DEATHS = 3
_OUT_OF_MEMORY = 77  # exit status of a worker that met a MemoryError


class Interrupted(Exception):  # noqa: N818 - not an error: somebody asked for it
    """A signal ended the run; everything finished so far is stored."""

    def __init__(self, signum: int) -> None:
        super().__init__(f"Stopped by {signal.Signals(signum).name}; run again to resume.")
        self.signum = signum
        self.exit_code = 128 + signum  # as a shell reports it


class CannotRunError(RuntimeError):
    """There is nobody to do the work: in one sentence, why."""

    exit_code = 1


@dataclass
class Progress:
    """Where a run stands."""

    n_cells: int
    n_found: int  # stored before this run
    n_done: int = 0
    n_running: int = 0
    failed: list[tuple[Cell, str]] = field(default_factory=list)
    set_aside: int = 0  # files that did not verify
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
        Called with the progress whenever it changes.

    Returns
    -------
    Progress
        With what failed and why. A cell that raised an exception failed; one during which its worker died
        is tried three times.

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
    cells = list({key_of(cell.content()): cell for cell in cells}.values())
    todo = [cell for cell in cells if store.read(key_of(cell.content())) is None]
    progress = Progress(len(cells), len(cells) - len(todo), set_aside=len(store.set_aside))
    report(progress)
    if not todo:
        return progress
    probe([store.path(key_of(todo[0].content()))], overwrite=True)
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in todo:
        groups[cell.group].append(cell)
    pending = deque(groups.values())
    job = cloudpickle.dumps(_Job(study, sys.path))
    deaths: dict[str, int] = defaultdict(int)
    with _stop_on_signals() as stop:
        work = _on_processes(job, pending, min(jobs, len(pending)), stop)
        if engine == "dask":
            work = _on_dask(job, pending, jobs, address, stop)
        try:
            for event in work:
                _take(event, pending, deaths, store, progress)
                report(progress)
        finally:
            work.close()  # type: ignore[attr-defined]
        if stop.signum:
            raise Interrupted(stop.signum)
    return progress


class _Job(NamedTuple):
    """What a worker needs besides cells."""

    study: Study
    path: list[str]


class _Event(NamedTuple):
    kind: str  # "started", "result", "error", "death"
    group: list[Cell]
    result: dict[str, Any]
    exact: bool = True  # of a death: whether it was the first cell of the group that was at work


def _take(
    event: _Event, pending: deque[list[Cell]], deaths: dict[str, int], store: Store, progress: Progress
) -> None:
    """Record one event; what is left of a dead worker's group is queued again."""
    if event.kind == "started":
        progress.n_running += 1
    elif event.kind == "result":
        try:
            store.write(event.group[0].content(), event.result["result"], event.result["env"])
        except (TypeError, ValueError) as error:  # not a dict of finite numbers, texts and lists
            _give_up(event.group[0], f"its result cannot be stored: {error}", store, progress)
        else:
            progress.n_done += 1
    elif event.kind == "error":
        _give_up(event.group[0], event.result["reason"], store, progress)
    elif event.kind == "finished":
        progress.n_running -= 1
    elif event.kind == "death":
        progress.n_running -= 1
        if not event.exact and len(event.group) > 1:
            pending.extend([cell] for cell in event.group)
            return
        first, *rest = event.group
        key = key_of(first.content())
        deaths[key] += 1
        if deaths[key] < MAX_DEATHS:
            pending.append(event.group)
            return
        _give_up(first, f"{event.result['reason']}, {MAX_DEATHS} times", store, progress)
        if rest:
            pending.append(rest)


def _give_up(cell: Cell, reason: str, store: Store, progress: Progress) -> None:
    store.fail(cell.content(), reason)
    progress.failed.append((cell, reason))


def work_out(study: Study, cells: list[Cell]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Results of cells that share a first fit, one by one: ("result", ...) or ("error", why)."""
    task: Any = None
    for cell in cells:
        start, cpu_start = time.perf_counter(), time.process_time()
        try:
            task = task or study.task(cell)
            task.cell = cell  # of the same group: data, labels and first fit are the same
            fitted = study.methods[cell.method].run(task, **cell.options)
            result = study.measure(task, fitted)
        except MemoryError:
            raise
        except Exception as error:
            yield "error", {"reason": f"{type(error).__name__}: {error}"}
        else:
            seconds = {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu_start}
            yield "result", {"result": result, "env": {**_environment(), **seconds}}


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


# -- Signals -----------------------------------------------------------------------------------------------


class _Stop:
    """Whether a signal asked to stop, and a queue that wakes whoever waits."""

    def __init__(self) -> None:
        self.signum = 0
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()  # its put may be called in a signal handler

    def __call__(self, signum: int, frame: Any) -> None:
        self.signum = signum
        self.inbox.put(None)


@contextmanager
def _stop_on_signals() -> Iterator[_Stop]:
    stop = _Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    previous = {signum: signal.signal(signum, stop) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


# -- Processes ---------------------------------------------------------------------------------------------


class _Worker:
    """A process that gets groups of cells through its standard input and answers on its standard output."""

    def __init__(self, job: bytes, inbox: queue.SimpleQueue[Any]) -> None:
        threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as r; r._serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **threads},
        )
        self.group: list[Cell] = []
        self.ready = False
        self.listener = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
        self.listener.start()
        self._send(job)

    def give(self, group: list[Cell]) -> None:
        self.group = list(group)
        self._send(pickle.dumps(group))

    def _send(self, message: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died: its listener says so
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()

    def _listen(self, inbox: queue.SimpleQueue[Any]) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as answers, suppress(Exception):  # end of file, or of half a message
            while True:
                inbox.put((self, pickle.load(answers)))
        self.process.wait()
        inbox.put((self, None))

    def why_dead(self) -> str:
        code = self.process.wait()
        if code == _OUT_OF_MEMORY:
            return "out of memory (MemoryError)"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        said = f" ({lines[-1]})" if lines else ""
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"its worker was {how}{said}" if code < 0 else f"its worker {how}{said}"

    def close(self, patience: float = 1.0) -> None:
        """Closing its input ends it, whatever it is at; then it is killed."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.listener.join()
        self.errors.close()


def _on_processes(job: bytes, pending: deque[list[Cell]], jobs: int, stop: _Stop) -> Iterator[_Event]:
    workers: list[_Worker] = []
    idle: list[_Worker] = []
    try:
        while not stop.signum:
            while pending and (idle or len(workers) < jobs):
                if not idle:
                    idle.append(_Worker(job, stop.inbox))
                    workers.append(idle[-1])
                worker = idle.pop()
                worker.give(pending.popleft())
                yield _Event("started", worker.group, {})
            if len(idle) == len(workers):
                return
            message = stop.inbox.get()
            if message is None or stop.signum:
                return
            worker, answer = message
            if answer is None:
                workers.remove(worker)
                reason = worker.why_dead()
                worker.close()
                if not worker.ready:
                    raise CannotRunError(f"No worker could be started: {reason}.")
                yield _Event("death", worker.group, {"reason": reason})
            elif answer == "ready":
                worker.ready = True
            else:
                kind, result = answer
                yield _Event(kind, worker.group[:1], result)
                worker.group = worker.group[1:]
                if not worker.group:
                    idle.append(worker)
                    yield _Event("finished", [], {})
    finally:
        for worker in workers:  # all at once, not one patience after the other
            with suppress(OSError):
                worker.process.stdin.close()  # type: ignore[union-attr]
        for worker in workers:
            worker.close()


def _serve() -> None:
    """The worker's side."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed goes to the errors
    orders: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        try:
            while True:
                orders.put(pickle.load(sys.stdin.buffer))
        except Exception:
            os._exit(0)  # the parent closed the pipe, or is gone: no orphans

    def answer(message: Any) -> None:
        try:
            pickle.dump(message, answers)
            answers.flush()
        except OSError:
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    job: _Job = pickle.loads(orders.get())
    answer("ready")
    while True:
        try:
            with threadpool_limits(1):
                for message in work_out(job.study, pickle.loads(orders.get())):
                    answer(message)
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)


# -- Dask --------------------------------------------------------------------------------------------------


def _work_out_on_dask(job: bytes, cells: list[Cell]) -> list[tuple[str, dict[str, Any]]]:
    with threadpool_limits(1):
        return list(work_out(pickle.loads(job).study, cells))


def _on_dask(
    job: bytes, pending: deque[list[Cell]], jobs: int, address: str | None, stop: _Stop
) -> Iterator[_Event]:
    try:
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
    except ImportError as error:
        raise CannotRunError("The Dask engine needs `pip install chary[dask]`.") from error
    # Deaths are counted here, as for processes; a scheduler at an address keeps its own patience.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        _client(distributed, jobs, address) as client,
    ):
        futures: dict[Any, list[Cell]] = {}
        while (pending or futures) and not stop.signum:
            while pending:
                group = pending.popleft()
                futures[client.submit(_work_out_on_dask, job, group, pure=False)] = group
                yield _Event("started", group, {})
            try:
                done = distributed.wait(list(futures), timeout=0.2, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                continue
            for future in done:
                yield from _events_of(future, futures.pop(future), distributed)
        client.cancel(list(futures))


def _events_of(future: Any, group: list[Cell], distributed: Any) -> Iterator[_Event]:
    error = future.exception()
    if isinstance(error, (distributed.KilledWorker, MemoryError)):
        reason = "out of memory (MemoryError)" if isinstance(error, MemoryError) else "its worker died"
        yield _Event("death", group, {"reason": reason}, exact=False)
        return
    if error is not None:
        for cell in group:
            yield _Event("error", [cell], {"reason": f"{type(error).__name__}: {error}"})
    else:
        for cell, (kind, result) in zip(group, future.result(), strict=True):
            yield _Event(kind, [cell], result)
    yield _Event("finished", [], {})


@contextmanager
def _client(distributed: Any, jobs: int, address: str | None) -> Iterator[Any]:
    if address:
        with distributed.Client(address) as client:
            yield client
        return
    # Without an address of its own the page of an older Dask is open to other machines.
    options: dict[str, Any] = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    options["worker_dashboard_address"] = "127.0.0.1:0"
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client
