"""Which columns a person who labels rows must not see, because they give the labels under test away."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from chary.audit.sheet import MOST_SHOWN, draw
from chary.tables.table import can_be_text, texts
from chary.tables.target import folded

if TYPE_CHECKING:
    from chary.audit.judge import LabelsUnderTest

# Rows that are looked at, in blocks of neighbours: single rows take long to read.
_LOOKED_AT = 2_000
_BLOCK = 100
_FEWEST_ROWS = 20  # filled cells, and labels, that tell anything
_MOST_NAMED = 50  # classes that are looked for in texts
_TOLD = 0.8  # of the rows beyond the commonest label, so many must be told
_MOST_CELLS = 0.9  # of the filled cells of a column of classes, so many hold one
_SAME = 0.2  # the agreement beyond chance (kappa) of a column of classes with the labels

# Names of columns that a labeller wrote, whatever their cells look like.
_LABELLERS = {"llm", "gpt", "claude", "gemini", "llama", "mistral"}  # anywhere in the name
_OUTPUTS = {"label", "labels", "confidence", "prediction", "predicted"}  # at its end


def hidden_columns(tested: LabelsUnderTest) -> tuple[list[str], list[str]]:
    """Find what a person who answers must not see: what was said to hide, and what gives the labels away.

    The second are columns whose name says that a labeller wrote them (``llm_reason``,
    ``vendor_label``, ``rule_confidence``). And columns from which a label can be told, looked for
    in the filled cells of up to 2,000 rows: those that hold the same classes and mostly agree with
    it, those of which each value goes with one label, and texts that name it. A column of
    measurements is none of them: a rule may be made of it, and a person needs it, too. What
    ``show`` names is left out of them, and all of them are if nothing else would be left to label a
    row by.
    """
    source, options = tested.source, tested.options
    hidden = list(
        dict.fromkeys([*options.labels, *options.hide, *filter(None, [options.confidence])])
    )
    for name in [*hidden, *options.show]:
        source.column_named(name)
    others = [name for name in source.names if name not in hidden and not name.startswith("chary_")]
    candidates = [name for name in others if name not in options.show]

    n_blocks = math.ceil(source.n_rows / _BLOCK)
    blocks = np.sort(draw(np.zeros(n_blocks, dtype=bool), min(_LOOKED_AT // _BLOCK, n_blocks), 0))
    numbers = np.add.outer(_BLOCK * blocks, np.arange(_BLOCK)).ravel().tolist()
    cells = source.rows(
        [row for row in numbers if row < source.n_rows], [*options.labels, *candidates]
    )
    revealing = {name for name in candidates if _has_name_of_labeller(name)}
    for column in options.labels:
        all_labels = tested.of(cells[column])
        labelled_rows = cells.filter([label is not None for label in all_labels])
        labels = [label for label in all_labels if label is not None]
        for name in candidates:
            if reveals_label(labelled_rows[name], labels, tested.classes):
                revealing.add(name)

    # If every other column reveals the label, hiding them would leave nothing to answer by; and a
    # sheet of very many columns remembers only the hidden ones, as far as there is room.
    if len(revealing) == len(others) or len("".join(revealing)) >= MOST_SHOWN:
        return hidden, []
    return hidden, [name for name in candidates if name in revealing]


def _has_name_of_labeller(name: str) -> bool:
    words = _words(name).split()
    return bool(_LABELLERS.intersection(words)) or (bool(words) and words[-1] in _OUTPUTS)


def reveals_label(cells: pl.Series, labels: Sequence[str], classes: Sequence[str]) -> bool:
    """Tell whether a column gives the labels of its rows away, by all cells or by the filled ones."""
    if len(set(labels)) < 2 or len(labels) < _FEWEST_ROWS or not can_be_text(cells.dtype):
        return False
    raw_texts = texts(cells).fill_null("").to_list()
    folded_text = {text: folded(text) for text in set(raw_texts)}
    if len(folded_text) < 2:
        return False  # the same in every row
    cell_texts = [folded_text[text] for text in raw_texts]
    is_filled = [bool(text) for text in cell_texts]
    filled_texts = [text for text in cell_texts if text]
    filled_labels = [label for label, filled in zip(labels, is_filled, strict=True) if filled]
    if len(filled_texts) < _FEWEST_ROWS:
        return False

    class_of = {folded(name): name for name in classes}
    named = []
    for text, label in zip(filled_texts, filled_labels, strict=True):
        if text in class_of:
            named.append((class_of[text], label))
    if len(named) >= _MOST_CELLS * len(filled_texts):
        return _agreement(named, labels) >= _SAME
    if _tells(cell_texts, labels, classes):
        return True
    return len(filled_texts) < len(cell_texts) and _tells(filled_texts, filled_labels, classes)


def _agreement(named: Sequence[tuple[str, str]], labels: Sequence[str]) -> float:
    r"""Compute the agreement beyond chance of the filled cells of a column with the labels.

    It is Cohen's kappa, :math:`(p_o - p_e) / (1 - p_e)`, over the filled cells, with the label
    shares of all rows in the agreement by chance, :math:`p_e`: so a column that names one class
    where it is filled counts, too.
    """
    counts = Counter(labels)
    observed = sum(cell == label for cell, label in named) / len(named)
    by_chance = sum(counts[cell] for cell, _ in named) / (len(named) * len(labels))
    if by_chance >= 1:
        return 0.0
    return (observed - by_chance) / (1 - by_chance)


def _tells(cell_texts: Sequence[str], labels: Sequence[str], classes: Sequence[str]) -> bool:
    """Tell whether most labels beyond the commonest follow from the cells, or are named in them."""
    usual = max(Counter(labels).values()) / len(labels)
    if usual >= 1:
        return False
    counts = pl.DataFrame({"cell": cell_texts, "label": labels}).group_by("cell", "label").len("n")
    most = pl.col("n").sort(descending=True)
    by_cell = counts.group_by("cell").agg(most=most.first(), rival=most.slice(1, 1).sum())
    # Rows whose label most others with the same cell have: a cell of its own tells nothing.
    n_told = by_cell.filter(pl.col("most") > pl.col("rival") + 1)["most"].sum()

    keys = {}
    if len(classes) <= _MOST_NAMED:
        keys = {name: _words(name) for name in classes if len(_words(name)) > 4}
    named_in = {}  # by text: the classes that it names
    for text in set(cell_texts):
        words = _words(text)
        named_in[text] = [name for name, key in keys.items() if key in words]
    # Rows of which the text names the label, and no other.
    n_named = sum(named_in[text] == [label] for text, label in zip(cell_texts, labels, strict=True))
    return max(n_told, n_named) / len(labels) >= usual + _TOLD * (1 - usual)


def _words(text: str) -> str:
    return " " + " ".join(re.split(r"[\W_]+", folded(text))).strip() + " "
