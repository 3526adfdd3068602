"""The cells of a column in; why nothing is learned from it, if that is so, out."""

from __future__ import annotations

import re

import polars as pl

from chary.tables.columns.column import CONSTANT, DROPPED, IDENTIFIER, TEXT, UNSUPPORTED, Column
from chary.tables.table import has_texts

_ID_NAME = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|key|index|row|rowid|no|nr)$)|[a-z](Id|ID)$")
_FEWEST_ROWS = 20  # that numbers must count to be no coincidence


def asked(name: str, *, dropped: bool) -> Column:
    """Left out because somebody said so: dropped, or an identifier."""
    if dropped:
        return Column(name, DROPPED, "dropped as asked")
    return Column(name, IDENTIFIER, "an identifier, as asked")


def empty(name: str) -> Column:
    """Nothing in any row."""
    return Column(name, CONSTANT, "empty")


def constant(filled: pl.Series, n_rows: int) -> Column | None:
    """The same in every row, if it is; ``filled`` are the cells that hold something."""
    if not has_texts(filled) or filled.n_unique() > 1 or 0 < len(filled) < n_rows:
        return None
    return Column(filled.name, CONSTANT, "the same in every row") if len(filled) else empty(filled.name)


def counting(name: str, numbers: pl.Series) -> Column | None:
    """Whole numbers, all different, that either follow the order of the rows or are called an identifier."""
    if len(numbers) < _FEWEST_ROWS or not (numbers == numbers.floor()).all() or numbers.n_unique() < len(numbers):
        return None
    in_order = bool((numbers.diff().drop_nulls() == 1).all())
    if not in_order and _ID_NAME.search(name) is None:
        return None
    return Column(name, IDENTIFIER, "a number that counts or names the rows")


def rest(filled: pl.Series) -> Column:
    """What is of no kind."""
    if not has_texts(filled):
        return Column(filled.name, UNSUPPORTED, f"of a type chary does not read ({filled.dtype})")
    if filled.n_unique() == len(filled):
        return Column(filled.name, IDENTIFIER, "different in every row")
    return Column(filled.name, TEXT, "free text")
