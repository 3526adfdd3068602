"""That the transductive search is exact, and that its bound holds."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import softmax

from chary.method.policies import Round, TransductiveBound


def thresholds(votes, posterior):
    return TransductiveBound().accept(a_vote(votes, posterior)).used["thresholds"]


def a_vote(votes, posterior=None, prediction=None):
    """A round for the transductive policy."""
    votes = np.asarray(votes)
    posterior = votes if posterior is None else np.asarray(posterior)
    prediction = votes.argmax(axis=1) if prediction is None else np.asarray(prediction, np.intp)
    return Round(votes.max(axis=1), votes, prediction, posterior, 1)


# --- Problems, and the definition in the plainest code --------------------------------------------

KINDS = ["softmax", "tied", "one_hot", "saturated", "t_similarity"]


def a_problem(rng, kind, n, n_classes):
    """Votes and posteriors (n, C); sometimes a class has no posterior mass, or no vote."""
    logits = rng.normal(size=(n, n_classes)) * rng.choice([0.5, 2, 5])
    if kind == "softmax":
        votes = posterior = softmax(logits, axis=1)
    elif kind == "tied":
        votes, posterior = rng.integers(0, 9, (2, n, n_classes)) / 8
    elif kind == "one_hot":
        votes, posterior = np.eye(n_classes)[rng.integers(0, n_classes, (2, n))]
    elif kind == "saturated":
        votes = posterior = softmax((30 * logits).astype(np.float32), axis=1)
    else:  # products of probabilities: rows do not sum to one
        votes = softmax(logits, axis=1) * softmax(logits + rng.normal(size=logits.shape), axis=1)
        posterior = softmax(logits, axis=1)
    if rng.random() < 0.3:  # an independent posterior
        posterior = rng.random((n, n_classes))
    if rng.random() < 0.3:
        votes, posterior = votes.copy(), posterior.copy()
        votes[:, rng.integers(n_classes)] = 0
        posterior[:, rng.integers(n_classes)] = 0
    return votes, posterior


def problems(n_problems, max_rows, max_classes, seed=0):
    for number in range(n_problems):
        rng = np.random.default_rng([seed, number])
        n, n_classes = rng.integers(1, max_rows + 1), rng.integers(2, max_classes + 1)
        yield a_problem(rng, KINDS[number % len(KINDS)], n, n_classes)


def dyadic(values, bits):
    """The nearest multiples of 2^-bits: their products and sums have no rounding error."""
    return np.round(values.astype(float) * 2**bits) / 2**bits


def brute_force(votes, posterior, index, j, thetas):
    """N_j (T,) and n_j (T,) as defined: the infimum over every vote, 1, and a dense grid of g."""
    v, p = votes[:, j].astype(float), posterior.astype(float)
    gammas = np.unique(np.concatenate([v, [1.0], np.linspace(0, 1, 42)[1:]]))
    gammas = gammas[gammas > 0]
    between = (v >= thetas[:, None, None]) & (v < gammas[:, None])  # (T, G, n)
    kappa = (p * v[:, None])[index == j].sum(axis=0)  # (C,)
    # (T, G, C)
    value = between @ p + np.maximum(0, kappa - between @ (p * v[:, None])) / gammas[:, None]
    value[thetas[:, None] > gammas] = np.inf
    bound = np.delete(value.min(axis=1), j, axis=1).sum(axis=1)
    return bound, ((index == j) & (v >= thetas[:, None])).sum(axis=1)


def every_threshold(votes, j):
    """0, 1, every vote, and what lies between."""
    ends = np.unique(np.concatenate([votes[:, j].astype(float), [0.0, 1.0]]))
    return np.union1d(ends, (ends[1:] + ends[:-1]) / 2)


def linear_programme(votes, posterior, index, thresholds):
    """Compute n R: for each i != j the largest sum q + s, by linear programming.

    The constraints are sum q v + s <= kappa, q <= p on v >= theta, s >= 0.
    """
    upper, weights, capacity = [], [], []
    for j, theta in enumerate(thresholds):
        for i in range(len(thresholds)):
            if i != j:
                v, p = votes[:, j].astype(float), posterior[:, i].astype(float)
                upper += [*np.where(v >= theta, p, 0), np.inf]
                weights.append([*v, 1.0])
                capacity.append((p * v)[index == j].sum())
    size = len(votes) + 1
    rows = np.zeros((len(weights), len(weights) * size))
    for k, weight in enumerate(weights):
        rows[k, k * size : (k + 1) * size] = weight
    bounds = np.column_stack([np.zeros(len(upper)), upper])
    solution = linprog(-np.ones(len(upper)), A_ub=rows, b_ub=capacity, bounds=bounds)
    assert solution.status == 0
    return -solution.fun


def test_the_search_equals_brute_force():
    for index in ["confidence", "prediction"]:
        for number, (votes, posterior) in enumerate(problems(100, max_rows=9, max_classes=4)):
            prediction = np.random.default_rng(number).integers(0, votes.shape[1], len(votes))
            chosen = votes.argmax(axis=1) if index == "confidence" else prediction
            accepted, used = TransductiveBound(index=index).accept(
                a_vote(votes, posterior, prediction)
            )
            total = 0.0
            for j, theta in enumerate(used["thresholds"]):
                if not (chosen == j).any():
                    assert theta == np.inf
                    continue
                thetas = every_threshold(votes, j)
                bounds, counts = brute_force(votes, posterior, chosen, j, thetas)
                bound, count = bounds[thetas == theta].item(), counts[thetas == theta].item()
                least = (bounds[counts > 0] / counts[counts > 0]).min()
                assert abs(bound / count - least) <= 1e-9 * least + 1e-12
                assert theta in votes[chosen == j, j]
                np.testing.assert_array_equal(accepted[chosen == j], votes[chosen == j, j] >= theta)
                total += bound
            assert used["bound"] == pytest.approx(total / len(votes), rel=1e-9, abs=1e-12)


def test_bound_equals_a_linear_programme():
    for problem in problems(80, max_rows=12, max_classes=4, seed=1):
        # The solver drops weights below 1e-9.
        votes, posterior = (dyadic(values, 12) for values in problem)
        used = TransductiveBound().accept(a_vote(votes, posterior)).used
        value = linear_programme(votes, posterior, votes.argmax(axis=1), used["thresholds"])
        assert used["bound"] * len(votes) == pytest.approx(value, rel=1e-7, abs=1e-7)


# --- What the bound promises ----------------------------------------------------------------------


def test_with_the_true_posterior_the_bound_holds():
    for index in ["confidence", "prediction"]:
        for seed in range(60):
            rng = np.random.default_rng([5, seed])
            n, n_classes = rng.integers(1, 40), rng.integers(2, 5)
            votes, _ = a_problem(rng, KINDS[seed % len(KINDS)], n, n_classes)
            truth, prediction = rng.integers(0, n_classes, (2, n))
            pool = a_vote(votes, np.eye(n_classes)[truth], prediction)
            accepted, used = TransductiveBound(index=index).accept(pool)
            chosen = votes.argmax(axis=1) if index == "confidence" else prediction
            assert (accepted & (chosen != truth)).sum() <= n * used["bound"] + 1e-9


def test_a_certain_posterior_that_agrees_accepts_everything():
    votes = np.array([[0.6, 0.4], [0.9, 0.1], [0.3, 0.7]])
    accepted, used = TransductiveBound().accept(a_vote(votes, np.eye(2)[[0, 0, 1]]))
    assert accepted.all()
    assert used["bound"] == 0
    assert used["thresholds"].tolist() == [0.6, 0.7]  # the smallest of equally good thresholds


def test_index_says_whose_threshold_a_row_has_to_reach():
    votes = np.array([[0.8, 0.0], [0.2, 0.1], [0.7, 0.3], [0.6, 0.1], [0.3, 1.0]])
    first = np.array([0.9, 0.3, 0.7, 0.5, 0.5])
    pool = a_vote(votes, np.column_stack([first, 1 - first]), prediction=[1, 0, 0, 0, 1])
    # Row 0: the confidence says class 0, far above its threshold; the prediction head says class 1.
    by_confidence = TransductiveBound(index="confidence").accept(pool)
    by_prediction = TransductiveBound().accept(pool)  # as the paper's numbers show
    assert (
        by_confidence.used["thresholds"].tolist()
        == by_prediction.used["thresholds"].tolist()
        == [0.6, 1]
    )
    assert by_confidence.accepted.tolist() == [True, False, True, True, True]
    assert by_prediction.accepted.tolist() == [False, False, True, True, True]


def test_a_mixed_index_counts_by_the_prediction_and_accepts_by_the_confidence():
    rng = np.random.default_rng(0)
    n_apart = 0
    for _ in range(30):
        votes, posterior = rng.dirichlet(np.ones(3), 40) ** 1.5, rng.dirichlet(np.ones(3), 40)
        prediction = np.where(rng.random(40) < 0.3, rng.integers(3, size=40), votes.argmax(axis=1))
        pool = a_vote(votes, posterior, prediction=prediction)
        mixed, by_prediction, by_confidence = (
            TransductiveBound(index=index).accept(pool)
            for index in ("mixed", "prediction", "confidence")
        )
        np.testing.assert_array_equal(mixed.used["thresholds"], by_prediction.used["thresholds"])
        assert mixed.used["bound"] == by_prediction.used["bound"]
        expected = [max(row) >= mixed.used["thresholds"][np.argmax(row)] for row in votes]
        assert mixed.accepted.tolist() == expected
        n_apart += mixed.accepted.tolist() not in (
            by_prediction.accepted.tolist(),
            by_confidence.accepted.tolist(),
        )
    assert n_apart > 20


def test_a_class_that_is_not_predicted_has_an_infinite_threshold():
    assert thresholds([[0.6, 0.4], [0.7, 0.3]], [[0.6, 0.4]] * 2)[1] == np.inf


def test_a_vote_of_zero_counts_its_mass():
    # Nothing has weight here, so capacity 0 still pays for the row: its posterior is the bound.
    used = TransductiveBound().accept(a_vote([[0.0, 0.0]], [[0.25, 0.75]])).used
    assert used["thresholds"].tolist() == [0, np.inf]
    assert used["bound"] == 0.75


def test_one_row_one_class():
    assert thresholds([[0.3]], [[1.0]]).tolist() == [0.3]


def test_float32_rounding_beyond_the_unit_interval_is_forgiven():
    votes = np.array([[1 + 1e-7, -1e-9]], np.float32)
    accepted, used = TransductiveBound().accept(a_vote(votes))
    assert accepted.all()
    assert used["thresholds"].tolist() == [1, np.inf]
    assert (
        TransductiveBound(index="prediction").accept(a_vote(votes, prediction=[1])).accepted.all()
    )


def test_row_order_is_irrelevant_to_the_last_bit_of_long_sums():
    rng = np.random.default_rng(6)
    # A few distinct votes, every posterior its own.
    votes = softmax(rng.integers(0, 4, (500, 3)), axis=1)
    posterior = rng.random((500, 3))
    orders = [rng.permutation(500) for _ in range(20)]
    results = [
        TransductiveBound().accept(a_vote(votes[order], posterior[order])).used for order in orders
    ]
    assert len({(*used["thresholds"], used["bound"]) for used in results}) == 1


def test_bad_input_gets_one_sentence():
    for votes, posterior, sentence in [
        ([[3.0, 0.5]], [[0.5, 0.5]], "class_confidence must be finite and in [0, 1]."),
        ([[0.5, 0.5]], [[np.nan, 0.5]], "posterior must be finite and in [0, 1]."),
    ]:
        with pytest.raises(ValueError) as error:  # noqa: PT011 (the whole message is compared)
            thresholds(votes, posterior)
        assert str(error.value) == sentence
