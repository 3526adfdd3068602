"""Explain labels: the columns that decide them in a table, and the cells that decide one row.

Only the classifier's probabilities are used. All features made from one column of the table form a
group. To measure what a column does, its group is replaced by the group of another row, and the
changed rows are predicted together, in blocks of bounded size. A group that is equal in both rows
is not predicted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from chary._arrays import Array, Floats, Ints, Mask
from chary._words import visible
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.method.estimators import probabilities
from chary.tables import TablePreparation
from chary.tables.cells import shown_cells
from chary.tables.columns import Texts

# For each group, the numbers of its features.
Groups = Sequence[Ints]

# This many rows are explained between two messages of progress.
_BATCH_ROWS = 5_000
# At most this many numbers (rows times features) are predicted at once; a bound of memory.
_MAX_PREDICTED_NUMBERS = 2**22
# At most this many numbers (rows times background rows times features) are compared at once; a
# bound of memory.
_MAX_COMPARED_CELLS = 2**19
# Probabilities are clipped to this distance from 0 and 1, so that log-odds stay finite.
_MIN_PROBABILITY = 1e-6

# A word is a letter or digit, then at least one more letter, digit, apostrophe or hyphen.
_WORD_PATTERN = r"[\p{L}\p{N}][\p{L}\p{M}\p{N}'’-]+"
# At most this many words of a text are named.
_MAX_NAMED_WORDS = 3
# Effects are rounded to this many decimals. How rows are cut into blocks changes later decimals
# only.
_DECIMALS = 4


class ColumnImportance(NamedTuple):
    """How much one column matters for the labels."""

    column: str
    change: float  # mean change of the probabilities if its cells are shuffled among the rows


class Cell(NamedTuple):
    """A cell that speaks for the label of its row."""

    column: str
    effect: float  # how much higher the log-odds of the label are than with cells of other rows
    shown: str  # the column and its cell, for a person: "age = 47"


class Explainer(NamedTuple):
    """What explains the labels of a table."""

    classifier: Any  # predicts from features
    preparation: TablePreparation  # makes the features of a table
    importance: list[ColumnImportance]  # of every column, the most important first
    n_rows: int  # number of rows that the importance was measured on
    columns: list[str]  # the G columns that explain single rows, in the order of their features
    groups: list[Ints]  # for each of ``columns``, the numbers of its features
    background: Array  # (B, d) rows that each explained row is compared with
    defaults: Defaults = DEFAULTS

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
        """Name up to three cells that decide the class of each row, most decisive first.

        Parameters
        ----------
        X : array of shape (n, d)
        codes : array of shape (n,)
            The class of each row.
        frame : DataFrame
            The same rows as cells.
        row_effects : array of shape (n, G)
            What ``effects`` returned for the rows.
        """
        # The places in ``columns`` of the three that decide each row most; -1: there is no such.
        deciding = decisive(row_effects, defaults=self.defaults)  # (n, 3)

        # For each column that decides a row: what to show of its cells, one text for each row.
        shown_by_place: dict[int, list[str]] = {}
        for place in np.unique(deciding[deciding >= 0]).tolist():
            rows = np.flatnonzero((deciding == place).any(axis=1))
            shown_by_place[place] = self._shown_cells(place, X, codes, frame, rows)

        cells_by_row: list[list[Cell]] = [[] for _ in range(len(X))]
        for row, rank in np.argwhere(deciding >= 0).tolist():
            place = int(deciding[row, rank])
            effect = float(row_effects[row, place])
            cells_by_row[row].append(Cell(self.columns[place], effect, shown_by_place[place][row]))
        return cells_by_row

    def _shown_cells(
        self,
        place: int,
        X: Array,
        codes: Ints,
        frame: pl.DataFrame,
        rows: Ints,
    ) -> list[str]:
        """Write the cells of column ``place`` for a person, one for each row of X (n, d).

        In a column of free text, the cell of a row in ``rows`` becomes the words that decide its
        label: 'note: "refund", "broken"'. A text without deciding words is written like any other
        cell. ``rows`` are the rows that the column decides; what stands in others is never shown.
        """
        name = self.columns[place]
        # A column that comes from a file beside the table is not in the frame.
        if name not in frame.columns:
            return [name] * frame.height
        shown = shown_cells(self.preparation.without_codes(frame[name])).to_list()
        kinds = {column.name: column.kind for column in self.preparation.columns_}
        if kinds[name] != Texts.name:
            return shown

        texts = frame[name].gather(rows)
        words_by_row = self._deciding_words(place, X[rows], codes[rows], texts)
        for row, words in zip(rows.tolist(), words_by_row, strict=True):
            if words:
                shown[row] = f"{visible(name, 40)}: {', '.join(words)}"
        return shown

    def _deciding_words(
        self, place: int, X: Array, codes: Ints, cells: pl.Series
    ) -> list[list[str]]:
        """Name the words of each text without which its class would be less probable.

        ``cells`` are the texts of column ``place``, one for each row of X (n, d). Each long word
        of a text is left out in turn; its effect is how far the log-odds of the class then fall.
        """
        words_by_row = cells.cast(pl.String).str.extract_all(_WORD_PATTERN).to_list()
        named: list[list[str]] = [[] for _ in words_by_row]
        # A row whose cell is missing, or holds no word, names none.
        rows = [row for row, words in enumerate(words_by_row) if words]
        if not rows:
            return named

        # The candidates of each row: the words that are left out in turn.
        candidates = {
            row: _longest_words(words_by_row[row], self.defaults.words_left_out) for row in rows
        }

        # All texts are predicted together: first the whole text of each row, then, row by row, the
        # text without each candidate. Two rows with two and one candidates give five texts: A, B,
        # A without its first, A without its second, B without its only one.
        row_of_text = list(rows)
        texts = [" ".join(words_by_row[row]) for row in rows]
        for row in rows:
            for candidate in candidates[row]:
                other_words = [word for word in words_by_row[row] if word.lower() != candidate]
                row_of_text.append(row)
                texts.append(" ".join(other_words))
        features = self._with_texts(place, X[row_of_text], pl.DataFrame({cells.name: texts}))
        odds = _log_odds(probabilities(self.classifier, features), codes[row_of_text])

        # Each row's part of the odds: those of its texts without a candidate.
        end = len(rows)  # the odds of the whole texts end here
        for number, row in enumerate(rows):
            start = end
            end = start + len(candidates[row])
            odds_of_whole_text = odds[number]
            word_effects = np.round(odds_of_whole_text - odds[start:end], _DECIMALS)
            words = list(candidates[row].values())
            named[row] = _name_best(words, word_effects, self.defaults.decisive_word_share)
        return named

    def _with_texts(self, place: int, X: Array, texts: pl.DataFrame) -> Array:
        """Replace the features of the text column ``place`` by those of ``texts``, in place."""
        other_columns = [
            column.name
            for column in self.preparation.columns_
            if column.used and column.name != self.columns[place]
        ]
        # Other columns keep their features, so only the text column is prepared.
        text_alone = self.preparation.without(dict.fromkeys(other_columns, ""))
        X[:, self.groups[place]] = text_alone.transform_part(texts)
        return X


def _longest_words(words: Sequence[str], n_most: int) -> dict[str, str]:
    """Choose the longest different words of a text, at most ``n_most``.

    Words that differ in case alone are one word. The keys are in small letters, the values as first
    written, both in the order of the text.

    >>> _longest_words(["Good", "good", "wine", "in"], 2)
    {'good': 'Good', 'wine': 'wine'}
    """
    first_written: dict[str, str] = {}
    for word in words:
        first_written.setdefault(word.lower(), word)
    longest_keys = set(sorted(first_written, key=len, reverse=True)[:n_most])
    return {key: word for key, word in first_written.items() if key in longest_keys}


def _name_best(words: Sequence[str], word_effects: Floats, least_share: float) -> list[str]:
    """Name up to three words of the largest effects, in quotes.

    The effect of each is above zero, and at least ``least_share`` of the largest.

    >>> _name_best(["dull", "good", "fine"], np.array([0.1, 2.0, 1.0]), 0.5)
    ['"good"', '"fine"']
    """
    least_effect = least_share * word_effects.max()
    largest_first = np.argsort(-word_effects, kind="stable")  # places of words
    names = []
    for place in largest_first[:_MAX_NAMED_WORDS]:
        if word_effects[place] > 0 and word_effects[place] >= least_effect:
            names.append(f'"{visible(words[place], 30)}"')
    return names


def explainer(
    classifier: Any,
    preparation: TablePreparation,
    X: Array,
    rows: Ints | None = None,
    defaults: Defaults = DEFAULTS,
) -> Explainer:
    """Make an explainer: measure how much each column matters, and choose the background rows.

    Both steps use ``rows`` of X (n, d) only; None: all rows. The result does not depend on the
    order of rows or columns.
    """
    names, groups = column_groups(preparation)
    sample = X[spread_rows(X, defaults.importance_rows, rows)]
    change, n_rows = importance(classifier, sample, groups, defaults)
    by_importance = np.argsort(-change, kind="stable")  # places of columns
    # The most important columns, sorted again into the order of their features.
    explaining = np.sort(by_importance[: defaults.explaining_columns])
    return Explainer(
        classifier=classifier,
        preparation=preparation,
        importance=[ColumnImportance(names[k], float(change[k])) for k in by_importance],
        n_rows=n_rows,
        columns=[names[k] for k in explaining],
        groups=[groups[k] for k in explaining],
        background=sample[spread_rows(sample, defaults.background_rows)],
        defaults=defaults,
    )


def reasons_of(
    explainer: Explainer,
    X: Array,
    frame: pl.DataFrame,
    codes: Ints,
    rows: Ints,
) -> dict[int, list[Cell]]:
    """Find the cells that decide the class of each of a few ``rows``: row number -> cells."""
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
    for start in range(0, len(rows), _BATCH_ROWS):
        progress(f"Explaining rows: {start:,} of {len(rows):,}")
        batch = rows[start : start + _BATCH_ROWS]
        cells_of = reasons_of(explainer, X, frame, codes, batch)
        texts.append(as_texts(cells_of.values()))
    all_null = pl.Series([None], dtype=pl.String).new_from_index(0, len(codes))
    return all_null.scatter(rows, pl.concat(texts))


def as_texts(cells_by_row: Iterable[list[Cell]]) -> pl.Series:
    """Write the cells of each row as a text (``age = 47; town = Ulm``), or null."""
    texts = ["; ".join(cell.shown for cell in cells) for cells in cells_by_row]
    return pl.Series(texts, dtype=pl.String).replace("", None)


def effects(model: Any, X: Floats, codes: Ints, background: Floats, groups: Groups) -> Floats:
    """Measure how much each group speaks for the class of each row, (n, G), in log-odds.

    The effect of a group is how far the log-odds of the row's class fall, on average, if the group
    is replaced by that of a background row. Let x be a row and c its class, s_c = log(p_c / (1 -
    p_c)) the log-odds of c, and x[g <- b] the row x with group g taken from background row b. The
    effect of g is

        mean over b of  s_c(x) - s_c(x[g <- b]).

    If the log-odds are a sum of one function of each group, the effect is the function's value in
    this row minus its mean over the background. Effects are rounded to four decimals.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` or ``decision_function``.
    X : array of shape (n, d)
    codes : array of shape (n,)
        The class of each row, as a column number of the probabilities.
    background : array of shape (B, d)
        Rows that stand for all rows, from ``spread_rows``.
    groups : sequence of G arrays of feature numbers
    """
    row_effects = np.zeros((len(X), len(groups)))
    for rows in _blocks_of_rows(len(X), background.size, _MAX_COMPARED_CELLS):
        row_effects[rows] = _effects_of_block(model, X[rows], codes[rows], background, groups)
    return np.round(row_effects, _DECIMALS) + 0.0  # -0.0 becomes 0.0


def _effects_of_block(
    model: Any, X: Floats, codes: Ints, background: Floats, groups: Groups
) -> Floats:
    """Compute ``effects`` for a block of rows, (n, G), not rounded."""
    # Only pairs of rows that differ in a group are predicted: if x and b have the same g, the
    # change x[g <- b] would add 0 to the mean. That leaves t changes: number i puts group[i] of
    # background row donor[i] into row row[i].
    differs = _differs(X[:, None], background, groups)  # (n, B, G)
    row, donor, group = np.nonzero(differs)  # (t,) each
    probs, changed_probs = _predict_changed(
        model, X, donors=background, groups=groups, row=row, group=group, donor=donor
    )
    odds = _log_odds(probs, codes)  # (n,)
    changed_odds = _log_odds(changed_probs, codes[row])  # (t,)

    # The falls are added up by row and group.
    total = np.zeros((len(X), len(groups)))
    np.add.at(total, (row, group), odds[row] - changed_odds)
    return total / len(background)


def decisive(row_effects: Floats, most: int = 3, defaults: Defaults = DEFAULTS) -> Ints:
    """Find the groups that speak most for the class of each row, (n, most); -1: no group.

    A group is decisive if its effect is above zero and at least ``decisive_share`` of the row's
    largest effect. If effects are equal, the first group comes first. In the first row below, the
    groups 1, 2 and 3 are decisive, and group 0 is not; in the second row none is.

    >>> decisive(np.array([[0.1, 2.0, 2.0, 0.6], [0.0, -3.0, 0.0, 0.0]]))
    array([[ 1,  2,  3],
           [-1, -1, -1]])
    """
    order = np.argsort(-row_effects, axis=1, kind="stable")[:, :most]
    sorted_effects = np.take_along_axis(row_effects, order, axis=1)  # (n, most), largest first
    least_effects = defaults.decisive_share * sorted_effects[:, :1]  # (n, 1)
    is_decisive = (sorted_effects > 0) & (sorted_effects >= least_effects)
    return np.where(is_decisive, order, -1)


def importance(
    model: Any, X: Floats, groups: Groups, defaults: Defaults = DEFAULTS
) -> tuple[Floats, int]:
    """Measure how much predictions change if each group is shuffled among the rows.

    The change of a row is half the sum over classes of the absolute changes of its probabilities:
    0 if nothing changes, 1 if one certain class becomes another, 0.2 if 0.7 and 0.3 become 0.5 and
    0.5.

    Returns
    -------
    change : array of shape (G,)
        The mean change over the rows, by group.
    n_rows : int
        The number of rows it was measured on: as many as give ``importance_predictions`` changed
        rows, but at least ``min_shuffled_rows``, chosen by ``spread_rows``.
    """
    n_most = max(defaults.min_shuffled_rows, defaults.importance_predictions // len(groups))
    sample = X[spread_rows(X, n_most)]
    n = len(sample)
    # Each row takes its group from a donor: row i from row i + n/2, and the second half of the rows
    # from the first. The order of the sample is already random, so this shuffles, and no row gets
    # its own group.
    donors = np.roll(sample, -(n // 2), axis=0)
    row, group = np.nonzero(_differs(sample, donors, groups))  # (t,) each
    probs, changed_probs = _predict_changed(
        model, sample, donors=donors, groups=groups, row=row, group=group, donor=row
    )
    changes = np.abs(changed_probs - probs[row]).sum(axis=1) / 2  # (t,)
    mean_change = np.bincount(group, changes, minlength=len(groups)) / n
    return np.round(mean_change, _DECIMALS), n


def spread_rows(X: Array, k: int, rows: Ints | None = None) -> Ints:
    """Choose up to k rows that stand for all rows, or for some ``rows`` of X; return their numbers.

    Rows are sorted by a hash of their features, and rows at equal steps are taken: 4 of 10 are
    those at the places 0, 2, 5 and 7. So the choice does not depend on the order of the rows, and a
    row that occurs often is chosen in proportion.
    """
    if rows is None:
        rows = np.arange(len(X))
    if len(rows) == 0:
        return rows
    hashes = _hash_rows(X)[rows]
    by_hash = rows[np.argsort(hashes, kind="stable")]
    n_chosen = min(k, len(rows))
    even_places = np.arange(n_chosen) * len(rows) // n_chosen
    return by_hash[even_places]


def _differs(X: Floats, others: Floats, groups: Groups) -> Mask:
    """Tell in which groups rows of X (..., d) and of ``others`` (..., d) differ, (..., G).

    A group differs if one of its features does.
    """
    feature_differs = others != X  # (..., d)
    group_differs = [feature_differs[..., features].any(axis=-1) for features in groups]
    return np.stack(group_differs, axis=-1)


def _predict_changed(
    model: Any,
    X: Floats,
    *,
    donors: Floats,
    groups: Groups,
    row: Ints,
    group: Ints,
    donor: Ints,
) -> tuple[Floats, Floats]:
    """Predict the rows of X, (n, C), and t changed rows, (t, C), in as few calls as possible.

    Changed row i is row ``row[i]`` of X, but with the features of group ``group[i]`` taken from row
    ``donor[i]`` of ``donors``.
    """
    # The rows of X come first, as changes of an empty group, number G, so that they stay as they
    # are and are predicted together with the changed rows.
    is_in_group = np.zeros((len(groups) + 1, X.shape[1]), dtype=bool)  # (G + 1, d)
    for number, features in enumerate(groups):
        is_in_group[number, features] = True
    n = len(X)
    empty_group = np.full(n, len(groups))
    any_donor = np.zeros(n, dtype=np.intp)
    row = np.concatenate([np.arange(n), row])  # (n + t,)
    group = np.concatenate([empty_group, group])
    donor = np.concatenate([any_donor, donor])

    probs_of_blocks = []
    for block in _blocks_of_rows(len(row), X.shape[1], _MAX_PREDICTED_NUMBERS):
        is_replaced = is_in_group[group[block]]  # (rows of the block, d)
        changed_rows = np.where(is_replaced, donors[donor[block]], X[row[block]])
        probs_of_blocks.append(probabilities(model, changed_rows))
    probs = np.concatenate(probs_of_blocks).astype(np.float64)
    return probs[:n], probs[n:]


def _log_odds(probs: Floats, codes: Ints) -> Floats:
    """Compute log(p / (1 - p)) for the probability p of one class in each row, (n,).

    ``probs`` (n, C) are the probabilities of all classes, ``codes`` (n,) the classes in question.
    """
    p = probs[np.arange(len(codes)), codes]
    p = np.clip(p, _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    return np.log(p) - np.log1p(-p)


def _hash_rows(X: Array) -> NDArray[np.uint64]:
    """Hash the content of each row of X (n, d), (n,).

    The 32 bits of a feature in single precision are read as a whole number, and multiplied by a
    random factor, one for each feature. The products of a row are added up modulo 2**64, and the
    bits of the sum are mixed. A sum of whole numbers does not depend on the order of its terms, so
    the hash is the same on every machine.
    """
    n_rows, n_features = X.shape
    bits = np.ascontiguousarray(X, dtype=np.float32).view(np.uint32)  # (n, d)
    # The factors are made odd, because multiplying by an odd number loses no bits modulo 2**64.
    rng = np.random.default_rng(0)
    random_numbers = rng.integers(1, 2**63, n_features, dtype=np.uint64)
    factors = random_numbers | np.uint64(1)  # (d,)

    sums = np.zeros(n_rows, dtype=np.uint64)
    for block in _blocks_of_rows(n_rows, n_features, _MAX_PREDICTED_NUMBERS):
        products = bits[block] * factors
        sums[block] = products.sum(axis=1)

    # Every bit should depend on all bits of the sum: the shift mixes high bits into low ones, the
    # multiplication low bits into high ones (a step of the generator SplitMix64).
    shift = np.uint64(29)
    multiplier = np.uint64(0xBF58476D1CE4E5B9)
    return (sums ^ (sums >> shift)) * multiplier


def _blocks_of_rows(n_rows: int, numbers_per_row: int, max_numbers: int) -> Iterator[slice]:
    """Yield slices of rows with at most ``max_numbers`` numbers in each, but at least one row."""
    size = max(1, max_numbers // numbers_per_row)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def column_groups(preparation: TablePreparation) -> tuple[list[str], list[Ints]]:
    """List the columns that are used, and the feature numbers of each, in the order of features."""
    used_columns = [column.name for column in preparation.ordered_ if column.used]
    features_of: dict[str, list[int]] = {name: [] for name in used_columns}
    for number, feature in enumerate(preparation.features()):
        features_of[feature.column].append(number)
    groups = [np.array(features, dtype=np.intp) for features in features_of.values()]
    return list(features_of), groups
