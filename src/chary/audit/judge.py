"""How good the labels in a column are, whoever made them, by a person's answers for rows drawn at random."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, Step, listed, shown
from chary.audit import figures
from chary.audit.acceptance import Acceptor, ConfidenceHistogram, check_error
from chary.audit.answers import Audit, AuditAnswers, classes_meant, match_answers
from chary.audit.blind import hidden_columns
from chary.audit.figures import Difference, Judgement, Score, Slice, pair_counts
from chary.audit.sheet import (
    MOST_SHOWN,
    SKIPPED,
    DrawnSheet,
    DrawPool,
    SheetOrigin,
    TableCells,
    as_texts,
    draw_sheet,
    origin_of,
    read_origin,
    read_sheet,
    sheet_origin,
)
from chary.options import AUDIT_SIZE, Options
from chary.tables import TableError
from chary.tables.cells import all_as_typed, filled_cells, label_texts
from chary.tables.columns import Numbers
from chary.tables.frames import from_dataframe
from chary.tables.source import Source
from chary.tables.table import blank_rows_note, can_be_text, texts
from chary.tables.target import (
    MAX_CLASSES,
    chosen_spellings,
    fold_sentences,
    is_marker,
    markers_of,
    refuse_doubtful,
)

TRUTH = "chary_truth"  # the column of a sheet that a person fills in
EMPTY = "(empty)"  # what rows without a value in the column of a slice are called
_MOST_SLICES = 200
_DIGESTED = 1_000_000  # labels that are digested at a time; how many changes the memory alone
# Of a draw from a table that chary labelled. Another than that of an audit: with the same, the
# labels would be judged by rows whose answers they were made from, and look better than they are.
_SEED_OF_OWN = 1


class LabelPair(NamedTuple):
    """Two columns of labels: who is right on the audited rows, and how far they agree on all rows."""

    first: str
    second: str
    difference: Difference  # of their accuracies
    counts: NDArray[np.int64]  # (C, C) rows of the table by what the first and the second say


class JudgedColumn(NamedTuple):
    """What an audit says of one column of labels."""

    name: str
    judgement: Judgement
    always: Score  # the accuracy, with limits that hold at whichever moment one looks
    labels: NDArray[Any]  # (k,) by audited row; None where there is none
    correct: NDArray[np.bool_]  # (k,) whether each is right; False where skipped
    n_missing: int  # rows of the table without a label, which count as wrong
    labelled: (
        Score | None
    )  # the accuracy of the labels there are, as it can be promised; None: none was audited


@dataclass(frozen=True, kw_only=True)
class JudgedTable(Audit):
    """The outcome of ``judge_table``; what ``Audit`` says is of the first column of labels."""

    tested: LabelsUnderTest
    columns: list[JudgedColumn]
    slices: dict[str, dict[Any, Slice]]  # by column, by value; of the first column of labels
    pairs: list[LabelPair]  # of two columns of labels the one pair
    notes: list[str]

    @cached_property
    def accepted(self) -> NDArray[np.bool_] | None:
        """(n,) Which rows can be accepted at the error asked for; None if none was.

        Those from a confidence on that have a label. A row that the audit found wrong is not, one
        that it found right is: that is known, whatever the confidence.
        """
        if self.asked is None:
            return None
        confidence, has_label = _confidences(self.tested)
        accepted = has_label & (confidence >= self.asked.threshold)
        accepted[self.answers.rows] = self.correct[~self.answers.skipped]
        return accepted


def draw_to_judge(
    source: Source, path: str | os.PathLike[str], options: Options, k: int = AUDIT_SIZE
) -> tuple[DrawnSheet, list[str]]:
    """Write a sheet of rows drawn at random from all rows, without the labels under test; and its classes.

    Parameters
    ----------
    source : Source
        From ``open_source``.
    path : path
        Of the sheet. A smaller one that is there is enlarged and keeps its answers.
    options : Options
        ``labels``, one or two, and ``confidence`` are columns that the sheet does not show; nor
        does it show those of ``hide``, which would betray the labels, and those that chary wrote.
        ``unlabeled`` as in ``target_labels``. ``seed``: that of the sheet that is there, and else
        0. ``force``: draw anew in place of a sheet without answers; ``discard_answers``: of any,
        keeping a copy.
    k : int
        How many rows it shall hold in the end.
    """
    tested = read_labels_under_test(source, options)
    hidden, revealing = hidden_columns(tested)
    told, draw_anew = None, options.force or options.discard_answers
    with suppress(TableError):  # nothing there, or no sheet: said where it is in the way
        told = None if draw_anew else read_origin(read_sheet(path))
    visible = _visible(source, {*hidden, *revealing}, told)
    if not visible:
        raise TableError(
            f"{source.table.name} has no column that a person could label a row by; give it one."
        )
    about = {**options.for_sheet, "options": options.to_keep("judge")}
    about |= {"judged": tuple(options.labels), "shown": tuple(visible)}
    about["digests"] = {name: tested.digest(name) for name in options.labels}
    if (
        len("".join(visible)) >= MOST_SHOWN
    ):  # too many for a sheet to remember; the hidden ones are few
        about |= {"shown": (), "hidden": tuple(revealing)}
    origin = sheet_origin(source.table, TRUTH, tested.classes, **about)
    seed, is_own = options.seed, any(name.startswith("chary_") for name in source.names)
    if seed is None and is_own and (draw_anew or not os.path.lexists(path)):
        seed = _SEED_OF_OWN
    closed = np.zeros(source.n_rows, dtype=bool)
    closed[source.blank_numbers] = True
    cells, never = cells_by_row(source, visible), frozenset({*hidden, *revealing})
    pool = DrawPool(source.table, origin, cells, closed, never)
    discard = options.discard_answers
    drawn = draw_sheet(path, pool, k, seed=seed, force=options.force, discard_answers=discard)
    return drawn._replace(hidden=tuple(revealing), shown=tuple(visible)), tested.classes


def judge_table(source: Source, truth: Any, options: Options, level: float = 0.95) -> JudgedTable:
    """Say how good labels are, by a person's answers for rows drawn at random.

    Parameters
    ----------
    source : Source
        From ``open_source``.
    truth : path or array of shape (n,)
        A sheet of ``draw_to_judge`` with a person's answers. Or answers for all rows, missing where
        nobody looked: the figures hold only if the rows looked at were drawn at random from all,
        which nothing here can check.
    options : Options
        ``labels``: one or two columns under test; a row without one counts as wrong.
        ``confidence``: a column of numbers, the larger the surer the label: which rows can be
        accepted. ``by``: accuracy for each value of these columns. ``error``: the largest share of
        wrong labels among those to be accepted, decided on beforehand; it needs ``confidence``.
        ``unlabeled`` as when the sheet was drawn.
    level : float, default=0.95
        Of the intervals; that of accepting rows is 90 %.
    """
    names, by, confidence, error = options.labels, options.by, options.confidence, options.error
    for name in [*by, *options.hide, *options.show, *filter(None, [confidence])]:
        source.column_named(name)
    check_error(error, truth)
    if error is not None and confidence is None:
        raise TableError(
            "To accept rows, name the column of their confidence with ",
            Parameter("confidence"),
            ".",
        )
    tested = read_labels_under_test(source, options)
    answers = _read_truth(truth, tested)
    cells = source.rows(answers.drawn.tolist(), list(dict.fromkeys([*names, *by])))
    columns = [_judged(name, cells[name], answers, tested, level) for name in names]
    first, n_rows, unfinished = columns[0], source.n_filled, answers.is_unfinished
    why_so_few = [answers.unfinished_sentence] if unfinished else []
    missing = [
        f"Column {shown(one.name)} has no label in {one.n_missing:,} of {n_rows:,} rows; for classes, slices and "
        "comparisons these count as wrong."
        for one in columns
        if one.n_missing
    ]
    n_blank = len(source.blank_numbers)
    blank = [blank_rows_note(n_blank)] if n_blank else []
    return JudgedTable(
        answers=answers,
        correct=first.correct,
        population=n_rows,
        level=level,
        classes={
            name: found.recall for name, found in first.judgement.classes.items() if found.recall
        },
        acceptor=None if confidence is None else _acceptor(tested, first, answers),
        error=error,
        tested=tested,
        columns=columns,
        slices={}
        if unfinished
        else {name: _slices(tested, name, cells[name], first, answers, level) for name in by},
        pairs=[]
        if unfinished or len(columns) < 2
        else [_compared(columns, tested, answers.skipped, level)],
        notes=[*why_so_few, *source.table.notes, *blank, *tested.notes, *answers.notes, *missing],
    )


# ---------------------------------------------------------------- the labels under test


class LabelsUnderTest(NamedTuple):
    """Columns with labels of all rows, whoever made them; None stands for a row without one."""

    source: Source
    options: Options
    classes: list[str]  # of all columns together, sorted
    counts: dict[str, dict[str | None, int]]  # by column: rows by class
    chosen: dict[str, str]  # by spelling: the class
    notes: list[str]  # what was folded, a sentence each

    def of(self, cells: pl.Series) -> list[str | None]:
        """The class of each cell."""
        return [self.chosen.get(text) for text in _label_texts(cells).to_list()]

    def digest(self, name: str) -> str:
        """Digest the labels of a column, row by row: another label in any row gives another digest.

        Cells that are read as the same text are the same, so that a table may be saved in another
        format.
        """
        values = self.source.counts(name)[0]
        spelled = _label_texts(values)
        distinct = sorted(set(spelled.drop_nulls()))
        code_of = {text: code for code, text in enumerate(distinct)}
        value_codes = [code_of.get(text, -1) for text in spelled.to_list()]
        digest = hashlib.sha256(json.dumps(distinct).encode())
        for part in self.source.columns([name]).iter_slices(_DIGESTED):
            codes = part[name].replace_strict(
                values, value_codes, default=-1, return_dtype=pl.Int32
            )
            digest.update(codes.to_numpy().astype("<i4").tobytes())
        return digest.hexdigest()[:32]

    def has_label(self, cells: pl.Series) -> pl.Series:
        """Whether each cell holds a class."""
        return _label_texts(cells).is_in(list(self.chosen)).fill_null(False)


def read_labels_under_test(source: Source, options: Options) -> LabelsUnderTest:
    """Classes and counts of label columns; spellings that differ in case and white space alone are one class.

    ``labels`` and ``unlabeled`` of the options count. A column may hold numbers or truth values.
    """
    markers = markers_of(options.unlabeled)
    if not 1 <= len(options.labels) <= 2 or len(set(options.labels)) < len(options.labels):
        given = listed([shown(name) for name in options.labels]) if options.labels else "none"
        raise TableError(f"Give one column of labels, or two to compare them; {given} was given.")
    names = [source.column_named(name) for name in options.labels]
    spelled: dict[str, Counter[Any]] = {}
    every: Counter[str] = Counter()
    for name in names:
        dtype = source.table.frame.schema[name]
        if not can_be_text(dtype):
            raise TableError(f"Column {shown(name)} holds {dtype}, not labels; choose another.")
        counts = spelled[name] = Counter()
        values, n_rows = source.counts(name)
        for text, n in zip(_label_texts(values).to_list(), n_rows, strict=True):
            counts[text] += n
        known = {
            text: n
            for text, n in counts.items()
            if text is not None and not is_marker(text, markers)
        }
        refuse_doubtful(name, known, bool(markers), options.classes)
        n_labels = sum(known.values())
        if not known:
            raise TableError(
                f"Column {shown(name)} holds no label in {source.n_filled:,} rows; choose another."
            )
        if len(known) > MAX_CLASSES or len(known) > max(20, n_labels / 2):
            raise TableError(
                f"Column {shown(name)} has {len(known):,} different values in {n_labels:,} rows, so it holds no "
                "classes; choose another."
            )
        every.update(known)
    chosen = chosen_spellings(every)
    found: dict[str, Counter[str | None]] = {name: Counter() for name in spelled}
    notes: list[str] = []
    for name, counts in spelled.items():
        for text, n in counts.items():
            found[name][chosen.get(text)] += n
        notes += fold_sentences(
            {text: n for text, n in counts.items() if text in chosen}, chosen, name
        )
    return LabelsUnderTest(
        source, options, sorted(set(chosen.values())), dict(found), chosen, notes
    )


def labels_of_sheet(
    source: Source, origin: SheetOrigin, numbers: Sequence[int]
) -> list[str | None]:
    """The labels under test of some rows, for who tells a person when it is enough without showing them."""
    name = origin.judged[0]
    options = replace(
        Options.kept(origin.options), labels=(name,), unlabeled=origin.unlabeled or ()
    )
    return read_labels_under_test(source, options).of(source.rows(numbers, [name])[name])


def _label_texts(cells: pl.Series) -> pl.Series:
    """Read cells as labels, without the apostrophe that chary puts before a formula in a CSV."""
    return all_as_typed(label_texts(cells))


# ---------------------------------------------------------------- the answers


def cells_by_row(source: Source, columns: Sequence[str]) -> TableCells:
    """The table behind a sheet, read by row: a token holds the row's own cells and the number of rows."""

    def checksums(cells: pl.DataFrame) -> list[str]:
        about = [n_rows, cells.columns]
        return [
            hashlib.sha256(json.dumps([*about, row]).encode()).hexdigest()
            for row in cells.iter_rows()
        ]

    name, n_rows = source.table.name, source.n_rows
    return TableCells(name, n_rows, lambda rows: as_texts(source.rows(rows, columns)), checksums)


def _visible(source: Source, hidden: set[str | None], told: SheetOrigin | None) -> list[str]:
    """List what a sheet shows: the columns that it has already, or all that are neither hidden nor by chary."""
    if told is not None:
        # What a sheet says of itself may have been edited: a column twice, or none that the table
        # has.
        shown = [name for name in dict.fromkeys(told.shown) if name in source.names]
        if shown:
            return shown
        hidden = {*hidden, *told.hidden}
    return [name for name in source.names if name not in hidden and not name.startswith("chary_")]


def _read_truth(truth: Any, tested: LabelsUnderTest) -> AuditAnswers:
    """The answers of a sheet, or those given for all rows, missing where nobody looked; see ``judge_table``."""
    source, options = tested.source, tested.options
    if isinstance(truth, (str, os.PathLike)):
        return _read_sheet(truth, tested)
    if options.annotator:
        raise TableError(
            "Answers of several people are read from sheets; pass the path of the first."
        )
    column = from_dataframe({"truth": truth})["truth"]
    if len(column) != source.n_rows:
        raise TableError(
            f"The truth has {len(column):,} values for {source.n_rows:,} rows; give one for each."
        )
    given, notes = label_texts(column), list[str]()
    counts = Counter(given.drop_nulls().to_list())
    class_of = classes_meant(counts, tested.classes, markers_of(options.unlabeled), notes)
    told = given.replace_strict(class_of, default=None, return_dtype=pl.String)
    rows = (told.is_not_null() & (told != SKIPPED)).arg_true().to_numpy().astype(np.intp)
    if len(rows) < 2:
        raise TableError(f"The truth is known for {len(rows)} rows; two at least are needed.")
    notes.insert(
        0,
        f"The figures hold only if the {len(rows):,} rows with a truth were drawn at random from all.",
    )
    return AuditAnswers.of(rows, told.gather(rows).to_numpy(), len(rows), tested.classes, notes)


def _read_sheet(path: Any, tested: LabelsUnderTest) -> AuditAnswers:
    source, options, sheet = tested.source, tested.options, read_sheet(path)
    origin = origin_of(sheet)
    if not origin.judged:
        draw_again = Step("judge", "a draw to judge labels")
        raise TableError(
            f"{sheet.name} was drawn to audit a model; draw one from all rows with ",
            draw_again,
            ".",
        )
    never = {*options.labels, options.confidence, *options.hide, *Options.kept(origin.options).hide}
    cells = cells_by_row(source, _visible(source, never, origin))
    others = [read_sheet(path) for path in options.annotator]
    markers = markers_of(options.unlabeled)
    found = match_answers(sheet, cells, TRUTH, tested.classes, markers, others=others)
    # A person could see the columns of the draw, and those that were added to a sheet.
    names = [*origin.shown, *(name for one in [sheet, *others] for name in one.frame.columns)]
    columns_shown = tuple(name for name in dict.fromkeys(names) if not name.startswith("chary_"))
    warnings = [
        f"Column {shown(name)} was shown on the sheet, so the answers may follow it: its figures may be too good."
        for name in options.labels
        if name in columns_shown
    ]
    return replace(
        found,
        warnings=[*warnings, *found.warnings],
        changed_labels=_changed_labels(tested, origin),
        columns_shown=columns_shown,
    )


def _changed_labels(tested: LabelsUnderTest, origin: SheetOrigin) -> dict[str, str]:
    """Say of which columns the labels are not known to be those that the rows were drawn for."""
    changed = {}
    for name in tested.options.labels:
        if origin.digests.get(name) == tested.digest(name):
            continue
        if name in origin.digests:
            what = f"The labels in column {shown(name)} have changed since the rows were drawn, so they may"
        else:
            what = f"The rows were not drawn for column {shown(name)}, so its labels may"
        changed[name] = (
            f"{what} have been made or corrected with the answers, and be worse than the figures say; judge the "
            "labels as they were, or draw a new sheet."
        )
    return changed


# ---------------------------------------------------------------- the figures


def _judged(
    name: str, cells: pl.Series, answers: AuditAnswers, tested: LabelsUnderTest, level: float
) -> JudgedColumn:
    labels, counts, skipped = (
        np.array(tested.of(cells), dtype=object),
        tested.counts[name],
        answers.skipped,
    )
    judgement = figures.judge_labels(answers.truth, labels, counts, skipped=skipped, level=level)
    correct = ~skipped & (labels == answers.truth)
    always = figures.promised_score(correct, skipped, sum(counts.values()), level, stopped=True)
    has, n_labels = labels != None, sum(counts.values()) - counts.get(None, 0)  # noqa: E711 - of each
    about: dict[str, Any] = {"population": n_labels, "level": level, "stopped": answers.stopped}
    labelled = figures.promised_score(correct[has], skipped[has], **about) if has.any() else None
    if answers.is_unfinished:
        judgement = Judgement(always, classes={}, confusions={}, kappa=None)
    return JudgedColumn(name, judgement, always, labels, correct, counts.get(None, 0), labelled)


def _compared(
    columns: Sequence[JudgedColumn],
    tested: LabelsUnderTest,
    skipped: NDArray[np.bool_],
    level: float,
) -> LabelPair:
    """Compare two columns of labels."""
    one, other = columns
    source = tested.source
    differs = one.labels != other.labels
    # Where both say the same, a skipped row makes no difference, whatever it is.
    difference = figures.difference(
        one.correct, other.correct, source.n_filled, level, skipped=skipped & differs
    )
    both = (
        source.filled_columns([one.name, other.name])
        .group_by(one.name, other.name)
        .len("chary_rows")
    )
    said = [tested.of(both[column.name]) for column in (one, other)]
    counts = pair_counts(said[0], said[1], tested.classes, both["chary_rows"].to_numpy())
    return LabelPair(one.name, other.name, difference, counts)


def _slices(
    tested: LabelsUnderTest,
    name: str,
    cells: pl.Series,
    judged: JudgedColumn,
    answers: AuditAnswers,
    level: float,
) -> dict[Any, Slice]:
    """Accuracy by value of a column; the level is shared by all columns that were asked for."""
    values, counts = tested.source.counts(name)
    if len(values) > _MOST_SLICES:
        raise TableError(
            f"Column {shown(name)} has {len(values):,} different values, more than {_MOST_SLICES}."
        )
    rows, own = dict(zip(_named(values), counts, strict=True)), _named(cells)
    about: dict[str, Any] = {
        "skipped": answers.skipped,
        "level": level,
        "n_columns": len(tested.options.by),
    }
    return figures.slice_scores(judged.correct, own, rows, **about)


def _named(cells: pl.Series) -> list[str]:
    return [EMPTY if text is None or not text.strip() else text for text in texts(cells).to_list()]


def _acceptor(tested: LabelsUnderTest, judged: JudgedColumn, answers: AuditAnswers) -> Acceptor:
    """Of rows that have a label and a confidence; skipped ones are wrong."""
    every, has_label = _confidences(tested)
    has_label &= np.isfinite(every)
    if not has_label.any():
        name = shown(tested.options.confidence)
        raise TableError(f"Column {name} holds no numbers beside labels; choose another.")
    rows = answers.drawn
    counted = has_label[rows]
    is_answered = np.zeros(len(every), dtype=bool)
    is_answered[answers.rows] = True
    return Acceptor(
        confidence=every[rows][counted],
        correct=judged.correct[counted],
        pool=ConfidenceHistogram.exact(every[has_label]),
        rest=ConfidenceHistogram.exact(every[has_label & ~is_answered]),
        answered=ConfidenceHistogram.exact(every[has_label & is_answered]),
    )


def _confidences(tested: LabelsUnderTest) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(n,) The confidence of every row, NaN where there is none, and whether it has a label."""
    confidence, labels = str(tested.options.confidence), tested.options.labels[0]
    cells = tested.source.columns(list(dict.fromkeys([confidence, labels])))
    read = Numbers().find(
        filled_cells(cells[confidence]), forced=True
    )  # as a column to learn from: 0,74 or 74 %
    if read is None:
        raise TableError(f"Column {shown(confidence)} holds no numbers; choose another.")
    return Numbers().read(cells[confidence], read)[:, 0], tested.has_label(cells[labels]).to_numpy()
