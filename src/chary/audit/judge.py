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
from chary._words import Parameter, shown
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
    difference,
    judge_labels,
    one_label_for_all,
    pair_counts,
    promised_score,
    slice_scores,
)
from chary.audit.judged_answers import TRUTH, cells_by_row, columns_of_sheet, read_truth
from chary.audit.labels_under_test import LabelsUnderTest, read_labels_under_test
from chary.audit.origin import read_origin, sheet_origin
from chary.audit.sheet import DrawPool, read_sheet
from chary.options import AUDIT_SIZE, JudgeOptions
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
    """Two columns of labels: which is more accurate, and how far they agree on all rows."""

    first: str
    second: str
    difference: Difference  # of their accuracies
    counts: NDArray[np.int64]  # (C, C) rows of the table by the label of the first and the second


class JudgedColumn(NamedTuple):
    """What an audit says of one column of labels."""

    name: str
    judgement: Judgement
    always: Score  # the accuracy, with limits that hold at any moment of the labelling
    labels: Array  # (m,) by drawn row; None for a row without a label
    correct: Mask  # (m,) whether each label is right; False where the row was skipped
    n_missing: int  # rows of the table without a label, which count as wrong
    # The accuracy among the rows that have a label; None: no such row was audited.
    labelled: Score | None
    baseline: Baseline | None  # beside one label for all rows; None: the audit is unfinished


@dataclass(frozen=True, kw_only=True)
class JudgedTable(Audit):
    """The outcome of ``judge_table``; the fields of ``Audit`` are of the first column of labels."""

    tested: LabelsUnderTest
    columns: list[JudgedColumn]
    # For each column of ``by`` and each of its values: the accuracy of the first column of labels.
    slices: dict[str, dict[Any, Slice]]
    pairs: list[LabelPair]  # one pair if there are two columns of labels
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
    return drawn._replace(hidden=tuple(revealing), shown=tuple(columns)), tested.classes


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
    if not answers.is_unfinished:
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
        notes=_notes(tested, answers, columns),
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
    for column in columns:
        if column.n_missing:
            notes.append(
                f"Column {shown(column.name)} has no label in {column.n_missing:,} of "
                f"{source.n_filled:,} rows; for classes, slices and comparisons these count as "
                "wrong."
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

    # The accuracy among the rows that have a label.
    labelled = None
    has_label = labels != None  # noqa: E711 (elementwise)
    if has_label.any():
        labelled = promised_score(
            correct[has_label],
            skipped[has_label],
            n_rows - n_missing,
            level,
            stopped=answers.stopped,
        )

    # While the audit is unfinished, only the accuracy can be promised.
    if answers.is_unfinished:
        judgement = Judgement(always, classes={}, confusions={}, kappa=None)
        baseline = None
    else:
        judgement = judge_labels(answers.truth, labels, counts, skipped=skipped, level=level)
        shares = {name: figures.share for name, figures in judgement.classes.items()}
        baseline = one_label_for_all(answers.truth, labels, shares, skipped=skipped)
    return JudgedColumn(
        cells.name, judgement, always, labels, correct, n_missing, labelled, baseline
    )


def _compare(
    columns: Sequence[JudgedColumn], tested: LabelsUnderTest, answers: AuditAnswers, level: float
) -> LabelPair:
    """Compare two columns of labels: their accuracies, and their labels in the whole table."""
    first, second = columns
    # A skipped row with the same label in both columns makes no difference, whatever its class.
    may_matter = answers.skipped & (first.labels != second.labels)  # (m,)
    accuracy_difference = difference(
        first.correct, second.correct, tested.source.n_filled, level, skipped=may_matter
    )

    # The rows of the table are counted by pair of cells, and the counts then added up by pair of
    # classes: different cells, such as "Spam" and "spam", may be one class.
    names = [first.name, second.name]
    cell_pairs = tested.source.filled_columns(names).group_by(names).len("chary_rows")
    counts = pair_counts(
        tested.of(cell_pairs[first.name]),
        tested.of(cell_pairs[second.name]),
        tested.classes,
        weights=cell_pairs["chary_rows"],
    )
    return LabelPair(first.name, second.name, accuracy_difference, counts)


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
