"""One place says which cells hold nothing: in a feature, in a target, in an answer."""

import datetime as dt

import polars as pl
import pytest

from chary.tables.cells import (
    filled_cells,
    is_no_answer,
    label_texts,
    likely_codes,
    may_be_unlabeled,
    missing_cells,
    without_codes,
)

# Word, and whether it means nothing in a feature, may mean so in a target, and does as an answer.
WORDS = [
    ("NA", True, True, True),
    ("n/a", True, True, True),
    ("n.a.", True, True, False),
    ("NaN", True, True, True),
    ("Null", True, True, True),
    ("?", True, True, True),
    ("None", True, False, True),
    ("-", True, False, True),
    ("-1", False, True, False),
    ("unknown", False, True, True),
    ("Skipped", False, False, True),
    ("???", False, False, True),
    ("no", False, False, False),
    ("0", False, False, False),
]


def test_what_a_word_means_depends_on_where_it_stands():
    for word, in_feature, in_target, as_answer in WORDS:
        assert missing_cells(pl.Series([f" {word} "])).to_list() == [in_feature]
        assert may_be_unlabeled(word) == in_target
        assert is_no_answer(word) == as_answer


def test_filled_cells_are_those_that_are_not_missing():
    for cells, filled in (
        ([" a ", "", None, " ", "b"], ["a", "b"]),
        ([1.5, None, float("nan"), float("inf")], [1.5]),
        ([1, None], [1]),
        ([dt.date(2024, 1, 1), None], [dt.date(2024, 1, 1)]),
        ([[1], None], [[1]]),
    ):
        assert filled_cells(pl.Series(cells)).to_list() == filled


def test_a_label_has_no_white_space_around_it_and_an_empty_cell_is_none():
    cells = pl.Series(["a\x00", "\ufeffa", "\u00a0a b\t", "", " \x00", None])
    assert label_texts(cells).to_list() == ["a", "a", "a b", None, None, None]
    assert label_texts(pl.Series([1, None])).to_list() == ["1", None]


@pytest.mark.parametrize(
    ("cells", "codes", "left"),
    [
        ([" -9 ", "-9.0", "9", "x"], ["-9"], [None, None, "9", "x"]),
        (["Refused", "no"], ["refused"], [None, "no"]),
        ([-9, 5, None], ["-9"], [None, 5, None]),
        ([-9.0, 5.5], ["-9", "5.5"], [None, None]),
        ([dt.date(1900, 1, 1), dt.date(2024, 1, 1)], ["1900-01-01"], [None, dt.date(2024, 1, 1)]),
        ([True, False], ["false"], [True, None]),
        ([[1]], ["1"], [[1]]),
        (["a"], [], ["a"]),
    ],
)
def test_codes_for_nothing_are_taken_out(cells, codes, left):
    assert without_codes(pl.Series(cells), codes).to_list() == left


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(18, 80), *[99] * 5], [("99", 5)]),
        ([*range(18, 80), *[999] * 5, *[998] * 4], [("999", 5), ("998", 4)]),
        ([*[0, 1, 2, 3] * 9, *[-9] * 5, *[-8] * 3], [("-9", 5), ("-8", 3)]),
        ([*[1, 2, 3, 4, 5] * 9, *[9] * 5], [("9", 5)]),
        ([*range(50), *[-1] * 9], [("-1", 9)]),
        ([*range(18, 80), 99], []),  # once is no code
        ([*range(18, 100), *[99] * 5], []),  # among the others
        ([*[9, 10, 11, 12] * 20], []),
        ([*[0, 1] * 20, *[9] * 5], []),  # too few others to be far from
        ([*range(-50, 50), *[-99] * 5], [("-99", 5)]),
        ([*range(-98, 50), *[-99] * 5], []),
        ([1.5, 2.5] * 20, []),
        ([], []),
    ],
)
def test_a_lone_far_value_that_repeats_may_mean_nothing(numbers, codes):
    assert likely_codes(pl.Series(numbers, dtype=pl.Float64)) == codes
