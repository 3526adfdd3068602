"""What was found in a file and what to do in; one sentence out, for Python as it is and for ``cli`` in parts."""

from __future__ import annotations

from chary._words import Parameter, Step, visible


class TableError(ValueError):
    """A table that cannot be used: what was found, where, and what to do.

    Made of the parts of a sentence: text, and the parameters and steps it speaks of.

    >>> print(TableError("There are too many columns; leave some out with ", Parameter("drop"), "."))
    There are too many columns; leave some out with the parameter drop.
    """

    args: tuple[str | Parameter | Step, ...]

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
