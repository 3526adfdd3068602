"""Columns with the labels of all rows, whoever made them, in; classes, and how many rows have which, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from chary._words import shown
from chary.tables.errors import TableError
from chary.tables.formulas import all_as_typed
from chary.tables.missing import label_texts
from chary.tables.scanning import Scan, scanned_column
from chary.tables.spellings import chosen_spellings, fold_sentences, folded, is_marker, markers_of, says_classes
from chary.tables.table import can_be_text
from chary.tables.target import refuse_doubtful

_MANY = 1000  # classes: more are no labels


class Tested(NamedTuple):
    """The labels under test; None stands for a row without one."""

    classes: list[str]  # of all columns together, sorted
    counts: dict[str, dict[str | None, int]]  # by column: rows by class
    chosen: dict[str, str]  # by spelling: the class
    notes: list[str]  # what was folded, a sentence each
    own: frozenset[str] = frozenset()  # columns that chary wrote into a CSV, apostrophes before formulas and all

    def of(self, cells: pl.Series) -> list[str | None]:
        """The class of each cell."""
        texts = _texts(cells, cells.name in self.own)
        return [None if text is None else self.chosen.get(text) for text in texts.to_list()]

    def has_label(self, cells: pl.Series) -> pl.Series:
        """Whether each cell holds a class."""
        return _texts(cells, cells.name in self.own).is_in(list(self.chosen)).fill_null(False)


def read_tested(
    scan: Scan, columns: Sequence[str], unlabeled: str | Sequence[str] | None = None, *, exact_labels: bool = False
) -> Tested:
    """Classes and counts of label columns; spellings that differ in case and white space alone are one class.

    Parameters are those of ``read_target``. A column may hold numbers or truth values.
    """
    markers = markers_of(unlabeled)
    own = frozenset(name for name in columns if scan.table.format == "csv" and name.startswith("chary_"))
    spelled = {name: _spelled(scan, name, name in own) for name in columns}
    every: dict[str, int] = {}
    for name, counts in spelled.items():
        known = {
            text: n
            for text, n in counts.items()
            if text is not None and not is_marker(text, markers, exact_labels)
        }
        if not says_classes(unlabeled):
            refuse_doubtful(name, known, bool(markers))
        _refuse_no_labels(name, known, scan.n_rows)
        for text, n in known.items():
            every[text] = every.get(text, 0) + n
    chosen = {text: text for text in every} if exact_labels else chosen_spellings(every)
    found = {name: _by_class(counts, chosen) for name, counts in spelled.items()}
    spellings: dict[str, dict[str, int]] = {}
    for text, n in sorted(every.items(), key=lambda item: (item[0] != chosen[item[0]], -item[1])):
        spellings.setdefault(chosen[text], {})[text] = n
    several = {name: of for name, of in spellings.items() if len(of) > 1}
    return Tested(sorted(set(chosen.values())), found, chosen, fold_sentences(several, columns[0]), own)


def _texts(cells: pl.Series, is_own: bool) -> pl.Series:
    texts = label_texts(cells)
    return all_as_typed(texts) if is_own and texts.dtype == pl.String else texts


def _spelled(scan: Scan, name: str, is_own: bool) -> dict[str | None, int]:
    """Rows by label as text, None where there is none."""
    scanned_column(scan, name)
    dtype = scan.table.frame.schema[name]
    if not can_be_text(dtype):
        raise TableError(f"Column {shown(name)} holds {dtype}, not labels; choose another.")
    values, counts = scan.counts(name)
    found: dict[str | None, int] = {}
    for text, n in zip(_texts(values, is_own).to_list(), counts, strict=True):
        kept = text if text is not None and folded(text) else None
        found[kept] = found.get(kept, 0) + n
    return found


def _by_class(counts: dict[str | None, int], chosen: dict[str, str]) -> dict[str | None, int]:
    found: dict[str | None, int] = {}
    for text, n in counts.items():
        name = None if text is None else chosen.get(text)
        found[name] = found.get(name, 0) + n
    return found


def _refuse_no_labels(name: str, counts: dict[str, int], n_rows: int) -> None:
    if not counts:
        raise TableError(
            f"Column {shown(name)} holds no label in {n_rows:,} rows; give the column that holds them."
        )
    if len(counts) > _MANY or (len(counts) > 20 and len(counts) > sum(counts.values()) / 2):
        raise TableError(
            f"Column {shown(name)} has {len(counts):,} different values in {sum(counts.values()):,} rows, so it "
            "holds no classes; give the column that holds the labels."
        )
