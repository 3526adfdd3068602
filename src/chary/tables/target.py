"""A table and the name of its target in; classes, codes and which rows have a label out."""

from __future__ import annotations

import polars as pl

from chary._words import Parameter, shown
from chary.method import Labels, encode
from chary.tables.errors import TableError
from chary.tables.missing import label_texts, may_be_unlabeled, unlabeled_marker
from chary.tables.table import Table, column_named, has_texts

_MAX_LABEL_BYTES = 2**31  # of all labels in an array of fixed width


def target_labels(table: Table, target: str, unlabeled: str | None = None) -> Labels:
    """The target column of a table, encoded; its empty cells, and cells equal to ``unlabeled``, have no label.

    Classes are text, as in the file. Cells that look like "no label" without being empty (NA, ?, -1) are refused
    unless ``unlabeled`` says what they are; an empty ``unlabeled`` makes them classes.
    """
    if table.frame.width < 2:
        raise TableError(
            f"{table.name} has one column only, {shown(table.frame.columns[0])}; chary needs a target and "
            "features (if the columns are separated by an unusual character, pass ",
            Parameter("delimiter"),
            ").",
        )
    column_named(table, target)
    if not has_texts(table.frame[target]):
        raise TableError(f"Column {shown(target)} holds {table.frame[target].dtype}, not labels; choose another.")
    cells = label_texts(table.frame[target])
    if marker := unlabeled_marker(unlabeled):
        cells = cells.set(cells == marker, None)
    counts = cells.alias("label").drop_nulls().value_counts(sort=True)
    if unlabeled is None:
        _refuse_doubtful(target, counts)
    _refuse_unlearnable(target, counts)
    longest = max(map(len, counts["label"].to_list()))
    if 4 * longest * len(cells) > _MAX_LABEL_BYTES:
        raise TableError(f"Column {shown(target)} has a label of {longest:,} characters; shorten it.")
    return encode(cells, unlabeled=None)


def _refuse_doubtful(target: str, counts: pl.DataFrame) -> None:
    for label, count in counts.iter_rows():
        if may_be_unlabeled(label):
            raise TableError(
                f"Column {shown(target)} holds {shown(label)} in {count:,} rows, which may or may not mean "
                "unlabelled; pass ",
                Parameter("unlabeled", label),
                " if it does, or ",
                Parameter("unlabeled", ""),
                " if it is a class.",
            )


def _refuse_unlearnable(target: str, counts: pl.DataFrame) -> None:
    n_labeled = int(counts["count"].sum())
    if len(counts) < 2:
        found = f"one class only, {shown(counts.item(0, 0))} in {n_labeled:,} rows" if n_labeled else "no label"
        raise TableError(f"Column {shown(target)} holds {found}; label some rows of at least two classes.")
    if len(counts) > 20 and len(counts) > n_labeled / 2:
        raise TableError(
            f"Column {shown(target)} has {len(counts):,} different values in {n_labeled:,} labelled rows; chary "
            "needs a class that repeats: group the values, or choose another target."
        )
