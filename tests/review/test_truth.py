"""What an audit says, as the page shows it: the figures of the job, and no promise beyond them."""

import numpy as np
import pytest

from chary.evaluation import count_interval
from chary.jobs import judge_table
from chary.review.truth import ERRORS, nothing, truth_of_judged, truth_of_labels
from chary.tables import scan_table


def test_labels_of_a_model(labelled):
    found, audit = truth_of_labels(labelled), labelled.audit
    assert (found["accuracy"]["low"], found["accuracy"]["high"]) == (audit.before.low, audit.before.high)
    assert f"{audit.before.correct} of 12 random rows" in found["accuracy"]["words"]
    assert "exact" in found["accuracy"]["words"]
    assert found["after"]["low"] == audit.after.low
    assert "approximate" in found["after"]["words"]
    assert found["promised"]["held_out"]["accuracy"] == labelled.judged.correct.mean()
    assert found["rows_to_accept"] == (~labelled.labels.labeled).sum()
    assert set(found) == set(nothing(""))


def test_what_can_be_accepted_is_what_the_job_would_accept(labelled):
    levels = {one["error"]: one for one in truth_of_labels(labelled)["acceptance"]}
    assert tuple(levels) == ERRORS
    assert "230 audited rows or more are needed" in levels[0.01]["words"]
    for error in (0.2, 0.3):
        asked = labelled.at_error(error)
        assert levels[error]["count"] == int((asked.accept & ~labelled.labels.labeled).sum())
        assert levels[error]["count"] == asked.audit.asked.n_accepted
    assert levels[0.3]["count"] > 0
    assert levels[0.3]["threshold"] is not None


def test_shares_are_exact_limits_of_the_answers(labelled):
    answers, shares = labelled.audit.answers, truth_of_labels(labelled)["shares"]
    population = int((~labelled.labels.labeled).sum()) + len(answers.rows)
    for share in shares:
        low, high = count_interval(int((answers.labels == share["name"]).sum()), 12, population)
        assert (share["low"], share["high"]) == (low / population, high / population)
    assert sum(share["labels"] for share in shares) == pytest.approx(1)


def test_labels_of_anybody():
    labels = ["b" if i % 10 == 7 else "a" for i in range(300)]
    truth = np.array([None] * 300, dtype=object)
    truth[::5] = "a"
    confidence = [0.1 if i % 10 == 7 else 0.9 for i in range(300)]
    scan = scan_table({"x": range(300), "rule": labels, "sure": confidence})
    judged = judge_table(scan, ["rule"], truth.tolist(), confidence="sure")
    found = truth_of_judged(judged)
    assert (found["accuracy"]["right"], found["accuracy"]["n"]) == (60, 60)
    assert found["acceptance"][9]["count"] == judged.weighed.at(0.1).n_accepted > 0
    assert {share["name"] for share in found["shares"]} == {"a", "b"}
    assert set(found) == set(nothing(""))
