"""What keeping the most confident rows would mean, counted on held-out labels."""

import numpy as np
import pytest
from scipy.stats import binom

from chary.evaluation import HeldOut
from chary.jobs.acceptance import acceptance_levels


def test_acceptance_levels_count_held_out_errors():
    confidence = np.linspace(0, 1, 100)
    judged = HeldOut(np.zeros(40), np.arange(40) % 4 > 0, np.linspace(0, 1, 40), np.ones(40))
    levels = acceptance_levels(confidence, judged)
    assert [level.n_rows for level in levels] == [100, 90, 75, 50, 25, 10]
    half = levels[3]
    as_confident = judged.confidence >= half.threshold
    assert half.n_judged == as_confident.sum() == 20
    assert half.error == pytest.approx((~judged.correct[as_confident]).mean())
    # Clopper and Pearson: at the limit, so few errors have a chance of five in a hundred.
    n_wrong = int((~judged.correct[as_confident]).sum())
    assert binom.cdf(n_wrong, half.n_judged, half.error_high) == pytest.approx(0.05)
    assert levels[-1].error is None  # four rows are too few


def test_all_wrong_is_all_wrong():
    judged = HeldOut(np.zeros(20), np.zeros(20, dtype=bool), np.ones(20), np.ones(20))
    assert acceptance_levels(np.full(5, 0.5), judged)[0].error_high == 1.0
