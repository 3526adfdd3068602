"""The commands ``chary audit draw`` and ``chary audit fill``: random rows, and a person's labels for them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary._files import is_on_this_machine
from chary._words import listed, named_columns, percent, shown, visible
from chary.cli import console
from chary.options import Options

if TYPE_CHECKING:
    from rich.table import Table as Grid
    from rich.text import Text

    from chary.audit.filling import Filling, Stopping
    from chary.audit.sheet import DrawnSheet, SheetOrigin

_UNDO, _SKIP, _NAME, _QUIT = "usnq"  # on the page, too; ``CLASS_KEYS`` has the others
_ESCAPE = "\x1b"


@console.takes_options("draw")
def draw_command(file: console.TABLE, options: Options) -> None:
    """Draw random rows without a label, for a person to label.

    It writes FILE.audit.csv: the rows with an empty target column. Fill it in with chary audit fill or in a
    spreadsheet, then pass it to chary label --audit. If the sheet is there already, a larger -k adds rows to it
    and keeps the answers. A table that would take more than --memory is read in parts.

    Options of chary label, such as --missing or --aim, change nothing here: the sheet remembers them for the next
    command.
    """
    console.require_readable(*file)
    from chary._files import make_folders
    from chary.audit.sheet import draw_sheet, sample_of_table, unlabelled_rows
    from chary.tables import Table
    from chary.tables.table import rows_that_count
    from chary.tables.target import target_labels

    table, large = console.open_table(file, replace(options, format=None)), None
    target, reading = str(options.target), options.target_reading
    if not isinstance(table, Table):
        large, table = (table, sample_of_table(table, target, 1, **reading, room=table.memory // 3, checksum=True))
    else:
        table = rows_that_count(table)
    labels = target_labels(table, target, **reading)
    pool = unlabelled_rows(table, target, labels, source=large, **options.for_sheet)
    path = options.folder(table.folder) / f"{table.stem}.audit.csv"
    console.require_free([path], force=True)
    make_folders([path])
    drawn = draw_sheet(
        path, pool, options.k, seed=options.seed, force=options.force, discard_answers=options.discard_answers
    )
    say_drawn(drawn, int((~pool.closed).sum()), "unlabelled rows", labels.classes.tolist(), path)


def say_drawn(drawn: DrawnSheet, n_open: int, of_what: str, classes: list[str], path: Path) -> None:
    """What was drawn, or added to what was there; what to do with it, and what it will tell."""
    from chary.audit import interval

    k = drawn.n_drawn
    low, high = map(percent, interval(round(0.9 * k), k))
    named = ", ".join(shown(name, 30) for name in classes[:12]) + (", ..." if len(classes) > 12 else "")
    there = f"Drew {k} of {n_open:,} {of_what} at random: {path}"
    if drawn.enlarged:
        there = (
            f"{drawn.n_new} more rows were drawn at random. {path} now holds {k} of {n_open:,} {of_what} and "
            f"keeps its {drawn.n_answered} answers."
        )
    if drawn.copy is not None:
        there += f"\nThe answers that were there before are kept in {drawn.copy}"
    if drawn.hidden:
        names = listed([shown(name, 40) for name in drawn.hidden])
        there += f"\nNot on the sheet, because its name or cells may give the label away: {names}. "
        there += "Show it with --show COLUMN."
    if drawn.shown:
        there += (
            f"\nOn the sheet: {named_columns(drawn.shown)}. Hide what gives the label away with --hide COLUMN."
        )
    console.say(
        f"{there}\n"
        f"Label each one ({named}), even if it is hard: a skipped row counts as wrong.\n"
        f"If, say, {round(0.9 * k)} of {k} are right, accuracy is between {low} and {high} (95% interval).\n"
    )
    console.say(f"Next:  {Options().command('audit fill', [path])}", "bold")


SHEET = Annotated[
    Path, typer.Argument(metavar="FILE", help="A FILE.audit.csv of chary audit draw, or of chary judge.")
]


@console.takes_options("fill")
def fill_command(file: SHEET, options: Options) -> None:
    """Label the drawn rows one by one, with a key for each class.

    Every answer is saved at once. With --until-width you also see an interval of the accuracy that holds whenever
    you stop, and are told when it is as narrow as you asked for. No label is shown.
    """
    console.require_readable(file)
    from chary.audit.filling import Filling

    console.heed_interrupts()
    filling, stopping = Filling(file), None
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
    reached = False
    if stopping is not None:
        words, reached = stopping.words(filling.answers)
        console.say(words)
    is_done = reached or not filling.n_left
    then = options.command("audit fill", [file])
    if is_done:
        then = _next_command(file, filling.origin, options.table)
    console.say(f"Next:  {then}", "bold")
    if interrupted:
        raise interrupted


def _stopping(filling: Filling, options: Options) -> Stopping:
    """Read the labels that tell when a sheet has enough answers; the person does not see them."""
    from chary.audit.filling import Stopping
    from chary.audit.judge import labels_of_sheet
    from chary.audit.sheet import tables_beside
    from chary.tables import open_source
    from chary.tables.source import flattened

    origin, path = filling.origin, filling.path
    if not origin.judged:
        raise ValueError(
            f"{path} was drawn to train a model, whose labels are not there yet; when it is enough can be told of "
            "a sheet of chary judge alone."
        )
    reading: dict[str, Any] = {**origin.read_with, "reserved": ()}
    tables = list(options.table) or tables_beside(path, origin)
    if tables is None:
        named = listed([shown(name, 200) for name in origin.tables])
        raise ValueError(
            f"{path} says that it was drawn from {named}, and there is no such file beside it (links are not "
            "followed); pass the table with --table FILE."
        )
    scan = flattened(open_source(tables, **reading))
    numbers = [row.number for row in filling.rows]
    if not all(0 <= number < scan.n_rows for number in numbers):
        raise ValueError(f"{path} was not drawn from {tables[0]} as it is now; use the table it was drawn from.")
    labels = labels_of_sheet(scan, origin, numbers)
    return Stopping(labels, scan.n_filled, options.until_width)


def _next_command(sheet: Path, origin: SheetOrigin, tables: Sequence[str] = ()) -> str:
    """Write what to type once a sheet is filled in; ``tables`` are what the user says it was drawn from."""
    from chary.audit.sheet import DOUBT, tables_beside

    told = {"unlabeled": origin.unlabeled, **origin.read_with}
    kept = {name: value for name, value in vars(Options.kept(origin.options)).items() if name not in told}
    options = Options.of(**kept | told | {"target": origin.target, "labels": origin.judged})
    files = list(tables) or tables_beside(sheet, origin)
    if files is None:
        files = [_likely_table(table, sheet) for table in origin.tables]
    given = {"checked": sheet, "check_sheet": False} if origin.chosen == DOUBT else {"audit": sheet}
    return options.command("judge" if origin.judged else "label", files, **given)


def _likely_table(table: str, sheet: Path) -> str:
    """Guess where a table is that a sheet names; a share or a device, which a stranger may have named, is not."""
    name = re.split(r"[/\\]", table)[-1] or f"{sheet.name.partition('.')[0]}.csv"
    if table and is_on_this_machine(table) and (table == "-" or os.path.exists(table)):
        return table
    return str(sheet.with_name(name))


class Sheet:
    """An audit sheet being filled in by a person at a terminal."""

    def __init__(self, filling: Filling, stopping: Stopping | None = None) -> None:
        from rich.console import Console

        from chary.audit.filling import CLASS_KEYS
        from chary.audit.sheet import CLASSES, ROW

        self.filling, self.stopping = filling, stopping
        self.target, self.classes = filling.origin.target, filling.origin.classes
        self.keys = dict(zip(CLASS_KEYS, self.classes, strict=False))  # further classes are chosen by name
        self.remark = ""  # on what was typed last
        self.place: int | None = None  # of the row at hand, from 1; None: all have an answer
        columns = filling.sheet.frame.columns
        self.fields = [name for name in columns if name not in (ROW, CLASSES, self.target)]
        self.console = Console(file=sys.stdout, highlight=False)

    @property
    def progress(self) -> str:
        """How far the person has come."""
        done = self.filling
        return f"{done.n_answered} labelled, {done.n_skipped} skipped, {done.n_left} left"

    def work(self) -> None:
        """Ask until all rows have an answer or the person quits."""
        self.place = self.filling.next_empty()
        while True:
            self._show()
            key = self._key()
            self.remark = ""
            if key == _UNDO:
                at = self.place or len(self.filling.rows) + 1
                answered = [place for place, text in enumerate(self.filling.answers, 1) if text and place < at]
                if answered:
                    self.place = answered[-1]
                    self._save(self.place, "")
            elif self.place is None or key == _QUIT:
                return
            elif (answer := self._answer(key)) is not None:
                self._save(self.place, answer)
                self.place = self.filling.next_empty()

    def _answer(self, key: str) -> str | None:
        from chary.audit.sheet import SKIPPED

        if key == _SKIP:
            return SKIPPED
        if key == _NAME:
            return self._named()
        if key not in self.keys:
            self.remark = "no such key" + (f": {visible(key, 20)}" if key.isprintable() else "")
        return self.keys.get(key)

    def _named(self) -> str | None:
        """A class by its name, in upper or lower case; it may be one that none of the labels has."""
        from chary.tables.target import is_marker

        try:
            name = input("The name of the class (Enter: back): ").strip()
        except EOFError:
            return None
        if not name or _ESCAPE in name:
            return None
        if is_marker(name, self.filling.origin.markers):
            self.remark = f"{shown(name)} means: no label"
            return None
        same = [known for known in self.classes if known.casefold() == name.casefold()]
        return same[0] if len(same) == 1 else name

    def _key(self) -> str:
        try:
            return typer.getchar().lower() or _QUIT  # nothing: the end of the input
        except EOFError:
            return _QUIT
        except OSError:
            raise ValueError(
                "Filling in needs a terminal; open the file in a spreadsheet instead and fill its target column."
            ) from None

    def _save(self, place: int, answer: str) -> None:
        """Write an answer, unless somebody else has answered the row since it was shown: that is said."""
        from chary.audit.filling import AnsweredElsewhereError

        try:
            self.filling.answer(place, answer, expected=self.filling.answers[place - 1])
        except AnsweredElsewhereError as error:
            self.remark = str(error)

    def _show(self) -> None:
        """The row at hand with the keys, or the end, and how much is known by now."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        title: Any = None
        body: Any
        if self.place is None:
            undo = f" {_UNDO} ", "reverse"
            body = Text.assemble(("All rows have an answer.   ", "bold"), undo, " undo   any other key: done")
        else:
            keys = self._keys()
            room = shutil.get_terminal_size().lines - 10 - str(keys).count("\n")
            body = Group(self._cells(self.place, max(5, room)), Text(), keys)
            place = f"row {self.place} of {len(self.filling.rows)}: {self.progress} "
            title = Text.assemble((f" {visible(self.target, 60)}? ", "bold"), place)
        self.console.clear()
        self.console.print(Panel(body, title=title, title_align="left", padding=(1, 2)))
        if self.stopping is not None:
            words, reached = self.stopping.words(self.filling.answers)
            self.console.print(Text(words, "bold green" if reached else ""))
        if self.remark:
            self.console.print(Text(self.remark, "bold red"))

    def _cells(self, place: int, room: int) -> Grid:
        """The row's cells, in as many columns side by side as it takes and fit."""
        from rich.table import Column
        from rich.table import Table as Grid
        from rich.text import Text

        from chary.tables.cells import cell_words

        row = self.filling.cells(place)
        fields = self.fields[: max(1, self.console.width // 40) * room]
        side_by_side = []
        for start in range(0, len(fields), room):
            part = Grid.grid(Column(style="dim", overflow="fold"), Column(overflow="fold"), padding=(0, 2))
            for name in fields[start : start + room]:
                part.add_row(Text(visible(name, 40)), Text(visible(cell_words(row[name]), 300)))
            side_by_side.append(part)
        grid = Grid.grid(padding=(0, 2))
        grid.add_row(*side_by_side)
        if len(fields) < len(self.fields):
            grid.add_row(Text(f"and {len(self.fields) - len(fields)} more columns in the file"))
        return grid

    def _keys(self) -> Text:
        from rich.text import Text

        text, n_more = Text(), len(self.classes) - len(self.keys)
        for i, (key, name) in enumerate(self.keys.items()):
            text.append(f" {key} ", "reverse").append(f" {visible(name, 40)}" + ("\n" if i % 4 == 3 else "   "))
        text.append("\n")
        other = f"one of {n_more} more classes, by name" if n_more else "another class"
        for key, name in ((_SKIP, "skip"), (_NAME, other), (_UNDO, "undo"), (_QUIT, "quit and go on later")):
            text.append(f" {key} ", "reverse dim").append(f" {name}   ", "dim")
        return text
