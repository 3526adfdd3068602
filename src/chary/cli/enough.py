"""A sheet to judge labels by, and the answers so far, in; whether it is enough out, and no word on one label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chary.tables import DrawnFrom, Table

_STEP = 5  # answers between two looks: after one, the interval would tell whether it agreed with the label


class Enough:
    """Limits of the accuracy that hold at every moment, shown while a person labels.

    Parameters
    ----------
    labels : sequence of str or None
        The labels under test, by row of the sheet, in the order of the draw.
    population : int
        Rows of the table.
    width, above : float, default=None
        What is asked for: an interval at most so wide, and whether the accuracy is above or below a share.
    """

    def __init__(
        self, labels: Sequence[str | None], population: int, width: float | None = None, above: float | None = None
    ) -> None:
        self.labels, self.population, self.width, self.above = list(labels), population, width, above

    def limits(self, answers: Sequence[str]) -> tuple[Any, Any]:
        """After every row up to the last look: arrays, empty before the first."""
        import numpy as np

        from chary.evaluation import sequence
        from chary.tables import SKIPPED

        n = next((i for i, answer in enumerate(answers) if not answer), len(answers))
        n -= 0 if n == len(answers) else n % _STEP
        if not n:
            return np.empty(0), np.empty(0)
        skipped = np.array([answer == SKIPPED for answer in answers[:n]])
        right = [_same(answer, label) for answer, label in zip(answers[:n], self.labels, strict=False)]
        return sequence(np.array(right) & ~skipped, self.population, skipped=skipped)

    def words(self, answers: Sequence[str]) -> tuple[str, bool]:
        """What to show, and whether what was asked for is reached."""
        from chary.evaluation import settled

        low, high = self.limits(answers)
        if not len(low):
            return f"The interval is shown after {_STEP} rows, then after every {_STEP}.", False
        share = f"between {low[-1]:.0%} and {high[-1]:.0%} of the labels are right"
        now = f"By {len(low)} rows, {share}, whenever you stop."
        found = settled(low, high, above=self.above, width=self.width)
        if found is None:
            return now, False
        reached = f"the interval is {self.width:.0%} wide or less" if self.width is not None else ""
        if found.what in ("above", "below"):
            reached = f"accuracy is {'at least' if found.what == 'above' else 'below'} {self.above:.0%}"
        return f"ENOUGH: {reached}, by {found.n} rows. {now}", True


def watch_sheet(audit: Table, origin: DrawnFrom, path: Path, width: float | None, above: float | None) -> Enough:
    """The watch over a sheet whose labels are there already; the person does not see them."""
    from chary.jobs import labels_of_sheet
    from chary.tables import places_and_rows, scan_table

    if not origin.judged:
        raise ValueError(
            f"{path} was drawn to train a model, whose labels are not there yet; when it is enough can be told of "
            "a sheet of chary judge alone."
        )
    if not Path(origin.table).exists():
        raise ValueError(f"The table that {path} was drawn from, {origin.table}, is not there; put it back.")
    scan = scan_table([origin.table, *origin.more_tables], **origin.read_with)
    numbers = [row for _, row in places_and_rows(audit)]
    if max(numbers, default=0) >= scan.n_rows:
        raise ValueError(
            f"{path} was not drawn from {origin.table} as it is now; use the table it was drawn from."
        )
    return Enough(labels_of_sheet(scan, origin, numbers), scan.n_rows, width, above)


def _same(answer: str, label: str | None) -> bool:
    return label is not None and " ".join(answer.split()).casefold() == " ".join(label.split()).casefold()
