"""What can go wrong behind a page, and how the page says it."""

from __future__ import annotations

from chary._words import Parameter, Step, shown
from chary.tables import TableError


class ConflictError(TableError):
    """Something has changed meanwhile; the page is shown what it is now."""


class NotHereError(TableError):
    """There is no such thing in this mode, or not yet."""


# Where on the page, or before it opens, a parameter is chosen.
_PLACES = {
    "aim": "the aim on the page Start",
    "audit": "the answers of the page Audit",
    "categorical": "the kind “category” on the page Start",
    "checked": "the answers of the page Review",
    "class_prior": "the class shares on the page Start",
    "drop": "“leave out” on the page Start",
    "error": "the error on the page Truth",
    "identifier": "the kind “identifier” on the page Start",
    "numeric": "the kind “number” on the page Start",
    "overwrite": "“draw anew”",
    "text": "the kind “text” on the page Start",
}


def page_sentence(error: BaseException) -> str:
    """What an error says, for somebody who sees a page: no parameter of Python, no option.

    >>> page_sentence(TableError("There are too many columns; leave some out with ", Parameter("drop"), "."))
    'There are too many columns; leave some out with “leave out” on the page Start.'
    >>> page_sentence(ZeroDivisionError("division by zero"))
    'A mistake in chary itself (ZeroDivisionError: division by zero); please report it.'
    """
    if isinstance(error, MemoryError):
        return "The table does not fit into memory; leave columns out on the page Start."
    if not isinstance(error, (ValueError, OSError)):
        return f"A mistake in chary itself ({type(error).__name__}: {error}); please report it."
    in_parts = any(isinstance(part, Parameter | Step) for part in error.args)
    return "".join(map(_in_words, error.args)) if in_parts else str(error)


def _in_words(part: object) -> str:
    if not isinstance(part, Parameter):
        return str(part)  # a step is in plain words already
    place = _PLACES.get(part.name, f"the setting “{part.name.replace('_', ' ')}”, when the page is started")
    return place if part.value is None else f"{place}: {shown(part.value)}"
