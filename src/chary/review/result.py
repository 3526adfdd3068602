"""The page Result: a table with its new columns by pages; a million rows, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from chary.review.audit import number_in, text_of
from chary.review.state import ConflictError, NotHereError, Workbench
from chary.review.truth import truth_page

PAGE = 50
_MOST_COLUMNS, _MOST_CHARACTERS = 300, 300  # of a page


def result_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of the table, the files, and the command that would make the same."""
    job, result, truth = bench.job, bench.result, truth_page(bench, {})
    pages: Pages = bench.view("pages", lambda: Pages(*job.shown(result)))
    options = bench.given().options
    if options.confidence is None and job.kind == "judge":
        options = replace(options, error=None)
    kinds = [] if result is None else job.writers(result)
    return {
        **pages.page(query),
        "files": bench.outputs.files([kind for kind in bench.outputs.paths if kind in kinds], bench.files_made_of),
        "command": options.command(job.kind, job.files),
        "quality": f"{truth['headline']}." if truth["ready"] else f"not known yet. {truth['why_not']}",
        "stale": bench.is_stale,
    }


def write(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write the files; those of somebody else only if that is said."""
    bench.require_unchanged()
    if bench.result is None:
        raise ConflictError("There is nothing to write yet; it is being learned.")
    left = bench.write_files(overwrite=body.get("overwrite") is True)
    if left:
        were = "were" if len(left) > 1 else "was"
        raise ConflictError(f"{', '.join(left)} {were} not written by this page; allow it to be overwritten.")
    return {}


def output_file(bench: Workbench, kind: str) -> Path:
    """A file to download."""
    path = bench.outputs.paths.get(kind)
    if path is None or not path.exists():
        raise NotHereError("There is no such file yet.")
    return path


class Pages:
    """The rows of a frame by pages, in the order of the file."""

    def __init__(self, frame: pl.DataFrame, first: list[str]) -> None:
        others = [name for name in frame.columns if name not in first]
        self.frame = frame
        self.columns = [name for name in [*first, *others] if name in frame.columns][:_MOST_COLUMNS]

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Show the rows of a page as texts; ``query`` may hold the number of the ``page``, from 0."""
        n_rows = self.frame.height
        n_pages = max(1, ceil(n_rows / PAGE))
        number = min(number_in(query, "page") or 0, n_pages - 1)
        first_row = number * PAGE
        shown_rows = self.frame.select(self.columns).slice(first_row, PAGE)
        return {
            "columns": self.columns,
            "numeric": [dtype.is_numeric() for dtype in shown_rows.dtypes],
            "rows": [[text_of(value, _MOST_CHARACTERS) for value in row] for row in shown_rows.rows()],
            "first_row": first_row + 1,
            "total": n_rows,
            "page": number,
            "pages": n_pages,
            "more_columns": self.frame.width - len(self.columns),
        }
