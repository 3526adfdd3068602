"""Columns of categories; identifiers and constants, from which nothing is learned."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import counted
from chary.tables.cells import missing_cells, target_texts
from chary.tables.columns.defaults import NO_HINTS, Hints
from chary.tables.columns.kind import (
    CONSTANT,
    IDENTIFIER,
    UNSUPPORTED,
    UNUSED_TEXT,
    Column,
    Kind,
)
from chary.tables.table import all_composed, can_be_text


class Categories(Kind):
    """One of a few values in each cell.

    Rare and unseen values share one group; missing cells are another group.
    """

    name = "categorical"
    grouped = True

    def find(
        self, filled: pl.Series, forced: bool = False, hints: Hints = NO_HINTS
    ) -> Column | None:
        """Find frequent values that cover a column of text.

        A value is frequent if ``fewest_cells`` or more hold it. The column is categorical if
        ``fewest_covered`` cells or more hold a frequent value. In a ``forced`` column, every value
        counts as frequent.
        """
        if filled.dtype != pl.String:
            return None
        defaults = hints.defaults
        n_cells = len(filled)
        if forced:
            fewest_cells = 1.0
            fewest_covered = 0.0
        else:
            few_cells = min(defaults.frequent_cells, n_cells / 10)
            fewest_cells = max(defaults.frequent_share * n_cells, few_cells, 2)
            fewest_covered = defaults.covered_share * n_cells

        counts = _count_alike(filled)
        frequent = counts.filter(pl.col("count") >= fewest_cells).head(defaults.max_categories)
        n_frequent = len(frequent)
        if n_frequent == 0 or frequent["count"].sum() < fewest_covered:
            return None

        note = counted(n_frequent, "value")
        n_rare = len(counts) - n_frequent
        if n_rare:
            note += f", {n_rare:,} rare ones grouped"
        return Column(
            filled.name,
            self.name,
            note,
            categories=tuple(sorted(frequent["value"].to_list())),
            other=n_rare > 0,
        )

    def feature_names(self, column: Column) -> list[str]:
        """Name the groups: categories, other values, missing cells."""
        groups = [*column.categories]
        if column.other:
            groups.append("(other)")
        if column.missing:
            groups.append("(missing)")
        return [f"{column.name} = {group}" for group in groups]

    def read(self, cells: pl.Series, column: Column) -> NDArray[np.float64]:
        """Read the number of each cell's group, -1 for none."""
        cells = target_texts(cells)
        values = cells.unique()
        codes = cells.replace_strict(values, _codes(values, column), return_dtype=pl.Float64)
        return codes.to_numpy()[:, None]


def _count_alike(filled: pl.Series) -> pl.DataFrame:
    """Count values, ignoring case and surplus white space, the most frequent first.

    A value is listed in its most frequent spelling. Equally frequent values are sorted, so that the
    order of the rows does not decide which of them become categories.
    """
    counts = filled.alias("value").value_counts()
    spellings = counts.sort("count", "value", descending=[True, False])
    folded = _folded(spellings["value"]).alias("folded")
    # The first spelling of a value is its most frequent one.
    values = spellings.group_by(folded).agg(pl.col("value").first(), pl.col("count").sum())
    return values.sort("count", "value", descending=[True, False])


def _codes(values: pl.Series, column: Column) -> pl.Series:
    """Return the number of each value's group, -1 for none.

    With the categories "a" and "b", other values and missing cells, the groups are 0, 1, 2 and 3.
    If no other value or no missing cell was there in ``find``, that group does not exist.
    """
    categories = _folded(all_composed(pl.Series(column.categories, dtype=pl.String)))
    code_of = {category: code for code, category in enumerate(categories)}

    # The group of other values comes after the categories, then that of missing cells.
    other_code = -1
    missing_code = -1
    next_code = len(categories)
    if column.other:
        other_code = next_code
        next_code += 1
    if column.missing:
        missing_code = next_code
    codes = _folded(values).replace_strict(code_of, default=other_code, return_dtype=pl.Float64)
    return codes.set(missing_cells(values), missing_code)


def _folded(values: pl.Series) -> pl.Series:
    """Write values in lower case and without surplus white space.

    >>> _folded(pl.Series(["E-Mail", "e-MAIL ", "by  post"])).to_list()
    ['e-mail', 'e-mail', 'by post']
    """
    return values.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()


# ---------------------------------------------------------------- nothing to learn from

# A column with such a name is an identifier.
_ID_NAME = re.compile(
    r"(?i:(^|[_\W])(id|ids|uuid|guid|rowid|identifier|id_?str)$|^id[_\W])|[a-z](Id|ID)$|"
    r"(?i:^(account|acct|case|client|cust|customer|device|emp|employee|event|game|household|item|listing|member|"
    r"order|patient|person|player|post|prod|product|rec|record|resp|respondent|school|session|site|store|student|"
    r"subj|subject|team|ticket|trans|transaction|trip|tweet|unit|user|visitor)_?id$)"
)
# A column with such a name is an identifier only if all its values differ.
_WEAK_ID_NAME = re.compile(r"(?i:(^|[_\W])(key|index|row|no|nr)$)")
# Only programs write such codes: long numbers, hashes, UUIDs.
_MACHINE_CODE = r"(?i)^(?:\d{15,}|[0-9a-f]{24,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$"

_ROW_NUMBER_NOTE = "looks like a row number or an ID"
_QUANTITY_NOTE = f"{_ROW_NUMBER_NOTE}; say that it is numeric if it is a quantity"
_UNIQUE_NOTE = "different in every row"


def find_constant(filled: pl.Series, n_rows: int) -> Column | None:
    """Find a column that is constant, or empty.

    ``filled`` are the filled cells of a column of ``n_rows`` cells.
    """
    if not can_be_text(filled.dtype):
        return None
    if len(filled) == 0:
        return Column(filled.name, CONSTANT, "empty")
    if len(filled) == n_rows and filled.n_unique() == 1:
        return Column(filled.name, CONSTANT, "the same in every row")
    return None


def find_identifier(filled: pl.Series, n_rows: int, hints: Hints = NO_HINTS) -> Column | None:
    """Find an identifier by its name, or because it holds codes that programs write.

    An identifier whose values repeat may name groups, as a shop's number does: if a few values
    cover the column, they become its categories; otherwise its values are not used. If many rows
    lack the identifier, as most messages lack the number of a reply, it is still used as present or
    missing.
    """
    defaults = hints.defaults
    n_cells = len(filled)
    if n_cells < defaults.identifier_cells:
        return None
    if not _ID_NAME.search(filled.name) and not _is_machine_code(filled):
        return None
    is_text = filled.dtype == pl.String
    is_whole = filled.dtype.is_float() and bool((filled == filled.floor()).all())
    if not (is_text or is_whole or filled.dtype.is_integer()):
        return None

    n_different = filled.n_unique()
    if n_different == n_cells:
        note = _ROW_NUMBER_NOTE
    else:
        groups = None
        if n_cells >= defaults.group_rows * n_different:
            groups = Categories().find(target_texts(filled), hints=hints)
        if groups is not None:
            note = f"an identifier that repeats, so it names groups: {groups.note}"
            return replace(groups, note=note, doubtful=not is_text)
        note = f"an identifier with {n_different:,} values in {n_cells:,} cells"

    gap = defaults.gap_share
    if gap * n_rows <= n_cells <= (1 - gap) * n_rows:
        note += ": only used as present or missing"
        return Column(filled.name, Categories.name, note, other=True, missing=True, doubtful=True)
    return Column(filled.name, IDENTIFIER, note)


def find_counting(name: str, numbers: pl.Series, hints: Hints = NO_HINTS) -> Column | None:
    """Find whole numbers that name the rows.

    All numbers differ, and one more sign is needed: the column has the name of an identifier, the
    numbers have no gap, or they are too many to differ by chance.

    The third sign is a test. If n whole numbers are measured, and R whole numbers lie from the
    smallest to the largest, at least n (n - 1) / 2R pairs of them are equal on average. The
    probability that no pair is equal is then about exp(-n (n - 1) / 2R) at most. For example, 500
    numbers between 1 and 10,000 would have 12 equal pairs; if all of them differ, they were not
    measured.
    """
    defaults = hints.defaults
    n = len(numbers)
    if n < defaults.identifier_cells:
        return None
    if not (numbers == numbers.floor()).all() or numbers.n_unique() < n:
        return None
    if _ID_NAME.search(name) or _WEAK_ID_NAME.search(name):
        return Column(name, IDENTIFIER, _ROW_NUMBER_NOTE)

    n_possible = np.ptp(numbers.to_numpy()) + 1
    if n_possible == n:
        return Column(name, IDENTIFIER, _QUANTITY_NOTE)
    n_expected_pairs = n * (n - 1) / (2 * n_possible)
    if n < defaults.unrepeated_cells or n_expected_pairs < defaults.equal_pairs:
        return None
    return Column(name, IDENTIFIER, f"{_ROW_NUMBER_NOTE}: all values differ", doubtful=True)


def describe_unused(filled: pl.Series) -> Column:
    """Describe a column that no kind recognises."""
    if not can_be_text(filled.dtype):
        return Column(filled.name, UNSUPPORTED, f"of a type chary does not read ({filled.dtype})")
    if filled.n_unique() == len(filled):
        return Column(filled.name, IDENTIFIER, _UNIQUE_NOTE)
    return Column(filled.name, UNUSED_TEXT, "free text")


def _is_machine_code(filled: pl.Series) -> bool:
    """Tell whether all cells hold codes that only programs write."""
    if filled.dtype != pl.String and not filled.dtype.is_integer():
        return False
    return bool(filled.cast(pl.String).str.contains(_MACHINE_CODE).all())
