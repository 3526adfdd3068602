"""The commands ``chary label`` and ``chary diagnose``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from chary.cli import console
from chary.options import DiagnoseOptions, LabelOptions

if TYPE_CHECKING:
    from chary.labelling import LabeledTable
    from chary.report import Hints, LabelsSummary


@console.takes_options
def label_command(
    file: console.TABLE, options: LabelOptions, as_json: console.JSON = False
) -> None:
    """Label the rows where one column is empty.

    It writes three files next to FILE:

    FILE.labeled.csv (or as FILE): your table, with the columns chary_label, chary_confidence and
    chary_source.

    FILE.model.chary: the model, for chary predict.

    FILE.report.html: whether your labels are biased, what you can trust, and which rows to check.

    A table that would take more than --memory is read in parts: the model learns from the labelled
    rows and a random sample of the others, and then labels every row.
    """
    labelled = label_and_write(file, options)
    from chary.report import show_labels

    show = lambda screen: show_labels(screen, labelled.summary, labelled.hints)  # noqa: E731
    console.tell(labelled.summary, show, as_json, labelled.paths)


@console.takes_options
def diagnose_command(
    file: console.TABLE, options: DiagnoseOptions, as_json: console.JSON = False
) -> None:
    """Say whether the labelled rows are like the rest.

    It also shows how each column is read, and writes nothing.
    """
    from chary.labelling import diagnose_table
    from chary.report import Hints, show_diagnosis, summarize_diagnosis
    from chary.tables import read_table

    with console.steps() as step:
        step("Reading")
        with console.quietly():
            table = read_table(file, **options.reading)
        diagnosed = diagnose_table(table, options, progress=step)
    summary = summarize_diagnosis(diagnosed)
    console.tell(
        summary,
        lambda screen: show_diagnosis(screen, summary, Hints(typed=True)),
        as_json,
    )


class Labelled(NamedTuple):
    """A table that was labelled: what came of it, and where it is."""

    result: LabeledTable
    summary: LabelsSummary
    hints: Hints
    paths: dict[str, Path]


def label_and_write(files: Sequence[str | os.PathLike[str]], options: LabelOptions) -> Labelled:
    """Read, label, write: in parts what does not fit in memory."""
    from chary.audit.drawing import keep_copy, refuse_to_lose_answers
    from chary.labelling import label_table
    from chary.labelling.rows_to_check import write_rows_to_check
    from chary.labelling.score import probability_names
    from chary.model_file import model_bytes
    from chary.report import Hints, render_page, summarize
    from chary.tables import Table
    from chary.tables.formats import require_writable
    from chary.tables.table import refuse_taken
    from chary.tables.target import target_labels

    with console.steps() as step:
        step("Reading")
        source = console.open_table(files, options)
        table = source if isinstance(source, Table) else source.table
        if source is table:  # a wrong target is said first
            labels = target_labels(table, options.target, **options.target_reading)
            refuse_taken(table, probability_names(labels.classes) if options.probabilities else ())
        endings = {
            "labeled": f"labeled{table.suffix}",
            "model": "model.chary",
            "report": "report.html",
        }
        endings |= {"to check": "check.csv"} if options.check_sheet else {}
        folder = options.folder(table.folder)
        paths = {kind: folder / f"{table.stem}.{ending}" for kind, ending in endings.items()}
        check_path, target = paths.get("to check"), options.target
        if check_path is not None and not options.discard_answers:
            refuse_to_lose_answers(check_path, target, "checked")
        console.require_free(paths.values(), options.force)
        require_writable(table)
        with console.writing(paths.values(), options.force) as (labeled, model, report, *to_check):
            result = label_table(source, options, file=labeled, progress=step)
            labelled = Labelled(
                result,
                summarize(result),
                Hints.for_labels(options, files, result.audit_size),
                paths,
            )
            model.write(model_bytes(result.model))
            report.write(
                render_page(labelled.summary, labelled.hints).encode("utf-8", "backslashreplace")
            )
            for stream in to_check:
                write_rows_to_check(result, stream)
            if check_path is not None:  # answers may have been given since
                if not options.discard_answers:
                    refuse_to_lose_answers(check_path, target, "checked")
                keep_copy(check_path, target)
    return labelled
