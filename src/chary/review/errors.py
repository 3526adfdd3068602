"""Errors of the pages, and every error as one sentence in the words of a page."""

from __future__ import annotations

from chary._words import Parameter, Step, shown
from chary.tables import TableError

# The kinds that a person can choose for a column on the page Start, each with the name of the
# option that makes the same choice in a command.
KINDS = {
    "number": "numeric",
    "category": "categorical",
    "text": "text",
    "identifier": "identifier",
    "leave out": "drop",
}
# The place on the pages where each parameter is chosen, as an error names it.
PLACES = {
    "error": "the error on the page Truth",
    "header_row": "the row of the column names on the page Start",
}
PLACES |= {name: f"the kind “{kind}” on the page Start" for kind, name in KINDS.items()}


class ConflictError(TableError):
    """Something has changed meanwhile; the page should show it as it is now."""


class NotHereError(TableError):
    """A page, a file or an address that this job does not have, or not yet."""


def page_sentence(error: BaseException) -> str:
    """Say what went wrong in the words of a page.

    The sentence of a ``TableError`` may name a parameter of Python, which a command would show as
    an option. On a page, its place among the pages is named instead.

    >>> page_sentence(TableError("Too many columns; choose ", Parameter("drop"), "."))
    'Too many columns; choose the kind “leave out” on the page Start.'
    >>> page_sentence(ZeroDivisionError("division by zero"))
    'A mistake in chary itself (ZeroDivisionError: division by zero); please report it.'
    """
    if isinstance(error, MemoryError):
        return "The table does not fit into memory; leave columns out on the page Start."
    if not isinstance(error, (ValueError, OSError)):
        return f"A mistake in chary itself ({type(error).__name__}: {error}); please report it."
    if isinstance(error, TableError):
        return "".join(_in_words(part) for part in error.args)
    return str(error)


def _in_words(part: str | Parameter | Step) -> str:
    """Write a part of a sentence: a parameter by its place on the pages, all else as it is."""
    if not isinstance(part, Parameter):
        return str(part)
    setting = part.name.replace("_", " ")
    place = PLACES.get(part.name, f"the setting “{setting}”, when the page is started")
    if part.value is None:
        return place
    return f"{place}: {shown(part.value)}"
