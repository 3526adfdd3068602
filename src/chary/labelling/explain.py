"""Which columns decide the labels of a table, and which cells decide the label of a row.

Nothing is asked of the classifier but probabilities. The features of a group, all that one column
of a table became, are exchanged together for those of another row, and the rows so changed are
predicted in one stack, a block of bounded size at a time. Where a group is the same in both rows
nothing is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._words import visible
from chary.method.estimators import probabilities
from chary.tables import Table, TablePreparation
from chary.tables.cells import shown_cells

Floats = NDArray[np.floating[Any]]
Groups = Sequence[NDArray[np.intp]]  # of each group the places of its features

# Columns that single rows are explained by; rows that stand for all, the fewest of them that a
# column is shuffled in, and rows that a row is compared with: see ``benchmarks/explain.py``.
_MOST_DECISIVE, _SAMPLE, _FEWEST, _BACKGROUND = 20, 2_000, 16, 8
_ROWS = 5_000  # explained at a time
# Numbers in a block of changed rows that is predicted, and in what is worked out of them at a time.
_BLOCK_CELLS, _PART_CELLS = 2**22, 2**19
# Probabilities nearer to 0 or 1 than this count as this: log-odds stay finite.
_FLOOR = 1e-6
# Words of a text that are left out one by one, the longest first; how many are named at most; the
# share of the first one's effect that another needs; and what a word is.
_MOST_WORDS, _NAMED_WORDS, _BESIDE_WORD, _WORD = 40, 3, 0.5, r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]+"
# Effects are told to so many digits, far above what the size of a block changes in them.
_DIGITS = 4
# A group is decisive beside the first if its effect is at least this share of the first one's.
_BESIDE = 0.25


class ColumnImportance(NamedTuple):
    """What the labels owe to one column."""

    column: str
    change: float  # of the probabilities on average, if its cells are shuffled among the rows


class Cell(NamedTuple):
    """A cell that speaks for the label of its row."""

    column: str
    effect: float  # log-odds of the label against the rest: how much more than cells of other rows
    shown: str  # the column and what its cell holds, as a person reads it


class Explainer(NamedTuple):
    """What explains the labels of a table."""

    classifier: Any  # of features
    preparation: TablePreparation  # that made them
    importance: list[ColumnImportance]  # the most important first
    n_rows: int  # that the importance was measured on
    columns: list[str]  # that single rows are explained by, in the order of their features
    groups: list[NDArray[np.intp]]  # the features of each
    background: NDArray[Any]  # (B, d) unlabelled rows that others are compared with

    def effects(self, X: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[Any]:
        """How much each of ``columns`` speaks for the class of each row, (n, G)."""
        return effects(self.classifier, X, codes, self.background, self.groups)

    def cells(
        self, X: NDArray[Any], codes: NDArray[np.intp], frame: pl.DataFrame, found: NDArray[Any]
    ) -> list[list[Cell]]:
        """The two or three cells that decide each row, by its ``effects`` (n, G); ``frame`` holds the cells.

        Of a text the words that decide are shown: those without which the model is less sure.
        """
        chosen = decisive(found)  # (n, k) places in ``columns``, -1 none
        shown: dict[int, list[str]] = {}
        kinds = {column.name: column.kind for column in self.preparation.columns_}
        for k in np.unique(chosen[chosen >= 0]).tolist():
            name = self.columns[k]
            if name not in frame.columns:  # it is in a file beside the table
                shown[k] = [name] * len(found)
                continue
            shown[k] = shown_cells(frame[name]).to_list()
            if kinds[name] == "words":
                rows = np.flatnonzero((chosen == k).any(axis=1))
                said = self._words(k, X[rows], codes[rows], frame[name].gather(rows))
                for row, words in zip(rows.tolist(), said, strict=True):
                    shown[k][row] = (
                        f"{visible(name, 40)}: {', '.join(words)}" if words else shown[k][row]
                    )
        return [
            [Cell(self.columns[k], float(found[row, k]), shown[k][row]) for k in places if k >= 0]
            for row, places in enumerate(chosen.tolist())
        ]

    def texts(
        self, X: NDArray[Any], codes: NDArray[np.intp], frame: pl.DataFrame, found: NDArray[Any]
    ) -> pl.Series:
        """The same as a text for each row, null where no cell stands out: ``income = 12,000; region = north``."""
        said = [
            "; ".join(cell.shown for cell in row) or None
            for row in self.cells(X, codes, frame, found)
        ]
        return pl.Series(said, dtype=pl.String)

    def _words(
        self, k: int, X: NDArray[Any], codes: NDArray[np.intp], cells: pl.Series
    ) -> list[list[str]]:
        """Name the words of each text that decide: the class is less probable, in log-odds, without them."""
        words_of = [words or [] for words in cells.cast(pl.String).str.extract_all(_WORD).to_list()]
        rows = [row for row, words in enumerate(words_of) if words]
        named: list[list[str]] = [[] for _ in words_of]
        if not rows:  # of cells that hold nothing it may still decide that they do
            return named

        # Every text as a whole, then every text without one of its words at a time.
        left_out = {row: _longest_words(words_of[row]) for row in rows}
        changed_rows = rows.copy()
        texts = [" ".join(words_of[row]) for row in rows]
        for row in rows:
            for left in left_out[row]:
                changed_rows.append(row)
                texts.append(" ".join(word for word in words_of[row] if word.lower() != left))

        others = [c.name for c in self.preparation.columns_ if c.used and c.name != self.columns[k]]
        alone = self.preparation.without(dict.fromkeys(others, ""))
        changed = X[changed_rows]
        changed[:, self.groups[k]] = alone.transform_part(pl.DataFrame({cells.name: texts}))
        odds = _log_odds(probabilities(self.classifier, changed), codes[changed_rows])

        start = len(rows)
        for place, row in enumerate(rows):
            words = list(left_out[row].values())
            lost = np.round(odds[place] - odds[start : start + len(words)], _DIGITS)
            start += len(words)
            for best in np.argsort(-lost, kind="stable")[:_NAMED_WORDS]:
                if lost[best] > 0 and lost[best] >= _BESIDE_WORD * lost.max():
                    named[row].append(f'"{visible(words[best], 30)}"')
        return named


def _longest_words(words: Sequence[str]) -> dict[str, str]:
    """Find the longest words, in their order: as they are first written, by what they are in lower case."""
    first_written: dict[str, str] = {}
    for word in words:
        first_written.setdefault(word.lower(), word)
    longest = set(sorted(first_written, key=len, reverse=True)[:_MOST_WORDS])
    return {key: word for key, word in first_written.items() if key in longest}


def explainer(
    classifier: Any,
    preparation: TablePreparation,
    X: NDArray[Any],
    rest: NDArray[np.intp] | None = None,
) -> Explainer:
    """Find the columns that matter among the rows ``rest`` of X (n, d), and rows to compare single ones with.

    Nothing depends on the order of rows or columns.
    """
    names, groups = column_groups(preparation)
    some = X[spread_rows(X, _SAMPLE, rest)]
    change, n_rows = importance(classifier, some, groups)
    order = np.argsort(-change, kind="stable")
    most = np.sort(order[:_MOST_DECISIVE])
    return Explainer(
        classifier=classifier,
        preparation=preparation,
        importance=[ColumnImportance(names[k], float(change[k])) for k in order],
        n_rows=n_rows,
        columns=[names[k] for k in most],
        groups=[groups[k] for k in most],
        background=some[spread_rows(some, _BACKGROUND)],
    )


def reasons_of(
    explained: Explainer,
    X: NDArray[Any],
    table: Table,
    codes: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> dict[int, list[Cell]]:
    """By row, the cells that decide the class ``codes`` (n,) has for it: a few rows, as a report shows them."""
    X, codes = X[rows], codes[rows]
    cells = explained.cells(X, codes, table.frame[rows], explained.effects(X, codes))
    return dict(zip(rows.tolist(), cells, strict=True))


def every_reason(
    explained: Explainer,
    X: NDArray[Any],
    frame: pl.DataFrame,
    codes: NDArray[np.intp],
    rows: NDArray[np.intp],
    progress: Callable[[str], None],
) -> pl.Series:
    """The cells that decide the labels of ``rows`` as text; null for others, and where no cell stands out."""
    parts = [pl.Series([], dtype=pl.String)]
    for start in range(0, len(rows), _ROWS):
        progress(f"Explaining rows: {start:,} of {len(rows):,}")
        part = rows[start : start + _ROWS]
        some, of = X[part], codes[part]
        parts.append(explained.texts(some, of, frame[part], explained.effects(some, of)))
    return (
        pl.Series([None], dtype=pl.String)
        .new_from_index(0, len(codes))
        .scatter(rows, pl.concat(parts))
    )


def effects(
    model: Any, X: Floats, codes: NDArray[np.intp], background: Floats, groups: Groups
) -> Floats:
    """How much each group speaks for the class of each row, (n, G), in log-odds of that class against the rest.

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
    found = np.zeros((len(X), len(groups)))
    size = max(1, _PART_CELLS // (max(1, len(background)) * max(1, len(groups), X.shape[1])))
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        row, donor, group = np.nonzero(
            _differs(X[part][:, None], background, groups)
        )  # of (n, B, G)
        own, changed = _exchanged(model, X[part], background, groups, (row, group, donor))
        moved = _log_odds(own, codes[part])[row] - _log_odds(changed, codes[part][row])
        total = np.bincount(row * len(groups) + group, moved, minlength=found[part].size)
        found[part] = total.reshape(found[part].shape) / len(background)
    return np.round(found, _DIGITS) + 0.0  # no -0.0


def decisive(effects: Floats, most: int = 3) -> NDArray[np.intp]:
    """Of each row the groups that speak most for its class, (n, most), the first one first; -1: no further one.

    A group is decisive if its effect is above zero and at least a quarter of the largest; of equal
    effects the first group is named first.

    >>> decisive(np.array([[0.1, 2.0, 2.0, 0.6], [0.0, -3.0, 0.0, 0.0]]))
    array([[ 1,  2,  3],
           [-1, -1, -1]])
    """
    order = np.argsort(-effects, axis=1, kind="stable")[:, :most]
    sorted_effects = np.take_along_axis(effects, order, axis=1)
    counts = (sorted_effects > 0) & (sorted_effects >= _BESIDE * sorted_effects[:, :1])
    return np.where(counts, order, -1)


def importance(
    model: Any, X: Floats, groups: Groups, most_predictions: int = 2**13
) -> tuple[Floats, int]:
    """Measure what shuffling each group among the rows does to predictions; also return the number of rows.

    Of each group (G,) the mean change of the probabilities: half the sum over classes of what each
    moves. Rows are drawn evenly (``spread_rows``), so many that no more than ``most_predictions``
    changed rows are to be predicted, and 16 in any case. Each then gets the group of the row half a
    round further on.
    """
    sample = X[spread_rows(X, max(_FEWEST, most_predictions // max(1, len(groups))))]
    n = len(sample)
    donors = np.roll(sample, -(n // 2), axis=0)
    row, group = np.nonzero(_differs(sample, donors, groups))
    probs, changed = _exchanged(model, sample, donors, groups, (row, group, row))
    moved = np.abs(changed - probs[row]).sum(axis=1) / 2
    change = np.bincount(group, moved, minlength=len(groups)) / n
    return np.round(change, _DIGITS), n


def spread_rows(X: NDArray[Any], k: int, rows: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Up to k rows that stand for all, or for some ``rows``; which, depends on what they hold, not on their order.

    Rows are sorted by a hash of their features and taken at even distances, so that of equal rows a
    fair share is taken.
    """
    rows = np.arange(len(X)) if rows is None else rows
    n = len(rows)
    order = rows[np.argsort(_hashes(X)[rows], kind="stable")]
    return order[(np.arange(min(k, n)) * n) // min(k, n)] if n else order


def _differs(X: Floats, others: Floats, groups: Groups) -> NDArray[np.bool_]:
    """Whether each group is not the same in two rows, (..., G)."""
    features = others != X
    return np.stack([features[..., own].any(axis=-1) for own in groups], axis=-1)


def _exchanged(
    model: Any, X: Floats, donors: Floats, groups: Groups, changes: tuple[NDArray[np.intp], ...]
) -> tuple[Floats, Floats]:
    """Probabilities of the rows of X, (n, C), and of those changed, (t, C), from one stack: calls are dear.

    ``changes`` are (t,) rows to change, the group that is taken in each, and the donor that it is
    taken from.
    """
    taken = np.zeros(
        (len(groups) + 1, X.shape[1]), dtype=bool
    )  # the last group has no feature: a row as it is
    for number, own in enumerate(groups):
        taken[number, own] = True
    n = len(X)
    unchanged = np.arange(n), np.full(n, len(groups)), np.zeros(n, dtype=np.intp)
    row, group, donor = (np.concatenate(pair) for pair in zip(unchanged, changes, strict=True))
    size = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    parts = [slice(start, start + size) for start in range(0, len(row), size)]
    blocks = [
        probabilities(model, np.where(taken[group[p]], donors[donor[p]], X[row[p]])) for p in parts
    ]
    probs = np.concatenate(blocks).astype(np.float64)
    return probs[:n], probs[n:]


def _log_odds(probs: Floats, codes: NDArray[np.intp]) -> Floats:
    p = np.clip(probs[np.arange(len(codes)), codes], _FLOOR, 1 - _FLOOR)
    return np.log(p) - np.log1p(-p)


def _hashes(X: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row by what it holds, the same in whatever place: integers add up exactly."""
    bits = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32)
    factors = np.random.default_rng(0).integers(1, 2**63, X.shape[1], dtype=np.uint64) | np.uint64(
        1
    )
    size = max(1, _BLOCK_CELLS // max(1, X.shape[1]))
    sums = [(bits[start : start + size] * factors).sum(axis=1) for start in range(0, len(X), size)]
    mixed = np.concatenate(sums) if sums else np.zeros(0, dtype=np.uint64)
    return (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)


def column_groups(preparation: TablePreparation) -> tuple[list[str], list[NDArray[np.intp]]]:
    """The columns that are used, in the order of their features, and the features of each."""
    places: dict[str, list[int]] = {
        column.name: [] for column in preparation.ordered_ if column.used
    }
    for place, feature in enumerate(preparation.features()):
        places[feature.column].append(place)
    return list(places), [np.array(own, dtype=np.intp) for own in places.values()]
