"""Figures of the rules against independent oracles; the order of the rows changes nothing."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from chary.labelling.defaults import DEFAULTS, Defaults
from chary.labelling.diagnose import prepare
from chary.labelling.rules import (
    OutOfFold,
    lean_to_commonest_class,
    leave_out_useless_texts,
    rows_to_hold_out,
)
from chary.method.labels import Labels
from chary.tables import Table


@given(seed=st.integers(0, 2**32 - 1), n_labeled=st.integers(0, 30), n_others=st.integers(0, 30))
def test_rows_to_hold_out_are_all_labelled_ones_and_some_others_whatever_the_order(
    seed, n_labeled, n_others
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    codes = np.where(np.arange(30) < n_labeled, rng.integers(0, 2, 30), -1)
    rows = rows_to_hold_out(X, Labels(np.array(["a", "b"]), codes, codes >= 0), n_others, 0)
    assert sorted(rows[:n_labeled]) == list(range(n_labeled))
    others = rows[n_labeled:]
    assert len(set(others)) == len(others) == min(n_others, 30 - n_labeled)
    assert (codes[others] < 0).all()

    order = rng.permutation(30)
    moved = Labels(np.array(["a", "b"]), codes[order], codes[order] >= 0)
    np.testing.assert_array_equal(order[rows_to_hold_out(X[order], moved, n_others, 0)], rows)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), signal=st.floats(0, 1))
def test_the_mixture_leans_if_the_commonest_class_is_better_by_an_exact_one_sided_test(
    seed, n, signal
):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.zeros(n, int), rng.integers(0, 2, n)])
    scores = rng.normal(size=(2 * n, 2)) + signal * np.eye(2)[codes]
    held = OutOfFold(np.arange(2 * n), [(None, np.arange(2 * n))], codes, scores)
    labels = Labels(np.array(["a", "b"]), codes, codes >= 0)

    is_right = scores.argmax(axis=1) == codes
    is_commonest = codes == np.bincount(codes).argmax()
    n_won = int((is_commonest & ~is_right).sum())
    n_lost = int((is_right & ~is_commonest).sum())
    p_value = 1.0
    if n_won + n_lost:
        p_value = binomtest(n_won, n_won + n_lost, alternative="greater").pvalue
    leaning = lean_to_commonest_class(held, labels)
    assert (leaning is not None) == (p_value < DEFAULTS.lean_p)
    if leaning is not None:
        assert leaning.amount == 2
        assert leaning.figures == pytest.approx(
            {
                "right": is_right.mean(),
                "right_by_commonest": is_commonest.mean(),
                "p_value": p_value,
            }
        )


def test_numbers_that_no_decision_shows_are_as_they_were():
    assert DEFAULTS.share_trees == 100
    assert DEFAULTS.quick_trees == 40
    assert DEFAULTS.quick_rows == 500
    assert DEFAULTS.coverage_rows == 2_000
    assert DEFAULTS.check_reference_rows == 600
    assert DEFAULTS.nearer_shares == 0.03


def test_texts_stay_where_no_label_can_be_held_out_or_nothing_is_left_beside_them():
    texts = [f"{word} one two {k % 7}" for k in range(60) for word in ("good", "bad")]
    given_codes = np.full(120, -1)
    given_codes[:2] = [0, 1]
    few = Labels(np.array(["a", "b"]), given_codes, given_codes >= 0)
    always = Defaults(text_loss_ratio=1e9)
    x = np.random.default_rng(0).normal(size=120)
    beside = pl.DataFrame({"x": x, "text": texts, "y": ["a"] * 120})
    many_codes = np.where(np.arange(120) < 60, np.arange(120) % 2, -1)
    many = Labels(np.array(["a", "b"]), many_codes, many_codes >= 0)
    for frame, labels, is_left_out in (
        (beside, few, False),
        (beside.drop("x"), many, False),
        (beside, many, True),
    ):
        prepared = prepare(Table(frame, "t"), "y", text=["text"])
        left_out = leave_out_useless_texts(prepared, labels, always)
        assert (left_out is not None) is is_left_out
    assert left_out.rule == "leave_out_useless_texts"
    # The word in each text gives its label away; x does not.
    assert left_out.figures["loss"] < 0.2 < left_out.figures["loss_without"]
    assert left_out.figures["loss_without"] < 2
