"""A model of some labels and an audit of it: what the audit says before the model learned from it, and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chary.audit.acceptance import Acceptor, ConfidenceHistogram
from chary.audit.answers import Audit, AuditAnswers
from chary.audit.figures import Comparison, Score, balanced_score, class_scores, compare
from chary.audit.model import AuditedResult, fit_with_audit, widened
from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.guesses import GuessColumn, GuessFigures, compare_guesses
from chary.method.estimators import in_blocks_of_rows
from chary.method.held_out import confidence_of
from chary.method.labels import Labels
from chary.method.self_training import SelfTrainingClassifier


@dataclass(frozen=True, kw_only=True)
class AuditFigures(Audit):
    """What an audit says of a model.

    ``accuracy`` is that of the model of the given labels alone, as it is without an audit;
    ``classes`` are of the model that has learned from the audit too. Skipped rows are wrong.
    """

    # Of the model that has learned from the audit too, cross-fitted: approximate. None: the audit
    # is unfinished.
    after: Score | None
    balanced: tuple[float, float, float] | None  # balanced accuracy of that model, and its limits
    pairs: dict[tuple[str, str], int]  # audited rows by answer and by what that model says
    comparison: Comparison | None  # self-trained against supervised; None: not compared
    rounds: int  # of self-training in the end
    guesses: GuessFigures | None = (
        None  # a column that guesses the label; None: there is no such column
    )

    @property
    def notes(self) -> list[str]:
        """What there is to say of the answers and of what was made of them, a sentence each."""
        notes = [*self.answers.notes, *self.answers.warnings]
        if self.answers.is_unfinished:
            return [self.answers.unfinished_sentence, *notes]
        if self.answers.n_skipped:
            notes.append(f"The {self.answers.n_skipped} skipped rows count as wrong.")
        if self.comparison is None:
            return [*notes, f"Rounds of self-training: {self.rounds}, as asked."]
        outcome = (
            "clearly helped, so it is on" if self.rounds else "did not clearly help, so it is off"
        )
        return [
            *notes,
            f"On the audit, self-training {outcome} (p = {self.comparison.p_value:.2f}).",
        ]

    def of_rest(self, rest: ConfidenceHistogram) -> AuditFigures:
        """The same with the rows to accept counted among these, not those at hand: the thresholds stay."""
        return (
            self
            if self.acceptor is None
            else replace(self, acceptor=self.acceptor._replace(rest=rest))
        )


def merge(labels: Labels, answers: AuditAnswers) -> tuple[Labels, Labels]:
    """The labels given without the audited rows, and all labels together; both know every class."""
    classes = np.unique(np.concatenate([labels.classes.astype(str), answers.labels.astype(str)]))
    given = np.full(len(labels.codes), -1, dtype=np.intp)
    given[labels.labeled] = np.searchsorted(
        classes, labels.classes[labels.codes[labels.labeled]].astype(str)
    )
    given[answers.rows] = -1
    every = given.copy()
    every[answers.rows] = np.searchsorted(classes, answers.labels.astype(str))
    return Labels(classes, given, given >= 0), Labels(classes, every, every >= 0)


def audit_model(
    make: Callable[[int], SelfTrainingClassifier],
    X: NDArray[Any],
    every: Labels,
    answers: AuditAnswers,
    *,
    unaudited: SelfTrainingClassifier | None = None,
    rounds: int | None = None,
    error: float | None = None,
    n_unlabeled: int | None = None,
    guess_column: GuessColumn | None = None,
    seed: int = 0,
    defaults: Defaults = DEFAULTS,
) -> tuple[SelfTrainingClassifier, AuditFigures]:
    """Fit with an audit, and say what it says.

    Parameters
    ----------
    make : callable
        From the number of rounds of self-training to the classifier, not fitted, missing values as
        its marker.
    X : array of shape (n, d)
    every : Labels
        Given and audited labels, from ``merge``.
    answers : AuditAnswers
    unaudited : SelfTrainingClassifier, default=None
        What is used where there is no audit, fitted without it: ``accuracy`` is its. None: the one
        of ``make``.
    rounds : int, default=None
        None: no self-training, unless one round proves clearly better on the audit (p < 0.05).
    error : float, default=None
        One more error at which to say what can be accepted: the one decided on beforehand.
    n_unlabeled : int, default=None
        Rows without a label that the audited ones were drawn from, but for these, where X holds not
        all of them.
    guess_column : GuessColumn, default=None
        A column whose labels are kept unless the audit shows a gain by the model.
    seed : int, default=0
    defaults : Defaults, default=DEFAULTS
    """
    result = fit_with_audit(make(rounds or 0), X, every, answers.rows, random_state=seed)
    right = (
        result.before.correct
    )  # of the model that was decided on before anybody looked: exact in any case
    if unaudited is not None:
        right = unaudited.predict(X[answers.rows]) == result.labels
    comparison = None
    # A test at every look at an unfinished audit would find a difference sooner or later.
    may_self_train = defaults.is_on("self_train_if_clearly_better") and not answers.is_unfinished
    if rounds is None and not may_self_train:
        rounds = 0
    if rounds is None:  # one round against none, both without the audited labels
        trained = make(1).fit(
            X, every.without(result.rows), initial=result.unaudited_model.estimator_
        )
        comparison = _compare_models(trained, result.unaudited_model, X, answers, result.labels)
        is_clear = comparison.p_value < defaults.self_training_p
        rounds = int(is_clear and comparison.only_first > comparison.only_second)
        if rounds:
            result = fit_with_audit(make(rounds), X, every, answers.rows, random_state=seed)
    guesses = None
    if guess_column is not None:
        result, guesses = _keep_if_no_gain(guess_column, result, X, every, defaults)
    after, rest = result.after, np.flatnonzero(~every.labeled)
    of_skipped, confidence_of_skipped = _of_skipped(result.model, X, answers)
    told, said = result.labels.astype(str), after.prediction.astype(str)
    scores = class_scores(told, said, every.classes.tolist(), widened(0.95), skipped=of_skipped)
    scores = {name: found._replace(level=0.95) for name, found in scores.items()}
    correct = np.zeros(len(answers.drawn), dtype=bool)
    correct[~answers.skipped] = right
    of_rest, of_answered = (
        ConfidenceHistogram.of(
            in_blocks_of_rows(lambda part: (confidence_of(result.model, part),), X, rows)[0]
        )
        for rows in (rest, answers.rows)
    )
    figures = AuditFigures(
        answers=answers,
        correct=correct,
        population=len(answers.rows) + (len(rest) if n_unlabeled is None else n_unlabeled),
        classes=scores,
        acceptor=Acceptor(
            np.round(np.append(after.confidence, confidence_of_skipped), 4),
            np.append(after.correct, np.zeros(len(of_skipped), dtype=bool)),
            of_rest.plus(of_answered),
            of_rest,
            of_answered,
        ),
        error=error,
        after=result.after_score(answers.n_skipped),
        balanced=balanced_score(scores, len(every.classes)),
        pairs=dict(Counter(zip(told.tolist(), said.tolist(), strict=True))),
        comparison=comparison,
        rounds=rounds,
        guesses=guesses,
    )
    if answers.is_unfinished:
        figures = replace(figures, classes={}, after=None, balanced=None, pairs={})
    return result.model, figures


def _keep_if_no_gain(
    column: GuessColumn,
    result: AuditedResult,
    X: NDArray[Any],
    every: Labels,
    defaults: Defaults,
) -> tuple[AuditedResult, GuessFigures]:
    """Keep the labels of a column that guesses, unless the audited rows show a gain by the model."""
    kept = column.predict_held_out(result.judges, X, every)
    place_of = {row: place for place, row in enumerate(kept.rows.tolist())}
    kept = kept.part(np.array([place_of[row] for row in result.rows.tolist()]))
    guesses = compare_guesses(column, result.after, kept, True, defaults)
    if guesses.kept:
        result = replace(result, model=column.keep(result.model), after=kept)
    return result, guesses


def _compare_models(
    first: Any, second: Any, X: NDArray[Any], answers: AuditAnswers, truth: NDArray[Any]
) -> Comparison:
    """Compare two models on an audit; where they differ on a skipped row, either may be right."""
    first_correct = first.predict(X[answers.rows]) == truth
    second_correct = second.predict(X[answers.rows]) == truth

    skipped_rows = answers.drawn[answers.skipped]
    known_rows = skipped_rows[skipped_rows >= 0]
    n_unknown = len(skipped_rows) - len(
        known_rows
    )  # removed from the sheet: nobody can say whether they differ
    if len(known_rows):
        n_unknown += int(np.sum(first.predict(X[known_rows]) != second.predict(X[known_rows])))

    neither = np.zeros(n_unknown, dtype=bool)
    skipped = np.append(np.zeros(len(truth), dtype=bool), ~neither)
    return compare(
        np.append(first_correct, neither), np.append(second_correct, neither), skipped=skipped
    )


def _of_skipped(
    model: Any, X: NDArray[Any], answers: AuditAnswers
) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the final model says of the rows that were skipped, and how confidently.

    It has not seen their labels, so it may judge them. A row that was removed from the sheet cannot
    be looked up: its prediction is None, and it counts as wrong at any confidence.
    """
    rows = answers.drawn[answers.skipped]
    there = rows >= 0
    prediction, confidence = np.full(len(rows), None), np.full(len(rows), np.inf)
    if there.any():
        X_skipped = X[rows[there]]
        prediction[there] = model.predict(X_skipped).astype(str)
        confidence[there] = confidence_of(model, X_skipped)
    return prediction, confidence
