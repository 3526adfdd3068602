"""Coordinates of the picture of the bias: what is drawn is what was counted."""

from chary.report.page import density_outlines


def test_bins_are_steps_under_a_common_top():
    lines = density_outlines({"labeled": [1.0, 0.0], "unlabeled": [0.5, 0.5]})
    assert lines["labeled"] == "0,180 0.0,9.0 320.0,9.0 320.0,180.0 640.0,180.0 640,180"
    assert lines["unlabeled"] == "0,180 0.0,94.5 320.0,94.5 320.0,94.5 640.0,94.5 640,180"
    assert density_outlines(None) is None
