"""What each page shows: start, audit, truth."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from chary.audit import count_interval, interval, judge_table
from chary.audit.filling import Filling
from chary.audit.stopping import Stopping
from chary.labelling import diagnose_table
from chary.options import Options
from chary.report.summary import summarize_diagnosis
from chary.review.audit import (
    CLASS_KEYS,
    MOST_CHARACTERS,
    MOST_FIELDS,
    audit_page,
    checked_answer,
    fields_of,
    interval_of,
    keys_of,
    number_in,
    row_in,
)
from chary.review.files import KINDS, Choices
from chary.review.start import columns_of, diagnosis_of, next_step, planned_of, questions_of, steps_of
from chary.review.truth import ERRORS, nothing, truth_of_judged, truth_of_labels
from chary.tables import Table, TableError, open_source


def test_columns_are_there_before_their_kinds_are():
    frame = pl.DataFrame({"a": ["1", "1", "2", None], "y": ["p", "q", None, None]})
    job = SimpleNamespace(table=Table(frame, "t"), hidden=["y"], kind="label")
    (column,) = columns_of(job, None, Choices(Options(categorical=("a",))), {})
    assert (column["name"], column["kind"], column["examples"]) == ("a", "", ["1", "2"])
    assert (column["choices"], column["chosen"]) == (list(KINDS), "category")
    known = {"name": "a", "kind": "numeric", "used": True, "note": "odd", "doubtful": True}
    job.kind = "judge"
    (column,) = columns_of(job, {"columns": [known]}, Choices(Options()), {"a": ["kept"]})
    assert (column["kind"], column["doubtful"], column["examples"], column["choices"]) == (
        "numeric",
        "odd",
        ["kept"],
        [],
    )


def test_the_diagnosis_is_that_of_the_report(labelled):
    summary = summarize_diagnosis(diagnose_table(labelled.table, Options(target="animal")))
    found = diagnosis_of(summary)
    assert found["verdict"] == summary["verdict"]
    assert found["level"] == "bad"
    assert set(found["outlines"]) == {"labeled", "unlabeled"}
    assert found["contrasts"][0]["feature"] == summary["shifts"][0]["name"]
    questions = questions_of(summary, Options(), "label")
    assert "choose its share below" in questions["prior"]
    assert "choose “every class counts the same”" in questions["aim"]
    assert questions_of(summary, Options(class_prior={"a": 1.0}, aim="balanced"), "label") == {
        "prior": "",
        "aim": "",
    }
    assert questions_of(None, Options(), "judge") == {"prior": "", "aim": ""}


def test_a_draw_says_what_it_will_tell():
    assert planned_of(7900, 30)["words"].startswith("If 27 of 30 prove right, accuracy is between 73% and 98%")
    low, high = interval(5, 6)
    assert planned_of(6, 30) == {
        "k": 6,
        "most": 6,
        "words": f"If 5 of 6 prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval).",
    }


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


@pytest.fixture(name="filling")
def a_sheet(bench):
    bench.draw({"k": 4})
    return Filling(bench.paths.audit)


def page(filling, **more):
    job = SimpleNamespace(question="animal", classes=["cat", "dog"], hidden=["animal"])
    return audit_page(filling, job, "planned", None, **more)


def test_the_next_row_is_the_first_without_an_answer(filling):
    assert page(filling)["last"] is None
    filling.answer(1, "cat")
    filling.answer(3, "?")
    shown = page(filling)
    assert (shown["row"]["place"], shown["last"]) == (2, {"place": 1, "answer": "cat"})
    assert [field["name"] for field in shown["row"]["fields"]] == [
        name for name in filling.fields if name != "animal"
    ]
    assert page(filling, place=3)["row"]["answer"] == "?"
    for place in (2, 4):
        filling.answer(place, "dog")
    assert (page(filling)["row"], page(filling)["last"]["place"]) == (None, 4)
    with pytest.raises(TableError, match="rows 1 to 4"):
        page(filling, place=5)


def test_answers_are_classes_new_ones_skips_or_nothing():
    for text, answer in {"cat": "cat", " red  fox ": "red fox", "?": "?", "": ""}.items():
        assert checked_answer(text, ["cat"], ()) == answer
    for text in ("none", "Maybe", "a\nb\x00", "N/A", 5, None, "x" * 201):
        with pytest.raises(TableError):
            checked_answer(text, ["cat"], ("maybe",))


def test_an_interval_is_shown_when_it_may_be(filling):
    watch = Stopping(["cat"] * 4, 100)
    assert interval_of("planned", filling, watch) is None
    assert interval_of("live", filling, None)["low"] is None
    for place in range(1, 5):
        filling.answer(place, "cat")
    assert interval_of("planned", filling, watch)["n"] == 4
    assert interval_of("live", filling, watch)["low"] < interval_of("planned", filling, watch)["low"]


def test_cells_come_in_order_with_their_kind():
    cells = {"a": "12,000", "b": " ", "c": "x" * 200, "d": None, "e": 1 / 3, "f": [1, 2], "g": "1\n2", "h": "red"}
    found = fields_of(cells, list("hgfedcba"))
    assert [field["name"] for field in found["fields"]] == list("hgfedcba")
    kinds = {field["name"]: field["kind"] for field in found["fields"]}
    assert kinds == dict(
        zip("abcdefgh", ["number", "text", "long", "text", "number", "other", "long", "text"], strict=True)
    )
    assert {field["name"] for field in found["fields"] if field["empty"]} == {"b", "d"}
    assert found["fields"][3]["text"] == "0.3333333333"
    assert fields_of({"a": True}, ["a"])["fields"][0]["text"] == "true"


def test_what_is_too_much_is_cut_and_counted():
    many = fields_of({f"c{k}": "x" for k in range(4000)}, [f"c{k}" for k in range(4000)])
    assert (len(many["fields"]), many["more"]) == (MOST_FIELDS, 4000 - MOST_FIELDS)
    whole = fields_of({f"c{k}": "x" for k in range(4000)}, [f"c{k}" for k in range(4000)], whole=True)
    assert (len(whole["fields"]), whole["more"]) == (4000, 0)
    (long,) = fields_of({"a": "x" * 100_000}, ["a"])["fields"]
    assert len(long["text"]) < MOST_CHARACTERS + 100
    assert long["text"].endswith("(90,000 more characters)")


def test_no_class_has_a_key_that_does_something_else():
    assert not set(CLASS_KEYS) & set("usnq")
    keys = keys_of([str(i) for i in range(60)])
    assert [key["key"] for key in keys[:10]] == list("123456789a")
    assert len({key["key"] for key in keys if key["key"]}) == len(CLASS_KEYS)
    assert keys[-1] == {"key": "", "name": "59"}


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1e99", "--"])
def test_what_is_no_number_is_refused(text):
    with pytest.raises(TableError, match="no number"):
        number_in({"low": text}, "low")


def test_rows_are_counted_from_one():
    assert row_in({"row": "1"}, "row", 5) == 0
    assert row_in({}, "row", 5) is None
    with pytest.raises(TableError, match="from 1 to 5"):
        row_in({"row": "6"}, "row", 5)


def test_labels_of_a_model(labelled):
    found, audit = truth_of_labels(labelled), labelled.audit
    assert (found["accuracy"]["low"], found["accuracy"]["high"]) == (audit.accuracy.low, audit.accuracy.high)
    assert f"{audit.accuracy.correct} of 12 random rows" in found["accuracy"]["words"]
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
    scan = open_source({"x": range(300), "rule": labels, "sure": confidence})
    judged = judge_table(scan, truth.tolist(), Options(labels=("rule",), confidence="sure"))
    found = truth_of_judged(judged)
    assert (found["accuracy"]["right"], found["accuracy"]["n"]) == (60, 60)
    assert found["acceptance"][9]["count"] == judged.acceptor.at(0.1).n_accepted > 0
    assert {share["name"] for share in found["shares"]} == {"a", "b"}
    assert set(found) == set(nothing(""))
