"""Cells as a person reads them: bounded, by kind, in the order that was asked for."""

import pytest

from chary.review.rows import CLASS_KEYS, MOST_CHARACTERS, MOST_FIELDS, fields_of, keys_of, number_in, row_in
from chary.tables import TableError


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
