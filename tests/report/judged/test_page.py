"""One page: whole, escaped, without a request, and each section under its question."""

import json
import re

import polars as pl

import chary
from chary.audit.filling import Filling
from chary.report import Hints, render_judged, summarize_judged


def test_the_page_answers_each_question_and_runs_nothing(judged):
    page = render_judged(summarize_judged(judged), Hints(draw="chary judge t.csv -k 60"))
    for title in (
        "How many labels are right?",
        "Which labels are better?",
        "Which classes can be trusted?",
        "How many rows are really of each class?",
        "Where are the labels worse?",
        "Which labels in column rule can be accepted?",
        "What this rests on",
    ):
        assert f">{title}</h2>" in page
    body = page.split("</style>")[1]
    assert "<b>ham</b>" not in body
    assert "<i>n</i>" not in body
    assert "&lt;b&gt;ham&lt;/b&gt;" in body
    assert not re.search(r"<script|https?://|url\(|@import", page)
    assert "chary judge t.csv -k 60" in body


def test_an_interval_is_drawn_where_it_is(judged):
    summary = summarize_judged(judged)
    low, high = (summary["columns"][0]["promised"][side] for side in ("low", "high"))
    drawn = f'class="range" x="{100 * low:.2f}%" width="{100 * (high - low):.2f}%"'
    assert drawn in render_judged(summary)


def test_the_share_of_each_class_is_drawn_on_the_first_screen(judged):
    summary = summarize_judged(judged)
    first_screen = render_judged(summary).split("<details", 1)[0]
    for share in summary["columns"][0]["classes"]:
        low, high = share["low"] / 800, share["high"] / 800
        assert f"{share['low']} to {share['high']}" in first_screen
        assert f'x="{100 * low:.2f}%" width="{100 * (high - low):.2f}%"' in first_screen


def test_what_was_not_asked_for_has_no_section(judged):
    summary = {
        **summarize_judged(judged),
        "pairs": [],
        "slices": [],
        "confidence": None,
        "stopped": True,
    }
    page = render_judged(summary)
    for gone in ('id="compared"', 'id="slices"', 'id="accept"'):
        assert gone not in page
    assert "could stop: the limits of the accuracy hold" in page


def test_before_the_end_of_an_audit_that_one_may_look_at_all_show_the_accuracy_alone(tmp_path):
    rule = ["a" if i % 3 else "b" for i in range(300)]
    truth = ["b" if i % 10 == 4 else label for i, label in enumerate(rule)]
    frame = pl.DataFrame(
        {"text": [f"t{i}" for i in range(300)], "rule": rule, "other": [*rule[1:], "a"]}
    )
    frame = frame.with_columns(sure=pl.Series([i / 300 for i in range(300)]))
    sheet = tmp_path / "s.csv"
    chary.draw_rows(frame, ["rule", "other"], sheet, 60, confidence="sure")
    filling = Filling(sheet)
    filling.mark_stopping()
    for place, row in enumerate(filling.rows[:40], start=1):
        filling.answer(place, truth[row.number])
    judged = chary.judge(frame, ["rule", "other"], sheet, confidence="sure", error=0.2, by=["text"])
    summary = json.loads(json.dumps(judged.summary))
    assert (summary["unfinished"], summary["pairs"], summary["slices"]) == (True, [], [])
    assert (summary["acceptance"], summary["accept"]["n_accepted"]) == ([], 0)
    assert "decided when all drawn rows are answered" in summary["accept"]["sentence"]
    for column in summary["columns"]:
        assert column["accuracy"] == column["always"] == column["promised"]
        assert (column["classes"], column["confusions"], column["matrix"]) == ([], [], None)
    page = render_judged(summary)
    why = "Only the accuracy is shown until all 60 drawn rows are answered (20 are left)"
    for shown in (page, repr(judged), judged._repr_html_()):
        assert why in " ".join(shown.split())
        assert "Precision" not in shown
        assert "is better" not in shown
    for gone in (
        'id="compared"',
        'id="classes"',
        'id="shares"',
        'id="slices"',
        "size was fixed",
        "Error at most",
    ):
        assert gone not in page
    assert "To see all figures, label the 20 rows left" in page
