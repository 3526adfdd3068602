"""Work in a thread behind the pages; a new task replaces the task at work."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from typing import TypedDict

from chary.report import Pace, Progress
from chary.review.errors import page_sentence


class Work(TypedDict):
    """What a page shows of the work in the background."""

    running: bool
    step: str
    share: float  # how much of the work is done, from 0 to 1
    left: str  # share and time left, in words
    error: str  # why the latest work failed; empty: it did not


class Superseded(Exception):  # noqa: N818 - no error
    """A newer task was started, so the result of this task is not wanted any more."""


class Background:
    """A thread that does the latest task; a newer task ends the older one.

    A task is a function of ``progress``, which it calls at the beginning of each of its steps. Once
    a newer task was started, ``progress`` raises ``Superseded``, which ends the older task. A task
    returns nothing: it stores its result itself.
    """

    def __init__(self) -> None:
        self._lock = Lock()  # guards the fields below
        self._turn = Lock()  # held by the task that is running: one at a time
        self._ticket = 0  # the number of the latest task
        self._thread: Thread | None = None
        self.running = False
        self._step = ""
        self._error = ""
        self._pace = Pace()

    def start(self, task: Callable[[Progress], None]) -> None:
        """Do a task as soon as the running task has ended, which happens at its next step."""
        with self._lock:
            self._ticket += 1
            self.running = True
            self._step = "Waiting"
            self._error = ""
            self._pace = Pace()
            self._thread = Thread(target=self._work, args=(task, self._ticket), daemon=True)
            self._thread.start()

    def view(self) -> Work:
        """Return what a page shows."""
        with self._lock:
            return {
                "running": self.running,
                "step": self._step,
                "share": self._pace.share,
                "left": self._pace.words,
                "error": self._error,
            }

    def close(self, patience: float = 5.0) -> None:
        """End the running task at its next step; wait for that, at most ``patience`` seconds.

        A thread that is in compiled code when Python ends can crash the process, which would spoil
        its exit code.
        """
        with self._lock:
            self._ticket += 1
        if self._thread is not None:
            self._thread.join(patience)

    def _work(self, task: Callable[[Progress], None], ticket: int) -> None:
        """Do a task when its turn comes, unless a newer task was started.

        The ``ticket`` is the number of the task. The task is the newest one as long as no other
        ticket was given out.
        """

        def progress(step: str) -> None:
            with self._lock:
                if ticket != self._ticket:
                    raise Superseded
                self._pace.step(step)
                self._step = step

        error = ""
        with self._turn:
            try:
                progress("Waiting")
                task(progress)
            except Superseded:
                return
            except Exception as problem:
                error = page_sentence(problem)
            with self._lock:
                if ticket == self._ticket:
                    self.running = False
                    self._error = error
