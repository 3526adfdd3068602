"""One page: whole, escaped, without a request, and each section under its question."""

import re

from markupsafe import escape

from chary.report.page import render_judged
from chary.report.summary import Hints, summarize_judged


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


def test_what_was_not_asked_for_has_no_section(judged):
    summary = {**summarize_judged(judged), "pairs": [], "slices": [], "confidence": None, "stopped": True}
    page = render_judged(summary)
    for gone in ('id="compared"', 'id="slices"', 'id="accept"'):
        assert gone not in page
    assert "could stop: the limits above hold" in page


def test_which_column_to_trust_is_said(judged):
    summary = summarize_judged(judged)
    for one in summary["trusted"]:
        assert one["sentence"].endswith(("), clearly so.", "), not clearly so."))
        assert str(escape(one["sentence"])) in render_judged(summary)
