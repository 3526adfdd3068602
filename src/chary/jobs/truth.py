"""A table with labels under test, and a sheet, a column or an array of answers, in; audited rows, truth out."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Step, shown
from chary.evaluation import draw
from chary.method import Labels
from chary.tables import (
    SKIPPED,
    AuditAnswers,
    Behind,
    DrawnFrom,
    Scan,
    TableError,
    Tested,
    as_texts,
    from_dataframe,
    known_class,
    label_texts,
    match_answers,
    origin_of,
    progress_notes,
    read_sheet,
)

TRUTH = "chary_truth"  # the column that a person fills in


class Audited(NamedTuple):
    """The rows that a person looked at, and what they said of each."""

    rows: NDArray[np.intp]  # drawn, in order, up to the last one answered
    truth: NDArray[Any]  # (k,) None where skipped
    skipped: NDArray[np.bool_]
    answers: AuditAnswers
    stopped: bool
    notes: list[str]
    warnings: list[str]


def read_truth(
    scan: Scan,
    names: Sequence[str],
    truth: Any,
    tested: Tested,
    unlabeled: str | Sequence[str] | None,
    exact_labels: bool,
    confidence: str | None,
) -> Audited:
    """The answers of a sheet, or those given for all rows, missing where nobody looked; see ``judge_table``."""
    is_name = isinstance(truth, str) and truth in scan.names
    if isinstance(truth, (str, os.PathLike)) and not is_name:
        return _read_sheet(scan, names, truth, tested, unlabeled, exact_labels, confidence)
    if is_name and truth in names:
        raise TableError(f"Column {shown(truth)} holds the labels under test; the truth must come from elsewhere.")
    column = scan.columns([truth])[truth] if is_name else from_dataframe({"truth": truth})["truth"]
    return _read_values(scan, column, tested, unlabeled)


def behind_scan(scan: Scan, columns: Sequence[str]) -> Behind:
    """The table behind a sheet, read by row: a token holds the row's own cells and the number of rows."""

    def checksums(cells: pl.DataFrame) -> list[str]:
        about = [scan.n_rows, cells.columns]
        return [hashlib.sha256(json.dumps([*about, row]).encode()).hexdigest() for row in cells.iter_rows()]

    return Behind(scan.table.name, scan.n_rows, lambda rows: as_texts(scan.rows(rows, columns)), checksums)


def _read_sheet(
    scan: Scan,
    names: Sequence[str],
    path: str | os.PathLike[str],
    tested: Tested,
    unlabeled: str | Sequence[str] | None,
    exact_labels: bool,
    confidence: str | None,
) -> Audited:
    sheet, notes = read_sheet(path)
    origin = origin_of(sheet)
    if origin is not None and not origin.judged:
        raise TableError(
            f"{sheet.name} was drawn from rows without a label, to audit a model; draw one from all rows with ",
            Step("judge", "a draw to judge labels"),
            ".",
        )
    hidden = {*names, *([] if confidence is None else [confidence])}
    visible = [name for name in scan.names if name not in hidden and not name.startswith("chary_")]
    if origin is not None and origin.shown:
        visible = [name for name in origin.shown if name in scan.names]
    behind = behind_scan(scan, visible)
    known, markers = _known(tested), _markers(unlabeled)
    answers = match_answers(sheet, behind, TRUTH, known, markers, exact_labels=exact_labels)
    rows = _in_order(answers, origin, scan.n_rows, sheet.name)
    given = dict(zip(answers.rows.tolist(), answers.labels.tolist(), strict=True))
    told = np.array([given.get(row) for row in rows.tolist()], dtype=object)
    swayed = [name for name in names if origin is not None and name in origin.shown]
    warnings = [
        f"Column {shown(name)} was shown on the sheet, so the answers may follow it: its figures may be too good."
        for name in swayed
    ]
    skipped = np.array([row not in given for row in rows.tolist()])
    every = [*notes, *answers.notes, *progress_notes(answers)]
    return Audited(
        rows, told, skipped, answers, bool(origin and origin.stopped), list(dict.fromkeys(every)), warnings
    )


def _in_order(answers: AuditAnswers, origin: DrawnFrom | None, n_rows: int, name: str) -> NDArray[np.intp]:
    """Rows drawn, in order, up to the last answered; those removed from the file are drawn again, and the same."""
    last = len(answers.rows) + answers.n_skipped
    if len(answers.seen) < last:
        seed = origin.seed if origin is not None and origin.seed is not None else 0
        whole = draw(np.zeros(n_rows, dtype=bool), answers.n_drawn, seed)
        if any(whole[place - 1] != row for place, row in answers.seen.items()):
            raise TableError(
                f"{last - len(answers.seen)} rows were removed from {name}, and nothing tells which; put them "
                "back, and leave those empty that you cannot label."
            )
        return whole[:last]
    return np.array([answers.seen[place] for place in sorted(answers.seen)], dtype=np.intp)


def _read_values(scan: Scan, column: pl.Series, tested: Tested, unlabeled: str | Sequence[str] | None) -> Audited:
    """Answers for all rows, missing where nobody looked."""
    if len(column) != scan.n_rows:
        raise TableError(
            f"The truth has {len(column):,} values and the table {scan.n_rows:,} rows; give one for each row."
        )
    texts = label_texts(column)
    notes: list[str] = []
    known, markers = _known(tested), _markers(unlabeled)
    read = {text: known_class(text, known, notes, markers) for text in texts.unique().drop_nulls()}
    told = texts.replace_strict(read, default=None, return_dtype=pl.String)
    rows = (told.is_not_null() & (told != SKIPPED)).arg_true().to_numpy().astype(np.intp)
    if len(rows) < 2:
        raise TableError(f"The truth is known for {len(rows)} rows; two at least are needed.")
    answers = told.gather(rows).to_list()
    new = Counter(text for text in answers if text not in set(tested.classes))
    found = AuditAnswers(rows, np.array(answers), len(rows), 0, 0, dict(new))
    note = (
        f"The truth was given for {len(rows):,} rows: the figures hold if these were drawn at random from all "
        f"{scan.n_rows:,}, which cannot be seen from here."
    )
    nobody = np.zeros(len(rows), dtype=bool)
    return Audited(rows, np.array(answers, dtype=object), nobody, found, False, [note, *notes], [])


def _known(tested: Tested) -> Labels:
    return Labels(np.array(tested.classes), np.empty(0, dtype=np.intp), np.empty(0, dtype=bool))


def _markers(unlabeled: str | Sequence[str] | None) -> tuple[str, ...]:
    return (unlabeled,) if isinstance(unlabeled, str) else tuple(unlabeled or ())
