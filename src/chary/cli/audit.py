"""The commands ``chary audit draw`` and ``chary audit fill``: random rows, and a person's labels for them."""

from __future__ import annotations

import math
import os
import shutil
import string
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chary._words import shown, visible
from chary.cli.console import (
    TABLE,
    heed_interrupts,
    open_table,
    require_free,
    require_readable,
    say,
    takes_options,
)
from chary.options import Options, read_share

if TYPE_CHECKING:
    from rich.table import Table as Grid
    from rich.text import Text

    from chary.audit.drawing import DrawnSheet
    from chary.audit.filling import Filling
    from chary.audit.sheet import SheetOrigin
    from chary.audit.stopping import Stopping

_UNDO, _SKIP, _NEW, _QUIT = "usnq"  # after a colon where whole lines are typed, so that no class is called so
_ESCAPE = "\x1b"
_LISTED = 60  # of more classes, the others are chosen by name
_CLASS_KEYS = "123456789" + "".join(c for c in string.ascii_lowercase if c not in (_UNDO, _SKIP, _NEW, _QUIT))


@takes_options("draw")
def draw_command(file: TABLE, options: Options) -> None:
    """Draw rows without a label, at random, for a person to label.

    Writes FILE.audit.csv: the rows with an empty target column. Fill it in with [bold]chary audit fill[/bold] or
    in a spreadsheet, then pass it to [bold]chary label --audit[/bold]. Where it is already, a larger -k adds rows
    to it and keeps the answers. A table that would take more than --memory is read in parts.
    """
    require_readable(*file)
    from chary._files import folders_for
    from chary.audit.drawing import draw_sheet
    from chary.audit.sheet import sample_rows, unlabelled_rows
    from chary.tables import Table
    from chary.tables.target import target_labels

    target = str(options.target)
    told: dict[str, Any] = {"unlabeled": options.unlabeled, "exact_labels": options.exact_labels}
    table, large = open_table(file, options), None
    if not isinstance(table, Table):
        large, table = table, sample_rows(table, target, 1, **told, room=table.memory // 3, checksum=True)
    labels = target_labels(table, target, **told)
    pool = unlabelled_rows(table, target, labels, **told, source=large)
    path = options.folder(table.folder) / f"{table.stem}.audit.csv"
    require_free([path], force=True)
    with folders_for([path]):
        drawn = draw_sheet(path, pool, options.k, seed=options.seed, overwrite=options.force)
    n_open = int((~pool.closed).sum())
    say_drawn(drawn, n_open, "unlabelled rows", labels.classes.tolist(), path)


def say_drawn(drawn: DrawnSheet, n_open: int, of_what: str, classes: list[str], path: Path) -> None:
    """What was drawn, or added to what was there; what to do with it, and what it will tell."""
    from chary.audit import interval

    k = drawn.n_drawn
    low, high = interval(round(0.9 * k), k)
    named = ", ".join(shown(name, 30) for name in classes[:12]) + (", ..." if len(classes) > 12 else "")
    there = f"{k} of {n_open:,} {of_what}, drawn at random: {path}"
    if drawn.enlarged:
        there = (
            f"{drawn.n_new} rows more, drawn at random, are in {path}: {k} of {n_open:,} {of_what} now, and the "
            f"{drawn.n_answered} answers that it held are as they were."
        )
    say(
        f"{there}\n"
        f"Label them ({named}), hard ones too: a row that is skipped counts as wrong.\n"
        f"If {round(0.9 * k)} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval).\n"
    )
    say(f"Next:  {Options().command('audit fill', [path])}", "bold")


def fill_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A FILE.audit.csv of chary audit draw, or of chary judge.")
    ],
    until_width: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE", help="Say when the accuracy is known this closely, as 20%. For chary judge."
        ),
    ] = None,
    until_above: Annotated[
        str | None, typer.Option(metavar="SHARE", help="Say when it is known to be above this or not, as 90%.")
    ] = None,
) -> None:
    """Label the drawn rows one by one, with a key for each class. Every answer is saved at once.

    With --until-width or --until-above, on a sheet of [bold]chary judge[/bold], an interval of the accuracy is
    shown that holds at whichever moment you stop, and when what you ask for is reached. No label is shown.
    """
    require_readable(file)
    from chary._files import sweep
    from chary.audit.filling import Filling

    heed_interrupts()
    sweep(Path(os.path.realpath(file)).parent)
    watched = until_width is not None or until_above is not None
    filling, stopping = Filling(file), None
    if watched:
        width = None if until_width is None else read_share(until_width, "--until-width")
        above = None if until_above is None else read_share(until_above, "--until-above")
        stopping = _stopping(filling, width, above)
        filling.mark_stopping()
    sheet = Sheet(filling, stopping)
    interrupted = None
    try:
        sheet.work()
    except KeyboardInterrupt as error:
        interrupted = error
    say(f"\n{sheet.progress}: {file}")
    reached = False
    if stopping is not None:
        words, reached = stopping.words(sheet.answers)
        say(words)
    again = Options().command("audit fill", [file])
    say(f"Next:  {again if filling.n_left and not reached else _next_command(file, filling.origin)}", "bold")
    if interrupted:
        raise interrupted


def _stopping(filling: Filling, width: float | None, above: float | None) -> Stopping:
    """What tells when a sheet has enough answers to judge labels by; the person does not see the labels."""
    from chary.audit.judge import labels_of_sheet
    from chary.audit.stopping import Stopping
    from chary.tables import open_source

    origin, path = filling.origin, filling.path
    if not origin.judged:
        raise ValueError(
            f"{path} was drawn to train a model, whose labels are not there yet; when it is enough can be told of "
            "a sheet of chary judge alone."
        )
    if not Path(origin.table).exists():
        raise ValueError(f"The table that {path} was drawn from, {origin.table}, is not there; put it back.")
    reading: dict[str, Any] = {**origin.read_with, "reserved": ()}
    scan = open_source([origin.table, *origin.more_tables], **reading)
    numbers = [row.number for row in filling.rows]
    if max(numbers, default=0) >= scan.n_rows:
        raise ValueError(
            f"{path} was not drawn from {origin.table} as it is now; use the table it was drawn from."
        )
    return Stopping(labels_of_sheet(scan, origin, numbers), scan.n_rows, width, above)


def _next_command(sheet: Path, origin: SheetOrigin) -> str:
    """What to type once a sheet is filled in."""
    from chary.audit.sheet import DOUBT

    options = Options.of(
        target=origin.target,
        labels=origin.judged,
        unlabeled=origin.unlabeled,
        exact_labels=origin.exact_labels,
        **origin.read_with,
    )
    files = [origin.table, *origin.more_tables]
    if files != ["-"] and len(files) == 1:
        files = [str(_table_of(sheet, origin.table))]
    given = "checked" if origin.chosen == DOUBT else "audit"
    return options.command("judge" if origin.judged else "label", files, **{given: sheet})


def _table_of(audit: Path, typed: str) -> Path:
    """The table that an audit file was drawn from: the one next to it, or where it was then."""
    stem = audit.name.removesuffix(".csv").removesuffix(".audit").removesuffix(".check").removesuffix(".judge")
    names = [*([Path(typed).name] if typed else []), *(stem + suffix for suffix in (".csv", ".parquet", ".tsv"))]
    paths = [*(audit.with_name(name) for name in names), *([Path(typed)] if typed else [])]
    return next((path for path in paths if path.exists()), paths[0])


class Sheet:
    """An audit sheet being filled in by a person at a terminal."""

    def __init__(self, filling: Filling, stopping: Stopping | None = None) -> None:
        from rich.console import Console

        from chary.audit.sheet import CLASSES, ROW

        self.filling, self.stopping = filling, stopping
        self.target, self.classes = filling.origin.target, filling.origin.classes
        self.by_line = len(self.classes) > len(_CLASS_KEYS)  # a key each does not do: names or numbers are typed
        self.numbered = self.by_line and not any(name.isdecimal() for name in self.classes)
        self.remark = ""  # on what was typed last
        self.place = 0
        columns = filling.sheet.frame.columns
        self.fields = [name for name in columns if name not in (ROW, CLASSES, self.target)]
        self.console = Console(file=sys.stdout, highlight=False)

    @property
    def answers(self) -> list[str]:
        """By row; empty where there is none."""
        return self.filling.answers

    @property
    def progress(self) -> str:
        """How far the person has come."""
        done = self.filling
        return f"{done.n_answered} labelled, {done.n_skipped} skipped, {done.n_left} left"

    def work(self) -> None:
        """Ask until all rows have an answer or the person quits."""
        self._to_first_empty()
        while True:
            complete = self.place == len(self.answers)
            self._show(complete)
            key, text = self._line() if self.by_line else (self._key(), "")
            self.remark = ""
            if key == _UNDO:
                self._undo()
            elif complete or key == _QUIT:
                return
            elif (answer := self._answer(key, text)) is not None:
                self._save(answer)
                self._to_first_empty()

    def _to_first_empty(self) -> None:
        self.place = self.answers.index("") if self.filling.n_left else len(self.answers)

    def _undo(self) -> None:
        answered = [place for place in range(self.place) if self.answers[place]]
        if answered:
            self.place = answered[-1]
            self._save("")

    def _answer(self, key: str, text: str) -> str | None:
        from chary.audit.sheet import SKIPPED

        if key == _SKIP:
            return SKIPPED
        if key == _NEW:
            return self._new_class(text if self.by_line else self._typed())
        if self.by_line:
            return self._chosen(text)
        keys = _CLASS_KEYS[: len(self.classes)]
        if len(key) == 1 and key in keys:
            return self.classes[keys.index(key)]
        self.remark = "no such key" + (f": {visible(key, 20)}" if key.isprintable() else "")
        return None

    def _new_class(self, name: str) -> str | None:
        """The name of a class that none of the labels has; None: there is none, back to the row."""
        from chary.tables.target import is_marker

        is_none = bool(name) and is_marker(name, self.filling.origin.markers)
        if is_none:
            self.remark = f"{shown(name)} means: no label"
        elif not name and self.by_line:
            self.remark = f"no name: type it after :{_NEW}"
        return name if name and not is_none else None

    def _chosen(self, text: str) -> str | None:
        """One of many classes, by name, in upper or lower case, or by number."""
        same = [name for name in self.classes if name.casefold() == text.casefold()]
        if text in self.classes or len(same) == 1:
            return text if text in self.classes else same[0]
        if self.numbered and text.isdecimal() and 1 <= int(text) <= len(self.classes):
            return self.classes[int(text) - 1]
        if text:
            self.remark = f"{shown(text)} is {'more than one class' if same else 'no class in the list'}"
        return None

    def _typed(self) -> str:
        """What is typed after a question; nothing after Enter alone, Escape or the end of the input."""
        try:
            name = input("A class that is not in the list (Enter: back): ").strip()
        except EOFError:
            return ""
        return "" if _ESCAPE in name else name

    def _line(self) -> tuple[str, str]:
        """An action and the words after it, or no action and what was typed."""
        try:
            text = input("> ").strip()
        except EOFError:
            return _QUIT, ""
        action, _, words = text.partition(" ")
        if action.startswith(":") and action[1:] in (_UNDO, _SKIP, _NEW, _QUIT):
            return action[1:], words.strip()
        return "", text

    def _key(self) -> str:
        try:
            return typer.getchar().lower() or _QUIT  # nothing: the end of the input
        except EOFError:
            return _QUIT
        except OSError:
            raise ValueError(
                "Filling in needs a terminal; open the file in a spreadsheet instead and fill its target column."
            ) from None

    def _save(self, answer: str) -> None:
        """Write an answer, unless somebody else has answered the row since it was shown: that is said."""
        from chary.audit.filling import AnsweredElsewhereError

        try:
            self.filling.answer(self.place + 1, answer, expected=self.answers[self.place])
        except AnsweredElsewhereError as error:
            self.remark = str(error)

    def _show(self, complete: bool) -> None:
        """The row at hand with the keys, or the end, and how much is known by now."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.text import Text

        title: Any = None
        body: Any
        if complete:
            undo, done = (f" :{_UNDO} ", "Enter") if self.by_line else (f" {_UNDO} ", "any other key")
            end = ("All rows have an answer.   ", "bold"), (undo, "reverse"), f" undo   {done}: done"
            body = Text.assemble(*end)
        else:
            keys = self._keys()
            room = shutil.get_terminal_size().lines - 10 - str(keys).count("\n")
            body = Group(self._cells(max(5, room)), Text(), keys)
            place = f"row {self.place + 1} of {len(self.answers)}: {self.progress} "
            title = Text.assemble((f" {visible(self.target, 60)}? ", "bold"), place)
        self.console.clear()
        self.console.print(Panel(body, title=title, title_align="left", padding=(1, 2)))
        if self.stopping is not None:
            words, reached = self.stopping.words(self.answers)
            self.console.print(Text(words, "bold green" if reached else ""))
        if self.remark:
            self.console.print(Text(self.remark, "bold red"))

    def _cells(self, room: int) -> Grid:
        """The row's cells, in as many columns side by side as it takes and fit."""
        from rich.table import Table as Grid
        from rich.text import Text

        row = self.filling.cells(self.place + 1)
        n_columns = min(math.ceil(len(self.fields) / room), max(1, self.console.width // 40)) or 1
        fields = self.fields[: n_columns * room]
        height = math.ceil(len(fields) / n_columns)
        grid = Grid.grid(padding=(0, 2))
        for _ in range(n_columns):
            grid.add_column(style="dim", overflow="fold")
            grid.add_column(overflow="fold")
        cells = [(visible(name, 40), "" if row[name] is None else visible(row[name], 300)) for name in fields]
        cells += [("", "")] * (n_columns * height - len(cells))
        for i in range(height):
            grid.add_row(*(Text(part) for j in range(n_columns) for part in cells[i + j * height]))
        if len(fields) < len(self.fields):
            grid.add_row(Text(f"and {len(self.fields) - len(fields)} more columns in the file"))
        return grid

    def _keys(self) -> Text:
        from rich.text import Text

        named = [(key, visible(name, 40)) for key, name in zip(_CLASS_KEYS, self.classes, strict=False)]
        colon, new, how = "", "another class", ""
        if self.by_line:
            colon, new, n = ":", "NAME another class", len(self.classes)
            how = f"{'Name or number' if self.numbered else 'Name'} of one of the {n} classes, then Enter\n\n"
            digits = len(str(n)) if self.numbered else 0
            width = max(1, self.console.width // 4 - 8 - digits)
            keys = [f"{i:{digits}}" if digits else "" for i in range(1, min(n, _LISTED) + 1)]
            named = [
                (key, f"{visible(name, width):{width}}") for key, name in zip(keys, self.classes, strict=False)
            ]
        text = Text()
        for i, (key, name) in enumerate(named):
            text.append(f" {key} " if key else "", "reverse").append(f" {name}" + ("\n" if i % 4 == 3 else "   "))
        text.append(f"\n{how}")
        for key, name in ((_SKIP, "skip"), (_NEW, new), (_UNDO, "undo"), (_QUIT, "quit and go on later")):
            text.append(f" {colon}{key} ", "reverse dim").append(f" {name}   ", "dim")
        return text
