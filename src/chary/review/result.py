"""The page Result: a table with its new columns by pages, sorted and searched; a million rows, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from chary.review.audit import number_in, text_of
from chary.review.state import ConflictError, NotHereError, Workbench
from chary.review.truth import truth_page
from chary.tables import TableError
from chary.tables.table import can_be_text

PAGE = 50
_MOST_COLUMNS, _MOST_CHARACTERS = 300, 300  # of a page
_READS_AS_NUMBERS = 0.9  # share of the cells from which on a column of text is sorted as numbers


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
    """The rows of a frame by pages; the order asked for last is kept."""

    def __init__(self, frame: pl.DataFrame, first: list[str]) -> None:
        others = [name for name in frame.columns if name not in first]
        self.frame = frame
        self.columns = [name for name in [*first, *others] if name in frame.columns][:_MOST_COLUMNS]
        self._order: tuple[dict[str, Any], pl.Series] | None = None

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The rows of a page as texts.

        ``query`` may hold the ``page``, from 0; the place of a column to ``sort`` by, from 0, and ``descending``
        ("true"); and a text to ``search``.
        """
        sort = number_in(query, "sort")
        if sort is not None and sort >= len(self.columns):
            raise TableError(f"There are columns 0 to {len(self.columns) - 1} to sort by.")
        asked: dict[str, Any] = {
            "sort": sort,
            "descending": query.get("descending") == "true",
            "search": query.get("search", ""),
        }
        if self._order is None or self._order[0] != asked:
            self._order = asked, self._ordered(**asked)
        order = self._order[1]
        n_pages = max(1, -(-len(order) // PAGE))
        number = min(number_in(query, "page") or 0, n_pages - 1)
        rows = order.slice(number * PAGE, PAGE).to_list()
        part = self.frame.select(self.columns)[rows]
        return {
            **asked,
            "columns": self.columns,
            "numeric": self._numeric,
            "rows": [[text_of(value, _MOST_CHARACTERS) for value in row] for row in part.rows()],
            "numbers": [row + 1 for row in rows],
            "total": self.frame.height,
            "matching": len(order),
            "page": number,
            "pages": n_pages,
            "more_columns": self.frame.width - len(self.columns),
        }

    def _ordered(self, sort: int | None, descending: bool, search: str) -> pl.Series:
        """The numbers of the wanted rows, in the order asked for."""
        rows = pl.int_range(self.frame.height, eager=True)
        if wanted := search.strip().lower():
            texts = [
                pl.col(name).cast(pl.String) for name, dtype in self.frame.schema.items() if can_be_text(dtype)
            ]
            found = [text.str.to_lowercase().str.contains(wanted, literal=True) for text in texts]
            rows = rows.filter(self.frame.select(pl.any_horizontal(found).fill_null(False)).to_series())
        if sort is not None and can_be_text(self.frame[self.columns[sort]].dtype):
            keys = pl.DataFrame({"k": self._keys(sort).gather(rows)})
            place = pl.arg_sort_by("k", descending=descending, nulls_last=True, maintain_order=True)
            rows = rows.gather(keys.select(place).to_series())
        return rows

    def _keys(self, place: int) -> pl.Series:
        """What a column is sorted by: numbers if it reads as such."""
        cells = self.frame[self.columns[place]]
        if cells.dtype != pl.String:
            return cells
        numeric = self._numeric[place]
        return cells.str.strip_chars().cast(pl.Float64, strict=False) if numeric else cells.str.to_lowercase()

    @cached_property
    def _numeric(self) -> list[bool]:
        return [_reads_as_numbers(self.frame[name]) for name in self.columns]


def _reads_as_numbers(cells: pl.Series) -> bool:
    if cells.dtype != pl.String:
        return cells.dtype.is_numeric()
    some = cells.gather_every(max(1, len(cells) // 1000)).drop_nulls().str.strip_chars()
    some = some.filter(some != "")
    return 0 < _READS_AS_NUMBERS * len(some) <= some.cast(pl.Float64, strict=False).count()
