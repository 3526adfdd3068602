"""The cells of a column in; the kind that it is of, the first that says so, out.

A new kind of column is a file of this folder and a place in ``KINDS``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chary._words import Parameter, shown
from chary.tables.columns import left_out
from chary.tables.columns.booleans import Booleans
from chary.tables.columns.categories import Categories, category_texts
from chary.tables.columns.column import IDENTIFIER, TEXT, Column, Kind
from chary.tables.columns.dates import Dates
from chary.tables.columns.durations import Durations
from chary.tables.columns.embeddings import Embeddings
from chary.tables.columns.numbers import Numbers, why_no_numbers
from chary.tables.columns.texts import Texts
from chary.tables.columns.times import TimesOfDay
from chary.tables.errors import TableError
from chary.tables.missing import filled_cells
from chary.tables.table import has_texts, texts

# In the order in which they are asked.
KINDS: tuple[Kind, ...] = (
    Dates(),
    TimesOfDay(),
    Durations(),
    Numbers(),
    Booleans(),
    Categories(),
    Texts(),
    Embeddings(),
)

# Kinds of text that might have been numbers.
_MAY_HOLD_NUMBERS = (Categories.name, Texts.name, TEXT, IDENTIFIER)


def find_column(cells: pl.Series, numeric: bool = False) -> Column:
    """What a column is; if somebody says that it is ``numeric``, one number in it is enough."""
    filled = filled_cells(plain(cells))
    column = left_out.constant(filled, len(cells))
    if column is None and numeric:
        column = _as_numbers(filled)
    if column is None:
        column = _unforced(filled, len(cells))
    return _knowing_gaps(column, filled, cells)


def as_categories(cells: pl.Series) -> Column:
    """A column of categories because somebody says so, whatever its cells are like."""
    filled = filled_cells(category_texts(cells))
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


def _unforced(filled: pl.Series, n_rows: int) -> Column:
    if (named := left_out.naming(filled)) is not None:
        return left_out.told_by_gaps(named, len(filled), n_rows)
    found = (kind.find(filled) for kind in KINDS)
    return _with_doubts(next(filter(None, found), None) or left_out.rest(filled), filled)


def _as_numbers(filled: pl.Series) -> Column:
    """Numbers, because somebody says so; truth values are 1 and 0 anyway."""
    column = (Booleans() if filled.dtype == pl.Boolean else Numbers()).find(filled, forced=True)
    if column is None:
        raise TableError(
            f"Column {shown(filled.name)} holds {shown(filled.head(1).to_list()[0])} and no number at all; leave "
            "it out of ",
            Parameter("numeric"),
            ".",
        )
    return column


def _with_doubts(column: Column, filled: pl.Series) -> Column:
    """Told why it is not numeric, if it is not although most cells start with digits."""
    if column.kind in _MAY_HOLD_NUMBERS and (reason := why_no_numbers(filled)):
        return replace(column, note=", ".join(filter(None, [column.note, reason])), doubtful=True)
    return column


def _knowing_gaps(column: Column, filled: pl.Series, cells: pl.Series) -> Column:
    return replace(column, missing=column.missing or len(filled) < len(cells))
