"""What was learned last, and the one thread in the background that learns more.

Everything long is done there; what it found is handed over under the lock of the pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Condition, RLock, Thread, current_thread
from time import monotonic
from typing import Any, NamedTuple

from chary.labelling import LabeledTable
from chary.options import Options
from chary.report.summary import summarize_diagnosis
from chary.review.doubt import Doubt
from chary.review.files import page_sentence
from chary.review.jobs import Job, LabelJob, Progress

Task = Callable[[Progress], None]


class Given(NamedTuple):
    """What there is to learn from."""

    options: Options  # with the sheets that may be looked at
    live: bool  # whether an interval is shown while a person answers
    key: str  # changes with anything that the labels hang on
    key_before: str  # the same but for the audit


class Learning:
    """What was learned last: the diagnosis, the labels or the judgement, and what they are made of."""

    def __init__(self, job: Job, lock: RLock, given: Callable[[], Given], write: Callable[[], object]) -> None:
        self.job, self.lock, self.given, self.write = job, lock, given, write
        self.background = Background()
        self.version = 0
        self.result: Any = None  # LabeledTable or JudgedTable
        self.made_of = ""  # the key of the result
        self.truth: dict[str, Any] | None = None
        self.doubt: Doubt | None = None
        self.diagnosis: dict[str, Any] | None = None
        self._diagnosed: object = None  # the kinds of columns that it is of
        self._before: tuple[str, LabeledTable] | None = None  # the model of the given labels alone, and its key

    @property
    def before(self) -> LabeledTable | None:
        """What the model of the given labels alone says, if it is there and of the present settings."""
        return self._before[1] if self._before is not None and self._before[0] == self.given().key_before else None

    def start(self) -> None:
        """Learn from all that is given; what is being learned is let go."""
        self.version += 1
        self.background.start(self._learn)

    def allow(self, error: float | None) -> None:
        """Another error is allowed: no label changes, but which can be accepted; files are written again."""
        self.version += 1
        if self.job.kind == "judge":
            self.start()
            return
        if self.result is not None and self.result.audit is not None:
            self.result = self.result.at_error(error)
            self.doubt = Doubt(self.result)
        if self.result is not None and not self.background.view()["running"]:
            self.background.start(self._files)

    def _learn(self, progress: Progress) -> None:
        with self.lock:
            options, live, key, key_before = self.given()
            wants_before = live and self.before is None
        if isinstance(self.job, LabelJob):
            if self._diagnosed != options.kinds:
                summary = summarize_diagnosis(self.job.diagnose(options, progress))
                with self.lock:
                    self._diagnosed, self.diagnosis = options.kinds, summary
                    self.version += 1
            if options.audit is None or wants_before:
                alone = self.job.run(replace(options, audit=None, error=None), progress)
                self._adopt(progress, alone, key_before, None)
                with self.lock:
                    self._before = key_before, alone
        if options.audit is not None:
            result: Any = self.job.run(options, progress)
            progress("Weighing what can be accepted")
            self._adopt(progress, result, key, self.job.truth(result, options.checked is not None))
        if self.job.kind == "label" or options.audit is not None:
            self._files(progress)

    def _adopt(self, progress: Progress, result: Any, key: str, truth: dict[str, Any] | None) -> None:
        """Show this from now on, unless other work was asked for."""
        progress("Looking at the labels")
        with self.lock:
            if isinstance(result, LabeledTable):
                if result.audit is not None:
                    result = result.at_error(self.given().options.error)  # it may have been chosen meanwhile
                self.doubt = Doubt(result)
            self.result, self.made_of, self.truth = result, key, truth
            self.version += 1

    def _files(self, progress: Progress) -> None:
        progress("Writing the files")
        self.write()


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
