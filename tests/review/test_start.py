"""The first page: columns as they were read, and questions in words of the page."""

import polars as pl

from chary.evaluation import accuracy_interval
from chary.jobs import diagnose_table
from chary.report import summarize_diagnosis
from chary.review.settings import KINDS, Settings
from chary.review.start import columns_of, diagnosis_of, planned_of, questions_of


def test_columns_are_there_before_their_kinds_are():
    frame = pl.DataFrame({"a": ["1", "1", "2", None], "y": ["p", "q", None, None]})
    (column,) = columns_of(frame, ["y"], [], Settings({"a": "category"}), "label", {})
    assert (column["name"], column["kind"], column["examples"]) == ("a", "", ["1", "2"])
    assert (column["choices"], column["chosen"]) == (list(KINDS), "category")
    known = {"name": "a", "kind": "numeric", "used": True, "note": "odd", "doubtful": True}
    (column,) = columns_of(frame, ["y"], [known], Settings(), "judge", {"a": ["kept"]})
    assert (column["kind"], column["doubtful"], column["examples"], column["choices"]) == (
        "numeric",
        "odd",
        ["kept"],
        [],
    )


def test_the_diagnosis_is_that_of_the_report(labelled):
    summary = summarize_diagnosis(diagnose_table(labelled.table, "animal"))
    found = diagnosis_of(summary)
    assert found["verdict"] == summary["verdict"]
    assert found["level"] == "bad"
    assert set(found["outlines"]) == {"labeled", "unlabeled"}
    assert found["contrasts"][0]["feature"] == summary["shifts"][0]["name"]
    questions = questions_of(summary, Settings(), "label")
    assert "choose its share below" in questions["prior"]
    assert "choose “every class counts the same”" in questions["aim"]
    assert questions_of(summary, Settings(class_prior={"a": 1.0}, aim="balanced"), "label") == {
        "prior": "",
        "aim": "",
    }
    assert questions_of(None, Settings(), "judge") == {"prior": "", "aim": ""}


def test_a_draw_says_what_it_will_tell():
    assert planned_of(7900, 30)["words"].startswith("If 27 of 30 prove right, accuracy is between 73% and 98%")
    low, high = accuracy_interval(5, 6)
    assert planned_of(6, 30) == {
        "k": 6,
        "most": 6,
        "words": f"If 5 of 6 prove right, accuracy is between {low:.0%} and {high:.0%} (95% interval).",
    }
