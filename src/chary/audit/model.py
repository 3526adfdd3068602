"""Fitting a model with an audit, and what the audit says of it: exactly before it learned from it, and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, indexable

from chary.audit.acceptance import Acceptor, ConfidenceHistogram
from chary.audit.answers import Audit, AuditAnswers
from chary.audit.figures import Comparison, Score, balanced_score, class_scores, compare
from chary.audit.held_out import HeldOut, confidence_of, encode_for, fit_without, judge_folds, judge_rows
from chary.audit.intervals import clopper_pearson
from chary.method.estimators import in_blocks_of_rows
from chary.method.labels import Labels
from chary.method.self_training import SelfTrainingClassifier

_CLEAR = 0.05


@dataclass(frozen=True)
class AuditedResult:
    """The outcome of ``fit_with_audit``."""

    model: Any  #: fitted on all labels: the one to use
    unaudited_model: Any  #: fitted without the audited labels
    rows: NDArray[np.intp]  #: (k,) the audited rows
    labels: NDArray[Any]  #: (k,) and their labels
    before: HeldOut  #: by ``unaudited_model``: exact
    after: HeldOut  #: by models like ``model``, each without some audited labels: approximate

    n_folds: int  #: that ``after`` was cross-fitted in

    def after_score(self, skipped: int = 0) -> Score:
        """The share of ``after`` that is right, of all drawn rows, skipped ones included: approximate."""
        right, right_before = int(self.after.correct.sum()), int(self.before.correct.sum())
        return cross_fitted_score(right, right_before, len(self.rows) + skipped, self.n_folds, skipped=skipped)

    def __str__(self) -> str:
        return (
            f"without the audited labels  {self.before.score}  exact\n"
            f"with them, cross-fitted     {self.after_score()}  approximate"
        )


def cross_fitted_score(
    correct: int, before: int, n: int, n_folds: int = 5, *, skipped: int = 0, level: float = 0.95
) -> Score:
    r"""The accuracy of a model that has learned from its audit, with an interval as wide as it has to be.

    Each row was judged by a model that lacks its fold, and all models share rows, so that Clopper and Pearson's
    interval is too narrow, and too low where the audit taught much. Simulated with few and many classes, with
    classes that only the audit found, with strongly and weakly biased labels, it held the truth in 85 to 99 % of
    audits where 95 % was asked for. Two mends (``benchmarks/cross_fitting.py``): the limits are those of the level
    1 - 0.4 (1 - level); and the upper one is raised by

    .. math:: \max(0,\, \mathrm{correct} - \mathrm{before}) / (n \cdot n_{folds}),

    the part of what the audit taught that the models judged can lack, if later labels teach no more than earlier.

    Parameters
    ----------
    correct : int
        Rows right by the models judged.
    before : int
        Rows right by a model without any audited label.
    n : int
        Rows drawn, the skipped ones included, which count as wrong (as right in the upper limit).
    n_folds : int, default=5
    skipped : int, default=0
    level : float, default=0.95

    Examples
    --------
    >>> print(cross_fitted_score(27, 20, 30))
    90.0% (70.2% to 100.0%)
    """
    low = float(clopper_pearson(correct, n, widened(level))[0])
    high = float(clopper_pearson(correct + skipped, n, widened(level))[1])
    taught = max(0, correct - before) / (n * n_folds)
    return Score(correct, n, low, min(1.0, high + taught), level)


def widened(level: float) -> float:
    """The level of an exact interval that a cross-fitted figure needs to hold at this one."""
    return 1 - 0.4 * (1 - level)


def fit_with_audit(
    estimator: Any, X: Any, y: ArrayLike | Labels, audit: ArrayLike, *, n_folds: int = 5, random_state: Any = None
) -> AuditedResult:
    """Fit a classifier on biased labels and an audit, and say how good it is.

    1. The classifier is fitted without the audited labels and judged on them: nothing it knows was drawn with
       them, so the interval of its accuracy is exact.
    2. It is fitted on all labels, the audited ones counting as much as any other. That model has seen the audit,
       so it is judged by cross-fitting: the audited rows are split into folds and each fold is judged by a model
       fitted on all labels but those. The models judged have somewhat fewer labels than the one handed back,
       and share rows with each other, so the figure is rather too low and its interval, which is widened for that
       (``cross_fitted_score``), approximate.

    Nothing is chosen by the outcome. To choose between two classifiers, see ``chary.audit.compare``.

    Parameters
    ----------
    estimator : classifier
        Any; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows too.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,), or Labels
        All labels, those of the audited rows among them; missing (or the classifier's marker) where none.
    audit : array-like, bool of shape (n,) or row numbers of shape (k,)
        The rows that were drawn at random (``chary.audit.draw``) and labelled by a person.
    n_folds : int, default=5
    random_state : None, int, RandomState or Generator
        Deals the audited rows into folds.

    Returns
    -------
    AuditedResult

    Examples
    --------
    Labels only for tumours of uneven radius, then thirty for tumours drawn at random:

    >>> from chary import DiverseEnsembleClassifier
    >>> from chary.audit import draw
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y_true = load_breast_cancer(return_X_y=True)
    >>> y = np.where(X[:, 10] > 0.75, y_true, -1)
    >>> rows = draw(y != -1, 30, random_state=0)
    >>> y[rows] = y_true[rows]  # a person looks at thirty tumours
    >>> result = fit_with_audit(DiverseEnsembleClassifier(random_state=0), X, y, rows, random_state=0)
    >>> print(result)
    without the audited labels  50.0% (33.8% to 68.9%)  exact
    with them, cross-fitted     100.0% (85.8% to 100.0%)  approximate

    What only this example can know, the truth on all other rows:

    >>> rest = y == -1
    >>> for model in (result.unaudited_model, result.model):
    ...     print(f"{np.mean(model.predict(X[rest]) == y_true[rest]):.1%}")
    48.8%
    95.2%
    """
    (X,) = indexable(X)
    labels = encode_for(estimator, y)
    check_consistent_length(X, labels.codes)
    rows = _audited_rows(audit, labels.labeled)
    unaudited_model = fit_without(estimator, X, labels, rows)
    seed = int(np.random.default_rng(random_state).integers(2**31))
    folds = [fold for _, fold in KFold(min(n_folds, len(rows)), shuffle=True, random_state=seed).split(rows)]
    after = judge_folds(estimator, X, labels, [rows[fold] for fold in folds])
    order = np.argsort(np.concatenate(folds))
    return AuditedResult(
        model=fit_without(estimator, X, labels, rows[:0]),
        unaudited_model=unaudited_model,
        rows=rows,
        labels=labels.classes[labels.codes[rows]],
        before=judge_rows(unaudited_model, X, labels, rows),
        after=after.part(order),
        n_folds=len(folds),
    )


@dataclass(frozen=True, kw_only=True)
class AuditFigures(Audit):
    """What an audit says of a model.

    ``accuracy`` is that of the model of the given labels alone, as it is without an audit; ``classes`` are of the
    model that has learned from the audit too. Skipped rows are wrong.
    """

    after: Score  # of the model that has learned from the audit too, cross-fitted: approximate
    balanced: tuple[float, float, float] | None  # balanced accuracy of that model, and its limits
    pairs: dict[tuple[str, str], int]  # audited rows by answer and by what that model says
    comparison: Comparison | None  # self-trained against supervised; None: not compared
    rounds: int  # of self-training in the end

    @property
    def notes(self) -> list[str]:
        """What there is to say of the answers and of what was made of them, a sentence each."""
        notes = [*self.answers.notes, *self.answers.warnings]
        if self.answers.n_skipped:
            notes.append(
                f"The {self.answers.n_skipped} skipped rows count as wrong. On the answered rows alone, the model "
                f"without the audit is right on {self.answered}."
            )
        if self.comparison is None:
            return [*notes, f"Rounds of self-training: {self.rounds}, as asked."]
        outcome = "clearly helped, so it is on" if self.rounds else "did not clearly help, so it is off"
        return [*notes, f"On the audit, self-training {outcome} (p = {self.comparison.p_value:.2f})."]

    def of_rest(self, rest: ConfidenceHistogram) -> AuditFigures:
        """The same with the rows to accept counted among these, not those at hand: the thresholds stay."""
        return self if self.acceptor is None else replace(self, acceptor=self.acceptor._replace(rest=rest))


def merge(labels: Labels, answers: AuditAnswers) -> tuple[Labels, Labels]:
    """The labels given without the audited rows, and all labels together; both know every class."""
    classes = np.unique(np.concatenate([labels.classes.astype(str), answers.labels.astype(str)]))
    given = np.full(len(labels.codes), -1, dtype=np.intp)
    given[labels.labeled] = np.searchsorted(classes, labels.classes[labels.codes[labels.labeled]].astype(str))
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
        What is used where there is no audit, fitted without it: ``accuracy`` is its. None: the one of
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
    if rounds is None:  # one round against none, both without the audited labels
        trained = make(1).fit(X, every.without(result.rows), initial=result.unaudited_model.estimator_)
        comparison = compare(trained.predict(X[result.rows]) == result.labels, result.before.correct)
        rounds = int(comparison.p_value < _CLEAR and comparison.only_first > comparison.only_second)
        if rounds:
            result = fit_with_audit(make(rounds), X, every, answers.rows, random_state=seed)
    after, rest = result.after, np.flatnonzero(~every.labeled)
    of_skipped, confidence_of_skipped = _of_skipped(result.model, X, answers)
    told, said = result.labels.astype(str), after.prediction.astype(str)
    scores = class_scores(told, said, every.classes.tolist(), widened(0.95), skipped=of_skipped)
    scores = {name: found._replace(level=0.95) for name, found in scores.items()}
    correct = np.zeros(len(answers.drawn), dtype=bool)
    correct[~answers.skipped] = right
    of_rest, of_answered = (
        ConfidenceHistogram.of(in_blocks_of_rows(lambda part: (confidence_of(result.model, part),), X, rows)[0])
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
        ),
        error=error,
        after=result.after_score(answers.n_skipped),
        balanced=balanced_score(scores, len(every.classes)),
        pairs=dict(Counter(zip(told.tolist(), said.tolist(), strict=True))),
        comparison=comparison,
        rounds=rounds,
    )
    return result.model, figures


def _of_skipped(model: Any, X: NDArray[Any], answers: AuditAnswers) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the final model says of the rows that were skipped, and how confidently.

    It has not seen their labels, so it may judge them. A row that was removed from the sheet cannot be looked up:
    its prediction is None, and it counts as wrong at any confidence.
    """
    rows = answers.drawn[answers.skipped]
    there = rows >= 0
    prediction, confidence = np.full(len(rows), None), np.full(len(rows), np.inf)
    if there.any():
        X_skipped = X[rows[there]]
        prediction[there] = model.predict(X_skipped).astype(str)
        confidence[there] = confidence_of(model, X_skipped)
    return prediction, confidence


def _audited_rows(audit: ArrayLike, labeled: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows = np.asarray(audit)
    if rows.dtype == bool and rows.shape == labeled.shape:
        rows = np.flatnonzero(rows)
    n_different = len(np.intersect1d(rows, np.arange(len(labeled))))
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not 2 <= len(rows) == n_different:
        raise ValueError(
            f"audit must be a mask of all {len(labeled)} rows, or numbers of two or more different ones."
        )
    if not labeled[rows].all():
        raise ValueError(
            f"{int((~labeled[rows]).sum())} of the {len(rows)} audited rows have no label in y; put in the labels "
            "that the person gave, and leave out rows that were skipped."
        )
    return rows.astype(np.intp)
