"""One place says which cells hold nothing: in a feature, in a target, in an answer."""

import datetime as dt
from functools import partial

import polars as pl
import pytest

from chary.tables.cells import (
    cell_texts,
    filled_cells,
    is_no_answer,
    label_texts,
    likely_codes,
    may_be_unlabeled,
    missing_cells,
    shown_cells,
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


find_codes = partial(likely_codes, spike_ratio=3.0, spike_cells=5)


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(18, 80), *[99] * 5], [("99", 5)]),
        ([*range(18, 80), *[999] * 5, *[998] * 4], [("999", 5), ("998", 4)]),
        ([*[0, 1, 2, 3] * 9, *[-9] * 5, *[-8] * 3], [("-9", 5), ("-8", 3)]),
        ([*[1, 2, 3, 4, 5] * 9, *[9] * 5], [("9", 5)]),
        ([*range(50), *[-1] * 9], [("-1", 9)]),
        ([*range(18, 80), 99], []),  # once is no code
        ([*range(18, 100), *[99] * 3], []),  # among the others, and in few cells
        ([*range(18, 100), *[99] * 4], [("99", 5)]),  # a spike
        ([*[*range(18, 91)] * 4, *[99] * 11], []),  # less than three times as many as beside it
        ([*[*range(18, 91)] * 4, *[99] * 12], [("99", 12)]),
        ([*[18, 19, 20, 88, 89, 90] * 40, *[99] * 119], []),
        ([*[*range(18, 91)] * 9, *[98] * 5, *[99] * 27], [("99", 27)]),  # each for itself
        ([*[1, 2, 3, 4, 5, 6] * 9, *[7] * 80], []),  # a scale: one digit is no spike
        ([*[9, 10, 11, 12] * 20], []),
        ([*[0, 1] * 20, *[9] * 5], []),  # too few others to be far from
        ([*range(-50, 50), *[-99] * 5], [("-99", 5)]),
        ([*range(-98, 50), *[-99] * 4], []),
        ([1.5, 2.5] * 20, []),
        ([], []),
        ([*range(1, 60), *[96, 97, 98, 99] * 5], []),  # more than three different ones are no codes
        ([*range(1, 60), *[97, 98, 99] * 5], [("99", 5), ("98", 5), ("97", 5)]),
        ([*[0, 1, 2] * 199, *[9] * 3], [("9", 3)]),  # three of 600 are just enough
        ([*[0, 1, 2] * 200, *[9] * 3], []),
        ([*[0, 1, 2] * 9, *[9] * 2], []),
        ([*[0, 1, 2] * 9, *[98] * 3, *[99] * 2], []),  # each must be there as often
        ([*[0, 4, 8] * 9, *[-9] * 4], [("-9", 4)]),  # below nought, where the others are not
        ([*[1, 3, 5] * 9, *[9] * 4], []),  # no farther than twice the widest gap
        ([*[0, 1, 28] * 9, *[99] * 4], [("99", 4)]),
        ([*range(0, 81, 8), *[99] * 4], []),  # no farther than a quarter of the range
        ([*range(0, 73, 8), *[99] * 4], [("99", 4)]),
    ],
)
def test_a_lone_far_value_that_repeats_may_mean_nothing(numbers, codes):
    assert find_codes(pl.Series(numbers, dtype=pl.Float64)) == codes


def test_which_numbers_are_codes():
    repeated = [int(digit * n) for digit in "789" for n in range(1, 7)]
    for code in (*repeated, 96, 97, 98, 997, 998, 9998):
        for value in (code, -code):
            assert find_codes(pl.Series([*[1, 2, 3] * 9, *[value] * 5], dtype=pl.Float64)) == [
                (f"{value}", 5)
            ]
    for value in (6, 10, 95, 996, 9997, 7_777_777, -2, 99.5):
        assert find_codes(pl.Series([*[1, 2, 3] * 9, *[value] * 5], dtype=pl.Float64)) == []


def test_cells_are_shown_as_they_are_written_and_short():
    assert cell_texts(pl.Series(["1.0", "2024-01-01 00:00:00"])).to_list() == [
        "1.0",
        "2024-01-01 00:00:00",
    ]
    assert cell_texts(pl.Series([100, 7])).to_list() == ["100", "7"]
    assert cell_texts(pl.Series([dt.datetime(2024, 1, 1)])).to_list() == ["2024-01-01"]
    assert cell_texts(pl.Series([[1], [2]])).to_list() == [None, None]
    assert cell_texts(pl.Series([1234567.0, 0.12345678])).to_list() == ["1234570", "0.123457"]
    assert cell_texts(pl.Series(["x" * 30, "x" * 31, None])).to_list() == [
        "x" * 30,
        "x" * 27 + "...",
        None,
    ]
    assert cell_texts(pl.Series("a", ["\u200b", "b"])).to_list() == ["\\u200b", "b"]
    assert shown_cells(pl.Series("n" * 41, [1, None])).to_list() == [
        f"{'n' * 37}... = 1",
        f"{'n' * 37}... is missing",
    ]
    assert shown_cells(pl.Series("n" * 40, [[1]])).to_list() == ["n" * 40]
