"""Lists, records and conversations as text that a person reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from chary.tables.cells import cell_words
from chary.tables.table import can_be_text, texts

# How a turn of a conversation begins: a line with this mark and the name of the speaker. The page
# in the browser finds turns by it.
TURN = "▸ "
_ITEM = "• "
# A list of numbers is written out up to this length; longer ones, such as embeddings, are counted.
_MOST_NUMBERS = 8
# A list of texts without commas is written on one line up to this number of characters.
_SHORT_LIST = 60
# The names of speaker and text in a turn: OpenAI's, and ShareGPT's.
_TURN_KEYS = (("role", "content"), ("from", "value"))


def can_be_shown(dtype: Any) -> bool:
    """Tell whether cells can be read by a person: no bytes or Python objects."""
    if isinstance(dtype, pl.Struct):
        return any(can_be_shown(field.dtype) for field in dtype.fields)
    if isinstance(dtype, (pl.List, pl.Array)):
        return can_be_shown(dtype.inner)
    return can_be_text(dtype)


def shown_texts(cells: pl.Series) -> pl.Series:
    r"""Convert cells to text, lists and records included; null if there is nothing to read.

    >>> turns = [{"role": "user", "content": "Hello"}, {"role": "bot", "content": "Hi"}]
    >>> shown_texts(pl.Series([turns])).to_list()
    ['▸ user\nHello\n▸ bot\nHi']
    >>> shown_texts(pl.Series([["red", "blue"], ["a, b", "c"], []])).to_list()
    ['red, blue', '• a, b\n• c', None]
    >>> shown_texts(pl.Series([{"city": "Bonn", "marks": [{"is": 1, "was": 2}]}])).to_list()
    ['city: Bonn\nmarks:\n  • is: 1\n    was: 2']
    """
    if not cells.dtype.is_nested():
        return texts(cells)
    return pl.Series(
        cells.name, [_text_of(value) or None for value in cells.to_list()], dtype=pl.String
    )


def field_names(dtype: Any) -> list[str]:
    """List the names of all fields of records inside cells of a type."""
    if isinstance(dtype, (pl.List, pl.Array)):
        return field_names(dtype.inner)
    if not isinstance(dtype, pl.Struct):
        return []
    names = []
    for field in dtype.fields:
        names += [field.name, *field_names(field.dtype)]
    return names


def turns_of(text: str) -> list[tuple[str, str]]:
    r"""Split a text of ``shown_texts`` into speakers and what they say; empty: no conversation.

    >>> turns_of("▸ user\nHello\nBonn\n▸ bot\nHi")
    [('user', 'Hello\nBonn'), ('bot', 'Hi')]
    """
    if not text.startswith(TURN):
        return []
    lines = text.split("\n")
    starts = [place for place, line in enumerate(lines) if line.startswith(TURN)]
    return [
        (lines[start].removeprefix(TURN), "\n".join(lines[start + 1 : end]))
        for start, end in pairwise([*starts, len(lines)])
    ]


def _text_of(value: Any) -> str:
    """Write a value out; an empty text if there is nothing in it."""
    if isinstance(value, Mapping):
        return _record_text(value)
    if isinstance(value, list) and value and all(_is_number(item) for item in value):
        return _numbers_text(value)
    if isinstance(value, list):
        turns = [_turn_text(item) for item in value]
        if value and all(turns):
            return "\n".join(turns)
        item_texts = [text for text in map(_text_of, value) if text]
        on_one_line = ", ".join(item_texts)
        is_short = len(on_one_line) <= _SHORT_LIST and "\n" not in on_one_line
        if is_short and on_one_line.count(",") < len(item_texts):
            return on_one_line
        return "\n".join(_ITEM + _indented(text) for text in item_texts)
    if isinstance(value, bytes):
        return ""
    return cell_words(value)


def _is_number(value: Any) -> bool:
    """Tell whether a value is a number, and no truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _numbers_text(numbers: list[float]) -> str:
    """Write a list of numbers on one line, or count them if they are many."""
    if len(numbers) > _MOST_NUMBERS:
        return f"({len(numbers):,} numbers)"
    return ", ".join(cell_words(number) for number in numbers)


def _record_text(record: Mapping[str, Any]) -> str:
    """Write each field of a record on a line of its own; longer ones begin on the next line."""
    lines = []
    for name, value in record.items():
        text = _text_of(value)
        if "\n" in text:
            text = f"\n  {_indented(text)}"
        elif text:
            text = f" {text}"
        if text:
            lines.append(f"{name}:{text}")
    return "\n".join(lines)


def _turn_text(item: Any) -> str:
    """Write a turn of a conversation; an empty text if the item is none."""
    if not isinstance(item, Mapping):
        return ""
    for speaker_key, content_key in _TURN_KEYS:
        if item.get(speaker_key) and content_key in item:
            content = _content_text(item[content_key])
            # What else a turn holds, such as the call of a tool.
            others = {key: item[key] for key in item if key not in (speaker_key, content_key)}
            parts = [content, _record_text(others)]
            said = "\n".join(part for part in parts if part)
            # A line that only looks like the start of a turn is none.
            said = re.sub(f"^{TURN}", f" {TURN}", said, flags=re.MULTILINE)
            speaker = " ".join(str(item[speaker_key]).split())
            return f"{TURN}{speaker}\n{said}"
    return ""


def _content_text(content: Any) -> str:
    """Write what a turn says: a text, or a list of parts, of which most are texts."""
    if isinstance(content, list):
        parts = [_part_text(part) for part in content]
        return "\n".join(part for part in parts if part)
    return _text_of(content)


def _part_text(part: Any) -> str:
    """Write a part of a turn."""
    if isinstance(part, Mapping) and part.get("type") == "text" and part.get("text"):
        return str(part["text"])
    return _text_of(part)


def _indented(text: str) -> str:
    """Indent all lines of a text but the first."""
    return text.replace("\n", "\n  ")
