"""The page Audit: random rows to label one by one, without a model's opinion."""

from __future__ import annotations

from typing import TypedDict

from chary.audit import SKIPPED, Filling
from chary.options import AUDIT_SIZE
from chary.review.errors import ConflictError
from chary.review.row_to_label import (
    ClassKey,
    Field,
    checked_answer,
    fields_of,
    keys_of,
    number_in,
    whole_number,
)
from chary.review.workbench import Body, Query, Workbench
from chary.tables import TableError

# The interval of the accuracy is shown at the end.
PLANNED = "planned"
# The interval of the accuracy is shown all along.
LIVE = "live"
# A person can be given at most this many rows.
MOST_DRAWN = 5_000


class AuditProgress(TypedDict):
    """How far the person has come."""

    drawn: int
    answered: int
    skipped: int
    left: int
    rule: str  # when the interval is shown


class DrawPlan(TypedDict):
    """How many rows to draw."""

    k: int  # proposed
    most: int  # that can be drawn on the page
    population: int  # rows to draw from


class RandomRow(TypedDict):
    """A row of the sheet."""

    place: int  # in the sheet, from 1
    row: int  # of the table, from 1
    answer: str
    fields: list[Field]


class AuditPage(AuditProgress):
    """What the page shows."""

    planned: DrawPlan
    row: RandomRow | None
    keys: list[ClassKey]
    interval: str | None  # a sentence, if it is shown all along


def audit_page(bench: Workbench, query: Query) -> AuditPage:
    """Show a row to label: the row at ``place``, or the first without an answer.

    Its columns have the order of the table, so that each stays in its place from row to row.
    """
    filling = bench.sheets.read_audit()
    page: AuditPage = {
        **progress_of(filling),
        "planned": plan_draw(bench.job.population),
        "row": None,
        "keys": [],
        "interval": None,
    }
    if filling is None:
        return page

    page["keys"] = keys_of(_known_classes(bench, filling))
    page["interval"] = _interval(bench, filling)
    place = number_in(query, "place", len(filling.rows)) or filling.next_empty()
    if place is not None:
        page["row"] = _row_at(bench, filling, place)
    return page


def draw_more(bench: Workbench, body: Body) -> AuditPage:
    """Draw random rows, or enlarge the draw.

    The first draw decides when the interval is shown: changed after an answer, it would not be
    valid.
    """
    k = whole_number(body.get("k"))
    rule = body.get("rule", PLANNED)
    if rule not in (PLANNED, LIVE):
        raise TableError("The interval is shown at the end (planned) or all along (live).")
    if k > MOST_DRAWN:
        raise TableError(f"At most {MOST_DRAWN:,} rows can be drawn here.")

    earlier = bench.sheets.read_audit()
    if earlier is None or len(earlier.rows) != k:
        bench.sheets.draw(k)
    bench.version += 1
    if earlier is None and rule == LIVE:
        # A live interval compares the answers with labels: learn them now.
        _sheet_of(bench).mark_stopping()
        if bench.unaudited is None and not bench.background.running:
            bench.learn()
    return audit_page(bench, {})


def answer(bench: Workbench, body: Body) -> AuditPage:
    """Write an answer; it is on the disk when this returns."""
    filling = _sheet_of(bench)
    place = whole_number(body.get("place"))
    classes = _known_classes(bench, filling)
    text = checked_answer(body.get("answer"), classes, bench.options.unlabeled)
    number = None
    if body.get("row") is not None:
        number = whole_number(body["row"]) - 1
    filling.answer(place, text, body.get("expected"), number=number)
    bench.version += 1

    # The last answer completes a planned audit, so its result may be seen.
    if not filling.n_left and bench.inputs().options.audit is not None:
        bench.learn()
    # A row whose answer is taken back is shown again.
    return audit_page(bench, {} if text else {"place": str(place)})


def plan_draw(population: int) -> DrawPlan:
    """Propose how many rows to draw, and say how many can be drawn."""
    most = min(population, MOST_DRAWN)
    return {"k": max(2, min(AUDIT_SIZE, most)), "most": most, "population": population}


def progress_of(filling: Filling | None) -> AuditProgress:
    """Count drawn and answered rows."""
    if filling is None:
        return {"drawn": 0, "answered": 0, "skipped": 0, "left": 0, "rule": PLANNED}
    return {
        "drawn": len(filling.rows),
        "answered": filling.n_answered,
        "skipped": filling.n_skipped,
        "left": filling.n_left,
        "rule": LIVE if filling.origin.stopped_when_enough else PLANNED,
    }


def _row_at(bench: Workbench, filling: Filling, place: int) -> RandomRow:
    """Show one row of the sheet, without the columns that the annotator must not see."""
    columns = [name for name in filling.fields if name not in bench.job.hidden]
    return {
        "place": place,
        "row": filling.rows[place - 1].number + 1,
        "answer": filling.answers[place - 1],
        "fields": fields_of(filling.cells(place), columns),
    }


def _sheet_of(bench: Workbench) -> Filling:
    """Return the sheet of random rows; refuse if nothing is drawn."""
    filling = bench.sheets.read_audit()
    if filling is None:
        raise ConflictError("No rows are drawn yet.")
    return filling


def _known_classes(bench: Workbench, filling: Filling) -> list[str]:
    """List the classes of the table, then new classes that a person has answered."""
    classes = bench.job.classes
    no_new_class = {*classes, "", SKIPPED}
    new_classes = set(filling.answers) - no_new_class
    return [*classes, *sorted(new_classes)]


def _interval(bench: Workbench, filling: Filling) -> str | None:
    """Say how accurate the labels are so far, if that is shown all along."""
    if not filling.origin.stopped_when_enough:
        return None
    stopping = bench.job.stopping(filling, bench.unaudited)
    if stopping is None:
        return "The interval is shown once the model of the given labels is learned."
    sentence, _ = stopping.words(filling.answers)
    return sentence
