"""What a page is about: a table to label, or labels to judge; or a table of which that is still to be chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from chary._words import named_columns, percent
from chary.audit.blind import hidden_columns
from chary.audit.drawing import draw_sheet
from chary.audit.filling import Filling, Stopping
from chary.audit.judge import JudgedTable, draw_to_judge, judge_table
from chary.audit.labels_under_test import labels_of_sheet, read_labels_under_test
from chary.audit.origin import DOUBT
from chary.audit.sheet import GUESS, enlarge_sheet, sheet_rows, unlabelled_rows, write_sheet
from chary.audit.table_cells import cells_of
from chary.labelling import LabeledTable, label_table
from chary.model_file import model_bytes
from chary.options import JudgeOptions, LabelOptions, ReviewOptions, SheetOptions
from chary.report import Hints, Progress, render_judged, render_page, summarize, summarize_judged
from chary.review.files import Writer
from chary.tables import Table, open_source, write_table
from chary.tables.cells import cell_texts, cell_words, label_texts, target_texts
from chary.tables.table import (
    ACCEPT,
    ADDED_COLUMNS,
    can_be_text,
    column_named,
    refuse_taken,
    rows_that_count,
)
from chary.tables.target import Value, read_target, target_values

_EXAMPLES, _LOOKED_AT = 3, 200
_FEW_VALUES, _LOOKED_AT_TO_CHOOSE = (
    30,
    20_000,
)  # of a column that is offered first, and cells that are looked at


class _Job:
    """What both kinds of page have in common."""

    kind: str  # "label", "judge" or "choose"
    target = ""  # the column that holds the labels
    hidden: tuple[str, ...] = ()  # columns that a person who audits must not see
    classes: Sequence[str] = ()
    values: Sequence[Value] = ()  # of the column that holds the labels
    population: int  # rows that an audit is drawn from
    notes: Sequence[str] = ()  # how the labels were read, a sentence each

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        self.table, self.options = table, options

    def options_with(
        self, audit: Path | None, checked: Path | None, error: float | None
    ) -> LabelOptions | JudgeOptions:
        """Make the options of the command that does the same, with the sheets that may be looked at."""
        raise NotImplementedError

    @property
    def files(self) -> list[str]:
        """The files of the table, as they are typed."""
        return [self.table.path or self.table.name, *self.table.more_paths]

    @property
    def columns(self) -> list[str]:
        """Those whose kind can be chosen."""
        return [name for name in self.table.frame.columns if name != self.target]

    @cached_property
    def examples(self) -> dict[str, list[str]]:
        """A few different cells of each column that is not hidden."""
        found = {}
        for name in [name for name in self.table.frame.columns if name not in self.hidden]:
            some = cell_texts(self.table.frame[name].slice(0, _LOOKED_AT), 60).drop_nulls()
            found[name] = [
                cell_words(text)
                for text in some.unique(maintain_order=True).head(_EXAMPLES).to_list()
            ]
        return found


class ChooseJob(_Job):
    """A page on which a person says which column holds the labels, and which of its values are labels."""

    kind = "choose"

    def columns_to_choose(self) -> list[dict[str, str]]:
        """Every column that could hold labels; first those of few values with most empty cells, as targets are."""
        columns = []
        for name in self.table.frame.columns:
            cells = self.table.frame[name]
            if not can_be_text(cells.dtype):
                continue
            some = label_texts(
                target_texts(cells.gather_every(max(1, len(cells) // _LOOKED_AT_TO_CHOOSE)))
            )
            n_values, empty = some.drop_nulls().n_unique(), some.null_count() / max(1, len(some))
            is_likely = 2 <= n_values <= _FEW_VALUES
            about = f"{n_values:,} values, {percent(empty)} empty: {', '.join(self.examples[name])}"
            columns.append((not is_likely, -empty, {"name": name, "about": about}))
        return [column for *_, column in sorted(columns, key=lambda one: one[:2])]

    def values_of(self, name: str) -> list[Value]:
        """The values of a column, as they are read with what was typed."""
        return target_values(
            self.table.frame[column_named(self.table, name)], **self.options.target_reading
        )


class LabelJob(_Job):
    """A page that labels a table."""

    kind = "label"

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        refuse_taken(table, ADDED_COLUMNS)
        table = rows_that_count(table)
        super().__init__(table, options)
        self.target = str(options.target)
        self.hidden = (self.target,)
        read = read_target(table, self.target, **options.target_reading)
        self.labels, self.notes = read.labels, read.notes
        self.classes = [str(name) for name in self.labels.classes]
        self.values = target_values(table.frame[self.target], **options.target_reading)
        self.population = table.frame.height - int(self.labels.labeled.sum())
        self.cells = cells_of(table, self.target)

    def options_with(
        self, audit: Path | None, checked: Path | None, error: float | None
    ) -> LabelOptions:
        """Make the options of ``chary label``, with the sheets that may be looked at."""
        return LabelOptions.like(self.options, audit=audit, checked=checked, error=error)

    @property
    def _for_sheet(self) -> SheetOptions:
        """What a sheet of rows to label remembers."""
        return LabelOptions.like(self.options).for_sheet

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet of random rows, or enlarge the one that is there."""
        draw_sheet(
            path, unlabelled_rows(self.table, self.target, self.labels, **self._for_sheet), k
        )

    def check_sheet(self, filling: Filling) -> None:
        """Refuse a sheet of another table."""
        sheet_rows(filling.sheet, self.cells, filling.origin.target, filling.origin.chosen)

    def stopping(self, filling: Filling, alone: LabeledTable | None) -> Stopping | None:
        """What says when there are enough answers; None as long as there are no labels to compare with."""
        if alone is None:
            return None
        places = self.table.places_of([row.number for row in filling.rows])
        labels = [str(alone.labels.classes[code]) for code in alone.codes[places]]
        return Stopping(labels, self.population)

    def run(
        self, options: LabelOptions, progress: Progress, diagnosed: Callable[[Any], None]
    ) -> LabeledTable:
        """Label or judge, as the command does with the same options."""
        return label_table(self.table, options, progress=progress, diagnosed=diagnosed)

    def writers(self, result: LabeledTable) -> Mapping[str, Writer]:
        """How to write each output, the table last."""
        hints = Hints.for_labels(result.options, self.files, result.audit_size)
        return {
            "report": lambda stream: _write_page(render_page(summarize(result), hints), stream),
            "model": lambda stream: stream.write(model_bytes(result.model)) and None,
            "labels": lambda stream: write_table(self.table, result.added_columns, stream),
        }

    def shown(self, result: LabeledTable | None) -> tuple[pl.DataFrame, list[str]]:
        """The whole table with what was found, and the columns to show first."""
        added = {} if result is None else result.added_columns
        whole, columns = self.table.with_blank_rows(added)
        frame = whole.frame.with_columns([column.alias(name) for name, column in columns.items()])
        return frame, [self.target, *added]

    def add_to_check(self, row: int, guess: str, filling: Filling | None, stream: BinaryIO) -> None:
        """Write the sheet of checked rows, made anew or as it is, with a row more."""
        rows, guesses = np.array([row], dtype=np.intp), {GUESS: pl.Series([guess])}
        if filling is not None:
            enlarge_sheet(filling.sheet, filling.origin, self.cells, rows, stream, guesses)
            return
        about: dict[str, Any] = {**self._for_sheet, "chosen": DOUBT}
        write_sheet(
            unlabelled_rows(self.table, self.target, self.labels, **about), rows, stream, guesses
        )


class JudgeJob(_Job):
    """A page that judges labels."""

    kind = "judge"

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        super().__init__(table, options)
        self.target, self.source = options.labels[0], open_source(table, reserved=())
        tested = read_labels_under_test(self.source, JudgeOptions.like(options))
        hidden, revealing = hidden_columns(tested)
        self.hidden, self.notes = (*hidden, *revealing), tested.notes
        if revealing:
            names = named_columns(revealing)
            self.notes = [
                *tested.notes,
                f"Not shown while you label, because its name or cells may give the label away: {names}.",
            ]
        self.classes, self.population = tested.classes, self.source.n_filled
        counts = {
            str(name): n for name, n in tested.counts[self.target].items() if name is not None
        }
        self.values = [Value(name, n, True, False) for name, n in counts.items()]

    def options_with(
        self, audit: Path | None, checked: Path | None, error: float | None
    ) -> JudgeOptions:
        """Make the options of ``chary judge``, with the sheet that may be looked at."""
        return JudgeOptions.like(self.options, audit=audit, error=error)

    def check_sheet(self, filling: Filling) -> None:
        """Nothing to do: it is checked where the answers are read."""

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet of random rows, or enlarge the one that is there."""
        draw_to_judge(self.source, path, JudgeOptions.like(self.options), k)

    def stopping(self, filling: Filling, alone: LabeledTable | None) -> Stopping | None:
        """What says when there are enough answers; None as long as there are no labels to compare with."""
        numbers = [row.number for row in filling.rows]
        return Stopping(labels_of_sheet(self.source, filling.origin, numbers), self.population)

    def run(
        self, options: JudgeOptions, progress: Progress, diagnosed: Callable[[Any], None]
    ) -> JudgedTable:
        """Label or judge, as the command does with the same options."""
        progress("Judging the labels")
        error = None if options.confidence is None else options.error
        return judge_table(self.source, options.audit, replace(options, error=error))

    def writers(self, result: JudgedTable) -> Mapping[str, Writer]:
        """How to write each output, the table last."""
        report = lambda stream: _write_page(render_judged(summarize_judged(result)), stream)  # noqa: E731
        if result.accepted is None:
            return {"report": report}
        return {
            "report": report,
            "labels": lambda stream: write_table(self.table, {ACCEPT: result.accepted}, stream),
        }

    def shown(self, result: JudgedTable | None) -> tuple[pl.DataFrame, list[str]]:
        """The whole table with what was found, and the columns to show first."""
        accepted, frame = None if result is None else result.accepted, self.table.frame
        if accepted is not None:
            frame = frame.with_columns(pl.Series(ACCEPT, accepted))
        return frame, [*self.options.labels, *filter(None, [self.options.confidence]), ACCEPT]


Job = LabelJob | JudgeJob | ChooseJob


def job_of(table: Table, options: ReviewOptions) -> Job:
    """What these options ask for."""
    if options.labels:
        return JudgeJob(table, options)
    return ChooseJob(table, options) if options.target is None else LabelJob(table, options)


def _write_page(page: str, stream: BinaryIO) -> None:
    stream.write(page.encode("utf-8", "backslashreplace"))
