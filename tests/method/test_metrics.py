"""Calibration and selection figures, each against an independent oracle."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.method import confidence_auroc, expected_calibration_error, risk_coverage_curve

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
        assert expected_calibration_error(confidence, correct, n_bins, bins="mass") == pytest.approx(error)


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
        assert expected_calibration_error(np.ones(200_000), correct, bins=bins) == pytest.approx(0.25, abs=0.005)


def test_fifteen_bins_of_equal_width_are_usual():
    confidence = np.linspace(0, 1, 31)
    assert expected_calibration_error(confidence, confidence > 0.5) == pytest.approx(
        expected_calibration_error(confidence, confidence > 0.5, n_bins=15, bins="width")
    )


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([], [], "confidence is empty"),
        ([1.2], [True], r"must lie in \[0, 1\]"),
        ([np.nan], [True], r"must lie in \[0, 1\]"),
        ([0.5], [2], "correct must be true or false"),
        ([0.1, 0.5, 1.2, 0.4], [True] * 4, r"must lie in \[0, 1\], got 0.1 to 1.2"),
        ([0.1, -0.5, 1.0], [True] * 3, r"must lie in \[0, 1\], got -0.5 to 1"),
        ([0.1, np.nan, 1.0], [True] * 3, r"must lie in \[0, 1\]"),
        ([0.5, 0.6, 0.7], [0, 2, 1], "correct must be true or false"),
        ([0.5, 0.6], [True], "inconsistent"),
    ],
)
def test_bad_input_is_named(confidence, correct, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error(confidence, correct)
    with pytest.raises(ValueError, match="choose 'width' or 'mass'"):
        expected_calibration_error([0.5], [True], bins="log")
