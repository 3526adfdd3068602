"""What keeping the most confident rows would mean, counted on held-out labels."""

import numpy as np
import pytest
from scipy.stats import binom

from chary.evaluation import Acceptance, HeldOut, Score, Tally
from chary.jobs import AuditFigures
from chary.jobs.acceptance import acceptable, acceptance_levels, check_error
from chary.tables import AuditAnswers, TableError


def test_acceptance_levels_count_held_out_errors():
    confidence = np.linspace(0, 1, 100)
    judged = HeldOut(np.zeros(40), np.arange(40) % 4 > 0, np.linspace(0, 1, 40), np.ones(40))
    levels = acceptance_levels(Tally.of(confidence), judged)
    assert [level.n_rows for level in levels] == [100, 90, 75, 50, 25, 10]
    half = levels[3]
    as_confident = np.round(judged.confidence, 4) >= half.threshold
    assert half.n_judged == as_confident.sum() == 20
    assert half.error == pytest.approx((~judged.correct[as_confident]).mean())
    # Clopper and Pearson: at the limit, so few errors have a chance of five in a hundred.
    n_wrong = int((~judged.correct[as_confident]).sum())
    assert binom.cdf(n_wrong, half.n_judged, half.error_high) == pytest.approx(0.05)
    assert levels[-1].error is None  # four rows are too few


def test_all_wrong_is_all_wrong():
    judged = HeldOut(np.zeros(20), np.zeros(20, dtype=bool), np.ones(20), np.ones(20))
    assert acceptance_levels(Tally.of(np.full(5, 0.5)), judged)[0].error_high == 1.0


def audit_with(threshold):
    asked = None if threshold is None else Acceptance(threshold, 1, 30, 0, 0.1, 0.9)
    score = Score(27, 30, 0.7, 0.98, 0.95)
    answers = AuditAnswers(np.arange(2), np.array(["a", "b"]), 2, 0, 0)
    return AuditFigures(answers, score, score, score, {}, None, [], None, 0, asked)


def test_rows_are_accepted_from_a_confidence_on_as_files_show_it():
    labeled = np.array([True, False, False, False, False])
    confidence = np.array([1.0, 0.60906, 0.6091, 0.7, 0.2])
    settled = np.array([True, True, True, False, True])  # the model would not give the fourth label again
    found = acceptable(audit_with(0.6091), labeled, confidence, settled)
    assert found.tolist() == [True, True, True, False, False]
    assert acceptable(audit_with(np.inf), labeled, confidence, settled).tolist() == labeled.tolist()
    assert acceptable(audit_with(None), labeled, confidence, settled) is None
    assert acceptable(None, labeled, confidence, settled) is None


@pytest.mark.parametrize("error", [0, 1, 10, -0.1, float("nan"), "10%", True])
def test_an_error_that_is_no_share_is_refused(error):
    with pytest.raises(TableError, match="no share of wrong labels"):
        check_error(error, "audit.csv")


def test_an_error_without_an_audit_is_refused():
    check_error(None, None)
    check_error(0.1, "audit.csv")
    check_error(np.float32(0.1), "audit.csv")
    with pytest.raises(TableError, match="only rows drawn at random"):
        check_error(0.1, None)
