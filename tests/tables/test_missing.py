"""One place says which cells hold nothing: in a feature, in a target, in an answer."""

import datetime as dt

import polars as pl
import pytest

from chary.tables.missing import (
    filled_cells,
    is_no_answer,
    label_texts,
    may_be_unlabeled,
    missing_cells,
)

# Word, and whether it means nothing in a feature, may mean so in a target, and does as an answer.
WORDS = [
    ("NA", True, True, True),
    ("n/a", True, True, True),
    ("NaN", True, True, True),
    ("Null", True, True, True),
    ("?", True, True, True),
    ("None", True, False, True),
    ("-", True, False, True),
    ("-1", False, True, False),
    ("unknown", False, False, True),
    ("Skipped", False, False, True),
    ("???", False, False, True),
    ("no", False, False, False),
    ("0", False, False, False),
]


@pytest.mark.parametrize(("word", "in_feature", "in_target", "as_answer"), WORDS)
def test_what_a_word_means_depends_on_where_it_stands(word, in_feature, in_target, as_answer):
    assert missing_cells(pl.Series([f" {word} "])).to_list() == [in_feature]
    assert may_be_unlabeled(word) == in_target
    assert is_no_answer(word) == as_answer


@pytest.mark.parametrize(
    ("cells", "filled"),
    [
        ([" a ", "", None, " ", "b"], ["a", "b"]),
        ([1.5, None, float("nan"), float("inf")], [1.5]),
        ([1, None], [1]),
        ([dt.date(2024, 1, 1), None], [dt.date(2024, 1, 1)]),
        ([[1], None], [[1]]),
    ],
)
def test_filled_cells_are_those_that_are_not_missing(cells, filled):
    assert filled_cells(pl.Series(cells)).to_list() == filled


def test_a_label_has_no_white_space_around_it_and_an_empty_cell_is_none():
    cells = pl.Series(["a\x00", "\ufeffa", "\u00a0a b\t", "", " \x00", None])
    assert label_texts(cells).to_list() == ["a", "a", "a b", None, None, None]
    assert label_texts(pl.Series([1, None])).to_list() == ["1", None]
