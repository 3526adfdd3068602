"""Self-training: any classifier labels rows in rounds, and learns from the labels that it can trust."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, assert_all_finite, get_tags, indexable
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from chary._sklearn import HasMethods, Interval, StrOptions, check_sample_weight, safe_indexing
from chary.method.confidence import NAMED, OF_MEMBERS, Floats, Scores, scores_of, softmax
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.estimators import (
    fit_partly,
    in_blocks_of_rows,
    last_step,
    log_of,
    member_probabilities,
    predicted_labels,
    probabilities,
    seeded_clone,
    takes_unlabeled,
)
from chary.method.labels import Labels, decode, encode
from chary.method.policies import Curriculum, Policy, Round
from chary.method.priors import ACCURACY, AIMS, ClassPrior


class SelfTrainingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Labels unlabelled rows in rounds with any classifier, accepting only what it can trust.

    The classifier is fitted on the labelled rows. In each round it labels the rows that are left, a
    policy accepts the labels that are trusted enough, and the classifier is fitted anew with them,
    from random weights or from those it has (``warm_start``). It ends when every row that takes
    part has a label (``"all_labeled"``), when a round accepts nothing (``"no_change"``) or after
    ``max_rounds`` rounds (``"max_rounds"``). The classifier handed back has used every accepted
    label.

    Parameters
    ----------
    estimator : classifier, default=None
        Any classifier with ``predict_proba`` or ``decision_function``, or a Pipeline that ends in
        one; it is cloned. One with a parameter ``unlabeled`` is given the unlabelled rows too.
        None: ``DiverseEnsembleClassifier()``.
    policy : policy, default=None
        Which labels to accept in a round, see ``chary.method.policies``. None:
        ``Curriculum(step=0.4)``.
    confidence : str or callable, default="t_similarity"
        ``"t_similarity"``: agreement of the members of the classifier: the heads of a
        ``DiverseEnsembleClassifier``, or the members of a voting, bagging or forest classifier.
        ``"t_share"``: the share of the predicted class in that agreement.
        One of ``chary.method.CONFIDENCES``, such as ``"max_probability"`` (also ``"softmax"``): of
        its class probabilities. A callable ``(fitted estimator, X) -> (n,)`` or class-wise
        ``(n, C)``, high where confident.
    max_rounds : int, default=5
        Most rounds; with 0 the classifier is the supervised one.
    class_prior : None, "labeled", mapping or array-like, default=None
        Class proportions of all rows, if you know them: in every round and at the end, unlabelled
        rows are predicted so that all rows together have them. "labeled": they are those of the
        labelled rows. ``docs/how-to/class-shares.md`` says when that hurts.
    aim : {"accuracy", "balanced"}, default="accuracy"
        "balanced": a rare class is as important as a common one. When the rounds are over,
        boundaries between classes are moved for it, see ``chary.method.balanced_shares``; plain
        accuracy may fall.
    balance_weights : bool, default=False
        Weigh accepted rows so that together they count as much as the given labels do.
    warm_start : bool, default=False
        Start each refit from the weights of the round before, with a new optimiser and as many
        steps, in place of random weights. For a classifier whose ``fit`` takes ``start_from``, as
        ``DiverseEnsembleClassifier``. It is about the rounds of one ``fit``: another ``fit`` starts
        from nothing.
    max_pool : int, default=None
        Most unlabelled rows that take part in the fits and rounds, drawn at random of more; it
        bounds their cost. The others are never accepted, but a class prior is met on all rows.
        None: all take part.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do. None: missing
        values only.
    random_state : int, Generator, RandomState or None, default=None
        Seeds every ``random_state`` of ``estimator`` that is None, and draws ``max_pool`` rows. The
        same seed serves in every round.
    verbose : bool, default=False
        Show each round as it ends.

    Attributes
    ----------
    estimator_ : the classifier of the last fit.
    classes_ : array of shape (C,)
    transduction_ : array of shape (n,)
        The labels of the rows given to ``fit``: as given, as accepted, or ``unlabeled`` (None where
        missing values alone are the marker) where never accepted.
    labeled_iter_ : array of shape (n,)
        0 where the label was given, the round in which it was accepted, -1 where never.
    confidence_ : array of shape (n,)
        Confidence when accepted; 1 where the label was given, NaN where never accepted.
    class_prior_ : array of shape (C,), or None
    class_bias_ : array of shape (C,)
        What is added to the log-probabilities of ``estimator_`` for ``class_prior`` and ``aim``;
        zeros without.
    n_rounds_ : int
        Rounds that accepted something.
    termination_condition_ : {"all_labeled", "no_change", "max_rounds"}
    history_ : list of dict, one for each round
        ``round``, ``n_pool``, ``n_accepted``, ``accepted`` (class -> count), ``mean_confidence``
        (of the accepted), what the policy ``used`` (its thresholds), and ``seconds``, which a model
        file leaves out.

    See Also
    --------
    sklearn.semi_supervised.SelfTrainingClassifier : Needs integer labels and an absolute threshold.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y_true = load_iris(return_X_y=True)
    >>> y = y_true.copy()
    >>> y[::2] = -1
    >>> forest = RandomForestClassifier(50, random_state=0)
    >>> model = SelfTrainingClassifier(forest).fit(X, y)
    >>> model.termination_condition_, model.n_rounds_
    ('all_labeled', 3)
    >>> [record["n_accepted"] for record in model.history_]
    [48, 21, 6]
    """

    labeled_iter_: NDArray[np.intp]
    confidence_: Floats
    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"]), None],
        "policy": [HasMethods(["accept"]), None],
        "confidence": [StrOptions({*OF_MEMBERS, *NAMED}), callable],
        "max_rounds": [Interval(Integral, 0, None, closed="left")],
        "class_prior": "no_validation",
        "aim": [StrOptions(set(AIMS))],
        "balance_weights": ["boolean"],
        "warm_start": ["boolean"],
        "max_pool": [Interval(Integral, 1, None, closed="left"), None],
        "unlabeled": "no_validation",
        "random_state": "no_validation",
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        policy: Policy | None = None,
        confidence: str | Callable[[Any, Any], Any] = "t_similarity",
        max_rounds: int = 5,
        class_prior: Any = None,
        aim: str = ACCURACY,
        balance_weights: bool = False,
        warm_start: bool = False,
        max_pool: int | None = None,
        unlabeled: Any = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.estimator = estimator
        self.policy = policy
        self.confidence = confidence
        self.max_rounds = max_rounds
        self.class_prior = class_prior
        self.aim = aim
        self.balance_weights = balance_weights
        self.warm_start = warm_start
        self.max_pool = max_pool
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike | Labels,
        sample_weight: ArrayLike | None = None,
        *,
        initial: Any = None,
    ) -> SelfTrainingClassifier:
        """Label the unlabelled rows in rounds.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or list of shape (n, ...)
            Whatever ``estimator`` accepts; handed to it as it is.
        y : array-like of shape (n,), or Labels
            Labels; missing or ``unlabeled`` where there is none.
        sample_weight : array-like of shape (n,), default=None
            Handed to the classifier with the rows it belongs to, also once their labels are
            accepted.
        initial : fitted classifier, default=None
            Taken in place of the first fit, so that several policies can share one.
        """
        self._validate_params()
        (X,) = indexable(X)
        labels = encode(y, unlabeled=self.unlabeled)
        check_consistent_length(X, labels.codes)
        self._check_finite(X)
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, labels.codes, ensure_non_negative=True
            )
        self.classes_ = labels.classes
        prior = ClassPrior.of(self.class_prior, labels, self.aim)
        self.class_prior_ = prior.shares
        rows = self._taking_part(labels.labeled)
        data = _TrainingData(X, labels, sample_weight, self.balance_weights, prior)
        codes = labels.codes.copy()
        likeliest = data._replace(
            prior=prior._replace(aim=ACCURACY)
        )  # labels to learn from should be right
        codes[rows] = self._run(likeliest.part(rows), initial)
        self.transduction_ = decode(codes, self.classes_, unlabeled=self.unlabeled)
        if len(rows) < len(codes) or prior.aim != ACCURACY:
            self._adopt(self.estimator_, data)
        if len(rows) < len(codes):  # attributes of the rows that took part become those of all rows
            rounds, confidence = np.full(len(codes), -1), np.full(len(codes), np.nan)
            rounds[rows], confidence[rows] = self.labeled_iter_, self.confidence_
            self.labeled_iter_, self.confidence_ = rounds, confidence
        return self

    def _taking_part(self, labeled: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The labelled rows and at most ``max_pool`` others."""
        pool = np.flatnonzero(~labeled)
        if self.max_pool is None or len(pool) <= self.max_pool:
            return np.arange(len(labeled))
        drawn = np.random.default_rng(self.random_state).choice(pool, self.max_pool, replace=False)
        return np.sort(np.concatenate([np.flatnonzero(labeled), drawn]))

    def _run(self, data: _TrainingData, initial: Any) -> NDArray[np.intp]:
        """The rounds: score, accept, refit. The codes of the labels given and accepted."""
        policy = self._policy()
        codes, given = data.labels.codes.copy(), data.labels.labeled
        unlabeled = np.flatnonzero(~given)
        self.labeled_iter_ = np.where(given, 0, -1)
        self.confidence_ = np.where(given, 1.0, np.nan)
        self.history_: list[dict[str, Any]] = []
        self.termination_condition_ = "max_rounds"
        template = self._template()
        self._adopt(data.fit(template, codes) if initial is None else initial, data)
        first, pool = None, unlabeled
        for number in range(1, self.max_rounds + 1):
            if not len(pool):
                break
            start = perf_counter()
            probs, confidence, class_confidence = self._scores(safe_indexing(data.X, pool))
            view = Round(confidence, class_confidence, probs.argmax(axis=1), probs, number)
            if getattr(policy, "posterior", "current") == "initial":
                first = view.posterior if first is None else first
                view = view._replace(posterior=first[np.searchsorted(unlabeled, pool)])
            accepted, used = policy.accept(view)
            if (
                not isinstance(accepted, np.ndarray)
                or accepted.dtype.kind != "b"
                or len(accepted) != len(pool)
            ):
                raise ValueError(
                    f"The Decision of {policy!r} must hold a boolean array, one for each row."
                )
            if not accepted.any():
                self.termination_condition_ = "no_change"
                break
            if policy.rescore:  # earlier labels are taken back
                codes[unlabeled], self.labeled_iter_[unlabeled], self.confidence_[unlabeled] = (
                    -1,
                    -1,
                    np.nan,
                )
            rows = pool[accepted]
            codes[rows] = view.prediction[accepted]
            self.labeled_iter_[rows] = number
            self.confidence_[rows] = view.confidence[accepted]
            self._adopt(
                data.fit(template, codes, self.estimator_ if self.warm_start else None), data
            )
            if not policy.rescore or accepted.all():
                pool = pool[~accepted]
            self._record(view, accepted, used, perf_counter() - start)
        if not len(pool):
            self.termination_condition_ = "all_labeled"
        self.n_rounds_ = len(self.history_)
        return codes

    def _adopt(self, estimator: Any, data: _TrainingData) -> None:
        """Make a fitted classifier the current one, in line with the class prior on the unlabelled rows."""
        known = getattr(estimator, "classes_", self.classes_)
        if not np.array_equal(known, self.classes_):
            raise ValueError(
                f"The classifier knows the classes {list(known)}, the labels are of {list(self.classes_)}: an "
                "initial classifier must know the same, and no class may have all its labels at sample_weight 0."
            )
        self.estimator_ = estimator

        def scores(X: Any) -> tuple[Floats]:
            return (log_of(probabilities(estimator, X)),)

        self.class_bias_ = data.prior.offset(
            lambda: in_blocks_of_rows(scores, data.X, data.labels.rest)[0]
        )

    @property
    def _is_biased(self) -> bool:
        return self.class_prior_ is not None or self.aim != ACCURACY

    def _with_prior(self, probs: Floats) -> Floats:
        if not self._is_biased:
            return probs
        return softmax(log_of(probs) + self.class_bias_)

    def _record(
        self, view: Round, accepted: NDArray[np.bool_], used: dict[str, Any], seconds: float
    ) -> None:
        counts = np.bincount(view.prediction[accepted], minlength=len(self.classes_)).tolist()
        record: dict[str, Any] = {
            "round": view.number,
            "n_pool": len(accepted),
            "n_accepted": int(accepted.sum()),
            "accepted": dict(zip(self.classes_.tolist(), counts, strict=True)),
            "mean_confidence": float(view.confidence[accepted].mean()),
            "used": used,
            "seconds": seconds,
        }
        self.history_.append(record)
        if self.verbose:
            print(", ".join(f"{name} {value}" for name, value in record.items()), file=sys.stderr)

    def predict(self, X: Any) -> NDArray[Any]:
        """Label of each row."""
        check_is_fitted(self)
        if not self._is_biased:
            return predicted_labels(self.estimator_, X)
        return self.classes_[self._with_prior(probabilities(self.estimator_, X)).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities (n, C), made of decision values where the classifier has nothing better."""
        check_is_fitted(self)
        return self._with_prior(probabilities(self.estimator_, X))

    def predict_head_proba(self, X: Any) -> Floats:
        """Class probabilities (n, M, C) of the members of the classifier."""
        check_is_fitted(self)
        return self._with_prior(member_probabilities(self.estimator_, X))

    def predict_confidence(self, X: Any) -> Floats:
        """How far each prediction can be trusted, (n,), by the same ``confidence`` that ruled the rounds."""
        return self.predict_scores(X)[1]

    def predict_scores(self, X: Any) -> tuple[Floats, Floats]:
        """Class probabilities (n, C) and confidence (n,), in one pass."""
        check_is_fitted(self)
        scores = self._scores(X)
        return scores.probs, scores.confidence

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in ``fit``."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns seen in ``fit``, where it was given a DataFrame."""
        return self.estimator_.feature_names_in_

    def _policy(self) -> Policy:
        return Curriculum() if self.policy is None else self.policy

    def _base_estimator(self) -> Any:
        return DiverseEnsembleClassifier() if self.estimator is None else self.estimator

    def _template(self) -> Any:
        """An unfitted clone, seeded, and with missing values as its marker if it takes unlabelled rows."""
        template = clone(self._base_estimator())
        if self.warm_start and not has_fit_parameter(last_step(template), "start_from"):
            raise ValueError(
                f"warm_start=True needs a classifier whose fit can start from the weights of another, and that of "
                f"{type(last_step(template)).__name__} cannot; leave it out, or take a DiverseEnsembleClassifier."
            )
        if self.random_state is not None:
            template = seeded_clone(template, np.random.default_rng(self.random_state))
        if takes_unlabeled(template):
            last_step(template).set_params(unlabeled=None)
        return template

    def _check_finite(self, X: Any) -> None:
        """Refuse NaN and infinity also where the first fit would not see them."""
        if getattr(getattr(X, "dtype", None), "kind", "") == "f":
            allow_nan = get_tags(self._base_estimator()).input_tags.allow_nan
            values = X.data if hasattr(X, "toarray") else X
            assert_all_finite(
                values, allow_nan=allow_nan, estimator_name=type(self).__name__, input_name="X"
            )

    def _scores(self, X: Any) -> Scores:
        estimator = self.estimator_
        if callable(self.confidence):
            own, probs = np.asarray(self.confidence(estimator, X)), probabilities(estimator, X)
            if own.shape not in (probs.shape[:1], probs.shape) or np.isnan(own).any():
                raise ValueError(
                    f"confidence gives NaN, or shape {own.shape}; {probs.shape[:1]} or {probs.shape} is needed."
                )
            return scores_of(self._with_prior(probs), own)
        if self.confidence not in OF_MEMBERS:
            return scores_of(self._with_prior(probabilities(estimator, X)), self.confidence)
        if hasattr(estimator, "predict_joint_proba"):  # in one pass
            probs, members = estimator.predict_joint_proba(X)
        else:
            probs, members = probabilities(estimator, X), member_probabilities(estimator, X)
        weights = getattr(last_step(estimator), "head_weights_", None)
        return scores_of(
            self._with_prior(probs), self.confidence, self._with_prior(members), weights
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._base_estimator())
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = (
            inner.classifier_tags is None or inner.classifier_tags.multi_class
        )
        return tags


class _TrainingData(NamedTuple):
    """What every fit of the rounds shares."""

    X: Any
    labels: Labels  # as given
    sample_weight: Any  # (n,), or None
    balance_weights: bool
    prior: ClassPrior  # of all rows, however few take part

    def part(self, rows: NDArray[np.intp]) -> _TrainingData:
        """The same with some of the rows, in their order."""
        if len(rows) == len(self.labels.codes):
            return self
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return self._replace(
            X=safe_indexing(self.X, rows), labels=self.labels.part(rows), sample_weight=weight
        )

    def fit(self, template: Any, codes: NDArray[np.intp], start_from: Any = None) -> Any:
        """A clone fitted on the rows that have a label, and on the others where it can use them."""
        given, labeled = self.labels.labeled, codes >= 0
        weights = self.sample_weight
        if self.balance_weights and (accepted := labeled & ~given).any():
            weights = np.ones(len(codes)) if weights is None else np.array(weights, dtype=float)
            total = weights[accepted].sum()
            weights[accepted] *= weights[given].sum() / total if total > 0 else 1.0
        labels = Labels(self.labels.classes, codes, labeled)
        return fit_partly(clone(template), self.X, labels, weights, last_step(start_from))
