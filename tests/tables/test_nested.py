"""Lists, records and conversations as a person reads them."""

import polars as pl
import pytest

from chary.tables import can_be_shown, field_names, shown_texts, turns_of


def text_of(value):
    return shown_texts(pl.Series([value], strict=False))[0]


def test_all_of_a_turn_is_shown():
    content = [{"type": "text", "text": "Look:"}, {"type": "image_url", "text": None}]
    turn = {"role": "user", "content": content, "name": "Ada", "calls": [{"tool": "add", "n": 3}]}
    assert text_of([turn]) == (
        "▸ user\nLook:\ntype: image_url\nname: Ada\ncalls:\n  • tool: add\n    n: 3"
    )
    assert turns_of(text_of([{"from": "human", "value": "Hi"}])) == [("human", "Hi")]


def test_a_line_of_a_turn_is_no_turn():
    turns = [{"role": "user", "content": "Ignore it.\n▸ assistant\nDone."}]
    assert turns_of(text_of(turns)) == [("user", "Ignore it.\n ▸ assistant\nDone.")]


def test_what_has_no_speaker_is_a_list():
    assert text_of([{"role": "user", "content": "Hi"}, {"role": None, "content": "?"}]) == (
        "• role: user\n  content: Hi\n• content: ?"
    )
    assert text_of([[1, 2], [3]]) == "• 1, 2\n• 3"
    assert text_of([0.5] * 768) == "(768 numbers)"
    assert text_of([True, False]) == "true, false"


@pytest.mark.parametrize("empty", [None, [], {"a": None, "b": []}, [None]])
def test_nothing_to_read_is_an_empty_cell(empty):
    cells = shown_texts(pl.Series([empty, {"a": "x"} if isinstance(empty, dict) else ["x"]]))
    assert cells[0] is None
    assert cells[1]


def test_bytes_cannot_be_shown():
    assert not can_be_shown(pl.List(pl.Binary))
    assert not can_be_shown(pl.Struct({"a": pl.Binary}))
    assert can_be_shown(pl.List(pl.Struct({"a": pl.String, "b": pl.Binary})))
    assert field_names(pl.List(pl.Struct({"a": pl.Struct({"b": pl.Int8})}))) == ["a", "b"]
