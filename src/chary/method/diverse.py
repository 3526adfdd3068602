"""The paper's classifier: a network whose diverse heads tell which predictions to trust."""

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

from chary._arrays import Array, Floats, Ints
from chary._sklearn import Interval, StrOptions
from chary._threads import one_thread
from chary.method.confidence import MembersMixin, scores_of, softmax
from chary.method.estimators import weighted_rows
from chary.method.labels import Labels, encode
from chary.method.network import Losses, Network, default_hidden_sizes, train
from chary.method.priors import ACCURACY, AIMS, ClassPrior

# Rows are read and scored in chunks. The largest array that a chunk needs holds about this many
# numbers (4 MiB).
_CHUNK_NUMBERS = 2**19
# An X of one of these types is converted to floats chunk by chunk. Any other X becomes float64 as a
# whole, at once.
_DTYPES_READ_IN_CHUNKS = [
    np.float64,
    np.float32,
    *map(np.dtype, np.typecodes["AllInteger"]),
    np.bool_,
]
# The first head of the network is the prediction head.
_PREDICTION_HEAD = slice(1)
# All heads of the network are the prediction head and then the diverse heads.
_ALL_HEADS = slice(None)


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
        Number M of diverse heads, at least 2. The prediction head (the paper's h_pred) does not
        depend on it, but for rounding.
    gamma : float, default=1.0
        Strength of the diversity asked of the heads on unlabelled rows.
    learning_rate : float, default=1e-3
        Step size of Adam.
    weight_decay : float, default=0.0
        Decoupled weight decay.
    n_steps : int, default=500
        Number of mini-batches.
    batch_size, unlabeled_batch_size : int, default=32
        Labelled and unlabelled rows in a mini-batch; all of them if there are fewer.
    standardize : bool or "numbers", default=True
        Centre and scale each column by the statistics of all rows given to ``fit``, labelled or
        not. "numbers": columns that hold only 0 and 1, as of categories, are left as they are.
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
        The same number gives the same network to the bit, whatever the order of the rows, the names
        of the classes or the number of BLAS threads: training uses one thread. Scores may differ in
        their last digits with the number of threads. None draws fresh entropy; NumPy's
        global state is never used.

    Attributes
    ----------
    classes_ : array of shape (C,)
    network_ : Network
        The trained network.
    mean_, scale_ : arrays of shape (d,)
        The network is given ``(X - mean_) / scale_``.
    class_prior_ : array of shape (C,), or None
    class_bias_ : array of shape (C,)
        Added to the logits of every head for ``class_prior`` and ``aim``; zeros without.
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
    Odonnat, Feofanov, Redko: Leveraging Ensemble Diversity for Robust Self-Training in the
    Presence of Sample Selection Bias. AISTATS 2024.

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
            Labels; missing or ``unlabeled`` in unlabelled rows.
        sample_weight : array-like of shape (n,), default=None
            Weights of labelled rows in the losses. A row of weight 0, labelled or not, is as if
            absent.
        start_from : fitted DiverseEnsembleClassifier, default=None
            Training starts from a copy of its weights, not from random weights. It must know the
            same columns and classes and have as many heads and hidden units.
        """
        self._validate_params()
        X = self._validated(X, reset=True)
        labels = encode(y, unlabeled=self.unlabeled)
        X, labels, weights = weighted_rows(X, labels, sample_weight)
        self.classes_ = labels.classes
        prior = ClassPrior.of(self.class_prior, labels, self.aim)
        self._train(X, labels.codes, weights, start_from)

        # Called by ``offset`` only if there is a prior or an aim.
        def prediction_logits() -> Floats:
            chunks = self._head_logits(X[labels.rows_to_predict], _PREDICTION_HEAD)
            return np.concatenate([logits[:, 0] for logits in chunks])  # (n, C)

        self.class_prior_ = prior.shares
        self.class_bias_ = prior.offset(prediction_logits)
        return self

    def _train(self, X: Any, codes: Ints, weights: Floats, start_from: Any) -> None:
        """Train the network, with rows and classes in an order that depends on content alone.

        So neither the order of the rows nor the names of the classes have an effect.
        """
        order = content_order(X, codes, weights)  # (n,) row numbers
        is_labeled = codes[order] >= 0
        labeled = order[is_labeled]
        unlabeled = order[~is_labeled]
        self._set_standardization(X, order)

        # Classes are reordered for training, and put back into the order of classes_ afterwards.
        class_order = class_order_of(codes[labeled])  # (C,) the class at each place
        place_of_class = np.argsort(class_order)  # (C,) the place of each class

        # The weights get the mean 1. They are divided by the largest first, because their sum could
        # overflow.
        label_weights = weights[labeled] / weights[labeled].max()
        label_weights /= label_weights.mean()

        rng = np.random.default_rng(self.random_state)
        network = self._untrained_network(X.shape[1])
        network.initialize(rng)
        if start_from is not None:
            network.params[:] = _weights_of(start_from, network, self.classes_)
            network.reorder_classes(class_order)
        losses = train(
            network,
            fetch=lambda rows: self._standardized(X[rows]).astype(self.dtype, copy=False),
            labeled=labeled,
            codes=place_of_class[codes[labeled]],
            weights=label_weights.astype(self.dtype),
            unlabeled=unlabeled,
            gamma=self.gamma,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            n_steps=self.n_steps,
            batch_size=self.batch_size,
            unlabeled_batch_size=self.unlabeled_batch_size,
            rng=rng,
        )
        network.reorder_classes(place_of_class)
        self.network_ = network
        self.loss_curve_ = dict(zip(Losses._fields, losses.T.copy(), strict=True))

    def _set_standardization(self, X: Any, order: Ints) -> None:
        """Set the mean and the scale of each column; 0 and 1 leave a column as it is."""
        self.mean_ = np.zeros(X.shape[1])
        self.scale_ = np.ones(X.shape[1])
        if self.standardize:
            self.mean_[:], self.scale_[:] = _column_statistics(X, order)
        if self.standardize == "numbers":
            is_binary = ((X == 0) | (X == 1)).all(axis=0)
            self.mean_[is_binary] = 0
            self.scale_[is_binary] = 1

    def _untrained_network(self, n_features: int) -> Network:
        """Return a network of the chosen size; all its parameters are 0."""
        hidden_sizes = self.hidden_sizes
        if hidden_sizes is None:
            hidden_sizes = default_hidden_sizes(n_features)
        if not all(isinstance(size, Integral) and size >= 1 for size in hidden_sizes):
            raise ValueError(
                "hidden_sizes must be positive whole numbers such as (128, 32), "
                f"got {self.hidden_sizes!r}."
            )
        n_classes = len(self.classes_)
        return Network(
            n_features, tuple(map(int, hidden_sizes)), n_classes, self.n_heads, self.dtype
        )

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities (n, C) of the prediction head."""
        return self._all_probs(X, _PREDICTION_HEAD)[:, 0]

    def predict_joint_proba(self, X: Any) -> tuple[Floats, Floats]:
        """Return ``predict_proba`` and ``predict_head_proba`` in one pass over the rows."""
        probs = self._all_probs(X, _ALL_HEADS)
        return probs[:, 0], probs[:, 1:]

    def predict_confidence(self, X: Any, kind: str = "t_similarity") -> Floats:
        """Compute how far each prediction can be trusted, (n,) in [0, 1].

        Parameters
        ----------
        X : array-like of shape (n, d)
        kind : str, default="t_similarity"
            ``"t_similarity"`` and ``"t_share"`` look at the diverse heads; the confidences of
            ``chary.method.CONFIDENCES``, such as ``"max_probability"``, look at the prediction
            head.
        """
        # A chunk at a time: the heads of all rows together would take M times the memory.
        confidences = []
        for probs in self._head_probs(X, _ALL_HEADS):
            scores = scores_of(probs[:, 0], kind, probs[:, 1:])
            confidences.append(scores.confidence)
        return np.concatenate(confidences)

    def _all_probs(self, X: Any, heads: slice) -> Floats:
        """Compute probabilities of the chosen heads, (n, number of heads, C)."""
        chunks = list(self._head_probs(X, heads))
        n_rows = sum(map(len, chunks))
        _, n_heads, n_classes = chunks[0].shape
        # The memory layout that the network produces: the rows of one output side by side.
        by_output = np.empty((n_heads, n_classes, n_rows))
        return np.concatenate(chunks, out=by_output.transpose(2, 0, 1))

    def _head_probs(self, X: Any, heads: slice) -> Iterator[Floats]:
        """Yield probabilities (rows, number of heads, C) chunk by chunk."""
        check_is_fitted(self, "class_bias_")
        for logits in self._head_logits(self._validated(X, reset=False), heads):
            logits += self.class_bias_
            yield softmax(logits)

    def _head_logits(self, X: Any, heads: slice) -> Iterator[Floats]:
        """Yield logits, without the class bias, chunk by chunk."""
        # In double precision a row scores the same alone and in a batch.
        network = self.network_.astype(np.float64)
        for rows in _chunks(X.shape[0], width=2 * max(network.widths)):
            # The matrices are small: two threads would wait for each other.
            with one_thread("blas"):
                logits = network.logits(self._standardized(X[rows]), heads)
            yield logits

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Check X and return it as a NumPy array of numbers."""
        return validate_data(self, X, reset=reset, dtype=_DTYPES_READ_IN_CHUNKS)

    def _standardized(self, X: Any) -> NDArray[np.float64]:
        """Centre and scale rows."""
        standardized = np.subtract(X, self.mean_, dtype=np.float64)
        standardized /= self.scale_
        return standardized


def _chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows with about ``_CHUNK_NUMBERS`` numbers in each."""
    size = max(1, _CHUNK_NUMBERS // width)
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def _weights_of(classifier: Any, network: Network, classes: Array) -> Floats:
    """Return the weights of a fitted classifier; refuse them if they do not fit the network."""
    fitted_network = getattr(classifier, "network_", None)
    if not (
        isinstance(fitted_network, Network)
        and fitted_network.widths == network.widths
        and np.array_equal(classifier.classes_, classes)
    ):
        raise ValueError(
            "start_from must be a fitted DiverseEnsembleClassifier of the same columns, classes, "
            f"hidden_sizes and n_heads; it is {classifier!r}."
        )
    return fitted_network.params


def class_order_of(codes: Ints) -> Ints:
    """Order classes by their first row, so that their names have no effect.

    The codes are those of the labelled rows in the order of ``content_order``. Below, class 2 comes
    first, then class 0, then class 1:

    >>> class_order_of(np.array([2, 0, 0, 1, 2]))
    array([2, 0, 1])
    """
    _, first_row_of_class = np.unique(codes, return_index=True)  # (C,)
    return np.argsort(first_row_of_class)


def content_order(X: Any, codes: Ints, weights: Floats) -> Ints:
    """Sort rows by content, so that shuffling the input changes no result.

    The key of a row is a sum of its columns with fixed random weights, scaled so that every column
    has range 1. Rows with equal keys, which mostly are equal rows, are sorted by weight. Rows that
    have equal weights, too, but different classes are sorted by a fingerprint of the class: it is
    made from the rows of the class, not from its code, so that renaming the classes changes no
    result either.

    Parameters
    ----------
    X : array of shape (n, d)
    codes : array of shape (n,)
        The class of each row; -1 without a label.
    weights : array of shape (n,)

    Returns
    -------
    array of shape (n,)
        Row numbers.
    """
    n_rows, n_features = X.shape
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore"):
        ranges = X.max(axis=0) - X.min(axis=0).astype(np.float64)  # (d,)
    # A constant column gets the weight 0: it is divided by infinity.
    is_constant = ranges < np.finfo(np.float64).tiny
    divisors = np.where(is_constant, np.inf, ranges)
    direction = rng.standard_normal(n_features) / divisors  # (d,)
    projection = np.empty(n_rows)  # the keys of the rows
    for rows in _chunks(n_rows, n_features):
        # Not a matrix product: BLAS rounds equal rows differently depending on where they stand.
        projection[rows] = (X[rows] * direction).sum(axis=1)

    class_fingerprints = _fingerprint_classes(projection, codes, rng)
    # The last key counts most.
    return np.lexsort((codes, class_fingerprints[codes], weights, projection))


def _fingerprint_classes(keys: Floats, codes: Ints, rng: np.random.Generator) -> Array:
    """Make a number for each class, (C,), that depends on the keys of its rows alone.

    Each distinct key of labelled rows gets a random number, and each class the sum over its rows.
    The sum wraps at 2**64, so it is exact in any order.
    """
    is_labeled = codes >= 0
    distinct_keys, place_of_row = np.unique(keys[is_labeled], return_inverse=True)
    random_numbers = rng.integers(2**63, size=len(distinct_keys), dtype=np.uint64)
    fingerprints = np.zeros(codes.max() + 1, dtype=np.uint64)
    np.add.at(fingerprints, codes[is_labeled], random_numbers[place_of_row])
    return fingerprints


def _column_statistics(X: Any, order: Ints) -> tuple[Floats, Floats]:
    """Compute each column's mean and standard deviation, 1 for a constant one.

    Both are accumulated over the rows in the given order.
    """
    scaler = StandardScaler()
    with np.errstate(over="ignore", invalid="ignore"):
        for rows in _chunks(*X.shape):
            scaler.partial_fit(X[order[rows]])
    too_large = ~np.isfinite(scaler.var_)
    if too_large.any():
        raise ValueError(
            f"Column {int(too_large.argmax())} of X holds values too large to square; rescale it."
        )
    return scaler.mean_, scaler.scale_
