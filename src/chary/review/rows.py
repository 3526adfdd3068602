"""A row of a table in; its cells as a person reads them on a page out: the columns that matter first, bounded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# Characters of a cell, and columns of a row, that are sent; of what is beyond the number is told.
MOST_CHARACTERS, MOST_FIELDS = 10_000, 300
_LONG = 80  # characters from which on a text is read in lines
_NUMBER = re.compile(r"[-+]?(\d[\d.,' _]*|[.,]\d+)(e[-+]?\d+)?\s?(%|[a-zA-Z€$£]{1,4})?")

# The keys of the terminal: digits, then letters without those that do something.
CLASS_KEYS = "123456789" + "abcdefghijklmoprtvwxyz"


def fields_of(cells: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """The cells of these columns, in this order, and how many more there are."""
    shown = [_field(name, cells[name]) for name in order[:MOST_FIELDS]]
    return {"fields": shown, "more": max(0, len(order) - MOST_FIELDS)}


def keys_of(classes: Sequence[str]) -> list[dict[str, str]]:
    """A key for each class; beyond them a class is chosen by its name, and has none."""
    keys = [*CLASS_KEYS, *[""] * len(classes)]
    return [{"key": key, "name": name} for key, name in zip(keys, classes, strict=False)]


def text_of(value: Any) -> str:
    """A cell as text; what the file cannot hold as such is shown as Python writes it."""
    if value is None:
        return ""
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    if len(text) > MOST_CHARACTERS:
        return f"{text[:MOST_CHARACTERS]} … ({len(text) - MOST_CHARACTERS:,} more characters)"
    return text


def _field(name: str, value: Any) -> dict[str, Any]:
    text = text_of(value)
    return {"name": name, "text": text, "kind": _kind(value, text), "empty": not text.strip()}


def _kind(value: Any, text: str) -> str:
    if isinstance(value, (list, dict, bytes)):
        return "other"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    if len(text) > _LONG or "\n" in text:
        return "long"
    return "number" if _NUMBER.fullmatch(text.strip()) else "text"
