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
from chary.tables.source import Source
from chary.tables.table import can_be_text, texts
from chary.tables.target import folded

# Rows that are looked at, in blocks of neighbours: single rows take long to read.
_N_ROWS = 2_000
_BLOCK = 100
# Filled cells, and labels, from which anything can be concluded.
_FEWEST_ROWS = 20
# Classes that are looked for in texts.
_MOST_NAMED = 50
# Share of the rows beyond the commonest label whose label must follow from the column.
_REVEALED = 0.8
# Share of the filled cells that name a class, in a column of classes.
_CLASS_CELLS = 0.9
# Agreement beyond chance (kappa) with the labels from which a column of classes reveals them.
_KAPPA = 0.2

# Words in names of columns that a labeller wrote, whatever their cells look like.
_LABELLERS = {"llm", "gpt", "claude", "gemini", "llama", "mistral"}  # anywhere in the name
_OUTPUTS = {"label", "labels", "confidence", "prediction", "predicted"}  # at its end
# Words for whatever a column holds: "Type_of_Breach" and "Entity_Type" are not related.
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
# Letters of a word that relates two columns: "is" or "of" does not.
_SHORTEST_WORD = 3
# Columns with a word from which on it says what the table is about, not where the labels are from.
_COMMON_WORD = 3
# Different values of a column that may hold labels.
_MOST_LABELS = 20


def hidden_columns(tested: LabelsUnderTest) -> tuple[list[str], list[str]]:
    """Find the columns that a person who answers must not see.

    Returns two lists. The first are the columns under test, their confidence, and those that the
    user said to hide. The second are those that give the labels away, but for those that the user
    said to show:

    - columns whose name says that a labeller wrote them (``llm_reason``, ``vendor_label``);
    - columns that share a rare word with the name of the judged one and may hold labels or a
      confidence (``sentiment_score`` beside ``sentiment``);
    - columns from whose cells the label follows, in up to 2,000 rows: those that hold the same
      classes and mostly agree with it, those of which each value goes with one label, and texts
      that name it. A column of measurements is none of them: a rule may be made of it, and a
      person needs it, too.
    """
    source = tested.source
    options = tested.options
    hidden = [*options.labels, *options.hide]
    if options.confidence is not None:
        hidden.append(options.confidence)
    for name in [*hidden, *options.show]:
        source.column_named(name)
    hidden = list(dict.fromkeys(hidden))
    other_columns = [
        name for name in source.names if name not in hidden and not name.startswith("chary_")
    ]
    candidates = [name for name in other_columns if name not in options.show]

    cells = _sample_rows(source, [*options.labels, *candidates])
    n_columns_with = Counter(word for name in other_columns for word in set(_words(name)))
    revealing = {name for name in candidates if _is_named_after_labeller(name)}
    for judged in options.labels:
        all_labels = tested.of(cells[judged])
        labels = [label for label in all_labels if label is not None]
        labelled_rows = cells.filter([label is not None for label in all_labels])
        for name in candidates:
            if _share_rare_word(judged, name, n_columns_with) and _may_hold_labels(cells[name]):
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
    blocks = np.sort(draw(np.zeros(n_blocks, dtype=bool), n_drawn, random_state=0))
    numbers = np.add.outer(_BLOCK * blocks, np.arange(_BLOCK)).ravel()
    return source.rows(numbers[numbers < source.n_rows].tolist(), columns)


def _is_named_after_labeller(name: str) -> bool:
    """Tell whether the name of a column says that a labeller wrote it."""
    words = _words(name)
    return not _LABELLERS.isdisjoint(words) or not _OUTPUTS.isdisjoint(words[-1:])


def _share_rare_word(judged: str, name: str, n_columns_with: Mapping[str, int]) -> bool:
    """Tell whether two names share a word that few other columns have."""
    shared = set(_words(judged)) & set(_words(name)) - _GENERIC
    return any(
        len(word) >= _SHORTEST_WORD and n_columns_with[word] < _COMMON_WORD for word in shared
    )


def _may_hold_labels(cells: pl.Series) -> bool:
    """Tell whether a column may hold labels or a confidence: no identifier, date or long text."""
    if not can_be_text(cells.dtype):
        return False
    filled = texts(filled_cells(cells))
    if filled.n_unique() <= _MOST_LABELS:
        return len(filled) > 0
    plain = filled.str.replace(",", ".", literal=True).str.strip_chars_end(" %")
    numbers = plain.cast(pl.Float64, strict=False).fill_null(-1.0)
    is_share = numbers.is_between(0, 100)
    return bool(is_share.all() and (numbers % 1 != 0).any())


def reveals_label(cells: pl.Series, labels: Sequence[str], classes: Sequence[str]) -> bool:
    """Tell whether a column gives the labels of its rows away."""
    if len(set(labels)) < 2 or len(labels) < _FEWEST_ROWS or not can_be_text(cells.dtype):
        return False
    cell_texts = [folded(text) for text in texts(cells).fill_null("")]
    rows = list(zip(cell_texts, labels, strict=True))
    filled_rows = [(text, label) for text, label in rows if text]
    if len(filled_rows) < _FEWEST_ROWS:
        return False

    class_of = {folded(name): name for name in classes}
    class_rows = [(class_of[text], label) for text, label in filled_rows if text in class_of]
    if len(class_rows) >= _CLASS_CELLS * len(filled_rows):
        return _agreement(class_rows, labels) >= _KAPPA
    # An empty cell may go with a label too, or say nothing.
    return _tells_label(rows, classes) or _tells_label(filled_rows, classes)


def _agreement(class_rows: Sequence[tuple[str, str]], labels: Sequence[str]) -> float:
    r"""Compute the agreement beyond chance of the filled cells of a column with the labels.

    It is Cohen's kappa, :math:`(p_o - p_e) / (1 - p_e)`, over the filled cells, with the label
    shares of all rows in the agreement by chance, :math:`p_e`: so a column that names one class
    where it is filled counts, too.
    """
    counts = Counter(labels)
    observed = sum(cell == label for cell, label in class_rows) / len(class_rows)
    by_chance = sum(counts[cell] for cell, _ in class_rows) / (len(class_rows) * len(labels))
    if by_chance >= 1:
        return 0.0
    return (observed - by_chance) / (1 - by_chance)


def _tells_label(rows: Sequence[tuple[str, str]], classes: Sequence[str]) -> bool:
    """Tell whether most labels beyond the commonest follow from the cells, or are named in them."""
    label_counts = Counter(label for _, label in rows)
    commonest_share = max(label_counts.values()) / len(rows)
    if commonest_share >= 1:
        return False
    n_revealed = max(_count_following(rows), _count_named(rows, classes))
    return n_revealed / len(rows) >= commonest_share + _REVEALED * (1 - commonest_share)


def _count_following(rows: Sequence[tuple[str, str]]) -> int:
    """Count the rows whose label most other rows with the same cell have."""
    labels_by_cell: dict[str, Counter[str]] = defaultdict(Counter)
    for text, label in rows:
        labels_by_cell[text][label] += 1
    n_rows = 0
    for label_counts in labels_by_cell.values():
        most, second, *_ = [*sorted(label_counts.values(), reverse=True), 0]
        # A cell that no other row has tells nothing.
        if most > second + 1:
            n_rows += most
    return n_rows


def _count_named(rows: Sequence[tuple[str, str]], classes: Sequence[str]) -> int:
    """Count the rows whose text names their label, and no other class."""
    if len(classes) > _MOST_NAMED:
        return 0
    # Spaces around the words of a text and of a class make sure that whole words match.
    phrases = {name: _phrase(name) for name in classes}
    n_rows = 0
    for (text, label), n_same in Counter(rows).items():
        phrase_of_text = _phrase(text)
        named = [
            name
            for name, phrase in phrases.items()
            if phrase in phrase_of_text and len(phrase) >= _SHORTEST_WORD + 2
        ]
        if named == [label]:
            n_rows += n_same
    return n_rows


def _phrase(text: str) -> str:
    """Join the words of a text, with a space before and after each."""
    return f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    """Split a text into its words, in lower case."""
    return re.findall(r"[^\W_]+", folded(text))
