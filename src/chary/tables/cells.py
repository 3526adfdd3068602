"""A column of a table in; its cells as a person reads them, short, visible and on one line, out."""

from __future__ import annotations

import polars as pl

from chary._words import visible
from chary.tables.missing import missing_cells
from chary.tables.table import has_texts, texts

_NAME, _CELL, _DIGITS = 40, 30, 6
# What ``visible`` escapes: all that is not printable, and every separator but a space.
_UNPRINTABLE = r"[\p{C}\p{Z}&&[^ ]]"


def cell_texts(cells: pl.Series, limit: int = _CELL) -> pl.Series:
    """Cells as text of at most so many characters; null where one is missing, or nothing that can be written.

    >>> cell_texts(pl.Series([" 1,200", "NA", "a\\nb", "very " * 9]), limit=12).to_list()
    ['1,200', None, 'a\\\\nb', 'very very...']
    >>> cell_texts(pl.Series([12000.0, 1 / 3, None])).to_list()
    ['12000', '0.333333', None]
    """
    if not has_texts(cells):
        return pl.Series(cells.name, [None] * len(cells), dtype=pl.String)
    nothing, shown = missing_cells(cells), texts(cells)
    if cells.dtype.is_float():
        shown = pl.select(pl.lit(cells).round_sig_figs(_DIGITS)).to_series().cast(pl.String)
    if not cells.dtype.is_integer() and cells.dtype != pl.String:
        shown = shown.str.replace(r"\.0+$", "").str.replace(" 00:00:00$", "")  # nor a midnight that says nothing
    shown = shown.str.strip_chars()
    shown = shown.set(nothing, None)
    odd = shown.filter(shown.str.contains(_UNPRINTABLE).fill_null(False)).unique().to_list()
    shown = shown.replace(odd, [visible(text, limit) for text in odd]) if odd else shown
    long = (shown.str.len_chars() > limit).fill_null(False)
    return (shown.str.slice(0, limit - 3) + "...").zip_with(long, shown).alias(cells.name)


def shown_cells(cells: pl.Series) -> pl.Series:
    """The same with the name of their column, as in ``age = 31``, ``age is missing``; of a list the name alone.

    >>> shown_cells(pl.Series("age", [31, None])).to_list()
    ['age = 31', 'age is missing']
    """
    name = visible(cells.name, _NAME)
    if not has_texts(cells):
        return pl.Series(cells.name, [name] * len(cells), dtype=pl.String)
    return (pl.Series(cells.name, [f"{name} = "]) + cell_texts(cells)).fill_null(f"{name} is missing")
