"""A row of a table in; its cells as a person reads them on a page out: the columns that matter first, bounded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from chary._words import shown
from chary.tables import TableError

# Characters of a cell, and columns of a row, that are sent; of what is beyond the number is told.
MOST_CHARACTERS, MOST_FIELDS = 10_000, 300
_LONG = 80  # characters from which on a text is read in lines
_NUMBER = re.compile(r"[-+]?(\d[\d.,' _]*|[.,]\d+)(e[-+]?\d+)?\s?(%|[a-zA-Z€$£]{1,4})?")

# The keys of the terminal: digits, then letters without those that do something.
CLASS_KEYS = "123456789" + "abcdefghijklmoprtvwxyz"


def fields_of(cells: Mapping[str, Any], order: Sequence[str], whole: bool = False) -> dict[str, Any]:
    """The cells of these columns, in this order, and how many more there are: none if the ``whole`` is wanted."""
    most = len(order) if whole else MOST_FIELDS
    fields = [_field(name, cells[name]) for name in order[:most]]
    return {"fields": fields, "more": max(0, len(order) - most)}


def keys_of(classes: Sequence[str]) -> list[dict[str, str]]:
    """A key for each class; beyond them a class is chosen by its name, and has none."""
    keys = [*CLASS_KEYS, *[""] * len(classes)]
    return [{"key": key, "name": name} for key, name in zip(keys, classes, strict=False)]


def text_of(value: Any) -> str:
    """A cell as text; what the file cannot hold as such is shown as Python writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()  # as the written file has it
    text = f"{value:.10g}" if isinstance(value, float) else str(value)
    if len(text) > MOST_CHARACTERS:
        return f"{text[:MOST_CHARACTERS]} … ({len(text) - MOST_CHARACTERS:,} more characters)"
    return text


def number_in(query: Mapping[str, str], name: str) -> float | None:
    """A number in the address of a request, if it has it."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if not abs(found) < 1e12:
        raise TableError(f"{shown(text)} is no number.")
    return found


def row_in(query: Mapping[str, str], name: str, n_rows: int) -> int | None:
    """A row in the address of a request, counted from 1 there and from 0 here."""
    found = number_in(query, name)
    if found is None:
        return None
    if not 1 <= found <= n_rows:
        raise TableError(f"Rows are counted from 1 to {n_rows:,}.")
    return int(found) - 1


def whole_number(value: Any) -> int:
    """A number of something, as a request says it."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TableError("How many, or which one, is a whole number.")
    return value


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
