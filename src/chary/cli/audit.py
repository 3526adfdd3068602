"""Words typed after ``chary audit`` in; a file of random rows, and a person's labels in it, out."""

from __future__ import annotations

import math
import shlex
import shutil
import string
import sys
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich import box
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._files import atomic_write
from chary._words import shown, visible
from chary.cli.console import read_quietly, require_free
from chary.cli.remedies import command
from chary.evaluation import accuracy_interval, draw
from chary.jobs import ERRORS, AuditFigures, LabeledTable, load_table_model, predict_table
from chary.tables import (
    CLASSES,
    GUESS,
    ROW,
    SKIPPED,
    DrawnFrom,
    Table,
    TableError,
    drawn_from,
    read_audit_table,
    target_labels,
    with_answers,
    write_audit,
)

audit_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Label a few rows drawn at random, and learn how good the other labels really are.",
)

_UNDO, _SKIP, _NEW, _QUIT = "usnq"  # after a colon where whole lines are typed, so that no class is called so
_ESCAPE = "\x1b"
_LISTED = 60  # of more classes, the others are chosen by name
_CLASS_KEYS = "123456789" + "".join(c for c in string.ascii_lowercase if c not in (_UNDO, _SKIP, _NEW, _QUIT))


@audit_app.command("draw", epilog="Example:  chary audit draw customers.csv --target churn -k 30")
def draw_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A CSV or Parquet file.")],
    target: Annotated[str, typer.Option("--target", "-t", help="The column that holds the labels.")],
    k: Annotated[int, typer.Option("-k", min=2, help="How many rows to draw.")] = 30,
    unlabeled: Annotated[
        str | None, typer.Option(metavar="VALUE", help="A cell value that means: no label.")
    ] = None,
    show_guess: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL", help="Add what a FILE.model.chary says of each row. It sways whoever sees it."
        ),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV; found out if not given.")] = None,
    encoding: Annotated[str, typer.Option(help="Of a CSV.")] = "utf-8",
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Another seed, another draw.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where to write; next to FILE.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
) -> None:
    """Draw rows without a label, at random, for a person to label.

    Writes FILE.audit.csv: the rows with an empty target column. Fill it in with [bold]chary audit fill[/bold] or
    in a spreadsheet, then pass it to [bold]chary label --audit[/bold].
    """
    path = (out or file.parent) / f"{file.stem}.audit.csv"
    table = read_quietly(file, delimiter, encoding)
    labels = target_labels(table, target, unlabeled)
    require_free([path], force)
    rows = draw(labels.labeled, k, seed)
    guesses = None
    if show_guess is not None:
        drawn = Table(table.frame.drop(target)[rows], table.name, table.delimiter)
        guesses = {GUESS: predict_table(load_table_model(show_guess), drawn)["chary_label"]}
    with atomic_write(path, overwrite=force) as stream:
        write_audit(table, target, labels, rows, stream, guesses, unlabeled)
    low, high = accuracy_interval(round(0.9 * k), k)
    classes = ", ".join(shown(name, 30) for name in labels.classes[:12]) + (
        ", ..." if len(labels.classes) > 12 else ""
    )
    _say(
        f"{k} of {int((~labels.labeled).sum()):,} unlabelled rows, drawn at random: {path}\n"
        f"Label them ({classes}), hard ones too: a row that is skipped can bias the figures.\n"
        f"If {round(0.9 * k)} of {k} prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval).\n"
    )
    if guesses:
        _say(
            f"Column {GUESS} shows the model's opinion: it biases the labeller, and the accuracy upwards.\n", "red"
        )
    _say(f"Next:  chary audit fill {shlex.quote(str(path))}", "bold")


@audit_app.command("fill", epilog="Example:  chary audit fill customers.audit.csv")
def fill_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A FILE.audit.csv of chary audit draw.")],
) -> None:
    """Label the drawn rows one by one, with a key for each class. Every answer is saved at once."""
    audit, _ = read_audit_table(file)
    origin = drawn_from(audit)
    sheet = _Sheet(file, audit, origin)
    interrupted = None
    try:
        sheet.work()
    except KeyboardInterrupt as error:
        interrupted = error
    _say(f"\n{sheet.progress}: {file}")
    again = f"chary audit fill {shlex.quote(str(file))}"
    _say(f"Next:  {again if sheet.n_empty else _label_command(file, origin)}", "bold")
    if interrupted:
        raise interrupted


def show_audit(result: LabeledTable) -> None:
    """What the audit says, or what one would be good for."""
    console = Console(file=sys.stdout, highlight=False)
    audit = result.audit
    if audit is None:
        console.print(Panel(_invitation(result), title="how accurate?", title_align="left", width=100))
        return
    promised = f"{result.judged.correct.mean():.1%}" if len(result.judged.correct) else "-"
    grid = Grid("Accuracy elsewhere", "", "95% interval", "", box=box.SIMPLE)
    grid.columns[1].justify = "right"
    grid.add_row("promised by your labels", promised, "", "no estimate: not random", style="dim")
    for name, found, kind in (
        ("model of your labels", audit.before, f"exact, {audit.before.n} random rows"),
        ("model of all labels", audit.after, "approximate, cross-fitted"),
    ):
        grid.add_row(name, f"{found.share:.1%}", f"{found.low:.1%} to {found.high:.1%}", kind)
    console.print(grid)
    for note in audit.notes:
        console.print(Text(note, "bold red" if note.startswith("NEW CLASS") else ""), soft_wrap=True)
    accepted = next((found for found in audit.acceptances if found.n_accepted), None)
    if accepted is None:
        console.print(f"On the word of this audit no row can be accepted at {ERRORS[-1]:.0%} error or less.\n")
        return
    console.print(
        f"{accepted.n_accepted:,} new labels, those of confidence {accepted.threshold:.4f} and more, can be "
        f"accepted with at most {accepted.error:.0%} wrong (level {accepted.level:.0%}, approximate).\n",
        soft_wrap=True,
    )


def audit_json(audit: AuditFigures | None) -> dict[str, Any] | None:
    """The same for programs."""
    if audit is None:
        return None
    return {
        "drawn": audit.answers.n_drawn,
        "skipped": audit.answers.n_skipped,
        "new_classes": audit.answers.new_classes,
        "notes": audit.notes,
        "before": audit.before._asdict(),
        "after": audit.after._asdict(),
        "classes": {name: found._asdict() for name, found in audit.classes.items()},
        "balanced": audit.balanced,
        "accept": [found._asdict() for found in audit.acceptances],
    }


def _invitation(result: LabeledTable) -> Text:
    nobody = "No figure computed from labels that were not drawn at random can tell."
    if not result.audit_command:
        return Text(f"{nobody} There are so few rows without a label that you can look at each.")
    number = "Thirty" if result.audit_size == 30 else result.audit_size
    return Text(
        f"{nobody} {number} labels of rows drawn at random can, and the model learns from them:  "
        f"{visible(result.audit_command, 800)}"
    )


class _Sheet:
    """An audit file being filled in."""

    def __init__(self, path: Path, audit: Table, origin: DrawnFrom) -> None:
        self.path, self.audit, self.target, self.classes = path, audit, origin.target, origin.classes
        self.marker = origin.marker
        self.by_line = len(self.classes) > len(_CLASS_KEYS)  # a key each does not do: names or numbers are typed
        self.numbered = self.by_line and not any(name.isdecimal() for name in self.classes)
        self.remark = ""  # on what was typed last
        self.answers = audit.frame[self.target].cast(pl.String).fill_null("").str.strip_chars().to_list()
        self.place = 0
        self.fields = [name for name in audit.frame.columns if name not in (ROW, CLASSES, self.target)]
        self.console = Console(file=sys.stdout, highlight=False)

    @property
    def n_empty(self) -> int:
        return self.answers.count("")

    @property
    def n_skipped(self) -> int:
        return self.answers.count(SKIPPED)

    @property
    def progress(self) -> str:
        """How far the person has come."""
        n_labeled = len(self.answers) - self.n_empty - self.n_skipped
        return f"{n_labeled} labelled, {self.n_skipped} skipped, {self.n_empty} left"

    def work(self) -> None:
        """Ask until all rows have an answer or the person quits."""
        self._to_first_empty()
        while True:
            complete = self.place == len(self.answers)
            self._show_end() if complete else self._show_row()
            key, text = self._line() if self.by_line else (self._key(), "")
            self.remark = ""
            if key == _UNDO:
                self._undo()
            elif complete or key == _QUIT:
                return
            elif (answer := self._answer(key, text)) is not None:
                self.answers[self.place] = answer
                self._save()
                self._to_first_empty()

    def _to_first_empty(self) -> None:
        self.place = self.answers.index("") if self.n_empty else len(self.answers)

    def _undo(self) -> None:
        answered = [place for place in range(self.place) if self.answers[place]]
        if answered:
            self.place = answered[-1]
            self.answers[self.place] = ""
            self._save()

    def _answer(self, key: str, text: str) -> str | None:
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
        if name and name == self.marker:
            self.remark = f"{shown(name)} means: no label"
        elif not name and self.by_line:
            self.remark = f"no name: type it after :{_NEW}"
        return name if name and name != self.marker else None

    def _chosen(self, text: str) -> str | None:
        """One of many classes, by name, in upper or lower case, or by number."""
        same = [name for name in self.classes if name.casefold() == text.casefold()]
        if text in self.classes or len(same) == 1:
            return text if text in self.classes else same[0]
        if self.numbered and text.isdecimal() and 1 <= int(text) <= len(self.classes):
            return self.classes[int(text) - 1]
        self.remark = (
            f"{shown(text)} is {'more than one class' if same else 'no class in the list'}" if text else ""
        )
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
            raise TableError(
                "Filling in needs a terminal; open the file in a spreadsheet instead and fill its target column."
            ) from None

    def _save(self) -> None:
        with atomic_write(self.path, overwrite=True) as stream:
            with_answers(self.audit, self.target, self.answers, stream)

    def _show_end(self) -> None:
        self.console.clear()
        undo, done = (f" :{_UNDO} ", "Enter") if self.by_line else (f" {_UNDO} ", "any other key")
        text = Text.assemble(("All rows have an answer.   ", "bold"), (undo, "reverse"), f" undo   {done}: done")
        self.console.print(Panel(text, padding=(1, 2)))

    def _show_row(self) -> None:
        n = len(self.answers)
        keys = self._keys()
        room = shutil.get_terminal_size().lines - 10 - str(keys).count("\n")
        body = Group(self._cells(max(5, room)), Text(), keys)
        name = visible(self.target, 60)
        title = Text.assemble((f" {name}? ", "bold"), f"row {self.place + 1} of {n}: {self.progress} ")
        self.console.clear()
        self.console.print(Panel(body, title=title, title_align="left", padding=(1, 2)))
        if self.remark:
            self.console.print(Text(self.remark, "bold red"))

    def _cells(self, room: int) -> Grid:
        """The row's cells, in as many columns side by side as it takes and fit."""
        row = self.audit.frame.row(self.place, named=True)
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
        named = [(key, visible(name, 40)) for key, name in zip(_CLASS_KEYS, self.classes, strict=False)]
        colon, new = "", "another class"
        if self.by_line:
            colon, new = ":", "NAME another class"
            digits = len(str(len(self.classes)))
            keys = [f"{i:{digits}}" if self.numbered else "" for i in range(1, len(self.classes) + 1)]
            width = max(1, self.console.width // 4 - 8 - len(keys[-1]))
            named = [
                (key, f"{visible(name, width):{width}}") for key, name in zip(keys, self.classes, strict=True)
            ]
            named = named[:_LISTED]
        actions = [(_SKIP, "skip"), (_NEW, new), (_UNDO, "undo"), (_QUIT, "quit and go on later")]
        text = Text()
        for i, (key, name) in enumerate(named):
            text.append(f" {key} " if key else "", "reverse").append(f" {name}" + ("\n" if i % 4 == 3 else "   "))
        text.append("\n")
        if self.by_line:
            how = "Name or number" if self.numbered else "Name"
            text.append(f"{how} of one of the {len(self.classes)} classes, then Enter\n\n")
        for key, name in actions:
            text.append(f" {colon}{key} ", "reverse dim").append(f" {name}   ", "dim")
        return text


def _label_command(audit: Path, origin: DrawnFrom) -> str:
    """What to type once an audit file is filled in; a table labelled before is labelled again."""
    file = _table_of(audit, origin.table)
    outputs = (".model.chary", ".report.html", ".labeled.csv", ".labeled.parquet")
    labeled_before = any(file.with_name(file.stem + suffix).exists() for suffix in outputs)
    more = ["--audit", str(audit), *["--force"] * labeled_before]
    table = Table(pl.DataFrame(), file.name, path=str(file), read_with=origin.read_with)
    return command(table, "label", origin.target, origin.unlabeled, *more)


def _table_of(audit: Path, typed: str) -> Path:
    """The table that an audit file was drawn from: the one next to it, or where it was then."""
    stem = audit.name.removesuffix(".csv").removesuffix(".audit")
    names = [*([Path(typed).name] if typed else []), *(stem + suffix for suffix in (".csv", ".parquet", ".tsv"))]
    paths = [*(audit.with_name(name) for name in names), *([Path(typed)] if typed else [])]
    return next((path for path in paths if path.exists()), paths[0])


def _say(text: str, style: str = "") -> None:
    visible = "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
    Console(file=sys.stdout, highlight=False).print(Text(visible, style), soft_wrap=True)
