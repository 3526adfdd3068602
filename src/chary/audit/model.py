"""Fitting a model with an audit, and what the audit says of it, before and after it learned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, indexable

from chary._arrays import Array, Ints, Mask
from chary.audit.acceptance import Acceptor, ConfidenceHistogram
from chary.audit.answers import Audit, AuditAnswers
from chary.audit.figures import (
    Baseline,
    Comparison,
    Score,
    Share,
    balanced_score,
    class_scores,
    class_shares,
    compare,
    one_label_for_all,
    score,
)
from chary.audit.intervals import interval
from chary.method.estimators import in_blocks_of_rows
from chary.method.held_out import (
    HeldOut,
    confidence_of,
    encode_for,
    fit_without,
    hold_out_folds,
    predict_held_out,
)
from chary.method.labels import Labels

# The intervals of a model's figures have this level.
_LEVEL = 0.95


@dataclass(frozen=True)
class AuditedResult:
    """The outcome of ``fit_with_audit``."""

    model: Any  #: fitted on all labels: the one to use
    unaudited_model: Any  #: fitted without the audited labels
    rows: Ints  #: (k,) the audited rows
    labels: Array  #: (k,) the labels of the audited rows
    before: HeldOut  #: predictions of ``unaudited_model``; its accuracy is exact
    #: Predictions of models like ``model``, each fitted without one fold of the audited labels; the
    #: accuracy is approximate.
    after: HeldOut
    n_folds: int  #: how many folds ``after`` was cross-fitted in
    #: The models of ``after``, each with the rows that it was fitted without.
    fold_models: list[tuple[Any, Ints]]

    @property
    def before_score(self) -> Score:
        """The share of ``before`` that is right: exact."""
        return score(self.before.correct)

    def after_score(self, skipped: int = 0) -> Score:
        """Compute the share of ``after`` that is right: approximate.

        ``skipped`` is the number of drawn rows without an answer, which count as wrong.
        """
        return cross_fitted_score(
            int(self.after.correct.sum()),
            int(self.before.correct.sum()),
            len(self.rows) + skipped,
            self.n_folds,
            skipped=skipped,
        )

    def __str__(self) -> str:
        return (
            f"without the audited labels  {self.before_score}  exact\n"
            f"with them, cross-fitted     {self.after_score()}  approximate"
        )


def cross_fitted_score(
    correct: int, before: int, n: int, n_folds: int = 5, *, skipped: int = 0, level: float = 0.95
) -> Score:
    r"""Compute the accuracy of a model that has learned from its audit, with a widened interval.

    Each row is judged by a model fitted without the row's fold. All these models share rows, so
    their errors are not independent, and the exact interval would be too narrow. They also have
    fewer labels than the model in question, so the interval would be too low if the audit taught
    much. In simulations it held the truth in 84 to 98 % of audits at a level of 95 %
    (``benchmarks/cross_fitting.py``). There are two corrections. Against the first fault, the
    limits are taken at the level 1 - 0.4 (1 - level), 98 % for 95 %. Against the second one, the
    upper limit is raised by

    .. math:: \max(0,\, \mathrm{correct} - \mathrm{before}) / (n \cdot n_{folds}).

    All folds together taught the models to predict ``correct`` instead of ``before`` rows right. If
    later labels teach no more than earlier ones, the one fold that a model lacks would have taught
    it at most one part in ``n_folds`` of this.

    Parameters
    ----------
    correct : int
        Rows that the cross-fitted models predict right.
    before : int
        Rows that a model fitted without any audited label predicts right.
    n : int
        Rows drawn, skipped ones included. These count as wrong, and as right in the upper limit.
    n_folds : int, default=5
    skipped : int, default=0
    level : float, default=0.95

    Examples
    --------
    >>> print(cross_fitted_score(27, 20, 30))
    90.0% (72.1% to 100.0%)
    """
    low, high = interval(correct, n, level=widened(level), skipped=skipped)
    taught_by_a_fold = max(0, correct - before) / (n * n_folds)
    return Score(correct, n, low, min(1.0, high + taught_by_a_fold), level)


def widened(level: float) -> float:
    """Find the level of an exact interval that makes a cross-fitted figure hold at ``level``."""
    return 1 - 0.4 * (1 - level)


def fit_with_audit(
    estimator: Any,
    X: Any,
    y: ArrayLike | Labels,
    audit: ArrayLike,
    *,
    n_folds: int = 5,
    random_state: Any = None,
) -> AuditedResult:
    """Fit a classifier on biased labels and an audit, and say how good it is.

    1. The classifier is fitted without the audited labels and judged on them: it has seen none of
       them, so the interval of its accuracy is exact.
    2. It is fitted on all labels, and an audited label counts as much as any other. That model has
       seen the audit, so it is judged by cross-fitting: the audited rows are split into folds, and
       each fold is judged by a model fitted on all labels but the fold's. These models have
       somewhat fewer labels than the returned one, so the figure is rather too low. They also share
       rows, so its interval, although widened (``cross_fitted_score``), is approximate.

    Nothing is chosen by the outcome. To choose between two classifiers, see
    ``chary.audit.compare``.

    Parameters
    ----------
    estimator : classifier
        Any; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows too.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,), or Labels
        All labels, including those of the audited rows; missing (or the classifier's marker) for
        rows without a label.
    audit : array-like of shape (k,)
        The numbers of the rows that were drawn at random (``chary.audit.draw``) and labelled by a
        person.
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
    >>> classifier = DiverseEnsembleClassifier(random_state=0)
    >>> result = fit_with_audit(classifier, X, y, rows, random_state=0)
    >>> print(result)
    without the audited labels  50.0% (33.8% to 68.9%)  exact
    with them, cross-fitted     100.0% (87.1% to 100.0%)  approximate

    What only this example can know, the truth on all other rows:

    >>> unlabelled = y == -1
    >>> for model in (result.unaudited_model, result.model):
    ...     print(f"{np.mean(model.predict(X[unlabelled]) == y_true[unlabelled]):.1%}")
    48.8%
    95.2%
    """
    (X,) = indexable(X)
    labels = encode_for(estimator, y)
    check_consistent_length(X, labels.codes)
    rows = _audited_rows(audit, labels.labeled)  # (k,)

    # 1. The model without the audited labels.
    unaudited_model = fit_without(estimator, X, labels, rows)

    # 2. A model for each fold of the audited rows, without the labels of the fold.
    seed = int(np.random.default_rng(random_state).integers(2**31))
    splits = KFold(min(n_folds, len(rows)), shuffle=True, random_state=seed).split(rows)
    folds = [places for _, places in splits]  # places in ``rows``
    fold_models: list[tuple[Any, Ints]] = []
    after = hold_out_folds(
        estimator, X, labels, [rows[places] for places in folds], keep=fold_models
    )
    # ``after`` has one fold after the other; ``order`` brings it back to the order of ``rows``.
    order = np.argsort(np.concatenate(folds))

    # 3. The model with all labels.
    no_rows = rows[:0]
    return AuditedResult(
        model=fit_without(estimator, X, labels, no_rows),
        unaudited_model=unaudited_model,
        rows=rows,
        labels=labels.classes[labels.codes[rows]],
        before=predict_held_out(unaudited_model, X, labels, rows),
        after=after.subset(order),
        n_folds=len(folds),
        fold_models=fold_models,
    )


def _audited_rows(audit: ArrayLike, labeled: Mask) -> Ints:
    """Check the numbers of the audited rows: two or more different ones, all with a label."""
    rows = np.asarray(audit)
    all_rows = np.arange(len(labeled))
    n_valid = len(np.intersect1d(rows, all_rows))  # different numbers that are rows of the table
    are_numbers = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not are_numbers or len(rows) < 2 or len(rows) != n_valid:
        raise ValueError(f"audit must hold the numbers of two or more of the {len(labeled)} rows.")
    n_unlabeled = int((~labeled[rows]).sum())
    if n_unlabeled:
        raise ValueError(
            f"{n_unlabeled} audited rows have no label in y; put in the answers, leave out skipped "
            "rows."
        )
    return rows.astype(np.intp)


# ---------------------------------------------------------------- what the audit says of the model


@dataclass(frozen=True, kw_only=True)
class AuditFigures(Audit):
    """What an audit says of a model.

    There are two models. ``accuracy`` and ``correct`` are of the model that would be used without
    the audit. ``after``, ``classes``, ``balanced`` and ``pairs`` are of the *final* model, which
    has learned from the audit, too. Skipped rows count as wrong.
    """

    # Accuracy of the final model: cross-fitted, so approximate. None: the audit is unfinished.
    after: Score | None
    balanced: tuple[float, float, float] | None  # its balanced accuracy, with lower and upper limit
    pairs: dict[tuple[str, str], int]  # audited rows by answer and by the final model's label
    # How many rows of the pool, those without a given label, are of each class; empty: unfinished.
    shares: dict[str, Share]
    # The final model beside one label for all rows: approximate. None: the audit is unfinished.
    baseline: Baseline | None
    comparison: Comparison | None  # self-trained against supervised; None: not compared
    rounds: int  # of self-training in the end

    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know of the answers, a sentence each."""
        notes = [*self.answers.notes, *self.answers.warnings]
        if self.answers.is_unfinished:
            return [self.answers.unfinished_sentence, *notes]
        if self.answers.n_skipped:
            notes.append(f"The {self.answers.n_skipped} skipped rows count as wrong.")
        if self.comparison is None:
            return [
                *notes,
                f"Rounds of self-training: {self.rounds}; the audit did not choose them.",
            ]
        outcome = "did not clearly help, so it is off"
        if self.rounds:
            outcome = "clearly helped, so it is on"
        p_value = f"p = {self.comparison.p_value:.2f}"
        return [*notes, f"On the audit, self-training {outcome} ({p_value})."]

    def of_rest(self, rest: ConfidenceHistogram) -> AuditFigures:
        """Count accepted rows in another table, by the same thresholds.

        ``rest`` are the confidences of the rows of that table that nobody has answered.
        """
        if self.acceptor is None:
            return self
        return replace(self, acceptor=self.acceptor._replace(rest=rest))


def audit_figures(
    result: AuditedResult,
    X: Array,
    labels: Labels,
    answers: AuditAnswers,
    *,
    correct: Mask,
    n_unlabeled: int | None = None,
    error: float | None = None,
    comparison: Comparison | None = None,
    rounds: int = 0,
) -> AuditFigures:
    """Compute the figures of a model that was fitted with an audit.

    Parameters
    ----------
    result : AuditedResult
    X : array of shape (n, d)
    labels : Labels
        All labels, those given and those of the audit.
    answers : AuditAnswers
    correct : array of shape (k,), bool
        Whether the model that would be used without the audit is right on each answered row.
    n_unlabeled : int, default=None
        Rows without a label beside the answered ones, if X does not hold all of them.
    error, comparison, rounds
        Fields of ``AuditFigures``.
    """
    # Of the m drawn rows, k were answered and the rest skipped.
    is_correct = np.zeros(len(answers.drawn), dtype=bool)  # (m,) False where the row was skipped
    is_correct[~answers.skipped] = correct
    unlabelled_rows = np.flatnonzero(~labels.labeled)
    if n_unlabeled is None:
        n_unlabeled = len(unlabelled_rows)

    # The confidence of every drawn row comes from a model that has not seen its label. Confidences
    # are rounded to four digits, as the histograms count them.
    after = result.after  # (k,) predictions
    prediction_of_skipped, confidence_of_skipped = _predict_skipped(result.model, X, answers)
    skipped_are_wrong = np.zeros(answers.n_skipped, dtype=bool)
    unanswered = _histogram(result.model, X, unlabelled_rows)
    answered = _histogram(result.model, X, answers.rows)
    acceptor = Acceptor(
        confidence=np.round(np.append(after.confidence, confidence_of_skipped), 4),
        correct=np.append(after.correct, skipped_are_wrong),
        pool=unanswered.plus(answered),
        rest=unanswered,
        answered=answered,
    )
    figures = AuditFigures(
        answers=answers,
        correct=is_correct,
        population=len(answers.rows) + n_unlabeled,
        level=_LEVEL,
        classes={},
        acceptor=acceptor,
        error=error,
        after=None,
        balanced=None,
        pairs={},
        shares={},
        baseline=None,
        comparison=comparison,
        rounds=rounds,
    )
    if answers.is_unfinished:
        return figures

    # The figures of the final model. Their intervals are widened, and so hold at the usual level.
    answer_labels = result.labels.astype(str)  # (k,)
    predictions = after.prediction.astype(str)  # (k,)
    widened_recalls = class_scores(
        answer_labels,
        predictions,
        labels.classes.tolist(),
        widened(_LEVEL),
        skipped=prediction_of_skipped,
    )
    recalls = {name: recall._replace(level=_LEVEL) for name, recall in widened_recalls.items()}
    pairs = Counter(zip(answer_labels.tolist(), predictions.tolist(), strict=True))

    shares = _class_shares(result.unaudited_model, X, unlabelled_rows, answers, n_unlabeled)
    labels_of_drawn = np.empty(len(answers.drawn), dtype=object)  # (m,)
    labels_of_drawn[~answers.skipped] = predictions
    labels_of_drawn[answers.skipped] = prediction_of_skipped
    return replace(
        figures,
        classes=recalls,
        after=result.after_score(answers.n_skipped),
        balanced=balanced_score(recalls, len(labels.classes)),
        pairs=dict(pairs),
        shares=shares,
        baseline=one_label_for_all(answers.truth, labels_of_drawn, shares, skipped=answers.skipped),
    )


def compare_models(first: Any, second: Any, X: Array, answers: AuditAnswers) -> Comparison:
    """Test whether two models are right equally often on the drawn rows; see ``compare``."""
    X_drawn = X[answers.drawn]
    first_labels = first.predict(X_drawn)
    second_labels = second.predict(X_drawn)
    is_answered = ~answers.skipped
    return compare(
        is_answered & (first_labels == answers.truth),
        is_answered & (second_labels == answers.truth),
        # If both models predict the same for a skipped row, its answer makes no difference.
        skipped=answers.skipped & (first_labels != second_labels),
    )


def _predict_skipped(model: Any, X: Array, answers: AuditAnswers) -> tuple[Array, Array]:
    """Predict the skipped rows, with confidence; the model has not seen their labels.

    The predictions are text, in an array of Python objects.
    """
    rows = answers.drawn[answers.skipped]
    if len(rows) == 0:
        return np.empty(0, dtype=object), np.empty(0)
    predictions = model.predict(X[rows]).astype(str).astype(object)
    return predictions, confidence_of(model, X[rows])


def _class_shares(
    model: Any, X: Array, unlabelled_rows: Ints, answers: AuditAnswers, n_unlabeled: int
) -> dict[str, Share]:
    """Compute how many rows without a given label are of each class.

    The labels of a model that has not seen the answers narrow the intervals. If X is only a part of
    the table, it is not known how many rows of the table get which label. Then no labels are used:
    all rows count as rows with the label None.
    """
    is_whole_table = n_unlabeled == len(unlabelled_rows)
    counts: Counter[str | None]
    if is_whole_table:
        pool = np.concatenate([unlabelled_rows, answers.rows])
        (pool_labels,) = in_blocks_of_rows(lambda block: (model.predict(block),), X, pool)
        counts = Counter(pool_labels.astype(str).tolist())
        labels = model.predict(X[answers.drawn]).astype(str).astype(object)
    else:
        counts = Counter({None: len(answers.rows) + n_unlabeled})
        labels = np.full(len(answers.drawn), None)
    return class_shares(answers.truth, labels, counts, skipped=answers.skipped, level=_LEVEL)


def _histogram(model: Any, X: Array, rows: Ints) -> ConfidenceHistogram:
    """Count rows by the confidence of a model."""

    def confidences(block: Array) -> tuple[Array]:
        return (confidence_of(model, block),)

    (confidence,) = in_blocks_of_rows(confidences, X, rows)
    return ConfidenceHistogram.of(confidence)
