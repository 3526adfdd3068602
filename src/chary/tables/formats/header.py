"""Finding the row of a sheet or a text table that holds the column names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import mode
from typing import NamedTuple

from chary._words import Parameter, listed, shown
from chary.options import flag_of
from chary.tables.table import TableError

# At most this many first rows are looked at.
ROWS = 50
# One of this many first rows holds the column names.
_MOST_ABOVE = 20
# A note lists at most this many columns without a name.
_NAMED_COLUMNS = 5

Rows = list[list[str]]


class Header(NamedTuple):
    """The column names, and where they were found."""

    names: list[str]
    row: int  # of the names, from 0: cells begin below it
    notes: tuple[str, ...]


def header_row_in(notes: Sequence[str]) -> int | None:
    """Read from the notes on a table in which row the column names were found; None: the first.

    >>> header_row_in(["The column names of a.csv were found in row 3; if not, pass --header-row."])
    3
    """
    for note in notes:
        match = re.search(r" were found in row (\d+); if not", note)
        if match is not None:
            return int(match[1])
    return None


def find_header(rows: Rows, header_row: int | None, name: str) -> Header | None:
    """Find the column names; None if they are the first row, unchanged.

    Rows above them are blank, or fill at most half of the columns, as a title does, or are set off
    by a blank row.

    Parameters
    ----------
    rows : list of list of str
        The first rows, as cells of text.
    header_row : int or None
        The row of the names, counted from 1, if the user says which it is.
    name : str
        Name of the file.

    >>> rows = [["Sales 2024", "", ""], ["id", "city", "sum"], ["1", "Ulm", "20"]]
    >>> find_header(rows, None, "a.csv").names
    ['id', 'city', 'sum']
    """
    texts = [[cell.strip() for cell in row] for row in rows]  # "" for a blank cell
    if header_row is None:
        row = _first_row_of_names(texts, rows)
    else:
        row = header_row - 1
        if row >= len(texts) or not any(texts[row]):
            raise TableError(
                f"Row {header_row} of {name} is empty, or not among the first {ROWS} rows; pass "
                f"the row of the column names with {Parameter('header_row')}."
            )

    names = list(rows[row])
    unnamed = [place for place, text in enumerate(names) if not text.strip()]
    if row == 0 and len(unnamed) < 2:
        return None

    notes = []
    if row > 0 and header_row is None:
        notes.append(
            f"The column names of {name} were found in row {row + 1}; if not, pass "
            f"{flag_of('header_row')}."
        )
    if len(unnamed) > 1:
        for place in unnamed:
            names[place] = f"column {place + 1}"
        listing = [shown(names[place]) for place in unnamed[:_NAMED_COLUMNS]]
        if len(unnamed) > _NAMED_COLUMNS:
            listing.append("so on")
        notes.append(
            f"{len(unnamed):,} columns of {name} have no name; they are called {listed(listing)}."
        )
    return Header(names, row, tuple(notes))


def _first_row_of_names(texts: Rows, rows: Rows) -> int:
    """Find the first row that may hold names, from 0.

    A row with few filled cells is a title, and so is one above a blank row that lacks some cell.
    The first other row may hold the names. If there is a title above it, it must also look
    different from data; otherwise row 0 is returned.

    Parameters
    ----------
    texts : list of list of str
        The rows with stripped cells.
    rows : list of list of str
        The rows as they are. They may have different lengths.
    """
    width = max((len(row) for row in texts[:ROWS]), default=0)
    texts = [row + [""] * (width - len(row)) for row in texts]
    columns = zip(*texts[:ROWS], strict=True)
    n_used_columns = sum(any(cells) for cells in columns)

    for place, row in enumerate(texts[:_MOST_ABOVE]):
        n_filled = sum(map(bool, row))
        next_rows = texts[place + 1 : place + 2]
        is_above_blank_row = len(next_rows) == 1 and not any(next_rows[0])
        is_set_off = is_above_blank_row and n_filled < n_used_columns
        is_wide = 2 * n_filled > n_used_columns
        # Of two columns, one may be all that a wrong delimiter leaves of a header.
        may_be_cut = n_filled > 0 and n_used_columns < 3
        is_cut = may_be_cut and len(rows[place]) < _usual_length(rows)
        may_hold_names = (is_wide or is_cut) and not is_set_off
        if may_hold_names:
            rows_above = texts[:place]
            has_title = any(map(any, rows_above))
            if has_title and not _are_names(texts, place):
                return 0
            return place
    return 0


def _usual_length(rows: Rows) -> int:
    """Return the most frequent number of cells of a row."""
    return mode(len(row) for row in rows[:ROWS] if row)


def _are_names(texts: Rows, place: int) -> bool:
    """Tell whether a row has no numbers, and no text that is repeated below."""
    for name, *cells in zip(*texts[place:ROWS], strict=True):
        if name and (_is_number(name) or name in cells):
            return False
    return True


def _is_number(cell: str) -> bool:
    """Tell whether a cell holds digits and no letter."""
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))
