"""Learning in the background: what is asked for last counts, and an error leaves what was there."""

import pytest

from chary.review.background import Superseded


def test_the_columns_that_are_used_come_first_before_anything_is_learned(bench):
    learning = bench.learning
    assert learning.columns == []
    summary = {"columns": [{"name": "id", "used": False}, {"name": "age", "used": True}]}
    learning._diagnosed = "", summary
    assert learning.columns == ["age", "id"]
    assert learning.diagnosis is summary


def test_work_that_nobody_wants_any_more_shows_nothing(bench, labelled):
    def superseded(step):
        raise Superseded

    with pytest.raises(Superseded):
        bench.learning._adopt(superseded, labelled, "key", None)
    assert bench.learning.result is None
    bench.learning._adopt(lambda step: None, labelled, "key", None)
    assert bench.learning.result.codes is labelled.codes
    assert bench.state()["stale"]


def test_an_error_of_the_fit_is_said_and_what_was_learned_stays(bench, labelled, monkeypatch):
    bench.learning._adopt(lambda step: None, labelled, "key", None)
    monkeypatch.setattr(bench.job, "diagnose", lambda *asked: 1 / 0)
    bench.relearn()
    assert bench.learning.background.wait(60)
    state = bench.state()
    assert "ZeroDivisionError" in state["work"]["error"]
    assert state["learned"]


def test_another_error_changes_what_is_accepted_and_no_label(bench, labelled):
    bench.learning._adopt(lambda step: None, labelled, "key", None)
    bench.change({"error": 0.3})
    assert bench.learning.background.wait(60)
    assert bench.learning.result.accept.sum() > labelled.labels.labeled.sum()
    assert (bench.learning.result.codes == labelled.codes).all()
    assert "chary_accept" in bench.paths.labels.read_text().split("\n")[0]
