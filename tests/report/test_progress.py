"""The share of the work that is done, and the time that is left."""

import pytest

from chary.report.progress import Pace


def test_the_share_done_grows_and_the_time_left_is_that_of_the_steps_before():
    now = [0.0]
    pace, shares = Pace(clock=lambda: now[0]), []
    for step, seconds in (
        ("Reading", 2),
        ("Preparing columns", 5),
        ("Comparing labelled and unlabelled rows", 10),
    ):
        pace.step(step)
        now[0] += seconds
        shares.append(pace.share)
    pace.step("Training")
    assert shares == sorted(shares)
    assert pace.share == pytest.approx(17 / 100)
    assert pace.words == "17%, about 83 s left"  # as long as usual: what is left takes 83 seconds
    pace.step("Labelling: 1,000 of 4,000 rows")
    assert pace.share == pytest.approx((96 + 2 / 4) / 100)
    pace.step("Preparing columns")  # again, with an audit
    assert pace.share == pytest.approx(2 / 100)
    other = Pace(clock=lambda: now[0])
    other.step("Comparing with other models: 3 of 10")
    now[0] += 6
    assert other.words == "30%, about 14 s left"
