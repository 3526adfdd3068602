"""What was typed as a size of memory, or as a part of several, in; numbers out."""

from __future__ import annotations

import re

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes, as typed after ``--memory``.

    >>> parse_size("2GB"), parse_size("1.5 GiB"), parse_size("800m")
    (2000000000, 1610612736, 800000000)
    """
    found = _SIZE.fullmatch(text)
    factor = _UNITS.get(found[2].lower()) if found else None
    if found is None or factor is None or not (size := int(float(found[1]) * factor)):
        raise ValueError(f"--memory {text!r} is no size; give one such as 2GB or 1.5GiB.")
    return size


def parse_part(text: str) -> tuple[int, int]:
    """Which part of how many, as typed after ``--shard``.

    >>> parse_part("3/16")
    (3, 16)
    """
    number, slash, of = text.partition("/")
    if not (slash and number.strip().isdecimal() and of.strip().isdecimal() and 1 <= int(number) <= int(of)):
        raise ValueError(f"--shard {text!r} is no part of several; give one such as 1/16 ... 16/16.")
    return int(number), int(of)
