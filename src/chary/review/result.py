"""The page Result: the files, and the first rows of the table with its new columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chary.options import JudgeOptions
from chary.review.audit import text_of
from chary.review.state import ConflictError, NotHereError, Workbench
from chary.review.truth import truth_page

N_ROWS = 50  # that are shown
_MOST_COLUMNS, _MOST_CHARACTERS = 300, 300


def result_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """The files, the command that would make the same, and the first rows."""
    job, result, truth = bench.job, bench.result, truth_page(bench, {})
    options = bench.given().options
    if isinstance(options, JudgeOptions) and options.confidence is None:
        options = replace(options, error=None)
    frame, first_columns = bench.view("shown", lambda: job.shown(result))
    order = [*first_columns, *(name for name in frame.columns if name not in first_columns)]
    names = [name for name in order if name in frame.columns][:_MOST_COLUMNS]
    rows = frame.select(names).head(N_ROWS)
    return {
        "columns": names,
        "more_columns": frame.width - len(names),
        "numeric": [dtype.is_numeric() for dtype in rows.dtypes],
        "rows": [[text_of(value, _MOST_CHARACTERS) for value in row] for row in rows.rows()],
        "total": frame.height,
        "files": bench.outputs.files(
            [] if result is None else job.writers(result), bench.files_made_of
        ),
        "command": options.command(job.files),
        "quality": f"{truth['headline']}." if truth["ready"] else truth["why_not"],
        "stale": bench.is_stale,
    }


def write(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the files; those of somebody else only if that is said."""
    if bench.result is None:
        raise ConflictError("There is nothing to write yet; it is being learned.")
    names = bench.write_files(overwrite=body.get("overwrite") is True)
    if names:
        raise ConflictError(f"Not written by this page: {', '.join(names)}; allow overwriting.")
    return {}


def output_file(bench: Workbench, kind: str) -> Path:
    """A file to download."""
    path = bench.outputs.paths.get(kind)
    if path is None or not path.exists():
        raise NotHereError("There is no such file yet.")
    return path
