"""The state behind the pages: the table, the sheets of answers, what was chosen, and what was learned last.

Several threads may ask for it at once: one lock is held while something is looked up or written
down. What takes long, learning and writing the results, is done in the background without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Lock, RLock, Thread
from typing import Any, NamedTuple

from chary._files import atomic_rewrite, atomic_write, sole_writer
from chary._words import Parameter, Step, shown
from chary.audit.filling import Filling
from chary.labelling import LabeledTable
from chary.options import JudgeOptions, LabelOptions, ReviewOptions
from chary.report import DiagnosedSummary, Pace, Progress, summarize_diagnosis
from chary.review import files
from chary.review.jobs import ChooseJob, Job, job_of
from chary.tables import TableError, open_source
from chary.tables.formats import require_writable
from chary.tables.formats.files import state_of
from chary.tables.source import flattened
from chary.tables.table import column_named
from chary.tables.target import UndecidedError

PLANNED, LIVE = "planned", "live"  # when the interval of an audit is shown
FEWEST = 2  # answers that an audit can be made of

# What a column can be taken for on the page, and the option that says so.
KINDS = {
    "number": "numeric",
    "category": "categorical",
    "text": "text",
    "identifier": "identifier",
    "leave out": "drop",
}
# Where on the page a parameter is chosen.
_PLACES = {"error": "the error on the page Truth"}
_PLACES |= {name: f"the kind “{kind}” on the page Start" for kind, name in KINDS.items()}

# What answers a request: given the workbench, and what the address or the body says; returns what
# to show.
Page = Callable[["Workbench", Mapping[str, Any]], Mapping[str, Any]]


def begin(paths: Sequence[str], options: ReviewOptions) -> Workbench:
    """Read a table, and go on with the sheets that lie beside it."""
    if "-" in paths:
        raise TableError(
            "A page needs a table that it can read again; save standard input in a file first."
        )
    source = open_source(list(paths), reserved=(), **options.reading)
    table = (flattened(source) if options.labels else source).read()
    require_writable(table)
    for column in kinds_of(options):
        column_named(table, column)
    try:
        return Workbench(job_of(table, options))
    except UndecidedError:  # which of them are labels is said on the page
        return Workbench(ChooseJob(table, options))


class Given(NamedTuple):
    """What there is to learn from."""

    options: LabelOptions | JudgeOptions  # with the sheets that may be looked at
    made_of: tuple[object, ...]  # what the labels depend on


class Workbench:
    """The state behind the pages; nothing is learned before ``learn``."""

    def __init__(self, job: Job) -> None:
        self.lock, self._writing, self.background = RLock(), Lock(), Background()
        self._read = {
            path: state_of(path) for path in (Path(file).absolute() for file in job.table.files)
        }
        self.version = 0  # changes with anything that a page shows
        self._take_up(job)

    def _take_up(self, job: Job) -> None:
        self.job: Any = job  # of a ChooseJob only the page Start is shown
        self.paths = files.paths_of(job.table, job.kind == "judge")
        self.sheets = Sheets(job, self.paths)
        self.outputs = files.Outputs(self.paths._asdict())
        self.result: Any = None  # LabeledTable or JudgedTable
        self.made_of: tuple[object, ...] = ()  # what the result depends on
        self.alone: LabeledTable | None = (
            None  # labels by the model of the given labels, for a live interval
        )
        self.diagnosis: DiagnosedSummary | None = None
        self._views: dict[str, Any] = {}  # what pages have worked out from the result
        self.version += 1

    # ------------------------------------------------------------ what was given

    @property
    def options(self) -> ReviewOptions:
        """What was typed, and chosen on the page."""
        found: ReviewOptions = self.job.options
        return found

    @property
    def rule(self) -> str:
        """When the interval of the audit is shown."""
        filling = self.sheets.audit
        return LIVE if filling is not None and filling.origin.stopped else PLANNED

    @property
    def notices(self) -> list[str]:
        """What a person should know, a sentence each."""
        return [*self.sheets.notices, *filter(None, [self._trouble])]

    def given(self, audited: bool = True) -> Given:
        """What there is to learn from: the audit once it may be looked at, complete or live."""
        filling, checked, options = self.sheets.audit, self.sheets.checked_rows(), self.options
        answers: tuple[str, ...] = ()
        if audited and filling is not None and filling.n_answered >= FEWEST:
            answers = () if self.rule == PLANNED and filling.n_left else tuple(filling.answers)
        plain = replace(options, error=None)
        with_sheets = self.job.options_with(
            self.paths.audit if answers else None,
            self.paths.check if checked else None,
            options.error if answers else None,
        )
        return Given(with_sheets, (plain, checked, answers))

    @property
    def is_stale(self) -> bool:
        """Whether answers or settings are newer than what was learned."""
        return self.result is not None and self.given().made_of != self.made_of

    def choose_labels(self, **chosen: Any) -> None:
        """Choose the column that holds the labels, and learn."""
        self._take_up(job_of(self.job.table, replace(self.options, **chosen)))
        self.learn()

    def choose_kind(self, column: Any, kind: Any) -> None:
        """Take a column for something else, or with None for what it looks like, and learn again."""
        if column not in self.job.columns:
            raise TableError(f"The table has no column {shown(column)}.")
        if kind not in (None, *KINDS):
            raise TableError(f"A column is one of {', '.join(KINDS)}, and not {shown(kind)}.")
        changes: dict[str, Any] = {}
        for one, name in KINDS.items():
            others = [other for other in getattr(self.options, name) if other != column]
            changes[name] = (*others, column) if one == kind else tuple(others)
        self.job.options = replace(self.options, **changes)
        self.alone = None
        self.learn()

    def choose_error(self, error: float | None) -> None:
        """Choose the error that is allowed among accepted labels; the labels stay."""
        self.job.options = replace(self.options, error=error)
        self.version += 1
        if not isinstance(self.result, LabeledTable):
            self.learn()
            return
        self._apply_error()
        if not self.background.running:
            self.background.start(self._write)

    def require_unchanged(self) -> None:
        """Refuse to go on with a table that is not the one that was read."""
        if self._trouble:
            raise ConflictError(self._trouble)

    @property
    def _trouble(self) -> str:
        name = next(
            (path.name for path, before in self._read.items() if state_of(path) != before), ""
        )
        return (
            name
            and f"{name} was changed since it was read; nothing more is written until this page is started again."
        )

    # ------------------------------------------------------------ what is learned

    def learn(self) -> None:
        """Learn from all that is given, in the background; what is being learned is let go."""
        self.version += 1
        if self.job.kind != "choose":
            self.background.start(self._learn)

    def _learn(self, progress: Progress) -> None:
        with self.lock:
            job, given = self.job, [self.given()]
            if self.rule == LIVE and self.alone is None and given[0].options.audit is not None:
                given.insert(0, self.given(audited=False))

        def diagnosed(diagnosis: Any) -> None:
            summary = summarize_diagnosis(diagnosis)
            with self.lock:
                progress("Learning")
                self.diagnosis = summary
                self.version += 1

        for options, made_of in given:
            if job.kind == "label" or options.audit is not None:
                self._adopt(progress, job.run(options, progress, diagnosed), made_of)
        if self.result is not None:
            self._write(progress)

    def _adopt(self, progress: Progress, result: Any, made_of: tuple[object, ...]) -> None:
        """Show this from now on, unless other work was asked for."""
        with self.lock:
            progress("Looking at the labels")
            self.result, self.made_of, self._views = result, made_of, {}
            if isinstance(result, LabeledTable) and result.audit is None:
                self.alone = result
            self._apply_error()
            self.version += 1

    def _apply_error(self) -> None:
        """Mark the labels that can be accepted at the error that is chosen now."""
        if isinstance(self.result, LabeledTable) and self.result.audit is not None:
            self.result, self._views = self.result.at_error(self.options.error), {}

    def view(self, name: str, make: Callable[[], Any]) -> Any:
        """What a page makes of the result, worked out once for each."""
        if name not in self._views:
            self._views[name] = make()
        return self._views[name]

    # ------------------------------------------------------------ what is written

    @property
    def files_made_of(self) -> tuple[object, ...]:
        """What the files depend on."""
        return (*self.made_of, self.options.error)

    def write_files(self, overwrite: bool = False) -> list[str]:
        """Write what may be written; returns the names of those that were not. Answers go on meanwhile."""
        with self._writing:
            with self.lock:
                job, result, made_of, outputs = (
                    self.job,
                    self.result,
                    self.files_made_of,
                    self.outputs,
                )
            return [] if self._trouble else outputs.write(job.writers(result), made_of, overwrite)

    def _write(self, progress: Progress) -> None:
        progress("Writing the files")
        self.write_files()

    def close(self) -> None:
        """Let what is being learned go; a file that is being written is written first."""
        self.background.close()
        with self._writing:
            pass


class Sheets:
    """The sheet of random rows and that of checked ones; when somebody changes them, they are read again."""

    def __init__(self, job: Any, paths: files.Paths) -> None:
        self.job, self.paths = job, paths
        self._open: dict[Path, Filling] = {}
        self._trouble: dict[Path, str] = {}

    @property
    def audit(self) -> Filling | None:
        """Random rows; None: none are drawn, or the file cannot be used, which ``notices`` say."""
        return self._quietly(self.paths.audit)

    @property
    def check(self) -> Filling | None:
        """Rows chosen for doubt."""
        return self._quietly(self.paths.check) if self.job.kind == "label" else None

    @property
    def notices(self) -> list[str]:
        """What a person should know of them, a sentence each."""
        return list(self._trouble.values())

    def read(self, path: Path) -> Filling | None:
        """A sheet as it is now; None: there is none. One that cannot be used is an error."""
        filling = self._open.pop(path, None)
        if not path.exists():
            return None
        if filling is None or filling.refresh():
            filling = filling or Filling(path)
            self.job.check_sheet(filling)
        self._open[path] = filling
        return filling

    def draw(self, k: int) -> None:
        """Draw random rows, or add to those that were drawn."""
        self.job.draw(self.paths.audit, k)
        self._open.pop(self.paths.audit, None)

    def to_check(self, row: int, guess: str) -> tuple[Filling, int]:
        """The sheet of checked rows with this one in it, by number from 0; and the row's place there."""
        path = self.paths.check
        with sole_writer(path):
            sheet = self.read(path)
            if sheet is None or sheet.place_of(row) is None:
                with atomic_write(path) if sheet is None else atomic_rewrite(path) as stream:
                    self.job.add_to_check(row, guess, sheet, stream)
            filling = self.read(path)
        place = None if filling is None else filling.place_of(row)
        if filling is None or place is None:
            raise ConflictError(f"{path.name} was just changed; try again.")
        return filling, place

    def audited_rows(self) -> set[int]:
        """Rows of the audit, answered or not, by number from 0: who labels them must not see an opinion."""
        filling = self.audit
        return set() if filling is None else {row.number for row in filling.rows}

    def checked_rows(self) -> dict[int, str]:
        """Answers to rows in doubt, by number from 0."""
        filling = self.check
        if filling is None:
            return {}
        pairs = zip(filling.rows, filling.answers, strict=True)
        return {row.number: answer for row, answer in pairs if answer}

    def _quietly(self, path: Path) -> Filling | None:
        try:
            filling = self.read(path)
        except (TableError, OSError) as error:
            self._trouble[path] = page_sentence(error)
            return None
        self._trouble.pop(path, None)
        return filling


def kinds_of(options: ReviewOptions) -> dict[str, str]:
    """By column what it was said to be, of ``KINDS``."""
    return {column: kind for kind, name in KINDS.items() for column in getattr(options, name)}


# ------------------------------------------------------------ what can go wrong


class ConflictError(TableError):
    """Something has changed meanwhile; the page is shown what it is now."""


class NotHereError(TableError):
    """There is no such thing in this mode, or not yet."""


def page_sentence(error: BaseException) -> str:
    """What an error says, for somebody who sees a page: no parameter of Python, no option.

    >>> page_sentence(TableError("There are too many columns; leave some out with ", Parameter("drop"), "."))
    'There are too many columns; leave some out with the kind “leave out” on the page Start.'
    >>> page_sentence(ZeroDivisionError("division by zero"))
    'A mistake in chary itself (ZeroDivisionError: division by zero); please report it.'
    """
    if isinstance(error, MemoryError):
        return "The table does not fit into memory; leave columns out on the page Start."
    if not isinstance(error, (ValueError, OSError)):
        return f"A mistake in chary itself ({type(error).__name__}: {error}); please report it."
    has_parts = any(isinstance(part, Parameter | Step) for part in error.args)
    return "".join(map(_in_words, error.args)) if has_parts else str(error)


def _in_words(part: object) -> str:
    if not isinstance(part, Parameter):
        return str(part)  # a step is in plain words already
    place = _PLACES.get(
        part.name, f"the setting “{part.name.replace('_', ' ')}”, when the page is started"
    )
    return place if part.value is None else f"{place}: {shown(part.value)}"


class Superseded(Exception):  # noqa: N818 - no error
    """Other work was asked for; this is not wanted any more."""


class Background:
    """Does the work asked for last, in a thread.

    A task is called with ``progress``, to be told each step as it begins. Once other work was asked
    for that raises ``Superseded``, and the task ends. What a task found it hands over by itself.
    """

    def __init__(self) -> None:
        self._lock, self._turn = (
            Lock(),
            Lock(),
        )  # for the fields below, and to do one task at a time
        self._ticket = 0  # of the work asked for last
        self._thread: Thread | None = None
        self.running = False
        self._step = self._error = ""
        self._pace = Pace()

    def start(self, task: Callable[[Progress], None]) -> None:
        """Do this as soon as possible, in place of whatever is being done."""
        with self._lock:
            self._ticket += 1
            self.running, self._step, self._error = True, "Waiting", ""
            self._pace = Pace()
            self._thread = Thread(target=self._work, args=(task, self._ticket), daemon=True)
            self._thread.start()

    def view(self) -> dict[str, Any]:
        """Whether work is running, which step, how far it is, and what went wrong last."""
        with self._lock:
            share, left = self._pace.share, self._pace.words
            return {
                "running": self.running,
                "step": self._step,
                "share": share,
                "left": left,
                "error": self._error,
            }

    def close(self, patience: float = 5.0) -> None:
        """Let go what is at work, and wait so many seconds for its next step, where it ends.

        A thread that is in compiled code when Python ends can take the process down with it, exit
        code and all.
        """
        with self._lock:
            self._ticket += 1
        if self._thread is not None:
            self._thread.join(patience)

    def _work(self, task: Callable[[Progress], None], ticket: int) -> None:
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
                    self.running, self._error = False, error
