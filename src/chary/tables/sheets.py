"""A table in, a file of random rows for a person to label out; that file, filled in, back to rows and labels.

The file is made for spreadsheets, so reading it back relies on two columns only, whatever else was done to it:
``chary_row`` says which row of which table it is, and the target column holds the answers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, Step, shown
from chary.method import Labels
from chary.tables.errors import EncodingError, TableError
from chary.tables.missing import is_no_answer
from chary.tables.reading import read_table
from chary.tables.spellings import chosen_spellings, folded, is_marker, markers_of
from chary.tables.table import MAX_COLUMNS, Table, column_named, has_texts
from chary.tables.writing import as_typed, write_table

ROW, CLASSES, GUESS = "chary_row", "chary_classes", "chary_guess"
SKIPPED = "?"

# In the cells of CLASSES, after the target and its classes.
_UNLABELED, _TABLE, _READ_WITH = "chary_unlabeled", "chary_table", "chary_read_with"
_EXACT = "chary_exact_labels"
# Older files hold the words of the command line instead, a name and a value after each other.
_OPTIONS = "chary_options"
_PARAMETERS = ("delimiter", "encoding", "sheet")  # of ``read_table``

# Place in the draw, number of rows drawn, row of the table, checksum of all that: text to any spreadsheet.
_TOKEN = re.compile(r"(\d{1,9})/(\d{1,9}): row (\d{1,12}) of x[0-9a-f]{10}")


@dataclass(frozen=True)
class AuditAnswers:
    """What a person said of randomly drawn rows."""

    rows: NDArray[np.intp]  # (k,) row numbers in the table, those with an answer
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


class DrawnFrom(NamedTuple):
    """What an audit file says of where it comes from."""

    target: str
    classes: list[str]  # known when it was drawn
    unlabeled: tuple[str, ...] | None  # as given to ``target_labels``
    says_unlabeled: bool  # whether the file says so; older ones do not
    table: str  # path as typed; empty if unknown
    read_with: dict[str, str]  # the parameters to read it with
    more_tables: tuple[str, ...] = ()  # paths, where several files were one table
    exact_labels: bool = False

    @property
    def markers(self) -> tuple[str, ...]:
        """The labels that stand for none."""
        return markers_of(self.unlabeled)


def write_audit(
    table: Table,
    target: str,
    labels: Labels,
    rows: NDArray[np.intp],
    file: BinaryIO,
    guesses: Mapping[str, Any] | None = None,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
) -> None:
    """Write the drawn rows with an empty target column for a person to fill in.

    Parameters
    ----------
    table, target, labels
        The table, its target column and what ``target_labels`` made of it.
    rows : (k,) row numbers
        From ``chary.evaluation.audit.draw``, in the order in which they shall be labelled.
    file : binary file
    guesses : mapping of column name to k values, default=None
        Columns with a model's opinion, which sway whoever sees them.
    unlabeled : str or sequence of str, default=None
        As given to ``target_labels``. The rows drawn are random among those it calls unlabelled, so the file is
        of use only with the same.
    exact_labels : bool, default=False
        As given to ``target_labels``; kept for the next command.
    """
    taken = [name for name in (ROW, CLASSES, GUESS) if name in table.frame.columns]
    if taken:
        raise TableError(
            f"{table.name} already has a column {shown(taken[0])}, written by chary; remove or rename it."
        )
    checksum, k = table_checksum(table, target), len(rows)
    others = table.frame.select(pl.exclude(target))[rows]
    added = {target: pl.Series([None] * k, dtype=pl.String), **(guesses or {}), **_texts(others).to_dict()}
    about = {
        target: labels.classes.tolist(),
        _UNLABELED: unlabeled if unlabeled is None or isinstance(unlabeled, str) else list(unlabeled),
        _TABLE: [table.path, *table.more_paths] if table.more_paths else table.path,
        _READ_WITH: dict(table.read_with),
        **({_EXACT: True} if exact_labels else {}),
    }
    added[CLASSES] = pl.Series([json.dumps(about, ensure_ascii=False)] * k)
    if len(added) + 1 > MAX_COLUMNS:
        raise TableError(
            f"An audit file of {table.name} would have {len(added) + 1:,} columns, and chary reads up to "
            f"{MAX_COLUMNS:,}; leave some out of the table."
        )
    tokens = [_token(i, k, row + 1, checksum) for i, row in enumerate(rows.tolist(), start=1)]
    delimiter = table.delimiter if table.delimiter in (",", ";") else ","  # what a .csv is opened with
    write_table(Table(pl.DataFrame({ROW: tokens}), table.name, delimiter, table.bom), added, file)


def read_audit(
    path: str | os.PathLike[str],
    table: Table,
    target: str,
    labels: Labels,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
) -> AuditAnswers:
    """Read the answers back and match them with the table they were drawn from.

    Answers that differ in nothing but case and white space are one class, unless ``exact_labels`` says otherwise
    and both are known. Rows may come in any order, with other columns added, removed or retyped, in another
    delimiter, some not answered. What cannot be understood is refused with a ``TableError``.
    """
    audit, notes = read_audit_table(path)
    drawn, n_drawn = _drawn_rows(audit, table, target, notes)
    markers = markers_of(unlabeled)
    _check_markers(audit, markers)
    texts = {place: _known(row.answer, labels, notes, markers) for place, row in drawn.items()}
    if not exact_labels:
        texts = _with_new_classes_folded(texts, labels, notes)
    places = [place for place, text in sorted(texts.items()) if text not in ("", SKIPPED)]
    if len(places) < 2:
        found = "One row" if places else "No row"
        fill = Step("fill", f"fill in column {shown(target)}.", audit.path)
        raise TableError(f"{found} of {audit.name} has a label; at least two are needed: ", fill)
    rows = np.array([drawn[place].number for place in places], dtype=np.intp)
    answers = np.array([texts[place] for place in places])
    _check_given(rows, answers, labels, audit.name)
    unknown = [text for text in answers.tolist() if text not in set(labels.classes.tolist())]
    last = max([*places, *(place for place, text in texts.items() if text == SKIPPED)])
    n_skipped, n_left = last - len(places), n_drawn - last
    if n_left:
        notes.append(f"{n_left} of the {n_drawn} rows drawn have no label yet.")
    if n_skipped:
        notes.append(
            f"{n_skipped} of the {n_drawn} rows drawn were skipped; what is hard for a person is often hard for a "
            "model, so the figures may be too good."
        )
    new = Counter(unknown)
    warnings = [_new_class(name, count, labels) for name, count in new.items()]
    skipped = [row.number for place, row in sorted(drawn.items()) if place <= last and place not in set(places)]
    return AuditAnswers(
        rows,
        answers,
        n_drawn,
        n_skipped,
        n_left,
        dict(new),
        list(dict.fromkeys(notes)),
        warnings,
        np.array(skipped, dtype=np.intp),
    )


def read_audit_table(path: str | os.PathLike[str]) -> tuple[Table, list[str]]:
    """The file as it is, and a note if it was read in the encoding of older spreadsheets."""
    notes = []
    try:
        audit = read_table(path)
    except EncodingError:
        audit = read_table(path, encoding="cp1252")
        notes = [f"{audit.name} is not UTF-8 and was read as cp1252, as some spreadsheets write it."]
    if ROW not in audit.frame.columns:
        raise TableError(
            f"{audit.name} has no column {shown(ROW)}, which says which row is which; it was not written by ",
            Step("draw", "a draw of random rows"),
            ", or the column was removed: draw again, or put it back.",
        )
    return audit, notes


def table_checksum(table: Table, target: str) -> str:
    """A number that changes with any cell outside the target column, and with the order of rows and columns."""
    digest = hashlib.sha256()
    others = _texts(table.frame.select(pl.exclude(target)))
    digest.update(json.dumps(others.columns).encode())
    for part in others.iter_slices(50_000):
        digest.update(part.write_csv(include_header=False).encode())
    return digest.hexdigest()


def drawn_from(audit: Table) -> DrawnFrom:
    """What an audit file says of the table it was drawn from."""
    cells = audit.frame[CLASSES].drop_nulls() if CLASSES in audit.frame.columns else pl.Series([], dtype=pl.String)
    try:
        found = json.loads(cells[0])
        (target, classes), *_ = found.items()
        classes = [str(name) for name in classes]
        unlabeled, tables, read_with = _texts_in(found, _UNLABELED), _texts_in(found, _TABLE), _told_to_read(found)
    except (IndexError, ValueError, AttributeError, TypeError, RecursionError):
        raise TableError(
            f"{audit.name} has no usable column {shown(CLASSES)}, which tells the target and its classes; fill in "
            "the target column in a spreadsheet, or draw again."
        ) from None
    return DrawnFrom(
        column_named(audit, str(target)),
        classes,
        unlabeled=unlabeled,
        says_unlabeled=_UNLABELED in found,
        table=tables[0] if tables else "",
        read_with=read_with,
        more_tables=tables[1:] if tables else (),
        exact_labels=bool(found.get(_EXACT)),
    )


def with_answers(audit: Table, target: str, answers: list[str], file: BinaryIO) -> None:
    """Write an audit file again, with these answers in its target column and all else as it was."""
    write_table(audit, {target: pl.Series([answer or None for answer in answers], dtype=pl.String)}, file)


def _texts_in(about: dict[str, Any], key: str) -> tuple[str, ...] | None:
    """One text, as older files have it, or several; None where there is none."""
    found = about.get(key)
    return None if found is None else tuple(map(str, found)) if isinstance(found, list) else (str(found),)


def _told_to_read(about: dict[str, Any]) -> dict[str, str]:
    words = [str(word) for word in about.get(_OPTIONS, ())]
    told = {name.lstrip("-"): value for name, value in zip(words[::2], words[1::2], strict=False)}
    told |= about.get(_READ_WITH, {})
    return {name: str(told[name]) for name in _PARAMETERS if name in told}


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that can be shown in a cell, as text."""
    shown_ones = [cells.name for cells in frame if has_texts(cells)]
    return frame.select(pl.col(shown_ones).cast(pl.String))


class _DrawnRow(NamedTuple):
    number: int  # in the table, from 0
    answer: str  # as it stands in the file


def _drawn_rows(audit: Table, table: Table, target: str, notes: list[str]) -> tuple[dict[int, _DrawnRow], int]:
    """The rows of the file by their place in the draw, and how many were drawn."""
    name = audit.name
    column_named(audit, target)
    tokens = audit.frame[ROW].cast(pl.String).fill_null("").str.strip_chars().to_list()
    answers = audit.frame[target].cast(pl.String).fill_null("").str.strip_chars().to_list()
    checksum = table_checksum(table, target)
    drawn: dict[int, _DrawnRow] = {}
    n_drawn = n_twice = 0
    for line, (token, answer) in enumerate(zip(tokens, answers, strict=True), start=1):
        if not token and not answer:
            continue
        place, of, number, found = _parse(token, f"Row {line} of {name}")
        if found != _token(place, of, number, checksum):
            raise TableError(
                f"{name} was not drawn from {table.name} as it is now (checksum of row {line}); use the "
                "table it was drawn from, or draw again."
            )
        before = drawn.get(place, _DrawnRow(number - 1, ""))
        if before.number != number - 1 or n_drawn not in (0, of):
            raise TableError(f"{name} mixes two draws (row {line}); keep the rows of one of them.")
        if before.answer and answer and folded(before.answer) != folded(answer):
            raise TableError(
                f"{name} labels row {number} of the table twice, {shown(before.answer)} and {shown(answer)}; "
                "decide, and remove one of them."
            )
        n_twice += place in drawn
        n_drawn, drawn[place] = of, _DrawnRow(number - 1, before.answer or answer)
    if not drawn:
        raise TableError(f"{name} holds no drawn row; draw again.")
    if len({row.number for row in drawn.values()}) < len(drawn):
        raise TableError(f"{name} mixes two draws; keep the rows of one of them.")
    if n_twice:
        notes.append(f"{n_twice} rows of {name} are there twice and count once.")
    return drawn, n_drawn


def _token(place: int, of: int, number: int, checksum: str) -> str:
    row = f"{place}/{of}: row {number}"
    return f"{row} of x{hashlib.sha256(f'{row} {checksum}'.encode()).hexdigest()[:10]}"


def _parse(token: str, where: str) -> tuple[int, int, int, str]:
    """Place, number of rows drawn, number of the row, and the token itself without what spreadsheets add."""
    found = _TOKEN.fullmatch(" ".join(token.split()).lower())
    if found is None:
        raise TableError(
            f"{where} has {shown(token)} in column {shown(ROW)}, which names no row of a table; put back what "
            "chary wrote there, or remove the row."
        )
    return int(found[1]), int(found[2]), int(found[3]), found[0]


def _check_markers(audit: Table, markers: Sequence[str]) -> None:
    """Rows drawn among others than those now unlabelled are no random draw of these."""
    try:
        origin = drawn_from(audit)
    except TableError:  # the column is for filling in a terminal; a spreadsheet may have lost it
        return
    if not origin.says_unlabeled or set(map(folded, origin.markers)) == set(map(folded, markers)):
        return
    drawn, remedy, parts = "without", "leave it out", [Parameter("unlabeled")]
    if origin.markers:
        drawn, remedy, parts = "with", "pass the same", [Parameter("unlabeled", text) for text in origin.markers]
    raise TableError(
        f"{audit.name} was drawn {drawn} ",
        *[part for parameter in parts for part in (parameter, " ")][:-1],
        f", so its rows are not random among those unlabelled now; {remedy}, or draw again.",
    )


def _known(answer: str, labels: Labels, notes: list[str], markers: Sequence[str]) -> str:
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


def _check_given(rows: NDArray[np.intp], texts: NDArray[Any], labels: Labels, name: str) -> None:
    """Rows labelled in the table since must say the same there."""
    given = labels.classes[labels.codes[rows]].astype(object)
    differs = np.flatnonzero(labels.labeled[rows] & (given != texts))
    if len(differs):
        i = differs[0]
        raise TableError(
            f"Row {rows[i] + 1} of the table is labelled {shown(given[i])} there and {shown(texts[i])} in {name}; "
            "decide, and change one of them."
        )


def _new_class(name: str, count: int, labels: Labels) -> str:
    near = get_close_matches(name, labels.classes.tolist(), n=1, cutoff=0.75)
    slip = f" If it is a slip for {shown(near[0])}, correct it." if near else " If it is a slip, correct it."
    return (
        f"NEW CLASS: the audit found {shown(name)} in {count} row{'s' if count > 1 else ''}, and none of your "
        f"labels has it, so no model of them can ever predict it.{slip}"
    )
