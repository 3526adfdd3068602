"""Work that takes long in; how far it is, or why it failed in one sentence, out, while a person goes on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Thread, current_thread
from time import monotonic
from typing import Any

from chary.review.words import page_sentence

Progress = Callable[[str], None]
Task = Callable[[Progress], None]


class Superseded(Exception):  # noqa: N818 - no error
    """Other work was asked for; this is not wanted any more."""


class Background:
    """One thread that does the work asked for last.

    A task is called with ``progress``, to be told each step as it begins. When other work was asked for meanwhile
    that raises ``Superseded`` and the task ends. What a task found it hands over by itself.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._pending: Task | None = None
        self._ticket = 0  # of the work asked for last
        self._thread: Thread | None = None
        self._running = False
        self._step, self._since, self._error = "", 0.0, ""
        self._closed = False

    def start(self, task: Task) -> None:
        """Do this as soon as can be, in place of whatever is being done."""
        with self._changed:
            self._pending, self._ticket, self._error = task, self._ticket + 1, ""
            self._running, self._step, self._since = True, "Waiting", monotonic()
            if self._thread is None:
                self._thread = Thread(target=self._work, name="chary-review", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def view(self) -> dict[str, Any]:
        """Whether work is running, which step, for how many seconds, and what went wrong last."""
        with self._changed:
            seconds = monotonic() - self._since if self._running else 0.0
            step = self._step if self._running else ""
            return {
                "running": self._running,
                "step": step,
                "seconds": round(seconds, 1),
                "error": self._error or None,
            }

    def wait(self, seconds: float) -> bool:
        """Until nothing is left to do; whether that is so by then."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, seconds)

    def close(self, patience: float = 5.0) -> None:
        """Begin nothing more; what is at work ends at its next step, for which so many seconds are waited.

        A thread that is in compiled code when Python ends can take the process down with it, exit code and all.
        """
        with self._changed:
            self._closed, self._pending, self._ticket = True, None, self._ticket + 1
            self._changed.notify_all()
        if self._thread is not None and self._thread is not current_thread():
            self._thread.join(patience)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending is not None or self._closed)
                if self._pending is None:
                    return
                task, self._pending, ticket = self._pending, None, self._ticket
            error = ""
            try:
                task(lambda step, ticket=ticket: self._progress(step, ticket))  # type: ignore[misc]
            except Superseded:
                continue
            except Exception as problem:
                error = page_sentence(problem)
            with self._changed:
                if ticket == self._ticket:
                    self._running, self._error = False, error
                    self._changed.notify_all()

    def _progress(self, step: str, ticket: int) -> None:
        with self._changed:
            if ticket != self._ticket:
                raise Superseded
            if step != self._step:
                self._step, self._since = step, monotonic()
