"""The kinds of columns, a file for each, and the one that a column is of: the first that says so.

A new kind is a file of this folder and a place in ``KINDS``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chary._words import Parameter, listed, shown
from chary.tables.cells import DROPPED, IDENTIFIER, TEXT, Column, Kind, filled_cells, unified
from chary.tables.columns.categories import (
    Categories,
    category_texts,
    find_constant,
    find_identifier,
    of_no_kind,
)
from chary.tables.columns.dates import WRITTEN, Dates, TimesOfDay
from chary.tables.columns.embeddings import Embeddings
from chary.tables.columns.numbers import Booleans, why_no_numbers
from chary.tables.columns.numbers import Numbers as Numbers  # for other rooms, too
from chary.tables.columns.texts import Texts
from chary.tables.table import TableError, can_be_text

# In the order in which they are asked.
KINDS: tuple[Kind, ...] = (
    Dates(),
    TimesOfDay(),
    Numbers(),
    Booleans(),
    Categories(),
    Texts(),
    Embeddings(),
)
# What somebody may say of a column, and what it is then in any case.
_LEFT_OUT = {
    "drop": (DROPPED, "dropped as asked"),
    "identifier": (IDENTIFIER, "an identifier, as asked"),
}
# Kinds of text that might have been numbers.
_MAY_HOLD_NUMBERS = (Categories.name, Texts.name, TEXT, IDENTIFIER)


def find_column(cells: pl.Series, forced: str = "", dates: str = "", n_classes: int = 0) -> Column:
    """What a column is, or is said to be: ``drop``, ``identifier``, ``categorical``, ``numeric`` or ``text``.

    Where its dates can be read in several ways, ``dates`` says in which. The more classes its texts
    shall tell apart, the more topics they have.
    """
    if dates and dates not in WRITTEN:
        raise TableError(
            f"Dates cannot be {shown(dates)}; pass {listed(WRITTEN, 'or')} as {Parameter('dates')}."
        )
    if forced in _LEFT_OUT:
        return Column(cells.name, *_LEFT_OUT[forced])
    is_said = forced in ("categorical", "text")
    is_declared = not forced and cells.dtype in (pl.Categorical, pl.Enum)
    plain = unified(cells)
    filled = filled_cells(category_texts(plain) if is_said else plain)
    if is_said and not can_be_text(cells.dtype):
        column: Column | None = of_no_kind(cells)
    elif forced == "categorical" and len(filled):
        column = Categories().find(filled, forced=True)
    else:
        column = find_constant(filled, len(cells))
    if column is None and is_declared:  # even if they look like numbers
        column = Categories().find(filled) or Categories().find(filled, forced=True)
    if column is None and forced == "text":
        column = Texts(n_classes).find(filled, forced=True) or of_no_kind(filled)
    if column is None and forced == "numeric":
        column = _as_numbers(filled)
    if column is None:
        column = _first_kind(filled, len(cells), dates, n_classes)
    return replace(column, missing=column.missing or len(filled) < len(cells))


def kind_of(column: Column) -> Kind:
    """The kind that a used column is of."""
    for kind in KINDS:
        if kind.name == column.kind:
            return kind
    raise TableError(
        f"Kind {shown(column.kind)} of column {shown(column.name)} is unknown; use the model's own version."
    )


def is_whole(column: Column) -> bool:
    """Tell whether a column from a model file is left out, or of a kind that can read it."""
    if not column.used:
        return not column.learned
    kind = kind_of(column)
    return kind.whole(column) and column.learned.keys() == set(kind.learns)


def _first_kind(filled: pl.Series, n_rows: int, dates: str, n_classes: int) -> Column:
    """The first kind that says so; with a doubt, if it is not numeric although most cells start with digits."""
    if (named := find_identifier(filled, n_rows)) is not None:
        return named
    told = {Dates: Dates(dates), Texts: Texts(n_classes)}
    kinds = [told.get(type(kind), kind) for kind in KINDS]
    column = next(filter(None, (kind.find(filled) for kind in kinds)), None) or of_no_kind(filled)
    if column.kind in _MAY_HOLD_NUMBERS and (reason := why_no_numbers(filled)):
        return replace(column, note=", ".join(filter(None, [column.note, reason])), doubtful=True)
    return column


def _as_numbers(filled: pl.Series) -> Column:
    """Numbers, because somebody says so; truth values are 1 and 0 anyway."""
    column = (Booleans() if filled.dtype == pl.Boolean else Numbers()).find(filled, forced=True)
    if column is None:
        first = filled.head(1).to_list()[0]
        raise TableError(
            f"Column {shown(filled.name)} holds {shown(first)}, no number; remove it from {Parameter('numeric')}."
        )
    return column
