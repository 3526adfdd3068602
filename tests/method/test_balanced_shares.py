"""The class shares of the aim "balanced" against brute force, and what must not matter to them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import softmax

from chary import DiverseEnsembleClassifier, MixedEnsembleClassifier, SelfTrainingClassifier
from chary.method import priors as information
from chary.method.labels import Labels
from chary.method.priors import ClassPrior, align, balanced_shares, match_means, most_informative
from chary.method.priors import information as informed


def plain_information(scores, offset):
    """The definition, H(mean p) - mean H(p), with rows as rows."""
    probs = softmax(scores + offset, axis=1)

    def entropy(p):
        return -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1)

    return entropy(probs.mean(axis=0)) - entropy(probs).mean()


def scores_of(seed, n=80, n_classes=3, spread=4.0):
    rng = np.random.default_rng(seed)
    return spread * rng.standard_normal((n, n_classes)) + rng.standard_normal(n_classes)


def shares_of(scores, offset):
    return np.bincount((scores + offset).argmax(axis=1), minlength=scores.shape[1]) / len(scores)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 40))
@settings(max_examples=15)
def test_information_is_its_definition_and_its_gradient_that_of_finite_differences(
    seed, n_classes, n
):
    scores = scores_of(seed, n, n_classes)
    offset = np.random.default_rng(seed).standard_normal(n_classes)
    height, slope = informed(scores.T.copy(), offset)
    assert height == pytest.approx(plain_information(scores, offset), abs=1e-10)
    numeric = approx_fprime(offset, lambda b: plain_information(scores, b), 1e-6)
    np.testing.assert_allclose(slope, numeric, atol=1e-5)


def test_of_two_classes_the_best_offset_of_a_grid_is_found():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        share = rng.uniform(0.1, 0.9)
        leaning = np.where(
            rng.random(200) < share, rng.normal(-3, 2, 200), rng.normal(4, 1, 200)
        ) + rng.normal(0, 2)
        scores = np.column_stack([-leaning, leaning]) / 2
        grid = np.linspace(-12, 12, 1201)
        best = grid[np.argmax([plain_information(scores, np.array([-b, b]) / 2) for b in grid])]
        found = most_informative(scores.T.copy())
        assert found[1] - found[0] == pytest.approx(best, abs=0.02)
        assert found.sum() == pytest.approx(0, abs=1e-9)


def test_of_three_classes_no_offset_of_a_grid_is_more_informative():
    for seed in range(2):
        scores = scores_of(seed)
        grid = np.linspace(-5, 5, 31)
        best = max(plain_information(scores, np.array([0, a, b])) for a in grid for b in grid)
        assert plain_information(scores, most_informative(scores.T.copy())) >= best - 1e-9


def test_shares_are_half_way_to_those_of_the_most_informative_predictions():
    scores = scores_of(0, n_classes=4, spread=1.0)
    z = scores - scores.mean(axis=1, keepdims=True)
    z *= 4 / np.sqrt(np.mean(z**2))
    end = softmax(z + most_informative(z.T.copy()), axis=1).mean(axis=0)
    np.testing.assert_allclose(balanced_shares(scores), (shares_of(scores, 0) + end) / 2, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
@settings(max_examples=12)
def test_order_of_rows_and_of_classes_and_scale_do_not_matter(seed, n_classes):
    scores = 0.2 * scores_of(seed, n_classes=n_classes, spread=1.0)
    rng = np.random.default_rng(seed)
    shares, classes = balanced_shares(scores), rng.permutation(n_classes)
    assert balanced_shares(scores[rng.permutation(len(scores))]).tolist() == shares.tolist()
    np.testing.assert_allclose(balanced_shares(scores[:, classes]), shares[classes], atol=1e-5)
    np.testing.assert_allclose(
        balanced_shares(2 * scores + rng.standard_normal((len(scores), 1))), shares, atol=1e-5
    )
    assert shares.sum() == pytest.approx(1)


def test_of_many_rows_some_are_enough_and_their_order_still_does_not_matter(monkeypatch):
    scores = scores_of(1, n=6000, n_classes=4)
    every = balanced_shares(scores)
    monkeypatch.setattr(information, "_MOST_ROWS", 500)
    some = balanced_shares(scores)
    np.testing.assert_allclose(some, every, atol=0.02)
    assert some.tolist() != every.tolist()
    assert balanced_shares(scores[::-1]).tolist() == some.tolist()


def test_scores_that_say_nothing_and_single_rows_move_nothing():
    for n in [1, 2, 30]:
        constant = np.zeros((n, 3))
        assert np.isfinite(align(constant, balanced_shares(constant))).all()
        alike = np.tile([[0.0, 1.0, -1.0]], (n, 1))
        offset = align(alike, balanced_shares(alike))
        assert (alike + offset).argmax(axis=1).tolist() == [1] * n


def test_rows_with_equal_scores_stay_together():
    scores = np.repeat([[2.0, 0.0], [0.3, 0.0]], [50, 10], axis=0)
    labels = (scores + align(scores, balanced_shares(scores))).argmax(axis=1)
    assert labels.tolist() == [0] * 50 + [1] * 10


def test_a_class_that_no_row_has_by_itself_gets_the_rows_that_lean_to_it():
    rng = np.random.default_rng(0)
    leaning = np.concatenate([rng.normal(-6, 0.5, 300), rng.normal(-1.5, 0.5, 40)])
    scores = np.column_stack([-leaning, leaning, np.full(340, -9.0)]) / 2
    assert shares_of(scores, 0).tolist() == [1, 0, 0]
    shares = balanced_shares(scores)
    assert (shares > 0).all()
    given = (scores + align(scores, shares)).argmax(axis=1) == 1
    assert given[300:].mean() > 0.5
    assert not given[:300].any()


def test_how_far_below_a_probability_of_a_thousandth_a_score_is_does_not_matter():
    """The logarithm of a probability of 0 would drown all other scores."""
    scores = scores_of(0, n_classes=3, spread=1.0)
    scores[::4, 0] = -30
    deeper = np.where(scores == -30, -708, scores)
    np.testing.assert_allclose(balanced_shares(deeper), balanced_shares(scores), atol=1e-9)


def test_with_known_shares_each_row_goes_where_its_class_would_gain_most():
    """True probabilities: labels maximise the expected balanced accuracy, by brute force."""
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((4000, 2))
    scores -= scores.mean(axis=1, keepdims=True)
    scores *= 4 / np.sqrt(np.mean(scores**2))
    prior = np.array([0.8, 0.2])
    probs = softmax(scores + match_means(scores.T.copy(), prior, np.zeros(2), 1e-9), axis=1)

    def expected(
        share,
    ):  # balanced accuracy if that share of the rows, the likeliest, goes to the second class
        second = np.argsort(-probs[:, 1])[: round(share * 4000)]
        chosen = np.isin(np.arange(4000), second)
        return (probs[~chosen, 0].sum() / prior[0] + probs[chosen, 1].sum() / prior[1]) / 8000

    best = max(np.linspace(0.01, 0.99, 197), key=expected)
    found = balanced_shares(scores / 4, prior)[1]
    assert found == pytest.approx(best, abs=0.02)
    assert expected(found) > expected(best) - 1e-3 > max(expected(0.2), expected(0.5))


def test_the_aim_is_resolved_with_the_class_prior():
    labels = Labels(np.array(["a", "b", "c"]), np.array([0, 1, 2, -1, -1]), np.arange(5) < 3)
    scores = scores_of(5)
    assert ClassPrior.of(None, labels, "accuracy").offset(lambda: scores).tolist() == [0, 0, 0]
    moved = ClassPrior.of(None, labels, "balanced").offset(lambda: scores)
    np.testing.assert_allclose(moved, align(scores, balanced_shares(scores)))
    labels = labels._replace(codes=np.array([0, 1, -1, -1, -1]), labeled=np.arange(5) < 2)
    told = ClassPrior.of([0.5, 0.5, 0.0], labels, "balanced")
    offset = told.offset(lambda: scores)
    assert offset[2] == -np.inf
    np.testing.assert_allclose(
        offset[:2], align(scores[:, :2], balanced_shares(scores[:, :2], told.unlabeled_shares[:2]))
    )


@pytest.fixture(scope="module")
def lopsided():
    """A class of a tenth of the rows, which few labels have."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (450, 2)), rng.normal([2.2, 0], 1, (50, 2))])
    truth = np.repeat(["common", "rare"], [450, 50])
    y = np.full(500, None)
    y[[*range(40), 450, 451, 452, 453]] = truth[[*range(40), 450, 451, 452, 453]]
    return X, y, truth


@pytest.mark.parametrize(
    "model",
    [
        MixedEnsembleClassifier(random_state=0),
        DiverseEnsembleClassifier(n_steps=150, random_state=0),
        SelfTrainingClassifier(
            DiverseEnsembleClassifier(n_steps=100), max_rounds=1, random_state=0
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_classifier_finds_more_of_a_rare_class(model, lopsided):
    X, y, truth = lopsided
    hidden = y == None  # noqa: E711 - element by element

    def recalls(fitted):
        right = fitted.predict(X[hidden]) == truth[hidden]
        return right[truth[hidden] == "common"].mean(), right[truth[hidden] == "rare"].mean()

    plain, aimed = (
        model.fit(X, y),
        type(model)(**{**model.get_params(deep=False), "aim": "balanced"}).fit(X, y),
    )
    before, after = recalls(plain), recalls(aimed)
    assert after[1] > before[1] + 0.1
    assert sum(after) > sum(before)
    assert not plain.class_bias_.any()
    assert aimed.class_bias_[1] > 0
    labels = aimed.classes_[aimed.predict_proba(X).argmax(axis=1)]
    assert (aimed.predict(X) == labels).all()
    assert not hasattr(aimed, "decision_function")


def test_rounds_learn_from_the_likeliest_labels_and_the_aim_comes_after_them(lopsided):
    X, y, _ = lopsided
    given = DiverseEnsembleClassifier(n_steps=50)
    plain, aimed = (
        SelfTrainingClassifier(given, max_rounds=2, aim=aim, random_state=0).fit(X, y)
        for aim in ("accuracy", "balanced")
    )
    assert plain.n_rounds_ == 2
    assert plain.transduction_.tolist() == aimed.transduction_.tolist()
    assert (plain.predict(X) != aimed.predict(X)).any()
    few = SelfTrainingClassifier(
        given, max_rounds=1, aim="balanced", max_pool=100, random_state=0
    ).fit(X, y)
    assert few.class_bias_.any()
