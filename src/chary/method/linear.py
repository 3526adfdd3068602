"""The paper's theory: linear heads for two classes, solved exactly, and the bounds on their diversity."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh, eigvalsh, orth
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from chary._sklearn import Interval
from chary.method.labels import encode

Array = NDArray[np.float64]


class Check(NamedTuple):
    """Whether a condition on the lambdas holds; true or false itself, so that it can follow an ``if``."""

    holds: bool
    smallest_lambda: float  # the condition holds when all lambdas are equal and above this

    def __bool__(self) -> bool:
        return self.holds


class Bound(NamedTuple):
    """Both sides of a lower bound on the diversity, and the figure that decides whether it applies."""

    value: float  # the right-hand side
    diversity: float  # the left-hand side, gamma * diversity
    regularization: float  # (1/M) sum_m lambda_m |w_m|^2: the paper assumes that it is at least 1

    @property
    def applies(self) -> bool:
        return self.regularization >= 1


class LinearDiverseEnsemble(ClassifierMixin, BaseEstimator):
    """Ridge classifiers that fit the labelled rows and are pushed apart on the others, solved exactly.

    With labels y in {-1, +1} and M heads h_m(x) = w_m^T x, ``fit`` finds the stationary point of the paper's
    Problem (P)::

        L(W) = 1/(M n_l) sum_m |y - X_l w_m|^2                         label fidelity
             + 1/M sum_m lambda_m |w_m|^2                              regularisation
             + gamma / (n_u M (M - 1)) sum_{m != k} w_m^T X_u^T X_u w_k     agreement

    in closed form. It is the minimiser when L is strictly convex (``strictly_convex()``), and a saddle point
    otherwise, about which ``fit`` warns. Equal lambdas make all heads equal: for heads that differ give each
    its own. There is no intercept: the rows are centred, as in the paper, and the labels are not.

    Parameters
    ----------
    n_heads : int, default=5
        M, the number of classifiers.
    gamma : float, default=1.0
        Strength of the agreement term. 0: M separate ridge regressions.
    regularization : float or array-like of shape (n_heads,), default=1.0
        lambda, one for all heads or one per head. The fidelity is a mean over rows, so lambda corresponds to
        ``alpha = n_l * lambda`` of :class:`sklearn.linear_model.Ridge`. With 0, the solution of least norm.
    unlabeled : label or None, default=-1
        The value of y that marks an unlabelled row, next to missing values. None: missing values only.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two labels. A positive score means the second.
    coef_ : ndarray of shape (n_heads, n_features)
        One head per row: the transpose of the paper's W.
    lambdas_ : ndarray of shape (n_heads,)
        The lambda of each head.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from every row.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : ndarray of shape (d,)
        Their names, when X had names.

    See Also
    --------
    DiverseEnsembleClassifier : The network that this is the linear case of.

    Notes
    -----
    A fitted instance keeps the training rows: ``loss``, ``gradient`` and the bounds are about them.

    References
    ----------
    .. [1] Leveraging Ensemble Diversity for Robust Self-Training in the Presence of Sample Selection Bias,
       AISTATS 2024. What its theory says and does not say: ``docs/explanation/theory.md``.

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
        self, n_heads: int = 5, gamma: float = 1.0, regularization: float | ArrayLike = 1.0, *, unlabeled: Any = -1
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
            Two classes, and the marker or a missing value where there is no label.

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
        self._problem = _problem(rows - self.mean_, codes, labeled, self.lambdas_, self.gamma)
        self._solution = solution = _solve(self._problem)
        self.coef_ = solution.W.T
        if solution.curvature < 0:
            warnings.warn(
                f"The loss is not convex with lambdas of {self.lambdas_.min():g} to {self.lambdas_.max():g}: "
                "coef_ is a saddle point and there is no minimum. Lower gamma, or raise regularization: "
                f"lambdas above {solution.convex_lambda:.6g} make it strictly convex.",
                stacklevel=2,
            )
        return self

    def head_decision_function(self, X: ArrayLike) -> Array:
        """Score of each head for each row, h_m(x) = w_m^T x, of shape (n, n_heads)."""
        check_is_fitted(self)
        rows: Array = validate_data(self, X, dtype=np.float64, reset=False)
        return (rows - self.mean_) @ self.coef_.T

    def decision_function(self, X: ArrayLike) -> Array:
        """Mean score of the heads, of shape (n,); positive means ``classes_[1]``."""
        return self.head_decision_function(X).mean(axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class that the mean score points to, for each row."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def agreement(self, X: ArrayLike) -> Array:
        """Mean product of the scores of two distinct heads, of shape (n,).

        1/(M (M - 1)) sum_{m != k} h_m(x) h_k(x), the linear counterpart of T-similarity. It is not confined
        to [0, 1]: negative where the heads contradict each other.
        """
        return _agreement(self.head_decision_function(X))

    def diversity(self, W: ArrayLike | None = None) -> float:
        """The paper's diversity, -1/(n_u M (M - 1)) sum_{m != k} w_m^T X_u^T X_u w_k: minus the mean agreement.

        On the unlabelled training rows (0 without any), at W of shape (n_features, n_heads) or at the solution.
        """
        return -float(_agreement(self._problem.X_unlabeled @ self._heads(W)).sum())

    def loss(self, W: ArrayLike | None = None) -> float:
        """L of Problem (P) on the training rows, at W of shape (n_features, n_heads) or at the solution."""
        W = self._heads(W)
        fidelity, regularization, _ = self._terms(W)
        return fidelity + regularization - self._gamma_diversity(W)

    def gradient(self, W: ArrayLike | None = None) -> Array:
        """Gradient of the loss, of shape (n_features, n_heads).

        2/M [ W Lambda + X_l^T (X_l W - Y) / n_l + gamma / (n_u (M - 1)) X_u^T X_u W (U - I) ],

        U all ones. The paper writes Lambda W; Lambda is (M, M), so it can only act on the right.
        """
        return _gradient(self._problem, self._heads(W))

    def strictly_convex(self) -> Check:
        """Whether L is strictly convex, exactly, and the smallest lambda that makes it so for equal heads.

        Let A = X_l^T X_l / n_l, B = gamma / (n_u (M - 1)) X_u^T X_u, lambda_1 <= ... <= lambda_M and
        R = sum_{m >= 2} (lambda_m I + A - B)^-1. L is strictly convex if and only if lambda_2 I + A - B and
        lambda_1 I + A - B (R^-1 + B)^-1 B are positive definite. With equal lambdas that is
        lambda > lambda_max(B - A), which suffices for unequal ones too.
        """
        check_is_fitted(self)
        return Check(self._solution.curvature > 0, self._solution.convex_lambda)

    def assumption_holds(self) -> Check:
        """Assumption A of the paper, and the smallest lambda that satisfies it.

        lambda_m > gamma (M + 1) / (n_u (M - 1)) lambda_max(X_u^T X_u) for every m. It implies strict
        convexity and is far from necessary: see ``strictly_convex``.
        """
        check_is_fitted(self)
        problem = self._problem
        rows = problem.X_unlabeled
        gram = rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T
        last = len(gram) - 1
        largest = eigvalsh(gram, subset_by_index=(last, last))[0] if problem.coupling else 0.0
        smallest = float((self.n_heads + 1) * problem.coupling * max(largest, 0.0))
        return Check(bool(self.lambdas_.min() > smallest), smallest)

    def lower_bound(self) -> Bound:
        """The paper's theorem: gamma * diversity >= value, if the regularisation term is at least 1.

        ``value = 1/(2 M n_l) sum_m |y - X_l w_m|^2 + 1/(2 M) sum_m w_m^T (lambda_m I + X_l^T X_l / n_l) w_m``.

        At every stationary point gamma * diversity = value + (regularization - 1) / 2, so the inequality
        holds if and only if its condition does; under Assumption A the condition never does.
        """
        W = self._heads(None)
        fidelity, regularization, fitted = self._terms(W)
        value = (fidelity + regularization + fitted) / 2
        return Bound(value, self._gamma_diversity(W), regularization)

    def corollary_bound(self) -> Bound:
        """The paper's corollary: gamma * diversity >= value, under the condition of the theorem.

        ``value = 1/(2 M) (lambda + lambda_min(X_l^T X_l) / n_l) |W|^2``. The paper states it for equal lambdas;
        with the smallest of them it holds for any.
        """
        W = self._heads(None)
        rows = self._problem.X_labeled
        smallest = 0.0
        if len(rows) >= rows.shape[1]:
            smallest = max(eigvalsh(rows.T @ rows, subset_by_index=(0, 0))[0], 0.0)
        value = (self.lambdas_.min() + smallest) * np.sum(W**2) / (2 * self.n_heads)
        return Bound(float(value), self._gamma_diversity(W), self._terms(W)[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _heads(self, W: ArrayLike | None) -> Array:
        check_is_fitted(self)
        if W is None:
            return self.coef_.T
        heads: Array = check_array(W, dtype=np.float64, input_name="W", ensure_min_features=0)
        if heads.shape != self.coef_.T.shape:
            raise ValueError(
                f"W has shape {heads.shape}; expected (n_features, n_heads) = {self.coef_.T.shape}, "
                "one column per head, as in coef_.T."
            )
        return heads

    def _terms(self, W: Array) -> tuple[float, float, float]:
        """Per head, on average: squared error, lambda |w|^2, and squared fitted value."""
        fitted = self._problem.X_labeled @ W  # (n_l, M)
        errors = self._problem.targets[:, None] - fitted
        penalties = self.lambdas_ * np.sum(W**2, axis=0)  # (M,)
        return (
            float(np.sum(errors**2) / len(penalties)),
            float(penalties.mean()),
            float(np.sum(fitted**2) / len(penalties)),
        )

    def _gamma_diversity(self, W: Array) -> float:
        return self._problem.coupling * (W.shape[1] - 1) * self.diversity(W)


class _Problem(NamedTuple):
    """Problem (P) with every mean folded into its rows: A = X_l^T X_l, B = coupling X_u^T X_u."""

    X_labeled: Array  # (n_l, d) divided by the root of n_l
    targets: Array  # (n_l,) -1 or +1, divided by the same
    X_unlabeled: Array  # (n_u, d) divided by the root of n_u
    coupling: float  # gamma / (M - 1); 0 when there is no unlabelled row
    lambdas: Array  # (M,)


class _Solution(NamedTuple):
    W: Array  # (d, M)
    curvature: float  # has the sign of the smallest eigenvalue of the Hessian
    convex_lambda: float  # lambda_max(B - A), or 0 if that is negative


def _lambdas(regularization: Any, n_heads: int) -> Array:
    lambdas: Array = check_array(
        np.atleast_1d(regularization), ensure_2d=False, dtype=np.float64, input_name="regularization"
    )
    if lambdas.shape not in {(1,), (n_heads,)}:
        raise ValueError(
            f"regularization has shape {lambdas.shape}; expected one number, or one per head ({n_heads})."
        )
    if lambdas.min() < 0:
        raise ValueError(f"regularization holds {lambdas.min():g}; every lambda must be at least 0.")
    return np.broadcast_to(lambdas, (n_heads,)).copy()


def _problem(
    rows: Array, codes: NDArray[np.intp], labeled: NDArray[np.bool_], lambdas: Array, gamma: float
) -> _Problem:
    root, root_free = np.sqrt(1 / labeled.sum()), np.sqrt(1 / max(1, (~labeled).sum()))
    coupling = 0.0 if labeled.all() else float(gamma) / (len(lambdas) - 1)
    targets = root * (2.0 * codes[labeled] - 1.0)
    return _Problem(rows[labeled] * root, targets, rows[~labeled] * root_free, coupling, lambdas)


def _solve(problem: _Problem) -> _Solution:
    """The stationary point, from one eigendecomposition and one linear system.

    Stationarity reads (lambda_m I + K) w_m = g for every head, where K = A - B and g = b - B sum_k w_k are
    shared. In the eigenbasis of K the heads are then proportional, coordinate by coordinate: w_m = ratio_m p
    with p the head for which |lambda_m + kappa| is smallest there, so that |ratio_m| <= 1. What is left is
    g = b - B sum_k w_k, one system for p. Where d > n, all of this happens in the span of the rows.
    """
    basis = _row_space(problem)  # (d, r), or None for all of the features
    X_labeled, X_unlabeled = problem.X_labeled, problem.X_unlabeled
    if basis is not None:
        X_labeled, X_unlabeled = X_labeled @ basis, X_unlabeled @ basis
    B = problem.coupling * (X_unlabeled.T @ X_unlabeled)  # (r, r)
    kappa, Q = eigh(X_labeled.T @ X_labeled - B)
    B, b = Q.T @ B @ Q, Q.T @ (X_labeled.T @ problem.targets)
    gaps = kappa[:, None] + problem.lambdas  # (r, M)
    pivots = np.take_along_axis(gaps, np.abs(gaps).argmin(axis=1)[:, None], axis=1)  # (r, 1)
    ratios = np.divide(pivots, gaps, out=np.ones_like(gaps), where=gaps != pivots)
    try:
        p = np.linalg.solve(np.diag(pivots[:, 0]) + B * ratios.sum(axis=1), b)
    except LinAlgError:
        p = np.full_like(b, np.nan)
    W = Q @ (ratios * p[:, None])  # (r, M)
    W = W if basis is None else basis @ W  # (d, M)
    _refuse_singular(problem, W)
    curvature = _curvature(B, kappa, problem.lambdas)
    if len(kappa) < len(W) and problem.lambdas.min() == 0:
        curvature = min(curvature, 0.0)  # flat outside the span of the rows
    return _Solution(W, curvature, max(0.0, -float(kappa.min(initial=0.0))))


def _row_space(problem: _Problem) -> Array | None:
    """An orthonormal basis of the rows' span, which holds the solution, where that is smaller than R^d."""
    rows = np.vstack([problem.X_labeled, problem.X_unlabeled]) if problem.coupling else problem.X_labeled
    if rows.shape[1] <= rows.shape[0] and problem.lambdas.min() > 0:
        return None
    return orth(rows.T)


def _curvature(B: Array, kappa: Array, lambdas: Array) -> float:
    """A number with the sign of the smallest eigenvalue of the Hessian, all in the eigenbasis of A - B.

    The Hessian is 2/M times blocks lambda_m I + A on the diagonal and B elsewhere. Eliminating every head
    but the one of smallest lambda leaves a Schur complement; ``strictly_convex`` above states it.
    """
    if not len(kappa):
        return float(lambdas.min())
    first, *others = np.sort(lambdas)
    lowest = kappa[0]
    rounding = len(kappa) * np.finfo(float).eps * (np.abs(kappa).max() + lambdas.max())
    if first + lowest > rounding:  # then every block is positive definite without its B
        return float(first + lowest)
    opposite = (first + others[0]) / 2 + lowest  # two opposite heads along that eigenvector
    if opposite < -rounding or others[0] + lowest <= rounding:
        return min(float(opposite), 0.0) if abs(opposite) > rounding else 0.0
    rest = 1 / np.sum(1 / (kappa[:, None] + np.asarray(others)), axis=1)  # (r,) the diagonal of R^-1
    complement = np.diag(first + kappa) + B - B @ cho_solve(cho_factor(np.diag(rest) + B), B)
    smallest = float(eigvalsh(complement, subset_by_index=(0, 0))[0])
    return smallest if abs(smallest) > rounding else 0.0


def _gradient(problem: _Problem, W: Array) -> Array:
    X_labeled, X_unlabeled = problem.X_labeled, problem.X_unlabeled
    errors = X_labeled @ W - problem.targets[:, None]  # (n_l, M)
    scores = X_unlabeled @ W  # (n_u, M)
    others = scores.sum(axis=1, keepdims=True) - scores
    slope = problem.lambdas * W + X_labeled.T @ errors + problem.coupling * (X_unlabeled.T @ others)
    return 2 / W.shape[1] * slope


def _refuse_singular(problem: _Problem, W: Array) -> None:
    size = np.linalg.norm(problem.X_labeled.T @ problem.targets) * 2 / np.sqrt(len(problem.lambdas))
    if not np.linalg.norm(_gradient(problem, W)) <= 1e-6 * size + np.finfo(float).tiny:
        raise ValueError(
            "No stationary point can be computed: with these lambdas the linear system is singular; "
            "change regularization or gamma a little."
        )


def _agreement(scores: Array) -> Array:
    """(|sum_m h_m|^2 - sum_m h_m^2) / (M (M - 1)) for scores (n, M): a mean over pairs without the pairs."""
    n_heads = scores.shape[1]
    return (scores.sum(axis=1) ** 2 - np.sum(scores**2, axis=1)) / (n_heads * (n_heads - 1))
