"""An audit: labels under test and a person's answers for random rows; and how answers are read from a sheet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter, Step, shown
from chary.audit.acceptance import ERRORS, Acceptance, Acceptor
from chary.audit.figures import Score, promised_score, score
from chary.audit.sheet import (
    RANDOM,
    SKIPPED,
    SheetOrigin,
    TableCells,
    cells_of,
    read_origin,
    read_sheet,
    sheet_rows,
)
from chary.method.labels import Labels
from chary.tables.cells import as_typed, is_no_answer
from chary.tables.errors import TableError
from chary.tables.table import Table
from chary.tables.target import chosen_spellings, folded, is_marker, markers_of


@dataclass(frozen=True)
class AuditAnswers:
    """What a person said of random rows, in the order of the draw, up to the last one answered."""

    drawn: NDArray[np.intp]  # (m,) row numbers in the table; -1 where a row was removed from the sheet
    truth: NDArray[Any]  # (m,) the class that the person gave; None where the row was skipped
    n_drawn: int  # rows drawn, those after the last answer included
    new_classes: dict[str, int] = field(default_factory=dict)  # classes that no label of the table has
    notes: list[str] = field(default_factory=list)  # one sentence for whatever was set right or left out
    warnings: list[str] = field(default_factory=list)
    stopped: bool = False  # whether the person was told when it was enough: limits must hold at any moment
    options: dict[str, Any] = field(default_factory=dict)  # how labels were to be made when the rows were drawn

    @classmethod
    def of(
        cls, drawn: NDArray[np.intp], truth: NDArray[Any], n_drawn: int, classes: Sequence[str], notes: list[str]
    ) -> AuditAnswers:
        """Answers to be compared with labels of some classes: others are new, which is said."""
        new = Counter(text for text in truth.tolist() if text is not None and text not in set(classes))
        warnings = [_new_class(name, count, classes) for name, count in new.items()]
        return cls(drawn, truth, n_drawn, dict(new), notes, warnings)

    @property
    def skipped(self) -> NDArray[np.bool_]:
        """(m,) Rows without an answer: these can bias the figures."""
        return np.array([answer is None for answer in self.truth.tolist()], dtype=bool)

    @property
    def rows(self) -> NDArray[np.intp]:
        """(k,) Row numbers of those with an answer."""
        return self.drawn[~self.skipped]

    @property
    def labels(self) -> NDArray[Any]:
        """(k,) The answers, as text."""
        return self.truth[~self.skipped].astype(str)

    @property
    def n_skipped(self) -> int:
        """Rows before the last answer that have none."""
        return int(self.skipped.sum())

    @property
    def n_left(self) -> int:
        """Rows after the last answer: not reached yet, which biases nothing."""
        return self.n_drawn - len(self.drawn)


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Labels under test, of a column or of a model, and a person's answers for random rows of the table."""

    answers: AuditAnswers
    correct: NDArray[np.bool_]  # (m,) whether the label of each drawn row is right; False where it was skipped
    population: int  # rows that these were drawn from
    level: float = 0.95  # of the intervals
    classes: dict[Any, Score]  # the share of each class that is recognised
    acceptor: Acceptor | None = None  # tells what can be accepted at any error; None: there is no confidence
    error: float | None = None  # the share of wrong labels allowed among those to accept, if one was asked for

    @cached_property
    def accuracy(self) -> Score:
        """The promise: exact, or where the person was told when to stop, valid at any moment."""
        skipped, stopped = self.answers.skipped, self.answers.stopped
        return promised_score(self.correct, skipped, self.population, self.level, stopped=stopped)

    @property
    def answered(self) -> Score:
        """The score of the answered rows alone: what it would be if skipping said nothing."""
        return score(self.correct[~self.answers.skipped], self.level)

    @cached_property
    def asked(self) -> Acceptance | None:
        """What can be accepted at the error asked for."""
        return None if self.acceptor is None or self.error is None else self.acceptor.at(self.error)

    @cached_property
    def acceptances(self) -> list[Acceptance]:
        """What can be accepted at each of ERRORS."""
        return [] if self.acceptor is None else [self.acceptor.at(error) for error in ERRORS]


# ---------------------------------------------------------------- answers of a sheet


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
    and both are known. What cannot be understood is refused with a ``TableError``, and so are rows chosen for
    doubt where random ones are needed: ``chosen`` says which.
    """
    audit = read_sheet(path)
    origin, markers, classes = read_origin(audit), markers_of(unlabeled), labels.classes.tolist()
    if origin is not None and origin.judged:
        raise TableError(
            f"{audit.name} was drawn to judge the labels in column {shown(origin.judged[0])}, from all rows; draw "
            "one from the rows without a label."
        )
    if chosen == RANDOM and origin is not None:
        _check_markers(audit.name, origin, markers)
    found = match_answers(audit, origin, cells_of(table, target), target, classes, markers, exact_labels, chosen)
    drawn = found.drawn
    if table.taken is not None:
        drawn = drawn.copy()
        drawn[drawn >= 0] = table.taken.places(drawn[drawn >= 0])
    found = replace(found, drawn=drawn)
    _check_given(found, labels, audit.name, table)
    return found


def match_answers(
    audit: Table,
    origin: SheetOrigin | None,
    cells: TableCells,
    target: str,
    classes: Sequence[str],
    markers: Sequence[str] = (),
    exact_labels: bool = False,
    chosen: str = RANDOM,
) -> AuditAnswers:
    """The answers of a sheet by row of the table, each as the class that it means."""
    rows = sheet_rows(audit, cells, target, chosen)
    by_place, notes = rows.by_place, [*audit.notes, *rows.notes]
    told = {place: known_class(row.answer, classes, notes, markers) for place, row in by_place.items()}
    if not exact_labels:
        told = _with_new_classes_folded(told, classes, notes)
    last = max((place for place, text in told.items() if text), default=0)
    truth = np.full(last, None, dtype=object)
    for place, text in told.items():
        if text not in ("", SKIPPED):
            truth[place - 1] = text
    n_answers, n_drawn = sum(text is not None for text in truth), rows.n_drawn
    if n_answers < (2 if chosen == RANDOM else 1):
        found = "One row" if n_answers else "No row"
        needed = "at least two are needed: " if chosen == RANDOM else "one at least is needed: "
        fill = Step("fill", f"fill in column {shown(target)}.", audit.path)
        raise TableError(f"{found} of {audit.name} has a label; {needed}", fill)
    if n_drawn > last:
        notes.append(f"{n_drawn - last} of the {n_drawn} rows drawn have no label yet.")
    if last > n_answers:
        notes.append(
            f"{last - n_answers} of the {n_drawn} rows drawn were skipped; what is hard for a person is often "
            "hard for a model, so they count as wrong."
        )
    drawn = np.full(last, -1, dtype=np.intp)
    for place, row in by_place.items():
        if place <= last:
            drawn[place - 1] = row.number
    answers = AuditAnswers.of(drawn, truth, n_drawn, classes, list(dict.fromkeys(notes)))
    return replace(answers, stopped=bool(origin and origin.stopped), options=origin.options if origin else {})


def known_class(answer: str, classes: Sequence[str], notes: list[str], markers: Sequence[str]) -> str:
    """The class that an answer means: itself, or a known class that a spreadsheet may have retyped."""
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


def _same(name: str, answer: str) -> bool:
    if folded(name) == folded(answer):
        return True
    try:
        return float(name.replace(",", ".")) == float(answer.replace(",", "."))
    except ValueError:
        return False


def _with_new_classes_folded(told: dict[int, str], classes: Sequence[str], notes: list[str]) -> dict[int, str]:
    """Spellings of classes that no label has, as one class each."""
    chosen = chosen_spellings(Counter(text for text in told.values() if text not in {"", SKIPPED, *classes}))
    notes += [
        f"The answer {shown(text)} was read as {shown(name)}." for text, name in chosen.items() if text != name
    ]
    return {place: chosen.get(text, text) for place, text in told.items()}


def _check_markers(name: str, origin: SheetOrigin, markers: Sequence[str]) -> None:
    """Rows drawn among others than those now unlabelled are no random draw of these."""
    if set(map(folded, origin.markers)) == set(map(folded, markers)):
        return
    drawn, remedy, parts = "without", "leave it out", [Parameter("unlabeled")]
    if origin.markers:
        drawn, remedy, parts = "with", "pass the same", [Parameter("unlabeled", text) for text in origin.markers]
    raise TableError(
        f"{name} was drawn {drawn} ",
        *[part for parameter in parts for part in (parameter, " ")][:-1],
        f", so its rows are not random among those unlabelled now; {remedy}, or draw again.",
    )


def _check_given(answers: AuditAnswers, labels: Labels, name: str, table: Table) -> None:
    """Rows labelled in the table since must say the same there."""
    rows, told = answers.rows, answers.labels
    given = labels.classes[labels.codes[rows]].astype(object)
    for i in np.flatnonzero(labels.labeled[rows] & (given != told))[:1]:
        raise TableError(
            f"Row {table.numbers(rows)[i] + 1} of the table is labelled {shown(given[i])} there and "
            f"{shown(told[i])} in {name}; decide, and change one of them."
        )


def _new_class(name: str, count: int, classes: Sequence[str]) -> str:
    near = get_close_matches(name, classes, n=1, cutoff=0.75)
    slip = f"a slip for {shown(near[0])}" if near else "a slip"
    rows = f"{count} row{'s' * (count > 1)}"
    return (
        f"NEW CLASS: the audit found {shown(name)} in {rows}, and none of the labels. If it is {slip}, correct it."
    )
