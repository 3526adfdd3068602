"""Learning in the background: what is asked for last counts, and an error leaves what was there."""

from threading import Event

import pytest

from chary._words import Parameter
from chary.review.background import Background, Superseded
from chary.review.start_page import overview
from chary.tables import TableError


def test_work_tells_its_step_and_ends(wait):
    background, go, done = Background(), Event(), []

    def task(progress):
        progress("Learning")
        assert go.wait(60)
        done.append(True)

    assert not background.view()["running"]
    background.start(task)
    while background.view()["step"] != "Learning":
        pass
    assert background.view()["running"]
    go.set()
    assert wait(background)
    assert done == [True]
    found = background.view()
    assert (found["running"], found["step"], found["error"]) == (False, "Learning", "")


def test_what_was_asked_for_last_is_done_and_what_was_before_let_go(wait):
    background, begun, go, done = Background(), Event(), Event(), []

    def first(progress):
        begun.set()
        assert go.wait(60)
        progress("Writing")
        done.append("first")

    background.start(first)
    assert begun.wait(60)
    background.start(lambda progress: done.append("second"))
    background.start(lambda progress: done.append("third"))
    go.set()
    assert wait(background)
    assert done == ["third"]


def test_an_error_is_a_sentence_and_the_next_work_is_done(wait):
    background, done = Background(), []

    def fails(progress):
        raise TableError("It is odd; leave ", Parameter("error"), " out.")

    background.start(fails)
    assert wait(background)
    assert background.view()["error"] == "It is odd; leave the error on the page Truth out."
    background.start(lambda progress: done.append(True))
    assert wait(background)
    assert background.view()["error"] == ""
    assert done
    background.close()


def test_the_end_waits_for_the_step_at_hand_but_not_for_ever():
    begun, go = Event(), Event()

    def task(progress):
        begun.set()
        go.wait(10)

    background = Background()
    background.start(task)
    assert begun.wait(10)
    background.close(patience=0.01)
    assert background._thread.is_alive()
    go.set()
    background.close()
    assert not background._thread.is_alive()


def test_work_that_nobody_wants_any_more_shows_nothing(bench, labelled):
    def superseded(step):
        raise Superseded

    with pytest.raises(Superseded):
        bench._adopt(superseded, labelled, ("key",))
    assert bench.result is None
    bench._adopt(lambda step: None, labelled, ("key",))
    assert bench.result.codes is labelled.codes
    assert overview(bench, {})["stale"]


def test_an_error_of_the_fit_is_said_and_what_was_learned_stays(bench, labelled, monkeypatch, wait):
    bench._adopt(lambda step: None, labelled, ("key",))
    monkeypatch.setattr(bench.job, "run", lambda *asked: 1 / 0)
    bench.learn()
    assert wait(bench.background)
    state = overview(bench, {})
    assert "ZeroDivisionError" in state["work"]["error"]
    assert state["learned"]


def test_another_error_changes_what_is_accepted_and_no_label(bench, labelled, wait):
    bench._adopt(lambda step: None, labelled, ("key",))
    bench.choose_error(0.6)
    assert wait(bench.background)
    assert bench.result.accept.sum() > labelled.labels.labeled.sum()
    assert (bench.result.codes == labelled.codes).all()
    assert "chary_accept" in bench.paths.labels.read_text().split("\n")[0]
