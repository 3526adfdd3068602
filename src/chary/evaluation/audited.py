"""A classifier, partly labelled rows and which labels are an audit in; a model and its honest accuracy out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, indexable

from chary.evaluation.audit import Score
from chary.evaluation.held_out import HeldOut, encode_for, fit_without, judge, judge_folds
from chary.evaluation.intervals import interval
from chary.method import Labels


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
    low, high = interval(correct, n, level=widened(level), skipped=skipped)
    taught = max(0, correct - before) / (n * n_folds)
    return Score(correct, n, low, min(1.0, high + taught), level)


def widened(level: float) -> float:
    """The level of an exact interval that a cross-fitted figure needs to hold at this one."""
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

    1. The classifier is fitted without the audited labels and judged on them: nothing it knows was drawn with
       them, so the interval of its accuracy is exact.
    2. It is fitted on all labels, the audited ones counting as much as any other. That model has seen the audit,
       so it is judged by cross-fitting: the audited rows are split into folds and each fold is judged by a model
       fitted on all labels but those. The models judged have somewhat fewer labels than the one handed back,
       and share rows with each other, so the figure is rather too low and its interval, which is widened for that
       (``cross_fitted_score``), approximate.

    Nothing is chosen by the outcome. To choose between two classifiers, see ``chary.evaluation.audit.compare``.

    Parameters
    ----------
    estimator : classifier
        Any; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows too.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,), or Labels
        All labels, those of the audited rows among them; missing (or the classifier's marker) where none.
    audit : array-like, bool of shape (n,) or row numbers of shape (k,)
        The rows that were drawn at random (``chary.evaluation.audit.draw``) and labelled by a person.
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
    >>> from chary.evaluation import audit
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y_true = load_breast_cancer(return_X_y=True)
    >>> y = np.where(X[:, 10] > 0.75, y_true, -1)
    >>> rows = audit.draw(y != -1, 30, random_state=0)
    >>> y[rows] = y_true[rows]  # a person looks at thirty tumours
    >>> result = fit_with_audit(DiverseEnsembleClassifier(random_state=0), X, y, rows, random_state=0)
    >>> print(result)
    without the audited labels  50.0% (31.3% to 68.7%)  exact
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
    splitter = KFold(min(n_folds, len(rows)), shuffle=True, random_state=_integer_seed(random_state))
    folds = [fold for _, fold in splitter.split(rows)]
    after = judge_folds(estimator, X, labels, [rows[fold] for fold in folds])
    order = np.argsort(np.concatenate(folds))
    return AuditedResult(
        model=fit_without(estimator, X, labels, rows[:0]),
        unaudited_model=unaudited_model,
        rows=rows,
        labels=labels.classes[labels.codes[rows]],
        before=judge(unaudited_model, X, labels, rows),
        after=after.part(order),
        n_folds=len(folds),
    )


def _audited_rows(audit: ArrayLike, labeled: NDArray[np.bool_]) -> NDArray[np.intp]:
    rows = np.asarray(audit)
    if rows.dtype == bool:
        if rows.shape != labeled.shape:
            raise ValueError(
                f"audit is a mask of shape {rows.shape}; {labeled.shape} is needed, one for each row."
            )
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or len(rows) < 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"audit must be a mask or the numbers of two rows or more; got {audit!r}.")
    if rows.min() < 0 or rows.max() >= len(labeled) or len(np.unique(rows)) < len(rows):
        raise ValueError(f"audit must be different rows between 0 and {len(labeled) - 1}.")
    if not labeled[rows].all():
        raise ValueError(
            f"{int((~labeled[rows]).sum())} of the {len(rows)} audited rows have no label in y; put in the labels "
            "that the person gave, and leave out rows that were skipped."
        )
    return rows.astype(np.intp)


def _integer_seed(random_state: Any) -> int:
    return int(np.random.default_rng(random_state).integers(2**31))
