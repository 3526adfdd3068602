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

# Most unknown guesses that a sentence names.
_NAMED_GUESSES = 3


class GuessColumn(NamedTuple):
    """A column that already guesses the label."""

    name: str
    features: Ints  # (G,) places of its features
    patterns: NDArray[np.float32]  # (K, G) values of these features that stand for a guess
    labels: Array  # (K,) the label that each pattern guesses
    # Guesses of classes that no label has; the model cannot learn such a class.
    unknown: tuple[str, ...] = ()

    def keep(self, classifier: Any) -> KeptGuessesClassifier:
        """Make a fitted classifier keep the labels of the column."""
        return keep_guesses(classifier, self.name, self.features, self.patterns, self.labels)

    def predict_held_out(self, fold_models: FoldModels, X: Array, labels: Labels) -> HeldOut:
        """Predict held-out labels by the column's guesses, fold after fold.

        The models predict the confidence, and the labels of rows without a guess.
        """
        folds = [predict_held_out(self.keep(model), X, labels, rows) for model, rows in fold_models]
        return HeldOut.of_folds(folds)


class GuessFigures(NamedTuple):
    """How a column that guesses compares with the model."""

    column: str
    kept: bool  # whether its labels were kept
    n: int  # rows that both were compared on
    column_right: int  # rows that the column has right
    model_right: int  # rows that models have right that have not seen their labels
    audited: bool  # whether the rows are those of an audit; if not, they are the given labels
    unknown: tuple[str, ...]  # guesses that no label has; such rows get the model's label

    @property
    def sentence(self) -> str:
        """What was done, and why."""
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
            names = listed([shown(name) for name in self.unknown[:_NAMED_GUESSES]])
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

    The column's labels are kept unless the rows show a gain by the model.
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

    Of several such columns the one with the highest kappa is taken; of equal ones, the first by
    name.

    Parameters
    ----------
    prepared : Prepared
        The features; columns that are not used as features are not considered.
    table : Table
    labels : Labels
        All known labels, including those of an audit.
    defaults : Defaults, default=DEFAULTS
    """
    code_of = {folded(str(name)): code for code, name in enumerate(labels.classes.tolist())}
    differ_in_case_alone = len(code_of) < len(labels.classes)
    if not defaults.is_on("find_guess_column") or differ_in_case_alone:
        return None

    rows = np.flatnonzero(labels.labeled)
    codes = labels.codes[rows]
    used_columns = sorted(column.name for column in prepared.preparation.columns_ if column.used)
    agreements: dict[str, _Agreement] = {}
    for name in used_columns:
        if name not in table.frame.columns or not can_be_text(table.frame[name].dtype):
            continue
        guesses = _guessed_codes(table.frame[name].gather(rows), code_of, defaults)
        if guesses is not None:
            agreements[name] = _agreement(guesses, codes, len(labels.classes))

    best_name = ""
    best_kappa = 0.0
    for name, agreement in agreements.items():
        is_far_above_chance = (
            agreement.kappa >= defaults.min_kappa
            and agreement.by_chance * len(agreements) < defaults.max_chance
            and agreement.beats_commonest
        )
        if is_far_above_chance and agreement.kappa > best_kappa:
            best_name = name
            best_kappa = agreement.kappa
    if not best_name:
        return None
    return _with_patterns(best_name, prepared, table, labels, code_of)


def _guessed_codes(cells: pl.Series, code_of: dict[str, int], defaults: Defaults) -> Ints | None:
    """Read cells of labelled rows as class codes; -1: the cell names no class.

    Returns None if the column cannot be a guess: mostly empty, or with too many other values.
    """
    texts = label_texts(cells)
    n_filled = len(texts) - texts.null_count()
    is_mostly_empty = texts.null_count() > (1 - defaults.min_filled_share) * len(texts)
    values = texts.drop_nulls().unique()
    if is_mostly_empty or len(values) > 2 * len(code_of) + 2:
        return None

    guesses = _codes_of(texts, code_of)
    class_guesses = guesses[guesses >= 0]
    has_few_classes = len(class_guesses) < defaults.min_class_share * n_filled
    if has_few_classes or len(np.unique(class_guesses)) < 2:
        return None
    return guesses


def _codes_of(texts: pl.Series, code_of: dict[str, int]) -> Ints:
    """Look up the class codes of texts; -1: the text names no class."""
    values = texts.drop_nulls().unique().to_list()
    known = {text: code_of.get(folded(text), -1) for text in values}
    codes = texts.replace_strict(known, default=-1, return_dtype=pl.Int64)
    return codes.to_numpy().astype(np.intp)


class _Agreement(NamedTuple):
    """How far guesses and labels agree."""

    kappa: float  # Cohen's
    by_chance: float  # probability that chance alone gives at least this agreement
    beats_commonest: bool  # whether more guesses are right than by always guessing the commonest


def _agreement(guesses: Ints, codes: Ints, n_classes: int) -> _Agreement:
    """Compare guesses with labels on the rows that have both."""
    has_guess = guesses >= 0
    counts = np.zeros((n_classes, n_classes))  # by guess and label
    np.add.at(counts, (guesses[has_guess], codes[has_guess]), 1)
    n_rows = counts.sum()
    n_right = np.trace(counts)
    label_counts = counts.sum(axis=0)
    expected_share = float(label_counts @ counts.sum(axis=1)) / n_rows**2
    return _Agreement(
        kappa=kappa(counts) or 0.0,
        by_chance=float(binom.sf(n_right - 1, n_rows, expected_share)),
        beats_commonest=bool(n_right > label_counts.max()),
    )


def _with_patterns(
    name: str, prepared: Prepared, table: Table, labels: Labels, code_of: dict[str, int]
) -> GuessColumn | None:
    """Find the feature values (patterns) that stand for each guessed class.

    A pattern that several classes share, as rare categories do, or that a class shares with missing
    cells, is no guess.
    """
    columns = [feature.column for feature in prepared.preparation.features()]
    features = np.flatnonzero([column == name for column in columns])
    texts = label_texts(table.frame[name])
    guesses = _codes_of(texts, code_of)

    patterns, places = np.unique(
        prepared.X[:, features].astype(np.float32), axis=0, return_inverse=True
    )
    # A pattern guesses a class if all its rows guess that class: lowest and highest code agree.
    lowest_code = np.full(len(patterns), len(code_of))
    np.minimum.at(lowest_code, places.ravel(), guesses)
    highest_code = np.full(len(patterns), -1)
    np.maximum.at(highest_code, places.ravel(), guesses)
    is_guess = (lowest_code == highest_code) & (lowest_code >= 0)
    if not is_guess.any():
        return None

    values = texts.drop_nulls().unique().to_list()
    unknown = sorted(text for text in values if folded(text) not in code_of)
    guessed_labels = labels.classes[lowest_code[is_guess]]
    return GuessColumn(name, features, patterns[is_guess], guessed_labels, tuple(unknown))
