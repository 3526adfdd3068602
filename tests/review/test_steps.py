"""The steps of a review, and the one obvious next."""

import pytest

from chary.review.steps import next_step, steps_of


def state(audit=None, **more):
    work = {"running": more.pop("running", False)}
    return {"kind": "label", "audit": audit, "work": work, "learned": True, "stale": False, "checked": 0, **more}


def sheet(left, answered=10, rule="planned"):
    return {"drawn": 30, "answered": answered, "skipped": 0, "left": left, "rule": rule}


@pytest.mark.parametrize(
    ("now", "page", "words"),
    [
        (state(), "/", "Draw random rows to label"),
        (state(sheet(17)), "/audit", "Label 17 more random rows"),
        (state(sheet(1)), "/audit", "Label 1 more random row"),
        (state(sheet(0), running=True), "/truth", "as soon as they are judged"),
        (state(sheet(0), stale=True), "/review", "Learn from your answers"),
        (state(sheet(0)), "/truth", "See how many labels are right"),
    ],
)
def test_the_next_step_is_the_obvious_one(now, page, words):
    found = next_step(now)
    assert found["page"] == page
    assert words in found["words"]


def test_steps_are_done_when_what_they_are_for_is():
    def done(now, written=True):
        return {step["page"] for step in steps_of(now, written) if step["done"]}

    assert done(state()) == set()
    assert done(state(sheet(3))) == {"/"}
    assert done(state(sheet(0))) == {"/", "/audit", "/truth", "/result"}
    assert done(state(sheet(0), stale=True, checked=2)) == {"/", "/audit", "/review"}
    assert "/truth" in done(state(sheet(3, rule="live")))
    assert "/review" not in {step["page"] for step in steps_of(state(kind="judge"), False)}
