"""Numbers however they are written, and only as they were written first."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chary.tables import TableError, TablePreparation
from chary.tables.columns import find_column
from chary.tables.columns.numbers import (
    Form,
    Numbers,
    _find_form,
    _meaning,
    _read_amounts,
    read_numbers,
    why_no_numbers,
)

N = 60
KIND = Numbers()


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([f"{i}.5" for i in range(N)], ""),
        (["900", "1,200", "15,000", "850", "2,500"] * 12, "thousands separated by commas"),
        ([*["900", "12"] * 100, "1,200"], "thousands separated by commas"),
        (["1,200", "15,000", "2,5"] * 20, "decimal comma"),
        (["1,200", "15,000", "0,125"] * 20, "decimal comma"),
        (
            [*[str(i % 9) for i in range(N - 1)], "1 or 2"],
            "1 cells are not numbers and count as missing",
        ),
        (
            [*["1,5", "2"] * 100, "oops"],
            "decimal comma, 1 cells are not numbers and count as missing",
        ),
    ],
)
def test_notes(cells, note):
    column = KIND.find(pl.Series("x", cells))
    assert (column.kind, column.note, column.missing) == ("numeric", note, "missing" in note)


@pytest.mark.parametrize(
    ("learned", "new"),
    [(["$1", "$2", "$5"], "$.50"), (["1,5 kg", "2 kg", "7,1 kg"], ",5 kg")],
)
def test_a_new_number_may_begin_with_its_decimal_mark(learned, new):
    column = find_column(pl.Series("x", learned * 10))
    assert column.kind == "numeric"
    numbers = read_numbers(pl.Series([new, "$+", "$.", ", kg"]), column.form)
    assert numbers.to_list() == [0.5, None, None, None]


def test_what_is_no_number():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 2)]
    for cells in (
        ["a", "b"],
        [*["1"] * 9, "x"],
        [True, False],
        days,
        [[1], [2]],
        [b"1", b"2"],
        [1e300, -1e300],
    ):
        assert KIND.find(pl.Series("x", cells)) is None
    assert KIND.find(pl.Series("x", [object(), object()], dtype=pl.Object)) is None
    for cells in ([dt.date(2024, 1, 1)], [[1]], [b"1"]):
        numbers = read_numbers(pl.Series(cells), "")
        assert (numbers.dtype, numbers.to_list()) == (pl.Float64, [None])


def test_one_number_is_enough_where_somebody_says_so():
    column = KIND.find(pl.Series("x", ["1,5", "a", "b"]), forced=True)
    assert (column.form, column.note) == (
        "amount;,;;;",
        "decimal comma, 2 cells are not numbers and count as missing",
    )
    assert KIND.find(pl.Series("x", ["a", "b"]), forced=True) is None
    assert KIND.find(pl.Series("id", range(N)), forced=True).kind == "numeric"


@pytest.mark.parametrize(
    ("learned", "new", "expected"),
    [
        (
            ["900", "1,200", "15,000"],
            ["900", "1,200", "15,000.5", "1500"],
            [900, 1200, 15000.5, 1500],
        ),
        (["1,5", "2,25", "1.200,5"], ["1,5", "1.200", "7"], [1.5, 1200, 7]),
        (["1.5", "2.25", "7"], ["1.5", "1e2", ".5", " 3 "], [1.5, 100, 0.5, 3]),
        ([1.5, 2.5], [float("inf"), 1e100, -3, None], [np.nan, np.nan, -3, np.nan]),
    ],
)
def test_numbers_are_read_as_they_are_written(learned, new, expected):
    column = KIND.find(pl.Series("x", learned))
    assert KIND.feature_names(column) == ["x"]
    np.testing.assert_array_equal(
        KIND.read(pl.Series(new), column), np.array(expected, dtype=float)[:, None]
    )


@pytest.mark.parametrize(
    ("learned", "new", "odd", "n_odd", "expected"),
    [
        (["1.5", "2.5"], ["1.5", "1,5", "x"], "1,5", 2, "numbers such as 12.5"),
        (["1,5", "2,5"], ["1.5", "2.5", "3"], "1.5", 2, "numbers such as 12,5"),
        (["900", "1,200"], ["1,234.5", "1,5", "2,5"], "1,5", 2, "numbers such as 12.5"),
        (["$1,200", "$900"], ["€5", "$1,300", "5"], "€5", 2, "numbers in $ such as 12.5 $"),
        (["5 km", "7 km"], ["5 mi", "6 mi", "5 km"], "5 mi", 2, "numbers in km such as 12.5 km"),
        (
            ["12,5 %", "3 %"],
            ["12.5 %", "2.5 %", "1,5 %"],
            "12.5 %",
            2,
            "numbers in % such as 12,5 %",
        ),
        (
            ["12,5 €", "3,5 €"],
            ["1.125 €", "2.375 €", "4 €"],
            "1.125 €",
            2,
            "numbers in € such as 12,5 €",
        ),
        (["5 km", "7 km"], [5.0, 7.0], "5.0", 2, "numbers in km such as 12.5 km"),
        (["3/5", "4/5"], ["7/10"], "7/10", 1, "numbers in /5 such as 12.5 /5"),
    ],
)
def test_another_unit_or_mark_is_written_otherwise(learned, new, odd, n_odd, expected):
    preparation = TablePreparation().fit({"x": learned})
    with pytest.raises(TableError) as caught:
        preparation.transform({"x": new})
    assert str(caught.value) == (
        f"Column 'x' holds '{odd}': {n_odd} of {len(new)} cells cannot be read, because the model "
        f"learned from {expected}; write them the same way."
    )


def test_what_is_no_matter_of_writing_passes():
    comma = TablePreparation().fit({"x": ["1,5", "2,25"]})
    for cells in (["1.500,0", "2", "3", "4"], [1.5, 2.5]):
        assert comma.transform({"x": cells}).shape == (len(cells), 1)
    assert TablePreparation().fit({"x": ["1'200", "900"]}).transform({"x": [1200.0]})[0, 0] == 1


def test_a_row_alone_may_hold_a_word_that_stood_for_a_number_before():
    salaries = TablePreparation(numeric=["x"]).fit(
        {"x": ["€45k", "€50.000", "negotiable", "€61.500"]}
    )
    assert (
        salaries.transform({"x": ["negotiable"]}).tolist()
        == salaries.transform({"x": [None]}).tolist()
    )
    with pytest.raises(TableError, match=r"1 of 1 cells cannot be read, .* such as 1.234 €; write"):
        salaries.transform({"x": ["by agreement"]})


def test_a_unit_and_other_doubts_are_told():
    assert KIND.find(pl.Series("x", ["5 km", "7 km"])).doubtful
    for cells in (["$5", "$7"], ["5 %", "7 %"], ["01", "12"]):
        assert not KIND.find(pl.Series("x", cells)).doubtful
    assert KIND.find(pl.Series("x", ["5", "a", "b"]), forced=True).doubtful
    coded = KIND.find(pl.Series("x", [*range(18, 80), *[99] * 5]))
    assert (coded.doubtful, coded.note) == (True, "99 in 5 cells may mean missing")


def test_why_there_are_no_numbers():
    for cells, why in (
        (["red", "blue", "5"], ""),
        ([1, 2], ""),
        (["5", "6"], ""),
        (
            ["5 km", "3 mi", "4 km"],
            "most cells are numbers, others such as '3 mi' are not; --numeric reads it so",
        ),
        (
            ["5", "6", "T"],
            "most cells are numbers, others such as 'T' are not; --numeric reads it so",
        ),
        (["1-5", "6-10"], ""),
    ):
        assert why_no_numbers(pl.Series(cells)) == why


# ---------------------------------------------------------------- marks, units, factors

MARKS = [(".", ","), (",", "."), (".", "'"), (",", "_"), (".", "_"), (".", "")]


def written(number, decimal, thousands, unit, side):
    """A number as people write it."""
    text = f"{abs(number):,.2f}" if thousands else f"{abs(number):.2f}"
    text = (
        text.replace(",", "T")
        .replace(".", "D")
        .replace("D", decimal)
        .replace("T", thousands.replace("_", " "))
    )
    text = {"before": f"{unit}{text}", "after": f"{text} {unit}", "none": text}[side]
    return f"-{text}" if number < 0 else text


@settings(max_examples=25)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20),
    st.sampled_from(MARKS),
    st.sampled_from(
        [("€", "before"), ("$", "after"), ("kg", "after"), ("%", "after"), ("", "none")]
    ),
)
def test_what_was_written_is_read(cents, marks, unit):
    numbers = [1234567.25, *(n / 100 for n in cents)]  # the first has every mark
    cells = pl.Series([written(number, *marks, *unit) for number in numbers])
    form = _find_form(cells)
    np.testing.assert_allclose(_read_amounts(cells, form).to_numpy(), numbers, rtol=1e-12)
    assert form.unit == unit[0]
    assert Form.of(form.text) == form
    assert _read_amounts(pl.Series([form.example]), form).null_count() == 0


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        (Form(".", ",", "$"), ["€5", "5", "5 km", "$5,5", "$1.234,5", "oops", None, "", "$"]),
        (Form(",", ".", "€"), ["1.5 €", "1,234.5 €", "5 $", "€5€€", "(5 €", "-5 € -", "+-5 €"]),
        (Form(unit="km"), ["5 mi", "5", "5 KMH", "5 km 3", "1-5 km", "<5 km"]),
        (Form(unit="%"), ["5", "0.05", "5 ‰", "5-10 %"]),
        (Form(), ["$5", "5 km", "1,000", "1 000", "--5", "1e", "e5", "0x10", "٣"]),
    ],
)
def test_what_is_written_otherwise_is_not_read(form, cells):
    assert _read_amounts(pl.Series(cells), form).to_list() == [None] * len(cells)


def test_nothing_needs_no_unit():
    for unit in ("km", "%", "$"):
        assert _read_amounts(pl.Series(["0", "0.0", "7"]), Form(unit=unit)).to_list() == [
            0,
            0,
            None,
        ]


def test_forms_as_text():
    form = Form(".", ",", "a;b", factors=True)  # a unit may hold the mark between the parts
    assert Form.of(form.text) == form
    assert Form.of("") == Form()
    for text in ("amount", "amount;;;;", "amount;x;y;;", "ymd", ";;;;"):
        with pytest.raises(ValueError, match="unknown form"):
            Form.of(text)


def test_a_unit_that_few_cells_have_is_not_that_of_the_column():
    assert _find_form(pl.Series(["5", "6", "7", "5 km"])).unit == ""
    assert _find_form(pl.Series(["5", "6 km", "7 km"])) == Form(unit="km")
    assert _find_form(pl.Series(["word", "24-28", ""])) is None


def test_currencies_factors_and_units():
    for before, after, unit, factor in (
        ("", "", "", 1),
        ("$", "", "$", 1),
        ("€", "EUR", "€ EUR", 1),
        ("Rs.", "", "Rs", 1),
        ("$", "m", "$", 1e6),
        ("£", "b", "£", 1e9),
        ("", "m", "m", 1),
        ("", "K", "", 1e3),
        ("", "Mio. €", "€", 1e6),
        ("", "k€", "€", 1e3),
        ("US$", "billion", "US$", 1e9),
        ("", "kg", "kg", 1),
        ("", "Day", "day", 1),
        ("", "hrs.", "hr", 1),
        ("", "s", "s", 1),
        ("", "MW", "MW", 1),
        ("", "glass", "glass", 1),
    ):
        assert _meaning(before, after) == (unit, factor)


def test_points_beside_a_decimal_comma_are_read_where_they_can_only_part_thousands():
    column = KIND.find(pl.Series("x", ["1,5", "2,25"]))
    read = KIND.read(pl.Series(["1.234,5", "1.234", "1.5", "12.345.678,0"]), column)[:, 0]
    np.testing.assert_array_equal(read, [1234.5, np.nan, np.nan, 12345678])
    seen = KIND.find(pl.Series("x", ["1,5", "1.200", "2.500,75"]))
    assert KIND.read(pl.Series(["1.234"]), seen)[0, 0] == 1234


def test_a_comma_that_may_be_either_mark_is_doubted():
    column = find_column(pl.Series("x", ["7,839", "12,500", "7,120"] * 9))
    assert column.note == "thousands separated by commas, write points if these are decimal commas"
    assert column.doubtful
    assert Numbers().read(pl.Series(["7,839"]), column)[0, 0] == 7839
    for sure in ("950", "1,234,567", "0.5"):
        assert not find_column(pl.Series("x", [*["7,839", "12,500", "7,120"] * 9, sure])).doubtful


def test_words_that_multiply_are_known_in_any_case_and_number():
    cells = pl.Series("x", ["1 million", "2.5 millions", "3 Million", "0.5 Millions"] * 20)
    column = KIND.find(cells)
    assert KIND.read(cells, column)[:4, 0].tolist() == [1e6, 2.5e6, 3e6, 5e5]
