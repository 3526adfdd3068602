"""Coordinates of the pictures: what is drawn is what was counted."""

import pytest

from chary.report.pictures import bar_length, density_outlines, histogram_bars


def test_density_outlines_have_a_common_top():
    density = {"grid": [0.0, 1.0, 2.0], "labeled": [0.0, 1.0, 0.0], "unlabeled": [0.0, 0.5, 0.0]}
    lines = density_outlines(density, width=20, height=108)
    assert lines["labeled"] == "0,108 0.0,108.0 10.0,8.0 20.0,108.0 20,108"
    assert lines["unlabeled"] == "0,108 0.0,108.0 10.0,58.0 20.0,108.0 20,108"
    assert density_outlines(None) is None


def test_bars_stand_on_each_other_and_the_highest_fills_the_picture():
    bars = histogram_bars({"accepted": [1, 0, 0, 2], "predicted": [1, 1, 0, 2]}, width=128, height=160)
    assert [bar["x"] for bar in bars] == [2, 34, 66, 98]
    assert bars[0]["title"] == "0.00 to 0.25: 1 accepted, 1 predicted"
    assert bars[-1]["accepted_height"] + bars[-1]["other_height"] == pytest.approx(152)
    assert bars[-1]["other_y"] + bars[-1]["other_height"] == pytest.approx(bars[-1]["accepted_y"])
    assert bars[2]["other_height"] == 0


def test_no_row_at_all_draws_nothing():
    bars = histogram_bars({"accepted": [0] * 20, "predicted": [0] * 20})
    assert all(bar["other_height"] == bar["accepted_height"] == 0 for bar in bars)


@pytest.mark.parametrize(("difference", "length"), [(0, 0), (-1, 50), (2, 100), (float("inf"), 100)])
def test_bars_of_differences_end_at_their_track(difference, length):
    assert bar_length(difference) == length
