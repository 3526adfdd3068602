"""An audit sheet and keys pressed in; the sheet with a person's labels out, saved after every answer."""

from __future__ import annotations

import math
import shutil
import string
import sys
from pathlib import Path

import polars as pl
import typer
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from chary._files import atomic_rewrite
from chary._words import shown, visible
from chary.cli.enough import Enough
from chary.tables import CLASSES, ROW, SKIPPED, DrawnFrom, Table, TableError, all_as_typed, is_marker, with_answers

_UNDO, _SKIP, _NEW, _QUIT = "usnq"  # after a colon where whole lines are typed, so that no class is called so
_ESCAPE = "\x1b"
_LISTED = 60  # of more classes, the others are chosen by name
_CLASS_KEYS = "123456789" + "".join(c for c in string.ascii_lowercase if c not in (_UNDO, _SKIP, _NEW, _QUIT))


class Sheet:
    """An audit sheet being filled in by a person at a terminal."""

    def __init__(self, path: Path, audit: Table, origin: DrawnFrom, watch: Enough | None = None) -> None:
        self.watch = watch
        self.path, self.audit, self.target, self.classes = path, audit, origin.target, origin.classes
        self.markers = origin.markers
        self.by_line = len(self.classes) > len(_CLASS_KEYS)  # a key each does not do: names or numbers are typed
        self.numbered = self.by_line and not any(name.isdecimal() for name in self.classes)
        self.remark = ""  # on what was typed last
        written = audit.frame[self.target].cast(pl.String).fill_null("").str.strip_chars()
        self.answers = all_as_typed(written).to_list()  # each gets its apostrophe anew when it is saved
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
        is_none = bool(name) and is_marker(name, self.markers)
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
        with atomic_rewrite(self.path) as stream:
            with_answers(self.audit, self.target, self.answers, stream)

    def _show_end(self) -> None:
        self.console.clear()
        undo, done = (f" :{_UNDO} ", "Enter") if self.by_line else (f" {_UNDO} ", "any other key")
        text = Text.assemble(("All rows have an answer.   ", "bold"), (undo, "reverse"), f" undo   {done}: done")
        self.console.print(Panel(text, padding=(1, 2)))
        self._show_watch()

    def _show_row(self) -> None:
        n = len(self.answers)
        keys = self._keys()
        room = shutil.get_terminal_size().lines - 10 - str(keys).count("\n")
        body = Group(self._cells(max(5, room)), Text(), keys)
        name = visible(self.target, 60)
        title = Text.assemble((f" {name}? ", "bold"), f"row {self.place + 1} of {n}: {self.progress} ")
        self.console.clear()
        self.console.print(Panel(body, title=title, title_align="left", padding=(1, 2)))
        self._show_watch()
        if self.remark:
            self.console.print(Text(self.remark, "bold red"))

    def _show_watch(self) -> None:
        if self.watch is not None:
            words, reached = self.watch.words(self.answers)
            self.console.print(Text(words, "bold green" if reached else ""))

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
