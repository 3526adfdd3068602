"""A person's answers for random rows, read from a sheet and held against labels in an audit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from chary._arrays import Array, Ints, Mask
from chary._words import Parameter, Step, counted, listed, shown
from chary.audit.acceptance import ERRORS, LEVEL, Acceptance, Acceptor, nothing_accepted
from chary.audit.figures import Score, kappa, pair_counts, promised_score
from chary.audit.origin import RANDOM, origin_of
from chary.audit.sheet import SKIPPED, SheetRow, SheetRows, read_sheet, sheet_rows
from chary.audit.table_cells import TableCells, cells_of
from chary.method.labels import Labels
from chary.tables.cells import as_typed, is_no_answer
from chary.tables.table import Table, TableError
from chary.tables.target import (
    chosen_spellings,
    class_of_slip,
    folded,
    is_marker,
    markers_of,
)

# An audit needs at least this many answers.
FEWEST_ANSWERS = 2
# Answers are refused if fewer than this share of them name a class of the labels.
_LEAST_KNOWN = 0.1
# With fewer answers than this, none are refused for that reason.
_FEWEST_TO_REFUSE = 5
# A sentence names at most this many classes.
_MOST_NAMED = 5
# These answers name no class: no answer yet, and the answer to a row that was skipped.
_NO_CLASS = {"", SKIPPED}


class Annotators(NamedTuple):
    """Several people's answers to the same rows."""

    names: list[str]
    answers: list[dict[int, str]]  # of each person, by place in the draw, from 1

    @property
    def classes(self) -> list[dict[int, str]]:
        """The answers of each person that name a class, by place."""
        return [_naming_a_class(answers) for answers in self.answers]

    @property
    def differing(self) -> list[int]:
        """Places at which people give different classes."""
        classes_at: dict[int, set[str]] = {}
        for classes in self.classes:
            for place, text in classes.items():
                classes_at.setdefault(place, set()).add(text)
        return sorted(place for place, classes in classes_at.items() if len(classes) > 1)

    @property
    def counted(self) -> dict[int, str]:
        """The joint answers of all people, by place.

        A row has a class if somebody named it and nobody named another one. It is skipped if people
        named different classes, or if nobody named one and somebody skipped it. Otherwise it has no
        answer, and its place is left out.
        """
        answer_at: dict[int, str] = {}
        for answers in self.answers:
            for place, text in answers.items():
                # A class replaces an earlier "skipped"; "skipped" replaces nothing.
                is_class = text not in _NO_CLASS
                is_first_answer = text != "" and place not in answer_at
                if is_class or is_first_answer:
                    answer_at[place] = text
        for place in self.differing:
            answer_at[place] = SKIPPED
        return answer_at

    def sentences(self) -> list[str]:
        """Say how far the people agree, and how rows on which they differ are counted."""
        sentences = []
        people = zip(self.names, self.classes, strict=True)
        for (first, first_classes), (second, second_classes) in combinations(people, 2):
            # The rows that both answered with a class, by the class of each.
            places = sorted(first_classes.keys() & second_classes.keys())
            first_texts = [first_classes[place] for place in places]
            second_texts = [second_classes[place] for place in places]
            class_names = sorted({*first_texts, *second_texts})
            counts = pair_counts(first_texts, second_texts, class_names)  # (C, C)

            n_same = np.trace(counts)
            sentence = (
                f"{first} and {second} both answered {len(places)} rows and agree on {n_same}"
            )
            agreement = kappa(counts)
            if agreement is not None:
                sentence += f" (kappa {agreement:.2f})"
            sentences.append(f"{sentence}.")
        if self.differing:
            rows = counted(len(self.differing), "row")
            sentences.append(
                f"They differ on {rows}, counted as skipped until somebody edits a sheet to agree."
            )
        return sentences


def _naming_a_class(answers: Mapping[int, str]) -> dict[int, str]:
    """Leave out the answers that name no class."""
    return {place: text for place, text in answers.items() if text not in _NO_CLASS}


@dataclass(frozen=True)
class AuditAnswers:
    """A person's answers for random rows, in the order of the draw, up to the last one answered.

    Of the rows drawn, m are up to the last answer. Of these, k have an answer; the others were
    skipped.
    """

    drawn: Ints  # (m,) row numbers in the table
    truth: Array  # (m,) the class that the person gave; None where the row was skipped
    n_drawn: int  # rows drawn, including the rows after the last answer
    # Classes that no label of the table has, with the number of rows of each.
    new_classes: dict[str, int] = field(default_factory=dict)
    # What was corrected or left out, a sentence each.
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    # Whether the annotator was told when to stop, so that limits must hold at any moment.
    stopped: bool = False
    # Columns that a person who judged labels could see; None: not known.
    columns_shown: tuple[str, ...] | None = None
    # A warning for each judged column whose labels may have changed since the draw.
    changed_labels: dict[str, str] = field(default_factory=dict)
    annotators: Annotators | None = None  # if several people answered

    @classmethod
    def of(
        cls,
        drawn: Ints,
        truth: Array,
        n_drawn: int,
        classes: Sequence[str],
        notes: list[str],
    ) -> AuditAnswers:
        """Collect answers, and warn of each class that is not among the ``classes`` of labels."""
        known = {None, *classes}
        new_classes = Counter(text for text in truth.tolist() if text not in known)
        warnings = [
            _warn_of_new_class(name, n_rows, classes) for name, n_rows in new_classes.items()
        ]
        return cls(drawn, truth, n_drawn, dict(new_classes), notes, warnings)

    @property
    def skipped(self) -> Mask:
        """(m,) Whether each row was skipped: skipped rows can bias the figures."""
        return np.array([answer is None for answer in self.truth.tolist()], dtype=bool)

    @property
    def rows(self) -> Ints:
        """(k,) Numbers of the rows with an answer."""
        return self.drawn[~self.skipped]

    @property
    def labels(self) -> Array:
        """(k,) The answers, as text."""
        return self.truth[~self.skipped].astype(str)

    @property
    def n_skipped(self) -> int:
        """Number of rows before the last answer that have none."""
        return int(self.skipped.sum())

    @property
    def n_left(self) -> int:
        """Number of rows after the last answer: not reached yet, which biases nothing."""
        return self.n_drawn - len(self.drawn)

    @property
    def is_unfinished(self) -> bool:
        """Whether an annotator who is told when to stop has not answered all drawn rows.

        Only limits that hold at any moment can be promised then. All other figures suppose that the
        number of rows was fixed beforehand: if the figures decide when to stop, they are wrong more
        often than they say.
        """
        return self.stopped and self.n_left > 0

    @property
    def unfinished_sentence(self) -> str:
        """The reason why only the accuracy is shown."""
        return (
            f"Only the accuracy is shown until all {self.n_drawn:,} drawn rows are answered "
            f"({self.n_left:,} are left): its limits hold whenever you stop, and those of classes, "
            "shares, comparisons and accepted labels do not."
        )


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Labels under test, by a column or a model, with a person's answers for random rows."""

    answers: AuditAnswers
    # (m,) whether the label of each drawn row is right; False where the row was skipped.
    correct: Mask
    population: int  # rows of the table that the drawn rows come from
    level: float = 0.95  # of the intervals
    classes: dict[Any, Score]  # the recall of each class
    # Finds the rows to accept at an error; None: the labels have no confidence.
    acceptor: Acceptor | None = None
    # The share of wrong labels allowed among those to accept, if one was asked for.
    error: float | None = None

    @cached_property
    def accuracy(self) -> Score:
        """The accuracy.

        If the person was told when to stop, its limits are the wider ones, which hold whenever
        somebody stops.
        """
        skipped = self.answers.skipped
        stopped = self.answers.stopped
        return promised_score(self.correct, skipped, self.population, self.level, stopped=stopped)

    @cached_property
    def asked(self) -> Acceptance | None:
        """What can be accepted at the error asked for; None if no error was asked for.

        While the audit is unfinished, no row can be accepted.
        """
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
        """Find what can be accepted at each error; return an empty list if that is not known."""
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
    same: Mapping[str, str] | None = None,
    chosen: str = RANDOM,
    classes: Sequence[str] = (),
) -> AuditAnswers:
    """Read a sheet's answers and match them with the table that its rows were drawn from.

    Answers that differ only in case and white space are one class. A ``TableError`` is raised if
    the sheet cannot be understood, or does not fit the table and the other arguments.

    Parameters
    ----------
    path : path
        Of the sheet.
    table, target, labels
        The table, and what ``target_labels`` reads in its target column.
    unlabeled : default=None
        As given to ``target_labels``: a sheet that was drawn with another value is refused.
    same : mapping of str to str, default=None
        Answers that are slips, each with the class that is meant.
    chosen : RANDOM or DOUBT, default=RANDOM
        How the rows of the sheet must have been chosen.
    classes : sequence of str, default=()
        Answers that are classes although no label of the table has them.
    """
    sheet = read_sheet(path)
    origin = origin_of(sheet)
    markers = markers_of(unlabeled)
    if origin.judged:
        column = shown(origin.judged[0])
        raise TableError(
            f"{sheet.name} was drawn to judge column {column}; draw one from the unlabelled rows."
        )
    markers_of_draw = set(map(folded, origin.markers))
    if chosen == RANDOM and markers_of_draw != set(map(folded, markers)):
        values = listed([shown(text) for text in origin.markers] or ["no value"])
        raise TableError(
            f"{sheet.name} was drawn with {values} as ",
            Parameter("unlabeled"),
            ", so its rows are not random among those unlabelled now; use the same, or draw again.",
        )

    # The sheet names rows by their numbers in the whole table; ``table`` may be a sample of it.
    cells = cells_of(table, target)
    known = labels.classes.tolist()
    answers = match_answers(
        sheet, cells, target, known, markers, chosen, new_classes=classes, same=same
    )
    answers = replace(answers, drawn=table.places_of(answers.drawn))

    # A row may have been labelled in the table since the draw: then the answer must be the same. A
    # row without a label has the code -1, so its entry of ``table_labels`` means nothing.
    rows = answers.rows  # (k,)
    table_labels = labels.classes[labels.codes[rows]].astype(object)  # (k,)
    differs = labels.labeled[rows] & (table_labels != answers.labels)  # (k,)
    if differs.any():
        i = int(differs.argmax())
        raise TableError(
            f"Row {table.numbers(rows)[i] + 1} of the table is labelled {shown(table_labels[i])} "
            f"there and {shown(answers.labels[i])} in {sheet.name}; decide, and change one of them."
        )
    return answers


def match_answers(
    sheet: Table,
    cells: TableCells,
    target: str,
    classes: Sequence[str],
    markers: Sequence[str] = (),
    chosen: str = RANDOM,
    others: Sequence[Table] = (),
    new_classes: Sequence[str] = (),
    same: Mapping[str, str] | None = None,
) -> AuditAnswers:
    """Match the answers of a sheet with rows of the table, each as the class that it means.

    Parameters
    ----------
    sheet : Table
        From ``read_sheet``.
    cells : TableCells
        The table that the rows of the sheet were drawn from.
    target : str
        The column of the sheet with the answers.
    classes, markers
        The classes of the labels, and texts that mean "no label".
    chosen : RANDOM or DOUBT, default=RANDOM
        How the rows of the sheet must have been chosen.
    others : sequence of Table, default=()
        Further people's sheets of the same draw.
    new_classes : sequence of str, default=()
        Answers that are classes although no label has them.
    same : mapping of str to str, default=None
        Answers that are slips, each with the class that is meant.
    """
    # 1. The sheet of each person, by path, and their rows.
    all_sheets = [sheet, *others]
    sheets = {one_sheet.path or one_sheet.name: one_sheet for one_sheet in all_sheets}
    if len(sheets) < len(all_sheets):
        raise TableError(f"{sheet.name} was given twice; give each person's answers once.")
    rows_of_sheets = [sheet_rows(one_sheet, cells, target, chosen) for one_sheet in sheets.values()]
    rows = _join_rows(list(sheets.values()), rows_of_sheets)

    # 2. The class that each answer means.
    counts: Counter[str] = Counter()
    for rows_of_sheet in rows_of_sheets:
        counts.update(row.answer for row in rows_of_sheet.by_place.values())
    class_of, retyped = classes_meant(counts, classes, markers, same)
    refuse_foreign_answers(counts, class_of, classes, new_classes)
    notes = [*rows.notes, *retyped]

    # 3. One answer for each row, from all people.
    answers_of_people = [_classes_by_place(one_persons, class_of) for one_persons in rows_of_sheets]
    answer_at = answers_of_people[0]
    annotators = None
    n_differing = 0
    if len(sheets) > 1:
        annotators = Annotators(list(sheets), answers_of_people)
        notes += annotators.sentences()
        answer_at = annotators.counted
        n_differing = len(annotators.differing)

    # 4. The classes in the order of the draw, up to the last row that was answered or skipped.
    last = max((place for place, text in answer_at.items() if text), default=0)
    rows.refuse_removed(sheet.name, last)
    truth = np.full(last, None)
    for place, text in answer_at.items():
        if text not in _NO_CLASS:
            truth[place - 1] = text

    # 5. What the reader should know of answers that are missing.
    n_answers = sum(answer is not None for answer in truth)
    fewest = FEWEST_ANSWERS if chosen == RANDOM else 1
    if n_answers < fewest:
        raise TableError(
            f"{sheet.name} has {n_answers} labels, and at least {fewest} are needed: ",
            Step("fill", f"fill in column {shown(target)}.", sheet.path),
        )
    n_left = rows.n_drawn - last
    if n_left:
        notes.append(f"{n_left} of the {rows.n_drawn} rows drawn have no label yet.")
    n_skipped = last - n_answers - n_differing
    if n_skipped:
        they = "was skipped; it counts" if n_skipped == 1 else "were skipped; they count"
        notes.append(f"{n_skipped} of the {rows.n_drawn} rows drawn {they} as wrong.")

    row_numbers = [rows.by_place[place].number for place in range(1, last + 1)]
    drawn = np.array(row_numbers, dtype=np.intp)
    different_notes = list(dict.fromkeys(notes))
    answers = AuditAnswers.of(drawn, truth, rows.n_drawn, classes, different_notes)
    return replace(answers, annotators=annotators, stopped=origin_of(sheet).stopped_when_enough)


def _join_rows(sheets: Sequence[Table], rows_of_sheets: Sequence[SheetRows]) -> SheetRows:
    """Join the rows of several people's sheets; refuse sheets of different draws.

    Sheets of one draw have the same row of the table at each place.
    """
    by_place: dict[int, SheetRow] = {}
    notes = list(sheets[0].notes)
    for sheet, rows in zip(sheets, rows_of_sheets, strict=True):
        notes += rows.notes
        for place, row in rows.by_place.items():
            row_before = by_place.setdefault(place, row)  # of an earlier sheet, or this one
            if row_before.number != row.number:
                raise TableError(
                    f"{sheet.name} and {sheets[0].name} are two draws; give sheets of one draw."
                )
    n_drawn = max(rows.n_drawn for rows in rows_of_sheets)
    return SheetRows(by_place, n_drawn, notes)


def _classes_by_place(rows: SheetRows, class_of: Mapping[str, str]) -> dict[int, str]:
    """Return the class that each answer means, by place in the draw."""
    return {place: class_of[row.answer] for place, row in rows.by_place.items()}


def classes_meant(
    counts: Mapping[str, int],
    classes: Sequence[str],
    markers: Sequence[str],
    same: Mapping[str, str] | None = None,
) -> tuple[dict[str, str], list[str]]:
    """Find the class that each answer means; note which answers are read as another text.

    An answer means a known class, even if a spreadsheet retyped it; otherwise it names a new class.
    Different spellings of a new class are one class.

    Parameters
    ----------
    counts : mapping of answer to number of rows
    classes, markers
        The known classes, and texts that mean "no label".
    same : mapping of str to str, default=None
        Answers that are slips, each with the class that is meant.

    Returns
    -------
    class_of : dict of answer to class
    notes : list of str

    Examples
    --------
    >>> class_of, notes = classes_meant({"SPAM": 2, "news": 1}, ["spam", "ham"], markers=())
    >>> class_of
    {'SPAM': 'spam', 'news': 'news'}
    >>> notes
    ["The answer 'SPAM' was read as 'spam'."]
    """
    # 1. The class that each answer means by itself, after slips were corrected.
    meant_by_slip = {folded(wrong): right for wrong, right in (same or {}).items()}
    name_of = {}
    for answer in counts:
        corrected = meant_by_slip.get(folded(as_typed(answer)), answer)
        name_of[answer] = _class_meant(corrected, classes, markers)

    # 2. One spelling for each new class.
    n_rows_of_new: Counter[str] = Counter()
    for answer, name in name_of.items():
        if name not in _NO_CLASS and name not in classes:
            n_rows_of_new[name] += counts[answer]
    spelling_of = chosen_spellings(n_rows_of_new)

    # 3. The outcome, with a note for each answer that is read as another text.
    class_of = {}
    notes = []
    for answer, name in name_of.items():
        final_name = spelling_of.get(name, name)
        class_of[answer] = final_name
        if final_name not in (as_typed(answer), SKIPPED):
            notes.append(f"The answer {shown(answer)} was read as {shown(final_name)}.")
    return class_of, notes


def refuse_foreign_answers(
    counts: Mapping[str, int],
    class_of: Mapping[str, str],
    classes: Sequence[str],
    new_classes: Sequence[str],
) -> None:
    """Refuse answers if hardly any of them is a class that the labels have.

    They may answer another question: "yes" and "no" to whether a label is right, where the classes
    are "spam" and "ham".

    Parameters
    ----------
    counts : mapping of answer to number of rows
    class_of : mapping of answer to class
        From ``classes_meant``.
    classes : sequence of str
        The classes of the labels.
    new_classes : sequence of str
        Answers that the user has named as classes.
    """
    n_known = 0
    foreign: Counter[str] = Counter()  # rows by the class that the labels lack
    for answer, n_rows in counts.items():
        name = class_of[answer]
        if name in _NO_CLASS:
            continue
        if name in classes or is_marker(name, new_classes):
            n_known += n_rows
        else:
            foreign[name] += n_rows
    n_answers = n_known + foreign.total()
    if n_answers < _FEWEST_TO_REFUSE or n_known >= _LEAST_KNOWN * n_answers:
        return

    commonest = [name for name, _ in foreign.most_common(_MOST_NAMED)]
    values = listed(f"{shown(name)} in {counted(foreign[name], 'row')}" for name in commonest)
    known = listed([shown(name) for name in classes[:_MOST_NAMED]])
    parameters = " ".join(f"{Parameter('classes', name)}" for name in commonest)
    raise TableError(
        f"Only {n_known} of {n_answers:,} answers are classes that the labels have ({known}); "
        f"others are {values}. Answer with the class of each row, not with whether a label is "
        f"right; or pass {parameters} if these are classes that the labels lack."
    )


def _class_meant(answer: str, classes: Sequence[str], markers: Sequence[str]) -> str:
    """Find the class that an answer means, known or new; return "" or SKIPPED if it means none.

    The first that applies decides: the answer is a class as it stands; it is a marker of missing
    labels; it is one class in another form, such as "1,5" for "1.50"; it is no answer, such as "?".
    Any other answer is a new class.
    """
    if not answer:
        return ""
    typed = as_typed(answer)  # as the person typed it, without what guards a cell in a spreadsheet
    for text in (answer, typed, typed.removeprefix("'")):
        if text in classes:
            return text
    if is_marker(typed, markers):
        return SKIPPED
    possible_classes = [name for name in classes if _is_retyped(name, typed)]
    if len(possible_classes) == 1:
        return possible_classes[0]
    if is_no_answer(typed):
        return SKIPPED
    return typed


def _is_retyped(name: str, answer: str) -> bool:
    """Tell whether an answer is a class in another case, or another form of the same number.

    >>> _is_retyped("1.50", answer="1,5")
    True
    """
    if folded(name) == folded(answer):
        return True
    try:
        return float(name.replace(",", ".")) == float(answer.replace(",", "."))
    except ValueError:
        return False


def _warn_of_new_class(name: str, n_rows: int, classes: Sequence[str]) -> str:
    """Warn of a class that no label has; name a similar class that may have been meant."""
    slip = "a slip"
    similar = class_of_slip(name, classes)
    if similar:
        slip = f"a slip for {shown(similar)}"
    rows = counted(n_rows, "row")
    return (
        f"NEW CLASS: the audit found {shown(name)} in {rows}, and none of the labels. If it is "
        f"{slip}, correct it."
    )
