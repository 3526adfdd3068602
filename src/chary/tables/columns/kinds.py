"""The cells of a column in; the kind that it is of, the first that says so, out.

A new kind of column is a file of this folder and a place in ``KINDS``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chary._words import shown
from chary.tables.columns import left_out
from chary.tables.columns.booleans import Booleans
from chary.tables.columns.categories import Categories
from chary.tables.columns.column import Column, Kind
from chary.tables.columns.dates import Dates
from chary.tables.columns.embeddings import Embeddings
from chary.tables.columns.numbers import Numbers
from chary.tables.columns.texts import Texts
from chary.tables.errors import TableError
from chary.tables.missing import filled_cells
from chary.tables.table import has_texts, texts

# In the order in which they are asked.
KINDS: tuple[Kind, ...] = (Numbers(), Dates(), Booleans(), Categories(), Texts(), Embeddings())


def find_column(cells: pl.Series, numeric: bool = False) -> Column:
    """What a column is; if somebody says that it is ``numeric``, one number in it is enough."""
    filled = filled_cells(plain(cells))
    found = (kind.find(filled, forced=numeric and kind.name == Numbers.name) for kind in KINDS)
    column = left_out.constant(filled, len(cells)) or next(filter(None, found), None) or left_out.rest(filled)
    return _knowing_gaps(column, filled, cells)


def as_categories(cells: pl.Series) -> Column:
    """A column of categories because somebody says so, whatever its cells are like."""
    filled = filled_cells(texts(cells))
    column = Categories().find(filled, forced=True)
    if column is None:
        return left_out.empty(cells.name) if has_texts(cells) else left_out.rest(cells)
    return _knowing_gaps(column, filled, cells)


def as_text(cells: pl.Series) -> Column:
    """A column of free text because somebody says so, whatever its cells are like."""
    filled = filled_cells(texts(cells))
    column = left_out.constant(filled, len(cells)) if has_texts(cells) else None
    return _knowing_gaps(column or Texts().find(filled, forced=True) or left_out.rest(cells), filled, cells)


def kind_of(column: Column) -> Kind:
    """The kind that a used column is of."""
    for kind in KINDS:
        if kind.name == column.kind:
            return kind
    raise TableError(
        f"Column {shown(column.name)} is of kind {shown(column.kind)}, which this version of chary does not know; "
        "use the version that the model was made with."
    )


def plain(cells: pl.Series) -> pl.Series:
    """Cells as the kinds take them: what is kept in a dictionary of texts is text."""
    return cells.cast(pl.String) if cells.dtype in (pl.Categorical, pl.Enum) else cells


def _knowing_gaps(column: Column, filled: pl.Series, cells: pl.Series) -> Column:
    return replace(column, missing=column.missing or len(filled) < len(cells))
