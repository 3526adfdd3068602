"""The linear analysis against dense algebra, an optimiser, finite differences, scikit-learn."""

import warnings
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import eigvalsh
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from chary.method.linear import LinearDiverseEnsemble


class Problem(NamedTuple):
    """Data and settings; the matrices are those of the paper, computed from the centred rows."""

    X: np.ndarray
    y: np.ndarray  # 0, 1, or -1 where unlabelled
    gamma: float
    lambdas: np.ndarray

    @property
    def centred(self):
        return self.X - self.X.mean(axis=0)

    @property
    def A(self):  # noqa: N802
        rows = self.centred[self.y >= 0]
        return rows.T @ rows / len(rows)

    @property
    def B(self):  # noqa: N802
        rows = self.centred[self.y < 0]
        return self.gamma / (len(rows) * (len(self.lambdas) - 1)) * rows.T @ rows

    @property
    def b(self):
        labeled = self.y >= 0
        return self.centred[labeled].T @ (2.0 * self.y[labeled] - 1) / labeled.sum()

    def hessian(self):
        """M/2 times the Hessian: the stationarity system of the paper, all M d unknowns of it."""
        M, d = len(self.lambdas), self.X.shape[1]
        off = np.ones((M, M)) - np.eye(M)
        return (
            np.kron(np.diag(self.lambdas), np.eye(d))
            + np.kron(np.eye(M), self.A)
            + np.kron(off, self.B)
        )

    def loss(self, W):
        """Problem (P), term by term and pair by pair."""
        M = W.shape[1]
        labeled = self.y >= 0
        X_l, X_u, y = self.centred[labeled], self.centred[~labeled], 2.0 * self.y[labeled] - 1
        fidelity = sum(np.sum((y - X_l @ w) ** 2) for w in W.T) / (M * len(y))
        penalty = sum(lam * w @ w for lam, w in zip(self.lambdas, W.T, strict=True)) / M
        pairs = sum((X_u @ W[:, m]) @ (X_u @ W[:, k]) for m, k in permutations(range(M), 2))
        return fidelity + penalty + self.gamma * pairs / (len(X_u) * M * (M - 1))

    def fit(self, **changes):
        """The fitted estimator, silent about saddle points."""
        settings = {"gamma": self.gamma, "regularization": self.lambdas} | changes
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The loss is not convex")
            return LinearDiverseEnsemble(len(self.lambdas), **settings).fit(self.X, self.y)


def draw(seed, low=0.05, high=20.0, wide=False):
    """Make a random problem with lambdas between low and high times Assumption A's smallest."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    n_labeled, n_unlabeled, n_heads = (
        rng.integers(2 if wide else 4, 15),
        rng.integers(1, 30),
        rng.integers(2, 6),
    )
    d = d + int(n_labeled + n_unlabeled) if wide else d
    X = rng.normal(size=(n_labeled + n_unlabeled, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    y = (X @ rng.normal(size=d) + rng.normal(size=len(X)) > 0).astype(int)
    y[:2], y[n_labeled:] = (0, 1), -1
    gamma = float(np.exp(rng.normal()))
    problem = Problem(X, y, gamma, np.ones(n_heads))
    smallest = (n_heads + 1) * np.linalg.eigvalsh(problem.B)[-1]
    return problem._replace(
        lambdas=smallest * np.exp(rng.uniform(np.log(low), np.log(high), size=n_heads))
    )


def close_to(expected, tolerance):
    """Absolute on entries below 1, relative above."""
    return pytest.approx(expected, rel=tolerance, abs=tolerance)


seeds = st.integers(0, 2**32 - 1)


# The solution


@given(st.integers(0, 19))
@settings(deadline=None, max_examples=6)
def test_closed_form_is_the_minimiser_that_an_optimiser_finds(seed):
    problem = draw(seed, low=1.001)
    model = problem.fit()
    assert model.assumption_holds()
    shape = model.coef_.T.shape
    system, right = problem.hessian(), np.tile(problem.b, shape[1])
    found = minimize(
        lambda w: problem.loss(w.reshape(shape[::-1]).T),
        np.random.default_rng(seed).normal(size=model.coef_.size),
        jac=lambda w: 2 / shape[1] * (system @ w - right),
        method="L-BFGS-B",
        options={"maxiter": 10_000, "maxfun": 100_000, "ftol": 0, "gtol": 1e-10},
    )
    assert found.x.reshape(shape[::-1]) == close_to(model.coef_, 1e-6)
    assert model.loss() == close_to(found.fun, 1e-10)


@given(seeds, st.booleans())
@settings(deadline=None, max_examples=50)
def test_closed_form_solves_the_stationarity_system_of_every_problem(seed, wide):
    problem = draw(seed, wide=wide)
    system = problem.hessian()
    assume(np.linalg.cond(system) < 1e6)
    dense = np.linalg.solve(system, np.tile(problem.b, len(problem.lambdas)))
    assert problem.fit().coef_.ravel() == close_to(dense, 1e-8)


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_loss_and_gradient(seed):
    problem = draw(seed)
    model = problem.fit()
    rng = np.random.default_rng(seed)
    W = rng.normal(size=model.coef_.T.shape)
    assert model.loss(W) == close_to(problem.loss(W), 1e-10)
    # The loss is quadratic: central differences have no bias.
    step, numeric = (
        1e-3,
        np.empty_like(W),
    )
    for index in np.ndindex(W.shape):
        shift = np.zeros_like(W)
        shift[index] = step
        numeric[index] = (problem.loss(W + shift) - problem.loss(W - shift)) / (2 * step)
    assert model.gradient(W) == close_to(numeric, 1e-7)


def test_gamma_zero_is_one_ridge_regression_per_head():
    for n_features in [3, 40]:
        for lambdas in [[0.3, 0.3], [0.01, 1.0, 100.0]]:
            rng = np.random.default_rng(0)
            X, y = rng.normal(size=(60, n_features)), rng.integers(0, 2, size=60)
            y[25:] = -1
            model = LinearDiverseEnsemble(len(lambdas), 0.0, lambdas).fit(X, y)
            rows = (X - X.mean(axis=0))[:25]
            for lam, head in zip(lambdas, model.coef_, strict=True):
                ridge = Ridge(alpha=25 * lam, fit_intercept=False, tol=1e-12).fit(
                    rows, 2 * y[:25] - 1
                )
                assert head == close_to(ridge.coef_, 1e-10)


def test_without_unlabelled_rows_gamma_does_not_matter():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    one, other = (LinearDiverseEnsemble(gamma=gamma).fit(X, y) for gamma in (0.0, 100.0))
    assert np.array_equal(one.coef_, other.coef_)
    assert one.diversity() == 0
    assert other.assumption_holds().smallest_lambda == 0


def test_lambda_zero_is_the_least_squares_solution_of_least_norm():
    for n_features in [4, 30]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(12, n_features))
        X[:, 1] = 2 * X[:, 0]  # rank deficient whatever the width
        y = rng.integers(0, 2, size=12)
        model = LinearDiverseEnsemble(2, 0.0, 0.0).fit(X, y)
        expected = LinearRegression(fit_intercept=False).fit(X - X.mean(axis=0), 2 * y - 1).coef_
        assert model.coef_ == close_to(np.tile(expected, (2, 1)), 1e-8)
        assert not model.strictly_convex()


def test_a_feature_that_repeats_another_shares_its_weight():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, size=40)
    X[:, 2] = X[:, 0]
    y[10:] = -1
    model = LinearDiverseEnsemble(3, 1.0, [1.0, 2.0, 4.0]).fit(X, y)
    assert model.coef_[:, 2] == close_to(model.coef_[:, 0], 1e-12)
    assert np.abs(model.gradient()).max() < 1e-12


def test_rows_are_centred():
    problem = draw(3)
    moved = problem._replace(X=problem.X + 5.0)
    assert moved.fit().coef_ == close_to(problem.fit().coef_, 1e-8)


# Convexity


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_assumption_a_makes_the_loss_strictly_convex(seed):
    problem = draw(seed, low=1.001)
    model = problem.fit()
    assert model.assumption_holds()
    assert model.strictly_convex()
    assert np.linalg.eigvalsh(problem.hessian())[0] > 0


@given(seeds, st.booleans())
@settings(deadline=None, max_examples=80)
def test_strict_convexity_is_decided_exactly(seed, wide):
    problem = draw(seed, low=1e-3, high=2, wide=wide)
    eigenvalues = np.linalg.eigvalsh(problem.hessian())
    assume(abs(eigenvalues[0]) > 1e-9 * eigenvalues[-1])
    assert bool(problem.fit().strictly_convex()) == (eigenvalues[0] > 0)


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_the_smallest_lambda_of_convexity_is_sharp_for_equal_heads(seed):
    problem = draw(seed)
    smallest = problem.fit().strictly_convex().smallest_lambda
    assert smallest == close_to(max(0, np.linalg.eigvalsh(problem.B - problem.A)[-1]), 1e-8)
    assume(smallest > 1e-6)
    for factor, convex in [(1 + 1e-6, True), (1 - 1e-6, False)]:
        at = problem._replace(lambdas=np.full_like(problem.lambdas, factor * smallest))
        assert bool(at.fit().strictly_convex()) == convex
        assert (np.linalg.eigvalsh(at.hessian())[0] > 0) == convex


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_assumption_a_asks_for_at_least_m_plus_one_times_too_much(seed):
    problem = draw(seed)
    model = problem.fit()
    needed, asked = (
        model.strictly_convex().smallest_lambda,
        model.assumption_holds().smallest_lambda,
    )
    assert needed <= asked / (len(problem.lambdas) + 1) * (1 + 1e-12)
    # so just outside of the assumption, and until M + 1 times below it, nothing happens
    edge = np.full_like(problem.lambdas, asked / (len(problem.lambdas) + 1) * (1 + 1e-6))
    assert problem._replace(lambdas=edge).fit().strictly_convex()


def uncovered(n_heads, factor, gamma=1.0):
    """Make labelled rows that do not vary along the second feature, which varies most."""
    X = np.array([[1, 0], [-1, 0], [1, 10], [-1, 10], [1, -10], [-1, -10]], dtype=float)
    problem = Problem(X, np.array([1, 0, -1, -1, -1, -1]), gamma, np.ones(n_heads))
    return problem._replace(lambdas=np.full(n_heads, factor * gamma * 100 / (n_heads - 1)))


def test_a_loss_just_below_the_tight_constant_is_not_convex():
    for n_heads in [2, 5]:
        above, below = uncovered(n_heads, 1 + 1e-9), uncovered(n_heads, 1 - 1e-9)
        asked = above.fit().assumption_holds().smallest_lambda
        # M + 1 may be 1, and no less.
        assert above.lambdas[0] == close_to(asked / (n_heads + 1), 1e-8)
        assert above.fit().strictly_convex()
        assert np.linalg.eigvalsh(above.hessian())[0] > 0
        assert not below.fit().strictly_convex()
        assert np.linalg.eigvalsh(below.hessian())[0] < 0
        with pytest.warns(UserWarning, match=r"not convex .* saddle point .* lambdas above"):
            LinearDiverseEnsemble(n_heads, regularization=below.lambdas).fit(below.X, below.y)


def test_a_flat_direction_is_not_strictly_convex_and_no_saddle():
    edge = uncovered(2, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearDiverseEnsemble(2, regularization=edge.lambdas).fit(edge.X, edge.y)
    assert not model.strictly_convex()
    # any multiple of (v, -v) can be added, so the regularisation term is as large as one likes
    W = model.coef_.T + 0.2 * np.array([[0, 0], [1, -1]])
    assert np.abs(model.gradient(W)).max() < 1e-12
    assert model.loss(W) == close_to(model.loss(), 1e-12)
    assert np.mean(edge.lambdas * np.sum(W**2, axis=0)) > 1


# The theorem


@given(seeds, st.booleans())
@settings(deadline=None, max_examples=80)
def test_diversity_identity_at_every_stationary_point(seed, wide):
    """gamma * diversity = value + (reg - 1) / 2: the bound holds just when its condition does."""
    bound = draw(seed, low=1e-3, wide=wide).fit().lower_bound()
    size = max(1.0, abs(bound.value))
    assert abs(bound.diversity - bound.value - (bound.regularization - 1) / 2) < 1e-9 * size
    if abs(bound.regularization - 1) > 1e-8 * size:
        assert (bound.diversity >= bound.value) == bound.applies


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_both_bounds_are_those_of_the_paper(seed):
    problem = draw(seed, low=1e-3)
    model = problem.fit()
    M, W = len(problem.lambdas), model.coef_.T
    labeled = problem.y >= 0
    X_l, y = problem.centred[labeled], 2.0 * problem.y[labeled] - 1
    value = sum(
        np.sum((y - X_l @ w) ** 2) / (2 * len(y) * M)
        + w @ (lam * np.eye(len(w)) + problem.A) @ w / (2 * M)
        for lam, w in zip(problem.lambdas, W.T, strict=True)
    )
    penalty = np.mean(problem.lambdas * np.sum(W**2, axis=0))
    assert model.lower_bound() == close_to(
        (value, problem.gamma * model.diversity(), penalty), 1e-8
    )
    corollary = model.corollary_bound()
    factor = problem.lambdas.min() + np.linalg.eigvalsh(problem.A)[0]
    assert corollary == close_to((factor * np.sum(W**2) / (2 * M), *model.lower_bound()[1:]), 1e-8)
    assert corollary.value <= value * (1 + 1e-9)
    if corollary.applies:
        assert corollary.diversity >= corollary.value


@given(seeds)
@settings(deadline=None, max_examples=80)
def test_regularisation_plus_agreement_stays_below_a_quarter(seed):
    problem = draw(seed, low=1e-3)
    model = problem.fit()
    bound = model.lower_bound()
    fitted = problem.centred[problem.y >= 0] @ model.coef_.T
    a = np.sqrt(np.mean(fitted**2))
    assert bound.regularization - bound.diversity <= a - a**2 + 1e-9 * max(1.0, bound.value)


@given(seeds)
@settings(deadline=None, max_examples=80)
def test_assumption_a_excludes_the_condition_of_the_theorem(seed):
    problem = draw(seed, low=1.0001)
    bound = problem.fit().lower_bound()
    M = len(problem.lambdas)
    assert bound.diversity <= bound.regularization / (M + 1) + 1e-12
    assert bound.regularization <= (M + 1) / (4 * M)
    assert not bound.applies
    assert bound.diversity < bound.value  # the "lower bound" lies above what it bounds


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_a_minimiser_meets_the_condition_only_near_the_edge_of_convexity(seed):
    """reg <= 1 / (4 (1 - gamma / edge)^2), where at gamma = edge the loss stops being convex."""
    problem = draw(seed, low=0.01)
    M = len(problem.lambdas)
    coupled = np.kron(np.ones((M, M)) - np.eye(M), problem.B) / problem.gamma
    edge = -1 / eigvalsh(coupled, problem.hessian() - problem.gamma * coupled)[0]
    assert problem._replace(gamma=0.999 * edge).fit().strictly_convex()
    assert not problem._replace(gamma=1.001 * edge).fit().strictly_convex()
    for share in (0.1, 0.5, 0.9):
        regularization = problem._replace(gamma=share * edge).fit().lower_bound().regularization
        assert regularization <= 1 / (4 * (1 - share) ** 2)


@given(seeds)
@settings(deadline=None, max_examples=50)
def test_equal_lambdas_make_equal_heads_and_no_diversity(seed):
    problem = draw(seed, low=1e-3)
    problem = problem._replace(lambdas=np.full_like(problem.lambdas, problem.lambdas[0]))
    assume(np.linalg.cond(problem.hessian()) < 1e8)  # convex or not, but with one stationary point
    model = problem.fit()
    assert model.coef_ == close_to(np.tile(model.coef_[0], (len(problem.lambdas), 1)), 1e-10)
    assert model.diversity() <= 0
    assert model.lower_bound().regularization <= 0.25


def test_distinct_lambdas_can_make_diverse_heads_under_the_assumption():
    """Heads of unlike lambda point in unlike directions; rows along the difference show it."""
    X_labeled = np.array([[0.4, 4.2], [0.2, -4.2], [-0.2, 1.6], [-0.4, -1.6]])
    lambdas = np.array([0.01, 10.0])
    ridges = [
        Ridge(4 * lam, fit_intercept=False).fit(X_labeled, [1, -1, 1, -1]).coef_ for lam in lambdas
    ]
    difference = np.subtract(*(w / np.linalg.norm(w) for w in ridges))
    X = np.vstack([X_labeled, difference, -difference])
    model = Problem(X, np.array([1, 0, 1, 0, -1, -1]), 1e-3, lambdas).fit()
    assert model.assumption_holds()
    assert np.prod(model.head_decision_function([difference])) < 0
    assert 0 < model.lower_bound().diversity < model.lower_bound().regularization / 3


def test_a_minimiser_can_meet_the_condition_of_the_theorem_outside_the_assumption():
    """d = 1, M = 2: the determinant (lambda_1 + A)(lambda_2 + A) - B^2 is small and positive."""
    X = np.array([1.0, -1, 1, -1, 1, -1])[:, None]
    problem = Problem(X, np.array([1, 0, -1, -1, -1, -1]), 10.0, np.array([1.0, 50.0]))
    # No warning: a minimum.
    model = LinearDiverseEnsemble(2, 10.0, [1.0, 50.0]).fit(problem.X, problem.y)
    bound = model.lower_bound()
    assert np.linalg.eigvalsh(problem.hessian())[0] > 0
    assert model.strictly_convex()
    assert not model.assumption_holds()
    assert bound.applies
    assert bound.diversity >= bound.value > 0


def test_a_regularisation_term_below_a_quarter_can_come_with_positive_diversity():
    """reg >= 1/4 is sufficient for a diversity of at least 0, and not necessary."""
    X = np.array([0.3, -0.3, 0.3, -0.3, 0.3, -0.3])[:, None]
    problem = Problem(X, np.array([1, 0, -1, -1, -1, -1]), 5.0, np.array([0.001, 1.0, 50.0]))
    model = problem.fit()
    bound = model.lower_bound()
    assert np.linalg.eigvalsh(problem.hessian())[0] > 0  # a minimum
    assert bound.regularization == close_to(0.247, 1e-3)
    assert bound.diversity == close_to(0.688, 1e-3)
    heads = X[2:] @ model.coef_.T  # (4, 3)
    products = [(heads[:, m] * heads[:, k]).mean() for m, k in permutations(range(3), 2)]
    assert -5.0 * np.mean(products) == close_to(bound.diversity, 1e-9)


def test_some_stationary_points_with_large_weights_are_saddle_points():
    X = np.array([1.0, -1, 1, -1, 1, -1])[:, None]
    problem = Problem(X, np.array([1, 0, -1, -1, -1, -1]), 10.0, np.array([1.0, 48.0]))
    bound = problem.fit().lower_bound()
    eigenvalues = np.linalg.eigvalsh(problem.hessian())
    assert bound.applies
    assert eigenvalues[0] < 0 < eigenvalues[-1]


# Scores


def test_scores_agreement_and_diversity_say_the_same():
    problem = draw(5)
    model = problem.fit()
    scores = model.head_decision_function(problem.X)
    M = len(problem.lambdas)
    assert scores == close_to(problem.centred @ model.coef_.T, 1e-12)
    assert np.array_equal(model.decision_function(problem.X), scores.mean(axis=1))
    pairs = [scores[:, m] * scores[:, k] for m, k in permutations(range(M), 2)]
    assert model.agreement(problem.X) == close_to(np.mean(pairs, axis=0), 1e-12)
    unlabeled = problem.X[problem.y < 0]
    assert model.diversity() == close_to(-model.agreement(unlabeled).mean(), 1e-12)
    assert model.diversity(model.coef_.T) == model.diversity()


def test_predictions_speak_the_labels_of_the_user():
    X = np.linspace(-1, 1, 20)[:, None]
    y = np.where(X[:, 0] > 0, "yes", "no").astype(object)
    y[5:15] = None
    model = LinearDiverseEnsemble().fit(X, y)
    assert list(model.classes_) == ["no", "yes"]
    assert list(model.predict([[-1.0], [1.0]])) == ["no", "yes"]


# The contract


def test_pipelines_grid_search_and_named_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).astype(int)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearDiverseEnsemble(n_heads=3)),
        {"lineardiverseensemble__regularization": [0.1, [1.0, 2.0, 3.0]]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    model = LinearDiverseEnsemble().fit(X, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c"]])


def test_row_order_and_class_names_do_not_matter():
    problem = draw(8)
    order = np.random.default_rng(0).permutation(len(problem.y))
    shuffled = problem._replace(X=problem.X[order], y=problem.y[order])
    assert shuffled.fit().coef_ == close_to(problem.fit().coef_, 1e-9)
    swapped = problem._replace(y=np.where(problem.y < 0, -1, 1 - problem.y))
    assert swapped.fit().coef_ == close_to(-problem.fit().coef_, 1e-9)


# What the errors say


def test_bad_parameters():
    for parameters, message in [
        ({"n_heads": 1}, "n_heads"),
        ({"gamma": -1.0}, "gamma"),
        ({"regularization": -1.0}, "regularization"),
        (
            {"regularization": [1.0, 2.0]},
            r"shape \(2,\); expected one number, or one per head \(5\)",
        ),
        (
            {"regularization": [1.0, -2.0, 1.0, 1.0, 1.0]},
            "holds -2; every lambda must be at least 0",
        ),
        ({"regularization": [1.0, np.nan, 1.0, 1.0, 1.0]}, "regularization contains NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            LinearDiverseEnsemble(**parameters).fit([[0.0], [1.0], [2.0]], [0, 1, -1])


def test_bad_data():
    X = np.arange(6.0)[:, None]
    with pytest.raises(ValueError, match=r"Only binary classification is supported.*3 classes"):
        LinearDiverseEnsemble().fit(X, [0, 1, 2, 0, 1, -1])
    with pytest.raises(ValueError, match="one class only"):
        LinearDiverseEnsemble().fit(X, [0, 0, 0, -1, -1, -1])
    model = LinearDiverseEnsemble(2, regularization=10).fit(X, [0, 1, 0, 1, -1, -1])
    with pytest.raises(
        ValueError, match=r"W has shape \(2, 1\); expected \(n_features, n_heads\) = \(1, 2\)"
    ):
        model.loss(model.coef_)


def test_a_singular_system_is_refused():
    """d = 1, M = 2, determinant (1 + 1)(49 + 1) - 10^2 = 0: no stationary point."""
    X = np.array([1.0, -1, 1, -1, 1, -1])[:, None]
    with pytest.raises(ValueError, match="change regularization or gamma a little"):
        LinearDiverseEnsemble(2, 10.0, [1.0, 49.0]).fit(X, [1, 0, -1, -1, -1, -1])
