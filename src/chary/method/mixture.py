"""The mixture: classifiers of different kinds, fitted to the same labels and averaged."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from chary._arrays import Array, Floats
from chary._sklearn import Interval, StrOptions
from chary._threads import one_thread
from chary.method.confidence import MembersMixin, softmax
from chary.method.estimators import last_step, probabilities, seeded_clone
from chary.method.labels import Labels, encode
from chary.method.priors import ACCURACY, AIMS, ClassPrior

# At most this many rows are scored at a time, because members make copies of them.
_BLOCK = 100_000
# From this many rows on, several threads score faster than one.
_ROWS_FOR_THREADS = 20_000


@dataclass(frozen=True)
class MixtureDefaults:
    """Numbers of the mixture chosen by experiment; a study can replace any of them.

    Kinds, settings and weights of the members were chosen on the tables of
    ``benchmarks/results/rivals.txt``; more members and other fixed weights gave nothing beyond 0.2
    points, and weights by the log loss of held-out labels 0.0 ± 0.1
    (``studies/results/defaults/report.md``). Single numbers have no stored result of their own
    unless one is named.
    """

    # This is the parameter C of the logistic regression: the smaller, the stronger its penalty.
    inverse_penalty: float = 0.3
    # There are this many randomised trees. With 100, scoring a row took twice as long and accuracy
    # on 310 draws was 0.07 points higher; 60, 50 and 40 lost 0.04 to 0.06 against 100.
    n_trees: int = 30
    # A split of a tree chooses from this share of the features.
    tree_features: float = 0.5
    # Boosting takes this many rounds. 25 rounds of 10 leaves or 30 of 8 lost up to 4 points with
    # 6,000 labels.
    boosting_rounds: int = 40
    # A tree of boosting has at most this many leaves (measured with the rounds).
    boosting_leaves: int = 15
    # A leaf of boosting has at least this many rows.
    boosting_leaf_rows: int = 5

    # The linear model has this weight.
    linear_weight: float = 1.0
    # The randomised trees have this weight.
    trees_weight: float = 2.0
    # Boosting has this weight, given enough labels.
    boosting_weight: float = 1.0
    # From this many labels of each class on, boosting has its full weight; with fewer, the linear
    # model gets the difference. Not measured again since the members were chosen.
    boosting_labels: int = 30
    # This is added to every probability of a member without decision values, so that the logarithm
    # of a probability of 0 stays finite. Not measured again since the mixture began.
    floor: float = 1e-3

    # The rest are bounds of cost.
    # Boosting is left out beyond this many classes, each of which takes a tree a round.
    max_boosted_classes: int = 100
    # Boosting is left out beyond this many features, each of which is binned.
    max_boosted_features: int = 2_000
    # The leaves of all trees hold at most about this many numbers: a tree has about one leaf for
    # each label, with a share for each class. There are fewer trees if they would hold more.
    max_leaf_shares: int = 2**26


MIXTURE_DEFAULTS = MixtureDefaults()


class Member(NamedTuple):
    """One classifier of the ensemble."""

    name: str  #: for people
    estimator: Any  #: any classifier
    weight: float = 1.0  #: in the mean of the scores, and in the T-similarity


class ColumnScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A scaler that standardises columns, except those of zeros and ones.

    A rare category is a column with few ones. Divided by its small standard deviation, a one would
    weigh more than any number of the table can; and categories are what shifts from one group of
    rows to another.

    Attributes
    ----------
    mean_ : array of shape (d,)
        0 for a column of zeros and ones.
    scale_ : array of shape (d,)
        1 for such a column, and for a constant one.

    Examples
    --------
    >>> ColumnScaler().fit_transform(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])).round(2)
    array([[-1.22,  0.  ],
           [ 0.  ,  0.  ],
           [ 1.22,  1.  ]])
    """

    def fit(self, X: Any, y: Any = None) -> ColumnScaler:
        """Learn mean and standard deviation of the columns (n, d)."""
        X = validate_data(self, X, dtype=np.float64)
        is_binary = ((X == 0) | (X == 1)).all(axis=0)  # (d,)
        spread = X.std(axis=0)  # (d,)
        # Rounding leaves a constant column a spread of about 1e-16 times its numbers.
        is_constant = spread <= 1e-13 * np.abs(X).max(axis=0, initial=0)
        self.mean_ = np.where(is_binary, 0.0, X.mean(axis=0))
        self.scale_ = np.where(is_binary | is_constant, 1.0, spread)
        return self

    def transform(self, X: Any) -> Floats:
        """Bring the columns onto one scale, (n, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return (X - self.mean_) / self.scale_


def linear_model(defaults: MixtureDefaults = MIXTURE_DEFAULTS) -> Pipeline:
    """Make a logistic regression of scaled columns."""
    return make_pipeline(
        ColumnScaler(), LogisticRegression(C=defaults.inverse_penalty, max_iter=1000)
    )


def boosted_trees(
    defaults: MixtureDefaults = MIXTURE_DEFAULTS,
) -> HistGradientBoostingClassifier:
    """Make boosting for few labels."""
    return HistGradientBoostingClassifier(
        max_iter=defaults.boosting_rounds,
        max_leaf_nodes=defaults.boosting_leaves,
        min_samples_leaf=defaults.boosting_leaf_rows,
        early_stopping=False,
    )


def default_members(
    n_labeled: int = 10_000,
    n_classes: int = 2,
    n_features: int = 1,
    defaults: MixtureDefaults = MIXTURE_DEFAULTS,
) -> list[Member]:
    """Make a linear model, randomised trees, which count twice, and boosting.

    Boosting needs many labels of each class. If there are fewer than thirty, the linear model takes
    over a part of its weight: with ten labels of each class, boosting counts 0.33 instead of 1, and
    the linear model 1.67 instead of 1. There is no boosting if there are more than 100 classes or
    2,000 features, for which it would cost far more than all else. With many labels and classes
    there are fewer trees, so that memory and model files stay bounded.

    To add your own classifier: ``members=[*default_members(), ("mine", classifier)]``.

    Parameters
    ----------
    n_labeled : int, default=10_000
        Number of labels.
    n_classes : int, default=2
        Number of classes.
    n_features : int, default=1
        Number of features.
    defaults : MixtureDefaults
        Settings and weights of the members.
    """
    is_boosted = (
        n_classes <= defaults.max_boosted_classes and n_features <= defaults.max_boosted_features
    )
    boosting_weight = 0.0
    if is_boosted:
        enough_labels = n_classes * defaults.boosting_labels
        boosting_weight = defaults.boosting_weight * min(1.0, n_labeled / enough_labels)
    linear_weight = defaults.linear_weight + defaults.boosting_weight - boosting_weight

    shares_per_tree = n_labeled * n_classes
    most_trees = max(2, defaults.max_leaf_shares // shares_per_tree)
    trees = ExtraTreesClassifier(
        min(defaults.n_trees, most_trees), max_features=defaults.tree_features
    )
    members = [
        Member("linear", linear_model(defaults), linear_weight),
        Member("trees", trees, defaults.trees_weight),
    ]
    if is_boosted:
        members.append(Member("boosting", boosted_trees(defaults), boosting_weight))
    return members


class MixedEnsembleClassifier(MembersMixin, BaseEstimator):
    r"""Classifiers of unlike kinds, the members, whose logits are averaged on one scale.

    Under selection bias every kind of classifier is wrong in its own way about rows that are unlike
    the labelled ones. Where unlike classifiers agree, they are mostly right: so the agreement of
    the members, their T-similarity, is the confidence.

    Let z_m be the logits of member m, centred over the classes, and a_m their root mean square on
    the unlabelled rows. Divided by a_m, all members are equally sure of themselves; the average
    gets their mean scale back:

    .. math:: s(x) = \bar a \sum_m w_m z_m(x) / a_m + b, \qquad \bar a = \sum_m w_m a_m, \qquad
        \sum_m w_m = 1.

    The offset b is that of a class prior or of the aim "balanced" (0 without either), plus that of
    ``lean``. The softmax of s gives the class probabilities.

    Parameters
    ----------
    members : list of (name, classifier) or (name, classifier, weight), default=None
        Classifiers with ``decision_function`` or ``predict_proba``; each is cloned. In a Pipeline
        the steps before the last are fitted on all rows, labelled or not, if they can do without
        labels; the last step, like any other classifier, on the labelled rows. None: those of
        ``default_members``: logistic regression, ExtraTrees, which counts twice, and gradient
        boosting.
    weights : sequence of M floats, default=None
        How much each member counts, in place of its own weight.
    lean : float, default=0
        How far the scores lean towards the classes that are common among the labels: to the score
        of each class, ``lean`` times the logarithm of its share of the labels is added. If the
        columns hardly tell the classes apart, a lean of 1 or more keeps to the common ones.
    class_prior : None, "labeled", mapping or array-like, default=None
        Class proportions of all rows, if you know them: unlabelled rows are predicted so that all
        rows together have them. "labeled": those of the labelled rows. When that hurts:
        ``docs/how-to/class-shares.md``.
    aim : {"accuracy", "balanced"}, default="accuracy"
        "balanced": a rare class is as important as a common one. Boundaries between classes are
        moved for it, see ``chary.method.balanced_shares``; plain accuracy may fall.
    n_jobs : int, default=None
        Members fitted at a time, as everywhere in scikit-learn.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do. None: missing
        values only.
    random_state : int, Generator, RandomState or None, default=None
        Seeds every ``random_state`` of a member that is None.

    Attributes
    ----------
    classes_ : array of shape (C,)
    members_ : list of Member
        The fitted members; the default ones know a class by its number in ``classes_``.
    scales_ : array of shape (M,)
        a_m, the spread of each member's centred logits.
    weights_ : array of shape (M,)
        w_m, summing to 1.
    class_prior_ : array of shape (C,), or None
    class_bias_ : array of shape (C,)
        b; zeros without a prior or a lean, and with the aim "accuracy".

    See Also
    --------
    DiverseEnsembleClassifier : The paper's network with diverse heads.
    SelfTrainingClassifier : Learns from its own most trusted labels.
    chary.method.default_members : The members that are taken if none are named.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y_true = load_breast_cancer(return_X_y=True)
    >>> y = y_true.copy()
    >>> y[np.arange(len(y)) % 10 > 0] = -1
    >>> model = MixedEnsembleClassifier(random_state=0).fit(X, y)
    >>> bool(model.score(X, y_true) > 0.9)
    True
    """

    # Settings of the default members; a subclass may have others.
    defaults: ClassVar[MixtureDefaults] = MIXTURE_DEFAULTS

    _parameter_constraints = {  # noqa: RUF012
        "members": [list, tuple, None],
        "weights": ["array-like", None],
        "lean": [Interval(Real, 0, None, closed="left")],
        "class_prior": "no_validation",
        "aim": [StrOptions(set(AIMS))],
        "n_jobs": [Integral, None],
        "unlabeled": "no_validation",
        "random_state": [Interval(Integral, 0, None, closed="left"), Generator, RandomState, None],
    }

    def __init__(
        self,
        members: list[Any] | None = None,
        *,
        weights: ArrayLike | None = None,
        lean: float = 0.0,
        class_prior: Any = None,
        aim: str = ACCURACY,
        n_jobs: int | None = None,
        unlabeled: Any = -1,
        random_state: Any = None,
    ) -> None:
        self.members = members
        self.weights = weights
        self.lean = lean
        self.class_prior = class_prior
        self.aim = aim
        self.n_jobs = n_jobs
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | Labels) -> MixedEnsembleClassifier:
        """Fit every member on the labelled rows and scale it on the unlabelled ones.

        Parameters
        ----------
        X : array or DataFrame of numbers of shape (n, d)
        y : array-like of shape (n,), or Labels
            Labels; missing or ``unlabeled`` where there is none.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=np.float64)
        labels = encode(y, unlabeled=self.unlabeled)
        check_consistent_length(X, labels.codes)
        self.classes_ = labels.classes
        prior = ClassPrior.of(self.class_prior, labels, self.aim)

        members = self._seeded_members(labels)
        # A user's own members are fitted to the labels themselves, the default members to numbers
        # of classes, which are compared faster than text.
        member_classes = labels.classes
        if self.members is None:
            member_classes = np.arange(len(labels.classes))
        self.members_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_member)(member, X, labels, member_classes) for member in members
        )
        self.weights_ = self._member_weights()

        # a_m, the root mean square over classes and rows.
        logits = self._centred_logits(X[labels.rows_to_predict])  # (n, M, C)
        mean_squares = np.square(logits).mean(axis=2)  # (n, M)
        self.scales_ = np.sqrt(mean_squares.mean(axis=0))  # (M,)

        self.class_prior_ = prior.shares
        self.class_bias_ = prior.offset(lambda: self._mean_scores(logits))
        if self.lean:
            log_shares = np.log(labels.class_counts / labels.class_counts.sum())
            self.class_bias_ = self.class_bias_ + self.lean * log_shares
        return self

    def _seeded_members(self, labels: Labels) -> list[Member]:
        """Make the members to fit: clones, with seeds where they have none."""
        if self.members is None:
            n_labeled = int(labels.labeled.sum())
            members = default_members(
                n_labeled, len(labels.classes), self.n_features_in_, self.defaults
            )
        else:
            members = [_check_member(entry) for entry in self.members]

        rng = np.random.default_rng(self.random_state)
        seeded_members = []
        for member in members:
            estimator = seeded_clone(member.estimator, rng)
            seeded_members.append(member._replace(estimator=estimator))
        return seeded_members

    def _member_weights(self) -> Floats:
        """Return the weights of the members, (M,), summing to 1."""
        weights = self.weights
        if weights is None:
            weights = [member.weight for member in self.members_]
        weights = np.asarray(weights, dtype=float)
        total = weights.sum()
        has_every_member = weights.shape == (len(self.members_),)
        if not (has_every_member and (weights >= 0).all() and 0 < total < np.inf):
            raise ValueError(
                f"weights={self.weights!r} are not those of {len(self.members_)} members; give one "
                "for each."
            )
        return weights / total

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """Predict probabilities (n, C), and each member's (n, M, C), in one pass."""
        check_is_fitted(self, "class_bias_")
        logits = self._centred_logits(validate_data(self, X, reset=False, dtype=np.float64))
        probs = softmax(self._mean_scores(logits) + self.class_bias_)  # (n, C)
        member_probs = softmax(self._scaled(logits) + self.class_bias_)  # (n, M, C)
        return probs, member_probs

    @property
    def head_weights_(self) -> Floats:  # type: ignore[override]
        """Weight of each member in the T-similarity, (M,)."""
        return self.weights_

    def _centred_logits(self, X: Floats) -> Floats:
        """Compute the members' logits, centred over the classes, (n, M, C)."""
        # ``logits`` is a view of an array in which each member and class has its rows side by side.
        by_member = np.empty((len(self.members_), len(self.classes_), len(X)))
        logits = by_member.transpose(2, 0, 1)  # (n, M, C)

        # With few rows, threads mostly wait for each other.
        has_few_rows = len(X) < _ROWS_FOR_THREADS
        openmp = one_thread("openmp") if has_few_rows else nullcontext()
        with openmp, one_thread("blas"):
            for block in gen_batches(len(X), _BLOCK):
                for m, member in enumerate(self.members_):
                    logits[block, m] = _logits(member.estimator, X[block], self.defaults.floor)
        logits -= logits.mean(axis=-1, keepdims=True)
        return logits

    def _scaled(self, logits: Floats) -> Floats:
        """Scale the logits (n, M, C) of each member to the members' average spread."""
        # The logits of a member without any opinion are 0, and stay 0.
        scales = np.where(self.scales_ > 0, self.scales_, 1.0)  # (M,) a_m
        mean_scale = self.weights_ @ self.scales_  # the mean of the a_m
        factors = mean_scale / scales  # (M,)
        return logits * factors[:, None]

    def _mean_scores(self, logits: Floats) -> Floats:
        """Average the scaled logits, (n, C)."""
        return np.einsum("m,nmc->nc", self.weights_, self._scaled(logits))


def _check_member(entry: Any) -> Member:
    """Turn a pair or triple that a user gave into a member."""
    is_entry = isinstance(entry, (list, tuple)) and len(entry) in (2, 3)
    if not (is_entry and isinstance(entry[0], str) and hasattr(entry[1], "fit")):
        raise ValueError(
            f"members holds {entry!r}; give (name, classifier) or (name, classifier, weight)."
        )
    return Member(*entry)


def _fit_member(member: Member, X: Floats, labels: Labels, classes: Array) -> Member:
    """Fit a member in place.

    The classifier is fitted to the labelled rows. If it is the last step of a Pipeline, the steps
    before it are fitted to all rows X (n, d), if they can do without labels. A row with the code c
    is given the label ``classes[c]``.
    """
    labeled = labels.labeled
    codes = labels.codes[labeled]
    steps = []
    if isinstance(member.estimator, Pipeline):
        steps = [step for _, step in member.estimator.steps[:-1]]
        steps = [step for step in steps if step not in (None, "passthrough")]

    rows = X
    # With few labels two threads mostly wait for each other: boosting takes five times as long.
    with one_thread("openmp"), one_thread("blas"):
        for step in steps:
            # No tag of scikit-learn says whether a step needs labels (SelectKBest: it depends), so
            # try without.
            try:
                step.fit(rows)
            except (TypeError, ValueError):
                step.fit(rows[labeled], codes)
            # The last step before the classifier transforms the labelled rows alone: the
            # classifier needs no others.
            if step is steps[-1]:
                rows = rows[labeled]
            rows = step.transform(rows)
        if not steps:
            rows = X[labeled]
        last_step(member.estimator).fit(rows, classes[codes])
    return member


def _logits(estimator: Any, X: Floats, floor: float) -> Floats:
    """Compute the logits of a fitted classifier: logarithms of probabilities, up to a constant.

    They are its decision values (n, C) if it has any, otherwise log(p + floor). For two classes
    many classifiers have a single decision value v for each row, the difference of both logits: it
    becomes the logits -v/2 and v/2.
    """
    if not hasattr(estimator, "decision_function"):
        return np.log(probabilities(estimator, X) + floor)
    decision = np.asarray(estimator.decision_function(X), dtype=np.float64)
    has_single_values = decision.size == len(X)
    if not has_single_values:
        return decision
    half = decision.ravel() / 2  # (n,)
    return np.column_stack([-half, half])
