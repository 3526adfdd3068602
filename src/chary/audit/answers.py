"""An audit: labels under test and a person's answers for random rows; and how answers are read from a sheet."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter, Step, counted, listed, shown
from chary.audit.acceptance import ERRORS, LEVEL, Acceptance, Acceptor, nothing_accepted
from chary.audit.figures import Score, kappa, pair_counts, promised_score
from chary.audit.origin import RANDOM, origin_of
from chary.audit.sheet import SKIPPED, SheetRows, read_sheet, sheet_rows
from chary.audit.table_cells import TableCells, cells_of
from chary.method.labels import Labels
from chary.tables.cells import as_typed, is_no_answer
from chary.tables.table import Table, TableError
from chary.tables.target import chosen_spellings, folded, is_marker, markers_of


class Annotators(NamedTuple):
    """Several people's answers to the same rows."""

    names: list[str]
    answers: list[dict[int, str]]  # by place in the draw, from 1; of each of them

    @property
    def differing(self) -> list[int]:
        """Places at which they give different classes."""
        classes_at: dict[int, set[str]] = {}
        for answers in self.answers:
            for place, text in answers.items():
                classes_at.setdefault(place, set()).update({text} - {"", SKIPPED})
        return sorted(place for place, classes in classes_at.items() if len(classes) > 1)

    @property
    def counted(self) -> dict[int, str]:
        """The answers that count: what all who answered say; rows on which they differ are skipped."""
        told: dict[int, str] = {}
        for one in reversed(self.answers):
            told |= {
                i: text for i, text in one.items() if text and (text != SKIPPED or i not in told)
            }
        return {**told, **dict.fromkeys(self.differing, SKIPPED)}

    def sentences(self) -> list[str]:
        """Say how far they agree, and what becomes of rows on which they differ."""
        said = []
        for (first, a), (second, b) in combinations(zip(self.names, self.answers, strict=True), 2):
            both = [place for place in a if place in b and not {a[place], b[place]} & {"", SKIPPED}]
            told = [[one[place] for place in both] for one in (a, b)]
            counts = pair_counts(told[0], told[1], sorted({*told[0], *told[1]}))
            same, beyond = np.trace(counts), kappa(counts)
            known = "" if beyond is None else f" (kappa {beyond:.2f})"
            said.append(
                f"{first} and {second} both answered {len(both)} rows and agree on {same}{known}."
            )
        if self.differing:
            rows = counted(len(self.differing), "row")
            said.append(
                f"They differ on {rows}, counted as skipped until somebody edits a sheet to agree."
            )
        return said


@dataclass(frozen=True)
class AuditAnswers:
    """What a person said of random rows, in the order of the draw, up to the last one answered."""

    drawn: NDArray[np.intp]  # (m,) row numbers in the table
    truth: NDArray[Any]  # (m,) the class that the person gave; None where the row was skipped
    n_drawn: int  # rows drawn, those after the last answer included
    new_classes: dict[str, int] = field(
        default_factory=dict
    )  # classes that no label of the table has
    notes: list[str] = field(
        default_factory=list
    )  # one sentence for whatever was set right or left out
    warnings: list[str] = field(default_factory=list)
    stopped: bool = (
        False  # whether the person was told when it was enough: limits must hold at any moment
    )
    columns_shown: tuple[str, ...] | None = (
        None  # that a person who judged labels could see; None: not known
    )
    # By judged column whose labels are not known to be those that the rows were drawn for: a
    # sentence.
    changed_labels: dict[str, str] = field(default_factory=dict)
    annotators: Annotators | None = None  # who answered, if several did

    @classmethod
    def of(
        cls,
        drawn: NDArray[np.intp],
        truth: NDArray[Any],
        n_drawn: int,
        classes: Sequence[str],
        notes: list[str],
    ) -> AuditAnswers:
        """Answers to be compared with labels of some classes: others are new, which is said."""
        new = Counter(
            text for text in truth.tolist() if text is not None and text not in set(classes)
        )
        warnings = [_new_class(name, n_rows, classes) for name, n_rows in new.items()]
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

    @property
    def is_unfinished(self) -> bool:
        """Whether a person who could look while labelling has not come to the end of the draw.

        Only limits that hold at any moment can be promised then. All other figures are those of a
        number of rows that was fixed beforehand: if they decided when to stop, they would be wrong
        more often than they say.
        """
        return self.stopped and self.n_left > 0

    @property
    def unfinished_sentence(self) -> str:
        """Say why only the accuracy is shown."""
        return (
            f"Only the accuracy is shown until all {self.n_drawn:,} drawn rows are answered ({self.n_left:,} are "
            "left): its limits hold whenever you stop, and those of classes, shares, comparisons and accepted "
            "labels do not."
        )


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Labels under test, of a column or of a model, and a person's answers for random rows of the table."""

    answers: AuditAnswers
    correct: NDArray[
        np.bool_
    ]  # (m,) whether the label of each drawn row is right; False where it was skipped
    population: int  # rows that these were drawn from
    level: float = 0.95  # of the intervals
    classes: dict[Any, Score]  # the share of each class that is recognised
    acceptor: Acceptor | None = (
        None  # tells what can be accepted at any error; None: there is no confidence
    )
    error: float | None = (
        None  # the share of wrong labels allowed among those to accept, if one was asked for
    )

    @cached_property
    def accuracy(self) -> Score:
        """The promise: exact, or where the person was told when to stop, valid at any moment."""
        skipped, stopped = self.answers.skipped, self.answers.stopped
        return promised_score(self.correct, skipped, self.population, self.level, stopped=stopped)

    @cached_property
    def asked(self) -> Acceptance | None:
        """What can be accepted at the error asked for; nothing before the end of an audit that one may look at."""
        if self.acceptor is None or self.error is None:
            return None
        if self.answers.is_unfinished:
            return nothing_accepted(self.error, LEVEL)
        return self.acceptor.at(self.error)

    @cached_property
    def acceptances(self) -> list[Acceptance]:
        """What can be accepted at each of ERRORS."""
        return self.accepted_at(ERRORS)

    def accepted_at(self, errors: Sequence[float]) -> list[Acceptance]:
        """Say what can be accepted at each of some errors; an empty list if that cannot be said (yet)."""
        if self.acceptor is None or self.answers.is_unfinished:
            return []
        return [self.acceptor.at(error) for error in errors]


# ---------------------------------------------------------------- answers of a sheet


def read_audit(
    path: str | os.PathLike[str],
    table: Table,
    target: str,
    labels: Labels,
    unlabeled: str | Sequence[str] | None = None,
    *,
    chosen: str = RANDOM,
) -> AuditAnswers:
    """Read the answers back and match them with the table they were drawn from.

    Answers that differ in nothing but case and white space are one class. What cannot be understood
    is refused with a ``TableError``, and so are rows chosen for doubt where random ones are needed:
    ``chosen`` says which.
    """
    audit = read_sheet(path)
    origin, markers, classes = origin_of(audit), markers_of(unlabeled), labels.classes.tolist()
    if origin.judged:
        column = shown(origin.judged[0])
        raise TableError(
            f"{audit.name} was drawn to judge column {column}; draw one from the unlabelled rows."
        )
    if chosen == RANDOM and set(map(folded, origin.markers)) != set(map(folded, markers)):
        values = listed([shown(text) for text in origin.markers]) if origin.markers else "no value"
        remedy = (
            ", so its rows are not random among those unlabelled now; use the same, or draw again."
        )
        raise TableError(
            f"{audit.name} was drawn with {values} as ", Parameter("unlabeled"), remedy
        )
    found = match_answers(audit, cells_of(table, target), target, classes, markers, chosen)
    found = replace(found, drawn=table.places_of(found.drawn))
    rows, told = found.rows, found.labels
    given = labels.classes[labels.codes[rows]].astype(object)
    for i in np.flatnonzero(labels.labeled[rows] & (given != told))[
        :1
    ]:  # labelled in the table since
        raise TableError(
            f"Row {table.numbers(rows)[i] + 1} of the table is labelled {shown(given[i])} there and "
            f"{shown(told[i])} in {audit.name}; decide, and change one of them."
        )
    return found


def match_answers(
    audit: Table,
    cells: TableCells,
    target: str,
    classes: Sequence[str],
    markers: Sequence[str] = (),
    chosen: str = RANDOM,
    others: Sequence[Table] = (),
) -> AuditAnswers:
    """The answers of a sheet by row of the table, each as the class that it means.

    ``others`` are further people's sheets.
    """
    people = {sheet.path or sheet.name: sheet for sheet in [audit, *others]}
    if len(people) == len(others):
        raise TableError(f"{audit.name} was given twice; give each person's answers once.")
    rows = [sheet_rows(sheet, cells, target, chosen) for sheet in people.values()]
    every = SheetRows({}, max(of_one.n_drawn for of_one in rows), [*audit.notes])
    notes = every.notes
    for sheet, of_one in zip(people.values(), rows, strict=True):
        for place, row in of_one.by_place.items():
            if every.by_place.setdefault(place, row).number != row.number:
                raise TableError(
                    f"{sheet.name} and {audit.name} are two draws; give sheets of one draw."
                )
        notes += of_one.notes
    answers_given = [row.answer for of_one in rows for row in of_one.by_place.values()]
    class_of = classes_meant(Counter(answers_given), classes, markers, notes)
    said = [
        {place: class_of[row.answer] for place, row in of_one.by_place.items()} for of_one in rows
    ]
    told, annotators, n_drawn = said[0], None, every.n_drawn
    if len(people) > 1:
        annotators = Annotators(list(people), said)
        notes += annotators.sentences()
        told = annotators.counted
    last = max((place for place, text in told.items() if text), default=0)
    every.refuse_removed(audit.name, last)
    in_order = [told.get(place, "") for place in range(1, last + 1)]
    truth = np.array([None if text in ("", SKIPPED) else text for text in in_order], dtype=object)
    n_answers = sum(text is not None for text in truth)
    if n_answers < (fewest := 2 if chosen == RANDOM else 1):
        fill = Step("fill", f"fill in column {shown(target)}.", audit.path)
        raise TableError(
            f"{audit.name} has {n_answers} labels, and at least {fewest} are needed: ", fill
        )
    if n_drawn > last:
        notes.append(f"{n_drawn - last} of the {n_drawn} rows drawn have no label yet.")
    if n_skipped := last - n_answers - (len(annotators.differing) if annotators else 0):
        they = "was skipped; it counts" if n_skipped == 1 else "were skipped; they count"
        notes.append(f"{n_skipped} of the {n_drawn} rows drawn {they} as wrong.")
    drawn = np.array([every.by_place[place].number for place in range(1, last + 1)], dtype=np.intp)
    answers = AuditAnswers.of(drawn, truth, n_drawn, classes, list(dict.fromkeys(notes)))
    return replace(answers, annotators=annotators, stopped=origin_of(audit).stopped)


def classes_meant(
    answers: Mapping[str, int], classes: Sequence[str], markers: Sequence[str], notes: list[str]
) -> dict[str, str]:
    """Find the class that each answer means, of answers and their counts; what is read otherwise is noted.

    An answer is itself, or a known class that a spreadsheet may have retyped. Spellings of a new
    class are one.
    """
    class_of = {answer: answer and _class_meant(answer, classes, markers) for answer in answers}
    new: Counter[str] = Counter()
    for answer, n_rows in answers.items():
        if class_of[answer] not in ("", SKIPPED, *classes):
            new[class_of[answer]] += n_rows
    chosen = chosen_spellings(new)
    class_of = {answer: chosen.get(name, name) for answer, name in class_of.items()}
    for answer, name in class_of.items():
        if name not in (as_typed(answer), SKIPPED):
            notes.append(f"The answer {shown(answer)} was read as {shown(name)}.")
    return class_of


def _class_meant(answer: str, classes: Sequence[str], markers: Sequence[str]) -> str:
    typed = as_typed(answer)
    for text in (answer, typed, typed.removeprefix("'")):
        if text in classes:
            return text
    same = [name for name in classes if _same(name, typed)]
    if is_marker(typed, markers) or (len(same) != 1 and is_no_answer(typed)):
        return SKIPPED
    return same[0] if len(same) == 1 else typed


def _same(name: str, answer: str) -> bool:
    if folded(name) == folded(answer):
        return True
    try:
        return float(name.replace(",", ".")) == float(answer.replace(",", "."))
    except ValueError:
        return False


def _new_class(name: str, n_rows: int, classes: Sequence[str]) -> str:
    """Warn of a class that no label has, and of the label that it may be a slip for."""
    similar = get_close_matches(name, classes, n=1, cutoff=0.75)
    slip = f"a slip for {shown(similar[0])}" if similar else "a slip"
    rows = f"{counted(n_rows, 'row')}, and none of the labels"
    return f"NEW CLASS: the audit found {shown(name)} in {rows}. If it is {slip}, correct it."
