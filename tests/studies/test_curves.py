"""The paper's curves of calibration errors, as read from a picture."""

import math

import pytest

from chary.studies.curves import calibration_curves, likeness


def test_twelve_panels_that_fall_in_the_picture():
    curves = calibration_curves()
    sets = ("cod_rna", "mushrooms", "phishing", "rice", "splice", "svmguide1")
    assert set(curves) == {(name, labeling) for name in sets for labeling in ("iid", "ssb")}
    for curve in curves.values():
        assert list(curve.t_similarity) == [0, 0.5, 1, 1.5, 2]
        assert all(0 < value < 100 for value in (curve.softmax, *curve.t_similarity.values()))
    # What the paper says of them: lower with diversity than without, in all panels; below softmax but in one.
    assert all(curve.t_similarity[2.0] < curve.t_similarity[0.0] for curve in curves.values())
    above = [place for place, curve in curves.items() if curve.t_similarity[0.0] > curve.softmax]
    assert above == [("svmguide1", "ssb")]


def test_likeness_is_that_of_shapes():
    curve = {0.0: 3.0, 0.5: 1.0, 1.0: 2.0, 2.0: 5.0}
    assert likeness(curve, {x: 7 - 2 * y for x, y in curve.items()}) == pytest.approx(-1)
    assert likeness(curve, {**curve, 3.0: 9.0}) == pytest.approx(1)  # where both have a point
    assert math.isnan(likeness(curve, {0.0: 1.0, 1.0: 2.0}))
