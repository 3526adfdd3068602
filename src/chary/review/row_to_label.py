"""One row to label: its cells, the keys of the classes, and the answer that comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypedDict

from chary._words import shown
from chary.audit import CLASS_KEYS, SKIPPED
from chary.review.workbench import Query
from chary.tables import TableError, cell_words, is_marker, is_no_answer, turns_of

# At most this many characters of a cell are shown.
MOST_CHARACTERS = 10_000
# An answer has at most this many characters.
_LONGEST_ANSWER = 200
# A number in an address has at most this many digits: Python refuses to read very many.
_MOST_DIGITS = 9
_NO_WHOLE_NUMBER = "How many, or which one, is a whole number."


class Field(TypedDict):
    """A cell as a person reads it."""

    name: str
    text: str
    turns: list[Turn]  # of a conversation; empty for any other cell


class Turn(TypedDict):
    """What a speaker says in a conversation."""

    speaker: str
    text: str


class ClassKey(TypedDict):
    """A class and the key that stands for it."""

    key: str  # empty if there are more classes than keys: such a class is chosen by its name
    name: str


def fields_of(cells: Mapping[str, Any], columns: Sequence[str]) -> list[Field]:
    """Show the cells of some columns, in their order."""
    fields: list[Field] = []
    for name in columns:
        text = text_of(cells[name])
        turns: list[Turn] = [{"speaker": speaker, "text": said} for speaker, said in turns_of(text)]
        fields.append({"name": name, "text": text, "turns": turns})
    return fields


def text_of(value: Any, most: int = MOST_CHARACTERS) -> str:
    """Show a cell as text; a long one is cut."""
    text = cell_words(value)
    if len(text) <= most:
        return text
    return f"{text[:most]} … ({len(text) - most:,} more characters)"


def keys_of(classes: Sequence[str]) -> list[ClassKey]:
    """Give each class a key, as long as there are keys."""
    keys = CLASS_KEYS[: len(classes)]
    pairs = zip_longest(keys, classes, fillvalue="")
    return [{"key": key, "name": name} for key, name in pairs]


def checked_answer(answer: Any, classes: Sequence[str], markers: Sequence[str]) -> str:
    """Return an answer as it can be written; refuse what is no answer.

    It is a known class, a new class, a skip, or an empty text, which takes an answer back. A new
    class must not look like a missing answer, such as "n/a".
    """
    if not isinstance(answer, str) or len(answer) > _LONGEST_ANSWER:
        raise TableError(f"An answer is a text of at most {_LONGEST_ANSWER} characters.")
    if answer in (*classes, "", SKIPPED):
        return answer
    name = " ".join(answer.split())
    means_nothing = not name or is_no_answer(name) or is_marker(name, markers)
    if means_nothing or not name.isprintable():
        raise TableError(f"{shown(answer)} means no label; skip the row instead, or name a class.")
    return name


def number_in(query: Query, name: str, most: int) -> int | None:
    """Read a number from 1 to ``most`` from the address of a request; None if it names none."""
    text = query.get(name)
    if not text:
        return None
    if not text.isdecimal() or len(text) > _MOST_DIGITS:
        raise TableError(_NO_WHOLE_NUMBER)
    number = int(text)
    if not 1 <= number <= most:
        raise TableError(f"There are rows 1 to {most:,}.")
    return number


def whole_number(value: Any) -> int:
    """Return a whole number from the body of a request; refuse anything else."""
    if type(value) is not int:  # ``isinstance`` would take True for a number
        raise TableError(_NO_WHOLE_NUMBER)
    return value
