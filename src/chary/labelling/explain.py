"""Explain labels: the columns that decide them in a table, and the cells that decide one row.

Only the classifier's probabilities are used. All features made from one column of the table form a
group. To measure what a column does, its group is replaced by the group of another row, and the
changed rows are predicted together, in blocks of bounded size. A group that is equal in both rows
is not predicted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Array, Floats, Ints, Mask
from chary._words import visible
from chary.method.estimators import probabilities
from chary.tables import TablePreparation
from chary.tables.cells import shown_cells

Groups = Sequence[Ints]  # for each group, the places of its features

# The next four numbers were chosen by ``benchmarks/explain.py``.
# Most columns that the explanation of a single row may use.
_MAX_COLUMNS = 20
# Most rows that stand for the table.
_MAX_SAMPLE_ROWS = 2_000
# The fewest rows among which a column is shuffled.
_MIN_SHUFFLED_ROWS = 16
# Rows that a row is compared with.
_BACKGROUND_ROWS = 8

# Rows that are explained at a time.
_ROWS = 5_000
# Most numbers in a block of changed rows that is predicted at once.
_BLOCK_CELLS = 2**22
# Bounds the rows whose changes ``effects`` lists at once: rows times background rows times groups
# or features.
_PART_CELLS = 2**19
# Probabilities are clipped to this distance from 0 and 1, so that log-odds stay finite.
_FLOOR = 1e-6

# The pattern of a word in a text.
_WORD = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]+"
# Words of a text that are left out one by one, the longest first.
_MOST_WORDS = 40
# Most words of a text that are named.
_NAMED_WORDS = 3
# A further word is named if its effect is at least this share of the largest effect of a word.
_MIN_SHARE_OF_BEST_WORD = 0.5
# A group is decisive beside the first if its effect is at least this share of the first one's.
_MIN_SHARE_OF_BEST_GROUP = 0.25
# Digits that an effect is rounded to; the size of a block changes only digits far behind these.
_DIGITS = 4


class ColumnImportance(NamedTuple):
    """How much one column matters for the labels."""

    column: str
    change: float  # of the probabilities on average, if its cells are shuffled among the rows


class Cell(NamedTuple):
    """A cell that speaks for the label of its row."""

    column: str
    effect: float  # on the log-odds of the label, compared with cells of other rows
    shown: str  # the column and its cell, for a person


class Explainer(NamedTuple):
    """What explains the labels of a table."""

    classifier: Any  # predicts from features
    preparation: TablePreparation  # makes the features of a table
    importance: list[ColumnImportance]  # the most important first
    n_rows: int  # number of rows that the importance was measured on
    columns: list[str]  # columns that explain single rows, in the order of their features
    groups: list[Ints]  # for each of ``columns``, the places of its features
    background: Array  # (B, d) unlabelled rows that others are compared with

    def effects(self, X: Array, codes: Ints) -> Array:
        """Measure how much each of ``columns`` speaks for the class of each row, (n, G)."""
        return effects(self.classifier, X, codes, self.background, self.groups)

    def cells(
        self,
        X: Array,
        codes: Ints,
        frame: pl.DataFrame,
        row_effects: Array,
    ) -> list[list[Cell]]:
        """Name the two or three cells that decide each row, by its ``effects`` (n, G).

        The ``frame`` holds the cells. Of a text only the deciding words are shown: without such a
        word, the label is less probable.
        """
        chosen = decisive(row_effects)  # (n, k) places in ``columns``, -1 none
        shown_by_column: dict[int, list[str]] = {}
        for k in np.unique(chosen[chosen >= 0]).tolist():
            rows = np.flatnonzero((chosen == k).any(axis=1))
            shown_by_column[k] = self._shown_cells(k, X, codes, frame, rows)

        cells_by_row = []
        for row, places in enumerate(chosen.tolist()):
            cells_by_row.append(
                [
                    Cell(self.columns[k], float(row_effects[row, k]), shown_by_column[k][row])
                    for k in places
                    if k >= 0
                ]
            )
        return cells_by_row

    def _shown_cells(
        self,
        k: int,
        X: Array,
        codes: Ints,
        frame: pl.DataFrame,
        rows: Ints,
    ) -> list[str]:
        """Write the cells of column k for a person; of a text in ``rows``, its deciding words."""
        name = self.columns[k]
        # A column that comes from a file beside the table is not in the frame.
        if name not in frame.columns:
            return [name] * frame.height
        shown = shown_cells(frame[name]).to_list()
        kinds = {column.name: column.kind for column in self.preparation.columns_}
        if kinds[name] != "words":
            return shown

        words_by_row = self._words(k, X[rows], codes[rows], frame[name].gather(rows))
        for row, words in zip(rows.tolist(), words_by_row, strict=True):
            if words:
                shown[row] = f"{visible(name, 40)}: {', '.join(words)}"
        return shown

    def _words(self, k: int, X: Array, codes: Ints, cells: pl.Series) -> list[list[str]]:
        """Name the deciding words of each text: without one the class is less probable."""
        words_of = [words or [] for words in cells.cast(pl.String).str.extract_all(_WORD).to_list()]
        named: list[list[str]] = [[] for _ in words_of]
        # An empty cell may be decisive, too, but has no word to name.
        rows = [row for row, words in enumerate(words_of) if words]
        if not rows:
            return named

        # Every text as a whole, then every text without one of its words at a time.
        words_to_drop = {row: _longest_words(words_of[row]) for row in rows}
        changed_rows = rows.copy()
        texts = [" ".join(words_of[row]) for row in rows]
        for row in rows:
            for dropped in words_to_drop[row]:
                changed_rows.append(row)
                texts.append(" ".join(word for word in words_of[row] if word.lower() != dropped))

        other_columns = [
            column.name
            for column in self.preparation.columns_
            if column.used and column.name != self.columns[k]
        ]
        # Only the feature group of the text column changes, so only that column is prepared again.
        text_alone = self.preparation.without(dict.fromkeys(other_columns, ""))
        changed = X[changed_rows]
        changed[:, self.groups[k]] = text_alone.transform_part(pl.DataFrame({cells.name: texts}))
        odds = _log_odds(probabilities(self.classifier, changed), codes[changed_rows])

        # The first ``len(rows)`` log-odds are of whole texts; then come the texts without a word.
        start = len(rows)
        for place, row in enumerate(rows):
            words = list(words_to_drop[row].values())
            loss = np.round(odds[place] - odds[start : start + len(words)], _DIGITS)
            start += len(words)
            for best in np.argsort(-loss, kind="stable")[:_NAMED_WORDS]:
                if loss[best] > 0 and loss[best] >= _MIN_SHARE_OF_BEST_WORD * loss.max():
                    named[row].append(f'"{visible(words[best], 30)}"')
        return named


def _longest_words(words: Sequence[str]) -> dict[str, str]:
    """Map the longest words, in lower case, to how each is first written, in text order."""
    first_written: dict[str, str] = {}
    for word in words:
        first_written.setdefault(word.lower(), word)
    longest = set(sorted(first_written, key=len, reverse=True)[:_MOST_WORDS])
    return {key: word for key, word in first_written.items() if key in longest}


def explainer(
    classifier: Any,
    preparation: TablePreparation,
    X: Array,
    rows: Ints | None = None,
) -> Explainer:
    """Measure how much each column matters, and choose the background rows.

    Both use ``rows`` of X (n, d) only; None: all rows. The result does not depend on the order of
    rows or columns.
    """
    names, groups = column_groups(preparation)
    sample = X[spread_rows(X, _MAX_SAMPLE_ROWS, rows)]
    change, n_rows = importance(classifier, sample, groups)
    order = np.argsort(-change, kind="stable")
    most_important = np.sort(order[:_MAX_COLUMNS])
    return Explainer(
        classifier=classifier,
        preparation=preparation,
        importance=[ColumnImportance(names[k], float(change[k])) for k in order],
        n_rows=n_rows,
        columns=[names[k] for k in most_important],
        groups=[groups[k] for k in most_important],
        background=sample[spread_rows(sample, _BACKGROUND_ROWS)],
    )


def reasons_of(
    explainer: Explainer,
    X: Array,
    frame: pl.DataFrame,
    codes: Ints,
    rows: Ints,
) -> dict[int, list[Cell]]:
    """Find the cells that decide the class of a few rows: row -> cells."""
    row_effects = explainer.effects(X[rows], codes[rows])
    cells = explainer.cells(X[rows], codes[rows], frame[rows], row_effects)
    return dict(zip(rows.tolist(), cells, strict=True))


def every_reason(
    explainer: Explainer,
    X: Array,
    frame: pl.DataFrame,
    codes: Ints,
    rows: Ints,
    progress: Callable[[str], None],
) -> pl.Series:
    """Write the cells that decide the labels of ``rows``; null for the other rows."""
    texts = [pl.Series([], dtype=pl.String)]
    for start in range(0, len(rows), _ROWS):
        progress(f"Explaining rows: {start:,} of {len(rows):,}")
        block = rows[start : start + _ROWS]
        cells_of = reasons_of(explainer, X, frame, codes, block)
        texts.append(as_texts(cells_of.values()))
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(codes))
    return nothing.scatter(rows, pl.concat(texts))


def as_texts(cells_by_row: Iterable[list[Cell]]) -> pl.Series:
    """Write the cells of each row as a text (``age = 47; town = Ulm``), or null."""
    texts = ["; ".join(cell.shown for cell in cells) or None for cells in cells_by_row]
    return pl.Series(texts, dtype=pl.String)


def effects(model: Any, X: Floats, codes: Ints, background: Floats, groups: Groups) -> Floats:
    """Measure how much each group speaks for the class of each row, (n, G), in log-odds.

    With x a row, c its class, s_c = log p_c / (1 - p_c), and x with group g taken from background
    row b written x[g <- b], the effect of g is the mean over b of s_c(x) - s_c(x[g <- b]). In a
    model whose log-odds are a sum of functions of one group each, it is what the group adds above
    its mean over the background, whatever the other groups are. Effects are rounded to 1e-4.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function``.
    X : array of shape (n, d)
    codes : array of shape (n,)
        The class of each row, as a place in the columns of the probabilities.
    background : array of shape (B, d)
        Rows that stand for all: see ``spread_rows``.
    groups : sequence of arrays of feature numbers
    """
    row_effects = np.zeros((len(X), len(groups)))
    cells_per_row = max(1, len(background)) * max(1, len(groups), X.shape[1])
    size = max(1, _PART_CELLS // cells_per_row)
    for start in range(0, len(X), size):
        block = slice(start, start + size)
        differs = _differs(X[block][:, None], background, groups)  # (n, B, G)
        row, donor, group = np.nonzero(differs)
        changes = (row, group, donor)
        probs, changed_probs = _exchanged(model, X[block], background, groups, changes)
        odds = _log_odds(probs, codes[block])
        changed_odds = _log_odds(changed_probs, codes[block][row])

        # Sum over the background rows; a group that is the same in both rows adds 0.
        shape = row_effects[block].shape
        cell = row * len(groups) + group
        total = np.bincount(cell, odds[row] - changed_odds, minlength=row_effects[block].size)
        row_effects[block] = total.reshape(shape) / len(background)
    return np.round(row_effects, _DIGITS) + 0.0  # no -0.0


def decisive(effects: Floats, most: int = 3) -> Ints:
    """Find the groups that speak most for the class of each row, (n, most), -1 for none.

    A group is decisive if its effect is above zero and at least a quarter of the largest; of equal
    effects the first group is named first.

    >>> decisive(np.array([[0.1, 2.0, 2.0, 0.6], [0.0, -3.0, 0.0, 0.0]]))
    array([[ 1,  2,  3],
           [-1, -1, -1]])
    """
    order = np.argsort(-effects, axis=1, kind="stable")[:, :most]
    sorted_effects = np.take_along_axis(effects, order, axis=1)
    counts = (sorted_effects > 0) & (
        sorted_effects >= _MIN_SHARE_OF_BEST_GROUP * sorted_effects[:, :1]
    )
    return np.where(counts, order, -1)


def importance(
    model: Any, X: Floats, groups: Groups, most_predictions: int = 2**13
) -> tuple[Floats, int]:
    """Measure what shuffling each group among the rows does to predictions.

    Returns the mean change of the probabilities by group (G,), which is half the sum over classes
    of the absolute changes, and the number of rows it was measured on. Rows are drawn evenly
    (``spread_rows``): at least 16, and no more than give ``most_predictions`` changed rows to
    predict. Each
    row takes its group from the row half the sample further on, counted round the end.
    """
    n_rows = max(_MIN_SHUFFLED_ROWS, most_predictions // max(1, len(groups)))
    sample = X[spread_rows(X, n_rows)]
    n = len(sample)
    donors = np.roll(sample, -(n // 2), axis=0)
    row, group = np.nonzero(_differs(sample, donors, groups))
    probs, changed_probs = _exchanged(model, sample, donors, groups, (row, group, row))
    moved = np.abs(changed_probs - probs[row]).sum(axis=1) / 2
    change = np.bincount(group, moved, minlength=len(groups)) / n
    return np.round(change, _DIGITS), n


def spread_rows(X: Array, k: int, rows: Ints | None = None) -> Ints:
    """Choose up to k rows that stand for all, or for some ``rows``.

    Rows are sorted by a hash of their features and taken at even distances. So the choice does not
    depend on the order of the rows, and rows that occur often are chosen in proportion.
    """
    if rows is None:
        rows = np.arange(len(X))
    if len(rows) == 0:
        return rows
    order = rows[np.argsort(_hash_rows(X)[rows], kind="stable")]
    n_chosen = min(k, len(rows))
    return order[np.arange(n_chosen) * len(rows) // n_chosen]


def _differs(X: Floats, others: Floats, groups: Groups) -> Mask:
    """Tell whether each group differs between two rows, (..., G)."""
    feature_differs = others != X
    by_group = [feature_differs[..., features].any(axis=-1) for features in groups]
    return np.stack(by_group, axis=-1)


def _exchanged(
    model: Any, X: Floats, donors: Floats, groups: Groups, changes: tuple[Ints, ...]
) -> tuple[Floats, Floats]:
    """Predict the rows of X, (n, C), and changed rows, (t, C), in as few calls as possible.

    ``changes`` are three arrays (t,): the row of X to change, the group to replace in it, and the
    row of ``donors`` that the group is taken from.
    """
    # The last group has no feature: with it a row stays as it is.
    is_taken = np.zeros((len(groups) + 1, X.shape[1]), dtype=bool)  # (G + 1, d)
    for number, features in enumerate(groups):
        is_taken[number, features] = True

    n = len(X)
    row = np.concatenate([np.arange(n), changes[0]])
    group = np.concatenate([np.full(n, len(groups)), changes[1]])
    donor = np.concatenate([np.zeros(n, dtype=np.intp), changes[2]])
    size = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    blocks = []
    for start in range(0, len(row), size):
        block = slice(start, start + size)
        mixed = np.where(is_taken[group[block]], donors[donor[block]], X[row[block]])
        blocks.append(probabilities(model, mixed))
    probs = np.concatenate(blocks).astype(np.float64)
    return probs[:n], probs[n:]


def _log_odds(probs: Floats, codes: Ints) -> Floats:
    """Compute the log-odds of one class of each row against the others, (n,)."""
    p = np.clip(probs[np.arange(len(codes)), codes], _FLOOR, 1 - _FLOOR)
    return np.log(p) - np.log1p(-p)


def _hash_rows(X: Array) -> NDArray[np.uint64]:
    """Hash the content of each row, (n,).

    Sums of integers do not depend on the order of the terms, so the hash is the same everywhere.
    """
    bits = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32)
    rng = np.random.default_rng(0)
    # Multiplying by an odd number loses no bits modulo 2**64.
    odd = np.uint64(1)
    factors = rng.integers(1, 2**63, X.shape[1], dtype=np.uint64) | odd
    size = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    sums = np.zeros(len(X), dtype=np.uint64)
    for start in range(0, len(X), size):
        block = slice(start, start + size)
        sums[block] = (bits[block] * factors).sum(axis=1)
    # Mix the high bits into the low ones.
    return (sums ^ (sums >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def column_groups(preparation: TablePreparation) -> tuple[list[str], list[Ints]]:
    """List the columns that are used, in the order of their features, and the features of each."""
    used = [column.name for column in preparation.ordered_ if column.used]
    places: dict[str, list[int]] = {name: [] for name in used}
    for place, feature in enumerate(preparation.features()):
        places[feature.column].append(place)
    groups = [np.array(features, dtype=np.intp) for features in places.values()]
    return list(places), groups
