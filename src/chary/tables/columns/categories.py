"""Columns of categories, and columns from which nothing is learned: identifiers, constants, and others."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary.options import flag_of
from chary.tables.cells import (
    CONSTANT,
    FEW,
    IDENTIFIER,
    TEXT,
    UNSUPPORTED,
    Column,
    Kind,
    missing_cells,
)
from chary.tables.table import all_composed, can_be_text, texts

# A column is categorical if its frequent values cover at least this share of its filled cells.
_COVERED = 0.5
_MAX_CATEGORIES = (
    150  # with 30 the number of one of 133 people, or a town, said nothing: up to 13 points lost
)


class Categories(Kind):
    """One of a few values in each cell; rare and unseen ones share a group, missing ones are a group."""

    name = "categorical"
    grouped = True

    def find(self, filled: pl.Series, forced: bool = False) -> Column | None:
        """Texts of which the frequent ones cover the column; any texts, if it is ``forced``."""
        if filled.dtype != pl.String:
            return None
        smallest = 1 if forced else math.ceil(max(0.005 * len(filled), min(5, len(filled) / 10), 2))
        # Equally frequent ones by value: which are taken must not depend on the order of the rows.
        most_first: Any = {"by": ["count", "value"], "descending": [True, False]}
        spelled = filled.alias("value").value_counts().sort(**most_first)
        alike = spelled.group_by(_alike(spelled["value"]).alias("alike"))
        counts = alike.agg(pl.col("value").first(), pl.col("count").sum()).sort(**most_first)
        frequent = counts.filter(pl.col("count") >= smallest).head(_MAX_CATEGORIES)
        if not len(frequent) or frequent["count"].sum() < (0 if forced else _COVERED) * len(filled):
            return None
        n_rare = len(counts) - len(frequent)
        note = f"{len(frequent)} value{'s' * (len(frequent) > 1)}"
        note += f", {n_rare:,} rare ones grouped" if n_rare else ""
        # Many rare values of several words may be remarks, of which the words tell more than the
        # whole.
        n_words = counts["value"].str.count_matches(r"\S+").to_numpy().mean()
        are_remarks = not forced and n_rare > len(frequent) and bool(n_words >= 3)
        note += f"; {flag_of('text')} reads their words" * are_remarks
        categories = tuple(sorted(frequent["value"].to_list()))
        return Column(
            filled.name,
            self.name,
            note,
            categories=categories,
            other=n_rare > 0,
            doubtful=are_remarks,
        )

    def whole(self, column: Column) -> bool:
        """Without a form, with groups that differ."""
        groups = self.feature_names(column)
        return (
            not column.form
            and len(groups) > 0
            and len(set(column.categories)) == len(column.categories)
        )

    def feature_names(self, column: Column) -> list[str]:
        groups = [*column.categories, *["(other)"] * column.other, *["(missing)"] * column.missing]
        return [f"{column.name} = {group}" for group in groups]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """The place of the cell's group among the features; -1, which stands for nothing, if there is none."""
        cells = category_texts(cells)
        values = cells.unique()
        codes = cells.replace_strict(values, _codes(values, column), return_dtype=pl.Float64)
        return codes.to_numpy()[:, None]


def _codes(values: pl.Series, column: Column) -> pl.Series:
    n_categories = len(column.categories)
    other = float(n_categories) if column.other else -1.0
    missing = float(n_categories + column.other) if column.missing else -1.0
    known = _alike(all_composed(pl.Series(column.categories, dtype=pl.String)))
    code_of = {value: float(code) for code, value in reversed(list(enumerate(known)))}
    codes = _alike(values).replace_strict(code_of, default=other, return_dtype=pl.Float64)
    return codes.set(missing_cells(values), missing)


def _alike(values: pl.Series) -> pl.Series:
    """Values as they are compared: case and white space make no difference.

    >>> _alike(pl.Series(["E-Mail", "e-MAIL ", "by  post"])).to_list()
    ['e-mail', 'e-mail', 'by post']
    """
    return values.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


def category_texts(cells: pl.Series) -> pl.Series:
    """Cells as text; a whole number is written the same whatever its type.

    >>> category_texts(pl.Series([1.0, 2.5, None])).to_list()
    ['1', '2.5', None]
    """
    found = texts(cells)
    return found.str.strip_suffix(".0") if cells.dtype.is_float() else found


# ---------------------------------------------------------------- identifiers, constants, and what is of no kind

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
_COUNTS, _DIFFERENT = "looks like a row number or an ID", "different in every row"
_COUNTS_UNNAMED = f"{_COUNTS}; say that it is numeric if it is a quantity"
_FEWEST_ROWS = 20  # that numbers must count to be no coincidence
_FEWEST_UNLIKE = 200  # that numbers must be to name the rows because none repeats
_EQUAL_PAIRS = (
    10  # to be expected of measured numbers: that there is none happens once in 20,000 times
)
_GAPS = 0.01  # of the rows, that an identifier must lack, and have, for its gaps to tell something
# Groups of fewer rows than this on average are too small to learn from.
_SMALL_GROUP = 2


def find_constant(filled: pl.Series, n_rows: int) -> Column | None:
    """The same in every row, if it is; ``filled`` are the cells that hold something."""
    if not can_be_text(filled.dtype) or filled.n_unique() > 1 or 0 < len(filled) < n_rows:
        return None
    return Column(filled.name, CONSTANT, "the same in every row" if len(filled) else "empty")


def find_identifier(filled: pl.Series, n_rows: int) -> Column | None:
    """What names rows, by the name of the column or by what only programs write; what names groups, as these.

    An identifier whose values repeat names groups, as a shop's number does: if a few cover the
    column they are its categories, otherwise it is left out. Of one that many rows lack, as a
    reply's is, it may tell something whether it is there.
    """
    is_text = filled.dtype == pl.String
    if len(filled) < _FEWEST_ROWS or not (_ID_NAME.search(filled.name) or _by_machine(filled)):
        return None
    whole = filled.dtype.is_float() and bool((filled == filled.floor()).all())
    if not (is_text or whole or filled.dtype.is_integer()):
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
    note += ": only used as present or missing"
    return Column(filled.name, Categories.name, note, other=True, missing=True, doubtful=True)


def find_counting(name: str, numbers: pl.Series) -> Column | None:
    """Whole numbers, all different, that are called an identifier, have no gap, or never repeat, in any order.

    Of n whole numbers that are measured, n (n - 1) / 2R pairs or more are equal on average where R
    numbers lie between the least and the largest, and none is with a probability of about exp(-n (n
    - 1) / 2R) at most.
    """
    n = len(numbers)
    if n < _FEWEST_ROWS or not (numbers == numbers.floor()).all() or numbers.n_unique() < n:
        return None
    if _ID_NAME.search(name) or _PERHAPS_ID_NAME.search(name):
        return Column(name, IDENTIFIER, _COUNTS)
    first, last = (float(end) for end in (numbers.min(), numbers.max()))  # type: ignore[arg-type]
    n_between = last - first + 1
    if n_between == n:
        return Column(name, IDENTIFIER, _COUNTS_UNNAMED)
    if n < _FEWEST_UNLIKE or n * (n - 1) / (2 * n_between) < _EQUAL_PAIRS:
        return None
    return Column(name, IDENTIFIER, f"{_COUNTS}: all values differ", doubtful=True)


def of_no_kind(filled: pl.Series) -> Column:
    """A column that no kind takes."""
    if not can_be_text(filled.dtype):
        return Column(filled.name, UNSUPPORTED, f"of a type chary does not read ({filled.dtype})")
    if filled.n_unique() == len(filled):
        return Column(filled.name, IDENTIFIER, _DIFFERENT)
    return Column(filled.name, TEXT, "free text")


def _by_machine(filled: pl.Series) -> bool:
    if filled.dtype != pl.String and not filled.dtype.is_integer():
        return False
    return all(
        cells.cast(pl.String).str.contains(_MACHINE_CODE).all()
        for cells in (filled.head(FEW), filled)
    )
