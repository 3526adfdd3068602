"""The page Audit: random rows, one after the other, without a word of any model; and how a row is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from chary._words import shown
from chary.audit.filling import Filling
from chary.audit.sheet import SKIPPED
from chary.audit.stopping import Stopping
from chary.review.files import LIVE
from chary.tables import TableError
from chary.tables.cells import is_no_answer
from chary.tables.target import is_marker

_MOST_ANSWER = 200  # characters of an answer
# Characters of a cell, and columns of a row, that are sent; of what is beyond the number is told.
MOST_CHARACTERS, MOST_FIELDS = 10_000, 300
_LONG = 80  # characters from which on a text is read in lines
_NUMBER = re.compile(r"[-+]?(\d[\d.,' _]*|[.,]\d+)(e[-+]?\d+)?\s?(%|[a-zA-Z€$£]{1,4})?")

# The keys of the terminal: digits, then letters without those that do something.
CLASS_KEYS = "123456789" + "abcdefghijklmoprtvwxyz"


def progress_of(filling: Filling, rule: str) -> dict[str, Any]:
    """How far a person has come."""
    return {
        "drawn": len(filling.rows),
        "answered": filling.n_answered,
        "skipped": filling.n_skipped,
        "left": filling.n_left,
        "rule": rule,
    }


def audit_page(
    filling: Filling | None,
    job: Any,
    rule: str,
    interval: dict[str, Any] | None,
    place: int | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """A row to label, the one at ``place`` or the first without an answer; None of a sheet: no rows are drawn.

    Its columns stand in the order of the table, so that they stay where they are from row to row. Of very many the
    first are shown, or all if the ``whole`` row is wanted.
    """
    if filling is None:
        none = {"drawn": 0, "answered": 0, "skipped": 0, "left": 0, "rule": rule, "done": False}
        return {**none, "question": job.question, "row": None, "keys": [], "interval": None, "last": None}
    if place is not None and not 1 <= place <= len(filling.rows):
        raise TableError(f"There are rows 1 to {len(filling.rows):,}.")
    at = filling.next_empty() if place is None else place
    last = max((i for i, answer in enumerate(filling.answers, 1) if answer), default=None)
    if place is None and at is not None:
        before = [i for i, answer in enumerate(filling.answers[: at - 1], 1) if answer]
        last = before[-1] if before else last
    row = None
    if at is not None:
        seen = [name for name in filling.fields if name not in job.hidden]
        row = {
            "place": at,
            "row": filling.rows[at - 1].number + 1,
            "answer": filling.answers[at - 1],
            **fields_of(filling.cells(at), seen, whole),
        }
    return {
        **progress_of(filling, rule),
        "done": not filling.n_left,
        "question": job.question,
        "row": row,
        "keys": keys_of(known_classes(filling, job.classes)),
        "interval": interval,
        "last": None if last is None else {"place": last, "answer": filling.answers[last - 1]},
    }


def known_classes(filling: Filling, classes: Sequence[str]) -> list[str]:
    """The classes of the table, then those that only answers have."""
    new = [answer for answer in filling.answers if answer and answer != SKIPPED]
    return list(dict.fromkeys([*classes, *sorted(set(new) - set(classes))]))


def checked_answer(text: Any, classes: Sequence[str], markers: Sequence[str]) -> str:
    """An answer that can be written: a class, a new one, a skip, or nothing to take one back."""
    if not isinstance(text, str) or len(text) > _MOST_ANSWER:
        raise TableError(f"An answer is a text of at most {_MOST_ANSWER} characters.")
    if text in classes or text in ("", SKIPPED):
        return text
    answer = " ".join(text.split())
    if not answer or not answer.isprintable() or is_marker(answer, markers) or is_no_answer(answer):
        raise TableError(f"{shown(text)} means no label; skip the row instead, or name a class.")
    return answer


def interval_of(rule: str, filling: Filling, watch: Stopping | None) -> dict[str, Any] | None:
    """The interval that may be shown now: at the planned size, or live; words alone where there is none yet."""
    if rule != LIVE and filling.n_left:
        return None
    if watch is None:
        return _interval("The interval is shown once the model of the given labels is learned.")
    if rule != LIVE:
        found = watch.planned(filling.answers)
        words = f"{found.correct} of {found.n} rows are right: {_between(found.low, found.high)} (95% interval)."
        return _interval(words, found.low, found.high, found.n, True)
    low, high = watch.limits(filling.answers)
    words, enough = watch.words(filling.answers)
    return _interval(words, float(low[-1]), float(high[-1]), len(low), enough) if len(low) else _interval(words)


def _interval(
    words: str, low: float | None = None, high: float | None = None, n: int = 0, enough: bool = False
) -> dict[str, Any]:
    return {"low": low, "high": high, "n": n, "words": words, "enough": enough}


def _between(low: float, high: float) -> str:
    return f"between {low:.0%} and {high:.0%} of the labels are right"


# ------------------------------------------------------------ rows, and numbers in a request


def fields_of(cells: Mapping[str, Any], order: Sequence[str], whole: bool = False) -> dict[str, Any]:
    """The cells of these columns, in this order, and how many more there are: none of a ``whole`` row."""
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
