"""A partly labelled table in; a classifier made of unlike learners, brought to one scale, out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from chary.confidence import entropy, margin, max_probability, t_similarity
from chary.labels import decode, encode
from chary.priors import align, resolve_prior

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.intp]

# Trees give probabilities of 0, whose logarithm is infinite. A few labels cannot tell apart what lies below this.
_PROBABILITY_FLOOR = 1e-3
_PROBABILITY_CONFIDENCES = {"max_probability": max_probability, "margin": margin, "entropy": entropy}


class MixedEnsembleClassifier(ClassifierMixin, BaseEstimator):
    """Learners of different kinds, brought to one scale and averaged.

    Learners of one kind err together where the labels are biased; learners of different kinds less so. Each member
    is fitted on the labelled rows. Its logits (log-probabilities, from 0.001 upwards, less their mean over the
    classes) are scaled so that all members have the same spread on the unlabelled rows, or on all rows where none
    is unlabelled: the members' mean spread. The prediction is the weighted mean of these scores.

    Parameters
    ----------
    members : list of (name, classifier) or (name, classifier, weight), default=None
        Classifiers with ``predict_proba`` or ``decision_function``; they are cloned. Of a Pipeline, the steps that
        can do without a target are fitted on all rows, labelled or not. Weight 1 where none is given. None:
        logistic regression on standardised columns; logistic regression on columns made normal by their
        quantiles; extremely randomised trees that try half of the columns at each split, with weight 2.
    class_prior : None, "labeled", mapping or array-like, default=None
        What you know of the share of each class among all rows: nothing (None); the labelled rows have the same
        shares ("labeled"); a mapping from class to share; or the shares in the order of the classes. The scores
        are then offset so that the unlabelled rows (all rows, where none is) are predicted in these proportions.
        It helps a lot where it is true and costs a lot where it is false.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do. None: missing values only.
    n_jobs : int, default=None
        Members fitted at the same time; -1 means one per processor.
    random_state : int, Generator, RandomState or None, default=None
        Seeds every ``random_state`` of the members that is None.

    Attributes
    ----------
    classes_ : array of shape (C,)
    members_ : list of fitted classifiers
        They know the classes by number.
    head_weights_ : array of shape (M,)
        Weights of the members, summing to 1.
    head_scales_ : array of shape (M,)
        What each member's logits are multiplied by.
    class_prior_ : array of shape (C,) or None
        The shares that ``class_prior`` stands for.
    class_bias_ : array of shape (C,)
        Offset of each class's score; 0 without a class prior, minus infinity for a class of share 0.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y_true = load_breast_cancer(return_X_y=True)
    >>> y = y_true.copy()
    >>> y[40:] = -1                               # the first 40 rows are labelled: most of them malignant
    >>> known = {0: 0.37, 1: 0.63}
    >>> for class_prior in (None, known):
    ...     model = MixedEnsembleClassifier(class_prior=class_prior, random_state=0).fit(X, y)
    ...     print(round(model.score(X[40:], y_true[40:]), 2))
    0.82
    0.92
    """

    _parameter_constraints = {  # noqa: RUF012
        "members": [list, tuple, None],
        "class_prior": "no_validation",
        "unlabeled": "no_validation",
        "n_jobs": [Integral, None],
        "random_state": [Interval(Integral, 0, None, closed="left"), Generator, RandomState, None],
    }

    def __init__(
        self,
        members: list[Any] | None = None,
        *,
        class_prior: Any = None,
        unlabeled: Any = -1,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.class_prior = class_prior
        self.unlabeled = unlabeled
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MixedEnsembleClassifier:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array or DataFrame of numbers of shape (n, d)
        y : array-like of shape (n,)
            Labels; missing or ``unlabeled`` where there is none.
        sample_weight : array-like of shape (n,), default=None
            Weights of labelled rows in the fits of the members. A row of weight 0 is as if absent; in everything
            that unlabelled rows share in (columns' scales, members' spreads, class shares), others count once.
        """
        self._validate_params()
        if y is None:
            raise ValueError("MixedEnsembleClassifier requires y to be passed, but the target y is None.")
        X = validate_data(self, X, dtype=np.float64)
        labels = encode(y, unlabeled=self.unlabeled)
        check_consistent_length(X, labels.codes)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True, dtype=np.float64)
            present = weights > 0
            X, weights = X[present], weights[present]
            labels = encode(decode(labels.codes[present], labels.classes, unlabeled=None), unlabeled=None)
        self.classes_ = labels.classes
        self.class_prior_ = resolve_prior(self.class_prior, labels.classes, labels.codes)
        self._fit_members(X, labels.codes, weights)
        pool = X if labels.labeled.all() else X[~labels.labeled]
        self._bring_to_one_scale(pool)
        return self

    def _fit_members(self, X: Floats, codes: Codes, weights: Floats | None) -> None:
        members = _default_members(len(X)) if self.members is None else _checked_members(self.members)
        rng = np.random.default_rng(self.random_state)
        estimators = [_seeded(member.estimator, rng) for member in members]
        if weights is not None:
            _refuse_weightless(members)
        self.members_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fitted)(estimator, X, codes, weights) for estimator in estimators
        )
        head_weights = np.array([member.weight for member in members], dtype=np.float64)
        self.head_weights_ = head_weights / head_weights.sum()

    def _bring_to_one_scale(self, pool: Floats) -> None:
        """Scales and offset, from the rows that stand for all."""
        logits = [_logits(member, pool) for member in self.members_]
        spreads = np.array([member_logits.std() for member_logits in logits])
        varied = spreads > 0  # a member that says the same of every row and class has no scale of its own
        common = self.head_weights_[varied] @ spreads[varied] / max(self.head_weights_[varied].sum(), 1e-300)
        self.head_scales_ = np.where(varied, common / np.where(varied, spreads, 1), 1.0)
        self.class_bias_ = np.zeros(len(self.classes_))
        if self.class_prior_ is not None:
            head_scores = np.stack(logits, axis=1) * self.head_scales_[:, None]  # (n, M, C)
            self.class_bias_ = align(self._mean(head_scores), self.class_prior_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row."""
        codes = self._mean(self._head_scores(X)).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities (n, C): the softmax of the mean scores."""
        return softmax(self._mean(self._head_scores(X)), axis=1)

    def predict_head_proba(self, X: Any) -> Floats:
        """Class probabilities (n, M, C) of the members: the softmax of each one's scaled and offset scores."""
        return softmax(self._head_scores(X), axis=2)

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """``predict_proba`` (n, C) and ``predict_head_proba`` (n, M, C) in one pass over the rows."""
        head_scores = self._head_scores(X)
        return softmax(self._mean(head_scores), axis=1), softmax(head_scores, axis=2)

    def predict_confidence(self, X: Any, kind: str = "t_similarity") -> Floats:
        """How far each prediction can be trusted, (n,) in [0, 1].

        Parameters
        ----------
        X : array-like of shape (n, d)
        kind : {"t_similarity", "max_probability", "margin", "entropy"}, default="t_similarity"
            ``t_similarity``: weighted agreement of the members; the others: of the class probabilities.
        """
        if kind == "t_similarity":
            return t_similarity(self.predict_head_proba(X), weights=self.head_weights_)
        if kind not in _PROBABILITY_CONFIDENCES:
            kinds = ", ".join(["t_similarity", *_PROBABILITY_CONFIDENCES])
            raise ValueError(f"kind={kind!r} is not a confidence; choose one of {kinds}.")
        return _PROBABILITY_CONFIDENCES[kind](self.predict_proba(X))

    def _head_scores(self, X: Any) -> Floats:
        """Scaled and offset logits (n, M, C)."""
        check_is_fitted(self, "class_bias_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        logits = np.stack([_logits(member, X) for member in self.members_], axis=1)  # (n, M, C)
        return logits * self.head_scales_[:, None] + self.class_bias_

    def _mean(self, head_scores: Floats) -> Floats:
        """Weighted mean over the members, (n, C)."""
        return np.einsum("nmc,m->nc", head_scores, self.head_weights_)


class _Member(NamedTuple):
    name: str
    estimator: Any
    weight: float


def _default_members(n_rows: int) -> list[_Member]:
    to_normal = QuantileTransformer(n_quantiles=min(1000, n_rows), output_distribution="normal")
    return [
        _Member("linear", make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), 1),
        _Member("quantile", make_pipeline(to_normal, LogisticRegression(max_iter=1000)), 1),
        _Member("trees", ExtraTreesClassifier(max_features=0.5), 2),
    ]


def _checked_members(members: Any) -> list[_Member]:
    if not members:
        raise ValueError("members is empty; give (name, classifier) pairs, or None for the default members.")
    checked: list[_Member] = []
    for entry in members:
        if not isinstance(entry, (list, tuple)) or len(entry) not in (2, 3) or not isinstance(entry[0], str):
            raise ValueError(f"members holds {entry!r}; give (name, classifier) or (name, classifier, weight).")
        member = _Member(entry[0], entry[1], entry[2] if len(entry) == 3 else 1)
        if not (isinstance(member.weight, Real) and 0 < member.weight < np.inf):
            raise ValueError(f"Member {member.name!r} has weight {member.weight!r}; give a positive number.")
        if not hasattr(member.estimator, "fit"):
            raise ValueError(f"Member {member.name!r} is {member.estimator!r}, which is not a classifier.")
        checked.append(member)
    return checked


def _refuse_weightless(members: list[_Member]) -> None:
    for member in members:
        last = member.estimator[-1] if isinstance(member.estimator, Pipeline) else member.estimator
        if not has_fit_parameter(last, "sample_weight"):
            raise ValueError(
                f"Member {member.name!r} ({type(last).__name__}) takes no sample_weight in fit; "
                "leave sample_weight out, or the member."
            )


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """A clone in which every random_state that is None has a number."""
    seeded = clone(estimator)
    for name, value in sorted(seeded.get_params().items()):
        if value is None and (name == "random_state" or name.endswith("__random_state")):
            seeded.set_params(**{name: int(rng.integers(2**31))})
    return seeded


def _fitted(estimator: Any, X: Floats, codes: Codes, weights: Floats | None) -> Any:
    """The estimator fitted on the labelled rows; what comes before it in a Pipeline, on all rows."""
    labeled = codes >= 0
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("", estimator)]
    for _, step in steps[:-1]:
        if step in (None, "passthrough"):
            continue
        try:
            step.fit(X)
        except (TypeError, ValueError):  # its tags do not tell: SelectKBest may need a target, or not
            step.fit(X[labeled], codes[labeled])
        X = step.transform(X)
    labeled_weights = {} if weights is None else {"sample_weight": weights[labeled]}
    steps[-1][1].fit(X[labeled], codes[labeled], **labeled_weights)
    return estimator


def _logits(member: Any, X: Floats) -> Floats:
    """Log-probabilities or decision values less their mean over the classes, (n, C)."""
    if hasattr(member, "predict_proba"):
        logits = np.log(np.maximum(member.predict_proba(X), _PROBABILITY_FLOOR))
    elif hasattr(member, "decision_function"):
        logits = np.asarray(member.decision_function(X), dtype=np.float64)
        if logits.ndim == 1:
            logits = np.column_stack([-logits / 2, logits / 2])
    else:
        raise ValueError(
            f"{type(member).__name__} has neither predict_proba nor decision_function; choose a member with one."
        )
    return logits - logits.mean(axis=1, keepdims=True)
