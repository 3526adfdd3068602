"""Features, biased labels and a person's answers in; the model to use and all that the audit says of it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary.evaluation import (
    Acceptance,
    AuditedResult,
    Comparison,
    HeldOut,
    Score,
    Tally,
    accept_threshold,
    balanced_score,
    class_scores,
    compare,
    confidence_of,
    fit_with_audit,
    score,
    sequence,
    smallest_audit,
    widened,
)
from chary.method import Labels, SelfTrainingClassifier, in_blocks_of_rows
from chary.tables import AuditAnswers

# The errors at which the report says what can be accepted, and the level of each statement.
ERRORS, LEVEL = (0.01, 0.02, 0.05, 0.1, 0.2), 0.9
_CLEAR = 0.05


class Acceptor(NamedTuple):
    """What tells which rows can be accepted at an error, whichever is asked for."""

    confidence: NDArray[Any]  # of the audited rows, skipped ones included; as files show it
    correct: NDArray[np.bool_]  # False where skipped
    rest: Tally  # confidence of the rows that nobody labelled
    answered: Tally  # of the answered ones

    def at(self, error: float) -> Acceptance:
        """The rows to accept with at most so many wrong: without the audited ones, whose label is known."""
        pool = self.rest.plus(self.answered)
        found = accept_threshold(self.confidence, self.correct, pool, error, LEVEL)
        return found._replace(n_accepted=self.rest.n_from(found.threshold))


@dataclass(frozen=True)
class AuditFigures:
    """What an audit says."""

    answers: AuditAnswers
    before: (
        Score  # of the model of the given labels alone, as it is without an audit: exact; skipped rows are wrong
    )
    after: Score  # of the model that has learned from the audit too, cross-fitted: approximate; skipped are wrong
    answered: Score  # ``before`` on the answered rows alone: true only if skipping says nothing of a row
    classes: dict[str, Score]  # the share of each class that ``after`` recognises
    balanced: tuple[float, float, float] | None
    acceptances: list[Acceptance]  # for each of ERRORS, of the rows that nobody labelled
    comparison: Comparison | None  # self-trained against supervised; None: not compared
    rounds: int  # of self-training in the end
    asked: Acceptance | None = None  # the same for the error asked for
    acceptor: Acceptor | None = None  # tells it for any other error

    @property
    def notes(self) -> list[str]:
        """What there is to say of the answers and of what was made of them, a sentence each."""
        notes = [*self.answers.notes, *self.answers.warnings]
        if self.answers.n_skipped:
            notes.append(
                f"Every figure counts the {self.answers.n_skipped} skipped rows as wrong; on the answered ones "
                f"alone the model of your labels is right on {self.answered}."
            )
        return [*notes, self.rounds_sentence]

    @property
    def rounds_sentence(self) -> str:
        """Why there was self-training, or none."""
        if self.comparison is None:
            return f"Rounds of self-training: {self.rounds}, as asked."
        first, second, p_value = self.comparison
        outcome = "clearly better, so it is on" if self.rounds else "not clearly better, so it is off"
        return (
            f"On the audit, one round of self-training alone was right on {first} rows and the plain model alone "
            f"on {second} (p = {p_value:.2f}): {outcome}."
        )

    def of_rest(self, rest: Tally) -> AuditFigures:
        """The same with what can be accepted of these rows, in place of those that were at hand."""
        if self.acceptor is None:
            return self
        acceptor = self.acceptor._replace(rest=rest)
        asked = None if self.asked is None else acceptor.at(self.asked.error)
        return replace(self, acceptor=acceptor, acceptances=[acceptor.at(error) for error in ERRORS], asked=asked)

    @property
    def needed(self) -> list[int]:
        """For each of ERRORS, the fewest audited rows with which any row could be accepted."""
        return [smallest_audit(error, LEVEL) for error in ERRORS]


def merge(labels: Labels, answers: AuditAnswers) -> tuple[Labels, Labels]:
    """The labels given without the audited rows, and all labels together; both know every class."""
    classes = np.unique(np.concatenate([labels.classes.astype(str), answers.labels.astype(str)]))
    given = np.full(len(labels.codes), -1, dtype=np.intp)
    given[labels.labeled] = np.searchsorted(classes, labels.classes[labels.codes[labels.labeled]].astype(str))
    given[answers.rows] = -1
    every = given.copy()
    every[answers.rows] = np.searchsorted(classes, answers.labels.astype(str))
    return Labels(classes, given, given >= 0), Labels(classes, every, every >= 0)


def judge(
    make: Callable[[int], SelfTrainingClassifier],
    X: NDArray[Any],
    every: Labels,
    answers: AuditAnswers,
    *,
    unaudited: SelfTrainingClassifier | None = None,
    rounds: int | None = None,
    error: float | None = None,
    n_unlabeled: int | None = None,
    seed: int = 0,
) -> tuple[SelfTrainingClassifier, AuditFigures]:
    """Fit with an audit, and say what it says.

    Parameters
    ----------
    make : callable
        From the number of rounds of self-training to the classifier, not fitted, missing values as its marker.
    X : array of shape (n, d)
    every : Labels
        Given and audited labels, from ``merge``.
    answers : AuditAnswers
    unaudited : SelfTrainingClassifier, default=None
        What is used where there is no audit, fitted without it: ``before`` is its accuracy. None: the one of
        ``make``.
    rounds : int, default=None
        None: no self-training, unless one round proves clearly better on the audit (p < 0.05).
    error : float, default=None
        One more error at which to say what can be accepted: the one decided on beforehand.
    n_unlabeled : int, default=None
        Rows without a label that the audited ones were drawn from, but for these, where X holds not all of them.
    seed : int, default=0
    """
    result = fit_with_audit(make(rounds or 0), X, every, answers.rows, random_state=seed)
    right = result.before.correct  # of the model that was decided on before anybody looked: exact in any case
    if unaudited is not None:
        right = unaudited.predict(X[answers.rows]) == result.labels
    comparison = None
    if rounds is None:
        comparison = _self_training_against(result, make, X, every)
        rounds = int(comparison.p_value < _CLEAR and comparison.only_first > comparison.only_second)
        if rounds:
            result = fit_with_audit(make(rounds), X, every, answers.rows, random_state=seed)
    rest = np.flatnonzero(~every.labeled)
    of_rest, of_answered = (
        in_blocks_of_rows(lambda part: (confidence_of(result.model, part),), X, rows)[0]
        for rows in (rest, answers.rows)
    )
    audited = _with_skipped(result, X, answers)
    as_shown = np.round(audited.confidence, 4)
    acceptor = Acceptor(as_shown, audited.correct, Tally.of(of_rest), Tally.of(of_answered))
    population = len(answers.rows) + (len(rest) if n_unlabeled is None else n_unlabeled)
    scores = class_scores(
        result.labels.astype(str),
        result.after.prediction.astype(str),
        every.classes.tolist(),
        widened(0.95),
        skipped=audited.prediction[len(answers.rows) :],
    )
    scores = {name: found._replace(level=0.95) for name, found in scores.items()}
    figures = AuditFigures(
        answers=answers,
        before=_before(right, answers, population),
        after=result.after_score(answers.n_skipped),
        answered=score(right),
        classes=scores,
        balanced=balanced_score(scores, len(every.classes)),
        acceptances=[acceptor.at(error) for error in ERRORS],
        comparison=comparison,
        rounds=rounds,
        asked=None if error is None else acceptor.at(error),
        acceptor=acceptor,
    )
    return result.model, figures


def _before(right: NDArray[np.bool_], answers: AuditAnswers, population: int) -> Score:
    """The exact interval of a size that was planned; that of whoever was told when to stop holds at any."""
    planned = score(right, skipped=answers.n_skipped, population=population)
    if not answers.stopped:
        return planned
    correct = np.zeros(planned.n, dtype=bool)
    answered = np.isin(list(answers.seen.values()), answers.rows)
    places = np.array(list(answers.seen), dtype=np.intp)[answered] - 1
    correct[places] = right
    skipped = np.ones(planned.n, dtype=bool)
    skipped[places] = False
    low, high = sequence(correct, population, planned.level, skipped=skipped)
    return planned._replace(low=float(low[-1]), high=float(high[-1]))


def _with_skipped(result: AuditedResult, X: NDArray[Any], answers: AuditAnswers) -> HeldOut:
    """The audited rows judged without their labels, then the skipped ones, all of them wrong.

    No model has seen the label of a skipped row, so the final one may judge it. A row that is gone from the sheet
    cannot be looked up: it counts as wrong at any confidence.
    """
    after, n_gone = result.after, answers.n_skipped - len(answers.skipped_rows)
    parts = [(after.prediction.astype(str).astype(object), after.confidence)]
    if len(answers.skipped_rows):
        X_skipped = X[answers.skipped_rows]
        said = result.model.predict(X_skipped).astype(str).astype(object)
        parts.append((said, confidence_of(result.model, X_skipped)))
    parts.append((np.full(n_gone, None), np.full(n_gone, np.inf)))
    prediction, confidence = (np.concatenate(part) for part in zip(*parts, strict=True))
    correct = np.append(after.correct, np.zeros(answers.n_skipped, dtype=bool))
    return HeldOut(prediction, correct, confidence, np.full(len(correct), np.nan))


def _self_training_against(
    result: AuditedResult, make: Callable[[int], SelfTrainingClassifier], X: NDArray[Any], every: Labels
) -> Comparison:
    """One round of self-training against none, both without the audited labels, on the audited rows."""
    trained = make(1).fit(X, every.without(result.rows), initial=result.unaudited_model.estimator_)
    return compare(trained.predict(X[result.rows]) == result.labels, result.before.correct)
