"""What each page shows: start, audit, truth."""

from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest

from chary._words import percent
from chary.audit.filling import CLASS_KEYS, Filling
from chary.audit.judge import judge_table
from chary.options import JudgeOptions, ReviewOptions
from chary.review.audit_page import audit_page, draw_more
from chary.review.errors import KINDS
from chary.review.result_page import result_page
from chary.review.row_to_label import (
    MOST_CHARACTERS,
    checked_answer,
    fields_of,
    keys_of,
    number_in,
)
from chary.review.start_page import next_page, start_page
from chary.review.truth_page import ERRORS, NOT_YET, truth_of_judged, truth_of_labels, truth_page
from chary.tables import TableError, open_source


def test_columns_are_there_before_their_kinds_are(bench):
    page = start_page(bench, {})
    size, _, name = page["columns"]
    assert (size["name"], size["kind"], name["examples"]) == ("size", "", ["n0", "n1", "n2"])
    assert (page["kinds"], size["chosen"]) == (list(KINDS), None)
    assert page["diagnosis"] is None
    assert (page["rows"], page["labelled"]) == (240, 77)


def test_the_diagnosis_is_that_of_the_report(bench, wait):
    bench.learn()
    assert wait(bench.background)
    page, summary = start_page(bench, {}), bench.diagnosis
    assert summary["verdict"] == bench.result.diagnosis.verdict
    found = page["diagnosis"]
    assert (found["verdict"], found["tone"]) == (summary["verdict"], "bad")
    assert {column["name"]: column["kind"] for column in page["columns"]}["name"] == "identifier"


def test_the_result_names_the_learner_and_why_it_was_chosen(bench, wait):
    bench.learn()
    assert wait(bench.background)
    settings = bench.result.settings
    learner = result_page(bench, {})["learner"]
    assert learner == f"{settings['learner_words']}, because {settings['why_learner']}."


def state(audit=None, **more):
    work = {"running": more.pop("running", False)}
    found = {"learned": True, "stale": False}
    return {"kind": "label", "audit": audit, "work": work, **found, **more}


def sheet(left, answered=10, rule="planned"):
    return {"drawn": 30, "answered": answered, "skipped": 0, "left": left, "rule": rule}


@pytest.mark.parametrize(
    ("now", "page", "words"),
    [
        (state(), "/", "Draw random rows to label"),
        (state(sheet(17)), "/audit", "Label 17 more random rows"),
        (state(sheet(1)), "/audit", "Label 1 more random row"),
        (state(sheet(0), running=True), "/truth", "Wait for the result"),
        (state(sheet(0), stale=True), "/review", "Learn from your answers"),
        (state(sheet(0)), "/truth", "See how many labels are right"),
    ],
)
def test_the_next_step_is_the_obvious_one(now, page, words):
    found = next_page(now)
    assert found["page"] == page
    assert words in found["words"]


def test_the_next_row_is_the_first_without_an_answer(bench):
    draw_more(bench, {"k": 4})
    filling = Filling(bench.paths.audit)
    filling.answer(1, "cat")
    filling.answer(3, "?")
    shown = audit_page(bench, {})
    assert shown["row"]["place"] == 2
    assert [field["name"] for field in shown["row"]["fields"]] == ["size", "speed", "name"]
    assert audit_page(bench, {"place": "3"})["row"]["answer"] == "?"
    for place in (2, 4):
        filling.answer(place, "red fox")
    shown = audit_page(bench, {})
    assert shown["row"] is None
    assert [key["name"] for key in shown["keys"]] == ["cat", "dog", "red fox"]
    with pytest.raises(TableError, match="rows 1 to 4"):
        audit_page(bench, {"place": "5"})


def test_the_accuracy_is_shown_all_along_only_if_that_was_chosen(rules, enter):
    from chary.review import begin

    path, truth = rules
    for rule in ("planned", "live"):
        browser = enter(begin([str(path)], ReviewOptions(labels=("rule",))))
        page = browser.post("/api/audit/draw", k=20, rule=rule)
        assert (page["interval"] is None) == (rule == "planned")
        page = browser.label(truth, k=20, rule=rule)
        assert (page["interval"] is None) == (rule == "planned")
        assert rule == "planned" or page["interval"].startswith("After 20 rows: between")
        browser.wait()
        browser.bench.paths.audit.unlink()


def test_answers_are_classes_new_ones_skips_or_nothing():
    for text, answer in {"cat": "cat", " red  fox ": "red fox", "?": "?", "": ""}.items():
        assert checked_answer(text, ["cat"], ()) == answer
    for text in ("none", "Maybe", "a\nb\x00", "N/A", 5, None, "x" * 201):
        with pytest.raises(TableError):
            checked_answer(text, ["cat"], ("maybe",))


def test_cells_come_in_order_as_a_person_reads_them():
    cells = {
        "a": "12,000",
        "b": " ",
        "c": "x" * 200,
        "d": None,
        "e": 1 / 3,
        "f": [1, 2],
        "g": "1\n2",
        "h": "red",
    }
    found = fields_of(cells, list("hgfedcba"))
    assert [field["name"] for field in found] == list("hgfedcba")
    days = {
        "a": datetime(2024, 5, 1),
        "b": "2024-05-01T00:00:00.000000",
        "c": datetime(2024, 5, 1, 9, 30),
    }
    texts = [field["text"] for field in fields_of(days, list("abc"))]
    assert texts == ["2024-05-01", "2024-05-01", "2024-05-01 09:30:00"]
    assert found[3]["text"] == "0.3333333333"
    assert fields_of({"a": True}, ["a"])[0]["text"] == "true"


def test_what_is_too_much_is_cut_and_counted():
    (long,) = fields_of({"a": "x" * 100_000}, ["a"])
    assert len(long["text"]) < MOST_CHARACTERS + 100
    assert long["text"].endswith("(90,000 more characters)")


def test_no_class_has_a_key_that_does_something_else():
    assert not set(CLASS_KEYS) & set("usnq")
    keys = keys_of([str(i) for i in range(60)])
    assert [key["key"] for key in keys[:10]] == list("123456789a")
    assert len({key["key"] for key in keys if key["key"]}) == len(CLASS_KEYS)
    assert keys[-1] == {"key": "", "name": "59"}


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1e99", "--", "-1", "1.5", "9" * 99])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(TableError, match="whole number"):
        number_in({"place": text}, "place", 5)


def test_labels_of_a_model(labelled):
    found, audit = truth_of_labels(labelled), labelled.audit
    after, before, one_label = found["bars"]
    assert (before["low"], before["high"], before["n"]) == (
        audit.accuracy.low,
        audit.accuracy.high,
        12,
    )
    assert (after["low"], after["mark"]) == (audit.after.low, labelled.held_out.correct.mean())
    assert found["headline"] == f"{percent(after['low'])} to {percent(after['high'])} right"
    assert "the first is approximate" in found["sentences"][0]
    assert one_label["words"] == f"'{audit.baseline.label}' for every row"
    assert found["sentences"][0].startswith("These labels are ")
    # Each class has its rows: those given, and those that the audit estimates.
    given = labelled.diagnosis.class_counts
    for share in found["shares"]:
        name = share["name"]
        assert share["low"] == audit.shares[name].low + given[name]
        assert share["high"] == audit.shares[name].high + given[name]
        assert share["labelled"] == (labelled.labels.classes[labelled.codes] == name).sum()
        assert share["population"] == labelled.counts.n
    assert found["classes"].keys() == {"cat", "dog"}


def test_what_can_be_accepted_is_what_the_job_would_accept(bench, labelled, monkeypatch):
    bench.result, bench.job.options = labelled, replace(bench.options, error=0.12)
    given = SimpleNamespace(options=SimpleNamespace(audit="a sheet"))
    monkeypatch.setattr(bench, "inputs", lambda: given)
    page = truth_page(bench, {})
    levels = {one["error"]: one for one in page["acceptance"]}
    assert sorted(levels) == sorted([*ERRORS, 0.12])  # also one that was chosen elsewhere
    assert (levels[0.01]["needs"], levels[0.01]["n_accepted"]) == (230, 0)
    for error in (0.2, 0.3):
        asked = labelled.at_error(error)
        n_answered = labelled.audit.acceptor.answered.n_from(asked.audit.asked.threshold)
        assert (
            levels[error]["n_accepted"]
            == int((asked.accept & ~labelled.labels.labeled).sum()) + n_answered
        )
    counts = [one["n_accepted"] for one in page["acceptance"]]
    assert counts == sorted(counts)  # a larger error never takes rows away
    assert page["rows_to_accept"] == (~labelled.labels.labeled).sum() + 12


def test_labels_of_anybody():
    labels = ["b" if i % 10 == 7 else "a" for i in range(300)]
    truth = np.array([None] * 300, dtype=object)
    truth[::5] = "a"
    confidence = [0.1 if i % 10 == 7 else 0.9 for i in range(300)]
    scan = open_source({"x": range(300), "rule": labels, "sure": confidence})
    judged = judge_table(scan, truth.tolist(), JudgeOptions(labels=("rule",), confidence="sure"))
    found = truth_of_judged(judged)
    bar, one_label = found["bars"]
    assert (one_label["words"], one_label["correct"]) == ("'a' for every row", 60)
    assert found["sentences"][1].startswith("The labels in column 'rule' are not better than one")
    assert (bar["words"], bar["correct"], bar["n"], found["audited"]) == ("rule", 60, 60, 60)
    assert found["headline"] == f"{percent(bar['low'])} to 100% right"
    assert set(found["classes"]) == {"a"}
    shares = {share["name"]: (share["low"], share["high"]) for share in found["shares"]}
    of_a = judged.columns[0].judgement.classes["a"].share
    assert shares["a"] == (of_a.low, of_a.high)


def test_why_nothing_is_known_yet_is_said(browser):
    page = browser.get("/api/truth")
    assert page == {"ready": False, "why_not": NOT_YET}
    assert browser.post("/api/accept", 400, error=0.1)["error"] == NOT_YET
    browser.post("/api/audit/draw", k=3)
    for place, answer in ((1, "?"), (2, "?"), (3, "dog")):
        browser.post("/api/audit", place=place, answer=answer, expected="")
    assert browser.get("/api/truth") == page  # fewer than two rows have a label
    assert (
        "(planned) or all along" in browser.post("/api/audit/draw", 400, k=3, rule="often")["error"]
    )
    assert "At most 5,000 rows" in browser.post("/api/audit/draw", 400, k=5_001)["error"]


def test_where_nothing_can_be_accepted_there_is_no_button_that_could_only_fail(browser, animals):
    browser.label(animals[1], k=4)
    browser.wait()
    page = browser.client.get("/truth").text
    assert "No label can be accepted yet. Label more random rows first." in page
    assert "Accept these labels" not in page
    browser.label(animals[1], k=40)
    browser.wait()
    page = browser.client.get("/truth").text
    assert "No label can be accepted yet" not in page
    assert "Accept these labels" in page
