"""Filling in an audit sheet, row by row, while others may do so too; and when there are enough answers.

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
from numpy.typing import NDArray

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

# One for each class, in the terminal and on the page; u, s, n and q undo, skip, name a class and
# quit.
CLASS_KEYS = "123456789abcdefghijklmoprtvwxyz"
LOOKS = 5  # answers between two looks: after one, the interval would tell whether it agreed with the label


class AnsweredElsewhereError(TableError):
    """A row that has another answer by now than whoever answers it has seen."""


class Filling:
    """A sheet being filled in, while others may do so too.

    Rows are counted from 1 in the order of the draw.

    Parameters
    ----------
    path : path
        Of a sheet of ``draw_sheet``.

    Attributes
    ----------
    sheet : Table
        As it was read last.
    origin : SheetOrigin
    rows : list of SheetRow
    answers : list of str
        By row; empty where there is none, ``"?"`` where it was skipped.
    """

    sheet: Table
    origin: SheetOrigin

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._read()

    @property
    def fields(self) -> list[str]:
        """The columns that tell a person about a row; a model's opinion is none of them."""
        names = self.sheet.frame.columns
        return [
            name for name in names if name != self.origin.target and not name.startswith("chary_")
        ]

    @property
    def n_left(self) -> int:
        """Rows without an answer."""
        return self.answers.count("")

    @property
    def n_skipped(self) -> int:
        """Rows that somebody passed over."""
        return self.answers.count(SKIPPED)

    @property
    def n_answered(self) -> int:
        """Rows with a label."""
        return len(self.answers) - self.n_left - self.n_skipped

    def next_empty(self) -> int | None:
        """The first row without an answer."""
        return self.answers.index("") + 1 if self.n_left else None

    def cells(self, place: int) -> dict[str, Any]:
        """The cells of a row by column."""
        return self.sheet.frame.row(self.rows[place - 1].line - 1, named=True)

    def place_of(self, number: int) -> int | None:
        """Where a row of the table, by number from 0, is in the sheet."""
        return next((place for place, row in enumerate(self.rows, 1) if row.number == number), None)

    def refresh(self) -> bool:
        """Read the file again if it was changed; whether it was."""
        changed = self._state != state_of(self.path)
        if changed:
            self._read()
        return changed

    def answer(
        self, place: int, text: str, expected: str | None = None, *, number: int | None = None
    ) -> None:
        """Write an answer, an empty one to take it back, and what others have answered meanwhile.

        ``expected`` is the answer that was seen, and ``number`` the row of the table: where
        somebody has answered otherwise meanwhile, or another sheet is in its place, nothing is
        written.
        """
        with sole_writer(self.path):
            before = self._row(place)
            self.refresh()
            row = self._row(place)
            if row.token != before.token or number not in (None, row.number):
                raise AnsweredElsewhereError(
                    f"{self.path.name} is another sheet by now; look again."
                )
            there, text = self.answers[place - 1], text.strip()
            if there == text:
                return  # said already, by this answer itself if its receipt was lost
            if expected is not None and there != expected.strip():
                said = (
                    f"has the answer {shown(there)} by now" if there else "has no answer any more"
                )
                raise AnsweredElsewhereError(f"Row {place} of {self.path.name} {said}; look again.")
            self._write(self.sheet, [*self.answers[: place - 1], text, *self.answers[place:]])

    def mark_stopping(self) -> None:
        """Have the sheet say that whoever fills it in is told when it is enough."""
        with sole_writer(self.path):
            self.refresh()
            if not self.origin.stopped:
                self._write(with_origin(self.sheet, "stopped", True), self.answers)
                self.origin = self.origin._replace(stopped=True)

    def _row(self, place: int) -> SheetRow:
        if not 1 <= place <= len(self.rows):
            raise TableError(
                f"{self.path.name} has rows 1 to {len(self.rows):,}, and none {place:,}."
            )
        return self.rows[place - 1]

    def _read(self) -> None:
        self._state = state_of(self.path)
        self.sheet = read_sheet(self.path)
        self.origin = origin_of(self.sheet)
        self.rows = sorted(
            named_rows(self.sheet, self.origin.target), key=lambda row: (row.place, row.number)
        )
        self.answers = [as_typed(row.answer) for row in self.rows]

    def _write(self, sheet: Table, answers: list[str]) -> None:
        """Have these answers in the file, and only then here: what a full disk refuses was never answered."""
        written = sheet.frame[self.origin.target].cast(pl.String).to_list()
        for row, answer in zip(self.rows, answers, strict=True):
            written[row.line - 1] = answer or None
        told = pl.DataFrame({self.origin.target: pl.Series(written, dtype=pl.String)})
        told = guarded(told) if sheet.format == "csv" else told
        sheet = replace(sheet, frame=sheet.frame.with_columns(told.to_series()))
        with atomic_rewrite(self.path) as stream:
            write_table(sheet, {}, stream)
        # The sheet is kept as it is on the disk, so that whoever goes on from it has all answers.
        self.sheet, self.answers, self._state = sheet, answers, state_of(self.path)


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
        What is asked for: an interval at most so wide.
    """

    def __init__(
        self, labels: Sequence[str | None], population: int, width: float | None = None
    ) -> None:
        self.labels = list(labels)
        self.population = population
        self.width = width

    def limits(self, answers: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any]]:
        """After every row up to the last look: arrays, empty before the first."""
        n = [*answers, ""].index("")
        if n < len(answers):
            n -= n % LOOKS
        if not n:
            return np.empty(0), np.empty(0)
        skipped = np.array([answer == SKIPPED for answer in answers[:n]])
        pairs = zip(answers[:n], self.labels, strict=False)
        right = np.array(
            [label is not None and folded(answer) == folded(label) for answer, label in pairs]
        )
        return sequence(right & ~skipped, self.population, skipped=skipped)

    def words(self, answers: Sequence[str]) -> tuple[str, bool]:
        """What to show, and whether what was asked for is reached."""
        low, high = self.limits(answers)
        if not len(low):
            return f"The interval is shown after {LOOKS} rows, then after every {LOOKS}.", False
        share = f"between {percent(low[-1])} and {percent(high[-1])} of the labels are right"
        now = f"After {len(low)} rows: {share} (valid whenever you stop)."
        if self.width is None or not (high - low <= self.width).any():
            return now, False
        return f"Done: the interval is {self.width:.0%} wide or less. {now}", True
