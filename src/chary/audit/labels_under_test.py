"""The labels that an audit judges: one or two columns of a table, whoever made them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Mask
from chary._words import listed, shown
from chary.audit.origin import SheetOrigin
from chary.options import JudgeOptions
from chary.tables.cells import all_as_typed, filled_cells, label_texts
from chary.tables.columns import Numbers
from chary.tables.source import Source
from chary.tables.table import TableError, can_be_text, texts
from chary.tables.target import (
    MAX_CLASSES,
    chosen_spellings,
    fold_sentences,
    folded,
    is_marker,
    markers_of,
    merge_slips,
    refuse_decorated,
    refuse_doubtful,
)

# This many labels are digested at a time. The number changes the memory needed, not the digest.
_DIGEST_BLOCK = 1_000_000
# Words for a confidence, in ascending order.
_CONFIDENCE_WORDS = [
    "none",
    "very low",
    "low",
    "medium low",
    "medium",
    "medium high",
    "high",
    "very high",
]
# A column with at most this many different values holds classes, in a table of any size.
_FEW_CLASSES = 20


class LabelsUnderTest(NamedTuple):
    """Columns with labels of all rows; None stands for a row without a label."""

    source: Source
    options: JudgeOptions
    classes: list[str]  # of all columns together, sorted
    counts: dict[str, dict[str | None, int]]  # by column: number of rows by class
    class_of: dict[str, str]  # the class that each spelling means
    notes: list[str]  # which spellings were read as one class, a sentence each

    def of(self, cells: pl.Series) -> list[str | None]:
        """Return the class of each cell; None: no label."""
        return [self.class_of.get(text) for text in _as_labels(cells).to_list()]

    def digest(self, name: str) -> str:
        """Digest the labels of a column, so that a change in any row is noticed.

        Cells that are read as the same text count as the same, so that a table may be saved in
        another format.
        """
        # Every label has a code: its place in the sorted list of labels. Several values of the
        # column may be read as one label; an empty cell has the code -1.
        values, _ = self.source.counts(name)
        label_of_value = _as_labels(values)
        labels = sorted(set(label_of_value.drop_nulls()))
        code_of = {label: code for code, label in enumerate(labels)}
        code_of_value = [code_of.get(label, -1) for label in label_of_value.to_list()]

        # The list of labels is digested first, then the code of each row.
        digest = hashlib.sha256(json.dumps(labels).encode())
        for block in self.source.columns([name]).iter_slices(_DIGEST_BLOCK):
            codes = block[name].replace_strict(
                values, code_of_value, default=-1, return_dtype=pl.Int32
            )
            digest.update(codes.to_numpy().astype("<i4").tobytes())
        return digest.hexdigest()[:32]

    def confidences(self) -> tuple[NDArray[np.float64], Mask]:
        """Read the confidence of every row, and whether it has a label in the first column.

        Returns
        -------
        confidence : array of shape (n,)
            NaN where the cell holds no number.
        has_label : array of shape (n,), bool
        """
        label_column = self.options.labels[0]
        confidence_column = str(self.options.confidence)
        # The two may be the same column.
        names = list(dict.fromkeys([confidence_column, label_column]))
        cells = self.source.columns(names)

        confidence = _read_confidence(cells[confidence_column])
        labels = _as_labels(cells[label_column])
        has_label = labels.is_in(list(self.class_of)).fill_null(False)
        return confidence, has_label.to_numpy()

    def confidence_note(self) -> str:
        """Say which numbers the words of the confidence stand for; empty if it holds numbers."""
        levels = _levels_of(texts(self.source.columns([str(self.options.confidence)]).to_series()))
        if not levels:
            return ""
        words = listed(f"{word} = {level}" for word, level in levels.items())
        return f"Column {shown(self.options.confidence)} was read as an order: {words}."


def read_labels_under_test(source: Source, options: JudgeOptions) -> LabelsUnderTest:
    """Read the classes and counts of the columns under test.

    Spellings that differ only in case and white space are one class. A column may hold text,
    numbers or truth values. Only the options ``labels``, ``unlabeled``, ``classes`` and ``same``
    are used.
    """
    n_names = len(options.labels)
    if n_names not in (1, 2) or len(set(options.labels)) < n_names:
        raise TableError("Give one column of labels, or two different ones to compare them.")

    # The texts of each column, with the number of their rows; and all texts that are labels.
    markers = markers_of(options.unlabeled)
    counts_by_text: dict[str, Counter[str]] = {}
    all_labels: Counter[str] = Counter()
    names = [source.column_named(name) for name in options.labels]
    for name in names:
        counts_by_text[name] = _count_texts(source, name)
        labels = {
            text: n_rows
            for text, n_rows in counts_by_text[name].items()
            if text and not is_marker(text, markers)
        }
        refuse_doubtful(name, labels, options.classes)
        refuse_decorated(name, labels, options.classes, options.same)
        _refuse_no_classes(name, labels, source.n_filled)
        all_labels.update(labels)

    # The class that each text means. Spellings are chosen over both columns, so that the two have
    # the same classes. A text that is no label has no class.
    class_of = merge_slips(chosen_spellings(all_labels), options.same or {}, options.labels[0])
    counts_by_class: dict[str, dict[str | None, int]] = {}
    notes: list[str] = []
    for name, n_rows_of_text in counts_by_text.items():
        # A note names only the spellings of its column.
        class_of_texts_here = {
            text: class_name for text, class_name in class_of.items() if text in n_rows_of_text
        }
        notes += fold_sentences(class_of_texts_here, name)
        n_rows_of_class: Counter[str | None] = Counter()
        for text, n_rows in n_rows_of_text.items():
            n_rows_of_class[class_of.get(text)] += n_rows
        counts_by_class[name] = n_rows_of_class
    return LabelsUnderTest(
        source,
        options,
        classes=sorted(set(class_of.values())),
        counts=counts_by_class,
        class_of=class_of,
        notes=notes,
    )


def labels_of_sheet(
    source: Source, origin: SheetOrigin, numbers: Sequence[int]
) -> list[str | None]:
    """Read the labels of a sheet's rows, to tell the annotator when to stop."""
    name = origin.judged[0]
    options = JudgeOptions.kept(origin.options, labels=(name,), unlabeled=origin.unlabeled or ())
    tested = read_labels_under_test(source, options)
    cells = source.rows(numbers, [name])[name]
    return tested.of(cells)


def _read_confidence(cells: pl.Series) -> NDArray[np.float64]:
    """Read a confidence as numbers; NaN where the cell holds none."""
    # Numbers may be written as in a column that a model learns from, such as 0,74 or 74 %.
    form = Numbers().find(filled_cells(cells), forced=True)
    if form is not None:
        return Numbers().read(cells, form)[:, 0]
    words = texts(cells)
    levels = _levels_of(words)
    if not levels:
        raise TableError(
            f"Column {shown(cells.name)} holds no numbers, nor words from very low to very high; "
            "choose another."
        )
    level_of_row = [levels.get(folded(word or "")) for word in words]
    return np.array([np.nan if level is None else level for level in level_of_row])


def _levels_of(words: pl.Series) -> dict[str, int]:
    """Give the words of a confidence numbers in ascending order; none if others are among them.

    >>> _levels_of(pl.Series(["High", "low", None, "medium "]))
    {'low': 1, 'medium': 2, 'high': 3}
    """
    present = {folded(word) for word in words.drop_nulls().unique()} - {""}
    if len(present) < 2 or not present <= set(_CONFIDENCE_WORDS):
        return {}
    return {
        word: level for level, word in enumerate(sorted(present, key=_CONFIDENCE_WORDS.index), 1)
    }


def _count_texts(source: Source, name: str) -> Counter[str]:
    """Count the rows of a column by the text of the cell; an empty cell has an empty text."""
    dtype = source.table.frame.schema[name]
    if not can_be_text(dtype):
        raise TableError(f"Column {shown(name)} holds {dtype}, not labels; choose another.")
    values, n_rows_of_values = source.counts(name)
    counts: Counter[str] = Counter()
    for text, n_rows in zip(_as_labels(values).fill_null(""), n_rows_of_values, strict=True):
        counts[text] += n_rows
    return counts


def _refuse_no_classes(name: str, labels: Mapping[str, int], n_rows: int) -> None:
    """Refuse a column without labels, or with nearly as many different values as rows."""
    n_labels = sum(labels.values())
    if not labels:
        raise TableError(f"Column {shown(name)} holds no label in {n_rows:,} rows; choose another.")
    # Classes have two rows each on average, unless there are few of them.
    most_classes = min(MAX_CLASSES, max(_FEW_CLASSES, n_labels / 2))
    if len(labels) > most_classes:
        raise TableError(
            f"Column {shown(name)} has {len(labels):,} different values in {n_labels:,} rows, so "
            "it holds no classes; choose another."
        )


def _as_labels(cells: pl.Series) -> pl.Series:
    """Read cells as labels, without the apostrophe that chary puts before a formula in a CSV."""
    return all_as_typed(label_texts(cells))
