"""Errors about tables: one sentence that Python, the command line and the page each show in their own words."""

from __future__ import annotations

from chary._words import Parameter, Step, parts_of, visible


class TableError(ValueError):
    """A table that cannot be used: what was found, where, and what to do.

    Its ``args`` are the parts of the sentence: text, and the parameters and steps it speaks of.

    >>> error = TableError(f"There are too many columns; leave some out with {Parameter('drop')}.")
    >>> print(error)
    There are too many columns; leave some out with the parameter drop.
    """

    args: tuple[str | Parameter | Step, ...]

    def __init__(self, *parts: str | Parameter | Step) -> None:
        each = [parts_of(part) if isinstance(part, str) else [part] for part in parts]
        super().__init__(*(part for several in each for part in several))

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class EncodingError(TableError):
    """A file that is not text in the encoding it was read in."""


def reason(error: BaseException) -> str:
    """The first line of what a library said, short."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return visible(lines[0] if lines else type(error).__name__, 100)
