"""The commands ``chary label`` and ``chary diagnose``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chary.cli import console
from chary.options import DiagnoseOptions, GivenPath, LabelOptions

if TYPE_CHECKING:
    from chary.audit import SheetBeside
    from chary.labelling import LabeledTable
    from chary.report import Hints, LabelsSummary
    from chary.tables import Source, Table


@console.takes_options
def label_command(
    file: console.TABLE, options: LabelOptions, as_json: console.JSON = False
) -> None:
    """Label the rows where one column is empty.

    It writes three files next to FILE:

    FILE.labeled.csv, or another extension if FILE has one: your table, with the columns
    chary_label, chary_confidence and chary_source.

    FILE.model.chary: the model, for chary predict.

    FILE.report.html: whether your labels are biased, what you can trust, and which rows to check.

    A table that would take more than --memory is read in parts: the model learns from the labelled
    rows and a random sample of the others, and then labels every row.
    """
    labelled = label_and_write(file, options)
    from chary.report import show_labels

    console.tell(labelled.summary, show_labels, labelled.hints, as_json, labelled.paths)


@console.takes_options
def diagnose_command(
    file: console.TABLE, options: DiagnoseOptions, as_json: console.JSON = False
) -> None:
    """Say whether the labelled rows are like the rest.

    It also shows how each column is read, and writes nothing.
    """
    console.import_libraries(file)
    from chary.labelling import diagnose_table
    from chary.report import Hints, show_diagnosis, summarize_diagnosis
    from chary.tables import read_table, refuse_together

    with console.steps() as step:
        step("Reading")
        with console.quietly():
            table = read_table(file, **options.reading)
        refuse_together(
            partial(_refuse_unknown_columns, table, options),
            partial(_require_labels, table, options),
        )
        diagnosed = diagnose_table(table, options, progress=step)
    console.tell(summarize_diagnosis(diagnosed), show_diagnosis, Hints(typed=True), as_json)


class Labelled(NamedTuple):
    """A labelled table, what to say of it, and its files."""

    result: LabeledTable
    summary: LabelsSummary
    hints: Hints
    paths: dict[str, Path]  # by kind


def label_and_write(files: Sequence[GivenPath], options: LabelOptions) -> Labelled:
    """Read and label a table, and write the files.

    A table beyond the memory is read, labelled and written in parts. Everything that would make the
    outputs impossible is checked before the table is labelled, which takes long.
    """
    console.import_libraries(os.fspath(path) for path in files)
    from chary.audit import is_workbook
    from chary.audit.drawing import keep_copy, sheet_beside
    from chary.labelling import label_table, write_rows_to_check
    from chary.model_file import model_bytes
    from chary.report import Hints, render_page, summarize
    from chary.tables import Table, refuse_together, require_writable

    with console.steps() as step:
        step("Reading")
        source = console.open_table(files, options)
        # A table that is read in parts is known here by its columns alone.
        table = source if isinstance(source, Table) else source.table
        paths = _output_paths(table, options)
        check_path = paths.get("to check")
        sheet = None
        if options.audit is None:
            sheet = sheet_beside(table, options.folder(table.folder), options.target)

        # Refuse now, before the long work, all that could not be done.
        refuse_together(
            partial(_refuse_unknown_columns, table, options),
            partial(_require_labels, source, options),
            partial(_refuse_to_lose_answers, check_path, options),
            partial(_require_free, paths, options, sheet),
            partial(require_writable, table),
        )

        with console.writing(paths.values(), options.force) as (labeled, model, report, *to_check):
            result = label_table(source, options, file=labeled, progress=step)
            summary = summarize(result)
            hints = Hints.for_labels(options, files, result.audit_size, sheet)
            model.write(model_bytes(result.model))
            page = render_page(summary, hints)
            report.write(page.encode("utf-8", "backslashreplace"))
            for stream in to_check:
                as_workbook = is_workbook(paths["to check"])
                write_rows_to_check(result, stream, as_workbook=as_workbook)

            # The sheet may have been answered meanwhile.
            _refuse_to_lose_answers(check_path, options)
            if check_path is not None:
                keep_copy(check_path, options.target)
    return Labelled(result, summary, hints, paths)


def _output_paths(table: Table, options: LabelOptions) -> dict[str, Path]:
    """Name the files to write by their kind."""
    from chary.audit import sheet_path

    endings = {
        "labeled": f"labeled{table.suffix}",
        "model": "model.chary",
        "report": "report.html",
    }
    folder = options.folder(table.folder)
    paths = {kind: folder / f"{table.stem}.{ending}" for kind, ending in endings.items()}
    if options.check_sheet:
        paths["to check"] = sheet_path(table, folder, "check")
    return paths


def _refuse_unknown_columns(table: Table, options: DiagnoseOptions) -> None:
    """Refuse options that name a column which the table does not have."""
    from chary.tables import TablePreparation

    others = [name for name in table.frame.columns if name != options.target]
    TablePreparation(**options.kinds).refuse_unknown_columns(others, options.target)


def _require_labels(source: Table | Source, options: DiagnoseOptions) -> None:
    """Refuse a target without labels; of a table in parts only one that is not there."""
    from chary.tables import Table, column_named, target_labels

    if isinstance(source, Table):
        target_labels(source, options.target, **options.target_reading)
    else:
        column_named(source.table, options.target)


def _require_free(
    paths: Mapping[str, Path], options: LabelOptions, sheet: SheetBeside | None
) -> None:
    """Refuse to overwrite files.

    A user may have answered a sheet and then forgotten to name it: if one lies beside the table,
    the error also says how to use its answers.
    """
    from chary.audit import FEWEST_ANSWERS
    from chary.report import unused_answers

    try:
        console.require_free(paths.values(), options.force)
    except ValueError as error:
        if sheet is None or sheet.n_answers < FEWEST_ANSWERS:
            raise
        raise ValueError(f"{error} {unused_answers(sheet)}") from None


def _refuse_to_lose_answers(check_path: Path | None, options: LabelOptions) -> None:
    """Refuse to replace a sheet with answers, unless they may be discarded."""
    from chary.audit.drawing import refuse_to_lose_answers

    if check_path is not None and not options.discard_answers:
        refuse_to_lose_answers(check_path, options.target, "checked")
