"""A person's answers for labels under test: from a sheet, or given for the rows of the table."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from chary._words import Parameter, Step, shown
from chary.audit.answers import AuditAnswers, classes_meant, match_answers, refuse_foreign_answers
from chary.audit.labels_under_test import LabelsUnderTest
from chary.audit.origin import SheetOrigin, origin_of
from chary.audit.sheet import SKIPPED, read_sheet
from chary.audit.table_cells import TableCells, as_texts
from chary.tables.cells import label_texts
from chary.tables.frames import from_dataframe
from chary.tables.nested import can_be_shown
from chary.tables.source import Source
from chary.tables.table import TableError
from chary.tables.target import markers_of

# A person fills in this column of a sheet.
TRUTH = "chary_truth"


def cells_by_row(source: Source, columns: Sequence[str]) -> TableCells:
    """Describe the table behind a sheet, with a checksum for each row.

    The checksum covers the row's own cells in ``columns``, the names of these, and the number of
    rows of the table. So cells of other rows, and other columns, may change after the draw.
    """
    n_rows = source.n_rows

    def read_texts(numbers: Sequence[int]) -> pl.DataFrame:
        return as_texts(source.rows(numbers, columns))

    def checksums(cells: pl.DataFrame) -> list[str]:
        digests = []
        for row in cells.iter_rows():
            content = json.dumps([n_rows, cells.columns, row])
            digests.append(hashlib.sha256(content.encode()).hexdigest())
        return digests

    return TableCells(source.table.name, n_rows, read_texts, checksums)


def columns_of_sheet(
    source: Source, hidden: Collection[str], earlier: SheetOrigin | None
) -> list[str]:
    """List the columns of the table that a sheet shows.

    If an ``earlier`` sheet is enlarged, they are the columns that it shows. Otherwise they are all
    columns that can be shown and are neither hidden nor written by chary.
    """
    if earlier is not None:
        # A person may have edited the list on the sheet: a column may be named twice, or not be in
        # the table.
        columns = [name for name in dict.fromkeys(earlier.shown) if name in source.names]
        if columns:
            return columns
    return [
        name
        for name in source.names
        if name not in hidden and not name.startswith("chary_") and is_readable(source, name)
    ]


def is_readable(source: Source, name: str) -> bool:
    """Tell whether the cells of a column can be shown to a person."""
    return can_be_shown(source.table.frame.schema[name])


def read_truth(truth: Any, tested: LabelsUnderTest) -> AuditAnswers:
    """Read a person's answers.

    ``truth`` is the path of a sheet; or an array with a value for each row of the table, which is
    missing if the row was not answered.
    """
    if isinstance(truth, (str, os.PathLike)):
        return _read_sheet(truth, tested)
    if tested.options.hide:
        raise TableError(Parameter("hide"), " only applies to sheets; leave it out.")
    if tested.options.annotator:
        raise TableError(
            "Answers of several people are read from sheets; pass the path of the first."
        )
    column = from_dataframe({"truth": truth})["truth"]
    n_rows = tested.source.n_rows
    if len(column) != n_rows:
        raise TableError(
            f"The truth has {len(column):,} values for {n_rows:,} rows; give one for each."
        )

    # The class that each answer means, and the class of each row, (n,).
    answers = label_texts(column)
    counts = Counter(answers.drop_nulls().to_list())
    class_of, notes = classes_meant(counts, tested.classes, markers_of(tested.options.unlabeled))
    refuse_foreign_answers(counts, class_of, tested.classes, tested.options.classes)
    classes = answers.replace_strict(class_of, default=None, return_dtype=pl.String)

    # The k rows with an answer. Without a sheet, these are all rows that were drawn.
    is_answered = classes.is_not_null() & (classes != SKIPPED)
    rows = is_answered.arg_true().to_numpy().astype(np.intp)
    if len(rows) < 2:
        raise TableError(f"The truth is known for {len(rows)} rows; two at least are needed.")

    condition = (
        f"The figures hold only if the {len(rows):,} rows with a truth were drawn at random from "
        "all."
    )
    classes_of_rows = classes.gather(rows).to_numpy()
    return AuditAnswers.of(rows, classes_of_rows, len(rows), tested.classes, [condition, *notes])


def _read_sheet(path: str | os.PathLike[str], tested: LabelsUnderTest) -> AuditAnswers:
    """Read the answers of a sheet and of further people's sheets.

    The answers come with warnings if people saw the labels or the labels changed since the draw.
    """
    options = tested.options
    sheet = read_sheet(path)
    origin = origin_of(sheet)
    if not origin.judged:
        draw_again = Step("judge", "a draw to judge labels")
        raise TableError(
            f"{sheet.name} was drawn to audit a model; draw one from all rows with ",
            draw_again,
            ".",
        )
    hidden = {*options.labels, *options.hide}
    if options.confidence is not None:
        hidden.add(options.confidence)
    cells = cells_by_row(tested.source, columns_of_sheet(tested.source, hidden, origin))
    more_sheets = [read_sheet(path) for path in options.annotator]
    answers = match_answers(
        sheet,
        cells,
        TRUTH,
        tested.classes,
        markers_of(options.unlabeled),
        others=more_sheets,
        new_classes=options.classes,
    )

    # People could see the columns that the sheets had at the draw, and those that they have now.
    names = list(origin.shown)
    for filled_sheet in [sheet, *more_sheets]:
        names += filled_sheet.frame.columns
    columns_shown = [name for name in dict.fromkeys(names) if not name.startswith("chary_")]
    warnings = [
        f"Column {shown(name)} was shown on the sheet, so the answers may follow it: its figures "
        "may be too good."
        for name in options.labels
        if name in columns_shown
    ]
    return replace(
        answers,
        warnings=[*warnings, *answers.warnings],
        changed_labels=_changed_labels(tested, origin),
        columns_shown=tuple(columns_shown),
    )


def _changed_labels(tested: LabelsUnderTest, origin: SheetOrigin) -> dict[str, str]:
    """Warn of each column whose labels may have changed since the draw.

    The sheet holds a digest of the labels of each judged column as they were at the draw.
    """
    warnings = {}
    for name in tested.options.labels:
        if origin.digests.get(name) == tested.digest(name):
            continue
        if name in origin.digests:
            change = (
                f"The labels in column {shown(name)} have changed since the rows were drawn, so "
                "they may"
            )
        else:
            change = f"The rows were not drawn for column {shown(name)}, so its labels may"
        warnings[name] = (
            f"{change} have been made or corrected with the answers, and be worse than the figures "
            "say; judge the labels as they were, or draw a new sheet."
        )
    return warnings
