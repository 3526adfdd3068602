"""What the pages work on: a table to label, labels to judge, or a table with that choice open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, TypedDict

import numpy as np
import polars as pl

from chary._files import atomic_rewrite, atomic_write
from chary._words import named_columns, percent
from chary.audit import (
    DOUBT,
    GUESS,
    RANDOM,
    DrawPool,
    Filling,
    JudgedTable,
    Stopping,
    cells_of,
    draw_sheet,
    draw_to_judge,
    enlarge_sheet,
    hidden_columns,
    is_workbook,
    judge_table,
    labels_of_sheet,
    read_labels_under_test,
    sheet_rows,
    unlabelled_rows,
    write_sheet,
)
from chary.labelling import DiagnosedTable, LabeledTable, label_table
from chary.method import ClassPrior
from chary.model_file import model_bytes
from chary.options import JudgeOptions, LabelOptions, ReviewOptions
from chary.report import Hints, Progress, render_judged, render_page, summarize, summarize_judged
from chary.review.files import Writers, paths_of
from chary.tables import (
    ACCEPT,
    ADDED_COLUMNS,
    Table,
    Value,
    can_be_text,
    cell_texts,
    cell_words,
    column_named,
    label_texts,
    open_source,
    read_target,
    refuse_taken,
    rows_that_count,
    target_texts,
    target_values,
    write_table,
)

ShowDiagnosis = Callable[[DiagnosedTable], None]  # called once the diagnosis is known

CHOOSE = "choose"
LABEL = "label"
JUDGE = "judge"

# At most this many different cells of a column are shown as examples.
_EXAMPLES = 3
# The examples are taken from at most this many first rows.
_ROWS_FOR_EXAMPLES = 200
# An example is cut to this many characters.
_EXAMPLE_WIDTH = 60
# A column with at most this many different values may well be the target.
_FEW_VALUES = 30
# To count the values of a column, about this many of its cells are looked at, evenly spaced.
_CELLS_TO_COUNT = 20_000


class ColumnChoice(TypedDict):
    """A column that may hold the labels."""

    name: str
    about: str


class _Job:
    """What all jobs have in common."""

    kind: str
    target = ""  # the column that holds the labels
    hidden: Sequence[str] = ()  # columns that a person who audits must not see
    classes: Sequence[str] = ()
    values: Sequence[Value] = ()  # of the column that holds the labels
    population: int  # rows that an audit is drawn from
    notes: Sequence[str] = ()  # how the labels were read, a sentence each
    has_confidence = True  # labels without a confidence cannot be accepted

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        self.table = table
        self.options = options
        self.paths = paths_of(table, self.kind == JUDGE)

    @property
    def files(self) -> list[str]:
        """The files of the table, as they are typed."""
        return [self.table.path or self.table.name, *self.table.more_paths]

    def check_sheet(self, filling: Filling) -> None:
        """Accept any sheet: ``JudgeJob`` checks it when it reads the answers."""

    @cached_property
    def examples(self) -> dict[str, list[str]]:
        """Up to three different cells of each column that is not hidden, by column."""
        examples = {}
        for cells in self.table.frame.head(_ROWS_FOR_EXAMPLES):
            if cells.name not in self.hidden:
                texts = cell_texts(cells, _EXAMPLE_WIDTH).drop_nulls()
                different = texts.unique(maintain_order=True).head(_EXAMPLES)
                examples[cells.name] = [cell_words(text) for text in different]
        return examples


class ChooseJob(_Job):
    """A table whose target and labels are chosen on the page Start."""

    kind = CHOOSE

    def columns_to_choose(self) -> list[ColumnChoice]:
        """List the columns that could hold labels, the likeliest first.

        A column is likely to be the target if it has few different values. Among such columns, one
        with more empty cells is likelier.
        """
        frame = self.table.frame
        step = max(1, frame.height // _CELLS_TO_COUNT)
        choices: list[ColumnChoice] = []
        rank_of: dict[str, tuple[bool, float]] = {}  # by name: the smaller, the likelier
        for cells in frame.gather_every(step):
            if not can_be_text(cells.dtype):
                continue
            labels = label_texts(target_texts(cells))
            n_values = labels.drop_nulls().n_unique()
            empty_share = labels.null_count() / max(1, len(labels))
            is_unlikely = not 2 <= n_values <= _FEW_VALUES
            rank_of[cells.name] = (is_unlikely, -empty_share)

            examples = ", ".join(self.examples[cells.name])
            about = f"{n_values:,} values, {percent(empty_share)} empty: {examples}"
            choices.append({"name": cells.name, "about": about})
        # Columns of the same rank keep the order of the table.
        return sorted(choices, key=lambda choice: rank_of[choice["name"]])

    def values_of(self, name: str) -> list[Value]:
        """List the values of a column, read with the options."""
        cells = self.table.frame[column_named(self.table, name)]
        return target_values(cells, **self.options.target_reading)


class LabelJob(_Job):
    """A table to label."""

    kind = LABEL

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        refuse_taken(table, ADDED_COLUMNS)
        table = rows_that_count(table)
        super().__init__(table, options)
        target = str(options.target)
        reading = options.target_reading
        labels, notes = read_target(table, target, **reading)
        # Check the class shares now, unless a sheet of checked rows may bring further classes.
        if not self.paths.check.exists():
            ClassPrior.of(options.class_prior, labels)

        self.target = target
        self.hidden = [target]
        self.labels = labels
        self.notes = notes
        self.classes = [str(name) for name in labels.classes]
        self.values = target_values(table.frame[target], **reading)
        is_unlabeled = ~labels.labeled
        self.population = int(is_unlabeled.sum())
        self.cells = cells_of(table, target)

    @property
    def columns(self) -> list[str]:
        """The columns whose kind can be chosen."""
        return [name for name in self.table.frame.columns if name != self.target]

    @property
    def command_options(self) -> LabelOptions:
        """The options of ``chary label``, which does the same."""
        return LabelOptions.like(self.options)

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet of random rows, or enlarge the sheet at ``path``."""
        draw_sheet(path, self._draw_pool(), k)

    def check_sheet(self, filling: Filling) -> None:
        """Refuse a sheet of another table."""
        sheet_rows(filling.sheet, self.cells, filling.origin.target, filling.origin.chosen)

    def stopping(self, filling: Filling, unaudited: LabeledTable | None) -> Stopping | None:
        """Prepare to compare answers with labels learned without them; None: not learned yet."""
        if unaudited is None:
            return None
        places = self.table.places_of([row.number for row in filling.rows])
        labels = unaudited.labels.classes[unaudited.codes[places]]
        return Stopping([str(label) for label in labels], self.population)

    def run(
        self, options: LabelOptions, progress: Progress, diagnosed: ShowDiagnosis
    ) -> LabeledTable:
        """Label the table, as ``chary label`` does."""
        return label_table(self.table, options, progress=progress, diagnosed=diagnosed)

    def writers(self, result: LabeledTable) -> Writers:
        """Return, for each kind of output, a function that writes it to a stream.

        The table comes last.
        """
        hints = Hints.for_labels(result.options, self.files, result.audit_size)
        return {
            "report": lambda stream: _write_page(render_page(summarize(result), hints), stream),
            "model": lambda stream: stream.write(model_bytes(result.model)),
            "labels": lambda stream: write_table(self.table, result.added_columns, stream),
        }

    def shown(self, result: LabeledTable | None) -> pl.DataFrame:
        """Return the whole table, with the target and new columns in front."""
        added = {} if result is None else result.added_columns
        whole, columns = self.table.with_blank_rows(added)
        return _in_front([self.target, *added], whole.frame.with_columns(**columns))

    def add_to_check(self, path: Path, row: int, guess: str, filling: Filling | None) -> None:
        """Add a row to the sheet of checked rows, which is new if ``filling`` is None."""
        rows = np.array([row])
        guesses = {GUESS: pl.Series([guess])}
        if filling is None:
            with atomic_write(path) as stream:
                as_workbook = is_workbook(path)
                write_sheet(self._draw_pool(DOUBT), rows, stream, guesses, as_workbook=as_workbook)
            return
        with atomic_rewrite(path) as stream:
            enlarge_sheet(filling.sheet, filling.origin, self.cells, rows, stream, guesses)

    def _draw_pool(self, chosen: str = RANDOM) -> DrawPool:
        """Collect the rows that a sheet is drawn from."""
        options = self.command_options.for_sheet
        return unlabelled_rows(self.table, self.target, self.labels, **options, chosen=chosen)


class JudgeJob(_Job):
    """A table with labels to judge."""

    kind = JUDGE

    def __init__(self, table: Table, options: ReviewOptions) -> None:
        super().__init__(table, options)
        self.target = options.labels[0]
        self.has_confidence = options.confidence is not None
        self.source = open_source(table, reserved=())
        tested = read_labels_under_test(self.source, self.command_options)
        hidden, revealing = hidden_columns(tested)
        self.hidden = [*hidden, *revealing]
        self.notes = [*tested.notes]
        if revealing:
            self.notes.append(
                "Not shown while you label, because its name or cells may give the label away: "
                f"{named_columns(revealing)}."
            )
        self.classes = tested.classes
        self.population = self.source.n_filled
        values = []
        for label, n_rows in tested.counts[self.target].items():
            if label is not None:
                values.append(Value(str(label), n_rows, is_label=True, is_doubtful=False))
        self.values = values

    @property
    def command_options(self) -> JudgeOptions:
        """The options of ``chary judge``, which does the same."""
        return JudgeOptions.like(self.options)

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet of random rows, or enlarge the sheet at ``path``."""
        draw_to_judge(self.source, path, self.command_options, k)

    def stopping(self, filling: Filling, unaudited: LabeledTable | None) -> Stopping:
        """Prepare to compare answers with the labels under test."""
        numbers = [row.number for row in filling.rows]
        return Stopping(labels_of_sheet(self.source, filling.origin, numbers), self.population)

    def run(
        self, options: JudgeOptions, progress: Progress, diagnosed: ShowDiagnosis
    ) -> JudgedTable:
        """Judge the labels, as ``chary judge`` does."""
        progress("Judging the labels")
        return judge_table(self.source, options.audit, options)

    def writers(self, result: JudgedTable) -> Writers:
        """Return, for each kind of output, a function that writes it to a stream.

        The table comes last, and is written only if there are labels to accept.
        """
        writers: Writers = {
            "report": lambda stream: _write_page(render_judged(summarize_judged(result)), stream)
        }
        if result.accepted is not None:
            accepted = {ACCEPT: result.accepted}
            writers["labels"] = lambda stream: write_table(self.table, accepted, stream)
        return writers

    def shown(self, result: JudgedTable | None) -> pl.DataFrame:
        """Return the whole table, with labels, confidence and new column in front."""
        frame = self.table.frame
        if result is not None and result.accepted is not None:
            frame = frame.with_columns(pl.Series(ACCEPT, result.accepted))
        return _in_front([*self.options.labels, self.options.confidence or "", ACCEPT], frame)


Job = LabelJob | JudgeJob | ChooseJob


def job_of(table: Table, options: ReviewOptions) -> Job:
    """Choose the job that the options ask for."""
    if options.labels:
        return JudgeJob(table, options)
    if options.target is None:
        return ChooseJob(table, options)
    return LabelJob(table, options)


def _in_front(names: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    """Move columns to the front; a name that no column has is passed over."""
    columns = [name for name in names if name in frame.columns]
    return frame[list(dict.fromkeys([*columns, *frame.columns]))]


def _write_page(page: str, stream: BinaryIO) -> None:
    r"""Write HTML; half of a character pair, which UTF-8 cannot hold, is spelled out as \ud800."""
    stream.write(page.encode("utf-8", "backslashreplace"))
