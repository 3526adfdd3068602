"""The page Result: the files, and the first rows of the table with its new columns."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from chary.labelling import LabeledTable
from chary.review.errors import ConflictError, NotHereError
from chary.review.files import FileStatus
from chary.review.row_to_label import text_of
from chary.review.truth_page import truth_page
from chary.review.workbench import Body, Query, Workbench

# At most this many rows are shown.
N_ROWS = 50
# At most this many columns are shown.
_N_COLUMNS = 300
# At most this many characters of a cell are shown.
_N_CHARACTERS = 300


class ResultPage(TypedDict):
    """What the page shows."""

    columns: list[str]
    more_columns: int  # that are not shown
    numeric: list[bool]  # by column
    rows: list[list[str]]
    total: int  # rows of the table
    files: list[FileStatus]
    command: str
    quality: str
    learner: str  # which learner made the labels, and why; empty: they are judged, or not there yet
    stale: bool


def result_page(bench: Workbench, query: Query) -> ResultPage:
    """Show the files, the command that makes them, and the first rows."""
    job = bench.job
    result = bench.result
    whole = bench.view("shown", lambda: job.shown(result))
    # The page is for a look at the table; the file holds all.
    shown = whole[:N_ROWS, :_N_COLUMNS]
    rows = []
    for cells in shown.rows():
        rows.append([text_of(cell, _N_CHARACTERS) for cell in cells])

    options = bench.inputs().options
    truth = truth_page(bench, {})
    quality = f"{truth['headline']}." if truth["ready"] else truth["why_not"]
    learner = ""
    if isinstance(result, LabeledTable):
        settings = result.settings
        learner = f"{settings['learner_words']}, because {settings['why_learner']}."
    writers = {} if result is None else job.writers(result)
    return {
        "columns": shown.columns,
        "more_columns": whole.width - shown.width,
        "numeric": [dtype.is_numeric() for dtype in shown.dtypes],
        "rows": rows,
        "total": whole.height,
        "files": bench.outputs.status(writers, bench.files_content),
        "command": options.command(job.files),
        "quality": quality,
        "learner": learner,
        "stale": bench.is_stale,
    }


def write(bench: Workbench, body: Body) -> dict[str, str]:
    """Write the files, over those of other programs only if that is allowed."""
    if bench.result is None:
        raise ConflictError("There is nothing to write yet; it is being learned.")
    names = bench.write_files(overwrite=body.get("overwrite") is True)
    if names:
        raise ConflictError(f"Not written by this page: {', '.join(names)}; allow overwriting.")
    return {}


def output_file(bench: Workbench, kind: str) -> Path:
    """Return the path of a file to download."""
    path = bench.outputs.paths.get(kind)
    if path is None or not path.exists():
        raise NotHereError("There is no such file yet.")
    return path
