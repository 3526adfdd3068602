"""Finding the column names where they are not in the first row: below a title, in two rows, beside empty cells."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from chary._words import Parameter, listed, shown
from chary.tables.errors import TableError

ROWS = 50  # that are looked at
_MOST_ABOVE = 20  # rows above the column names

Rows = list[list[str]]


class Header(NamedTuple):
    """The column names, and where they were found."""

    names: list[str]
    first: int  # row of the names, from 0
    last: int  # the same, or the next if the names take two rows: cells begin below it
    notes: tuple[str, ...]


def find_header(rows: Rows, given: int | None, name: str) -> Header | None:
    """The column names of a table, by its first rows; None if they are the first row as it stands.

    Rows above them are blank, or fill at most half of the columns, as a title does, or are set off by a blank row.
    Two rows are joined if the upper one has gaps or repeats itself, as above merged cells, and the lower one holds
    names, too.

    Parameters
    ----------
    rows : list of list of str
        The first rows, as cells of text.
    given : int or None
        The row, from 1, if somebody says which it is.
    name : str
        Of the file.

    >>> find_header([["Sales 2024", "", ""], ["id", "city", "sum"], ["1", "Ulm", "20"]], None, "a.csv").names
    ['id', 'city', 'sum']
    """
    texts = [[cell.strip() for cell in row] for row in rows]
    if given is not None and (given > len(texts) or not any(texts[given - 1])):
        what = "is empty" if given <= len(texts) else "is not among the first rows"
        raise TableError(f"Row {given} of {name} {what}; pass the row of the column names with ", _PARAMETER, ".")
    width = max((len(row) for row in texts[:ROWS]), default=0)
    texts = [row + [""] * (width - len(row)) for row in texts]
    first = _first_row(texts, rows) if given is None else given - 1
    names, first, last = _joined(texts, first) if given is None else ([], first, first)
    names = names or list(rows[first])
    blank = [place for place, own in enumerate(names) if not own.strip()]
    if last == 0 and len(blank) < 2:
        return None
    notes = []
    if last and given is None:
        where = f"row {last + 1}" if first == last else f"rows {first + 1} and {last + 1}"
        notes = [f"The column names of {name} were found in {where}; set the header row if they are elsewhere."]
    if len(blank) > 1:
        called = {place: f"column {place + 1}" for place in blank}
        names = [called.get(place, own) for place, own in enumerate(names)]
        said = listed([shown(own) for own in list(called.values())[:5]] + ["so on"] * (len(blank) > 5))
        notes.append(f"{len(blank):,} columns of {name} have no name; they are called {said}.")
    return Header(names, first, last, tuple(notes))


_PARAMETER = Parameter("header_row")


def _first_row(texts: Rows, rows: Rows) -> int:
    """The first row that may hold names; 0 if none above the others can be told from data."""
    n_used = sum(any(cells) for cells in zip(*texts[:ROWS], strict=True))
    usual = Counter(len(row) for row in rows[:ROWS] if row).most_common(1)
    for place, row in enumerate(texts[:_MOST_ABOVE]):
        n, set_off = sum(map(bool, row)), not any(texts[place + 1] if place + 1 < len(texts) else ["end"])
        if set_off and n < n_used:
            continue
        # Of two columns, one may be all that a wrong delimiter leaves of a header.
        if 2 * n > n_used or (n and n_used < 3 and len(rows[place]) < usual[0][0]):
            titled = any(map(any, texts[:place]))
            return place if not titled or _are_names(texts, place) else 0
    return 0


def _joined(texts: Rows, first: int) -> tuple[list[str], int, int]:
    """Names of two rows, and which these are; no names where one row holds them."""
    row, below = texts[first], texts[first + 1 : first + 2]
    filled = [cell for cell in row if cell]
    repeats = len(set(filled)) < len(filled)
    if below:
        gaps = [j for j, cell in enumerate(row) if not cell and any(other[j] for other in texts[first + 1 : ROWS])]
        complete = all(below[0][j] for j in gaps)
        if (gaps or repeats) and complete and _are_names(texts, first + 1) and _above_numbers(texts, first + 1):
            return _pairs(row, below[0]), first, first + 1
    if repeats and first and any(texts[first - 1]):
        return _pairs(texts[first - 1], row), first - 1, first
    return [], first, first


def _pairs(upper: list[str], lower: list[str]) -> list[str]:
    """A name of each column: what is above several columns is said of each."""
    names, group = [], ""
    for above, below in zip(upper, lower, strict=True):
        group = above or (group if below else "")
        names.append(" ".join(filter(None, (group, below))))
    return names


def _are_names(texts: Rows, place: int) -> bool:
    """Whether a row may hold names: no numbers, and nothing that a column repeats further down."""
    columns = zip(*texts[place:ROWS], strict=True)
    return not any(own and (_is_number(own) or own in cells) for own, *cells in columns)


def _above_numbers(texts: Rows, place: int) -> bool:
    """Whether a row of no numbers has columns of numbers below it, so that it is not one of those rows."""
    columns = [(own, [cell for cell in cells if cell]) for own, *cells in zip(*texts[place:ROWS], strict=True)]
    n_below = len(texts[place + 1 : ROWS])
    numeric = [(own, cells) for own, cells in columns if cells and all(map(_is_number, cells))]
    return bool(numeric) and all(own or len(cells) == n_below for own, cells in numeric)


def _is_number(cell: str) -> bool:
    return any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell))
