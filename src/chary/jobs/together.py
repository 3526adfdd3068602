"""Files to label in; what happens to each out, from threads of this process.

They start at once, where a process would import scikit-learn anew; they share memory, and one end.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from chary.jobs.predictor import Predictor
from chary.jobs.streamed import FileTask, label_file
from chary.jobs.workers import Event
from chary.tables import TableError


def on_threads(
    predictor: Predictor, tasks: Sequence[FileTask], jobs: int, report: Callable[[Event], None]
) -> None:
    """Have files labelled by so many threads; events are reported by the one that calls."""
    pending = deque(replace(task, together=jobs) for task in tasks)
    inbox: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    stopped = threading.Event()
    threads = [
        threading.Thread(target=_work, args=(predictor, pending, inbox, stopped), daemon=True) for _ in range(jobs)
    ]
    for thread in threads:
        thread.start()
    busy = len(threads)
    try:
        while busy:
            what = inbox.get()
            if isinstance(what, BaseException):
                raise what
            if what is None:
                busy -= 1
            else:
                report(what)
    finally:
        stopped.set()  # after an interruption: each takes back what it has not finished
        for thread in threads:
            thread.join()


def here(
    predictor: Predictor,
    task: FileTask,
    report: Callable[[Event], None],
    heed: Callable[[], None] = lambda: None,
) -> None:
    """Label one file, by the thread that calls; ``heed`` may raise after any block."""

    def seen(rows: int, share: float) -> None:
        heed()
        report(Event("rows", task, rows, share))

    try:
        labelled = label_file(predictor, task, seen)
    except (TableError, OSError) as error:
        report(Event("failed", task, error=error))
    else:
        report(Event("done", task, labelled=labelled))


class _StoppedError(Exception):
    """Nobody waits for the file any more."""


def _work(
    predictor: Predictor,
    pending: deque[FileTask],
    inbox: queue.SimpleQueue[Event | BaseException | None],
    stopped: threading.Event,
) -> None:
    def heed() -> None:
        if stopped.is_set():
            raise _StoppedError

    try:
        while pending and not stopped.is_set():
            try:
                task = pending.popleft()
            except IndexError:  # another was quicker
                break
            here(predictor, task, inbox.put, heed)
    except BaseException as error:
        inbox.put(error)
    inbox.put(None)
