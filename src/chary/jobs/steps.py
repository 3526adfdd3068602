"""Rows of a table, and what was asked for, in; its labels, who learned from them, and every row labelled, out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chary._words import Parameter, shown
from chary.evaluation import Diagnosis, HeldOut, held_out
from chary.jobs.audit import AuditFigures, judge, merge
from chary.jobs.explain import Judge
from chary.jobs.labeled import GIVEN, LEARNED, PREDICTED
from chary.jobs.learners import AUTO, LEARNERS, WITH_AUDIT, Choice, learn
from chary.method import (
    ACCURACY,
    ClassPrior,
    Labels,
    SelfTrainingClassifier,
    in_blocks_of_rows,
    shares_of_part,
)
from chary.tables import DOUBT, AuditAnswers, Table, TableError, Target, read_audit, read_target

_KINDS = ("drop", "categorical", "numeric", "identifier", "text", "missing")


@dataclass(frozen=True)
class Asked:
    """What was asked for: the parameters of ``label_table``."""

    target: str
    unlabeled: str | Sequence[str] | None = None
    exact_labels: bool = False
    kinds: Mapping[str, Sequence[str]] = field(default_factory=dict)  # parameters of ``TablePreparation``
    features: str | os.PathLike[str] | None = None
    learner: Any = AUTO
    rounds: int | None = None
    audit: str | os.PathLike[str] | None = None
    checked: str | os.PathLike[str] | None = None
    class_prior: Any = None
    aim: str = ACCURACY
    error: float | None = None
    explain: bool = False
    seed: int = 0

    @classmethod
    def of(cls, target: str, **settings: Any) -> Asked:
        """From the parameters of ``label_table``."""
        kinds = {name: settings.pop(name) for name in _KINDS if name in settings}
        return cls(target, kinds=kinds, **settings)


class ReadLabels(NamedTuple):
    """The labels of a table and of its audit; both know every class."""

    given: Labels  # those of the table, without the audited rows
    every: Labels  # all together
    answers: AuditAnswers | None
    target: Target  # as read


def read_labels(
    table: Table,
    target: str,
    unlabeled: str | Sequence[str] | None = None,
    audit: str | os.PathLike[str] | None = None,
    class_prior: Any = None,
    exact_labels: bool = False,
    checked: str | os.PathLike[str] | None = None,
) -> ReadLabels:
    """What the target column says, and a person who looked at some rows; some must be left to label."""
    read = read_target(table, target, unlabeled, exact_labels=exact_labels)
    labels = read.labels
    if checked is not None:
        labels, read = _with_checked(checked, table, target, read, unlabeled, exact_labels)
    if labels.labeled.all():
        raise TableError(f"Every row of column {shown(target)} has a label; there is nothing to label.")
    if audit is None:
        return ReadLabels(labels, labels, None, read)
    answers = read_audit(audit, table, target, labels, unlabeled, exact_labels=exact_labels)
    if answers.new_classes and (isinstance(class_prior, Mapping) or np.ndim(class_prior)):
        raise TableError(
            f"The audit found the class {shown(next(iter(answers.new_classes)))}, which none of your labels has, "
            "so the shares given for the known ones cannot be right; leave ",
            Parameter("class_prior"),
            " out.",
        )
    given, every = merge(labels, answers)
    if every.labeled.all():
        raise TableError(
            f"With the audit every row of column {shown(target)} has a label; nothing is left to label."
        )
    return ReadLabels(given, every, answers, read)


def _with_checked(
    checked: str | os.PathLike[str],
    table: Table,
    target: str,
    read: Target,
    unlabeled: str | Sequence[str] | None,
    exact_labels: bool,
) -> tuple[Labels, Target]:
    """The labels of the table with those of rows that were chosen for doubt, which are labels like any other."""
    found = read_audit(checked, table, target, read.labels, unlabeled, exact_labels=exact_labels, chosen=DOUBT)
    said = f"{len(found.rows)} labels of rows that were checked one by one are among those given."
    _, labels = merge(read.labels, found)
    return labels, read._replace(notes=[*read.notes, said])


class Fitted(NamedTuple):
    """A classifier, and what would have been used without an audit."""

    choice: Choice
    classifier: SelfTrainingClassifier
    unaudited_choice: Choice
    audit: AuditFigures | None


def fit(X: NDArray[Any], labels: ReadLabels, diagnosis: Diagnosis, asked: Asked, n_rows: int) -> Fitted:
    """Let somebody learn; with an audit unlike learners, judged on it, unless others were asked for.

    The rows may be a part of ``n_rows``, with all that have a label; class shares are those of all rows.
    """
    learner, rounds, aim, seed = asked.learner, asked.rounds, asked.aim, asked.seed
    prior = prior_of_part(asked.class_prior, labels.given, n_rows)
    choice, classifier = learn(
        X, labels.given, diagnosis, learner=learner, rounds=rounds, class_prior=prior, aim=aim, seed=seed
    )
    if labels.answers is None:
        return Fitted(choice, classifier, choice, None)
    audited = Choice(WITH_AUDIT, LEARNERS[WITH_AUDIT], 0) if learner == AUTO else choice
    model, figures = judge(
        lambda n_rounds: audited._replace(rounds=n_rounds).classifier(seed, prior, aim),
        X,
        labels.every,
        labels.answers,
        unaudited=classifier,
        rounds=rounds,
        error=asked.error,
        n_unlabeled=n_rows - int(labels.every.labeled.sum()),
        seed=seed,
    )
    return Fitted(audited._replace(rounds=figures.rounds), model, choice, figures)


def prior_of_part(told: Any, labels: Labels, n_rows: int) -> Any:
    """What was told of all ``n_rows``, as it is of a part of them that has all labelled ones."""
    if told is None or isinstance(told, str) or len(labels.codes) == n_rows:
        return told
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    shares = ClassPrior.of(told, labels, n_rows=n_rows).shares
    return None if shares is None else shares_of_part(shares, counts, n_rows, len(labels.codes))


class LabeledRows(NamedTuple):
    """Code, confidence and source of some rows."""

    codes: NDArray[np.intp]  # (n,)
    confidence: NDArray[np.float64]  # (n,)
    source: NDArray[Any]  # (n,)
    settled: NDArray[np.bool_]  # (n,) whether the model says so in the end, too: not always what it learned from

    def part(self, rows: NDArray[Any]) -> LabeledRows:
        """Some of them, given by number or mask."""
        return LabeledRows(self.codes[rows], self.confidence[rows], self.source[rows], self.settled[rows])

    @classmethod
    def joined(cls, parts: Iterable[LabeledRows]) -> LabeledRows:
        """The rows of one after those of another."""
        columns: list[Any] = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return cls(*columns)


def label_rows(classifier: SelfTrainingClassifier, X: NDArray[Any], labels: Labels) -> LabeledRows:
    """Label the rows that have none; what was given stays as it was."""
    pool = np.flatnonzero(~labels.labeled)
    codes = labels.codes.copy()
    confidence = np.ones(len(codes))
    codes[pool], confidence[pool] = in_blocks_of_rows(lambda part: _codes(classifier, labels, part), X, pool)
    predicted = codes.copy()
    learned = np.flatnonzero(classifier.labeled_iter_ > 0)
    if classifier.aim == ACCURACY:  # another aim comes after the rounds, and is for every row
        codes[learned] = np.searchsorted(labels.classes, classifier.transduction_[learned].astype(str))
    source = np.full(len(codes), PREDICTED, dtype=object)
    source[learned], source[labels.labeled] = LEARNED, GIVEN
    return LabeledRows(codes, confidence, source, codes == predicted)


def _codes(classifier: SelfTrainingClassifier, labels: Labels, X: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    said, confidence = classifier.predict_with_confidence(X)
    return np.searchsorted(labels.classes, said), confidence


def check(
    fitted: Fitted, X: NDArray[Any], given: Labels, asked: Asked, n_rows: int
) -> tuple[HeldOut, list[Judge]]:
    """The given labels, held out in turn, as seen by what is used without an audit; and by whom."""
    most, seed = fitted.unaudited_choice.learner.held_out_rows, asked.seed
    rows = _with_pool(given.labeled, most, np.random.default_rng(seed))
    prior = prior_of_part(asked.class_prior, given.part(rows), n_rows)
    same = fitted.unaudited_choice.classifier(seed, prior, fitted.classifier.aim)
    judges: list[Any] = []
    judged = held_out(same, X[rows], given.part(rows), random_state=seed, keep=judges)
    return judged._replace(rows=rows[judged.rows]), [Judge(model, rows[part]) for model, part in judges]


def _with_pool(labeled: NDArray[np.bool_], size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    pool = np.flatnonzero(~labeled)
    if len(pool) > size:
        pool = rng.choice(pool, size, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(labeled), pool]))
