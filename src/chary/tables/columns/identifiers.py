"""Columns from which nothing is learned: identifiers, the same value in every row, and what is of no kind."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl

from chary.tables.columns.categories import Categories, category_texts
from chary.tables.columns.column import CONSTANT, FEW, IDENTIFIER, TEXT, UNSUPPORTED, Column, some_of
from chary.tables.table import has_texts

# Names of an identifier, and such as are one only if every value differs.
_ID_NAME = re.compile(
    r"(?i:(^|[_\W])(id|ids|uuid|guid|rowid|identifier|id_?str)$|^id[_\W])|[a-z](Id|ID)$|"
    r"(?i:^(account|acct|case|client|cust|customer|device|emp|employee|event|game|household|item|listing|member|"
    r"order|patient|person|player|post|prod|product|rec|record|resp|respondent|school|session|site|store|student|"
    r"subj|subject|team|ticket|trans|transaction|trip|tweet|unit|user|visitor)_?id$)"
)
_PERHAPS_ID_NAME = re.compile(r"(?i:(^|[_\W])(key|index|row|no|nr)$)")
# Codes that only programs write: long numbers, hashes, UUIDs.
_MACHINE_CODE = r"(?i)^(?:\d{15,}|[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"
_COUNTS, _DIFFERENT = "a number that counts or names the rows", "different in every row"
_FEWEST_ROWS = 20  # that numbers must count to be no coincidence
_GAPS = 0.01  # of the rows, that an identifier must lack, and have, for its gaps to tell something
# Groups of fewer rows than this on average are too small to learn from.
_SMALL_GROUP = 2


def find_constant(filled: pl.Series, n_rows: int) -> Column | None:
    """The same in every row, if it is; ``filled`` are the cells that hold something."""
    if not has_texts(filled) or filled.n_unique() > 1 or 0 < len(filled) < n_rows:
        return None
    return Column(filled.name, CONSTANT, "the same in every row" if len(filled) else "empty")


def find_identifier(filled: pl.Series, n_rows: int) -> Column | None:
    """What names rows, by the name of the column or by what only programs write; what names groups, as these.

    An identifier whose values repeat names groups, as a shop's number does: if a few cover the column they are
    its categories, otherwise it is left out. Of one that many rows lack, as a reply's is, it may tell something
    whether it is there.
    """
    is_text = filled.dtype == pl.String
    if len(filled) < _FEWEST_ROWS or not (_ID_NAME.search(filled.name) or (is_text and _by_machine(filled))):
        return None
    whole = filled.dtype.is_integer() or (filled.dtype.is_float() and bool((filled == filled.floor()).all()))
    if not (is_text or whole):
        return None
    n, n_different = len(filled), filled.n_unique()
    if n_different == n:
        digits = not is_text or bool(filled.str.contains(r"^\d+$").all())
        note = _COUNTS if digits else _DIFFERENT
    elif n >= _SMALL_GROUP * n_different and (groups := Categories().find(category_texts(filled))):
        note = f"an identifier that repeats, so it names groups: {groups.note}"
        return replace(groups, note=note, doubtful=not is_text)
    else:
        note = f"an identifier with {n_different:,} values in {n:,} cells"
    if not _GAPS * n_rows <= n <= (1 - _GAPS) * n_rows:
        return Column(filled.name, IDENTIFIER, note)
    note += ": only whether it is there is used"
    return Column(filled.name, Categories.name, note, other=True, missing=True, doubtful=True)


def find_counting(name: str, numbers: pl.Series) -> Column | None:
    """Whole numbers, all different, that either follow the order of the rows or are called an identifier."""
    if len(numbers) < _FEWEST_ROWS or not (numbers == numbers.floor()).all() or numbers.n_unique() < len(numbers):
        return None
    in_order = bool((numbers.diff().drop_nulls() == 1).all())
    if not (in_order or _ID_NAME.search(name) or _PERHAPS_ID_NAME.search(name)):
        return None
    return Column(name, IDENTIFIER, _COUNTS)


def of_no_kind(filled: pl.Series) -> Column:
    """A column that no kind takes."""
    if not has_texts(filled):
        return Column(filled.name, UNSUPPORTED, f"of a type chary does not read ({filled.dtype})")
    if filled.n_unique() == len(filled):
        return Column(filled.name, IDENTIFIER, _DIFFERENT)
    return Column(filled.name, TEXT, "free text")


def _by_machine(filled: pl.Series) -> bool:
    return all(bool(cells.str.contains(_MACHINE_CODE).all()) for cells in (some_of(filled, FEW), filled))
