"""A column that already guesses the label, as a language model or rules fill it: find it, and keep it or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from chary._words import listed, shown
from chary.audit.figures import kappa
from chary.labelling.diagnose import Prepared
from chary.method.held_out import HeldOut, judge_rows
from chary.method.kept_guesses import KeptGuessesClassifier, keep_guesses
from chary.method.labels import Labels
from chary.tables import Table
from chary.tables.cells import label_texts
from chary.tables.table import can_be_text
from chary.tables.target import folded

# A column guesses the label if at least this share of its cells in labelled rows is filled,
_MOSTLY_FILLED = 0.5
# this share of those is a class of the target (few labels may lack a rare class),
_SAME_CLASSES = 0.8
# it is right more often than the most frequent label is, and it agrees with the labels far above
# chance: Cohen's kappa, and how likely chance alone gives such agreement, times the number of
# columns looked at. Two balanced classes, thirty labels and a column that is right in 78 % give
# 0.56 and 0.003. Of 423 draws of 30 to 300 labels from the tables of both collections, two have a
# column by chance so much like the target; with a kappa of 0.3 and whatever label is frequent,
# twelve have.
_LEAST_KAPPA = 0.4
_BY_CHANCE = 0.05
# The model's labels take the place of the column's if it has at least so many more held-out rows
# right. With a column that is right in 78 % and 30 labels or audited rows, one and three rows more
# are too little: a draw fell 9 points below the column. With five none did, on 50 tables
# (benchmarks/results/guesses.txt). Seven rows cost up to 1.3 points of what 100 labels gain.
_CLEAR_GAIN = 5
_NAMED = 3  # guesses in a sentence


class GuessColumn(NamedTuple):
    """A column that already guesses the label."""

    name: str
    features: NDArray[np.intp]  # (G,) places of its features
    patterns: NDArray[np.float32]  # (K, G) what these are in rows that have a guess
    labels: NDArray[Any]  # (K,) the label that each pattern guesses
    unknown: tuple[
        str, ...
    ] = ()  # guesses that no label has: nothing can be learned of such a class

    def keep(self, classifier: Any) -> KeptGuessesClassifier:
        """Make a fitted classifier keep the labels of the column."""
        return keep_guesses(classifier, self.name, self.features, self.patterns, self.labels)

    def judge(
        self, judges: list[tuple[Any, NDArray[np.intp]]], X: NDArray[Any], labels: Labels
    ) -> HeldOut:
        """Judge the labels of the column on held-out rows, as ``judge_folds`` does those of the classifiers.

        ``judges`` are fitted classifiers, each with the rows whose labels it has not seen: they
        give the confidence, and the labels of rows without a guess.
        """
        parts = [judge_rows(self.keep(model), X, labels, rows) for model, rows in judges]
        return HeldOut(*(np.concatenate(part) for part in zip(*parts, strict=True)))


class GuessFigures(NamedTuple):
    """How a column that guesses and the model compare, and which of them labels the rows."""

    column: str
    kept: bool  # whether its labels were kept
    n: int  # rows that both were compared on
    column_right: int  # of these
    model_right: int  # of these, by models that have not seen their labels
    audited: bool  # whether the rows are those of an audit; if not, they are the given labels
    unknown: tuple[str, ...]  # guesses that no label has; such rows get the model's label

    @property
    def sentence(self) -> str:
        """What was done, and why."""
        rows = "audited rows" if self.audited else "given labels, each held out"
        outcome = "shows no clear gain, so the column's labels are kept" if self.kept else "is used"
        unknown = ""
        if self.kept and self.unknown:
            names = listed([shown(name) for name in self.unknown[:_NAMED]])
            unknown = f" Rows with a guess that none of your labels has, such as {names}, get the model's label."
        return (
            f"Column {shown(self.column)} already guesses the label. Of {self.n} {rows}, the column has "
            f"{self.column_right} right and the model, which learns from the column too, {self.model_right}: the "
            f"model {outcome}.{unknown}"
        )


def compare_guesses(
    column: GuessColumn, model: HeldOut, kept: HeldOut, audited: bool
) -> GuessFigures:
    """Compare the labels of a column with those of a model on the same held-out rows.

    The column's labels are kept unless the rows show a gain by the model.
    """
    column_right = int(kept.correct.sum())
    model_right = int(model.correct.sum())
    return GuessFigures(
        column=column.name,
        kept=model_right - column_right < _CLEAR_GAIN,
        n=len(kept.correct),
        column_right=column_right,
        model_right=model_right,
        audited=audited,
        unknown=column.unknown,
    )


def find_guess_column(prepared: Prepared, table: Table, labels: Labels) -> GuessColumn | None:
    """Find the column that holds the same classes as the target and agrees with the labels far above chance.

    Of several the one that agrees best is taken, of equally good ones the first by name.

    Parameters
    ----------
    prepared : Prepared
        The features; a column from which nothing is learned is not looked at.
    table : Table
    labels : Labels
        All that are known, those of an audit too.
    """
    code_of = {folded(str(name)): code for code, name in enumerate(labels.classes.tolist())}
    if len(code_of) < len(labels.classes):  # classes that differ in case alone
        return None
    rows = np.flatnonzero(labels.labeled)
    codes = labels.codes[rows]

    agreements: dict[str, _Agreement] = {}
    for name in sorted(column.name for column in prepared.preparation.columns_ if column.used):
        if name not in table.frame.columns or not can_be_text(table.frame[name].dtype):
            continue
        guesses = _guessed_codes(table.frame[name].gather(rows), code_of)
        if guesses is not None:
            agreements[name] = _agreement(guesses, codes, len(labels.classes))

    best_name, best_kappa = "", 0.0
    for name, agreement in agreements.items():
        is_far_above_chance = (
            agreement.kappa >= _LEAST_KAPPA and agreement.by_chance * len(agreements) < _BY_CHANCE
        )
        if is_far_above_chance and agreement.beats_most_frequent and agreement.kappa > best_kappa:
            best_name, best_kappa = name, agreement.kappa
    if not best_name:
        return None
    return _with_patterns(best_name, prepared, table, labels, code_of)


def _guessed_codes(cells: pl.Series, code_of: dict[str, int]) -> NDArray[np.intp] | None:
    """Read cells of labelled rows as classes, -1 if they are none; None if the column holds other things."""
    texts = label_texts(cells)
    values = texts.drop_nulls().unique()
    if texts.null_count() > (1 - _MOSTLY_FILLED) * len(texts) or len(values) > 2 * len(code_of) + 2:
        return None
    known = {text: code_of.get(folded(text), -1) for text in values.to_list()}
    guesses = (
        texts.replace_strict(known, default=-1, return_dtype=pl.Int64).to_numpy().astype(np.intp)
    )
    is_class = guesses >= 0
    if (
        is_class.sum() < _SAME_CLASSES * (len(texts) - texts.null_count())
        or len(np.unique(guesses[is_class])) < 2
    ):
        return None
    return guesses


class _Agreement(NamedTuple):
    """How far guesses and labels agree."""

    kappa: float  # Cohen's
    by_chance: float  # how likely chance alone gives so much agreement
    beats_most_frequent: (
        bool  # whether more guesses are right than if all were the most frequent label
    )


def _agreement(guesses: NDArray[np.intp], codes: NDArray[np.intp], n_classes: int) -> _Agreement:
    """Compare guesses with labels on the rows that have both."""
    has_guess = guesses >= 0
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (guesses[has_guess], codes[has_guess]), 1)
    n = counts.sum()
    n_right = np.trace(counts)
    expected_share = float(counts.sum(axis=0) @ counts.sum(axis=1)) / n**2
    return _Agreement(
        kappa=kappa(counts) or 0.0,
        by_chance=float(binom.sf(n_right - 1, n, expected_share)),
        beats_most_frequent=bool(n_right > counts.sum(axis=0).max()),
    )


def _with_patterns(
    name: str, prepared: Prepared, table: Table, labels: Labels, code_of: dict[str, int]
) -> GuessColumn | None:
    """Find what the features of a column are for each class that it guesses.

    Features that several classes share, as rare categories do, or a class and a missing cell, are
    no guess.
    """
    owners = [feature.column for feature in prepared.preparation.features()]
    features = np.flatnonzero([owner == name for owner in owners])
    texts = label_texts(table.frame[name])
    known = {text: code_of.get(folded(text), -1) for text in texts.drop_nulls().unique().to_list()}
    guesses = texts.replace_strict(known, default=-1, return_dtype=pl.Int64).to_numpy()

    patterns, place = np.unique(
        prepared.X[:, features].astype(np.float32), axis=0, return_inverse=True
    )
    least, most = np.full(len(patterns), len(code_of)), np.full(len(patterns), -1)
    np.minimum.at(least, place.ravel(), guesses)
    np.maximum.at(most, place.ravel(), guesses)
    is_guess = (least == most) & (least >= 0)
    if not is_guess.any():
        return None
    unknown = tuple(sorted(text for text, code in known.items() if code < 0))
    return GuessColumn(name, features, patterns[is_guess], labels.classes[least[is_guess]], unknown)
