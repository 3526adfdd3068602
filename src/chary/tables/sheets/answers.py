"""A sheet that a person filled in, and the table it was drawn from, in; rows and labels out.

A sheet is made for spreadsheets: rows may come back in any order, with columns added or retyped. What says which
row is which is checked, and a row that holds cells of another is refused.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter, Step, shown
from chary.method import Labels
from chary.tables.errors import TableError
from chary.tables.formulas import as_typed
from chary.tables.missing import is_no_answer
from chary.tables.sheets.origin import DOUBT, RANDOM, DrawnFrom, drawn_from
from chary.tables.sheets.rows import Behind, behind, read_sheet, sheet_rows
from chary.tables.spellings import chosen_spellings, folded, is_marker, markers_of
from chary.tables.table import Table

SKIPPED = "?"
_FEWEST = {RANDOM: 2, DOUBT: 1}


@dataclass(frozen=True)
class AuditAnswers:
    """What a person said of the rows of a sheet."""

    rows: NDArray[np.intp]  # (k,) row numbers in the table, those with an answer, in the order of the draw
    labels: NDArray[Any]  # (k,) text, as the classes of the table
    n_drawn: int
    n_skipped: int  # drawn before the last row answered, and not answered: these can bias the figures
    n_left: int  # drawn after it: not reached yet, which biases nothing
    new_classes: dict[str, int] = field(default_factory=dict)  # classes that no label of the table has
    notes: list[str] = field(default_factory=list)  # one sentence for whatever was set right or left out
    warnings: list[str] = field(default_factory=list)  # one for each new class
    skipped_rows: NDArray[np.intp] = field(
        default_factory=lambda: np.empty(0, dtype=np.intp)
    )  # those still in the file
    seen: dict[int, int] = field(default_factory=dict)  # rows up to the last answered: place in the draw -> row
    stopped: bool = False  # whether the person was told when it was enough: limits must hold at any moment


def read_audit(
    path: str | os.PathLike[str],
    table: Table,
    target: str,
    labels: Labels,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
    chosen: str = RANDOM,
) -> AuditAnswers:
    """Read the answers back and match them with the table they were drawn from.

    Answers that differ in nothing but case and white space are one class, unless ``exact_labels`` says otherwise
    and both are known. Rows may come in any order, with other columns added, removed or retyped, in another
    delimiter, some not answered; sheets of one draw may be joined. What cannot be understood is refused with a
    ``TableError``, and so are rows chosen for doubt where random ones are needed: ``chosen`` says which.
    """
    audit, notes = read_sheet(path)
    origin = origin_of(audit)
    if origin is not None and origin.judged:
        raise TableError(
            f"{audit.name} was drawn to judge the labels in column {shown(origin.judged[0])}, from all rows; draw "
            "one from the rows without a label."
        )
    markers = markers_of(unlabeled)
    if chosen == RANDOM:
        _check_markers(audit.name, origin, markers)
    found = match_answers(
        audit, behind(table, target), target, labels, markers, exact_labels=exact_labels, chosen=chosen
    )
    told = replace(_at_hand(found, table), stopped=bool(origin and origin.stopped))
    _check_given(told.rows, told.labels, labels, audit.name, table)
    return _with_notes(told, notes, labels)


def _at_hand(found: AuditAnswers, table: Table) -> AuditAnswers:
    """The answers by where their rows are in a table of which some rows were taken."""
    if table.taken is None:
        return found
    places = table.taken.places
    seen = dict(zip(found.seen, places(list(found.seen.values())).tolist(), strict=True))
    return replace(found, rows=places(found.rows), skipped_rows=places(found.skipped_rows), seen=seen)


def match_answers(
    audit: Table,
    table: Behind,
    target: str,
    labels: Labels,
    markers: Sequence[str] = (),
    *,
    exact_labels: bool = False,
    chosen: str = RANDOM,
) -> AuditAnswers:
    """The answers of a sheet by row of the table, each as the class that it means."""
    drawn = sheet_rows(audit, table, target, chosen)
    notes = list(drawn.notes)
    texts = {place: known_class(row.answer, labels, notes, markers) for place, row in drawn.by_place.items()}
    if not exact_labels:
        texts = _with_new_classes_folded(texts, labels, notes)
    places = [place for place, text in sorted(texts.items()) if text not in ("", SKIPPED)]
    if len(places) < _FEWEST[chosen]:
        found = "One row" if places else "No row"
        needed = "at least two are needed: " if chosen == RANDOM else "one at least is needed: "
        fill = Step("fill", f"fill in column {shown(target)}.", audit.path)
        raise TableError(f"{found} of {audit.name} has a label; {needed}", fill)
    last = max([*places, *(place for place, text in texts.items() if text == SKIPPED)])
    known = set(labels.classes.tolist())
    seen = {place: row.number for place, row in sorted(drawn.by_place.items()) if place <= last}
    answers = [texts[place] for place in places]
    return AuditAnswers(
        rows=np.array([drawn.by_place[place].number for place in places], dtype=np.intp),
        labels=np.array(answers),
        n_drawn=drawn.n_drawn,
        n_skipped=last - len(places),
        n_left=drawn.n_drawn - last,
        new_classes=dict(Counter(text for text in answers if text not in known)),
        notes=notes,
        skipped_rows=np.array([row for place, row in seen.items() if place not in set(places)], dtype=np.intp),
        seen=seen,
    )


def origin_of(audit: Table) -> DrawnFrom | None:
    """What a sheet says of its table; None where a spreadsheet has lost it."""
    try:
        return drawn_from(audit)
    except TableError:
        return None


def progress_notes(answers: AuditAnswers) -> list[str]:
    """How many rows were not reached, and how many skipped, a sentence each."""
    notes = []
    if answers.n_left:
        notes.append(f"{answers.n_left} of the {answers.n_drawn} rows drawn have no label yet.")
    if answers.n_skipped:
        notes.append(
            f"{answers.n_skipped} of the {answers.n_drawn} rows drawn were skipped; what is hard for a person is "
            "often hard for a model, so they count as wrong."
        )
    return notes


def _with_notes(found: AuditAnswers, notes: Sequence[str], labels: Labels) -> AuditAnswers:
    every = [*notes, *found.notes, *progress_notes(found)]
    warnings = [_new_class(name, count, labels) for name, count in found.new_classes.items()]
    return replace(found, notes=list(dict.fromkeys(every)), warnings=warnings)


def _check_markers(name: str, origin: DrawnFrom | None, markers: Sequence[str]) -> None:
    """Rows drawn among others than those now unlabelled are no random draw of these."""
    if (
        origin is None
        or not origin.says_unlabeled
        or set(map(folded, origin.markers)) == set(map(folded, markers))
    ):
        return
    drawn, remedy, parts = "without", "leave it out", [Parameter("unlabeled")]
    if origin.markers:
        drawn, remedy, parts = "with", "pass the same", [Parameter("unlabeled", text) for text in origin.markers]
    raise TableError(
        f"{name} was drawn {drawn} ",
        *[part for parameter in parts for part in (parameter, " ")][:-1],
        f", so its rows are not random among those unlabelled now; {remedy}, or draw again.",
    )


def known_class(answer: str, labels: Labels, notes: list[str], markers: Sequence[str]) -> str:
    """The class that an answer means: itself, or a known class that a spreadsheet may have retyped."""
    classes = labels.classes.tolist()
    if answer in classes or not answer:
        return answer
    answer = as_typed(answer)
    if answer.startswith("'") and answer[1:] in classes:
        return answer[1:]
    if answer in classes:
        return answer
    if is_marker(answer, markers):
        return SKIPPED
    same = [name for name in classes if _same(name, answer)]
    if len(same) == 1:
        notes.append(f"The answer {shown(answer)} was read as the class {shown(same[0])}.")
        return same[0]
    return SKIPPED if is_no_answer(answer) else answer


def _with_new_classes_folded(texts: dict[int, str], labels: Labels, notes: list[str]) -> dict[int, str]:
    """Spellings of classes that no label has, as one class each."""
    known = {"", SKIPPED, *labels.classes.tolist()}
    chosen = chosen_spellings(Counter(text for text in texts.values() if text not in known))
    notes += [
        f"The answer {shown(text)} was read as {shown(name)}." for text, name in chosen.items() if text != name
    ]
    return {place: chosen.get(text, text) for place, text in texts.items()}


def _same(name: str, answer: str) -> bool:
    if folded(name) == folded(answer):
        return True
    try:
        return float(name.replace(",", ".")) == float(answer.replace(",", "."))
    except ValueError:
        return False


def _check_given(rows: NDArray[np.intp], texts: NDArray[Any], labels: Labels, name: str, table: Table) -> None:
    """Rows labelled in the table since must say the same there."""
    given = labels.classes[labels.codes[rows]].astype(object)
    differs = np.flatnonzero(labels.labeled[rows] & (given != texts))
    if len(differs):
        i = differs[0]
        raise TableError(
            f"Row {table.numbers(rows)[i] + 1} of the table is labelled {shown(given[i])} there and "
            f"{shown(texts[i])} in {name}; decide, and change one of them."
        )


def _new_class(name: str, count: int, labels: Labels) -> str:
    near = get_close_matches(name, labels.classes.tolist(), n=1, cutoff=0.75)
    slip = f" If it is a slip for {shown(near[0])}, correct it." if near else " If it is a slip, correct it."
    return (
        f"NEW CLASS: the audit found {shown(name)} in {count} row{'s' if count > 1 else ''}, and none of your "
        f"labels has it, so no model of them can ever predict it.{slip}"
    )
