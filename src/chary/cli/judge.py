"""The command ``chary judge``: how good labels are, by a person's answers for random rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import typer

from chary.cli import console
from chary.cli.audit import say_drawn
from chary.options import JudgeOptions

if TYPE_CHECKING:
    from chary.report import Hints, JudgedSummary
    from chary.tables import Source


class DrawnSummary(TypedDict):
    """The sheet that was written for a person to fill in."""

    n_drawn: int  # rows on the sheet
    n_new: int  # rows that were not on the sheet before
    n_answered: int  # rows that had an answer before, and keep it
    enlarged: bool  # whether the sheet existed and was enlarged
    hidden: list[str]  # columns left out because they give the labels under test away
    shown: list[str]  # columns that are on the sheet
    unreadable: list[str]  # columns left out because a person cannot read their cells
    copy: str | None  # path of the copy of a replaced sheet that held answers
    rows: int  # rows with a label
    classes: list[str]  # the labels
    files: dict[str, str]  # sheet: its path


# The exit code for each outcome of --require; 1 is bad input.
_EXIT_CODES = {"shown": 0, "open": 3, "ruled out": 4, "changed": 5}


@console.takes_options
def judge_command(
    file: console.TABLE, options: JudgeOptions, as_json: console.JSON = False
) -> None:
    """Say how good the labels are that somebody or something made.

    chary judge draw FILE --labels COLUMN draws random rows into FILE.judge.csv, without their
    labels (so does chary judge FILE as long as there is no --audit). Label them with chary audit
    fill or in a spreadsheet.

    chary judge FILE --labels COLUMN --audit FILE.judge.csv then says how many labels are right and
    writes FILE.judged.html. With --error it also writes the table with the column chary_accept, to
    FILE.judged.csv or with the extension of FILE.
    """
    # ``draw`` is a word before the files, unless it is the only one: then it is a file's name.
    if file[0] == "draw" and len(file) > 1:
        file = file[1:]
        if options.audit is not None:
            raise ValueError(
                "To draw rows, leave out --audit; to judge labels by the sheet, leave out draw."
            )
    console.import_libraries(file)
    from chary.tables import open_source
    from chary.tables.source import flattened

    with console.steps() as step:
        step("Reading")
        with console.quietly():
            source = open_source(file, reserved=(), **options.reading)
            scan = flattened(source)
        if options.audit is not None:
            step("Judging")
            summary, hints, paths = _judge(scan, source, file, options)
    if options.audit is None:
        _draw(scan, options, as_json)
        return
    from chary.report import show_judged

    console.tell(summary, show_judged, hints, as_json, paths)
    if summary["required"] is not None:
        raise typer.Exit(_EXIT_CODES[summary["required"]["outcome"]])


def _draw(scan: Source, options: JudgeOptions, as_json: bool) -> None:
    """Draw random rows onto a sheet."""
    for flag, value in {"--require": options.require, "--annotator": options.annotator}.items():
        if value:
            raise ValueError(
                f"{flag} has a meaning once rows are labelled; leave it out to draw them, or pass "
                "--audit."
            )
    from chary._files import make_folders
    from chary.audit import sheet_path
    from chary.audit.judge import draw_to_judge

    table = scan.table.written_as(options.format)
    path = sheet_path(table, options.folder(table.folder), "judge")
    console.require_free([path], force=True)
    make_folders([path])
    drawn, classes = draw_to_judge(scan, path, options, options.k)
    if as_json:
        summary: DrawnSummary = {
            "n_drawn": drawn.n_drawn,
            "n_new": drawn.n_new,
            "n_answered": drawn.n_answered,
            "enlarged": drawn.enlarged,
            "hidden": list(drawn.hidden),
            "shown": list(drawn.shown),
            "unreadable": list(drawn.unreadable),
            "copy": drawn.copy,
            "rows": scan.n_filled,
            "classes": classes,
            "files": {"sheet": str(path)},
        }
        console.print_json(summary)
    else:
        say_drawn(drawn, n_open=scan.n_filled, of_what="rows", classes=classes, path=path)


def _judge(
    scan: Source, source: Source, files: Sequence[str], options: JudgeOptions
) -> tuple[JudgedSummary, Hints, dict[str, Path]]:
    """Judge the labels; write the report and, with --error, the table of accepted rows.

    ``scan`` holds only some columns or rows in memory; ``source`` reads the whole table.
    """
    from chary.audit.judge import judge_table
    from chary.report import Hints, render_judged, summarize_judged
    from chary.tables import write_table
    from chary.tables.formats import require_writable
    from chary.tables.table import ACCEPT, refuse_taken

    table = scan.table.written_as(options.format)
    folder = options.folder(scan.table.folder)
    paths = {"report": folder / f"{table.stem}.judged.html"}
    if options.error is not None:
        paths["judged"] = folder / f"{table.stem}.judged{table.suffix}"
        refuse_taken(table, [ACCEPT])
        require_writable(table)
    console.require_free(paths.values(), options.force)
    result = judge_table(scan, options.audit, options)
    hints = Hints.for_judged(options, files, result)
    summary = summarize_judged(result)
    page = render_judged(summary, hints)
    with console.writing(paths.values(), options.force) as streams:
        streams[0].write(page.encode("utf-8", "backslashreplace"))
        if result.accepted is not None:
            whole = source.read().written_as(options.format)
            write_table(whole, {ACCEPT: result.accepted}, streams[1])
    return summary, hints, paths
