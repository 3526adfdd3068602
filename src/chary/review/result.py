"""The page Result: the files, and the first rows of the table with its new columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from chary.options import JudgeOptions
from chary.review.audit import text_of
from chary.review.state import ConflictError, NotHereError, Workbench
from chary.review.truth import truth_page

N_ROWS = 50  # rows that are shown
_N_COLUMNS = 300
_N_CHARACTERS = 300  # of a cell


class ResultPage(TypedDict):
    """What the page shows."""

    columns: list[str]
    more_columns: int  # that are not shown
    numeric: list[bool]  # by column
    rows: list[list[str]]
    total: int  # rows of the table
    files: list[dict[str, Any]]
    command: str
    quality: str
    stale: bool


def result_page(bench: Workbench, query: Mapping[str, str]) -> ResultPage:
    """Show the files, the command that makes them, and the first rows."""
    job = bench.job
    result = bench.result
    frame, first_columns = bench.view("shown", lambda: job.shown(result))
    columns_in_order = dict.fromkeys([*first_columns, *frame.columns])
    columns = [name for name in columns_in_order if name in frame.columns][:_N_COLUMNS]
    first_rows = frame.select(columns).head(N_ROWS)
    rows = []
    for cells in first_rows.rows():
        rows.append([text_of(cell, _N_CHARACTERS) for cell in cells])

    # Without a confidence no row is accepted, so the command says nothing of an error.
    options = bench.given().options
    if isinstance(options, JudgeOptions) and options.confidence is None:
        options = replace(options, error=None)
    truth = truth_page(bench, {})
    quality = f"{truth['headline']}." if truth["ready"] else truth["why_not"]
    writers = {} if result is None else job.writers(result)
    return {
        "columns": columns,
        "more_columns": frame.width - len(columns),
        "numeric": [dtype.is_numeric() for dtype in first_rows.dtypes],
        "rows": rows,
        "total": frame.height,
        "files": bench.outputs.files(writers, bench.files_made_of),
        "command": options.command(job.files),
        "quality": quality,
        "stale": bench.is_stale,
    }


def write(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
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
