"""One summary, plain data, whose sentences say what its numbers say."""

import json
from dataclasses import replace

import numpy as np

from chary import judge
from chary.audit import interval
from chary.report import summarize_judged


def test_it_is_plain_data_and_adds_up(judged):
    summary = summarize_judged(judged)
    assert json.loads(json.dumps(summary)) == summary
    assert (summary["rows"], summary["audited"], summary["answered"], summary["skipped"]) == (
        800,
        115,
        115,
        0,
    )
    first, second = summary["columns"]
    assert [column["name"] for column in summary["columns"]] == ["rule", "other"]
    assert first["promised"] == first["accuracy"]
    assert first["coverage"] == 1
    assert sum(one["labelled"] for one in first["classes"]) == 800
    assert sum(one["rows"] for one in first["confusions"]) == 115 - first["accuracy"]["correct"]
    assert (
        f"{first['accuracy']['correct']} of 115 random rows have the right label"
        in first["sentence"]
    )
    spam = next(one for one in second["classes"] if one["name"] == "spam")
    assert spam["off"] == "too many"
    assert spam["labelled"] > spam["high"]
    pair = summary["pairs"][0]
    assert "'rule' is better" in pair["sentence"]
    assert pair["low"] > 0
    counts = np.array(first["matrix"]["counts"])
    assert first["matrix"]["classes"] == ["<b>ham</b>", "spam", "fox"]
    assert (counts.sum(), np.trace(counts[:, :2])) == (115, first["accuracy"]["correct"])
    assert summary["slices"][0]["parts"]["rare"]["score"] is None


def test_a_comparison_says_that_its_limits_hold_whatever_the_skipped_rows_are(judged):
    (pair,) = judged.pairs
    difference = pair.difference._replace(
        comparison=pair.difference.comparison._replace(n_skipped=3)
    )
    summary = summarize_judged(replace(judged, pairs=[pair._replace(difference=difference)]))
    told = "They differ on 3 rows that a person skipped: the limits hold whatever is right there."
    assert told in summary["pairs"][0]["sentence"]


def test_a_result_that_accepts_nothing_does_not_advise_what_would_void_the_promise(judged):
    wrong = replace(
        judged,
        error=0.02,
        acceptor=judged.acceptor._replace(correct=judged.acceptor.correct & False),
    )
    answers = replace(
        judged.answers, drawn=np.arange(300), truth=np.full(300, "spam", dtype=object)
    )
    many = replace(wrong, answers=answers, correct=np.zeros(300, dtype=bool))
    sentence = summarize_judged(many)["accept"]["sentence"]
    assert "too many of the 300 audited rows were wrong" in sentence
    assert (
        "another error or more rows, chosen now that you know this, would void the promise"
        in sentence
    )


def test_what_was_asked_for_is_said_whatever_came_out(judged):
    found = summarize_judged(judged)["accept"]
    assert f"{found['n_accepted']:,} labels in column 'rule' of confidence" in found["sentence"]
    assert found["n_marked"] == judged.accepted.sum()
    assert f"marks {found['n_marked']} rows" in found["sentence"]
    said = summarize_judged(replace(judged, error=0.01))["accept"]["sentence"]
    assert said == (
        "No label in column 'rule' can be accepted with at most 1% wrong: this needs at least 230 "
        f"audited rows, and there are 115. Column chary_accept marks {judged.correct.sum()} rows, "
        "labels that a person gave or confirmed included."
    )


def test_rows_without_a_label_are_not_called_labels():
    truth = ["ham" if i % 2 else "spam" for i in range(300)]
    labels = [label if i % 3 else None for i, label in enumerate(truth)]
    told = [label if i % 5 == 0 else None for i, label in enumerate(truth)]
    found = summarize_judged(
        judge({"text": truth, "rule": labels}, "rule", told, require=0.9).details
    )
    column = found["columns"][0]
    assert (column["coverage"], column["accuracy"]["correct"], column["accuracy"]["n"]) == (
        2 / 3,
        40,
        60,
    )
    assert (column["promised"]["n"], column["promised"]["low"]) == (40, interval(40, 40, 200)[0])
    assert "of the 200 labels in column 'rule' are right" in column["sentence"]
    assert "40 of 40 random rows with a label" in column["sentence"]
    assert "300" not in column["sentence"]
    assert column["coverage_sentence"].startswith("67% of the 300 rows have a label")
    assert found["required"]["outcome"] == "shown"


def test_a_new_class_is_a_warning(judged):
    warnings = [note["text"] for note in summarize_judged(judged)["notes"] if note["warning"]]
    assert warnings == [
        "NEW CLASS: the audit found 'fox' in 1 row, and none of the labels. If it is a slip, "
        "correct it."
    ]


def test_two_classes_have_the_rates_of_a_positive_and_a_negative_one():
    def rates(positive, negative, every=3):
        truth = [positive if i % every == 0 else negative for i in range(300)]
        label = [negative if i % 30 == 0 else name for i, name in enumerate(truth)]
        known = [name if i % 4 == 0 else None for i, name in enumerate(truth)]
        summary = summarize_judged(judge({"text": truth, "rule": label}, "rule", known).details)
        (column,) = summary["columns"]
        return column["rates"], {one["name"]: one for one in column["classes"]}

    found, classes = rates("fraud", "fine")
    assert (found["positive"], found["negative"]) == ("fraud", "fine")
    assert (found["tpr"], found["tnr"]) == (classes["fraud"]["recall"], classes["fine"]["recall"])
    words = "With 'fraud' as the positive class: TPR 60% to 92% (20 of 25), TNR 93% to 100%"
    assert found["sentence"].startswith(words)
    # A class that says yes is the positive one, even if it is the more common one.
    assert rates("Fail", "Pass")[0]["positive"] == "Pass"


def test_three_classes_have_no_such_rates(judged):
    assert summarize_judged(judged)["columns"][0]["rates"] is None
