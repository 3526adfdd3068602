"""Find a column that already guesses the label, as a language model does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from chary._arrays import Array, Ints
from chary._words import listed, shown
from chary.audit.figures import kappa
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import Prepared
from chary.labelling.learners import FoldModels
from chary.method.held_out import HeldOut, predict_held_out
from chary.method.kept_guesses import KeptGuessesClassifier, keep_guesses
from chary.method.labels import Labels
from chary.tables import Table
from chary.tables.cells import label_texts
from chary.tables.table import can_be_text
from chary.tables.target import folded

# A sentence names at most this many classes that are guessed although no label has them.
_MAX_NAMED_CLASSES = 3


class GuessColumn(NamedTuple):
    """A column that already guesses the label.

    A classifier sees features, not cells. So a guess is recognised by its pattern: the values of
    the features that the cell became, such as 0, 1, 0 for the second of three categories.
    """

    name: str
    features: Ints  # (G,) numbers of the column's features
    patterns: NDArray[np.float32]  # (K, G) the patterns that guess a class
    labels: Array  # (K,) the label that each pattern guesses
    # Guessed classes that no label has; a model cannot learn such a class.
    unknown: tuple[str, ...] = ()

    def keep(self, classifier: Any) -> KeptGuessesClassifier:
        """Make a fitted classifier give each row the label that the column guesses."""
        return keep_guesses(classifier, self.name, self.features, self.patterns, self.labels)

    def predict_held_out(self, fold_models: FoldModels, X: Array, labels: Labels) -> HeldOut:
        """Predict held-out labels by the column's guesses, fold after fold.

        The model of a fold gives the confidence, and labels the rows without a guess.
        """
        folds = []
        for model, rows in fold_models:
            folds.append(predict_held_out(self.keep(model), X, labels, rows))
        return HeldOut.of_folds(folds)


class GuessFigures(NamedTuple):
    """How often a column that guesses is right, and how often the model is, on the same rows."""

    column: str  # its name
    kept: bool  # whether the column's labels were kept
    n: int  # number of rows compared
    column_right: int  # rows that the column guesses right
    model_right: int  # rows that are predicted right by a model that has not seen their labels
    audited: bool  # True: the rows are audited rows; False: rows with a given label
    unknown: tuple[str, ...]  # guessed classes that no label has; their rows get the model's label

    @property
    def sentence(self) -> str:
        """Whether the column's labels were kept, and why."""
        rows = "given labels, each held out"
        if self.audited:
            rows = "audited rows"
        outcome = "is used"
        if self.kept:
            outcome = "shows no clear gain, so the column's labels are kept"
        sentence = (
            f"Column {shown(self.column)} already guesses the label. Of {self.n} {rows}, the "
            f"column has {self.column_right} right and the model, which learns from the column "
            f"too, {self.model_right}: the model {outcome}."
        )
        if self.kept and self.unknown:
            names = listed([shown(name) for name in self.unknown[:_MAX_NAMED_CLASSES]])
            sentence += (
                f" Rows with a guess that none of your labels has, such as {names}, get the "
                "model's label."
            )
        return sentence


def compare_guesses(
    column: GuessColumn,
    by_model: HeldOut,
    by_column: HeldOut,
    audited: bool,
    defaults: Defaults = DEFAULTS,
) -> GuessFigures:
    """Compare a column with a model on the same held-out rows.

    The column's labels are kept unless the model is right on ``clear_gain`` more rows.
    """
    column_right = int(by_column.correct.sum())
    model_right = int(by_model.correct.sum())
    return GuessFigures(
        column=column.name,
        kept=model_right - column_right < defaults.clear_gain,
        n=len(by_column.correct),
        column_right=column_right,
        model_right=model_right,
        audited=audited,
        unknown=column.unknown,
    )


def find_guess_column(
    prepared: Prepared, table: Table, labels: Labels, defaults: Defaults = DEFAULTS
) -> GuessColumn | None:
    """Find a column that agrees with the labels far above chance.

    If there are several, the one with the highest kappa is taken; if kappas are equal, the first
    one by name.

    Parameters
    ----------
    prepared : Prepared
        The features; columns that are not used as features are not considered.
    table : Table
    labels : Labels
        All known labels, including the labels of an audit.
    defaults : Defaults, default=DEFAULTS
    """
    # Case is ignored when a cell is compared with the classes.
    code_of = {folded(str(name)): code for code, name in enumerate(labels.classes.tolist())}
    differ_in_case_alone = len(code_of) < len(labels.classes)
    if not defaults.is_on("find_guess_column") or differ_in_case_alone:
        return None

    # How far each column that may hold guesses agrees with the labels.
    rows = np.flatnonzero(labels.labeled)
    used_columns = sorted(column.name for column in prepared.preparation.columns_ if column.used)
    agreements: dict[str, _Agreement] = {}
    for name in used_columns:
        if name not in table.frame.columns or not can_be_text(table.frame[name].dtype):
            continue
        guesses = _guessed_codes(table.frame[name].gather(rows), code_of, defaults)
        if guesses is not None:
            agreements[name] = _compare(guesses, labels.codes[rows], len(labels.classes))

    # Bonferroni: chance may give such an agreement in any of the columns compared.
    candidates = [
        name
        for name, agreement in agreements.items()
        if agreement.kappa >= defaults.min_kappa
        and agreement.by_chance * len(agreements) < defaults.max_chance
        and agreement.beats_commonest
    ]
    if not candidates:
        return None
    best = max(candidates, key=lambda name: agreements[name].kappa)  # the first of equal ones
    return _with_patterns(best, prepared, table, labels, code_of)


def _guessed_codes(cells: pl.Series, code_of: dict[str, int], defaults: Defaults) -> Ints | None:
    """Read cells of labelled rows as class codes; -1: the cell names no class.

    Returns None if the column cannot be a guess of the label: it is mostly empty, has far more
    different values than there are classes, often names no class, or always the same one.
    """
    texts = label_texts(cells)
    n_empty = texts.null_count()
    is_mostly_empty = n_empty > (1 - defaults.min_filled_share) * len(texts)
    # Spare values, such as "unknown", are allowed: as many as there are classes, and two more.
    most_values = 2 * len(code_of) + 2
    n_values = len(texts.drop_nulls().unique())
    if is_mostly_empty or n_values > most_values:
        return None

    guesses = _codes_of(texts, code_of)  # (number of labelled rows,)
    class_guesses = guesses[guesses >= 0]
    n_filled = len(texts) - n_empty
    often_names_no_class = len(class_guesses) < defaults.min_class_share * n_filled
    always_names_the_same = len(np.unique(class_guesses)) < 2
    if often_names_no_class or always_names_the_same:
        return None
    return guesses


def _codes_of(texts: pl.Series, code_of: dict[str, int]) -> Ints:
    """Look up the class code of each text, (n,); -1: the text is empty or names no class."""
    different_texts = texts.drop_nulls().unique().to_list()
    code_of_text = {text: code_of.get(folded(text), -1) for text in different_texts}
    codes = texts.replace_strict(code_of_text, default=-1, return_dtype=pl.Int64)
    return codes.to_numpy().astype(np.intp)


class _Agreement(NamedTuple):
    """How far guesses and labels agree."""

    kappa: float  # Cohen's
    by_chance: float  # probability that chance alone gives at least this agreement
    beats_commonest: bool  # whether always guessing the commonest label is right less often


def _compare(guesses: Ints, codes: Ints, n_classes: int) -> _Agreement:
    """Compare guessed codes with the codes of the labels, on the rows that have a guess."""
    has_guess = guesses >= 0
    counts = np.zeros((n_classes, n_classes))  # rows by guess and label
    np.add.at(counts, (guesses[has_guess], codes[has_guess]), 1)
    n_rows = counts.sum()
    n_right = np.trace(counts)
    label_counts = counts.sum(axis=0)  # (C,)
    guess_counts = counts.sum(axis=1)  # (C,)

    # The share of right guesses that is expected if guesses and labels have nothing to do with each
    # other, and the probability that as many as ``n_right``, or more, are right then.
    expected_share = float(label_counts @ guess_counts) / n_rows**2
    by_chance = float(binom.sf(n_right - 1, n_rows, expected_share))
    return _Agreement(
        kappa=kappa(counts) or 0.0,
        by_chance=by_chance,
        beats_commonest=bool(n_right > label_counts.max()),
    )


def _with_patterns(
    name: str, prepared: Prepared, table: Table, labels: Labels, code_of: dict[str, int]
) -> GuessColumn | None:
    """Make the guess column of a name: find the patterns of its features that guess a class.

    A pattern is no guess if its rows guess different classes (rare categories share their
    features), or if some of its cells are missing or name no class. None: no pattern is a guess.
    """
    # The guess of each row, and the pattern of its features.
    columns = [feature.column for feature in prepared.preparation.features()]
    features = np.flatnonzero([column == name for column in columns])  # (G,)
    texts = label_texts(table.frame[name])
    guesses = _codes_of(texts, code_of)  # (n,)
    patterns, pattern_of_row = np.unique(
        prepared.X[:, features].astype(np.float32), axis=0, return_inverse=True
    )
    pattern_of_row = pattern_of_row.ravel()  # (n,) the place of its pattern

    # All rows of a pattern guess the same class if their lowest and highest code are equal.
    lowest_code = np.full(len(patterns), len(code_of))
    np.minimum.at(lowest_code, pattern_of_row, guesses)
    highest_code = np.full(len(patterns), -1)
    np.maximum.at(highest_code, pattern_of_row, guesses)
    is_guess = (lowest_code == highest_code) & (lowest_code >= 0)
    if not is_guess.any():
        return None

    different_texts = texts.drop_nulls().unique().to_list()
    unknown = sorted(text for text in different_texts if folded(text) not in code_of)
    return GuessColumn(
        name,
        features,
        patterns=patterns[is_guess],
        labels=labels.classes[lowest_code[is_guess]],
        unknown=tuple(unknown),
    )
