"""The commands ``chary audit draw`` and ``fill``: random rows, and a person's labels for them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary._files import is_on_this_machine
from chary._words import escaped, listed, named_columns, percent, visible
from chary.cli import console
from chary.options import DrawOptions, FillOptions, JudgeOptions, LabelOptions

if TYPE_CHECKING:
    from chary.audit.drawing import DrawnSheet
    from chary.audit.filling import Filling, Stopping
    from chary.audit.origin import SheetOrigin

# Keys of the actions, the same in the browser; the keys of classes are ``CLASS_KEYS``.
# Of a cell in the terminal.
_MOST_CHARACTERS = 3_000
_UNDO = "u"
_SKIP = "s"
_NAME = "n"
_QUIT = "q"
_ESCAPE = "\x1b"


@console.takes_options
def draw_command(file: console.TABLE, options: DrawOptions) -> None:
    """Draw random rows without a label, for a person to label.

    It writes FILE.audit.csv: the rows with an empty target column. Fill it in with chary audit fill
    or in a spreadsheet, then pass it to chary label --audit. If the sheet is there already, a
    larger -k adds rows to it and keeps the answers. A table that would take more than --memory is
    read in parts.

    Options of chary label, such as --missing or --aim, change nothing here: the sheet remembers
    them for the next command.
    """
    console.import_libraries(file)
    from chary._files import make_folders
    from chary.audit.drawing import draw_sheet, sheet_path
    from chary.audit.sheet import unlabelled_rows
    from chary.audit.table_cells import sample_of_table
    from chary.tables import Table
    from chary.tables.table import rows_that_count
    from chary.tables.target import target_labels

    # --format says how to write: this sheet, and the table of the next command. It does not say how
    # to read this file.
    opened = console.open_table(file, replace(options, format=None))
    target = options.target
    source = None
    if isinstance(opened, Table):
        table = rows_that_count(opened)
    else:
        source = opened
        # One unlabelled row is enough: the draw reads the table itself. The labelled rows may take
        # a third of the memory: copies made while they are read take the rest.
        max_bytes = source.memory // 3
        table = sample_of_table(
            source, target, k=1, **options.label_cells, max_bytes=max_bytes, checksum=True
        )

    labels = target_labels(table, target, **options.target_reading)
    pool = unlabelled_rows(table, target, labels, source=source, **options.for_sheet)
    path = sheet_path(table.written_as(options.format), options.folder(table.folder), "audit")
    # Not a refusal to overwrite: ``draw_sheet`` itself enlarges or refuses an existing sheet.
    console.require_free([path], force=True)
    make_folders([path])
    drawn = draw_sheet(
        path,
        pool,
        options.k,
        seed=options.seed,
        force=options.force,
        discard_answers=options.discard_answers,
    )
    say_drawn(
        drawn,
        n_open=int((~pool.closed).sum()),
        of_what="unlabelled rows",
        classes=labels.classes.tolist(),
        path=path,
    )


def say_drawn(drawn: DrawnSheet, n_open: int, of_what: str, classes: list[str], path: Path) -> None:
    """Say what was drawn, how to label it, and how exact the result will be.

    ``n_open`` rows could be drawn; ``of_what`` is the user's word for them.
    """
    from chary.audit import interval

    k = drawn.n_drawn
    lines = [f"Drew {k} of {n_open:,} {of_what} at random: {path}"]
    if drawn.enlarged:
        lines = [
            f"{drawn.n_new} more rows were drawn at random. {path} now holds {k} of {n_open:,} "
            f"{of_what} and keeps its {drawn.n_answered} answers."
        ]
    if drawn.copy is not None:
        lines.append(f"The answers that were there before are kept in {drawn.copy}")
    if drawn.hidden:
        lines.append(
            "Not on the sheet, because its name or cells may give the label away: "
            f"{named_columns(drawn.hidden)}. Show it with --show COLUMN."
        )
    if drawn.unreadable:
        lines.append(
            "Not on the sheet, because bytes and Python objects cannot be shown: "
            f"{named_columns(drawn.unreadable)}."
        )
    if drawn.shown:
        lines.append(
            f"On the sheet: {named_columns(drawn.shown)}. Hide what gives the label away with "
            "--hide COLUMN."
        )
    n_right = round(0.9 * k)
    low, high = interval(n_right, k)
    lines += [
        f"Label each one ({named_columns(classes)}), even if it is hard: a skipped row counts as "
        "wrong.",
        f"If, say, {n_right} of {k} are right, accuracy is between {percent(low)} and "
        f"{percent(high)} (95% interval).\n",
    ]
    console.say("\n".join(lines))
    console.say(f"Next:  {FillOptions().command([path])}", "bold")


SHEET = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A FILE.audit.csv of chary audit draw, or of chary judge."),
]


@console.takes_options
def fill_command(file: SHEET, options: FillOptions) -> None:
    """Label the drawn rows one by one, with a key for each class.

    Every answer is saved at once. With --until-width you also see an interval of the accuracy that
    holds whenever you stop, and are told when it is as narrow as you asked for. No label is shown.
    """
    console.import_libraries([os.fspath(file)])
    from chary.audit.filling import Filling

    console.heed_interrupts()
    filling = Filling(file)
    stopping = None
    if options.until_width is not None:
        stopping = _stopping(filling, options)
        filling.mark_stopping()

    sheet = Sheet(filling, stopping)
    interrupted = None
    try:
        sheet.work()
    except KeyboardInterrupt as error:
        interrupted = error

    console.say(f"\n{sheet.progress}: {file}")
    is_enough = filling.n_left == 0
    if stopping is not None:
        words, is_narrow = stopping.words(filling.answers)
        console.say(words)
        is_enough |= is_narrow
    next_command = options.command([file])
    if is_enough:
        next_command, replaced = _next_command(file, filling.origin, options.table)
        if replaced:
            console.say(f"It replaces {listed(replaced)}.")
    console.say(f"Next:  {next_command}", "bold")
    if interrupted:
        raise interrupted


def _stopping(filling: Filling, options: FillOptions) -> Stopping:
    """Prepare to tell when a sheet has enough answers.

    This reads the labels under test, which the person does not see.
    """
    from chary.audit.filling import Stopping
    from chary.audit.labels_under_test import labels_of_sheet
    from chary.audit.origin import tables_beside
    from chary.tables import open_source
    from chary.tables.source import flattened

    origin = filling.origin
    path = filling.path
    if not origin.judged:
        raise ValueError(
            f"{path} was drawn to train a model, whose labels are not there yet; when it is enough "
            "can be told of a sheet of chary judge alone."
        )
    tables = list(options.table) or tables_beside(path, origin)
    if tables is None:
        raise ValueError(
            f"The table of {path} is not beside it (links are not followed); pass the table with "
            "--table FILE."
        )
    scan = flattened(open_source(tables, reserved=(), **origin.read_with))
    numbers = [row.number for row in filling.rows]
    if max(numbers, default=0) >= scan.n_rows:
        raise ValueError(
            f"{path} was not drawn from {tables[0]} as it is now; use the table it was drawn from."
        )
    labels = labels_of_sheet(scan, origin, numbers)
    return Stopping(labels, scan.n_filled, options.until_width)


def _next_command(
    sheet: Path, origin: SheetOrigin, tables: Sequence[str] = ()
) -> tuple[str, list[str]]:
    """Write the command for a sheet that is filled in; return also the files that it replaces.

    The command names ``tables``, if the user gave them. Otherwise it names the tables beside the
    sheet, or the paths that the sheet records. A recorded path on another machine or a device is
    left out: the sheet may come from a stranger.
    """
    from chary.audit.origin import DOUBT, tables_beside

    files = list(tables) or tables_beside(sheet, origin)
    if files is None:
        files = [table for table in origin.tables if is_on_this_machine(table)] or ["FILE"]

    recorded: dict[str, Any] = {"unlabeled": origin.unlabeled or (), **origin.read_with}
    if origin.judged:
        judged = JudgeOptions.kept(origin.options, labels=origin.judged, audit=sheet, **recorded)
        return _replacing(judged, files, sheet, ("judged",))
    if origin.chosen == DOUBT:
        recorded |= {"checked": sheet, "check_sheet": False}
    else:
        recorded["audit"] = sheet
    label = LabelOptions.kept(origin.options, target=origin.target, **recorded)
    return _replacing(label, files, sheet, ("labeled", "model", "report"))


def _replacing(
    options: JudgeOptions | LabelOptions, files: Sequence[str], sheet: Path, kinds: Sequence[str]
) -> tuple[str, list[str]]:
    """Write a command that may replace the files of an earlier run, and name these files.

    Outputs are named after the table: those of ``t.csv`` are ``t.report.html`` and so on. Outputs
    of several tables are named as their sheet, ``t.audit.csv``.
    """
    import polars as pl

    from chary.tables import Table

    table = Table(pl.DataFrame(), files[0], path=files[0])  # only its name and folder count
    stem = table.stem
    if len(files) > 1:
        stem, *_ = sheet.name.rsplit(".", 2)
    folder = options.folder(table.folder)
    existing: list[Path] = []
    for kind in kinds:
        pattern = f"{escape(stem)}.{kind}.*"
        existing += sorted(folder.glob(pattern))
    if existing:
        options = replace(options, force=True)
    return options.command(files), [str(path) for path in existing]


class Sheet:
    """An audit sheet being filled in by a person at a terminal."""

    def __init__(self, filling: Filling, stopping: Stopping | None = None) -> None:
        from chary.audit.filling import CLASS_KEYS

        self.filling = filling
        self.stopping = stopping
        # Classes beyond the keys are chosen by name.
        self.keys = dict(zip(CLASS_KEYS, filling.origin.classes, strict=False))
        # Place of the current row in the draw, from 1; None: all rows have an answer.
        self.place: int | None = None

    @property
    def progress(self) -> str:
        """How far the person has come."""
        sheet = self.filling
        return f"{sheet.n_answered} labelled, {sheet.n_skipped} skipped, {sheet.n_left} left"

    def work(self) -> None:
        """Ask until all rows have an answer or the person quits.

        Each turn shows the row at ``place`` with a remark on the last key, and waits for a key.
        """
        from chary.audit.sheet import SKIPPED

        answers = {**self.keys, _SKIP: SKIPPED}
        self.place = self.filling.next_empty()
        remark = ""
        while True:
            self._show(remark)
            key = self._key()
            remark = ""
            if key == _UNDO:
                remark = self._undo()
            elif self.place is None or key == _QUIT:
                return
            elif key in answers or key == _NAME:
                answer = answers.get(key) or self._named()
                if answer:
                    remark = self._save(self.place, answer)
                    self.place = self.filling.next_empty()
            else:
                remark = "no such key"

    def _undo(self) -> str:
        """Take back the last answer before the current row; return a remark to show."""
        # Places count from 1, so place 0 is before the first row.
        place = len(self.filling.rows) if self.place is None else self.place - 1
        while place > 0 and not self.filling.answers[place - 1]:
            place -= 1
        if place == 0:
            return ""
        self.place = place
        return self._save(place, "")

    def _named(self) -> str:
        """Ask for a class by its name, which may be new; return "" if no usable name was typed."""
        from chary.tables.target import is_marker

        try:
            name = input("The name of the class (Enter: back): ").strip()
        except EOFError:
            return ""
        if _ESCAPE in name or is_marker(name, self.filling.origin.markers):
            return ""
        return name

    def _key(self) -> str:
        """Wait for a key and return it; the end of the input counts as the key to quit."""
        try:
            return typer.getchar().lower() or _QUIT
        except EOFError:
            return _QUIT
        except OSError:
            raise ValueError(
                "Filling in needs a terminal; open the file in a spreadsheet instead and fill its "
                "target column."
            ) from None

    def _save(self, place: int, answer: str) -> str:
        """Write an answer, unless the row was answered elsewhere meanwhile; return a remark."""
        from chary.audit.filling import AnsweredElsewhereError

        try:
            self.filling.answer(place, answer, expected=self.filling.answers[place - 1])
        except AnsweredElsewhereError as error:
            return str(error)
        return ""

    def _show(self, remark: str) -> None:
        """Show the current row and the keys, the interval so far, and a remark."""
        console.stdout().clear()
        if self.place is None:
            console.say(f"All rows have an answer.   [{_UNDO}] undo   any other key: done")
        else:
            target = visible(self.filling.origin.target, 60)
            console.say(
                f"{target}?  Row {self.place} of {len(self.filling.rows)}: {self.progress}\n",
                "bold",
            )
            console.say("\n".join([*self._cells(self.place), "", *self._keys()]))
        if self.stopping is not None:
            words, reached = self.stopping.words(self.filling.answers)
            console.say(words, "bold" if reached else "")
        if remark:
            console.say(remark, "bold red")

    def _cells(self, place: int) -> list[str]:
        """List the row's cells; one of several lines, such as a conversation, is indented."""
        from chary.tables.cells import cell_words

        cells = self.filling.cells(place)
        lines = []
        for name in self.filling.fields:
            text = cell_words(cells[name])
            shown = escaped(text[:_MOST_CHARACTERS].rstrip(), allowed="\n")
            if len(text) > _MOST_CHARACTERS:
                shown += f" ... ({len(text) - _MOST_CHARACTERS:,} more characters)"
            if "\n" in shown:
                shown = f"\n{shown}".replace("\n", "\n    ")
            lines.append(f"{visible(name, 40)}: {shown}")
        return lines

    def _keys(self) -> list[str]:
        """List the keys, a line for each class."""
        names = {
            **self.keys,
            _SKIP: "skip",
            _NAME: "another class",
            _UNDO: "undo",
            _QUIT: "quit and go on later",
        }
        return [f"[{key}] {visible(name, 40)}" for key, name in names.items()]
