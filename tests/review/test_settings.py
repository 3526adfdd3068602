"""Settings of a page: checked when they are chosen, and when they are read again, whatever became of the file."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.review.settings import Kept, Settings, changed, is_own, read_kept, write_kept
from chary.tables import TableError

ABOUT = {"target": "y", "labels": [], "confidence": None}
COLUMNS, CLASSES = ["age", "zip"], ["no", "yes"]


def test_what_is_chosen_is_kept(tmp_path):
    path = tmp_path / "t.review.json"
    chosen = {
        "kinds": {"zip": "category"},
        "class_prior": {"no": 0.8, "yes": 0.2},
        "aim": "balanced",
        "error": 0.1,
    }
    made = changed(Settings(), {**chosen, "rule": "live"}, COLUMNS, CLASSES)
    write_kept(path, ABOUT, Kept(made, {"t.labeled.csv": "abc"}))
    assert read_kept(path, ABOUT, COLUMNS, CLASSES) == Kept(made, {"t.labeled.csv": "abc"})
    assert made.parameters()["categorical"] == ["zip"]
    assert is_own(path)
    assert changed(made, {"kinds": {"zip": None}}, COLUMNS, CLASSES).kinds == {}


@pytest.mark.parametrize(
    "body",
    [
        {"kinds": {"zap": "category"}},
        {"kinds": {"zip": "float"}},
        {"kinds": ["zip"]},
        {"class_prior": {"yes": 0.2}},
        {"class_prior": {"yes": 0.2, "no": 0.2}},
        {"class_prior": {"yes": "0.2", "no": 0.8}},
        {"class_prior": {"yes": float("nan"), "no": 0.8}},
        {"aim": "speed"},
        {"error": 0},
        {"error": True},
        {"error": "10%"},
        {"rule": None},
        {"seed": 1},
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(body):
    with pytest.raises(TableError, match=r"^[A-Z].*\.$"):
        changed(Settings(), body, COLUMNS, CLASSES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"chary_review": 2}',
        "\udcff",
        "[" * 100_000,
        json.dumps({"chary_review": 1, "about": ABOUT, "settings": [], "written": {}}),
        json.dumps({"chary_review": 1, "about": ABOUT, "settings": {"aim": "x"}, "written": {}}),
        json.dumps({"chary_review": 1, "about": {}, "settings": {}, "written": {}}),
    ],
)
def test_a_damaged_or_foreign_file_is_one_sentence_and_the_usual_settings(tmp_path, text):
    path = tmp_path / "t.review.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    kept = read_kept(path, ABOUT, COLUMNS, CLASSES)
    assert kept.settings == Settings()
    assert kept.notice.startswith("t.review.json ")
    assert kept.notice.count(". ") == 0
    assert kept.notice.endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["kinds", "class_prior", "aim", "error", "rule", "x"]), VALUES))
def test_whatever_a_request_says_is_taken_or_refused(body):
    try:
        found = changed(Settings(), body, COLUMNS, CLASSES)
    except TableError:
        return
    json.dumps(found.parameters(), allow_nan=False)


def test_a_file_that_somebody_else_wrote_is_not_own(tmp_path):
    path = tmp_path / "t.review.json"
    assert is_own(path)
    path.write_text("{}")
    assert not is_own(path)
