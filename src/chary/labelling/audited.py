"""Fit a model with the answers of an audit, and compute the figures of that audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from chary._arrays import Array
from chary.audit.answers import AuditAnswers
from chary.audit.model import (
    AuditedResult,
    AuditFigures,
    audit_figures,
    compare_models,
    fit_with_audit,
)
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.guesses import GuessColumn, GuessFigures, compare_guesses
from chary.method.labels import Labels
from chary.method.self_training import SelfTrainingClassifier


class AuditedModel(NamedTuple):
    """The outcome of ``audit_model``."""

    model: Any  # fitted on the given and the audited labels
    figures: AuditFigures
    guesses: GuessFigures | None  # None: no column guesses the label


def merge(labels: Labels, answers: AuditAnswers) -> tuple[Labels, Labels]:
    """Merge given labels with the answers of an audit.

    Returns
    -------
    given : Labels
        The given labels; audited rows count as unlabelled.
    known : Labels
        The given labels and the answers. An audited row has its answer as label.

    The ``classes`` of both are the same: the classes of the given labels and of the answers.
    """
    given_classes = labels.classes.astype(str)
    answered_labels = answers.labels.astype(str)
    classes = np.unique(np.concatenate([given_classes, answered_labels]))  # sorted

    # The place of a class among ``classes`` is its new code. An unlabelled row has the code -1,
    # which picks the last entry: it must be -1, too.
    new_code_of_class = np.searchsorted(classes, given_classes)
    new_code_of_code = np.append(new_code_of_class, -1)
    given_codes = new_code_of_code[labels.codes]  # (n,)
    given_codes[answers.rows] = -1
    known_codes = given_codes.copy()
    known_codes[answers.rows] = np.searchsorted(classes, answered_labels)

    given = Labels(classes, given_codes, labeled=given_codes >= 0)
    known = Labels(classes, known_codes, labeled=known_codes >= 0)
    return given, known


def audit_model(
    make: Callable[[int], SelfTrainingClassifier],
    X: Array,
    known: Labels,
    answers: AuditAnswers,
    *,
    unaudited: SelfTrainingClassifier | None = None,
    rounds: int | None = None,
    error: float | None = None,
    n_unlabeled: int | None = None,
    guess_column: GuessColumn | None = None,
    seed: int = 0,
    defaults: Defaults = DEFAULTS,
) -> AuditedModel:
    """Fit a model on given and audited labels, and measure it on the audited rows.

    Parameters
    ----------
    make : callable
        Takes the number of rounds of self-training, and returns a classifier that is not fitted and
        for which missing values mark unlabelled rows.
    X : array of shape (n, d)
    known : Labels
        Given and audited labels, from ``merge``.
    answers : AuditAnswers
    unaudited : SelfTrainingClassifier, default=None
        The fitted model that would be used without an audit; the figure ``accuracy`` is its
        accuracy. None: the classifier of ``make``, fitted without the audited labels.
    rounds : int, default=None
        Rounds of self-training. None: one round if it proves clearly better on the audited rows
        (p < 0.05), otherwise none.
    error : float, default=None
        An error rate that the user chose before the audit. The figures then also say which rows can
        be accepted at this error.
    n_unlabeled : int, default=None
        The number of rows without a given or audited label, if X does not hold all of them.
    guess_column : GuessColumn, default=None
        A column whose labels are kept unless the audit shows that the model gains over them.
    seed : int, default=0
    defaults : Defaults, default=DEFAULTS
    """
    # A model without the audited labels, and one with them.
    result = fit_with_audit(make(rounds or 0), X, known, answers.rows, random_state=seed)
    # The accuracy to report is that of a model that saw no audited label, so it is unbiased.
    correct = result.before.correct
    if unaudited is not None:
        correct = unaudited.predict(X[answers.rows]) == result.labels

    # One round of self-training is compared with none, unless the user chose the rounds. Nothing is
    # compared while an audit is unfinished: a test that is repeated after every answer finds a
    # difference by chance sooner or later.
    comparison = None
    may_self_train = defaults.is_on("self_train_if_clearly_better") and not answers.is_unfinished
    if rounds is None and may_self_train:
        # Neither of the two models sees the audited labels.
        supervised = result.unaudited_model
        self_trained = make(1).fit(X, known.without(result.rows), initial=supervised.estimator_)
        comparison = compare_models(self_trained, supervised, X, answers)
        is_better = comparison.only_first > comparison.only_second
        if is_better and comparison.p_value < defaults.self_training_p:
            rounds = 1
            result = fit_with_audit(make(rounds), X, known, answers.rows, random_state=seed)

    guesses = None
    if guess_column is not None:
        result, guesses = _keep_guesses_unless_model_gains(guess_column, result, X, known, defaults)
    figures = audit_figures(
        result,
        X,
        known,
        answers,
        correct=correct,
        n_unlabeled=n_unlabeled,
        error=error,
        comparison=comparison,
        rounds=rounds or 0,
    )
    return AuditedModel(result.model, figures, guesses)


def _keep_guesses_unless_model_gains(
    column: GuessColumn,
    result: AuditedResult,
    X: Array,
    known: Labels,
    defaults: Defaults,
) -> tuple[AuditedResult, GuessFigures]:
    """Make the model keep the column's guesses, unless the model is better on the audited rows."""
    # The held-out rows come fold after fold. They are put into the order of ``result.rows``, in
    # which ``result.after`` has the model's predictions: for each of ``result.rows``, its rank
    # among the sorted row numbers, and then the place of that rank.
    fold_after_fold = column.predict_held_out(result.fold_models, X, known)
    place_of_rank = np.argsort(fold_after_fold.rows)
    ranks = np.searchsorted(fold_after_fold.rows, result.rows, sorter=place_of_rank)
    by_column = fold_after_fold.subset(place_of_rank[ranks])
    guesses = compare_guesses(
        column, by_model=result.after, by_column=by_column, audited=True, defaults=defaults
    )
    if guesses.kept:
        result = replace(result, model=column.keep(result.model), after=by_column)
    return result, guesses
