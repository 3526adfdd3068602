"""A table with labels under test and answers in; what ``judge_table`` says of them, and its files, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl

from chary.jobs import Enough, JudgedTable, draw_to_judge, judge_table, labels_of_sheet
from chary.report import JudgeHints, render_judged, summarize_judged
from chary.review.labelling import Fixed
from chary.tables import Filling, Scan, read_tested, write_table

TRUTH = "chary_truth"


class Judging:
    """The job of a page that judges labels."""

    kind = "judge"

    def __init__(
        self,
        scan: Scan,
        labels: Sequence[str],
        confidence: str | None,
        fixed: Fixed,
        hints: Callable[[JudgedTable], JudgeHints] | None = None,
    ) -> None:
        self.scan, self.labels, self.confidence, self.fixed = scan, list(labels), confidence, fixed
        self.table = scan.table
        self.hints = hints or (lambda result: JudgeHints())
        self._told: dict[str, Any] = {
            "confidence": confidence,
            "unlabeled": fixed.unlabeled,
            "exact_labels": fixed.exact_labels,
        }
        self.tested = read_tested(scan, self.labels, fixed.unlabeled, exact_labels=fixed.exact_labels)

    @property
    def target(self) -> str:
        """The labels under test."""
        return self.labels[0]

    @property
    def question(self) -> str:
        """What a person is asked of a row: not by the name of the labels, which may say who made them."""
        return "label"

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that a person who audits must not see."""
        return (*self.labels, *([] if self.confidence is None else [self.confidence]))

    @property
    def classes(self) -> list[str]:
        """Of all labels under test."""
        return self.tested.classes

    @property
    def n_labelled(self) -> int:
        """Rows with a label."""
        return self.scan.n_rows - self.tested.counts[self.target].get(None, 0)

    @property
    def population(self) -> int:
        """Rows that an audit is drawn from."""
        return self.scan.n_rows

    @property
    def notes(self) -> list[str]:
        """On how the labels were read."""
        return self.tested.notes

    @property
    def spellings(self) -> dict[str, dict[str, int]]:
        """Of classes that have several: told in the notes."""
        return {}

    def counts(self) -> dict[str, int]:
        """Labels by class."""
        return {str(name): n for name, n in self.tested.counts[self.target].items() if name is not None}

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet, or enlarge the one that is there."""
        draw_to_judge(self.scan, self.labels, path, k, **self._told)

    def check_sheet(self, filling: Filling) -> None:
        """Refuse a sheet that was drawn for something else: done where answers are read."""

    def enough(self, filling: Filling) -> Enough:
        """The watch over a sheet, by the labels under test."""
        numbers = [row.number for row in filling.rows]
        return Enough(labels_of_sheet(self.scan, filling.origin, numbers), self.scan.n_rows)

    def judge(self, audit: Path, error: float | None) -> JudgedTable:
        """What the answers say of the labels."""
        asked = None if self.confidence is None else error
        return judge_table(self.scan, self.labels, audit, error=asked, **self._told)

    def writers(self, result: Any) -> Mapping[str, Callable[[BinaryIO], None]]:
        """How to write each output."""

        def report(stream: BinaryIO) -> None:
            page = render_judged(summarize_judged(result), self.hints(result))
            stream.write(page.encode("utf-8", "backslashreplace"))

        accepted = result.accepted()
        if accepted is None:
            return {"report": report}
        column = {"chary_accept": accepted}
        return {"labels": lambda stream: write_table(self.scan.whole(), column, stream), "report": report}

    def frame(self, result: JudgedTable | None) -> pl.DataFrame:
        """The whole table, with what can be accepted."""
        frame = self.scan.whole().frame
        accepted = None if result is None else result.accepted()
        return frame if accepted is None else frame.with_columns(pl.Series("chary_accept", accepted))
