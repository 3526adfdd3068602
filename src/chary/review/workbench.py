"""The state behind the pages: the table, the answers, what was chosen, and the last result.

Several threads use it at once. A lock is held while something is looked up or written down. What
takes long, learning and writing the results, is done in the background without the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock
from typing import Any, NamedTuple

from chary._words import shown
from chary.audit import Filling
from chary.labelling import DiagnosedTable, LabeledTable
from chary.options import JudgeOptions, LabelOptions, ReviewOptions
from chary.report import DiagnosedSummary, Progress, summarize_diagnosis
from chary.review.background import Background
from chary.review.errors import KINDS, ConflictError
from chary.review.files import Outputs
from chary.review.jobs import CHOOSE, LABEL, ChooseJob, Job, job_of
from chary.review.sheets import Sheets
from chary.tables import (
    TableError,
    UndecidedError,
    column_named,
    flattened,
    open_source,
    require_writable,
    state_of,
)

# The options that say how cells of one column are read, as in "age=99".
READINGS = ("missing", "dates")
# An audit needs at least this many answers.
FEWEST_ANSWERS = 2

Query = Mapping[str, str]  # what the address of a request says
Body = Mapping[str, Any]  # what a request sends
# Answers a request: takes the workbench and query or body, returns what to show.
Page = Callable[["Workbench", Any], Mapping[str, Any]]


def begin(paths: Sequence[str], options: ReviewOptions) -> Workbench:
    """Read a table, and prepare its pages, with the sheets of answers that are beside it."""
    if "-" in paths:
        raise TableError(
            "A page needs a table that it can read again; save standard input in a file first."
        )
    return Workbench(_read_job(paths, options))


def _read_job(paths: Sequence[str], options: ReviewOptions) -> Job:
    """Read a table, and find out what there is to do with it."""
    source = open_source(list(paths), reserved=(), **options.reading)
    # Labels under test may be inside of records, as in the output of language models.
    if options.labels:
        source = flattened(source)
    table = source.read()
    require_writable(table)
    for column in kinds_of(options):
        column_named(table, column)
    try:
        return job_of(table, options)
    except UndecidedError:  # a person decides on the page which values are labels
        return ChooseJob(table, options)


class Inputs(NamedTuple):
    """What a result is learned from."""

    options: LabelOptions | JudgeOptions  # with the sheets to learn from
    content: object  # what a result depends on: equal contents give equal results
    is_live: bool  # whether there is an audit whose interval is shown all along


class Workbench:
    """The state behind the pages; nothing is learned before ``learn``."""

    def __init__(self, job: Job) -> None:
        self.lock = RLock()
        self._writing = Lock()  # held while results are written
        self.background = Background()
        # The files of the table, each with its state (size, time, ...) when it was read.
        self._states = {}
        for file in job.table.files:
            path = Path(file).absolute()
            self._states[path] = state_of(path)
        self.version = 0  # changes with anything that a page shows
        self._start_job(job)

    def _start_job(self, job: Job) -> None:
        """Begin a job, with nothing learned."""
        self.job: Any = job  # a ``ChooseJob`` has the page Start only
        self.paths = job.paths
        self.sheets = Sheets(job)
        self.outputs = Outputs(job.paths._asdict())
        self.result: Any = None  # LabeledTable or JudgedTable
        self.learned_from: object = None  # the content of the result's inputs
        # Labels learned without the audit: a live interval says how many of them are right.
        self.unaudited: LabeledTable | None = None
        self.diagnosis: DiagnosedSummary | None = None
        self._views: dict[str, Any] = {}  # what pages computed from the result
        self.version += 1

    # ------------------------------------------------------------ what was given

    @property
    def options(self) -> ReviewOptions:
        """What was typed, and chosen on the page."""
        return self.job.options

    @property
    def notices(self) -> list[str]:
        """What a person should know, a sentence each."""
        notices = self.sheets.notices
        if self._changed_file:
            notices.append(self._changed_file)
        return notices

    def inputs(self, audited: bool = True) -> Inputs:
        """Return what there is to learn from now.

        The audit is an input once its result may be seen: when it is complete, or from the start if
        it is live. Without ``audited`` it never is.
        """
        options = replace(self.job.command_options, error=None)
        checked = self.sheets.checked_rows()
        audit = self._audit_to_use() if audited else None

        # A result depends on the answers themselves, and not on the paths of their sheets. It does
        # not depend on the error, which decides only about the marks.
        audit_answers = [] if audit is None else audit.answers
        content = (options, checked, audit_answers)

        # The options of the command name the sheets instead.
        if checked:
            options = replace(options, checked=self.paths.check)
        if audit is None:
            return Inputs(options, content, is_live=False)
        error = self.options.error if self.job.has_confidence else None
        options = replace(options, audit=self.paths.audit, error=error)
        return Inputs(options, content, is_live=audit.origin.stopped_when_enough)

    def _audit_to_use(self) -> Filling | None:
        """Return the audit; None if its result may not be seen yet."""
        filling = self.sheets.audit
        if filling is None or filling.n_answered < FEWEST_ANSWERS:
            return None
        # A person who saw a planned interval early might stop because of it, which makes it wrong.
        if filling.n_left and not filling.origin.stopped_when_enough:
            return None
        return filling

    @property
    def is_stale(self) -> bool:
        """Whether answers or settings are newer than the result."""
        return self.result is not None and self.inputs().content != self.learned_from

    def choose_labels(self, column: str, **changes: Any) -> None:
        """Choose the column that holds the labels, and learn."""
        # The kind that was chosen for the column, such as "leave out", does not hold for labels.
        options = with_kind(self.options, column, None)
        self._start_job(job_of(self.job.table, replace(options, **changes)))
        self.learn()

    def choose_same(self, label: str, meant: str | None) -> None:
        """Count a label as the class that is meant, or with None as a class of its own again."""
        same = dict(self.options.same or {})
        same.pop(label, None)
        if meant is not None:
            same[label] = meant
        self._start_job(job_of(self.job.table, replace(self.options, same=same or None)))
        self.learn()

    def choose_kind(self, column: Any, kind: Any) -> None:
        """Choose the kind of a column, or with None have it detected; learn again."""
        if column not in self.job.columns:
            raise TableError(f"The table has no column {shown(column)}.")
        if kind not in (None, *KINDS):
            raise TableError(f"A column is one of {', '.join(KINDS)}, and not {shown(kind)}.")
        self.job.options = with_kind(self.options, column, kind)
        self.unaudited = None
        self.learn()

    def choose_reading(self, column: Any, option: str, value: str, chosen: bool) -> None:
        """Choose how cells of a column are read, or take the choice back; learn again."""
        if column not in self.job.columns:
            raise TableError(f"The table has no column {shown(column)}.")
        setting = f"{column}={value}"
        settings = [text for text in getattr(self.options, option) if text != setting]
        if chosen:
            settings.append(setting)
        changes: dict[str, Any] = {option: tuple(settings)}
        self.job.options = replace(self.options, **changes)
        self.unaudited = None
        self.learn()

    def choose_header_row(self, row: int) -> None:
        """Choose the row of the column names, read the table again, and learn."""
        options = replace(self.options, header_row=row)
        self._start_job(_read_job(self.job.files, options))
        self.learn()

    def choose_error(self, error: float | None) -> None:
        """Choose the error that is allowed among accepted labels; the labels stay."""
        self.job.options = replace(self.options, error=error)
        self.version += 1
        if not isinstance(self.result, LabeledTable):
            self.learn()
            return
        # Only the marks and the files change. A task that is running writes the files at its end.
        self._apply_error()
        if not self.background.running:
            self.background.start(self._write)

    def require_unchanged(self) -> None:
        """Refuse to go on if a file of the table was changed."""
        if self._changed_file:
            raise ConflictError(self._changed_file)

    @property
    def _changed_file(self) -> str:
        """A sentence on a file of the table that was changed; empty: none was."""
        for path, state in self._states.items():
            if state_of(path) != state:
                return (
                    f"{path.name} was changed since it was read; nothing more is written until "
                    "this page is started again."
                )
        return ""

    # ------------------------------------------------------------ what is learned

    def learn(self) -> None:
        """Learn from all inputs in the background; this replaces the task at work."""
        self.version += 1
        if self.job.kind != CHOOSE:
            self.background.start(self._learn_and_write)

    def _learn_and_write(self, progress: Progress) -> None:
        """Learn from the present inputs, and write the result.

        The lock is held only to look up the inputs and to store the result, not while learning.
        """
        with self.lock:
            job = self.job
            inputs = self.inputs()
            runs = [inputs]  # what to learn from, one result after the other
            # A live interval also needs labels that were learned without the answers.
            if inputs.is_live and self.unaudited is None:
                runs = [self.inputs(audited=False), inputs]

        # The verdict on bias is shown while the model still learns.
        def diagnosed(diagnosis: DiagnosedTable) -> None:
            summary = summarize_diagnosis(diagnosis)
            with self.lock:
                progress("Learning")
                self.diagnosis = summary
                self.version += 1

        for options, content, _ in runs:
            # Labels cannot be judged without an audit.
            if job.kind == LABEL or options.audit is not None:
                result = job.run(options, progress, diagnosed)
                self._adopt(progress, result, content)
        if self.result is not None:
            self._write(progress)

    def _adopt(self, progress: Progress, result: Any, content: object) -> None:
        """Show a result from now on, unless a newer task was started."""
        with self.lock:
            progress("Looking at the labels")  # raises Superseded if there is a newer task
            self.result = result
            self.learned_from = content
            self._views = {}
            if isinstance(result, LabeledTable) and result.audit is None:
                self.unaudited = result
            self._apply_error()
            self.version += 1

    def _apply_error(self) -> None:
        """Mark the labels that can be accepted at the error chosen now."""
        if isinstance(self.result, LabeledTable) and self.result.audit is not None:
            self.result = self.result.at_error(self.options.error)
            self._views = {}

    def view(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what ``make`` computes from the result; it is called once for each result."""
        if name not in self._views:
            self._views[name] = make()
        return self._views[name]

    # ------------------------------------------------------------ what is written

    @property
    def files_content(self) -> object:
        """What the files depend on, to tell whether they are out of date."""
        return self.learned_from, self.options.error

    def write_files(self, overwrite: bool = False) -> list[str]:
        """Write the files that may be written; return the names of the others.

        Meanwhile the pages still take answers, as the lock is free.
        """
        with self._writing:
            with self.lock:
                writers = self.job.writers(self.result)
                content = self.files_content
                outputs = self.outputs
            if self._changed_file:
                return []
            return outputs.write(writers, content, overwrite)

    def _write(self, progress: Progress) -> None:
        """Write the files, as a task in the background."""
        progress("Writing the files")
        self.write_files()

    def close(self) -> None:
        """End the work at hand, and wait until the files that are being written are whole."""
        self.background.close()
        with self._writing:
            pass


def kinds_of(options: ReviewOptions) -> dict[str, str]:
    """Return the kind that was chosen for each column, if any."""
    kind_of_column = {}
    for kind, option in KINDS.items():
        for column in getattr(options, option):
            kind_of_column[column] = kind
    return kind_of_column


def with_kind(options: ReviewOptions, column: str, kind: str | None) -> ReviewOptions:
    """Return options that give a column one kind, or none."""
    # Each kind has an option that lists its columns: the column is on the list of ``kind`` alone.
    columns_by_option: dict[str, Any] = {}
    for option_kind, option in KINDS.items():
        columns = [other for other in getattr(options, option) if other != column]
        if option_kind == kind:
            columns.append(column)
        columns_by_option[option] = tuple(columns)
    return replace(options, **columns_by_option)
