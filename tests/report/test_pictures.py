"""Coordinates of the pictures: what is drawn is what was counted."""

from hypothesis import given
from hypothesis import strategies as st

from chary.report.page import bar_lengths, outlines


def test_bins_are_steps_under_a_common_top():
    lines = outlines({"labeled": [1.0, 0.0], "unlabeled": [0.5, 0.5]}, width=20, height=100)
    assert lines["labeled"] == "0,100 0.0,5.0 10.0,5.0 10.0,100.0 20.0,100.0 20,100"
    assert lines["unlabeled"] == "0,100 0.0,52.5 10.0,52.5 10.0,52.5 20.0,52.5 20,100"


def test_no_row_at_all_draws_a_flat_line():
    assert outlines({"all": [0, 0]}, width=20, height=100) == {
        "all": "0,100 0.0,100.0 10.0,100.0 10.0,100.0 20.0,100.0 20,100"
    }


@given(st.lists(st.floats(-1e6, 1e6), max_size=10))
def test_bars_of_differences_are_in_proportion_and_only_the_largest_fills_the_track(differences):
    lengths = bar_lengths(differences)
    most = max(map(abs, differences), default=0)
    assert all(abs(n - 100 * abs(d) / most) <= 0.5 for n, d in zip(lengths, differences, strict=True) if most)
    assert max(lengths, default=0) == (100 if most else 0)


def test_an_infinite_difference_is_longer_than_any_other():
    assert bar_lengths([float("inf"), 2.0, -1.0]) == [100, 80, 40]
    assert bar_lengths([float("-inf")]) == [100]
