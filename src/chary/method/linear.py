"""The paper's theory: linear heads, solved exactly, and bounds on their diversity."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from chary._sklearn import Interval
from chary.method.labels import encode

Array = NDArray[np.float64]


class Check(NamedTuple):
    """Whether a condition on the lambdas holds: ``if check:`` asks for ``holds``."""

    holds: bool
    smallest_lambda: float  # the condition holds when all lambdas are equal and above this

    def __bool__(self) -> bool:
        return self.holds


class Bound(NamedTuple):
    """Both sides of a lower bound on the diversity, and what decides whether it applies."""

    value: float  # the bound: the right-hand side of the inequality
    diversity: float  # gamma * diversity: the left-hand side
    regularization: float  # (1/M) sum_m lambda_m |w_m|^2: the paper assumes that it is at least 1

    @property
    def applies(self) -> bool:
        """Whether the paper's assumption holds."""
        return self.regularization >= 1


class LinearDiverseEnsemble(ClassifierMixin, BaseEstimator):
    """Ridge classifiers that fit labelled rows and differ on unlabelled ones, solved exactly.

    With labels y in {-1, +1} and M heads h_m(x) = w_m^T x, ``fit`` finds the stationary point of
    the paper's Problem (P)::

        L(W) = 1/(M n_l) sum_m |y - X_l w_m|^2                         label fidelity
             + 1/M sum_m lambda_m |w_m|^2                              regularisation
             + gamma / (n_u M (M - 1)) sum_{m != k} w_m^T X_u^T X_u w_k     agreement

    by one linear system. It is the minimiser when L is strictly convex (``strictly_convex()``), and
    a saddle point otherwise, about which ``fit`` warns. Equal lambdas make all heads equal: give
    each head its own lambda if they are to differ. There is no intercept: the rows are centred, as
    in the paper, but the labels are not.

    Parameters
    ----------
    n_heads : int, default=5
        M, the number of classifiers.
    gamma : float, default=1.0
        Strength of the agreement term. 0: M separate ridge regressions.
    regularization : float or array-like of shape (n_heads,), default=1.0
        lambda, one for all heads or one per head. The fidelity is a mean over rows, so lambda
        corresponds to ``alpha = n_l * lambda`` of :class:`sklearn.linear_model.Ridge`. With 0, the
        solution of least norm.
    unlabeled : label or None, default=-1
        The value of y that marks an unlabelled row, next to missing values. None: missing values
        only.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels. A positive score means the second.
    coef_ : ndarray of shape (n_heads, n_features)
        One head per row: the transpose of the paper's W.
    lambdas_ : ndarray of shape (n_heads,)
        The lambda of each head.
    mean_ : ndarray of shape (n_features,)
        Subtracted from every row.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X had names.

    See Also
    --------
    DiverseEnsembleClassifier : The network that this is the linear case of.

    Notes
    -----
    ``loss``, ``gradient`` and the bounds are about the rows of ``fit``. The system has M d
    equations: up to about a thousand take seconds.

    References
    ----------
    .. [1] Leveraging Ensemble Diversity for Robust Self-Training in the Presence of Sample
       Selection Bias, AISTATS 2024. What its theory says and does not say:
       ``docs/explanation/theory.md``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    >>> y[20:] = None
    >>> model = LinearDiverseEnsemble(n_heads=3, regularization=[2.5, 5, 10]).fit(X, y)
    >>> bool(model.assumption_holds()), round(model.assumption_holds().smallest_lambda, 2)
    (True, 2.23)
    >>> round(model.strictly_convex().smallest_lambda, 2)
    0.02
    >>> model.lower_bound().applies  # never while the assumption holds
    False
    >>> model.predict(X[2:5])
    array(['yes', 'no', 'no'], dtype='<U3')
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_heads": [Interval(Integral, 2, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "regularization": [Interval(Real, 0, None, closed="left"), "array-like"],
        "unlabeled": "no_validation",  # type: ignore[dict-item]
    }

    def __init__(
        self,
        n_heads: int = 5,
        gamma: float = 1.0,
        regularization: float | ArrayLike = 1.0,
        *,
        unlabeled: Any = -1,
    ) -> None:
        self.n_heads = n_heads
        self.gamma = gamma
        self.regularization = regularization
        self.unlabeled = unlabeled

    def fit(self, X: ArrayLike, y: ArrayLike) -> LinearDiverseEnsemble:
        """Solve Problem (P).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            All rows, labelled or not.
        y : array-like of shape (n,)
            Two classes; the marker or a missing value in unlabelled rows.

        Returns
        -------
        LinearDiverseEnsemble
            Itself, fitted.
        """
        self._validate_params()
        rows: Array = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.classes_, codes, labeled = encode(y, unlabeled=self.unlabeled)
        check_consistent_length(rows, codes)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y has {len(self.classes_)} classes."
            )
        self.lambdas_ = _lambdas(self.regularization, self.n_heads)
        self.mean_ = rows.mean(axis=0)

        X_l = rows[labeled] - self.mean_  # (n_l, d)
        X_u = rows[~labeled] - self.mean_  # (n_u, d)
        y_l = 2.0 * codes[labeled] - 1  # (n_l,) in {-1, +1}
        self._labeled_scatter = X_l.T @ X_l / len(X_l)  # A, (d, d)
        self._unlabeled_scatter = X_u.T @ X_u / max(1, len(X_u))  # X_u^T X_u / n_u, (d, d)
        self._slope = X_l.T @ y_l / len(X_l)  # b, (d,)

        # Put the heads w_1, ..., w_M end to end as one vector w of length M d. The loss is then a
        # quadratic, M L(W) = w^T H w - 2 b^T (w_1 + ... + w_M) + M, and H w = (b, ..., b) at its
        # stationary point. H has M x M blocks of shape (d, d):
        #   on the diagonal          lambda_m I + A   (regularisation and label fidelity of head m)
        #   everywhere else          B                (agreement of two different heads)
        # The Kronecker product with ones puts B into every block, so it is taken off the diagonal.
        M = self.n_heads
        B = self._coupling * self._unlabeled_scatter  # (d, d)
        ridge = np.kron(np.diag(self.lambdas_), np.eye(len(B)))
        fidelity = np.kron(np.eye(M), self._labeled_scatter - B)
        self._hessian = ridge + fidelity + np.kron(np.ones((M, M)), B)  # H, (M d, M d)
        self._right_side = np.tile(self._slope, M)  # b for each head, (M d,)
        self.coef_ = _solve(self._hessian, self._right_side).reshape(M, -1)

        if self._curvature < 0:
            warnings.warn(
                f"The loss is not convex with lambdas of {self.lambdas_.min():g} to "
                f"{self.lambdas_.max():g}: coef_ is a saddle point and there is no minimum. Lower "
                "gamma, or raise regularization: lambdas above "
                f"{self.strictly_convex().smallest_lambda:.6g} make it strictly convex.",
                stacklevel=2,
            )
        return self

    def head_decision_function(self, X: ArrayLike) -> Array:
        """Compute the scores h_m(x) = w_m^T x, of shape (n, n_heads)."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return (rows - self.mean_) @ self.coef_.T

    def decision_function(self, X: ArrayLike) -> Array:
        """Average the scores of the heads, (n,); positive means ``classes_[1]``."""
        return self.head_decision_function(X).mean(axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row by the sign of the mean score."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def agreement(self, X: ArrayLike) -> Array:
        """Average the products of the scores of two distinct heads, of shape (n,).

        1/(M (M - 1)) sum_{m != k} h_m(x) h_k(x), the linear counterpart of T-similarity. It is not
        confined to [0, 1], and negative if the heads contradict each other.
        """
        scores = self.head_decision_function(X)  # (n, M)
        # The products of all pairs of heads, less those of each head with itself.
        products = scores.sum(axis=1) ** 2 - np.sum(scores**2, axis=1)  # (n,)
        n_pairs = self.n_heads * (self.n_heads - 1)
        return products / n_pairs

    def diversity(self, W: ArrayLike | None = None) -> float:
        """Compute the paper's diversity: the mean ``agreement``, with a minus sign.

        -1/(n_u M (M - 1)) sum_{m != k} w_m^T X_u^T X_u w_k on the unlabelled training rows (0
        without any), at W of shape (n_features, n_heads) or at the solution.
        """
        W = self._heads(W)
        # The products of all pairs of heads, less those of each head with itself.
        total = W.sum(axis=1)  # (d,)
        agreement = total @ self._unlabeled_scatter @ total
        agreement -= np.sum(W * (self._unlabeled_scatter @ W))
        n_pairs = self.n_heads * (self.n_heads - 1)
        return -float(agreement) / n_pairs

    def loss(self, W: ArrayLike | None = None) -> float:
        """Compute L of Problem (P) on the training rows.

        At W of shape (n_features, n_heads), or at the solution.
        """
        # M L(W) = w^T H w - 2 b^T (w_1 + ... + w_M) + M, as in ``fit``.
        w = self._heads(W).T.ravel()  # (M d,)
        quadratic = w @ self._hessian @ w
        return float(quadratic - 2 * self._right_side @ w) / self.n_heads + 1

    def gradient(self, W: ArrayLike | None = None) -> Array:
        """Compute the gradient of the loss, of shape (n_features, n_heads).

        2/M [ W Lambda + X_l^T (X_l W - Y) / n_l + gamma / (n_u (M - 1)) X_u^T X_u W (U - I) ],

        with Lambda the diagonal matrix of the lambdas and U the matrix of ones, both (M, M). The
        paper writes Lambda W; of these shapes, Lambda can only stand on the right.
        """
        w = self._heads(W).T.ravel()  # (M d,)
        slope = self._hessian @ w - self._right_side  # (M d,)
        slope_by_head = slope.reshape(self.n_heads, -1).T  # (d, M)
        return 2 / self.n_heads * slope_by_head

    def strictly_convex(self) -> Check:
        """Tell whether L is strictly convex, and above which equal lambdas it is.

        What is tested is whether the smallest eigenvalue of the Hessian is positive. In terms of
        the rows: let A = X_l^T X_l / n_l, B = gamma / (n_u (M - 1)) X_u^T X_u, lambda_1 <= ... <=
        lambda_M and R = sum_{m >= 2} (lambda_m I + A - B)^-1. L is strictly convex if and only if
        both lambda_2 I + A - B and lambda_1 I + A - B (R^-1 + B)^-1 B are positive definite. With
        equal lambdas that means lambda > lambda_max(B - A). If all lambdas are above this value,
        equal or not, L is strictly convex, too: it is the ``smallest_lambda`` returned.
        """
        check_is_fitted(self)
        B = self._coupling * self._unlabeled_scatter
        largest_eigenvalue = float(eigvalsh(B - self._labeled_scatter)[-1])
        return Check(self._curvature > 0, smallest_lambda=max(0.0, largest_eigenvalue))

    def assumption_holds(self) -> Check:
        """Tell whether the paper's Assumption A holds, and above which lambdas it does.

        lambda_m > gamma (M + 1) / (n_u (M - 1)) lambda_max(X_u^T X_u) for every m. It implies
        strict convexity and is far from necessary: see ``strictly_convex``.
        """
        check_is_fitted(self)
        largest_eigenvalue = max(0.0, float(eigvalsh(self._unlabeled_scatter)[-1]))
        smallest_lambda = (self.n_heads + 1) * self._coupling * largest_eigenvalue
        return Check(bool(self.lambdas_.min() > smallest_lambda), smallest_lambda)

    def lower_bound(self) -> Bound:
        """Compute the bound of the paper's theorem: gamma * diversity >= value.

        ``value = 1/(2 M n_l) sum_m |y - X_l w_m|^2
        + 1/(2 M) sum_m w_m^T (lambda_m I + X_l^T X_l / n_l) w_m``,
        if the regularisation term is at least 1.

        At every stationary point gamma * diversity = value + (regularization - 1) / 2, so the
        inequality holds if and only if its condition does; under Assumption A the condition never
        does.
        """
        W = self._heads(None)  # (d, M)
        # (1/M) sum_m w_m^T A w_m: the mean square of the heads' scores on labelled rows.
        squares = W * (self._labeled_scatter @ W)  # (d, M), whose columns sum to w_m^T A w_m
        mean_square = float(np.sum(squares)) / self.n_heads
        # The mean square of y - h_m(x). The first term is the mean of y^2, which is 1, and the
        # second one that of -2 y h_m(x).
        mean_head = W.mean(axis=1)  # (d,)
        fidelity = 1 - 2 * float(self._slope @ mean_head) + mean_square
        squared_norms = np.sum(W**2, axis=0)  # (M,) |w_m|^2
        regularization = float(np.mean(self.lambdas_ * squared_norms))
        value = (fidelity + regularization + mean_square) / 2
        return Bound(value, self.gamma * self.diversity(), regularization)

    def corollary_bound(self) -> Bound:
        """Compute the bound of the paper's corollary: gamma * diversity >= value.

        ``value = 1/(2 M) (lambda + lambda_min(X_l^T X_l) / n_l) |W|^2``, under the condition of the
        theorem. The paper states it for equal lambdas; with the smallest of them it holds for any.
        """
        bound = self.lower_bound()
        smallest_eigenvalue = max(0.0, eigvalsh(self._labeled_scatter)[0])
        factor = self.lambdas_.min() + smallest_eigenvalue
        value = float(factor * np.sum(self.coef_**2) / (2 * self.n_heads))
        return bound._replace(value=value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @property
    def _coupling(self) -> float:
        """The factor gamma / (M - 1): B is this times X_u^T X_u / n_u."""
        return float(self.gamma) / (self.n_heads - 1)

    @property
    def _curvature(self) -> float:
        """The smallest eigenvalue of the Hessian, or 0 if it may be rounding."""
        eigenvalues = eigvalsh(self._hessian)  # (M d,) ascending
        smallest = float(eigenvalues[0])
        rounding = len(eigenvalues) * np.finfo(float).eps * np.abs(eigenvalues).max()
        if abs(smallest) <= rounding:
            return 0.0
        return smallest

    def _heads(self, W: ArrayLike | None) -> Array:
        """Check W of shape (d, M); None stands for the solution."""
        check_is_fitted(self)
        if W is None:
            return self.coef_.T
        heads: Array = check_array(W, dtype=np.float64, input_name="W", ensure_min_features=0)
        if heads.shape != self.coef_.T.shape:
            raise ValueError(
                f"W has shape {heads.shape}; expected (n_features, n_heads) = "
                f"{self.coef_.T.shape}, one column per head, as in coef_.T."
            )
        return heads


def _lambdas(regularization: Any, n_heads: int) -> Array:
    """Check the parameter ``regularization``, and return the lambda of each head, (n_heads,)."""
    lambdas: Array = check_array(
        np.atleast_1d(regularization),
        ensure_2d=False,
        dtype=np.float64,
        input_name="regularization",
    )
    if lambdas.shape not in {(1,), (n_heads,)}:
        raise ValueError(
            f"regularization has shape {lambdas.shape}; expected one number, or one per head "
            f"({n_heads})."
        )
    if lambdas.min() < 0:
        raise ValueError(
            f"regularization holds {lambdas.min():g}; every lambda must be at least 0."
        )
    return np.broadcast_to(lambdas, (n_heads,)).copy()


def _solve(system: NDArray[Any], right_side: NDArray[Any]) -> NDArray[Any]:
    """Solve a linear system; of several solutions take that of least norm."""
    solution: NDArray[Any] = np.linalg.lstsq(system, right_side, rcond=None)[0]
    error = np.linalg.norm(system @ solution - right_side)
    tolerance = 1e-6 * np.linalg.norm(right_side) + np.finfo(float).tiny
    # An error of NaN is refused too.
    if not error <= tolerance:
        raise ValueError(
            "No stationary point can be computed: with these lambdas the linear system is "
            "singular; change regularization or gamma a little."
        )
    return solution
