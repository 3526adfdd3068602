"""Filling in an audit sheet row by row, several people at once, and when to stop.

Several may fill in one sheet at once: a page in the browser, a terminal, a spreadsheet. Before
every answer the file is read again if it was changed, so that nobody's answer is overwritten, and
each answer is on the disk when ``answer`` returns.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from chary._arrays import Array
from chary._files import atomic_rewrite, sole_writer
from chary._words import percent, shown
from chary.audit.intervals import sequence
from chary.audit.origin import SheetOrigin, origin_of, with_origin
from chary.audit.sheet import SKIPPED, SheetRow, named_rows, read_sheet
from chary.tables.cells import as_typed, guarded
from chary.tables.formats import write_table
from chary.tables.formats.files import state_of
from chary.tables.table import Table, TableError
from chary.tables.target import folded

# Keys that choose a class, in the terminal and in the browser. The missing letters have other uses:
# u undoes, s skips, n names a class, q quits.
CLASS_KEYS = "123456789abcdefghijklmoprtvwxyz"
# The interval is shown again after this many answers. If it were shown after each, its change would
# tell the annotator whether the answer agreed with the label.
LOOKS = 5


class AnsweredElsewhereError(TableError):
    """A row has another answer by now than the annotator has seen."""


class Filling:
    """A sheet being filled in, while others may do so too.

    Rows are counted from 1 in the order of the draw.

    Parameters
    ----------
    path : path
        Of a sheet that ``draw_sheet`` wrote.

    Attributes
    ----------
    sheet : Table
        The sheet as it was last read.
    origin : SheetOrigin
    rows : list of SheetRow
    answers : list of str
        By row; empty for a row without an answer, ``"?"`` for a skipped row.
    """

    sheet: Table
    origin: SheetOrigin

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._read()

    @property
    def fields(self) -> list[str]:
        """The columns that tell a person about a row, without a model's opinion."""
        return [
            name
            for name in self.sheet.frame.columns
            if name != self.origin.target and not name.startswith("chary_")
        ]

    @property
    def n_left(self) -> int:
        """Rows without an answer."""
        return self.answers.count("")

    @property
    def n_skipped(self) -> int:
        """Rows that a person passed over."""
        return self.answers.count(SKIPPED)

    @property
    def n_answered(self) -> int:
        """Rows with a label."""
        return len(self.answers) - self.n_left - self.n_skipped

    def next_empty(self) -> int | None:
        """Find the place of the first row without an answer; None if every row has one."""
        if not self.n_left:
            return None
        return self.answers.index("") + 1

    def cells(self, place: int) -> dict[str, Any]:
        """Return the cells of a row by column."""
        return self.sheet.frame.row(self.rows[place - 1].line - 1, named=True)

    def place_of(self, number: int) -> int | None:
        """Find the place in the sheet, from 1, of row ``number`` of the table, from 0."""
        for place, row in enumerate(self.rows, start=1):
            if row.number == number:
                return place
        return None

    def refresh(self) -> bool:
        """Read the file again if it was changed; return whether it was."""
        is_changed = self._state != state_of(self.path)
        if is_changed:
            self._read()
        return is_changed

    def answer(
        self, place: int, text: str, expected: str | None = None, *, number: int | None = None
    ) -> None:
        """Write an answer; an empty one takes it back.

        ``AnsweredElsewhereError`` is raised, and nothing written, if the row has another answer by
        now, or if the file holds another sheet by now.

        Parameters
        ----------
        place : int
            Place of the row in the sheet, from 1.
        text : str
        expected : str, default=None
            The answer that the person has seen. None: any.
        number : int, default=None
            Number of the row in the table, from 0. None: any.
        """
        text = text.strip()
        with sole_writer(self.path):
            # The file may have changed since the person saw the row.
            token_seen = self._row(place).token
            self.refresh()
            row = self._row(place)
            if row.token != token_seen or number not in (None, row.number):
                raise AnsweredElsewhereError(
                    f"{self.path.name} is another sheet by now; look again."
                )
            present = self.answers[place - 1]
            # The same answer may be given again if the reply was lost.
            if present == text:
                return
            if expected is not None and present != expected.strip():
                raise AnsweredElsewhereError(
                    f"Row {place} of {self.path.name} has the answer {shown(present)} by now; look "
                    "again."
                )
            answers = self.answers.copy()
            answers[place - 1] = text
            self._write(self.sheet, answers)

    def mark_stopping(self) -> None:
        """Record on the sheet that the annotator is told when to stop."""
        with sole_writer(self.path):
            self.refresh()
            if not self.origin.stopped_when_enough:
                self._write(with_origin(self.sheet, "stopped_when_enough", True), self.answers)
                self.origin = self.origin._replace(stopped_when_enough=True)

    def _row(self, place: int) -> SheetRow:
        """Return the row at a place; refuse a place that the sheet does not have."""
        if not 1 <= place <= len(self.rows):
            raise TableError(
                f"{self.path.name} has rows 1 to {len(self.rows):,}, and none {place:,}."
            )
        return self.rows[place - 1]

    def _read(self) -> None:
        """Read the sheet, its origin, rows and answers from the file."""
        self._state = state_of(self.path)
        self.sheet = read_sheet(self.path)
        self.origin = origin_of(self.sheet)
        self.rows = sorted(
            named_rows(self.sheet, self.origin.target), key=lambda row: (row.place, row.number)
        )
        self.answers = [as_typed(row.answer) for row in self.rows]

    def _write(self, sheet: Table, answers: list[str]) -> None:
        """Write the answers into the file, and only then change the attributes.

        So an answer that cannot be written, because the disk is full, does not seem saved.
        """
        target = self.origin.target
        cells = sheet.frame[target].cast(pl.String).to_list()
        for row, answer in zip(self.rows, answers, strict=True):
            cells[row.line - 1] = answer or None
        column = pl.DataFrame({target: pl.Series(cells, dtype=pl.String)})
        if sheet.format == "csv":
            column = guarded(column)
        sheet = replace(sheet, frame=sheet.frame.with_columns(column[target]))
        with atomic_rewrite(self.path) as stream:
            write_table(sheet, {}, stream)
        # The attributes now hold what is on the disk, the answers of other people included.
        self.sheet = sheet
        self.answers = answers
        self._state = state_of(self.path)


# ---------------------------------------------------------------- when it is enough


class Stopping:
    """Limits of the accuracy that hold at every moment, shown while a person labels.

    Parameters
    ----------
    labels : sequence of str or None
        The labels under test, by row of the sheet, in the order of the draw.
    population : int
        Rows of the table.
    width : float, default=None
        The width that the interval should reach. None: none was asked for.
    """

    def __init__(
        self, labels: Sequence[str | None], population: int, width: float | None = None
    ) -> None:
        self.labels = list(labels)
        self.population = population
        self.width = width

    def limits(self, answers: Sequence[str]) -> tuple[Array, Array]:
        """Compute the limits after every row up to the last look; empty before the first look.

        The limits are shown after every ``LOOKS`` answers, and after the last row. Such a moment is
        called a look. Only the answers before the first empty one count: with 12 of them, the last
        look was after 10.
        """
        n_answers = [*answers, ""].index("")  # before the first empty one
        n_rows = n_answers
        if n_answers < len(answers):
            n_rows = n_answers - n_answers % LOOKS
        if n_rows == 0:
            return np.empty(0), np.empty(0)

        is_skipped = np.array([answer == SKIPPED for answer in answers[:n_rows]])
        is_same = np.array(
            [
                label is not None and folded(answer) == folded(label)
                for answer, label in zip(answers[:n_rows], self.labels, strict=False)
            ]
        )
        return sequence(is_same & ~is_skipped, self.population, skipped=is_skipped)

    def words(self, answers: Sequence[str]) -> tuple[str, bool]:
        """Write how good the labels are by now; return also whether the interval is narrow enough.

        >>> stopping = Stopping(["a"] * 10, population=500)
        >>> words, is_enough = stopping.words(["a"] * 5 + [""] * 5)
        >>> words
        'After 5 rows: between 39% and 100% of the labels are right (valid whenever you stop).'
        """
        low, high = self.limits(answers)
        if len(low) == 0:
            return f"The interval is shown after {LOOKS} rows, then after every {LOOKS}.", False
        share = f"between {percent(low[-1])} and {percent(high[-1])}"
        sentence = (
            f"After {len(low)} rows: {share} of the labels are right (valid whenever you stop)."
        )
        is_enough = self.width is not None and bool((high - low <= self.width).any())
        if not is_enough:
            return sentence, False
        return f"Done: the interval is {self.width:.0%} wide or less. {sentence}", True
