"""The page Result: a table with its new columns by pages, sorted and filtered; a million rows, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from chary._words import shown
from chary.review.audit import number_in, text_of
from chary.review.state import ConflictError, NotHereError, Workbench, locked
from chary.review.truth import quality_of
from chary.tables import TableError
from chary.tables.table import ACCEPT, CONFIDENCE, SOURCE

PAGE = 50
_MOST_COLUMNS, _MOST_CHARACTERS, _MOST_FILTERS = 300, 300, 1000  # of a page
_READS_AS_NUMBERS = 0.9  # share of the cells from which on a column of text is sorted as numbers


@locked
def result_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """A page of the table, the files, and the command that would make the same."""
    job, result = bench.job, bench.result
    pages: Pages = bench.view("pages", lambda: Pages(*job.shown(result)))
    options = bench.given().options
    if options.confidence is None and job.kind == "judge":
        options = replace(options, error=None)
    kinds = [] if result is None else job.writers(result)
    return {
        **pages.page(query),
        "files": bench.outputs.files([kind for kind in bench.outputs.paths if kind in kinds], bench.files_made_of),
        "commands": [options.command(job.kind, job.files)],
        "quality": quality_of(bench),
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
    return result_page(bench, {})


def output_file(bench: Workbench, kind: str) -> Path:
    """A file to download."""
    path = bench.outputs.paths.get(kind)
    if path is None or not path.exists():
        raise NotHereError("There is no such file yet.")
    return path


class Pages:
    """The rows of a frame by pages; the order asked for last is kept."""

    def __init__(self, frame: pl.DataFrame, first: list[str], label: str) -> None:
        others = [name for name in frame.columns if name not in first]
        self.frame = frame
        self.columns = [name for name in [*first, *others] if name in frame.columns][:_MOST_COLUMNS]
        self.label = label  # the column that a filter by label looks at
        self._order: tuple[dict[str, str], pl.Series] | None = None

    @cached_property
    def filters(self) -> dict[str, list[str]]:
        """What rows can be filtered by: the labels and sources that there are."""
        found = {}
        for kind, name in (("labels", self.label), ("sources", SOURCE)):
            cells = self.frame[name] if name in self.frame.columns else pl.Series([], dtype=pl.String)
            found[kind] = sorted(cells.unique().drop_nulls().cast(pl.String).to_list())[:_MOST_FILTERS]
        return found

    def page(self, query: Mapping[str, str]) -> dict[str, Any]:
        """The rows of a page, counted from 0, as texts.

        ``query`` may hold the ``page``, a column to ``sort`` by, ``descending`` ("true"), and which rows are
        wanted: a ``label``, a ``source``, ``accept`` ("true" or "false"), a text to ``search``, confidence from
        ``low`` to ``high``.
        """
        chosen = {name: text for name, text in query.items() if text and name != "page"}
        if self._order is None or self._order[0] != chosen:
            self._order = chosen, self._ordered(chosen)
        order = self._order[1]
        n_pages = max(1, -(-len(order) // PAGE))
        number = min(max(0, int(number_in(query, "page") or 0)), n_pages - 1)
        rows = order.slice(number * PAGE, PAGE).to_list()
        part = self.frame.select(self.columns)[rows]
        return {
            "columns": self.columns,
            "numeric": self._numeric,
            "rows": [[text_of(value, _MOST_CHARACTERS) for value in row] for row in part.rows()],
            "numbers": [row + 1 for row in rows],
            "total": self.frame.height,
            "matching": len(order),
            "page": number,
            "pages": n_pages,
            "more_columns": self.frame.width - len(self.columns),
            "filters": self.filters,
        }

    def _ordered(self, chosen: Mapping[str, str]) -> pl.Series:
        """The numbers of the wanted rows, in the order asked for."""
        rows = pl.select(pl.int_range(self.frame.height, dtype=pl.UInt32)).to_series()
        conditions = self._conditions(chosen)
        if conditions:
            rows = rows.filter(self.frame.select(pl.all_horizontal(conditions).fill_null(False)).to_series())
        sort = chosen.get("sort", "")
        if sort:
            if sort not in self.frame.columns:
                raise TableError(f"The table has no column {shown(sort)} to sort by.")
            keys = pl.DataFrame({"k": self._keys(sort).gather(rows)})
            down = chosen.get("descending") == "true"
            place = pl.arg_sort_by("k", descending=down, nulls_last=True, maintain_order=True)
            rows = rows.gather(keys.select(place).to_series())
        return rows

    def _conditions(self, chosen: Mapping[str, str]) -> list[pl.Expr]:
        conditions = []
        if "label" in chosen:
            conditions.append(pl.col(self.label).cast(pl.String) == chosen["label"])
        if "source" in chosen:
            conditions.append(self._column(SOURCE) == chosen["source"])
        if "accept" in chosen:
            conditions.append(self._column(ACCEPT) == (chosen["accept"] == "true"))
        low, high = number_in(chosen, "low"), number_in(chosen, "high")
        if low is not None:
            conditions.append(self._column(CONFIDENCE) >= low)
        if high is not None:
            conditions.append(self._column(CONFIDENCE) <= high)
        if wanted := chosen.get("search", "").strip().lower():
            texts = [pl.col(name).cast(pl.String) for name, dtype in self.frame.schema.items() if _has_text(dtype)]
            found = [text.str.to_lowercase().str.contains(wanted, literal=True) for text in texts]
            conditions.append(pl.any_horizontal(found))
        return conditions

    def _column(self, name: str) -> pl.Expr:
        if name not in self.frame.columns:
            raise TableError(f"The table has no column {shown(name)} yet to filter by.")
        return pl.col(name)

    def _keys(self, name: str) -> pl.Series:
        """What a column is sorted by: numbers if it reads as such."""
        cells = self.frame[name]
        if cells.dtype == pl.String and _reads_as_numbers(cells):
            return cells.str.strip_chars().cast(pl.Float64, strict=False)
        if not _has_text(cells.dtype):
            raise TableError(f"Column {shown(name)} holds {cells.dtype}, by which rows cannot be sorted.")
        return cells.str.to_lowercase() if cells.dtype == pl.String else cells

    @cached_property
    def _numeric(self) -> list[bool]:
        return [_reads_as_numbers(self.frame[name]) for name in self.columns]


def _reads_as_numbers(cells: pl.Series) -> bool:
    if cells.dtype != pl.String:
        return cells.dtype.is_numeric()
    some = cells.gather_every(max(1, len(cells) // 1000)).drop_nulls().str.strip_chars()
    some = some.filter(some != "")
    return 0 < _READS_AS_NUMBERS * len(some) <= some.cast(pl.Float64, strict=False).count()


def _has_text(dtype: pl.DataType) -> bool:
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Object)
