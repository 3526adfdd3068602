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

    model: Any  # fitted on all labels
    figures: AuditFigures
    guesses: GuessFigures | None  # a column that guesses the label; None: there is no such column


def merge(labels: Labels, answers: AuditAnswers) -> tuple[Labels, Labels]:
    """Merge given labels with the answers of an audit.

    Returns
    -------
    given : Labels
        The given labels, without the audited rows.
    known : Labels
        The given and the audited labels.

    ``classes`` of both hold every class of either source.
    """
    classes = np.unique(np.concatenate([labels.classes.astype(str), answers.labels.astype(str)]))
    given = np.full(len(labels.codes), -1, dtype=np.intp)
    given_labels = labels.classes[labels.codes[labels.labeled]].astype(str)
    given[labels.labeled] = np.searchsorted(classes, given_labels)
    given[answers.rows] = -1
    known = given.copy()
    known[answers.rows] = np.searchsorted(classes, answers.labels.astype(str))
    return Labels(classes, given, given >= 0), Labels(classes, known, known >= 0)


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
        None: no self-training, unless one round proves clearly better on the audit (p < 0.05).
    error : float, default=None
        An error that the user decided on before the audit: the figures say what can be accepted at
        it, too.
    n_unlabeled : int, default=None
        The number of rows without a given or audited label, if X does not hold all of them.
    guess_column : GuessColumn, default=None
        A column whose labels are kept unless the audit shows a gain by the model.
    seed : int, default=0
    defaults : Defaults, default=DEFAULTS
    """
    result = fit_with_audit(make(rounds or 0), X, known, answers.rows, random_state=seed)
    # The model was decided on before the audit, so its accuracy on the audited rows is unbiased.
    correct = result.before.correct
    if unaudited is not None:
        correct = unaudited.predict(X[answers.rows]) == result.labels

    comparison = None
    # No test while an audit is unfinished: repeated as answers come in, it would find a difference
    # by chance sooner or later.
    may_self_train = defaults.is_on("self_train_if_clearly_better") and not answers.is_unfinished
    if rounds is None and may_self_train:
        # Compare one round of self-training with none; both models lack the audited labels.
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
    """Make the model keep the column's guesses, unless the audited rows show that it gains."""
    by_column = column.predict_held_out(result.fold_models, X, known)
    # Predictions come fold after fold; put them into the order of ``result.rows``: the rank of each
    # of these rows selects its place among the sorted rows of the column.
    ranks = np.argsort(np.argsort(result.rows))
    order = np.argsort(by_column.rows)[ranks]
    by_column = by_column.subset(order)
    guesses = compare_guesses(column, result.after, by_column, audited=True, defaults=defaults)
    if guesses.kept:
        result = replace(result, model=column.keep(result.model), after=by_column)
    return result, guesses
