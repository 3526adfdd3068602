"""A table with labels that anybody made, and answers for random rows, in; how good the labels are out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, shown
from chary.evaluation import (
    Acceptance,
    Difference,
    Judgement,
    Slice,
    accept_threshold,
    difference,
    judge_labels,
    sequence,
    slice_scores,
    smallest_audit,
)
from chary.jobs.acceptance import check_error
from chary.jobs.audit import ERRORS, LEVEL
from chary.jobs.drawing import DrawnSheet, draw_sheet
from chary.jobs.truth import TRUTH, Audited, behind_scan, read_truth
from chary.tables import (
    AuditAnswers,
    DrawnFrom,
    Scan,
    TableError,
    Tested,
    origin_of,
    read_sheet,
    read_tested,
    scanned_column,
    texts,
)

EMPTY = "(empty)"  # what rows without a value in the column of a slice are called
_MOST_SLICES = 200
# Of a draw from a table that chary labelled. Another than that of an audit: with the same, the labels would be
# judged by rows whose answers they were made from, and look better than they are.
_SEED_OF_OWN = 1


class JudgedColumn(NamedTuple):
    """What an audit says of one column of labels."""

    name: str
    judgement: Judgement
    always: tuple[float, float]  # limits of the accuracy that hold at whichever moment one looks
    correct: NDArray[np.bool_]  # (k,) by audited row; False where skipped
    n_missing: int  # rows of the table without a label, which count as wrong


class Weighed(NamedTuple):
    """Rows with a label and a confidence: what tells which can be accepted at an error, whichever is asked for."""

    confidence: NDArray[np.float64]  # of the audited ones
    correct: NDArray[np.bool_]
    pool: NDArray[np.float64]  # confidence of all

    def at(self, error: float) -> Acceptance:
        """The rows to accept with at most so many wrong."""
        return accept_threshold(self.confidence, self.correct, self.pool, error, LEVEL)


@dataclass(frozen=True)
class JudgedTable:
    """The outcome of ``judge_table``."""

    scan: Scan
    columns: list[JudgedColumn]
    rows: NDArray[np.intp]  # (k,) audited rows, skipped ones included, in the order of the draw
    skipped: NDArray[np.bool_]  # (k,)
    answers: AuditAnswers
    slices: dict[str, dict[Any, Slice]]  # by column, by value; of the first column of labels
    difference: Difference | None  # the first column of labels against the second
    confidence: str | None
    acceptances: list[Acceptance]  # at each of ERRORS, of the first column
    asked: Acceptance | None  # at the error asked for
    stopped: bool  # whether the person was told when it was enough: then ``always`` is what holds
    weighed: Weighed | None  # what the acceptances rest on; None: there is no confidence
    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.scan.n_rows

    @property
    def needed(self) -> list[int]:
        """For each of ERRORS, the fewest audited rows with which any row could be accepted."""
        return [smallest_audit(error, LEVEL) for error in ERRORS]

    def accepted(self) -> NDArray[np.bool_] | None:
        """(n,) Which rows can be accepted at the error asked for; None if none was.

        Those from a confidence on that have a label. A row that the audit found wrong is not, one that it found
        right is: that is known, whatever the confidence.
        """
        if self.asked is None or self.confidence is None:
            return None
        confidence, has_label = _confidences(self.scan, self.confidence, self.columns[0].name, self.settings)
        accepted = has_label & (confidence >= self.asked.threshold)
        known = ~self.skipped
        accepted[self.rows[known]] = self.columns[0].correct[known]
        return accepted


def draw_to_judge(
    scan: Scan,
    labels: Sequence[str],
    path: str | os.PathLike[str],
    k: int = 30,
    *,
    confidence: str | None = None,
    hide: Sequence[str] = (),
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    seed: int | None = None,
    overwrite: bool = False,
) -> tuple[DrawnSheet, list[str]]:
    """Write a sheet of rows drawn at random from all rows, without the labels under test; and its classes.

    Parameters
    ----------
    scan : Scan
        From ``scan_table``.
    labels : one or two column names
        The labels under test, which the sheet does not show; nor does it show columns that chary wrote.
    path : path
        Of the sheet. A smaller one that is there is enlarged and keeps its answers.
    k : int
        How many rows it shall hold in the end.
    confidence : str, default=None
        The column with the confidence in the labels, which is not shown either.
    hide : column names, default=()
        Others that would betray the labels, such as the reasons given for them.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells.
    exact_labels : bool, default=False
        Whether labels that differ in nothing but case and white space are different classes.
    seed : int, default=None
        None: that of the sheet that is there, and else 0.
    overwrite : bool, default=False
        Whether to draw anew in place of what is there.
    """
    tested = read_tested(scan, _label_columns(scan, labels), unlabeled, exact_labels=exact_labels)
    hidden = {*labels, *hide, *([] if confidence is None else [confidence])}
    for name in hidden:
        scanned_column(scan, name)
    visible = [name for name in scan.names if name not in hidden and not name.startswith("chary_")]
    if not overwrite:
        visible = _as_before(path, scan, visible)
    if not visible:
        raise TableError(f"{scan.table.name} has no column that a person could label a row by; give it one.")
    table = scan.table
    origin = DrawnFrom(
        TRUTH,
        tested.classes,
        unlabeled=(unlabeled,) if isinstance(unlabeled, str) else None if unlabeled is None else tuple(unlabeled),
        says_unlabeled=True,
        table=table.path,
        read_with=dict(table.read_with),
        more_tables=table.more_paths,
        exact_labels=exact_labels,
        judged=tuple(labels),
        shown=tuple(visible),
    )
    closed = np.zeros(scan.n_rows, dtype=bool)
    is_own = any(name.startswith("chary_") for name in scan.names)
    if seed is None and is_own and (overwrite or not os.path.lexists(path)):
        seed = _SEED_OF_OWN
    drawn = draw_sheet(path, table, origin, behind_scan(scan, visible), closed, k, seed=seed, overwrite=overwrite)
    return drawn, tested.classes


def judge_table(
    scan: Scan,
    labels: Sequence[str],
    truth: Any,
    *,
    confidence: str | None = None,
    by: Sequence[str] = (),
    error: float | None = None,
    unlabeled: str | Sequence[str] | None = None,
    exact_labels: bool = False,
    level: float = 0.95,
) -> JudgedTable:
    """Say how good labels are, by a person's answers for rows drawn at random.

    Parameters
    ----------
    scan : Scan
        From ``scan_table``.
    labels : one or two column names
        The labels under test. A row without one counts as wrong.
    truth : path, column name or array of shape (n,)
        A sheet of ``draw_to_judge`` with a person's answers. Or answers for all rows, missing where nobody looked:
        the figures hold only if the rows looked at were drawn at random from all, which nothing here can check.
    confidence : str, default=None
        A column of numbers, the larger the surer the label: which rows can be accepted.
    by : column names, default=()
        Accuracy for each value of these.
    error : float, default=None
        The largest share of wrong labels among those to be accepted, decided on beforehand. Needs ``confidence``.
    unlabeled : str or sequence of str, default=None
        Cell values that mean "no label", besides empty cells; the same as when the sheet was drawn.
    exact_labels : bool, default=False
        Whether labels that differ in nothing but case and white space are different classes; likewise.
    level : float, default=0.95
        Of the intervals; that of accepting rows is 90 %.
    """
    names = _label_columns(scan, labels)
    for name in [*by, *([] if confidence is None else [confidence])]:
        scanned_column(scan, name)
    check_error(error, truth)
    if error is not None and confidence is None:
        raise TableError(
            "Which rows can be accepted at an error, their order by confidence tells; name its column with ",
            Parameter("confidence"),
            ".",
        )
    tested = read_tested(scan, names, unlabeled, exact_labels=exact_labels)
    settings = {"unlabeled": unlabeled, "exact_labels": exact_labels, "level": level}
    audit = read_truth(scan, names, truth, tested, unlabeled, exact_labels, confidence)
    cells = scan.rows(
        audit.rows.tolist(), list(dict.fromkeys([*names, *by, *([confidence] if confidence else [])]))
    )
    columns = [_judged(name, cells[name], audit, tested, scan.n_rows, level) for name in names]
    first = columns[0]
    weighed = None if confidence is None else _weighed(scan, confidence, first, audit, settings)
    return JudgedTable(
        scan=scan,
        columns=columns,
        rows=audit.rows,
        skipped=audit.skipped,
        answers=audit.answers,
        slices={name: _slices(scan, name, cells[name], first, audit, level, len(by)) for name in by},
        difference=difference(first.correct, columns[1].correct, scan.n_rows, level) if len(columns) > 1 else None,
        confidence=confidence,
        acceptances=[] if weighed is None else [weighed.at(one) for one in ERRORS],
        asked=None if weighed is None or error is None else weighed.at(error),
        stopped=audit.stopped,
        weighed=weighed,
        settings=settings,
        notes=[*scan.table.notes, *tested.notes, *audit.notes, *_missing_notes(columns)],
        warnings=[*audit.warnings, *_new_classes(audit.answers, names)],
    )


def _as_before(path: str | os.PathLike[str], scan: Scan, visible: list[str]) -> list[str]:
    """The columns that a sheet shows which is there already: rows added to it show the same."""
    try:
        told = origin_of(read_sheet(path)[0])
    except TableError:  # nothing there, or no sheet: said where it is in the way
        return visible
    return [name for name in told.shown if name in scan.names] if told and told.shown else visible


def labels_of_sheet(scan: Scan, origin: DrawnFrom, numbers: Sequence[int]) -> list[str | None]:
    """The labels under test of some rows, for who tells a person when it is enough without showing them."""
    name = origin.judged[0]
    tested = read_tested(scan, [name], origin.unlabeled, exact_labels=origin.exact_labels)
    return tested.of(scan.rows(numbers, [name])[name])


# ---------------------------------------------------------------- the figures


def _label_columns(scan: Scan, labels: Sequence[str]) -> list[str]:
    names = [labels] if isinstance(labels, str) else list(labels)
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
        raise TableError(f"One column of labels can be judged, or two compared; {len(names)} were given.")
    return [scanned_column(scan, name) for name in names]


def _judged(
    name: str, cells: pl.Series, audit: Audited, tested: Tested, n_rows: int, level: float
) -> JudgedColumn:
    labels = np.array(tested.of(cells), dtype=object)
    counts = tested.counts[name]
    judgement = judge_labels(audit.truth, labels, counts, skipped=audit.skipped, level=level)
    correct = ~audit.skipped & np.array(
        [a is not None and a == b for a, b in zip(labels, audit.truth, strict=True)]
    )
    low, high = sequence(correct, n_rows, level, skipped=audit.skipped)
    return JudgedColumn(name, judgement, (float(low[-1]), float(high[-1])), correct, counts.get(None, 0))


def _slices(
    scan: Scan, name: str, cells: pl.Series, judged: JudgedColumn, audit: Audited, level: float, n_columns: int
) -> dict[Any, Slice]:
    """Accuracy by value of a column; the level is shared by all columns that were asked for."""
    values, counts = scan.counts(name)
    if len(values) > _MOST_SLICES:
        raise TableError(
            f"Column {shown(name)} has {len(values):,} different values, too many to look at each; give one with "
            f"{_MOST_SLICES} or fewer."
        )
    rows = dict(zip(_named(values), counts, strict=True))
    found = slice_scores(
        judged.correct,
        np.array(_named(cells), dtype=object),
        rows,
        skipped=audit.skipped,
        level=1 - (1 - level) / n_columns,
    )
    return {
        value: part if part.p_value is None else part._replace(p_value=min(1.0, n_columns * part.p_value))
        for value, part in found.items()
    }


def _named(cells: pl.Series) -> list[str]:
    return [EMPTY if text is None or not text.strip() else text for text in texts(cells).to_list()]


def _weighed(
    scan: Scan, confidence: str, judged: JudgedColumn, audit: Audited, settings: dict[str, Any]
) -> Weighed:
    """Rows that have a label and a confidence; skipped ones are wrong."""
    every, has_label = _confidences(scan, confidence, judged.name, settings)
    own = every[audit.rows]
    counted = has_label[audit.rows] & np.isfinite(own)
    pool = every[has_label & np.isfinite(every)]
    if not len(pool):
        raise TableError(
            f"Column {shown(confidence)} holds no numbers beside labels; give the one with the confidence."
        )
    return Weighed(own[counted], judged.correct[counted], pool)


def _confidences(
    scan: Scan, confidence: str, labels: str, settings: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(n,) The confidence of every row, NaN where there is none, and whether it has a label."""
    cells = scan.columns(list(dict.fromkeys([confidence, labels])))
    dtype = cells.schema[confidence]
    if not (dtype.is_numeric() or dtype in (pl.String, pl.Boolean)):
        raise TableError(
            f"Column {shown(confidence)} holds {dtype}, no numbers; give the one with the confidence."
        )
    numbers = cells[confidence].cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    tested = read_tested(scan, [labels], settings["unlabeled"], exact_labels=settings["exact_labels"])
    return numbers, tested.has_label(cells[labels]).to_numpy()


def _missing_notes(columns: Sequence[JudgedColumn]) -> list[str]:
    return [
        f"{column.n_missing:,} rows have no label in column {shown(column.name)}; they count as wrong."
        for column in columns
        if column.n_missing
    ]


def _new_classes(answers: AuditAnswers, names: Sequence[str]) -> list[str]:
    where = f"column {shown(names[0])}" if len(names) == 1 else "either column"
    return [
        f"NEW CLASS: the answers hold {shown(name)} in {count} row{'s' * (count > 1)}, and no label in {where} is."
        for name, count in answers.new_classes.items()
    ]
