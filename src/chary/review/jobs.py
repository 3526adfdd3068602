"""What a page is about: a table to label, or labels to judge; both answer to the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl

from chary._words import shown
from chary.audit import draw_to_judge, judge_table
from chary.audit.drawing import draw_sheet
from chary.audit.filling import Filling
from chary.audit.judge import JudgedTable, labels_of_sheet, read_labels_under_test
from chary.audit.sheet import DOUBT, GUESS, cells_of, enlarge_sheet, sheet_rows, unlabelled_rows, write_audit
from chary.audit.stopping import Stopping
from chary.labelling import LabeledTable, diagnose_table, label_table
from chary.labelling.diagnose import DiagnosedTable
from chary.model_file import model_bytes
from chary.options import Options
from chary.report.page import render_judged, render_page
from chary.report.summary import Hints, summarize, summarize_judged
from chary.review.files import Writer
from chary.review.truth import truth_of_judged, truth_of_labels
from chary.tables import Table, TableError, open_source, write_table
from chary.tables.table import ADDED_COLUMNS
from chary.tables.target import read_target

Progress = Callable[[str], None]
_LABELED = ".labeled"


class LabelJob:
    """A page that labels a table.

    Both jobs have the same names: ``hidden`` are the columns that a person who audits must not see, ``counts`` the
    labels by class, ``population`` the rows that an audit is drawn from, ``question`` what a person is asked.
    """

    kind = "label"

    def __init__(self, table: Table, options: Options) -> None:
        self.table, self.options, self.target = table, options, str(options.target)
        self.question, self.hidden = self.target, (self.target,)
        read = read_target(table, self.target, options.unlabeled, exact_labels=options.exact_labels)
        self.labels, self.notes, self.spellings = read.labels, read.notes, read.spellings
        self.classes = [str(name) for name in self.labels.classes]
        found = np.bincount(self.labels.codes[self.labels.labeled], minlength=len(self.classes)).tolist()
        self.counts = dict(zip(self.classes, found, strict=True))
        self.population = table.frame.height - sum(found)
        self.cells = cells_of(table, self.target)

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet, or enlarge the one that is there."""
        told: dict[str, Any] = {"unlabeled": self.options.unlabeled, "exact_labels": self.options.exact_labels}
        draw_sheet(path, unlabelled_rows(self.table, self.target, self.labels, **told), k)

    def check_sheet(self, filling: Filling) -> None:
        """Refuse a sheet of another table."""
        sheet_rows(filling.sheet, self.cells, filling.origin.target, filling.origin.chosen)

    def stopping(self, filling: Filling, before: LabeledTable | None) -> Stopping | None:
        """What says when there are enough answers; None as long as there are no labels to compare with."""
        if before is None:
            return None
        labels = [str(before.labels.classes[before.codes[row.number]]) for row in filling.rows]
        return Stopping(labels, self.population)

    def diagnose(self, options: Options, progress: Progress) -> DiagnosedTable:
        """Whether the labelled rows are like the rest."""
        return diagnose_table(self.table, options, progress=progress)

    def run(self, options: Options, progress: Progress) -> LabeledTable:
        """Label or judge, as the command does with the same options."""
        return label_table(self.table, options, progress=progress)

    def truth(self, result: LabeledTable, checked: bool) -> dict[str, Any]:
        """How many labels are right."""
        return truth_of_labels(result, checked)

    def writers(self, result: LabeledTable) -> Mapping[str, Writer]:
        """How to write each output, the table last."""

        def report(stream: BinaryIO) -> None:
            hints = Hints.typed(self.options, files_of(self.table), result.audit_size)
            stream.write(render_page(summarize(result), hints).encode("utf-8", "backslashreplace"))

        return {
            "report": report,
            "model": lambda stream: stream.write(model_bytes(result.model)) and None,
            "labels": lambda stream: write_table(self.table, result.added_columns, stream),
        }

    def shown(self, result: LabeledTable | None) -> tuple[pl.DataFrame, list[str], str]:
        """The whole table with what was found, the columns to show first, and the one that holds the labels."""
        added = {} if result is None else result.added_columns
        frame = self.table.frame.with_columns([column.alias(name) for name, column in added.items()])
        return frame, [self.target, *added], "chary_label" if added else self.target

    def add_to_check(self, row: int, guess: str, filling: Filling | None, stream: BinaryIO) -> None:
        """Write the sheet of checked rows, made anew or as it is, with a row more."""
        rows, guesses = np.array([row], dtype=np.intp), {GUESS: pl.Series([guess])}
        if filling is not None:
            enlarge_sheet(filling.sheet, filling.origin, self.cells, rows, stream, guesses)
            return
        told: dict[str, Any] = {"unlabeled": self.options.unlabeled, "exact_labels": self.options.exact_labels}
        write_audit(self.table, self.target, self.labels, rows, stream, guesses, **told, chosen=DOUBT)


class JudgeJob:
    """A page that judges labels."""

    kind = "judge"
    question = "label"  # not the name of the labels, which may say who made them
    spellings: dict[str, dict[str, int]] = {}  # told in the notes  # noqa: RUF012

    def __init__(self, table: Table, options: Options) -> None:
        self.table, self.options, self.target = table, options, options.labels[0]
        self.scan = open_source(table, reserved=())
        self.hidden = (*options.labels, *([] if options.confidence is None else [options.confidence]))
        tested = read_labels_under_test(self.scan, options)
        self.classes, self.notes, self.population = tested.classes, tested.notes, self.scan.n_rows
        self.counts = {str(name): n for name, n in tested.counts[self.target].items() if name is not None}

    def draw(self, path: Path, k: int) -> None:
        """Draw a sheet, or enlarge the one that is there."""
        draw_to_judge(self.scan, path, self.options, k)

    def check_sheet(self, filling: Filling) -> None:
        """Done where answers are read."""

    def stopping(self, filling: Filling, before: LabeledTable | None) -> Stopping | None:
        """What says when there are enough answers; None as long as there are no labels to compare with."""
        numbers = [row.number for row in filling.rows]
        return Stopping(labels_of_sheet(self.scan, filling.origin, numbers), self.population)

    def run(self, options: Options, progress: Progress) -> JudgedTable:
        """Label or judge, as the command does with the same options."""
        progress("Judging the labels")
        error = None if options.confidence is None else options.error
        return judge_table(self.scan, options.audit, replace(options, error=error))

    def truth(self, result: JudgedTable, checked: bool) -> dict[str, Any]:
        """How many labels are right."""
        return truth_of_judged(result)

    def writers(self, result: JudgedTable) -> Mapping[str, Writer]:
        """How to write each output, the table last."""

        def report(stream: BinaryIO) -> None:
            page = render_judged(summarize_judged(result))
            stream.write(page.encode("utf-8", "backslashreplace"))

        accepted = result.accepted()
        if accepted is None:
            return {"report": report}
        column = {"chary_accept": accepted}
        return {"report": report, "labels": lambda stream: write_table(self.table, column, stream)}

    def shown(self, result: JudgedTable | None) -> tuple[pl.DataFrame, list[str], str]:
        """The whole table with what was found, the columns to show first, and the one that holds the labels."""
        accepted, frame = None if result is None else result.accepted(), self.table.frame
        if accepted is not None:
            frame = frame.with_columns(pl.Series("chary_accept", accepted))
        return frame, [*self.hidden, "chary_accept"], self.target


Job = LabelJob | JudgeJob


class Opened(NamedTuple):
    """A table, and what the files beside it are called after."""

    table: Table
    folder: Path
    stem: str
    files: tuple[str, ...]  # that were read
    notes: tuple[str, ...]  # what a person should know of it


def open_table(paths: Sequence[str], *, keep: bool = False, **reading: Any) -> Opened:
    """Read a table, or a finished result: its columns of chary are set aside, and its files are the table's.

    With ``keep`` they are columns like any other: they may be what is judged.
    """
    if "-" in paths:
        raise TableError("A page needs a table that it can read again; save standard input in a file first.")
    table = open_source(list(paths), reserved=(), **reading).read()
    files, folder, stem = table.files, table.folder, table.stem
    added = [name for name in ADDED_COLUMNS if name in table.frame.columns]
    added += [name for name in table.frame.columns if name.startswith("chary_p_") and added]
    if keep or not added:
        return Opened(table, folder, stem, files, ())
    plain = replace(table, frame=table.frame.drop(added), lines=None)
    note = f"{table.name} is a result of chary: its columns {shown(added[0])} and others like it were set aside."
    if not stem.endswith(_LABELED):
        return Opened(plain, folder, stem, files, (note,))
    stem = stem.removesuffix(_LABELED)
    original = folder / f"{stem}{table.suffix}"
    if original.exists():  # what commands are to be typed with
        plain = replace(plain, path=str(original), files=(str(original),), name=original.name)
    return Opened(plain, folder, stem, files, (note,))


def files_of(table: Table) -> list[str]:
    """The files of a table, as they are typed."""
    return [table.path or table.name, *table.more_paths]
