"""How a value, a share, a list or a parameter is shown to a person: short, visible, on one line."""

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
_MARKED = re.compile(r"""\x00(\["\w+", (?:null|"[^\x00]*")\])\x00""")


def visible(text: object, limit: int = 80) -> str:
    """Text from elsewhere, short, on one line, with nothing invisible in it; escaping is left to who shows it.

    >>> visible("a\\x00\\u202eb")
    'a\\\\x00\\\\u202eb'
    """
    text = str(text)
    text = text.replace("\xa0", " ").replace("\u202f", " ")  # spaces that numbers are written with
    seen = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[:limit]
    )
    return seen if len(seen) <= limit and len(text) <= limit else f"{seen[: limit - 3]}..."


def shown(text: object, limit: int = 60) -> str:
    """The same in quotes, as sentences name a column or a cell.

    >>> shown("a\\x00b" + 100 * "c", limit=12)
    "'a\\\\x00bccc...'"
    """
    return f"'{visible(text, limit)}'"


def percent(share: float) -> str:
    """A share in percent, a half rounded up, with one digit more if it is small; review.js has the same.

    >>> percent(0.925), percent(0.004), percent(0.0999), percent(1.0)
    ('93%', '0.4%', '10%', '100%')
    """
    tenths = math.floor((1000 if 0 < share < 0.1 else 10_000) * share + 0.5 + 1e-9)
    return (
        f"{tenths / 10:.1f}%"
        if 0 < share < 0.1 and tenths < 100
        else f"{math.floor(100 * share + 0.5 + 1e-9)}%"
    )


def exact_percent(share: float) -> str:
    """A share that somebody stated, in percent as it was meant: three digits of it.

    >>> exact_percent(0.7), exact_percent(1 / 3)
    ('70 %', '33.3 %')
    """
    return f"{100 * share:.3g} %"


def listed(parts: Iterable[str], word: str = "and") -> str:
    """Parts of a sentence, the last after an "and" or another ``word``.

    >>> listed(["a", "b", "c"]), listed(["a"]), listed(["a", "b"], "or")
    ('a, b and c', 'a', 'a or b')
    """
    *most, last = parts
    return f"{', '.join(most)} {word} {last}" if most else last


def named_columns(names: Sequence[str], most: int = 8) -> str:
    """Name columns in a sentence; of very many the first and the last, where those that were added stand.

    >>> named_columns(["a", "b"]), named_columns("abcdef", most=4)
    ("'a' and 'b'", "'a', 'b', 2 more, 'e' and 'f'")
    """
    parts = [shown(name, 40) for name in names]
    if len(names) > most:
        half = most // 2
        parts[half:-half] = [f"{len(names) - 2 * half:,} more"]
    return listed(parts)


def counted(n: int, one: str) -> str:
    """So many of something.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {one}{'s' * (n != 1)}"


def command_line(words: Sequence[str]) -> str:
    """Words as they are typed in a shell: that of Windows knows double quotes alone.

    >>> command_line(["chary", "label", "my data.csv"])
    "chary label 'my data.csv'"
    """
    return list2cmdline(words) if _WINDOWS else shlex.join(words)


def number(n: int) -> str:
    """A count as a sentence begins with it.

    >>> number(30), number(7)
    ('Thirty', '7')
    """
    return {10: "Ten", 20: "Twenty", 30: "Thirty"}.get(n, f"{n:,}")


def day(days: float) -> str:
    """The date that is so many days after 1 January 1970.

    >>> day(17_722.4), day(1e9)
    ('2018-07-10', '1000000000 days after 1970-01-01')
    """
    try:
        return str(date(1970, 1, 1) + timedelta(days=int(days // 1)))
    except OverflowError:
        return f"{days:.0f} days after 1970-01-01"


def p_value(p: float, name: str = "") -> str:
    """A p-value, no smaller than can be told; after its name, if that is given.

    >>> p_value(0.0004), p_value(0.25), p_value(0.25, "p ")
    ('< 0.001', '0.250', 'p = 0.250')
    """
    return f"{name}< 0.001" if p < 0.001 else f"{name}{'= ' * bool(name)}{p:.3f}"


def finite(value: Any) -> Any:
    """The same for JSON, which lacks infinity and numbers that are none: they are None.

    >>> finite({1: (0.5, float("inf"))})
    {'1': [0.5, None]}
    """
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Parameter(NamedTuple):
    """A parameter that a sentence speaks of, and the value to pass if it names one; typed, it is an option.

    >>> str(Parameter("unlabeled", "NA")), str(Parameter("drop"))
    ("unlabeled='NA'", 'the parameter drop')
    """

    name: str
    value: str | None = None

    def __str__(self) -> str:
        return (
            f"the parameter {self.name}"
            if self.value is None
            else f"{self.name}={shown(self.value)}"
        )

    def __format__(self, spec: str) -> str:
        """Marked in the text of a sentence, from which ``parts_of`` takes it out again."""
        return f"\x00{json.dumps(self)}\x00"


class Step(NamedTuple):
    """Something else that a person does with a table or a sheet, in plain words; typed, it is a command."""

    name: str  # "draw" rows for an audit, "fill" its sheet, "label" a table
    words: str
    path: str = ""  # of the file to do it with

    def __str__(self) -> str:
        return self.words


def parts_of(sentence: str) -> list[str | Parameter]:
    """The text of a sentence, and the parameters that were put into it.

    >>> parts_of(f"Pass {Parameter('drop')}.")
    ['Pass ', Parameter(name='drop', value=None), '.']
    """
    pieces = _MARKED.split(sentence)
    return [
        Parameter(*json.loads(piece)) if i % 2 else piece for i, piece in enumerate(pieces) if piece
    ]
