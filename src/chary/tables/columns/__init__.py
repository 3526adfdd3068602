"""The kinds of columns, a file for each.

A column is of the first kind that recognises it. A new kind is a file of this folder and a place in
``KINDS``.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from chary._words import Parameter, listed, shown
from chary.tables.cells import filled_cells, target_texts
from chary.tables.columns.categories import (
    Categories,
    describe_unused,
    find_constant,
    find_identifier,
)
from chary.tables.columns.dates import WRITTEN, Dates, TimesOfDay, other_orders_in
from chary.tables.columns.defaults import COLUMN_DEFAULTS, ColumnDefaults, Hints
from chary.tables.columns.embeddings import Embeddings
from chary.tables.columns.kind import DROPPED, IDENTIFIER, UNUSED_TEXT, Column, Kind, unified
from chary.tables.columns.numbers import Booleans, Numbers, codes_in, why_no_numbers
from chary.tables.columns.texts import Texts
from chary.tables.table import MAX_COLUMNS, TableError, can_be_text

__all__ = [
    "COLUMN_DEFAULTS",
    "KINDS",
    "Booleans",
    "Column",
    "ColumnDefaults",
    "Numbers",
    "Texts",
    "codes_in",
    "find_column",
    "is_valid_column",
    "kind_of",
    "other_orders_in",
]

# A column is of the first of these kinds that recognises it.
KINDS: tuple[Kind, ...] = (
    Dates(),
    TimesOfDay(),
    Numbers(),
    Booleans(),
    Categories(),
    Texts(),
    Embeddings(),
)
# Kinds of text columns in which most cells may nevertheless be numbers.
_MAY_HOLD_NUMBERS = (Categories.name, Texts.name, UNUSED_TEXT, IDENTIFIER)


def find_column(
    cells: pl.Series,
    forced: str = "",
    dates: str = "",
    n_classes: int = 0,
    defaults: ColumnDefaults = COLUMN_DEFAULTS,
) -> Column:
    """Find the kind of a column, unless it is ``forced``.

    Parameters
    ----------
    cells : Series
    forced : {"", "drop", "identifier", "categorical", "numeric", "text"}, default=""
    dates : str, default=""
        How its dates are written, if they can be read in several ways: one of ``WRITTEN``.
    n_classes : int, default=0
        Number of classes of the target; with more classes, free text gets more topics.
    defaults : ColumnDefaults
    """
    if dates and dates not in WRITTEN:
        raise TableError(
            f"Dates cannot be {shown(dates)}; pass {listed(WRITTEN, 'or')} as {Parameter('dates')}."
        )
    if forced == "drop":
        return Column(cells.name, DROPPED, "dropped as asked")
    if forced == "identifier":
        return Column(cells.name, IDENTIFIER, "an identifier, as asked")

    plain = unified(cells)
    if forced in ("categorical", "text") and can_be_text(cells.dtype):
        # A category is read as a class of the target is: 1, 1.0 and "1" are the same one.
        plain = target_texts(plain)
    filled = filled_cells(plain)
    is_declared = not forced and cells.dtype in (pl.Categorical, pl.Enum)
    hints = Hints(dates, n_classes, defaults)

    column: Column | None
    if forced == "categorical" and len(filled):
        column = Categories().find(filled, forced=True, hints=hints)
    else:
        column = find_constant(filled, len(cells))
    # Columns that a data frame declares as categories stay so, even if they look like numbers.
    if column is None and is_declared:
        column = Categories().find(filled, hints=hints)
        if column is None:
            column = Categories().find(filled, forced=True, hints=hints)
    if column is None and forced == "text":
        column = Texts().find(filled, forced=True, hints=hints)
    if column is None and forced == "numeric":
        column = _force_numbers(filled, hints)
    if column is None and not forced:
        column = _find_first_kind(filled, len(cells), hints)
    if column is None:
        column = describe_unused(filled)
    return replace(column, missing=column.missing or len(filled) < len(cells))


def kind_of(column: Column) -> Kind:
    """Return the kind of a used column."""
    for kind in KINDS:
        if kind.name == column.kind:
            return kind
    raise TableError(
        f"Kind {shown(column.kind)} of column {shown(column.name)} is unknown; "
        "use the model's own version."
    )


def is_valid_column(column: Column) -> bool:
    """Tell whether a model file describes a column in full.

    As a trial, no cells are read in the form of the column: this fails if its description lacks
    something or holds something unknown.
    """
    if not column.used:
        return not column.learned
    kind = kind_of(column)
    if column.learned.keys() != set(kind.learns):
        return False
    n_numbers = kind.read(pl.Series(column.name, [], pl.String), column).shape[1]
    return 0 < n_numbers <= MAX_COLUMNS and kind.is_valid(column)


def _find_first_kind(filled: pl.Series, n_rows: int, hints: Hints) -> Column:
    """Find the first kind that recognises a column.

    The column is doubtful if most of its cells are numbers but it is not numeric.
    """
    column = find_identifier(filled, n_rows, hints)
    if column is not None:
        return column

    for kind in KINDS:
        column = kind.find(filled, hints=hints)
        if column is not None:
            break
    if column is None:
        column = describe_unused(filled)

    if column.kind in _MAY_HOLD_NUMBERS:
        reason = why_no_numbers(filled)
        if reason:
            return replace(column, note=f"{column.note}, {reason}", doubtful=True)
    return column


def _force_numbers(filled: pl.Series, hints: Hints) -> Column:
    """Describe a column that the user calls numeric."""
    kind = Booleans() if filled.dtype == pl.Boolean else Numbers()
    column = kind.find(filled, forced=True, hints=hints)
    if column is None:
        raise TableError(
            f"Column {shown(filled.name)} holds no number; remove it from {Parameter('numeric')}."
        )
    return column
