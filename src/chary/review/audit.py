"""The page Audit: random rows, one after the other, without a word of any model; and how a row is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from chary._words import shown
from chary.audit.filling import CLASS_KEYS, Filling
from chary.audit.sheet import SKIPPED
from chary.options import AUDIT_SIZE
from chary.review.state import LIVE, PLANNED, ConflictError, Workbench
from chary.tables import TableError
from chary.tables.cells import cell_words, is_no_answer
from chary.tables.target import is_marker

MOST_DRAWN = 5_000  # rows that a person is given
_MOST_ANSWER = 200  # characters of an answer
MOST_CHARACTERS = 10_000  # of a cell; of what is beyond the number is told


def audit_page(bench: Workbench, query: Mapping[str, str]) -> dict[str, Any]:
    """A row to label, the one at ``place`` or the first without an answer.

    Its columns stand in the order of the table, so that they stay where they are from row to row.
    """
    filling, job = bench.sheets.read(bench.paths.audit), bench.job
    page = {**progress_of(filling, bench.rule), "planned": planned_draw(job.population)}
    if filling is None:
        return {**page, "row": None, "keys": [], "interval": None}
    place = number_in(query, "place")
    if place is not None and not 1 <= place <= len(filling.rows):
        raise TableError(f"There are rows 1 to {len(filling.rows):,}.")
    place = place or filling.next_empty()
    row = None
    if place is not None:
        row = {
            "place": place,
            "row": filling.rows[place - 1].number + 1,
            "answer": filling.answers[place - 1],
            "fields": fields_of(
                filling.cells(place), [name for name in filling.fields if name not in job.hidden]
            ),
        }
    return {
        **page,
        "row": row,
        "keys": keys_of(_known_classes(filling, job.classes)),
        "interval": _interval(bench, filling),
    }


def draw_more(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Draw random rows, or add some to those that were drawn.

    When the interval is shown is chosen with the first draw: changed after an answer, it would not
    be valid.
    """
    k, rule = whole_number(body.get("k")), body.get("rule", PLANNED)
    if rule not in (PLANNED, LIVE):
        raise TableError("The interval is shown at the end (planned) or all along (live).")
    if k > MOST_DRAWN:
        raise TableError(f"At most {MOST_DRAWN:,} rows can be drawn here.")
    before = bench.sheets.read(bench.paths.audit)
    if before is None or len(before.rows) != k:
        bench.sheets.draw(k)
    bench.version += 1
    if before is None and rule == LIVE:
        filling = _required_sheet(bench)
        filling.mark_stopping()
        if bench.job.stopping(filling, bench.alone) is None and not bench.background.running:
            bench.learn()
    return audit_page(bench, {})


def answer(bench: Workbench, body: Mapping[str, Any]) -> dict[str, Any]:
    """Write down what a person said of a row; it is on the disk when this returns."""
    filling, place = _required_sheet(bench), whole_number(body.get("place"))
    known = _known_classes(filling, bench.job.classes)
    text = checked_answer(body.get("answer"), known, bench.options.unlabeled)
    row = None if body.get("row") is None else whole_number(body["row"]) - 1
    filling.answer(place, text, body.get("expected"), number=row)
    bench.version += 1
    if not filling.n_left and bench.given().options.audit is not None:
        bench.learn()
    return audit_page(bench, {} if text else {"place": str(place)})


def planned_draw(population: int) -> dict[str, int]:
    """How many rows to draw, and the most."""
    most = min(population, MOST_DRAWN)
    return {"k": max(2, min(AUDIT_SIZE, most)), "most": most}


def progress_of(filling: Filling | None, rule: str) -> dict[str, Any]:
    """How far a person has come."""
    drawn = 0 if filling is None else len(filling.rows)
    answered, skipped = (0, 0) if filling is None else (filling.n_answered, filling.n_skipped)
    left = drawn - answered - skipped
    return {"drawn": drawn, "answered": answered, "skipped": skipped, "left": left, "rule": rule}


def _required_sheet(bench: Workbench) -> Filling:
    filling = bench.sheets.read(bench.paths.audit)
    if filling is None:
        raise ConflictError("No rows are drawn yet.")
    return filling


def _known_classes(filling: Filling, classes: Sequence[str]) -> list[str]:
    """The classes of the table, then those that only answers have."""
    new = {text for text in filling.answers if text and text != SKIPPED} - set(classes)
    return [*classes, *sorted(new)]


def _interval(bench: Workbench, filling: Filling) -> str | None:
    """The accuracy so far in words, where it is shown all along: otherwise the page Truth tells it at the end."""
    if bench.rule != LIVE:
        return None
    stopping = bench.job.stopping(filling, bench.alone)
    if stopping is None:
        return "The interval is shown once the model of the given labels is learned."
    return str(stopping.words(filling.answers)[0])


# ------------------------------------------------------------ rows, answers, and numbers in a request


def checked_answer(text: Any, classes: Sequence[str], markers: Sequence[str]) -> str:
    """An answer that can be written: a class, a new one, a skip, or nothing to take one back."""
    if not isinstance(text, str) or len(text) > _MOST_ANSWER:
        raise TableError(f"An answer is a text of at most {_MOST_ANSWER} characters.")
    if text in classes or text in ("", SKIPPED):
        return text
    name = " ".join(text.split())
    if not name or not name.isprintable() or is_marker(name, markers) or is_no_answer(name):
        raise TableError(f"{shown(text)} means no label; skip the row instead, or name a class.")
    return name


def fields_of(cells: Mapping[str, Any], order: Sequence[str]) -> list[dict[str, str]]:
    """The cells of these columns, in this order."""
    return [{"name": name, "text": text_of(cells[name])} for name in order]


def keys_of(classes: Sequence[str]) -> list[dict[str, str]]:
    """A key for each class; beyond them a class is chosen by its name, and has none."""
    keys = [*CLASS_KEYS, *[""] * len(classes)]
    return [{"key": key, "name": name} for key, name in zip(keys, classes, strict=False)]


def text_of(value: Any, most: int = MOST_CHARACTERS) -> str:
    """A cell as text; what the file cannot hold as such is shown as Python writes it."""
    text = cell_words(value)
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


def number_in(query: Mapping[str, str], name: str) -> int | None:
    """A number in the address of a request, if it has it."""
    text = query.get(name, "")
    return (
        whole_number(int(text) if text.isdecimal() and len(text) < 10 else text) if text else None
    )


def whole_number(value: Any) -> int:
    """A number of something, as a request says it."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TableError("How many, or which one, is a whole number.")
    return value
