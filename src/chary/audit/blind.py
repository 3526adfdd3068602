"""The columns that a blind sheet must not show, because they give the labels under test away."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from chary.audit.drawing import draw
from chary.audit.labels_under_test import LabelsUnderTest
from chary.tables.cells import filled_cells
from chary.tables.nested import field_names, shown_texts
from chary.tables.source import Source
from chary.tables.table import can_be_text, texts
from chary.tables.target import folded

# About this many rows are sampled.
_N_ROWS = 2_000
# This many neighbouring rows are read at a time: to read single rows would take long.
_BLOCK = 100
# With fewer filled cells or labels than this, nothing is concluded.
_FEWEST_ROWS = 20
# With more classes than this, texts are not searched for class names.
_MOST_NAMED = 50
# A column reveals the labels if it removes at least this share of the errors that are made by
# guessing the commonest label for every row. If that is right on 60 % of the rows, the column must
# be right on 60 % + 0.8 * 40 % = 92 %.
_REVEALED = 0.8
# A column holds classes if at least this share of its filled cells names one.
_CLASS_CELLS = 0.9
# A column of classes reveals the labels if its agreement with them beyond chance (kappa) is at
# least this.
_KAPPA = 0.2

# A labeller wrote a column, whatever its cells look like, if its name has one of these words.
_LABELLERS = {"llm", "gpt", "claude", "gemini", "llama", "mistral"}
# A labeller also wrote a column whose name ends with one of these words.
_OUTPUTS = {"label", "labels", "confidence", "prediction", "predicted"}
# These words do not say what a column is about: "Type_of_Breach" and "Entity_Type" are not related.
_GENERIC = {
    "category",
    "class",
    "code",
    "group",
    "kind",
    "name",
    "number",
    "status",
    "type",
    "value",
}
# A word relates two columns only if it has this many letters: "is" or "of" does not.
_SHORTEST_WORD = 3
# A word in the names of this many columns is common: it says what the table is about, not where
# the labels come from.
_COMMON_WORD = 3
# A column with more different values than this holds no labels.
_MOST_LABELS = 20


def hidden_columns(tested: LabelsUnderTest) -> tuple[list[str], list[str]]:
    """Find the columns that an annotator must not see, because the answers would follow them.

    Returns two lists. The first holds the columns under test, their confidence, and the columns
    that the user chose to hide. The second holds the columns that give the labels away, except
    columns that the user chose to show. Three kinds of columns give labels away:

    - columns whose name says that a labeller wrote them (``llm_reason``, ``vendor_label``);
    - columns whose name shares a rare word with the judged column's and that may hold labels or a
      confidence (``sentiment_score`` beside ``sentiment``);
    - columns whose cells tell the label, in a sample of up to 2,000 rows: columns of the same
      classes that mostly agree with the labels, columns in which each value goes with one label,
      and texts that name the label. Columns of measurements are not hidden, even if the labels were
      made from them by a rule: a person needs them, too.
    """
    # The first list, and the columns that may be in the second.
    source = tested.source
    options = tested.options
    hidden = [*options.labels, *options.hide]
    if options.confidence is not None:
        hidden.append(options.confidence)
    for name in [*hidden, *options.show]:
        source.column_named(name)  # raises TableError if there is no such column
    hidden = list(dict.fromkeys(hidden))
    other_columns = [
        name for name in source.names if name not in hidden and not name.startswith("chary_")
    ]
    candidates = [name for name in other_columns if name not in options.show]

    cells = _sample_rows(source, [*options.labels, *candidates])
    n_columns_with = Counter(word for name in other_columns for word in set(_words(name)))

    # Names tell on their own that a labeller wrote a column, or a field of its records.
    revealing = set()
    for name in candidates:
        names = [name, *field_names(cells[name].dtype)]
        if any(_is_named_after_labeller(part) for part in names):
            revealing.add(name)

    # The cells are compared with each column under test.
    nested = [name for name in candidates if cells[name].dtype.is_nested()]
    cells = cells.with_columns(shown_texts(cells[name]) for name in nested)
    for judged in options.labels:
        all_labels = tested.of(cells[judged])
        labels = [label for label in all_labels if label is not None]
        labelled_rows = cells.filter([label is not None for label in all_labels])
        for name in candidates:
            is_related = _share_rare_word(judged, name, n_columns_with)
            if is_related and _may_hold_labels(cells[name]):
                revealing.add(name)
            if reveals_label(labelled_rows[name], labels, tested.classes):
                revealing.add(name)

    # If every other column reveals the label, hiding them would leave nothing to answer by.
    if len(revealing) == len(other_columns):
        return hidden, []
    return hidden, [name for name in candidates if name in revealing]


def _sample_rows(source: Source, columns: Sequence[str]) -> pl.DataFrame:
    """Read blocks of rows drawn at random, in the order of the table."""
    n_blocks = math.ceil(source.n_rows / _BLOCK)
    n_drawn = min(_N_ROWS // _BLOCK, n_blocks)
    is_closed = np.zeros(n_blocks, dtype=bool)  # any block may be drawn
    blocks = draw(is_closed, n_drawn, random_state=0)

    numbers: list[int] = []
    for block in sorted(blocks.tolist()):
        # Block 3 has the rows 300, 301, ... 399; the last block may have fewer.
        start = block * _BLOCK
        end = min(start + _BLOCK, source.n_rows)
        numbers += range(start, end)
    return source.rows(numbers, columns)


def _is_named_after_labeller(name: str) -> bool:
    """Tell whether the name of a column says that a labeller wrote it."""
    words = _words(name)
    return not _LABELLERS.isdisjoint(words) or not _OUTPUTS.isdisjoint(words[-1:])


def _share_rare_word(judged: str, name: str, n_columns_with: Mapping[str, int]) -> bool:
    """Tell whether two names share a word that few columns have.

    ``n_columns_with`` counts the columns of the table with each word in their names, other than
    those under test.
    """
    shared_words = set(_words(judged)) & set(_words(name))
    for word in shared_words - _GENERIC:
        is_rare = n_columns_with[word] < _COMMON_WORD
        if is_rare and len(word) >= _SHORTEST_WORD:
            return True
    return False


def _may_hold_labels(cells: pl.Series) -> bool:
    """Tell whether a column may hold labels or a confidence: no identifier, date or long text."""
    if not can_be_text(cells.dtype):
        return False
    cell_texts = texts(filled_cells(cells))
    has_few_values = cell_texts.n_unique() <= _MOST_LABELS
    if has_few_values:
        return len(cell_texts) > 0

    # A confidence is a number from 0 to 1, or to 100, such as 0.74, 0,74 or 74.5 %. A column of
    # whole numbers is a count rather than a confidence. A text that is no number becomes -1, which
    # is out of range.
    numerals = cell_texts.str.replace(",", ".", literal=True).str.strip_chars_end(" %")
    numbers = numerals.cast(pl.Float64, strict=False).fill_null(-1.0)
    is_in_range = numbers.is_between(0, 100)
    has_fraction = numbers % 1 != 0
    return bool(is_in_range.all() and has_fraction.any())


def reveals_label(cells: pl.Series, labels: Sequence[str], classes: Sequence[str]) -> bool:
    """Tell whether a column gives the labels of its rows away.

    A column whose cells are names of classes does if it mostly agrees with the labels. Any other
    column does if its cells predict the labels.

    Parameters
    ----------
    cells : Series
        The cells of the column, one for each label.
    labels : sequence of str
    classes : sequence of str
        All classes that a label can have.
    """
    if len(set(labels)) < 2 or len(labels) < _FEWEST_ROWS:
        return False
    if not can_be_text(cells.dtype):
        return False

    # Pairs of cell and label, for all rows and for the rows whose cell is not empty.
    cell_texts = [folded(text) for text in texts(cells).fill_null("")]
    rows = list(zip(cell_texts, labels, strict=True))
    filled_rows = [(text, label) for text, label in rows if text]
    if len(filled_rows) < _FEWEST_ROWS:
        return False

    # Pairs of class and label, for the rows whose cell is the name of a class.
    class_of = {folded(name): name for name in classes}
    class_rows = [(class_of[text], label) for text, label in filled_rows if text in class_of]
    is_column_of_classes = len(class_rows) >= _CLASS_CELLS * len(filled_rows)
    if is_column_of_classes:
        return _agreement(class_rows, labels) >= _KAPPA

    # An empty cell may go with a label like any other value, or say nothing: both are tried.
    return _tells_label(rows, classes) or _tells_label(filled_rows, classes)


def _agreement(class_rows: Sequence[tuple[str, str]], labels: Sequence[str]) -> float:
    r"""Compute how far a column of classes agrees with the labels, beyond chance.

    It is Cohen's kappa, :math:`(p_o - p_e) / (1 - p_e)`: :math:`p_o` is the share of cells that are
    equal to the label of their row, and :math:`p_e` the share that would be equal to the label of a
    random row. A random row is any of all rows, not only of those with a cell. So a column can
    agree beyond chance even if all its cells name one class: "spam" beside most of the spam, and
    nothing beside other rows.

    ``class_rows`` are pairs of cell and label, and ``labels`` the labels of all rows.
    """
    n_cells = len(class_rows)
    label_counts = Counter(labels)
    observed = sum(cell == label for cell, label in class_rows) / n_cells
    n_equal_pairs = sum(label_counts[cell] for cell, _ in class_rows)
    by_chance = n_equal_pairs / (n_cells * len(labels))
    if by_chance >= 1:
        return 0.0
    return (observed - by_chance) / (1 - by_chance)


def _tells_label(rows: Sequence[tuple[str, str]], classes: Sequence[str]) -> bool:
    """Tell whether cells predict labels far better than always guessing the commonest label.

    ``rows`` are pairs of cell and label.
    """
    n_rows = len(rows)
    label_counts = Counter(label for _, label in rows)
    commonest_share = max(label_counts.values()) / n_rows
    if commonest_share >= 1:
        return False
    n_by_same_cell = _count_predicted(rows)
    n_by_name = _count_named(rows, classes)
    predicted_share = max(n_by_same_cell, n_by_name) / n_rows
    share_to_reach = commonest_share + _REVEALED * (1 - commonest_share)
    return predicted_share >= share_to_reach


def _count_predicted(rows: Sequence[tuple[str, str]]) -> int:
    """Count the rows whose label is predicted by other rows with the same cell.

    A cell predicts the label that is commonest among its rows. It must be ahead of the second label
    by two rows or more: a lead of one row may be due to the row itself, which must not predict its
    own label. Below, "x" predicts "good" for three rows; "y" is in one row alone:

    >>> _count_predicted([("x", "good"), ("x", "good"), ("x", "good"), ("x", "bad"), ("y", "bad")])
    3
    """
    labels_by_cell: dict[str, Counter[str]] = defaultdict(Counter)
    for text, label in rows:
        labels_by_cell[text][label] += 1
    n_predicted = 0
    for label_counts in labels_by_cell.values():
        counts = sorted(label_counts.values(), reverse=True)
        most = counts[0]
        second = counts[1] if len(counts) > 1 else 0
        if most >= second + 2:
            n_predicted += most
    return n_predicted


def _count_named(rows: Sequence[tuple[str, str]], classes: Sequence[str]) -> int:
    """Count the rows whose text names their label, and no other class."""
    if len(classes) > _MOST_NAMED:
        return 0
    # Phrases begin and end with a space, so that only whole words match. A short name may be in a
    # text by chance.
    phrases = {name: _phrase(name) for name in classes}
    phrases = {
        name: phrase for name, phrase in phrases.items() if len(phrase.strip()) >= _SHORTEST_WORD
    }
    n_rows_naming = 0
    for (text, label), n_rows in Counter(rows).items():
        phrase_of_text = _phrase(text)
        classes_named = [name for name, phrase in phrases.items() if phrase in phrase_of_text]
        if classes_named == [label]:
            n_rows_naming += n_rows
    return n_rows_naming


def _phrase(text: str) -> str:
    """Join the words of a text, with a space before and after each.

    >>> _phrase("Not_spam!")
    ' not spam '
    """
    return f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    """Split a text into its words, in lower case: "Sentiment_Score" has two."""
    return re.findall(r"[^\W_]+", folded(text))
