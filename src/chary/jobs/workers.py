"""Files to label in; what happens to each out, from processes of this machine.

A worker is a process that gets files by its standard input and answers by its standard output, in JSON lines.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from chary._files import sweep
from chary._words import Parameter
from chary.jobs.predictor import Predictor
from chary.jobs.streamed import FileTask, Labelled, label_file
from chary.tables import TableError

MOST_DEATHS = 3
_OFTEN = 0.25  # seconds between two words of a worker
_PATIENCE = 3.0


class Event(NamedTuple):
    """What happened to a file: ``rows`` more are done, it is ``done``, it ``failed``, or is begun ``again``."""

    kind: str
    task: FileTask
    rows: int = 0
    share: float = 0.0  # of the file
    labelled: Labelled | None = None
    error: Exception | None = None


class Job(NamedTuple):
    """What a worker needs besides files."""

    model: str
    digest: str
    settings: dict[str, Any]  # of the predictor

    def predictor(self) -> Predictor:
        """The predictor, if the model file still is the one that was meant."""
        return _predictor(self.model, self.digest, json.dumps(self.settings))


@lru_cache(maxsize=2)
def _predictor(model: str, digest: str, settings: str) -> Predictor:
    found = Predictor(Path(model).read_bytes(), **json.loads(settings))
    if found.digest != digest:
        raise TableError(f"{model} changed during the run; begin again with the one that is meant.")
    return found


def on_processes(job: Job, tasks: Sequence[FileTask], jobs: int, report: Callable[[Event], None]) -> None:
    """Have files labelled by so many processes, each with its share of the processor's cores."""
    pending, deaths = deque(tasks), dict.fromkeys((task.output for task in tasks), 0)
    inbox: queue.SimpleQueue[tuple[_Worker, dict[str, Any] | None]] = queue.SimpleQueue()
    workers: list[_Worker] = []
    try:
        while pending or any(worker.task for worker in workers):
            while pending and (free := _free(workers, jobs, job, inbox)):
                free.give(pending.popleft())
            worker, answer = inbox.get()
            if answer is not None:
                _pass_on(worker, answer, report)
                continue
            workers.remove(worker)
            why = worker.why_dead()
            if worker.task is not None:
                _begin_again(worker.task, why, pending, deaths, report)
    finally:
        for worker in workers:
            worker.leave()
        for worker in workers:
            worker.close()
        for folder in {Path(task.output).parent for task in tasks}:
            sweep(folder)


def _free(workers: list[_Worker], jobs: int, job: Job, inbox: queue.SimpleQueue[Any]) -> _Worker | None:
    """A worker with nothing to do, a new one if there may be more."""
    if idle := [worker for worker in workers if worker.task is None]:
        return idle[0]
    if len(workers) >= jobs:
        return None
    workers.append(_Worker(job, jobs, inbox))
    return workers[-1]


def _pass_on(worker: _Worker, answer: dict[str, Any], report: Callable[[Event], None]) -> None:
    task = worker.task
    if task is None:
        return
    if answer["kind"] == "rows":
        report(Event("rows", task, answer["rows"], answer["share"]))
        return
    worker.task = None
    if answer["kind"] == "done":
        report(
            Event(
                "done",
                task,
                labelled=Labelled(**{**answer["labelled"], "notes": tuple(answer["labelled"]["notes"])}),
            )
        )
    else:
        report(Event("failed", task, error=restored(answer["error"])))


def _begin_again(
    task: FileTask, why: str, pending: deque[FileTask], deaths: dict[str, int], report: Callable[[Event], None]
) -> None:
    deaths[task.output] += 1
    if deaths[task.output] < MOST_DEATHS:
        pending.append(task)
        report(Event("again", task))
        return
    report(Event("failed", task, error=TableError(f"{task.source}: {why}, {MOST_DEATHS} times.")))


def packed(error: Exception) -> list[Any]:
    """An error as plain data; the parameters that it speaks of stay such."""
    parts = error.args if isinstance(error, TableError) else (str(error),)
    return [list(part) if isinstance(part, Parameter) else str(part) for part in parts]


def restored(parts: list[Any]) -> TableError:
    """The error that plain data stand for."""
    return TableError(*(Parameter(*part) if isinstance(part, list) else part for part in parts))


class _Worker:
    """A process, seen from the one that started it."""

    def __init__(self, job: Job, jobs: int, inbox: queue.SimpleQueue[Any]) -> None:
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        cores = os.cpu_count() or 1
        limits = {**dict.fromkeys(names, "1"), "POLARS_MAX_THREADS": str(max(1, cores // jobs))}
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as w; w.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **limits},
        )
        self.task: FileTask | None = None
        self.listener = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
        self.listener.start()
        self._send(job._asdict())

    def give(self, task: FileTask) -> None:
        self.task = task
        self._send(asdict(task))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died: its listener says so
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def _listen(self, inbox: queue.SimpleQueue[Any]) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError):  # half a message of one that died
            for line in self.process.stdout:
                inbox.put((self, json.loads(line)))
        self.process.wait()
        inbox.put((self, None))

    def why_dead(self) -> str:
        code = self.process.wait()
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        self.close()
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"the process that labelled it {how}{f' ({lines[-1][:200]})' if lines else ''}"

    def leave(self) -> None:
        """Have it end, and take back what it has not finished."""
        with suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]

    def close(self) -> None:
        self.leave()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.listener.join()
        self.process.stdout.close()  # type: ignore[union-attr]
        self.errors.close()


# ---------------------------------------------------------------- the worker's side


def serve() -> None:
    """Label the files that are named on the standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; who started it decides
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed goes to the errors
    orders: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        job = Job(**orders.get())
        signal.signal(signal.SIGINT, signal.default_int_handler)
        while True:
            _answer(job, FileTask(**orders.get()), answers)


def _answer(job: Job, task: FileTask, answers: IO[str]) -> None:
    said, rows = time.monotonic(), 0

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message) + "\n")
        answers.flush()

    def seen(more: int, share: float) -> None:
        nonlocal said, rows
        rows += more
        if time.monotonic() - said > _OFTEN:
            say({"kind": "rows", "rows": rows, "share": share})
            said, rows = time.monotonic(), 0

    try:
        labelled = label_file(job.predictor(), task, seen)
    except (TableError, OSError) as error:
        say({"kind": "failed", "error": packed(error)})
    else:
        say({"kind": "rows", "rows": rows, "share": 1.0})
        say({"kind": "done", "labelled": asdict(labelled)})


def _listen(orders: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Take orders; when nobody is left to give any, have the work stop and be undone."""
    with suppress(ValueError):
        for line in sys.stdin.buffer:
            orders.put(json.loads(line))
    _thread.interrupt_main()
    time.sleep(_PATIENCE)
    os._exit(0)
