"""The sheets of answers beside a table; a sheet that another program changes is read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chary._files import sole_writer
from chary.audit import Filling
from chary.review.errors import ConflictError, page_sentence
from chary.review.jobs import LABEL
from chary.tables import TableError


class Sheets:
    """The sheet of random rows, and the sheet of doubtful rows that were checked."""

    def __init__(self, job: Any) -> None:
        self.job = job
        self._open: dict[Path, Filling] = {}  # the sheets that were read and can be used
        self._problems: dict[Path, str] = {}  # why a sheet cannot be used, in a sentence

    @property
    def audit(self) -> Filling | None:
        """Random rows; None if there is no sheet or it cannot be used: ``notices`` says why."""
        return self._read_quietly(self.job.paths.audit)

    @property
    def check(self) -> Filling | None:
        """Rows chosen for doubt; None as for ``audit``."""
        if self.job.kind != LABEL:
            return None
        return self._read_quietly(self.job.paths.check)

    @property
    def notices(self) -> list[str]:
        """What a person should know of the sheets, a sentence each."""
        return list(self._problems.values())

    def read_audit(self) -> Filling | None:
        """Read the sheet of random rows; refuse a sheet that cannot be used."""
        return self._read(self.job.paths.audit)

    def draw(self, k: int) -> None:
        """Draw ``k`` random rows, or enlarge the sheet to ``k`` rows."""
        self.job.draw(self.job.paths.audit, k)
        self._open.pop(self.job.paths.audit, None)

    def add_to_check(self, row: int, guess: str) -> tuple[Filling, int]:
        """Add a row of the table, by number from 0, to the checked rows.

        Returns
        -------
        filling : Filling
            The sheet of checked rows.
        place : int
            Of the row in the sheet, which may have had it before.
        """
        path = self.job.paths.check
        with sole_writer(path):
            filling = self._read(path)
            if filling is None or filling.place_of(row) is None:
                self.job.add_to_check(path, row, guess, filling)
                filling = self._read(path)
        place = None if filling is None else filling.place_of(row)
        # Another program, which does not heed the lock, may have changed the sheet meanwhile.
        if filling is None or place is None:
            raise ConflictError(f"{path.name} was just changed; try again.")
        return filling, place

    def audited_rows(self) -> set[int]:
        """List the rows of the audit, answered or not, by number from 0.

        An annotator must not see what a model says of them.
        """
        filling = self.audit
        return set() if filling is None else {row.number for row in filling.rows}

    def checked_rows(self) -> dict[int, str]:
        """Return the answers to doubtful rows, by number from 0."""
        filling = self.check
        if filling is None:
            return {}
        answers = zip(filling.rows, filling.answers, strict=True)
        return {row.number: answer for row, answer in answers if answer}

    def _read(self, path: Path) -> Filling | None:
        """Return a sheet as it is on the disk; None if there is none.

        A sheet that fails the check is forgotten, so that it is read and checked anew next time.
        """
        filling = self._open.pop(path, None)
        if not path.exists():
            return None
        if filling is None:
            filling = Filling(path)
            self.job.check_sheet(filling)
        elif filling.refresh():
            self.job.check_sheet(filling)
        self._open[path] = filling
        return filling

    def _read_quietly(self, path: Path) -> Filling | None:
        """Return a sheet as ``_read`` does; if it cannot be used, note why and return None."""
        self._problems.pop(path, None)
        try:
            return self._read(path)
        except (TableError, OSError) as error:
            self._problems[path] = page_sentence(error)
            return None
