"""How values, shares, lists and parameters are shown to a person: short, visible, on one line."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from subprocess import list2cmdline
from typing import Any, NamedTuple

_WINDOWS = os.name == "nt"
# This pattern finds a parameter in the text of a sentence, where NUL characters are around it; see
# ``Parameter.__format__``.
_MARKED = re.compile(r"""\x00(\["\w+", (?:null|"[^\x00]*")\])\x00""")


def visible(text: object, limit: int = 80) -> str:
    r"""Shorten text to one line, and escape what is invisible.

    Escaping for HTML or a terminal is left to the caller.

    >>> visible("a\x00\u202eb")
    'a\\x00\\u202eb'
    """
    text = str(text)
    text = text.replace("\xa0", " ").replace("\u202f", " ")  # spaces that numbers are written with
    line = escaped(text[:limit])
    if len(line) <= limit and len(text) <= limit:
        return line
    return f"{line[: limit - 3]}..."


def escaped(text: str, allowed: str = "") -> str:
    r"""Escape what is invisible, but for the characters that are allowed.

    >>> escaped("a\nb\x00", allowed="\n")
    'a\nb\\x00'
    """
    characters = []
    for character in text:
        if not character.isprintable() and character not in allowed:
            character = character.encode("unicode_escape").decode()
        characters.append(character)
    return "".join(characters)


def shown(text: object, limit: int = 60) -> str:
    r"""Put visible text in quotes, as sentences name a column or a cell.

    >>> shown("a\x00b" + 100 * "c", limit=12)
    "'a\\x00bccc...'"
    """
    return f"'{visible(text, limit)}'"


def percent(share: float) -> str:
    """Show a share in percent, with one decimal if it is small.

    A half is rounded up. ``review.js`` has the same rule.

    >>> percent(0.925), percent(0.004), percent(0.0999), percent(1.0)
    ('93%', '0.4%', '10%', '100%')
    """
    if 0 < share < 0.1:
        tenths = _rounded(1000 * share)
        if tenths < 100:
            return f"{tenths / 10:.1f}%"
    return f"{_rounded(100 * share)}%"


def _rounded(value: float) -> int:
    """Round halves up, even a half that floating point has made a little smaller."""
    return math.floor(value + 0.5 + 1e-9)


def exact_percent(share: float) -> str:
    """Show a share that the user has chosen, to three digits.

    >>> exact_percent(0.7), exact_percent(1 / 3)
    ('70 %', '33.3 %')
    """
    return f"{100 * share:.3g} %"


def listed(parts: Iterable[str], word: str = "and") -> str:
    """Join parts of a sentence, the last with "and" or another ``word``.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed(["a", "b"], "or")
    ('a, b and c', 'a', 'a or b')
    """
    *first, last = parts
    return f"{', '.join(first)} {word} {last}" if first else last


def named_columns(names: Sequence[str], most: int = 8) -> str:
    """List columns in a sentence; if there are more than ``most``, leave out some in the middle.

    Columns that chary added come last, so they are listed.

    >>> named_columns(["a", "b"]), named_columns("abcdef", most=4)
    ("'a' and 'b'", "'a', 'b', 2 more, 'e' and 'f'")
    """
    parts = [shown(name, 40) for name in names]
    if len(names) > most:
        half = most // 2
        n_left_out = len(names) - 2 * half
        parts = [*parts[:half], f"{n_left_out:,} more", *parts[-half:]]
    return listed(parts)


def counted(n: int, singular: str) -> str:
    """Show a number of things, with an "s" if they are several.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    plural = "" if n == 1 else "s"
    return f"{n:,} {singular}{plural}"


def command_line(words: Sequence[str]) -> str:
    """Join words to a command, quoted for the system's shell.

    >>> command_line(["chary", "label", "my data.csv"])
    "chary label 'my data.csv'"
    """
    return list2cmdline(words) if _WINDOWS else shlex.join(words)


def number(n: int) -> str:
    """Show a count at the beginning of a sentence.

    >>> number(30), number(7)
    ('Thirty', '7')
    """
    return {10: "Ten", 20: "Twenty", 30: "Thirty"}.get(n, f"{n:,}")


def day(days: float) -> str:
    """Show the date that is a number of days after 1 January 1970.

    >>> day(17_722.4), day(1e9)
    ('2018-07-10', '1000000000 days after 1970-01-01')
    """
    try:
        return str(date(1970, 1, 1) + timedelta(days=math.floor(days)))
    except OverflowError:  # beyond the year 9999
        return f"{days:.0f} days after 1970-01-01"


def p_value(p: float, name: str = "") -> str:
    """Show a p-value, after its name if there is one.

    >>> p_value(0.0004), p_value(0.25), p_value(0.25, "p ")
    ('< 0.001', '0.250', 'p = 0.250')
    """
    if p < 0.001:
        return f"{name}< 0.001"
    return f"{name}= {p:.3f}" if name else f"{p:.3f}"


def finite(value: Any) -> Any:
    """Replace infinity and NaN by None, which JSON can hold.

    >>> finite({1: (0.5, float("inf"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Parameter(NamedTuple):
    """A parameter that a sentence names, with a value if the sentence suggests one.

    The command line shows it as an option.

    >>> str(Parameter("unlabeled", "NA")), str(Parameter("drop"))
    ("unlabeled='NA'", 'the parameter drop')
    """

    name: str
    value: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"the parameter {self.name}"
        return f"{self.name}={shown(self.value)}"

    def __format__(self, spec: str) -> str:
        """Mark the parameter in the text of a sentence; ``parts_of`` takes it out again."""
        return f"\x00{json.dumps(self)}\x00"


class Step(NamedTuple):
    """Something to do with a table or a sheet, in plain words.

    The command line shows it as a command.
    """

    name: str  # "draw" rows for an audit, "fill" its sheet, "label" a table
    words: str
    path: str = ""  # of the file to do it with

    def __str__(self) -> str:
        return self.words


def parts_of(sentence: str) -> list[str | Parameter]:
    """Split a sentence into its text and the parameters in it.

    >>> parts_of(f"Pass {Parameter('drop')}.")
    ['Pass ', Parameter(name='drop', value=None), '.']
    """
    parts: list[str | Parameter] = []
    for i, piece in enumerate(_MARKED.split(sentence)):
        is_parameter = i % 2 == 1  # texts and parameters alternate; a text may be empty
        if is_parameter:
            parts.append(Parameter(*json.loads(piece)))
        elif piece:
            parts.append(piece)
    return parts
