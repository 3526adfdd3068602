"""What a terminal shows of a summary: everything that matters, nothing of it as markup."""

import io
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from chary.labelling import diagnose_table, label_table
from chary.options import LabelOptions
from chary.report import (
    Hints,
    render_page,
    show_diagnosis,
    show_labels,
    summarize,
    summarize_diagnosis,
)
from chary.tables import Table

pytestmark = pytest.mark.usefixtures("quick_learners")


def screen(show, *arguments):
    buffer = io.StringIO()
    show(Console(file=buffer, width=100), *arguments)
    return " ".join(buffer.getvalue().replace("│", " ").split())


@pytest.fixture(scope="module")
def result(quick_learners):
    x = np.random.default_rng(0).normal(size=120)
    y = [("[red]yes" if value > 0 else "no") if abs(value) > 1 else None for value in x]
    frame = pl.DataFrame({"[b]x": x, "id": range(120), "y": y})
    return label_table(Table(frame, "t.csv", ","), LabelOptions.of(target="y", rounds=0))


@pytest.fixture(scope="module")
def summary(result):
    return summarize(result)


def test_names_from_a_file_are_no_markup(summary):
    text = screen(show_labels, summary, Hints())
    assert "[red]yes" in text
    assert "Left out: id (looks like a row number or an ID)." in text


def test_the_verdict_and_the_way_to_the_truth(summary):
    text = screen(show_labels, summary, Hints(draw="draw them so"))
    assert "strongly biased" in text
    assert summary["diagnosis"]["sentence"] in text
    assert "Thirty random rows that you label will tell, and the model learns from them." in text
    assert text.endswith("Next: draw them so")
    assert "Next:" not in screen(show_labels, summary, Hints())


def test_few_rows_can_be_looked_at_each(summary):
    assert "so few rows without a label" in screen(
        show_labels, {**summary, "audit_size": 0}, Hints()
    )
    assert "7 random rows that you label will tell" in screen(
        show_labels, {**summary, "audit_size": 7}, Hints()
    )


SCORE = {"share": 0.9, "correct": 27, "n": 30, "low": 0.735, "high": 0.979, "level": 0.95}
NONE = {"n_accepted": 0, "threshold": np.inf, "error": 0.2, "level": 0.9, "needs": 11}
AUDIT = {
    "before": SCORE,
    "after": SCORE,
    "baseline": None,
    "shares": [],
    "notes": [],
    "stopped": False,
    "unfinished": False,
}
SOME = {**NONE, "n_accepted": 1234, "threshold": 0.5, "error": 0.1}


@pytest.mark.parametrize(
    ("accept", "said"),
    [
        (
            [{**NONE, "needs": 45}],
            "Enlarge the audit: to accept any label at 20% error or less, at least 45 rows",
        ),
        (
            [NONE],
            "No label can be accepted at 20% error or less: too many audited rows were wrong.",
        ),
        (
            [NONE, SOME],
            "1,234 labels of confidence 0.5 or more can be accepted with at most 10% wrong "
            "(90% level, approximate, if you chose that error beforehand). To mark them, add "
            "error=0.1",
        ),
    ],
)
def test_an_audit_is_shown_beside_what_the_labels_promised(summary, accept, said):
    note = {"text": "a note", "warning": True}
    audit = {**AUDIT, "notes": [note], "accept": accept}
    text = screen(show_labels, {**summary, "audit": audit}, Hints())
    for words in ("cross-validation", "90.0% 73.5% to 97.9% exact, 30 random rows", "a note", said):
        assert words in text


def test_a_diagnosis_shows_columns_differences_and_advice(result):
    diagnosed = diagnose_table(result.table, LabelOptions.of(target="y"))
    text = screen(show_diagnosis, summarize_diagnosis(diagnosed), Hints(typed=True))
    assert "[b]x numeric" in text
    assert "A model tells labelled from other rows: AUC" in text
    assert "in the whole table? Then pass --class-prior NAME=SHARE: on 20 real tables" in text


def test_of_a_labelled_table_doubtful_columns_are_named(summary):
    columns = [
        {**summary["columns"][0], "doubtful": True, "note": "most cells hold digits"},
        *summary["columns"][1:],
    ]
    text = screen(show_labels, {**summary, "columns": columns}, Hints())
    assert "Please check: [b]x (most cells hold digits)." in text
    left_out = [{**summary["columns"][-1], "name": f"c{i}", "used": False} for i in range(30)]
    assert "and 10 more." in screen(show_labels, {**summary, "columns": left_out}, Hints())


def test_the_error_asked_for_takes_the_place_of_the_first_that_allows_something(summary):
    audit = {**AUDIT, "accept": [SOME]}
    asked = {**NONE, "sentence": "No new label can be accepted"}
    text = screen(show_labels, {**summary, "audit": audit, "accept": asked}, Hints())
    assert "No new label can be accepted" in text
    assert "1,234 new labels" not in text


def test_every_column_is_listed_however_many(result):
    summary = summarize_diagnosis(diagnose_table(result.table, LabelOptions.of(target="y")))
    many = {**summary, "columns": [{**summary["columns"][0], "name": f"c{i}"} for i in range(150)]}
    text = screen(show_diagnosis, many, Hints())
    assert all(f" c{i} numeric" in text for i in range(150))


def test_left_out_and_doubtful_columns_are_named_and_no_other(summary):
    column = {"name": "x", "kind": "numeric", "used": True, "note": "", "doubtful": False}
    columns = [
        {**column, "name": "way", "note": "in km\x1b", "doubtful": True},
        {**column, "name": "price", "note": "in $"},
        {**column, "name": "id", "note": "an identifier", "used": False, "doubtful": True},
    ]
    text = screen(show_labels, {**summary, "columns": columns}, Hints())
    assert "Left out: id (an identifier). Please check: way (in km\\x1b)." in text
    assert "price" not in text


def test_too_few_rows_to_tell_are_said_so(result):
    frame = result.table.frame.head(12).with_columns(y=pl.Series(["a", "b", *[None] * 10]))
    few = replace(result.table, frame=frame)
    assert "too few rows to compare" in screen(
        show_diagnosis,
        summarize_diagnosis(diagnose_table(few, LabelOptions.of(target="y"))),
        Hints(),
    )


def test_aimed_at_every_class_the_mean_over_them_stands_beside_the_accuracy(summary):
    aim = {"name": "balanced", "sentence": "Aimed at: every class."}
    audit = {**AUDIT, "accept": [NONE], "balanced": (0.75, 0.5, 0.9)}
    text = screen(show_labels, {**summary, "audit": audit, "aim": aim}, Hints())
    assert "Aimed at: every class. " in text
    assert "the mean over classes 75.0% 50.0% to 90.0%" in text
    assert "the mean over classes" not in screen(show_labels, {**summary, "audit": audit}, Hints())


def test_a_terminal_asks_about_doubtful_labels(summary):
    assert "held-out prediction" not in screen(show_labels, summary, Hints())
    for n, words in ((1, "One of your labels may be a slip"), (3, "3 of your labels may be slips")):
        text = screen(show_labels, {**summary, "second_look": [{}] * n}, Hints())
        assert words in text
        assert "may still be right" in text


def test_screen_and_page_say_why_the_learner_was_chosen(summary):
    settings = {**summary["settings"], "why_learner": "labels are too easy"}
    summary = {**summary, "settings": settings}
    assert "because labels are too easy." in screen(show_labels, summary, Hints())
    assert "because labels are too easy." in render_page(summary, Hints())
