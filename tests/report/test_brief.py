"""The few lines that a notebook and a prompt show: verdict, counts, next step; nothing of a table as markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from chary.labelling import diagnose_table, label_table
from chary.options import Options
from chary.report.page import render_snippet as brief_html
from chary.report.summary import Hints, summarize, summarize_diagnosis
from chary.report.terminal import brief, brief_diagnosis, brief_text
from chary.tables import Table

pytestmark = pytest.mark.usefixtures("quick_learners")
NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def result(quick_learners):
    x = np.random.default_rng(0).normal(size=120)
    y = [(NASTY if value > 0 else "no") if abs(value) > 1 else None for value in x]
    frame = pl.DataFrame({f"x {NASTY}": x, "id": range(120), NASTY: y})
    return label_table(Table(frame, f"{NASTY}.csv", ","), Options.of(target=NASTY, rounds=0))


@pytest.fixture(scope="module")
def summary(result):
    return summarize(result)


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.depth = [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.depth += 1

    def handle_endtag(self, tag):
        self.depth -= 1


def test_verdict_counts_and_next_step_are_there(summary, result):
    figures = brief(summary, Hints(draw="draw them so"))
    text, html = brief_text(figures), brief_html(figures)
    n = int(result.labels.labeled.sum())
    for shown in (" ".join(text.split()), html):
        assert f"120 rows, {n} given, 0 learned, {120 - n} predicted" in shown
        assert "Strongly biased" in shown
        assert "until thirty rows drawn at random are labelled: draw them so." in shown
        assert "Left out: id (a number that counts or names the rows)." in shown
    assert result.diagnosis.sentence in " ".join(text.split())


def test_nothing_of_a_table_is_markup_or_script(summary):
    for figures in (brief(summary, Hints()), brief_diagnosis({**summary["diagnosis"], **summary}, Hints())):
        html = brief_html(figures)
        assert "&lt;script&gt;" in html
        found = Tags(html)
        assert found.depth == 0
        assert not {"script", "img", "link", "iframe"} & set(found.tags)
        assert not re.search(r"https?://|url\(|@import| on\w+=", html)


def test_colours_are_those_of_the_page_around_it(summary):
    """Light or dark is the notebook's business: text and background have no colour of their own."""
    style = brief_html(brief(summary, Hints())).split("</style>")[0]
    assert not re.search(r"(?<![-\w])(color|background): (?!inherit|none)", style)


def test_many_classes_and_columns_are_counted(summary):
    many = [{**summary["classes"][0], "name": f"c{i}"} for i in range(40)]
    columns = [{**summary["columns"][1], "name": f"left{i}"} for i in range(25)]
    text = brief_text(brief({**summary, "classes": many, "columns": columns}, Hints()))
    assert "c11 " in text
    assert "c12 " not in text
    assert "and 28 more" in text
    assert "and 15 more" in " ".join(text.split())


def test_what_is_doubtful_is_named(summary):
    columns = [{**summary["columns"][0], "doubtful": "most cells hold digits"}, *summary["columns"][1:]]
    assert "(most cells hold digits)" in brief_text(brief({**summary, "columns": columns}, Hints()))


SCORE = {"share": 0.9, "low": 0.735, "high": 0.979}


def test_with_an_audit_its_accuracy_and_what_can_be_accepted(summary):
    audit = {
        "after": SCORE,
        "notes": [{"text": "NEW CLASS", "warning": True}, {"text": "a note", "warning": False}],
    }
    text = brief_text(brief({**summary, "audit": audit}, Hints(error="say which error")))
    assert "Accuracy by the audit: 90% (74% to 98%, approximate)." in text
    assert "NEW CLASS" in text
    assert "a note" not in text
    assert "can be accepted: say which error." in text
    text = brief_text(brief({**summary, "audit": audit, "accept": {"sentence": "So many can."}}, Hints()))
    assert "So many can." in text
    assert "Next" not in text


def test_few_rows_are_to_be_looked_at(summary):
    assert "one by one" in brief_text(brief({**summary, "audit_size": 0}, Hints()))
    assert "until 7 rows" in brief_text(brief({**summary, "audit_size": 7}, Hints()))


def test_a_diagnosis_says_what_differs(result):
    diagnosed = diagnose_table(result.table, Options.of(target=NASTY))
    figures = brief_diagnosis(summarize_diagnosis(diagnosed), Hints(class_prior="say so"))
    text = " ".join(brief_text(figures).split())
    assert "What differs most standard deviations p" in text
    assert "say so" in text
    assert diagnosed.diagnosis.sentence in text
    few = replace(
        result.table, frame=result.table.frame.head(12).with_columns(pl.Series(NASTY, ["a", "b"] + 10 * [None]))
    )
    text = brief_text(brief_diagnosis(summarize_diagnosis(diagnose_table(few, Options.of(target=NASTY))), Hints()))
    assert "cannot be told" in text
    assert "What differs" not in text
