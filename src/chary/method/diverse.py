"""The paper's classifier: a network whose diverse heads say how far each prediction can be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from chary._sklearn import Interval, StrOptions
from chary._threads import one_thread
from chary.method.confidence import Floats, MembersMixin, scores_of, softmax
from chary.method.estimators import weighted_rows
from chary.method.labels import Labels, encode
from chary.method.network import Losses, Network, default_hidden_sizes, train
from chary.method.priors import ACCURACY, AIMS, ClassPrior

# Rows are read and scored in chunks whose largest intermediate array holds about this many numbers
# (4 MiB).
_CHUNK_NUMBERS = 2**19
# Other kinds of X become float64 as a whole; these are kept, and their rows become floats chunk by
# chunk.
_KEPT_DTYPES = [np.float64, np.float32, *map(np.dtype, np.typecodes["AllInteger"]), np.bool_]


class DiverseEnsembleClassifier(MembersMixin, BaseEstimator):
    """A neural network whose diverse heads tell how far each prediction can be trusted.

    A small multilayer perceptron is trained on the labelled rows. Beside its prediction head it
    carries M linear heads that fit the same labels while disagreeing as much as they can on the
    unlabelled rows. Where they agree anyway, the prediction is safe: that agreement is the
    T-similarity, given by ``predict_confidence``.

    Parameters
    ----------
    hidden_sizes : tuple of int, default=None
        Widths of the hidden layers. None: d//2, d//4, d//8 for d > 50 features, else 128, 32.
    n_heads : int, default=5
        Number M of diverse heads, at least 2.
    gamma : float, default=1.0
        Strength of the diversity asked of the heads on unlabelled rows.
    learning_rate : float, default=1e-3
        Step size of Adam.
    weight_decay : float, default=0.0
        Decoupled weight decay.
    n_steps : int, default=500
        Number of mini-batches.
    batch_size, unlabeled_batch_size : int, default=32
        Labelled and unlabelled rows in a mini-batch; all of them where there are fewer.
    standardize : bool or "numbers", default=True
        Centre and scale each column by the statistics of all rows given to ``fit``, labelled or
        not. "numbers": a column that holds nothing but 0 and 1, as a category does, stays as it is.
    class_prior : None, "labeled", mapping or array-like, default=None
        Class proportions of all rows, if you know them: unlabelled rows are predicted so that all
        rows together have them. "labeled": those of the labelled rows. When that hurts:
        ``docs/how-to/class-shares.md``.
    aim : {"accuracy", "balanced"}, default="accuracy"
        "balanced": a rare class is as important as a common one. Boundaries between classes are
        moved for it, see ``chary.method.balanced_shares``; plain accuracy may fall.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training. Scores are always computed in float64.
    unlabeled : label or None, default=-1
        Marks unlabelled rows in ``y``, besides missing values, which always do. None: missing
        values only, so that -1 can be a class.
    random_state : int, Generator, RandomState or None, default=None
        Same number, same network to the bit, whatever the order of the rows, the names of the
        classes or the number of BLAS threads: training takes one, only scores may differ with it in
        their last digits. None draws fresh entropy; NumPy's global state is never used.

    Attributes
    ----------
    classes_ : array of shape (C,)
    network_ : Network
        The trained network.
    mean_, scale_ : arrays of shape (d,)
        What standardises the inputs.
    class_prior_ : array of shape (C,), or None
    class_bias_ : array of shape (C,)
        What is added to the logits of every head for ``class_prior`` and ``aim``; zeros without.
    loss_curve_ : dict of arrays of shape (n_steps,)
        ``supervised``, ``ensemble`` and ``similarity`` on the mini-batch of every step;
        ``similarity`` is 0 when no row is unlabelled.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    SelfTrainingClassifier : Learns from its own most trusted labels.
    MixedEnsembleClassifier : Unlike learners, the choice of ``chary label`` on most tables.
    chary.torch.DiverseHeads : The same heads on a PyTorch backbone.

    References
    ----------
    Odonnat, Feofanov, Redko: Leveraging Ensemble Diversity for Robust Self-Training in the Presence of Sample
    Selection Bias. AISTATS 2024.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y_true = load_digits(return_X_y=True)
    >>> y = y_true.copy()
    >>> y[100:] = -1                              # the first 100 rows are labelled
    >>> model = DiverseEnsembleClassifier(random_state=0).fit(X, y)
    >>> right = model.predict(X[100:]) == y_true[100:]
    >>> trusted = model.predict_confidence(X[100:]) > 0.5
    >>> bool(right[trusted].mean() > right.mean() + 0.05)
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        "hidden_sizes": ["array-like", None],
        "n_heads": [Interval(Integral, 2, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "unlabeled_batch_size": [Interval(Integral, 1, None, closed="left")],
        "standardize": ["boolean", StrOptions({"numbers"})],
        "class_prior": "no_validation",
        "aim": [StrOptions(set(AIMS))],
        "dtype": [StrOptions({"float32", "float64"})],
        "unlabeled": "no_validation",
        "random_state": [Interval(Integral, 0, None, closed="left"), Generator, RandomState, None],
    }

    def __init__(
        self,
        hidden_sizes: tuple[int, ...] | None = None,
        n_heads: int = 5,
        gamma: float = 1.0,
        *,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        n_steps: int = 500,
        batch_size: int = 32,
        unlabeled_batch_size: int = 32,
        standardize: bool | str = True,
        class_prior: Any = None,
        aim: str = ACCURACY,
        dtype: str = "float32",
        unlabeled: Any = -1,
        random_state: Any = None,
    ) -> None:
        self.hidden_sizes = hidden_sizes
        self.n_heads = n_heads
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.unlabeled_batch_size = unlabeled_batch_size
        self.standardize = standardize
        self.class_prior = class_prior
        self.aim = aim
        self.dtype = dtype
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike | Labels,
        sample_weight: ArrayLike | None = None,
        *,
        start_from: Any = None,
    ) -> DiverseEnsembleClassifier:
        """Fit on labelled and unlabelled rows.

        Parameters
        ----------
        X : array or DataFrame of numbers of shape (n, d)
        y : array-like of shape (n,), or Labels
            Labels; missing or ``unlabeled`` where there is none.
        sample_weight : array-like of shape (n,), default=None
            Weights of labelled rows in the losses. A row of weight 0, labelled or not, is as if
            absent.
        start_from : fitted DiverseEnsembleClassifier, default=None
            Training starts from its weights, which are not changed, in place of random ones. It
            must know the same columns and classes and have as many heads and hidden units.
        """
        self._validate_params()
        X = self._validated(X, reset=True)
        X, labels, weights = weighted_rows(X, encode(y, unlabeled=self.unlabeled), sample_weight)
        self.classes_ = labels.classes
        prior = ClassPrior.of(self.class_prior, labels, self.aim)
        self._train(X, labels.codes, weights, start_from)
        self.class_prior_ = prior.shares
        self.class_bias_ = prior.offset(
            lambda: np.concatenate(
                [logits[:, 0] for logits in self._head_logits(X[labels.rows_to_predict], slice(1))]
            )
        )
        return self

    def _train(self, X: Any, codes: NDArray[np.intp], weights: Floats, start_from: Any) -> None:
        order = content_order(X, codes, weights)
        self.mean_, self.scale_ = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            is_mark = ((X == 0) | (X == 1)).all(axis=0)
            chosen = ~is_mark if self.standardize == "numbers" else slice(None)
            mean, scale = _column_statistics(X, order)
            self.mean_[chosen], self.scale_[chosen] = mean[chosen], scale[chosen]
        labeled, unlabeled = order[codes[order] >= 0], order[codes[order] < 0]
        scaled = weights[labeled] / weights[labeled].max()  # else their sum could overflow
        class_order = class_order_of(codes[labeled])
        rank = np.argsort(class_order)

        dtype = np.dtype(self.dtype)
        sizes = (
            default_hidden_sizes(X.shape[1])
            if self.hidden_sizes is None
            else tuple(self.hidden_sizes)
        )
        if not all(isinstance(size, Integral) and size >= 1 for size in sizes):
            raise ValueError(
                f"hidden_sizes must be positive whole numbers such as (128, 32), got {self.hidden_sizes!r}."
            )
        network = Network(
            X.shape[1], tuple(map(int, sizes)), len(self.classes_), self.n_heads, dtype
        )
        rng = np.random.default_rng(self.random_state)
        network.initialize(rng)
        if start_from is not None:
            network.params[:] = _weights_to_start_from(start_from, network, self.classes_)
            network.reorder_classes(class_order)
        losses = train(
            network,
            lambda rows: self._standardized(X[rows]).astype(dtype, copy=False),
            labeled,
            rank[codes[labeled]],
            (scaled / scaled.mean()).astype(dtype),
            unlabeled,
            gamma=self.gamma,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            n_steps=self.n_steps,
            batch_size=self.batch_size,
            unlabeled_batch_size=self.unlabeled_batch_size,
            rng=rng,
        )
        network.reorder_classes(rank)
        self.network_ = network
        self.loss_curve_ = dict(zip(Losses._fields, losses.T.copy(), strict=True))

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities (n, C) of the prediction head."""
        return self._all_probs(X, slice(1))[:, 0]

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """``predict_proba`` (n, C) and ``predict_head_proba`` (n, M, C) in one pass over the rows."""
        probs = self._all_probs(X, slice(None))
        return probs[:, 0], probs[:, 1:]

    def predict_confidence(self, X: Any, kind: str = "t_similarity") -> Floats:
        """How far each prediction can be trusted, (n,) in [0, 1]; rows are scored a chunk at a time.

        Parameters
        ----------
        X : array-like of shape (n, d)
        kind : str, default="t_similarity"
            ``"t_similarity"`` asks the diverse heads, and so does ``"t_share"``; those of
            ``chary.method.CONFIDENCES``, such as ``"max_probability"``, the prediction head's
            probabilities.
        """
        chunks = self._head_probs(X, slice(None))
        return np.concatenate(
            [scores_of(probs[:, 0], kind, probs[:, 1:]).confidence for probs in chunks]
        )

    def _all_probs(self, X: Any, heads: slice) -> Floats:
        chunks = list(self._head_probs(X, heads))
        numbers = np.empty((*chunks[0].shape[1:], sum(map(len, chunks))))
        return np.concatenate(
            chunks, out=numbers.transpose(2, 0, 1)
        )  # in memory as the network makes them

    def _head_probs(self, X: Any, heads: slice) -> Iterator[Floats]:
        """Probabilities of the chosen heads, chunk by chunk: (rows, number of heads, C)."""
        check_is_fitted(self, "class_bias_")
        for logits in self._head_logits(self._validated(X, reset=False), heads):
            logits += self.class_bias_
            yield softmax(logits)

    def _head_logits(self, X: Any, heads: slice) -> Iterator[Floats]:
        network = self.network_.astype(
            np.float64
        )  # a row then scores the same alone and in a batch
        for rows in _chunks(X.shape[0], 2 * max(network.widths)):
            with one_thread("blas"):  # matrices are small: two threads would wait for each other
                logits = network.logits(self._standardized(X[rows]), heads)
            yield logits

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a NumPy array of numbers."""
        return validate_data(self, X, reset=reset, dtype=_KEPT_DTYPES)

    def _standardized(self, X: Any) -> NDArray[np.float64]:
        out = np.subtract(X, self.mean_, dtype=np.float64)
        out /= self.scale_
        return out


def _chunks(n_rows: int, width: int) -> Iterator[slice]:
    size = max(1, _CHUNK_NUMBERS // width)
    return (slice(start, start + size) for start in range(0, n_rows, size))


def _weights_to_start_from(other: Any, network: Network, classes: NDArray[Any]) -> Floats:
    """The weights of a fitted classifier, once it is sure that they mean the same in this network."""
    theirs = getattr(other, "network_", None)
    if not (
        isinstance(theirs, Network)
        and theirs.widths == network.widths
        and np.array_equal(other.classes_, classes)
    ):
        raise ValueError(
            "start_from must be a fitted DiverseEnsembleClassifier of the same columns, classes, hidden_sizes and "
            f"n_heads; it is {other!r}."
        )
    return theirs.params


def class_order_of(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Classes by their first row among the labelled rows, whose order is that of their content.

    So they stand while a network is trained, so that their names do not matter.
    """
    return np.argsort(np.unique(codes, return_index=True)[1])


def content_order(X: Any, codes: NDArray[np.intp], weights: Floats) -> NDArray[np.intp]:
    """Row numbers sorted by what the rows hold, so that shuffling the input changes no result.

    Rows are compared by a fixed random projection in which every column has range 1; rows that are
    equal in it, by weight and by what the rows of their class are, so that renaming the classes
    changes no result either.
    """
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        spread = X.max(axis=0) - X.min(axis=0).astype(np.float64)
    is_constant = spread < np.finfo(np.float64).tiny
    direction = rng.standard_normal(X.shape[1]) / np.where(is_constant, np.inf, spread)
    projection = np.empty(X.shape[0])
    for rows in _chunks(X.shape[0], X.shape[1]):
        # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
        projection[rows] = (X[rows] * direction).sum(axis=1)

    labeled = codes >= 0
    distinct, content = np.unique(projection[labeled], return_inverse=True)
    fingerprint = rng.integers(2**63, size=len(distinct), dtype=np.uint64)
    class_fingerprint = np.zeros(codes.max() + 1, dtype=np.uint64)
    np.add.at(
        class_fingerprint, codes[labeled], fingerprint[content]
    )  # exact in any order: wraps at 2**64
    return np.lexsort((codes, class_fingerprint[codes], weights, projection))


def _column_statistics(X: Any, order: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column (1 for a constant one), accumulated in the given order."""
    scaler = StandardScaler()
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _chunks(X.shape[0], X.shape[1]):
            scaler.partial_fit(X[order[rows]])
    too_large = ~np.isfinite(scaler.var_)
    if too_large.any():
        raise ValueError(
            f"Column {int(too_large.argmax())} of X holds values too large to square; rescale it."
        )
    return scaler.mean_, scaler.scale_
