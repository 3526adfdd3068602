"""What decides a row, and all: oracles, ties, and nothing that depends on blocks or the order of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from chary.evaluation import explaining
from chary.evaluation.explaining import decisive, effects, importance, screened, spread_rows


class Additive:
    """Two classes whose log-odds are a sum of functions of one feature each."""

    def __init__(self, *functions):
        self.functions = functions

    def parts(self, X):
        return np.column_stack([f(X[:, j]) for j, f in enumerate(self.functions)])

    def predict_proba(self, X):
        p = 1 / (1 + np.exp(-self.parts(np.asarray(X, dtype=float)).sum(axis=1)))
        return np.column_stack([1 - p, p])


def each(d):
    return [np.array([j]) for j in range(d)]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


MODEL = Additive(lambda x: 2 * x, np.sin, lambda x: 0 * x, lambda x: x * x)


def test_in_an_additive_model_an_effect_is_what_the_group_adds_above_its_mean():
    X, background = rows(30, 4), rows(9, 4, seed=1)
    ones, zeros = np.ones(30, dtype=int), np.zeros(30, dtype=int)
    expected = MODEL.parts(X.astype(float)) - MODEL.parts(background.astype(float)).mean(axis=0)
    np.testing.assert_allclose(effects(MODEL, X, ones, background, each(4)), expected, atol=1e-3)
    np.testing.assert_allclose(effects(MODEL, X, zeros, background, each(4)), -expected, atol=1e-3)


def test_features_of_one_group_move_together():
    """Their joint effect, where each alone would have none: x0 and x1 count only if they are equal."""

    class Equal:
        def predict_proba(self, X):
            p = np.where((X[:, 0] > 0) == (X[:, 1] > 0), 0.9, 0.1)
            return np.column_stack([1 - p, p])

    X = np.array([[1, 1, 5]], dtype=np.float32)
    background = np.array([[-1, -1, 7]], dtype=np.float32)
    together = effects(Equal(), X, np.array([1]), background, [np.array([0, 1]), np.array([2])])
    alone = effects(Equal(), X, np.array([1]), background, each(3))
    np.testing.assert_array_equal(together, [[0, 0]])
    np.testing.assert_allclose(alone, [[2 * np.log(9), 2 * np.log(9), 0]], atol=1e-4)


def test_brute_force_over_rows_and_groups_agrees():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 6)).astype(np.float32), rng.integers(0, 3, 60)
    model = LogisticRegression().fit(X, y)
    groups, background = [np.array([0, 3]), np.array([1]), np.array([2, 4, 5])], X[:5]
    codes = model.predict(X[:8])
    found = effects(model, X[:8], codes, background, groups)

    def score(row, code):
        p = model.predict_proba(row[None])[0, code]
        return np.log(p / (1 - p))

    for i in range(8):
        for g, own in enumerate(groups):
            moved = []
            for other in background:
                changed = X[i].copy()
                changed[own] = other[own]
                moved.append(score(X[i], codes[i]) - score(changed, codes[i]))
            assert found[i, g] == pytest.approx(np.mean(moved), abs=2e-4)


@settings(max_examples=15)
@given(cells=st.integers(1, 400), part=st.integers(1, 300), seed=st.integers(0, 5))
def test_neither_the_size_of_a_block_nor_the_order_of_the_rows_matters(cells, part, seed):
    rng = np.random.default_rng(seed)
    X, background = rows(20, 4, seed), rows(5, 4, seed + 1)
    codes, order = rng.integers(0, 2, 20), rng.permutation(20)
    whole = effects(MODEL, X, codes, background, each(4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(explaining, "_BLOCK_CELLS", cells)
        patch.setattr(explaining, "_PART_CELLS", part)
        np.testing.assert_array_equal(
            effects(MODEL, X[order], codes[order], background[::-1], each(4)), whole[order]
        )
        np.testing.assert_array_equal(
            importance(MODEL, X[order], each(4)).change, importance(MODEL, X, each(4)).change
        )


def test_a_column_that_is_the_same_everywhere_is_never_named():
    X = rows(40, 3)
    X[:, 1] = 2.5
    model = Additive(lambda x: x, lambda x: 100 * x, lambda x: -x)
    found = effects(model, X, np.ones(40, dtype=int), X[:8], each(3))
    assert (found[:, 1] == 0).all()
    assert 1 not in decisive(found)
    assert importance(model, X, each(3)).change[1] == 0


def test_where_nothing_speaks_for_a_label_nothing_is_named():
    np.testing.assert_array_equal(decisive(np.array([[-1.0, 0.0, -0.2]])), [[-1, -1, -1]])


def test_of_equal_effects_the_first_column_comes_first_and_weak_ones_are_left_out():
    np.testing.assert_array_equal(decisive(np.array([[1.0, 3.0, 3.0, 3.0, 0.7]])), [[1, 2, 3]])
    np.testing.assert_array_equal(decisive(np.array([[0.2, 1.0, 0.25]])), [[1, 2, -1]])
    np.testing.assert_array_equal(decisive(np.array([[2.0]])), [[0]])


def test_probabilities_of_nought_and_one_are_no_infinity():
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    model.coef_[:] = 1e6
    found = effects(model, np.array([[5.0]]), np.array([1]), np.array([[-5.0]]), each(1))
    assert found[0, 0] == pytest.approx(2 * np.log(1e6), abs=1e-2)


def test_importance_is_of_the_column_that_decides():
    X = rows(500, 3)
    model = Additive(lambda x: 0 * x, lambda x: 8 * np.sign(x), lambda x: 0.01 * x)
    found = importance(model, X, each(3))
    assert found.change.argmax() == 1
    assert found.flipped[0] == found.change[0] == 0
    assert found.flipped[1] == pytest.approx(0.5, abs=0.08)  # a coin for each row
    assert found.n_rows == 500


def test_importance_looks_at_no_more_rows_than_it_may():
    calls = []

    class Counting(Additive):
        def predict_proba(self, X):
            calls.append(len(X))
            return super().predict_proba(X)

    found = importance(Counting(*[lambda x: x] * 10), rows(5_000, 10), each(10), most_predictions=400)
    assert found.n_rows == 40
    assert sum(calls) <= 400 + 40


def test_screening_keeps_what_goes_with_the_predictions_straight_or_not():
    X = rows(800, 50)
    p = 1 / (1 + np.exp(-2 * X[:, 30] - 3 * (np.square(X[:, 7]) - 1)))
    probs = np.column_stack([1 - p, p])
    kept = screened(X, probs, each(50), 5)
    assert {7, 30} <= set(kept.tolist())
    assert kept.tolist() == sorted(kept.tolist())
    assert screened(X, probs, each(50), 50).tolist() == list(range(50))


def test_spread_rows_are_the_same_whatever_the_order_and_fair_to_equal_rows():
    X = np.repeat(np.array([[0.0], [1.0], [2.0]], dtype=np.float32), [600, 300, 100], axis=0)
    order = np.random.default_rng(0).permutation(1000)
    counts = [np.bincount(some[spread_rows(some, 10), 0].astype(int), minlength=3) for some in (X, X[order])]
    np.testing.assert_array_equal(counts[0], counts[1])
    np.testing.assert_array_equal(counts[0], [6, 3, 1])
    other = rows(100, 3)
    shuffled = np.random.default_rng(1).permutation(100)
    picked = [np.sort(some[spread_rows(some, 7)], axis=0) for some in (other, other[shuffled])]
    np.testing.assert_array_equal(picked[0], picked[1])
    assert len(spread_rows(other, 500)) == 100
    assert len(spread_rows(other[:0], 5)) == 0
