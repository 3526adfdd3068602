"""Self-training: any classifier labels rows in rounds and learns from labels it can trust."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from chary._arrays import Array, Floats, Ints, Mask
from chary._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_method_params,
    check_sample_weight,
    raise_for_params,
    routing_enabled,
    safe_indexing,
)
from chary.method.confidence import (
    CONFIDENCES_BY_NAME,
    MEMBER_CONFIDENCES,
    Scores,
    scores_of,
    softmax,
)
from chary.method.diverse import DiverseEnsembleClassifier
from chary.method.estimators import (
    fit_partly,
    has_members,
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
from chary.method.policies import Curriculum, Decision, Policy, Round
from chary.method.priors import ACCURACY, AIMS, ClassPrior


def _has_members(model: SelfTrainingClassifier) -> bool:
    """Tell whether the classifier, fitted or not, has members."""
    return has_members(getattr(model, "estimator_", model._base_estimator()))


class SelfTrainingClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Label unlabelled rows in rounds with any classifier, accepting only labels it can trust.

    The classifier is fitted on the labelled rows. In each round it labels the rows that are left, a
    policy accepts the labels that can be trusted, and the classifier is fitted again with them,
    from random weights or from its present ones (``warm_start``). The rounds end when every row
    that takes part has a label (``"all_labeled"``), when a round accepts nothing (``"no_change"``)
    or after ``max_rounds`` rounds (``"max_rounds"``). After the last round, too, the classifier is
    fitted with the labels that were accepted; the paper's Algorithm 1, as printed, never learns
    from those of its last round.

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
        ``DiverseEnsembleClassifier``, or the members of a voting, bagging or forest classifier. If
        the classifier has no members, the largest class probability stands in, with a warning.
        ``"t_share"``: the share of the predicted class in that agreement.
        One of ``chary.method.CONFIDENCES``, such as ``"max_probability"`` (also ``"softmax"``): of
        its class probabilities. A callable ``(fitted estimator, X) -> (n,)`` or class-wise
        ``(n, C)``, high where confident.
    max_rounds : int, default=5
        There are at most this many rounds, the paper's N. With 0 the classifier is the supervised
        one (ERM).
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
        ``DiverseEnsembleClassifier``. Only the rounds of one ``fit`` share weights: another ``fit``
        starts from random ones.
    max_pool : int, default=None
        At most this many unlabelled rows take part in the fits and rounds, to bound their cost; if
        there are more, rows are drawn at random. Rows that are not drawn are never accepted, but a
        class prior is met on all rows. None: all take part.
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
        The round in which the label of a row was accepted; 0 if the label was given, -1 if none was
        accepted.
    confidence_ : array of shape (n,)
        The confidence with which the label of a row was accepted; 1 if the label was given, NaN if
        none was accepted.
    class_prior_ : array of shape (C,), or None
    class_bias_ : array of shape (C,)
        What is added to the log-probabilities of ``estimator_`` for ``class_prior`` and ``aim``;
        zeros without.
    n_rounds_ : int
        Rounds that accepted something; also ``n_iter_``, its name in scikit-learn.
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

    # The weights and the initial classifier are for the classifier, not for this class.
    __metadata_request__fit = {"sample_weight": UNUSED, "initial": UNUSED}  # noqa: RUF012

    labeled_iter_: Ints
    confidence_: Floats
    _parameter_constraints = {  # noqa: RUF012
        "estimator": [HasMethods(["fit"]), None],
        "policy": [HasMethods(["accept"]), None],
        "confidence": [StrOptions({*MEMBER_CONFIDENCES, *CONFIDENCES_BY_NAME}), callable],
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
        **metadata: Any,
    ) -> SelfTrainingClassifier:
        """Label the unlabelled rows in rounds.

        Parameters
        ----------
        X : array, DataFrame, sparse matrix or list of shape (n, ...)
            Anything that ``estimator`` accepts; it is handed over as it is.
        y : array-like of shape (n,), or Labels
            Labels; missing or ``unlabeled`` in unlabelled rows.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows. An unlabelled row keeps its weight when its label is accepted.
        initial : fitted classifier, default=None
            Replaces the first fit, so that several policies can start from the same model.
        **metadata : arrays with an entry for each row, or other values
            With scikit-learn's metadata routing enabled: what ``estimator`` requests for its
            ``fit``. It is given the entries of the rows that it is fitted on.
        """
        self._validate_params()
        sample_weight, metadata = self._route_to_fit(sample_weight, metadata)
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
        data = _TrainingData(
            X,
            labels,
            sample_weight,
            metadata,
            balance_weights=self.balance_weights,
            prior=prior,
        )

        # In the rounds the aim is always accuracy: labels to learn from should be the most probable
        # ones.
        data_of_rounds = data._replace(prior=prior._replace(aim=ACCURACY))
        rows = self._draw_participants(labels.labeled)
        codes = labels.codes.copy()
        codes[rows] = self._run_rounds(data_of_rounds.subset(rows), initial)
        self.transduction_ = decode(codes, self.classes_, unlabeled=self.unlabeled)

        # After the rounds, the boundaries are moved once more: for the aim, and on all rows.
        all_take_part = len(rows) == len(codes)
        if not all_take_part or prior.aim != ACCURACY:
            self._set_estimator(self.estimator_, data)
        if not all_take_part:
            self.labeled_iter_ = _spread(self.labeled_iter_, rows, len(codes), fill=-1)
            self.confidence_ = _spread(self.confidence_, rows, len(codes), fill=np.nan)
        return self

    def _draw_participants(self, labeled: Mask) -> Ints:
        """Return the labelled rows and at most ``max_pool`` unlabelled ones, in order."""
        unlabeled_rows = np.flatnonzero(~labeled)
        if self.max_pool is None or len(unlabeled_rows) <= self.max_pool:
            return np.arange(len(labeled))
        rng = np.random.default_rng(self.random_state)
        drawn_rows = rng.choice(unlabeled_rows, self.max_pool, replace=False)
        return np.sort(np.concatenate([np.flatnonzero(labeled), drawn_rows]))

    def _run_rounds(self, data: _TrainingData, initial: Any) -> Ints:
        """Score the pool, accept labels and refit, round after round.

        Returns the code of each row, given or accepted; -1 if none was accepted.
        """
        policy = self._policy()
        template = self._template()
        codes = data.labels.codes.copy()
        unlabeled_rows = np.flatnonzero(~data.labels.labeled)
        self.labeled_iter_ = np.where(data.labels.labeled, 0, -1)
        self.confidence_ = np.where(data.labels.labeled, 1.0, np.nan)
        self.history_: list[dict[str, Any]] = []
        self.termination_condition_ = "max_rounds"

        # The first model sees the given labels alone (the paper's ERM). A caller may pass it, so
        # that several policies are compared from the same start.
        if initial is None:
            initial = data.fit(template, codes)
        self._set_estimator(initial, data)
        self._warn_without_members()

        pool = unlabeled_rows
        rescores = getattr(policy, "rescore", False)
        initial_posterior = None
        for round_number in range(1, self.max_rounds + 1):
            if len(pool) == 0:
                break
            start = perf_counter()
            view = self._score_pool(data, codes, pool, round_number)

            # ``TransductiveBound`` may need the class probabilities of the first model in every
            # round. They were computed for all ``unlabeled_rows``, of which the pool is a part;
            # both are sorted, so searchsorted finds the places of the pool.
            if getattr(policy, "posterior", "current") == "initial":
                if initial_posterior is None:
                    initial_posterior = view.posterior
                places = np.searchsorted(unlabeled_rows, pool)
                view = view._replace(posterior=initial_posterior[places])

            accepted, used = _decide(policy, view)
            if not accepted.any():
                self.termination_condition_ = "no_change"
                break

            # A policy that rescores decides anew on every row, so earlier pseudo-labels are
            # withdrawn.
            if rescores:
                codes[unlabeled_rows] = -1
                self.labeled_iter_[unlabeled_rows] = -1
                self.confidence_[unlabeled_rows] = np.nan

            accepted_rows = pool[accepted]
            codes[accepted_rows] = view.prediction[accepted]
            self.labeled_iter_[accepted_rows] = round_number
            self.confidence_[accepted_rows] = view.confidence[accepted]

            start_from = self.estimator_ if self.warm_start else None
            self._set_estimator(data.fit(template, codes, start_from), data)
            # A policy that rescores sees the whole pool again, unless all of it was accepted.
            if not rescores or accepted.all():
                pool = pool[~accepted]
            self._record_round(view, accepted, used, perf_counter() - start)

        if len(pool) == 0:
            self.termination_condition_ = "all_labeled"
        self.n_rounds_ = len(self.history_)
        return codes

    def _score_pool(self, data: _TrainingData, codes: Ints, pool: Ints, round_number: int) -> Round:
        """Score the rows of the pool with the present classifier."""
        scores = self._scores(safe_indexing(data.X, pool))
        return Round(
            confidence=scores.confidence,
            class_confidence=scores.class_confidence,
            prediction=scores.probs.argmax(axis=1),
            posterior=scores.probs,
            number=round_number,
            model=self.estimator_,
            X=data.X,
            labels=codes.copy(),
            rows=pool,
        )

    def _set_estimator(self, estimator: Any, data: _TrainingData) -> None:
        """Make a fitted classifier the present one, and find ``class_bias_`` for it.

        The class bias moves its predictions to meet the class prior and the aim of ``data``.
        """
        known_classes = getattr(estimator, "classes_", self.classes_)
        if not np.array_equal(known_classes, self.classes_):
            raise ValueError(
                f"The classifier knows the classes {list(known_classes)}, the labels are of "
                f"{list(self.classes_)}: an initial classifier must know the same, and no class "
                "may have all its labels at sample_weight 0."
            )
        self.estimator_ = estimator

        def log_probabilities(X: Any) -> tuple[Floats]:
            return (log_of(probabilities(estimator, X)),)

        # Called by ``offset`` only if there is a prior or an aim: it costs a prediction of every
        # row.
        def unlabeled_log_probabilities() -> Floats:
            return in_blocks_of_rows(log_probabilities, data.X, data.labels.rows_to_predict)[0]

        self.class_bias_ = data.prior.offset(unlabeled_log_probabilities)

    def _record_round(
        self, view: Round, accepted: Mask, used: dict[str, Any], seconds: float
    ) -> None:
        """Append a round to the history, and print it if ``verbose``."""
        class_counts = np.bincount(view.prediction[accepted], minlength=len(self.classes_))
        accepted_by_class = dict(zip(self.classes_.tolist(), class_counts.tolist(), strict=True))
        n_accepted = int(accepted.sum())
        mean_confidence = float(view.confidence[accepted].mean())
        self.history_.append(
            {
                "round": view.number,
                "n_pool": len(accepted),
                "n_accepted": n_accepted,
                "accepted": accepted_by_class,
                "mean_confidence": mean_confidence,
                "used": used,
                "seconds": seconds,
            }
        )
        if self.verbose:
            figures = [f"{name} {value}" for name, value in self.history_[-1].items()]
            print(", ".join(figures), file=sys.stderr)

    def predict(self, X: Any) -> Array:
        """Predict the label of each row."""
        check_is_fitted(self)
        if not self._moves_boundaries:
            return predicted_labels(self.estimator_, X)
        codes = self.predict_proba(X).argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> Floats:
        """Predict class probabilities (n, C), from decision values if there is nothing else."""
        check_is_fitted(self)
        return self._with_class_bias(probabilities(self.estimator_, X))

    @available_if(_has_members)  # type: ignore[untyped-decorator]
    def predict_head_proba(self, X: Any) -> Floats:
        """Predict class probabilities (n, M, C) of the members of the classifier, if it has any."""
        check_is_fitted(self)
        return self._with_class_bias(member_probabilities(self.estimator_, X))

    def predict_confidence(self, X: Any) -> Floats:
        """Tell how far each prediction can be trusted, (n,), by ``confidence``."""
        return self.predict_scores(X)[1]

    def predict_scores(self, X: Any) -> tuple[Floats, Floats]:
        """Predict class probabilities (n, C) and confidence (n,) in one pass."""
        check_is_fitted(self)
        scores = self._scores(X)
        return scores.probs, scores.confidence

    def _scores(self, X: Any) -> Scores:
        """Score rows: class probabilities and the confidence in them, (n,) and by class (n, C)."""
        estimator = self.estimator_

        # A user's function computes the confidence.
        if callable(self.confidence):
            confidence = np.asarray(self.confidence(estimator, X))
            probs = probabilities(estimator, X)
            _check_own_confidence(confidence, probs)
            return scores_of(self._with_class_bias(probs), confidence)

        # The class probabilities alone give the confidence.
        confidence_name = self.confidence
        if self._lacks_members:
            confidence_name = "max_probability"
        if confidence_name not in MEMBER_CONFIDENCES:
            return scores_of(self._with_class_bias(probabilities(estimator, X)), confidence_name)

        # The members give the confidence. A network computes its prediction head and its diverse
        # heads in one pass through the backbone.
        if hasattr(estimator, "predict_joint_proba"):
            probs, member_probs = estimator.predict_joint_proba(X)
        else:
            probs = probabilities(estimator, X)
            member_probs = member_probabilities(estimator, X)
        return scores_of(
            self._with_class_bias(probs),
            confidence_name,
            self._with_class_bias(member_probs),
            getattr(last_step(estimator), "head_weights_", None),
        )

    @property
    def _lacks_members(self) -> bool:
        """Whether T-similarity is asked of a classifier that has no members to compare."""
        return self.confidence == "t_similarity" and not has_members(self.estimator_)

    def _warn_without_members(self) -> None:
        """Say that the largest probability stands in for T-similarity."""
        if self._lacks_members:
            warnings.warn(
                f"{type(last_step(self.estimator_)).__name__} has no members whose agreement "
                "(T-similarity) could be measured, so the confidence is the largest class "
                "probability; pass confidence='max_probability' if that is meant, or an ensemble "
                "such as DiverseEnsembleClassifier or RandomForestClassifier.",
                stacklevel=4,
            )

    @property
    def _moves_boundaries(self) -> bool:
        """Whether a class prior or an aim adds ``class_bias_`` to the log-probabilities."""
        return self.class_prior_ is not None or self.aim != ACCURACY

    def _with_class_bias(self, probs: Floats) -> Floats:
        """Add ``class_bias_`` to the log-probabilities, if there is a class prior or an aim."""
        if not self._moves_boundaries:
            return probs
        return softmax(log_of(probs) + self.class_bias_)

    @property
    def n_iter_(self) -> int:
        """``n_rounds_`` by its name in scikit-learn's class."""
        return self.n_rounds_

    @property
    def n_features_in_(self) -> int:
        """Number of columns seen in ``fit``."""
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> Array:
        """Names of the columns seen in ``fit``, if it was given a DataFrame."""
        return self.estimator_.feature_names_in_

    def set_params(self, **params: Any) -> SelfTrainingClassifier:
        """Set parameters, also those of the default policy and classifier (``policy__step``)."""
        # scikit-learn sets ``policy__step`` on the object in ``policy``. If that is None, which
        # stands for a default, the default is put there first.
        for name, default in (("policy", Curriculum), ("estimator", DiverseEnsembleClassifier)):
            has_nested_params = any(param.startswith(f"{name}__") for param in params)
            is_default = getattr(self, name) is None and name not in params
            if has_nested_params and is_default:
                setattr(self, name, default())
        return super().set_params(**params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Describe the metadata that ``fit`` hands to the classifier, and ``score`` uses."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._base_estimator(), method_mapping=to_fit)

    def _route_to_fit(
        self, sample_weight: Any, metadata: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the weights and the other metadata that the classifier's ``fit`` is to get."""
        raise_for_params(metadata, self, "fit")
        if not routing_enabled():
            return sample_weight, {}
        if sample_weight is not None:
            metadata = {**metadata, "sample_weight": sample_weight}
        routed = dict(process_routing(self, "fit", **metadata).estimator.fit)
        return routed.pop("sample_weight", None), routed

    def _policy(self) -> Policy:
        """Return the policy, or the default one."""
        if self.policy is None:
            return Curriculum()
        return self.policy

    def _base_estimator(self) -> Any:
        """Return the classifier, or the default one."""
        if self.estimator is None:
            return DiverseEnsembleClassifier()
        return self.estimator

    def _template(self) -> Any:
        """Return a seeded, unfitted clone, for which missing values alone mark unlabelled rows."""
        template = clone(self._base_estimator())
        if self.warm_start and not has_fit_parameter(last_step(template), "start_from"):
            raise ValueError(
                "warm_start=True needs a classifier whose fit can start from the weights of "
                f"another, and that of {type(last_step(template)).__name__} cannot; leave it out, "
                "or take a DiverseEnsembleClassifier."
            )
        if self.random_state is not None:
            template = seeded_clone(template, np.random.default_rng(self.random_state))
        if takes_unlabeled(template):
            last_step(template).set_params(unlabeled=None)
        return template

    def _check_finite(self, X: Any) -> None:
        """Refuse NaN and infinity in unlabelled rows too, which the first fit may not see."""
        dtype = getattr(X, "dtype", None)
        if getattr(dtype, "kind", "") != "f":
            return
        numbers = X
        is_sparse = hasattr(X, "toarray")
        if is_sparse:
            numbers = X.data
        assert_all_finite(
            numbers,
            allow_nan=get_tags(self._base_estimator()).input_tags.allow_nan,
            estimator_name=type(self).__name__,
            input_name="X",
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
    """The rows, weights and settings that are the same for every fit of the rounds."""

    X: Any  # (n, ...)
    labels: Labels  # as given, without accepted ones
    sample_weight: Any  # (n,), or None
    metadata: Mapping[str, Any]  # further arguments of the classifier's fit
    balance_weights: bool
    prior: ClassPrior  # of all rows, even if only some take part

    def subset(self, rows: Ints) -> _TrainingData:
        """Keep some of the rows, given by their sorted numbers."""
        is_everything = len(rows) == len(self.labels.codes)
        if is_everything:
            return self
        sample_weight = self.sample_weight
        if sample_weight is not None:
            sample_weight = sample_weight[rows]
        return self._replace(
            X=safe_indexing(self.X, rows),
            labels=self.labels.subset(rows),
            sample_weight=sample_weight,
            metadata=check_method_params(self.X, self.metadata, indices=rows),
        )

    def fit(self, template: Any, codes: Ints, start_from: Any = None) -> Any:
        """Fit a clone on the rows that have a label, and on the others if it can use them.

        ``codes`` (n,) are the labels given and accepted by now, -1 without one.
        """
        labels = Labels(self.labels.classes, codes, labeled=codes >= 0)
        weights = self.sample_weight
        accepted = labels.labeled & ~self.labels.labeled
        if self.balance_weights and accepted.any():
            weights = self._balanced_weights(accepted)
        return fit_partly(
            clone(template),
            self.X,
            labels,
            weights,
            start_from=last_step(start_from),
            metadata=self.metadata,
        )

    def _balanced_weights(self, accepted: Mask) -> Floats:
        """Weigh accepted rows so that together they count as much as the given labels.

        With 50 given labels and 200 accepted rows, each accepted row weighs 50 / 200 = 0.25.
        """
        weights = np.ones(len(accepted))
        if self.sample_weight is not None:
            weights = np.array(self.sample_weight, dtype=float)
        given_weight = weights[self.labels.labeled].sum()
        accepted_weight = weights[accepted].sum()
        if accepted_weight > 0:
            weights[accepted] *= given_weight / accepted_weight
        return weights


def _spread(values: Array, rows: Ints, n_rows: int, fill: float) -> Array:
    """Put the values of some rows in their places among all rows; the other rows get ``fill``."""
    spread = np.full(n_rows, fill, dtype=values.dtype)
    spread[rows] = values
    return spread


def _decide(policy: Policy, view: Round) -> Decision:
    """Ask a policy which rows of the pool to accept; refuse an answer that is no mask of them."""
    answer = policy.accept(view)
    if isinstance(answer, tuple):
        decision = Decision(*answer)
    else:
        decision = Decision(answer, {})

    accepted = decision.accepted
    is_mask = isinstance(accepted, np.ndarray) and accepted.dtype.kind == "b"
    if not is_mask or accepted.shape != (len(view.prediction),):
        raise ValueError(
            f"{policy!r} must return a boolean array, one for each row, alone or in a Decision: "
            f"{len(view.prediction)} rows were asked about."
        )
    return decision


def _check_own_confidence(confidence: Array, probs: Floats) -> None:
    """Refuse what a user's confidence function returned, if it has another shape or NaN."""
    by_row = probs.shape[:1]
    by_class = probs.shape
    if confidence.shape not in (by_row, by_class) or np.isnan(confidence).any():
        raise ValueError(
            f"confidence gives NaN, or shape {confidence.shape}; {by_row} or {by_class} is needed."
        )
