"""A sheet of random rows being filled in, and who asks for what, in; one row after the other out, blind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chary._words import shown
from chary.jobs import Enough
from chary.review.rows import fields_of, keys_of
from chary.review.settings import LIVE
from chary.tables import SKIPPED, Filling, TableError, is_marker, is_no_answer

_MOST_CHARACTERS = 200  # of an answer


def progress_of(filling: Filling, rule: str) -> dict[str, Any]:
    """How far a person has come."""
    return {
        "drawn": len(filling.rows),
        "answered": filling.n_answered,
        "skipped": filling.n_skipped,
        "left": filling.n_left,
        "rule": rule,
    }


def no_audit(rule: str, question: str) -> dict[str, Any]:
    """What is shown where no rows are drawn."""
    none = {"drawn": 0, "answered": 0, "skipped": 0, "left": 0, "rule": rule, "done": False, "question": question}
    return {**none, "row": None, "keys": [], "interval": None, "last": None}


def audit_page(
    filling: Filling,
    rule: str,
    question: str,
    classes: Sequence[str],
    columns: Sequence[str],
    hidden: Sequence[str],
    interval: dict[str, Any] | None,
    place: int | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """A row to label, the one at ``place`` or the first without an answer; never a word of any model.

    ``columns`` are those that matter, first; ``hidden`` ones are not shown though the sheet may have them.
    Of very many columns the first are shown, or all of them if the ``whole`` row is wanted.
    """
    if place is not None and not 1 <= place <= len(filling.rows):
        raise TableError(f"There are rows 1 to {len(filling.rows):,}.")
    at = filling.next_empty() if place is None else place
    last = max((i for i, answer in enumerate(filling.answers, 1) if answer), default=None)
    if place is None and at is not None:
        before = [i for i, answer in enumerate(filling.answers[: at - 1], 1) if answer]
        last = before[-1] if before else last
    row = None
    if at is not None:
        seen = [name for name in filling.fields if name not in hidden]
        rank = {name: k for k, name in enumerate(columns)}
        order = sorted(seen, key=lambda name: rank.get(name, len(rank)))
        row = {
            "place": at,
            "row": filling.rows[at - 1].number + 1,
            "answer": filling.answers[at - 1],
            **fields_of(filling.cells(at), order, whole),
        }
    return {
        **progress_of(filling, rule),
        "done": not filling.n_left,
        "question": question,
        "row": row,
        "keys": keys_of(known_classes(filling, classes)),
        "interval": interval,
        "last": None if last is None else {"place": last, "answer": filling.answers[last - 1]},
    }


def known_classes(filling: Filling, classes: Sequence[str]) -> list[str]:
    """The classes of the table, then those that only answers have."""
    new = [answer for answer in filling.answers if answer and answer != SKIPPED]
    return list(dict.fromkeys([*classes, *sorted(set(new) - set(classes))]))


def checked_answer(text: Any, classes: Sequence[str], markers: Sequence[str]) -> str:
    """An answer that can be written: a class, a new one, a skip, or nothing to take one back."""
    if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
        raise TableError(f"An answer is a text of at most {_MOST_CHARACTERS} characters.")
    if text in classes or text in ("", SKIPPED):
        return text
    answer = " ".join(text.split())
    if not answer or not answer.isprintable() or is_marker(answer, markers) or is_no_answer(answer):
        raise TableError(f"{shown(text)} means no label; skip the row instead, or name a class.")
    return answer


def interval_of(rule: str, filling: Filling, watch: Enough | None) -> dict[str, Any] | None:
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
