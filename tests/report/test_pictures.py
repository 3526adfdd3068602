"""Coordinates of the pictures: what is drawn is what was counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chary.report.page import bar_lengths, contrast_picture, density_outlines, histogram_bars


def test_density_outlines_have_a_common_top():
    density = {"grid": [0.0, 1.0, 2.0], "labeled": [0.0, 1.0, 0.0], "unlabeled": [0.0, 0.5, 0.0]}
    lines = density_outlines(density, width=20, height=108)
    assert lines["labeled"] == "0,108 0.0,108.0 10.0,8.0 20.0,108.0 20,108"
    assert lines["unlabeled"] == "0,108 0.0,108.0 10.0,58.0 20.0,108.0 20,108"
    assert density_outlines(None) is None


def test_bins_are_steps_under_a_common_top():
    contrast = {"groups": [], "edges": [0.0, 1.0, 2.0], "labeled": [1.0, 0.0], "unlabeled": [0.5, 0.5]}
    picture = contrast_picture({**contrast, "unit": "number"}, width=20, height=106)
    assert picture["outlines"]["labeled"] == "0,106 0.0,6.0 10.0,6.0 10.0,106.0 20.0,106.0 20,106"
    assert picture["outlines"]["unlabeled"] == "0,106 0.0,56.0 10.0,56.0 10.0,56.0 20.0,56.0 20,106"
    assert picture["ends"] == ["≤ 0", "≥ 2"]
    dates = contrast_picture({**contrast, "edges": [17_722.0, 18_000.0, 18_321.9], "unit": "date"})
    assert dates["ends"] == ["≤ 2018-07-10", "≥ 2020-02-29"]
    assert contrast_picture({**contrast, "unit": "topic"})["ends"] == ["less", "more"]


def test_groups_are_pairs_of_bars_of_which_the_longest_fills_its_track():
    contrast = {"groups": ["a", "b"], "edges": [], "labeled": [0.8, 0.2], "unlabeled": [0.4, 0.6]}
    bars = contrast_picture(contrast)["bars"]
    assert [bar["name"] for bar in bars] == ["a", "b"]
    assert [bar["lengths"] for bar in bars] == [[100, 50], [25, 75]]


def test_bars_stand_on_each_other_and_the_highest_fills_the_picture():
    bars = histogram_bars({"learned": [1, 0, 0, 2], "predicted": [1, 1, 0, 2]}, width=128, height=160)
    assert [bar["x"] for bar in bars] == [2, 34, 66, 98]
    assert bars[0]["title"] == "0.00 to 0.25: 1 learned, 1 predicted"
    assert bars[-1]["learned_height"] + bars[-1]["other_height"] == pytest.approx(152)
    assert bars[-1]["other_y"] + bars[-1]["other_height"] == pytest.approx(bars[-1]["learned_y"])
    assert bars[2]["other_height"] == 0


def test_no_row_at_all_draws_nothing():
    bars = histogram_bars({"learned": [0] * 20, "predicted": [0] * 20})
    assert all(bar["other_height"] == bar["learned_height"] == 0 for bar in bars)


@given(st.lists(st.floats(-1e6, 1e6), max_size=10))
def test_bars_of_differences_are_in_proportion_and_only_the_largest_fills_the_track(differences):
    lengths = bar_lengths(differences)
    most = max(map(abs, differences), default=0)
    assert all(abs(n - 100 * abs(d) / most) <= 0.5 for n, d in zip(lengths, differences, strict=True) if most)
    assert max(lengths, default=0) == (100 if most else 0)


def test_an_infinite_difference_is_longer_than_any_other():
    assert bar_lengths([float("inf"), 2.0, -1.0]) == [100, 80, 40]
    assert bar_lengths([float("-inf")]) == [100]
