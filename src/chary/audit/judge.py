"""How good the labels in a column are, by a person's answers for rows drawn at random."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Array, Mask
from chary._words import Parameter, listed, shown
from chary.audit.acceptance import Acceptor, ConfidenceHistogram, check_error
from chary.audit.answers import Audit, AuditAnswers
from chary.audit.blind import hidden_columns
from chary.audit.drawing import DrawnSheet, draw_sheet
from chary.audit.figures import (
    Baseline,
    Difference,
    Judgement,
    Score,
    Slice,
    class_shares,
    difference,
    judge_labels,
    one_label_for_all,
    pair_counts,
    promised_score,
    slice_scores,
)
from chary.audit.judged_answers import (
    TRUTH,
    cells_by_row,
    columns_of_sheet,
    is_readable,
    read_truth,
)
from chary.audit.labels_under_test import LabelsUnderTest, read_labels_under_test
from chary.audit.origin import read_origin, sheet_origin
from chary.audit.sheet import DrawPool, read_sheet
from chary.audit.table_cells import as_texts
from chary.options import AUDIT_SIZE, JudgeOptions, Requirement
from chary.tables import TableError
from chary.tables.source import Source
from chary.tables.table import blank_rows_note, texts

# The rows without a value in a column are the slice of this name.
EMPTY = "(empty)"
# A column with more values than this is not sliced.
_MOST_SLICES = 200
# If all answers are the same as the labels, the reader is asked why, from this many answers on.
_FEWEST_TO_ASK = 10


class LabelPair(NamedTuple):
    """Two columns of labels, held against each other on the rows that have a label in both."""

    first: str
    second: str
    n_audited: int  # audited rows with a label in both columns, skipped ones included
    difference: Difference | None  # of their accuracies; None: no such row was audited
    judgements: list[Judgement]  # of the first and of the second; empty: no such row was audited
    # (C, C) rows of the table by the label of the first and the second
    counts: NDArray[np.int64]


class JudgedColumn(NamedTuple):
    """What an audit says of one column of labels."""

    name: str
    judgement: Judgement
    # The accuracy, with limits that hold at any moment of the labelling: among the rows with a
    # label, if any was audited.
    always: Score
    labels: Array  # (m,) by drawn row; None for a row without a label
    correct: Mask  # (m,) whether each label is right; False where the row was skipped
    n_missing: int  # rows of the table without a label, which count as wrong
    # The accuracy among the rows that have a label; None: no such row was audited.
    labelled: Score | None
    baseline: Baseline | None  # the rows with a label, if one label stood in all; None: not known


class WrongRow(NamedTuple):
    """An audited row that a column labels otherwise than the person."""

    number: int  # in the table, from 0
    truth: str  # the person's answer
    labels: dict[str, str | None]  # by column under test; None: no label
    cells: dict[str, str | None]  # what the person could see of the row, as text


@dataclass(frozen=True, kw_only=True)
class JudgedTable(Audit):
    """The outcome of ``judge_table``; the fields of ``Audit`` are of the first column of labels."""

    tested: LabelsUnderTest
    columns: list[JudgedColumn]
    # For each column of ``by`` and each of its values: the accuracy of the first column of labels.
    slices: dict[str, dict[Any, Slice]]
    pairs: list[LabelPair]  # one pair if there are two columns of labels
    wrong: list[WrongRow]  # in the order of the draw; empty while the audit is unfinished
    notes: list[str]

    @cached_property
    def accepted(self) -> Mask | None:
        """(n,) The rows that can be accepted at the error asked for; None if none was asked for.

        A row is accepted if it has a label and a confidence of at least the threshold. An audited
        row is accepted if its label is right, whatever its confidence.
        """
        if self.asked is None:
            return None
        confidence, has_label = self.tested.confidences()
        accepted = has_label & (confidence >= self.asked.threshold)
        accepted[self.answers.rows] = self.correct[~self.answers.skipped]
        return accepted


def draw_to_judge(
    source: Source, path: str | os.PathLike[str], options: JudgeOptions, k: int = AUDIT_SIZE
) -> tuple[DrawnSheet, list[str]]:
    """Draw rows at random onto a sheet that does not show the labels under test.

    Parameters
    ----------
    source : Source
        From ``open_source``.
    path : path
        Of the sheet. An existing smaller sheet is enlarged and keeps its answers.
    options : JudgeOptions
        The sheet does not show the columns of ``labels`` (one or two), ``confidence`` and ``hide``,
        nor columns that give the labels away, unless ``show`` names them, nor columns that chary
        wrote. ``unlabeled``: as in ``target_labels``. ``seed``: by default the seed of the existing
        sheet, and a random one for a new sheet. ``force``: replace an existing sheet without
        answers. ``discard_answers``: replace any existing sheet, and keep a copy.
    k : int
        Rows of the sheet in the end, earlier ones included.

    Returns
    -------
    drawn : DrawnSheet
    classes : list of str
    """
    # The columns that the sheet shows: if a sheet is enlarged, those that it has.
    tested = read_labels_under_test(source, options)
    if options.confidence is not None:
        # A column that holds no confidence is refused before a person labels rows.
        source.column_named(options.confidence)
        tested.confidences()
    hidden, revealing = hidden_columns(tested)
    draw_anew = options.force or options.discard_answers
    earlier = None
    if not draw_anew:
        # A file that cannot be read as a sheet is refused by ``draw_sheet`` below.
        with suppress(TableError):
            earlier = read_origin(read_sheet(path))
    columns = columns_of_sheet(source, [*hidden, *revealing], earlier)
    if not columns:
        raise TableError(
            f"{source.table.name} has no column that a person could label a row by; give it one."
        )

    # What the sheet will say of where it comes from.
    origin = sheet_origin(source.table, TRUTH, tested.classes, options.unlabeled)
    origin = origin._replace(
        judged=tuple(options.labels),
        digests={name: tested.digest(name) for name in options.labels},
        shown=tuple(columns),
        options=options.to_keep(),
    )

    # The rows that it is drawn from: all that are not blank.
    closed = np.zeros(source.n_rows, dtype=bool)
    closed[source.blank_numbers] = True
    pool = DrawPool(
        source.table,
        origin,
        cells_by_row(source, columns),
        closed,
        hidden=frozenset([*hidden, *revealing]),
    )
    drawn = draw_sheet(
        path,
        pool,
        k,
        seed=options.seed,
        force=options.force,
        discard_answers=options.discard_answers,
    )
    unreadable = [name for name in source.names if not is_readable(source, name)]
    drawn = drawn._replace(
        hidden=tuple(revealing), shown=tuple(columns), unreadable=tuple(unreadable)
    )
    return drawn, tested.classes


def judge_table(
    source: Source, truth: Any, options: JudgeOptions, level: float = 0.95
) -> JudgedTable:
    """Say how good labels are, by a person's answers for rows drawn at random.

    Parameters
    ----------
    source : Source
        From ``open_source``.
    truth : path or array of shape (n,)
        A sheet of ``draw_to_judge`` with a person's answers. Or one answer for each row, missing
        for rows without an answer: the figures hold only if the answered rows were drawn at random
        from all rows, which cannot be checked here.
    options : JudgeOptions
        ``labels``: one or two columns under test; a row without a label counts as wrong.
        ``confidence``: a column of numbers, larger for surer labels, by which rows are accepted.
        ``by``: columns for each of whose values the accuracy is computed. ``error``: the largest
        share of wrong labels among the accepted rows, fixed beforehand; it needs ``confidence``.
        ``unlabeled``: as when the sheet was drawn.
    level : float, default=0.95
        Of the intervals; the level for accepting rows is 90 %.
    """
    for name in options.by:
        source.column_named(name)
    if options.confidence is not None:
        source.column_named(options.confidence)
    check_error(options.error, truth)
    if options.error is not None and options.confidence is None:
        raise TableError(
            "To accept rows, name the column of their confidence with ",
            Parameter("confidence"),
            ".",
        )

    # The columns of labels are judged on the drawn rows.
    tested = read_labels_under_test(source, options)
    answers = read_truth(truth, tested)
    if options.require is not None:
        _refuse_unknown_class(options.require, tested, answers)
    names = list(dict.fromkeys([*options.labels, *options.by]))
    cells = source.rows(answers.drawn.tolist(), names)  # of the drawn rows, in their order
    columns = [_judge_column(tested, cells[name], answers, level) for name in options.labels]
    first = columns[0]
    acceptor = None
    if options.confidence is not None:
        acceptor = _acceptor(tested, first, answers)

    # While the audit is unfinished, only the accuracy can be promised.
    slices = {}
    pairs = []
    wrong = []
    if not answers.is_unfinished:
        wrong = _wrong_rows(source, columns, answers)
        slices = {name: _slices(tested, cells[name], first, answers, level) for name in options.by}
        if len(columns) == 2:
            pairs = [_compare(columns, tested, answers, level)]

    return JudgedTable(
        answers=answers,
        correct=first.correct,
        population=source.n_filled,
        level=level,
        classes={
            name: judged_class.recall
            for name, judged_class in first.judgement.classes.items()
            if judged_class.recall is not None
        },
        acceptor=acceptor,
        error=options.error,
        tested=tested,
        columns=columns,
        slices=slices,
        pairs=pairs,
        wrong=wrong,
        notes=_notes(tested, answers, columns),
    )


def _refuse_unknown_class(
    requirement: Requirement, tested: LabelsUnderTest, answers: AuditAnswers
) -> None:
    """Refuse a requirement of a class that neither labels nor answers name."""
    known = [*tested.classes, *answers.new_classes]
    if requirement.of_class not in (None, *known):
        raise TableError(
            Parameter("require"),
            f" names {shown(requirement.of_class)}, which is no class of column "
            f"{shown(tested.options.labels[0])}; choose from {listed(map(shown, known))}.",
        )


def _notes(
    tested: LabelsUnderTest, answers: AuditAnswers, columns: Sequence[JudgedColumn]
) -> list[str]:
    """List what a reader of the figures should know, a sentence each."""
    source = tested.source
    notes = list(source.table.notes)
    if answers.is_unfinished:
        notes.insert(0, answers.unfinished_sentence)
    if len(source.blank_numbers):
        notes.append(blank_rows_note(len(source.blank_numbers)))
    notes += [*tested.notes, *answers.notes]
    if tested.options.confidence is not None and tested.confidence_note():
        notes.append(tested.confidence_note())
    for column in columns:
        if column.n_missing:
            notes.append(
                f"Column {shown(column.name)} has no label in {column.n_missing:,} of "
                f"{source.n_filled:,} rows; for the recall of classes and for slices these count "
                "as wrong."
            )
        n_answers = len(answers.rows)
        if n_answers >= _FEWEST_TO_ASK and int(column.correct.sum()) == n_answers:
            notes.append(
                f"All {n_answers:,} answers are the same as the labels in column "
                f"{shown(column.name)}. Were these seen or copied when the rows were answered? "
                "Then the figures say nothing."
            )
    return notes


def _judge_column(
    tested: LabelsUnderTest, cells: pl.Series, answers: AuditAnswers, level: float
) -> JudgedColumn:
    """Hold one column of labels against the answers.

    ``cells`` are its cells in the m drawn rows, in the order of the draw.
    """
    counts = tested.counts[cells.name]  # rows of the table by class
    n_rows = sum(counts.values())
    n_missing = counts.get(None, 0)
    skipped = answers.skipped  # (m,)
    labels = np.array(tested.of(cells), dtype=object)  # (m,)
    correct = ~skipped & (labels == answers.truth)  # (m,)
    always = promised_score(correct, skipped, n_rows, level, stopped=True)

    # While the audit is unfinished, only the accuracy can be promised.
    if answers.is_unfinished:
        judgement = Judgement(always, classes={}, confusions={}, kappa=None)
    else:
        judgement = judge_labels(answers.truth, labels, counts, skipped=skipped, level=level)

    # The accuracy among the rows that have a label, and what one label for all of these would have.
    labelled = None
    has_label = _is_filled(labels)
    if has_label.any():
        of_labels = correct[has_label], skipped[has_label], n_rows - n_missing, level
        labelled = promised_score(*of_labels, stopped=answers.stopped)
        always = promised_score(*of_labels, stopped=True)
    baseline = None
    if has_label.any() and not answers.is_unfinished:
        n_rows_of = {name: n for name, n in counts.items() if name is not None}
        held_against = answers.truth[has_label], labels[has_label]
        shares = class_shares(*held_against, n_rows_of, skipped=skipped[has_label], level=level)
        baseline = one_label_for_all(*held_against, shares, skipped=skipped[has_label])
    return JudgedColumn(
        cells.name, judgement, always, labels, correct, n_missing, labelled, baseline
    )


def _is_filled(labels: Array) -> Mask:
    """Tell which rows have a label."""
    return labels != None  # noqa: E711 (elementwise)


def _compare(
    columns: Sequence[JudgedColumn], tested: LabelsUnderTest, answers: AuditAnswers, level: float
) -> LabelPair:
    """Compare two columns of labels on the rows that have a label in both."""
    # The rows of the table are counted by pair of cells first, as different cells may be one class.
    first, second = columns
    names = [first.name, second.name]
    cell_pairs = tested.source.filled_columns(names).group_by(names).len("chary_rows")
    counts = pair_counts(
        tested.of(cell_pairs[first.name]),
        tested.of(cell_pairs[second.name]),
        tested.classes,
        weights=cell_pairs["chary_rows"],
    )

    has_both = _is_filled(first.labels) & _is_filled(second.labels)
    n_audited = int(has_both.sum())
    if n_audited == 0:
        return LabelPair(first.name, second.name, 0, None, [], counts)

    # A skipped row with the same label in both columns makes no difference, whatever its class.
    skipped = answers.skipped[has_both]
    accuracy_difference = difference(
        first.correct[has_both],
        second.correct[has_both],
        int(counts.sum()),
        level,
        skipped=skipped & (first.labels != second.labels)[has_both],
    )
    judgements = []
    for column, n_rows in zip(columns, [counts.sum(axis=1), counts.sum(axis=0)], strict=True):
        judgements.append(
            judge_labels(
                answers.truth[has_both],
                column.labels[has_both],
                dict(zip(tested.classes, n_rows.tolist(), strict=True)),
                skipped=skipped,
                level=level,
            )
        )
    return LabelPair(first.name, second.name, n_audited, accuracy_difference, judgements, counts)


def _wrong_rows(
    source: Source, columns: Sequence[JudgedColumn], answers: AuditAnswers
) -> list[WrongRow]:
    """List the answered rows that a column labels otherwise, with what the person could see.

    A row without a label has no wrong one.
    """
    is_wrong = np.zeros(len(answers.drawn), dtype=bool)
    for column in columns:
        is_wrong |= _is_filled(column.labels) & ~column.correct & ~answers.skipped
    names = answers.columns_shown
    if names is None:
        names = tuple(source.names)
    judged = [column.name for column in columns]
    names = tuple(name for name in names if name in source.names and name not in judged)
    numbers = answers.drawn[is_wrong].tolist()
    cells: list[dict[str, Any]] = [{} for _ in numbers]
    if names:
        cells = as_texts(source.rows(numbers, names)).to_dicts()
    places = np.flatnonzero(is_wrong).tolist()
    return [
        WrongRow(
            number,
            str(answers.truth[place]),
            {column.name: column.labels[place] for column in columns},
            row,
        )
        for number, place, row in zip(numbers, places, cells, strict=True)
    ]


def _slices(
    tested: LabelsUnderTest,
    cells: pl.Series,
    judged: JudgedColumn,
    answers: AuditAnswers,
    level: float,
) -> dict[Any, Slice]:
    """Score the labels for each value of a column.

    ``cells`` are the cells of the column in the drawn rows. The intervals of all columns named by
    the option ``by`` hold together.
    """
    values, n_rows_of_values = tested.source.counts(cells.name)
    if len(values) > _MOST_SLICES:
        raise TableError(
            f"Column {shown(cells.name)} has {len(values):,} different values, more than "
            f"{_MOST_SLICES}."
        )
    n_rows_of_slice = dict(zip(_slice_names(values), n_rows_of_values, strict=True))
    return slice_scores(
        judged.correct,
        _slice_names(cells),
        n_rows_of_slice,
        skipped=answers.skipped,
        level=level,
        n_columns=len(tested.options.by),
    )


def _slice_names(cells: pl.Series) -> list[str]:
    """Name the slice that each cell belongs to: its text, or EMPTY if it holds none."""
    names = texts(cells).fill_null("")
    is_empty = names.str.strip_chars() == ""
    return names.set(is_empty, EMPTY).to_list()


def _acceptor(tested: LabelsUnderTest, judged: JudgedColumn, answers: AuditAnswers) -> Acceptor:
    """Collect what decides which rows can be accepted; skipped rows count as wrong.

    Only rows with a label and a confidence can be accepted. All others, drawn or not, are left out.
    """
    # By row of the table, (n,) each.
    confidence, has_label = tested.confidences()
    can_accept = has_label & np.isfinite(confidence)
    if not can_accept.any():
        name = shown(tested.options.confidence)
        raise TableError(f"Column {name} holds no numbers beside labels; choose another.")
    is_answered = np.zeros(len(confidence), dtype=bool)
    is_answered[answers.rows] = True

    # By drawn row, (m,).
    is_counted = can_accept[answers.drawn]
    return Acceptor(
        confidence=confidence[answers.drawn][is_counted],
        correct=judged.correct[is_counted],
        pool=ConfidenceHistogram.exact(confidence[can_accept]),
        rest=ConfidenceHistogram.exact(confidence[can_accept & ~is_answered]),
        answered=ConfidenceHistogram.exact(confidence[can_accept & is_answered]),
    )
