"""The page of the audit: the next row, and answers that can be written."""

import pytest

from chary.jobs import Enough
from chary.review.auditing import audit_page, checked_answer, interval_of
from chary.tables import Filling, TableError


@pytest.fixture(name="filling")
def a_sheet(bench):
    bench.draw({"k": 4})
    return Filling(bench.paths.audit)


def page(filling, **more):
    return audit_page(filling, "planned", "animal", ["cat", "dog"], ["speed"], ["animal"], None, **more)


def test_the_next_row_is_the_first_without_an_answer(filling):
    assert page(filling)["last"] is None
    filling.answer(1, "cat")
    filling.answer(3, "?")
    shown = page(filling)
    assert (shown["row"]["place"], shown["last"]) == (2, {"place": 1, "answer": "cat"})
    assert [field["name"] for field in shown["row"]["fields"]] == ["speed", "size", "name"]
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
    watch = Enough(["cat"] * 4, 100)
    assert interval_of("planned", filling, watch) is None
    assert interval_of("live", filling, None)["low"] is None
    for place in range(1, 5):
        filling.answer(place, "cat")
    assert interval_of("planned", filling, watch)["n"] == 4
    assert interval_of("live", filling, watch)["low"] < interval_of("planned", filling, watch)["low"]
