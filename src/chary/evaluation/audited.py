"""A classifier, partly labelled rows and which labels are an audit in; a model and its honest accuracy out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_consistent_length, indexable

from chary.evaluation.audit import Floats, Score, score
from chary.method import decode, encode, max_probability, probabilities


class Judged(NamedTuple):
    """The audited rows as seen by a model that has not seen their labels."""

    prediction: NDArray[Any]  # (k,)
    correct: NDArray[np.bool_]  # (k,)
    confidence: Floats  # (k,)

    @property
    def score(self) -> Score:
        """The share of right rows, with its 95 % interval."""
        return score(self.correct)


@dataclass(frozen=True)
class AuditedResult:
    """The outcome of ``fit_with_audit``."""

    model: Any  # fitted on all labels: the one to use
    unaudited_model: Any  # fitted without the audited labels
    rows: NDArray[np.intp]  # (k,) the audited rows
    labels: NDArray[Any]  # (k,) and their labels
    before: Judged  # by ``unaudited_model``: exact
    after: Judged  # by models like ``model``, each without some audited labels: approximate

    def __str__(self) -> str:
        return (
            f"without the audited labels  {self.before.score}  exact\n"
            f"with them, cross-fitted     {self.after.score}  approximate"
        )


def fit_with_audit(
    estimator: Any, X: Any, y: ArrayLike, audit: ArrayLike, *, n_folds: int = 5, random_state: Any = None
) -> AuditedResult:
    """Fit a classifier on biased labels and an audit, and say how good it is.

    1. The classifier is fitted without the audited labels and judged on them: nothing it knows was drawn with
       them, so the interval of its accuracy is exact.
    2. It is fitted on all labels, the audited ones counting as much as any other. That model has seen the audit,
       so it is judged by cross-fitting: the audited rows are split into folds and each fold is judged by a model
       fitted on all labels but those. The models judged have somewhat fewer labels than the one handed back,
       and share rows with each other, so the interval is approximate and the figure rather too low.

    Nothing is chosen by the outcome. To choose between two classifiers, see ``chary.evaluation.audit.compare``.

    Parameters
    ----------
    estimator : classifier
        Any; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows too.
    X : array, DataFrame or sparse matrix of shape (n, ...)
    y : array-like of shape (n,)
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
    without the audited labels  53.3% (34.3% to 71.7%)  exact
    with them, cross-fitted     90.0% (73.5% to 97.9%)  approximate

    What only this example can know, the truth on all other rows:

    >>> rest = y == -1
    >>> for model in (result.unaudited_model, result.model):
    ...     print(f"{np.mean(model.predict(X[rest]) == y_true[rest]):.1%}")
    48.5%
    95.4%
    """
    (X,) = indexable(X)
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    params = last.get_params(deep=False)
    labels = encode(y, unlabeled=params.get("unlabeled", -1))
    check_consistent_length(X, labels.codes)
    rows = _audited_rows(audit, labels.labeled)
    target = labels.classes[labels.codes]  # of labelled rows

    def fit_without(hidden: NDArray[np.intp]) -> Any:
        kept = labels.labeled.copy()
        kept[hidden] = False
        if "unlabeled" in params:
            codes = np.where(kept, labels.codes, -1)
            return clone(estimator).fit(X, decode(codes, labels.classes, unlabeled=params["unlabeled"]))
        used = np.flatnonzero(kept)
        return clone(estimator).fit(_safe_indexing(X, used), target[used])

    def judge(model: Any, judged: NDArray[np.intp]) -> Judged:
        prediction = model.predict(_safe_indexing(X, judged))
        return Judged(prediction, prediction == target[judged], confidence_of(model, _safe_indexing(X, judged)))

    unaudited_model = fit_without(rows)
    folds = KFold(min(n_folds, len(rows)), shuffle=True, random_state=_integer_seed(random_state))
    parts = [judge(fit_without(rows[fold]), rows[fold]) for _, fold in folds.split(rows)]
    order = np.argsort(np.concatenate([fold for _, fold in folds.split(rows)]))
    after = Judged(*(np.concatenate(part)[order] for part in zip(*parts, strict=True)))
    return AuditedResult(
        model=fit_without(np.empty(0, dtype=np.intp)),
        unaudited_model=unaudited_model,
        rows=rows,
        labels=target[rows],
        before=judge(unaudited_model, rows),
        after=after,
    )


def confidence_of(model: Any, X: Any) -> Floats:
    """The model's own confidence in its predictions, or their probability where it has none."""
    if hasattr(model, "predict_confidence"):
        return model.predict_confidence(X)
    return max_probability(probabilities(model, X))


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
