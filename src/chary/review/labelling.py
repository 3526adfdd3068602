"""A table with a few labels, settings and answers in; what ``label_table`` makes of them, and its files, out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.jobs import DiagnosedTable, Enough, LabeledTable, diagnose_table, draw_sheet, label_table, model_bytes
from chary.report import Hints, render_page, summarize
from chary.review.background import Progress
from chary.review.settings import Settings
from chary.tables import (
    DOUBT,
    GUESS,
    Behind,
    Filling,
    Table,
    Target,
    behind,
    enlarge_sheet,
    origin_to_tell,
    read_target,
    sheet_rows,
    write_audit,
    write_table,
)


class Fixed(NamedTuple):
    """What was told when the page was started, and stays."""

    unlabeled: tuple[str, ...] | None = None
    exact_labels: bool = False
    missing: tuple[str, ...] = ()
    features: Path | None = None
    seed: int = 0


class Labelling:
    """The job of a page that labels a table; nothing here is kept between two calls but what was read."""

    kind = "label"

    def __init__(
        self, table: Table, target: str, fixed: Fixed, hints: Callable[[LabeledTable], Hints] | None = None
    ) -> None:
        self.table, self.target, self.fixed = table, target, fixed
        self.hints = hints or (lambda result: Hints())
        self.read: Target = read_target(table, target, fixed.unlabeled, exact_labels=fixed.exact_labels)

    @property
    def question(self) -> str:
        """What a person is asked of a row."""
        return self.target

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns that a person who audits must not see."""
        return (self.target,)

    @property
    def classes(self) -> list[str]:
        """Of the given labels."""
        return [str(name) for name in self.read.labels.classes]

    @property
    def n_labelled(self) -> int:
        """Rows with a label."""
        return int(self.read.labels.labeled.sum())

    @property
    def population(self) -> int:
        """Rows that an audit is drawn from."""
        return self.table.frame.height - self.n_labelled

    @property
    def notes(self) -> list[str]:
        """On how the target was read."""
        return self.read.notes

    @property
    def spellings(self) -> dict[str, dict[str, int]]:
        """Of classes that have several."""
        return self.read.spellings

    def counts(self) -> dict[str, int]:
        """Labels by class."""
        labels = self.read.labels
        found = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes)).tolist()
        return dict(zip(self.classes, found, strict=True))

    @cached_property
    def behind(self) -> Behind:
        """The table behind its sheets."""
        return behind(self.table, self.target)

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet, or enlarge the one that is there."""
        fixed = self.fixed
        origin = origin_to_tell(
            self.table, self.target, self.read.labels, fixed.unlabeled, exact_labels=fixed.exact_labels
        )
        draw_sheet(path, self.table, origin, self.behind, self.read.labels.labeled, k)

    def check_sheet(self, filling: Filling) -> None:
        """Refuse a sheet of another table."""
        sheet_rows(filling.sheet, self.behind, filling.origin.target, filling.origin.chosen)

    def enough(self, filling: Filling, codes: NDArray[np.intp], classes: NDArray[Any]) -> Enough:
        """The watch over a sheet, by the labels of the model of the given labels alone."""
        labels = [str(classes[codes[row.number]]) for row in filling.rows]
        return Enough(labels, self.population)

    def diagnose(self, settings: Settings, progress: Progress) -> DiagnosedTable:
        """Whether the labelled rows are like the rest."""
        return diagnose_table(self.table, self.target, progress=progress, **self._told(settings))

    def fit(
        self, settings: Settings, audit: Path | None, checked: Path | None, progress: Progress
    ) -> LabeledTable:
        """Label the table, as the command does with the same settings."""
        return label_table(
            self.table,
            self.target,
            audit=audit,
            checked=checked,
            class_prior=settings.class_prior,
            aim=settings.aim,
            error=None if audit is None else settings.error,
            progress=progress,
            **self._told(settings),
        )

    def _told(self, settings: Settings) -> dict[str, Any]:
        return {**self.fixed._asdict(), **settings.parameters()}

    # ------------------------------------------------------------ files

    def writers(self, result: Any) -> Mapping[str, Callable[[BinaryIO], None]]:
        """How to write each output."""

        def model(stream: BinaryIO) -> None:
            stream.write(model_bytes(result.model))

        def report(stream: BinaryIO) -> None:
            page = render_page(summarize(result), self.hints(result))
            stream.write(page.encode("utf-8", "backslashreplace"))

        return {
            "labels": lambda stream: write_table(self.table, result.added_columns, stream),
            "report": report,
            "model": model,
        }

    def add_to_check(self, row: int, guess: str, filling: Filling | None, stream: BinaryIO) -> None:
        """Write the sheet of checked rows, made anew or as it is, with a row more."""
        fixed, rows, guesses = self.fixed, np.array([row], dtype=np.intp), {GUESS: pl.Series([guess])}
        if filling is None:
            write_audit(
                self.table,
                self.target,
                self.read.labels,
                rows,
                stream,
                guesses,
                fixed.unlabeled,
                exact_labels=fixed.exact_labels,
                chosen=DOUBT,
            )
            return
        enlarge_sheet(filling.sheet, filling.origin, self.behind, rows, stream, guesses)
