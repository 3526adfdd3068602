"""The target column of a table: its classes, which rows have a label, and spellings that are one class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import Parameter, listed, shown
from chary.method.labels import Labels, encode
from chary.tables.cells import as_whole, codes_of, doubtful_labels, label_texts, may_be_unlabeled, target_texts
from chary.tables.table import Table, TableError, column_named, composed, has_texts, told_apart

MAX_CLASSES = 1000  # more are no labels, and would cost more than they tell
_MAX_LABEL_BYTES = 2**31  # of all labels in an array of fixed width
_SHOWN = 6  # spellings of a class that are named in a sentence


class UndecidedError(TableError):
    """A column holds values of which only a person can tell whether they are labels."""


class Target(NamedTuple):
    """The target column of a table."""

    labels: Labels
    spellings: dict[str, dict[str, int]]  # of classes that have several: rows by spelling, the class's own first
    notes: list[str]  # what a person should know of how it was read, a sentence each


def read_target(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> Target:
    """The target column of a table, encoded; its empty cells, and cells equal to ``unlabeled``, have no label.

    Parameters
    ----------
    table, target
        The table, and the name of one of its columns.
    unlabeled : str or sequence of str, default=None
        What means "no label", in upper or lower case. Cells that look like it without being empty (NA, ?, -1,
        unknown, 99 beside 0 to 10) are refused unless they are named here or among the classes.
    exact_labels : bool, default=False
        Whether labels that differ in nothing but case and white space are different classes. If not, they are one
        class, called by its most frequent spelling, and ``spellings`` and ``notes`` say so.
    classes : sequence of str, default=()
        Cells that look like no label and are a class.
    missing : sequence of str, default=()
        Codes for nothing in other columns, which may mean no label here.
    """
    require_target(table, target)
    raw, markers = target_texts(table.frame[target]), markers_of(unlabeled)
    cells, counts, none = _counted(raw, markers, exact_labels)
    counts = {text: count for text, count in counts.items() if text not in set(none)}
    refuse_doubtful(target, counts, bool(markers), classes, missing)
    chosen = {text: text for text in counts} if exact_labels else chosen_spellings(counts)
    by_class: Counter[str] = Counter()
    for text, count in counts.items():
        by_class[chosen[text]] += count
    _refuse_unlearnable(target, by_class)
    longest = max(map(len, chosen.values()))
    if 4 * longest * len(cells) > _MAX_LABEL_BYTES:
        raise TableError(f"Column {shown(target)} has a label of {longest:,} characters; shorten it.")
    labels = cells.replace_strict(chosen, default=None, return_dtype=pl.String)
    spellings = {} if exact_labels else _spellings(raw, labels)
    odd = [text for text in none if text not in markers and folded(text)]
    notes = [f"In column {shown(target)}, {shown(text)} counts as unlabelled too." for text in odd]
    return Target(encode(labels, unlabeled=None), spellings, fold_sentences(spellings, target) + notes)


class Value(NamedTuple):
    """A value of a column that may hold labels, whichever way it is spelled."""

    name: str
    rows: int
    is_label: bool
    is_doubtful: bool  # whether it looks like a missing answer


def target_values(
    column: pl.Series,
    unlabeled: str | Sequence[str] | None = None,
    *,
    exact_labels: bool = False,
    classes: Sequence[str] = (),
    missing: Sequence[str] = (),
) -> list[Value]:
    """What a column holds, the most frequent value first, for a person to say which values are labels.

    The parameters are those of ``read_target``, which refuses what here is doubtful.
    """
    _, counts, none = _counted(target_texts(column), markers_of(unlabeled), exact_labels)
    chosen = {text: text for text in counts} if exact_labels else chosen_spellings(counts)
    doubtful = {chosen[text] for text in doubtful_labels(counts, codes_of(column.name, missing))}
    rows: Counter[str] = Counter()
    for text, n in counts.items():
        rows[chosen[text]] += n
    unticked = {chosen[text] for text in none} | {text for text in doubtful if not is_marker(text, classes)}
    return [Value(name, n, name not in unticked, name in doubtful) for name, n in rows.most_common()]


def target_labels(table: Table, target: str, unlabeled: str | Sequence[str] | None = None, **told: Any) -> Labels:
    """The labels alone, of what ``read_target`` says."""
    return read_target(table, target, unlabeled, **told).labels


def require_target(table: Table, target: str) -> None:
    """Refuse a table that has no such column, or no other."""
    if table.frame.width < 2:
        raise TableError(
            f"{table.name} has one column only, {shown(table.frame.columns[0])}; chary needs a target and "
            f"features (if the columns are separated by an unusual character, pass {Parameter('delimiter')})."
        )
    column_named(table, target)
    if not has_texts(table.frame[target]):
        raise TableError(f"Column {shown(target)} holds {table.frame[target].dtype}, not labels; choose another.")


class GivenCells:
    """Tells which cells of a target hold a label, part by part; at the end, whether all are surely any."""

    def __init__(
        self,
        target: str,
        unlabeled: str | Sequence[str] | None,
        *,
        exact_labels: bool = False,
        classes: Sequence[str] = (),
        missing: Sequence[str] = (),
    ) -> None:
        self._target, self._markers, self._exact = target, markers_of(unlabeled), exact_labels
        self._told = classes, missing
        self._counts: Counter[str] = Counter()  # of all labels, as long as there are few enough to be classes

    def see(self, cells: pl.Series) -> NDArray[np.bool_]:
        """Where some cells hold a label; such as may mean none are counted, not taken."""
        found, counts, none = _counted(target_texts(cells), self._markers, self._exact)
        left = {text: n for text, n in counts.items() if text not in none}
        doubtful = [text for text in left if may_be_unlabeled(text) and not is_marker(text, self._told[0])]
        few = len(self._counts) <= MAX_CLASSES
        self._counts.update(left if few else {text: left[text] for text in doubtful})
        none += doubtful
        return (found.is_not_null() & ~found.is_in(none).fill_null(False)).to_numpy()

    def refuse(self) -> None:
        """Refuse cells of which only who wrote them can tell whether they are labels."""
        most = dict(sorted(self._counts.items(), key=lambda item: (-item[1], item[0])))
        refuse_doubtful(self._target, most, bool(self._markers), *self._told)


def _counted(raw: pl.Series, markers: Sequence[str], exact: bool) -> tuple[pl.Series, dict[str, int], list[str]]:
    """Cells as labels; rows by label, the most frequent first; and those of the labels that mean none."""
    cells = label_texts(raw)
    if exact:  # as they are; NumPy drops a NUL at the end of text anyway
        cells = raw.str.strip_chars_end("\x00").set(cells.is_null(), None)
    rows = cells.alias("label").drop_nulls().value_counts(name="rows")
    counts = dict(rows.sort("rows", "label", descending=[True, False]).iter_rows())
    return cells, counts, [text for text in counts if is_marker(text, markers, exact) or not folded(text)]


def _spellings(raw: pl.Series, classes: pl.Series) -> dict[str, dict[str, int]]:
    """For each class that the file spells in several ways: rows by spelling, white space included."""
    found = pl.DataFrame({"class": classes, "raw": raw}).drop_nulls().group_by("class", "raw").len("rows")
    found = found.filter(pl.len().over("class") > 1)
    own = pl.col("raw") == pl.col("class")
    ordered = found.sort("class", own, "rows", "raw", descending=[False, True, True, False])
    spellings: dict[str, dict[str, int]] = {}
    for name, text, rows in ordered.iter_rows():
        spellings.setdefault(name, {})[text] = rows
    return spellings


def refuse_doubtful(
    target: str, counts: Mapping[str, int], told: bool, classes: Sequence[str] = (), missing: Sequence[str] = ()
) -> None:
    """Refuse labels of which only who wrote them can tell whether they are any, unless they are said to be."""
    found = [text for text in doubtful_labels(counts, codes_of(target, missing)) if not is_marker(text, classes)]
    if not found:
        return
    found = found[:_SHOWN]
    others = {text: n for text, n in counts.items() if text not in found}
    said = [f"{shown(text)} in {counts[text]:,} rows" for text in found]
    rest = [f"{shown(text)} ({n:,})" for text, n in list(others.items())[:_SHOWN]]
    rest += [f"{len(others) - _SHOWN} more"] * (len(others) > _SHOWN)
    does, is_one = ("it does", "it is a class") if len(found) == 1 else ("they do", "they are classes")
    also = "also " if told else ""
    raise UndecidedError(
        f"Column {shown(target)} holds {listed(said)}, which may or may not mean unlabelled; pass {also}",
        *_each("unlabeled", found),
        f" if {does}, or ",
        *_each("classes", found),
        f" if {is_one}." + f" Its other values are {listed(rest)}." * bool(rest),
    )


def _each(name: str, values: Sequence[str]) -> list[Any]:
    return [part for value in values for part in (Parameter(name, value), " ")][:-1]


def _refuse_unlearnable(target: str, counts: Mapping[str, int]) -> None:
    n_labeled = sum(counts.values())
    if len(counts) < 2:
        found = f"one class only, {shown(next(iter(counts)))} in {n_labeled:,} rows" if n_labeled else "no label"
        raise TableError(f"Column {shown(target)} holds {found}; label some rows of at least two classes.")
    if len(counts) > 20 and len(counts) > n_labeled / 2:
        raise TableError(
            f"Column {shown(target)} has {len(counts):,} different values in {n_labeled:,} labelled rows; chary "
            "needs a class that repeats: group the values, or choose another target."
        )
    if len(counts) > MAX_CLASSES:
        raise TableError(
            f"Column {shown(target)} has {len(counts):,} classes; chary takes up to {MAX_CLASSES:,}: give rare "
            "ones one name, or choose another target."
        )


# ---------------------------------------------------------------- spellings


def folded(text: str) -> str:
    """What is left of a text without case, white space around and between its words, and what nobody can see.

    The 1.0 of one format is the 1 of another.

    >>> folded(" Not  SURE") == folded("not sure"), folded("Cafe\\u0301\\u200b") == folded("caf\\u00e9")
    (True, True)
    """
    return as_whole(composed(" ".join(composed(text).split()).casefold()))


def chosen_spellings(counts: Mapping[str, int]) -> dict[str, str]:
    """For each text the spelling of its class: the most frequent one, of equally frequent ones the first by value.

    The 1.0 of a text file is the 1 that it is in a file of numbers.

    >>> chosen_spellings({"yes": 3, "Yes": 5, "1.0": 2})
    {'yes': 'Yes', 'Yes': 'Yes', '1.0': '1'}
    """
    best: dict[str, str] = {}
    for text in sorted(counts, key=lambda text: (-counts[text], text)):
        best.setdefault(folded(text), as_whole(text))
    return {text: best[folded(text)] for text in counts}


def fold_sentences(spellings: Mapping[str, Mapping[str, int]], target: str) -> list[str]:
    """What was folded, a sentence for each class.

    >>> fold_sentences({"yes": {"yes": 3, "YES": 1}}, "churn")
    ["In column 'churn', 'yes' (3 rows) and 'YES' (1 row) were read as one class, 'yes'."]
    """
    sentences = []
    for name, counts in spellings.items():
        said = [f"{told_apart(text)} ({n:,} row{'s' * (n > 1)})" for text, n in list(counts.items())[:_SHOWN]]
        said += [f"{len(counts) - _SHOWN} more"] * (len(counts) > _SHOWN)
        sentences.append(f"In column {shown(target)}, {listed(said)} were read as one class, {shown(name)}.")
    return sentences


def markers_of(unlabeled: str | Sequence[str] | None) -> tuple[str, ...]:
    """The labels that stand for none, without white space around them; an empty one stands for nothing.

    >>> markers_of("NA "), markers_of(["NA", "", "unknown"]), markers_of(None)
    (('NA',), ('NA', 'unknown'), ())
    """
    given = [unlabeled] if isinstance(unlabeled, str) else list(unlabeled or ())
    return tuple(dict.fromkeys(text.strip() for text in given if text.strip()))


def is_marker(text: str, markers: Sequence[str], exact: bool = False) -> bool:
    """Whether a label stands for none, in upper or lower case unless that counts."""
    return text.strip() in markers if exact else folded(text) in {folded(marker) for marker in markers}
