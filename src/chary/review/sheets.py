"""The sheets beside a table in; the answers in them out, as they are on the disk at this moment."""

from __future__ import annotations

from pathlib import Path

from chary._files import atomic_write
from chary.review.files import Paths
from chary.review.judging import Judging
from chary.review.labelling import Labelling
from chary.review.words import page_sentence
from chary.tables import Filling, TableError, sole_writer


class Sheets:
    """The sheet of random rows and that of checked ones; whoever changes them, they are read again when needed."""

    def __init__(self, job: Labelling | Judging, paths: Paths) -> None:
        self.job, self.paths = job, paths
        self._open: dict[Path, Filling] = {}
        self._trouble: dict[Path, str] = {}
        self._changed: list[str] = []  # names of files that somebody else has changed

    @property
    def audit(self) -> Filling | None:
        """Random rows; None: none are drawn, or the file cannot be used, which ``notices`` say."""
        return self._quietly(self.paths.audit)

    @property
    def check(self) -> Filling | None:
        """Rows chosen for doubt."""
        return self._quietly(self.paths.check) if isinstance(self.job, Labelling) else None

    @property
    def notices(self) -> list[str]:
        """What a person should know of them, a sentence each."""
        changed = [f"{name} was changed outside this page and has been read again." for name in self._changed]
        return [*changed, *self._trouble.values()]

    def read(self, path: Path) -> Filling | None:
        """A sheet as it is now; None: there is none. One that cannot be used is an error."""
        if not path.exists():
            self._open.pop(path, None)
            return None
        filling = self._open.get(path)
        try:
            if filling is None:
                filling = Filling(path)
                self.job.check_sheet(filling)
                self._open[path] = filling
            elif filling.refresh():
                self.job.check_sheet(filling)
                if path.name not in self._changed:
                    self._changed.append(path.name)
        except Exception:
            self._open.pop(path, None)
            raise
        return filling

    def draw(self, k: int) -> None:
        """Draw random rows, or add to those that were drawn."""
        with sole_writer(self.paths.audit.parent):
            self.job.draw(self.paths.audit, k)
        self._open.pop(self.paths.audit, None)

    def to_check(self, row: int, guess: str) -> tuple[Filling, int]:
        """The sheet of checked rows with this one in it, by number from 0; and the row's place there."""
        path, job = self.paths.check, self.job
        if not isinstance(job, Labelling):
            raise TableError("Labels under test are not mended here.")
        with sole_writer(path.parent):
            there = self.read(path)
            if there is None or there.place_of(row) is None:
                with atomic_write(path, overwrite=True) as stream:
                    job.add_to_check(row, guess, there, stream)
                self._open.pop(path, None)
        filling = self.read(path)
        place = None if filling is None else filling.place_of(row)
        if filling is None or place is None:
            raise TableError(f"{path.name} was changed at this very moment; try again.")
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
