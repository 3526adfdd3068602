"""Confidences against their definitions, and what they promise for any probabilities."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import entropy as scipy_entropy

from chary.method import confidence as room
from chary.method.confidence import (
    CONFIDENCES,
    confidence_auroc,
    entropy,
    expected_calibration_error,
    margin,
    max_probability,
    risk_coverage_curve,
    scores_of,
    t_share,
    t_similarity,
)


@st.composite
def head_probs(draw):
    """Probabilities (n, M, C), among them certain and nearly certain ones."""
    shape = draw(st.integers(1, 5)), draw(st.integers(2, 5)), draw(st.integers(2, 5))
    return softmax(draw(arrays(np.float64, shape, elements=st.floats(-800, 800))), axis=-1)


def by_pairs(head_probs, weights=None):
    """The definition, class by class: the mean over ordered pairs of different heads."""
    n_heads = head_probs.shape[1]
    weights = np.ones(n_heads) if weights is None else weights
    pairs = list(permutations(range(n_heads), 2))
    terms = sum(weights[m] * weights[k] * head_probs[:, m] * head_probs[:, k] for m, k in pairs)
    return terms / sum(weights[m] * weights[k] for m, k in pairs)  # (n, C)


@given(head_probs())
def test_t_similarity_is_the_mean_over_pairs(probs):
    assert_allclose(t_similarity(probs), by_pairs(probs).sum(axis=1), rtol=0, atol=1e-12)
    assert_allclose(t_similarity(probs, per_class=True), by_pairs(probs), rtol=0, atol=1e-12)


@given(head_probs(), st.data())
def test_weighted_t_similarity_weighs_each_pair_by_both_heads(probs, data):
    weights = np.array(
        data.draw(st.lists(st.floats(0.01, 10), min_size=probs.shape[1], max_size=probs.shape[1]))
    )
    assert_allclose(
        t_similarity(probs, weights=weights), by_pairs(probs, weights).sum(axis=1), atol=1e-11
    )
    assert_allclose(
        t_similarity(probs, weights=7 * weights), t_similarity(probs, weights=weights), atol=1e-11
    )
    assert_allclose(
        t_similarity(probs, weights=np.ones_like(weights)), t_similarity(probs), atol=1e-12
    )


@given(head_probs())
def test_t_similarity_lies_between_0_and_1_and_is_the_sum_of_its_classes(probs):
    similarity = t_similarity(probs)
    assert similarity.shape == (len(probs),)
    assert ((similarity >= 0) & (similarity <= 1)).all()
    assert_allclose(t_similarity(probs, per_class=True).sum(axis=1), similarity, rtol=0, atol=1e-12)


@given(head_probs(), st.randoms(use_true_random=False))
def test_t_similarity_does_not_depend_on_the_order_of_heads_or_classes(probs, random):
    heads = random.sample(range(probs.shape[1]), probs.shape[1])
    classes = random.sample(range(probs.shape[2]), probs.shape[2])
    assert_allclose(t_similarity(probs[:, heads]), t_similarity(probs), rtol=0, atol=1e-14)
    assert_allclose(t_similarity(probs[:, :, classes]), t_similarity(probs), rtol=0, atol=1e-14)


@given(head_probs(), st.data())
def test_the_class_share_is_that_of_the_pairs_and_of_the_predicted_class(probs, data):
    n_heads = probs.shape[1]
    weights = np.array(data.draw(st.lists(st.floats(0.1, 10), min_size=n_heads, max_size=n_heads)))
    prediction = np.array(
        data.draw(
            st.lists(st.integers(0, probs.shape[2] - 1), min_size=len(probs), max_size=len(probs))
        )
    )
    for w in (None, weights):
        pairs = by_pairs(probs, w)  # (n, C)
        shares = t_share(probs, weights=w)
        assert ((shares >= 0) & (shares <= 1)).all()
        for row, of_pairs in zip(shares, pairs, strict=True):
            if of_pairs.sum() > 1e-6:  # below, rounding decides
                assert_allclose(row, of_pairs / of_pairs.sum(), rtol=0, atol=1e-6)
        assert_array_equal(
            t_share(probs, prediction, weights=w),
            [s[c] for s, c in zip(shares, prediction, strict=True)],
        )


def test_the_class_share_of_heads_that_agree_on_nothing_is_0():
    assert t_share(np.eye(3)[None]).tolist() == [[0, 0, 0]]
    hesitant = np.full((1, 5, 2), 0.5)
    assert t_share(hesitant, np.array([1])).tolist() == [0.5]  # what they agree on, not how far


@given(st.integers(2, 20), st.integers(2, 20), st.data())
def test_t_similarity_is_1_when_all_heads_are_certain_of_one_class(n_heads, n_classes, data):
    certain = np.zeros((1, n_heads, n_classes))
    certain[:, :, data.draw(st.integers(0, n_classes - 1))] = 1
    assert t_similarity(certain).item() == 1


@given(head_probs())
def test_t_similarity_serves_torch_tensors_alike(probs):
    torch = pytest.importorskip("torch")
    weights = np.arange(1.0, 1 + probs.shape[1])
    tensor = torch.from_numpy(probs)
    for per_class in (False, True):
        similarity = t_similarity(tensor, per_class)
        assert isinstance(similarity, torch.Tensor)
        assert_allclose(similarity.numpy(), t_similarity(probs, per_class), rtol=0, atol=1e-14)
    weighted = t_similarity(tensor, weights=torch.from_numpy(weights))
    assert_allclose(weighted.numpy(), t_similarity(probs, weights=weights), rtol=0, atol=1e-14)


def test_t_similarity_of_a_tensor_can_be_differentiated():
    torch = pytest.importorskip("torch")
    probs = torch.full((1, 3, 2), 0.5, dtype=torch.float64, requires_grad=True)
    t_similarity(probs).sum().backward()
    assert_allclose(probs.grad.numpy(), 1 / 3)  # d/dh_m = 2 (sum of the other heads) / (M (M - 1))


def test_t_similarity_keeps_the_precision_of_its_input():
    assert t_similarity(np.full((1, 2, 2), 0.5, dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("shape", [(40, 3, 4), (1, 3, 4), (5, 6, 3, 4), (3, 4)])
def test_t_similarity_of_many_rows_is_that_of_each_to_the_bit(shape, monkeypatch):
    probs = np.random.default_rng(0).dirichlet(np.ones(4), shape[:-1])
    weights = np.array([0.5, 2.0, 1.0])
    at_once = t_similarity(probs), t_similarity(probs, True, weights=weights)
    monkeypatch.setattr(room, "_NUMBERS_AT_ONCE", 10)
    assert (t_similarity(probs) == at_once[0]).all()
    assert (t_similarity(probs, True, weights=weights) == at_once[1]).all()


def test_t_similarity_needs_two_heads():
    with pytest.raises(ValueError, match="compares heads with each other: got 1, at least 2"):
        t_similarity(np.ones((3, 1, 2)))


@pytest.mark.parametrize("n_rows", [1, 100_000])
def test_t_similarity_refuses_logits(n_rows):
    with pytest.raises(ValueError, match="head sum to 3 over the classes"):
        t_similarity(np.ones((n_rows, 2, 3)))


def test_t_similarity_needs_two_positive_weights_and_no_negative_one():
    for weights in [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, -1.0, 1.0], [3.0, -0.1, 3.0]]:
        with pytest.raises(
            ValueError, match="weights of the heads must be at least 0, two of them positive"
        ):
            t_similarity(np.full((1, 3, 2), 0.5), weights=np.array(weights))


def test_a_head_of_weight_0_is_as_if_absent():
    probs = softmax(np.random.default_rng(0).standard_normal((4, 3, 2)), axis=-1)
    weights = np.array([1.0, 0.0, 1.0])
    assert_allclose(
        t_similarity(probs, weights=weights), t_similarity(probs[:, [0, 2]]), rtol=1e-12
    )


def test_t_similarity_is_never_above_1_by_rounding():
    certain = np.zeros((1, 3, 2))
    certain[:, :, 0] = 1
    weights = np.array([0.65, 0.28, 0.05])  # whose pairs do not add up to the last digit
    assert t_similarity(certain, weights=weights).item() == 1
    assert t_similarity(certain, True, weights=weights).tolist() == [[1, 0]]


def test_probabilities_above_1_by_rounding_give_no_confidence_above_1():
    # As softmax in float32 gives them, and in float64.
    certain = np.array([[1.0, 2e-8], [1 + 2**-52, 0.0]])
    heads = np.stack([certain, certain], axis=1)
    assert t_similarity(heads).tolist() == [1, 1]
    assert (t_similarity(heads, per_class=True) <= 1).all()
    assert entropy(certain[1:]).item() == 1


def test_agreement_of_a_single_row_or_of_rows_in_several_axes():
    probs = softmax(np.random.default_rng(0).standard_normal((2, 4, 3, 5)), axis=-1)
    by_row = t_similarity(probs.reshape(8, 3, 5))
    assert_allclose(t_similarity(probs), by_row.reshape(2, 4), rtol=1e-12)
    assert t_similarity(probs[0, 0]).item() == pytest.approx(by_row[0])
    shares = t_share(probs.reshape(8, 3, 5))
    assert_allclose(t_share(probs), shares.reshape(2, 4, 5), rtol=1e-12)
    assert_allclose(t_share(probs[0, 0]), shares[0], rtol=1e-12)


@st.composite
def class_probs(draw):
    return draw(head_probs())[:, 0]


@given(class_probs())
def test_probability_confidences_follow_their_definitions(probs):
    n_classes = probs.shape[1]
    descending = np.sort(probs, axis=1)[:, ::-1]
    assert_array_equal(max_probability(probs), descending[:, 0])
    assert_array_equal(margin(probs), descending[:, 0] - descending[:, 1])
    assert_allclose(
        entropy(probs), 1 - scipy_entropy(probs, base=n_classes, axis=1), rtol=0, atol=1e-12
    )


@given(class_probs())
def test_probability_confidences_lie_between_0_and_1(probs):
    for confidence in CONFIDENCES.values():
        values = confidence(probs)
        assert values.shape == (len(probs),)
        assert ((values >= 0) & (values <= 1)).all()


@given(st.integers(2, 30))
def test_probability_confidences_at_their_ends(n_classes):
    certain, uniform = np.eye(n_classes)[:1], np.full((1, n_classes), 1 / n_classes)
    for confidence, least in (
        (max_probability, 1 / n_classes),
        (margin, 0),
        (entropy, 0),
        (CONFIDENCES["purity"], 1 / n_classes),
    ):
        assert confidence(certain).item() == 1
        assert confidence(uniform).item() == pytest.approx(least, abs=1e-12)


@given(head_probs())
def test_probabilities_of_heads_have_a_confidence_each(probs):
    for confidence in (max_probability, entropy):
        each = np.stack([confidence(probs[:, m]) for m in range(probs.shape[1])], axis=1)
        assert_allclose(confidence(probs), each, rtol=0, atol=1e-12)


def test_a_confidence_is_called_by_the_name_of_its_function():
    assert {name: function.__name__ for name, function in CONFIDENCES.items()} == {
        n: n for n in CONFIDENCES
    }
    for name in ("t_similarity", "t_share", *CONFIDENCES):
        assert scores_of(np.full((2, 2), 0.5), name, np.full((2, 3, 2), 0.5)).confidence.shape == (
            2,
        )
    with pytest.raises(
        ValueError,
        match="kind='sure' is not a confidence; choose one of t_similarity, t_share, max",
    ):
        scores_of(np.full((2, 2), 0.5), "sure")


@given(
    arrays(
        np.float64,
        st.tuples(*[st.integers(1, 4)] * 2, st.integers(2, 5)),
        elements=st.floats(-1e6, 1e6),
    )
)
def test_softmax_is_that_of_scipy_in_the_memory_of_the_logits(logits):
    expected = softmax(logits, axis=-1)
    found = room.softmax(logits)
    assert found is logits
    assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


def test_what_each_class_is_worth_in_each_confidence():
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])
    assert_array_equal(scores_of(probs, "softmax").class_confidence, probs)
    assert_allclose(scores_of(probs, "margin").class_confidence, [[0.3, 0, 0], [0, 0, 0.4]])
    own = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.1]])  # numbers that somebody else made
    assert_array_equal(scores_of(probs, own).confidence, [0.7, 0.5])
    # A little more than one in all, as float32 gives it.
    certain = np.tile([[[1.0, 1e-7]]], (2, 3, 1))
    assert_array_equal(scores_of(certain[:, 0], "t_similarity", certain).confidence, 1)


# -- How good a confidence is

# Coarse values make ties and values on the edges of bins common.
pairs = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda k: k / 10)), st.booleans()),
    min_size=1,
    max_size=40,
)


def split(rows):
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


@given(rows=pairs, n_bins=st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_equal_width_against_a_loop_over_bins(rows, n_bins):
    confidence, correct = split(rows)
    edges = np.linspace(0, 1, n_bins + 1)
    error = 0.0
    for b in range(n_bins):
        inside = (confidence > edges[b]) & (confidence <= edges[b + 1])
        if b == 0:
            inside |= confidence == 0
        if inside.any():
            error += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    assert expected_calibration_error(confidence, correct, n_bins) == pytest.approx(error)


def test_equal_mass_against_rows_sorted_and_cut():
    rng = np.random.default_rng(0)
    confidence = rng.beta(4, 1, size=120)
    correct = rng.uniform(size=120) < 0.7
    for n_bins in (1, 4, 15):
        parts = np.array_split(np.argsort(confidence), n_bins)
        error = sum(len(p) / 120 * abs(correct[p].mean() - confidence[p].mean()) for p in parts)
        assert expected_calibration_error(
            confidence, correct, n_bins, bins="mass"
        ) == pytest.approx(error)


@given(rows=pairs.filter(lambda rows: len(rows) <= 6))
@settings(max_examples=60, deadline=None)
def test_risk_coverage_is_the_mean_over_all_orders_of_tied_rows(rows):
    confidence, correct = split(rows)
    curves = []
    for order in permutations(range(len(rows))):
        order = np.array(order)
        if np.all(np.diff(confidence[order]) <= 0):
            curves.append(np.cumsum(~correct[order]) / np.arange(1, len(rows) + 1))
    curve = risk_coverage_curve(confidence, correct)
    assert curve.risk == pytest.approx(np.mean(curves, axis=0))
    assert curve.area == pytest.approx(np.mean(curves))
    assert curve.coverage[-1] == 1
    assert curve.risk[-1] == pytest.approx((~correct).mean())


@given(rows=pairs)
@settings(max_examples=60, deadline=None)
def test_auroc_counts_pairs(rows):
    confidence, correct = split(rows)
    right, wrong = confidence[correct], confidence[~correct]
    if len(right) == 0 or len(wrong) == 0:
        assert np.isnan(confidence_auroc(confidence, correct))
    else:
        wins = (right[:, None] > wrong).mean() + 0.5 * (right[:, None] == wrong).mean()
        assert confidence_auroc(confidence, correct) == pytest.approx(wins)


def test_a_calibrated_confidence_has_no_error_and_an_overconfident_one_has():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, size=200_000)
    correct = rng.uniform(size=200_000) < confidence
    for bins in ("width", "mass"):
        assert expected_calibration_error(confidence, correct, bins=bins) < 0.005
        assert expected_calibration_error(np.ones(200_000), correct, bins=bins) == pytest.approx(
            0.25, abs=0.005
        )


def test_fifteen_bins_of_equal_width_are_usual():
    confidence = np.linspace(0, 1, 31)
    assert expected_calibration_error(confidence, confidence > 0.5) == pytest.approx(
        expected_calibration_error(confidence, confidence > 0.5, n_bins=15, bins="width")
    )


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([], [], "confidence must hold numbers from 0 to 1"),
        ([1.2], [True], "confidence must hold numbers from 0 to 1"),
        ([np.nan], [True], "confidence must hold numbers from 0 to 1"),
        ([0.1, -0.5, 1.0], [True] * 3, "confidence must hold numbers from 0 to 1"),
        ([0.5, 0.6, 0.7], [0, 2, 1], "correct whether a prediction was right"),
        ([0.5, 0.6], [True], "inconsistent"),
    ],
)
def test_bad_input_is_named(confidence, correct, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(confidence, correct)
    with pytest.raises(ValueError, match="choose 'width' or 'mass'"):
        expected_calibration_error([0.5], [True], bins="log")
